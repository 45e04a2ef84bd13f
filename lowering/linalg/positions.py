"""Generics that read elements at computed positions, and arithmetic on such positions."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from nnvm_mlir.lowering.linalg.builder import LinalgBuilder, shape_of
from nnvm_mlir.lowering.linalg.registry import STATUS
from nnvm_mlir.lowering.linalg.scalars import Scalars, cast
from nnvm_mlir.mlir import arith, func, ir, linalg, memref, scf, tensor


def index(value: int) -> ir.Value:
    """A constant position."""
    return arith.constant(ir.IndexType.get(), value)


def loop_index(dim: int) -> ir.Value:
    """The position of the enclosing generic's loop over a dimension."""
    return linalg.IndexOp(dim).result


def loop_number(dim: int, dtype: str = "int64") -> ir.Value:
    """The position of the enclosing generic's loop over a dimension, as a number of a dtype."""
    return arith.index_cast(Scalars(dtype).type, loop_index(dim))


def valid_positions(
    b: LinalgBuilder, indices: ir.Value, dtype: str, sizes: Sequence[int], along: int | None = None
) -> ir.Value:
    """Indices that are data, as positions that are certainly in range: int64, negative ones counted from the end.

    An index out of range is reported in the kernel's status, and moved to the nearest end.

    Args:
        b: the builder.
        indices: a tensor of integers.
        dtype: its nnvm dtype.
        sizes: of the axes that the indices are positions on.
        along: the dim of `indices` that counts these axes; None for one axis.
    """
    shape = shape_of(indices)
    s = Scalars("int64")
    table = b.constant(np.array(sizes, np.int64))

    def body(stored: ir.Value, _: ir.Value) -> list[ir.Value]:
        size = tensor.extract(table, [index(0) if along is None else loop_index(along)])
        position = cast(stored, dtype, "int64")
        wrapped = s.add(position, size)
        position = s.select(s.lt(position, s.const(0)), wrapped, position)
        last = s.sub(size, s.const(1))
        nearest = s.min(s.max(position, s.const(0)), last)
        _report(s.ne(nearest, position))
        return [nearest]

    identity = ir.AffineMap.get_identity(len(shape))
    init = b.empty(shape, "int64")
    return b.generic([indices], [identity], [init], [identity], ["parallel"] * len(shape), body)[0]


def _report(failed: ir.Value) -> None:
    """Stores 1 in the status of the enclosing kernel where the i1 holds."""
    block = ir.InsertionPoint.current.block
    while not isinstance(block.owner, func.FuncOp):
        block = block.owner.operation.block
    status = block.owner.arguments[block.owner.attributes[STATUS].value]
    with ir.InsertionPoint(scf.IfOp(failed).then_block):
        memref.store(Scalars("int64").const(1), status, [index(0)])
        scf.YieldOp([])


def position(stored: ir.Value) -> ir.Value:
    """An integer, such as an element of `valid_positions`, as an index."""
    return arith.index_cast(ir.IndexType.get(), stored)


def clamped(position: ir.Value, size: int) -> ir.Value:
    """A position moved into 0..size-1."""
    return arith.minsi(arith.maxsi(position, index(0)), index(size - 1))


def gather(
    b: LinalgBuilder,
    x: ir.Value,
    shape: Sequence[int],
    position: Callable[..., Sequence[ir.Value]],
    inputs: Sequence[ir.Value] = (),
    maps: Sequence[ir.AffineMap] = (),
) -> ir.Value:
    """A tensor of `shape` whose elements are read from `x` at computed positions.

    Args:
        b: the builder.
        x: the tensor read from.
        shape: the result's shape.
        position: from one stored scalar of each input to the position in `x` (one index for each of
            its dims); `loop_index` gives the position in the result.
        inputs: tensors that the positions depend on.
        maps: how each of them is read by the loops over the result.
    """
    init = tensor.EmptyOp(list(shape), ir.RankedTensorType(x.type).element_type).result
    identity = ir.AffineMap.get_identity(len(shape))
    return b.generic(
        inputs,
        maps,
        [init],
        [identity],
        ["parallel"] * len(shape),
        lambda *scalars: [tensor.extract(x, list(position(*scalars[:-1])))],
    )[0]


def affine_read(
    b: LinalgBuilder, x: ir.Value, shape: Sequence[int], access: Sequence[ir.AffineExpr]
) -> ir.Value:
    """A tensor of `shape` whose elements `x` has at affine functions of their position."""
    init = tensor.EmptyOp(list(shape), ir.RankedTensorType(x.type).element_type).result
    rank = len(shape)
    return b.generic(
        [x],
        [ir.AffineMap.get(rank, 0, list(access))],
        [init],
        [ir.AffineMap.get_identity(rank)],
        ["parallel"] * rank,
        lambda value, _: [value],
    )[0]


def copied(b: LinalgBuilder, x: ir.Value) -> ir.Value:
    """A copy of `x` that may be written to."""
    shape = shape_of(x)
    return affine_read(b, x, shape, [ir.AffineDimExpr.get(i) for i in range(len(shape))])
