"""Scalar arithmetic in the body of a linalg.generic, by dtype.

`Scalars(dtype)` offers one method for each operation, and picks the arith or math op by the dtype
(float, signed, unsigned, bool). Values are SSA scalars as bodies compute with them: a bool is an
i1, an unsigned integer is signless, float16 and bfloat16 are f32 (the builder converts where
tensors are read and written, so that a whole body rounds once). Nothing here can trap: integer
division by zero gives 0 and the smallest integer divided by -1 wraps, as documented on `div`.
"""

from __future__ import annotations

import numpy as np

from nnvm_mlir.dialects.nnvm import numeric
from nnvm_mlir.dialects.nnvm.numeric import compute_dtype
from nnvm_mlir.dialects.nnvm.types import is_float, is_unsigned, itemsize
from nnvm_mlir.mlir import arith, ir, math, scf

_FLOAT_COMPARISONS = {"eq": "OEQ", "ne": "UNE", "lt": "OLT", "le": "OLE", "gt": "OGT", "ge": "OGE"}


def scalar_type(dtype: str) -> ir.Type:
    """The MLIR type that holds exactly a dtype: signless integers, i1 for bool."""
    if is_float(dtype):
        return {
            "float16": ir.F16Type,
            "bfloat16": ir.BF16Type,
            "float32": ir.F32Type,
            "float64": ir.F64Type,
        }[dtype].get()
    return ir.IntegerType.get_signless(1 if dtype == "bool" else itemsize(dtype) * 8)


class Scalars:
    """Arithmetic on scalars of one dtype, at the current insertion point.

    Attributes:
        dtype: the dtype computed in.
    """

    def __init__(self, dtype: str) -> None:
        self.dtype = compute_dtype(dtype)
        self.is_float = is_float(dtype)
        self.is_unsigned = is_unsigned(dtype)

    @property
    def type(self) -> ir.Type:
        """The SSA type of these scalars."""
        return scalar_type(self.dtype)

    def const(self, value: float | int | bool) -> ir.Value:
        """A constant; integers wrap to the width of the dtype."""
        if self.is_float:
            return arith.constant(self.type, float(value))
        if self.dtype == "bool":
            return arith.constant(self.type, bool(value))
        bits = self.type.width
        wrapped = int(value) & ((1 << bits) - 1)
        signed = wrapped - (1 << bits) if wrapped >> (bits - 1) else wrapped
        return arith.constant(self.type, signed)

    def lowest(self) -> ir.Value:
        """The identity of max: -inf, the smallest integer, false."""
        return self.const(numeric.lowest(self.dtype))

    def highest(self) -> ir.Value:
        """The identity of min: inf, the largest integer, true."""
        return self.const(numeric.highest(self.dtype))

    def add(self, x: ir.Value, y: ir.Value) -> ir.Value:
        """x + y; integers wrap; bool: or."""
        if self.dtype == "bool":
            return arith.ori(x, y)
        return arith.addf(x, y) if self.is_float else arith.addi(x, y)

    def sub(self, x: ir.Value, y: ir.Value) -> ir.Value:
        """x - y; integers wrap."""
        return arith.subf(x, y) if self.is_float else arith.subi(x, y)

    def mul(self, x: ir.Value, y: ir.Value) -> ir.Value:
        """x * y; integers wrap; bool: and."""
        return arith.mulf(x, y) if self.is_float else arith.muli(x, y)

    def neg(self, x: ir.Value) -> ir.Value:
        """-x."""
        return arith.negf(x) if self.is_float else arith.subi(self.const(0), x)

    def div(self, x: ir.Value, y: ir.Value) -> ir.Value:
        """x / y.

        Integers truncate towards zero; a zero divisor gives 0, the smallest integer over -1 itself.
        """
        if self.is_float:
            return arith.divf(x, y)
        divide = arith.divui if self.is_unsigned else arith.divsi
        quotient = divide(x, self._safe_divisor(y))
        if not self.is_unsigned:
            quotient = arith.select(self.eq(y, self.const(-1)), self.neg(x), quotient)
        return arith.select(self.eq(y, self.const(0)), self.const(0), quotient)

    def rem(self, x: ir.Value, y: ir.Value) -> ir.Value:
        """The remainder with x's sign (C's %, fmod); an integer modulo 0 or -1 is 0."""
        if self.is_float:
            return arith.remf(x, y)
        remainder = (arith.remui if self.is_unsigned else arith.remsi)(x, self._safe_divisor(y))
        return arith.select(self._traps(y), self.const(0), remainder)

    def mod(self, x: ir.Value, y: ir.Value) -> ir.Value:
        """The remainder with y's sign (Python's %)."""
        remainder = self.rem(x, y)
        if self.is_unsigned:
            return remainder
        zero = self.const(0)
        signs_differ = arith.xori(self.lt(remainder, zero), self.lt(y, zero))
        fix = arith.andi(self.ne(remainder, zero), signs_differ)
        return arith.select(fix, self.add(remainder, y), remainder)

    def _traps(self, y: ir.Value) -> ir.Value:
        zero = self.eq(y, self.const(0))
        return zero if self.is_unsigned else arith.ori(zero, self.eq(y, self.const(-1)))

    def _safe_divisor(self, y: ir.Value) -> ir.Value:
        return arith.select(self._traps(y), self.const(1), y)

    def pow(self, x: ir.Value, y: ir.Value, exponent_dtype: str) -> ir.Value:
        """x to the power y of another dtype, as documented on `broadcast_pow`."""
        exponent = Scalars(exponent_dtype)
        if (self.is_float or not exponent.is_float) and _constant_of(y) == 2:
            return self.mul(x, x)
        if self.is_float:
            return math.powf(x, cast(y, exponent_dtype, self.dtype))
        if exponent.is_float:
            wide = [cast(v, d, "float64") for v, d in ((x, self.dtype), (y, exponent_dtype))]
            return cast(math.powf(*wide), "float64", self.dtype)
        return self._integer_pow(x, exponent, y)

    def _integer_pow(self, x: ir.Value, exponent: Scalars, y: ir.Value) -> ir.Value:
        one, zero = self.const(1), exponent.const(0)
        loop = scf.WhileOp([self.type, self.type, y.type], [one, x, y])
        before = loop.before.blocks.append(self.type, self.type, y.type)
        after = loop.after.blocks.append(self.type, self.type, y.type)
        with ir.InsertionPoint(before):
            scf.ConditionOp(exponent.ne(before.arguments[2], zero), before.arguments)
        with ir.InsertionPoint(after):
            result, base, rest = after.arguments
            odd = exponent.ne(arith.andi(rest, exponent.const(1)), zero)
            result = arith.select(odd, self.mul(result, base), result)
            scf.YieldOp([result, self.mul(base, base), arith.shrui(rest, exponent.const(1))])
        power = loop.results[0]
        if exponent.is_unsigned:
            return power
        # The loop takes a negative exponent for a large one, which is right where the base is 1 or
        # -1.
        unit = self.eq(x, one)
        if not self.is_unsigned:
            unit = arith.ori(unit, self.eq(x, self.const(-1)))
        vanishes = arith.andi(exponent.lt(y, zero), arith.xori(unit, Scalars("bool").const(True)))
        return arith.select(vanishes, self.const(0), power)

    def shift_left(self, x: ir.Value, y: ir.Value) -> ir.Value:
        """x << y; 0 for a count outside 0..bits-1."""
        inside = self._is_shift(y)
        count = arith.select(inside, y, self.const(0))
        return arith.select(inside, arith.shli(x, count), self.const(0))

    def shift_right(self, x: ir.Value, y: ir.Value) -> ir.Value:
        """x >> y, copies of the sign coming in; a count outside 0..bits-1 shifts everything out."""
        inside = self._is_shift(y)
        if self.is_unsigned:
            shifted = arith.shrui(x, arith.select(inside, y, self.const(0)))
            return arith.select(inside, shifted, self.const(0))
        return arith.shrsi(x, arith.select(inside, y, self.const(self.type.width - 1)))

    def _is_shift(self, y: ir.Value) -> ir.Value:
        return arith.cmpi(arith.CmpIPredicate.ult, y, self.const(self.type.width))

    def max(self, x: ir.Value, y: ir.Value) -> ir.Value:
        """The larger; NaN if either is NaN."""
        if self.is_float:
            return arith.maximumf(x, y)
        return (arith.maxui if self.is_unsigned else arith.maxsi)(x, y)

    def min(self, x: ir.Value, y: ir.Value) -> ir.Value:
        """The smaller; NaN if either is NaN."""
        if self.is_float:
            return arith.minimumf(x, y)
        return (arith.minui if self.is_unsigned else arith.minsi)(x, y)

    def compare(self, predicate: str, x: ir.Value, y: ir.Value) -> ir.Value:
        """x <predicate> y as an i1; predicate is eq, ne, lt, le, gt or ge."""
        if self.is_float:
            name = _FLOAT_COMPARISONS[predicate]
            return arith.cmpf(getattr(arith.CmpFPredicate, name), x, y)
        signed = "" if predicate in ("eq", "ne") else "u" if self.is_unsigned else "s"
        name = predicate if not signed else signed + predicate
        return arith.cmpi(getattr(arith.CmpIPredicate, name), x, y)

    def eq(self, x: ir.Value, y: ir.Value) -> ir.Value:
        """x == y."""
        return self.compare("eq", x, y)

    def ne(self, x: ir.Value, y: ir.Value) -> ir.Value:
        """x != y."""
        return self.compare("ne", x, y)

    def lt(self, x: ir.Value, y: ir.Value) -> ir.Value:
        """x < y."""
        return self.compare("lt", x, y)

    def gt(self, x: ir.Value, y: ir.Value) -> ir.Value:
        """x > y."""
        return self.compare("gt", x, y)

    def select(self, condition: ir.Value, x: ir.Value, y: ir.Value) -> ir.Value:
        """x where the i1 condition holds, else y."""
        return arith.select(condition, x, y)

    def call(self, function: str, *operands: ir.Value) -> ir.Value:
        """A function of the math dialect: "exp", "tanh", "erf", "powf", "floor", ..."""
        return getattr(math, function)(*operands)

    def is_nan(self, x: ir.Value) -> ir.Value:
        """Whether x is NaN, as an i1."""
        return arith.cmpf(arith.CmpFPredicate.UNO, x, x)


def cast(x: ir.Value, source: str, target: str) -> ir.Value:
    """Converts a scalar between dtypes as C does.

    Floats truncate towards zero, integers wrap, bool is `x != 0`.

    A float outside the range of the integer type saturates; NaN gives 0. So the result is the same
    on every processor.
    """
    source, target = compute_dtype(source), compute_dtype(target)
    if source == target:
        return x
    if target == "bool":
        s = Scalars(source)
        return s.ne(x, s.const(0))
    to = scalar_type(target)
    if is_float(source) and is_float(target):
        return (arith.extf if itemsize(source) < itemsize(target) else arith.truncf)(to, x)
    if is_float(source):
        return _float_to_int(x, source, target)
    if is_float(target):
        return (arith.uitofp if is_unsigned(source) else arith.sitofp)(to, x)
    narrow, wide = scalar_type(source).width, to.width
    if narrow == wide:
        return x
    if narrow > wide:
        return arith.trunci(to, x)
    return (arith.extui if is_unsigned(source) else arith.extsi)(to, x)


def _constant_of(x: ir.Value) -> float | int | None:
    owner = x.owner
    if isinstance(owner, ir.Block) or owner.name != "arith.constant":
        return None
    return owner.attributes["value"].value


def _float_to_int(x: ir.Value, source: str, target: str) -> ir.Value:
    s, to = Scalars(source), Scalars(target)
    info = np.iinfo(target)
    # 2**bits is exact in every float type, the largest integer may not be: compare with the former,
    # select the latter.
    too_high = s.compare("ge", x, s.const(float(int(info.max) + 1)))
    too_low = s.compare("lt", x, s.const(float(info.min)))
    convert = arith.fptoui if is_unsigned(target) else arith.fptosi
    in_range = arith.select(arith.ori(too_high, too_low), s.const(0), x)
    in_range = arith.select(s.is_nan(x), s.const(0), in_range)
    value = convert(to.type, in_range)
    value = arith.select(too_high, to.const(int(info.max)), value)
    return arith.select(too_low, to.const(int(info.min)), value)
