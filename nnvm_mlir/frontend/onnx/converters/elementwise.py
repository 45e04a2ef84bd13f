"""Element-wise operators of one tensor, casts and clips."""

from __future__ import annotations

import math

from nnvm_mlir.builder import Node
from nnvm_mlir.dialects.nnvm.activation import (
    Celu,
    Elu,
    Gelu,
    HardSigmoid,
    HardSwish,
    LeakyRelu,
    Mish,
    Relu,
    Selu,
    Shrink,
    Sigmoid,
    Softplus,
    Softsign,
    ThresholdedRelu,
)
from nnvm_mlir.dialects.nnvm.broadcast import BroadcastMax, BroadcastMin, BroadcastMul
from nnvm_mlir.dialects.nnvm.elementwise import (
    Abs,
    Acos,
    Acosh,
    Asin,
    Asinh,
    Atan,
    Atanh,
    BitwiseNot,
    Ceil,
    Clip,
    Cos,
    Cosh,
    Erf,
    Exp,
    Floor,
    IsInf,
    IsNan,
    Log,
    LogicalNot,
    MulScalar,
    Negative,
    Reciprocal,
    Round,
    Sign,
    Sin,
    Sinh,
    Sqrt,
    Tan,
    Tanh,
)
from nnvm_mlir.dialects.nnvm.types import is_float
from nnvm_mlir.frontend.onnx.converters.common import cast, is_scalar
from nnvm_mlir.frontend.onnx.registry import NodeContext, converter, register_direct

for _op_type, _operator in {
    "Abs": Abs,
    "Acos": Acos,
    "Acosh": Acosh,
    "Asin": Asin,
    "Asinh": Asinh,
    "Atan": Atan,
    "Atanh": Atanh,
    "BitwiseNot": BitwiseNot,
    "Ceil": Ceil,
    "Cos": Cos,
    "Cosh": Cosh,
    "Erf": Erf,
    "Exp": Exp,
    "Floor": Floor,
    "HardSwish": HardSwish,
    "IsNaN": IsNan,
    "Log": Log,
    "Mish": Mish,
    "Neg": Negative,
    "Not": LogicalNot,
    "Reciprocal": Reciprocal,
    "Relu": Relu,
    "Round": Round,
    "Sigmoid": Sigmoid,
    "Sign": Sign,
    "Sin": Sin,
    "Sinh": Sinh,
    "Softplus": Softplus,
    "Softsign": Softsign,
    "Sqrt": Sqrt,
    "Tan": Tan,
    "Tanh": Tanh,
}.items():
    register_direct(_op_type, _operator)

register_direct("Celu", Celu, "alpha")
register_direct("Elu", Elu, "alpha")
register_direct("Gelu", Gelu, "approximate")
register_direct("HardSigmoid", HardSigmoid, "alpha", "beta")
register_direct("IsInf", IsInf, "detect_negative", "detect_positive")
register_direct("LeakyRelu", LeakyRelu, "alpha")
register_direct("Selu", Selu, "alpha", "gamma")
register_direct("Shrink", Shrink, "lambd", "bias")
register_direct("ThresholdedRelu", ThresholdedRelu, "alpha")


@converter("Identity")
def identity(ctx: NodeContext) -> Node:
    """The operand itself."""
    return ctx.input(0)


@converter("Cast")
def convert_cast(ctx: NodeContext) -> Node:
    """Cast to a constant element type."""
    return cast(ctx, ctx.input(0), ctx.dtype(ctx.attr("to")))


@converter("CastLike")
def cast_like(ctx: NodeContext) -> Node:
    """Cast to the element type of another tensor."""
    return cast(ctx, ctx.input(0), ctx.input(1).dtype)


@converter("Swish")
def swish(ctx: NodeContext) -> Node:
    """x * sigmoid(alpha * x)."""
    data = ctx.input(0)
    scaled = ctx.op(MulScalar, data, scalar=ctx.attr("alpha"))
    return ctx.op(BroadcastMul, data, ctx.op(Sigmoid, scaled))


@converter("Clip")
def clip_by_attributes(ctx: NodeContext) -> Node:
    """Bounds are attributes."""
    return ctx.op(Clip, ctx.input(0), a_min=ctx.attr("min"), a_max=ctx.attr("max"))


@converter("Clip", since=11)
def clip(ctx: NodeContext) -> Node:
    """Bounds are inputs, each of which may be absent."""
    data, low, high = ctx.input(0), ctx.optional_input(1), ctx.optional_input(2)
    a_min, a_max = _bound(low, -math.inf), _bound(high, math.inf)
    if a_min is not None and a_max is not None:
        return ctx.op(Clip, data, a_min=a_min, a_max=a_max)
    if low is not None:
        data = ctx.op(BroadcastMax, data, low)
    if high is not None:
        data = ctx.op(BroadcastMin, data, high)
    return data


def _bound(bound: Node | None, unbounded: float) -> float | None:
    """A bound as a double, or None where it is not known or not exactly a double."""
    if bound is None:
        return unbounded
    if not is_scalar(bound) or bound.constant is None:
        return None
    exact = bound.constant.reshape(()).item()
    usable = not math.isnan(exact) if is_float(bound.dtype) else int(float(exact)) == exact
    return float(exact) if usable else None


@converter("Dropout")
def dropout(ctx: NodeContext) -> list[Node]:
    """Inference: the data itself, and a mask that keeps everything."""
    training = ctx.scalar_input(2) if ctx.opset >= 12 else not ctx.attr("is_test", 1)
    ratio = ctx.scalar_input(1) if ctx.opset >= 12 else ctx.attr("ratio")
    if training and (ratio is None or ratio != 0):
        raise ctx.error("dropout in training mode is random and not supported")
    data = ctx.input(0)
    if not ctx.wants_output(1):
        return [data]
    mask_dtype = "bool" if ctx.opset >= 10 else data.dtype
    return [data, ctx.filled(1, data.shape, mask_dtype)]
