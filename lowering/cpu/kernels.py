"""Which generator lowers a kernel function."""

from __future__ import annotations

from collections.abc import Callable

from nnvm_mlir.lowering.cpu import contraction, pointwise, rowwise
from nnvm_mlir.lowering.cpu.emitter import Unsupported
from nnvm_mlir.mlir import func
from nnvm_mlir.target import Target

Generator = Callable[[func.FuncOp, Target], func.FuncOp]

GENERATORS: tuple[Generator, ...] = (contraction.lower, rowwise.lower, pointwise.lower)
"""Tried in order. Each replaces the function, or raises `Unsupported` and leaves it as it is."""


def lower_kernel(function: func.FuncOp, target: Target) -> bool:
    """Replaces a kernel function on tensors by vector code on flat buffers, of the same name.

    Args:
        function: at linalg level; erased on success, untouched otherwise.
        target: what to generate for.

    Returns:
        Whether a generator covers the kernel. If not, `loops.py` can lower it.
    """
    for generator in GENERATORS:
        try:
            generator(function, target)
        except Unsupported:
            continue
        return True
    return False
