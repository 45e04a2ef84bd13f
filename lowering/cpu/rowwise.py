"""Reductions over rows and what depends on them: softmax, normalisations, sums, means, maxima.

`row_program.py` says what is computed, this file how, `row_emitter.py` emits it.
"""

from __future__ import annotations

from dataclasses import replace

from nnvm_mlir.lowering.cpu.combining import OPERATIONS
from nnvm_mlir.lowering.cpu.emitter import Emitter, Unsupported, emit_function
from nnvm_mlir.lowering.cpu.expressions import Apply, Load, Node, leaves, subtrees
from nnvm_mlir.lowering.cpu.pointwise import math_ops, widest_bits
from nnvm_mlir.lowering.cpu.row_emitter import RowEmitter, Schedule, Stored
from nnvm_mlir.lowering.cpu.row_program import Output, Program, build, replace_node
from nnvm_mlir.lowering.cpu.structured import Access, Argument, read
from nnvm_mlir.mlir import func, ir
from nnvm_mlir.target import Target


def lower(function: func.FuncOp, target: Target) -> func.FuncOp:
    """Replaces a function of row reductions by its code on flat buffers.

    Raises:
        Unsupported: it is of another kind; it stays as it was.
    """
    schedule = choose(build(read(function)), target)
    kernel = schedule.program.kernel

    def body(e: Emitter, inputs: list[ir.Value], outputs: list[ir.Value]) -> None:
        RowEmitter(e, schedule, inputs, outputs).emit()

    return emit_function(function, kernel.arguments, kernel.outputs, target, body)


def choose(program: Program, target: Target) -> Schedule:
    """The schedule of a program.

    Raises:
        Unsupported: it reduces by an operation without a horizontal reduction.
    """
    reductions = [r for part in program.passes for r in part]
    for reduction in reductions:
        if reduction.operation not in OPERATIONS:
            raise Unsupported(f"a reduction by {reduction.operation}")
    nodes = [n for r in reductions for n in r.nodes] + [o.node for o in program.outputs]
    elements = [r.element for r in reductions] + [o.element for o in program.outputs]
    generics = [r.result.generic for r in reductions]
    program, stored = _keep(program)
    return Schedule(program, stored, target.vector_bits // widest_bits(nodes, elements, generics))


def _keep(program: Program) -> tuple[Program, Stored | None]:
    """Lets later passes read a value with elementary functions that a pass computes."""
    for number, part in enumerate(program.passes):
        for node in (n for r in part for tree in r.nodes for n in subtrees(tree)):
            if isinstance(node, Apply) and program.varies(node) and math_ops(node):
                output = _room(program, number, node)
                if output is not None:
                    stored = Stored(node, number, output)
                    return _read_back(program, stored), stored
    return program, None


def _room(program: Program, number: int, node: Apply) -> Output | None:
    """An output that can keep `node` from pass `number` on; None if it is not needed or none can.

    No later pass may read an input of the output's size: it could be the same buffer.
    """
    later = [r for part in program.passes[number + 1 :] for r in part]
    uses = [n for r in later for n in r.nodes] + [o.node for o in program.outputs]
    if not any(node in subtrees(use) for use in uses):
        return None
    element = node.generic.elements[node.result]
    for output in program.outputs:
        if output.element != element or not program.fills_rows(output):
            continue
        size = program.kernel.outputs[output.number][0]
        kept = _kept(program, output)
        read = {a.source for use in uses for a in leaves(replace_node(use, node, kept))}
        inputs = [s.index for s in read - {kept.access.source} if isinstance(s, Argument)]
        if not any(program.kernel.arguments[i][0] == size for i in inputs):
            return output
    return None


def _kept(program: Program, output: Output) -> Load:
    """Reads what an output holds so far; outputs are numbered after the inputs."""
    buffer = Argument(len(program.kernel.arguments) + output.number)
    return Load(Access(buffer, output.position, output.element))


def _read_back(program: Program, stored: Stored) -> Program:
    """The program with `stored` read from where it is kept in all later passes."""
    kept = _kept(program, stored.output)

    def change(node: Node) -> Node:
        return replace_node(node, stored.node, kept)

    passes = [
        part
        if number <= stored.number
        else tuple(
            replace(r, operands=tuple(None if o is None else change(o) for o in r.operands))
            for r in part
        )
        for number, part in enumerate(program.passes)
    ]
    outputs = [replace(o, node=change(o.node)) for o in program.outputs]
    return replace(program, passes=tuple(passes), outputs=tuple(outputs))
