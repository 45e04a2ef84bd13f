"""Emits a scheduled reduction: loops over register tiles, whose accumulators stay in registers
through all reduction loops.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from nnvm_mlir.lowering.cpu.affine import Form
from nnvm_mlir.lowering.cpu.emitter import Emitter, Index, Unsupported
from nnvm_mlir.lowering.cpu.expressions import Evaluation
from nnvm_mlir.lowering.cpu.prefetch import weight_stream
from nnvm_mlir.lowering.cpu.reduction_problem import Problem
from nnvm_mlir.lowering.cpu.schedule import Schedule, even_split
from nnvm_mlir.lowering.cpu.structured import Access, Argument, Constant, Guard
from nnvm_mlir.lowering.cpu.tile_padding import Point, TilePadding
from nnvm_mlir.lowering.cpu.tile_reduction import TileReduction
from nnvm_mlir.mlir import ir, vector


@dataclass(frozen=True)
class Segment:
    """`count` tiles of `width` from `start` on, along one loop. A single tile is at `start`."""

    start: int
    width: int
    count: int


class RegisterTile:
    """The generator for one kernel.

    Args:
        e: the emitter, at the start of the kernel's body.
        problem: what to compute.
        schedule: how.
        inputs: the kernel's input buffers.
        outputs: the kernel's output buffers.
        name: a prefix for the tables of constants that it needs.
    """

    def __init__(
        self,
        e: Emitter,
        problem: Problem,
        schedule: Schedule,
        inputs: Sequence[ir.Value],
        outputs: Sequence[ir.Value],
        name: str,
    ):
        self.e = e
        self.problem = problem
        self.schedule = schedule
        self.inputs = inputs
        self.outputs = outputs
        self._name = name
        self.stream = weight_stream(problem, schedule, e.target.l2_bytes)
        self._tables: dict[tuple[int, ...], tuple[ir.Value | None, list[int | None]]] = {}

    def emit(self) -> None:
        """Emits the loops over all tiles."""
        segments = [self._segments(loop) for loop in self.schedule.order]
        shared = self.schedule.parallel
        if not shared:
            self._nest(segments, {}, {})
            return
        counts = [sum(s.count for s in segments[level]) for level in range(shared)]

        def body(flat: Index) -> None:
            ordinals = []
            for count in reversed(counts[1:]):
                ordinals.append(self.e.rem(flat, count))
                flat = self.e.div(flat, count)
            self._nest(segments, {}, {}, [flat, *reversed(ordinals)])

        self.e.parallel(0, math.prod(counts), 1, body)

    def _segments(self, loop: int) -> list[Segment]:
        """Cuts a loop into tiles; those that padding or a partial vector touches stand alone."""
        problem = self.problem
        size, width = problem.sizes[loop], self.schedule.widths[loop]
        segments: list[Segment] = []
        start = 0
        for part, count in even_split(size, width):
            for _ in range(count):
                partial = loop == problem.block and problem.tail < problem.lanes
                alone = (partial and not problem.dot and start + part == size) or (
                    (width > 1 or self._masks_lanes(loop))
                    and self._touches_padding(loop, start, part)
                )
                last = segments[-1] if segments else None
                if last and last.width == part and not alone and last.count > 0:
                    segments[-1] = Segment(last.start, part, last.count + 1)
                else:
                    segments.append(Segment(start, part, -1 if alone else 1))
                start += part
        return [Segment(s.start, s.width, abs(s.count)) for s in segments]

    def _touches_padding(self, loop: int, start: int, width: int) -> bool:
        for guard in self._guards(loop):
            inside = Form(
                tuple(c if d != loop else 0 for d, c in enumerate(guard.form.coefficients)),
                guard.form.offset + guard.form.coefficients[loop] * start,
            )
            low, high = inside.bounds(self.problem.sizes)
            reach = guard.form.coefficients[loop] * (width - 1)
            if min(low, low + reach) < 0 or max(high, high + reach) >= guard.size:
                return True
        return False

    def _masks_lanes(self, loop: int) -> bool:
        lane_loop = self.problem.lane_loop
        return any(g.form.coefficients[lane_loop] for g in self._guards(loop))

    def _guards(self, loop: int) -> list[Guard]:
        return [
            g for o in self.problem.operands for g in o.access.guards if g.form.coefficients[loop]
        ]

    def _nest(
        self,
        segments: Sequence[list[Segment]],
        origin: dict[int, Index],
        widths: dict[int, int],
        ordinals: Sequence[Index] = (),
    ) -> None:
        """Emits the loops from level `len(origin)` on. `ordinals` are the tiles already chosen by the parallel loop."""
        level = len(origin)
        if level == len(segments):
            Tile(self, origin, widths).emit()
            return
        loop = self.schedule.order[level]

        def inner(segment: Segment, start: Index) -> None:
            self._nest(segments, {**origin, loop: start}, {**widths, loop: segment.width}, ordinals)

        if level < len(ordinals):
            self._pick(segments[level], ordinals[level], inner)
            return
        for segment in segments[level]:
            stop = segment.start + segment.count * segment.width
            self.e.loop(
                segment.start, stop, segment.width, lambda start, s=segment: inner(s, start)
            )

    def _pick(
        self, segments: list[Segment], ordinal: Index, body: Callable[[Segment, Index], None]
    ) -> None:
        """Emits `body` for the tile number `ordinal`."""
        first, *others = segments
        start = (
            first.start
            if first.count == 1
            else self.e.add(self.e.mul(ordinal, first.width), first.start)
        )
        if not others:
            body(first, start)
            return
        self.e.when(
            self.e.less(ordinal, first.count),
            lambda: body(first, start),
            lambda: self._pick(others, self.e.sub(ordinal, first.count), body),
        )

    def table(self, loops: tuple[int, ...]) -> tuple[ir.Value | None, list[int | None]]:
        """Offsets of every tap of `loops` (flattened, outermost first).

        Returns:
            A table with, for each tap, the offset in each operand that has no constant step; and
            these steps.
        """
        if loops not in self._tables:
            ranges = [range(self.problem.sizes[d]) for d in loops]
            columns = [
                [
                    sum(o.access.form.coefficients[d] * i for d, i in zip(loops, tap, strict=True))
                    for tap in itertools.product(*ranges)
                ]
                for o in self.problem.operands
            ]
            steps = [_constant_step(column) for column in columns]
            irregular = [c for c, step in zip(columns, steps, strict=True) if step is None]
            table = None
            if irregular:
                flat = [offset for row in zip(*irregular, strict=True) for offset in row]
                table = self.e.table(flat, f"{self._name}_taps{len(self._tables)}")
            self._tables[loops] = (table, steps)
        return self._tables[loops]


class Tile:
    """One register tile.

    Attributes:
        kernel: the kernel that it is part of.
        origin: its position along each parallel loop.
        points: its elements, as offsets from the origin along every loop of the problem.
    """

    def __init__(self, kernel: RegisterTile, origin: dict[int, Index], widths: dict[int, int]):
        self.kernel = kernel
        self.e = kernel.e
        self.problem = kernel.problem
        self.schedule = kernel.schedule
        self.origin = origin
        dims = range(len(self.problem.sizes))
        extents = [range(widths.get(d, 1)) for d in self.schedule.order]
        self.points = [
            tuple(dict(zip(self.schedule.order, offsets, strict=True)).get(d, 0) for d in dims)
            for offsets in itertools.product(*extents)
        ]
        self.padding = TilePadding(self.problem, self.schedule, origin)
        self._result_lanes = None if self.problem.dot else self.problem.lanes
        self._bases: dict[Form, Index] = {}
        self._loaded: dict[tuple, ir.Value] = {}

    def emit(self) -> None:
        """Emits initial values, reduction and epilogue."""
        problem, e = self.problem, self.e
        initial = [self._evaluation(point).value(problem.init) for point in self.points]
        self._loaded.clear()
        if problem.dot:
            zero = e.constant(0, problem.main.elements[0], problem.lanes)
            partial = TileReduction(self).emit([zero] * len(self.points))
            combine = problem.combine.operation
            accumulators = [
                e.op(combine, [first, e.sum(sums)], first.type)
                for first, sums in zip(initial, partial, strict=True)
            ]
        else:
            accumulators = TileReduction(self).emit(initial)
        for point, accumulator in zip(self.points, accumulators, strict=True):
            evaluation = self._evaluation(point, [accumulator])
            for buffer, (node, form) in zip(self.kernel.outputs, problem.results, strict=True):
                value, at = evaluation.value(node), self._position(form, point)
                stride = 1 if problem.dot else form.coefficients[-1]
                if stride == 1:
                    e.store(value, buffer, at, self._mask(point))
                else:
                    e.scatter(value, buffer, at, stride, self._mask(point))

    def base(self, form: Form) -> Index:
        """Value of a form at the tile's origin, for the first iteration of the reduction and the first lane."""
        if form not in self._bases:
            loops = self.problem.parallel_loops
            self._bases[form] = self.e.linear(
                [form.coefficients[d] for d in loops], [self.origin[d] for d in loops], form.offset
            )
        return self._bases[form]

    def shift(self, form: Form, point: Point) -> int:
        """How much larger a form is at `point` than at the origin."""
        return sum(c * p for c, p in zip(form.coefficients, point, strict=True))

    def read(
        self, buffer: ir.Value, at: Index, stride: int, mask: ir.Value | None, other: float = 0
    ) -> ir.Value:
        """Elements `stride` apart for the lanes of `mask`, `other` in the rest; one for all lanes for stride 0."""
        lanes = self.problem.lanes
        if stride == 0:
            return self.e.broadcast(self.e.load(buffer, at), self._result_lanes)
        if stride == 1:
            return self.e.load(buffer, at, lanes, mask, other)
        return self.e.gather(buffer, at, stride, lanes, mask, other)

    def _position(self, form: Form, point: Point) -> Index:
        return self.e.add(self.base(form), self.shift(form, point))

    def _mask(self, point: Point) -> ir.Value | None:
        """The lanes of the output that are in use; None where all are, and for scalars."""
        count = self.padding.lanes_in_use(point)
        return None if count == self.problem.lanes else self.e.mask(count, self.problem.lanes)

    def _load(self, access: Access, point: Point) -> ir.Value:
        """What an operand of the initial value or the epilogue reads at `point`."""
        if isinstance(access.source, Constant):
            return self.e.constant(access.source.value, access.element, self._result_lanes)
        if not isinstance(access.source, Argument):
            raise Unsupported("a read of an undefined value")
        stride = 0 if self.problem.dot else access.form.coefficients[-1]
        mask = self._mask(point) if stride else None
        key = (access.source, access.form, self.shift(access.form, point), mask)
        if key not in self._loaded:
            buffer = self.kernel.inputs[access.source.index]
            at = self._position(access.form, point)
            self._loaded[key] = self.read(buffer, at, stride, mask)
        return self._loaded[key]

    def _evaluation(self, point: Point, accumulators: Sequence[ir.Value] = ()) -> Evaluation:
        def position(loop: int) -> ir.Value:
            lanes = self._result_lanes
            if loop == self.problem.lane_loop:
                return vector.StepOp(ir.VectorType.get([lanes], ir.IndexType.get())).result
            return self.e.broadcast(self.e.index(self.e.add(self.origin[loop], point[loop])), lanes)

        return Evaluation(
            self.e,
            self._result_lanes,
            lambda access: self._load(access, point),
            accumulators,
            position,
        )


def _constant_step(offsets: Sequence[int]) -> int | None:
    """The step of an arithmetic progression from 0, None if `offsets` are none."""
    step = offsets[1] if len(offsets) > 1 else 0
    return step if all(o == n * step for n, o in enumerate(offsets)) else None
