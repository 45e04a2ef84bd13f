"""Normalisations, softmax and local responses."""

from __future__ import annotations

import math

from nnvm_mlir.builder import Node
from nnvm_mlir.dialects.nnvm.broadcast import (
    BroadcastAdd,
    BroadcastDiv,
    BroadcastEqual,
    BroadcastMul,
    BroadcastSub,
    Where,
)
from nnvm_mlir.dialects.nnvm.elementwise import Abs, MulScalar, Sqrt
from nnvm_mlir.dialects.nnvm.indexing import OneHot
from nnvm_mlir.dialects.nnvm.normalization import (
    BatchNorm,
    InstanceNorm,
    LayerNorm,
    LogSoftmax,
    Lrn,
    Softmax,
)
from nnvm_mlir.dialects.nnvm.operator import normalize_axis
from nnvm_mlir.dialects.nnvm.reduction import Argmax, Mean, Sum
from nnvm_mlir.frontend.onnx.converters.common import cast, channel_shape, reshape
from nnvm_mlir.frontend.onnx.registry import NodeContext, Results, converter, register_direct

register_direct("InstanceNormalization", InstanceNorm, "epsilon")
register_direct("LRN", Lrn, "size", "alpha", "beta", "bias")

_SOFTMAX = {"Softmax": Softmax, "LogSoftmax": LogSoftmax}


@converter(*_SOFTMAX)
def softmax_of_matrix(ctx: NodeContext) -> Node:
    """Up to opset 12 all dimensions from `axis` on are normalised together."""
    data = ctx.input(0)
    axis = normalize_axis(ctx.attr("axis"), len(data.shape))
    if all(size == 1 for size in data.shape[axis + 1 :]):
        return ctx.op(_SOFTMAX[ctx.op_type], data, axis=axis)
    matrix = reshape(ctx, data, _as_matrix(data, axis))
    return reshape(ctx, ctx.op(_SOFTMAX[ctx.op_type], matrix, axis=1), data.shape)


@converter(*_SOFTMAX, since=13)
def softmax(ctx: NodeContext) -> Node:
    """Along one axis."""
    return ctx.op(_SOFTMAX[ctx.op_type], ctx.input(0), axis=ctx.attr("axis"))


@converter("Hardmax")
def hardmax_of_matrix(ctx: NodeContext) -> Node:
    """Up to opset 12 all dimensions from `axis` on are one."""
    data = ctx.input(0)
    axis = normalize_axis(ctx.attr("axis"), len(data.shape))
    matrix = reshape(ctx, data, _as_matrix(data, axis))
    return reshape(ctx, _hardmax(ctx, matrix, 1), data.shape)


@converter("Hardmax", since=13)
def hardmax(ctx: NodeContext) -> Node:
    """Along one axis."""
    data = ctx.input(0)
    return _hardmax(ctx, data, normalize_axis(ctx.attr("axis"), len(data.shape)))


@converter("BatchNormalization")
def batch_norm(ctx: NodeContext) -> list[Node]:
    """By the running statistics, or in training mode by those of the batch."""
    if ctx.attr("spatial", 1) != 1:
        raise ctx.error("statistics per element (spatial=0) are not supported")
    data, gamma, beta, mean, variance = (ctx.input(index) for index in range(5))
    if not ctx.attr("training_mode", 0):
        if not ctx.attr("is_test", 1):
            raise ctx.error("training mode (is_test=0) is not supported before opset 14")
        return [_normalize(ctx, data, gamma, beta, mean, variance)]
    if len(data.shape) < 2:
        raise ctx.error(f"expected data with channels in dimension 1, got shape {data.shape}")
    axes = tuple(axis for axis in range(len(data.shape)) if axis != 1)
    batch_mean = ctx.op(Mean, data, axis=axes)
    wide_mean = reshape(ctx, batch_mean, channel_shape(data.shape[1], len(data.shape)))
    centred = ctx.op(BroadcastSub, data, wide_mean)
    batch_variance = ctx.op(Mean, ctx.op(BroadcastMul, centred, centred), axis=axes)
    return [
        _normalize(ctx, data, gamma, beta, batch_mean, batch_variance),
        _running(ctx, mean, batch_mean),
        _running(ctx, variance, batch_variance),
    ]


@converter("LayerNormalization")
def layer_norm(ctx: NodeContext) -> Results:
    """The statistics too, if they are asked for."""
    if ctx.wants_output(1) or ctx.wants_output(2):
        return ctx.expand_standard_function()
    operands = [node for node in ctx.inputs if node is not None]
    return [ctx.op(LayerNorm, *operands, axis=ctx.attr("axis"), epsilon=ctx.attr("epsilon"))]


@converter("LpNormalization")
def lp_norm(ctx: NodeContext) -> Node:
    """x over its p-norm; 0 where the norm is 0."""
    data = ctx.input(0)
    if ctx.attr("p") not in (1, 2):
        raise ctx.error(f"attribute 'p' must be 1 or 2, got {ctx.attr('p')}")
    keep = {"axis": (ctx.attr("axis"),), "keepdims": True}
    if ctx.attr("p") == 1:
        norm = ctx.op(Sum, ctx.op(Abs, data), **keep)
    else:
        norm = ctx.op(Sqrt, ctx.op(Sum, ctx.op(BroadcastMul, data, data), **keep))
    zero = ctx.scalar_like(0, data)
    vanishes = ctx.op(BroadcastEqual, norm, zero, out_dtype="bool")
    return ctx.op(Where, vanishes, zero, ctx.op(BroadcastDiv, data, norm))


def _as_matrix(data: Node, axis: int) -> tuple[int, int]:
    return math.prod(data.shape[:axis]), math.prod(data.shape[axis:])


def _hardmax(ctx: NodeContext, data: Node, axis: int) -> Node:
    greatest = ctx.op(Argmax, data, axis=(axis,), dtype="int64")
    return ctx.op(OneHot, greatest, depth=data.shape[axis], axis=axis, dtype=data.dtype)


def _normalize(
    ctx: NodeContext, data: Node, gamma: Node, beta: Node, mean: Node, variance: Node
) -> Node:
    vectors = [cast(ctx, vector, data.dtype) for vector in (gamma, beta, mean, variance)]
    return ctx.op(BatchNorm, data, *vectors, axis=1, epsilon=ctx.attr("epsilon"))[0]


def _running(ctx: NodeContext, running: Node, batch: Node) -> Node:
    """running * momentum + batch * (1 - momentum)."""
    momentum = ctx.attr("momentum")
    old = ctx.op(MulScalar, running, scalar=momentum)
    new = ctx.op(MulScalar, cast(ctx, batch, running.dtype), scalar=1 - momentum)
    return ctx.op(BroadcastAdd, old, new)
