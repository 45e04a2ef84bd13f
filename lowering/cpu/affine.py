"""Affine forms over loop indices, and how flat ones are split into dimensions again. Plain data, no MLIR."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Form:
    """`sum(coefficients[d] * loop d) + offset`."""

    coefficients: tuple[int, ...]
    offset: int = 0

    @staticmethod
    def zero(dims: int) -> Form:
        """The form that is 0 everywhere."""
        return Form((0,) * dims)

    @staticmethod
    def of_dim(dim: int, dims: int) -> Form:
        """The index of loop `dim` out of `dims`."""
        return Form(tuple(int(d == dim) for d in range(dims)))

    @property
    def dims(self) -> tuple[int, ...]:
        """The loops that the form depends on."""
        return tuple(d for d, c in enumerate(self.coefficients) if c)

    def __add__(self, other: Form) -> Form:
        pairs = zip(self.coefficients, other.coefficients, strict=True)
        return Form(tuple(a + b for a, b in pairs), self.offset + other.offset)

    def scaled(self, factor: int) -> Form:
        """This form times `factor`."""
        return Form(tuple(factor * c for c in self.coefficients), factor * self.offset)

    def shifted(self, by: int) -> Form:
        """This form plus `by`."""
        return Form(self.coefficients, self.offset + by)

    def compose(self, forms: Sequence[Form], dims: int) -> Form:
        """This form with loop d replaced by `forms[d]`, which are over `dims` other loops."""
        total = Form.zero(dims).shifted(self.offset)
        for coefficient, form in zip(self.coefficients, forms, strict=True):
            if coefficient:
                total = total + form.scaled(coefficient)
        return total

    def bounds(self, sizes: Sequence[int]) -> tuple[int, int]:
        """Least and greatest value over loops of `sizes`."""
        spans = [c * (n - 1) for c, n in zip(self.coefficients, sizes, strict=True)]
        return (
            self.offset + sum(s for s in spans if s < 0),
            self.offset + sum(s for s in spans if s > 0),
        )

    def normalized(self, sizes: Sequence[int]) -> Form:
        """The same form with coefficient 0 for loops that run once."""
        pairs = zip(self.coefficients, sizes, strict=True)
        return Form(tuple(c if n > 1 else 0 for c, n in pairs), self.offset)


def row_major_strides(shape: Sequence[int]) -> tuple[int, ...]:
    """Elements between neighbours in each dimension of a contiguous buffer."""
    strides = []
    stride = 1
    for extent in reversed(shape):
        strides.append(stride)
        stride *= extent
    return tuple(reversed(strides))


def delinearize(
    flat: Form, strides: Sequence[int], extents: Sequence[int], sizes: Sequence[int]
) -> tuple[Form, ...] | None:
    """Splits a flat position into one index for each dimension of a buffer.

    Args:
        flat: the position, over loops of `sizes`.
        strides: elements between neighbours in each dimension, in any order.
        extents: size of each dimension.
        sizes: trip count of each loop.

    Returns:
        Forms `f` with `flat == sum(strides[k] * f[k])` and `0 <= f[k] < extents[k]` over all
        iterations, or None where there are no such affine forms.
    """
    rest = flat.normalized(sizes)
    parts = [Form.zero(len(sizes)) for _ in extents]
    for k in sorted(range(len(extents)), key=lambda k: -strides[k]):
        if extents[k] == 1:
            continue
        stride = strides[k]
        if stride == 0:
            return None
        taken = tuple(c // stride if c % stride == 0 else 0 for c in rest.coefficients)
        left = tuple(c if c % stride else 0 for c in rest.coefficients)
        shift = rest.offset // stride
        parts[k] = Form(taken, shift)
        rest = Form(left, rest.offset - shift * stride)
        lowest, highest = parts[k].bounds(sizes)
        if lowest < 0 or highest >= extents[k]:
            return None
    return tuple(parts) if rest == Form.zero(len(sizes)) else None


def coalesce(
    sizes: Sequence[int],
    kinds: Sequence[object],
    forms: Sequence[Form],
    frozen: Sequence[int] = (),
) -> list[tuple[int, ...]]:
    """Groups of loops that can run as one, because every form walks over them as over one.

    Args:
        sizes: trip count of each loop.
        kinds: loops are only merged with loops of the same kind (parallel, reduction).
        forms: everything that is indexed by the loops.
        frozen: loops to leave alone.

    Returns:
        For each new loop the old ones, outermost first. Loops that run once disappear, unless
        frozen.
    """
    groups: list[tuple[int, ...]] = [
        (d,) for d in range(len(sizes)) if sizes[d] != 1 or d in frozen
    ]

    def mergeable(outer: tuple[int, ...], inner: tuple[int, ...]) -> bool:
        if kinds[outer[0]] != kinds[inner[0]] or {*outer, *inner} & set(frozen):
            return False
        span = 1
        for d in inner:
            span *= sizes[d]
        return all(f.coefficients[outer[-1]] == span * f.coefficients[inner[-1]] for f in forms)

    merged = True
    while merged:
        merged = False
        for outer in groups:
            inner = next((g for g in groups if g is not outer and mergeable(outer, g)), None)
            if inner is not None:
                groups[groups.index(outer)] = outer + inner
                groups.remove(inner)
                merged = True
                break
    return groups


def regroup(form: Form, groups: Sequence[tuple[int, ...]]) -> Form:
    """`form` over the loops that `coalesce` returned."""
    return Form(tuple(form.coefficients[group[-1]] for group in groups), form.offset)
