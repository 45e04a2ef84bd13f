"""Element-wise operators of several operands.

Compiled code against `evaluate`, and `evaluate` against NumPy and known values.
"""

import math

import ml_dtypes
import numpy as np
import pytest
from support import check_operator, evaluate, infer

from nnvm_mlir.dialects.nnvm import OPERATORS
from nnvm_mlir.dialects.nnvm.types import TensorType

VALUES = np.array([0.0, -0.0, 1.0, -1.0, 2.5, -7.25, 1e10, np.inf, -np.inf, np.nan], np.float32)
PAIRS = np.meshgrid(VALUES, VALUES)


@pytest.mark.parametrize(
    ("name", "function"),
    [
        ("add", np.add),
        ("sub", np.subtract),
        ("mul", np.multiply),
        ("div", np.divide),
        ("pow", np.power),
        ("max", np.maximum),
        ("min", np.minimum),
    ],
)
def test_float_arithmetic(name, function):
    with np.errstate(all="ignore"):
        want = function(*(x.astype(np.float64) for x in PAIRS)).astype(np.float32)
    for family in ["broadcast"] + ["elemwise"] * (name not in ("max", "min")):
        got = check_operator(OPERATORS[f"{family}_{name}"], *PAIRS)[0]
        np.testing.assert_allclose(got, want, rtol=1e-6)


def test_float_remainders():
    finite = np.array([5.5, -5.5, 7.0, -7.0, 0.0, 3.0], np.float32)
    x, y = np.meshgrid(finite, np.array([3.0, -3.0, 0.75, np.inf, -np.inf, 0.0], np.float32))
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(
            check_operator(OPERATORS["broadcast_mod"], x, y)[0], np.mod(x, y)
        )
        np.testing.assert_array_equal(
            check_operator(OPERATORS["broadcast_mod"], x, y, fmod=True)[0], np.fmod(x, y)
        )
        np.testing.assert_array_equal(
            check_operator(OPERATORS["elemwise_mod"], x, y)[0], np.mod(x, y)
        )


@pytest.mark.parametrize("dtype", ["int8", "int32", "int64", "uint8", "uint64"])
def test_integer_arithmetic_wraps_and_never_traps(dtype):
    info = np.iinfo(dtype)
    values = [info.min, info.max, 0, 1, 7, 100] + ([-1, -7] if info.min < 0 else [])
    x, y = np.meshgrid(np.array(values, dtype), np.array(values, dtype))

    def wrapped(function):
        exact = [function(int(a), int(b)) for a, b in zip(x.flat, y.flat, strict=True)]
        bits = info.bits
        signed = [(v - int(info.min)) % (1 << bits) + int(info.min) for v in exact]
        return np.array(signed, dtype).reshape(x.shape)

    def truncated(a, b):
        return 0 if b == 0 else abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)

    def power(a, b):
        if b >= 0:
            return pow(a, b, 1 << 64)
        return (a if b % 2 else 1) if a in (1, -1) else 0

    for name, function in [
        ("add", lambda a, b: a + b),
        ("sub", lambda a, b: a - b),
        ("mul", lambda a, b: a * b),
        ("div", truncated),
        ("mod", lambda a, b: a % b if b else 0),
        ("pow", power),
        ("max", max),
        ("min", min),
    ]:
        got = check_operator(OPERATORS[f"broadcast_{name}"], x, y)[0]
        np.testing.assert_array_equal(got, wrapped(function), err_msg=name)
    fmod = check_operator(OPERATORS["broadcast_mod"], x, y, fmod=True)[0]
    np.testing.assert_array_equal(fmod, wrapped(lambda a, b: a - truncated(a, b) * b if b else 0))


@pytest.mark.parametrize(
    ("base", "exponent", "want"),
    [
        (np.array([2.0, -2.0, 9.0], np.float32), np.array([3, 3, -1], np.int64), [8, -8, 1 / 9]),
        (np.array([2, 9, 2], np.int32), np.array([0.5, 0.5, 40.0], np.float32), [1, 3, 2**31 - 1]),
        (np.array([3, 2, 1], np.int8), np.array([3, 200, -5], np.int64), [27, 0, 1]),
        (np.array([1.5, 2.0], np.float16), np.array([2.0, 0.5], np.float64), [2.25, math.sqrt(2)]),
    ],
)
def test_power_of_mixed_dtypes(base, exponent, want):
    got = check_operator(OPERATORS["broadcast_pow"], base, exponent)[0]
    np.testing.assert_allclose(got, np.array(want).astype(base.dtype), rtol=1e-6)


SHAPES = [
    ((3, 4), (3, 4)),
    ((2, 1, 5), (3, 1)),
    ((1,), (7, 3)),
    ((), (2, 2)),
    ((), ()),
    ((5, 1), (1, 33)),
    ((4, 1, 17), (4, 3, 1)),
    ((0, 3), (1, 3)),
]


@pytest.mark.parametrize(("left", "right"), SHAPES)
def test_shapes_broadcast(left, right):
    x = np.arange(math.prod(left), dtype=np.float32).reshape(left)
    y = np.arange(100, 100 + math.prod(right), dtype=np.float32).reshape(right)
    np.testing.assert_array_equal(check_operator(OPERATORS["broadcast_sub"], x, y)[0], x - y)
    np.testing.assert_array_equal(check_operator(OPERATORS["broadcast_sub"], y, x)[0], y - x)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_precision(dtype):
    x = np.linspace(-3, 3, 9).astype(dtype if dtype == "float16" else ml_dtypes.bfloat16)
    got = check_operator(OPERATORS["broadcast_mul"], x, x[::-1], rtol=1e-2)[0]
    want = (x.astype(np.float32) * x[::-1].astype(np.float32)).astype(x.dtype)
    np.testing.assert_array_equal(got, want)


COMPARISONS = {
    "broadcast_greater": np.greater,
    "broadcast_less": np.less,
    "broadcast_equal": np.equal,
    "broadcast_not_equal": np.not_equal,
    "broadcast_greater_equal": np.greater_equal,
    "broadcast_less_equal": np.less_equal,
}


@pytest.mark.parametrize("name", COMPARISONS)
def test_comparisons(name):
    function = COMPARISONS[name]
    got = check_operator(OPERATORS[name], *PAIRS)[0]
    np.testing.assert_array_equal(got, function(*PAIRS).astype(np.float32))
    got = check_operator(OPERATORS[name], *PAIRS, out_dtype="bool")[0]
    np.testing.assert_array_equal(got, function(*PAIRS))
    x, y = np.array([200, 1], np.uint8), np.array([[1], [200]], np.uint8)
    np.testing.assert_array_equal(check_operator(OPERATORS[name], x, y)[0], function(x, y))
    x, y = np.array([False, True]), np.array([[False], [True]])
    np.testing.assert_array_equal(check_operator(OPERATORS[name], x, y)[0], function(x, y))


@pytest.mark.parametrize("name", ["logical_and", "logical_or", "logical_xor"])
@pytest.mark.parametrize("dtype", ["bool", "float32", "int64"])
def test_logic(name, dtype):
    x, y = np.array([0, 1, 0, 1], dtype), np.array([0, 0, 1, 1], dtype)
    got = check_operator(OPERATORS[name], x, y)[0]
    np.testing.assert_array_equal(got, getattr(np, name)(x, y))


@pytest.mark.parametrize("name", ["bitwise_and", "bitwise_or", "bitwise_xor"])
def test_bits(name):
    for dtype in ("bool", "uint8", "int32"):
        x, y = np.array([0, 1, 6, 1]).astype(dtype), np.array([0, 3, 3, 1]).astype(dtype)
        got = check_operator(OPERATORS[name], x, y)[0]
        np.testing.assert_array_equal(got, getattr(np, name)(x, y))


def test_shifts():
    counts = np.array([0, 1, 7, 8, 200], np.uint8)
    x = np.array([[255], [5]], np.uint8)
    left = check_operator(OPERATORS["broadcast_left_shift"], x, counts)[0]
    np.testing.assert_array_equal(left, [[255, 254, 128, 0, 0], [5, 10, 128, 0, 0]])
    right = check_operator(OPERATORS["broadcast_right_shift"], x, counts)[0]
    np.testing.assert_array_equal(right, [[255, 127, 1, 0, 0], [5, 2, 0, 0, 0]])
    x, counts = np.array([-128, 127], np.int8), np.array([[3], [9], [-1]], np.int8)
    right = check_operator(OPERATORS["broadcast_right_shift"], x, counts)[0]
    np.testing.assert_array_equal(right, [[-16, 15], [-1, 0], [-1, 0]])
    left = check_operator(OPERATORS["broadcast_left_shift"], x, counts)[0]
    np.testing.assert_array_equal(left, [[0, -8], [0, 0], [0, 0]])


def test_elemwise_sum():
    parts = [np.full((2, 3), 10.0**i, np.float32) for i in range(4)]
    got = check_operator(OPERATORS["elemwise_sum"], *parts, num_args=4)[0]
    np.testing.assert_array_equal(got, np.full((2, 3), 1111.0))
    np.testing.assert_array_equal(check_operator(OPERATORS["elemwise_sum"], parts[0])[0], parts[0])


@pytest.mark.parametrize("dtype", ["bool", "float32", "int64"])
def test_where(dtype):
    condition = np.array([[1], [0], [2]]).astype(dtype)
    x, y = np.arange(4, dtype=np.float32), np.array(-1, np.float32)
    got = check_operator(OPERATORS["where"], condition, x, y)[0]
    np.testing.assert_array_equal(got, [[0, 1, 2, 3], [-1] * 4, [0, 1, 2, 3]])
    flags = np.array([True, False])
    got = check_operator(OPERATORS["where"], np.array([[0], [1]], dtype), flags, ~flags)[0]
    np.testing.assert_array_equal(got, [[False, True], [True, False]])


@pytest.mark.parametrize(("shape", "axis"), [((2, 3, 4), 1), ((2, 3), -1), ((3, 2, 2, 2), 0)])
def test_prelu(shape, axis):
    x = np.arange(math.prod(shape), dtype=np.float32).reshape(shape) - 9
    alpha = np.array([0.5, -1.0, 2.0], np.float32)
    got = check_operator(OPERATORS["prelu"], x, alpha, axis=axis)[0]
    slope = np.moveaxis(np.moveaxis(np.ones(shape), axis, -1) * alpha, -1, axis)
    np.testing.assert_array_equal(got, np.where(x < 0, x * slope, x))


def test_inference_in_both_directions():
    ins, outs = infer(
        "elemwise_add",
        [TensorType((2, None)), TensorType()],
        [TensorType((None, 3), "float32")],
    )
    assert ins == [TensorType((2, 3), "float32")] * 2
    assert outs == [TensorType((2, 3), "float32")]
    ins, _ = infer("prelu", [TensorType((2, 5, 7), "float32"), TensorType()])
    assert ins[1] == TensorType((5,), "float32")
    _, outs = infer("broadcast_add", [TensorType((None, 3), "float32"), TensorType((4, 1, 1))])
    assert outs == [TensorType((4, None, 3), "float32")]
    _, outs = infer("broadcast_add", [TensorType(None, "float32"), TensorType((4, 1))])
    assert outs == [TensorType(None, "float32")]


@pytest.mark.parametrize(
    ("name", "inputs", "attributes", "message"),
    [
        ("broadcast_add", [(2, 3), (4, 3)], {}, "shapes 2x3 and 4x3 do not broadcast"),
        ("elemwise_add", [(2, 3), (1, 3)], {}, "shapes 2x3 and 1x3 differ"),
        ("elemwise_sum", [(2,), (2,)], {"num_args": 3}, "expects 3 operands, got 2"),
        ("prelu", [(2, 3), (2,)], {}, "shapes 2 and 3 differ"),
        ("prelu", [(2,), (2,)], {}, "axis 1 is out of range for rank 1"),
        ("bitwise_and", [(2,), (2,)], {}, "expects int or uint or bool operands, got float32"),
        ("broadcast_less", [(2,), (2,)], {"out_dtype": "float"}, "out_dtype"),
    ],
)
def test_refused(name, inputs, attributes, message):
    with pytest.raises((TypeError, ValueError), match=message):
        evaluate(OPERATORS[name], *(np.zeros(s, np.float32) for s in inputs), **attributes)
