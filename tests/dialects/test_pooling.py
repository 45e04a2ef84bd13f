"""Pooling: `evaluate` against onnxruntime, compiled code against `evaluate`, and inference."""

import numpy as np
import pytest
from oracle import run_onnx
from support import check_operator, evaluate

from nnvm_mlir.dialects.nnvm import OPERATORS
from nnvm_mlir.dialects.nnvm.layout import Layout
from nnvm_mlir.dialects.nnvm.types import TensorType, numpy_dtype
from nnvm_mlir.dialects.nnvm.window import relayout

RNG = np.random.default_rng(0)
DATA = RNG.normal(size=(2, 4, 6, 5)).astype(np.float32)
WINDOW = {"pool_size": (3, 2), "strides": (2, 2), "padding": (1, 0, 1, 1), "ceil_mode": True}


def geometry(rank):
    """Random data of few different values, and the attributes of a pool that fits it."""
    size = RNG.integers(1, 4, rank).tolist()
    a = {
        "pool_size": size,
        "strides": RNG.integers(1, 4, rank).tolist(),
        "dilation": RNG.integers(1, 3, rank).tolist(),
        "padding": [int(RNG.integers(0, k)) for k in size * 2],
        "ceil_mode": bool(RNG.integers(2)),
    }
    return np.round(RNG.normal(size=(2, 3, *RNG.integers(5, 8, rank)))).astype(np.float32), a


def onnx_attributes(a):
    names = {"pool_size": "kernel_shape", "dilation": "dilations", "padding": "pads"}
    return {names.get(key, key): value for key, value in a.items()}


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_evaluate_agrees_with_onnxruntime(rank):
    for _ in range(25):
        x, a = geometry(rank)
        for order in (0, 1):
            operator = OPERATORS[f"max_pool{rank}d_indices"]
            got = evaluate(operator, x, storage_order=order, **a)
            want = run_onnx("MaxPool", x, outputs=2, storage_order=order, **onnx_attributes(a))
            np.testing.assert_array_equal(got[0], want[0], str(a))
            np.testing.assert_array_equal(got[1], want[1], str(a))
        np.testing.assert_array_equal(evaluate(OPERATORS[f"max_pool{rank}d"], x, **a)[0], want[0])
        for include in (False, True):
            operator = OPERATORS[f"avg_pool{rank}d"]
            got = evaluate(operator, x, count_include_pad=include, **a)
            want = run_onnx("AveragePool", x, count_include_pad=include, **onnx_attributes(a))
            np.testing.assert_allclose(got[0], want[0], rtol=1e-5, atol=1e-6, err_msg=str(a))


@pytest.mark.parametrize("rank", [1, 2, 3])
@pytest.mark.parametrize("name", ["max_pool{}d", "avg_pool{}d", "max_pool{}d_indices"])
def test_compiled(rank, name):
    for _ in range(3):
        x, a = geometry(rank)
        check_operator(OPERATORS[name.format(rank)], x, **a)


@pytest.mark.parametrize("rank", [1, 2, 3])
@pytest.mark.parametrize("name", ["max", "avg"])
def test_global(rank, name):
    x = RNG.normal(size=(2, 3, *range(4, 4 + rank))).astype(np.float32)
    got = check_operator(OPERATORS[f"global_{name}_pool{rank}d"], x)[0]
    want = run_onnx({"max": "GlobalMaxPool", "avg": "GlobalAveragePool"}[name], x)[0]
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("layout", ["NHWC", "NCHW2c", "N2nHWC", "WHNC"])
@pytest.mark.parametrize(
    "name", ["max_pool2d", "avg_pool2d", "max_pool2d_indices", "global_avg_pool2d"]
)
def test_layouts(layout, name):
    a = {} if "global" in name else WINDOW
    plain, other = Layout.parse("NCHW"), Layout.parse(layout)
    want = evaluate(OPERATORS[name], DATA, **a)
    got = check_operator(OPERATORS[name], relayout(DATA, plain, other), layout=layout, **a)
    for have, expected in zip(got, want, strict=True):
        np.testing.assert_allclose(relayout(have, other, plain), expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64", "int8", "uint8", "int64"])
@pytest.mark.parametrize("name", ["max_pool2d", "avg_pool2d", "max_pool2d_indices"])
def test_dtypes(dtype, name):
    x = (DATA * 40).astype(np.int64).astype(numpy_dtype(dtype))
    check_operator(OPERATORS[name], x, rtol=1e-3, **WINDOW)


@pytest.mark.parametrize("dtype", ["float16", "float64", "int8", "uint8"])
@pytest.mark.parametrize("name", ["global_max_pool2d", "global_avg_pool2d"])
def test_global_dtypes(dtype, name):
    check_operator(OPERATORS[name], (DATA * 40).astype(np.int64).astype(dtype), rtol=1e-3)


def test_small_integers_are_summed_wide():
    x = np.full((1, 1, 8, 8), 100, np.int8)
    for name, a in (("global_avg_pool2d", {}), ("avg_pool2d", {"pool_size": (8, 8)})):
        assert check_operator(OPERATORS[name], x, **a)[0].item() == 100


def test_padding_never_wins():
    x = np.full((1, 1, 2, 2), -np.inf, np.float32)
    values, indices = check_operator(
        OPERATORS["max_pool2d_indices"], x, pool_size=(2, 2), strides=(2, 2), padding=1
    )
    assert np.all(values == -np.inf)
    assert indices.ravel().tolist() == [0, 1, 2, 3]


def test_nan_wins():
    x = np.array([[[1, np.nan, 2, np.nan, 3, 4]]], np.float32)
    values, indices = check_operator(
        OPERATORS["max_pool1d_indices"], x, pool_size=(4,), strides=(2,)
    )
    assert np.isnan(values).all()
    assert indices.ravel().tolist() == [1, 3]
    assert np.isnan(check_operator(OPERATORS["max_pool1d"], x, pool_size=(4,))[0][0, 0, :3]).all()
    assert np.isnan(check_operator(OPERATORS["global_max_pool1d"], x)[0]).all()


def test_window_of_padding_alone():
    x = np.ones((1, 1, 1), np.float32)
    a = {"pool_size": (1,), "padding": (1,)}
    values, indices = check_operator(OPERATORS["max_pool1d_indices"], x, **a)
    assert values.ravel().tolist() == [-np.inf, 1, -np.inf]
    assert indices.ravel().tolist() == [-1, 0, -1]
    assert check_operator(OPERATORS["avg_pool1d"], x, **a)[0].ravel().tolist() == [0, 1, 0]


@pytest.mark.parametrize("name", ["max_pool1d", "avg_pool1d", "max_pool1d_indices"])
def test_empty_batch(name):
    check_operator(OPERATORS[name], np.zeros((0, 2, 5), np.float32), pool_size=(2,))


def test_last_window_starts_inside():
    x = np.zeros((1, 2, 6, 5), np.float32)
    a = {"pool_size": (3, 3), "strides": (3, 3), "padding": 1, "ceil_mode": True}
    assert evaluate(OPERATORS["max_pool2d"], x, **a)[0].shape == (1, 2, 3, 2)


@pytest.mark.parametrize(
    ("attributes", "shape", "message"),
    [
        ({"pool_size": (3,)}, (1, 1, 5, 5), "'pool_size' must be 2 numbers >= 1"),
        ({"padding": (1, 2, 3)}, (1, 1, 5, 5), "'padding' must be 1, 2 or 4 numbers"),
        ({"layout": "NCHW2w"}, (1, 1, 5, 5, 2), "must not split the spatial axes HW"),
        ({"layout": "NCDHW"}, (1, 1, 5, 5, 5), "must have the axes of NCHW"),
        ({}, (1, 1, 2, 5), "spans 3 does not fit an axis of 2"),
        ({}, (1, 5, 5), "layout NCHW has 4 dimensions"),
    ],
)
def test_refusals(attributes, shape, message):
    operator = OPERATORS["max_pool2d"]
    with pytest.raises(ValueError, match=message):
        a = operator.attributes_from({"pool_size": (3, 3)} | attributes)
        operator.infer(a, [TensorType(shape, "float32")])


def test_global_infers_batch_and_channels_backwards():
    operator = OPERATORS["global_avg_pool2d"]
    a = operator.attributes_from({})
    ins, outs = operator.infer(
        a, [TensorType((None, None, 4, None), "float32")], [TensorType((2, 3, 1, 1))]
    )
    assert ins == [TensorType((2, 3, 4, None), "float32")]
    assert outs == [TensorType((2, 3, 1, 1), "float32")]
