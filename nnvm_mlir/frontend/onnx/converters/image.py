"""Upsample and Resize: interpolation by coordinates."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from nnvm_mlir.builder import Node
from nnvm_mlir.dialects.nnvm.image import Interpolate
from nnvm_mlir.dialects.nnvm.operator import normalize_axes, normalize_axis
from nnvm_mlir.frontend.onnx.registry import NodeContext, converter


@converter("Upsample")
def upsample(ctx: NodeContext) -> Node:
    """Scales are an attribute up to opset 8, then an input."""
    scales = ctx.attr("scales") if ctx.opset < 9 else _floats(ctx, 1)
    return _resize_asymmetric(ctx, scales)


@converter("Resize")
def resize_asymmetric(ctx: NodeContext) -> Node:
    """Opset 10: no choice of coordinates."""
    return _resize_asymmetric(ctx, _floats(ctx, 1))


@converter("Resize", since=11)
def resize(ctx: NodeContext) -> Node:
    """By scales or by sizes, of all axes or some."""
    data = ctx.input(0)
    rank = len(data.shape)
    axes = tuple(normalize_axis(axis, rank) for axis in ctx.attr("axes") or range(rank))
    normalize_axes(axes, rank)
    scales, sizes = _floats(ctx, 2), ctx.int_list(3) or ()
    if bool(scales) == bool(sizes):
        raise ctx.error("expected either scales or sizes")
    if len(scales or sizes) != len(axes):
        raise ctx.error(f"expected {len(axes)} scales or sizes, got {len(scales or sizes)}")
    extents = [data.shape[axis] for axis in axes]
    if scales:
        sizes = tuple(_scaled(extent, scale) for extent, scale in zip(extents, scales, strict=True))
    else:
        scales, sizes = _scales_of_sizes(ctx, extents, sizes)
    attributes = {}
    if ctx.attr("coordinate_transformation_mode") == "tf_crop_and_resize":
        attributes["roi"] = _roi(ctx, rank, axes)
    return ctx.op(
        Interpolate,
        data,
        size=_spread(data.shape, axes, sizes),
        scales=_spread((1.0,) * rank, axes, scales),
        mode=ctx.attr("mode"),
        coordinate_transformation_mode=ctx.attr("coordinate_transformation_mode"),
        nearest_mode=ctx.attr("nearest_mode"),
        cubic_coeff_a=ctx.attr("cubic_coeff_a"),
        exclude_outside=ctx.attr("exclude_outside"),
        antialias=ctx.attr("antialias", 0),
        extrapolation_value=ctx.attr("extrapolation_value"),
        **attributes,
    )


def _resize_asymmetric(ctx: NodeContext, scales: Sequence[float]) -> Node:
    data = ctx.input(0)
    if len(scales) != len(data.shape):
        raise ctx.error(f"expected {len(data.shape)} scales, got {len(scales)}")
    return ctx.op(
        Interpolate,
        data,
        size=tuple(_scaled(size, scale) for size, scale in zip(data.shape, scales, strict=True)),
        scales=tuple(scales),
        mode="nearest" if ctx.attr("mode") == "nearest" else "linear",
        coordinate_transformation_mode="asymmetric",
        nearest_mode="ceil" if min(scales, default=1) < 1 else "floor",
    )


def _scales_of_sizes(
    ctx: NodeContext, extents: Sequence[int], sizes: tuple[int, ...]
) -> tuple[tuple[float, ...], tuple[int, ...]]:
    ratios = [Fraction(size, extent or 1) for size, extent in zip(sizes, extents, strict=True)]
    policy = ctx.attr("keep_aspect_ratio_policy", "stretch")
    if policy == "stretch":
        return tuple(map(float, ratios)), sizes
    if policy not in ("not_larger", "not_smaller"):
        raise ctx.error(f"unknown keep_aspect_ratio_policy {policy!r}")
    ratio = min(ratios) if policy == "not_larger" else max(ratios)
    kept = tuple(math.floor(ratio * extent + Fraction(1, 2)) for extent in extents)
    return (float(ratio),) * len(extents), kept


def _roi(ctx: NodeContext, rank: int, axes: Sequence[int]) -> tuple[float, ...]:
    given = _floats(ctx, 1)
    if len(given) != 2 * len(axes):
        raise ctx.error(f"roi must have {2 * len(axes)} elements, it has {len(given)}")
    starts = _spread((0.0,) * rank, axes, given[: len(axes)])
    return starts + _spread((1.0,) * rank, axes, given[len(axes) :])


def _spread(whole: Sequence, axes: Sequence[int], values: Sequence) -> tuple:
    """`whole` with the values of some axes replaced."""
    replaced = dict(zip(axes, values, strict=True))
    return tuple(replaced.get(axis, item) for axis, item in enumerate(whole))


def _scaled(size: int, scale: float) -> int:
    # In float32, as runtimes do: in double 10 * 0.7f is below 7.
    return math.floor(np.float32(size) * np.float32(scale))


def _floats(ctx: NodeContext, index: int) -> tuple[float, ...]:
    value = ctx.constant_input(index)
    if value is None:
        return ()
    floats = tuple(float(item) for item in value.reshape(-1))
    if not all(math.isfinite(item) for item in floats):
        raise ctx.error(f"input {index} must be finite")
    return floats
