"""NNVM's graph compiler rebuilt in Python on MLIR.

import nnvm_mlir

model = nnvm_mlir.compile("model.onnx")
outputs = model({"x": array})
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nnvm_mlir.driver import CompiledModel, compile
    from nnvm_mlir.errors import CompileError, LoadError
    from nnvm_mlir.runtime.artifact import load
    from nnvm_mlir.target import Target

_EXPORTS = {
    "CompileError": "errors",
    "CompiledModel": "driver",
    "LoadError": "errors",
    "Target": "target",
    "compile": "driver",
    "load": "runtime.artifact",
}

__all__ = ["CompileError", "CompiledModel", "LoadError", "Target", "compile", "load"]


def __getattr__(name: str) -> Any:
    """Imports what is asked for when it is asked for: `import nnvm_mlir` alone loads neither MLIR nor NumPy."""
    if name not in _EXPORTS:
        raise AttributeError(f"module 'nnvm_mlir' has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(f"nnvm_mlir.{_EXPORTS[name]}"), name)
