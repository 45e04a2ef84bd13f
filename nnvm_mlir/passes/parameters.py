"""What is known when a model is built: parameters, constants, and what is computed from these only."""

from __future__ import annotations

from nnvm_mlir.dialects.nnvm import Operator
from nnvm_mlir.graph import KIND, PARAMETER
from nnvm_mlir.mlir import func, ir

_VISIT_LIMIT = 64
"""Values that a search looks at before it gives up, so that passes take linear time."""


def depends_on_parameters_only(value: ir.Value) -> bool:
    """Whether a value of an entry function can be computed when the model is built.

    False too where a short search does not tell.
    """
    pending = [value]
    seen: set[ir.Value] = set()
    while pending:
        if len(seen) > _VISIT_LIMIT:
            return False
        current = pending.pop()
        if current in seen:
            continue
        seen.add(current)
        if isinstance(current.owner, ir.Block):
            if not _is_parameter(current):
                return False
        elif isinstance(current.owner, Operator):
            pending.extend(current.owner.operands)
        else:
            return False
    return True


def _is_parameter(argument: ir.BlockArgument) -> bool:
    function = argument.owner.owner.opview
    if not isinstance(function, func.FuncOp) or "arg_attrs" not in function.attributes:
        return False
    attributes = ir.ArrayAttr(function.attributes["arg_attrs"])[argument.arg_number]
    return KIND in attributes and attributes[KIND].value == PARAMETER
