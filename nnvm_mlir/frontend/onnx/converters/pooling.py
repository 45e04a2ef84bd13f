"""Pools over windows and over whole images."""

from __future__ import annotations

from typing import Any

from nnvm_mlir.builder import Node
from nnvm_mlir.frontend.onnx.converters import ops
from nnvm_mlir.frontend.onnx.converters.windows import Window, spatial_rank, window_of
from nnvm_mlir.frontend.onnx.registry import NodeContext, converter

_MAX = (ops.MaxPool1D, ops.MaxPool2D, ops.MaxPool3D)
_MAX_INDICES = (ops.MaxPool1DIndices, ops.MaxPool2DIndices, ops.MaxPool3DIndices)
_AVERAGE = (ops.AvgPool1D, ops.AvgPool2D, ops.AvgPool3D)
_GLOBAL = {
    "GlobalAveragePool": (ops.GlobalAvgPool1D, ops.GlobalAvgPool2D, ops.GlobalAvgPool3D),
    "GlobalMaxPool": (ops.GlobalMaxPool1D, ops.GlobalMaxPool2D, ops.GlobalMaxPool3D),
}


@converter("MaxPool")
def max_pool(ctx: NodeContext) -> list[Node]:
    """The maxima, and where they are if that is asked for."""
    index = spatial_rank(ctx) - 1
    attributes = _attributes(ctx, window_of(ctx, ctx.attr("kernel_shape")))
    if not ctx.wants_output(1):
        return [ctx.op(_MAX[index], ctx.input(0), **attributes)]
    order = ctx.attr("storage_order", 0)
    return ctx.op(_MAX_INDICES[index], ctx.input(0), storage_order=order, **attributes)


@converter("AveragePool")
def average_pool(ctx: NodeContext) -> Node:
    """The means, over windows with or without their padding."""
    window = window_of(ctx, ctx.attr("kernel_shape"))
    return ctx.op(
        _AVERAGE[spatial_rank(ctx) - 1],
        ctx.input(0),
        count_include_pad=ctx.attr("count_include_pad", 0),
        **_attributes(ctx, window),
    )


@converter(*_GLOBAL)
def global_pool(ctx: NodeContext) -> Node:
    """One window as large as the image."""
    return ctx.op(_GLOBAL[ctx.op_type][spatial_rank(ctx) - 1], ctx.input(0))


@converter("GlobalLpPool")
def global_lp_pool(ctx: NodeContext) -> Node:
    """The p-norm of every channel."""
    data = ctx.input(0)
    axes = tuple(range(2, len(data.shape)))
    power = ctx.attr("p")
    powers = ctx.op(ops.PowScalar, ctx.op(ops.Abs, data), scalar=power)
    total = ctx.op(ops.Sum, powers, axis=axes, keepdims=True)
    return ctx.op(ops.PowScalar, total, scalar=1 / power)


def _attributes(ctx: NodeContext, window: Window) -> dict[str, Any]:
    return {
        "pool_size": window.kernel,
        "strides": window.strides,
        "dilation": window.dilations,
        "padding": window.padding,
        "ceil_mode": ctx.attr("ceil_mode", 0),
    }
