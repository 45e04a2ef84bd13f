"""Lowering of element-wise operators of one operand: one scalar function each."""

from __future__ import annotations

from collections.abc import Callable

from nnvm_mlir.dialects.nnvm import elementwise as ops
from nnvm_mlir.dialects.nnvm.operator import Attributes
from nnvm_mlir.lowering.linalg.builder import LinalgBuilder
from nnvm_mlir.lowering.linalg.registry import lowers
from nnvm_mlir.lowering.linalg.scalars import Scalars, cast
from nnvm_mlir.mlir import arith, ir

Unary = Callable[[Scalars, Attributes, ir.Value], ir.Value]
"""`function(s, a, x)`: from the operand's scalar to the result's; `s` has the operand's dtype."""


FUNCTIONS: dict[type[ops.Unary], Unary] = {}
"""The scalar function of each operator, for operators that apply it within a body of their own."""


def lower_unary(table: dict[type[ops.Unary], Unary]) -> None:
    """Registers a rule for every operator of the table: its function mapped over the operand."""
    FUNCTIONS.update(table)

    @lowers(*table)
    def unary(b: LinalgBuilder, op: ops.Unary, x: ir.Value) -> ir.Value:
        dtype, result_dtype = op.static_operands[0].dtype, op.static_results[0].dtype
        s, a, function = Scalars(dtype), op.values, table[type(op)]
        return b.map(lambda value: function(s, a, value), [x], [dtype], result_dtype)


def call(function: str) -> Unary:
    """The scalar function that is one op of the math dialect."""
    return lambda s, a, x: s.call(function, x)


def _rounding(function: str) -> Unary:
    return lambda s, a, x: s.call(function, x) if s.is_float else x


def _sign(s: Scalars, a: Attributes, x: ir.Value) -> ir.Value:
    zero = s.const(0)
    below = x if s.is_unsigned else s.select(s.lt(x, zero), s.const(-1), x)
    return s.select(s.gt(x, zero), s.const(1), below)


def _abs(s: Scalars, a: Attributes, x: ir.Value) -> ir.Value:
    if s.is_float:
        return s.call("absf", x)
    return x if s.is_unsigned else s.max(x, s.neg(x))


def _clip(s: Scalars, a: Attributes, x: ir.Value) -> ir.Value:
    low, high = ops.Clip.bounds(a, s.dtype)
    return s.min(s.max(x, s.const(low)), s.const(high))


def _atanh(s: Scalars, a: Attributes, x: ir.Value) -> ir.Value:
    difference = s.sub(s.call("log1p", x), s.call("log1p", s.neg(x)))
    return s.mul(difference, s.const(0.5))


def _is_inf(s: Scalars, a: Attributes, x: ir.Value) -> ir.Value:
    test = Scalars("bool")
    positive = s.eq(x, s.const(float("inf"))) if a.detect_positive else test.const(False)
    negative = s.eq(x, s.const(float("-inf"))) if a.detect_negative else test.const(False)
    return arith.ori(positive, negative)


lower_unary(
    {
        ops.Copy: lambda s, a, x: x,
        ops.Negative: lambda s, a, x: s.neg(x),
        ops.Abs: _abs,
        ops.Sign: _sign,
        ops.Reciprocal: lambda s, a, x: s.div(s.const(1), x),
        ops.Floor: _rounding("floor"),
        ops.Ceil: _rounding("ceil"),
        ops.Trunc: _rounding("trunc"),
        ops.Round: _rounding("roundeven"),
        ops.Clip: _clip,
        ops.Cast: lambda s, a, x: cast(x, s.dtype, a.dtype),
        ops.Exp: call("exp"),
        ops.Log: call("log"),
        ops.Sqrt: call("sqrt"),
        ops.Rsqrt: call("rsqrt"),
        ops.Erf: call("erf"),
        ops.Sin: call("sin"),
        ops.Cos: call("cos"),
        ops.Tan: call("tan"),
        ops.Asin: call("asin"),
        ops.Acos: call("acos"),
        ops.Atan: call("atan"),
        ops.Sinh: call("sinh"),
        ops.Cosh: call("cosh"),
        ops.Tanh: call("tanh"),
        ops.Asinh: call("asinh"),
        ops.Acosh: call("acosh"),
        ops.Atanh: _atanh,
        ops.IsNan: lambda s, a, x: s.is_nan(x),
        ops.IsInf: _is_inf,
        ops.LogicalNot: lambda s, a, x: s.eq(x, s.const(0)),
        ops.BitwiseNot: lambda s, a, x: arith.xori(x, s.const(-1)),
        ops.AddScalar: lambda s, a, x: s.add(x, s.const(a.scalar)),
        ops.SubScalar: lambda s, a, x: s.sub(x, s.const(a.scalar)),
        ops.RsubScalar: lambda s, a, x: s.sub(s.const(a.scalar), x),
        ops.MulScalar: lambda s, a, x: s.mul(x, s.const(a.scalar)),
        ops.DivScalar: lambda s, a, x: s.div(x, s.const(a.scalar)),
        ops.RdivScalar: lambda s, a, x: s.div(s.const(a.scalar), x),
        ops.PowScalar: lambda s, a, x: s.pow(x, s.const(a.scalar), s.dtype),
        ops.RpowScalar: lambda s, a, x: s.pow(s.const(a.scalar), x, s.dtype),
    }
)
