"""Running compiled programs; knows neither MLIR nor LLVM."""

from nnvm_mlir.runtime.program import Program, TensorSpec

__all__ = ["Program", "TensorSpec"]
