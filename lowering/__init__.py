"""From the nnvm dialect to linalg, and from linalg to machine code. Importing this package registers its passes."""

from nnvm_mlir.lowering import linalg
from nnvm_mlir.lowering.cpu import lower

__all__ = ["linalg", "lower"]
