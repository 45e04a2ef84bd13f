"""Tensors of ONNX files as NumPy arrays, in every encoding."""

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from nnvm_mlir.errors import LoadError
from nnvm_mlir.frontend.onnx.tensors import dtype_of, to_array

DTYPES = [
    "float16", "float32", "float64", "int8", "int16", "int32", "int64",
    "uint8", "uint16", "uint32", "uint64", "bool", ml_dtypes.bfloat16,
]  # fmt: skip


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (0, 4)])
def test_raw_data(dtype, shape):
    rng = np.random.default_rng(0)
    expected = rng.integers(0, 2, shape) if dtype == "bool" else rng.integers(0, 100, shape)
    expected = np.asarray(expected).astype(dtype)
    got = to_array(onnx.numpy_helper.from_array(expected, "t"))
    assert got.dtype == expected.dtype and got.shape == shape
    np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("dtype", DTYPES)
def test_typed_fields(dtype):
    values = np.array([0, 1, 1, 0] if dtype == "bool" else [0, 1, 2, 100]).astype(dtype)
    code = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    got = to_array(helper.make_tensor("t", code, [2, 2], values))
    assert got.dtype == values.dtype
    np.testing.assert_array_equal(got, values.reshape(2, 2))


def test_negative_values_of_small_integers():
    got = to_array(helper.make_tensor("t", TensorProto.INT8, [2], [-128, 127]))
    np.testing.assert_array_equal(got, np.array([-128, 127], np.int8))


def test_raw_data_is_not_copied_again():
    got = to_array(onnx.numpy_helper.from_array(np.ones(8, np.float32), "t"))
    assert not got.flags.owndata and not got.flags.writeable


def test_bytes_that_are_no_booleans_count_as_true():
    tensor = TensorProto(name="t", data_type=TensorProto.BOOL, dims=[3], raw_data=b"\0\1\7")
    assert to_array(tensor).tolist() == [False, True, True]


def _tensor(**fields):
    return TensorProto(**{"name": "t", "data_type": TensorProto.FLOAT, "dims": [2], **fields})


@pytest.mark.parametrize(
    "tensor, message",
    [
        (_tensor(dims=[-1], raw_data=b""), "negative dimension"),
        (_tensor(dims=[2**33, 2**33], raw_data=b"1234"), "larger than any memory"),
        (_tensor(dims=[2**62, 4, 0, 2**62]), "larger than any memory"),
        (_tensor(dims=[2**61], raw_data=b""), "larger than any memory"),
        (_tensor(dims=[2**40], raw_data=b"1234"), "needs 4398046511104 bytes"),
        (_tensor(raw_data=b"1234567"), "needs 8 bytes, raw_data has 7"),
        (_tensor(raw_data=b"123456789"), "needs 8 bytes, raw_data has 9"),
        (_tensor(), "needs 2 elements, float_data has 0"),
        (_tensor(float_data=[1]), "needs 2 elements, float_data has 1"),
        (_tensor(float_data=[1, 2, 3]), "needs 2 elements, float_data has 3"),
        (_tensor(int32_data=[1, 2]), "has data in int32_data, not in float_data"),
        (_tensor(int32_data=[1, 2], float_data=[1, 2]), "has data in int32_data"),
        (_tensor(raw_data=b"12345678", float_data=[1, 2]), "two kinds of data"),
        (_tensor(data_location=1, raw_data=b"12345678"), "both external and inline"),
        (_tensor(data_location=1), "without a valid location"),
        (_tensor(data_type=TensorProto.INT8, int32_data=[1, 300]), "do not fit int8"),
        (_tensor(data_type=TensorProto.UINT8, int32_data=[1, -1]), "do not fit uint8"),
        (_tensor(data_type=TensorProto.BOOL, int32_data=[1, 2]), "do not fit bool"),
        (_tensor(data_type=TensorProto.UINT32, uint64_data=[1, 2**32]), "do not fit uint32"),
        (_tensor(data_type=TensorProto.FLOAT16, int32_data=[1, 2**16]), "do not fit float16"),
        (_tensor(data_type=TensorProto.STRING, string_data=[b"a", b"b"]), "STRING"),
        (_tensor(data_type=TensorProto.INT4, raw_data=b"1"), "INT4"),
        (_tensor(data_type=TensorProto.COMPLEX64, raw_data=b"1" * 16), "COMPLEX64"),
        (_tensor(data_type=0, raw_data=b"12345678"), "unknown element type 0"),
        (_tensor(data_type=999, raw_data=b"12345678"), "unknown element type 999"),
        (_tensor(segment=TensorProto.Segment(begin=0, end=1)), "segments"),
    ],
)
def test_contradictions(tensor, message):
    with pytest.raises(LoadError, match=message) as caught:
        to_array(tensor)
    assert "'t'" in str(caught.value)


def test_external_data_given_twice():
    tensor = _tensor(data_location=1)
    for value in ("a", "b"):
        tensor.external_data.add(key="location", value=value)
    with pytest.raises(LoadError, match="'location' of its external data twice"):
        to_array(tensor)


def test_dtype_names():
    assert dtype_of(TensorProto.BFLOAT16, "x") == "bfloat16"
    with pytest.raises(LoadError, match="x has elements of type FLOAT8E5M2"):
        dtype_of(TensorProto.FLOAT8E5M2, "x")
