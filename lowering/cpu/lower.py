"""A planned module of fused functions to the LLVM dialect, stage by stage."""

from __future__ import annotations

from collections.abc import Callable

from nnvm_mlir.errors import operation_error
from nnvm_mlir.graph import ENTRY, functions
from nnvm_mlir.lowering.cpu.entry import Entry, lower_entry
from nnvm_mlir.lowering.cpu.kernels import lower_kernel
from nnvm_mlir.lowering.cpu.llvm import lower_to_llvm
from nnvm_mlir.lowering.cpu.loops import lower_to_loops
from nnvm_mlir.lowering.linalg import convert_function
from nnvm_mlir.mlir import func, ir
from nnvm_mlir.target import Target

Record = Callable[[str, ir.Module], None]


def lower_module(module: ir.Module, target: Target, note: Record) -> Entry:
    """Lowers a planned module, in place.

    Args:
        target: what to generate for.
        note: called with the name of each stage and the module after it.

    Returns:
        What a caller of the entry function must know.

    Raises:
        CompileError: a kernel cannot be lowered; it names the kernel.
    """
    kernels = [f for f in functions(module) if f.name.value != ENTRY]
    kernels = [_convert(kernel) for kernel in kernels]
    note("linalg", module)
    for kernel in kernels:
        if not lower_kernel(kernel, target):
            lower_to_loops(kernel)
    note("kernels", module)
    lowered = lower_entry(module)
    note("entry", module)
    lower_to_llvm(module, target)
    note("llvm", module)
    return lowered


def _convert(kernel: func.FuncOp) -> func.FuncOp:
    try:
        return convert_function(kernel)
    except NotImplementedError as error:
        raise operation_error(kernel, f"cannot be lowered: {error}") from error
