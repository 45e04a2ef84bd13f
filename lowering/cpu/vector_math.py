"""Elementary functions on float32 lanes as polynomials.

LLVM turns a `math` operation on a vector into one library call per lane; `expand` emits vector code instead, the same code for
scalars and for vectors of any length, a few units in the last place (ulp) from the exact result, and right for signed
zeros, denormals, infinities and NaN. The measured bound of every function stands in the tests.

Most functions work in float32, with the coefficients of Cephes (S. Moshier, single precision library) or of Eigen's
`MathFunctionsImpl.h` for the rational approximations. Where float32 loses too much to cancellation (`pow`, hyperbolics and their inverses,
`log2`, `log10`) the two cores `_exp2_f64` and `_log_f64` work in float64, and rounding once to float32 is all that is lost.
"""

from __future__ import annotations

import math as pymath
from collections.abc import Callable, Sequence

from nnvm_mlir.lowering.cpu.emitter import Emitter, element_type
from nnvm_mlir.lowering.cpu.lanes import Lanes, fma, horner
from nnvm_mlir.mlir import arith, ir, math, scf, vector

# Adding 1.5 * 2^23 (or 2^52) to a small float rounds it to an integer, to nearest even, and leaves that integer in the low
# bits of the sum: cheaper than a conversion, and defined for NaN.
_ROUND_F32 = 1.5 * 2.0**23
_ROUND_F64 = 1.5 * 2.0**52
_ROUND_F32_BITS = 0x4B400000

# ln(2) and pi/2 in parts, the leading ones with trailing zero bits so that their products with small integers are exact.
_LN2_PARTS = (0.693359375, -2.12194440e-4)
_HALF_PI_PARTS = (1.57079637050628662109375, -4.37113900018624283e-8, -1.71512451441e-15)

# Beyond this argument float32 quadrant counting fails; such lanes go through the C library.
_TRIGONOMETRIC_LIMIT = 1.0e5

_NAN = pymath.nan
_INF = pymath.inf


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
    shifted = fma(x, pymath.log2(pymath.e), _ROUND_F32)
    n = shifted - _ROUND_F32
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
    return shifted.bits() - _ROUND_F32_BITS, fma(horner(r, coefficients), r * r, r)


def _power_of_two(n: Lanes) -> Lanes:
    """2^n as float32 for integers -126 <= n <= 127."""
    return ((n + 127) << 23).as_float(ir.F32Type.get())


def _scale(x: Lanes, n: Lanes) -> Lanes:
    """x * 2^n in two steps, so that results beyond the normal range come out as infinity or denormals."""
    half = n >> 1
    return x * _power_of_two(half) * _power_of_two(n - half)


def _exp(x: Lanes) -> Lanes:
    n, p = _split_exponential(x.clamp(-104.0, 89.0))
    return _scale(p + 1.0, n)


def _exp2(x: Lanes) -> Lanes:
    """Cephes `exp2f`."""
    x = x.clamp(-151.0, 129.0)
    shifted = x + _ROUND_F32
    coefficients = (
        1.535336188319500e-4,
        1.339887440266574e-3,
        9.618437357674640e-3,
        5.550332471162809e-2,
        2.402264791363012e-1,
        6.931472028550421e-1,
        1.0,
    )
    return _scale(horner(x - (shifted - _ROUND_F32), coefficients), shifted.bits() - _ROUND_F32_BITS)


def _expm1(x: Lanes) -> Lanes:
    """2^n p + (2^n - 1), halved inside so that 2^n stays finite up to the largest result."""
    n, p = _split_exponential(x.clamp(-30.0, 89.0))
    half = _power_of_two(n - 1)
    result = fma(half, p, half - 0.5) * 2.0
    return x.equals(0.0).where(x, result)


def _log(x: Lanes) -> Lanes:
    """Cephes `logf`, with denormals scaled into the normal range first."""
    tiny = x < 2.0**-126
    scaled = tiny.where(x * 2.0**23, x)
    bits = scaled.bits()
    exponent = ((bits >> 23) - 126).to_float(ir.F32Type.get())
    exponent = tiny.where(exponent - 23.0, exponent)
    mantissa = ((bits & 0x7FFFFF) | 0x3F000000).as_float(ir.F32Type.get())
    low = mantissa < pymath.sqrt(0.5)
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


def _log1p(x: Lanes) -> Lanes:
    """log(1 + x) plus the first-order effect of rounding 1 + x."""
    u = x + 1.0
    log = _log(u)
    lost = (x - (u - 1.0)) / u
    result = (lost.abs() < 1.0).where(log + lost, log)
    return x.equals(0.0).where(x, result)


def _exp2_f64(x: Lanes) -> Lanes:
    """2^x in float64 with relative error below 1e-12, for what float32 can hold; Taylor's polynomial of exp."""
    x = x.clamp(-300.0, 300.0)
    shifted = x + _ROUND_F64
    r = (x - (shifted - _ROUND_F64)) * pymath.log(2.0)
    mantissa = horner(r, [1.0 / pymath.factorial(k) for k in range(10, -1, -1)])
    power = (shifted.bits() + 1023) << 52  # the shift drops the bits of the rounding constant
    return mantissa * power.as_float(ir.F64Type.get())


def _exp_f64(x: Lanes) -> Lanes:
    return _exp2_f64(x * pymath.log2(pymath.e))


def _log_f64(x: Lanes) -> Lanes:
    """Natural logarithm in float64, relative error below 1e-12, for normal arguments.

    log(m) = 2 atanh(s) with s = (m - 1) / (m + 1) and m in [sqrt(1/2), sqrt(2)), by atanh's series.
    """
    f64 = ir.F64Type.get()
    bits = x.bits()
    # The exponent field dropped into the low bits of 2^52 reads as 2^52 + field: no int64 conversion, which AVX2 lacks.
    exponent = ((bits >> 52) & 0x7FF | 0x4330000000000000).as_float(f64) - (2.0**52 + 1022.0)
    mantissa = ((bits & 0xFFFFFFFFFFFFF) | 0x3FE0000000000000).as_float(f64)
    low = mantissa < pymath.sqrt(0.5)
    exponent = low.where(exponent - 1.0, exponent)
    m = low.where(mantissa + mantissa, mantissa)
    s = (m - 1.0) / (m + 1.0)
    series = horner(s * s, [2.0 / (2 * k + 1) for k in range(7, -1, -1)])
    return _log_specials(x, fma(exponent, pymath.log(2.0), s * series))


def _scaled_log(scale: float) -> Callable[[Lanes], Lanes]:
    return lambda x: _f32(_log_f64(_f64(x)) * scale)


def _odd(x: Lanes, wide: Callable[[Lanes], Lanes]) -> Lanes:
    """An odd function with f(x) ~ x: computed in float64 on |x|, and x itself where they agree anyway."""
    magnitude = x.abs()
    return (magnitude < 1.0e-4).where(x, _f32(wide(_f64(magnitude))).copysign(x))


def _sinh(x: Lanes) -> Lanes:
    return _odd(x, lambda a: (_exp_f64(a) - _exp_f64(-a)) * 0.5)


def _cosh(x: Lanes) -> Lanes:
    wide = _f64(x)
    return _f32((_exp_f64(wide) + _exp_f64(-wide)) * 0.5)


def _asinh(x: Lanes) -> Lanes:
    return _odd(x, lambda a: _log_f64(a + fma(a, a, 1.0).sqrt()))


def _acosh(x: Lanes) -> Lanes:
    wide = _f64(x)
    return (x < 1.0).where(_NAN, _f32(_log_f64(wide + fma(wide, wide, -1.0).sqrt())))


def _atanh(x: Lanes) -> Lanes:
    return _odd(x, lambda a: _log_f64((1.0 + a) / (1.0 - a)) * 0.5)


def _tanh(x: Lanes) -> Lanes:
    """Eigen's rational approximation; it saturates to 1 at the clamp."""
    limited = x.clamp(-7.99881172180175781, 7.99881172180175781)
    square = limited * limited
    numerator = (
        -2.76076847742355e-16,
        2.00018790482477e-13,
        -8.60467152213735e-11,
        5.12229709037114e-08,
        1.48572235717979e-05,
        6.37261928875436e-04,
        4.89352455891786e-03,
    )
    denominator = (
        1.19825839466702e-06,
        1.18534705686654e-04,
        2.26843463243900e-03,
        4.89352518554385e-03,
    )
    result = horner(square, numerator) / horner(square, denominator) * limited
    return (x.abs() < 4.0e-4).where(x, result)


def _erf(x: Lanes) -> Lanes:
    """Eigen's rational approximation; it saturates to 1 at the clamp."""
    x = x.clamp(-4.0, 4.0)
    square = x * x
    numerator = (
        -2.72614225801306e-10,
        2.77068142495902e-08,
        -2.10102402082508e-06,
        -5.69250639462346e-05,
        -7.34990630326855e-04,
        -2.95459980854025e-03,
        -1.60960333262415e-02,
    )
    denominator = (
        -1.45660718464996e-05,
        -2.13374055278905e-04,
        -1.68282697438203e-03,
        -7.37332916720468e-03,
        -1.42647390514189e-02,
    )
    return horner(square, numerator) / horner(square, denominator) * x


def _quadrants(x: Lanes) -> tuple[Lanes, Lanes, Lanes]:
    """(q, sin r, cos r) with x = q pi/2 + r, |r| <= pi/4 and q an integer in i32 lanes; Cephes `sinf`, `cosf`."""
    shifted = fma(x, 2.0 / pymath.pi, _ROUND_F32)
    n = shifted - _ROUND_F32
    r = x
    for part in _HALF_PI_PARTS:
        r = fma(n, -part, r)
    square = r * r
    sine_series = horner(square, (-1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1))
    sine = fma(sine_series * square, r, r)
    cosine_series = horner(
        square, (2.443315711809948e-5, -1.388731625493765e-3, 4.166664568298827e-2)
    )
    cosine = fma(cosine_series, square * square, fma(square, -0.5, 1.0))
    return shifted.bits() - _ROUND_F32_BITS, sine, cosine


def _negate_if(x: Lanes, flag: Lanes) -> Lanes:
    """-x where bit 1 of `flag` is set."""
    sign = (flag & 2) << 30
    return (x.bits() ^ sign).as_float(ir.F32Type.get())


def _periodic(x: Lanes, library: Callable[[ir.Value], ir.Value], near: Lanes) -> Lanes:
    """`near`, or the C library's result for all lanes if one of them is beyond the limit."""
    huge = (x.abs() > _TRIGONOMETRIC_LIMIT).value
    if isinstance(huge.type, ir.VectorType):
        i1 = ir.IntegerType.get_signless(1)
        huge = vector.reduction(i1, vector.CombiningKind.OR, huge)
    branch = scf.IfOp(huge, [x.type], has_else=True)
    with ir.InsertionPoint(branch.then_block):
        scf.yield_([library(x.value)])
    with ir.InsertionPoint(branch.else_block):
        scf.yield_([near.value])
    return Lanes(branch.results[0], x.e)


def _sin(x: Lanes) -> Lanes:
    quadrant, sine, cosine = _quadrants(x)
    even = (quadrant & 1).equals(0)
    result = _negate_if(even.where(sine, cosine), quadrant)
    return _periodic(x, math.sin, x.equals(0.0).where(x, result))


def _cos(x: Lanes) -> Lanes:
    quadrant, sine, cosine = _quadrants(x)
    even = (quadrant & 1).equals(0)
    return _periodic(x, math.cos, _negate_if(even.where(cosine, sine), quadrant + 1))


def _tan(x: Lanes) -> Lanes:
    quadrant, sine, cosine = _quadrants(x)
    even = (quadrant & 1).equals(0)
    result = even.where(sine, -cosine) / even.where(cosine, sine)
    return _periodic(x, math.tan, x.equals(0.0).where(x, result))


def _arcsine_of_small(x: Lanes, square: Lanes) -> Lanes:
    """asin(x) for |x| <= 1/2, square = x * x; Cephes `asinf`."""
    coefficients = (
        4.2163199048e-2,
        2.4181311049e-2,
        4.5470025998e-2,
        7.4953002686e-2,
        1.6666752422e-1,
    )
    return fma(horner(square, coefficients) * square, x, x)


def _asin(x: Lanes) -> Lanes:
    magnitude = x.abs()
    large = magnitude > 0.5
    square = large.where((1.0 - magnitude) * 0.5, magnitude * magnitude)
    result = _arcsine_of_small(large.where(square.sqrt(), magnitude), square)
    return large.where(pymath.pi / 2 - result * 2.0, result).copysign(x)


def _acos(x: Lanes) -> Lanes:
    magnitude = x.abs()
    large = magnitude > 0.5
    square = large.where((1.0 - magnitude) * 0.5, magnitude * magnitude)
    arcsine = _arcsine_of_small(large.where(square.sqrt(), magnitude), square)
    outer = arcsine * 2.0
    outer = (x < 0.0).where(pymath.pi - outer, outer)
    return large.where(outer, pymath.pi / 2 - arcsine.copysign(x))


def _atan(x: Lanes) -> Lanes:
    """Cephes `atanf`."""
    magnitude = x.abs()
    far, middle = magnitude > 1.0 + pymath.sqrt(2.0), magnitude > pymath.sqrt(2.0) - 1.0
    reduced = middle.where((magnitude - 1.0) / (magnitude + 1.0), magnitude)
    reduced = far.where(-1.0 / magnitude, reduced)
    offset = far.where(magnitude.constant(pymath.pi / 2), middle.where(magnitude.constant(pymath.pi / 4), 0.0))
    square = reduced * reduced
    coefficients = (8.05374449538e-2, -1.38776856032e-1, 1.99777106478e-1, -3.33329491539e-1)
    result = fma(horner(square, coefficients) * square, reduced, reduced) + offset
    return result.copysign(x)


def _rsqrt(x: Lanes) -> Lanes:
    return 1.0 / x.sqrt()


def _round(x: Lanes) -> Lanes:
    """To the nearest integer, halves away from zero: adds the greatest float below 1/2 and truncates."""
    return (x + x.constant(0.5 - 2.0**-25).copysign(x)).trunc()


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


def _powf(x: Lanes, y: Lanes) -> Lanes:
    """2^(y log2|x|) in float64, with C's rules for signs and special values."""
    simple = _SIMPLE_POWERS.get(_constant(y))
    if simple is not None:
        return simple(x)
    wide_y = _f64(y)
    result = _f32(_exp2_f64(wide_y * (_log_f64(_f64(x.abs())) * pymath.log2(pymath.e))))
    integral = y.trunc().equals(y)
    half = y * 0.5
    odd = integral & half.trunc().differs(half)
    result = odd.where(result.copysign(x), result)
    undefined = (x < 0.0) & (x > -_INF) & y.trunc().differs(y)
    result = undefined.where(_NAN, result)
    # 1^y and x^0 are 1 even for NaN, (-1)^inf is 1.
    one = y.equals(0.0) | x.equals(1.0) | (x.equals(-1.0) & y.abs().equals(_INF))
    return one.where(1.0, result)


_FUNCTIONS: dict[str, Callable[..., Lanes]] = {
    "math.acos": _acos,
    "math.acosh": _acosh,
    "math.asin": _asin,
    "math.asinh": _asinh,
    "math.atan": _atan,
    "math.atanh": _atanh,
    "math.cos": _cos,
    "math.cosh": _cosh,
    "math.erf": _erf,
    "math.exp": _exp,
    "math.exp2": _exp2,
    "math.expm1": _expm1,
    "math.log": _log,
    "math.log10": _scaled_log(pymath.log10(pymath.e)),
    "math.log1p": _log1p,
    "math.log2": _scaled_log(pymath.log2(pymath.e)),
    "math.powf": _powf,
    "math.round": _round,
    "math.rsqrt": _rsqrt,
    "math.sin": _sin,
    "math.sinh": _sinh,
    "math.tan": _tan,
    "math.tanh": _tanh,
}


def expand(e: Emitter, name: str, operands: Sequence[ir.Value]) -> ir.Value:
    """Emits the `math` operation `name` on scalars or vectors at the current insertion point.

    Args:
        e: the emitter of the kernel.
        name: name of the operation, such as "math.exp".
        operands: of one type. float32 is expanded here; float16 and bfloat16 are computed in float32; everything else (float64,
            and what the processor does itself, such as `math.sqrt`) stays the operation that it is.

    Returns:
        The result.
    """
    element = element_type(operands[0].type)
    function = _FUNCTIONS.get(name)
    if function is None or not isinstance(element, ir.F16Type | ir.BF16Type | ir.F32Type):
        return ir.Operation.create(name, operands=list(operands), infer_type=True).result
    return function(*(_f32(Lanes(operand, e)) for operand in operands)).to_float(element).value
