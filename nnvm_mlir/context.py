"""Contexts in which graphs live."""

from __future__ import annotations

from nnvm_mlir.dialects import nnvm
from nnvm_mlir.mlir import ir


def make_context() -> ir.Context:
    """A context with the nnvm dialect loaded and threading off (Python callbacks must not run concurrently)."""
    context = ir.Context()
    context.enable_multithreading(False)
    nnvm.load(context)
    return context
