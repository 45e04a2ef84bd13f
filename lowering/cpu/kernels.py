"""Which generator lowers a kernel function."""

from __future__ import annotations

from collections.abc import Callable

from nnvm_mlir.lowering.cpu import contraction, register_tile, schedule
from nnvm_mlir.lowering.cpu.emitter import Emitter, Unsupported, emit_function
from nnvm_mlir.lowering.cpu.structured import Kernel, read
from nnvm_mlir.mlir import func
from nnvm_mlir.target import Target


def lower_contraction(kernel: Kernel, target: Target) -> func.FuncOp:
    """Lowers convolutions, matrix products and pooling; raises `Unsupported` for everything else."""
    problem = contraction.match(kernel, target)
    plan = schedule.choose(problem, target)

    def body(e: Emitter, inputs: list, outputs: list) -> None:
        register_tile.RegisterTile(e, problem, plan, inputs, outputs).emit()

    return emit_function(kernel.function, kernel.arguments, kernel.outputs, target, body)


Generator = Callable[[Kernel, Target], func.FuncOp]

GENERATORS: tuple[Generator, ...] = (lower_contraction,)
"""Tried in order; the first that does not raise `Unsupported` lowers the kernel."""


def lower_kernel(function: func.FuncOp, target: Target) -> bool:
    """Replaces a kernel function on tensors by vector code on flat buffers.

    Args:
        function: at linalg level; erased on success, untouched otherwise.
        target: what to generate for.

    Returns:
        Whether a generator covers the kernel. If not, `loops.py` can lower it.
    """
    try:
        kernel = read(function)
    except Unsupported:
        return False
    for generator in GENERATORS:
        try:
            generator(kernel, target)
        except Unsupported:
            continue
        return True
    return False
