"""Linear quantization: compiled code against `evaluate`, and `evaluate` against known values."""

import numpy as np
import pytest
from support import check_operator, evaluate

from nnvm_mlir.dialects.nnvm import OPERATORS
from nnvm_mlir.dialects.nnvm.types import TensorType

QUANTIZE, DEQUANTIZE = OPERATORS["quantize_linear"], OPERATORS["dequantize_linear"]


def scalar(value, dtype=np.float32):
    return np.array(value, dtype)


@pytest.mark.parametrize(
    ("dtype", "zero_point", "want"),
    [
        ("uint8", 128, [128, 128, 130, 132, 126, 255, 0, 255, 0, 0]),
        ("int8", 0, [0, 0, 2, 4, -2, 127, -128, 127, -128, 0]),
        ("int16", -10, [-10, -10, -8, -6, -12, 1990, -2010, 32767, -32768, 0]),
        ("uint16", 10, [10, 10, 12, 14, 8, 2010, 0, 65535, 0, 0]),
    ],
)
def test_quantize_rounds_to_even_and_saturates(dtype, zero_point, want):
    x = np.array([0, 0.25, 0.75, 1.75, -0.75, 1000, -1000, np.inf, -np.inf, np.nan], np.float32)
    got = check_operator(QUANTIZE, x, scalar(0.5), scalar(zero_point, dtype), axis=0, dtype=dtype)[
        0
    ]
    np.testing.assert_array_equal(got, np.array(want, dtype))


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_quantize_per_axis(axis):
    x = np.random.default_rng(3).uniform(-40, 40, (3, 5, 7)).astype(np.float32)
    size = x.shape[axis]
    scale = np.linspace(0.1, 0.9, size, dtype=np.float32)
    zero = np.arange(size, dtype=np.int8) - 2
    got = check_operator(QUANTIZE, x, scale, zero, axis=axis)[0]
    moved = np.moveaxis(x, axis, -1)
    want = np.clip(np.rint(moved / scale) + zero, -128, 127).astype(np.int8)
    np.testing.assert_array_equal(got, np.moveaxis(want, -1, axis))
    back = check_operator(DEQUANTIZE, got, scale, zero, axis=axis)[0]
    want_back = (want.astype(np.int32) - zero).astype(np.float32) * scale
    np.testing.assert_array_equal(back, np.moveaxis(want_back, -1, axis))


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16", "int32"])
def test_dequantize(dtype):
    info = np.iinfo(dtype)
    x = np.array([info.min, 0, 1, 100, info.max], dtype)
    zero = 0 if dtype == "int32" else 3
    got = check_operator(DEQUANTIZE, x, scalar([0.25]), scalar([zero], dtype), axis=0)[0]
    np.testing.assert_array_equal(got, (x.astype(np.int64) - zero).astype(np.float32) * 0.25)


def test_half_precision_scale():
    got = check_operator(
        DEQUANTIZE, scalar([7, -7], "int8"), scalar(0.1, np.float16), scalar(0, "int8")
    )
    want = (np.array([7, -7]) * np.float32(np.float16(0.1))).astype(np.float16)
    np.testing.assert_array_equal(got[0], want)
    got = check_operator(
        QUANTIZE, scalar([7.2, -3], np.float16), scalar(0.5, np.float16), scalar(0, "int8")
    )
    np.testing.assert_array_equal(got[0], np.array([14, -6], np.int8))


def test_integers_can_be_quantized():
    got = check_operator(QUANTIZE, scalar([1000, -7, 3], "int32"), scalar(2), scalar(0, "int8"))
    np.testing.assert_array_equal(got[0], np.array([127, -4, 2], np.int8))


def test_inference():
    ins, outs = QUANTIZE.infer(
        QUANTIZE.attributes_from({"dtype": "uint8"}),
        [TensorType((2, 3), "float32"), TensorType((3,), "float32"), TensorType()],
    )
    assert ins[2] == TensorType((3,), "uint8")
    assert outs == [TensorType((2, 3), "uint8")]


@pytest.mark.parametrize(
    ("scale", "zero", "attributes", "message"),
    [
        (scalar([1, 2]), scalar([0, 0], "int8"), {}, "scalars or of shape 3, got 2"),
        (scalar(1), scalar([0, 0, 0], "int8"), {}, "differ in rank"),
        (scalar(1), scalar(0, "int32"), {}, "expects a zero_point of int8"),
        (scalar(1), scalar(0, "int8"), {"dtype": "uint8"}, "dtypes int8 and uint8 differ"),
        (scalar(1), scalar(0, "int8"), {"dtype": "int64"}, "attribute 'dtype'"),
        (scalar(1, "int32"), scalar(0, "int8"), {}, "expects float operands, got int32"),
    ],
)
def test_refused(scale, zero, attributes, message):
    with pytest.raises(ValueError, match=message):
        evaluate(QUANTIZE, np.zeros((2, 3), np.float32), scale, zero, **attributes)
