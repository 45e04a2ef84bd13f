"""An ONNX model before its shapes are bound."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx

from nnvm_mlir.frontend.onnx.importer import check_operators, import_model
from nnvm_mlir.frontend.onnx.inputs import declared_type, model_inputs
from nnvm_mlir.frontend.onnx.load import load_model
from nnvm_mlir.graph import Graph
from nnvm_mlir.runtime.program import TensorSpec


class OnnxSource:
    """A loaded and checked ONNX model.

    Raises:
        LoadError: it cannot be read, or is not a model.
        CompileError: it is malformed, or has operators that are not supported: the message lists
            them all.
    """

    def __init__(self, model: Any) -> None:
        self._model = load_model(model)
        check_operators(self._model)
        proto = self._model.proto
        self.inputs = tuple(_spec(value) for value in model_inputs(proto.graph))
        self.outputs = tuple(_output_spec(value) for value in proto.graph.output)
        self.metadata: Mapping[str, str] = {e.key: e.value for e in proto.metadata_props}

    def import_graph(
        self, shapes: Mapping[str, Sequence[int]], values: Mapping[str, np.ndarray]
    ) -> Graph:
        """The graph for these shapes, in a context of its own."""
        return import_model(self._model, shapes, values)


def _spec(value: onnx.ValueInfoProto) -> TensorSpec:
    tensor_type = declared_type(value)
    return TensorSpec(value.name, tensor_type.shape, tensor_type.dtype or "")


def _output_spec(value: onnx.ValueInfoProto) -> TensorSpec:
    """As declared; unlike an input, an output may leave its type to be inferred."""
    if value.type.WhichOneof("value") is None or value.type.tensor_type.elem_type == 0:
        return TensorSpec(value.name, None, "unknown")
    return _spec(value)
