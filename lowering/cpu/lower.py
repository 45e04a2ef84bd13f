"""A planned module of fused functions to the LLVM dialect, stage by stage; each stage is a pass, too."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from nnvm_mlir.graph import kernels
from nnvm_mlir.lowering.cpu.entry import Entry, lower_entry
from nnvm_mlir.lowering.cpu.kernels import lower_kernel
from nnvm_mlir.lowering.cpu.llvm import lower_to_llvm
from nnvm_mlir.lowering.cpu.loops import lower_to_loops
from nnvm_mlir.lowering.linalg.convert import convert_module
from nnvm_mlir.mlir import ir
from nnvm_mlir.pipeline import Pass, register_pass
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
    convert_module(module)
    note("linalg", module)
    lower_kernels(module, target)
    lowered = lower_entry(module)
    note("kernels", module)
    lower_to_llvm(module, target)
    note("llvm", module)
    return lowered


def lower_kernels(module: ir.Module, target: Target) -> dict[str, int]:
    """Replaces every kernel on tensors by one on buffers.

    Returns:
        How many kernels a generator took ("generated"), and how many became plain loops ("loops").
    """
    counts = {"generated": 0, "loops": 0}
    for kernel in kernels(module):
        if lower_kernel(kernel, target):
            counts["generated"] += 1
        else:
            lower_to_loops(kernel)
            counts["loops"] += 1
    return counts


@register_pass
@dataclass(frozen=True)
class LowerKernels(Pass):
    """Turn kernels of linalg ops into vector code or plain loops on buffers, and the entry into their calls."""

    name: ClassVar[str] = "nnvm-lower-kernels"

    target: str = "cpu"
    threads: int = 1

    def run(self, module: ir.Module) -> dict[str, int]:
        """Lowers a planned module in place."""
        counts = lower_kernels(module, Target.parse(self.target).with_threads(self.threads))
        lower_entry(module)
        return counts


@register_pass
@dataclass(frozen=True)
class LowerToLLVM(Pass):
    """Lower kernels on buffers, vectors and loops to the LLVM dialect."""

    name: ClassVar[str] = "nnvm-lower-to-llvm"

    threads: int = 1

    def run(self, module: ir.Module) -> None:
        """Runs the pipeline of upstream passes for the number of threads."""
        lower_to_llvm(module, Target.parse("cpu").with_threads(self.threads))
