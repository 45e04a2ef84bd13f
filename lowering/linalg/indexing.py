"""Lowering of reads and writes at positions held in other tensors.

Reads are generics that compute positions; writes are sequential loops, so that repeated positions
meet their updates in order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

from nnvm_mlir.dialects.nnvm import indexing as ops
from nnvm_mlir.dialects.nnvm.operator import normalize_axis
from nnvm_mlir.dialects.nnvm.types import is_float
from nnvm_mlir.lowering.linalg.builder import LinalgBuilder, from_storage, shape_of, to_storage
from nnvm_mlir.lowering.linalg.loops import for_each
from nnvm_mlir.lowering.linalg.positions import (
    copied,
    gather,
    index,
    loop_index,
    loop_number,
    position,
    valid_positions,
)
from nnvm_mlir.lowering.linalg.registry import lowers
from nnvm_mlir.lowering.linalg.scalars import Scalars, cast
from nnvm_mlir.mlir import arith, ir, tensor


@lowers(ops.Take)
def take(b: LinalgBuilder, op: ops.Take, data: ir.Value, indices: ir.Value) -> ir.Value:
    """One generic that reads the slice which each index names."""
    flat = op.axis is None
    source = b.reshape(data, [prod(shape_of(data))]) if flat else data
    rank, sizes = len(shape_of(source)), shape_of(source)
    axis = 0 if flat else normalize_axis(op.axis, rank)
    shape, dtype = op.static_results[0].shape, op.static_operands[1].dtype
    count = len(shape_of(indices))
    valid = valid_positions(b, indices, dtype, [sizes[axis]])

    def place(value: ir.Value) -> list[ir.Value]:
        before = [loop_index(i) for i in range(axis)]
        after = [loop_index(i + count - 1) for i in range(axis + 1, rank)]
        return [*before, position(value), *after]

    access = [ir.AffineDimExpr.get(axis + i) for i in range(count)]
    return gather(b, source, shape, place, [valid], [_map(shape, access)])


@lowers(ops.GatherElements)
def gather_elements(
    b: LinalgBuilder, op: ops.GatherElements, data: ir.Value, indices: ir.Value
) -> ir.Value:
    """One generic that replaces the position along the axis by the index."""
    shape, sizes, dtype = shape_of(indices), shape_of(data), op.static_operands[1].dtype
    axis = normalize_axis(op.axis, len(shape))
    valid = valid_positions(b, indices, dtype, [sizes[axis]])

    def place(value: ir.Value) -> list[ir.Value]:
        at = [loop_index(i) for i in range(len(shape))]
        at[axis] = position(value)
        return at

    return gather(b, data, shape, place, [valid], [ir.AffineMap.get_identity(len(shape))])


@lowers(ops.GatherNd)
def gather_nd(b: LinalgBuilder, op: ops.GatherNd, data: ir.Value, indices: ir.Value) -> ir.Value:
    """One generic that reads every index of a point, each through a map of its own."""
    batch, sizes, dtype = op.batch_dims, shape_of(data), op.static_operands[1].dtype
    depth, *points = shape_of(indices)
    shape = op.static_results[0].shape
    valid = valid_positions(b, indices, dtype, sizes[batch : batch + depth], along=0)

    def place(*values: ir.Value) -> list[ir.Value]:
        own = [loop_index(i) for i in range(batch)]
        named = [position(value) for value in values]
        return [*own, *named, *(loop_index(i) for i in range(len(points), len(shape)))]

    dims = [ir.AffineDimExpr.get(i) for i in range(len(points))]
    maps = [_map(shape, [ir.AffineConstantExpr.get(i), *dims]) for i in range(depth)]
    return gather(b, data, shape, place, [valid] * depth, maps)


@lowers(ops.ScatterElements)
def scatter_elements(
    b: LinalgBuilder, op: ops.ScatterElements, data: ir.Value, indices: ir.Value, updates: ir.Value
) -> ir.Value:
    """A loop over the updates, in order, that writes into a copy of the data."""
    sizes, dtype = shape_of(data), op.static_operands[1].dtype
    axis = normalize_axis(op.axis, len(sizes))
    valid = valid_positions(b, indices, dtype, [sizes[axis]])

    def place(at: Sequence[ir.Value]) -> list[ir.Value]:
        return [*at[:axis], position(tensor.extract(valid, list(at))), *at[axis + 1 :]]

    return _scatter(b, op, data, updates, place)


@lowers(ops.ScatterNd)
def scatter_nd(
    b: LinalgBuilder, op: ops.ScatterNd, data: ir.Value, indices: ir.Value, updates: ir.Value
) -> ir.Value:
    """A loop over the elements of the updates, in order, that writes into a copy of the data."""
    sizes, dtype = shape_of(data), op.static_operands[1].dtype
    *points, depth = shape_of(indices)
    valid = valid_positions(b, indices, dtype, sizes[:depth], along=len(points))

    def place(at: Sequence[ir.Value]) -> list[ir.Value]:
        point = at[: len(points)]
        named = [position(tensor.extract(valid, [*point, index(i)])) for i in range(depth)]
        return [*named, *at[len(points) :]]

    return _scatter(b, op, data, updates, place)


def _scatter(
    b: LinalgBuilder,
    op: ops.Scattering,
    data: ir.Value,
    updates: ir.Value,
    place: Callable[[Sequence[ir.Value]], list[ir.Value]],
) -> ir.Value:
    """Each update meets the element of a copy of `data` at `place(its own position)`."""
    dtype = op.static_operands[0].dtype
    s = Scalars(dtype)
    combine = {"add": s.add, "mul": s.mul, "max": s.max, "min": s.min}.get(op.reduction)

    def body(at: Sequence[ir.Value], result: ir.Value) -> list[ir.Value]:
        target, value = place(at), tensor.extract(updates, list(at))
        if combine is not None:
            old = from_storage(tensor.extract(result, target), dtype)
            value = to_storage(combine(old, from_storage(value, dtype)), dtype)
        return [tensor.insert(value, result, target)]

    if 0 in shape_of(updates):
        return data
    return for_each(shape_of(updates), [copied(b, data)], body)[0]


@lowers(ops.OneHot)
def one_hot(b: LinalgBuilder, op: ops.OneHot, indices: ir.Value) -> ir.Value:
    """One generic that compares the index with the position along the new axis."""
    a, source, shape = op.values, op.static_operands[0].dtype, op.static_results[0].shape
    axis = normalize_axis(a.axis, len(shape))
    s, values = Scalars("float64" if is_float(source) else "int64"), Scalars(a.dtype)

    def body(stored: ir.Value, _: ir.Value) -> list[ir.Value]:
        wanted = cast(from_storage(stored, source), source, s.dtype)
        from_end = s.add(wanted, s.const(a.depth))
        wanted = s.select(s.lt(wanted, s.const(0)), from_end, wanted)
        hit = s.eq(wanted, cast(loop_number(axis), "int64", s.dtype))
        value = arith.select(hit, values.const(a.on_value), values.const(a.off_value))
        return [to_storage(value, a.dtype)]

    init = b.empty(shape, a.dtype)
    access = [ir.AffineDimExpr.get(i) for i in range(len(shape)) if i != axis]
    identity = ir.AffineMap.get_identity(len(shape))
    iterators = ["parallel"] * len(shape)
    return b.generic([indices], [_map(shape, access)], [init], [identity], iterators, body)[0]


def _map(shape: Sequence[int], access: Sequence[ir.AffineExpr]) -> ir.AffineMap:
    return ir.AffineMap.get(len(shape), 0, list(access))
