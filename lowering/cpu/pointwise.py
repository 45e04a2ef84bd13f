"""Element-wise functions and data movement: a vectorised loop nest for pieces with the same loops.

Vectors run along the loop that the results are contiguous along. Operands that are contiguous along
another loop are read by square tiles (`reorder.py`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from nnvm_mlir.lowering.cpu.affine import Form, coalesce, regroup
from nnvm_mlir.lowering.cpu.emitter import Emitter, Index, emit_function
from nnvm_mlir.lowering.cpu.expressions import (
    Apply,
    Evaluation,
    Node,
    leaves,
    positions,
    rewrite,
    subtrees,
)
from nnvm_mlir.lowering.cpu.pieces import Decomposition, Piece, decompose
from nnvm_mlir.lowering.cpu.points import Point
from nnvm_mlir.lowering.cpu.reorder import cross_loop, is_crossed, load_tile
from nnvm_mlir.lowering.cpu.structured import Access, Argument, Generic
from nnvm_mlir.mlir import func, ir
from nnvm_mlir.target import Target

# Starting threads pays from about 10 microseconds of work: that much data moved, a math function
# counting like this many bytes.
PARALLEL_BYTES = 1024 * 1024
_MATH_BYTES = 8
# Bytes of the widest operand that one task of a one-dimensional parallel loop moves.
_TASK_BYTES = 16 * 1024
# Rows of a tile: more (for elements of one or two bytes) would not fit the registers.
_LARGEST_TILE = 16


@dataclass(frozen=True)
class Nest:
    """Pieces that are computed by the same loops.

    Attributes:
        pieces: over the nest's loops; the last loop is the one that vectors run along.
        sizes: trip count of each loop.
        lanes: length of the vectors; None for scalar code.
        tile: rows of the tiles over the last two loops by which some operand is read; None without.
        bytes: data moved, with arithmetic counted as bytes that take as long.
    """

    pieces: tuple[Piece, ...]
    sizes: tuple[int, ...]
    lanes: int | None
    tile: int | None
    bytes: int

    @property
    def accesses(self) -> tuple[Access, ...]:
        """Everything that is read, each once."""
        return tuple(dict.fromkeys(a for piece in self.pieces for a in leaves(piece.node)))


def lower(function: func.FuncOp, target: Target) -> func.FuncOp:
    """Replaces a function of element-wise generics and data movement by its code on flat buffers.

    Raises:
        Unsupported: it is of another kind; it stays as it was.
    """
    decomposition = decompose(function)
    nests = match(decomposition, target)

    def body(e: Emitter, inputs: list[ir.Value], outputs: list[ir.Value]) -> None:
        for nest in nests:
            _NestEmitter(e, nest, inputs, outputs).emit()

    return emit_function(function, decomposition.arguments, decomposition.outputs, target, body)


def match(decomposition: Decomposition, target: Target) -> list[Nest]:
    """The loop nests that write the pieces, in order."""
    groups: dict[tuple, list[Piece]] = {}
    for piece in decomposition.pieces:
        groups.setdefault((piece.sizes, piece.position), []).append(piece)
    return [_nest(pieces, target) for pieces in groups.values()]


def _nest(pieces: Sequence[Piece], target: Target) -> Nest:
    """Merges loops where everything allows it, and moves the loop to vectorise to the end."""
    accesses = [access for piece in pieces for access in leaves(piece.node)]
    forms = [piece.position for piece in pieces]
    forms += [form for a in accesses for form in (a.form, *(g.form for g in a.guards))]
    forms += [form for piece in pieces for form in positions(piece.node)]
    old_sizes, position = pieces[0].sizes, pieces[0].position
    groups = coalesce(old_sizes, [0] * len(old_sizes), forms)
    groups.sort(key=lambda group: -position.coefficients[group[-1]])

    def change(form: Form) -> Form:
        return regroup(form, groups)

    def size(group: tuple[int, ...]) -> int:
        return math.prod(old_sizes[d] for d in group)

    lanes, tile = None, None
    if groups and position.coefficients[groups[-1][-1]] == 1:
        lanes = target.vector_bits // widest_bits(
            [p.node for p in pieces], [p.element for p in pieces]
        )
        side = min(lanes, _LARGEST_TILE)
        changed = [access.map(change) for access in accesses]
        cross = cross_loop(changed, [size(g) for g in groups], len(groups) - 1, side)
        if cross is not None:
            lanes = tile = side
            groups.insert(-1, groups.pop(cross))
    sizes = tuple(size(group) for group in groups)
    done: dict[Node, Node] = {}
    new = tuple(
        Piece(p.output, sizes, change(p.position), rewrite(p.node, change, done), p.element)
        for p in pieces
    )
    moved = [a.element for a in {*accesses} if isinstance(a.source, Argument) and a.form.dims]
    moved += [piece.element for piece in pieces]
    work = sum(bits_of(element) for element in moved) // 8
    work += _MATH_BYTES * sum(math_ops(p.node) for p in pieces)
    return Nest(new, sizes, lanes, tile, math.prod(sizes) * work)


class _NestEmitter:
    """Emits one nest."""

    def __init__(
        self, e: Emitter, nest: Nest, inputs: Sequence[ir.Value], outputs: Sequence[ir.Value]
    ):
        self._e = e
        self._nest = nest
        self._inputs = inputs
        self._outputs = outputs
        self._accesses = nest.accesses

    def emit(self) -> None:
        """Emits the loops, over threads if the work is worth it."""
        e, nest = self._e, self._nest
        worth = nest.bytes >= PARALLEL_BYTES
        if not nest.sizes:
            self._compute([])
        elif len(nest.sizes) == 1:
            self._flat(nest.sizes[0], worth)
        elif nest.tile is not None:
            self._tiles([], nest.tile, worth)
        else:
            loop = e.parallel if worth else e.loop
            loop(0, nest.sizes[0], 1, lambda i: self._rows([i]))

    def _flat(self, size: int, worth: bool) -> None:
        """A single loop; in parallel by tasks of whole vectors, the rest after them."""
        task = _TASK_BYTES * 8 // max(bits_of(p.element) for p in self._nest.pieces)
        tasks = size // task if worth else 0
        if tasks > 1:
            self._e.parallel(0, tasks * task, task, lambda i: self._row([], i, task))
            if size > tasks * task:
                self._row([], tasks * task, size - tasks * task)
        else:
            self._row([], 0, size)

    def _rows(self, outer: list[Index]) -> None:
        """The loops below `outer`."""
        sizes = self._nest.sizes
        if len(outer) == len(sizes) - 1:
            self._row(outer, 0, sizes[-1])
        else:
            self._e.loop(0, sizes[len(outer)], 1, lambda i: self._rows([*outer, i]))

    def _tiles(self, outer: list[Index], side: int, worth: bool) -> None:
        """The loops below `outer`, the last two by tiles; rows and ends of rows are left over."""
        e = self._e
        *before, height, width = self._nest.sizes
        loop = e.parallel if worth and not outer else e.loop
        if len(outer) < len(before):
            loop(0, before[len(outer)], 1, lambda i: self._tiles([*outer, i], side, worth))
            return
        tall, wide = height // side * side, width // side * side

        def band(top: Index) -> None:
            e.loop(0, wide, side, lambda left: self._tile([*outer, top, left], side))
            if width > wide:
                bottom, rest = e.add(top, side), width - wide
                e.loop(top, bottom, 1, lambda i: self._row([*outer, i], wide, rest))

        loop(0, tall, side, band)
        e.loop(tall, height, 1, lambda i: self._row([*outer, i], 0, width))

    def _tile(self, corner: list[Index], side: int) -> None:
        *outer, top, left = corner
        point = Point(self._e, self._inputs, corner, side)
        columns = {a: load_tile(point, a) for a in self._accesses if is_crossed(a)}
        for j in range(side):
            known = {access: vectors[j] for access, vectors in columns.items()}
            self._compute([*outer, self._e.add(top, j), left], known)

    def _row(self, outer: list[Index], start: Index, size: int) -> None:
        """`size` iterations of the last loop from `start`."""
        e, lanes = self._e, self._nest.lanes
        if lanes is None:
            e.loop(start, e.add(start, size), 1, lambda i: self._compute([*outer, i]))
            return
        here = Point(e, self._inputs, [*outer, 0])
        known = {a: e.broadcast(here.load(a), lanes) for a in self._accesses if _same_along_row(a)}
        whole = size // lanes * lanes
        e.loop(start, e.add(start, whole), lanes, lambda i: self._compute([*outer, i], known))
        if size > whole:
            self._compute([*outer, e.add(start, whole)], known, active=size - whole)

    def _compute(
        self,
        at: list[Index],
        known: dict[Access, ir.Value] | None = None,
        active: int | None = None,
    ) -> None:
        point = Point(self._e, self._inputs, at, self._nest.lanes, active, known or {})
        evaluation = Evaluation(self._e, point.lanes, point.load, position=point.index)
        values = [evaluation.value(piece.node) for piece in self._nest.pieces]
        for piece, value in zip(self._nest.pieces, values, strict=True):
            point.store(value, self._outputs[piece.output], piece.position)


def _same_along_row(access: Access) -> bool:
    """Whether an access reads one element in all iterations of the last loop."""
    forms = [access.form, *(guard.form for guard in access.guards)]
    return isinstance(access.source, Argument) and not any(f.coefficients[-1] for f in forms)


def bits_of(element: ir.Type) -> int:
    """Width of a scalar type in memory."""
    return 64 if isinstance(element, ir.IndexType) else element.width


def generics_of(node: Node) -> set[Generic]:
    """The generics whose regions a tree evaluates."""
    return {part.generic for part in subtrees(node) if isinstance(part, Apply)}


def _region_ops(generics: Iterable[Generic]) -> list[ir.Operation]:
    return [op.operation for generic in generics for op in generic.block.operations]


def widest_bits(
    nodes: Sequence[Node], elements: Sequence[ir.Type], others: Sequence[Generic] = ()
) -> int:
    """Bits of the widest type that trees read or compute with (loop indices aside).

    Args:
        nodes: the trees.
        elements: element types to consider besides.
        others: generics whose regions are to be considered besides.
    """
    types = [*elements, *(access.element for node in nodes for access in leaves(node))]
    generics = {*others}.union(*(generics_of(node) for node in nodes))
    types += [r.type for op in _region_ops(generics) for r in op.results]
    return max(8, *(bits_of(t) for t in types if not isinstance(t, ir.IndexType)))


def math_ops(node: Node) -> int:
    """How many elementary functions a tree computes for each point."""
    return sum(op.name.startswith("math.") for op in _region_ops(generics_of(node)))
