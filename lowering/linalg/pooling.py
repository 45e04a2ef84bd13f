"""Lowering of pooling: a linalg.generic over the dims of the output, then those of the window."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from nnvm_mlir.dialects.nnvm import pooling as ops
from nnvm_mlir.dialects.nnvm.layout import Layout
from nnvm_mlir.dialects.nnvm.types import is_float, numpy_dtype
from nnvm_mlir.lowering.linalg.builder import (
    Body,
    LinalgBuilder,
    from_storage,
    shape_of,
    to_storage,
)
from nnvm_mlir.lowering.linalg.positions import loop_number
from nnvm_mlir.lowering.linalg.registry import lowers
from nnvm_mlir.lowering.linalg.scalars import Scalars, cast
from nnvm_mlir.mlir import arith, ir


@lowers(ops.MaxPool1D, ops.MaxPool2D, ops.MaxPool3D)
def max_pool(b: LinalgBuilder, op: ops.MaxPool, data: ir.Value) -> ir.Value:
    """Pads with the smallest value, and folds the maximum over each window."""
    dtype = op.static_operands[0].dtype
    s = Scalars(dtype)
    shape = shape_of(data)
    padded = _pad(b, op, data, dtype, s.lowest())
    init = b.fill(op.static_results[0].shape, dtype, s.lowest())

    def body(value: ir.Value, _: ir.Value, best: ir.Value) -> list[ir.Value]:
        largest = s.max(from_storage(best, dtype), from_storage(value, dtype))
        return [to_storage(largest, dtype)]

    return _fold(b, op, padded, dtype, [init], body, len(shape))[0]


@lowers(ops.MaxPool1DIndices, ops.MaxPool2DIndices, ops.MaxPool3DIndices)
def max_pool_indices(b: LinalgBuilder, op: ops.MaxPoolIndices, data: ir.Value) -> list[ir.Value]:
    """Folds (maximum, its index) over each window; the index of nothing so far is -1."""
    dtype = op.static_operands[0].dtype
    s, i64 = Scalars(dtype), Scalars("int64")
    a, shape = op.values, shape_of(data)
    low, _ = op.reach(a, shape)
    window = {dim: i for i, dim in enumerate(op.dims(a))}
    strides = _index_strides(op, shape)
    padded = _pad(b, op, data, dtype, s.lowest())
    out_shape = op.static_results[0].shape
    inits = [b.fill(out_shape, dtype, s.lowest()), b.fill(out_shape, "int64", i64.const(-1))]

    def body(value: ir.Value, _: ir.Value, best: ir.Value, index: ir.Value) -> list[ir.Value]:
        value, best = from_storage(value, dtype), from_storage(best, dtype)
        better = arith.ori(s.gt(value, best), i64.lt(index, i64.const(0)))
        if s.is_float:
            first_nan = arith.andi(s.is_nan(value), s.compare("eq", best, best))
            better = arith.ori(better, first_nan)
        here = i64.const(0)
        for dim, size in enumerate(shape):
            place = loop_number(dim)
            if dim in window:
                i = window[dim]
                tap = i64.mul(loop_number(len(shape) + i), i64.const(a.dilation[i]))
                place = i64.add(i64.mul(place, i64.const(a.strides[i])), tap)
                place = i64.sub(place, i64.const(low[dim]))
                inside = arith.andi(
                    i64.compare("ge", place, i64.const(0)), i64.lt(place, i64.const(size))
                )
                better = arith.andi(better, inside)
            here = i64.add(here, i64.mul(place, i64.const(strides[dim])))
        return [
            to_storage(s.select(better, value, best), dtype),
            i64.select(better, here, index),
        ]

    return _fold(b, op, padded, dtype, inits, body, len(shape))


@lowers(ops.AvgPool1D, ops.AvgPool2D, ops.AvgPool3D)
def avg_pool(b: LinalgBuilder, op: ops.AvgPool, data: ir.Value) -> ir.Value:
    """Folds the sum over each window, and divides it by the number of counted positions."""
    dtype = op.static_operands[0].dtype
    a, shape, wide = op.values, shape_of(data), op.accumulator(dtype)
    s = Scalars(wide)
    padded = _pad(b, op, data, dtype, Scalars(dtype).const(0))
    out_shape = op.static_results[0].shape

    def body(value: ir.Value, _: ir.Value, total: ir.Value) -> list[ir.Value]:
        return [s.add(total, cast(from_storage(value, dtype), dtype, wide))]

    init = b.fill(out_shape, wide, s.const(0))
    sums = _fold(b, op, padded, dtype, [init], body, len(shape))[0]
    # Only axes along which the windows differ need a table.
    common, tables = 1, []
    for dim, counts in zip(op.dims(a), op.divisors(a, shape), strict=True):
        if (counts == counts[0]).all():
            common *= int(counts[0])
        else:
            along = [len(counts) if i == dim else 1 for i in range(len(shape))]
            tables.append(counts.reshape(along))
    factors = [b.constant(_factor(table, wide)) for table in tables]

    def mean(total: ir.Value, *counts: ir.Value) -> ir.Value:
        factor = s.const(_factor(np.array(common), wide).item())
        for count in counts:
            factor = s.mul(factor, count)
        return cast(_scale(s, total, factor), wide, dtype)

    return b.map(mean, [sums, *factors], [wide] * (1 + len(factors)), dtype)


@lowers(ops.GlobalMaxPool1D, ops.GlobalMaxPool2D, ops.GlobalMaxPool3D)
def global_max_pool(b: LinalgBuilder, op: ops.GlobalMaxPool, data: ir.Value) -> ir.Value:
    """Reduces the spatial dims by the maximum."""
    dtype = op.static_operands[0].dtype
    s = Scalars(dtype)
    return b.reduce(s.max, s.lowest(), data, dtype, op.dims(op.values), keepdims=True)


@lowers(ops.GlobalAvgPool1D, ops.GlobalAvgPool2D, ops.GlobalAvgPool3D)
def global_avg_pool(b: LinalgBuilder, op: ops.GlobalAvgPool, data: ir.Value) -> ir.Value:
    """Sums over the spatial dims, and divides by their size."""
    dtype = op.static_operands[0].dtype
    wide, dims = ops.AvgPool.accumulator(dtype), op.dims(op.values)
    s = Scalars(wide)
    count = np.array(prod(shape_of(data)[dim] for dim in dims))

    def mean(total: ir.Value) -> ir.Value:
        return _scale(s, total, s.const(_factor(count, wide).item()))

    return b.reduce(
        s.add, s.const(0), data, dtype, dims, keepdims=True, finish=mean, accumulator=wide
    )


def _factor(count: np.ndarray, dtype: str) -> np.ndarray:
    """What `_scale` divides by: the count itself, or its reciprocal for floats."""
    return (1.0 / count if is_float(dtype) else count).astype(numpy_dtype(dtype))


def _scale(s: Scalars, total: ir.Value, factor: ir.Value) -> ir.Value:
    return s.mul(total, factor) if s.is_float else s.div(total, factor)


def _pad(b: LinalgBuilder, op: ops.Pool, data: ir.Value, dtype: str, value: ir.Value) -> ir.Value:
    return b.pad(data, *op.reach(op.values, shape_of(data)), to_storage(value, dtype))


def _fold(
    b: LinalgBuilder,
    op: ops.Pool,
    padded: ir.Value,
    dtype: str,
    inits: Sequence[ir.Value],
    body: Body,
    rank: int,
) -> list[ir.Value]:
    """Folds `body(value, unused, *accumulators)` over the windows of padded data, from `inits`."""
    a, loops = op.values, rank + len(op.axes)
    dims = [ir.AffineDimExpr.get(i) for i in range(loops)]
    places = dims[:rank]
    for i, dim in enumerate(op.dims(a)):
        places[dim] = dims[dim] * a.strides[i] + dims[rank + i] * a.dilation[i]
    # Only its shape is used: it tells the sizes of the window's loops.
    window = b.empty(a.pool_size, dtype)
    output = ir.AffineMap.get(loops, 0, dims[:rank])
    return b.generic(
        [padded, window],
        [ir.AffineMap.get(loops, 0, places), ir.AffineMap.get(loops, 0, dims[rank:])],
        inits,
        [output] * len(inits),
        ["parallel"] * rank + ["reduction"] * len(op.axes),
        body,
    )


def _index_strides(op: ops.MaxPoolIndices, shape: Sequence[int]) -> list[int]:
    """By how much the index of `max_pool_indices` grows along each dim of data."""
    layout, along = Layout.parse(op.values.layout), op.index_strides(op.values, shape)
    return [
        along[axis] * ((layout.block(axis) or 1) if block is None else 1)
        for axis, block in layout.dims
    ]
