"""Elementary functions on float32 lanes as polynomials.

LLVM turns a `math` operation on a vector into one library call per lane; `expand` emits vector code
instead, the same code for scalars and for vectors of any length, a few units in the last place from
the exact result, and right for signed zeros, denormals, infinities and NaN. The measured bound of
every function stands in the tests.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from nnvm_mlir.lowering.cpu import exponential, trigonometry
from nnvm_mlir.lowering.cpu.emitter import Emitter, element_of
from nnvm_mlir.lowering.cpu.lanes import Lanes, horner
from nnvm_mlir.mlir import ir


def _rsqrt(x: Lanes) -> Lanes:
    return 1.0 / x.sqrt()


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


def _round(x: Lanes) -> Lanes:
    """To the nearest integer, halves away from zero: adds just less than 1/2 and truncates."""
    return (x + x.constant(0.5 - 2.0**-25).copysign(x)).trunc()


_FUNCTIONS: dict[str, Callable[..., Lanes]] = {
    "math.acos": trigonometry.acos,
    "math.acosh": exponential.acosh,
    "math.asin": trigonometry.asin,
    "math.asinh": exponential.asinh,
    "math.atan": trigonometry.atan,
    "math.atanh": exponential.atanh,
    "math.cos": trigonometry.cos,
    "math.cosh": exponential.cosh,
    "math.erf": _erf,
    "math.exp": exponential.exp,
    "math.exp2": exponential.exp2,
    "math.expm1": exponential.expm1,
    "math.log": exponential.log,
    "math.log10": exponential.scaled_log(math.log10(math.e)),
    "math.log1p": exponential.log1p,
    "math.log2": exponential.scaled_log(math.log2(math.e)),
    "math.powf": exponential.powf,
    "math.round": _round,
    "math.rsqrt": _rsqrt,
    "math.sin": trigonometry.sin,
    "math.sinh": exponential.sinh,
    "math.tan": trigonometry.tan,
    "math.tanh": _tanh,
}


def expand(e: Emitter, name: str, operands: Sequence[ir.Value]) -> ir.Value:
    """Emits the `math` operation `name` on scalars or vectors at the current insertion point.

    Args:
        e: the emitter of the kernel.
        name: name of the operation, such as "math.exp".
        operands: of one type. float32 is expanded here; float16 and bfloat16 are computed in
            float32; everything else (float64, and what the processor does itself, such as
            `math.sqrt`) stays the operation that it is.

    Returns:
        The result.
    """
    element = element_of(operands[0].type)
    function = _FUNCTIONS.get(name)
    if function is None or not isinstance(element, ir.F16Type | ir.BF16Type | ir.F32Type):
        return ir.Operation.create(name, operands=list(operands), infer_type=True).result
    f32 = ir.F32Type.get()
    return function(*(Lanes(o, e).to_float(f32) for o in operands)).to_float(element).value
