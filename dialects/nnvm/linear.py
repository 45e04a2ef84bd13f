"""Matrix products.

Half-precision floats are accumulated in float32 and rounded once, integers in their own dtype
(`matmul_integer`: in int32).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from nnvm_mlir.dialects.nnvm import numeric
from nnvm_mlir.dialects.nnvm.fields import Bool, Int, attribute, operand, result
from nnvm_mlir.dialects.nnvm.operator import Attributes, Fusion, Operator
from nnvm_mlir.dialects.nnvm.shapes import broadcast_shapes
from nnvm_mlir.dialects.nnvm.types import (
    NUMBERS,
    Dtypes,
    Shape,
    known,
    show,
    unify_dtypes,
    unify_shapes,
)


class Product(Operator):
    """A contraction of floats or integers, all of one dtype."""

    fusion = Fusion.OUT_ELEMWISE_FUSABLE
    kinds = NUMBERS


class Dense(Product, name="dense"):
    """data @ weight.T + bias, over the last axis of data.

    Shapes: data (x1, ..., xn, in), weight (units, in), bias (units,), output (x1, ..., xn, units).
    """

    data = operand()
    weight = operand()
    bias = operand(optional=True)
    output = result()
    units = attribute(Int)
    use_bias = attribute(Bool, True)

    @classmethod
    def check(cls, a: Attributes) -> None:
        if a.units < 1:
            raise ValueError(f"attribute 'units': expected at least 1, got {a.units}")

    @classmethod
    def infer_shape(
        cls, a: Attributes, ins: Sequence[Shape], outs: Sequence[Shape]
    ) -> tuple[list[Shape], list[Shape]]:
        if len(ins) != 2 + a.use_bias:
            raise ValueError(f"expects {2 + a.use_bias} operands (use_bias), got {len(ins)}")
        data, weight, output = ins[0], ins[1], outs[0]
        if data == () or output == ():
            raise ValueError("expects data of rank 1 or more, got a scalar")
        weight = unify_shapes([weight, (a.units, data[-1] if data else None)])
        if output is not None:
            data = unify_shapes([data, (*output[:-1], weight[1])])  # type: ignore[index]
        elif data is not None:
            data = (*data[:-1], weight[1])  # type: ignore[index]
        if data is not None:
            output = unify_shapes([output, (*data[:-1], a.units)])
        bias = [unify_shapes([shape, (a.units,)]) for shape in ins[2:]]
        return [data, weight, *bias], [output]

    @classmethod
    def evaluate(cls, a: Attributes, data: np.ndarray, weight: np.ndarray, *bias: np.ndarray):
        product = np.matmul(numeric.widen(data), numeric.widen(weight).T)
        for values in bias:
            product = product + numeric.widen(values)
        return np.asarray(product).astype(data.dtype)


class Matmul(Product, name="matmul"):
    """Contracts the last axis of lhs with the first of rhs.

    The result's shape is lhs.shape[:-1] + rhs.shape[1:].

    A vector (k,) counts as (1, k). `transpose_a` and `transpose_b` first reverse *all* axes of an
    operand. For stacks of matrices see `batch_matmul`.
    """

    lhs = operand()
    rhs = operand()
    output = result()
    transpose_a = attribute(Bool, False)
    transpose_b = attribute(Bool, False)

    @classmethod
    def operand_shapes(cls, a: Attributes, *shapes: Sequence[int]) -> list[tuple[int, ...]]:
        """The operands' shapes as they are contracted: at least matrices, transposed."""
        if () in map(tuple, shapes):
            raise ValueError("expects operands of rank 1 or more, got a scalar")
        matrices = [(1, *shape) if len(shape) == 1 else tuple(shape) for shape in shapes]
        transposed = (a.transpose_a, a.transpose_b)
        return [s[::-1] if flip else s for s, flip in zip(matrices, transposed, strict=True)]

    @classmethod
    def result_shapes(
        cls, a: Attributes, lhs: tuple[int, ...], rhs: tuple[int, ...]
    ) -> tuple[int, ...]:
        left, right = cls.operand_shapes(a, lhs, rhs)
        if left[-1] != right[0]:
            raise ValueError(
                f"cannot multiply {show(left)} by {show(right)}: {left[-1]} is not {right[0]}"
            )
        return left[:-1] + right[1:]

    @classmethod
    def evaluate(cls, a: Attributes, lhs: np.ndarray, rhs: np.ndarray) -> np.ndarray:
        left, right = (numeric.widen(np.atleast_2d(x)) for x in (lhs, rhs))
        left = left.T if a.transpose_a else left
        right = right.T if a.transpose_b else right
        return np.tensordot(left, right, (-1, 0)).astype(lhs.dtype)


class StackedProduct(Product):
    """The matrix products of two stacks of matrices, as `numpy.matmul`.

    Leading axes broadcast; a vector is a row on the left, a column on the right.
    """

    @classmethod
    def product_shape(cls, lhs: tuple[int, ...], rhs: tuple[int, ...]) -> tuple[int, ...]:
        """The shape of `numpy.matmul` of two operands. Raises ValueError when they do not fit."""
        if not lhs or not rhs:
            raise ValueError("expects operands of rank 1 or more, got a scalar")
        inner = rhs[0] if len(rhs) == 1 else rhs[-2]
        if lhs[-1] != inner:
            raise ValueError(
                f"cannot multiply {show(lhs)} by {show(rhs)}: {lhs[-1]} is not {inner}"
            )
        stack = known(broadcast_shapes(lhs[:-2], rhs[:-2]))
        return (*stack, *lhs[-2:-1], *(rhs[-1:] if len(rhs) > 1 else ()))


class BatchMatmul(StackedProduct, name="batch_matmul"):
    """numpy.matmul(lhs, rhs).

    `transpose_a` and `transpose_b` swap the last two axes of an operand first.
    """

    lhs = operand()
    rhs = operand()
    output = result()
    transpose_a = attribute(Bool, False)
    transpose_b = attribute(Bool, False)

    @classmethod
    def result_shapes(
        cls, a: Attributes, lhs: tuple[int, ...], rhs: tuple[int, ...]
    ) -> tuple[int, ...]:
        for name, shape in (("transpose_a", lhs), ("transpose_b", rhs)):
            if getattr(a, name) and len(shape) < 2:
                raise ValueError(
                    f"attribute {name!r} needs a matrix, got an operand of shape {show(shape)}"
                )
        left = (*lhs[:-2], *lhs[:-3:-1]) if a.transpose_a else lhs
        right = (*rhs[:-2], *rhs[:-3:-1]) if a.transpose_b else rhs
        return cls.product_shape(left, right)

    @classmethod
    def evaluate(cls, a: Attributes, lhs: np.ndarray, rhs: np.ndarray) -> np.ndarray:
        left = lhs.swapaxes(-1, -2) if a.transpose_a else lhs
        right = rhs.swapaxes(-1, -2) if a.transpose_b else rhs
        return np.asarray(np.matmul(numeric.widen(left), numeric.widen(right))).astype(lhs.dtype)


class MatmulInteger(StackedProduct, name="matmul_integer"):
    """numpy.matmul(a - a_zero_point, b - b_zero_point) in int32, of int8 and uint8 operands.

    A zero point is a scalar, or one number for each row of a (M,), for each column of b (N,), or
    any shape that broadcasts to the operand.
    """

    a = operand()
    b = operand()
    a_zero_point = operand()
    b_zero_point = operand()
    output = result()

    @classmethod
    def zero_point_shape(
        cls, zero_point: tuple[int, ...], data: tuple[int, ...], is_row: bool
    ) -> tuple[int, ...]:
        """The shape under which a zero point broadcasts against its operand.

        Raises:
            ValueError: it does not.
        """
        if prod(zero_point) == 1:
            return ()
        shape = (*zero_point, 1) if is_row and len(zero_point) == 1 else zero_point
        pairs = zip(shape[::-1], data[::-1], strict=False)
        if len(shape) > len(data) or any(size not in (1, extent) for size, extent in pairs):
            raise ValueError(
                f"a zero point of shape {show(zero_point)} does not fit an operand {show(data)}"
            )
        return shape

    @classmethod
    def result_shapes(cls, a: Attributes, *shapes: tuple[int, ...]) -> tuple[int, ...]:
        lhs, rhs, lhs_zero, rhs_zero = shapes
        cls.zero_point_shape(lhs_zero, lhs, True)
        cls.zero_point_shape(rhs_zero, rhs, False)
        return cls.product_shape(lhs, rhs)

    @classmethod
    def infer_dtype(
        cls, a: Attributes, ins: Dtypes, outs: Dtypes
    ) -> tuple[list[str | None], list[str | None]]:
        for dtype in ins:
            if dtype not in (None, "int8", "uint8"):
                raise ValueError(f"expects int8 or uint8 operands, got {dtype}")
        lhs, rhs = unify_dtypes([ins[0], ins[2]]), unify_dtypes([ins[1], ins[3]])
        return [lhs, rhs, lhs, rhs], [unify_dtypes([*outs, "int32"])]

    @classmethod
    def evaluate(cls, a: Attributes, *arrays: np.ndarray) -> np.ndarray:
        lhs, rhs, lhs_zero, rhs_zero = (x.astype(np.int32) for x in arrays)
        lhs_zero = lhs_zero.reshape(cls.zero_point_shape(lhs_zero.shape, lhs.shape, True))
        rhs_zero = rhs_zero.reshape(cls.zero_point_shape(rhs_zero.shape, rhs.shape, False))
        return np.asarray(np.matmul(lhs - lhs_zero, rhs - rhs_zero))
