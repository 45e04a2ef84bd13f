"""Functions of reductions over rows in one form: softmax, normalisations, sums, means, maxima.

All loops of the function are put over one common set: loops over rows, and loops along a row. A
`Program` is a sequence of passes over each row: every pass but the last computes reductions that
depend on the results of earlier ones, the last one writes what is as large as the rows.
Element-wise parts are trees (`expressions.py`) in the passes that use them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from nnvm_mlir.lowering.cpu.affine import Form, coalesce, delinearize, regroup, row_major_strides
from nnvm_mlir.lowering.cpu.common_loops import common_sizes, loops_over, reduced
from nnvm_mlir.lowering.cpu.emitter import Unsupported
from nnvm_mlir.lowering.cpu.expressions import (
    Accumulator,
    Apply,
    Node,
    Shared,
    apply,
    expression,
    leaves,
    positions,
    rewrite,
    subtrees,
)
from nnvm_mlir.lowering.cpu.structured import Argument, Generic, Kernel, Result
from nnvm_mlir.lowering.cpu.tensor_ops import producer
from nnvm_mlir.mlir import ir


@dataclass(frozen=True)
class Reduction:
    """One result of a reduction: `acc = operation(acc, term)` along the row.

    Attributes:
        result: what it computes.
        operation: "arith.addf", "arith.maximumf", ...
        attributes: attributes of that operation.
        term: the region's value that is combined.
        operands: a tree for each argument of the region; None where the term does not need it.
        init: the accumulator's first value.
        position: of the result in its buffer.
    """

    result: Result
    operation: str
    attributes: dict[str, ir.Attribute]
    term: ir.Value
    operands: tuple[Node | None, ...]
    init: Node
    position: Form

    @property
    def element(self) -> ir.Type:
        """Type of the accumulator."""
        return self.result.generic.elements[self.result.index]

    @property
    def nodes(self) -> list[Node]:
        """Everything that the reduction reads."""
        return [self.init, *(node for node in self.operands if node is not None)]


@dataclass(frozen=True)
class Output:
    """A result of the function.

    Attributes:
        number: which one.
        node: its value.
        position: where an iteration writes.
        element: its element type.
    """

    number: int
    node: Node
    position: Form
    element: ir.Type


@dataclass(frozen=True)
class Program:
    """A function over rows. All forms are over its loops.

    Attributes:
        kernel: the function.
        sizes: trip count of each loop. Vectors run along the last one.
        along: for each loop whether it is along the row. If the last one is not, each lane is a row
            of its own.
        passes: reductions of each pass.
        outputs: results of the function.
    """

    kernel: Kernel
    sizes: tuple[int, ...]
    along: tuple[bool, ...]
    passes: tuple[tuple[Reduction, ...], ...]
    outputs: tuple[Output, ...]

    def varies(self, node: Node) -> bool:
        """Whether the value of `node` changes along the row."""
        forms = [f for a in leaves(node) for f in (a.form, *(g.form for g in a.guards))]
        return any(self.along[d] for form in (*forms, *positions(node)) for d in form.dims)

    def fills_rows(self, output: Output) -> bool:
        """Whether an output has an element for every element of the rows."""
        return any(self.along[d] for d in output.position.dims)


def build(kernel: Kernel) -> Program:
    """Brings a kernel into this form.

    Raises:
        Unsupported: there is no reduction; reductions run over different loops or do not combine
            one operation at a time; no loop can be vectorised with unit stride.
    """
    reducing = [g for g in kernel.generics if not g.is_elementwise]
    if not reducing:
        raise Unsupported("no reduction")
    sizes = common_sizes([*reducing, *(r.generic for r in kernel.results)])
    loops = {generic: loops_over(generic, sizes) for generic in reducing}
    along = {d for g in reducing for d in reduced(g, loops[g])}
    if any(reduced(g, loops[g]) != along for g in reducing):
        raise Unsupported("reductions over different dimensions")

    written: dict[Result, Form] = {}
    shared: Shared = {}
    reductions: list[Reduction] = []
    for generic in reducing:
        reductions += _reductions(generic, loops[generic], sizes, written, shared)
        for index, output in enumerate(generic.outputs):
            written[Result(generic, index)] = output.compose(loops[generic], len(sizes))
    row_sizes = [1 if d in along else size for d, size in enumerate(sizes)]
    outputs = [
        _output(number, result, sizes, row_sizes, written, shared)
        for number, result in enumerate(kernel.results)
    ]
    program = Program(
        kernel,
        tuple(sizes),
        tuple(d in along for d in range(len(sizes))),
        _passes(reductions),
        tuple(outputs),
    )
    return _arrange(program)


def reduction_inputs(nodes: Iterable[Node]) -> list[Result]:
    """The results of reductions that trees use, each once."""
    parts = (part for node in nodes for part in subtrees(node))
    used = (Result(a.generic, a.index) for a in parts if isinstance(a, Accumulator) and a.generic)
    return list(dict.fromkeys(used))


def replace_node(node: Node, old: Node, new: Node) -> Node:
    """The tree with every occurrence of `old` replaced."""
    done: dict[Node, Node] = {old: new}

    def replaced(part: Node) -> Node:
        if part not in done:
            done[part] = part
            if isinstance(part, Apply) and old in subtrees(part):
                operands = tuple(None if o is None else replaced(o) for o in part.operands)
                done[part] = replace(part, operands=operands)
        return done[part]

    return replaced(node)


def _reductions(
    generic: Generic,
    loops: tuple[Form, ...],
    sizes: Sequence[int],
    written: dict[Result, Form],
    shared: Shared,
) -> list[Reduction]:
    first = len(generic.inputs)
    arguments = list(generic.block.arguments)
    accumulators = set(arguments[first:])
    found = []
    for index, value in enumerate(generic.yielded):
        if any(generic.reductions[d] for d in generic.outputs[index].dims):
            raise Unsupported("a result that is indexed by a reduced loop")
        op = producer(value)
        if op is None or len(op.operands) != 2:
            raise Unsupported("a reduction that does not combine two values")
        mine = arguments[first + index]
        left, right = op.operands
        if (left == mine) == (right == mine):
            raise Unsupported("a reduction that does not combine the accumulator once")
        term = right if left == mine else left
        needed = _arguments_below(term)
        if needed & accumulators:
            raise Unsupported("a reduction whose term depends on an accumulator")
        operands = tuple(
            expression(access.compose(loops, len(sizes)), sizes, written, shared)
            if access is not None and argument in needed
            else None
            for argument, access in zip(arguments, (*generic.inputs, *generic.inits), strict=True)
        )
        init = expression(generic.inits[index].compose(loops, len(sizes)), sizes, written, shared)
        attributes = {name: op.attributes[name] for name in op.attributes}
        position = generic.outputs[index].compose(loops, len(sizes))
        found.append(
            Reduction(Result(generic, index), op.name, attributes, term, operands, init, position)
        )
    return found


def _arguments_below(value: ir.Value) -> set[ir.Value]:
    op = producer(value)
    if op is None:
        return {value}
    return set().union(*(_arguments_below(operand) for operand in op.operands))


def _output(
    number: int,
    result: Result,
    sizes: Sequence[int],
    row_sizes: Sequence[int],
    written: dict[Result, Form],
    shared: Shared,
) -> Output:
    generic = result.generic
    element = generic.elements[result.index]
    if result in written:
        return Output(number, Accumulator(result.index, generic), written[result], element)
    position = generic.outputs[result.index]
    for space in (sizes, row_sizes):
        if math.prod(space) == math.prod(generic.sizes):
            flat = Form(row_major_strides(space)).normalized(space)
            loops = delinearize(flat, position.coefficients, generic.sizes, sizes)
            if loops is not None:
                node = apply(generic, result.index, loops, sizes, written, shared)
                return Output(number, node, position.compose(loops, len(sizes)), element)
    raise Unsupported("a result that is neither as large as the rows nor one number a row")


def _passes(reductions: Sequence[Reduction]) -> tuple[tuple[Reduction, ...], ...]:
    level: dict[Result, int] = {}
    for reduction in reductions:
        needs = [level[result] for result in reduction_inputs(reduction.nodes)]
        level[reduction.result] = max(needs, default=-1) + 1
    return tuple(
        tuple(r for r in reductions if level[r.result] == n) for n in range(max(level.values()) + 1)
    )


def _forms(program: Program) -> list[Form]:
    nodes = [node for part in program.passes for r in part for node in r.nodes]
    nodes += [output.node for output in program.outputs]
    accesses = {access for node in nodes for access in leaves(node)}
    forms = [f for a in accesses for f in (a.form, *(g.form for g in a.guards))]
    forms += [form for node in nodes for form in positions(node)]
    forms += [r.position for part in program.passes for r in part]
    return forms + [output.position for output in program.outputs]


def _arrange(program: Program) -> Program:
    """Merges loops, and moves the one to vectorise to the end."""
    groups = coalesce(program.sizes, program.along, _forms(program))
    lane = _lane_group(program, groups)
    kinds = [program.along[group[0]] for group in groups]
    order = sorted(range(len(groups)), key=lambda i: (i == lane, kinds[i], i))
    groups = [groups[i] for i in order]

    def change(form: Form) -> Form:
        return regroup(form, groups)

    done: dict[Node, Node] = {}

    def changed(reduction: Reduction) -> Reduction:
        operands = tuple(
            None if o is None else rewrite(o, change, done) for o in reduction.operands
        )
        return replace(
            reduction,
            operands=operands,
            init=rewrite(reduction.init, change, done),
            position=change(reduction.position),
        )

    return replace(
        program,
        sizes=tuple(math.prod(program.sizes[d] for d in group) for group in groups),
        along=tuple(program.along[group[0]] for group in groups),
        passes=tuple(tuple(changed(r) for r in part) for part in program.passes),
        outputs=tuple(
            replace(o, node=rewrite(o.node, change, done), position=change(o.position))
            for o in program.outputs
        ),
    )


def _lane_group(program: Program, groups: Sequence[tuple[int, ...]]) -> int:
    """The loops that vectors run along: stride 1 in the outputs and most of what is read."""

    def strides(group: tuple[int, ...], forms: Sequence[Form]) -> list[int]:
        return [form.coefficients[group[-1]] for form in forms]

    outputs = [output.position for output in program.outputs]
    best, choice = 0, None
    reads = [
        a.form
        for part in program.passes for r in part for node in r.nodes for a in leaves(node)
        if isinstance(a.source, Argument)
    ]  # fmt: skip
    for number, group in enumerate(groups):
        written = strides(group, outputs)
        allowed = (0, 1) if program.along[group[0]] else (1,)
        if all(stride in allowed for stride in written):
            score = 1 + sum(stride == 1 for stride in strides(group, reads))
            if score > best:
                best, choice = score, number
    if choice is None:
        raise Unsupported("no loop with unit stride to vectorise")
    return choice
