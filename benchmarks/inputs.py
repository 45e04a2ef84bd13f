"""Makers of model inputs: each is a function of a random generator, so that inputs are seeded and can be made at other sizes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

Maker = Callable[[np.random.Generator], np.ndarray]


def normal(*shape: int, scale: float = 1.0) -> Maker:
    """Normally distributed float32 of deviation `scale`."""
    return lambda rng: rng.standard_normal(shape, np.float32) * np.float32(scale)


def uniform(*shape: int, low: float = 0.0, high: float = 1.0) -> Maker:
    """Float32 in [low, high)."""
    return lambda rng: rng.uniform(low, high, shape).astype(np.float32)


def integers(*shape: int, below: int, dtype: str = "int64") -> Maker:
    """Integers in [0, below)."""
    return lambda rng: rng.integers(0, below, shape).astype(dtype)


def constant(*shape: int, value: float, dtype: str = "float32") -> Maker:
    """One value everywhere."""
    return lambda rng: np.full(shape, value, dtype)


def page(*shape: int) -> Maker:
    """A white page (1x3xHxW, ImageNet statistics) with lines of random dark glyphs of 20x12 pixels.

    Text detectors answer noise with an output that is zero everywhere; to this they react.
    """
    *_, height, width = shape

    def make(rng: np.random.Generator) -> np.ndarray:
        gray = np.ones((height, width))
        for top in range(height // 8, height - 20, 64):
            for left in range(16, width - 16, 20):
                strokes = np.kron(rng.random((5, 3)) < 0.65, np.ones((4, 4)))
                gray[top : top + 20, left : left + 12] -= 0.9 * strokes
        mean = np.array([0.485, 0.456, 0.406])[:, None, None]
        deviation = np.array([0.229, 0.224, 0.225])[:, None, None]
        return np.broadcast_to((gray - mean) / deviation, shape).astype(np.float32)

    return make
