"""Lowering of element-wise operators of several operands: one scalar function each."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce

from nnvm_mlir.dialects.nnvm import broadcast as ops
from nnvm_mlir.dialects.nnvm.operator import Attributes
from nnvm_mlir.lowering.linalg.builder import LinalgBuilder
from nnvm_mlir.lowering.linalg.registry import lowers
from nnvm_mlir.lowering.linalg.scalars import Scalars, cast
from nnvm_mlir.mlir import arith, ir

Binary = Callable[[Scalars, Attributes, ir.Value, ir.Value], ir.Value]

_COMPARISONS = {
    ops.BroadcastGreater: "gt",
    ops.BroadcastLess: "lt",
    ops.BroadcastEqual: "eq",
    ops.BroadcastNotEqual: "ne",
    ops.BroadcastGreaterEqual: "ge",
    ops.BroadcastLessEqual: "le",
}

_LOGICAL = {ops.LogicalAnd: arith.andi, ops.LogicalOr: arith.ori, ops.LogicalXor: arith.xori}

_BINARY: dict[type[ops.Elementwise], Binary] = {
    ops.BroadcastAdd: lambda s, a, x, y: s.add(x, y),
    ops.BroadcastSub: lambda s, a, x, y: s.sub(x, y),
    ops.BroadcastMul: lambda s, a, x, y: s.mul(x, y),
    ops.BroadcastDiv: lambda s, a, x, y: s.div(x, y),
    ops.BroadcastMod: lambda s, a, x, y: s.rem(x, y) if a.fmod else s.mod(x, y),
    ops.BroadcastMax: lambda s, a, x, y: s.max(x, y),
    ops.BroadcastMin: lambda s, a, x, y: s.min(x, y),
    ops.BroadcastLeftShift: lambda s, a, x, y: s.shift_left(x, y),
    ops.BroadcastRightShift: lambda s, a, x, y: s.shift_right(x, y),
    ops.BitwiseAnd: lambda s, a, x, y: arith.andi(x, y),
    ops.BitwiseOr: lambda s, a, x, y: arith.ori(x, y),
    ops.BitwiseXor: lambda s, a, x, y: arith.xori(x, y),
    ops.ElemwiseAdd: lambda s, a, x, y: s.add(x, y),
    ops.ElemwiseSub: lambda s, a, x, y: s.sub(x, y),
    ops.ElemwiseMul: lambda s, a, x, y: s.mul(x, y),
    ops.ElemwiseDiv: lambda s, a, x, y: s.div(x, y),
    ops.ElemwiseMod: lambda s, a, x, y: s.mod(x, y),
    ops.ElemwisePow: lambda s, a, x, y: s.pow(x, y, s.dtype),
}


def map_operands(
    b: LinalgBuilder, op: ops.Elementwise, function: Callable[..., ir.Value], *operands: ir.Value
) -> ir.Value:
    """Maps a function of one scalar from each operand over the operands, which broadcast."""
    dtypes = [t.dtype for t in op.static_operands]
    return b.map(function, operands, dtypes, op.static_results[0].dtype)


@lowers(*_BINARY)
def binary(b: LinalgBuilder, op: ops.Elementwise, x: ir.Value, y: ir.Value) -> ir.Value:
    """Maps the operator's scalar function over the operands."""
    s, a, function = Scalars(op.static_operands[0].dtype), op.values, _BINARY[type(op)]
    return map_operands(b, op, lambda x, y: function(s, a, x, y), x, y)


@lowers(*_COMPARISONS)
def comparison(b: LinalgBuilder, op: ops.Comparison, x: ir.Value, y: ir.Value) -> ir.Value:
    """Maps a comparison, whose i1 becomes 0 or 1 of the result's dtype."""
    s, predicate = Scalars(op.static_operands[0].dtype), _COMPARISONS[type(op)]
    dtype = op.static_results[0].dtype
    return map_operands(b, op, lambda x, y: cast(s.compare(predicate, x, y), "bool", dtype), x, y)


@lowers(*_LOGICAL)
def logical(b: LinalgBuilder, op: ops.Logical, x: ir.Value, y: ir.Value) -> ir.Value:
    """Maps a function of two truth values."""
    dtype, function = op.static_operands[0].dtype, _LOGICAL[type(op)]
    return map_operands(
        b, op, lambda x, y: function(cast(x, dtype, "bool"), cast(y, dtype, "bool")), x, y
    )


@lowers(ops.BroadcastPow)
def broadcast_pow(b: LinalgBuilder, op: ops.BroadcastPow, x: ir.Value, y: ir.Value) -> ir.Value:
    """Maps a power, whose exponent may have another dtype."""
    base, exponent = (t.dtype for t in op.static_operands)
    return map_operands(b, op, lambda x, y: Scalars(base).pow(x, y, exponent), x, y)


@lowers(ops.ElemwiseSum)
def elemwise_sum(b: LinalgBuilder, op: ops.ElemwiseSum, *operands: ir.Value) -> ir.Value:
    """Adds all operands in one body."""
    s = Scalars(op.static_operands[0].dtype)
    return map_operands(b, op, lambda *scalars: reduce(s.add, scalars), *operands)


@lowers(ops.Where)
def where(b: LinalgBuilder, op: ops.Where, *operands: ir.Value) -> ir.Value:
    """Selects by the truth value of the condition."""
    dtype = op.static_operands[0].dtype
    return map_operands(
        b, op, lambda c, x, y: arith.select(cast(c, dtype, "bool"), x, y), *operands
    )


@lowers(ops.Prelu)
def prelu(b: LinalgBuilder, op: ops.Prelu, x: ir.Value, alpha: ir.Value) -> ir.Value:
    """Maps a leaky relu, alpha brought to where its axis is."""
    data = op.static_operands[0]
    s = Scalars(data.dtype)
    alpha = b.reshape(alpha, op.alpha_shape(op.values, data.shape))
    return map_operands(
        b, op, lambda x, slope: s.select(s.gt(x, s.const(0)), x, s.mul(x, slope)), x, alpha
    )
