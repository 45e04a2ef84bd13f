"""Operators that enlarge a tensor: they pad and repeat."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from nnvm_mlir.dialects.nnvm.fields import (
    Bool,
    Float,
    Ints,
    Str,
    attribute,
    operand,
    result,
)
from nnvm_mlir.dialects.nnvm.operator import (
    Attributes,
    Fusion,
    Operator,
    normalize_axes,
    refine,
)
from nnvm_mlir.dialects.nnvm.transform import DataTyped
from nnvm_mlir.dialects.nnvm.types import Dim, Shape, show, unify_shapes


class Pad(Operator, name="pad"):
    """`data` with elements added before and after each dimension.

    `pad_width` lists before and after for the first dimension, then for the next. The added
    elements are `pad_value` ("constant"), the nearest element ("edge"), the mirror image without
    the edge itself ("reflect"), or the data repeated periodically ("wrap").
    """

    fusion = Fusion.INJECTIVE
    data = operand()
    output = result()
    pad_width = attribute(Ints)
    pad_value = attribute(Float, 0.0)
    mode = attribute(Str, "constant", choices=("constant", "edge", "reflect", "wrap"))

    @classmethod
    def permuted(cls, a: Attributes, rank: int, axes: Sequence[int]) -> dict[str, Any] | None:
        pairs = [a.pad_width[2 * i : 2 * i + 2] for i in axes]
        return {"pad_width": tuple(n for pair in pairs for n in pair)}

    @classmethod
    def check(cls, a: Attributes) -> None:
        if len(a.pad_width) % 2 or any(width < 0 for width in a.pad_width):
            raise ValueError(f"expects a pair of widths >= 0 per dimension, got {a.pad_width}")

    @classmethod
    def widths(cls, a: Attributes) -> list[tuple[int, int]]:
        """Elements added before and after, for each dimension."""
        return list(zip(a.pad_width[::2], a.pad_width[1::2], strict=True))

    @classmethod
    def infer_shape(
        cls, a: Attributes, ins: Sequence[Shape], outs: Sequence[Shape]
    ) -> tuple[list[Shape], list[Shape]]:
        widths = cls.widths(a)
        data, output = ins[0], outs[0]
        for shape in (data, output):
            if shape is not None and len(shape) != len(widths):
                raise ValueError(f"pads {len(widths)} dimensions, got shape {show(shape)}")
        totals = [before + after for before, after in widths]
        if data is not None:
            (output,) = refine([output], [_shifted(data, totals)])
        if output is not None:
            data = _shifted(output, [-total for total in totals])
            if any(size is not None and size < 0 for size in data):
                raise ValueError(f"the widths {a.pad_width} exceed the result {show(output)}")
            if a.mode != "constant" and any(
                size == 0 and total for size, total in zip(data, totals, strict=True)
            ):
                raise ValueError(f"mode {a.mode!r} has no element to repeat in {show(data)}")
        return [data], [output]

    @classmethod
    def evaluate(cls, a: Attributes, x: np.ndarray) -> np.ndarray:
        options: dict[str, Any] = (
            {"constant_values": x.dtype.type(a.pad_value)} if a.mode == "constant" else {}
        )
        return np.pad(x, cls.widths(a), a.mode, **options) if x.ndim else x  # type: ignore[call-overload]


class BroadcastTo(Operator, name="broadcast_to"):
    """`data` repeated along sizes of 1 and new leading dimensions, to `shape`; 0 keeps a size."""

    fusion = Fusion.BROADCAST
    data = operand()
    output = result()
    shape = attribute(Ints, ())

    @classmethod
    def check(cls, a: Attributes) -> None:
        if any(size < 0 for size in a.shape):
            raise ValueError(f"expects sizes >= 0, got shape {a.shape}")

    @classmethod
    def infer_shape(
        cls, a: Attributes, ins: Sequence[Shape], outs: Sequence[Shape]
    ) -> tuple[list[Shape], list[Shape]]:
        data = ins[0]
        if data is None:
            return [data], refine(outs, [tuple(size or None for size in a.shape)])
        new = len(a.shape) - len(data)
        if new < 0:
            raise ValueError(f"cannot broadcast {show(data)} to fewer dimensions, {show(a.shape)}")
        shape: list[int | None] = list(a.shape[:new])
        for have, want in zip(data, a.shape[new:], strict=True):
            if want and have is not None and have not in (1, want):
                raise ValueError(f"cannot broadcast {show(data)} to {show(a.shape)}")
            shape.append(want or have)
        return [data], refine(outs, [tuple(shape)])

    @classmethod
    def evaluate(cls, a: Attributes, x: np.ndarray) -> np.ndarray:
        return np.broadcast_to(x, cls.infer_shape(a, [x.shape], [None])[1][0])  # type: ignore[arg-type]


class ExpandLike(DataTyped, name="expand_like"):
    """`data` repeated along new axes, to the shape of `shape_like`.

    `axis` lists the new axes, as positions in the result (with `exclude`, those that are not new).
    One element is repeated to any shape. The adjoint of a sum without `keepdims`.
    """

    fusion = Fusion.BROADCAST
    data = operand()
    shape_like = operand()
    output = result()
    axis = attribute(Ints, ())
    exclude = attribute(Bool, False)

    @classmethod
    def new_axes(cls, a: Attributes, rank: int) -> tuple[int, ...]:
        """The axes of the result, of a rank, along which data is repeated."""
        axes = normalize_axes(a.axis, rank)
        return tuple(i for i in range(rank) if i not in axes) if a.exclude else axes

    @classmethod
    def infer_shape(
        cls, a: Attributes, ins: Sequence[Shape], outs: Sequence[Shape]
    ) -> tuple[list[Shape], list[Shape]]:
        data, like = ins[0], unify_shapes([ins[1], *outs])
        if data is not None and like is not None:
            cls.expanded(a, data, like)
        return [data, like], [like]

    @classmethod
    def expanded(
        cls, a: Attributes, data: tuple[Dim, ...], like: tuple[Dim, ...]
    ) -> tuple[Dim, ...]:
        """The shape of data with ones along the new axes, which broadcasts to `like`.

        Raises:
            ValueError: it does not.
        """
        new = cls.new_axes(a, len(like))
        if len(data) + len(new) != len(like) and all(size == 1 for size in data):
            return (1,) * len(like)
        kept = [i for i in range(len(like)) if i not in new]
        if len(kept) != len(data) or any(
            None not in (have, like[i]) and have != like[i]
            for have, i in zip(data, kept, strict=True)
        ):
            raise ValueError(f"cannot expand {show(data)} along axes {new} to {show(like)}")
        sizes = iter(data)
        return tuple(1 if i in new else next(sizes) for i in range(len(like)))

    @classmethod
    def evaluate(cls, a: Attributes, x: np.ndarray, shape_like: np.ndarray) -> np.ndarray:
        expanded = cls.expanded(a, x.shape, shape_like.shape)
        return np.broadcast_to(x.reshape(expanded), shape_like.shape)


class Tile(Operator, name="tile"):
    """`data` repeated `reps[i]` times along dimension i; missing dimensions or reps count as 1."""

    fusion = Fusion.INJECTIVE
    data = operand()
    output = result()
    reps = attribute(Ints)

    @classmethod
    def check(cls, a: Attributes) -> None:
        if any(count < 0 for count in a.reps):
            raise ValueError(f"expects reps >= 0, got {a.reps}")

    @classmethod
    def aligned(cls, a: Attributes, data: tuple[int, ...]) -> list[tuple[int, int]]:
        """(repetitions, size) of each dimension of the result, both padded with leading ones."""
        rank = max(len(a.reps), len(data))
        reps = (*[1] * (rank - len(a.reps)), *a.reps)
        return list(zip(reps, (*[1] * (rank - len(data)), *data), strict=True))

    @classmethod
    def result_shapes(cls, a: Attributes, data: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(count * size for count, size in cls.aligned(a, data))

    @classmethod
    def evaluate(cls, a: Attributes, x: np.ndarray) -> np.ndarray:
        return np.tile(x, a.reps)


def _shifted(shape: Sequence[int | None], by: Sequence[int]) -> tuple[int | None, ...]:
    return tuple(None if s is None else s + more for s, more in zip(shape, by, strict=True))
