"""Scales and shifts fold into convolutions of every kind, and give the same numbers."""

import itertools

import numpy as np
import pytest

from nnvm_mlir.builder import GraphBuilder
from nnvm_mlir.context import make_context
from nnvm_mlir.dialects.nnvm import OPERATORS, Operator
from nnvm_mlir.dialects.nnvm.types import TensorType
from nnvm_mlir.interpret import interpret
from nnvm_mlir.passes.dead_code import DeadCodeElimination
from nnvm_mlir.passes.fold_scale_axis import FoldScaleAxis
from nnvm_mlir.pipeline import Pipeline

# name, shape of the data, shape of the weights, attributes, axis of the channels in the result
CONVOLUTIONS = {
    "conv1d": ("conv1d", (2, 4, 5), (6, 4, 3), {}, 1),
    "conv2d": ("conv2d", (1, 4, 5, 5), (6, 4, 3, 2), {"padding": (1, 1), "dilation": (2, 1)}, 1),
    "grouped": ("conv2d", (1, 4, 5, 5), (6, 2, 3, 3), {"groups": 2}, 1),
    "depthwise": ("conv2d", (1, 6, 5, 5), (6, 1, 3, 3), {"groups": 6}, 1),
    "channels last": (
        "conv2d",
        (1, 5, 5, 4),
        (3, 3, 4, 6),
        {"layout": "NHWC", "kernel_layout": "HWIO"},
        3,
    ),
    "out_layout": ("conv2d", (1, 4, 5, 5), (6, 4, 3, 3), {"out_layout": "NHWC"}, 3),
    "conv3d": ("conv3d", (1, 2, 3, 4, 3), (6, 2, 2, 2, 2), {}, 1),
    "transposed": ("conv2d_transpose", (1, 4, 3, 3), (4, 6, 2, 3), {"strides": (2, 1)}, 1),
    "transposed, grouped": ("conv2d_transpose", (1, 4, 3, 3), (4, 3, 2, 2), {"groups": 2}, 1),
}
CHANNELS = 6


@pytest.mark.parametrize("kind", CONVOLUTIONS)
@pytest.mark.parametrize("bias", [False, True])
def test_folding_keeps_the_numbers(kind, bias):
    name, data_shape, weight_shape, attributes, axis = CONVOLUTIONS[kind]
    rng = np.random.default_rng(5)
    spatial = len(data_shape) - 2
    kernel = {"channels last": weight_shape[:2]}.get(kind, weight_shape[-spatial:])
    trailing = len(data_shape) - 1 - axis
    shapes = [(), (1,), (CHANNELS, *[1] * trailing), (1,) * axis + (CHANNELS, *[1] * trailing)]
    steps = ["broadcast_mul", "broadcast_add", "broadcast_sub"]
    for shape, step, swapped in itertools.product(shapes, steps, (False, True)):
        b = GraphBuilder(make_context())

        def parameter(*dims, b=b):
            value = rng.standard_normal(dims).astype(np.float32)
            return b.parameter(f"p{len(b.params)}", value)

        x = b.input("x", TensorType(data_shape, "float32"))
        conv = b.op(
            OPERATORS[name],
            x,
            parameter(*weight_shape),
            *([parameter(CHANNELS)] if bias else []),
            channels=CHANNELS,
            kernel_size=kernel,
            use_bias=bias,
            **attributes,
        )
        pair = [conv, parameter(*shape)]
        b.output("y", b.op(OPERATORS[step], *(reversed(pair) if swapped else pair)))
        graph = b.finish()
        feeds = {"x": rng.standard_normal(data_shape).astype(np.float32)}
        want = interpret(graph, feeds)[0]
        Pipeline([FoldScaleAxis(), DeadCodeElimination()]).run(graph.module)
        np.testing.assert_allclose(interpret(graph, feeds)[0], want, rtol=1e-4, atol=1e-5)
        *_, last, _ = graph.entry.regions[0].blocks[0].operations
        assert isinstance(last, Operator)
        refused = (swapped and step == "broadcast_sub") or (
            kind == "transposed, grouped" and step == "broadcast_mul"
        )
        folded = last.OPERATION_NAME == f"nnvm.{name}"
        assert folded != refused, (shape, step, swapped)
