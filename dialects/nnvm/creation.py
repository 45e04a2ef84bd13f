"""Operators that make tensors of given or equal values."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from nnvm_mlir.dialects.nnvm import numeric
from nnvm_mlir.dialects.nnvm.fields import DType, Float, Ints, Tensor, attribute, operand, result
from nnvm_mlir.dialects.nnvm.operator import Attributes, Fusion, Operator, SameShape
from nnvm_mlir.dialects.nnvm.types import (
    Dtypes,
    Shape,
    TensorType,
    is_float,
    numpy_dtype,
    unify_dtypes,
    unify_shapes,
)


class Constant(Operator, name="constant"):
    """The tensor `value`. For small ones: large values are parameters of the graph."""

    output = result()
    value = attribute(Tensor)

    @classmethod
    def result_shapes(cls, a: Attributes) -> tuple[int, ...]:
        return a.value.shape

    @classmethod
    def infer_dtype(
        cls, a: Attributes, ins: Dtypes, outs: Dtypes
    ) -> tuple[list[str | None], list[str | None]]:
        return [], [unify_dtypes([*outs, TensorType.of(a.value).dtype])]

    @classmethod
    def evaluate(cls, a: Attributes) -> np.ndarray:
        return a.value


class Filled(Operator):
    """A tensor of one number, converted to the dtype: integers truncate and wrap.

    Class attributes:
        number: which one, unless the attribute `fill_value` says it.
    """

    fusion = Fusion.ELEMWISE
    number: ClassVar[float] = 0.0
    output = result()

    @classmethod
    def fill(cls, a: Attributes) -> float:
        """The number."""
        return getattr(a, "fill_value", cls.number)

    @classmethod
    def require_fits(cls, a: Attributes, dtype: str | None) -> None:
        """Raises ValueError when the number has no counterpart in the dtype."""
        number = cls.fill(a)
        if dtype is not None and not is_float(dtype) and not math.isfinite(number):
            raise ValueError(f"attribute 'fill_value': {number} has no {dtype} value")


class Creation(Filled):
    """A tensor of one number, of a shape and dtype given by attributes.

    Without `shape`, its users determine it.
    """

    shape = attribute(Ints, None)
    dtype = attribute(DType, "float32")

    @classmethod
    def check(cls, a: Attributes) -> None:
        if any(size < 0 for size in a.shape or ()):
            raise ValueError(f"attribute 'shape': expected sizes from 0, got {a.shape}")
        cls.require_fits(a, a.dtype)

    @classmethod
    def infer_shape(
        cls, a: Attributes, ins: Sequence[Shape], outs: Sequence[Shape]
    ) -> tuple[list[Shape], list[Shape]]:
        return [], [unify_shapes([a.shape, *outs])]

    @classmethod
    def infer_dtype(
        cls, a: Attributes, ins: Dtypes, outs: Dtypes
    ) -> tuple[list[str | None], list[str | None]]:
        return [], [unify_dtypes([*outs, a.dtype])]

    @classmethod
    def evaluate(cls, a: Attributes) -> np.ndarray:
        if a.shape is None:
            raise ValueError(
                f"{cls.OPERATION_NAME} without attribute 'shape' has no value of its own"
            )
        return np.full(a.shape, numeric.constant(cls.fill(a), a.dtype), numpy_dtype(a.dtype))


class Full(Creation, name="full"):
    """A tensor of `fill_value`."""

    fill_value = attribute(Float)


class Zeros(Creation, name="zeros"):
    """A tensor of zeros."""


class Ones(Creation, name="ones"):
    """A tensor of ones."""

    number = 1.0


class CreationLike(Filled):
    """A tensor of one number, with the shape and dtype of the operand."""

    infer_shape = SameShape.infer_shape

    data = operand()

    @classmethod
    def infer_dtype(
        cls, a: Attributes, ins: Dtypes, outs: Dtypes
    ) -> tuple[list[str | None], list[str | None]]:
        refined, results = super().infer_dtype(a, ins, outs)
        cls.require_fits(a, refined[0])
        return refined, results

    @classmethod
    def evaluate(cls, a: Attributes, x: np.ndarray) -> np.ndarray:
        return np.full(x.shape, numeric.constant(cls.fill(a), str(x.dtype)), x.dtype)


class FullLike(CreationLike, name="full_like"):
    """A tensor of `fill_value` like the operand."""

    fill_value = attribute(Float)


class ZerosLike(CreationLike, name="zeros_like"):
    """A tensor of zeros like the operand."""


class OnesLike(CreationLike, name="ones_like"):
    """A tensor of ones like the operand."""

    number = 1.0
