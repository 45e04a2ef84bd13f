"""Lowering of convolutions and transposed convolutions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from math import gcd

from nnvm_mlir.dialects.nnvm import convolution as ops
from nnvm_mlir.dialects.nnvm.layout import Layout
from nnvm_mlir.dialects.nnvm.numeric import compute_dtype
from nnvm_mlir.dialects.nnvm.types import known
from nnvm_mlir.dialects.nnvm.window import begins_ends
from nnvm_mlir.lowering.linalg.blocked import MisalignedError, relayout
from nnvm_mlir.lowering.linalg.builder import LinalgBuilder, shape_of
from nnvm_mlir.lowering.linalg.convolution_nest import Channels, Layouts, Nest, Step
from nnvm_mlir.lowering.linalg.registry import lowers
from nnvm_mlir.lowering.linalg.scalars import Scalars
from nnvm_mlir.mlir import ir, tensor


@lowers(ops.Conv1D, ops.Conv2D, ops.Conv3D)
def convolution(
    b: LinalgBuilder,
    op: ops.Convolution,
    data: ir.Value,
    weight: ir.Value,
    bias: ir.Value | None = None,
) -> ir.Value:
    """Pads the data, and adds the products to the bias."""
    conv = _Convolution(b, op, data, weight)
    a = op.values
    padded = conv.pad(*begins_ends(a.padding, len(op.axes)))
    steps = [Step(*numbers) for numbers in zip(a.strides, a.dilation, strict=True)]
    sums = conv.nest.accumulate(b, padded, conv.weight, conv.start(bias), steps, conv.dtypes)
    return conv.finish(sums)


@lowers(ops.Conv1DTranspose, ops.Conv2DTranspose, ops.Conv3DTranspose)
def convolution_transpose(
    b: LinalgBuilder,
    op: ops.ConvolutionTranspose,
    data: ir.Value,
    weight: ir.Value,
    bias: ir.Value | None = None,
) -> ir.Value:
    """Splits the output into phases that the same taps reach: each is a dense convolution."""
    conv = _Convolution(b, op, data, weight)
    a = op.values
    begins, _ = begins_ends(a.padding, len(op.axes))
    numbers = zip(conv.output_sizes, a.kernel_size, a.strides, a.dilation, begins, strict=True)
    phases = [_phases(*of_axis) for of_axis in numbers]
    low = [max([0, *(-p.low for p in of_axis)]) for of_axis in phases]
    high = [
        max([0, *(p.high + 1 - size for p in of_axis)])
        for of_axis, size in zip(phases, conv.data_sizes, strict=True)
    ]
    padded = conv.pad(low, high)
    sums = conv.start(bias)
    for phase in product(*phases):
        steps = [
            Step(1, -p.dilation, p.offset + begin) for p, begin in zip(phase, low, strict=True)
        ]
        taps = _Part.of(shape_of(conv.weight), conv.kernel_dims, [p.taps for p in phase])
        places = _Part.of(shape_of(sums), conv.nest.output_dims(), [p.outputs for p in phase])
        part = conv.nest.accumulate(
            b, padded, taps.read(b, conv.weight), places.read(b, sums), steps, conv.dtypes
        )
        sums = places.write(part, sums)
    return conv.finish(sums)


class _Convolution:
    """A convolution being lowered: its nest, and its operands in layouts that the nest can walk."""

    def __init__(
        self, b: LinalgBuilder, op: ops.Convolution, data: ir.Value, weight: ir.Value
    ) -> None:
        a, self._b = op.values, b
        self.out_dtype = op.static_results[0].dtype
        self.wide = compute_dtype(self.out_dtype)
        data_dtype, weight_dtype = (t.dtype for t in op.static_operands[:2])
        self.dtypes = (data_dtype, weight_dtype, self.wide)
        texts = (a.layout, a.kernel_layout, op.output_layout(a))
        layouts = Layouts(*map(Layout.parse, texts))
        sizes = {axis: layouts.data.size_of(axis, shape_of(data)) for axis in "NC"}
        channels = Channels(
            batch=sizes["N"] or 0,
            groups=a.groups,
            inputs=(sizes["C"] or 0) // a.groups,
            outputs=a.channels // a.groups,
            transposed=isinstance(op, ops.ConvolutionTranspose),
        )
        self._target = layouts.output
        try:
            self.nest = Nest(channels, layouts, op.axes)
        except MisalignedError:
            plain = layouts.plain
            data = relayout(b, data, layouts.data, plain.data)
            weight = relayout(b, weight, layouts.kernel, plain.kernel)
            layouts = plain
            self.nest = Nest(channels, layouts, op.axes)
        self.data, self.weight, self._layout = data, weight, layouts.output
        shape = op.static_results[0].shape
        self._shape = known(self._target.convert_shape(shape, layouts.output))
        self._data_dims = [layouts.data.index(axis) for axis in op.axes]
        self.kernel_dims = [layouts.kernel.index(axis) for axis in op.axes]
        self.data_sizes = [shape_of(data)[dim] for dim in self._data_dims]
        self.output_sizes = [self._shape[layouts.output.index(axis)] for axis in op.axes]

    def pad(self, low: Sequence[int], high: Sequence[int]) -> ir.Value:
        """The data with zeros around it along the spatial axes."""
        below, above = [0] * len(shape_of(self.data)), [0] * len(shape_of(self.data))
        for dim, before, after in zip(self._data_dims, low, high, strict=True):
            below[dim], above[dim] = before, after
        return self._b.pad(self.data, below, above, self._b.scalar(0, self.dtypes[0]))

    def start(self, bias: ir.Value | None) -> ir.Value:
        """The sums before the first product: the bias, or zero."""
        shape = self.nest.output_shape(self.output_sizes)
        if bias is None:
            return self._b.fill(shape, self.wide, Scalars(self.wide).const(0))
        bias = self._b.cast(bias, self.out_dtype, self.wide)
        return self.nest.spread(self._b, bias, shape, self.wide)

    def finish(self, sums: ir.Value) -> ir.Value:
        """The result, in its dtype and layout."""
        result = self._b.cast(self._b.reshape(sums, self._shape), self.wide, self.out_dtype)
        return relayout(self._b, result, self._layout, self._target)


@dataclass(frozen=True)
class _Range:
    """The indices first, first + step, ...: `count` of them."""

    first: int
    count: int
    step: int


@dataclass(frozen=True)
class _Phase:
    """Outputs of a transposed convolution along one axis, and the taps that reach all of them.

    Attributes:
        outputs, taps: their indices.
        offset: the data index of the first output and the first tap; it grows by 1 with the outputs
        dilation: and falls by this with the taps.
    """

    outputs: _Range
    taps: _Range
    offset: int
    dilation: int

    @property
    def low(self) -> int:
        """The smallest data index."""
        return self.offset - (self.taps.count - 1) * self.dilation

    @property
    def high(self) -> int:
        """The largest data index."""
        return self.offset + self.outputs.count - 1


def _phases(size: int, kernel: int, stride: int, dilation: int, begin: int) -> list[_Phase]:
    """The phases of an output of `size` in front of which `begin` elements were cut off.

    Output o gets data[i] * weight[k] where o + begin = stride * i + dilation * k: which taps reach
    it depends on its remainder modulo the stride. Outputs that no tap reaches are left out.
    """
    result = []
    tap_step = stride // gcd(stride, dilation)
    for first in range(min(stride, size)):
        for tap in range(min(tap_step, kernel)):
            offset, rest = divmod(first + begin - dilation * tap, stride)
            if rest == 0:  # for at most one tap
                outputs = _Range(first, (size - first - 1) // stride + 1, stride)
                taps = _Range(tap, (kernel - tap - 1) // tap_step + 1, tap_step)
                result.append(_Phase(outputs, taps, offset, dilation * tap_step // stride))
    return result


@dataclass(frozen=True)
class _Part:
    """A strided rectangular part of a tensor; the whole of it needs no copies."""

    offsets: tuple[int, ...]
    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    is_whole: bool

    @staticmethod
    def of(shape: Sequence[int], dims: Sequence[int], ranges: Sequence[_Range]) -> _Part:
        """The part of a tensor of `shape` that has `ranges` along `dims`."""
        parts = [_Range(0, size, 1) for size in shape]
        for dim, along in zip(dims, ranges, strict=True):
            parts[dim] = along
        offsets, sizes = (tuple(getattr(p, k) for p in parts) for k in ("first", "count"))
        return _Part(offsets, sizes, tuple(p.step for p in parts), sizes == tuple(shape))

    def read(self, b: LinalgBuilder, x: ir.Value) -> ir.Value:
        """The part of a tensor."""
        return x if self.is_whole else b.slice(x, self.offsets, self.sizes, self.strides)

    def write(self, part: ir.Value, x: ir.Value) -> ir.Value:
        """The tensor with this part replaced."""
        if self.is_whole:
            return part
        return tensor.insert_slice(
            part, x, [], [], [], list(self.offsets), list(self.sizes), list(self.strides)
        )
