"""Emits a scheduled reduction: loops over register tiles, whose accumulators stay in registers through all reduction loops."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from nnvm_mlir.lowering.cpu.affine import Form
from nnvm_mlir.lowering.cpu.reduction_problem import Operand, Problem
from nnvm_mlir.lowering.cpu.emitter import Emitter, Index, Unsupported
from nnvm_mlir.lowering.cpu.expressions import Evaluation, emit_region
from nnvm_mlir.lowering.cpu.prefetch import Prefetcher, weight_stream
from nnvm_mlir.lowering.cpu.schedule import Schedule, even_split
from nnvm_mlir.lowering.cpu.structured import Access, Argument, Constant, Guard
from nnvm_mlir.mlir import ir, vector


@dataclass(frozen=True)
class Segment:
    """`count` tiles of `width` from `start` on, along one loop. A single tile has a known position."""

    start: int
    width: int
    count: int


@dataclass(frozen=True)
class Tap:
    """One combination of unrolled reduction iterations: what it adds to each operand's position, and its window index."""

    offsets: tuple[int, ...]
    window: int = 0


class RegisterTile:
    """The generator for one kernel.

    Args:
        e: the emitter, at the start of the kernel's body.
        problem: what to compute.
        schedule: how.
        inputs: the kernel's input buffers.
        outputs: the kernel's output buffers.
    """

    def __init__(
        self,
        e: Emitter,
        problem: Problem,
        schedule: Schedule,
        inputs: Sequence[ir.Value],
        outputs: Sequence[ir.Value],
    ):
        self.e = e
        self.problem = problem
        self.schedule = schedule
        self.inputs = inputs
        self.outputs = outputs
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
            A table with, for each tap, the offset in each operand that has no constant step; and these steps.
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
                name = ir.StringAttr(self.problem.kernel.function.attributes["sym_name"]).value
                flat = [offset for row in zip(*irregular, strict=True) for offset in row]
                table = self.e.table(flat, f"{name}_taps{len(self._tables)}")
            self._tables[loops] = (table, steps)
        return self._tables[loops]


class Tile:
    """One register tile: `origin` is its position along each parallel loop, `widths` its extent."""

    def __init__(self, kernel: RegisterTile, origin: dict[int, Index], widths: dict[int, int]):
        self.e = kernel.e
        self.kernel = kernel
        self.problem = problem = kernel.problem
        self.schedule = kernel.schedule
        self.origin = origin
        dims = len(self.problem.sizes)
        self.points = [
            tuple(dict(zip(widths, offsets, strict=True)).get(d, 0) for d in range(dims))
            for offsets in itertools.product(*(range(w) for w in widths.values()))
        ]
        self._bases: dict[Form, Index] = {}
        self._loaded: dict[tuple, ir.Value] = {}
        self._prefetcher: Prefetcher | None = None
        self._fixed: dict[int, int] = {}  # reduction loops that are being unrolled, with the iteration
        self._last_block = problem.block is None  # of a dot product
        self._result_lanes = None if problem.dot else problem.lanes
        self._split_guards()

    def emit(self) -> None:
        """Emits initial values, reduction and epilogue."""
        initial = [self._evaluation(point).value(self.problem.init) for point in self.points]
        self._loaded.clear()
        accumulators = initial
        if self.problem.dot:
            zero = self.e.constant(0, self.problem.main.elements[0], self.problem.lanes)
            accumulators = [zero] * len(self.points)
        at = [self._base(o.access.form) for o in self.problem.operands]
        stream = self.kernel.stream
        if stream is not None:
            source = self.problem.operands[stream.operand].access.source
            self._prefetcher = Prefetcher(
                self.e,
                stream,
                self.problem.sizes,
                self.kernel.inputs[source.index],
                at[stream.operand],
                self.origin,
            )
        live = list(range(len(self.points)))

        def reduce(_: Index, *values: ir.Value) -> list[ir.Value]:
            return self._descend(self._reduction_loops(), live, list(values), at)

        if self._presence:
            upper: Index = 1
            for guard in self._presence:
                value = self._base(guard.form)
                inside = self.e.minimum(self.e.add(value, 1), self.e.sub(guard.size, value))
                upper = self.e.minimum(upper, self.e.maximum(inside, 0))
            accumulators = self.e.loop(0, upper, 1, reduce, accumulators)
        else:
            accumulators = reduce(0, *accumulators)
        if self.problem.dot:
            combine = self.problem.combine
            accumulators = [
                self.e.op(combine.operation, [first, self.e.sum(sums)], first.type)
                for first, sums in zip(initial, accumulators, strict=True)
            ]
        for point, accumulator in zip(self.points, accumulators, strict=True):
            evaluation = self._evaluation(point, [accumulator])
            for buffer, (node, form) in zip(
                self.kernel.outputs, self.problem.results, strict=True
            ):
                value = evaluation.value(node)
                mask = None if self.problem.dot else self._mask(point)
                self.e.store(value, buffer, self._position(form, point), mask)

    # Positions

    def _base(self, form: Form) -> Index:
        """Position of the tile's first point."""
        if form not in self._bases:
            loops = self.problem.parallel_loops
            self._bases[form] = self.e.linear(
                [form.coefficients[d] for d in loops], [self.origin[d] for d in loops], form.offset
            )
        return self._bases[form]

    def _position(self, form: Form, point: Sequence[int]) -> Index:
        return self.e.add(self._base(form), _delta(form, point))

    def _lanes_in_use(self, point: Sequence[int]) -> int:
        """Lanes that hold elements of the output (or of the dot product) at `point`."""
        problem = self.problem
        if problem.tail == problem.lanes:
            return problem.lanes
        if problem.dot:
            return problem.tail if self._last_block else problem.lanes
        if problem.block is not None:
            first = self.origin[problem.block]
            last = problem.sizes[problem.block] - 1
            if not isinstance(first, int) or first + point[problem.block] < last:
                return problem.lanes
        return problem.tail

    def _mask(self, point: Sequence[int]) -> ir.Value | None:
        """The lanes in use at `point`, None where all are."""
        count = self._lanes_in_use(point)
        return None if count == self.problem.lanes else self.e.mask(count, self.problem.lanes)

    def _load(self, access: Access, point: Sequence[int]) -> ir.Value:
        """A vector of what `access` reads at `point`."""
        lanes, e = self._result_lanes, self.e
        if isinstance(access.source, Constant):
            return e.constant(access.source.value, access.element, lanes)
        if not isinstance(access.source, Argument):
            raise Unsupported("a read of an undefined value")
        stride = 0 if lanes is None else access.form.coefficients[-1]
        mask = self._mask(point) if stride else None
        key = (access.source, access.form, _delta(access.form, point), mask is None)
        if key not in self._loaded:
            buffer = self.kernel.inputs[access.source.index]
            at = self._position(access.form, point)
            self._loaded[key] = self._read(buffer, at, stride, mask)
        return self._loaded[key]

    def _read(
        self, buffer: ir.Value, at: Index, stride: int, mask: ir.Value | None, other: float = 0
    ) -> ir.Value:
        """Elements `stride` apart for the lanes of `mask`, `other` in the rest; a broadcast one for stride 0."""
        lanes = self.problem.lanes
        if stride == 0:
            return self.e.broadcast(self.e.load(buffer, at), self._result_lanes)
        if stride == 1:
            return self.e.load(buffer, at, lanes, mask, other)
        return self.e.gather(buffer, at, stride, lanes, mask, other)

    def _evaluation(
        self, point: Sequence[int], accumulators: Sequence[ir.Value] = ()
    ) -> Evaluation:
        def position(loop: int) -> ir.Value:
            lanes = self._result_lanes
            if loop == self.problem.lane_loop:
                return vector.StepOp(ir.VectorType.get([lanes], ir.IndexType.get())).result
            index = self.e.index(self.e.add(self.origin[loop], point[loop]))
            return self.e.broadcast(index, lanes)

        return Evaluation(
            self.e,
            self._result_lanes,
            lambda access: self._load(access, point),
            accumulators,
            position,
        )

    # Padding

    def _split_guards(self) -> None:
        """Sorts the guards: known while generating, bounds of a reduction loop, or of the whole reduction."""
        self._static: list[Guard] = []
        self._clips: dict[int, list[Guard]] = {}
        self._presence: list[Guard] = []
        for operand in self.problem.operands:
            for guard in operand.access.guards:
                parallel = [d for d in guard.form.dims if d in self.problem.parallel_loops]
                window = self._window(guard)
                if len(parallel) > 1:
                    raise Unsupported("padding that depends on several loops of the output")
                along_lanes = guard.form.coefficients[self.problem.lane_loop] != 0
                if along_lanes or (parallel and self.schedule.widths[parallel[0]] > 1):
                    if all(isinstance(self.origin[d], int) for d in parallel):
                        self._static.append(guard)
                elif window is not None:
                    self._clips.setdefault(window, []).append(guard)
                else:
                    self._presence.append(guard)

    def _window(self, guard: Guard) -> int | None:
        """The reduction loop that a guard depends on."""
        loops = [d for d in guard.form.dims if d in self.problem.reduction_loops]
        if len(loops) > 1:
            raise Unsupported("padding that depends on several reduction loops")
        return loops[0] if loops else None

    def _lanes_inside(
        self, guard: Guard, point: Sequence[int], window: int | None, index: int
    ) -> list[bool]:
        """For each lane in use whether a static guard holds, at iteration `index` of its reduction loop."""
        lane_loop = self.problem.lane_loop
        value = guard.form.offset
        for d, c in enumerate(guard.form.coefficients):
            if c and d != lane_loop:
                value += c * (index if d == window else self.origin[d] + point[d])
        step = guard.form.coefficients[lane_loop]
        return [0 <= value + step * lane < guard.size for lane in range(self._lanes_in_use(point))]

    def _inside(self, point: Sequence[int], loop: int | None, index: int) -> bool:
        """Whether a point needs iteration `index` of reduction `loop` (None: the reduction as a whole)."""
        return all(
            any(self._lanes_inside(guard, point, loop, index))
            for guard in self._static
            if self._window(guard) == loop
        )

    def _masked(self, loop: int) -> bool:
        """Whether some points of the tile lie in padding for some iterations of a reduction loop."""
        return not all(
            all(self._lanes_inside(guard, point, loop, index))
            for guard in self._static
            if self._window(guard) == loop
            for point in self.points
            for index in range(self.problem.sizes[loop])
        )

    def _operand_mask(self, operand: Operand, point: Sequence[int], tap: Tap) -> ir.Value | None:
        """The lanes that an operand is read for; None where it is all of them."""
        lanes = self._lanes_in_use(point)
        active = [lane < lanes for lane in range(self.problem.lanes)]
        for guard in operand.access.guards:
            if guard not in self._static or not guard.form.coefficients[self.problem.lane_loop]:
                continue
            window = self._window(guard)
            index = tap.window if window == self.schedule.window else self._fixed.get(window, 0)
            if window is not None and window != self.schedule.window and window not in self._fixed:
                continue
            for lane, inside in enumerate(self._lanes_inside(guard, point, window, index)):
                active[lane] = active[lane] and inside
        return None if all(active) else self.e.lane_mask(active)

    def _bounds(self, loop: int) -> tuple[Index, Index]:
        """The iterations of a reduction loop that are outside of padding."""
        e = self.e
        lower: Index = 0
        upper: Index = self.problem.sizes[loop]
        for guard in self._clips.get(loop, ()):
            # 0 <= base + step * i < size
            step = guard.form.coefficients[loop]
            base = self._base(guard.form)
            if step > 0:
                first = e.sub(step - 1, base)
                beyond = e.add(e.sub(guard.size, base), step - 1)
            else:
                step = -step
                first = e.add(base, step - guard.size)
                beyond = e.add(base, step)
            lower = e.maximum(lower, e.div(e.maximum(first, 0), step))
            upper = e.minimum(upper, e.div(e.maximum(beyond, 0), step))
        return lower, upper

    # Reduction

    def _reduction_loops(self) -> list[int | tuple[int, ...]]:
        """The reduction as a list of steps, outermost first: single loops, and one group that is run from a table."""
        loops = list(self.schedule.reductions)
        if not self.schedule.flat:
            return list(loops)
        masked = [d for d in loops if self._masked(d)]
        clipped = [d for d in loops if d in self._clips]
        rest = [d for d in loops if d not in masked and d not in clipped]
        group = (*clipped[-1:], *rest)
        return [*masked, *clipped[:-1], *([group] if group else [])]

    def _descend(
        self,
        steps: Sequence[int | tuple[int, ...]],
        live: list[int],
        values: list[ir.Value],
        at: list[Index],
    ) -> list[ir.Value]:
        """Emits the reduction loops `steps` for the points `live`, whose accumulators are `values`."""
        operands = self.problem.operands
        if not steps:
            live_here = [i for i in live if self._inside(self.points[i], None, 0)]
            return self._body([Tap((0,) * len(operands))], live, values, at, live_here)
        step, *inner = steps
        if isinstance(step, tuple):
            return self._run_table(step, live, values, at)
        size = self.problem.sizes[step]
        strides = [o.access.form.coefficients[step] for o in operands]
        if step == self.schedule.window:
            taps = [Tap(tuple(s * i for s in strides), i) for i in range(size)]
            return self._body(taps, live, values, at, live)
        if self._masked(step):
            for index in range(size):
                inside = [i for i in live if self._inside(self.points[i], step, index)]
                if not inside:
                    continue
                self._fixed[step] = index
                moved = [self.e.add(a, s * index) for a, s in zip(at, strides, strict=True)]
                places = [live.index(i) for i in inside]
                results = self._descend(inner, inside, [values[p] for p in places], moved)
                values = list(values)
                for place, result in zip(places, results, strict=True):
                    values[place] = result
            self._fixed.pop(step, None)
            return values
        if self.problem.dot and step == self.problem.block and self.problem.tail < self.problem.lanes:
            return self._run_blocks(inner, live, values, at, strides)
        lower, upper = self._bounds(step)
        if inner:
            return self.e.loop(
                lower,
                upper,
                1,
                lambda i, *v: self._descend(inner, live, list(v), self._moved(at, strides, i)),
                values,
            )
        live_here = [i for i in live if self._inside(self.points[i], None, 0)]
        unroll = self.schedule.unroll if isinstance(upper, int) and lower == 0 else 1

        def body(count: int) -> Callable[..., list[ir.Value]]:
            taps = [Tap(tuple(s * u for s in strides)) for u in range(count)]
            return lambda i, *v: self._body(
                taps, live, list(v), self._moved(at, strides, i), live_here
            )

        if unroll == 1:
            return self.e.loop(lower, upper, 1, body(1), values)
        whole = upper - upper % unroll
        values = self.e.loop(0, whole, unroll, body(unroll), values)
        return self.e.loop(whole, upper, unroll, body(upper - whole), values)

    def _run_blocks(
        self,
        inner: Sequence[int | tuple[int, ...]],
        live: list[int],
        values: list[ir.Value],
        at: list[Index],
        strides: Sequence[int],
    ) -> list[ir.Value]:
        """The loop over the vectors of a dot product; the last one is partial."""
        last = self.problem.sizes[self.problem.block] - 1
        values = self.e.loop(
            0,
            last,
            1,
            lambda i, *v: self._descend(inner, live, list(v), self._moved(at, strides, i)),
            values,
        )
        self._last_block = True
        values = self._descend(inner, live, values, self._moved(at, strides, last))
        self._last_block = False
        return values

    def _moved(self, at: Sequence[Index], strides: Sequence[int], index: Index) -> list[Index]:
        return [self.e.add(a, self.e.mul(index, s)) for a, s in zip(at, strides, strict=True)]

    def _run_table(
        self, loops: tuple[int, ...], live: list[int], values: list[ir.Value], at: list[Index]
    ) -> list[ir.Value]:
        """One loop over all taps of `loops`, with offsets from a table."""
        e = self.e
        table, steps = self.kernel.table(loops)
        inner = math.prod(self.problem.sizes[d] for d in loops[1:])
        lower, upper = (e.mul(bound, inner) for bound in self._bounds(loops[0]))
        live_here = [i for i in live if self._inside(self.points[i], None, 0)]
        width = steps.count(None)

        def body(tap: Index, *carried: ir.Value) -> list[ir.Value]:
            moved: list[Index] = []
            column = 0
            for start, step in zip(at, steps, strict=True):
                if step is None:
                    offset = e.load(table, e.add(e.mul(tap, width), column))
                    column += 1
                else:
                    offset = e.mul(tap, step)
                moved.append(e.add(start, offset))
            return self._body(
                [Tap((0,) * len(steps))], live, list(carried), moved, live_here
            )

        return e.loop(lower, upper, 1, body, values)

    def _body(
        self,
        taps: Sequence[Tap],
        live: list[int],
        values: list[ir.Value],
        at: list[Index],
        inside: list[int],
    ) -> list[ir.Value]:
        """Straight-line code: all `taps` of the points `inside`, every element loaded once."""
        operands = self.problem.operands
        moving = next((o for o in operands if not o.is_vector), operands[0])
        number = operands.index(moving)
        work = [
            (tap, i)
            for tap in taps
            for i in inside
            if self.schedule.window is None
            or self._inside(self.points[i], self.schedule.window, tap.window)
        ]
        if self.schedule.window is not None:
            work.sort(key=lambda w: w[0].offsets[number] + self._shift(moving, w[1]))
        else:
            order = {tap: n for n, tap in enumerate(taps)}
            work.sort(key=lambda w: (order[w[0]], self._shift(moving, w[1])))
        loaded: dict[tuple[int, int, ir.Value | None], ir.Value] = {}
        values = list(values)
        stream, prefetcher = self.kernel.stream, self._prefetcher
        if stream is not None and prefetcher is not None:
            for tap in taps:
                prefetcher.step(self.e.add(at[stream.operand], tap.offsets[stream.operand]))
        for tap, i in work:
            vectors: list[ir.Value | None] = [None] * len(self.problem.main.block.arguments)
            for o, operand in enumerate(operands):
                mask = self._operand_mask(operand, self.points[i], tap) if operand.is_vector else None
                offset = tap.offsets[o] + self._shift(operand, i)
                key = (o, offset, mask)
                if key not in loaded:
                    place = self.e.add(at[o], offset)
                    if stream is not None and prefetcher is not None and o == stream.operand:
                        prefetcher.vector(place)
                    loaded[key] = self._operand(operand, place, mask)
                vectors[operand.argument] = loaded[key]
            slot = live.index(i)
            values[slot] = self._combine(vectors, values[slot])
        return values

    def _shift(self, operand: Operand, point: int) -> int:
        return _delta(operand.access.form, self.points[point])

    def _operand(self, operand: Operand, at: Index, mask: ir.Value | None) -> ir.Value:
        access = operand.access
        if isinstance(access.source, Constant):
            return self.e.constant(access.source.value, access.element, self.problem.lanes)
        if not isinstance(access.source, Argument):
            raise Unsupported("a reduction of an undefined value")
        buffer = self.kernel.inputs[access.source.index]
        other = 0 if access.padding is None else access.padding
        return self._read(buffer, at, operand.lane_stride, mask, other)

    def _combine(self, vectors: list[ir.Value | None], accumulator: ir.Value) -> ir.Value:
        combine = self.problem.combine
        if combine.factors is not None:
            left, right = (vectors[i] for i in combine.factors)
            return self.e.fma(left, right, accumulator)
        term = emit_region(
            self.e, self.problem.main, vectors, self.problem.lanes, wanted=[combine.term]
        )[0]
        return self.e.op(
            combine.operation, [accumulator, term], accumulator.type, combine.attributes
        )


def _delta(form: Form, point: Sequence[int]) -> int:
    return sum(c * p for c, p in zip(form.coefficients, point, strict=True))


def _constant_step(offsets: Sequence[int]) -> int | None:
    """The step of an arithmetic progression from 0, None if `offsets` are none."""
    step = offsets[1] if len(offsets) > 1 else 0
    return step if all(o == n * step for n, o in enumerate(offsets)) else None
