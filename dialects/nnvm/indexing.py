"""Operators that read or write elements at positions held in other tensors.

A negative index counts from the end. An index out of range is an error of the caller: compiled code
never accesses memory outside the tensor, and `evaluate` raises ValueError.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from nnvm_mlir.dialects.nnvm.fields import (
    DType,
    Float,
    Int,
    Str,
    attribute,
    operand,
    result,
)
from nnvm_mlir.dialects.nnvm.numeric import constant
from nnvm_mlir.dialects.nnvm.operator import Attributes, Fusion, Operator, normalize_axis, refine
from nnvm_mlir.dialects.nnvm.types import (
    Shape,
    is_float,
    is_known,
    numpy_dtype,
    show,
    unify_dtypes,
    unify_shapes,
)

REDUCTIONS: dict[str, Callable[[Any, Any], Any]] = {
    "none": lambda old, new: new,
    "add": np.add,
    "mul": np.multiply,
    "max": np.maximum,
    "min": np.minimum,
}
"""How an update combines with the element that it meets."""


class Gathering(Operator):
    """Operators that read elements of the first operand at the integer positions in the second."""

    checks_data = True
    fusion = Fusion.INJECTIVE

    @classmethod
    def infer_dtype(
        cls, a: Attributes, ins: Sequence[str | None], outs: Sequence[str | None]
    ) -> tuple[list[str | None], list[str | None]]:
        _require_integers(ins[1])
        dtype = unify_dtypes([ins[0], *outs])
        return [dtype, ins[1]], [dtype]


class Take(Gathering, name="take"):
    """Slices of `a` along `axis` at `indices`; elements of the flattened `a` without an axis.

    The dimension `axis` is replaced by the dimensions of `indices`.
    """

    a = operand()
    indices = operand()
    output = result()
    axis = attribute(Int, None)

    @classmethod
    def result_shapes(
        cls, a: Attributes, data: tuple[int, ...], indices: tuple[int, ...]
    ) -> tuple[int, ...]:
        if a.axis is None:
            _check_elements_exist(prod(data), indices)
            return indices
        axis = normalize_axis(a.axis, len(data))
        _check_elements_exist(data[axis], indices)
        return (*data[:axis], *indices, *data[axis + 1 :])

    @classmethod
    def evaluate(cls, a: Attributes, data: np.ndarray, indices: np.ndarray) -> np.ndarray:
        size = data.size if a.axis is None else data.shape[a.axis]
        return np.take(data, resolved(indices, size), a.axis)


class GatherElements(Gathering, name="gather_elements"):
    """`output[..., i, ...] = data[..., indices[..., i, ...], ...]` along `axis`.

    `indices` has the rank of `data`, and no larger dimension than `data` except along the axis.
    """

    data = operand()
    indices = operand()
    output = result()
    axis = attribute(Int, 0)

    @classmethod
    def result_shapes(
        cls, a: Attributes, data: tuple[int, ...], indices: tuple[int, ...]
    ) -> tuple[int, ...]:
        _check_elements(a.axis, data, indices)
        return indices

    @classmethod
    def evaluate(cls, a: Attributes, data: np.ndarray, indices: np.ndarray) -> np.ndarray:
        return data[_element_positions(a.axis, data, indices)]


class GatherNd(Gathering, name="gather_nd"):
    """Slices of `data` at the positions in the first dimension of `indices`.

    `output[i...] = data[indices[0, i...], ..., indices[m - 1, i...], ...]`. The leading
    `batch_dims` dimensions of `data` and those of `indices` after the first are common, and are
    not indexed.
    """

    data = operand()
    indices = operand()
    output = result()
    batch_dims = attribute(Int, 0)

    @classmethod
    def result_shapes(
        cls, a: Attributes, data: tuple[int, ...], indices: tuple[int, ...]
    ) -> tuple[int, ...]:
        batch = a.batch_dims
        if not indices or not 0 <= batch < len(indices):
            raise ValueError(f"expects indices of rank above {max(batch, 0)}, got {show(indices)}")
        depth = batch + indices[0]
        if depth > len(data) or data[:batch] != indices[1 : batch + 1]:
            raise ValueError(
                f"indices {show(indices)} with {batch} batch dimensions do not fit data "
                f"{show(data)}"
            )
        _check_elements_exist(prod(data[batch:depth]), indices)
        return (*indices[1:], *data[depth:])

    @classmethod
    def evaluate(cls, a: Attributes, data: np.ndarray, indices: np.ndarray) -> np.ndarray:
        batch, depth = a.batch_dims, indices.shape[0]
        points = indices.shape[1:]
        own = np.meshgrid(*map(np.arange, points), indexing="ij")[:batch] if points else []
        sizes = data.shape[batch : batch + depth]
        positions = [resolved(i, size) for i, size in zip(indices, sizes, strict=True)]
        if not own and not positions:
            return np.broadcast_to(data, (*points, *data.shape))
        return data[(*own, *positions)]


class Scattering(Operator):
    """A copy of `data` in which elements at the positions in `indices` meet `updates`, in order.

    `reduction` says what becomes of an element: the update ("none"), or the sum, product, larger or
    smaller of both. Where positions repeat, the updates apply one after another.
    """

    checks_data = True

    data = operand()
    indices = operand()
    updates = operand()
    output = result()
    reduction = attribute(Str, "none", choices=tuple(REDUCTIONS))

    @classmethod
    def infer_dtype(
        cls, a: Attributes, ins: Sequence[str | None], outs: Sequence[str | None]
    ) -> tuple[list[str | None], list[str | None]]:
        _require_integers(ins[1])
        dtype = unify_dtypes([ins[0], ins[2], *outs])
        return [dtype, ins[1], dtype], [dtype]

    @classmethod
    def update_shape(
        cls, a: Attributes, data: tuple[int, ...], indices: tuple[int, ...]
    ) -> tuple[int, ...]:
        """The shape of updates. Raises ValueError when indices do not fit data."""
        raise NotImplementedError

    @classmethod
    def infer_shape(
        cls, a: Attributes, ins: Sequence[Shape], outs: Sequence[Shape]
    ) -> tuple[list[Shape], list[Shape]]:
        data, indices, updates = unify_shapes([ins[0], *outs]), ins[1], ins[2]
        if is_known(data) and is_known(indices):
            updates = unify_shapes([cls.update_shape(a, data, indices), updates])  # type: ignore[arg-type]
        return [data, indices, updates], [data]


class ScatterElements(Scattering, name="scatter_elements"):
    """Each update meets `data[..., indices[..., i, ...], ...]` along `axis`.

    `indices` has the rank of `data`, and no larger dimension than `data` except along the axis.
    """

    axis = attribute(Int, 0)

    @classmethod
    def update_shape(
        cls, a: Attributes, data: tuple[int, ...], indices: tuple[int, ...]
    ) -> tuple[int, ...]:
        _check_elements(a.axis, data, indices)
        return indices

    @classmethod
    def evaluate(
        cls, a: Attributes, data: np.ndarray, indices: np.ndarray, updates: np.ndarray
    ) -> np.ndarray:
        output, combine = data.copy(), REDUCTIONS[a.reduction]
        positions = np.broadcast_arrays(*_element_positions(a.axis, data, indices), updates)[:-1]
        for *position, update in zip(*(p.ravel() for p in positions), updates.ravel(), strict=True):
            at = tuple(position)
            output[at] = combine(output[at], update)
        return output


class ScatterNd(Scattering, name="scatter_nd"):
    """Each slice of updates meets a slice of `data`, at the position in a row of `indices`."""

    @classmethod
    def update_shape(
        cls, a: Attributes, data: tuple[int, ...], indices: tuple[int, ...]
    ) -> tuple[int, ...]:
        if not indices or indices[-1] > len(data):
            raise ValueError(
                f"expects the last dimension of indices to be at most {len(data)}, the rank of "
                f"data; got {show(indices)}"
            )
        _check_elements_exist(prod(data[: indices[-1]]), indices)
        return (*indices[:-1], *data[indices[-1] :])

    @classmethod
    def evaluate(
        cls, a: Attributes, data: np.ndarray, indices: np.ndarray, updates: np.ndarray
    ) -> np.ndarray:
        output, combine = data.copy(), REDUCTIONS[a.reduction]
        depth = indices.shape[-1]
        positions = [resolved(indices[..., i], data.shape[i]) for i in range(depth)]
        for point in np.ndindex(*indices.shape[:-1]):
            at = tuple(position[point] for position in positions)
            output[at] = combine(output[at], updates[point])
        return output


class OneHot(Operator, name="one_hot"):
    """`on_value` where the position along a new axis equals the index, `off_value` elsewhere.

    The new dimension, of size `depth`, is at `axis` of the result. An index outside
    [-depth, depth) selects nothing.
    """

    fusion = Fusion.INJECTIVE
    indices = operand()
    output = result()
    depth = attribute(Int)
    on_value = attribute(Float, 1.0)
    off_value = attribute(Float, 0.0)
    axis = attribute(Int, -1)
    dtype = attribute(DType, "float32")

    @classmethod
    def check(cls, a: Attributes) -> None:
        if a.depth < 0:
            raise ValueError(f"expects depth >= 0, got {a.depth}")

    @classmethod
    def infer_dtype(
        cls, a: Attributes, ins: Sequence[str | None], outs: Sequence[str | None]
    ) -> tuple[list[str | None], list[str | None]]:
        return list(ins), [unify_dtypes([a.dtype, *outs])]

    @classmethod
    def infer_shape(
        cls, a: Attributes, ins: Sequence[Shape], outs: Sequence[Shape]
    ) -> tuple[list[Shape], list[Shape]]:
        if ins[0] is None:
            return list(ins), list(outs)
        axis = normalize_axis(a.axis, len(ins[0]) + 1)
        return list(ins), refine(outs, [(*ins[0][:axis], a.depth, *ins[0][axis:])])

    @classmethod
    def evaluate(cls, a: Attributes, indices: np.ndarray) -> np.ndarray:
        axis = normalize_axis(a.axis, indices.ndim + 1)
        wide = indices.astype(np.float64 if is_float(str(indices.dtype)) else np.int64)
        wanted = np.expand_dims(np.where(wide < 0, wide + a.depth, wide), axis)
        shape = [1] * (indices.ndim + 1)
        shape[axis] = a.depth
        hit = wanted == np.arange(a.depth).reshape(shape)
        on, off = constant(a.on_value, a.dtype), constant(a.off_value, a.dtype)
        return np.where(hit, on, off).astype(numpy_dtype(a.dtype))


def resolved(indices: np.ndarray, size: int) -> np.ndarray:
    """Indices from 0, where negative ones count from the end.

    Raises:
        ValueError: one is out of range for an axis of this size.
    """
    wide = indices.astype(np.int64)
    outside = (wide < -size) | (wide >= size)
    if outside.any():
        raise ValueError(f"index {wide[outside][0]} is out of range for an axis of size {size}")
    return np.where(wide < 0, wide + size, wide)


def _require_integers(dtype: str | None) -> None:
    if dtype is not None and (is_float(dtype) or dtype == "bool"):
        raise ValueError(f"expects indices of an integer dtype, got {dtype}")


def _check_elements_exist(size: int, indices: tuple[int, ...]) -> None:
    if size == 0 and 0 not in indices:
        raise ValueError(f"indices {show(indices)} cannot select anything from empty data")


def _check_elements(axis: int, data: tuple[int, ...], indices: tuple[int, ...]) -> None:
    along = normalize_axis(axis, len(data))
    if len(indices) != len(data) or any(
        have > size for i, (have, size) in enumerate(zip(indices, data, strict=True)) if i != along
    ):
        raise ValueError(
            f"indices {show(indices)} do not fit data {show(data)}: only axis {along} may be larger"
        )
    _check_elements_exist(data[along], indices)


def _element_positions(axis: int, data: np.ndarray, indices: np.ndarray) -> tuple[np.ndarray, ...]:
    """For each dimension of data, the positions of the elements that `indices` selects."""
    axis = normalize_axis(axis, data.ndim)
    positions = list(np.ogrid[tuple(slice(size) for size in indices.shape)])
    positions[axis] = resolved(indices, data.shape[axis])
    return tuple(positions)
