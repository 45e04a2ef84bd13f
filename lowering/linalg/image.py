"""Lowering of resampling.

Which elements make an output element, and with which weights, is known from the shapes: it becomes
constant tables.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from nnvm_mlir.dialects.nnvm import image as ops
from nnvm_mlir.dialects.nnvm.interpolation import Taps, sum_dtype
from nnvm_mlir.dialects.nnvm.types import numpy_dtype
from nnvm_mlir.lowering.linalg.builder import LinalgBuilder, from_storage, shape_of
from nnvm_mlir.lowering.linalg.positions import loop_index, position
from nnvm_mlir.lowering.linalg.registry import lowers
from nnvm_mlir.lowering.linalg.scalars import Scalars, cast
from nnvm_mlir.mlir import ir, tensor


@lowers(ops.Upsampling, ops.Resize, ops.Interpolate)
def resample(b: LinalgBuilder, op: ops.Resample, data: ir.Value) -> ir.Value:
    """Repeats or gathers elements at once, or sums them along one axis after another."""
    dtype = op.static_operands[0].dtype
    a, shape = op.values, shape_of(data)
    taps = op.taps(a, shape)
    repeats = {dim: t.repeats(shape[dim]) for dim, t in taps.items()}
    times = {dim: n for dim, n in repeats.items() if n is not None}
    if len(times) == len(taps):
        result = _repeat(b, data, dtype, times)
    elif all(t.is_gather for t in taps.values()):
        result = _gather(b, data, dtype, taps)
    else:
        result = _interpolate(b, data, dtype, taps)
    outside = {dim: t.outside for dim, t in taps.items() if t.outside.any()}
    return _extrapolate(b, result, dtype, outside, op.extrapolation(a)) if outside else result


def _repeat(b: LinalgBuilder, x: ir.Value, dtype: str, times: dict[int, int]) -> ir.Value:
    """Repeats each element `times[dim]` times along each dim: a broadcast into a dim of its own."""
    sizes: list[int] = []
    places: list[int] = []
    for dim, size in enumerate(shape_of(x)):
        places.append(len(sizes))
        sizes.extend([size, times[dim]] if dim in times else [size])
    rank = len(sizes)
    repeated = b.generic(
        [x],
        [ir.AffineMap.get(rank, 0, [ir.AffineDimExpr.get(i) for i in places])],
        [b.empty(sizes, dtype)],
        [ir.AffineMap.get_identity(rank)],
        ["parallel"] * rank,
        lambda value, _: [value],
    )[0]
    return b.reshape(repeated, [n * times.get(dim, 1) for dim, n in enumerate(shape_of(x))])


def _gather(b: LinalgBuilder, x: ir.Value, dtype: str, taps: dict[int, Taps]) -> ir.Value:
    """Takes one element along every resampled dim."""
    tables = [b.constant(t.indices[:, 0]) for t in taps.values()]
    shape = [len(taps[i].indices) if i in taps else n for i, n in enumerate(shape_of(x))]

    def body(*scalars: ir.Value) -> list[ir.Value]:
        return [_element(x, dict(zip(taps, scalars[:-1], strict=True)))]

    return b.generic(
        tables,
        [_along(len(shape), [dim]) for dim in taps],
        [b.empty(shape, dtype)],
        [ir.AffineMap.get_identity(len(shape))],
        ["parallel"] * len(shape),
        body,
    )[0]


def _interpolate(b: LinalgBuilder, x: ir.Value, dtype: str, taps: dict[int, Taps]) -> ir.Value:
    """Sums weighted elements along one resampled dim after another, then converts to `dtype`."""
    wide, source = sum_dtype(dtype), dtype
    for dim, along in taps.items():
        x = _interpolate_dim(b, x, source, wide, dim, along)
        source = wide
    return b.cast(x, source, dtype)


def _interpolate_dim(
    b: LinalgBuilder, x: ir.Value, source: str, wide: str, dim: int, taps: Taps
) -> ir.Value:
    shape = list(shape_of(x))
    shape[dim] = len(taps.indices)
    rank = len(shape)
    s = Scalars(wide)
    tables = [b.constant(taps.indices), b.constant(taps.weights.astype(numpy_dtype(wide)))]

    def body(index: ir.Value, weight: ir.Value, total: ir.Value) -> list[ir.Value]:
        value = cast(from_storage(_element(x, {dim: index}), source), source, wide)
        return [s.add(total, s.mul(value, weight))]

    dims = [ir.AffineDimExpr.get(i) for i in range(rank)]
    return b.generic(
        tables,
        [_along(rank + 1, [dim, rank])] * 2,
        [b.fill(shape, wide, s.const(0))],
        [ir.AffineMap.get(rank + 1, 0, dims)],
        ["parallel"] * rank + ["reduction"],
        body,
    )[0]


def _extrapolate(
    b: LinalgBuilder, x: ir.Value, dtype: str, outside: dict[int, np.ndarray], value: float
) -> ir.Value:
    """Replaces elements that lie outside along any dim."""
    rank = len(shape_of(x))
    masks = [
        b.constant(mask.reshape([-1 if i == dim else 1 for i in range(rank)]))
        for dim, mask in outside.items()
    ]

    def body(element: ir.Value, *masked: ir.Value) -> ir.Value:
        s = Scalars(dtype)
        for mask in masked:
            element = s.select(mask, s.const(value), element)
        return element

    return b.map(body, [x, *masks], [dtype] + ["bool"] * len(masks), dtype)


def _along(rank: int, loops: Sequence[int]) -> ir.AffineMap:
    return ir.AffineMap.get(rank, 0, [ir.AffineDimExpr.get(i) for i in loops])


def _element(x: ir.Value, places: dict[int, ir.Value]) -> ir.Value:
    """The element at an i64 place along some dims, and at the loops' along the others."""
    indices = [
        position(places[dim]) if dim in places else loop_index(dim)
        for dim in range(len(shape_of(x)))
    ]
    return tensor.extract(x, indices)
