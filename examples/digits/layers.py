"""The layers of the demo's network: plain NumPy, and nothing but what the network needs.

Every layer knows how to run in training mode, how to differentiate itself and how to write itself
as ONNX nodes in inference mode. Arrays are float32, images ``[batch, channels, height, width]``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import ArrayLike
from onnx import TensorProto, helper, numpy_helper

Array = np.ndarray


class GraphBuilder:
    """Collects the ONNX nodes and weights that the layers write."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.weights: list[TensorProto] = []

    def weight(self, name: str, value: ArrayLike) -> str:
        self.weights.append(numpy_helper.from_array(np.asarray(value, np.float32), name))
        return name

    def node(self, op: str, inputs: list[str], output: str = "", **attributes: Any) -> str:
        name = f"{op.lower()}_{len(self.nodes)}"
        output = output or f"{name}_out"
        self.nodes.append(helper.make_node(op, inputs, [output], name=name, **attributes))
        return output


class Layer:
    """A differentiable function; ``weights`` and ``gradients`` are parallel lists."""

    def __init__(self, *weights: Array) -> None:
        self.weights = [w.astype(np.float32) for w in weights]
        self.gradients = [np.zeros_like(w) for w in self.weights]

    def layers(self) -> list[Layer]:
        """This layer and those inside it."""
        return [self]

    def forward(self, x: Array) -> Array:
        """The output in training mode; keeps what ``backward`` needs."""
        raise NotImplementedError

    def backward(self, dy: Array) -> Array:
        """The gradient of the input, given that of the output; sets ``gradients``."""
        raise NotImplementedError

    def export(self, graph: GraphBuilder, x: str) -> str:
        """Write the layer in inference mode; ``x`` and the result are value names."""
        raise NotImplementedError


def he_normal(rng: np.random.Generator, *shape: int) -> Array:
    return rng.normal(0.0, np.sqrt(2.0 / np.prod(shape[1:])), shape)


def windows(x: Array, kernel: int) -> Array:
    """Every "same"-padded window, as a view ``[batch, channels, height, width, k, k]``."""
    pad = kernel // 2
    padded = np.pad(x, ((0, 0), (0, 0), (pad, pad), (pad, pad)))
    return sliding_window_view(padded, (kernel, kernel), axis=(2, 3))


def im2col(x: Array, kernel: int) -> Array:
    """The windows as rows: ``[batch * height * width, channels * k * k]``."""
    view = windows(x, kernel).transpose(0, 2, 3, 1, 4, 5)
    return view.reshape(-1, x.shape[1] * kernel * kernel)


def channels_first(rows: Array, x: Array) -> Array:
    """Rows of channels, one a pixel of ``x``, back as images."""
    batch, _, height, width = x.shape
    return rows.reshape(batch, height, width, -1).transpose(0, 3, 1, 2)


class Conv(Layer):
    """A "same" convolution of stride 1, without bias: batch normalisation follows."""

    def __init__(self, rng: np.random.Generator, inputs: int, outputs: int, kernel: int) -> None:
        super().__init__(he_normal(rng, outputs, inputs, kernel, kernel))
        self.kernel = kernel

    def forward(self, x: Array) -> Array:
        (w,) = self.weights
        self.columns = im2col(x, self.kernel)
        return channels_first(self.columns @ w.reshape(len(w), -1).T, x)

    def backward(self, dy: Array) -> Array:
        (w,) = self.weights
        rows = dy.transpose(0, 2, 3, 1).reshape(-1, len(w))
        self.gradients[0] = (rows.T @ self.columns).reshape(w.shape)
        transposed = w[:, :, ::-1, ::-1].transpose(1, 0, 2, 3).reshape(w.shape[1], -1)
        return channels_first(im2col(dy, self.kernel) @ transposed.T, dy)

    def export(self, graph: GraphBuilder, x: str, group: int = 1) -> str:
        weight = graph.weight(f"weight_{len(graph.nodes)}", self.weights[0])
        kernel, pads = [self.kernel] * 2, [self.kernel // 2] * 4
        return graph.node("Conv", [x, weight], kernel_shape=kernel, pads=pads, group=group)


class DepthwiseConv(Conv):
    """A "same" convolution of each channel with its own kernel."""

    def __init__(self, rng: np.random.Generator, channels: int, kernel: int) -> None:
        super().__init__(rng, 1, channels, kernel)

    def forward(self, x: Array) -> Array:
        self.view = windows(x, self.kernel)
        return np.einsum("nchwij,cij->nchw", self.view, self.weights[0][:, 0])

    def backward(self, dy: Array) -> Array:
        flipped = self.weights[0][:, 0, ::-1, ::-1]
        self.gradients[0] = np.einsum("nchwij,nchw->cij", self.view, dy)[:, None]
        return np.einsum("nchwij,cij->nchw", windows(dy, self.kernel), flipped)

    def export(self, graph: GraphBuilder, x: str, group: int = 1) -> str:
        return super().export(graph, x, group=len(self.weights[0]))


class BatchNorm(Layer):
    """Normalises each channel by the batch's statistics, and tracks them for inference."""

    EPSILON = 1e-5
    MOMENTUM = 0.9

    def __init__(self, channels: int) -> None:
        super().__init__(np.ones(channels), np.zeros(channels))
        self.mean, self.variance = np.zeros(channels), np.ones(channels)

    def forward(self, x: Array) -> Array:
        mean, variance = x.mean((0, 2, 3)), x.var((0, 2, 3))
        self.mean = self.MOMENTUM * self.mean + (1 - self.MOMENTUM) * mean
        self.variance = self.MOMENTUM * self.variance + (1 - self.MOMENTUM) * variance
        self.inverse_std = 1 / np.sqrt(variance + self.EPSILON)[:, None, None]
        self.normalised = (x - mean[:, None, None]) * self.inverse_std
        scale, bias = self.weights
        return self.normalised * scale[:, None, None] + bias[:, None, None]

    def backward(self, dy: Array) -> Array:
        self.gradients = [(dy * self.normalised).sum((0, 2, 3)), dy.sum((0, 2, 3))]
        count = dy.size / dy.shape[1]
        d_scale, d_bias = (g[:, None, None] / count for g in self.gradients)
        scale = self.weights[0][:, None, None]
        return scale * self.inverse_std * (dy - d_bias - self.normalised * d_scale)

    def export(self, graph: GraphBuilder, x: str) -> str:
        at = len(graph.nodes)
        kinds = ("scale", "bias", "mean", "variance")
        values: tuple[Array, ...] = (*self.weights, self.mean, self.variance)
        names = [graph.weight(f"{k}_{at}", v) for k, v in zip(kinds, values, strict=True)]
        return graph.node("BatchNormalization", [x, *names], epsilon=self.EPSILON)


class Relu(Layer):
    def forward(self, x: Array) -> Array:
        self.positive = x > 0
        return x * self.positive

    def backward(self, dy: Array) -> Array:
        return dy * self.positive

    def export(self, graph: GraphBuilder, x: str) -> str:
        return graph.node("Relu", [x])


class MaxPool(Layer):
    """The largest of each 2x2 block."""

    def forward(self, x: Array) -> Array:
        batch, channels, height, width = x.shape
        blocks = x.reshape(batch, channels, height // 2, 2, width // 2, 2)
        y = blocks.max((3, 5), keepdims=True)
        self.largest = blocks == y
        return y[:, :, :, 0, :, 0]

    def backward(self, dy: Array) -> Array:
        dx = dy[:, :, :, None, :, None] * self.largest
        batch, channels, height, width = dy.shape
        return dx.reshape(batch, channels, 2 * height, 2 * width)

    def export(self, graph: GraphBuilder, x: str) -> str:
        return graph.node("MaxPool", [x], kernel_shape=[2, 2], strides=[2, 2])


class Head(Layer):
    """Global average pooling and a dense layer: images to the scores of the classes."""

    def __init__(self, rng: np.random.Generator, channels: int, classes: int) -> None:
        super().__init__(he_normal(rng, classes, channels), np.zeros(classes))

    def forward(self, x: Array) -> Array:
        self.shape = x.shape
        self.features = x.mean((2, 3))
        return self.features @ self.weights[0].T + self.weights[1]

    def backward(self, dy: Array) -> Array:
        self.gradients = [dy.T @ self.features, dy.sum(0)]
        area = self.shape[2] * self.shape[3]
        return np.broadcast_to((dy @ self.weights[0] / area)[:, :, None, None], self.shape)

    def export(self, graph: GraphBuilder, x: str) -> str:
        features = graph.node("Flatten", [graph.node("GlobalAveragePool", [x])])
        weight = graph.weight("dense_weight", self.weights[0])
        bias = graph.weight("dense_bias", self.weights[1])
        return graph.node("Gemm", [features, weight, bias], "logits", transB=1)


class Sequence(Layer):
    def __init__(self, *parts: Layer) -> None:
        super().__init__()
        self.parts = parts

    def layers(self) -> list[Layer]:
        return [layer for part in self.parts for layer in part.layers()]

    def forward(self, x: Array) -> Array:
        for part in self.parts:
            x = part.forward(x)
        return x

    def backward(self, dy: Array) -> Array:
        for part in reversed(self.parts):
            dy = part.backward(dy)
        return dy

    def export(self, graph: GraphBuilder, x: str) -> str:
        for part in self.parts:
            x = part.export(graph, x)
        return x


class Residual(Sequence):
    """The input plus what the parts make of it."""

    def forward(self, x: Array) -> Array:
        return x + super().forward(x)

    def backward(self, dy: Array) -> Array:
        return dy + super().backward(dy)

    def export(self, graph: GraphBuilder, x: str) -> str:
        return graph.node("Add", [super().export(graph, x), x])
