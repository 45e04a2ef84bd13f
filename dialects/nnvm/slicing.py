"""Operators that cut, join and mirror tensors."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from nnvm_mlir.dialects.nnvm.fields import (
    Bool,
    Int,
    IntOrInts,
    Ints,
    attribute,
    operand,
    result,
)
from nnvm_mlir.dialects.nnvm.operator import (
    Attributes,
    Fusion,
    Operator,
    SameShape,
    normalize_axes,
    normalize_axis,
    permuted_axis,
    refine,
)
from nnvm_mlir.dialects.nnvm.transform import DataTyped
from nnvm_mlir.dialects.nnvm.types import Shape, show, unify_shapes


class Concatenate(Operator, name="concatenate"):
    """The operands one after another along `axis`; their other dimensions agree."""

    fusion = Fusion.INJECTIVE
    data = operand(variadic=True)
    output = result()
    axis = attribute(Int, 1)

    @classmethod
    def of_parts(cls, given: dict[str, Any]) -> dict[str, Any]:
        return given

    @classmethod
    def permuted(cls, a: Attributes, rank: int, axes: Sequence[int]) -> dict[str, Any] | None:
        return permuted_axis(a.axis, rank, axes)

    @classmethod
    def infer_shape(
        cls, a: Attributes, ins: Sequence[Shape], outs: Sequence[Shape]
    ) -> tuple[list[Shape], list[Shape]]:
        if not ins:
            raise ValueError("expects one operand or more, got none")
        shapes = [shape for shape in (*ins, *outs) if shape is not None]
        if not shapes:
            return list(ins), list(outs)
        for shape in shapes[1:]:
            if len(shape) != len(shapes[0]):
                raise ValueError(f"shapes {show(shapes[0])} and {show(shape)} differ in rank")
        axis = normalize_axis(a.axis, len(shapes[0]))
        others = unify_shapes([_without(shape, axis) for shape in shapes]) or ()
        along = [None if shape is None else shape[axis] for shape in ins]
        total = None if outs[0] is None else outs[0][axis]
        unknown = [i for i, size in enumerate(along) if size is None]
        known = sum(size for size in along if size is not None)
        if not unknown:
            (output,) = refine([(total,)], [(known,)])
            total = output[0]  # type: ignore[index]
        elif len(unknown) == 1 and total is not None:
            along[unknown[0]] = total - known
        refined: list[Shape] = [
            (*others[:axis], size, *others[axis + 1 :]) for size in (*along, total)
        ]
        return refined[:-1], refined[-1:]

    @classmethod
    def evaluate(cls, a: Attributes, *arrays: np.ndarray) -> np.ndarray:
        return np.concatenate(arrays, a.axis)


class Split(Operator, name="split"):
    """`data` cut along `axis` into equal parts, or at the given points.

    `indices_or_sections` is the number of equal parts, or the list of positions at which a new part
    begins (ascending; two equal points make an empty part).
    """

    fusion = Fusion.INJECTIVE
    data = operand()
    outputs = result(variadic=True)
    indices_or_sections = attribute(IntOrInts)
    axis = attribute(Int, 1)

    @classmethod
    def permuted(cls, a: Attributes, rank: int, axes: Sequence[int]) -> dict[str, Any] | None:
        return permuted_axis(a.axis, rank, axes)

    @classmethod
    def check(cls, a: Attributes) -> None:
        cuts = a.indices_or_sections
        if isinstance(cuts, int):
            if cuts < 1:
                raise ValueError(f"expects one section or more, got {cuts}")
        elif list(cuts) != sorted(cuts) or any(cut < 0 for cut in cuts):
            raise ValueError(f"expects ascending cut points from 0, got {cuts}")

    @classmethod
    def num_results(cls, a: Attributes) -> int:
        cuts = a.indices_or_sections
        return cuts if isinstance(cuts, int) else len(cuts) + 1

    @classmethod
    def bounds(cls, a: Attributes, size: int) -> list[int]:
        """Where the parts begin along an axis of a size, and where the last one ends.

        Raises:
            ValueError: the axis cannot be cut that way.
        """
        cuts = a.indices_or_sections
        if isinstance(cuts, int):
            if size % cuts:
                raise ValueError(f"cannot split an axis of size {size} into {cuts} equal parts")
            return [part * (size // cuts) for part in range(cuts + 1)]
        if cuts and cuts[-1] > size:
            raise ValueError(f"cannot cut an axis of size {size} at {cuts[-1]}")
        return [0, *cuts, size]

    @classmethod
    def result_shapes(cls, a: Attributes, data: tuple[int, ...]) -> list[tuple[int, ...]]:
        axis = normalize_axis(a.axis, len(data))
        bounds = cls.bounds(a, data[axis])
        return [(*data[:axis], high - low, *data[axis + 1 :]) for low, high in pairwise(bounds)]

    @classmethod
    def evaluate(cls, a: Attributes, x: np.ndarray) -> tuple[np.ndarray, ...]:
        bounds = cls.bounds(a, x.shape[a.axis])
        return tuple(np.split(x, bounds[1:-1], a.axis))


class StridedSlice(Operator, name="strided_slice"):
    """Python's `data[begin:end:stride, ...]`, for the leading dimensions that are listed.

    Negative positions count from the end, and positions out of range are clipped. With a negative
    stride, an end below minus the size means "through element 0".
    """

    fusion = Fusion.INJECTIVE
    data = operand()
    output = result()
    begin = attribute(Ints)
    end = attribute(Ints)
    stride = attribute(Ints, ())

    @classmethod
    def permuted(cls, a: Attributes, rank: int, axes: Sequence[int]) -> dict[str, Any] | None:
        missing = rank - len(a.begin)
        begin = (*a.begin, *[0] * missing)
        end = (*a.end, *[np.iinfo(np.int64).max] * missing)
        stride = (*a.stride, *[1] * (rank - len(a.stride)))
        return {
            "begin": tuple(begin[i] for i in axes),
            "end": tuple(end[i] for i in axes),
            "stride": tuple(stride[i] for i in axes),
        }

    @classmethod
    def check(cls, a: Attributes) -> None:
        if len(a.end) != len(a.begin) or len(a.stride) > len(a.begin):
            raise ValueError(
                f"expects begin, end and stride of one length, got {a.begin}, {a.end}, {a.stride}"
            )
        if 0 in a.stride:
            raise ValueError(f"expects strides other than 0, got {a.stride}")

    @classmethod
    def ranges(cls, a: Attributes, data: tuple[int, ...]) -> list[range]:
        """The positions taken along each dimension."""
        if len(a.begin) > len(data):
            raise ValueError(f"slices {len(a.begin)} dimensions of data of shape {show(data)}")
        strides = (*a.stride, *[1] * (len(a.begin) - len(a.stride)))
        taken = [
            range(*slice(*bounds).indices(size))
            for *bounds, size in zip(a.begin, a.end, strides, data, strict=False)
        ]
        return taken + [range(size) for size in data[len(taken) :]]

    @classmethod
    def result_shapes(cls, a: Attributes, data: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(len(taken) for taken in cls.ranges(a, data))

    @classmethod
    def evaluate(cls, a: Attributes, x: np.ndarray) -> np.ndarray:
        return x[np.ix_(*cls.ranges(a, x.shape))] if x.ndim else x


class SliceLike(DataTyped, name="slice_like"):
    """The leading part of `data` that has `shape_like`'s sizes along the listed axes, or along all.

    Without axes, all dimensions of `shape_like` count, which may be fewer than `data` has.
    """

    fusion = Fusion.INJECTIVE
    data = operand()
    shape_like = operand()
    output = result()
    axis = attribute(Ints, ())

    @classmethod
    def result_shapes(
        cls, a: Attributes, data: tuple[int, ...], shape_like: tuple[int, ...]
    ) -> tuple[int, ...]:
        common = min(len(data), len(shape_like))
        axes = normalize_axes(a.axis, len(data)) if a.axis else range(common)
        shape = list(data)
        for axis in axes:
            if axis >= common or shape_like[axis] > data[axis]:
                raise ValueError(
                    f"cannot slice axis {axis} of data {show(data)} to the size in "
                    f"{show(shape_like)}"
                )
            shape[axis] = shape_like[axis]
        return tuple(shape)

    @classmethod
    def evaluate(cls, a: Attributes, x: np.ndarray, shape_like: np.ndarray) -> np.ndarray:
        shape = cls.result_shapes(a, x.shape, shape_like.shape)
        return x[tuple(slice(size) for size in shape)]


class Flip(SameShape, name="flip"):
    """`data` with the order of elements reversed along `axis`."""

    fusion = Fusion.INJECTIVE
    data = operand()
    output = result()
    axis = attribute(Int, 0)

    @classmethod
    def infer_shape(
        cls, a: Attributes, ins: Sequence[Shape], outs: Sequence[Shape]
    ) -> tuple[list[Shape], list[Shape]]:
        shapes = super().infer_shape(a, ins, outs)
        if shapes[0][0] is not None:
            normalize_axis(a.axis, len(shapes[0][0]))
        return shapes

    @classmethod
    def evaluate(cls, a: Attributes, x: np.ndarray) -> np.ndarray:
        return np.flip(x, a.axis)


class Trilu(SameShape, name="trilu"):
    """The upper or lower triangle of each matrix (the last two dimensions), zero elsewhere.

    Kept are the elements on and above (below) the `k`-th diagonal over the main one.
    """

    fusion = Fusion.INJECTIVE
    data = operand()
    output = result()
    k = attribute(Int, 0)
    upper = attribute(Bool, True)

    @classmethod
    def infer_shape(
        cls, a: Attributes, ins: Sequence[Shape], outs: Sequence[Shape]
    ) -> tuple[list[Shape], list[Shape]]:
        shapes = super().infer_shape(a, ins, outs)
        data = shapes[0][0]
        if data is not None and len(data) < 2:
            raise ValueError(f"expects data of rank 2 or more, got {show(data)}")
        return shapes

    @classmethod
    def evaluate(cls, a: Attributes, x: np.ndarray) -> np.ndarray:
        return np.triu(x, a.k) if a.upper else np.tril(x, a.k)


class ReverseSequence(DataTyped, name="reverse_sequence"):
    """The first `sequence_lens[b]` elements along the time axis reversed, for each batch index b.

    Lengths are limited to the size of the time axis.
    """

    fusion = Fusion.INJECTIVE
    data = operand()
    sequence_lens = operand()
    output = result()
    batch_axis = attribute(Int, 1)
    time_axis = attribute(Int, 0)

    @classmethod
    def axes(cls, a: Attributes, rank: int) -> tuple[int, int]:
        """The batch axis and the time axis, from 0. Raises ValueError when they do not fit."""
        batch, time = normalize_axis(a.batch_axis, rank), normalize_axis(a.time_axis, rank)
        if batch == time:
            raise ValueError(f"expects two axes, got {batch} for both batch and time")
        return batch, time

    @classmethod
    def infer_shape(
        cls, a: Attributes, ins: Sequence[Shape], outs: Sequence[Shape]
    ) -> tuple[list[Shape], list[Shape]]:
        data, lengths = unify_shapes([ins[0], *outs]), ins[1]
        if data is not None:
            batch, _ = cls.axes(a, len(data))
            lengths = unify_shapes([lengths, (data[batch],)])
        return [data, lengths], [data]

    @classmethod
    def evaluate(cls, a: Attributes, x: np.ndarray, sequence_lens: np.ndarray) -> np.ndarray:
        batch, time = cls.axes(a, x.ndim)
        output = x.copy()
        source, target = (
            np.moveaxis(x, (batch, time), (0, 1)),
            np.moveaxis(output, (batch, time), (0, 1)),
        )
        for b, length in enumerate(np.clip(sequence_lens, 0, x.shape[time])):
            target[b, :length] = source[b, :length][::-1]
        return output


def _without(shape: tuple[int | None, ...], axis: int) -> Shape:
    """A shape with one dimension unknown."""
    return (*shape[:axis], None, *shape[axis + 1 :])
