"""`Graph`: a module with one entry function, and the values of its parameters.

The entry function `@main` has one argument for each variable, with its name and kind (`input` or
`parameter`) as argument attributes, and one result for each output. Parameter values stay outside
the IR, as NumPy arrays by name, so that the text stays readable.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from nnvm_mlir.dialects.nnvm.types import TensorType
from nnvm_mlir.errors import CompileError, operation_error
from nnvm_mlir.mlir import func, ir

ENTRY = "main"
NAME = "nnvm.name"
KIND = "nnvm.kind"
INPUT = "input"
PARAMETER = "parameter"


@dataclass(frozen=True)
class Variable:
    """An argument or a result of the entry function."""

    name: str
    type: TensorType
    kind: str
    index: int


@dataclass
class Graph:
    """A module and its parameter values.

    Attributes:
        module: the IR; passes change it in place.
        params: values of the parameters, by variable name.
        metadata: free text that came with the model.
    """

    module: ir.Module
    params: dict[str, np.ndarray] = field(default_factory=dict)
    metadata: Mapping[str, str] = field(default_factory=dict)

    @property
    def entry(self) -> func.FuncOp:
        """The entry function."""
        return entry_function(self.module)

    @property
    def variables(self) -> list[Variable]:
        """The entry function's arguments, in order."""
        return variables(self.entry)

    @property
    def inputs(self) -> list[Variable]:
        """Arguments that a caller gives."""
        return [v for v in self.variables if v.kind == INPUT]

    @property
    def outputs(self) -> list[Variable]:
        """Results, in order; one without a name is named by its position."""
        entry = self.entry
        types = entry.type.results
        found = []
        for index, attrs in enumerate(_dictionaries(entry, "res_attrs", len(types))):
            name = attrs[NAME].value if NAME in attrs else f"output{index}"
            found.append(Variable(name, TensorType.of(types[index]), "output", index))
        return found

    def __str__(self) -> str:
        return str(self.module)


def entry_function(module: ir.Module) -> func.FuncOp:
    """The function `@main` of a module.

    Raises:
        CompileError: there is none, or it is not one block.
    """
    for op in module.body.operations:
        if isinstance(op, func.FuncOp) and op.name.value == ENTRY:
            require_block(op)
            return op
    raise CompileError(f"the module has no function @{ENTRY}")


def require_block(function: func.FuncOp) -> None:
    """Refuses a function with control flow, or without a body: a graph has neither. Raises CompileError."""
    count = len(function.regions[0].blocks)
    if count != 1:
        raise operation_error(function, f"expects one block in @{function.name.value}, got {count}")


def functions(module: ir.Module) -> list[func.FuncOp]:
    """All functions of a module, as a list that stays valid while they are replaced."""
    return [op for op in module.body.operations if isinstance(op, func.FuncOp)]


def kernels(module: ir.Module) -> list[func.FuncOp]:
    """All functions but the entry, likewise.

    Raises:
        CompileError: one is only declared, or has control flow.
    """
    found = [function for function in functions(module) if function.name.value != ENTRY]
    for function in found:
        require_block(function)
    return found


def variables(entry: func.FuncOp) -> list[Variable]:
    """The arguments of an entry function; one without a name or a kind is an input named by its position.

    Raises:
        CompileError: one is no tensor of the dialect.
    """
    arguments = list(entry.arguments)
    found = []
    for index, attrs in enumerate(_dictionaries(entry, "arg_attrs", len(arguments))):
        name = attrs[NAME].value if NAME in attrs else f"arg{index}"
        kind = attrs[KIND].value if KIND in attrs else INPUT
        try:
            found.append(Variable(name, TensorType.of(arguments[index]), kind, index))
        except TypeError as error:
            raise operation_error(entry, f"has an argument {name!r}: {error}") from None
    return found


def variable_attributes(name: str, kind: str | None = None) -> ir.DictAttr:
    """The argument (or result) attributes of a variable, in the current context."""
    attrs = {NAME: ir.StringAttr.get(name)}
    if kind is not None:
        attrs[KIND] = ir.StringAttr.get(kind)
    return ir.DictAttr.get(attrs)


def update_function_type(function: func.FuncOp) -> None:
    """Makes the declared type of a function agree with its arguments and what it returns."""
    block = function.regions[0].blocks[0]
    terminator = block.operations[len(block.operations) - 1]
    results = [value.type for value in terminator.operands]
    function.attributes["function_type"] = ir.TypeAttr.get(
        ir.FunctionType.get([a.type for a in block.arguments], results, function.context)
    )


def _dictionaries(function: func.FuncOp, key: str, count: int) -> Iterator[ir.DictAttr | dict]:
    if key not in function.attributes:
        return iter([{}] * count)
    return iter(ir.ArrayAttr(function.attributes[key]))
