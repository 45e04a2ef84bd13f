"""Lowering of operators that pad and repeat."""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain

from nnvm_mlir.dialects.nnvm import expansion as ops
from nnvm_mlir.lowering.linalg.builder import LinalgBuilder, broadcast_map, shape_of
from nnvm_mlir.lowering.linalg.positions import affine_read, clamped, gather, index, loop_index
from nnvm_mlir.lowering.linalg.registry import lowers
from nnvm_mlir.lowering.linalg.scalars import Scalars
from nnvm_mlir.mlir import arith, ir


def _reflected(position: ir.Value, before: int, size: int) -> ir.Value:
    period = max(2 * (size - 1), 1)
    phase = _wrapped(position, before, period)
    return arith.minsi(phase, arith.subi(index(period), phase)) if size > 1 else index(0)


def _wrapped(position: ir.Value, before: int, size: int) -> ir.Value:
    # Shifted by whole periods first: the remainder of a negative number would be negative.
    ahead = -(-before // size) * size - before
    return arith.remui(arith.addi(position, index(ahead)), index(size))


def _nearest(position: ir.Value, before: int, size: int) -> ir.Value:
    return clamped(arith.subi(position, index(before)), size)


# Mode -> from a position in the result, the width before, and the size, to a position in the data.
_SOURCES: dict[str, Callable[[ir.Value, int, int], ir.Value]] = {
    "edge": _nearest,
    "reflect": _reflected,
    "wrap": _wrapped,
}


@lowers(ops.Pad)
def pad(b: LinalgBuilder, op: ops.Pad, x: ir.Value) -> ir.Value:
    """A tensor.pad, or one generic that reads from the position which the mode repeats."""
    a, shape, result = op.values, shape_of(x), op.static_results[0]
    widths = op.widths(a)
    if a.mode == "constant":
        if 0 in shape:
            value = Scalars(result.dtype).const(a.pad_value)
            return b.fill(result.shape, result.dtype, value)
        stored = b.scalar(a.pad_value, result.dtype)
        return b.pad(x, [low for low, _ in widths], [high for _, high in widths], stored)
    source = _SOURCES[a.mode]

    def position() -> list[ir.Value]:
        return [
            source(loop_index(i), low, size) if low or high else loop_index(i)
            for i, ((low, high), size) in enumerate(zip(widths, shape, strict=True))
        ]

    return gather(b, x, result.shape, position)


@lowers(ops.BroadcastTo)
def broadcast_to(b: LinalgBuilder, op: ops.BroadcastTo, x: ir.Value) -> ir.Value:
    """One generic that does not move along the repeated dims."""
    return _broadcast(b, x, op.static_results[0].shape)


@lowers(ops.ExpandLike)
def expand_like(b: LinalgBuilder, op: ops.ExpandLike, x: ir.Value, _: ir.Value) -> ir.Value:
    """A broadcast of the operand with ones along the new axes."""
    shape = op.static_results[0].shape
    return _broadcast(b, b.reshape(x, op.expanded(op.values, shape_of(x), shape)), shape)


@lowers(ops.Tile)
def tile(b: LinalgBuilder, op: ops.Tile, x: ir.Value) -> ir.Value:
    """A broadcast along a dim of repetitions before each dim, seen under the result's shape."""
    aligned = op.aligned(op.values, shape_of(x))
    single = b.reshape(x, list(chain.from_iterable((1, size) for _, size in aligned)))
    repeated = _broadcast(b, single, tuple(chain.from_iterable(aligned)))
    return b.reshape(repeated, op.static_results[0].shape)


def _broadcast(b: LinalgBuilder, x: ir.Value, shape: tuple[int, ...]) -> ir.Value:
    own = shape_of(x)
    if own == tuple(shape):
        return x
    access = broadcast_map(own, shape).results
    return affine_read(b, x, shape, list(access))
