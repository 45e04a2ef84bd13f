"""Element-wise operators of several tensors that broadcast against each other."""

from __future__ import annotations

from functools import reduce

from nnvm_mlir.builder import Node
from nnvm_mlir.dialects.nnvm.broadcast import (
    BitwiseAnd,
    BitwiseOr,
    BitwiseXor,
    BroadcastAdd,
    BroadcastDiv,
    BroadcastEqual,
    BroadcastGreater,
    BroadcastGreaterEqual,
    BroadcastLeftShift,
    BroadcastLess,
    BroadcastLessEqual,
    BroadcastMax,
    BroadcastMin,
    BroadcastMod,
    BroadcastMul,
    BroadcastPow,
    BroadcastRightShift,
    BroadcastSub,
    LogicalAnd,
    LogicalOr,
    LogicalXor,
    Prelu,
    Where,
)
from nnvm_mlir.dialects.nnvm.elementwise import DivScalar
from nnvm_mlir.dialects.nnvm.operator import Operator
from nnvm_mlir.frontend.onnx.converters.common import reshape
from nnvm_mlir.frontend.onnx.registry import NodeContext, converter

_BINARY = {
    "Add": BroadcastAdd,
    "And": LogicalAnd,
    "BitwiseAnd": BitwiseAnd,
    "BitwiseOr": BitwiseOr,
    "BitwiseXor": BitwiseXor,
    "Div": BroadcastDiv,
    "Mul": BroadcastMul,
    "Or": LogicalOr,
    "Pow": BroadcastPow,
    "Sub": BroadcastSub,
    "Xor": LogicalXor,
}
_COMPARISONS = {
    "Equal": BroadcastEqual,
    "Greater": BroadcastGreater,
    "GreaterOrEqual": BroadcastGreaterEqual,
    "Less": BroadcastLess,
    "LessOrEqual": BroadcastLessEqual,
}
_VARIADIC = {"Max": BroadcastMax, "Min": BroadcastMin, "Sum": BroadcastAdd}
_SHIFTS = {"LEFT": BroadcastLeftShift, "RIGHT": BroadcastRightShift}


@converter(*_BINARY)
def binary(ctx: NodeContext) -> Node:
    """Two operands."""
    return ctx.op(_BINARY[ctx.op_type], *_operands(ctx))


@converter(*_COMPARISONS)
def comparison(ctx: NodeContext) -> Node:
    """Two operands, a bool result."""
    return ctx.op(_COMPARISONS[ctx.op_type], *_operands(ctx), out_dtype="bool")


@converter("Mod")
def mod(ctx: NodeContext) -> Node:
    """The remainder, of either sign convention."""
    return ctx.op(BroadcastMod, *ctx.operands, fmod=ctx.attr("fmod"))


@converter("BitShift")
def bit_shift(ctx: NodeContext) -> Node:
    """A shift of unsigned integers."""
    direction = ctx.attr("direction")
    if direction not in _SHIFTS:
        raise ctx.error(f"attribute 'direction' must be LEFT or RIGHT, not {direction!r}")
    return ctx.op(_SHIFTS[direction], *ctx.operands)


@converter(*_VARIADIC)
def variadic(ctx: NodeContext) -> Node:
    """Any number of operands."""
    return _folded(ctx, _VARIADIC[ctx.op_type])


@converter("Mean")
def mean(ctx: NodeContext) -> Node:
    """The sum over the number of operands."""
    total = _folded(ctx, BroadcastAdd)
    return ctx.op(DivScalar, total, scalar=len(ctx.inputs))


@converter("Where")
def where(ctx: NodeContext) -> Node:
    """A choice between two tensors."""
    return ctx.op(Where, *ctx.operands)


@converter("PRelu")
def prelu(ctx: NodeContext) -> Node:
    """A slope for each channel, or any slope that broadcasts against the data."""
    data, slope = ctx.input(0), ctx.input(1)
    rank = len(data.shape)
    if ctx.opset < 7 and slope.shape != (1,):
        return ctx.op(Prelu, data, slope, axis=1)
    wide = [axis for axis, size in enumerate(slope.shape) if size != 1]
    if len(wide) == 1:
        axis = wide[0] + rank - len(slope.shape)
        if axis >= 0 and data.shape[axis] == slope.shape[wide[0]]:
            return ctx.op(Prelu, data, reshape(ctx, slope, (slope.type.size,)), axis=axis)
    positive = ctx.op(BroadcastGreater, data, ctx.scalar_like(0, data), out_dtype="bool")
    return ctx.op(Where, positive, data, ctx.op(BroadcastMul, data, slope))


def _operands(ctx: NodeContext) -> tuple[Node, Node]:
    """Both operands; before opset 7 the second is aligned at `axis` of the first."""
    lhs, rhs = ctx.input(0), ctx.input(1)
    if ctx.opset >= 7:
        return lhs, rhs
    if not ctx.attr("broadcast"):
        if lhs.shape != rhs.shape:
            raise ctx.error(
                f"shapes {lhs.shape} and {rhs.shape} differ, and 'broadcast' is not set"
            )
        return lhs, rhs
    axis = ctx.attr("axis")
    if axis is None:
        return lhs, rhs
    trailing = len(lhs.shape) - axis % max(len(lhs.shape), 1) - len(rhs.shape)
    return lhs, reshape(ctx, rhs, (*rhs.shape, *[1] * trailing))


def _folded(ctx: NodeContext, operator: type[Operator]) -> Node:
    operands = ctx.operands
    if ctx.opset < 8 and any(node.shape != operands[0].shape for node in operands):
        raise ctx.error("the shapes of the inputs differ, which opset 8 introduced")
    return reduce(lambda lhs, rhs: ctx.op(operator, lhs, rhs), operands)
