"""Resizing of images and of any tensor's axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from nnvm_mlir.dialects.nnvm import interpolation
from nnvm_mlir.dialects.nnvm.fields import (
    Bool,
    Float,
    Floats,
    Int,
    Ints,
    Str,
    attribute,
    operand,
    result,
)
from nnvm_mlir.dialects.nnvm.interpolation import Axis, Taps
from nnvm_mlir.dialects.nnvm.layout import Layout
from nnvm_mlir.dialects.nnvm.operator import Attributes, Fusion, Operator
from nnvm_mlir.dialects.nnvm.types import Shape, known, show
from nnvm_mlir.dialects.nnvm.window import (
    agree,
    check_numbers,
    parse_layout,
    permuted_layout,
    spatial_dims,
)


class Resample(Operator):
    """Operators that form an output element from elements at places known from the shapes."""

    fusion = Fusion.INJECTIVE
    data = operand()
    output = result()

    @classmethod
    def taps(cls, a: Attributes, shape: Sequence[int]) -> dict[int, Taps]:
        """How each dim of data that is not just copied is resampled, in order."""
        raise NotImplementedError(f"{cls.OPERATION_NAME} has no taps")

    @classmethod
    def extrapolation(cls, a: Attributes) -> float:
        """The value of elements outside the data."""
        return 0.0

    @classmethod
    def evaluate(cls, a: Attributes, data: np.ndarray) -> np.ndarray:
        return interpolation.resample(data, cls.taps(a, data.shape), cls.extrapolation(a))


class ImageResample(Resample):
    """Resampling of H and W in any layout that does not split them.

    Coordinates are NNVM's: an output element lies at its index divided by the scale (or, with
    `align_corners`, such that the corners of both images coincide); NEAREST_NEIGHBOR takes the
    element at or before it, BILINEAR interpolates.
    """

    axes: ClassVar[str] = "HW"
    layout = attribute(Str, "NCHW")

    @classmethod
    def permuted(cls, a: Attributes, rank: int, axes: Sequence[int]) -> dict[str, Any] | None:
        return permuted_layout(a.layout, axes)

    @classmethod
    def check(cls, a: Attributes) -> None:
        parse_layout(a.layout, cls.axes)

    @classmethod
    def target(cls, a: Attributes, sizes: Sequence[int | None]) -> Sequence[int | None]:
        """Height and width of the output for those of the data."""
        raise NotImplementedError(f"{cls.OPERATION_NAME} has no target size")

    @classmethod
    def coordinates(cls, a: Attributes) -> str:
        """The coordinate mode of BILINEAR."""
        return "asymmetric"

    @classmethod
    def dims(cls, a: Attributes) -> list[int]:
        """The dims of H and W."""
        return spatial_dims(a.layout, cls.axes)

    @classmethod
    def infer_shape(
        cls, a: Attributes, ins: Sequence[Shape], outs: Sequence[Shape]
    ) -> tuple[list[Shape], list[Shape]]:
        if ins[0] is None:
            return list(ins), list(outs)
        Layout.parse(a.layout).check_shape(ins[0])
        shape, dims = list(ins[0]), cls.dims(a)
        for dim, size in zip(dims, cls.target(a, [shape[dim] for dim in dims]), strict=True):
            shape[dim] = size
        out = agree("output", outs[0], tuple(shape))
        data = tuple(n if i in dims else out[i] for i, n in enumerate(ins[0]))
        return [data], [out]

    @classmethod
    def taps(cls, a: Attributes, shape: Sequence[int]) -> dict[int, Taps]:
        dims = cls.dims(a)
        lengths = [shape[dim] for dim in dims]
        result = {}
        sizes = known(tuple(cls.target(a, lengths)))
        for dim, length, size in zip(dims, lengths, sizes, strict=True):
            axis = Axis(length, size, size / length)
            if a.method == "BILINEAR":
                taps = interpolation.linear(
                    axis, cls.coordinates(a), exclude_outside=False, antialias=False
                )
            else:
                taps = floor_taps(length, size)
            if not taps.is_identity(length):
                result[dim] = taps
        return result


def floor_taps(length: int, size: int) -> Taps:
    """The element at or before each position, in exact integer arithmetic."""
    indices = (np.arange(size) * length // size)[:, None]
    return Taps(indices, np.ones(indices.shape), np.zeros(size, bool))


METHODS = ("NEAREST_NEIGHBOR", "BILINEAR")


class Upsampling(ImageResample, name="upsampling"):
    """Enlarges H and W by an integer factor."""

    scale = attribute(Int)
    method = attribute(Str, "NEAREST_NEIGHBOR", choices=METHODS)

    @classmethod
    def check(cls, a: Attributes) -> None:
        super().check(a)
        if a.scale < 1:
            raise ValueError(f"attribute 'scale' must be positive, got {a.scale}")

    @classmethod
    def target(cls, a: Attributes, sizes: Sequence[int | None]) -> Sequence[int | None]:
        return [None if size is None else size * a.scale for size in sizes]


class Resize(ImageResample, name="resize"):
    """Resizes H and W to `size`; `align_corners` applies to BILINEAR only."""

    size = attribute(Ints)
    method = attribute(Str, "BILINEAR", choices=METHODS)
    align_corners = attribute(Bool, False)

    @classmethod
    def check(cls, a: Attributes) -> None:
        super().check(a)
        check_numbers("size", a.size, cls.axes, 1)

    @classmethod
    def target(cls, a: Attributes, sizes: Sequence[int | None]) -> Sequence[int | None]:
        return a.size

    @classmethod
    def coordinates(cls, a: Attributes) -> str:
        return "align_corners" if a.align_corners else "asymmetric"


class Interpolate(Resample, name="interpolate"):
    """Resizes any axes of a tensor: ONNX's Resize.

    Attributes:
        size: the output's shape.
        scales: output over data for each axis, as used in the coordinates; by default the quotient
            of the sizes.
        mode: "nearest", "linear" or "cubic", along each axis in turn.
        coordinate_transformation_mode: from an output index to a position in the data, as ONNX
            defines them.
        nearest_mode: how "nearest" rounds the position.
        cubic_coeff_a: Keys' coefficient of "cubic".
        exclude_outside: elements beyond the edge get no weight (the others' are scaled up), instead
            of repeating the edge.
        antialias: "linear" and "cubic" stretch their kernel when an axis shrinks.
        extrapolation_value: the value of elements that "tf_crop_and_resize" places outside the
            data.
        roi: begins, then ends, of the region which that mode samples, as fractions of each axis.
    """

    size = attribute(Ints)
    scales = attribute(Floats, ())
    mode = attribute(Str, "nearest", choices=interpolation.MODES)
    coordinate_transformation_mode = attribute(
        Str, "half_pixel", choices=interpolation.COORDINATE_MODES
    )
    nearest_mode = attribute(Str, "round_prefer_floor", choices=interpolation.NEAREST_MODES)
    cubic_coeff_a = attribute(Float, -0.75)
    exclude_outside = attribute(Bool, False)
    antialias = attribute(Bool, False)
    extrapolation_value = attribute(Float, 0.0)
    roi = attribute(Floats, ())

    @classmethod
    def permuted(cls, a: Attributes, rank: int, axes: Sequence[int]) -> dict[str, Any] | None:
        starts, ends = a.roi[:rank], a.roi[rank:]
        roi = (*(starts[i] for i in axes), *(ends[i] for i in axes)) if a.roi else ()
        return {
            "size": tuple(a.size[i] for i in axes),
            "scales": tuple(a.scales[i] for i in axes) if a.scales else (),
            "roi": roi,
        }

    @classmethod
    def check(cls, a: Attributes) -> None:
        rank = len(a.size)
        if any(n < 0 for n in a.size):
            raise ValueError(f"attribute 'size' must not be negative, got {a.size}")
        if len(a.scales) not in (0, rank) or any(not s > 0 for s in a.scales):
            raise ValueError(
                f"attribute 'scales' must be {rank} positive numbers or none, got {a.scales}"
            )
        crops = a.coordinate_transformation_mode == "tf_crop_and_resize"
        if len(a.roi) != 2 * rank and (a.roi or crops):
            raise ValueError(
                f"attribute 'roi' must be {2 * rank} numbers (begins, then ends), got {a.roi}"
            )

    @classmethod
    def infer_shape(
        cls, a: Attributes, ins: Sequence[Shape], outs: Sequence[Shape]
    ) -> tuple[list[Shape], list[Shape]]:
        if ins[0] is not None and len(ins[0]) != len(a.size):
            raise ValueError(f"expects data of rank {len(a.size)}, got rank {len(ins[0])}")
        pairs = zip(ins[0] or (), a.size, strict=False)
        if any(n is not None and (n == 0) != (size == 0) for n, size in pairs):
            raise ValueError(
                f"an axis of data of shape {show(ins[0])} or of size {a.size} is empty"
            )
        return list(ins), [agree("output", outs[0], a.size)]

    @classmethod
    def extrapolation(cls, a: Attributes) -> float:
        return a.extrapolation_value

    @classmethod
    def taps(cls, a: Attributes, shape: Sequence[int]) -> dict[int, Taps]:
        rank, coordinates = len(shape), a.coordinate_transformation_mode
        result = {}
        for dim, (length, size) in enumerate(zip(shape, a.size, strict=True)):
            if length == 0:
                continue
            scale = a.scales[dim] if a.scales else size / length
            roi = (a.roi[dim], a.roi[rank + dim]) if a.roi else (0.0, 1.0)
            axis = Axis(length, size, scale, roi)
            if a.mode == "nearest":
                taps = interpolation.nearest(axis, coordinates, a.nearest_mode)
            elif a.mode == "linear":
                taps = interpolation.linear(axis, coordinates, a.exclude_outside, a.antialias)
            else:
                taps = interpolation.cubic(
                    axis, coordinates, a.exclude_outside, a.antialias, a.cubic_coeff_a
                )
            if not taps.is_identity(length):
                result[dim] = taps
        return result
