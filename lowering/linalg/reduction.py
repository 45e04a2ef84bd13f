"""Lowering of reductions and of the cumulative sum, which is one too."""

from __future__ import annotations

from math import prod

from nnvm_mlir.dialects.nnvm import reduction as ops
from nnvm_mlir.lowering.linalg.builder import (
    LinalgBuilder,
    from_storage,
    shape_of,
    to_storage,
)
from nnvm_mlir.lowering.linalg.positions import loop_number
from nnvm_mlir.lowering.linalg.registry import lowers
from nnvm_mlir.lowering.linalg.scalars import Scalars, compute_dtype
from nnvm_mlir.mlir import arith, ir

_FOLDS = {
    ops.Sum: (Scalars.add, lambda s: s.const(0)),
    ops.Prod: (Scalars.mul, lambda s: s.const(1)),
    ops.Max: (Scalars.max, Scalars.lowest),
    ops.Min: (Scalars.min, Scalars.highest),
}


@lowers(*_FOLDS)
def fold(b: LinalgBuilder, op: ops.Fold, x: ir.Value) -> ir.Value:
    """Folds the operator's function over the axes, from its identity."""
    a, dtype = op.values, op.static_operands[0].dtype
    s = Scalars(dtype)
    combine, identity = _FOLDS[type(op)]
    axes = op.axes(a, len(shape_of(x)))
    return b.reduce(lambda x, y: combine(s, x, y), identity(s), x, dtype, axes, a.keepdims)


@lowers(ops.Mean)
def mean(b: LinalgBuilder, op: ops.Mean, x: ir.Value) -> ir.Value:
    """A sum, divided by the number of elements at the end."""
    a, dtype, shape = op.values, op.static_operands[0].dtype, shape_of(x)
    axes = op.axes(a, len(shape))
    accumulator = op.accumulator(dtype)
    s = Scalars(accumulator)
    count = prod(shape[axis] for axis in axes)
    return b.reduce(
        s.add,
        s.const(0),
        x,
        dtype,
        axes,
        a.keepdims,
        finish=lambda total: s.div(total, s.const(count)),
        accumulator=accumulator,
    )


@lowers(ops.Argmax, ops.Argmin)
def arg_reduction(b: LinalgBuilder, op: ops.ArgReduction, x: ir.Value) -> ir.Value:
    """One generic that folds pairs: the best element so far, and its position."""
    a, dtype, shape = op.values, op.static_operands[0].dtype, shape_of(x)
    s, rank = Scalars(dtype), len(shape)
    axes = op.axes(a, rank)
    is_max = isinstance(op, ops.Argmax)
    predicate = ("g" if is_max else "l") + ("e" if a.select_last_index else "t")
    integers = Scalars(a.dtype)

    def position() -> ir.Value:
        total = integers.const(0)
        for axis in axes:
            scaled = integers.mul(total, integers.const(shape[axis]))
            total = integers.add(scaled, loop_number(axis, a.dtype))
        return total

    def body(stored: ir.Value, best: ir.Value, best_index: ir.Value) -> list[ir.Value]:
        value, best_value = from_storage(stored, dtype), from_storage(best, dtype)
        better = s.compare(predicate, value, best_value)
        if s.is_float:
            nan = s.is_nan(value)
            if not a.select_last_index:
                nan = arith.andi(nan, s.eq(best_value, best_value))
            better = arith.ori(better, nan)
        return [arith.select(better, stored, best), arith.select(better, position(), best_index)]

    kept = [i for i in range(rank) if i not in axes]
    dims = [ir.AffineDimExpr.get(i) for i in range(rank)]
    out_map = ir.AffineMap.get(rank, 0, [dims[i] for i in kept])
    out_shape = [shape[i] for i in kept]
    worst = s.lowest() if is_max else s.highest()
    inits = [
        b.fill(out_shape, dtype, worst),
        b.fill(out_shape, a.dtype, integers.const(0)),
    ]
    iterators = ["reduction" if i in axes else "parallel" for i in range(rank)]
    index = b.generic(
        [x], [ir.AffineMap.get_identity(rank)], inits, [out_map, out_map], iterators, body
    )[1]
    return b.reshape(index, op.static_results[0].shape)


@lowers(ops.Cumsum)
def cumsum(b: LinalgBuilder, op: ops.Cumsum, x: ir.Value) -> ir.Value:
    """One generic that folds the sums along the axis, and stores each on the way.

    It is a reduction loop, since its order matters.
    """
    a, dtype, shape = op.values, op.static_operands[0].dtype, shape_of(x)
    rank, axis = len(shape), a.axis % len(shape)
    accumulator = compute_dtype(dtype)
    s = Scalars(accumulator)
    loops = [ir.AffineDimExpr.get(i) for i in range(rank)]
    kept = [loop for i, loop in enumerate(loops) if i != axis]
    element = list(loops)
    if a.reverse:
        element[axis] = shape[axis] - 1 - loops[axis]

    def body(stored: ir.Value, _: ir.Value, total: ir.Value, __: ir.Value) -> list[ir.Value]:
        following = s.add(total, from_storage(stored, dtype))
        result = total if a.exclusive else following
        return [following, to_storage(result, dtype)]

    inits = [
        b.fill([size for i, size in enumerate(shape) if i != axis], accumulator, s.const(0)),
        b.empty(shape, dtype),
    ]
    extent = b.empty(
        shape[axis : axis + 1], dtype
    )  # states the loop's size where every access runs backwards
    return b.generic(
        [x, extent],
        [ir.AffineMap.get(rank, 0, element), ir.AffineMap.get(rank, 0, [loops[axis]])],
        inits,
        [ir.AffineMap.get(rank, 0, kept), ir.AffineMap.get(rank, 0, element)],
        ["reduction" if i == axis else "parallel" for i in range(rank)],
        body,
    )[1]
