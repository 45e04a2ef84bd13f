"""Pools over windows and over whole images."""

from __future__ import annotations

import math
from typing import Any

from nnvm_mlir.builder import Node
from nnvm_mlir.dialects.nnvm.elementwise import Abs, MulScalar, PowScalar
from nnvm_mlir.dialects.nnvm.pooling import (
    AvgPool1D,
    AvgPool2D,
    AvgPool3D,
    GlobalAvgPool1D,
    GlobalAvgPool2D,
    GlobalAvgPool3D,
    GlobalMaxPool1D,
    GlobalMaxPool2D,
    GlobalMaxPool3D,
    MaxPool1D,
    MaxPool1DIndices,
    MaxPool2D,
    MaxPool2DIndices,
    MaxPool3D,
    MaxPool3DIndices,
)
from nnvm_mlir.dialects.nnvm.reduction import Sum
from nnvm_mlir.frontend.onnx.converters.windows import Window, spatial_rank, window_of
from nnvm_mlir.frontend.onnx.registry import NodeContext, converter

_MAX = (MaxPool1D, MaxPool2D, MaxPool3D)
_MAX_INDICES = (MaxPool1DIndices, MaxPool2DIndices, MaxPool3DIndices)
_AVERAGE = (AvgPool1D, AvgPool2D, AvgPool3D)
_GLOBAL = {
    "GlobalAveragePool": (GlobalAvgPool1D, GlobalAvgPool2D, GlobalAvgPool3D),
    "GlobalMaxPool": (GlobalMaxPool1D, GlobalMaxPool2D, GlobalMaxPool3D),
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
    powers = _powers(ctx)
    total = ctx.op(Sum, powers, axis=tuple(range(2, len(powers.shape))), keepdims=True)
    return _root(ctx, total)


@converter("LpPool")
def lp_pool(ctx: NodeContext) -> Node:
    """The p-norm of every window: a mean in which everything counts, times the window's size."""
    rank = spatial_rank(ctx)
    window = window_of(ctx, ctx.attr("kernel_shape"))
    if ctx.attr("ceil_mode", 0):
        raise ctx.error("ceil_mode is not supported")
    attributes = _attributes(ctx, window)
    mean = ctx.op(_AVERAGE[rank - 1], _powers(ctx), count_include_pad=True, **attributes)
    return _root(ctx, ctx.op(MulScalar, mean, scalar=math.prod(window.kernel)))


def _powers(ctx: NodeContext) -> Node:
    return ctx.op(PowScalar, ctx.op(Abs, ctx.input(0)), scalar=ctx.attr("p"))


def _root(ctx: NodeContext, total: Node) -> Node:
    return ctx.op(PowScalar, total, scalar=1 / ctx.attr("p"))


def _attributes(ctx: NodeContext, window: Window) -> dict[str, Any]:
    return {
        "pool_size": window.kernel,
        "strides": window.strides,
        "dilation": window.dilations,
        "padding": window.padding,
        "ceil_mode": ctx.attr("ceil_mode", 0),
    }
