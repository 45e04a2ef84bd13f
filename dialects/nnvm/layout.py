"""Layout strings: "NCHW", "NCHW16c", "OIHW16i16o".

A capital letter is an axis; `16c` is the inner part of axis C when C is split into blocks of 16,
and then the capital C counts the blocks. Everything here works on plain data. A dimension that is
not known is None.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from nnvm_mlir.dialects.nnvm.types import Dim, show

_DIM = re.compile(r"([A-Z])|([1-9][0-9]*)([a-z])")


@dataclass(frozen=True)
class Reorder:
    """A permuting copy: see the operand as `expanded`, permute its dims, see that as `result`."""

    expanded: tuple[int, ...]
    permutation: tuple[int, ...]
    result: tuple[int, ...]

    def apply(self, array: np.ndarray) -> np.ndarray:
        """The copy of an array."""
        return array.reshape(self.expanded).transpose(self.permutation).reshape(self.result)


@dataclass(frozen=True)
class Layout:
    """The order of a tensor's axes, and which of them are blocked.

    Attributes:
        dims: one entry for each dimension: the axis letter, and the block size of an inner block.
    """

    dims: tuple[tuple[str, int | None], ...]

    @staticmethod
    def parse(text: str) -> Layout:
        """The layout that `text` spells.

        Raises:
            ValueError: other characters, a repeated axis, or a block of an axis that is not there.
        """
        dims: list[tuple[str, int | None]] = []
        position = 0
        while position < len(text):
            match = _DIM.match(text, position)
            if match is None:
                raise ValueError(
                    f"layout {text!r}: expected an axis such as C or a block such as 16c at "
                    f"{text[position:]!r}"
                )
            axis, block, inner = match.groups()
            dims.append((axis, None) if axis else (inner.upper(), int(block)))
            position = match.end()
        axes = [axis for axis, block in dims if block is None]
        blocked = [axis for axis, block in dims if block is not None]
        for named in (axes, blocked):
            if len(set(named)) != len(named):
                raise ValueError(f"layout {text!r} names one axis twice")
        for axis in blocked:
            if axis not in axes:
                raise ValueError(f"layout {text!r} has a block of axis {axis}, but not the axis")
        return Layout(tuple(dims))

    def __str__(self) -> str:
        return "".join(
            axis if block is None else f"{block}{axis.lower()}" for axis, block in self.dims
        )

    @property
    def rank(self) -> int:
        """Number of dimensions of a tensor in this layout, blocks included."""
        return len(self.dims)

    @property
    def axes(self) -> tuple[str, ...]:
        """The axis letters in order, blocks left out."""
        return tuple(axis for axis, block in self.dims if block is None)

    @property
    def plain(self) -> Layout:
        """This layout without blocks."""
        return Layout(tuple((axis, None) for axis in self.axes))

    @property
    def is_blocked(self) -> bool:
        """Whether some axis is split into blocks."""
        return self != self.plain

    def index(self, axis: str) -> int:
        """The dimension that holds the axis, or its blocks when it is split.

        Raises:
            ValueError: there is no such axis.
        """
        if (axis, None) not in self.dims:
            raise ValueError(f"layout {self} has no axis {axis}")
        return self.dims.index((axis, None))

    def block(self, axis: str) -> int | None:
        """The block size of a split axis, else None."""
        return next((size for name, size in self.dims if name == axis and size is not None), None)

    def is_convertible(self, target: Layout) -> bool:
        """Whether a tensor in this layout can be brought into `target`: both have the same axes."""
        return set(self.axes) == set(target.axes)

    def size_of(self, axis: str, shape: Sequence[Dim]) -> Dim:
        """The whole size of an axis in a tensor of `shape`, which is in this layout."""
        outer = shape[self.index(axis)]
        return None if outer is None else outer * (self.block(axis) or 1)

    def check_shape(self, shape: Sequence[int | None]) -> None:
        """Raises ValueError when a tensor of `shape` cannot be in this layout."""
        if len(shape) != self.rank:
            raise ValueError(
                f"layout {self} has {self.rank} dimensions, got shape {show(tuple(shape))}"
            )
        for (axis, block), size in zip(self.dims, shape, strict=True):
            if block is not None and size is not None and size != block:
                raise ValueError(
                    f"layout {self} has blocks of {block} along {axis}, "
                    f"got shape {show(tuple(shape))}"
                )

    def shape(self, sizes: dict[str, Dim]) -> tuple[Dim, ...]:
        """The shape, in this layout, of a tensor of which the whole size of every axis is given.

        Raises:
            ValueError: a size is not divisible by the block of its axis (nothing is padded).
        """
        result: list[Dim] = []
        for axis, inner in self.dims:
            size, block = sizes[axis], self.block(axis) or 1
            if size is not None and size % block:
                raise ValueError(
                    f"axis {axis} of size {size} is not divisible by the block {block} "
                    f"of layout {self}"
                )
            outer = None if size is None else size // block
            result.append(outer if inner is None else inner)
        return tuple(result)

    def convert_shape(self, shape: Sequence[Dim], target: Layout) -> tuple[Dim, ...]:
        """The shape in `target` of a tensor that has `shape` in this layout.

        Raises:
            ValueError: the layouts have different axes, `shape` is not in this layout, or a size
                does not divide.
        """
        if not self.is_convertible(target):
            raise ValueError(f"layouts {self} and {target} do not have the same axes")
        self.check_shape(shape)
        return target.shape({axis: self.size_of(axis, shape) for axis in self.axes})

    def permutation(self, target: Layout) -> tuple[int, ...] | None:
        """NumPy's transpose axes of the conversion to `target`; None when blocks change."""
        if set(self.dims) != set(target.dims):
            return None
        return tuple(self.dims.index(dim) for dim in target.dims)

    def conversion(self, shape: Sequence[int], target: Layout) -> tuple[Reorder, ...]:
        """The permuting copies from this layout into `target`, for a non-empty `shape`.

        It is one copy, or two when neither block size of an axis divides the other.

        Raises:
            ValueError: as `convert_shape`.
        """
        result = self.convert_shape(shape, target)
        cuts: dict[str, list[int]] = {}
        for axis in self.axes:
            blocks = {1, self.block(axis) or 1, target.block(axis) or 1}
            cuts[axis] = sorted(blocks | {shape[self.index(axis)] * (self.block(axis) or 1)})
            if any(high % low for low, high in itertools.pairwise(cuts[axis])):
                middle = self.plain
                plain = self.convert_shape(shape, middle)
                return (*self.conversion(shape, middle), *middle.conversion(plain, target))
        source = self._atoms(cuts)
        wanted = target._atoms(cuts)
        expanded = tuple(high // low for _, low, high in source)
        return (Reorder(expanded, tuple(map(source.index, wanted)), result),)

    def _atoms(self, cuts: dict[str, list[int]]) -> list[tuple[str, int, int]]:
        """The parts (axis, low, high) of which the dims are made when axes are cut at strides."""
        atoms: list[tuple[str, int, int]] = []
        for axis, inner in self.dims:
            block = self.block(axis) or 1
            points = [p for p in cuts[axis] if (p <= block if inner is not None else p >= block)]
            pairs = list(itertools.pairwise(points))
            atoms.extend((axis, low, high) for low, high in reversed(pairs))
        return atoms
