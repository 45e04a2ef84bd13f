"""Trigonometric functions and their inverses on float32 lanes, after Cephes (S. Moshier)."""

from __future__ import annotations

import math as pymath
from collections.abc import Callable

from nnvm_mlir.lowering.cpu.lanes import ROUND_F32, ROUND_F32_BITS, Lanes, fma, horner
from nnvm_mlir.mlir import ir, math, scf, vector

# pi/2 in three parts: their products with the integers up to the limit are exact enough when fused.
_HALF_PI_PARTS = (1.57079637050628662109375, -4.37113900018624283e-8, -1.71512451441e-15)

# Beyond this argument float32 quadrant counting fails; such lanes go through the C library.
_TRIGONOMETRIC_LIMIT = 1.0e5


def _quadrants(x: Lanes) -> tuple[Lanes, Lanes, Lanes]:
    """(q, sin r, cos r) with x = q pi/2 + r, |r| <= pi/4, q in i32 lanes; Cephes `sinf`, `cosf`."""
    shifted = fma(x, 2.0 / pymath.pi, ROUND_F32)
    n = shifted - ROUND_F32
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
    return shifted.bits() - ROUND_F32_BITS, sine, cosine


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


def sin(x: Lanes) -> Lanes:
    """Sine."""
    quadrant, sine, cosine = _quadrants(x)
    even = (quadrant & 1).equals(0)
    result = _negate_if(even.where(sine, cosine), quadrant)
    return _periodic(x, math.sin, x.equals(0.0).where(x, result))


def cos(x: Lanes) -> Lanes:
    """Cosine."""
    quadrant, sine, cosine = _quadrants(x)
    even = (quadrant & 1).equals(0)
    return _periodic(x, math.cos, _negate_if(even.where(cosine, sine), quadrant + 1))


def tan(x: Lanes) -> Lanes:
    """Tangent."""
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


def asin(x: Lanes) -> Lanes:
    """Inverse sine, in [-pi/2, pi/2]."""
    magnitude = x.abs()
    large = magnitude > 0.5
    square = large.where((1.0 - magnitude) * 0.5, magnitude * magnitude)
    result = _arcsine_of_small(large.where(square.sqrt(), magnitude), square)
    return large.where(pymath.pi / 2 - result * 2.0, result).copysign(x)


def acos(x: Lanes) -> Lanes:
    """Inverse cosine, in [0, pi]."""
    magnitude = x.abs()
    large = magnitude > 0.5
    square = large.where((1.0 - magnitude) * 0.5, magnitude * magnitude)
    arcsine = _arcsine_of_small(large.where(square.sqrt(), magnitude), square)
    outer = arcsine * 2.0
    outer = (x < 0.0).where(pymath.pi - outer, outer)
    return large.where(outer, pymath.pi / 2 - arcsine.copysign(x))


def atan(x: Lanes) -> Lanes:
    """Inverse tangent; Cephes `atanf`."""
    magnitude = x.abs()
    far, middle = magnitude > 1.0 + pymath.sqrt(2.0), magnitude > pymath.sqrt(2.0) - 1.0
    reduced = middle.where((magnitude - 1.0) / (magnitude + 1.0), magnitude)
    reduced = far.where(-1.0 / magnitude, reduced)
    offset = far.where(
        magnitude.constant(pymath.pi / 2), middle.where(magnitude.constant(pymath.pi / 4), 0.0)
    )
    square = reduced * reduced
    coefficients = (8.05374449538e-2, -1.38776856032e-1, 1.99777106478e-1, -3.33329491539e-1)
    result = fma(horner(square, coefficients) * square, reduced, reduced) + offset
    return result.copysign(x)
