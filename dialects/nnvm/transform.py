"""Operators that show the same elements under another shape, or in another order."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from nnvm_mlir.dialects.nnvm.fields import Bool, Int, Ints, Str, attribute, operand, result
from nnvm_mlir.dialects.nnvm.layout import Layout, Reorder
from nnvm_mlir.dialects.nnvm.operator import (
    Attributes,
    Fusion,
    Operator,
    normalize_axes,
    refine,
)
from nnvm_mlir.dialects.nnvm.types import Shape, is_known, known, show, unify_dtypes, unify_shapes


class DataTyped(Operator):
    """Operators whose first operand and results have one dtype; other operands have their own."""

    @classmethod
    def infer_dtype(
        cls, a: Attributes, ins: Sequence[str | None], outs: Sequence[str | None]
    ) -> tuple[list[str | None], list[str | None]]:
        dtype = unify_dtypes([ins[0], *outs])
        return [dtype, *ins[1:]], [dtype] * len(outs)


# ---- views ---------------------------------------------------------------------------------------


class View(DataTyped):
    """The first operand's elements, in row-major order, under another shape."""

    fusion = Fusion.INJECTIVE
    is_view = True
    data = operand()
    output = result()

    @classmethod
    def evaluate(cls, a: Attributes, *arrays: np.ndarray) -> np.ndarray:
        return arrays[0].reshape(cls.result_shapes(a, *(x.shape for x in arrays)))


class Reshape(View, name="reshape"):
    """`data` under the shape that NNVM's codes spell.

    `shape` is read from left to right over the dimensions of `data`: a positive number is a size;
    0 copies a dimension; -1 (once) is inferred from the others; -2 copies all remaining dimensions;
    -3 merges two dimensions; -4 splits one into the next two numbers, one of which may be -1. With
    `allow_zero`, 0 is the size zero.
    """

    shape = attribute(Ints)
    allow_zero = attribute(Bool, False)

    @classmethod
    def check(cls, a: Attributes) -> None:
        if any(code < -4 for code in a.shape):
            raise ValueError(f"expects shape codes of at least -4, got {a.shape}")

    @classmethod
    def infer_shape(
        cls, a: Attributes, ins: Sequence[Shape], outs: Sequence[Shape]
    ) -> tuple[list[Shape], list[Shape]]:
        if is_known(ins[0]):
            return list(ins), refine(outs, [cls.result_shapes(a, ins[0])])
        if any(code in (0, -2, -3, -4) for code in a.shape):
            return list(ins), list(outs)
        return list(ins), refine(outs, [tuple(None if c == -1 else c for c in a.shape)])

    @classmethod
    def result_shapes(cls, a: Attributes, data: tuple[int, ...]) -> tuple[int, ...]:
        shape = _decode_shape(data, a.shape, a.allow_zero)
        if prod(shape) != prod(data):
            raise ValueError(
                f"cannot reshape {show(data)} into {show(shape)}: the sizes are {prod(data)} "
                f"and {prod(shape)}"
            )
        return shape


class ReshapeLike(View, name="reshape_like"):
    """`data` under the shape of `shape_like`, whose elements do not matter."""

    data = operand()
    shape_like = operand()
    output = result()

    @classmethod
    def infer_shape(
        cls, a: Attributes, ins: Sequence[Shape], outs: Sequence[Shape]
    ) -> tuple[list[Shape], list[Shape]]:
        like = unify_shapes([ins[1], *outs])
        if is_known(like) and is_known(ins[0]):
            like = cls.result_shapes(a, ins[0], like)
        return [ins[0], like], [like]

    @classmethod
    def result_shapes(
        cls, a: Attributes, data: tuple[int, ...], shape_like: tuple[int, ...]
    ) -> tuple[int, ...]:
        if prod(data) != prod(shape_like):
            raise ValueError(f"cannot reshape {show(data)} into {show(shape_like)}: sizes differ")
        return shape_like


class Flatten(View, name="flatten"):
    """`data` as a matrix: the first dimension, and all others merged."""

    @classmethod
    def result_shapes(cls, a: Attributes, data: tuple[int, ...]) -> tuple[int, ...]:
        if not data:
            raise ValueError("expects data of rank 1 or more, got a scalar")
        return data[0], prod(data[1:])


class ExpandDims(View, name="expand_dims"):
    """`num_newaxis` dimensions of size 1 inserted before `axis`.

    A negative axis counts from the end of the result when one dimension is inserted: -1 appends.
    """

    fusion = Fusion.BROADCAST
    axis = attribute(Int)
    num_newaxis = attribute(Int, 1)

    @classmethod
    def check(cls, a: Attributes) -> None:
        if a.num_newaxis < 0:
            raise ValueError(f"expects num_newaxis >= 0, got {a.num_newaxis}")

    @classmethod
    def infer_shape(
        cls, a: Attributes, ins: Sequence[Shape], outs: Sequence[Shape]
    ) -> tuple[list[Shape], list[Shape]]:
        if ins[0] is None:
            return list(ins), list(outs)
        rank = len(ins[0])
        if not -rank - 1 <= a.axis <= rank:
            raise ValueError(f"axis {a.axis} is out of range for data of rank {rank}")
        at = a.axis if a.axis >= 0 else a.axis + rank + 1
        expanded = (*ins[0][:at], *[1] * a.num_newaxis, *ins[0][at:])
        (shape,) = refine(outs, [expanded])
        return [(*shape[:at], *shape[at + a.num_newaxis :])], [shape]  # type: ignore[index]

    @classmethod
    def result_shapes(cls, a: Attributes, data: tuple[int, ...]) -> tuple[int, ...]:
        return known(cls.infer_shape(a, [data], [None])[1][0])


class Squeeze(View, name="squeeze"):
    """`data` without the listed dimensions of size 1, or without all such if none is listed."""

    axis = attribute(Ints, ())

    @classmethod
    def result_shapes(cls, a: Attributes, data: tuple[int, ...]) -> tuple[int, ...]:
        axes = normalize_axes(a.axis, len(data))
        for axis in axes:
            if data[axis] != 1:
                raise ValueError(f"cannot squeeze axis {axis} of {show(data)}: its size is not 1")
        if not a.axis:
            return tuple(size for size in data if size != 1)
        return tuple(size for i, size in enumerate(data) if i not in axes)


# ---- permutations --------------------------------------------------------------------------------


class Permuting(Operator):
    """The elements in another order, by copies that `reorders` describes."""

    fusion = Fusion.INJECTIVE
    data = operand()
    output = result()

    @classmethod
    def reorders(cls, a: Attributes, data: tuple[int, ...]) -> tuple[Reorder, ...]:
        """The permuting copies that make the result from non-empty data of this shape, in order."""
        raise NotImplementedError

    @classmethod
    def evaluate(cls, a: Attributes, x: np.ndarray) -> np.ndarray:
        if x.size == 0:
            return np.empty(known(cls.infer_shape(a, [x.shape], [None])[1][0]), x.dtype)
        for step in cls.reorders(a, x.shape):
            x = step.apply(x)
        return x


class Transpose(Permuting, name="transpose"):
    """Result axis i is axis `axes[i]` of `data`; without axes, their order is reversed."""

    axes = attribute(Ints, ())

    @classmethod
    def permutation(cls, a: Attributes, rank: int) -> tuple[int, ...]:
        """The axes from 0. Raises ValueError when they do not permute `rank` axes."""
        if not a.axes:
            return tuple(reversed(range(rank)))
        if len(a.axes) != rank:
            raise ValueError(f"axes {a.axes} do not permute the axes of data of rank {rank}")
        normalize_axes(a.axes, rank)
        return tuple(axis % rank for axis in a.axes)

    @classmethod
    def infer_shape(
        cls, a: Attributes, ins: Sequence[Shape], outs: Sequence[Shape]
    ) -> tuple[list[Shape], list[Shape]]:
        known = ins[0] if ins[0] is not None else outs[0]
        if known is None:
            return list(ins), list(outs)
        axes = cls.permutation(a, len(known))
        if ins[0] is not None:
            outs = refine(outs, [tuple(ins[0][axis] for axis in axes)])
        shape = outs[0]
        return [tuple(shape[axes.index(i)] for i in range(len(axes)))], [shape]  # type: ignore[index]

    @classmethod
    def reorders(cls, a: Attributes, data: tuple[int, ...]) -> tuple[Reorder, ...]:
        axes = cls.permutation(a, len(data))
        return (Reorder(data, axes, tuple(data[axis] for axis in axes)),)


class LayoutTransform(Permuting, name="__layout_transform__"):
    """`data` brought from layout `src_layout` into `dst_layout`, e.g. from "NCHW" into "NCHW16c".

    Both layouts have the same axes. A size that the block of its axis does not divide is refused.
    """

    src_layout = attribute(Str)
    dst_layout = attribute(Str)

    @classmethod
    def check(cls, a: Attributes) -> None:
        source, target = Layout.parse(a.src_layout), Layout.parse(a.dst_layout)
        if not source.is_convertible(target):
            raise ValueError(f"layouts {source} and {target} do not have the same axes")

    @classmethod
    def infer_shape(
        cls, a: Attributes, ins: Sequence[Shape], outs: Sequence[Shape]
    ) -> tuple[list[Shape], list[Shape]]:
        source, target = Layout.parse(a.src_layout), Layout.parse(a.dst_layout)
        data, output = ins[0], outs[0]
        if data is None and output is not None:
            data = target.convert_shape(output, source)
        if data is None:
            return [data], [output]
        (output,) = refine([output], [source.convert_shape(data, target)])
        return [unify_shapes([data, target.convert_shape(output, source)])], [output]  # type: ignore[arg-type]

    @classmethod
    def reorders(cls, a: Attributes, data: tuple[int, ...]) -> tuple[Reorder, ...]:
        return Layout.parse(a.src_layout).conversion(data, Layout.parse(a.dst_layout))


class DepthToSpace(Permuting, name="depth_to_space"):
    """Channels of NCHW data spread over blocks of `block_size` x `block_size` pixels.

    A channel index is (block row, block column, channel) in mode "DCR", and (channel, block row,
    block column) in mode "CRD".
    """

    block_size = attribute(Int)
    mode = attribute(Str, "DCR", choices=("DCR", "CRD"))

    @classmethod
    def check(cls, a: Attributes) -> None:
        _check_block_size(a)

    @classmethod
    def result_shapes(cls, a: Attributes, data: tuple[int, ...]) -> tuple[int, ...]:
        batch, channels, height, width = _images(data)
        block = a.block_size
        if channels % block**2:
            raise ValueError(
                f"expects channels divisible by the square of block_size {block}, got {show(data)}"
            )
        return batch, channels // block**2, height * block, width * block

    @classmethod
    def reorders(cls, a: Attributes, data: tuple[int, ...]) -> tuple[Reorder, ...]:
        result = cls.result_shapes(a, data)
        batch, channels, block = *result[:2], a.block_size
        pixels = data[2:]
        if a.mode == "DCR":
            expanded = (batch, block, block, channels, *pixels)
            return (Reorder(expanded, (0, 3, 4, 1, 5, 2), result),)
        return (Reorder((batch, channels, block, block, *pixels), (0, 1, 4, 2, 5, 3), result),)


class SpaceToDepth(Permuting, name="space_to_depth"):
    """Blocks of `block_size` x `block_size` pixels of NCHW data moved into channels.

    The inverse of `depth_to_space` in mode "DCR".
    """

    block_size = attribute(Int)

    @classmethod
    def check(cls, a: Attributes) -> None:
        _check_block_size(a)

    @classmethod
    def result_shapes(cls, a: Attributes, data: tuple[int, ...]) -> tuple[int, ...]:
        batch, channels, height, width = _images(data)
        block = a.block_size
        if height % block or width % block:
            raise ValueError(
                f"expects height and width divisible by block_size {block}, got {show(data)}"
            )
        return batch, channels * block**2, height // block, width // block

    @classmethod
    def reorders(cls, a: Attributes, data: tuple[int, ...]) -> tuple[Reorder, ...]:
        result = cls.result_shapes(a, data)
        block = a.block_size
        expanded = (data[0], data[1], result[2], block, result[3], block)
        return (Reorder(expanded, (0, 3, 5, 1, 2, 4), result),)


def _check_block_size(a: Attributes) -> None:
    if a.block_size < 1:
        raise ValueError(f"expects block_size >= 1, got {a.block_size}")


def _images(shape: tuple[int, ...]) -> tuple[int, ...]:
    if len(shape) != 4:
        raise ValueError(f"expects NCHW data of rank 4, got {show(shape)}")
    return shape


def _decode_shape(data: tuple[int, ...], codes: Sequence[int], allow_zero: bool) -> tuple[int, ...]:
    """The shape that NNVM's codes spell for data of a shape (see `Reshape`)."""
    shape: list[int] = []
    inferred: int | None = None
    remaining = iter(data)
    pending = iter(codes)

    def take(code: int) -> int:
        size = next(remaining, None)
        if size is None:
            raise ValueError(f"shape code {code} has no dimension left to read in {show(data)}")
        return size

    for code in pending:
        if code == 0 and not allow_zero:
            shape.append(take(code))
        elif code >= 0:
            shape.append(code)
            next(remaining, None)
        elif code == -1:
            if inferred is not None:
                raise ValueError(f"expects at most one -1, got shape {tuple(codes)}")
            inferred = len(shape)
            shape.append(1)
            next(remaining, None)
        elif code == -2:
            shape.extend(remaining)
        elif code == -3:
            shape.append(take(code) * take(code))
        else:
            shape.extend(_split_dim(take(code), next(pending, None), next(pending, None)))
    if inferred is not None:
        known = prod(shape)
        if known == 0 or prod(data) % known:
            raise ValueError(f"cannot infer -1 in shape {tuple(codes)} for data {show(data)}")
        shape[inferred] = prod(data) // known
    return tuple(shape)


def _split_dim(size: int, first: int | None, second: int | None) -> tuple[int, int]:
    """A dimension split into two, one of which may be -1."""
    if first is None or second is None or (first == -1 and second == -1):
        raise ValueError("shape code -4 expects two sizes after it, at most one of them -1")
    if first == -1 and second > 0:
        first = size // second
    elif second == -1 and first > 0:
        second = size // first
    if first < 0 or second < 0 or first * second != size:
        raise ValueError(f"shape code -4 cannot split a dimension of size {size} that way")
    return first, second
