"""Train the demo's digit classifier with plain NumPy and write it as an ONNX model.

    pip install scikit-learn onnx onnxruntime && python examples/digits/train.py

Writes ``digits.onnx`` and ``held_out.npz`` next to this file, in under a minute on one core. The
network is small but has the operators of real ones: convolutions (dense, depthwise, pointwise),
batch normalisation, a residual sum, pooling, a dense layer and a softmax.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from layers import (
    Array,
    BatchNorm,
    Conv,
    DepthwiseConv,
    GraphBuilder,
    Head,
    MaxPool,
    Relu,
    Residual,
    Sequence,
)
from onnx import TensorProto, helper
from sklearn.datasets import load_digits

HERE = Path(__file__).resolve().parent
SEED = 2026
EPOCHS = 50
BATCH = 32
LEARNING_RATE = 2e-3
CLASSES = 10
PIXEL_MAX = 16.0
OPSET = 17
REQUIRED_ACCURACY = 0.98


def network(rng: np.random.Generator) -> Sequence:
    return Sequence(
        *(Conv(rng, 1, 16, 3), BatchNorm(16), Relu()),
        *(Residual(Conv(rng, 16, 16, 3), BatchNorm(16)), Relu()),
        *(Conv(rng, 16, 32, 3), BatchNorm(32), Relu(), MaxPool()),
        *(DepthwiseConv(rng, 32, 3), BatchNorm(32), Relu()),
        *(Conv(rng, 32, 64, 1), BatchNorm(64), Relu()),
        Head(rng, 64, CLASSES),
    )


class Adam:
    """The Adam optimiser, updating the layers' weights in place."""

    def __init__(self, network: Sequence, decay: tuple[float, float] = (0.9, 0.999)) -> None:
        self.layers = network.layers()
        self.decay = decay
        self.steps = 0
        self.moments = [[(np.zeros_like(w),) * 2 for w in layer.weights] for layer in self.layers]

    def step(self, rate: float) -> None:
        """Move every weight against its gradient."""
        self.steps += 1
        first, second = self.decay
        for layer, moments in zip(self.layers, self.moments, strict=True):
            for i, (weight, gradient) in enumerate(
                zip(layer.weights, layer.gradients, strict=True)
            ):
                mean, square = moments[i]
                mean = first * mean + (1 - first) * gradient
                square = second * square + (1 - second) * gradient**2
                moments[i] = mean, square
                unbiased_mean = mean / (1 - first**self.steps)
                unbiased_square = square / (1 - second**self.steps)
                weight -= rate * unbiased_mean / (np.sqrt(unbiased_square) + 1e-8)


def split(labels: Array, rng: np.random.Generator) -> tuple[Array, Array]:
    """Indices for training and held out: a fifth of each class is held out."""
    order = rng.permutation(len(labels))
    order = order[np.argsort(labels[order], kind="stable")]
    held_out = np.zeros(len(labels), bool)
    held_out[order[::5]] = True
    return np.flatnonzero(~held_out), np.flatnonzero(held_out)


def shifted(images: Array, rng: np.random.Generator) -> Array:
    """Each image moved by up to one pixel in each direction, blank pixels entering."""
    height, width = images.shape[2:]
    padded = np.pad(images, ((0, 0), (0, 0), (1, 1), (1, 1)))
    offsets = rng.integers(0, 3, (len(images), 2))
    moved = [p[:, y : y + height, x : x + width] for p, (y, x) in zip(padded, offsets, strict=True)]
    return np.stack(moved)


def cross_entropy(logits: Array, labels: Array) -> tuple[float, Array]:
    """The mean loss of a batch and its gradient by the logits."""
    exponentials = np.exp(logits - logits.max(1, keepdims=True))
    probabilities = exponentials / exponentials.sum(1, keepdims=True)
    loss = -np.log(probabilities[np.arange(len(labels)), labels]).mean()
    return float(loss), (probabilities - np.eye(CLASSES, dtype=np.float32)[labels]) / len(labels)


def train(images: Array, labels: Array, rng: np.random.Generator) -> Sequence:
    """A network fitted to float32 images ``[n, 1, 8, 8]`` of 0..1 and their labels."""
    model = network(rng)
    optimiser = Adam(model)
    for epoch in range(EPOCHS):
        rate = LEARNING_RATE * 0.5 * (1 + np.cos(np.pi * epoch / EPOCHS))
        losses = []
        for batch in np.split(rng.permutation(len(images)), range(BATCH, len(images), BATCH)):
            logits = model.forward(shifted(images[batch], rng))
            loss, gradient = cross_entropy(logits, labels[batch])
            model.backward(gradient)
            optimiser.step(rate)
            losses.append(loss)
        print(f"epoch {epoch + 1:2}/{EPOCHS}  loss {np.mean(losses):.4f}", flush=True)
    return model


def to_onnx(model: Sequence) -> onnx.ModelProto:
    """The network in inference mode; it takes pixels as the data set has them, 0..16."""
    graph = GraphBuilder()
    scale = graph.weight("pixel_scale", 1 / PIXEL_MAX)
    logits = model.export(graph, graph.node("Mul", ["image", scale]))
    probabilities = graph.node("Softmax", [logits], "probabilities", axis=1)

    def value(name: str, *shape: int) -> onnx.ValueInfoProto:
        return helper.make_tensor_value_info(name, TensorProto.FLOAT, ["batch", *shape])

    proto = helper.make_model(
        helper.make_graph(
            graph.nodes,
            "digits",
            [value("image", 1, 8, 8)],
            [value(logits, CLASSES), value(probabilities, CLASSES)],
            graph.weights,
        ),
        opset_imports=[helper.make_opsetid("", OPSET)],
        ir_version=8,
        producer_name="nnvm_mlir examples/digits",
    )
    onnx.checker.check_model(proto, full_check=True)
    return proto


def accuracy(proto: onnx.ModelProto, images: Array, labels: Array) -> float:
    """The share of the images that onnxruntime, running the model, classifies rightly."""
    session = onnxruntime.InferenceSession(proto.SerializeToString())
    (logits,) = session.run(["logits"], {"image": images})
    return float((logits.argmax(1) == labels).mean())


def main() -> None:
    """Train, check and write the model and the held-out digits."""
    rng = np.random.default_rng(SEED)
    digits = load_digits()
    images, labels = digits.images[:, None].astype(np.float32), digits.target
    kept, held_out = split(labels, rng)
    model = train(images[kept] / np.float32(PIXEL_MAX), labels[kept], rng)

    proto = to_onnx(model)
    reached = accuracy(proto, images[held_out], labels[held_out])
    print(f"{len(kept)} images trained on, {len(held_out)} held out: accuracy {reached:.2%}")
    if reached < REQUIRED_ACCURACY:
        raise SystemExit(f"accuracy below {REQUIRED_ACCURACY:.0%}: nothing written")
    onnx.save(proto, HERE / "digits.onnx")
    np.savez_compressed(
        HERE / "held_out.npz",
        images=digits.images[held_out].astype(np.uint8),
        labels=labels[held_out].astype(np.uint8),
    )


if __name__ == "__main__":
    main()
