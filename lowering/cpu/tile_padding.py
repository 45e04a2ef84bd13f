"""What padding means for one register tile: iterations that are left out, and lanes that are masked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from nnvm_mlir.lowering.cpu.emitter import Index, Unsupported
from nnvm_mlir.lowering.cpu.reduction_problem import Operand, Problem
from nnvm_mlir.lowering.cpu.schedule import Schedule
from nnvm_mlir.lowering.cpu.structured import Guard

Point = tuple[int, ...]
"""An element of a tile: its offset from the tile's origin along every loop of the problem."""


class TilePadding:
    """The range checks of the operands, as far as they concern one tile.

    Checks that depend on a tiled loop or on the lanes are decided while generating: such tiles have
    a known origin where they touch padding. The others bound a reduction loop, or tell whether
    there is anything to reduce.

    Attributes:
        clips: for each reduction loop the checks that bound it.
        presence: checks that hold for the tile as a whole or not at all.
    """

    def __init__(self, problem: Problem, schedule: Schedule, origin: Mapping[int, Index]):
        self._problem = problem
        self._window = schedule.window
        self._origin = origin
        self._static: list[Guard] = []
        self.clips: dict[int, list[Guard]] = {}
        self.presence: list[Guard] = []
        for operand in problem.operands:
            for guard in operand.access.guards:
                parallel = [d for d in guard.form.dims if d in problem.parallel_loops]
                window = self._reduction(guard)
                if len(parallel) > 1:
                    raise Unsupported("padding that depends on several loops of the output")
                tiled = any(schedule.widths[d] > 1 for d in parallel)
                if tiled or self._is_along_lanes(guard):
                    if all(isinstance(origin[d], int) for d in parallel):
                        self._static.append(guard)
                elif window is not None:
                    self.clips.setdefault(window, []).append(guard)
                else:
                    self.presence.append(guard)

    def lanes_in_use(self, point: Point) -> int:
        """Lanes that hold elements of the output at `point`."""
        problem = self._problem
        if problem.dot:
            return problem.lanes
        if problem.block is not None:
            first = self._origin[problem.block]
            last = problem.sizes[problem.block] - 1
            if not isinstance(first, int) or first + point[problem.block] < last:
                return problem.lanes
        return problem.tail

    def needs(self, point: Point, loop: int | None, index: int) -> bool:
        """Whether any lane of `point` needs iteration `index` of reduction `loop` (None: the reduction as a whole)."""
        return all(any(lanes) for lanes in self._lanes(point, loop, index))

    def is_whole(self, point: Point, loop: int | None, index: int) -> bool:
        """Whether all lanes of `point` need that iteration."""
        return all(all(lanes) for lanes in self._lanes(point, loop, index))

    def touches(self, points: Sequence[Point], loop: int) -> bool:
        """Whether some points lie in padding for some iterations of a reduction loop."""
        iterations = range(self._problem.sizes[loop])
        return not all(self.is_whole(point, loop, i) for point in points for i in iterations)

    def active_lanes(self, operand: Operand, point: Point, fixed: Mapping[int, int]) -> list[bool]:
        """The lanes for which an operand lies in its buffer.

        Args:
            operand: what is read.
            point: for which element of the tile.
            fixed: iteration of the reduction loops that are unrolled. No lane is in padding for the
                others.
        """
        in_use = self.lanes_in_use(point)
        active = [lane < in_use for lane in range(self._problem.lanes)]
        for guard in operand.access.guards:
            loop = self._reduction(guard)
            if guard not in self._static or (loop is not None and loop not in fixed):
                continue
            index = 0 if loop is None else fixed[loop]
            for lane, inside in enumerate(self._inside(guard, point, loop, index)):
                active[lane] = active[lane] and inside
        return active

    def _lanes(self, point: Point, loop: int | None, index: int) -> list[list[bool]]:
        return [
            self._inside(guard, point, loop, index)
            for guard in self._static
            if self._reduction(guard) == loop
        ]

    def _inside(self, guard: Guard, point: Point, loop: int | None, index: int) -> list[bool]:
        """For each lane in use whether a check holds at iteration `index` of its reduction."""
        lane_loop = self._problem.lane_loop
        value = guard.form.offset
        for d in guard.form.dims:
            if d != lane_loop:
                here = index if d == loop else self._origin[d] + point[d]
                value += guard.form.coefficients[d] * here
        step = guard.form.coefficients[lane_loop]
        return [0 <= value + step * lane < guard.size for lane in range(self.lanes_in_use(point))]

    def _is_along_lanes(self, guard: Guard) -> bool:
        return guard.form.coefficients[self._problem.lane_loop] != 0

    def _reduction(self, guard: Guard) -> int | None:
        """The reduction loop that a check depends on."""
        loops = [d for d in guard.form.dims if d in self._problem.reduction_loops]
        if len(loops) > 1:
            raise Unsupported("padding that depends on several reduction loops")
        return loops[0] if loops else None
