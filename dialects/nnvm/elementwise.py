"""Element-wise operators of one operand.

A class states its formula twice: in its docstring for people, and as `formula`, on NumPy arrays in
computing precision, which is the reference in tests. Integer operands are computed in their own
dtype and wrap.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np

from nnvm_mlir.dialects.nnvm import numeric
from nnvm_mlir.dialects.nnvm.fields import Bool, DType, Float, attribute, operand, result
from nnvm_mlir.dialects.nnvm.operator import Attributes, Fusion, SameShape
from nnvm_mlir.dialects.nnvm.types import (
    KINDS,
    NUMBERS,
    Dtypes,
    is_float,
    numpy_dtype,
    require_kind,
    unify_dtypes,
)


class Unary(SameShape):
    """An element-wise function of one tensor; result and operand have one shape and dtype.

    Class attributes:
        formula: the function `(a, x)` on an array in computing precision.
    """

    fusion = Fusion.ELEMWISE
    kinds: ClassVar[Sequence[str]] = ("float",)
    formula: ClassVar[Callable[..., Any]]

    data = operand()
    output = result()

    @classmethod
    def permuted(cls, a: Attributes, rank: int, axes: Sequence[int]) -> dict[str, Any] | None:
        return {}

    @classmethod
    def evaluate(cls, a: Attributes, x: np.ndarray) -> np.ndarray:
        dtype = cls.infer_dtype(a, [str(x.dtype)], [None])[1][0]
        with np.errstate(all="ignore"):
            return np.asarray(cls.formula(a, numeric.widen(x))).astype(numpy_dtype(dtype or ""))


class Number(Unary):
    """An element-wise function of floats or integers."""

    kinds = NUMBERS


class Rounding(Number):
    """An element-wise function that leaves integers as they are."""

    rounding: ClassVar[Callable[..., Any]]

    @classmethod
    def formula(cls, a: Attributes, x: np.ndarray) -> Any:
        return cls.rounding(x) if is_float(str(x.dtype)) else x


class Predicate(Unary):
    """An element-wise test; the result is bool."""

    @classmethod
    def infer_dtype(
        cls, a: Attributes, ins: Dtypes, outs: Dtypes
    ) -> tuple[list[str | None], list[str | None]]:
        require_kind(ins, cls.kinds)
        return list(ins), [unify_dtypes([*outs, "bool"])]


# ---- arithmetic ----------------------------------------------------------------------------------


class Copy(Unary, name="copy"):
    """x."""

    kinds = KINDS
    formula = staticmethod(lambda a, x: x)


class Negative(Number, name="negative"):
    """-x; the smallest integer stays itself."""

    formula = staticmethod(lambda a, x: np.negative(x))


class Abs(Number, name="abs"):
    """|x|; the smallest integer stays itself."""

    formula = staticmethod(lambda a, x: np.abs(x))


class Sign(Number, name="sign"):
    """-1, 0 or 1; NaN stays NaN."""

    formula = staticmethod(lambda a, x: np.sign(x))


class Reciprocal(Unary, name="reciprocal"):
    """1 / x."""

    formula = staticmethod(lambda a, x: 1 / x)


class Floor(Rounding, name="floor"):
    """The largest integer that is not above x."""

    rounding = staticmethod(np.floor)


class Ceil(Rounding, name="ceil"):
    """The smallest integer that is not below x."""

    rounding = staticmethod(np.ceil)


class Trunc(Rounding, name="trunc"):
    """x without its fraction."""

    rounding = staticmethod(np.trunc)


class Round(Rounding, name="round"):
    """The integer nearest to x, halves to the even one."""

    rounding = staticmethod(np.rint)


class Clip(Number, name="clip"):
    """min(max(x, a_min), a_max); NaN stays NaN.

    Bounds outside an integer dtype's range do not bind.
    """

    a_min = attribute(Float)
    a_max = attribute(Float)

    @classmethod
    def check(cls, a: Attributes) -> None:
        if math.isnan(a.a_min) or math.isnan(a.a_max):
            raise ValueError("attributes 'a_min' and 'a_max' must not be NaN")

    @classmethod
    def bounds(cls, a: Attributes, dtype: str) -> tuple[float, float]:
        """The bounds as numbers that the dtype holds."""
        if is_float(dtype):
            return a.a_min, a.a_max
        info = np.iinfo(dtype)
        low, high = (min(max(bound, info.min), info.max) for bound in (a.a_min, a.a_max))
        return int(low), int(high)

    @classmethod
    def formula(cls, a: Attributes, x: np.ndarray) -> Any:
        low, high = (numeric.constant(bound, str(x.dtype)) for bound in cls.bounds(a, str(x.dtype)))
        return np.minimum(np.maximum(x, low), high)


class Cast(Unary, name="cast"):
    """x as `dtype`.

    Floats truncate towards zero and saturate, NaN becomes 0; integers wrap; bool is x != 0.
    """

    kinds = KINDS
    dtype = attribute(DType)
    formula = staticmethod(lambda a, x: numeric.cast(x, a.dtype))

    @classmethod
    def infer_dtype(
        cls, a: Attributes, ins: Dtypes, outs: Dtypes
    ) -> tuple[list[str | None], list[str | None]]:
        return list(ins), [unify_dtypes([*outs, a.dtype])]


# ---- roots, exponentials, logarithms, trigonometry -----------------------------------------------


class Exp(Unary, name="exp"):
    """e to the power x."""

    formula = staticmethod(lambda a, x: np.exp(x))


class Log(Unary, name="log"):
    """The natural logarithm."""

    formula = staticmethod(lambda a, x: np.log(x))


class Sqrt(Unary, name="sqrt"):
    """The square root."""

    formula = staticmethod(lambda a, x: np.sqrt(x))


class Rsqrt(Unary, name="rsqrt"):
    """1 / sqrt(x)."""

    formula = staticmethod(lambda a, x: 1 / np.sqrt(x))


class Erf(Unary, name="erf"):
    """The error function."""

    formula = staticmethod(lambda a, x: numeric.erf(x))


class Sin(Unary, name="sin"):
    """sin(x), x in radians."""

    formula = staticmethod(lambda a, x: np.sin(x))


class Cos(Unary, name="cos"):
    """cos(x), x in radians."""

    formula = staticmethod(lambda a, x: np.cos(x))


class Tan(Unary, name="tan"):
    """tan(x), x in radians."""

    formula = staticmethod(lambda a, x: np.tan(x))


class Asin(Unary, name="asin"):
    """The angle in [-pi/2, pi/2] whose sine is x."""

    formula = staticmethod(lambda a, x: np.arcsin(x))


class Acos(Unary, name="acos"):
    """The angle in [0, pi] whose cosine is x."""

    formula = staticmethod(lambda a, x: np.arccos(x))


class Atan(Unary, name="atan"):
    """The angle in [-pi/2, pi/2] whose tangent is x."""

    formula = staticmethod(lambda a, x: np.arctan(x))


class Sinh(Unary, name="sinh"):
    """(exp(x) - exp(-x)) / 2."""

    formula = staticmethod(lambda a, x: np.sinh(x))


class Cosh(Unary, name="cosh"):
    """(exp(x) + exp(-x)) / 2."""

    formula = staticmethod(lambda a, x: np.cosh(x))


class Tanh(Unary, name="tanh"):
    """sinh(x) / cosh(x)."""

    formula = staticmethod(lambda a, x: np.tanh(x))


class Asinh(Unary, name="asinh"):
    """log(x + sqrt(x^2 + 1))."""

    formula = staticmethod(lambda a, x: np.arcsinh(x))


class Acosh(Unary, name="acosh"):
    """log(x + sqrt(x^2 - 1)); NaN below 1."""

    formula = staticmethod(lambda a, x: np.arccosh(x))


class Atanh(Unary, name="atanh"):
    """log((1 + x) / (1 - x)) / 2; NaN outside [-1, 1]."""

    formula = staticmethod(lambda a, x: np.arctanh(x))


# ---- tests and bits ------------------------------------------------------------------------------


class IsNan(Predicate, name="is_nan"):
    """Whether x is NaN."""

    formula = staticmethod(lambda a, x: np.isnan(x))


class IsInf(Predicate, name="is_inf"):
    """Whether x is infinite, of the signs that are to be detected."""

    detect_negative = attribute(Bool, True)
    detect_positive = attribute(Bool, True)
    formula = staticmethod(
        lambda a, x: ((x == np.inf) & a.detect_positive) | ((x == -np.inf) & a.detect_negative)
    )


class LogicalNot(Predicate, name="logical_not"):
    """Whether x is 0 (or false)."""

    kinds = KINDS
    formula = staticmethod(lambda a, x: x == 0)


class BitwiseNot(Unary, name="bitwise_not"):
    """Every bit inverted; bool: not x."""

    kinds = ("int", "uint", "bool")
    formula = staticmethod(lambda a, x: np.invert(x))


# ---- with a scalar -------------------------------------------------------------------------------


class WithScalar(Number):
    """A function of x and the attribute `scalar`, converted to x's dtype.

    On integers the scalar truncates and wraps.
    """

    scalar = attribute(Float)
    combine: ClassVar[Callable[..., Any]]

    @classmethod
    def infer_dtype(
        cls, a: Attributes, ins: Dtypes, outs: Dtypes
    ) -> tuple[list[str | None], list[str | None]]:
        refined, results = super().infer_dtype(a, ins, outs)
        dtype = refined[0]
        if dtype is not None and not is_float(dtype) and not math.isfinite(a.scalar):
            raise ValueError(f"attribute 'scalar': {a.scalar} has no {dtype} value")
        return refined, results

    @classmethod
    def formula(cls, a: Attributes, x: np.ndarray) -> Any:
        return cls.combine(x, np.asarray(numeric.constant(a.scalar, str(x.dtype))))


class AddScalar(WithScalar, name="__add_scalar__"):
    """x + scalar."""

    combine = staticmethod(lambda x, c: x + c)


class SubScalar(WithScalar, name="__sub_scalar__"):
    """x - scalar."""

    combine = staticmethod(lambda x, c: x - c)


class RsubScalar(WithScalar, name="__rsub_scalar__"):
    """scalar - x."""

    combine = staticmethod(lambda x, c: c - x)


class MulScalar(WithScalar, name="__mul_scalar__"):
    """x * scalar."""

    combine = staticmethod(lambda x, c: x * c)


class DivScalar(WithScalar, name="__div_scalar__"):
    """x / scalar; integers truncate towards zero, and a zero divisor gives 0."""

    combine = staticmethod(lambda x, c: numeric.divide(x, c))


class RdivScalar(WithScalar, name="__rdiv_scalar__"):
    """scalar / x; integers truncate towards zero, and a zero divisor gives 0."""

    combine = staticmethod(lambda x, c: numeric.divide(c, x))


class PowScalar(WithScalar, name="__pow_scalar__"):
    """x to the power scalar; see `broadcast_pow` for integers."""

    combine = staticmethod(lambda x, c: numeric.power(x, c))


class RpowScalar(WithScalar, name="__rpow_scalar__"):
    """scalar to the power x; see `broadcast_pow` for integers."""

    combine = staticmethod(lambda x, c: numeric.power(c, x))
