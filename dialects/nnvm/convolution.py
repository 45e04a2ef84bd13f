"""Convolution and transposed convolution over one, two or three spatial axes."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import prod
from typing import Any

import numpy as np

from nnvm_mlir.dialects.nnvm.fields import Bool, Int, Ints, Str, attribute, operand, result
from nnvm_mlir.dialects.nnvm.layout import Layout
from nnvm_mlir.dialects.nnvm.numeric import compute_dtype
from nnvm_mlir.dialects.nnvm.operator import Attributes, Fusion
from nnvm_mlir.dialects.nnvm.types import (
    DTYPES,
    Shape,
    is_float,
    numpy_dtype,
    unify_dtypes,
)
from nnvm_mlir.dialects.nnvm.window import (
    Spatial,
    agree,
    begins_ends,
    check_numbers,
    convert_shape,
    data_layout,
    extent,
    ones,
    parse_layout,
    relayout,
    sliding_windows,
    window_count,
    zeros,
)


def kernel_layout(axes: str) -> str:
    """The default layout of kernels: output channels, input channels, then the spatial axes."""
    return f"OI{axes}"


class Convolution(Spatial):
    """Slides kernels over data and adds an optional bias.

    Layouts are permutations of the default one in which batch and channels may be split into blocks
    (`NCHW16c`, `OIHW16i16o`). Shapes by axis: data (N, C, spatial...), weight (O = channels,
    I = C / groups, kernel_size...), output (N, channels, spatial...), bias (channels) or, when the
    output's channels are in blocks of b, also (channels / b, b).

    Attributes:
        channels: output channels.
        kernel_size: taps along each spatial axis.
        strides, dilation: distance of two windows, and of two taps.
        padding: zeros around the data: one number for all, one for each axis, or all begins
            followed by all ends.
        groups: the channels are split into as many independent convolutions.
        layout, kernel_layout: of the data and the weight.
        out_layout: of the output; the data's by default.
        use_bias: whether there is a bias operand.
        out_dtype: the output's (and the bias's) dtype; "same" is the data's. Sums are formed in
            float32 for float16 and bfloat16, otherwise in the output's dtype.
    """

    fusion = Fusion.OUT_ELEMWISE_FUSABLE
    data = operand()
    weight = operand()
    bias = operand(optional=True)
    output = result()
    channels = attribute(Int)
    kernel_size = attribute(Ints)
    strides = attribute(Ints, ones)
    padding = attribute(Ints, zeros)
    dilation = attribute(Ints, ones)
    groups = attribute(Int, 1)
    layout = attribute(Str, data_layout)
    kernel_layout = attribute(Str, kernel_layout)
    out_layout = attribute(Str, None)
    use_bias = attribute(Bool, True)
    out_dtype = attribute(Str, "same", choices=("same", *DTYPES))

    @classmethod
    def check(cls, a: Attributes) -> None:
        for what in ("kernel_size", "strides", "dilation"):
            check_numbers(what, getattr(a, what), cls.axes, 1)
        begins_ends(a.padding, len(cls.axes))
        for what in ("channels", "groups"):
            if getattr(a, what) < 1:
                raise ValueError(f"attribute {what!r} must be positive, got {getattr(a, what)}")
        if a.channels % a.groups:
            raise ValueError(f"{a.channels} channels do not divide into {a.groups} groups")
        for layout in (a.layout, cls.output_layout(a)):
            parse_layout(layout, cls.axes)
        parse_layout(a.kernel_layout, cls.axes, "OI")

    @classmethod
    def output_layout(cls, a: Attributes) -> str:
        """The layout of the output: `out_layout`, or the data's when absent."""
        return a.layout if a.out_layout is None else a.out_layout

    @classmethod
    def output_length(cls, a: Attributes, axis: int, size: int) -> int:
        """The output's size along a spatial axis for a data size. Raises ValueError for none."""
        begins, ends = begins_ends(a.padding, len(cls.axes))
        span = extent(a.kernel_size[axis], a.dilation[axis])
        return window_count(size, span, a.strides[axis], (begins[axis], ends[axis]))

    @classmethod
    def data_length(cls, a: Attributes, axis: int, size: int) -> int | None:
        """The data's size along the spatial axis for an output size, None when several fit."""
        if a.strides[axis] != 1:
            return None
        begins, ends = begins_ends(a.padding, len(cls.axes))
        return size - 1 + extent(a.kernel_size[axis], a.dilation[axis]) - begins[axis] - ends[axis]

    @classmethod
    def weight_shape(cls, a: Attributes, data_channels: int | None) -> tuple[int | None, ...]:
        """The weight's shape in the default layout. Raises ValueError as `split` does."""
        return (a.channels, cls.split(a, data_channels), *a.kernel_size)

    @classmethod
    def channels_of_weight(cls, a: Attributes, weight: Sequence[int | None]) -> int | None:
        """The data's channels for a weight shape in the default layout."""
        return None if weight[1] is None else weight[1] * a.groups

    @classmethod
    def split(cls, a: Attributes, data_channels: int | None) -> int | None:
        """Data channels of one group. Raises ValueError when they do not divide."""
        if data_channels is None:
            return None
        if data_channels % a.groups:
            raise ValueError(f"{data_channels} data channels do not divide into {a.groups} groups")
        return data_channels // a.groups

    @classmethod
    def infer_shape(
        cls, a: Attributes, ins: Sequence[Shape], outs: Sequence[Shape]
    ) -> tuple[list[Shape], list[Shape]]:
        if a.use_bias != (len(ins) == 3):
            raise ValueError(
                f"expects {'a' if a.use_bias else 'no'} bias operand when use_bias is {a.use_bias}"
            )
        layouts = [
            (Layout.parse(text), Layout.parse(default(cls.axes)))
            for text, default in (
                (a.layout, data_layout),
                (a.kernel_layout, kernel_layout),
                (cls.output_layout(a), data_layout),
            )
        ]
        unknown = (None,) * (len(cls.axes) + 2)
        data, weight, out = (
            convert_shape(shape, *pair) or unknown
            for shape, pair in zip((ins[0], ins[1], outs[0]), layouts, strict=True)
        )
        batch = out[0] if data[0] is None else data[0]
        channels = cls.channels_of_weight(a, weight) if data[1] is None else data[1]
        forward = [
            None if n is None else cls.output_length(a, i, n) for i, n in enumerate(data[2:])
        ]
        backward = [None if n is None else cls.data_length(a, i, n) for i, n in enumerate(out[2:])]
        backward = [b if n is None else n for n, b in zip(data[2:], backward, strict=True)]
        expected = [
            (batch, channels, *backward),
            cls.weight_shape(a, channels),
            (batch, a.channels, *forward),
        ]
        data, weight, out = (
            agree(what, declared, default.convert_shape(shape, layout))
            for what, declared, shape, (layout, default) in zip(
                ("data", "weight", "output"),
                (ins[0], ins[1], outs[0]),
                expected,
                layouts,
                strict=True,
            )
        )
        bias = [cls._bias_shape(a, shape) for shape in ins[2:]]
        return [data, weight, *bias], [out]

    @classmethod
    def _bias_shape(cls, a: Attributes, declared: Shape) -> Shape:
        block = Layout.parse(cls.output_layout(a)).block("C")
        if block is None or (declared is not None and len(declared) == 1):
            return agree("bias", declared, (a.channels,))
        return agree("bias", declared, (a.channels // block, block))

    @classmethod
    def infer_dtype(
        cls, a: Attributes, ins: Sequence[str | None], outs: Sequence[str | None]
    ) -> tuple[list[str | None], list[str | None]]:
        if a.out_dtype == "same":
            dtype = unify_dtypes([*ins, *outs])
            return [dtype] * len(ins), [dtype]
        out = unify_dtypes([a.out_dtype, *ins[2:], *outs])
        data, weight = (ins[i] or ins[1 - i] for i in (0, 1))
        if data != weight and (is_float(str(data)) or is_float(str(weight))):
            raise ValueError(f"data of dtype {data} does not go with a weight of dtype {weight}")
        return [data, weight, *[out] * (len(ins) - 2)], [out]

    @classmethod
    def evaluate(
        cls, a: Attributes, data: np.ndarray, weight: np.ndarray, bias: np.ndarray | None = None
    ) -> np.ndarray:
        out_dtype = str(data.dtype) if a.out_dtype == "same" else a.out_dtype
        wide = numpy_dtype(compute_dtype(out_dtype))
        plain = Layout.parse(data_layout(cls.axes))
        x = relayout(data, Layout.parse(a.layout), plain).astype(wide)
        kernels = Layout.parse(kernel_layout(cls.axes))
        w = relayout(weight, Layout.parse(a.kernel_layout), kernels).astype(wide)
        y = cls.convolve(a, x, w)
        if bias is not None:
            y = y + bias.astype(wide).reshape(-1, *ones(cls.axes))
        return relayout(y.astype(numpy_dtype(out_dtype)), plain, Layout.parse(cls.output_layout(a)))

    @classmethod
    def convolve(cls, a: Attributes, x: np.ndarray, w: np.ndarray) -> np.ndarray:
        """The convolution of arrays of one dtype in the default layouts, without bias."""
        rank, counts = len(cls.axes), []
        for axis, size in enumerate(x.shape[2:]):
            counts.append(cls.output_length(a, axis, size))
        begins, ends = begins_ends(a.padding, rank)
        x = np.pad(x, [(0, 0), (0, 0), *zip(begins, ends, strict=True)])
        batch, groups = len(x), a.groups
        x = x.reshape(batch, groups, x.shape[1] // groups, *x.shape[2:])
        dims = range(3, 3 + rank)
        patches = sliding_windows(x, dims, a.kernel_size, a.strides, a.dilation, counts)
        # (batch, group, channel, out..., kernel...) -> (group, batch, out..., channel, kernel...)
        order = (1, 0, *dims, 2, *range(3 + rank, 3 + 2 * rank))
        w = w.reshape(groups, a.channels // groups, prod(w.shape[1:]))
        patches = patches.transpose(order).reshape(groups, batch * prod(counts), w.shape[2])
        y = (patches @ w.transpose(0, 2, 1)).reshape(groups, batch, *counts, w.shape[1])
        y = y.transpose(1, 0, 2 + rank, *range(2, 2 + rank))
        return y.reshape(batch, a.channels, *counts)


class Conv1D(Convolution, name="conv1d", axes="W"):
    """Convolution over one axis."""


class Conv2D(Convolution, name="conv2d", axes="HW"):
    """Convolution over two axes."""


class Conv3D(Convolution, name="conv3d", axes="DHW"):
    """Convolution over three axes."""


class ConvolutionTranspose(Convolution):
    """The transpose of a convolution: every data element adds a scaled kernel to the output.

    Attributes are those of the convolution of which this is the transpose, so in `kernel_layout` O
    is the *data's* channels: weight (O = C, I = channels / groups, kernel_size...). Output size:
    (size - 1) * stride + span + output_padding - both paddings, of which padding is cut off, and
    `output_padding` extends the result at its end (with sums where kernels reach, else the bias).
    """

    output_padding = attribute(Ints, zeros)

    @classmethod
    def check(cls, a: Attributes) -> None:
        super().check(a)
        check_numbers("output_padding", a.output_padding, cls.axes, 0)

    @classmethod
    def _excess(cls, a: Attributes, axis: int) -> int:
        """How much longer the output is than the distance of the first and the last kernel."""
        begins, ends = begins_ends(a.padding, len(cls.axes))
        span = extent(a.kernel_size[axis], a.dilation[axis])
        return span + a.output_padding[axis] - begins[axis] - ends[axis]

    @classmethod
    def output_length(cls, a: Attributes, axis: int, size: int) -> int:
        length = (size - 1) * a.strides[axis] + cls._excess(a, axis)
        if length < 1:
            raise ValueError(
                f"an axis of {size} gives an output of {length}: the padding is too large"
            )
        return length

    @classmethod
    def data_length(cls, a: Attributes, axis: int, size: int) -> int | None:
        steps, rest = divmod(size - cls._excess(a, axis), a.strides[axis])
        if rest or steps < 0:
            raise ValueError(f"no data gives an output of {size} along {cls.axes[axis]}")
        return steps + 1

    @classmethod
    def weight_shape(cls, a: Attributes, data_channels: int | None) -> tuple[int | None, ...]:
        cls.split(a, data_channels)
        return (data_channels, a.channels // a.groups, *a.kernel_size)

    @classmethod
    def channels_of_weight(cls, a: Attributes, weight: Sequence[int | None]) -> int | None:
        return weight[0]

    @classmethod
    def convolve(cls, a: Attributes, x: np.ndarray, w: np.ndarray) -> np.ndarray:
        sizes, groups, batch = x.shape[2:], a.groups, len(x)
        begins, _ = begins_ends(a.padding, len(cls.axes))
        lengths = [cls.output_length(a, axis, size) for axis, size in enumerate(sizes)]
        full = [
            max(begin + length, (size - 1) * stride + extent(k, d))
            for begin, length, size, stride, k, d in zip(
                begins, lengths, sizes, a.strides, a.kernel_size, a.dilation, strict=True
            )
        ]
        x = x.reshape(batch, groups, x.shape[1] // groups, *sizes)
        w = w.reshape(groups, x.shape[2], a.channels // groups, *a.kernel_size)
        y = np.zeros((batch, groups, w.shape[2], *full), x.dtype)
        for tap in product(*map(range, a.kernel_size)):
            reached: Any = (..., *map(_strided, tap, a.dilation, a.strides, sizes))
            at_tap: Any = (..., *tap)
            y[reached] += np.einsum("ngc...,gco->ngo...", x, w[at_tap])
        y = y.reshape(batch, a.channels, *full)
        kept: Any = (..., *(slice(b, b + n) for b, n in zip(begins, lengths, strict=True)))
        return y[kept]


def _strided(tap: int, dilation: int, stride: int, size: int) -> slice:
    """Where a transposed convolution adds the products of `size` data elements and one tap."""
    first = tap * dilation
    return slice(first, first + (size - 1) * stride + 1, stride)


class Conv1DTranspose(ConvolutionTranspose, name="conv1d_transpose", axes="W"):
    """Transposed convolution over one axis."""


class Conv2DTranspose(ConvolutionTranspose, name="conv2d_transpose", axes="HW"):
    """Transposed convolution over two axes."""


class Conv3DTranspose(ConvolutionTranspose, name="conv3d_transpose", axes="DHW"):
    """Transposed convolution over three axes."""
