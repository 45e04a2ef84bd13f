"""Lowering of selections by order, top_k: a stable merge sort of the positions of each row."""

from __future__ import annotations

from collections.abc import Callable
from math import prod

from nnvm_mlir.dialects.nnvm import selection as ops
from nnvm_mlir.dialects.nnvm.operator import normalize_axis
from nnvm_mlir.lowering.linalg.builder import LinalgBuilder, from_storage, shape_of
from nnvm_mlir.lowering.linalg.loops import for_loop
from nnvm_mlir.lowering.linalg.positions import index, position
from nnvm_mlir.lowering.linalg.registry import lowers
from nnvm_mlir.lowering.linalg.scalars import Scalars
from nnvm_mlir.mlir import arith, ir, tensor

Precedes = Callable[[ir.Value, ir.Value], ir.Value]
"""Whether the element at one position must come before that at another, as an i1."""


@lowers(ops.TopK)
def top_k(b: LinalgBuilder, op: ops.TopK, data: ir.Value) -> list[ir.Value]:
    """Sorts the positions of each row along the axis, and keeps the first k with their elements."""
    a, dtype, shape = op.values, op.static_operands[0].dtype, shape_of(data)
    rank, axis = len(shape), normalize_axis(a.axis, len(shape))
    to_last = [*(i for i in range(rank) if i != axis), axis]
    outer, size = [shape[i] for i in to_last[:-1]], shape[axis]
    if prod(outer) * a.k == 0:
        return [b.empty(t.shape, t.dtype) for t in op.static_results]
    rows = b.reshape(b.transpose(data, to_last), [prod(outer), size])

    def row_body(row: ir.Value, *carried: ir.Value) -> list[ir.Value]:
        def precedes(i: ir.Value, j: ir.Value) -> ir.Value:
            x, y = (from_storage(tensor.extract(rows, [row, at]), dtype) for at in (i, j))
            return _precedes(Scalars(dtype), x, y, a.largest)

        *results, front, back = carried
        order, scratch = _sorted_positions(size, front, back, precedes)

        def keep(place: ir.Value, values: ir.Value, positions: ir.Value) -> list[ir.Value]:
            kept = tensor.extract(order, [place])
            value = tensor.extract(rows, [row, position(kept)])
            return [
                tensor.insert(value, values, [row, place]),
                tensor.insert(kept, positions, [row, place]),
            ]

        return [*for_loop(0, a.k, results, keep), *scratch]

    inits = [b.empty([prod(outer), a.k], d) for d in (dtype, "int64")]
    scratch = [b.empty([size], "int64") for _ in range(2)]
    results = for_loop(0, prod(outer), [*inits, *scratch], row_body)[:2]
    from_last = [to_last.index(i) for i in range(rank)]
    return [b.transpose(b.reshape(result, [*outer, a.k]), from_last) for result in results]


def _sorted_positions(
    size: int, front: ir.Value, back: ir.Value, precedes: Precedes
) -> tuple[ir.Value, tuple[ir.Value, ir.Value]]:
    """The positions 0..size-1 in order, and the two buffers in which they were sorted."""
    int64 = Scalars("int64").type
    (front,) = for_loop(
        0, size, [front], lambda i, t: [tensor.insert(arith.index_cast(int64, i), t, [i])]
    )
    buffers, current, width = [front, back], 0, 1
    while width < size:
        source, target = buffers[current], buffers[1 - current]
        buffers[1 - current] = _merge_pass(size, width, source, target, precedes)
        current, width = 1 - current, 2 * width
    return buffers[current], (buffers[0], buffers[1])


def _merge_pass(
    size: int, width: int, source: ir.Value, target: ir.Value, precedes: Precedes
) -> ir.Value:
    """`target` with every two neighbouring sorted runs of `source`, of a width, merged into one."""

    def end(start: ir.Value, length: int) -> ir.Value:
        return arith.minsi(arith.addi(start, index(length)), index(size))

    def merge(start: ir.Value, target: ir.Value) -> list[ir.Value]:
        middle, stop = end(start, width), end(start, 2 * width)

        def step(
            place: ir.Value, left: ir.Value, right: ir.Value, target: ir.Value
        ) -> list[ir.Value]:
            # Both sides are read, even one that is used up: that read is clamped, and ignored.
            candidates = [
                tensor.extract(source, [arith.minsi(side, index(size - 1))])
                for side in (left, right)
            ]
            left_done = arith.cmpi(arith.CmpIPredicate.sge, left, middle)
            right_open = arith.cmpi(arith.CmpIPredicate.slt, right, stop)
            sooner = precedes(position(candidates[1]), position(candidates[0]))
            takes_right = arith.andi(right_open, arith.ori(left_done, sooner))
            taken = arith.select(takes_right, candidates[1], candidates[0])
            moved = arith.index_castui(ir.IndexType.get(), takes_right)
            kept = arith.subi(index(1), moved)
            return [
                arith.addi(left, kept),
                arith.addi(right, moved),
                tensor.insert(taken, target, [place]),
            ]

        return for_loop(start, stop, [start, middle, target], step)[2:]

    return for_loop(0, size, [target], merge, step=2 * width)[0]


def _precedes(s: Scalars, x: ir.Value, y: ir.Value, largest: bool) -> ir.Value:
    """Whether x comes strictly before y; NaN is the largest."""
    before = s.gt(x, y) if largest else s.lt(x, y)
    if not s.is_float:
        return before
    greatest, other = (x, y) if largest else (y, x)
    is_number = arith.xori(s.is_nan(other), Scalars("bool").const(True))
    return arith.ori(before, arith.andi(s.is_nan(greatest), is_number))
