"""Reductions, arg-reductions and cumulative sums."""

from __future__ import annotations

from nnvm_mlir.builder import Node
from nnvm_mlir.dialects.nnvm.broadcast import BroadcastAdd, BroadcastMul, BroadcastSub, Where
from nnvm_mlir.dialects.nnvm.elementwise import Abs, Exp, IsInf, Log, Sqrt
from nnvm_mlir.dialects.nnvm.operator import Operator
from nnvm_mlir.dialects.nnvm.reduction import Argmax, Argmin, Cumsum, Max, Mean, Min, Prod, Sum
from nnvm_mlir.dialects.nnvm.types import is_float
from nnvm_mlir.frontend.onnx.converters.common import cast, reshape
from nnvm_mlir.frontend.onnx.registry import NodeContext, converter

_REDUCTIONS = {
    "ReduceMax": Max,
    "ReduceMean": Mean,
    "ReduceMin": Min,
    "ReduceProd": Prod,
    "ReduceSum": Sum,
}
_ARG_REDUCTIONS = {"ArgMax": Argmax, "ArgMin": Argmin}


@converter(*_REDUCTIONS)
def reduction(ctx: NodeContext) -> Node:
    """A reduction that the dialect has."""
    return _reduce(ctx, _REDUCTIONS[ctx.op_type], ctx.input(0))


@converter("ReduceL1")
def reduce_l1(ctx: NodeContext) -> Node:
    """The sum of absolute values."""
    return _reduce(ctx, Sum, ctx.op(Abs, ctx.input(0)))


@converter("ReduceL2")
def reduce_l2(ctx: NodeContext) -> Node:
    """The root of the sum of squares."""
    return _in_float(ctx, lambda data: ctx.op(Sqrt, _sum_of_squares(ctx, data)))


@converter("ReduceSumSquare")
def reduce_sum_square(ctx: NodeContext) -> Node:
    """The sum of squares."""
    return _sum_of_squares(ctx, ctx.input(0))


@converter("ReduceLogSum")
def reduce_log_sum(ctx: NodeContext) -> Node:
    """The logarithm of the sum."""
    return _in_float(ctx, lambda data: ctx.op(Log, _reduce(ctx, Sum, data)))


@converter("ReduceLogSumExp")
def reduce_log_sum_exp(ctx: NodeContext) -> Node:
    """The logarithm of the sum of exponentials, taken relative to the greatest element."""
    return _in_float(ctx, lambda data: _log_sum_exp(ctx, data))


@converter(*_ARG_REDUCTIONS)
def arg_reduction(ctx: NodeContext) -> Node:
    """The index of an extreme element."""
    return ctx.op(
        _ARG_REDUCTIONS[ctx.op_type],
        ctx.input(0),
        axis=(ctx.attr("axis"),),
        keepdims=ctx.attr("keepdims"),
        select_last_index=ctx.attr("select_last_index", 0),
        dtype="int64",
    )


@converter("CumSum")
def cumsum(ctx: NodeContext) -> Node:
    """A running sum."""
    return ctx.op(
        Cumsum,
        ctx.input(0),
        axis=ctx.scalar_input(1),
        exclusive=ctx.attr("exclusive"),
        reverse=ctx.attr("reverse"),
    )


def _axes(ctx: NodeContext) -> tuple[int, ...] | None:
    """The axes to reduce; () means all, None means nothing at all."""
    since = 13 if ctx.op_type == "ReduceSum" else 18
    axes = ctx.attr_or_input("axes", 1, since) or ()
    return None if not axes and ctx.attr("noop_with_empty_axes", 0) else axes


def _reduce(
    ctx: NodeContext, operator: type[Operator], data: Node, keepdims: bool | None = None
) -> Node:
    axes = _axes(ctx)
    if axes is None:
        return data
    keep = ctx.attr("keepdims") if keepdims is None else keepdims
    return ctx.op(operator, data, axis=axes, keepdims=keep)


def _sum_of_squares(ctx: NodeContext, data: Node) -> Node:
    return _reduce(ctx, Sum, ctx.op(BroadcastMul, data, data))


def _log_sum_exp(ctx: NodeContext, data: Node) -> Node:
    greatest = _reduce(ctx, Max, data, keepdims=True)
    zero = ctx.scalar_like(0, data)
    shift = ctx.op(Where, ctx.op(IsInf, greatest), zero, greatest)
    exponentials = ctx.op(Exp, ctx.op(BroadcastSub, data, shift))
    total = ctx.op(Log, _reduce(ctx, Sum, exponentials))
    return ctx.op(BroadcastAdd, total, reshape(ctx, shift, total.shape))


def _in_float(ctx: NodeContext, compute) -> Node:
    """Computes integers in double and converts back."""
    data = ctx.input(0)
    if is_float(data.dtype):
        return compute(data)
    return cast(ctx, compute(cast(ctx, data, "float64")), data.dtype)
