"""Reductions.

Compiled code against `evaluate`, and `evaluate` against NumPy in float64 and known values.
"""

import ml_dtypes
import numpy as np
import pytest
from support import check_operator, evaluate

from nnvm_mlir.dialects.nnvm import OPERATORS

RNG = np.random.default_rng(7)
X = RNG.standard_normal((2, 7, 33)).astype(np.float32)

AXES = [
    ({}, (0, 1, 2), False),
    ({"axis": 1}, (1,), False),
    ({"axis": (-1,), "keepdims": True}, (2,), True),
    ({"axis": (2, 0)}, (0, 2), False),
    ({"axis": (1,), "exclude": True}, (0, 2), False),
    ({"axis": (0, 1, 2), "keepdims": True}, (0, 1, 2), True),
]
FUNCTIONS = {"sum": np.sum, "prod": np.prod, "mean": np.mean, "max": np.max, "min": np.min}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize(("attributes", "axes", "keepdims"), AXES)
def test_axes(name, attributes, axes, keepdims):
    x = np.exp(0.1 * X) if name == "prod" else X
    got = check_operator(OPERATORS[name], x, rtol=2e-5, atol=1e-4, **attributes)[0]
    want = FUNCTIONS[name](x.astype(np.float64), axis=axes, keepdims=keepdims)
    np.testing.assert_allclose(got, want, rtol=2e-5, atol=1e-5)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_empty_axis_gives_the_identity(name):
    want = {"sum": 0, "prod": 1, "mean": np.nan, "max": -np.inf, "min": np.inf}[name]
    got = check_operator(OPERATORS[name], np.zeros((0, 3), np.float32), axis=0)[0]
    np.testing.assert_array_equal(got, np.full(3, want))
    scalar = check_operator(OPERATORS[name], np.array(2.5, np.float32))[0]
    assert scalar == np.float32(2.5)


def test_integers():
    x = np.array([[100, 100, -3], [-128, 7, 7]], np.int8)
    for name, want in [
        ("sum", [-59, -114]),
        ("prod", [-48, -128]),
        ("max", [100, 7]),
        ("min", [-3, -128]),
        ("mean", [65, -38]),
    ]:
        got = check_operator(OPERATORS[name], x, axis=1)[0]
        np.testing.assert_array_equal(got, np.array(want).astype(np.int8), err_msg=name)
    empty = np.zeros((0, 2), np.uint16)
    np.testing.assert_array_equal(check_operator(OPERATORS["min"], empty, axis=0)[0], [65535] * 2)
    np.testing.assert_array_equal(check_operator(OPERATORS["max"], empty, axis=0)[0], [0, 0])
    large = np.array([2**63, 2**63 + 5], np.uint64)
    assert check_operator(OPERATORS["max"], large)[0] == 2**63 + 5


def test_bool_extremes():
    x = np.array([[True, False], [False, False], [True, True]])
    got = check_operator(OPERATORS["max"], x, axis=1)[0]
    np.testing.assert_array_equal(got, [True, False, True])
    got = check_operator(OPERATORS["min"], x, axis=1)[0]
    np.testing.assert_array_equal(got, [False, False, True])


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_half_precision_accumulates_in_float32(dtype):
    x = np.full((2, 4100), 0.1, dtype)
    want = np.full(2, x[0, 0].astype(np.float64) * 4100).astype(dtype)
    np.testing.assert_array_equal(check_operator(OPERATORS["sum"], x, axis=1)[0], want)
    np.testing.assert_array_equal(check_operator(OPERATORS["mean"], x, axis=1)[0], x[:, 0])


def test_nan_wins_extremes():
    x = np.array([[1, np.nan, 3], [np.inf, 2, -np.inf]], np.float32)
    np.testing.assert_array_equal(check_operator(OPERATORS["max"], x, axis=1)[0], [np.nan, np.inf])
    np.testing.assert_array_equal(check_operator(OPERATORS["min"], x, axis=1)[0], [np.nan, -np.inf])


ROWS = np.array(
    [
        [1, 5, 5, 0],
        [2, 2, 2, 2],
        [np.nan, 9, np.nan, -9],
        [-np.inf, -np.inf, -np.inf, -np.inf],
        [np.inf, 0, -np.inf, np.inf],
    ],
    np.float32,
)


@pytest.mark.parametrize(
    ("name", "last", "want"),
    [
        ("argmax", False, [1, 0, 0, 0, 0]),
        ("argmax", True, [2, 3, 2, 3, 3]),
        ("argmin", False, [3, 0, 0, 0, 2]),
        ("argmin", True, [3, 3, 2, 3, 2]),
    ],
)
@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.float64])
def test_arg_ties_and_nan(name, last, want, dtype):
    got = check_operator(OPERATORS[name], ROWS.astype(dtype), axis=1, select_last_index=last)[0]
    np.testing.assert_array_equal(got, np.array(want, np.int32))


@pytest.mark.parametrize("name", ["argmax", "argmin"])
def test_arg_axes(name):
    function = getattr(np, name)
    got = check_operator(OPERATORS[name], X, axis=1, keepdims=True, dtype="int64")[0]
    np.testing.assert_array_equal(got, function(X, axis=1, keepdims=True))
    assert check_operator(OPERATORS[name], X)[0] == function(X)
    got = check_operator(OPERATORS[name], X, axis=(0, 2))[0]
    np.testing.assert_array_equal(got, function(X.swapaxes(0, 1).reshape(7, -1), axis=1))
    unsigned = np.array([3, 200, 0, 255], np.uint8)
    assert check_operator(OPERATORS[name], unsigned)[0] == function(unsigned)


@pytest.mark.parametrize(
    ("attributes", "want"),
    [
        ({}, [1, 3, 6, 10]),
        ({"exclusive": True}, [0, 1, 3, 6]),
        ({"reverse": True}, [10, 9, 7, 4]),
        ({"exclusive": True, "reverse": True}, [9, 7, 4, 0]),
    ],
)
def test_cumsum(attributes, want):
    for dtype in (np.float32, np.int32, np.float16):
        x = np.arange(1, 5).astype(dtype)
        got = check_operator(OPERATORS["cumsum"], x, axis=0, **attributes)[0]
        np.testing.assert_array_equal(got, np.array(want, dtype))
        stack = np.stack([x, 10 * x])
        got = check_operator(OPERATORS["cumsum"], stack, axis=-1, **attributes)[0]
        np.testing.assert_array_equal(got, np.stack([want, 10 * np.array(want)]))
        got = check_operator(OPERATORS["cumsum"], stack.T[:, None], axis=0, **attributes)[0]
        np.testing.assert_array_equal(got[:, 0].T, np.stack([want, 10 * np.array(want)]))


@pytest.mark.parametrize(
    ("name", "x", "attributes", "message"),
    [
        ("sum", np.zeros((2, 3), np.float32), {"axis": 2}, "axis 2 is out of range for rank 2"),
        ("sum", np.zeros((2, 3), np.float32), {"axis": (0, -2)}, "name one axis twice"),
        ("sum", np.zeros(3, bool), {}, "expects float or int or uint operands, got bool"),
        ("argmax", np.zeros((2, 0), np.float32), {"axis": 1}, "at least one element"),
        ("argmax", np.zeros(2, np.float32), {"dtype": "float32"}, "expected an integer"),
        ("cumsum", np.zeros(2, np.float32), {"axis": 1}, "axis 1 is out of range"),
        ("cumsum", np.zeros(2, np.float32), {}, "requires attribute 'axis'"),
    ],
)
def test_refused(name, x, attributes, message):
    with pytest.raises((TypeError, ValueError), match=message):
        evaluate(OPERATORS[name], x, **attributes)
