"""`nnvm-fuse`: groups operators that one kernel computes, and outlines each group into a private function.

First the partition: walking the operators in order, an element-wise operator joins the groups that
produce its operands where nobody else reads what they produce. So every value of a group but its
last is read inside the group only, which rules out cycles and keeps results the same. At most one
operator of a group is an anchor (convolution, matrix product, reduction...); the others are its
epilogue, computed while the anchor's result is in registers.

Then the outlining: each group becomes a call of a private function; equal groups share one
function. Operators that only see a buffer under another shape stay in the entry function, where
they cost nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from nnvm_mlir.dialects.nnvm import Operator
from nnvm_mlir.dialects.nnvm.creation import Constant
from nnvm_mlir.dialects.nnvm.elementwise import Copy
from nnvm_mlir.dialects.nnvm.operator import Fusion
from nnvm_mlir.dialects.nnvm.types import known
from nnvm_mlir.graph import entry_function
from nnvm_mlir.mlir import builtin, func, ir
from nnvm_mlir.pipeline import Pass, register_pass

POINTWISE = (Fusion.ELEMWISE, Fusion.BROADCAST)
ANCHORS = (Fusion.OUT_ELEMWISE_FUSABLE, Fusion.COMM_REDUCE)


@register_pass
@dataclass(frozen=True)
class Fuse(Pass):
    """Group operators into fused functions, one kernel each."""

    name: ClassVar[str] = "nnvm-fuse"

    max_operators: int = 64
    """Operators in one group at most."""
    enabled: bool = True
    """False outlines every operator by itself."""

    def run(self, module: ir.Module) -> None:
        """Outlines the entry function's operators in place."""
        entry = entry_function(module)
        reshape_constants(entry)
        separate_outputs(entry)
        groups = partition(entry, self.max_operators if self.enabled else 1)
        outline(module, entry, groups)


@dataclass
class Group:
    """Operators of one kernel, in order; the last one is the only one that others read."""

    operators: list[Operator] = field(default_factory=list)
    anchored: bool = False


def is_kernel_operator(op: Any) -> bool:
    """Whether an operation of the entry function must run in a kernel: neither a view nor a constant."""
    return isinstance(op, Operator) and not op.is_view and not isinstance(op, Constant)


def storage_root(value: ir.Value) -> ir.Value:
    """The value in whose buffer `value` lives: views, and casts of types that are stored alike, are looked through."""
    while isinstance(value.owner, builtin.UnrealizedConversionCastOp) or (
        isinstance(value.owner, Operator) and value.owner.is_view
    ):
        value = value.owner.operands[0]
    return value


def reshape_constants(entry: func.FuncOp) -> None:
    """Makes a view of a constant a constant: constants have no buffer that could be looked at."""
    for op in list(entry.regions[0].blocks[0].operations):
        if isinstance(op, Operator) and op.is_view:
            view = op.operation
            source = constant_of(view.operands[0])
            if source is None:
                continue
            value = source.value.reshape(known(op.result_types[0].shape))
            constant = Constant.build(value=value, ip=ir.InsertionPoint(view), loc=view.location)
            view.results[0].replace_all_uses_with(constant.output)
            view.erase()


def separate_outputs(entry: func.FuncOp) -> None:
    """Gives every output a buffer of its own: one that is an argument, a constant or an earlier output is copied."""
    block = entry.regions[0].blocks[0]
    terminator = block.operations[len(block.operations) - 1]
    taken: set[ir.Value] = set()
    for index, value in enumerate(terminator.operands):
        root = storage_root(value)
        is_computed = not isinstance(root.owner, ir.Block | Constant)
        if not is_computed or root in taken:
            copy = Copy.build(value, ip=ir.InsertionPoint(terminator), loc=terminator.location)
            terminator.operands[index] = copy.output
            root = copy.output
        taken.add(root)


def partition(entry: func.FuncOp, max_operators: int) -> list[Group]:
    """Groups of the entry function's kernel operators, in an order in which they can run."""
    groups: dict[Operator, Group] = {}
    for op in entry.regions[0].blocks[0].operations:
        if not is_kernel_operator(op):
            continue
        group = Group([op], anchored=op.fusion not in POINTWISE)
        for producer in _fusable_producers(op, groups):
            if len(producer.operators) + len(group.operators) > max_operators:
                continue
            if producer.anchored and group.anchored:
                continue
            group.operators = producer.operators + group.operators
            group.anchored |= producer.anchored
        for member in group.operators:
            groups[member] = group
    return [group for op, group in groups.items() if op == group.operators[-1]]


def _fusable_producers(op: Operator, groups: dict[Operator, Group]) -> Iterable[Group]:
    """Groups whose only reader is `op` and whose kernel can go on to compute it."""
    found: dict[int, Group] = {}
    for value in op.operation.operands:
        producer = value.owner
        group = groups.get(producer) if isinstance(producer, Operator) else None
        if group is None or any(use.owner != op for use in value.uses):
            continue
        if _can_continue(producer, group, op):
            found[id(group)] = group
    return found.values()


def _can_continue(producer: Operator, group: Group, op: Operator) -> bool:
    if len(producer.operation.results) != 1:
        return False
    if op.fusion in POINTWISE:
        if not group.anchored:
            return True
        anchor_fusable = any(member.fusion in ANCHORS for member in group.operators)
        return anchor_fusable and producer.result_types[0].shape == op.result_types[0].shape
    return op.fusion is Fusion.COMM_REDUCE and not group.anchored


def outline(module: ir.Module, entry: func.FuncOp, groups: Sequence[Group]) -> None:
    """Replaces every group by a call of a private function; groups that compute the same share it."""
    kernels: dict[Any, func.FuncOp] = {}
    for group in groups:
        operands = _external_operands(group)
        key = _structure(group, operands)
        if key not in kernels:
            name = _kernel_name(group, len(kernels))
            kernels[key] = _kernel(entry, group, operands, name)
        last = group.operators[-1]
        call = func.CallOp(
            [r.type for r in last.operation.results],
            ir.FlatSymbolRefAttr.get(kernels[key].name.value, module.context),
            operands,
            loc=last.location,
            ip=ir.InsertionPoint(last),
        )
        for old, new in zip(last.operation.results, call.results, strict=True):
            old.replace_all_uses_with(new)
        for member in reversed(group.operators):
            member.operation.erase()
    for op in list(entry.regions[0].blocks[0].operations):
        if isinstance(op, Constant) and not op.is_used:
            op.operation.erase()


def _external_operands(group: Group) -> list[ir.Value]:
    inside = {result for op in group.operators for result in op.operation.results}
    operands: dict[ir.Value, None] = {}
    for op in group.operators:
        for value in op.operation.operands:
            if value not in inside and constant_of(value) is None:
                operands[value] = None
    return list(operands)


def constant_of(value: ir.Value) -> Constant | None:
    """The constant op that defines a value, or None."""
    return value.owner if isinstance(value.owner, Constant) else None


def _structure(group: Group, operands: Sequence[ir.Value]) -> tuple[Any, ...]:
    """What a group computes, apart from where its operands come from."""
    numbers: dict[ir.Value, Any] = {value: index for index, value in enumerate(operands)}
    lines = []
    for op in group.operators:
        operation = op.operation
        reads = []
        for value in operation.operands:
            constant = constant_of(value)
            reads.append(constant.operation.attributes["value"] if constant else numbers[value])
        attributes = tuple((k, operation.attributes[k]) for k in sorted(operation.attributes))
        lines.append((operation.name, tuple(reads), attributes))
        for result in operation.results:
            numbers[result] = len(numbers)
    return (tuple(value.type for value in operands), tuple(lines))


def _kernel_name(group: Group, number: int) -> str:
    names = [op.operation.name.removeprefix("nnvm.").strip("_") for op in group.operators]
    shown = names if len(names) <= 4 else [*names[:3], f"and_{len(names) - 3}_more"]
    return f"k{number}_{'_'.join(shown)}"


def _kernel(
    entry: func.FuncOp, group: Group, operands: Sequence[ir.Value], name: str
) -> func.FuncOp:
    last = group.operators[-1].operation
    signature = ([v.type for v in operands], [r.type for r in last.results])
    kernel = func.FuncOp(
        name, signature, visibility="private", loc=last.location, ip=ir.InsertionPoint(entry)
    )
    block = kernel.add_entry_block()
    values = dict(zip(operands, block.arguments, strict=True))
    with ir.InsertionPoint(block):
        for op in group.operators:
            for value in op.operation.operands:
                constant = constant_of(value)
                if constant is not None and value not in values:
                    values[value] = constant.operation.clone().results[0]
            clone = op.operation.clone()
            for index, value in enumerate(op.operation.operands):
                clone.operands[index] = values[value]
            values.update(zip(op.operation.results, clone.results, strict=True))
        func.ReturnOp([values[r] for r in last.results], loc=last.location)
    return kernel
