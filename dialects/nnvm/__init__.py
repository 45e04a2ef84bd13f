"""The graph dialect `nnvm`: one class for each operator, grouped by family."""

from nnvm_mlir.dialects.nnvm import (
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
from nnvm_mlir.dialects.nnvm.dialect import load, register_operators, verify_module
from nnvm_mlir.dialects.nnvm.operator import OPERATORS, Operator

register_operators()

__all__ = [
    "OPERATORS",
    "Operator",
    "activation",
    "broadcast",
    "convolution",
    "creation",
    "elementwise",
    "expansion",
    "image",
    "indexing",
    "linear",
    "load",
    "normalization",
    "pooling",
    "quantization",
    "recurrent",
    "reduction",
    "selection",
    "slicing",
    "transform",
    "verify_module",
]
