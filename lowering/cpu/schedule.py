"""How a reduction is tiled and ordered, from its shape and the target. No MLIR here, and no
constants of one machine.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from nnvm_mlir.lowering.cpu.reduction_problem import Operand, Problem
from nnvm_mlir.target import Target

# Model of a core, in operations a cycle: two fused multiply-adds, and a little less than two loads.
# A chain of dependent additions takes _LATENCY cycles a link. These are what current cores from all
# makers have in common.
_ARITHMETIC_RATE = 2.0
_LOAD_RATE = 1.6
_LATENCY = 4
_LOOP_OVERHEAD = 0.5

# A distinct tile shape costs compile time: it must be worth this share of the run time.
_BODY_PENALTY = 0.01

# Windows up to this size are unrolled or masked tap by tap.
_UNROLLED_TAPS = 8

# Reduction loops at least this long run as loops of their own; shorter ones are flattened into one
# loop over all taps.
_LONG_LOOP = 8

# Starting threads pays from about 10 microseconds of work: that many multiply-adds.
_PARALLEL_WORK = 1_000_000


@dataclass(frozen=True)
class Schedule:
    """How to run a `Problem`.

    Attributes:
        widths: for each loop of the problem its extent in a register tile (1: not tiled).
        order: the parallel loops, outermost first.
        parallel: how many of these together are spread over the threads.
        reductions: the reduction loops, outermost first.
        window: the reduction loop that is unrolled inside the tile, so that every element is loaded
            once and used for all taps.
        flat: whether the reduction is one loop over all taps with tabulated offsets.
        unroll: unrolling of the innermost reduction loop.
    """

    widths: tuple[int, ...]
    order: tuple[int, ...]
    parallel: int
    reductions: tuple[int, ...]
    window: int | None
    flat: bool
    unroll: int


def choose(problem: Problem, target: Target) -> Schedule:
    """The schedule for `problem` on `target`."""
    streamed = [o for o in problem.operands if o.is_vector]
    broadcast = [o for o in problem.operands if not o.is_vector]
    if problem.dot:
        # Both operands are vectors; the larger one is the one to stream.
        largest = max(problem.operands, key=lambda o: o.footprint(problem.sizes))
        streamed = [largest]
        broadcast = [o for o in problem.operands if o is not largest]
    reductions = _reduction_order(problem, (streamed or broadcast)[0])
    if problem.dot and problem.block is not None:
        reductions = (*(d for d in reductions if d != problem.block), problem.block)
    if broadcast:
        widths = _contraction_tile(problem, target, streamed, broadcast)
        order = _contraction_order(problem, target, widths, streamed, broadcast)
        inner = reductions[-1] if reductions else None
        flat = (
            not problem.dot
            and inner is not None
            and len(reductions) > 1
            and (inner in guarded_loops(problem) or problem.sizes[inner] < _LONG_LOOP)
        )
        # Long loops over contiguous rows gain from unrolling; over a block of channels it only adds
        # pressure.
        long = inner is not None and problem.sizes[inner] >= 2 * problem.lanes
        unroll = 4 if long and not flat and not problem.dot else 1
        window = None
    else:
        short = problem.sizes[reductions[-1]] <= _UNROLLED_TAPS
        window = reductions[-1] if short else None
        widths = _window_tile(problem, target, window)
        if window is not None and not _is_peeled(problem, window, widths):
            window = None
            widths = _window_tile(problem, target, window)
        order = tuple(sorted(problem.parallel_loops, key=lambda d: -problem.output.coefficients[d]))
        flat, unroll = False, 1
    return Schedule(
        widths,
        order,
        _parallel_loops(problem, target, widths, order),
        reductions,
        window,
        flat,
        unroll,
    )


def even_split(extent: int, width: int) -> list[tuple[int, int]]:
    """Cuts `extent` into the fewest parts of at most `width`, all equally wide or one apart:
    (width, how many) pairs.
    """
    parts = -(-extent // width)
    narrow, wider = divmod(extent, parts)
    return [(w, n) for w, n in ((narrow + 1, wider), (narrow, parts - wider)) if n]


def guarded_loops(problem: Problem) -> set[int]:
    """The loops, parallel and reduction, that padding depends on."""
    return {d for o in problem.operands for g in o.access.guards for d in g.form.dims}


def _reduction_order(problem: Problem, along: Operand) -> tuple[int, ...]:
    """Reduction loops such that `along` is walked through in the order of its memory."""
    coefficients = along.access.form.coefficients
    return tuple(sorted(problem.reduction_loops, key=lambda d: -abs(coefficients[d])))


def _depends(operands: Sequence[Operand], loop: int) -> bool:
    return any(o.access.form.coefficients[loop] for o in operands)


def _tiles(problem: Problem, limits: dict[int, int]) -> Iterator[dict[int, int]]:
    """Every combination of tile widths up to `limits`."""
    ranges = [range(1, min(limit, problem.sizes[d]) + 1) for d, limit in limits.items()]
    for widths in itertools.product(*ranges):
        yield dict(zip(limits, widths, strict=True))


def _fills_inner(problem: Problem, widths: dict[int, int], inner_first: Sequence[int]) -> bool:
    """Whether a tile extends along an outer loop only where it spans the inner one (so that memory
    is read in long runs).
    """
    for inner, outer in itertools.pairwise(inner_first):
        if widths.get(outer, 1) > 1 and widths.get(inner, 1) < problem.sizes[inner]:
            return False
    return True


def _cheapest(
    problem: Problem,
    limits: dict[int, int],
    fits: Callable[[dict[int, int]], bool],
    cost: Callable[[dict[int, int]], float],
) -> tuple[int, ...]:
    """Of the tiles that fit, the one with the least total cost; `cost(widths)` is that of one
    reduction step of one tile.
    """
    best, best_widths = math.inf, {}
    for widths in _tiles(problem, limits):
        if not fits(widths):
            continue
        splits = [even_split(problem.sizes[d], width) for d, width in widths.items()]
        total = 0.0
        for parts in itertools.product(*splits):
            part = {d: width for d, (width, _) in zip(widths, parts, strict=True)}
            total += cost(part) * math.prod(count for _, count in parts)
        total *= 1 + _BODY_PENALTY * math.prod(len(split) for split in splits)
        if total < best - 1e-9:
            best, best_widths = total, widths
    return tuple(best_widths.get(d, 1) for d in range(len(problem.sizes)))


def _contraction_tile(
    problem: Problem, target: Target, streamed: Sequence[Operand], broadcast: Sequence[Operand]
) -> tuple[int, ...]:
    """A tile of vectors (loops of the streamed operand) times broadcast elements (loops of the other)."""
    inner_first = sorted(problem.parallel_loops, key=lambda d: problem.output.coefficients[d])
    rows = [d for d in inner_first if _depends(broadcast, d) and not _depends(streamed, d)]
    columns = [d for d in inner_first if _depends(streamed, d) and not _depends(broadcast, d)]
    if problem.block in columns:
        columns = [problem.block, *(d for d in columns if d != problem.block)]
    guarded = guarded_loops(problem)
    limits = {
        d: 8 if i == 0 else 4
        for i, d in enumerate(columns[:2])
        if d == problem.block or d not in guarded
    }
    for i, d in enumerate(rows[:2]):
        if i == 0 or (d not in guarded and problem.sizes[rows[0]] <= target.vector_registers // 2):
            limits[d] = target.vector_registers if i == 0 else 4

    gathering = max(min(o.lane_stride, problem.lanes) for o in streamed)

    def loads(widths: dict[int, int]) -> tuple[int, int]:
        return (
            math.prod(widths.get(d, 1) for d in columns),
            math.prod(widths.get(d, 1) for d in rows),
        )

    def fits(widths: dict[int, int]) -> bool:
        vectors, scalars = loads(widths)
        return (
            vectors * scalars + vectors + 1 <= target.vector_registers
            and (bool(rows) or vectors <= _ARITHMETIC_RATE * _LATENCY)
            and _fills_inner(problem, widths, columns)
            and _fills_inner(problem, widths, rows)
        )

    def cost(widths: dict[int, int]) -> float:
        vectors, scalars = loads(widths)
        return max(
            vectors * scalars / _ARITHMETIC_RATE + _LOOP_OVERHEAD,
            (vectors * gathering + scalars) / _LOAD_RATE,
            _LATENCY,
        )

    return _cheapest(problem, limits, fits, cost)


def _window_tile(problem: Problem, target: Target, window: int | None) -> tuple[int, ...]:
    """A tile along one loop of the output, so that neighbouring windows share their loads."""
    taps = 1 if window is None else problem.sizes[window]
    guards = [g.form for o in problem.operands for g in o.access.guards]
    held = taps if len(problem.operands) > 1 else 0  # the weights of the taps stay in registers
    limit = min(
        int(_ARITHMETIC_RATE * _LATENCY) if window is None else target.vector_registers // 2,
        target.vector_registers - held - 1,
    )
    best, best_widths = math.inf, (1,) * len(problem.sizes)
    for loop in problem.parallel_loops:
        partners = {d for form in guards if form.coefficients[loop] for d in form.dims}
        partners -= {loop, problem.lane_loop}
        if not partners <= {window}:
            continue

        def cost(widths: dict[int, int], loop: int = loop) -> float:
            width = widths[loop]
            return max(
                width * taps / _ARITHMETIC_RATE + _LOOP_OVERHEAD,
                _distinct_loads(problem, loop, width, window) / _LOAD_RATE,
                _LATENCY * taps,
            )

        widths = _cheapest(problem, {loop: limit}, lambda _: True, cost)
        splits = even_split(problem.sizes[loop], widths[loop])
        total = sum(cost({loop: w}) * n for w, n in splits) / problem.sizes[loop]
        if total < best:
            best, best_widths = total, widths
    return best_widths


def _is_peeled(problem: Problem, window: int, widths: Sequence[int]) -> bool:
    """Whether padding of `window` is always known while generating: it depends on the tiled loop, or there is none."""
    for operand in problem.operands:
        for guard in operand.access.guards:
            along_lanes = guard.form.coefficients[problem.lane_loop] != 0
            tiled = any(widths[d] > 1 for d in guard.form.dims if d != window)
            if guard.form.coefficients[window] and not (along_lanes or tiled):
                return False
    return True


def _distinct_loads(problem: Problem, loop: int, width: int, window: int | None) -> int:
    """Vectors that `width` neighbouring windows along `loop` load, each once."""
    taps = 1 if window is None else problem.sizes[window]
    total = 0
    for operand in problem.operands:
        coefficients = operand.access.form.coefficients
        step = 0 if window is None else coefficients[window]
        total += len({p * coefficients[loop] + t * step for p in range(width) for t in range(taps)})
    return total


def _contraction_order(
    problem: Problem,
    target: Target,
    widths: Sequence[int],
    streamed: Sequence[Operand],
    broadcast: Sequence[Operand],
) -> tuple[int, ...]:
    """Batch-like loops outermost; then the weights' loops outside of the rows', unless the rows are
    what does not fit.
    """
    by_stride = sorted(problem.parallel_loops, key=lambda d: -problem.output.coefficients[d])
    shared = [d for d in by_stride if _depends(streamed, d) == _depends(broadcast, d)]
    columns = [d for d in by_stride if d not in shared and _depends(streamed, d)]
    rows = [d for d in by_stride if d not in shared and _depends(broadcast, d)]
    weights = sum(o.footprint(problem.sizes) for o in streamed)
    elements = sum(o.footprint(problem.sizes) for o in broadcast)
    rows_first = 8 * weights <= 5 * target.l2_bytes and 2 * elements > target.l2_bytes
    return tuple(shared + rows + columns if rows_first else shared + columns + rows)


def _parallel_loops(
    problem: Problem, target: Target, widths: Sequence[int], order: Sequence[int]
) -> int:
    """How many of the outer loops the threads share: enough for every thread to get nearly the same."""
    if target.threads == 1 or math.prod(problem.sizes) < _PARALLEL_WORK:
        return 0
    tiles = 1
    for count, loop in enumerate(order, start=1):
        tiles *= -(-problem.sizes[loop] // widths[loop])
        rounds = -(-tiles // target.threads)
        if rounds * target.threads <= 1.1 * tiles:
            return count
    return len(order)
