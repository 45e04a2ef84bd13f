"""Resampling of one axis: which elements an output element is made of, and with which weights.

Coordinates follow the operator Resize of ONNX. They are formed in float32, as its runtimes do:
which element is nearest to a coordinate half-way between two depends on the rounding.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from nnvm_mlir.dialects.nnvm.numeric import cast, constant
from nnvm_mlir.dialects.nnvm.types import numpy_dtype

MODES = ("nearest", "linear", "cubic")
NEAREST_MODES = ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil")
COORDINATE_MODES = (
    "half_pixel",
    "half_pixel_symmetric",
    "pytorch_half_pixel",
    "align_corners",
    "asymmetric",
    "tf_half_pixel_for_nn",
    "tf_crop_and_resize",
)

# How near to the middle of two elements a coordinate must be to be half-way between them: quotients
# in float32 rarely are.
_HALF_WAY = 1e-6


@dataclass(frozen=True)
class Taps:
    """How each output element along an axis is formed from elements of the operand along that axis.

    Attributes:
        indices: int64 (size, taps), all in range.
        weights: float64 (size, taps).
        outside: bool (size,): whether the element lies outside the operand, and an extrapolation
            value takes its place.
    """

    indices: np.ndarray
    weights: np.ndarray
    outside: np.ndarray

    @property
    def is_gather(self) -> bool:
        """Whether every output element is one element of the operand."""
        return self.indices.shape[1] == 1

    def is_identity(self, length: int) -> bool:
        """Whether the axis, of `length` elements, is copied."""
        return (
            len(self.indices) == length
            and not self.outside.any()
            and np.array_equal(self._matrix(length), np.eye(length))
        )

    def repeats(self, length: int) -> int | None:
        """How often each of `length` elements is repeated, or None for anything else."""
        times = len(self.indices) // length
        plain = np.repeat(np.arange(length), times)
        is_plain = self.is_gather and not self.outside.any()
        return times if is_plain and np.array_equal(self.indices[:, 0], plain) else None

    def _matrix(self, length: int) -> np.ndarray:
        matrix = np.zeros((len(self.indices), length))
        np.add.at(matrix, (np.arange(len(self.indices))[:, None], self.indices), self.weights)
        return matrix


@dataclass(frozen=True)
class Axis:
    """The geometry of one resampled axis.

    Attributes:
        length: of the operand.
        size: of the result.
        scale: result over operand; a fraction of an element may have been cut off the result.
        roi: begin and end of the region that `tf_crop_and_resize` samples, as fractions of the
            axis.
    """

    length: int
    size: int
    scale: float
    roi: tuple[float, float] = (0.0, 1.0)

    def coordinates(self, mode: str) -> np.ndarray:
        """Where each result element lies in the operand: float32 (size,)."""
        f = np.float32
        x, scale, length, size = (
            np.arange(self.size, dtype=f),
            f(self.scale),
            f(self.length),
            f(self.size),
        )
        half, one = f(0.5), f(1)
        if mode == "half_pixel" or (mode == "pytorch_half_pixel" and self.size > 1):
            return (x + half) / scale - half
        if mode == "pytorch_half_pixel":
            return np.zeros(self.size, f)
        if mode == "half_pixel_symmetric":
            # In double from here: these coordinates are often whole, and then floor must agree.
            offset = np.float64(length / f(2) * (one - size / (scale * length)))
            return (offset + (x.astype(np.float64) + 0.5) / np.float64(scale) - 0.5).astype(f)
        if mode == "align_corners":
            return x * (length - one) / (size - one) if self.size > 1 else np.zeros(self.size, f)
        if mode == "asymmetric":
            return x / scale
        if mode == "tf_half_pixel_for_nn":
            return (x + half) / scale
        begin, end = map(f, self.roi)  # tf_crop_and_resize
        if self.size > 1:
            return begin * (length - one) + x * (end - begin) * (length - one) / (size - one)
        return np.full(self.size, half * (begin + end) * (length - one), f)


def nearest(axis: Axis, coordinate_mode: str, rounding: str) -> Taps:
    """The nearest element, by a rounding of NEAREST_MODES."""
    x = axis.coordinates(coordinate_mode)
    below = np.floor(x)
    past_half = x.astype(np.float64) - below - 0.5
    if rounding == "floor":
        index = below
    elif rounding == "ceil":
        index = np.ceil(x)
    elif rounding == "round_prefer_floor":
        index = below + (past_half >= _HALF_WAY)
    else:
        index = below + (past_half > -_HALF_WAY)
    indices = np.clip(index.astype(np.int64), 0, axis.length - 1)[:, None]
    return Taps(indices, np.ones(indices.shape), _outside(axis, coordinate_mode, x))


def linear(axis: Axis, coordinate_mode: str, exclude_outside: bool, antialias: bool) -> Taps:
    """Linear interpolation of the two elements around."""
    return _filtered(axis, coordinate_mode, exclude_outside, antialias, 1, _triangle)


def cubic(
    axis: Axis, coordinate_mode: str, exclude_outside: bool, antialias: bool, coefficient: float
) -> Taps:
    """Cubic convolution of the four elements around, with Keys' coefficient."""
    return _filtered(
        axis, coordinate_mode, exclude_outside, antialias, 2, lambda t: _keys(t, coefficient)
    )


def _filtered(
    axis: Axis, coordinate_mode: str, exclude_outside: bool, antialias: bool, radius: int,
    kernel: Callable[[np.ndarray], np.ndarray],
) -> Taps:  # fmt: skip
    """The elements less than `radius` away, weighted by `kernel(distance)`.

    Elements beyond the edge repeat it, or are excluded.

    With `antialias` and a scale below 1 the kernel is stretched by 1 / scale, so that every element
    counts.
    """
    x = axis.coordinates(coordinate_mode)
    shrink = min(axis.scale, 1.0) if antialias else 1.0
    first = int(np.floor(-radius / shrink)) + 1
    base = np.floor(x).astype(np.int64)
    indices = base[:, None] + np.arange(first, 2 - first)
    weights = kernel((indices - x[:, None].astype(np.float64)) * shrink)
    if exclude_outside:
        weights = np.where((indices >= 0) & (indices < axis.length), weights, 0)
    if exclude_outside or antialias:
        total = weights.sum(axis=1, keepdims=True)
        weights = weights / np.where(total == 0, 1, total)
    return Taps(np.clip(indices, 0, axis.length - 1), weights, _outside(axis, coordinate_mode, x))


def _triangle(distance: np.ndarray) -> np.ndarray:
    return np.maximum(1 - np.abs(distance), 0)


def _keys(distance: np.ndarray, a: float) -> np.ndarray:
    t = np.abs(distance)
    near = ((a + 2) * t - (a + 3)) * t * t + 1
    far = ((t - 5) * t + 8) * t * a - 4 * a
    return np.where(t <= 1, near, np.where(t < 2, far, 0))


def _outside(axis: Axis, coordinate_mode: str, x: np.ndarray) -> np.ndarray:
    if coordinate_mode != "tf_crop_and_resize":
        return np.zeros(x.shape, bool)
    return (x < 0) | (x > axis.length - 1)


def resample(x: np.ndarray, taps: dict[int, Taps], extrapolation: float = 0.0) -> np.ndarray:
    """An array resampled along the axes that `taps` names, one after another.

    Weighted sums are formed in float32, of float64 in float64; integers are then truncated and
    saturated. Elements outside are `extrapolation`.
    """
    dtype, outside = x.dtype, np.zeros((), bool)
    if not all(t.is_gather for t in taps.values()):
        x = x.astype(numpy_dtype(sum_dtype(str(dtype))))
    for dim, t in taps.items():
        along = [-1 if i == dim else 1 for i in range(x.ndim)]
        if t.is_gather:
            x = np.take(x, t.indices[:, 0], axis=dim)
        else:
            weights = t.weights.astype(x.dtype)
            x = sum(
                np.take(x, t.indices[:, k], axis=dim) * weights[:, k].reshape(along)
                for k in range(weights.shape[1])
            )
        outside = outside | t.outside.reshape(along)
    value = constant(extrapolation, str(dtype))
    return np.where(outside, value, cast(x, str(dtype))).astype(dtype)


def sum_dtype(dtype: str) -> str:
    """The dtype in which weighted sums of elements of `dtype` are formed."""
    return "float64" if dtype == "float64" else "float32"
