"""nnvm to linalg on tensors: one file of rules for each operator family."""

from nnvm_mlir.lowering.linalg import (
    activation,
    broadcast,
    convolution,
    creation,
    elementwise,
    expansion,
    image,
    indexing,
    linear,
    normalization,
    pooling,
    quantization,
    recurrent,
    reduction,
    selection,
    slicing,
    transform,
)
from nnvm_mlir.lowering.linalg.convert import convert_function

__all__ = [
    "activation",
    "broadcast",
    "convert_function",
    "convolution",
    "creation",
    "elementwise",
    "expansion",
    "image",
    "indexing",
    "linear",
    "normalization",
    "pooling",
    "quantization",
    "recurrent",
    "reduction",
    "selection",
    "slicing",
    "transform",
]
