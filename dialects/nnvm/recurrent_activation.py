"""The activation functions that ONNX names in recurrent layers, as operators of the dialect."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from nnvm_mlir.dialects.nnvm import activation, elementwise
from nnvm_mlir.dialects.nnvm.operator import Attributes, Operator

# Name -> operator, and the default alpha and beta; None where it has no such parameter.
ACTIVATIONS: dict[str, tuple[type[Operator], float | None, float | None]] = {
    "affine": (elementwise.Copy, 1.0, 0.0),
    "elu": (activation.Elu, 1.0, None),
    "hardsigmoid": (activation.HardSigmoid, 0.2, 0.5),
    "leakyrelu": (activation.LeakyRelu, 0.01, None),
    "relu": (activation.Relu, None, None),
    "scaledtanh": (elementwise.Tanh, 1.0, 1.0),
    "sigmoid": (activation.Sigmoid, None, None),
    "softplus": (activation.Softplus, None, None),
    "softsign": (activation.Softsign, None, None),
    "tanh": (elementwise.Tanh, None, None),
    "thresholdedrelu": (activation.ThresholdedRelu, 1.0, None),
}


@dataclass(frozen=True)
class Activation:
    """`out_scale * operator(in_scale * x) + out_offset`."""

    operator: type[Operator]
    attributes: dict[str, float] = field(default_factory=dict)
    in_scale: float = 1.0
    out_scale: float = 1.0
    out_offset: float = 0.0

    @staticmethod
    def named(name: str, alphas: Iterator[float], betas: Iterator[float]) -> Activation:
        """The function of a name (in any case), which takes its parameters from the iterators.

        Raises:
            ValueError: there is no such function.
        """
        key = name.lower()
        if key not in ACTIVATIONS:
            raise ValueError(
                f"unknown activation {name!r}: expected one of {', '.join(ACTIVATIONS)}"
            )
        operator, alpha, beta = ACTIVATIONS[key]
        parameters = {}
        if alpha is not None:
            parameters["alpha"] = next(alphas, alpha)
        if beta is not None:
            parameters["beta"] = next(betas, beta)
        if key == "affine":
            return Activation(
                operator, out_scale=parameters["alpha"], out_offset=parameters["beta"]
            )
        if key == "scaledtanh":
            return Activation(operator, in_scale=parameters["beta"], out_scale=parameters["alpha"])
        return Activation(operator, parameters)

    @property
    def values(self) -> Attributes:
        """The attributes of the operator."""
        return self.operator.attributes_from(self.attributes)

    def __call__(self, x: np.ndarray) -> np.ndarray:
        """The function on an array."""
        kind = x.dtype.type
        result = self.operator.evaluate(self.values, x * kind(self.in_scale))
        return result * kind(self.out_scale) + kind(self.out_offset)
