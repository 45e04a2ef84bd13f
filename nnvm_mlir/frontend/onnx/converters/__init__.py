"""Converters of ONNX operators, by family; importing this package fills the table in `registry`."""

from nnvm_mlir.frontend.onnx.converters import (
    broadcast,
    control,
    convolution,
    creation,
    einsum,
    elementwise,
    image,
    indexing,
    linear,
    normalization,
    pooling,
    quantization,
    recurrent,
    reduction,
    sequence,
    transform,
)

__all__ = [
    "broadcast",
    "control",
    "convolution",
    "creation",
    "einsum",
    "elementwise",
    "image",
    "indexing",
    "linear",
    "normalization",
    "pooling",
    "quantization",
    "recurrent",
    "reduction",
    "sequence",
    "transform",
]
