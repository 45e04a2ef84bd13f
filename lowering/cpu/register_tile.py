"""Emits a scheduled reduction: loops over register tiles, whose accumulators stay in registers through all reduction loops."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from nnvm_mlir.lowering.cpu.affine import Form
from nnvm_mlir.lowering.cpu.contraction import Operand, Problem
from nnvm_mlir.lowering.cpu.emitter import Emitter, Index, Unsupported
from nnvm_mlir.lowering.cpu.expressions import Evaluation, emit_region
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
                alone = (partial and start + part == size) or (
                    width > 1 and self._touches_padding(loop, start, part)
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
        self.problem = kernel.problem
        self.schedule = kernel.schedule
        self.origin = origin
        dims = len(self.problem.sizes)
        self.points = [
            tuple(dict(zip(widths, offsets, strict=True)).get(d, 0) for d in range(dims))
            for offsets in itertools.product(*(range(w) for w in widths.values()))
        ]
        self._bases: dict[Form, Index] = {}
        self._loaded: dict[tuple, ir.Value] = {}
        self._split_guards()

    def emit(self) -> None:
        """Emits initial values, reduction and epilogue."""
        accumulators = [
            self._evaluation(point).value(self.problem.init) for point in self.points
        ]
        self._loaded.clear()
        at = [self._base(o.access.form) for o in self.problem.operands]
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
        for point, accumulator in zip(self.points, accumulators, strict=True):
            evaluation = self._evaluation(point, [accumulator])
            for buffer, (node, form) in zip(
                self.kernel.outputs, self.problem.results, strict=True
            ):
                value = evaluation.value(node)
                self.e.store(value, buffer, self._position(form, point), self._mask(point))

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

    def _mask(self, point: Sequence[int]) -> ir.Value | None:
        """The lanes in use at `point`, None where all are."""
        problem = self.problem
        if problem.tail == problem.lanes:
            return None
        if problem.block is not None:
            first = self.origin[problem.block]
            if not isinstance(first, int) or first + point[problem.block] < problem.sizes[problem.block] - 1:
                return None
        return self.e.mask(problem.tail, problem.lanes)

    def _load(self, access: Access, point: Sequence[int]) -> ir.Value:
        """A vector of what `access` reads at `point`."""
        lanes, e = self.problem.lanes, self.e
        if isinstance(access.source, Constant):
            return e.constant(access.source.value, access.element, lanes)
        if not isinstance(access.source, Argument):
            raise Unsupported("a read of an undefined value")
        vectorized = access.form.coefficients[-1] == 1
        mask = self._mask(point) if vectorized else None
        key = (access.source, access.form, _delta(access.form, point), mask is None)
        if key not in self._loaded:
            buffer = self.kernel.inputs[access.source.index]
            at = self._position(access.form, point)
            self._loaded[key] = (
                e.load(buffer, at, lanes, mask)
                if vectorized
                else e.broadcast(e.load(buffer, at), lanes)
            )
        return self._loaded[key]

    def _evaluation(
        self, point: Sequence[int], accumulators: Sequence[ir.Value] = ()
    ) -> Evaluation:
        def position(loop: int) -> ir.Value:
            lanes = self.problem.lanes
            if loop == len(self.problem.sizes) - 1:
                return vector.StepOp(ir.VectorType.get([lanes], ir.IndexType.get())).result
            index = self.e.index(self.e.add(self.origin[loop], point[loop]))
            return self.e.broadcast(index, lanes)

        return Evaluation(
            self.e,
            self.problem.lanes,
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
                parallel = [d for d in guard.form.dims if not self.problem.reductions[d]]
                window = [d for d in guard.form.dims if self.problem.reductions[d]]
                if len(parallel) > 1 or len(window) > 1:
                    raise Unsupported("padding that depends on several loops of a kind")
                if parallel and self.schedule.widths[parallel[0]] > 1:
                    if isinstance(self.origin[parallel[0]], int):
                        self._static.append(guard)
                elif window:
                    self._clips.setdefault(window[0], []).append(guard)
                else:
                    self._presence.append(guard)

    def _inside(self, point: Sequence[int], loop: int | None, index: int) -> bool:
        """Whether no static guard of reduction `loop` (None: of no reduction loop) fails at its iteration `index`."""
        for guard in self._static:
            window = [d for d in guard.form.dims if self.problem.reductions[d]]
            if window != ([] if loop is None else [loop]):
                continue
            value = guard.form.offset + sum(
                c * (self.origin[d] + point[d])
                for d, c in enumerate(guard.form.coefficients)
                if c and d != loop
            )
            if loop is not None:
                value += guard.form.coefficients[loop] * index
            if not 0 <= value < guard.size:
                return False
        return True

    def _masked(self, loop: int) -> bool:
        """Whether some points of the tile lie in padding for some iterations of a reduction loop."""
        size = self.problem.sizes[loop]
        return not all(self._inside(p, loop, i) for p in self.points for i in range(size))

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
                moved = [self.e.add(a, s * index) for a, s in zip(at, strides, strict=True)]
                places = [live.index(i) for i in inside]
                results = self._descend(inner, inside, [values[p] for p in places], moved)
                values = list(values)
                for place, result in zip(places, results, strict=True):
                    values[place] = result
            return values
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
        loaded: dict[tuple[int, int, bool], ir.Value] = {}
        values = list(values)
        for tap, i in work:
            vectors: list[ir.Value | None] = [None] * len(self.problem.main.block.arguments)
            for o, operand in enumerate(operands):
                mask = self._mask(self.points[i]) if operand.is_vector else None
                offset = tap.offsets[o] + self._shift(operand, i)
                key = (o, offset, mask is None)
                if key not in loaded:
                    loaded[key] = self._operand(operand, self.e.add(at[o], offset), mask)
                vectors[operand.argument] = loaded[key]
            place = live.index(i)
            values[place] = self._combine(vectors, values[place])
        return values

    def _shift(self, operand: Operand, point: int) -> int:
        return _delta(operand.access.form, self.points[point])

    def _operand(self, operand: Operand, at: Index, mask: ir.Value | None) -> ir.Value:
        source = operand.access.source
        lanes = self.problem.lanes
        if isinstance(source, Constant):
            return self.e.constant(source.value, operand.access.element, lanes)
        if not isinstance(source, Argument):
            raise Unsupported("a reduction of an undefined value")
        buffer = self.kernel.inputs[source.index]
        if operand.is_vector:
            return self.e.load(buffer, at, lanes, mask)
        return self.e.broadcast(self.e.load(buffer, at), lanes)

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
