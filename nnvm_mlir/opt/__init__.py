"""`nnvm-opt`: reads IR, runs passes on it, prints the result."""

from nnvm_mlir.opt.command import main

__all__ = ["main"]
