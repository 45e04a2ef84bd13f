"""Operators that read or write elements at positions given by a tensor."""

from __future__ import annotations

import numpy as np

from nnvm_mlir.builder import Node
from nnvm_mlir.dialects.nnvm.broadcast import Where
from nnvm_mlir.dialects.nnvm.indexing import (
    GatherElements,
    GatherNd,
    OneHot,
    ScatterElements,
    ScatterNd,
    Take,
)
from nnvm_mlir.dialects.nnvm.operator import normalize_axis
from nnvm_mlir.dialects.nnvm.selection import TopK
from nnvm_mlir.dialects.nnvm.slicing import Split
from nnvm_mlir.dialects.nnvm.transform import Transpose
from nnvm_mlir.dialects.nnvm.types import is_float
from nnvm_mlir.frontend.onnx.converters.common import cast, reshape
from nnvm_mlir.frontend.onnx.registry import NodeContext, converter


@converter("Gather")
def gather(ctx: NodeContext) -> Node:
    """Whole slices along an axis."""
    data, indices = ctx.input(0), ctx.input(1)
    axis = normalize_axis(ctx.attr("axis"), len(data.shape))
    _check_range(ctx, indices, data.shape[axis])
    return ctx.op(Take, data, indices, axis=axis)


@converter("GatherElements")
def gather_elements(ctx: NodeContext) -> Node:
    """Elements along an axis."""
    data, indices = ctx.input(0), ctx.input(1)
    axis = normalize_axis(ctx.attr("axis"), len(data.shape))
    _check_range(ctx, indices, data.shape[axis])
    return ctx.op(GatherElements, data, indices, axis=axis)


@converter("GatherND")
def gather_nd(ctx: NodeContext) -> Node:
    """Slices at positions in the last dimension of the indices, in the dialect's the first."""
    data, indices = ctx.input(0), ctx.input(1)
    batch_dims = ctx.attr("batch_dims", 0)
    rank = len(indices.shape)
    if not 0 <= batch_dims < min(rank, len(data.shape)):
        raise ctx.error(f"batch_dims {batch_dims} does not fit indices of rank {rank}")
    if batch_dims + indices.shape[-1] > len(data.shape):
        raise ctx.error(f"positions of {indices.shape[-1]} numbers do not fit shape {data.shape}")
    _check_range(ctx, indices, data.shape[batch_dims : batch_dims + indices.shape[-1]])
    if rank > 1:
        indices = ctx.op(Transpose, indices, axes=(rank - 1, *range(rank - 1)))
    return ctx.op(GatherNd, data, indices, batch_dims=batch_dims)


@converter("Scatter", "ScatterElements")
def scatter_elements(ctx: NodeContext) -> Node:
    """Updates of elements along an axis."""
    data, indices, updates = (ctx.input(index) for index in range(3))
    axis = normalize_axis(ctx.attr("axis"), len(data.shape))
    _check_range(ctx, indices, data.shape[axis])
    reduction = ctx.attr("reduction", "none")
    return ctx.op(ScatterElements, data, indices, updates, axis=axis, reduction=reduction)


@converter("ScatterND")
def scatter_nd(ctx: NodeContext) -> Node:
    """Updates of slices."""
    data, indices, updates = (ctx.input(index) for index in range(3))
    if indices.shape and indices.shape[-1] <= len(data.shape):
        _check_range(ctx, indices, data.shape[: indices.shape[-1]])
    return ctx.op(ScatterNd, data, indices, updates, reduction=ctx.attr("reduction", "none"))


@converter("OneHot")
def one_hot(ctx: NodeContext) -> Node:
    """Off and on values come as a tensor of two."""
    indices, values = ctx.input(0), ctx.input(2)
    depth = int(ctx.scalar_input(1))
    attributes = {"depth": depth, "axis": ctx.attr("axis")}
    if values.shape != (2,):
        raise ctx.error(f"values must have shape (2,), they have {values.shape}")
    if is_float(indices.dtype):
        indices = cast(ctx, indices, "int64")
    if values.constant is not None:
        off, on = values.constant
        if float(off) == off and float(on) == on:
            return ctx.op(
                OneHot, indices, on_value=on, off_value=off, dtype=values.dtype, **attributes
            )
    off_node, on_node = ctx.op(Split, values, indices_or_sections=2, axis=0)
    hit = ctx.op(OneHot, indices, dtype="bool", **attributes)
    return ctx.op(Where, hit, on_node, off_node)


@converter("TopK")
def top_k(ctx: NodeContext) -> list[Node]:
    """`k` is an attribute up to opset 9, then an input."""
    k = ctx.attr("k") if ctx.opset < 10 else ctx.scalar_input(1)
    return ctx.op(
        TopK,
        ctx.input(0),
        k=k,
        axis=ctx.attr("axis"),
        largest=ctx.attr("largest", 1),
        sorted=ctx.attr("sorted", 1),
    )


@converter("NonZero")
def non_zero(ctx: NodeContext) -> Node:
    """Positions of elements that are not 0; they decide the shape, so the data must be known."""
    return ctx.constant(
        np.stack(np.nonzero(np.atleast_1d(ctx.known(ctx.input(0), "the data")))), "int64"
    )


@converter("Compress")
def compress(ctx: NodeContext) -> Node:
    """Slices where a condition holds; it decides the shape, so it must be known."""
    data, condition = ctx.input(0), ctx.known(ctx.input(1), "the condition")
    axis = ctx.attr("axis")
    if axis is None:
        data, axis = reshape(ctx, data, (data.type.size,)), 0
    axis = normalize_axis(axis, len(data.shape))
    chosen = ctx.constant(np.flatnonzero(condition), "int64")
    _check_range(ctx, chosen, data.shape[axis])
    return ctx.op(Take, data, chosen, axis=axis)


def _check_range(ctx: NodeContext, indices: Node, size: int | tuple[int, ...]) -> None:
    """Refuses known indices outside [-size, size); of several sizes, one for each last position."""
    value = indices.constant
    if value is None or value.dtype.kind not in "iu":
        return
    sizes = np.asarray(size)
    if not np.all((value >= -sizes) & (value < sizes)):
        raise ctx.error(f"indices are out of range for size {size}")
