"""Software prefetching of weights that do not fit the second-level cache.

Without it the arithmetic waits for the weights whenever they were not used just before, which is
the normal case in a network. While one group of output channels is computed, its weights are read
once for each tile of rows; each of these passes asks for an equal share of the next group's weights
("spread"), and for its own a few steps ahead.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from nnvm_mlir.lowering.cpu.emitter import Emitter, Index
from nnvm_mlir.lowering.cpu.reduction_problem import Operand, Problem
from nnvm_mlir.lowering.cpu.schedule import Schedule
from nnvm_mlir.lowering.cpu.structured import Argument
from nnvm_mlir.mlir import ir

# Reduction steps ahead: a step takes about 14 cycles, so that this covers the latency of a
# third-level cache or more.
_STEPS_AHEAD = 32


@dataclass(frozen=True)
class WeightStream:
    """How the weights are streamed.

    Attributes:
        operand: the weights' number among the problem's operands.
        step: elements from one reduction step to the next.
        group: elements from one tile of output channels to the next, all of which the tile reads.
        vectors: vectors that a step reads.
        rows: the loops over rows, outermost first.
        passes: how often a group is read: the number of row tiles.
    """

    operand: int
    step: int
    group: int
    vectors: int
    rows: tuple[int, ...]
    passes: int


def weight_stream(problem: Problem, schedule: Schedule, l2_bytes: int) -> WeightStream | None:
    """The stream of weights to prefetch; None where that would not pay."""
    streamed = [n for n, o in enumerate(problem.operands) if o.is_vector]
    if (
        len(streamed) != 1
        or len(problem.operands) != 2
        or problem.dot
        or schedule.flat
        or schedule.window is not None
    ):
        return None
    weights = problem.operands[streamed[0]]
    if (
        not isinstance(weights.access.source, Argument)
        or 2 * weights.footprint(problem.sizes) <= l2_bytes
    ):
        return None
    coefficients = weights.access.form.coefficients
    if weights.lane_stride != 1:
        return None
    columns = [
        d for d in schedule.order if coefficients[d] and problem.sizes[d] > schedule.widths[d]
    ]
    if not columns:
        return None
    group = coefficients[columns[-1]] * schedule.widths[columns[-1]]
    if group != _span(problem, schedule, weights):
        return None
    rows = tuple(
        d for d in schedule.order[schedule.order.index(columns[-1]) + 1 :] if not coefficients[d]
    )
    passes = math.prod(-(-problem.sizes[d] // schedule.widths[d]) for d in rows)
    if passes == 1:
        return None
    vectors = math.prod(schedule.widths[d] for d in problem.parallel_loops if coefficients[d])
    step = coefficients[schedule.reductions[-1]]
    return WeightStream(streamed[0], step, group, vectors, rows, passes)


def _span(problem: Problem, schedule: Schedule, weights: Operand) -> int:
    """Elements between the first and the last that one tile reads."""
    extents = [1 if d in problem.parallel_loops else size for d, size in enumerate(problem.sizes)]
    for d in problem.parallel_loops:
        extents[d] = schedule.widths[d]
    low, high = weights.access.form.bounds(extents)
    return high - low + 1


class Prefetcher:
    """Emits the prefetches of one tile.

    Args:
        e: the emitter.
        stream: what to prefetch.
        sizes: the problem's loops.
        buffer: the weights.
        base: where the tile's weights begin.
        origin: the tile's position along the loops.
    """

    def __init__(
        self,
        e: Emitter,
        stream: WeightStream,
        sizes: tuple[int, ...],
        buffer: ir.Value,
        base: Index,
        origin: Mapping[int, Index],
    ):
        self._e = e
        self._stream = stream
        self.operand = stream.operand
        self._buffer = buffer
        self._base = base
        row: Index = 0
        for d in stream.rows:
            row = e.add(e.mul(row, sizes[d]), origin[d])
        total = math.prod(sizes[d] for d in stream.rows)
        share = e.div(e.mul(row, stream.group), total)
        self._next = e.add(base, share, stream.group)

    def step(self, at: Index) -> None:
        """Called once a reduction step with the position of its first vector of weights."""
        e, stream = self._e, self._stream
        progress = e.mul(e.sub(at, self._base), stream.vectors)
        e.prefetch(self._buffer, e.add(self._next, e.div(progress, stream.passes)), locality=2)

    def vector(self, at: Index) -> None:
        """Called for each vector of weights that is loaded."""
        e = self._e
        e.prefetch(self._buffer, e.add(at, _STEPS_AHEAD * self._stream.step), locality=3)
