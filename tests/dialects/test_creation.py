"""Operators that make tensors."""

import math

import ml_dtypes
import numpy as np
import pytest
from support import check_operator

from nnvm_mlir.dialects.nnvm import OPERATORS
from nnvm_mlir.dialects.nnvm.types import DTYPES, TensorType, numpy_dtype

VALUES = [
    np.array([[1.5, -2.0, np.inf]], np.float32),
    np.array([0.1, 65504], np.float16),
    np.array([2**63 - 1, -(2**63)], np.int64),
    np.array([0, 255, 7], np.uint8),
    np.array([2**64 - 1], np.uint64),
    np.array([True, False, True, True, False, False, True, False, True]),
    np.array([True, True]),
    np.array(3.25, np.float64),
    np.full((2, 2), 0.1, ml_dtypes.bfloat16),
    np.zeros((0, 3), np.float32),
]


@pytest.mark.parametrize("value", VALUES, ids=lambda v: f"{v.dtype}-{v.shape}")
def test_constant(value):
    np.testing.assert_array_equal(check_operator(OPERATORS["constant"], value=value)[0], value)


@pytest.mark.parametrize("dtype", DTYPES)
def test_numbers_of_every_dtype(dtype):
    like = np.zeros((2, 3), numpy_dtype(dtype))
    for operator, attributes, want in [
        ("full", {"fill_value": 1.0}, 1),
        ("zeros", {}, 0),
        ("ones", {}, 1),
    ]:
        got = check_operator(OPERATORS[operator], shape=(2, 3), dtype=dtype, **attributes)[0]
        np.testing.assert_array_equal(got, np.full((2, 3), want, like.dtype))
        got = check_operator(OPERATORS[f"{operator}_like"], like, **attributes)[0]
        np.testing.assert_array_equal(got, np.full((2, 3), want, like.dtype))


def test_fill_values_are_converted():
    for dtype, number, want in [("uint8", 300.0, 44), ("int8", -2.9, -2), ("bool", 0.5, True)]:
        got = check_operator(OPERATORS["full"], shape=(), dtype=dtype, fill_value=number)[0]
        assert got == np.array(want, dtype)
    got = check_operator(OPERATORS["full"], shape=(2,), fill_value=math.nan)[0]
    assert np.isnan(got).all()


def test_shape_is_inferred_backwards():
    operator = OPERATORS["full"]
    a = operator.attributes_from({"fill_value": 3.0})
    assert operator.infer(a, [], [TensorType((4, 5))])[1] == [TensorType((4, 5), "float32")]
    assert operator.infer(a, [])[1] == [TensorType(None, "float32")]
    with pytest.raises(ValueError, match="without attribute 'shape'"):
        operator.evaluate(a)


@pytest.mark.parametrize(
    ("name", "attributes", "message"),
    [
        ("full", {"shape": (2,)}, "requires attribute 'fill_value'"),
        ("full", {"shape": (-1,), "fill_value": 0.0}, "expected sizes from 0"),
        ("full", {"dtype": "int32", "fill_value": math.inf}, "inf has no int32 value"),
        ("zeros", {"shape": (2,), "dtype": "float"}, "expected one of float16"),
    ],
)
def test_refused(name, attributes, message):
    with pytest.raises(ValueError, match=message):
        OPERATORS[name].attributes_from(attributes)
