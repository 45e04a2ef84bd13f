"""Kernel functions as plain data: loops, affine accesses into flat buffers, and expression trees.

A kernel function at linalg level is a graph of `linalg.generic` operations between reshapes, slices
and pads. The generators do not want the graph, they want to know *which element of which buffer* an
iteration touches. `read` answers that: every operand of every generic becomes an `Access`, an
affine form over the generic's loops into the flat (row-major) buffer it comes from, with
`tensor.pad`, `tensor.extract_slice` and the reshapes on the way folded in. Emitting the region of a
generic is in `expressions.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from nnvm_mlir.lowering.cpu.affine import Form, delinearize, row_major_strides
from nnvm_mlir.lowering.cpu.emitter import Unsupported, constant_tables, element_of
from nnvm_mlir.lowering.cpu.tensor_ops import (
    behind_reshapes,
    constant_value,
    count_of,
    defining_op,
    pad_value,
    producer,
    reassociation,
    shape_of,
    static_values,
)
from nnvm_mlir.mlir import func, ir


@dataclass(frozen=True)
class Argument:
    """An argument of the kernel function, or one of its `constant_tables`, which are numbered after the arguments."""

    index: int


@dataclass(frozen=True)
class Constant:
    """The same value everywhere: a splat constant or a `linalg.fill` with a constant."""

    value: float | int


@dataclass(frozen=True)
class Undefined:
    """The content of a `tensor.empty`."""


@dataclass(frozen=True, eq=False)
class Result:
    """A result of another generic of the kernel."""

    generic: Generic
    index: int

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Result)
            and self.generic is other.generic
            and self.index == other.index
        )

    def __hash__(self) -> int:
        return hash((id(self.generic), self.index))


Source = Argument | Constant | Undefined | Result


@dataclass(frozen=True)
class Guard:
    """A range check from a `tensor.pad`: the element is in the buffer where `0 <= form < size`,
    else it is the padding.
    """

    form: Form
    size: int


@dataclass(frozen=True)
class Access:
    """What an operand of a generic reads: element `form(loops)` of the flat buffer `source`.

    Attributes:
        source: where the buffer comes from.
        form: position in it as an affine form over the loops. Only meaningful where every guard
            holds.
        element: element type.
        guards: range checks left by padding, none that always holds.
        padding: what is read where a guard fails; None without guards.
    """

    source: Source
    form: Form
    element: ir.Type
    guards: tuple[Guard, ...] = ()
    padding: float | int | None = None

    def map(self, change: Callable[[Form], Form]) -> Access:
        """This access with every form replaced by `change` of it."""
        return replace(
            self,
            form=change(self.form),
            guards=tuple(Guard(change(g.form), g.size) for g in self.guards),
        )

    def compose(self, forms: Sequence[Form], dims: int) -> Access:
        """This access with loop i replaced by `forms[i]`, which are over `dims` loops of somebody else."""
        return self.map(lambda form: form.compose(forms, dims))


@dataclass(frozen=True, eq=False)
class Generic:
    """One `linalg.generic`.

    Attributes:
        operation: the operation itself.
        sizes: trip count of each loop.
        reductions: for each loop whether it is a reduction.
        inputs: accesses of the `ins`; None where the region does not use the operand (the
            shape-only window of a pooling).
        inits: accesses of the `outs` as they are before.
        outputs: for each result the position that an iteration writes, over the loops.
        elements: element type of each result.
        counts: number of elements of each result.
    """

    operation: ir.Operation
    sizes: tuple[int, ...]
    reductions: tuple[bool, ...]
    inputs: tuple[Access | None, ...]
    inits: tuple[Access, ...]
    outputs: tuple[Form, ...]
    elements: tuple[ir.Type, ...]
    counts: tuple[int, ...]

    @cached_property
    def block(self) -> ir.Block:
        """The region's body."""
        return self.operation.regions[0].blocks[0]

    @cached_property
    def yielded(self) -> tuple[ir.Value, ...]:
        """The region's values that become the results."""
        *_, terminator = self.block.operations
        return tuple(terminator.operands)

    @property
    def is_elementwise(self) -> bool:
        """Whether there is no reduction."""
        return not any(self.reductions)

    @cached_property
    def uses_position(self) -> bool:
        """Whether the region asks for loop indices (`linalg.index`)."""
        return any(op.operation.name == "linalg.index" for op in self.block.operations)


@dataclass(frozen=True)
class Kernel:
    """A kernel function.

    Attributes:
        function: the `func.func` on tensors.
        arguments: number of elements and element type of each argument.
        generics: those that the results need, producers first.
        results: for each result of the function the generic's result that it is (possibly
            reshaped).
    """

    function: func.FuncOp
    arguments: tuple[tuple[int, ir.Type], ...]
    generics: tuple[Generic, ...]
    results: tuple[Result, ...]

    @property
    def outputs(self) -> tuple[tuple[int, ir.Type], ...]:
        """Number of elements and element type of each result."""
        return tuple((r.generic.counts[r.index], r.generic.elements[r.index]) for r in self.results)


@dataclass(frozen=True)
class Part:
    """The iterations of a generic that are of interest: its loops as forms over loops of `sizes`."""

    sizes: tuple[int, ...]
    forms: tuple[Form, ...]


def read(function: func.FuncOp, parts: Mapping[ir.Operation, Part] | None = None) -> Kernel:
    """Reads a kernel function at linalg level.

    Args:
        function: the function.
        parts: generics of which only a part is read; the kernel's results are as incomplete.

    Raises:
        Unsupported: it has operations, dynamic shapes or index expressions that this form cannot
            express.
    """
    reader = Reader(dict(parts or {}))
    entry = function.regions[0].blocks[0]
    arguments = tuple((count_of(a.type), element_of(a.type)) for a in entry.arguments)
    *_, terminator = entry.operations
    results = []
    for value in terminator.operands:
        access = reader.access(value, identity_forms(value.type), shape_of(value.type))
        count = count_of(value.type)
        if not isinstance(access.source, Result) or access.guards:
            raise Unsupported("a result is not computed by a linalg.generic")
        identity = Form(row_major_strides(shape_of(value.type)))
        if access.form.normalized(shape_of(value.type)) != identity.normalized(
            shape_of(value.type)
        ):
            raise Unsupported("a result is a slice or a permutation")
        if access.source.generic.counts[access.source.index] != count:
            raise Unsupported("a result is a slice")
        results.append(access.source)
    return Kernel(function, arguments, tuple(reader.generics), tuple(results))


@dataclass
class Reader:
    """Traces the values of one kernel function back to buffers."""

    parts: dict[ir.Operation, Part] = field(default_factory=dict)
    generics: list[Generic] = field(default_factory=list)
    _known: dict[ir.Operation, Generic] = field(default_factory=dict)

    def generic(self, op: ir.Operation) -> Generic:
        """The loops and accesses of a `linalg.generic`; all that it needs is read, too."""
        if op in self._known:
            return self._known[op]
        block = op.regions[0].blocks[0]
        _check_region(block)
        maps = [ir.AffineMapAttr(m).value for m in ir.ArrayAttr(op.attributes["indexing_maps"])]
        kinds = [str(kind) for kind in ir.ArrayAttr(op.attributes["iterator_types"])]
        reductions = tuple("reduction" in kind for kind in kinds)
        operands = list(op.operands)
        subscripts = [[_form(e, len(kinds)) for e in map_.results] for map_ in maps]
        sizes = _loop_sizes(len(kinds), operands, subscripts)
        if op in self.parts:
            part = self.parts[op]
            sizes = part.sizes
            subscripts = [
                [form.compose(part.forms, len(sizes)) for form in forms] for forms in subscripts
            ]
        first_init = len(operands) - len(op.results)
        accesses: list[Access | None] = []
        for number, (operand, forms) in enumerate(zip(operands, subscripts, strict=True)):
            used = any(True for _ in block.arguments[number].uses)
            needed = used or number >= first_init
            accesses.append(self.access(operand, forms, sizes) if needed else None)
        outputs = tuple(
            _flatten(forms, shape_of(operand.type), len(sizes)).normalized(sizes)
            for operand, forms in zip(operands[first_init:], subscripts[first_init:], strict=True)
        )
        generic = Generic(
            operation=op,
            sizes=sizes,
            reductions=reductions,
            inputs=tuple(accesses[:first_init]),
            inits=tuple(a for a in accesses[first_init:] if a is not None),
            outputs=outputs,
            elements=tuple(element_of(r.type) for r in op.results),
            counts=tuple(count_of(r.type) for r in op.results),
        )
        self._known[op] = generic
        self.generics.append(generic)
        return generic

    def access(self, value: ir.Value, forms: Sequence[Form], sizes: Sequence[int]) -> Access:
        """Traces element `forms` (one a dimension, over loops of `sizes`) of `value` to the buffer it lies in."""
        element = element_of(value.type)
        guards: list[Guard] = []
        padding: float | int | None = None
        while True:
            root = behind_reshapes(value)
            source = self._source(root)
            if source is not None:
                flat = _flatten(forms, shape_of(value.type), len(sizes)).normalized(sizes)
                if isinstance(source, Constant):
                    flat = Form.zero(len(sizes))
                    if padding not in (None, source.value):
                        raise Unsupported("a padded constant")
                    guards = []
                return Access(source, flat, element, tuple(guards), padding if guards else None)
            op = defining_op(value)
            value = op.operands[0]
            if op.name == "tensor.pad":
                low = static_values(op, "static_low")
                high = static_values(op, "static_high")
                number = pad_value(op)
                shape = shape_of(value.type)
                forms = [form.shifted(-by) for form, by in zip(forms, low, strict=True)]
                for form, before, after, size in zip(forms, low, high, shape, strict=True):
                    lowest, highest = form.bounds(sizes)
                    if not (before or after) or (lowest >= 0 and highest < size):
                        continue
                    if padding not in (None, number):
                        raise Unsupported("nested pads with different values")
                    padding = number
                    guards.append(Guard(form.normalized(sizes), size))
            elif op.name == "tensor.extract_slice":
                forms = _through_slice(op, forms, len(sizes))
            elif op.name == "tensor.insert_slice":
                inserted = _inside_insert(op, forms, sizes)
                if inserted is None:
                    value = op.operands[1]
                else:
                    forms = inserted
            elif op.name == "tensor.expand_shape":
                shape = shape_of(op.results[0].type)
                forms = [
                    _flatten([forms[d] for d in group], [shape[d] for d in group], len(sizes))
                    for group in reassociation(op)
                ]
            elif op.name == "tensor.collapse_shape":
                shape = shape_of(value.type)
                split: list[Form] = []
                for form, group in zip(forms, reassociation(op), strict=True):
                    extents = [shape[d] for d in group]
                    parts = delinearize(form, row_major_strides(extents), extents, sizes)
                    if parts is None:
                        raise Unsupported("a collapsed dimension is not indexed part by part")
                    split.extend(parts)
                forms = split
            else:
                raise Unsupported(f"{op.name} feeds a linalg.generic")

    def _source(self, value: ir.Value) -> Source | None:
        op = producer(value)
        if op is None:
            return Argument(ir.BlockArgument(value).arg_number)
        if op.name == "linalg.generic":
            generic = self.generic(op)
            number = ir.OpResult(value).result_number
            return _filled(generic, number) or Result(generic, number)
        if op.name == "linalg.fill":
            return self._source(op.operands[0])
        if op.name == "arith.constant":
            tables = constant_tables(op.block)
            if op in tables:
                return Argument(len(op.block.arguments) + tables.index(op))
            return Constant(constant_value(op))
        if op.name == "tensor.empty":
            return Undefined()
        if op.name == "tensor.splat":
            return self._source(op.operands[0])
        return None


def _filled(generic: Generic, number: int) -> Constant | None:
    """The constant that a generic just copies (a generalised linalg.fill or broadcast of a constant)."""
    value = generic.yielded[number]
    op = producer(value)
    if op is None:
        position = ir.BlockArgument(value).arg_number
        if position < len(generic.inputs):
            access = generic.inputs[position]
            if access is not None and isinstance(access.source, Constant):
                return access.source
    elif op.name == "arith.constant":
        return Constant(constant_value(op))
    return None


def _check_region(block: ir.Block) -> None:
    for op in block.operations:
        name = op.operation.name
        if not name.startswith(("arith.", "math.")) and name not in (
            "linalg.yield",
            "linalg.index",
        ):
            raise Unsupported(f"{name} in the region of a linalg.generic")
        for operand in op.operands:
            source = producer(operand)
            if source is not None and source.block != block and source.name != "arith.constant":
                raise Unsupported("a region uses a computed value of the function around it")


def _loop_sizes(
    count: int, operands: Sequence[ir.Value], subscripts: Sequence[Sequence[Form]]
) -> tuple[int, ...]:
    sizes: list[int | None] = [None] * count
    for operand, forms in zip(operands, subscripts, strict=True):
        for form, extent in zip(forms, shape_of(operand.type), strict=True):
            dims = form.dims
            if form.offset == 0 and len(dims) == 1 and form.coefficients[dims[0]] == 1:
                sizes[dims[0]] = extent
    if None in sizes:
        raise Unsupported("a loop whose size is not the size of an operand's dimension")
    return tuple(size for size in sizes if size is not None)


def _form(expression: ir.AffineExpr, dims: int) -> Form:
    if isinstance(expression, ir.AffineDimExpr):
        return Form.of_dim(expression.position, dims)
    if isinstance(expression, ir.AffineConstantExpr):
        return Form((0,) * dims, expression.value)
    if isinstance(expression, ir.AffineAddExpr):
        return _form(expression.lhs, dims) + _form(expression.rhs, dims)
    if isinstance(expression, ir.AffineMulExpr):
        left, right = expression.lhs, expression.rhs
        if isinstance(left, ir.AffineConstantExpr):
            left, right = right, left
        if isinstance(right, ir.AffineConstantExpr):
            return _form(left, dims).scaled(right.value)
    raise Unsupported(f"the index expression {expression} is not linear")


def _flatten(forms: Sequence[Form], shape: Sequence[int], dims: int) -> Form:
    total = Form.zero(dims)
    for form, stride in zip(forms, row_major_strides(shape), strict=True):
        total = total + form.scaled(stride)
    return total


def _through_slice(op: ir.Operation, forms: Sequence[Form], dims: int) -> list[Form]:
    offsets, extents, steps = (
        static_values(op, f"static_{name}") for name in ("offsets", "sizes", "strides")
    )
    kept = list(shape_of(op.results[0].type))
    remaining = list(forms)
    result = []
    for offset, extent, step in zip(offsets, extents, steps, strict=True):
        if kept and kept[0] == extent:
            kept.pop(0)
            result.append(remaining.pop(0).scaled(step).shifted(offset))
        else:  # a unit dimension that the slice drops
            result.append(Form.zero(dims).shifted(offset))
    return result


def _inside_insert(
    op: ir.Operation, forms: Sequence[Form], sizes: Sequence[int]
) -> list[Form] | None:
    """Where a position in the result of a `tensor.insert_slice` is in what was inserted; None if it
    is outside of that for all iterations.

    Raises:
        Unsupported: it is inside for some iterations only.
    """
    if shape_of(op.operands[0].type) != tuple(static_values(op, "static_sizes")):
        raise Unsupported("a tensor.insert_slice that drops dimensions")
    inside: list[Form] = []
    undecided = False
    for form, offset, extent, step in zip(
        forms,
        static_values(op, "static_offsets"),
        static_values(op, "static_sizes"),
        static_values(op, "static_strides"),
        strict=True,
    ):
        here = form.normalized(sizes).shifted(-offset)
        if any(c % step for c in here.coefficients):
            undecided = True
            continue
        if here.offset % step:
            return None
        index = Form(tuple(c // step for c in here.coefficients), here.offset // step)
        lowest, highest = index.bounds(sizes)
        if highest < 0 or lowest >= extent:
            return None
        undecided = undecided or lowest < 0 or highest >= extent
        inside.append(index)
    if undecided:
        raise Unsupported("a read that is partly inside of a tensor.insert_slice")
    return inside


def loops_of(op: ir.Operation) -> tuple[tuple[int, ...], Form]:
    """Trip counts of the loops of a `linalg.generic`, and the position that they write in its first result."""
    maps = [ir.AffineMapAttr(m).value for m in ir.ArrayAttr(op.attributes["indexing_maps"])]
    subscripts = [[_form(e, map_.n_dims) for e in map_.results] for map_ in maps]
    operands = list(op.operands)
    sizes = _loop_sizes(maps[0].n_dims, operands, subscripts)
    first_init = len(operands) - len(op.results)
    shape = shape_of(operands[first_init].type)
    return sizes, _flatten(subscripts[first_init], shape, len(sizes))


def identity_forms(type_: ir.Type) -> list[Form]:
    """The form of each dimension of a tensor over loops that are its dimensions."""
    rank = len(shape_of(type_))
    return [Form.of_dim(d, rank) for d in range(rank)]
