"""Lowering of operators that cut, join and mirror: slices, and generics with affine reads."""

from __future__ import annotations

from itertools import pairwise

from nnvm_mlir.dialects.nnvm import slicing as ops
from nnvm_mlir.dialects.nnvm.operator import normalize_axis
from nnvm_mlir.lowering.linalg.builder import LinalgBuilder, shape_of
from nnvm_mlir.lowering.linalg.positions import affine_read, clamped, gather, index, loop_index
from nnvm_mlir.lowering.linalg.registry import lowers
from nnvm_mlir.mlir import arith, ir


@lowers(ops.Concatenate)
def concatenate(b: LinalgBuilder, op: ops.Concatenate, *parts: ir.Value) -> ir.Value:
    """Insertions into the result."""
    return b.concatenate(parts, normalize_axis(op.axis, len(shape_of(parts[0]))))


@lowers(ops.Split)
def split(b: LinalgBuilder, op: ops.Split, x: ir.Value) -> list[ir.Value]:
    """One slice for each part."""
    shape = shape_of(x)
    rank, axis = len(shape), normalize_axis(op.axis, len(shape))
    parts = []
    for low, high in pairwise(op.bounds(op.values, shape[axis])):
        offsets, sizes = [0] * rank, list(shape)
        offsets[axis], sizes[axis] = low, high - low
        parts.append(_part(b, x, offsets, sizes))
    return parts


@lowers(ops.SliceLike)
def slice_like(b: LinalgBuilder, op: ops.SliceLike, x: ir.Value, _: ir.Value) -> ir.Value:
    """A slice from the origin."""
    return _part(b, x, [0] * len(shape_of(x)), list(op.static_results[0].shape))


@lowers(ops.StridedSlice)
def strided_slice(b: LinalgBuilder, op: ops.StridedSlice, x: ir.Value) -> ir.Value:
    """A slice; with a negative stride a generic, since slices only go forwards."""
    taken = op.ranges(op.values, shape_of(x))
    sizes = [len(r) for r in taken]
    if 0 not in sizes and any(r.step < 0 for r in taken):
        access = [ir.AffineDimExpr.get(i) * r.step + r.start for i, r in enumerate(taken)]
        return affine_read(b, x, sizes, access)
    return _part(b, x, [r.start for r in taken], sizes, [r.step for r in taken])


@lowers(ops.Flip)
def flip(b: LinalgBuilder, op: ops.Flip, x: ir.Value) -> ir.Value:
    """One generic that reads backwards along the axis."""
    shape = shape_of(x)
    axis = normalize_axis(op.axis, len(shape))
    access: list[ir.AffineExpr] = [ir.AffineDimExpr.get(i) for i in range(len(shape))]
    access[axis] = access[axis] * -1 + (shape[axis] - 1)
    return affine_read(b, x, shape, access)


@lowers(ops.Trilu)
def trilu(b: LinalgBuilder, op: ops.Trilu, x: ir.Value) -> ir.Value:
    """One generic that selects between the element and zero by its row and column."""
    a, shape = op.values, shape_of(x)
    rank = len(shape)
    identity = ir.AffineMap.get_identity(rank)
    keeps = arith.CmpIPredicate.sge if a.upper else arith.CmpIPredicate.sle
    dtype = op.static_operands[0].dtype

    def body(value: ir.Value, _: ir.Value) -> list[ir.Value]:
        diagonal = arith.addi(loop_index(rank - 2), index(a.k))
        inside = arith.cmpi(keeps, loop_index(rank - 1), diagonal)
        return [arith.select(inside, value, b.scalar(0, dtype))]

    init = b.empty(shape, dtype)
    return b.generic([x], [identity], [init], [identity], ["parallel"] * rank, body)[0]


@lowers(ops.ReverseSequence)
def reverse_sequence(
    b: LinalgBuilder, op: ops.ReverseSequence, x: ir.Value, lengths: ir.Value
) -> ir.Value:
    """One generic that reads from the mirrored position within each sequence."""
    batch, time = op.axes(op.values, len(shape_of(x)))
    shape = shape_of(x)
    rank = len(shape)

    def position(length: ir.Value) -> list[ir.Value]:
        at = [loop_index(i) for i in range(rank)]
        last = arith.subi(arith.index_cast(ir.IndexType.get(), length), index(1))
        last = arith.minsi(last, index(shape[time] - 1))
        inside = arith.cmpi(arith.CmpIPredicate.sle, at[time], last)
        mirrored = clamped(arith.subi(last, at[time]), shape[time])
        at[time] = arith.select(inside, mirrored, at[time])
        return at

    per_batch = ir.AffineMap.get(rank, 0, [ir.AffineDimExpr.get(batch)])
    return gather(b, x, shape, position, [lengths], [per_batch])


def _part(
    b: LinalgBuilder,
    x: ir.Value,
    offsets: list[int],
    sizes: list[int],
    strides: list[int] | None = None,
) -> ir.Value:
    """A slice of `x`, which for an empty one is no access at all."""
    if 0 in sizes:
        return b.reshape(b.slice(x, [0] * len(sizes), [0] * len(sizes), [1] * len(sizes)), sizes)
    return b.slice(x, offsets, sizes, strides or [1] * len(sizes))
