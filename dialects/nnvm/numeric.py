"""NumPy arithmetic with the rules of compiled code, for `evaluate`.

Compiled code and NumPy differ where NumPy leaves the result to the processor (a float cast to an
integer that cannot hold it) or raises (integers to negative powers), and in precision (compiled
float16 and bfloat16 formulas are computed in float32 and rounded once).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from nnvm_mlir.dialects.nnvm.types import is_float, is_unsigned, numpy_dtype


def compute_dtype(dtype: str) -> str:
    """The dtype in which formulas on `dtype` are computed.

    float32 for the half-precision floats, itself for the others.
    """
    return "float32" if dtype in ("float16", "bfloat16") else dtype


def widen(x: np.ndarray) -> np.ndarray:
    """`x` in the dtype that formulas are computed in."""
    return x.astype(compute_dtype(str(x.dtype)), copy=False)


def cast(x: np.ndarray, dtype: str) -> np.ndarray:
    """Converts between dtypes.

    Floats truncate towards zero and saturate, NaN gives 0, integers wrap, bool is `x != 0`.

    Conversions to float16 and bfloat16 go through float32.
    """
    target = numpy_dtype(dtype)
    if dtype == "bool":
        return np.asarray(x != 0)
    if is_float(dtype):
        return x.astype(compute_dtype(dtype)).astype(target)
    if not is_float(str(x.dtype)):
        return x.astype(target)
    info = np.iinfo(target)
    wide = x.astype(np.float64)
    # 2**bits is exact in a float64, the largest integer may not be: compare with the former, select
    # the latter.
    too_high, too_low = wide >= float(int(info.max) + 1), wide < float(info.min)
    converted = np.where(too_high | too_low | np.isnan(wide), 0, wide).astype(target)
    return np.where(too_high, info.max, np.where(too_low, info.min, converted)).astype(target)


def constant(value: float, dtype: str) -> Any:
    """A number as a NumPy scalar of the computing dtype; integers truncate and wrap."""
    if is_float(dtype):
        return np.dtype(compute_dtype(dtype)).type(value)
    if dtype == "bool":
        return np.bool_(value)
    info = np.iinfo(dtype)
    return np.dtype(dtype).type((int(value) - int(info.min)) % (1 << info.bits) + int(info.min))


def divide(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """x / y; integers truncate towards zero, and a zero divisor gives 0."""
    if is_float(str(x.dtype)):
        return x / y
    quotient = np.floor_divide(
        x, y
    )  # NumPy: 0 for a zero divisor, and the smallest integer over -1 wraps
    if is_unsigned(str(x.dtype)):
        return quotient
    inexact = (y != 0) & (quotient * y != x) & ((x < 0) != (y < 0))
    return quotient + inexact.astype(x.dtype)


def remainder(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The remainder with x's sign (C's fmod); an integer modulo 0 is 0."""
    return np.fmod(x, y)


def modulo(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The remainder with y's sign; an integer modulo 0 is 0."""
    if not is_float(str(x.dtype)):
        return np.mod(x, y)
    rest = np.fmod(x, y)
    return np.where((rest != 0) & ((rest < 0) != (y < 0)), rest + y, rest)


def power(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """x to the power y in x's dtype.

    Integer powers wrap; negative ones truncate to 0 unless x is 1 or -1.
    """
    dtype = str(x.dtype)
    if is_float(dtype):
        return np.power(x, y.astype(dtype))
    if is_float(str(y.dtype)):
        return cast(np.power(x.astype(np.float64), y.astype(np.float64)), dtype)
    base, exponent = np.broadcast_arrays(x, y.astype(np.uint64))
    result = np.ones(base.shape, x.dtype)
    while np.any(exponent):
        result = np.where(exponent & np.uint64(1), result * base, result)
        base, exponent = base * base, exponent >> np.uint64(1)
    is_unit = (x == 1) | (np.negative(x) == 1) & (not is_unsigned(dtype))
    return np.where((y >= 0) | is_unit, result, 0).astype(dtype)


def erf(x: np.ndarray) -> np.ndarray:
    """The error function, computed in float64 and rounded to x's dtype."""
    return np.vectorize(math.erf, otypes=[np.float64])(x).astype(x.dtype)


def lowest(dtype: str) -> float | int | bool:
    """The identity of max: -inf, the smallest integer, false."""
    if is_float(dtype):
        return -math.inf
    return False if dtype == "bool" else int(np.iinfo(dtype).min)


def highest(dtype: str) -> float | int | bool:
    """The identity of min: inf, the largest integer, true."""
    if is_float(dtype):
        return math.inf
    return True if dtype == "bool" else int(np.iinfo(dtype).max)
