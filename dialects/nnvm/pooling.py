"""Pooling over one, two or three spatial axes."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from nnvm_mlir.dialects.nnvm.fields import Bool, Int, Ints, Str, attribute, operand, result
from nnvm_mlir.dialects.nnvm.layout import Layout
from nnvm_mlir.dialects.nnvm.numeric import compute_dtype, divide, lowest
from nnvm_mlir.dialects.nnvm.operator import Attributes, Fusion
from nnvm_mlir.dialects.nnvm.types import Shape, is_float, is_unsigned, known, numpy_dtype
from nnvm_mlir.dialects.nnvm.window import (
    InOneLayout,
    agree,
    begins_ends,
    check_numbers,
    data_layout,
    extent,
    ones,
    relayout,
    sliding_windows,
    window_count,
    zeros,
)

MAX_TAPS = 2**31 - 1
"""Most positions that a window may have: each of them is looked at for every element of the result."""


class Pool(InOneLayout):
    """Reduces every window of the spatial axes to one value, each channel by itself.

    The layout is any permutation of the default one; batch and channels may be in blocks.

    Attributes:
        pool_size: taps of the window along each spatial axis.
        strides, dilation: distance of two windows, and of two taps.
        padding: one number for all axes, one for each, or all begins followed by all ends. Padding
            never is the maximum.
        layout: of data and output.
        ceil_mode: a last window may reach beyond the end, if it starts inside the data or the
            padding before it.
    """

    fusion = Fusion.OUT_ELEMWISE_FUSABLE
    data = operand()
    output = result()
    pool_size = attribute(Ints)
    strides = attribute(Ints, ones)
    padding = attribute(Ints, zeros)
    dilation = attribute(Ints, ones)
    layout = attribute(Str, data_layout)
    ceil_mode = attribute(Bool, False)

    @classmethod
    def check(cls, a: Attributes) -> None:
        for what in ("pool_size", "strides", "dilation"):
            check_numbers(what, getattr(a, what), cls.axes, 1)
        if prod(a.pool_size) > MAX_TAPS:
            raise ValueError(f"pool_size {a.pool_size} has more than {MAX_TAPS} positions")
        begins_ends(a.padding, len(cls.axes))
        super().check(a)

    @classmethod
    def spans(cls, a: Attributes) -> list[int]:
        """How many positions the window spans along each spatial axis."""
        return [extent(k, d) for k, d in zip(a.pool_size, a.dilation, strict=True)]

    @classmethod
    def counts(cls, a: Attributes, shape: Sequence[int]) -> list[int]:
        """The number of windows along each spatial axis. Raises ValueError when there is none."""
        paddings = zip(*begins_ends(a.padding, len(cls.axes)), strict=True)
        return [
            window_count(shape[dim], span, stride, padding, a.ceil_mode)
            for dim, span, stride, padding in zip(
                cls.dims(a), cls.spans(a), a.strides, paddings, strict=True
            )
        ]

    @classmethod
    def reach(cls, a: Attributes, shape: Sequence[int]) -> tuple[list[int], list[int]]:
        """How far windows reach beyond data, before and after each of its dims."""
        low, high = [0] * len(shape), [0] * len(shape)
        begins, _ = begins_ends(a.padding, len(cls.axes))
        for dim, begin, count, stride, span in zip(
            cls.dims(a), begins, cls.counts(a, shape), a.strides, cls.spans(a), strict=True
        ):
            low[dim] = begin
            high[dim] = max(0, (count - 1) * stride + span - begin - shape[dim])
        return low, high

    @classmethod
    def result_shapes(cls, a: Attributes, data: tuple[int, ...]) -> tuple[int, ...]:
        Layout.parse(a.layout).check_shape(data)
        shape = list(data)
        for dim, count in zip(cls.dims(a), cls.counts(a, data), strict=True):
            shape[dim] = count
        return tuple(shape)

    @classmethod
    def patches(cls, a: Attributes, data: np.ndarray, value: float) -> np.ndarray:
        """All windows of data padded with `value`: the output's dims, then the window's."""
        low, high = cls.reach(a, data.shape)
        padded = np.pad(data, list(zip(low, high, strict=True)), constant_values=value)
        return sliding_windows(
            padded, cls.dims(a), a.pool_size, a.strides, a.dilation, cls.counts(a, data.shape)
        )

    @classmethod
    def window_dims(cls, data: np.ndarray) -> tuple[int, ...]:
        """The dims of the window in the result of `patches`."""
        return tuple(range(data.ndim, data.ndim + len(cls.axes)))


class MaxPool(Pool):
    """The largest element of every window; NaN if there is one."""

    @classmethod
    def evaluate(cls, a: Attributes, data: np.ndarray) -> np.ndarray:
        return cls.patches(a, data, lowest(str(data.dtype))).max(axis=cls.window_dims(data))


class MaxPool1D(MaxPool, name="max_pool1d", axes="W"):
    """Maximum pooling over one axis."""


class MaxPool2D(MaxPool, name="max_pool2d", axes="HW"):
    """Maximum pooling over two axes."""


class MaxPool3D(MaxPool, name="max_pool3d", axes="DHW"):
    """Maximum pooling over three axes."""


class MaxPoolIndices(Pool):
    """Maximum pooling that also says where each maximum is.

    The index counts elements of the whole data tensor in its default layout (batch, channels,
    spatial axes in row-major order); with `storage_order` 1 the spatial axes are counted in
    column-major order. Of equal elements the first in the window counts, as does the first NaN; a
    window of padding alone has the index -1.

    Results: the maxima, and their int64 indices.
    """

    output = result()
    indices = result()
    storage_order = attribute(Int, 0, choices=(0, 1))

    @classmethod
    def result_shapes(  # type: ignore[override]
        cls, a: Attributes, data: tuple[int, ...]
    ) -> list[tuple[int, ...]]:
        shape = super().result_shapes(a, data)
        return [shape, shape]

    @classmethod
    def infer_dtype(
        cls, a: Attributes, ins: Sequence[str | None], outs: Sequence[str | None]
    ) -> tuple[list[str | None], list[str | None]]:
        (dtype,), (values,) = super().infer_dtype(a, ins, outs[:1])
        return [dtype], [values, "int64"]

    @classmethod
    def index_strides(cls, a: Attributes, shape: Sequence[int]) -> dict[str, int]:
        """By how much the index grows along each axis, for a data shape."""
        plain = Layout.parse(data_layout(cls.axes))
        sizes = known(Layout.parse(a.layout).convert_shape(shape, plain))
        size_of = dict(zip(plain.axes, sizes, strict=True))
        minor_to_major = cls.axes[::-1] if a.storage_order == 0 else cls.axes
        strides, stride = {}, 1
        for axis in (*minor_to_major, "C", "N"):
            strides[axis] = stride
            stride *= size_of[axis]
        return strides

    @classmethod
    def evaluate(cls, a: Attributes, data: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        layout = Layout.parse(a.layout)
        plain = Layout.parse(data_layout(cls.axes))
        sizes = known(layout.convert_shape(data.shape, plain))
        strides = cls.index_strides(a, data.shape)
        grid = np.indices(sizes)
        position = sum(strides[axis] * grid[i] for i, axis in enumerate(plain.axes))
        position = cls.patches(a, relayout(position, plain, layout), -1)
        taps = cls.patches(a, data, lowest(str(data.dtype)))
        flat = (*taps.shape[: data.ndim], prod(a.pool_size))
        taps, position = taps.reshape(flat), position.reshape(flat)
        # A padded tap must not win over an equal element of the data.
        inside = cls.patches(a, np.ones(data.shape, bool), 0).reshape(flat)
        best = taps.max(axis=-1, keepdims=True)
        winner = inside & ((taps == best) | (taps != taps))
        first = winner.argmax(axis=-1)[..., None]
        return best[..., 0], np.take_along_axis(position, first, -1)[..., 0].astype(np.int64)


class MaxPool1DIndices(MaxPoolIndices, name="max_pool1d_indices", axes="W"):
    """Maximum pooling with indices over one axis."""


class MaxPool2DIndices(MaxPoolIndices, name="max_pool2d_indices", axes="HW"):
    """Maximum pooling with indices over two axes."""


class MaxPool3DIndices(MaxPoolIndices, name="max_pool3d_indices", axes="DHW"):
    """Maximum pooling with indices over three axes."""


class AvgPool(Pool):
    """The mean of every window.

    Sums of float16 and bfloat16 are formed in float32; an integer mean truncates towards zero.

    Attributes:
        count_include_pad: whether padding counts as zeros. What a window holds beyond the padding
            (in `ceil_mode`) never counts.
    """

    count_include_pad = attribute(Bool, False)

    @staticmethod
    def accumulator(dtype: str) -> str:
        """The dtype in which elements are summed: at least 4 bytes wide."""
        if is_float(dtype):
            return compute_dtype(dtype)
        return dtype if dtype.endswith("64") else "uint32" if is_unsigned(dtype) else "int32"

    @classmethod
    def divisors(cls, a: Attributes, shape: Sequence[int]) -> list[np.ndarray]:
        """For each spatial axis, how many positions of each window count (int64, at least 1)."""
        begins, ends = begins_ends(a.padding, len(cls.axes))
        result = []
        for i, (dim, count) in enumerate(zip(cls.dims(a), cls.counts(a, shape), strict=True)):
            start = np.arange(count) * a.strides[i] - begins[i]
            low, high = (-begins[i], ends[i]) if a.count_include_pad else (0, 0)
            first, end = (
                np.clip(-(-(bound - start) // a.dilation[i]), 0, a.pool_size[i])
                for bound in (low, shape[dim] + high)
            )
            result.append(np.maximum(end - first, 1))
        return result

    @classmethod
    def evaluate(cls, a: Attributes, data: np.ndarray) -> np.ndarray:
        dtype = str(data.dtype)
        wide = cls.accumulator(dtype)
        taps = cls.patches(a, data.astype(numpy_dtype(wide)), 0)
        total = taps.sum(axis=cls.window_dims(data), dtype=numpy_dtype(wide))
        divisor = np.ones([1] * data.ndim, np.int64)
        for dim, counts in zip(cls.dims(a), cls.divisors(a, data.shape), strict=True):
            divisor = divisor * counts.reshape([-1 if i == dim else 1 for i in range(data.ndim)])
        return divide(total, divisor.astype(total.dtype)).astype(data.dtype)


class AvgPool1D(AvgPool, name="avg_pool1d", axes="W"):
    """Average pooling over one axis."""


class AvgPool2D(AvgPool, name="avg_pool2d", axes="HW"):
    """Average pooling over two axes."""


class AvgPool3D(AvgPool, name="avg_pool3d", axes="DHW"):
    """Average pooling over three axes."""


class GlobalPool(InOneLayout):
    """Reduces the spatial axes to size 1; any layout that does not split them."""

    fusion = Fusion.OUT_ELEMWISE_FUSABLE
    data = operand()
    output = result()
    layout = attribute(Str, data_layout)

    @classmethod
    def dims(cls, a: Attributes) -> list[int]:
        """The dims of data that hold the spatial axes, sorted."""
        return sorted(super().dims(a))

    @classmethod
    def infer_shape(
        cls, a: Attributes, ins: Sequence[Shape], outs: Sequence[Shape]
    ) -> tuple[list[Shape], list[Shape]]:
        if ins[0] is None:
            return list(ins), list(outs)
        Layout.parse(a.layout).check_shape(ins[0])
        dims = cls.dims(a)
        reduced = tuple(1 if i in dims else size for i, size in enumerate(ins[0]))
        out = agree("output", outs[0], reduced)
        data = tuple(size if i in dims else out[i] for i, size in enumerate(ins[0]))
        return [data], [out]


class GlobalMaxPool(GlobalPool):
    """The largest element of every channel; NaN if there is one."""

    @classmethod
    def evaluate(cls, a: Attributes, data: np.ndarray) -> np.ndarray:
        return data.max(axis=tuple(cls.dims(a)), keepdims=True)


class GlobalMaxPool1D(GlobalMaxPool, name="global_max_pool1d", axes="W"):
    """The largest element over one axis."""


class GlobalMaxPool2D(GlobalMaxPool, name="global_max_pool2d", axes="HW"):
    """The largest element over two axes."""


class GlobalMaxPool3D(GlobalMaxPool, name="global_max_pool3d", axes="DHW"):
    """The largest element over three axes."""


class GlobalAvgPool(GlobalPool):
    """The mean of every channel; sums and integers as in `AvgPool`."""

    @classmethod
    def evaluate(cls, a: Attributes, data: np.ndarray) -> np.ndarray:
        dims, wide = tuple(cls.dims(a)), numpy_dtype(AvgPool.accumulator(str(data.dtype)))
        total = data.sum(axis=dims, dtype=wide, keepdims=True)
        count = np.array(prod(data.shape[i] for i in dims), wide)
        return divide(total, count).astype(data.dtype)


class GlobalAvgPool1D(GlobalAvgPool, name="global_avg_pool1d", axes="W"):
    """The mean over one axis."""


class GlobalAvgPool2D(GlobalAvgPool, name="global_avg_pool2d", axes="HW"):
    """The mean over two axes."""


class GlobalAvgPool3D(GlobalAvgPool, name="global_avg_pool3d", axes="DHW"):
    """The mean over three axes."""
