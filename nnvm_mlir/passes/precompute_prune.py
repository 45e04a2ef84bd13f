"""`nnvm-precompute-prune`: what depends on parameters only is computed once, when the model is built.

Such operators move into a function `@precompute` from the old parameters to new ones, which the
entry function takes instead. Who holds the parameter values runs that function on them (see
`build.evaluate_precomputed`) and drops it. Parameters that nothing reads any more are pruned from the entry function.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import ClassVar

from nnvm_mlir.dialects.nnvm import Operator
from nnvm_mlir.dialects.nnvm.creation import Constant
from nnvm_mlir.graph import (
    PARAMETER,
    entry_function,
    update_function_type,
    variable_attributes,
    variables,
)
from nnvm_mlir.mlir import func, ir
from nnvm_mlir.pipeline import Pass, register_pass

PRECOMPUTE = "precompute"
"""Name of the function that makes the new parameters from the old ones."""


@register_pass
@dataclass(frozen=True)
class PrecomputePrune(Pass):
    """Move what depends on parameters only into @precompute; drop unused parameters."""

    name: ClassVar[str] = "nnvm-precompute-prune"

    def run(self, module: ir.Module) -> None:
        """Splits the entry function in place."""
        entry = entry_function(module)
        names = {v.index: v.name for v in variables(entry)}
        known = [entry.arguments[v.index] for v in variables(entry) if v.kind == PARAMETER]
        movable = _parameter_operators(entry, known)
        results = _read_outside(movable)
        if results:
            _split(entry, names, known, movable, results)
        prune_parameters(entry)
        update_function_type(entry)


def _parameter_operators(entry: func.FuncOp, known: list[ir.Value]) -> list[Operator]:
    """Operators all of whose operands are parameters, constants, or results of such operators."""
    available = set(known)
    found = []
    for op in entry.regions[0].blocks[0].operations:
        if isinstance(op, Operator) and all(v in available for v in op.operation.operands):
            available.update(op.operation.results)
            found.append(op)
    return found


def _read_outside(movable: list[Operator]) -> list[ir.Value]:
    """Results of the movable operators that others read; a constant stays where it is read."""
    inside = set(movable)
    return [
        result
        for op in movable
        if not isinstance(op, Constant)
        for result in op.operation.results
        if any(use.owner not in inside for use in result.uses)
    ]


def _split(
    entry: func.FuncOp,
    names: dict[int, str],
    known: list[ir.BlockArgument],
    movable: list[Operator],
    results: list[ir.Value],
) -> None:
    block = entry.regions[0].blocks[0]
    new_names = _new_names(results, set(names.values()))
    precompute = func.FuncOp(
        PRECOMPUTE,
        ([value.type for value in known], [value.type for value in results]),
        loc=entry.location,
        ip=ir.InsertionPoint(entry),
    )
    body = precompute.add_entry_block()
    values = dict(zip(known, body.arguments, strict=True))
    with ir.InsertionPoint(body):
        for op in movable:
            clone = op.operation.clone()
            for index, operand in enumerate(op.operation.operands):
                clone.operands[index] = values[operand]
            values.update(zip(op.operation.results, clone.results, strict=True))
        func.ReturnOp([values[result] for result in results], loc=entry.location)
    precompute.attributes["arg_attrs"] = ir.ArrayAttr.get(
        [variable_attributes(names[value.arg_number], PARAMETER) for value in known]
    )
    precompute.attributes["res_attrs"] = ir.ArrayAttr.get(
        [variable_attributes(name) for name in new_names]
    )
    arguments = list(ir.ArrayAttr(entry.attributes["arg_attrs"]))
    for result, name in zip(results, new_names, strict=True):
        argument = block.add_argument(result.type, ir.Location.name(name))
        result.replace_all_uses_with(argument)
        arguments.append(variable_attributes(name, PARAMETER))
    entry.attributes["arg_attrs"] = ir.ArrayAttr.get(arguments)
    for op in reversed(movable):
        if not op.is_used:
            op.operation.erase()


def prune_parameters(entry: func.FuncOp) -> None:
    """Removes the parameters of the entry function that nothing reads; inputs stay, whoever reads them."""
    block = entry.regions[0].blocks[0]
    if "arg_attrs" not in entry.attributes:
        return
    attributes = list(ir.ArrayAttr(entry.attributes["arg_attrs"]))
    for variable in reversed(variables(entry)):
        unused = next(iter(block.arguments[variable.index].uses), None) is None
        if variable.kind == PARAMETER and unused:
            block.erase_argument(variable.index)
            del attributes[variable.index]
    entry.attributes["arg_attrs"] = ir.ArrayAttr.get(attributes)


def _new_names(results: list[ir.Value], taken: set[str]) -> list[str]:
    """Names for new parameters: those of the operations' locations, numbered where they are taken.

    They do not depend on memory addresses or time.
    """
    counts: Counter[str] = Counter()
    names = []
    for result in results:
        location = result.owner.location
        base = (location.name_str if location.is_a_name() else "") or "precomputed"
        name = base
        while name in taken:
            counts[base] += 1
            name = f"{base}.{counts[base]}"
        taken.add(name)
        names.append(name)
    return names
