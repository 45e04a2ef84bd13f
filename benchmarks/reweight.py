"""Weights for models that ship without any, drawn so that their outputs react to their inputs.

The onnx package has the structure of well-known networks with every weight set to the same number,
so that each of their outputs is one number repeated, whatever the input. Here weights are drawn by
what they are used for, then calibrated layer by layer on noise: convolutions and fully connected
layers to an output of unit deviation, batch normalizations to the statistics that they see.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import onnx
import onnxruntime
from onnx import helper, numpy_helper
from rich.console import Console
from rich.progress import track

LAYERS = ("Conv", "Gemm")
VIEWS = ("Reshape", "Unsqueeze")
LOGIT_DEVIATION = 2.0


def reweight(model: onnx.ModelProto, seed: int) -> onnx.ModelProto:
    """The model with new weights, stored as initializers, and with the input of its last Softmax as an additional output."""
    graph = model.graph
    rng = np.random.default_rng(seed)
    constants = {t.name: numpy_helper.to_array(t) for t in graph.initializer}
    nodes = [node for node in graph.node if node.op_type != "ConstantOfShape"]
    (image,) = (value for value in graph.input if value.name not in constants)
    weights = _draw(graph, nodes, constants, rng)
    values = {**constants, **weights, image.name: _noise(image, rng)}
    _calibrate(model, nodes, weights, values)

    used = {name for node in nodes for name in node.input}
    kept = {name: value for name, value in {**constants, **weights}.items() if name in used}
    logits = [node.input[0] for node in nodes if node.op_type == "Softmax"][-1:]
    outputs = [
        *graph.output,
        *(helper.make_tensor_value_info(name, 1, values[name].shape) for name in logits),
    ]
    initializers = [numpy_helper.from_array(value, name) for name, value in kept.items()]
    return helper.make_model(
        helper.make_graph(nodes, graph.name, [image], outputs, initializers),
        opset_imports=model.opset_import,
        ir_version=4,
    )


def _draw(
    graph: onnx.GraphProto,
    nodes: Sequence[onnx.NodeProto],
    constants: dict[str, np.ndarray],
    rng: np.random.Generator,
) -> dict[str, np.ndarray]:
    shapes = {name: value.shape for name, value in constants.items() if value.dtype == np.float32}
    for node in graph.node:
        if node.op_type == "ConstantOfShape":
            shapes[node.output[0]] = tuple(constants[node.input[0]])
    roles = {name: (node.op_type, i) for node in nodes for i, name in enumerate(node.input)}
    views = {node.input[0]: node.output[0] for node in nodes if node.op_type in VIEWS}
    weights = {}
    for name, shape in shapes.items():
        match roles.get(views.get(name, name)):
            case (("Conv" | "Gemm"), 1):
                weight = rng.standard_normal(shape, np.float32) / np.sqrt(np.prod(shape[1:]))
            case ("BatchNormalization" | "Mul", 1):
                weight = rng.uniform(0.6, 1.2, shape)
            case _:
                weight = rng.normal(0, 0.1, shape)
        weights[name] = weight.astype(np.float32)
    return weights


def _calibrate(
    model: onnx.ModelProto,
    nodes: Sequence[onnx.NodeProto],
    weights: dict[str, np.ndarray],
    values: dict[str, np.ndarray],
) -> None:
    """Runs the nodes one by one, scaling `weights` on the way; fills `values`."""
    origins = {node.output[0]: node.input[0] for node in nodes if node.op_type in VIEWS}
    last = [node for node in nodes if node.op_type in LAYERS][-1]
    console = Console(stderr=True)
    for node in track(nodes, f"calibrating {model.graph.name}", transient=True, console=console):
        if node.op_type == "BatchNormalization":
            data, mean, variance = (node.input[i] for i in (0, 3, 4))
            axes = (0, *range(2, values[data].ndim))
            weights[mean][:] = values[data].mean(axes, np.float64)
            weights[variance][:] = np.maximum(values[data].var(axes, np.float64), 1e-3)
        _evaluate(model, node, values)
        if node.op_type in LAYERS:
            wanted = LOGIT_DEVIATION if node is last else 1.0
            weight, *bias = node.input[1:]
            result = values[node.output[0]]
            for name in bias:
                result = result - values[name].reshape(-1, *[1] * (result.ndim - 2))
            scale = np.float32(wanted / result.std())
            weights[origins.get(weight, weight)] *= scale
            if weight in origins:
                values[weight] = values[weight] * scale
            _evaluate(model, node, values)


def _evaluate(model: onnx.ModelProto, node: onnx.NodeProto, values: dict[str, np.ndarray]) -> None:
    feeds = {name: values[name] for name in node.input}
    inputs = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(x.dtype), x.shape)
        for name, x in feeds.items()
    ]
    outputs = [onnx.ValueInfoProto(name=name) for name in node.output]
    alone = helper.make_model(
        helper.make_graph([node], node.op_type, inputs, outputs),
        opset_imports=model.opset_import,
        ir_version=4,
    )
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(
        alone.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    values.update(zip(node.output, session.run(None, feeds), strict=True))


def _noise(image: onnx.ValueInfoProto, rng: np.random.Generator) -> np.ndarray:
    shape = [dim.dim_value for dim in image.type.tensor_type.shape.dim]
    return rng.standard_normal(shape, np.float32)
