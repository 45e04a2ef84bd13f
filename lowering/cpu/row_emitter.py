"""Emits the passes of a row program: one loop over rows, and in it one vector loop for each pass.

Where vectors run along the row, every lane has a part of it: partial results in several
accumulators, joined by a horizontal reduction at the end of the pass. Where they run across rows,
every lane has a row of its own and there is nothing to join.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from nnvm_mlir.lowering.cpu.combining import OPERATIONS, neutral
from nnvm_mlir.lowering.cpu.emitter import Emitter, Index
from nnvm_mlir.lowering.cpu.expressions import (
    Accumulator,
    Apply,
    Evaluation,
    Load,
    Node,
    emit_region,
)
from nnvm_mlir.lowering.cpu.points import Point
from nnvm_mlir.lowering.cpu.pointwise import PARALLEL_BYTES, bits_of, math_ops
from nnvm_mlir.lowering.cpu.row_program import Output, Program, Reduction, reduction_inputs
from nnvm_mlir.lowering.cpu.structured import Argument, Result
from nnvm_mlir.mlir import ir, vector

# Chains of dependent operations that hide the latency of one another: fewer where the terms are
# long themselves.
_ACCUMULATORS = 4
_ACCUMULATORS_OF_LONG_TERMS = 2


@dataclass(frozen=True)
class Stored:
    """An expensive value that several passes need, kept in an output until that is written.

    Attributes:
        node: the value.
        number: index of the pass that computes it.
        output: where it is kept.
    """

    node: Node
    number: int
    output: Output


@dataclass(frozen=True)
class Schedule:
    """How a program is emitted.

    Attributes:
        program: the passes.
        stored: what is computed once and kept, if anything.
        lanes: length of the vectors.
    """

    program: Program
    stored: Stored | None
    lanes: int


class _Values(Evaluation):
    """Evaluates trees with results of several reductions, and with known subtrees."""

    def __init__(
        self, point: Point, accumulators: dict[Result, ir.Value], known: dict[Node, ir.Value]
    ):
        super().__init__(point.e, point.lanes, point.load, position=point.index)
        self._results = accumulators
        self._known = known

    def value(self, node: Node) -> ir.Value:
        if node in self._known:
            return self._known[node]
        if isinstance(node, Accumulator):
            return self._results[Result(node.generic, node.index)]  # type: ignore[arg-type]
        return super().value(node)


class RowEmitter:
    """Emits the code of one function."""

    def __init__(
        self,
        e: Emitter,
        schedule: Schedule,
        inputs: Sequence[ir.Value],
        outputs: Sequence[ir.Value],
    ):
        self._e = e
        self._program = schedule.program
        self._stored = schedule.stored
        self._lanes = schedule.lanes
        self._outputs = outputs
        self._buffers = [*inputs, *outputs]
        # Whether vectors run along the row (else across rows).
        self._horizontal = self._program.along[-1]

    def emit(self) -> None:
        """Emits the loops over rows, over threads if the work is worth it."""
        self._rows([])

    def _rows(self, outer: list[Index]) -> None:
        """The loops over rows below `outer`."""
        e, program = self._e, self._program
        rows = [d for d, along in enumerate(program.along) if not along]
        if self._horizontal and len(outer) == len(rows):
            self._row(outer, None)
            return
        size = program.sizes[rows[len(outer)]]
        worth = not outer and self._work() >= PARALLEL_BYTES
        loop = e.parallel if worth else e.loop
        if self._horizontal or len(outer) < len(rows) - 1:
            loop(0, size, 1, lambda i: self._rows([*outer, i]))
            return
        whole = size // self._lanes * self._lanes
        loop(0, whole, self._lanes, lambda i: self._row([*outer, i], None))
        if size > whole:
            self._row([*outer, whole], size - whole)

    def _work(self) -> int:
        """Bytes that the passes read and write."""
        program = self._program
        elements = [r.element for part in program.passes for r in part]
        elements += [o.element for o in program.outputs if program.fills_rows(o)]
        return math.prod(program.sizes) * sum(bits_of(element) for element in elements) // 8

    def _row(self, rows: list[Index], active: int | None) -> None:
        """All passes over one row (or a vector of rows)."""
        program = self._program
        results: dict[Result, ir.Value] = {}
        for number, part in enumerate(program.passes):
            results.update(self._reduce(rows, active, number, part, results))
        full = [o for o in program.outputs if program.fills_rows(o)]
        point = self._row_point(rows, active)
        values = _Values(point, results, {})
        for output in program.outputs:
            if output not in full:
                value = values.value(output.node)
                point.store(value, self._outputs[output.number], output.position)
        if full:
            known, spread = self._invariant([o.node for o in full], rows, active, results)

            def write(point: Point, slot: list[ir.Value]) -> list[ir.Value]:
                values = _Values(point, spread, known)
                computed = [values.value(output.node) for output in full]
                for output, value in zip(full, computed, strict=True):
                    point.store(value, self._outputs[output.number], output.position)
                return []

            self._along(rows, active, [], 1, write)

    def _reduce(
        self,
        rows: list[Index],
        active: int | None,
        number: int,
        part: Sequence[Reduction],
        results: dict[Result, ir.Value],
    ) -> dict[Result, ir.Value]:
        """One pass: the values of its reductions for this row."""
        e = self._e
        nodes = [node for r in part for node in r.operands if node is not None]
        known, spread = self._invariant(nodes, rows, active, results)
        stored = self._stored if self._stored and self._stored.number == number else None

        def combine(point: Point, slot: list[ir.Value]) -> list[ir.Value]:
            values = _Values(point, spread, known)
            combined = []
            for reduction, accumulator in zip(part, slot, strict=True):
                operands = [None if o is None else values.value(o) for o in reduction.operands]
                (term,) = emit_region(
                    e, reduction.result.generic, operands, point.lanes, [reduction.term]
                )
                if self._horizontal and point.mask is not None:
                    neutral = self._neutral(reduction)
                    term = e.op("arith.select", [point.mask, term, neutral], term.type)
                combined.append(self._combine(reduction, accumulator, term))
            if stored is not None:
                buffer = self._outputs[stored.output.number]
                point.store(values.value(stored.node), buffer, stored.output.position)
            return combined

        long_terms = any(math_ops(node) for node in nodes)
        slots = _ACCUMULATORS_OF_LONG_TERMS if long_terms else _ACCUMULATORS
        first = [self._neutral(reduction) for reduction in part]
        final = self._along(rows, active, first, slots, combine)
        values = _Values(self._row_point(rows, active), results, {})
        computed = {}
        for n, reduction in enumerate(part):
            total = final[0][n]
            for slot in final[1:]:
                total = self._combine(reduction, total, slot[n])
            if self._horizontal:
                total = self._join(reduction, total)
            init = values.value(reduction.init)
            computed[reduction.result] = self._combine(reduction, init, total)
        return computed

    def _along(
        self,
        rows: list[Index],
        active: int | None,
        first: list[ir.Value],
        slots: int,
        body: Callable[[Point, list[ir.Value]], list[ir.Value]],
    ) -> list[list[ir.Value]]:
        """Loops along the row.

        Args:
            rows: index of each loop over rows.
            active: lanes in use, where lanes are rows and not all are in use.
            first: first value of each accumulator.
            slots: how many independent copies of the accumulators there are.
            body: `body(point, accumulators)` returns their next values.

        Returns:
            The values of the accumulators of each slot at the end.
        """
        e, program, lanes = self._e, self._program, self._lanes
        loops = [program.sizes[d] for d, along in enumerate(program.along) if along]
        outer = rows if self._horizontal else rows[:-1]
        width = len(first)
        if not loops:
            point = Point(e, self._buffers, rows, lanes, active)
            return [body(point, first)]
        size, step = loops[-1], lanes if self._horizontal else 1
        steps = size // step
        slots = max(1, min(slots, steps)) if first else 1

        def at(inner: list[Index], i: Index, used: int | None) -> Point:
            where = [*outer, *inner, i] if self._horizontal else [*outer, *inner, i, rows[-1]]
            return Point(e, self._buffers, where, lanes, used)

        def innermost(inner: list[Index], carried: list[ir.Value]) -> list[ir.Value]:
            def block(i: Index, *values: ir.Value) -> list[ir.Value]:
                taken = [list(values[s * width : (s + 1) * width]) for s in range(slots)]
                return [
                    v
                    for s in range(slots)
                    for v in body(at(inner, e.add(i, s * step), active), taken[s])
                ]

            blocked = steps // slots * slots
            carried = e.loop(0, blocked * step, slots * step, block, carried)
            head, rest = carried[:width], carried[width:]

            def single(i: Index, *values: ir.Value) -> list[ir.Value]:
                return body(at(inner, i, active), list(values))

            head = e.loop(blocked * step, steps * step, step, single, head)
            if size > steps * step:
                head = body(at(inner, steps * step, size - steps * step), head)
            return [*head, *rest]

        def nest(inner: list[Index], carried: list[ir.Value]) -> list[ir.Value]:
            if len(inner) == len(loops) - 1:
                return innermost(inner, carried)
            return e.loop(
                0, loops[len(inner)], 1, lambda i, *values: nest([*inner, i], list(values)), carried
            )

        final = nest([], first * slots)
        return [final[s * width : (s + 1) * width] for s in range(slots)]

    def _row_point(self, rows: list[Index], active: int | None) -> Point:
        """The point of a row as a whole: scalars, or vectors across rows."""
        along = [0] * sum(self._program.along)
        if self._horizontal:
            return Point(self._e, self._buffers, [*rows, *along])
        at = [*rows[:-1], *along, rows[-1]]
        return Point(self._e, self._buffers, at, self._lanes, active)

    def _invariant(
        self,
        nodes: Sequence[Node],
        rows: list[Index],
        active: int | None,
        results: dict[Result, ir.Value],
    ) -> tuple[dict[Node, ir.Value], dict[Result, ir.Value]]:
        """What is the same all along the row: largest subtrees of `nodes`, and results."""
        e = self._e
        values = _Values(self._row_point(rows, active), results, {})
        lanes = self._lanes if self._horizontal else None
        known = {
            node: e.broadcast(values.value(node), lanes) for node in self._invariant_parts(nodes)
        }
        spread = {used: e.broadcast(results[used], lanes) for used in reduction_inputs(nodes)}
        return known, spread

    def _invariant_parts(self, nodes: Sequence[Node]) -> list[Node]:
        """The largest subtrees that are the same all along the row and not known already."""
        parts: list[Node] = []
        seen: set[Node] = set()
        pending = list(nodes)
        while pending:
            node = pending.pop()
            if node in seen or isinstance(node, Accumulator):
                continue
            seen.add(node)
            if self._program.varies(node):
                if isinstance(node, Apply):
                    pending.extend(o for o in node.operands if o is not None)
            elif not (isinstance(node, Load) and not isinstance(node.access.source, Argument)):
                parts.append(node)
        return parts

    def _neutral(self, reduction: Reduction) -> ir.Value:
        element = reduction.element
        return self._e.constant(neutral(reduction.operation, element), element, self._lanes)

    def _combine(self, reduction: Reduction, a: ir.Value, b: ir.Value) -> ir.Value:
        attributes = dict(reduction.attributes)
        if reduction.operation in ("arith.maximumf", "arith.minimumf"):
            # Telling -0 from +0 would cost as much as all the rest of the comparison.
            attributes["fastmath"] = ir.Attribute.parse("#arith.fastmath<nsz>")
        return self._e.op(reduction.operation, [a, b], a.type, attributes)

    def _join(self, reduction: Reduction, value: ir.Value) -> ir.Value:
        """The lanes of a vector combined in any order."""
        kind = ir.Attribute.parse(f"#vector.kind<{OPERATIONS[reduction.operation].kind}>")
        fast = ir.Attribute.parse("#arith.fastmath<reassoc,nsz>")
        return vector.ReductionOp(reduction.element, kind, value, fastmath=fast).result
