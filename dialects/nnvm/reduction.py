"""Reductions along axes, and the cumulative sum."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any, ClassVar

import numpy as np

from nnvm_mlir.dialects.nnvm import numeric
from nnvm_mlir.dialects.nnvm.fields import Bool, DType, Int, Ints, attribute, operand, result
from nnvm_mlir.dialects.nnvm.operator import (
    Attributes,
    Fusion,
    Operator,
    SameShape,
    moved_axes,
    normalize_axes,
    normalize_axis,
)
from nnvm_mlir.dialects.nnvm.shapes import reduced_shape
from nnvm_mlir.dialects.nnvm.types import KINDS, NUMBERS, Dtypes, Shape, kind, unify_dtypes


class Reduction(Operator):
    """Combines the elements along axes.

    Attributes:
        axis: the axes, negative ones from the end; none means all.
        keepdims: whether they stay, with size 1.
        exclude: reduce all axes but the ones listed.
    """

    fusion = Fusion.COMM_REDUCE

    data = operand()
    output = result()
    axis = attribute(Ints, ())
    keepdims = attribute(Bool, False)
    exclude = attribute(Bool, False)

    @classmethod
    def permuted(cls, a: Attributes, rank: int, axes: Sequence[int]) -> dict[str, Any] | None:
        if not a.keepdims:
            return None
        return {"axis": moved_axes(cls.axes(a, rank), axes), "exclude": False}

    @classmethod
    def axes(cls, a: Attributes, rank: int) -> tuple[int, ...]:
        """The reduced axes of an operand of this rank, sorted, from 0."""
        listed = normalize_axes(a.axis, rank)
        if not listed:
            return tuple(range(rank))
        return tuple(i for i in range(rank) if i not in listed) if a.exclude else listed

    @classmethod
    def result_shapes(cls, a: Attributes, data: tuple[int, ...]) -> tuple[int, ...]:
        return reduced_shape(data, cls.axes(a, len(data)), a.keepdims)


class Fold(Reduction):
    """A reduction by an associative function, in the operand's dtype.

    Class attributes:
        fold: the function `(x, axes, keepdims)` on an array in computing precision.
    """

    kinds: ClassVar[Sequence[str]] = NUMBERS
    fold: ClassVar[Callable[..., Any]]

    @classmethod
    def evaluate(cls, a: Attributes, x: np.ndarray) -> np.ndarray:
        with np.errstate(all="ignore"):
            value = cls.fold(numeric.widen(x), cls.axes(a, x.ndim), a.keepdims)
        return np.asarray(value).astype(x.dtype)


class Sum(Fold, name="sum"):
    """The sum; 0 over an empty axis.

    Accumulated in the operand's dtype, half-precision floats in float32.
    """

    fold = staticmethod(lambda x, axes, keepdims: np.sum(x, axes, x.dtype, keepdims=keepdims))


class Prod(Fold, name="prod"):
    """The product; 1 over an empty axis."""

    fold = staticmethod(lambda x, axes, keepdims: np.prod(x, axes, x.dtype, keepdims=keepdims))


class Max(Fold, name="max"):
    """The largest element, NaN if there is one; -inf or the smallest integer over an empty axis."""

    kinds = KINDS

    @staticmethod
    def fold(x: np.ndarray, axes: tuple[int, ...], keepdims: bool) -> Any:
        return np.max(x, axes, keepdims=keepdims, initial=numeric.lowest(str(x.dtype)))


class Min(Fold, name="min"):
    """The smallest element, NaN if there is one; inf or the largest integer over an empty axis."""

    kinds = KINDS

    @staticmethod
    def fold(x: np.ndarray, axes: tuple[int, ...], keepdims: bool) -> Any:
        return np.min(x, axes, keepdims=keepdims, initial=numeric.highest(str(x.dtype)))


class Mean(Fold, name="mean"):
    """The sum divided by the number of elements.

    Integers add up in 64 bits, and the quotient truncates towards zero.
    """

    @staticmethod
    def accumulator(dtype: str) -> str:
        """The dtype that the sum is accumulated in."""
        return {"float": numeric.compute_dtype(dtype), "int": "int64"}.get(kind(dtype), "uint64")

    @classmethod
    def fold(cls, x: np.ndarray, axes: tuple[int, ...], keepdims: bool) -> Any:
        dtype = cls.accumulator(str(x.dtype))
        count = prod(x.shape[axis] for axis in axes)
        total = np.sum(x, axes, dtype, keepdims=keepdims)
        return numeric.divide(np.asarray(total), np.asarray(numeric.constant(count, dtype)))


class ArgReduction(Reduction):
    """The position of an extreme element along the reduced axes.

    Along several axes it counts their elements in row-major order.

    Attributes:
        dtype: of the result, an integer.
        select_last_index: which of equal elements counts, the last or the first. The first (last)
            NaN precedes every number.
    """

    dtype = attribute(DType, "int32")
    select_last_index = attribute(Bool, False)
    find: ClassVar[Callable[..., Any]]

    @classmethod
    def permuted(cls, a: Attributes, rank: int, axes: Sequence[int]) -> dict[str, Any] | None:
        # The positions among the elements of several axes depend on the order of these.
        return super().permuted(a, rank, axes) if len(cls.axes(a, rank)) == 1 else None

    @classmethod
    def check(cls, a: Attributes) -> None:
        if kind(a.dtype) not in ("int", "uint"):
            raise ValueError(f"attribute 'dtype': expected an integer, got {a.dtype}")

    @classmethod
    def result_shapes(cls, a: Attributes, data: tuple[int, ...]) -> tuple[int, ...]:
        shape = super().result_shapes(a, data)
        if 0 in (data[axis] for axis in cls.axes(a, len(data))):
            raise ValueError("expects at least one element along the reduced axes")
        return shape

    @classmethod
    def infer_dtype(
        cls, a: Attributes, ins: Dtypes, outs: Dtypes
    ) -> tuple[list[str | None], list[str | None]]:
        return list(ins), [unify_dtypes([*outs, a.dtype])]

    @classmethod
    def evaluate(cls, a: Attributes, x: np.ndarray) -> np.ndarray:
        axes = cls.axes(a, x.ndim)
        kept = [i for i in range(x.ndim) if i not in axes]
        count = prod(x.shape[axis] for axis in axes)
        rows = numeric.widen(x).transpose(*kept, *axes).reshape(*(x.shape[i] for i in kept), count)
        if a.select_last_index:
            index = count - 1 - cls.find(rows[..., ::-1], axis=-1)
        else:
            index = cls.find(rows, axis=-1)
        return np.asarray(index).astype(a.dtype).reshape(reduced_shape(x.shape, axes, a.keepdims))


class Argmax(ArgReduction, name="argmax"):
    """The position of the largest element."""

    find = staticmethod(np.argmax)


class Argmin(ArgReduction, name="argmin"):
    """The position of the smallest element."""

    find = staticmethod(np.argmin)


class Cumsum(SameShape, name="cumsum"):
    """Partial sums along an axis: up to each element, or before it with `exclusive`.

    With `reverse` they start from the end. Accumulated as by `sum`.
    """

    kinds = NUMBERS
    data = operand()
    output = result()
    axis = attribute(Int)
    exclusive = attribute(Bool, False)
    reverse = attribute(Bool, False)

    @classmethod
    def infer_shape(
        cls, a: Attributes, ins: Sequence[Shape], outs: Sequence[Shape]
    ) -> tuple[list[Shape], list[Shape]]:
        refined, results = super().infer_shape(a, ins, outs)
        if refined[0] is not None:
            normalize_axis(a.axis, len(refined[0]))
        return refined, results

    @classmethod
    def evaluate(cls, a: Attributes, x: np.ndarray) -> np.ndarray:
        ordered = np.flip(x, a.axis) if a.reverse else x
        wide = numeric.widen(ordered)
        sums = np.cumsum(wide, a.axis, wide.dtype)
        if a.exclusive:
            sums = np.roll(sums, 1, a.axis)
            sums[(slice(None),) * (a.axis % x.ndim) + (slice(0, 1),)] = 0
        return (np.flip(sums, a.axis) if a.reverse else sums).astype(x.dtype)
