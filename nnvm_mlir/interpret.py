"""The reference executor: runs any module of nnvm ops with every operator's `evaluate`, in NumPy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from nnvm_mlir.dialects.nnvm import Operator
from nnvm_mlir.errors import operation_error
from nnvm_mlir.graph import PARAMETER, Graph
from nnvm_mlir.mlir import func, ir


def interpret(graph: Graph, inputs: Mapping[str, np.ndarray]) -> list[np.ndarray]:
    """The outputs of a graph for inputs by name.

    Raises:
        KeyError: an input is missing.
        CompileError: an operation is not of the dialect.
    """
    arrays = [
        graph.params[v.name] if v.kind == PARAMETER else inputs[v.name] for v in graph.variables
    ]
    return interpret_function(graph.entry, arrays)


def interpret_function(
    function: func.FuncOp, arguments: Sequence[np.ndarray]
) -> list[np.ndarray]:
    """The results of a function of nnvm ops and calls of such functions.

    Raises:
        CompileError: an operation is not of the dialect.
    """
    block = function.regions[0].blocks[0]
    values: dict[ir.Value, np.ndarray] = dict(zip(block.arguments, arguments, strict=True))
    callees: dict[str, func.FuncOp] = {}
    for op in block.operations:
        operands = [values[value] for value in op.operation.operands]
        if isinstance(op, Operator):
            with np.errstate(all="ignore"):
                results = op.evaluate(op.values, *operands)
            results = list(results) if isinstance(results, tuple) else [results]
        elif isinstance(op, func.CallOp):
            callees = callees or _siblings(function)
            results = interpret_function(callees[op.callee.value], operands)
        elif isinstance(op, func.ReturnOp):
            return operands
        else:
            raise operation_error(op, "is not an nnvm operation")
        values.update(zip(op.operation.results, results, strict=True))
    return []


def _siblings(function: func.FuncOp) -> dict[str, func.FuncOp]:
    module = function.operation.parent
    return {
        op.name.value: op
        for op in module.regions[0].blocks[0].operations
        if isinstance(op, func.FuncOp)
    }
