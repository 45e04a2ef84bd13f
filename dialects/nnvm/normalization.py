"""Operators that normalise: by statistics of the data, or by those of training."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from nnvm_mlir.dialects.nnvm.fields import Bool, Float, Int, Ints, attribute, operand, result
from nnvm_mlir.dialects.nnvm.numeric import widen
from nnvm_mlir.dialects.nnvm.operator import (
    Attributes,
    Fusion,
    SameShape,
    moved_axes,
    normalize_axes,
    normalize_axis,
    permuted_axis,
)
from nnvm_mlir.dialects.nnvm.shapes import broadcast_shapes
from nnvm_mlir.dialects.nnvm.types import Shape, is_float, show, unify_dtypes, unify_shapes


class Normalizing(SameShape):
    """Operators of one floating-point dtype (and one shape, unless they say otherwise)."""

    @classmethod
    def infer_dtype(
        cls, a: Attributes, ins: Sequence[str | None], outs: Sequence[str | None]
    ) -> tuple[list[str | None], list[str | None]]:
        dtype = unify_dtypes([*ins, *outs])
        if dtype is not None and not is_float(dtype):
            raise ValueError(f"expects a floating-point dtype, got {dtype}")
        return [dtype] * len(ins), [dtype] * len(outs)


class BatchNorm(Normalizing, name="batch_norm"):
    """(data - moving_mean) / sqrt(moving_var + epsilon) * gamma + beta, per channel.

    Channels lie along `axis`. Without `scale` gamma is not used, without `center` beta is not. The
    results `mean` and `var` are the statistics used: at inference the moving ones.
    """

    visible_results = 1

    data = operand()
    gamma = operand()
    beta = operand()
    moving_mean = operand()
    moving_var = operand()
    output = result()
    mean = result()
    var = result()
    axis = attribute(Int, 1)
    epsilon = attribute(Float, 1e-5)
    center = attribute(Bool, True)
    scale = attribute(Bool, True)

    @classmethod
    def infer_shape(
        cls, a: Attributes, ins: Sequence[Shape], outs: Sequence[Shape]
    ) -> tuple[list[Shape], list[Shape]]:
        data = unify_shapes([ins[0], outs[0]])
        per_channel = unify_shapes([*ins[1:], *outs[1:]])
        if data is not None:
            channels = data[normalize_axis(a.axis, len(data))]
            per_channel = unify_shapes([per_channel, (channels,)])
        return [data, *[per_channel] * 4], [data, per_channel, per_channel]

    @classmethod
    def evaluate(
        cls, a: Attributes, x: np.ndarray, *parameters: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        axis = normalize_axis(a.axis, x.ndim)
        along = [-1 if i == axis else 1 for i in range(x.ndim)]
        gamma, beta, mean, var = (widen(p).reshape(along) for p in parameters)
        factor = 1 / np.sqrt(var + var.dtype.type(a.epsilon))
        if a.scale:
            factor = factor * gamma
        output = (widen(x) - mean) * factor
        if a.center:
            output = output + beta
        return output.astype(x.dtype), parameters[2], parameters[3]


class Dropout(SameShape, name="dropout"):
    """At inference, `data` itself and a mask of ones."""

    visible_results = 1

    data = operand()
    output = result()
    mask = result()
    rate = attribute(Float, 0.5)

    @classmethod
    def check(cls, a: Attributes) -> None:
        if not 0 <= a.rate <= 1:
            raise ValueError(f"expects a rate from 0 to 1, got {a.rate}")

    @classmethod
    def evaluate(cls, a: Attributes, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return x, np.ones_like(x)


class AlongAxis(Normalizing):
    """Operators that normalise each row of elements along one axis."""

    data = operand()
    output = result()
    axis = attribute(Int, -1)

    @classmethod
    def permuted(cls, a: Attributes, rank: int, axes: Sequence[int]) -> dict[str, Any] | None:
        return permuted_axis(a.axis, rank, axes)

    @classmethod
    def infer_shape(
        cls, a: Attributes, ins: Sequence[Shape], outs: Sequence[Shape]
    ) -> tuple[list[Shape], list[Shape]]:
        shapes = super().infer_shape(a, ins, outs)
        if shapes[0][0] is not None:
            normalize_axis(a.axis, len(shapes[0][0]))
        return shapes


class Softmax(AlongAxis, name="softmax"):
    """exp(x) / sum(exp(x)) along `axis`."""

    @classmethod
    def evaluate(cls, a: Attributes, x: np.ndarray) -> np.ndarray:
        wide = widen(x)
        raised = np.exp(wide - wide.max(a.axis, keepdims=True, initial=-np.inf))
        return (raised / raised.sum(a.axis, keepdims=True)).astype(x.dtype)


class LogSoftmax(AlongAxis, name="log_softmax"):
    """log(softmax(x)) along `axis`, without computing the small quotient."""

    @classmethod
    def evaluate(cls, a: Attributes, x: np.ndarray) -> np.ndarray:
        wide = widen(x)
        shifted = wide - wide.max(a.axis, keepdims=True, initial=-np.inf)
        return (shifted - np.log(np.exp(shifted).sum(a.axis, keepdims=True))).astype(x.dtype)


class LayerNorm(Normalizing, name="layer_norm"):
    """(data - mean) / sqrt(var + epsilon) * gamma + beta.

    The statistics are over the dimensions from `axis` on; gamma and beta broadcast to `data`, and
    have the normalised dimensions if nothing else is known.
    """

    data = operand()
    gamma = operand()
    beta = operand(optional=True)
    output = result()
    axis = attribute(Int, -1)
    epsilon = attribute(Float, 1e-5)

    @classmethod
    def infer_shape(
        cls, a: Attributes, ins: Sequence[Shape], outs: Sequence[Shape]
    ) -> tuple[list[Shape], list[Shape]]:
        data = unify_shapes([ins[0], *outs])
        if data is None:
            return list(ins), list(outs)
        axis = normalize_axis(a.axis, len(data))
        parameters = [data[axis:] if shape is None else shape for shape in ins[1:]]
        for shape in parameters:
            if len(shape) > len(data):
                raise ValueError(f"parameters {show(shape)} do not broadcast to data {show(data)}")
            unify_shapes([data, broadcast_shapes(data, shape)])
        return [data, *parameters], [data]

    @classmethod
    def evaluate(
        cls, a: Attributes, x: np.ndarray, gamma: np.ndarray, beta: np.ndarray | None = None
    ) -> np.ndarray:
        axes = tuple(range(normalize_axis(a.axis, x.ndim), x.ndim))
        output = _standardized(x, axes, a.epsilon) * widen(gamma)
        if beta is not None:
            output = output + widen(beta)
        return output.astype(x.dtype)


class InstanceNorm(Normalizing, name="instance_norm"):
    """(data - mean) / sqrt(var + epsilon) * gamma + beta, per image and channel of NC... data."""

    data = operand()
    gamma = operand()
    beta = operand()
    output = result()
    epsilon = attribute(Float, 1e-5)

    @classmethod
    def infer_shape(
        cls, a: Attributes, ins: Sequence[Shape], outs: Sequence[Shape]
    ) -> tuple[list[Shape], list[Shape]]:
        data = unify_shapes([ins[0], *outs])
        per_channel = unify_shapes(ins[1:])
        if data is not None:
            if len(data) < 2:
                raise ValueError(f"expects data of rank 2 or more, got {show(data)}")
            per_channel = unify_shapes([per_channel, (data[1],)])
        return [data, per_channel, per_channel], [data]

    @classmethod
    def evaluate(
        cls, a: Attributes, x: np.ndarray, gamma: np.ndarray, beta: np.ndarray
    ) -> np.ndarray:
        along = (-1, *[1] * (x.ndim - 2))
        output = _standardized(x, tuple(range(2, x.ndim)), a.epsilon)
        output = output * widen(gamma).reshape(along) + widen(beta).reshape(along)
        return output.astype(x.dtype)


class Lrn(AlongAxis, name="lrn"):
    """Local response normalisation: x / (bias + alpha / size * sum(x ** 2)) ** beta.

    The sum is over `size` neighbours along `axis`, of which floor((size - 1) / 2) come before the
    element, as far as there are any.
    """

    size = attribute(Int)
    axis = attribute(Int, 1)
    alpha = attribute(Float)
    beta = attribute(Float)
    bias = attribute(Float)

    @classmethod
    def check(cls, a: Attributes) -> None:
        if a.size < 1:
            raise ValueError(f"expects size >= 1, got {a.size}")

    @classmethod
    def window(cls, a: Attributes) -> tuple[int, int]:
        """How many neighbours before and after an element take part."""
        before = (a.size - 1) // 2
        return before, a.size - 1 - before

    @classmethod
    def evaluate(cls, a: Attributes, x: np.ndarray) -> np.ndarray:
        wide = widen(x)
        moved = np.moveaxis(wide * wide, a.axis, -1)
        padded = np.pad(moved, [(0, 0)] * (x.ndim - 1) + [cls.window(a)])
        windows = np.lib.stride_tricks.sliding_window_view(padded, a.size, -1)
        total = np.moveaxis(windows.sum(-1), -1, a.axis)
        kind = wide.dtype.type
        scale = kind(a.bias) + kind(a.alpha / a.size) * total
        return (wide / scale ** kind(a.beta)).astype(x.dtype)


class L2Normalize(Normalizing, name="l2_normalize"):
    """x / sqrt(max(sum(x ** 2), eps)), where the sum is over the listed axes, or all if none is."""

    fusion = Fusion.OUT_ELEMWISE_FUSABLE
    data = operand()
    output = result()
    eps = attribute(Float)
    axis = attribute(Ints)

    @classmethod
    def permuted(cls, a: Attributes, rank: int, axes: Sequence[int]) -> dict[str, Any] | None:
        return {"axis": moved_axes(a.axis, axes)}

    @classmethod
    def axes(cls, a: Attributes, rank: int) -> tuple[int, ...]:
        """The axes that the sum is over, from 0."""
        return normalize_axes(a.axis, rank) or tuple(range(rank))

    @classmethod
    def infer_shape(
        cls, a: Attributes, ins: Sequence[Shape], outs: Sequence[Shape]
    ) -> tuple[list[Shape], list[Shape]]:
        shapes = super().infer_shape(a, ins, outs)
        if shapes[0][0] is not None:
            cls.axes(a, len(shapes[0][0]))
        return shapes

    @classmethod
    def evaluate(cls, a: Attributes, x: np.ndarray) -> np.ndarray:
        wide = widen(x)
        total = (wide * wide).sum(cls.axes(a, x.ndim), keepdims=True)
        return (wide / np.sqrt(np.maximum(total, wide.dtype.type(a.eps)))).astype(x.dtype)


def _standardized(x: np.ndarray, axes: tuple[int, ...], epsilon: float) -> np.ndarray:
    """x with mean 0 and variance 1 over the axes, in the dtype that formulas are computed in."""
    wide = widen(x)
    centred = wide - wide.mean(axes, keepdims=True)
    variance = (centred * centred).mean(axes, keepdims=True)
    return centred / np.sqrt(variance + wide.dtype.type(epsilon))
