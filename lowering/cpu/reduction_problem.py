"""The normal form of a reduction: what `schedule.py` and `register_tile.py` work on, and how a
kernel function is brought into it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from nnvm_mlir.lowering.cpu.affine import Form, coalesce, delinearize, regroup
from nnvm_mlir.lowering.cpu.emitter import Unsupported, element_bytes
from nnvm_mlir.lowering.cpu.expressions import (
    Accumulator,
    Node,
    apply,
    expression,
    leaves,
    positions,
    rewrite,
)
from nnvm_mlir.lowering.cpu.structured import Access, Generic, Kernel, Result
from nnvm_mlir.lowering.cpu.tensor_ops import producer
from nnvm_mlir.mlir import ir
from nnvm_mlir.target import Target

# The neutral element of each reduction: what a padded element may be, so that skipping it changes
# nothing.
_NEUTRAL = {
    "arith.addf": 0.0,
    "arith.addi": 0,
    "arith.maximumf": -math.inf,
    "arith.maxnumf": -math.inf,
    "arith.minimumf": math.inf,
    "arith.minnumf": math.inf,
    "arith.maxsi": None,
    "arith.maxui": 0,
    "arith.minsi": None,
    "arith.minui": None,
}

# Elements of a reduction without products are gathered up to this distance: beyond, it is better to
# reduce along rows.
_GATHERED_STRIDE = 8


@dataclass(frozen=True)
class Operand:
    """An input of the reduction.

    Attributes:
        argument: which argument of the region it is.
        access: where it is read, over the problem's loops.
    """

    argument: int
    access: Access

    @property
    def lane_stride(self) -> int:
        """Elements from one lane to the next; 0 where all lanes read the same one."""
        return self.access.form.coefficients[-1]

    @property
    def is_vector(self) -> bool:
        """Whether the lanes read different elements."""
        return self.lane_stride != 0

    def footprint(self, sizes: Sequence[int]) -> int:
        """Bytes from the first element to the last over loops of `sizes`."""
        lowest, highest = self.access.form.bounds(sizes)
        return (highest - lowest + 1) * element_bytes(self.access.element)


@dataclass(frozen=True)
class Combine:
    """The body of the reduction: `acc = operation(acc, term)`.

    Attributes:
        operation: "arith.addf", "arith.maximumf", ...
        attributes: attributes of the operation in the region.
        term: the region's value that is combined.
        factors: the two arguments that `term` multiplies, where fused multiply-add does it all.
    """

    operation: str
    attributes: dict[str, ir.Attribute]
    term: ir.Value
    factors: tuple[int, int] | None


@dataclass(frozen=True)
class Problem:
    """A reduction in normal form. All forms are over its loops; the last loop is over the lanes of a vector.

    Attributes:
        kernel: the kernel function.
        main: the reducing generic.
        sizes: trip count of each loop.
        reductions: for each loop whether it is a reduction.
        lanes: length of the vectors (the size of the last loop).
        dot: whether the lanes run along a reduction, so that they are summed up in the end; else
            they run along the output.
        block: the loop over vectors of the dimension that the lanes are from; None where one vector
            spans it.
        tail: lanes in use in the last of these vectors.
        operands: inputs of the reduction that its body uses.
        combine: the body.
        init: the accumulator's first value.
        output: position of the accumulator in the reduction's own result.
        results: for each result of the kernel its value, as a tree over the accumulator, and its
            position.
    """

    kernel: Kernel
    main: Generic
    sizes: tuple[int, ...]
    reductions: tuple[bool, ...]
    lanes: int
    dot: bool
    block: int | None
    tail: int
    operands: tuple[Operand, ...]
    combine: Combine
    init: Node
    output: Form
    results: tuple[tuple[Node, Form], ...]

    @property
    def parallel_loops(self) -> tuple[int, ...]:
        """The loops over the output, without the lanes."""
        return tuple(d for d in range(len(self.sizes) - 1) if not self.reductions[d])

    @property
    def lane_loop(self) -> int:
        """The loop over lanes."""
        return len(self.sizes) - 1

    @property
    def reduction_loops(self) -> tuple[int, ...]:
        """The loops that are summed over, without the lanes."""
        return tuple(d for d in range(len(self.sizes) - 1) if self.reductions[d])


def match(kernel: Kernel, target: Target) -> Problem:
    """Brings a kernel into the normal form.

    Raises:
        Unsupported: it is no single reduction with element-wise generics around it, or no loop can
            be vectorised.
    """
    reducing = [g for g in kernel.generics if not g.is_elementwise]
    if len(reducing) != 1:
        raise Unsupported(f"{len(reducing)} reductions")
    main = reducing[0]
    if len(main.outputs) != 1:
        raise Unsupported("a reduction with several results")
    output = main.outputs[0]
    accumulator = {Result(main, 0): output}
    init = expression(main.inits[0], main.sizes)
    results = tuple(_result(r, main, accumulator) for r in kernel.results)
    combine, operands = _body(main)
    trees = [init, *(node for node, _ in results)]
    around = [access for tree in trees for access in leaves(tree)]
    if any(access.guards for access in around):
        raise Unsupported("a padded operand of the epilogue")

    forms = [o.access.form for o in operands] + [output] + [f for _, f in results]
    forms += [access.form for access in around]
    guarded = {d for o in operands for g in o.access.guards for d in g.form.dims}
    asked = {d for tree in trees for form in positions(tree) for d in form.dims}
    reduced = [d for d in range(len(main.sizes)) if main.reductions[d]]
    trivial = reduced[:1] if all(main.sizes[d] == 1 for d in reduced) else []
    kept = (*guarded, *asked, *trivial)
    groups = coalesce(main.sizes, main.reductions, forms, kept)
    sizes = [math.prod(main.sizes[d] for d in group) for group in groups]
    reductions = [main.reductions[group[0]] for group in groups]

    grouped = [regroup(o.access.form, groups) for o in operands]
    lane_loop = _lane_loop(
        grouped,
        [regroup(access.form, groups) for access in around],
        [regroup(f, groups) for f in (output, *(f for _, f in results))],
        reductions,
        combine,
        {d for d, group in enumerate(groups) if set(group) & guarded},
    )
    element = main.elements[0]
    lanes = min(target.lanes(str(element)), _ceil_power_of_two(sizes[lane_loop]))
    blocks = -(-sizes[lane_loop] // lanes)
    tail = sizes[lane_loop] - (blocks - 1) * lanes
    loops = [d for d in range(len(sizes)) if d != lane_loop or blocks > 1]
    dims = len(loops) + 1

    def place(dim: int) -> Form:
        here = Form.of_dim(loops.index(dim), dims) if dim in loops else Form.zero(dims)
        if dim != lane_loop:
            return here
        return here.scaled(lanes) + Form.of_dim(dims - 1, dims)

    places = [place(d) for d in range(len(sizes))]

    def change(form: Form) -> Form:
        return regroup(form, groups).compose(places, dims)

    return Problem(
        kernel=kernel,
        main=main,
        sizes=(*(blocks if d == lane_loop else sizes[d] for d in loops), lanes),
        reductions=(*(reductions[d] for d in loops), reductions[lane_loop]),
        lanes=lanes,
        dot=reductions[lane_loop],
        block=loops.index(lane_loop) if blocks > 1 else None,
        tail=tail,
        operands=tuple(Operand(o.argument, o.access.map(change)) for o in operands),
        combine=combine,
        init=rewrite(init, change),
        output=change(output),
        results=tuple((rewrite(node, change), change(form)) for node, form in results),
    )


def _result(result: Result, main: Generic, accumulator: dict[Result, Form]) -> tuple[Node, Form]:
    """The value of a result of the kernel and its position, over the loops of `main`."""
    if result.generic is main:
        return Accumulator(result.index), main.outputs[0]
    forms = _locate(result.generic, main)
    if forms is None:
        raise Unsupported("a result that does not depend on the reduction")
    node = apply(result.generic, result.index, forms, main.sizes, accumulator)
    return node, result.generic.outputs[result.index].compose(forms, len(main.sizes))


def _locate(generic: Generic, main: Generic) -> tuple[Form, ...] | None:
    """The loops of an element-wise generic after `main` as forms over the loops of `main`; None if
    it does not depend on it.
    """
    for access in generic.inputs:
        if access is None or not isinstance(access.source, Result):
            continue
        source = access.source
        if source.generic is main:
            written = main.outputs[source.index]
        elif source.generic.is_elementwise:
            below = _locate(source.generic, main)
            if below is None:
                continue
            written = source.generic.outputs[source.index].compose(below, len(main.sizes))
        else:
            continue
        read = access.form
        forms = delinearize(
            written.shifted(-read.offset), read.coefficients, generic.sizes, main.sizes
        )
        if forms is None or access.guards:
            raise Unsupported("the epilogue does not follow the reduction element by element")
        return forms
    return None


def _body(main: Generic) -> tuple[Combine, tuple[Operand, ...]]:
    """Takes the region of a reduction apart into `acc = op(acc, term)`."""
    arguments = list(main.block.arguments)
    accumulator = arguments[-1]
    op = producer(main.yielded[0])
    if op is None:
        raise Unsupported("a reduction that does not combine")
    if op.name == "math.fma":
        raise Unsupported("a fused multiply-add in the region: expected arith.mulf and arith.addf")
    if op.name not in _NEUTRAL:
        raise Unsupported(f"a reduction by {op.name}")
    left, right = op.operands
    if (left == accumulator) == (right == accumulator):
        raise Unsupported("a reduction that does not combine the accumulator once")
    term = right if left == accumulator else left
    used = _arguments_below(term, arguments)
    if accumulator in used:
        raise Unsupported("the accumulator is used twice")
    operands = []
    for number, access in enumerate(main.inputs):
        if access is None or arguments[number] not in used:
            continue
        if isinstance(access.source, Result):
            raise Unsupported("a computed input of a reduction")
        operands.append(Operand(number, access))
    guarded = [o for o in operands if o.access.guards]
    factors = _factors(term, arguments) if op.name in ("arith.addf", "arith.addi") else None
    for operand in guarded:
        if not _is_neutral(op, term, arguments[operand.argument], operand.access.padding, factors):
            raise Unsupported(f"padding by {operand.access.padding} is not neutral for {op.name}")
    attributes = {name: op.attributes[name] for name in op.attributes}
    return Combine(op.name, attributes, term, factors), tuple(operands)


def _arguments_below(value: ir.Value, arguments: Sequence[ir.Value]) -> list[ir.Value]:
    if value in arguments:
        return [value]
    op = producer(value)
    if op is None:
        return []
    return [found for operand in op.operands for found in _arguments_below(operand, arguments)]


def _factors(term: ir.Value, arguments: list[ir.Value]) -> tuple[int, int] | None:
    op = producer(term)
    if op is None or op.name not in ("arith.mulf", "arith.muli"):
        return None
    if any(operand not in arguments for operand in op.operands):
        return None
    left, right = (arguments.index(operand) for operand in op.operands)
    return left, right


def _is_neutral(
    op: ir.Operation,
    term: ir.Value,
    argument: ir.Value,
    padding: float | int | None,
    factors: tuple[int, int] | None,
) -> bool:
    """Whether a padded element contributes nothing, so that its iterations can be left out."""
    multiplied = producer(term)
    if op.name in ("arith.addf", "arith.addi"):
        # Sums: zero, possibly after conversions, times anything.
        while multiplied is not None:
            inside = [o for o in multiplied.operands if _depends(o, argument)]
            convert = multiplied.name in (
                "arith.extf", "arith.extsi", "arith.extui", "arith.sitofp", "arith.uitofp",
            )  # fmt: skip
            if len(inside) != 1 or not (convert or multiplied.name in ("arith.mulf", "arith.muli")):
                return False
            multiplied = producer(inside[0])
        return padding == 0
    if term != argument:
        return False
    if isinstance(term.type, ir.IntegerType):
        bits = term.type.width
        lowest = {
            "arith.maxsi": (-(1 << (bits - 1)),),
            "arith.minsi": ((1 << (bits - 1)) - 1,),
            "arith.maxui": (0,),
            "arith.minui": (-1, (1 << bits) - 1),
        }
        return padding in lowest[op.name]
    return padding == _NEUTRAL[op.name]


def _depends(value: ir.Value, argument: ir.Value) -> bool:
    return argument in _arguments_below(value, [argument])


def _lane_loop(
    operands: Sequence[Form],
    around: Sequence[Form],
    outputs: Sequence[Form],
    reductions: Sequence[bool],
    combine: Combine,
    guarded: set[int],
) -> int:
    """The loop to vectorise.

    Best is one that walks over the output and all operands with stride 1 or not at all. For
    products, a reduction loop that walks over all operands with stride 1 is next. Then operands may
    be gathered, where neighbouring lanes are close or where the vectors are used for many products.
    """
    along_output = [
        d for d in range(len(reductions)) if all(f.coefficients[d] == 1 for f in outputs)
    ]
    for d in along_output:
        if all(f.coefficients[d] in (0, 1) for f in (*operands, *around)):
            return d
    if combine.factors is not None:
        for d, reduction in enumerate(reductions):
            if reduction and d not in guarded and all(f.coefficients[d] == 1 for f in operands):
                return d
    nearest_first = sorted(
        (d for d, reduction in enumerate(reductions) if not reduction),
        key=lambda d: max(f.coefficients[d] for f in outputs),
    )
    for d in nearest_first:
        strides = [f.coefficients[d] for f in operands]
        close = all(0 <= s <= _GATHERED_STRIDE for s in strides)
        if all(f.coefficients[d] > 0 for f in outputs) and (combine.factors or close):
            return d
    raise Unsupported("no loop to vectorise")


def _ceil_power_of_two(value: int) -> int:
    return 1 << (value - 1).bit_length()
