"""Machine code in this process: an LLVM-dialect module handed to MLIR's execution engine."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from nnvm_mlir.errors import CompileError
from nnvm_mlir.graph import ENTRY
from nnvm_mlir.mlir import ExecutionEngine, ir
from nnvm_mlir.target import Target


def jit(module: ir.Module, target: Target) -> tuple[int, ExecutionEngine]:
    """Compiles a module of the LLVM dialect.

    Returns:
        The address of the packed entry function, and the engine that owns its code.

    Raises:
        CompileError: the module could not be translated, or the entry function is missing.
    """
    libraries = [openmp_library()] if target.threads > 1 else []
    try:
        engine = ExecutionEngine(module, opt_level=3, shared_libs=libraries)
    except RuntimeError as error:
        raise CompileError(f"machine code could not be generated: {error}") from error
    address = engine.raw_lookup(ENTRY)
    if not address:
        raise CompileError("machine code could not be generated: the entry function is missing")
    return address, engine


def openmp_library() -> str:
    """Path of LLVM's OpenMP runtime.

    Raises:
        CompileError: it is not installed.
    """
    spec = importlib.util.find_spec("cmeel")
    for folder in spec.submodule_search_locations or [] if spec else []:
        path = Path(folder).parent / "cmeel.prefix" / "lib" / "libomp.so"
        if path.is_file():
            return str(path)
    raise CompileError(
        "LLVM's OpenMP runtime (libomp.so) was not found",
        hint="install cmeel-libomp, or compile with threads=1",
    )
