"""nnvm to linalg on tensors: one file of rules for each operator family."""

from nnvm_mlir.lowering.linalg import (
    activation,
    broadcast,
    creation,
    elementwise,
    expansion,
    linear,
    quantization,
    reduction,
    slicing,
    transform,
)
from nnvm_mlir.lowering.linalg.convert import convert_function

__all__ = [
    "activation",
    "broadcast",
    "convert_function",
    "creation",
    "elementwise",
    "expansion",
    "linear",
    "quantization",
    "reduction",
    "slicing",
    "transform",
]
