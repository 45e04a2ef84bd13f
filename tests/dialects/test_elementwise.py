"""Element-wise operators of one operand.

Compiled code against `evaluate`, and `evaluate` against float64 formulas.
"""

import math

import ml_dtypes
import numpy as np
import pytest
from support import check_operator, evaluate

from nnvm_mlir.dialects.nnvm import OPERATORS
from nnvm_mlir.dialects.nnvm.types import TensorType, numpy_dtype

SPECIAL = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan]
EVERYWHERE = np.concatenate([SPECIAL, np.linspace(-12, 12, 41), [100, -100, 1e4, -1e4]])
POSITIVE = np.concatenate([SPECIAL, np.geomspace(1e-6, 1e6, 30)])
UNIT = np.concatenate([SPECIAL, np.linspace(-1.25, 1.25, 33)])
HALVES = np.concatenate([SPECIAL, np.arange(-4.5, 5, 0.5), [0.49999997, 8388609.0]])


def erf(x):
    return np.array([math.erf(v) for v in x])


FLOAT_CASES = {
    "copy": (EVERYWHERE, {}, lambda x: x),
    "negative": (EVERYWHERE, {}, lambda x: -x),
    "abs": (EVERYWHERE, {}, np.abs),
    "sign": (EVERYWHERE, {}, lambda x: np.where(np.isnan(x), np.nan, (x > 0) * 1.0 - (x < 0))),
    "reciprocal": (EVERYWHERE, {}, lambda x: 1 / x),
    "floor": (HALVES, {}, np.floor),
    "ceil": (HALVES, {}, np.ceil),
    "trunc": (HALVES, {}, np.trunc),
    "round": (HALVES, {}, np.round),
    "clip": (EVERYWHERE, {"a_min": -2.5, "a_max": 3.0}, lambda x: np.clip(x, -2.5, 3.0)),
    "exp": (EVERYWHERE, {}, np.exp),
    "log": (POSITIVE, {}, np.log),
    "sqrt": (POSITIVE, {}, np.sqrt),
    "rsqrt": (POSITIVE, {}, lambda x: 1 / np.sqrt(x)),
    "erf": (EVERYWHERE, {}, erf),
    "sin": (EVERYWHERE, {}, np.sin),
    "cos": (EVERYWHERE, {}, np.cos),
    "tan": (UNIT, {}, np.tan),
    "asin": (UNIT, {}, np.arcsin),
    "acos": (UNIT, {}, np.arccos),
    "atan": (EVERYWHERE, {}, np.arctan),
    "sinh": (EVERYWHERE, {}, np.sinh),
    "cosh": (EVERYWHERE, {}, np.cosh),
    "tanh": (EVERYWHERE, {}, np.tanh),
    "asinh": (EVERYWHERE, {}, np.arcsinh),
    "acosh": (POSITIVE, {}, np.arccosh),
    "atanh": (UNIT, {}, np.arctanh),
    "__add_scalar__": (EVERYWHERE, {"scalar": 2.5}, lambda x: x + 2.5),
    "__sub_scalar__": (EVERYWHERE, {"scalar": 2.5}, lambda x: x - 2.5),
    "__rsub_scalar__": (EVERYWHERE, {"scalar": 2.5}, lambda x: 2.5 - x),
    "__mul_scalar__": (EVERYWHERE, {"scalar": 2.5}, lambda x: x * 2.5),
    "__div_scalar__": (EVERYWHERE, {"scalar": 2.5}, lambda x: x / 2.5),
    "__rdiv_scalar__": (EVERYWHERE, {"scalar": 2.5}, lambda x: 2.5 / x),
    "__pow_scalar__": (POSITIVE, {"scalar": 2.5}, lambda x: x**2.5),
    "__rpow_scalar__": (EVERYWHERE[:-4], {"scalar": 2.5}, lambda x: 2.5**x),
}


@pytest.mark.parametrize("name", FLOAT_CASES)
def test_float32(name):
    x, attributes, formula = FLOAT_CASES[name]
    x = x.astype(np.float32)
    with np.errstate(all="ignore"):
        want = formula(x.astype(np.float64)).astype(np.float32)
        got = check_operator(OPERATORS[name], x, rtol=2e-6, **attributes)[0]
    np.testing.assert_allclose(got, want, rtol=2e-6, atol=1e-7)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64"])
@pytest.mark.parametrize("name", ["exp", "rsqrt", "round", "__add_scalar__", "is_nan"])
def test_other_floats_round_once(name, dtype):
    x = POSITIVE[:25].astype(numpy_dtype(dtype))
    attributes = {"scalar": 0.1} if "scalar" in name else {}
    got = check_operator(OPERATORS[name], x, rtol=1e-2 if "16" in dtype else 1e-12, **attributes)[0]
    if name == "__add_scalar__" and dtype == "float16":
        np.testing.assert_array_equal(got, (x.astype(np.float32) + np.float32(0.1)).astype(dtype))


INTEGER_CASES = {
    "negative": ({}, [128, -5, 0, -7, -127]),
    "abs": ({}, [128, 5, 0, 7, 127]),
    "sign": ({}, [-1, 1, 0, 1, 1]),
    "round": ({}, [-128, 5, 0, 7, 127]),
    "clip": ({"a_min": -math.inf, "a_max": 6.0}, [-128, 5, 0, 6, 6]),
    "bitwise_not": ({}, [127, -6, -1, -8, -128]),
    "__add_scalar__": ({"scalar": 2.9}, [-126, 7, 2, 9, 129]),
    "__sub_scalar__": ({"scalar": 300.0}, [84, -39, -44, -37, 83]),
    "__mul_scalar__": ({"scalar": -2.0}, [0, -10, 0, -14, 2]),
    "__rsub_scalar__": ({"scalar": 1.0}, [129, -4, 1, -6, -126]),
    "__div_scalar__": ({"scalar": -1.0}, [128, -5, 0, -7, -127]),
    "__rdiv_scalar__": ({"scalar": -11.0}, [0, -2, 0, -1, 0]),
    "__pow_scalar__": ({"scalar": 3.0}, [0, 125, 0, 87, 127]),
    "__rpow_scalar__": ({"scalar": -2.0}, [0, -32, 1, -128, 0]),
}


@pytest.mark.parametrize("name", INTEGER_CASES)
def test_int8_wraps_and_never_traps(name):
    attributes, want = INTEGER_CASES[name]
    x = np.array([-128, 5, 0, 7, 127], np.int8)
    got = check_operator(OPERATORS[name], x, **attributes)[0]
    np.testing.assert_array_equal(got, np.array(want).astype(np.int8))


def test_unsigned_integers():
    x = np.array([0, 1, 200, 255], np.uint8)
    for name, attributes, want in [
        ("negative", {}, [0, 255, 56, 1]),
        ("sign", {}, [0, 1, 1, 1]),
        ("abs", {}, [0, 1, 200, 255]),
        ("clip", {"a_min": -5.0, "a_max": 1000.0}, [0, 1, 200, 255]),
        ("__div_scalar__", {"scalar": 0.0}, [0, 0, 0, 0]),
        ("__add_scalar__", {"scalar": 100.0}, [100, 101, 44, 99]),
    ]:
        got = check_operator(OPERATORS[name], x, **attributes)[0]
        np.testing.assert_array_equal(got, np.array(want, np.uint8), err_msg=name)


CAST_INPUT = np.array(
    [-1e30, -129, -1.75, -0.0, 0.5, 1.99, 127.9, 255.5, 3e9, 1e30, np.inf, np.nan]
)


@pytest.mark.parametrize(
    ("target", "want"),
    [
        ("int8", [-128, -128, -1, 0, 0, 1, 127, 127, 127, 127, 127, 0]),
        ("uint8", [0, 0, 0, 0, 0, 1, 127, 255, 255, 255, 255, 0]),
        ("int32", [-(2**31), -129, -1, 0, 0, 1, 127, 255, *[2**31 - 1] * 3, 0]),
        ("uint32", [0, 0, 0, 0, 0, 1, 127, 255, 3 * 10**9, 2**32 - 1, 2**32 - 1, 0]),
        ("int64", [-(2**63), -129, -1, 0, 0, 1, 127, 255, 3 * 10**9, *[2**63 - 1] * 2, 0]),
        ("bool", [1, 1, 1, 0, 1, 1, 1, 1, 1, 1, 1, 1]),
    ],
)
def test_cast_from_float_saturates(target, want):
    got = check_operator(OPERATORS["cast"], CAST_INPUT.astype(np.float32), dtype=target)[0]
    np.testing.assert_array_equal(got, np.array(want, target))


@pytest.mark.parametrize(
    ("source", "target"),
    [
        (np.array([-1, 0, 300, -(2**31)], np.int32), "uint8"),
        (np.array([-1, 0, 127, -128], np.int8), "int64"),
        (np.array([0, 255, 128], np.uint8), "int16"),
        (np.array([0, 2**64 - 1], np.uint64), "float64"),
        (np.array([True, False, True]), "float32"),
        (np.array([3, 0, -7], np.int64), "bool"),
        (np.array([1.1, -2.7, np.inf, 70000.0], np.float32), "float16"),
        (np.array([1.1, -2.7, np.nan], np.float16), "float64"),
        (np.array([1.0, 257.0, 3.14], np.float32), "bfloat16"),
        (np.array([300.0, -3.5, np.nan], ml_dtypes.bfloat16), "int8"),
    ],
)
def test_cast_between_dtypes(source, target):
    got = check_operator(OPERATORS["cast"], source, dtype=target)[0]
    if not (source.dtype.kind in "fV" and target == "int8"):
        with np.errstate(all="ignore"):
            np.testing.assert_array_equal(got, source.astype(numpy_dtype(target)))


def test_predicates():
    x = np.array([0.0, np.nan, np.inf, -np.inf, -1.0], np.float32)
    for name, attributes, want in [
        ("is_nan", {}, [0, 1, 0, 0, 0]),
        ("is_inf", {}, [0, 0, 1, 1, 0]),
        ("is_inf", {"detect_negative": False}, [0, 0, 1, 0, 0]),
        ("is_inf", {"detect_positive": False}, [0, 0, 0, 1, 0]),
        ("logical_not", {}, [1, 0, 0, 0, 0]),
    ]:
        got = check_operator(OPERATORS[name], x, **attributes)[0]
        np.testing.assert_array_equal(got, np.array(want, bool), err_msg=name)
    flags = np.array([True, False])
    np.testing.assert_array_equal(check_operator(OPERATORS["logical_not"], flags)[0], ~flags)
    np.testing.assert_array_equal(check_operator(OPERATORS["bitwise_not"], flags)[0], ~flags)


@pytest.mark.parametrize("shape", [(), (0,), (0, 3), (1,), (3, 1, 5)])
def test_shapes(shape):
    x = np.full(shape, 2.25, np.float32)
    np.testing.assert_array_equal(check_operator(OPERATORS["sqrt"], x)[0], np.full(shape, 1.5))


def test_shape_and_dtype_are_inferred_backwards():
    operator = OPERATORS["exp"]
    ins, outs = operator.infer(
        operator.attributes_from({}), [TensorType((2, None))], [TensorType((None, 3), "float32")]
    )
    assert ins == outs == [TensorType((2, 3), "float32")]


@pytest.mark.parametrize(
    ("name", "x", "attributes", "message"),
    [
        ("exp", np.zeros(2, np.int32), {}, "expects float operands, got int32"),
        ("negative", np.zeros(2, bool), {}, "expects float or int or uint operands, got bool"),
        ("clip", np.zeros(2, np.float32), {"a_min": math.nan, "a_max": 1.0}, "must not be NaN"),
        ("__add_scalar__", np.zeros(2, np.int8), {"scalar": math.inf}, "inf has no int8 value"),
        ("cast", np.zeros(2, np.int8), {"dtype": "int7"}, "attribute 'dtype'"),
    ],
)
def test_refused(name, x, attributes, message):
    with pytest.raises((TypeError, ValueError), match=message):
        evaluate(OPERATORS[name], x, **attributes)
