"""Small ONNX models for tests, and how to run an imported one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper

from nnvm_mlir.errors import NeedsValue
from nnvm_mlir.frontend.onnx import import_model
from nnvm_mlir.graph import Graph
from nnvm_mlir.interpret import interpret

Shape = Sequence[int | str | None]
Execute = Callable[[Graph, Mapping[str, np.ndarray]], list[np.ndarray]]

node = helper.make_node
INT64 = TensorProto.INT64
BOOL = TensorProto.BOOL
X = np.array([[-1.0, 2.0, -3.0], [4.0, -5.0, 6.0]], np.float32)


def tensor(name: str, value: Any, dtype: str | None = None) -> onnx.TensorProto:
    return onnx.numpy_helper.from_array(np.asarray(value, dtype), name)


def value_info(
    name: str, shape: Shape | None, code: int = TensorProto.FLOAT
) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, code, shape)


def make_model(
    nodes: Sequence[onnx.NodeProto],
    inputs: Mapping[str, Shape | None] | Sequence[onnx.ValueInfoProto] = (),
    outputs: Sequence[str | onnx.ValueInfoProto] = ("y",),
    initializers: Sequence[onnx.TensorProto] = (),
    opset: int = 17,
    functions: Sequence[onnx.FunctionProto] = (),
    domains: Mapping[str, int] | None = None,
) -> onnx.ModelProto:
    """A model; inputs by name and shape are float, outputs by name alone declare no type."""
    if isinstance(inputs, Mapping):
        inputs = [value_info(name, shape) for name, shape in inputs.items()]
    typed = [
        onnx.ValueInfoProto(name=output) if isinstance(output, str) else output
        for output in outputs
    ]
    graph = helper.make_graph(nodes, "g", inputs, typed, initializers)
    imports = [helper.make_opsetid("", opset)]
    imports += [helper.make_opsetid(*item) for item in (domains or {}).items()]
    return helper.make_model(graph, opset_imports=imports, ir_version=8, functions=functions)


def relu_model() -> onnx.ModelProto:
    return make_model([node("Relu", ["x"], ["y"], name="relu")], {"x": [2, 3]})


def import_with(model: Any, inputs: Mapping[str, np.ndarray]) -> Graph:
    """The graph for these inputs, specialised on the values of those whose values it needs."""
    shapes = {name: array.shape for name, array in inputs.items()}
    values: dict[str, np.ndarray] = {}
    while True:
        try:
            return import_model(model, shapes, values)
        except NeedsValue as need:
            if values.keys() >= set(need.names):
                raise
            values |= {name: inputs[name] for name in need.names}


def run_model(
    model: Any, inputs: Mapping[str, np.ndarray], execute: Execute = interpret
) -> list[np.ndarray]:
    return execute(import_with(model, inputs), inputs)


def operators(graph: Graph) -> list[str]:
    """Names of the operators of the entry function, without constants."""
    block = graph.entry.regions[0].blocks[0]
    names = [op.operation.name for op in block.operations]
    return [name for name in names if name not in ("nnvm.constant", "func.return")]
