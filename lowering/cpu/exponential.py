"""Exponentials, logarithms, powers and hyperbolic functions on float32 lanes.

Coefficients are those of Cephes (S. Moshier, single precision library). Where float32 loses too
much to cancellation (`powf`, the hyperbolic functions and their inverses, `log2`, `log10`) two
cores in float64 do the work, and rounding once to float32 is all that is lost.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from nnvm_mlir.lowering.cpu.lanes import ROUND_F32, ROUND_F32_BITS, Lanes, fma, horner
from nnvm_mlir.mlir import ir

# As ROUND_F32, for float64.
_ROUND_F64 = 1.5 * 2.0**52

# ln(2) in two parts, the first with trailing zero bits: its products with small integers are exact.
_LN2_PARTS = (0.693359375, -2.12194440e-4)

_NAN = math.nan
_INF = math.inf


def _f32(x: Lanes) -> Lanes:
    return x.to_float(ir.F32Type.get())


def _f64(x: Lanes) -> Lanes:
    return x.to_float(ir.F64Type.get())


def _log_specials(x: Lanes, result: Lanes) -> Lanes:
    """`result` for positive finite x; the logarithm's limits elsewhere."""
    result = (x < _INF).where(result, x)  # +inf and NaN are their own logarithms
    result = x.equals(0.0).where(-_INF, result)
    return (x < 0.0).where(_NAN, result)


def _split_exponential(x: Lanes) -> tuple[Lanes, Lanes]:
    """(n, p) with exp(x) = 2^n * (1 + p), |p| < 0.42, n an integer in i32 lanes; Cephes `expf`."""
    shifted = fma(x, math.log2(math.e), ROUND_F32)
    n = shifted - ROUND_F32
    r = fma(n, -_LN2_PARTS[0], x)
    r = fma(n, -_LN2_PARTS[1], r)
    coefficients = (
        1.9875691500e-4,
        1.3981999507e-3,
        8.3334519073e-3,
        4.1665795894e-2,
        1.6666665459e-1,
        5.0000001201e-1,
    )
    return shifted.bits() - ROUND_F32_BITS, fma(horner(r, coefficients), r * r, r)


def _power_of_two(n: Lanes) -> Lanes:
    """2^n as float32 for integers -126 <= n <= 127."""
    return ((n + 127) << 23).as_float(ir.F32Type.get())


def _scale(x: Lanes, n: Lanes) -> Lanes:
    """x * 2^n in two steps, so that it can overflow to infinity or become a denormal."""
    half = n >> 1
    return x * _power_of_two(half) * _power_of_two(n - half)


def exp(x: Lanes) -> Lanes:
    """e^x."""
    n, p = _split_exponential(x.clamp(-104.0, 89.0))
    return _scale(p + 1.0, n)


def exp2(x: Lanes) -> Lanes:
    """2^x; Cephes `exp2f`."""
    x = x.clamp(-151.0, 129.0)
    shifted = x + ROUND_F32
    coefficients = (
        1.535336188319500e-4,
        1.339887440266574e-3,
        9.618437357674640e-3,
        5.550332471162809e-2,
        2.402264791363012e-1,
        6.931472028550421e-1,
        1.0,
    )
    return _scale(horner(x - (shifted - ROUND_F32), coefficients), shifted.bits() - ROUND_F32_BITS)


def expm1(x: Lanes) -> Lanes:
    """e^x - 1 = 2^n p + (2^n - 1), halved inside: 2^n stays finite up to the largest result."""
    n, p = _split_exponential(x.clamp(-30.0, 89.0))
    half = _power_of_two(n - 1)
    result = fma(half, p, half - 0.5) * 2.0
    return x.equals(0.0).where(x, result)


def log(x: Lanes) -> Lanes:
    """Natural logarithm; Cephes `logf`, with denormals scaled into the normal range first."""
    tiny = x < 2.0**-126
    scaled = tiny.where(x * 2.0**23, x)
    bits = scaled.bits()
    exponent = ((bits >> 23) - 126).to_float(ir.F32Type.get())
    exponent = tiny.where(exponent - 23.0, exponent)
    mantissa = ((bits & 0x7FFFFF) | 0x3F000000).as_float(ir.F32Type.get())
    low = mantissa < math.sqrt(0.5)
    exponent = low.where(exponent - 1.0, exponent)
    m = low.where(mantissa + mantissa, mantissa) - 1.0
    coefficients = (
        7.0376836292e-2,
        -1.1514610310e-1,
        1.1676998740e-1,
        -1.2420140846e-1,
        1.4249322787e-1,
        -1.6668057665e-1,
        2.0000714765e-1,
        -2.4999993993e-1,
        3.3333331174e-1,
    )
    square = m * m
    tail = horner(m, coefficients) * m * square
    tail = fma(exponent, _LN2_PARTS[1], tail)
    tail = fma(square, -0.5, tail)
    return _log_specials(x, fma(exponent, _LN2_PARTS[0], m + tail))


def log1p(x: Lanes) -> Lanes:
    """log(1 + x) plus the first-order effect of rounding 1 + x."""
    u = x + 1.0
    rounded = log(u)
    lost = (x - (u - 1.0)) / u
    result = (lost.abs() < 1.0).where(rounded + lost, rounded)
    return x.equals(0.0).where(x, result)


def _exp2_f64(x: Lanes) -> Lanes:
    """2^x in float64, relative error below 1e-12, for results that float32 can hold; by Taylor."""
    x = x.clamp(-300.0, 300.0)
    shifted = x + _ROUND_F64
    r = (x - (shifted - _ROUND_F64)) * math.log(2.0)
    mantissa = horner(r, [1.0 / math.factorial(k) for k in range(10, -1, -1)])
    power = (shifted.bits() + 1023) << 52  # the shift drops the bits of the rounding constant
    return mantissa * power.as_float(ir.F64Type.get())


def _exp_f64(x: Lanes) -> Lanes:
    return _exp2_f64(x * math.log2(math.e))


def _log_f64(x: Lanes) -> Lanes:
    """Natural logarithm in float64, relative error below 1e-12, for normal arguments.

    log(m) = 2 atanh(s) with s = (m - 1) / (m + 1) and m in [sqrt(1/2), sqrt(2)), by atanh's series.
    """
    f64 = ir.F64Type.get()
    bits = x.bits()
    # The exponent field in the low bits of 2^52 reads as 2^52 + field: AVX2 cannot convert int64.
    exponent = ((bits >> 52) & 0x7FF | 0x4330000000000000).as_float(f64) - (2.0**52 + 1022.0)
    mantissa = ((bits & 0xFFFFFFFFFFFFF) | 0x3FE0000000000000).as_float(f64)
    low = mantissa < math.sqrt(0.5)
    exponent = low.where(exponent - 1.0, exponent)
    m = low.where(mantissa + mantissa, mantissa)
    s = (m - 1.0) / (m + 1.0)
    series = horner(s * s, [2.0 / (2 * k + 1) for k in range(7, -1, -1)])
    return _log_specials(x, fma(exponent, math.log(2.0), s * series))


def scaled_log(scale: float) -> Callable[[Lanes], Lanes]:
    """The logarithm of float32 lanes times a constant, for other bases."""
    return lambda x: _f32(_log_f64(_f64(x)) * scale)


def _odd(x: Lanes, wide: Callable[[Lanes], Lanes]) -> Lanes:
    """An odd function with f(x) ~ x near 0: there x itself, elsewhere float64 on |x|."""
    magnitude = x.abs()
    return (magnitude < 1.0e-4).where(x, _f32(wide(_f64(magnitude))).copysign(x))


def sinh(x: Lanes) -> Lanes:
    """Hyperbolic sine."""
    return _odd(x, lambda a: (_exp_f64(a) - _exp_f64(-a)) * 0.5)


def cosh(x: Lanes) -> Lanes:
    """Hyperbolic cosine."""
    wide = _f64(x)
    return _f32((_exp_f64(wide) + _exp_f64(-wide)) * 0.5)


def asinh(x: Lanes) -> Lanes:
    """Inverse hyperbolic sine."""
    return _odd(x, lambda a: _log_f64(a + fma(a, a, 1.0).sqrt()))


def acosh(x: Lanes) -> Lanes:
    """Inverse hyperbolic cosine."""
    wide = _f64(x)
    return (x < 1.0).where(_NAN, _f32(_log_f64(wide + fma(wide, wide, -1.0).sqrt())))


def atanh(x: Lanes) -> Lanes:
    """Inverse hyperbolic tangent."""
    return _odd(x, lambda a: _log_f64((1.0 + a) / (1.0 - a)) * 0.5)


def _constant(x: Lanes) -> float | None:
    """The number in every lane, if `x` is a constant."""
    owner = x.value.owner
    if isinstance(owner, ir.Block) or owner.name != "arith.constant":
        return None
    attribute = owner.attributes["value"]
    if isinstance(attribute, ir.DenseElementsAttr):
        if not attribute.is_splat:
            return None
        attribute = attribute.get_splat_value()
    return ir.FloatAttr(attribute).value


_SIMPLE_POWERS: dict[float, Callable[[Lanes], Lanes]] = {
    -1.0: lambda x: 1.0 / x,
    1.0: lambda x: x,
    2.0: lambda x: x * x,
    3.0: lambda x: x * x * x,
}


def powf(x: Lanes, y: Lanes) -> Lanes:
    """2^(y log2|x|) in float64, with C's rules for signs and special values."""
    exponent = _constant(y)
    if exponent in _SIMPLE_POWERS:
        return _SIMPLE_POWERS[exponent](x)
    wide_y = _f64(y)
    result = _f32(_exp2_f64(wide_y * (_log_f64(_f64(x.abs())) * math.log2(math.e))))
    integral = y.trunc().equals(y)
    half = y * 0.5
    odd = integral & half.trunc().differs(half)
    result = odd.where(result.copysign(x), result)
    undefined = (x < 0.0) & (x > -_INF) & y.trunc().differs(y)
    result = undefined.where(_NAN, result)
    # 1^y and x^0 are 1 even for NaN, (-1)^inf is 1.
    one = y.equals(0.0) | x.equals(1.0) | (x.equals(-1.0) & y.abs().equals(_INF))
    return one.where(1.0, result)
