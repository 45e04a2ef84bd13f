"""Operators that select elements by their order."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from nnvm_mlir.dialects.nnvm.fields import Bool, Int, attribute, operand, result
from nnvm_mlir.dialects.nnvm.numeric import widen
from nnvm_mlir.dialects.nnvm.operator import Attributes, Operator, normalize_axis
from nnvm_mlir.dialects.nnvm.types import unify_dtypes


class TopK(Operator, name="top_k"):
    """The `k` largest (smallest) elements along `axis`, best first, and their int64 positions.

    Of equal elements the one with the lower index comes first. NaN counts as the largest. Without
    `sorted` the order is unspecified; it is the same here.
    """

    data = operand()
    output = result()
    indices = result()
    k = attribute(Int)
    axis = attribute(Int, -1)
    largest = attribute(Bool, True)
    sorted = attribute(Bool, True)

    @classmethod
    def check(cls, a: Attributes) -> None:
        if a.k < 0:
            raise ValueError(f"expects k >= 0, got {a.k}")

    @classmethod
    def infer_dtype(
        cls, a: Attributes, ins: Sequence[str | None], outs: Sequence[str | None]
    ) -> tuple[list[str | None], list[str | None]]:
        dtype = unify_dtypes([ins[0], outs[0]])
        return [dtype], [dtype, unify_dtypes(["int64", outs[1]])]

    @classmethod
    def result_shapes(cls, a: Attributes, data: tuple[int, ...]) -> list[tuple[int, ...]]:
        axis = normalize_axis(a.axis, len(data))
        if a.k > data[axis]:
            raise ValueError(f"expects k of at most {data[axis]}, the size of the axis; got {a.k}")
        shape = (*data[:axis], a.k, *data[axis + 1 :])
        return [shape, shape]

    @classmethod
    def evaluate(cls, a: Attributes, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        axis = normalize_axis(a.axis, x.ndim)
        keys = widen(x)
        if a.largest:  # a stable ascending sort of the mirrored data, mirrored
            mirrored = np.argsort(np.flip(keys, axis), axis, kind="stable")
            order = x.shape[axis] - 1 - np.flip(mirrored, axis)
        else:
            order = np.argsort(keys, axis, kind="stable")
        order = np.take(order, np.arange(a.k), axis).astype(np.int64)
        return np.take_along_axis(x, order, axis), order
