"""One loop nest over tensors in different blocked layouts.

Where one operand splits an axis of 64 into blocks of 16 and another does not, both are walked by
two loops (4, 16): the latter is seen under a shape in which its axis is two dims. So every index
stays a loop, and the accesses stay affine.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

from nnvm_mlir.dialects.nnvm.layout import Layout
from nnvm_mlir.lowering.linalg.builder import LinalgBuilder, shape_of
from nnvm_mlir.mlir import ir


class Loop:
    """A loop of a nest, equal only to itself; `size` is 0 where only the tensors tell it."""

    def __init__(self, size: int = 0) -> None:
        self.size = size


class MisalignedError(ValueError):
    """Blocks do not divide each other, so that no nest walks all operands in place."""


def loops_over(size: int, blocks: Iterable[int]) -> list[Loop]:
    """The loops, outermost first, that walk an axis which operands split into `blocks`.

    Raises:
        MisalignedError: neither of two blocks divides the other.
    """
    cuts = [1, *sorted(set(blocks)), size]
    if any(high % low for low, high in pairwise(cuts)):
        raise MisalignedError(f"an axis of {size} cannot be split into blocks of {cuts[1:-1]}")
    return [Loop(high // low) for low, high in pairwise(cuts)][::-1]


def loops_of_dims(layout: Layout, loops: Mapping[str, Sequence[Loop]]) -> list[list[Loop]]:
    """For each dim of a layout the loops that walk it, outermost first.

    Args:
        layout: of the tensor.
        loops: the loops of each of its axes, which `loops_over` has split at its blocks.
    """
    outer, inner = {}, {}
    for axis in layout.axes:
        block, cut, size = layout.block(axis), len(loops[axis]), 1
        while block is not None and cut and size < block:
            cut -= 1
            size *= loops[axis][cut].size
        outer[axis], inner[axis] = list(loops[axis][:cut]), list(loops[axis][cut:])
    return [outer[axis] if block is None else inner[axis] for axis, block in layout.dims]


def view(b: LinalgBuilder, x: ir.Value, dims: Sequence[Sequence[Loop]]) -> ir.Value:
    """A tensor under the shape in which every loop of its dims has a dim of its own."""
    sizes: list[int] = []
    for loops, size in zip(dims, shape_of(x), strict=True):
        sizes.extend([size] if len(loops) < 2 else [loop.size for loop in loops])
    return b.reshape(x, sizes)


def relayout(b: LinalgBuilder, x: ir.Value, source: Layout, target: Layout) -> ir.Value:
    """A copy of a tensor in another layout; the tensor itself when it is in that layout."""
    if source == target:
        return x
    for step in source.conversion(shape_of(x), target):
        x = b.reorder(x, step)
    return x
