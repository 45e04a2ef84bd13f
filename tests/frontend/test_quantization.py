"""Quantized operators: shapes of scales and zero points."""

import itertools

import numpy as np
import pytest
from onnx_models import make_model, node, run_model, tensor


@pytest.mark.parametrize(("scale_shape", "zero_shape"), [*itertools.product([(), (1,)], repeat=2)])
def test_parameters_of_a_whole_tensor_may_differ_in_rank(scale_shape, zero_shape):
    parameters = [
        tensor("scale", np.full(scale_shape, 0.5), "float32"),
        tensor("zero", np.full(zero_shape, 3), "uint8"),
    ]
    nodes = [
        node("QuantizeLinear", ["x", "scale", "zero"], ["q"]),
        node("DequantizeLinear", ["q", "scale", "zero"], ["y"]),
    ]
    model = make_model(nodes, {"x": [2, 3]}, ["q", "y"], parameters)
    x = np.array([[0, 1, 2], [-9, 0.3, 200]], np.float32)
    quantized, y = run_model(model, {"x": x})
    np.testing.assert_array_equal(quantized, np.array([[3, 5, 7], [0, 4, 255]], np.uint8))
    np.testing.assert_array_equal(y, np.array([[0, 1, 2], [-1.5, 0.5, 126]], np.float32))
