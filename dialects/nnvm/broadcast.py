"""Element-wise operators of two or more operands.

`broadcast_*` broadcast as in NumPy, `elemwise_*` take one shape.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np

from nnvm_mlir.dialects.nnvm import numeric
from nnvm_mlir.dialects.nnvm.fields import Bool, Int, Str, attribute, operand, result
from nnvm_mlir.dialects.nnvm.operator import (
    Attributes,
    Fusion,
    Operator,
    SameShape,
    normalize_axis,
    refine,
)
from nnvm_mlir.dialects.nnvm.shapes import broadcast_shapes
from nnvm_mlir.dialects.nnvm.types import (
    DTYPES,
    KINDS,
    NUMBERS,
    Dtypes,
    Shape,
    numpy_dtype,
    require_kind,
    unify_dtypes,
    unify_shapes,
)

INTEGERS = ("int", "uint")


class Elementwise(Operator):
    """A function of the elements at one position of all operands.

    Class attributes:
        formula: the function `(a, *operands)` on arrays in computing precision.
    """

    fusion = Fusion.BROADCAST
    kinds: ClassVar[Sequence[str]] = NUMBERS
    formula: ClassVar[Callable[..., Any]]

    @classmethod
    def permuted(cls, a: Attributes, rank: int, axes: Sequence[int]) -> dict[str, Any] | None:
        return {}

    @classmethod
    def evaluate(cls, a: Attributes, *arrays: np.ndarray) -> np.ndarray:
        dtype = cls.infer_dtype(a, [str(x.dtype) for x in arrays], [None])[1][0]
        with np.errstate(all="ignore"):
            value = cls.formula(a, *(numeric.widen(x) for x in arrays))
        return np.asarray(value).astype(numpy_dtype(dtype or ""))


class Broadcast(Elementwise):
    """An element-wise function whose operands broadcast to one shape as in NumPy."""

    @classmethod
    def infer_shape(
        cls, a: Attributes, ins: Sequence[Shape], outs: Sequence[Shape]
    ) -> tuple[list[Shape], list[Shape]]:
        return list(ins), refine(outs, [broadcast_shapes(*ins)])


class Binary(Broadcast):
    """A broadcast function of two operands."""

    lhs = operand()
    rhs = operand()
    output = result()


class BroadcastAdd(Binary, name="broadcast_add"):
    """lhs + rhs; bool: or."""

    kinds = KINDS
    formula = staticmethod(lambda a, x, y: x + y)


class BroadcastSub(Binary, name="broadcast_sub"):
    """lhs - rhs."""

    formula = staticmethod(lambda a, x, y: x - y)


class BroadcastMul(Binary, name="broadcast_mul"):
    """lhs * rhs; bool: and."""

    kinds = KINDS
    formula = staticmethod(lambda a, x, y: x * y)


class BroadcastDiv(Binary, name="broadcast_div"):
    """lhs / rhs; integers truncate towards zero, and a zero divisor gives 0."""

    formula = staticmethod(lambda a, x, y: numeric.divide(x, y))


class BroadcastMod(Binary, name="broadcast_mod"):
    """The remainder of lhs / rhs with the sign of rhs, or with `fmod` of lhs.

    An integer modulo 0 is 0.
    """

    fmod = attribute(Bool, False)
    formula = staticmethod(
        lambda a, x, y: numeric.remainder(x, y) if a.fmod else numeric.modulo(x, y)
    )


class BroadcastPow(Binary, name="broadcast_pow"):
    """lhs to the power rhs, in the dtype of lhs; rhs may have another dtype.

    Integers wrap; an integer to a negative integer power is 0 unless it is 1 or -1, and to a float
    power is computed in float64.
    """

    formula = staticmethod(lambda a, x, y: numeric.power(x, y))

    @classmethod
    def infer_dtype(
        cls, a: Attributes, ins: Dtypes, outs: Dtypes
    ) -> tuple[list[str | None], list[str | None]]:
        require_kind(ins, cls.kinds)
        dtype = unify_dtypes([ins[0], *outs])
        return [dtype, ins[1]], [dtype]


class BroadcastMax(Binary, name="broadcast_max"):
    """The larger of lhs and rhs; NaN if either is NaN."""

    kinds = KINDS
    formula = staticmethod(lambda a, x, y: np.maximum(x, y))


class BroadcastMin(Binary, name="broadcast_min"):
    """The smaller of lhs and rhs; NaN if either is NaN."""

    kinds = KINDS
    formula = staticmethod(lambda a, x, y: np.minimum(x, y))


# ---- comparisons, logic, bits --------------------------------------------------------------------


class Comparison(Binary):
    """A comparison.

    The result holds 0 and 1 in `out_dtype`, by default the dtype of the operands.
    """

    kinds = KINDS
    out_dtype = attribute(Str, "same", choices=("same", *DTYPES))

    @classmethod
    def infer_dtype(
        cls, a: Attributes, ins: Dtypes, outs: Dtypes
    ) -> tuple[list[str | None], list[str | None]]:
        if a.out_dtype == "same":
            return super().infer_dtype(a, ins, outs)
        dtype = unify_dtypes(ins)
        return [dtype, dtype], [unify_dtypes([*outs, a.out_dtype])]


class BroadcastGreater(Comparison, name="broadcast_greater"):
    """lhs > rhs."""

    formula = staticmethod(lambda a, x, y: x > y)


class BroadcastLess(Comparison, name="broadcast_less"):
    """lhs < rhs."""

    formula = staticmethod(lambda a, x, y: x < y)


class BroadcastEqual(Comparison, name="broadcast_equal"):
    """lhs == rhs; NaN equals nothing."""

    formula = staticmethod(lambda a, x, y: x == y)


class BroadcastNotEqual(Comparison, name="broadcast_not_equal"):
    """lhs != rhs; NaN differs from everything."""

    formula = staticmethod(lambda a, x, y: x != y)


class BroadcastGreaterEqual(Comparison, name="broadcast_greater_equal"):
    """lhs >= rhs."""

    formula = staticmethod(lambda a, x, y: x >= y)


class BroadcastLessEqual(Comparison, name="broadcast_less_equal"):
    """lhs <= rhs."""

    formula = staticmethod(lambda a, x, y: x <= y)


class Logical(Binary):
    """A function of whether lhs and rhs are nonzero; the result is bool."""

    kinds = KINDS

    @classmethod
    def infer_dtype(
        cls, a: Attributes, ins: Dtypes, outs: Dtypes
    ) -> tuple[list[str | None], list[str | None]]:
        dtype = unify_dtypes(ins)
        return [dtype, dtype], [unify_dtypes([*outs, "bool"])]


class LogicalAnd(Logical, name="logical_and"):
    """Whether both are nonzero."""

    formula = staticmethod(lambda a, x, y: np.logical_and(x, y))


class LogicalOr(Logical, name="logical_or"):
    """Whether one or both are nonzero."""

    formula = staticmethod(lambda a, x, y: np.logical_or(x, y))


class LogicalXor(Logical, name="logical_xor"):
    """Whether exactly one is nonzero."""

    formula = staticmethod(lambda a, x, y: np.logical_xor(x, y))


class BitwiseAnd(Binary, name="bitwise_and"):
    """The bits set in both."""

    kinds = (*INTEGERS, "bool")
    formula = staticmethod(lambda a, x, y: x & y)


class BitwiseOr(Binary, name="bitwise_or"):
    """The bits set in one or both."""

    kinds = (*INTEGERS, "bool")
    formula = staticmethod(lambda a, x, y: x | y)


class BitwiseXor(Binary, name="bitwise_xor"):
    """The bits set in exactly one."""

    kinds = (*INTEGERS, "bool")
    formula = staticmethod(lambda a, x, y: x ^ y)


class BroadcastLeftShift(Binary, name="broadcast_left_shift"):
    """lhs shifted left by rhs bits; 0 for a negative count or one of all bits and more."""

    kinds = INTEGERS
    formula = staticmethod(lambda a, x, y: np.left_shift(x, y))


class BroadcastRightShift(Binary, name="broadcast_right_shift"):
    """lhs shifted right by rhs bits, copies of the sign coming in.

    A negative count, or one of all bits and more, shifts everything out.
    """

    kinds = INTEGERS
    formula = staticmethod(lambda a, x, y: np.right_shift(x, y))


# ---- one shape -----------------------------------------------------------------------------------


class SameShapeBinary(Elementwise):
    """An element-wise function of two tensors of one shape, which each and the result tell."""

    infer_shape = SameShape.infer_shape

    lhs = operand()
    rhs = operand()
    output = result()


class ElemwiseAdd(SameShapeBinary, name="elemwise_add"):
    """lhs + rhs; bool: or."""

    kinds = KINDS
    formula = BroadcastAdd.formula


class ElemwiseSub(SameShapeBinary, name="elemwise_sub"):
    """lhs - rhs."""

    formula = BroadcastSub.formula


class ElemwiseMul(SameShapeBinary, name="elemwise_mul"):
    """lhs * rhs; bool: and."""

    kinds = KINDS
    formula = BroadcastMul.formula


class ElemwiseDiv(SameShapeBinary, name="elemwise_div"):
    """lhs / rhs; integers truncate towards zero, and a zero divisor gives 0."""

    formula = BroadcastDiv.formula


class ElemwiseMod(SameShapeBinary, name="elemwise_mod"):
    """The remainder of lhs / rhs with the sign of rhs; an integer modulo 0 is 0."""

    formula = staticmethod(lambda a, x, y: numeric.modulo(x, y))


class ElemwisePow(SameShapeBinary, name="elemwise_pow"):
    """lhs to the power rhs; see `broadcast_pow` for integers."""

    formula = BroadcastPow.formula


class ElemwiseSum(Elementwise, name="elemwise_sum"):
    """The sum of all operands, which have one shape. `num_args`, if given, is their number."""

    fusion = Fusion.ELEMWISE
    data = operand(variadic=True)
    output = result()
    num_args = attribute(Int, None)
    formula = staticmethod(lambda a, *xs: sum(xs[1:], xs[0]))

    @classmethod
    def of_parts(cls, given: dict[str, Any]) -> dict[str, Any]:
        return {key: value for key, value in given.items() if key != "num_args"}

    @classmethod
    def infer_shape(
        cls, a: Attributes, ins: Sequence[Shape], outs: Sequence[Shape]
    ) -> tuple[list[Shape], list[Shape]]:
        wanted = len(ins) if a.num_args is None else a.num_args
        if not ins or len(ins) != wanted:
            raise ValueError(f"expects {max(wanted, 1)} operands, got {len(ins)}")
        return SameShape.infer_shape(a, ins, outs)


# ---- three operands and prelu --------------------------------------------------------------------


class Where(Broadcast, name="where"):
    """x where the condition is nonzero (or true), y elsewhere; all three broadcast."""

    condition = operand()
    x = operand()
    y = operand()
    output = result()

    kinds = KINDS
    formula = staticmethod(lambda a, condition, x, y: np.where(condition != 0, x, y))

    @classmethod
    def infer_dtype(
        cls, a: Attributes, ins: Dtypes, outs: Dtypes
    ) -> tuple[list[str | None], list[str | None]]:
        dtype = unify_dtypes([*ins[1:], *outs])
        return [ins[0], dtype, dtype], [dtype]


class Prelu(Elementwise, name="prelu"):
    """x for x > 0, alpha * x otherwise; alpha has one element for each index of `axis`."""

    data = operand()
    alpha = operand()
    output = result()
    axis = attribute(Int, 1)

    kinds = ("float", "int")

    @classmethod
    def permuted(cls, a: Attributes, rank: int, axes: Sequence[int]) -> dict[str, Any] | None:
        return None  # alpha has no axes to permute

    @classmethod
    def infer_shape(
        cls, a: Attributes, ins: Sequence[Shape], outs: Sequence[Shape]
    ) -> tuple[list[Shape], list[Shape]]:
        data = unify_shapes([ins[0], *outs])
        if data is None:
            return [data, ins[1]], [data]
        axis = normalize_axis(a.axis, len(data))
        alpha = unify_shapes([ins[1], (data[axis],)])
        return [(*data[:axis], alpha[0], *data[axis + 1 :]), alpha], [data]  # type: ignore[index]

    @classmethod
    def formula(cls, a: Attributes, x: np.ndarray, alpha: np.ndarray) -> Any:
        return np.where(x > 0, x, x * alpha.reshape(cls.alpha_shape(a, x.shape)))

    @classmethod
    def alpha_shape(cls, a: Attributes, shape: Sequence[int]) -> tuple[int, ...]:
        """The shape under which alpha broadcasts against data of `shape`."""
        axis = normalize_axis(a.axis, len(shape))
        return (shape[axis], *[1] * (len(shape) - axis - 1))
