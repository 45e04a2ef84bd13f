"""Arithmetic on vectors of lanes, written as arithmetic.

`Lanes` wraps a scalar or vector SSA value so that numerical code reads like the formula it
implements; every operator emits one `arith` or `math` operation at the current insertion point.
Python numbers become constants of the other operand's type. No fast-math flag is ever set:
rounding, NaN and signed zero behave as written.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from nnvm_mlir.lowering.cpu.emitter import Emitter, element_of
from nnvm_mlir.mlir import arith, ir, math

Number = int | float

# Adding 1.5 * 2^23 to a small float32 rounds it to an integer, to nearest even, and leaves that
# integer in the low bits of the sum: cheaper than a conversion, and defined for NaN.
ROUND_F32 = 1.5 * 2.0**23
ROUND_F32_BITS = 0x4B400000

_LESS = (arith.CmpFPredicate.OLT, arith.CmpIPredicate.slt)
_EQUAL = (arith.CmpFPredicate.OEQ, arith.CmpIPredicate.eq)
_DIFFERENT = (arith.CmpFPredicate.UNE, arith.CmpIPredicate.ne)


def with_element(type_: ir.Type, element: ir.Type) -> ir.Type:
    """`type_` (scalar or vector) with another element type."""
    if isinstance(type_, ir.VectorType):
        vector_type = ir.VectorType(type_)
        return ir.VectorType.get(vector_type.shape, element)
    return element


@dataclass(frozen=True, eq=False)
class Lanes:
    """A scalar or vector value of float or integer lanes.

    Attributes:
        value: the SSA value.
        e: the emitter of the kernel, which keeps its constants.
    """

    value: ir.Value
    e: Emitter

    @property
    def type(self) -> ir.Type:
        """The MLIR type of the value."""
        return self.value.type

    @property
    def is_float(self) -> bool:
        """Whether the lanes are floating point numbers."""
        return isinstance(element_of(self.type), ir.FloatType)

    def constant(self, number: Number) -> Lanes:
        """`number` in every lane, with this value's type."""
        lanes = self.type.shape[0] if isinstance(self.type, ir.VectorType) else None
        element = element_of(self.type)
        exact = float(number) if isinstance(element, ir.FloatType) else int(number)
        return self._with(self.e.constant(exact, element, lanes))

    def _with(self, value: ir.Value) -> Lanes:
        return Lanes(value, self.e)

    def _lift(self, other: Lanes | Number) -> Lanes:
        return other if isinstance(other, Lanes) else self.constant(other)

    def _binary(self, other: Lanes | Number, on_float, on_int) -> Lanes:
        operation = on_float if self.is_float else on_int
        return self._with(operation(self.value, self._lift(other).value))

    def __add__(self, other: Lanes | Number) -> Lanes:
        return self._binary(other, arith.addf, arith.addi)

    def __sub__(self, other: Lanes | Number) -> Lanes:
        return self._binary(other, arith.subf, arith.subi)

    def __mul__(self, other: Lanes | Number) -> Lanes:
        return self._binary(other, arith.mulf, arith.muli)

    def __truediv__(self, other: Lanes | Number) -> Lanes:
        return self._with(arith.divf(self.value, self._lift(other).value))

    def __radd__(self, other: Number) -> Lanes:
        return self.constant(other) + self

    def __rsub__(self, other: Number) -> Lanes:
        return self.constant(other) - self

    def __rmul__(self, other: Number) -> Lanes:
        return self.constant(other) * self

    def __rtruediv__(self, other: Number) -> Lanes:
        return self.constant(other) / self

    def __neg__(self) -> Lanes:
        return self._with(arith.negf(self.value))

    def __and__(self, other: Lanes | Number) -> Lanes:
        return self._with(arith.andi(self.value, self._lift(other).value))

    def __or__(self, other: Lanes | Number) -> Lanes:
        return self._with(arith.ori(self.value, self._lift(other).value))

    def __xor__(self, other: Lanes | Number) -> Lanes:
        return self._with(arith.xori(self.value, self._lift(other).value))

    def __lshift__(self, places: int) -> Lanes:
        return self._with(arith.shli(self.value, self.constant(places).value))

    def __rshift__(self, places: int) -> Lanes:
        """Shift right; the sign bit is copied in."""
        return self._with(arith.shrsi(self.value, self.constant(places).value))

    def _compare(self, other: Lanes | Number, predicates) -> Lanes:
        other = self._lift(other)
        if self.is_float:
            return self._with(arith.cmpf(predicates[0], self.value, other.value))
        return self._with(arith.cmpi(predicates[1], self.value, other.value))

    def __lt__(self, other: Lanes | Number) -> Lanes:
        return self._compare(other, _LESS)

    def __gt__(self, other: Lanes | Number) -> Lanes:
        return self._lift(other)._compare(self, _LESS)

    def equals(self, other: Lanes | Number) -> Lanes:
        """A mask of the lanes that compare equal (NaN never does)."""
        return self._compare(other, _EQUAL)

    def differs(self, other: Lanes | Number) -> Lanes:
        """A mask of the lanes that do not compare equal (NaN always)."""
        return self._compare(other, _DIFFERENT)

    def where(self, true: Lanes | Number, false: Lanes | Number) -> Lanes:
        """With this value as mask: lanes of `true` where it is set, of `false` elsewhere."""
        if not isinstance(true, Lanes):
            if not isinstance(false, Lanes):
                raise TypeError("at least one choice must be a value, not a number")
            true = false.constant(true)
        return self._with(arith.select(self.value, true.value, true._lift(false).value))

    def clamp(self, low: Number, high: Number) -> Lanes:
        """Limits to [low, high]; NaN stays NaN.

        Compare-and-select in this operand order is exactly one MINPS/MAXPS on x86.
        """
        limited = (self > high).where(high, self)
        return (limited < low).where(low, limited)

    def abs(self) -> Lanes:
        """Absolute value."""
        return self._with(math.absf(self.value))

    def sqrt(self) -> Lanes:
        """Square root, correctly rounded."""
        return self._with(math.sqrt(self.value))

    def trunc(self) -> Lanes:
        """Rounded towards zero."""
        return self._with(math.trunc(self.value))

    def copysign(self, sign: Lanes) -> Lanes:
        """This magnitude with the sign of `sign`."""
        return self._with(math.copysign(self.value, sign.value))

    def bits(self) -> Lanes:
        """The bit pattern of float lanes as signless integers of the same width."""
        integer = ir.IntegerType.get_signless(ir.FloatType(element_of(self.type)).width)
        return self._with(arith.bitcast(with_element(self.type, integer), self.value))

    def as_float(self, element: ir.Type) -> Lanes:
        """Integer lanes reinterpreted as floats of type `element`."""
        return self._with(arith.bitcast(with_element(self.type, element), self.value))

    def to_float(self, element: ir.Type) -> Lanes:
        """Signed integers converted, or floats extended or truncated, to `element`."""
        source, result = element_of(self.type), with_element(self.type, element)
        if source == element:
            return self
        if not self.is_float:
            return self._with(arith.sitofp(result, self.value))
        wider = ir.FloatType(element).width > ir.FloatType(source).width
        return self._with((arith.extf if wider else arith.truncf)(result, self.value))


def fma(a: Lanes, b: Lanes | Number, c: Lanes | Number) -> Lanes:
    """a * b + c with one rounding."""
    return a._with(math.fma(a.value, a._lift(b).value, a._lift(c).value))


def horner(x: Lanes, coefficients: Sequence[float]) -> Lanes:
    """The polynomial with the given coefficients, highest power first."""
    result = x.constant(coefficients[0])
    for coefficient in coefficients[1:]:
        result = fma(result, x, coefficient)
    return result
