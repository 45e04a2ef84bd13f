"""Quantised operators, composed of integer arithmetic and (de)quantisation."""

from __future__ import annotations

import numpy as np

from nnvm_mlir.builder import Node
from nnvm_mlir.dialects.nnvm.broadcast import BroadcastAdd, BroadcastDiv, BroadcastMul, BroadcastSub
from nnvm_mlir.dialects.nnvm.elementwise import Clip, Round
from nnvm_mlir.dialects.nnvm.linear import BatchMatmul
from nnvm_mlir.dialects.nnvm.operator import normalize_axis
from nnvm_mlir.dialects.nnvm.quantization import DequantizeLinear, QuantizeLinear
from nnvm_mlir.dialects.nnvm.transform import ExpandDims
from nnvm_mlir.frontend.onnx.converters.common import broadcast_to, cast, channel_shape, reshape
from nnvm_mlir.frontend.onnx.converters.convolution import convolve
from nnvm_mlir.frontend.onnx.registry import NodeContext, converter


@converter("QuantizeLinear")
def quantize_linear(ctx: NodeContext) -> Node:
    """The zero point's dtype is that of the result."""
    data, scale, zero_point = ctx.input(0), ctx.input(1), ctx.optional_input(2)
    if zero_point is None:
        code = ctx.attr("output_dtype", 0)
        zero_point = ctx.filled(0, scale.shape, ctx.dtype(code) if code else "uint8")
    if not ctx.attr("block_size", 0):
        return _quantize(ctx, data, scale, zero_point, ctx.attr("axis", 1))
    dtype = zero_point.dtype
    limits = np.iinfo(dtype)
    steps = ctx.op(Round, ctx.op(BroadcastDiv, data, _of_blocks(ctx, scale, data)))
    offset = cast(ctx, _of_blocks(ctx, zero_point, data), data.dtype)
    shifted = ctx.op(BroadcastAdd, steps, offset)
    return cast(ctx, ctx.op(Clip, shifted, a_min=limits.min, a_max=limits.max), dtype)


@converter("DequantizeLinear")
def dequantize_linear(ctx: NodeContext) -> Node:
    """The scale's dtype is that of the result."""
    data, scale, zero_point = ctx.input(0), ctx.input(1), ctx.optional_input(2)
    if zero_point is None:
        zero_point = ctx.filled(0, scale.shape, data.dtype)
    if ctx.attr("block_size", 0):
        shifted = _shifted(ctx, data, _of_blocks(ctx, zero_point, data))
        wide_scale = _of_blocks(ctx, scale, data)
        return ctx.op(BroadcastMul, cast(ctx, shifted, scale.dtype), wide_scale)
    scale, zero_point, axis = _parameters(ctx, scale, zero_point, ctx.attr("axis", 1))
    return ctx.op(DequantizeLinear, data, scale, zero_point, axis=axis)


@converter("MatMulInteger")
def matmul_integer(ctx: NodeContext) -> Node:
    """int32 products of integers less their zero points."""
    lhs, rhs = ctx.input(0), ctx.input(1)
    return _matmul_integer(ctx, lhs, ctx.optional_input(2), rhs, ctx.optional_input(3))


@converter("QLinearMatMul")
def qlinear_matmul(ctx: NodeContext) -> Node:
    """A product of quantised matrices, quantised again."""
    lhs, lhs_scale, lhs_zero, rhs, rhs_scale, rhs_zero, scale, zero = ctx.operands
    product = cast(ctx, _matmul_integer(ctx, lhs, lhs_zero, rhs, rhs_zero), "float32")
    if len(lhs_scale.shape) == 1 and lhs_scale.type.size > 1:  # one scale for each row
        lhs_scale = reshape(ctx, lhs_scale, (*lhs_scale.shape, 1))
    both = ctx.op(BroadcastMul, cast(ctx, lhs_scale, "float32"), cast(ctx, rhs_scale, "float32"))
    real = ctx.op(BroadcastMul, product, both)
    return _quantize(ctx, real, cast(ctx, scale, "float32"), zero, 1)


@converter("ConvInteger")
def conv_integer(ctx: NodeContext) -> Node:
    """An int32 convolution of integers less their zero points."""
    data = _shifted(ctx, ctx.input(0), ctx.optional_input(2))
    weight = _shifted(ctx, ctx.input(1), _per_output(ctx, ctx.optional_input(3), ctx.input(1)))
    return convolve(ctx, data, weight, None)


@converter("QLinearConv")
def qlinear_conv(ctx: NodeContext) -> Node:
    """A convolution of quantised tensors, quantised again."""
    data, data_scale, data_zero, weight, weight_scale, weight_zero, scale, zero = ctx.operands[:8]
    total = convolve(
        ctx,
        _shifted(ctx, data, data_zero),
        _shifted(ctx, weight, _per_output(ctx, weight_zero, weight)),
        ctx.optional_input(8),
    )
    if weight_scale.type.size > 1:
        channels = channel_shape(weight_scale.type.size, len(data.shape))
        weight_scale = reshape(ctx, weight_scale, channels)
    both = ctx.op(BroadcastMul, data_scale, weight_scale)
    real = ctx.op(BroadcastMul, cast(ctx, total, "float32"), both)
    return _quantize(ctx, real, scale, zero, 1)


def _matmul_integer(
    ctx: NodeContext, lhs: Node, lhs_zero: Node | None, rhs: Node, rhs_zero: Node | None
) -> Node:
    if lhs_zero is not None and len(lhs_zero.shape) == 1 and lhs_zero.type.size > 1:
        lhs_zero = reshape(ctx, lhs_zero, (*lhs_zero.shape, 1))  # one for each row
    return ctx.op(BatchMatmul, _shifted(ctx, lhs, lhs_zero), _shifted(ctx, rhs, rhs_zero))


def _shifted(ctx: NodeContext, data: Node, zero_point: Node | None) -> Node:
    """data - zero_point, as int32."""
    wide = cast(ctx, data, "int32")
    if zero_point is None:
        return wide
    return ctx.op(BroadcastSub, wide, cast(ctx, zero_point, "int32"))


def _per_output(ctx: NodeContext, zero_point: Node | None, weight: Node) -> Node | None:
    """A zero point for each output channel, shaped to broadcast against the weight."""
    if zero_point is None or zero_point.type.size == 1:
        return zero_point
    return reshape(ctx, zero_point, (zero_point.type.size, *[1] * (len(weight.shape) - 1)))


def _quantize(ctx: NodeContext, data: Node, scale: Node, zero_point: Node, axis: int) -> Node:
    scale, zero_point, axis = _parameters(ctx, scale, zero_point, axis)
    return ctx.op(QuantizeLinear, data, scale, zero_point, axis=axis)


def _parameters(
    ctx: NodeContext, scale: Node, zero_point: Node, axis: int
) -> tuple[Node, Node, int]:
    """Scale, zero point and axis. Those of a whole tensor become scalars: models mix ranks 0 and 1 there."""
    if scale.type.size != 1:
        return scale, zero_point, axis
    return reshape(ctx, scale, ()), reshape(ctx, zero_point, ()), 0


def _of_blocks(ctx: NodeContext, parameter: Node, data: Node) -> Node:
    """A parameter of each block along `axis`, repeated for each of the block's elements."""
    axis = normalize_axis(ctx.attr("axis", 1), len(data.shape))
    size = ctx.attr("block_size")
    blocks = parameter.shape[axis]
    if blocks * size != data.shape[axis]:
        raise ctx.error(f"{blocks} blocks of {size} do not make up the size {data.shape[axis]}")
    apart = ctx.op(ExpandDims, parameter, axis=axis + 1)
    wide = (*parameter.shape[: axis + 1], size, *parameter.shape[axis + 1 :])
    return reshape(ctx, broadcast_to(ctx, apart, wide), data.shape)
