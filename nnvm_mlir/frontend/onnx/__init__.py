"""ONNX models to graphs."""

from nnvm_mlir.frontend.onnx import converters
from nnvm_mlir.frontend.onnx.importer import import_model
from nnvm_mlir.frontend.onnx.load import Model, load_model
from nnvm_mlir.frontend.onnx.registry import supported_operators

__all__ = ["Model", "converters", "import_model", "load_model", "supported_operators"]
