"""The reduction loops of one register tile, with all accumulators carried in registers."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from nnvm_mlir.lowering.cpu.emitter import Index, Unsupported
from nnvm_mlir.lowering.cpu.expressions import emit_region
from nnvm_mlir.lowering.cpu.prefetch import Prefetcher
from nnvm_mlir.lowering.cpu.reduction_problem import Operand
from nnvm_mlir.lowering.cpu.structured import Argument, Constant
from nnvm_mlir.mlir import ir

if TYPE_CHECKING:
    from nnvm_mlir.lowering.cpu.register_tile import Tile

Step = int | tuple[int, ...]
"""A reduction loop, or several that are run as one loop over a table of offsets."""


@dataclass(frozen=True)
class Tap:
    """One of the iterations in a straight-line body.

    Attributes:
        offsets: what it adds to each operand's position.
        fixed: the iteration of the loop that the body unrolls, if padding may depend on it.
    """

    offsets: tuple[int, ...]
    fixed: dict[int, int] = field(default_factory=dict, hash=False)


class TileReduction:
    """Emits the reduction of `tile`."""

    def __init__(self, tile: Tile):
        self._tile = tile
        self._e = tile.e
        self._problem = tile.problem
        self._schedule = tile.schedule
        self._padding = tile.padding
        self._fixed: dict[
            int, int
        ] = {}  # reduction loops that are being unrolled, with the iteration
        self._last_block = tile.problem.block is None  # of a dot product
        self._prefetcher = self._make_prefetcher()
        # Once, outside of all reduction loops.
        self._bounds = {loop: self._clipped(loop) for loop in self._problem.reduction_loops}

    def emit(self, accumulators: Sequence[ir.Value]) -> list[ir.Value]:
        """Emits the loops; takes and returns one accumulator for each point of the tile."""
        at = [self._tile.base(o.access.form) for o in self._problem.operands]
        live = list(range(len(self._tile.points)))
        steps = self._steps()
        e = self._e
        if not self._padding.presence:
            return self._descend(steps, live, list(accumulators), at)
        upper: Index = 1
        for guard in self._padding.presence:
            value = self._tile.base(guard.form)
            inside = e.minimum(e.add(value, 1), e.sub(guard.size, value))
            upper = e.minimum(upper, e.maximum(inside, 0))
        return e.loop(
            0, upper, 1, lambda _, *v: self._descend(steps, live, list(v), at), accumulators
        )

    def _steps(self) -> list[Step]:
        loops = list(self._schedule.reductions)
        if not self._schedule.flat:
            return list(loops)
        masked = [d for d in loops if self._padding.touches(self._tile.points, d)]
        clipped = [d for d in loops if d in self._padding.clips]
        rest = [d for d in loops if d not in masked and d not in clipped]
        group = (*clipped[-1:], *rest)
        return [*masked, *clipped[:-1], *([group] if group else [])]

    def _clipped(self, loop: int) -> tuple[Index, Index]:
        """The iterations of a reduction loop that are outside of padding."""
        e = self._e
        lower: Index = 0
        upper: Index = self._problem.sizes[loop]
        for guard in self._padding.clips.get(loop, ()):
            # 0 <= base + step * i < size
            step = guard.form.coefficients[loop]
            base = self._tile.base(guard.form)
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

    def _descend(
        self, steps: Sequence[Step], live: list[int], values: list[ir.Value], at: list[Index]
    ) -> list[ir.Value]:
        """Emits the loops `steps`, outermost first.

        Args:
            steps: what is left of the reduction.
            live: numbers of the points that take part.
            values: their accumulators.
            at: position in each operand.

        Returns:
            The accumulators afterwards.
        """
        operands = self._problem.operands
        if not steps:
            return self._body([Tap((0,) * len(operands))], live, values, at)
        step, *inner = steps
        if isinstance(step, tuple):
            return self._run_table(step, live, values, at)
        size = self._problem.sizes[step]
        strides = [o.access.form.coefficients[step] for o in operands]
        if step == self._schedule.window:
            taps = [Tap(tuple(s * i for s in strides), {step: i}) for i in range(size)]
            return self._body(taps, live, values, at)
        if self._padding.touches(self._tile.points, step):
            return self._run_masked(step, inner, live, values, at, strides)
        if self._problem.dot and step == self._problem.block:
            return self._run_blocks(step, live, values, at, strides)
        lower, upper = self._bounds[step]
        if inner:
            return self._loop(inner, lower, upper, live, values, at, strides)
        unroll = self._schedule.unroll if isinstance(upper, int) and lower == 0 else 1

        def body(count: int) -> Callable[..., list[ir.Value]]:
            taps = [Tap(tuple(s * u for s in strides)) for u in range(count)]
            return lambda i, *v: self._body(taps, live, list(v), self._moved(at, strides, i))

        if unroll == 1:
            return self._e.loop(lower, upper, 1, body(1), values)
        whole = upper - upper % unroll
        values = self._e.loop(0, whole, unroll, body(unroll), values)
        return self._e.loop(whole, upper, unroll, body(upper - whole), values)

    def _loop(
        self,
        inner: Sequence[Step],
        lower: Index,
        upper: Index,
        live: list[int],
        values: list[ir.Value],
        at: list[Index],
        strides: Sequence[int],
    ) -> list[ir.Value]:
        return self._e.loop(
            lower,
            upper,
            1,
            lambda i, *v: self._descend(inner, live, list(v), self._moved(at, strides, i)),
            values,
        )

    def _run_masked(
        self,
        step: int,
        inner: Sequence[Step],
        live: list[int],
        values: list[ir.Value],
        at: list[Index],
        strides: Sequence[int],
    ) -> list[ir.Value]:
        """A loop whose iterations are for some points only: each run of iterations for the same points on its own."""
        points, padding = self._tile.points, self._padding
        runs: list[tuple[range, list[int], bool]] = []
        for index in range(self._problem.sizes[step]):
            inside = [i for i in live if padding.needs(points[i], step, index)]
            whole = all(padding.is_whole(points[i], step, index) for i in inside)
            last = runs[-1] if runs else None
            if last and whole and last[1:] == (inside, True) and last[0].stop == index:
                runs[-1] = (range(last[0].start, index + 1), inside, True)
            elif inside:
                runs.append((range(index, index + 1), inside, whole))
        values = list(values)
        for run, inside, whole in runs:
            places = [live.index(i) for i in inside]
            if not whole:
                self._fixed[step] = run.start
            some = [values[p] for p in places]
            results = self._loop(inner, run.start, run.stop, inside, some, at, strides)
            self._fixed.pop(step, None)
            for place, result in zip(places, results, strict=True):
                values[place] = result
        return values

    def _run_blocks(
        self,
        block: int,
        live: list[int],
        values: list[ir.Value],
        at: list[Index],
        strides: Sequence[int],
    ) -> list[ir.Value]:
        """The loop over the vectors of a dot product, the innermost; the last vector may be partial."""
        blocks = self._problem.sizes[block]
        values = self._loop([], 0, blocks - 1, live, values, at, strides)
        self._last_block = True
        values = self._descend([], live, values, self._moved(at, strides, blocks - 1))
        self._last_block = False
        return values

    def _run_table(
        self, loops: tuple[int, ...], live: list[int], values: list[ir.Value], at: list[Index]
    ) -> list[ir.Value]:
        """One loop over all taps of `loops`, with offsets from a table."""
        e = self._e
        table, steps = self._tile.kernel.table(loops)
        inner = math.prod(self._problem.sizes[d] for d in loops[1:])
        lower, upper = (e.mul(bound, inner) for bound in self._bounds[loops[0]])
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
            return self._body([Tap((0,) * len(steps))], live, list(carried), moved)

        return e.loop(lower, upper, 1, body, values)

    def _moved(self, at: Sequence[Index], strides: Sequence[int], index: Index) -> list[Index]:
        return [self._e.add(a, self._e.mul(index, s)) for a, s in zip(at, strides, strict=True)]

    def _body(
        self, taps: Sequence[Tap], live: list[int], values: list[ir.Value], at: list[Index]
    ) -> list[ir.Value]:
        """Straight-line code for all `taps`, in which every element is loaded once."""
        values = list(values)
        loaded: dict[tuple, ir.Value] = {}
        self._prefetch_step(taps, at)
        for tap, i in self._work(taps, live):
            point = self._tile.points[i]
            vectors: list[ir.Value | None] = [None] * len(self._problem.main.block.arguments)
            for number, operand in enumerate(self._problem.operands):
                mask = self._mask(operand, point, tap)
                offset = tap.offsets[number] + self._tile.shift(operand.access.form, point)
                key = (number, offset, mask)
                if key not in loaded:
                    place = self._e.add(at[number], offset)
                    loaded[key] = self._load(number, operand, place, mask)
                vectors[operand.argument] = loaded[key]
            slot = live.index(i)
            values[slot] = self._combine(vectors, values[slot])
        return values

    def _work(self, taps: Sequence[Tap], live: list[int]) -> list[tuple[Tap, int]]:
        """All taps of all points, ordered such that those which read the same element are neighbours."""
        operands, points, padding = self._problem.operands, self._tile.points, self._padding
        moving = next((n for n, o in enumerate(operands) if not o.is_vector), 0)
        form = operands[moving].access.form
        work = []
        for order, tap in enumerate(taps):
            for i in live:
                needed = padding.needs(points[i], None, 0) and all(
                    padding.needs(points[i], loop, index) for loop, index in tap.fixed.items()
                )
                if needed:
                    shift = self._tile.shift(form, points[i])
                    place = (0, tap.offsets[moving] + shift) if tap.fixed else (order, shift)
                    work.append((place, tap, i))
        return [(tap, i) for _, tap, i in sorted(work, key=lambda w: w[0])]

    def _mask(self, operand: Operand, point: tuple[int, ...], tap: Tap) -> ir.Value | None:
        """The lanes to read; None for all."""
        problem = self._problem
        if not operand.is_vector:
            return None
        if problem.dot:
            partial = self._last_block and problem.tail < problem.lanes
            return self._e.mask(problem.tail, problem.lanes) if partial else None
        active = self._padding.active_lanes(operand, point, {**self._fixed, **tap.fixed})
        return None if all(active) else self._e.lane_mask(active)

    def _load(self, number: int, operand: Operand, at: Index, mask: ir.Value | None) -> ir.Value:
        access = operand.access
        if isinstance(access.source, Constant):
            return self._e.constant(access.source.value, access.element, self._problem.lanes)
        if not isinstance(access.source, Argument):
            raise Unsupported("a reduction of an undefined value")
        if self._prefetcher is not None and number == self._prefetcher.operand:
            self._prefetcher.vector(at)
        buffer = self._tile.kernel.inputs[access.source.index]
        other = 0 if access.padding is None else access.padding
        return self._tile.read(buffer, at, operand.lane_stride, mask, other)

    def _combine(self, vectors: list[ir.Value | None], accumulator: ir.Value) -> ir.Value:
        combine = self._problem.combine
        if combine.factors is not None:
            left, right = (vectors[i] for i in combine.factors)
            return self._e.fma(left, right, accumulator)
        term = emit_region(
            self._e, self._problem.main, vectors, self._problem.lanes, wanted=[combine.term]
        )[0]
        return self._e.op(
            combine.operation, [accumulator, term], accumulator.type, combine.attributes
        )

    def _make_prefetcher(self) -> Prefetcher | None:
        tile, stream = self._tile, self._tile.kernel.stream
        if stream is None:
            return None
        access = self._problem.operands[stream.operand].access
        return Prefetcher(
            self._e,
            stream,
            self._problem.sizes,
            tile.kernel.inputs[access.source.index],  # type: ignore[union-attr]  # an argument
            tile.base(access.form),
            tile.origin,
        )

    def _prefetch_step(self, taps: Sequence[Tap], at: Sequence[Index]) -> None:
        if self._prefetcher is not None:
            operand = self._prefetcher.operand
            for tap in taps:
                self._prefetcher.step(self._e.add(at[operand], tap.offsets[operand]))
