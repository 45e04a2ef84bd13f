"""Small ONNX models for tests, compiled and called."""

import numpy as np
from onnx import helper
from onnx_models import make_model, tensor, value_info

import nnvm_mlir

X = np.arange(12, dtype=np.float32).reshape(3, 4)


def model_of(nodes, feeds, outputs=("y",), constants=(), opset=17):
    """A model whose inputs have the names, shapes and dtypes of `feeds`."""
    inputs = [
        value_info(name, array.shape, helper.np_dtype_to_tensor_dtype(array.dtype))
        for name, array in feeds.items()
    ]
    return make_model(nodes, inputs, outputs, constants, opset=opset)


def run(nodes, feeds, outputs=("y",), constants=(), opset=17):
    return nnvm_mlir.compile(model_of(nodes, feeds, outputs, constants, opset), threads=1)(feeds)


def folded(nodes, feeds, outputs=("y",), opset=17):
    """What `run` gives, computed when the model is imported."""
    return run(nodes, {}, outputs, [tensor(*item) for item in feeds.items()], opset)


def int64(*values):
    return np.array(values, np.int64)
