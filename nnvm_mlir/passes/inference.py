"""The worklist that InferShape and InferType share: rules refine types until nothing changes.

An operation is revisited only when the type of one of its operands or results was refined, and a
type can be refined only a few times (rank, then dimensions, then dtype), so the work is linear in
the size of the graph.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from nnvm_mlir.dialects.nnvm import Operator
from nnvm_mlir.dialects.nnvm.types import TensorType
from nnvm_mlir.errors import CompileError, operation_error
from nnvm_mlir.graph import functions, require_block, update_function_type
from nnvm_mlir.mlir import func, ir

Refine = Callable[[Operator], tuple[list[TensorType], list[TensorType]]]
"""Given an operation, its operand and result types as far as they follow from each other. Raises ValueError for a conflict."""


def run_inference(module: ir.Module, refine: Refine) -> None:
    """Refines every type of every function.

    Raises:
        CompileError: a rule found a conflict; it names the operation and its location. Or a function has control flow.
    """
    for function in functions(module):
        if function.is_external:
            continue
        require_block(function)
        _infer_function(function, refine)
        update_function_type(function)


def _infer_function(function: func.FuncOp, refine: Refine) -> None:
    block = function.regions[0].blocks[0]
    operators = [op for op in block.operations if isinstance(op, Operator)]
    queue = deque(operators)
    queued = set(operators)
    while queue:
        op = queue.popleft()
        queued.discard(op)
        try:
            ins, outs = refine(op)
        except ValueError as error:
            raise operation_error(op, str(error)) from error
        changed = []
        values = [*op.operation.operands, *op.operation.results]
        for value, refined in zip(values, [*ins, *outs], strict=True):
            if TensorType.of(value) != refined:
                value.set_type(refined.to_mlir())
                changed.append(value)
        for neighbour in _neighbours(changed):
            if neighbour not in queued and neighbour != op:
                queued.add(neighbour)
                queue.append(neighbour)


def _neighbours(values: list[ir.Value]) -> list[Operator]:
    found = []
    for value in values:
        found.extend([value.owner, *(use.owner for use in value.uses)])
    return [op for op in found if isinstance(op, Operator)]


def require_static(module: ir.Module) -> None:
    """Checks that every type is wholly known.

    Raises:
        CompileError: lists what is not.
    """
    unknown = []
    for function in functions(module):
        if function.is_external:
            continue
        for argument in function.arguments:
            if not TensorType.of(argument).is_static:
                unknown.append(
                    f"argument {argument.get_name()} of @{function.name.value}: {argument.type}"
                )
        for op in function.regions[0].blocks[0].operations:
            if isinstance(op, Operator):
                unknown.extend(
                    f"{op.operation.name}: {t}" for t in op.result_types if not t.is_static
                )
    if unknown:
        listed = "; ".join(unknown[:20]) + (
            f"; and {len(unknown) - 20} more" if len(unknown) > 20 else ""
        )
        raise CompileError(
            f"types remain unknown: {listed}", hint="give the shapes and dtypes of the inputs"
        )
