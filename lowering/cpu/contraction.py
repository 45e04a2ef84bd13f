"""Contractions and window reductions: convolutions, matrix products, pooling, with what is fused around them.

The generator is driven by the loops and accesses of one reducing `linalg.generic` of the form `acc
= acc op f(inputs...)`, never by the name of an operator: `reduction_problem.py` brings a kernel
function into a normal form, `schedule.py` decides how it is tiled, `register_tile.py` emits it.
"""

from __future__ import annotations

from collections.abc import Sequence

from nnvm_mlir.lowering.cpu import schedule
from nnvm_mlir.lowering.cpu.emitter import Emitter, emit_function
from nnvm_mlir.lowering.cpu.phases import read_phases
from nnvm_mlir.lowering.cpu.reduction_problem import match
from nnvm_mlir.lowering.cpu.register_tile import RegisterTile
from nnvm_mlir.mlir import func, ir
from nnvm_mlir.target import Target


def lower(function: func.FuncOp, target: Target) -> func.FuncOp:
    """Replaces a kernel function that is one reduction (or several that each compute a part of one
    tensor) with element-wise generics around it.

    Raises:
        Unsupported: it is something else; the function is left as it is.
    """
    name = ir.StringAttr(function.attributes["sym_name"]).value
    scratch = function.operation.clone(ip=ir.InsertionPoint(function)).opview
    try:
        kernels = read_phases(scratch)
        problems = [match(kernel, target) for kernel in kernels]
        plans = [schedule.choose(problem, target) for problem in problems]

        def body(e: Emitter, inputs: Sequence[ir.Value], outputs: Sequence[ir.Value]) -> None:
            for number, (problem, plan) in enumerate(zip(problems, plans, strict=True)):
                RegisterTile(e, problem, plan, inputs, outputs, f"{name}_phase{number}").emit()

        return emit_function(function, kernels[0].arguments, kernels[0].outputs, target, body)
    finally:
        scratch.operation.erase()
