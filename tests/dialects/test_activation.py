"""Activation functions.

Compiled code against `evaluate`, and `evaluate` against float64 formulas.
"""

import math

import numpy as np
import pytest
from support import check_operator, evaluate

from nnvm_mlir.dialects.nnvm import OPERATORS
from nnvm_mlir.dialects.nnvm.types import numpy_dtype

X = np.concatenate([np.linspace(-9, 9, 37), [-0.0, 1e-6, -1e-6, 95.0, -95.0, 3e4, -3e4, np.nan]])


def softplus(x):
    return np.logaddexp(0, x)


def gelu(x):
    return x * np.array([math.erfc(-v / math.sqrt(2)) for v in x]) / 2


CASES = [
    ("relu", {}, lambda x: np.where(x <= 0, 0, x)),
    ("leaky_relu", {"alpha": 0.1}, lambda x: np.where(x < 0, 0.1 * x, x)),
    ("thresholded_relu", {"alpha": 2.0}, lambda x: np.where(x > 2, x, 0)),
    (
        "shrink",
        {"lambd": 1.5, "bias": 0.5},
        lambda x: np.sign(x) * (np.abs(x) - 0.5) * (abs(x) > 1.5),
    ),
    ("sigmoid", {}, lambda x: 0.5 * (1 + np.tanh(x / 2))),
    ("hard_sigmoid", {"alpha": 0.3, "beta": 0.4}, lambda x: np.clip(0.3 * x + 0.4, 0, 1)),
    ("hard_swish", {}, lambda x: x * np.clip(x + 3, 0, 6) / 6),
    ("elu", {"alpha": 1.5}, lambda x: np.where(x > 0, x, 1.5 * np.expm1(x))),
    (
        "selu",
        {},
        lambda x: 1.0507009873554805 * np.where(x > 0, x, 1.6732632423543772 * np.expm1(x)),
    ),
    ("celu", {"alpha": 2.0}, lambda x: np.where(x > 0, x, 2 * np.expm1(x / 2))),
    ("softplus", {}, softplus),
    ("softsign", {}, lambda x: x / (1 + np.abs(x))),
    ("mish", {}, lambda x: x * np.tanh(softplus(x))),
    ("gelu", {}, gelu),
    (
        "gelu",
        {"approximate": "tanh"},
        lambda x: x / (1 + np.exp(-2 * math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))),
    ),
]


@pytest.mark.parametrize(("name", "attributes", "formula"), CASES)
def test_float32(name, attributes, formula):
    x = X.astype(np.float32)
    with np.errstate(all="ignore"):
        want = formula(x.astype(np.float64))
    got = check_operator(OPERATORS[name], x, rtol=1e-5, atol=2e-6, **attributes)[0]
    if name in ("thresholded_relu", "shrink"):  # NaN is not above any threshold
        assert got[-1] == 0
        got, want = got[:-1], want[:-1]
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=2e-6)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("name", ["relu", "sigmoid", "gelu", "mish"])
def test_half_precision_rounds_once(name, dtype):
    x = np.linspace(-6, 6, 23).astype(numpy_dtype(dtype))
    want = evaluate(OPERATORS[name], x.astype(np.float32))[0].astype(numpy_dtype(dtype))
    got = check_operator(OPERATORS[name], x, rtol=1e-2)[0]
    np.testing.assert_array_equal(got, want)


def test_relu_on_integers():
    x = np.array([-128, -1, 0, 5], np.int8)
    np.testing.assert_array_equal(check_operator(OPERATORS["relu"], x)[0], [0, 0, 0, 5])


@pytest.mark.parametrize(
    ("name", "attributes", "message"),
    [
        ("celu", {"alpha": 0.0}, "'alpha' must not be 0"),
        ("gelu", {"approximate": "fast"}, "expected one of 'none', 'tanh'"),
        ("elu", {"beta": 1.0}, "has no attribute 'beta'"),
    ],
)
def test_refused(name, attributes, message):
    with pytest.raises(ValueError, match=message):
        OPERATORS[name].attributes_from(attributes)
