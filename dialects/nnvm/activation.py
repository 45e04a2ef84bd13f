"""Activation functions: element-wise operators of one operand, as in `elementwise`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from nnvm_mlir.dialects.nnvm import numeric
from nnvm_mlir.dialects.nnvm.elementwise import Number, Unary
from nnvm_mlir.dialects.nnvm.fields import Float, Str, attribute
from nnvm_mlir.dialects.nnvm.operator import Attributes


class Relu(Number, name="relu"):
    """max(x, 0); NaN stays NaN."""

    formula = staticmethod(lambda a, x: np.maximum(x, x.dtype.type(0)))


class LeakyRelu(Unary, name="leaky_relu"):
    """x for x > 0, alpha * x otherwise."""

    alpha = attribute(Float, 0.25)
    formula = staticmethod(lambda a, x: np.where(x > 0, x, a.alpha * x))


class ThresholdedRelu(Unary, name="thresholded_relu"):
    """x for x > alpha, 0 otherwise."""

    alpha = attribute(Float, 1.0)
    formula = staticmethod(lambda a, x: np.where(x > a.alpha, x, 0))


class Shrink(Unary, name="shrink"):
    """x + bias for x < -lambd, x - bias for x > lambd, 0 otherwise.

    On integers `lambd` and `bias` truncate.
    """

    kinds = ("float", "int")
    lambd = attribute(Float, 0.5)
    bias = attribute(Float, 0.0)

    @classmethod
    def formula(cls, a: Attributes, x: np.ndarray) -> Any:
        lambd, bias = (numeric.constant(value, str(x.dtype)) for value in (a.lambd, a.bias))
        return np.where(x < -lambd, x + bias, np.where(x > lambd, x - bias, x.dtype.type(0)))


class Sigmoid(Unary, name="sigmoid"):
    """1 / (1 + exp(-x))."""

    formula = staticmethod(lambda a, x: 1 / (1 + np.exp(-x)))


class HardSigmoid(Unary, name="hard_sigmoid"):
    """min(max(alpha * x + beta, 0), 1)."""

    alpha = attribute(Float, 0.2)
    beta = attribute(Float, 0.5)
    formula = staticmethod(lambda a, x: np.minimum(np.maximum(a.alpha * x + a.beta, 0), 1))


class HardSwish(Unary, name="hard_swish"):
    """x * min(max(x / 6 + 1/2, 0), 1)."""

    formula = staticmethod(lambda a, x: x * np.minimum(np.maximum(x / 6 + 0.5, 0), 1))


class Elu(Unary, name="elu"):
    """x for x > 0, alpha * (exp(x) - 1) otherwise."""

    alpha = attribute(Float, 1.0)
    formula = staticmethod(lambda a, x: np.where(x > 0, x, a.alpha * np.expm1(x)))


class Selu(Unary, name="selu"):
    """gamma * x for x > 0, gamma * alpha * (exp(x) - 1) otherwise."""

    alpha = attribute(Float, 1.67326319217681884765625)
    gamma = attribute(Float, 1.05070102214813232421875)
    formula = staticmethod(lambda a, x: a.gamma * np.where(x > 0, x, a.alpha * np.expm1(x)))


class Celu(Unary, name="celu"):
    """max(x, 0) + min(alpha * (exp(x / alpha) - 1), 0)."""

    alpha = attribute(Float, 1.0)
    formula = staticmethod(
        lambda a, x: np.maximum(x, 0) + np.minimum(a.alpha * np.expm1(x / a.alpha), 0)
    )

    @classmethod
    def check(cls, a: Attributes) -> None:
        if a.alpha == 0:
            raise ValueError("attribute 'alpha' must not be 0")


class Softplus(Unary, name="softplus"):
    """log(1 + exp(x)), computed as max(x, 0) + log1p(exp(-|x|)), which does not overflow."""

    formula = staticmethod(lambda a, x: np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x))))


class Softsign(Unary, name="softsign"):
    """x / (1 + |x|)."""

    formula = staticmethod(lambda a, x: x / (1 + np.abs(x)))


class Mish(Unary, name="mish"):
    """x * tanh(softplus(x))."""

    formula = staticmethod(lambda a, x: x * np.tanh(Softplus.formula(a, x)))


class Gelu(Unary, name="gelu"):
    """x * (1 + erf(x / sqrt(2))) / 2, or with "tanh" x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3))) / 2."""

    approximate = attribute(Str, "none", choices=("none", "tanh"))

    @classmethod
    def formula(cls, a: Attributes, x: np.ndarray) -> Any:
        if a.approximate == "tanh":
            return x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))) * 0.5
        return x * (1 + numeric.erf(x * math.sqrt(0.5))) * 0.5
