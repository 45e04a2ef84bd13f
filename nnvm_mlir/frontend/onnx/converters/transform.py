"""Operators that move elements or change a shape."""

from __future__ import annotations

import math

import numpy as np

from nnvm_mlir.builder import Node
from nnvm_mlir.dialects.nnvm.expansion import Pad, Tile
from nnvm_mlir.dialects.nnvm.operator import normalize_axes, normalize_axis
from nnvm_mlir.dialects.nnvm.slicing import ReverseSequence, StridedSlice, Trilu
from nnvm_mlir.dialects.nnvm.transform import (
    DepthToSpace,
    ExpandDims,
    SpaceToDepth,
    Squeeze,
    Transpose,
)
from nnvm_mlir.frontend.onnx.converters.common import broadcast_to, concatenate, reshape, split
from nnvm_mlir.frontend.onnx.registry import NodeContext, Results, converter, register_direct

register_direct("DepthToSpace", DepthToSpace, block_size="blocksize", mode="mode")
register_direct("ReverseSequence", ReverseSequence, "batch_axis", "time_axis")


@converter("SpaceToDepth")
def space_to_depth(ctx: NodeContext) -> Results:
    """The order that the dialect has, or the other one by the standard's function."""
    if ctx.attr("mode", "DCR") != "DCR":
        return ctx.expand_standard_function()
    return ctx.op(SpaceToDepth, ctx.input(0), block_size=ctx.attr("blocksize"))


@converter("Reshape")
def convert_reshape(ctx: NodeContext) -> Node:
    """0 keeps a dimension (unless `allowzero`), one -1 is inferred."""
    data = ctx.input(0)
    wanted = list(ctx.int_list(1) or ())
    if not ctx.attr("allowzero", 0):
        for axis, size in enumerate(wanted):
            if size == 0:
                if axis >= len(data.shape):
                    raise ctx.error(
                        f"shape {wanted} keeps dimension {axis}, the data has {len(data.shape)}"
                    )
                wanted[axis] = data.shape[axis]
    if wanted.count(-1) > 1 or any(size < -1 for size in wanted):
        raise ctx.error(f"{wanted} is not a shape")
    if -1 in wanted:
        rest = math.prod(size for size in wanted if size != -1)
        if rest == 0 or data.type.size % rest:
            raise ctx.error(f"{data.type.size} elements do not fit shape {wanted}")
        wanted[wanted.index(-1)] = data.type.size // rest
    return reshape(ctx, data, wanted)


@converter("Flatten")
def flatten(ctx: NodeContext) -> Node:
    """A matrix: the dimensions before `axis` by the others."""
    data = ctx.input(0)
    axis, rank = ctx.attr("axis"), len(data.shape)
    if not -rank <= axis <= rank:
        raise ctx.error(f"axis {axis} is out of range for rank {rank}")
    axis = axis + rank if axis < 0 else axis
    return reshape(ctx, data, (math.prod(data.shape[:axis]), math.prod(data.shape[axis:])))


@converter("Transpose")
def transpose(ctx: NodeContext) -> Node:
    """A permutation of the axes, by default the reverse."""
    data = ctx.input(0)
    perm = ctx.attr("perm") or tuple(reversed(range(len(data.shape))))
    if perm == tuple(range(len(data.shape))):
        return data
    return ctx.op(Transpose, data, axes=perm)


@converter("Squeeze")
def squeeze(ctx: NodeContext) -> Node:
    """Without axes, every dimension of size 1 goes."""
    data = ctx.input(0)
    axes = ctx.attr_or_input("axes", 1, since=13)
    if not axes and 1 not in data.shape:
        return data
    return ctx.op(Squeeze, data, axis=axes or ())


@converter("Unsqueeze")
def unsqueeze(ctx: NodeContext) -> Node:
    """New dimensions of size 1 at the given places of the result."""
    data = ctx.input(0)
    axes = ctx.attr_or_input("axes", 1, since=13) or ()
    for axis in normalize_axes(axes, len(data.shape) + len(axes)):
        data = ctx.op(ExpandDims, data, axis=axis)
    return data


@converter("Concat")
def concat(ctx: NodeContext) -> Node:
    """Tensors one after the other along an axis."""
    tensors = ctx.operands
    axis = normalize_axis(ctx.attr("axis"), len(tensors[0].shape))
    return concatenate(ctx, tensors, axis)


@converter("Split")
def convert_split(ctx: NodeContext) -> list[Node]:
    """Parts along an axis, of given sizes or as even as can be."""
    data = ctx.input(0)
    axis = normalize_axis(ctx.attr("axis"), len(data.shape))
    total = data.shape[axis]
    sizes = ctx.attr_or_input("split", 1, since=13)
    if sizes is None:
        parts = ctx.num_outputs
        if ctx.attr("num_outputs", parts) != parts:
            raise ctx.error(f"num_outputs is not {parts}, the number of its outputs")
        if ctx.opset < 18 and total % parts:
            raise ctx.error(
                f"dimension {axis} of size {total} does not split into {parts} equal parts"
            )
        chunk = -(-total // parts)
        sizes = tuple(max(min(chunk, total - chunk * part), 0) for part in range(parts))
    if sum(sizes) != total or min(sizes, default=0) < 0 or len(sizes) != ctx.num_outputs:
        raise ctx.error(
            f"sizes {list(sizes)} do not split dimension {axis} of size {total}"
            f" into {ctx.num_outputs} outputs"
        )
    return split(ctx, data, sizes, axis)


@converter("Slice")
def slice_(ctx: NodeContext) -> Node:
    """Starts and ends count from the end where negative, and are clipped."""
    data = ctx.input(0)
    starts = ctx.attr_or_input("starts", 1, since=10) or ()
    ends = ctx.attr_or_input("ends", 2, since=10) or ()
    axes = ctx.attr_or_input("axes", 3, since=10) or tuple(range(len(starts)))
    steps = (ctx.int_list(4) if ctx.opset >= 10 else None) or (1,) * len(starts)
    if not len(starts) == len(ends) == len(axes) == len(steps):
        raise ctx.error("starts, ends, axes and steps differ in length")
    if 0 in steps:
        raise ctx.error("a step must not be 0")
    normal = [normalize_axis(axis, len(data.shape)) for axis in axes]
    normalize_axes(normal, len(data.shape))
    bounds = {
        axis: _slice_bounds(data.shape[axis], *limits)
        for axis, *limits in zip(normal, starts, ends, steps, strict=True)
    }
    return _strided_slice(ctx, data, bounds)


def _slice_bounds(size: int, start: int, end: int, step: int) -> tuple[int, int, int]:
    """Bounds for `strided_slice`, in which an end of -size - 1 means "through element 0"."""
    first, last, _ = slice(start, end, step).indices(size)
    return (first, last if last >= 0 else -size - 1, step) if size else (0, 0, 1)


def _strided_slice(ctx: NodeContext, data: Node, bounds: dict[int, tuple[int, int, int]]) -> Node:
    bounds = {axis: b for axis, b in bounds.items() if b != (0, data.shape[axis], 1)}
    if not bounds:
        return data
    whole = [bounds.get(axis, (0, size, 1)) for axis, size in enumerate(data.shape)]
    begin, end, stride = zip(*whole[: max(bounds) + 1], strict=True)
    return ctx.op(StridedSlice, data, begin=begin, end=end, stride=stride)


@converter("Pad")
def pad(ctx: NodeContext) -> Node:
    """A negative width cuts elements off."""
    data = ctx.input(0)
    rank = len(data.shape)
    widths = ctx.attr_or_input("pads", 1, since=11) or ()
    axes = (ctx.int_list(3) if ctx.opset >= 18 else None) or tuple(range(rank))
    normal = [normalize_axis(axis, rank) for axis in axes]
    normalize_axes(normal, rank)
    if len(widths) != 2 * len(normal):
        raise ctx.error(f"pads must have {2 * len(normal)} elements, they have {len(widths)}")
    before, after = [0] * rank, [0] * rank
    for axis, low, high in zip(normal, widths, widths[len(normal) :], strict=False):
        before[axis], after[axis] = low, high
    data = _strided_slice(ctx, data, _cuts(ctx, data, before, after))
    interleaved = [max(width, 0) for pair in zip(before, after, strict=True) for width in pair]
    if not any(interleaved):
        return data
    value = (ctx.scalar_input(2) if ctx.opset >= 11 else ctx.attr("value")) or 0.0
    if value == value and float(value) != value:
        raise ctx.error(f"the padding {value} is not exact in double precision")
    return ctx.op(Pad, data, pad_width=interleaved, pad_value=value, mode=ctx.attr("mode"))


def _cuts(
    ctx: NodeContext, data: Node, before: list[int], after: list[int]
) -> dict[int, tuple[int, int, int]]:
    cuts = {}
    for axis, (low, high, size) in enumerate(zip(before, after, data.shape, strict=True)):
        begin, end = max(-low, 0), size - max(-high, 0)
        if begin > end:
            raise ctx.error(
                f"pads ({low}, {high}) cut more than the size {size} of dimension {axis}"
            )
        cuts[axis] = (begin, end, 1)
    return cuts


@converter("Expand")
def expand(ctx: NodeContext) -> Node:
    """Both the data and the wanted shape may have dimensions of size 1."""
    data = ctx.input(0)
    wanted = ctx.int_list(1) or ()
    try:
        target = np.broadcast_shapes(data.shape, wanted)
    except ValueError:
        raise ctx.error(f"shapes {data.shape} and {wanted} do not broadcast") from None
    return broadcast_to(ctx, data, target)


@converter("Tile")
def tile(ctx: NodeContext) -> Node:
    """Repetitions along each axis."""
    data = ctx.input(0)
    repeats = ctx.int_list(1) or ()
    if len(repeats) != len(data.shape) or any(count < 0 for count in repeats):
        raise ctx.error(f"repeats {list(repeats)} do not fit shape {data.shape}")
    return ctx.op(Tile, data, reps=repeats) if repeats else data


@converter("Trilu")
def trilu(ctx: NodeContext) -> Node:
    """The upper or lower triangle."""
    k = ctx.scalar_input(1)
    return ctx.op(Trilu, ctx.input(0), k=0 if k is None else k, upper=ctx.attr("upper"))
