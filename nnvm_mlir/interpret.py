"""The reference executor: runs any module of nnvm ops in NumPy, by every operator's `evaluate`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from nnvm_mlir.dialects.nnvm import Operator
from nnvm_mlir.dialects.nnvm.types import TensorType
from nnvm_mlir.errors import operation_error
from nnvm_mlir.graph import PARAMETER, Graph
from nnvm_mlir.mlir import func, ir


def interpret(graph: Graph, inputs: Mapping[str, np.ndarray]) -> list[np.ndarray]:
    """The outputs of a graph for inputs by name.

    Raises:
        KeyError: an input is missing.
        ValueError: an input or a parameter has another type than the graph declares.
        CompileError: an operation is not of the dialect, or its reference breaks its own rules.
    """
    arrays = []
    for variable in graph.variables:
        value = (graph.params if variable.kind == PARAMETER else inputs)[variable.name]
        if TensorType.of(value) != variable.type:
            raise ValueError(
                f"{variable.kind} {variable.name!r} is {TensorType.of(value)},"
                f" expected {variable.type}"
            )
        arrays.append(value)
    return interpret_function(graph.entry, arrays)


def interpret_function(function: func.FuncOp, arguments: Sequence[np.ndarray]) -> list[np.ndarray]:
    """The results of a function of nnvm ops and calls of such functions.

    Raises:
        CompileError: an operation is not of the dialect, or its reference breaks its own rules.
    """
    block = function.regions[0].blocks[0]
    values: dict[ir.Value, np.ndarray] = dict(zip(block.arguments, arguments, strict=True))
    callees: dict[str, func.FuncOp] = {}
    for op in block.operations:
        operands = [values[value] for value in op.operation.operands]
        if isinstance(op, Operator):
            results = _evaluate(op, operands)
        elif isinstance(op, func.CallOp):
            callees = callees or _siblings(function)
            results = interpret_function(callees[op.callee.value], operands)
        elif isinstance(op, func.ReturnOp):
            return operands
        else:
            raise operation_error(op, "is not an nnvm operation")
        values.update(zip(op.operation.results, results, strict=True))
    return []


def _evaluate(op: Operator, operands: Sequence[np.ndarray]) -> list[np.ndarray]:
    with np.errstate(all="ignore"):
        results = op.evaluate(op.values, *operands)
    arrays = [np.asarray(r) for r in (results if isinstance(results, tuple) else (results,))]
    for array, expected in zip(arrays, op.result_types, strict=True):
        if TensorType.of(array) != expected:
            raise operation_error(op, f"evaluates to {TensorType.of(array)}, expected {expected}")
    return arrays


def _siblings(function: func.FuncOp) -> dict[str, func.FuncOp]:
    module = function.operation.parent
    return {
        op.name.value: op
        for op in module.regions[0].blocks[0].operations
        if isinstance(op, func.FuncOp)
    }
