"""Generics that read elements at computed positions, and arithmetic on such positions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

from nnvm_mlir.dialects.nnvm.types import is_unsigned
from nnvm_mlir.lowering.linalg.builder import LinalgBuilder, shape_of

from nnvm_mlir.mlir import arith, ir, linalg, tensor


def index(value: int) -> ir.Value:
    """A constant position."""
    return arith.constant(ir.IndexType.get(), value)


def loop_index(dim: int) -> ir.Value:
    """The position of the enclosing generic's loop over a dimension."""
    return linalg.IndexOp(dim).result


def checked_index(value: ir.Value, dtype: str, size: int) -> ir.Value:
    """An index that is data, as a position in 0..size-1: negative ones count from the end.

    Whatever the data, the result is in range: an index out of range is moved to the nearest end.
    """
    to_index = arith.index_castui if is_unsigned(dtype) else arith.index_cast
    position = to_index(ir.IndexType.get(), value)
    if not is_unsigned(dtype):
        negative = arith.cmpi(arith.CmpIPredicate.slt, position, index(0))
        position = arith.select(negative, arith.addi(position, index(size)), position)
    return clamped(position, size)


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
    if prod(shape) == 0:
        return init
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
    if prod(shape) == 0:
        return init
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
