"""Lowering of activation functions: one scalar function each, in forms that do not overflow."""

from __future__ import annotations

import math

from nnvm_mlir.dialects.nnvm import activation as ops
from nnvm_mlir.dialects.nnvm.operator import Attributes
from nnvm_mlir.lowering.linalg.elementwise import lower_unary
from nnvm_mlir.lowering.linalg.scalars import Scalars
from nnvm_mlir.mlir import ir


def _leak(s: Scalars, x: ir.Value, otherwise: ir.Value) -> ir.Value:
    return s.select(s.gt(x, s.const(0)), x, otherwise)


def _scaled_expm1(s: Scalars, scale: float, x: ir.Value) -> ir.Value:
    return s.mul(s.const(scale), s.call("expm1", x))


def _unit_ramp(s: Scalars, x: ir.Value, slope: float, offset: float) -> ir.Value:
    line = s.add(s.mul(x, s.const(slope)), s.const(offset))
    return s.min(s.max(line, s.const(0)), s.const(1))


def _shrink(s: Scalars, a: Attributes, x: ir.Value) -> ir.Value:
    lambd, bias = s.const(a.lambd), s.const(a.bias)
    above = s.select(s.gt(x, lambd), s.sub(x, bias), s.const(0))
    return s.select(s.lt(x, s.neg(lambd)), s.add(x, bias), above)


def _celu(s: Scalars, a: Attributes, x: ir.Value) -> ir.Value:
    negative = _scaled_expm1(s, a.alpha, s.div(x, s.const(a.alpha)))
    return s.add(s.max(x, s.const(0)), s.min(negative, s.const(0)))


def _sigmoid(s: Scalars, a: Attributes, x: ir.Value) -> ir.Value:
    one = s.const(1)
    return s.div(one, s.add(one, s.call("exp", s.neg(x))))


def _decay(s: Scalars, x: ir.Value) -> ir.Value:
    return s.call("exp", s.neg(s.call("absf", x)))


def _softplus(s: Scalars, a: Attributes, x: ir.Value) -> ir.Value:
    return s.add(s.max(x, s.const(0)), s.call("log1p", _decay(s, x)))


def _mish(s: Scalars, a: Attributes, x: ir.Value) -> ir.Value:
    # tanh(log(1 + e^x)) = n / (n + d) with n = 1 + 2 e^-x and d = 2 e^-2x, or both times e^2x: one
    # exponential, never too large.
    e = _decay(s, x)
    one, two = s.const(1), s.const(2)
    positive = s.gt(x, s.const(0))
    n = s.select(positive, s.add(one, s.mul(two, e)), s.mul(e, s.add(e, two)))
    d = s.select(positive, s.mul(two, s.mul(e, e)), two)
    return s.mul(x, s.div(n, s.add(n, d)))


def _gelu(s: Scalars, a: Attributes, x: ir.Value) -> ir.Value:
    if a.approximate == "tanh":
        cubic = s.mul(s.const(0.044715), s.mul(x, s.mul(x, x)))
        inner = s.call("tanh", s.mul(s.const(math.sqrt(2 / math.pi)), s.add(x, cubic)))
    else:
        inner = s.call("erf", s.mul(x, s.const(math.sqrt(0.5))))
    return s.mul(s.mul(x, s.const(0.5)), s.add(s.const(1), inner))


lower_unary(
    {
        ops.Relu: lambda s, a, x: s.max(x, s.const(0)),
        ops.LeakyRelu: lambda s, a, x: _leak(s, x, s.mul(x, s.const(a.alpha))),
        ops.ThresholdedRelu: lambda s, a, x: s.select(s.gt(x, s.const(a.alpha)), x, s.const(0)),
        ops.Shrink: _shrink,
        ops.Sigmoid: _sigmoid,
        ops.HardSigmoid: lambda s, a, x: _unit_ramp(s, x, a.alpha, a.beta),
        ops.HardSwish: lambda s, a, x: s.mul(x, _unit_ramp(s, x, 1 / 6, 0.5)),
        ops.Elu: lambda s, a, x: _leak(s, x, _scaled_expm1(s, a.alpha, x)),
        ops.Selu: lambda s, a, x: s.mul(
            s.const(a.gamma), _leak(s, x, _scaled_expm1(s, a.alpha, x))
        ),
        ops.Celu: _celu,
        ops.Softplus: _softplus,
        ops.Softsign: lambda s, a, x: s.div(x, s.add(s.const(1), s.call("absf", x))),
        ops.Mish: _mish,
        ops.Gelu: _gelu,
    }
)
