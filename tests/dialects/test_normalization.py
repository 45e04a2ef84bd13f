"""Normalisations: compiled code against the references, and those against onnxruntime."""

import numpy as np
import pytest
from oracle import run_onnx
from support import check_operator

from nnvm_mlir.dialects.nnvm import normalization as ops
from nnvm_mlir.dialects.nnvm.types import TensorType, numpy_dtype

RNG = np.random.default_rng(0)
HALF = {"rtol": 1e-2, "atol": 1e-3}


def normal(*shape: int, dtype: str = "float32") -> np.ndarray:
    return np.asarray(RNG.standard_normal(shape)).astype(numpy_dtype(dtype))


def close(result, expected):
    np.testing.assert_allclose(result, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(("shape", "axis"), [((3, 7), -1), ((2, 5, 3), 1), ((33,), 0), ((0, 4), 1)])
def test_softmax(shape, axis):
    x = normal(*shape) * 10
    (result,) = check_operator(ops.Softmax, x, axis=axis)
    close(result.sum(axis), 1)
    close(result, run_onnx("Softmax", x, axis=axis)[0])
    (logarithm,) = check_operator(ops.LogSoftmax, x, axis=axis)
    close(logarithm, run_onnx("LogSoftmax", x, axis=axis)[0])


def test_softmax_does_not_overflow():
    x = np.array([[1000, 1000.5, -1000], [-np.inf, 0, 0]], np.float32)
    check_operator(ops.Softmax, x)
    (logarithm,) = check_operator(ops.LogSoftmax, x)
    close(logarithm[0, 2], -2000.974)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64"])
def test_other_dtypes(dtype):
    x, p, tolerance = normal(2, 3, 5, dtype=dtype), normal(3, dtype=dtype), HALF
    check_operator(ops.Softmax, x, **tolerance)
    check_operator(ops.LogSoftmax, x, **tolerance)
    check_operator(ops.LayerNorm, x, normal(5, dtype=dtype), **tolerance)
    check_operator(ops.InstanceNorm, x, p, p, **tolerance)
    check_operator(ops.BatchNorm, x, p, p, p, np.abs(p), **tolerance)
    check_operator(ops.Lrn, x, size=3, alpha=0.1, beta=0.75, bias=1, **tolerance)
    check_operator(ops.L2Normalize, x, eps=1e-5, axis=(1,), **tolerance)
    check_operator(ops.Dropout, x)


@pytest.mark.parametrize("operator", [ops.Softmax, ops.LayerNorm])
def test_only_floats(operator):
    a = operator.attributes_from({})
    types = [TensorType((2, 3), "int32"), TensorType((3,), "int32")]
    with pytest.raises(ValueError, match="floating-point dtype, got int32"):
        operator.infer(a, types[: len(operator.operand_fields) - (operator is ops.LayerNorm)])


@pytest.mark.parametrize(("shape", "axis"), [((4, 8), -1), ((2, 3, 5), 1), ((7,), 0)])
def test_layer_norm(shape, axis):
    x = normal(*shape) + 100
    gamma, beta = normal(*shape[axis:]), normal(*shape[axis:])
    (result,) = check_operator(ops.LayerNorm, x, gamma, beta, axis=axis, rtol=1e-4, atol=1e-4)
    expected = run_onnx("LayerNormalization", x, gamma, beta, axis=axis)[0]
    np.testing.assert_allclose(result, expected, rtol=1e-3, atol=1e-4)


def test_layer_norm_with_other_parameters():
    x = normal(2, 3, 4)
    check_operator(ops.LayerNorm, x, normal(4), epsilon=0.1)
    check_operator(ops.LayerNorm, x, normal(3, 1), normal(1), axis=1)
    a = ops.LayerNorm.attributes_from({"axis": 1})
    assert ops.LayerNorm.infer_shape(a, [(2, 3, 4), None], [None])[0][1] == (3, 4)
    with pytest.raises(ValueError, match="do not broadcast"):
        ops.LayerNorm.infer_shape(a, [(2, 3, 4), (5,)], [None])


@pytest.mark.parametrize("shape", [(2, 3, 5), (1, 2, 3, 4), (2, 1, 7)])
def test_instance_norm(shape):
    x, gamma, beta = normal(*shape), normal(shape[1]), normal(shape[1])
    (result,) = check_operator(ops.InstanceNorm, x, gamma, beta)
    close(result, run_onnx("InstanceNormalization", x, gamma, beta)[0])


@pytest.mark.parametrize(("shape", "axis"), [((2, 3), 1), ((2, 5, 3), -1), ((2, 3, 4, 5), 1)])
@pytest.mark.parametrize(("center", "scale"), [(True, True), (False, True), (True, False)])
def test_batch_norm(shape, axis, center, scale):
    gamma, beta, mean, var = (normal(3) for _ in range(4))
    x, var = normal(*shape), np.abs(var)
    attributes = {"axis": axis, "center": center, "scale": scale, "epsilon": 1e-3}
    result, *statistics = check_operator(ops.BatchNorm, x, gamma, beta, mean, var, **attributes)
    np.testing.assert_array_equal(statistics, [mean, var])
    moved = np.moveaxis(x, axis, -1)
    expected = (moved - mean) / np.sqrt(var + 1e-3)
    expected = expected * (gamma if scale else 1) + (beta if center else 0)
    close(result, np.moveaxis(expected, -1, axis))


def test_batch_norm_infers_parameters():
    a = ops.BatchNorm.attributes_from({"axis": -1})
    ins, outs = ops.BatchNorm.infer_shape(a, [(2, 3, 4), *[None] * 4], [None] * 3)
    assert ins == [(2, 3, 4), *[(4,)] * 4]
    assert outs == [(2, 3, 4), (4,), (4,)]
    with pytest.raises(ValueError, match="differ"):
        ops.BatchNorm.infer_shape(a, [(2, 3, 4), (3,), *[None] * 3], [None] * 3)


def test_dropout():
    x = normal(2, 3)
    output, mask = check_operator(ops.Dropout, x)
    np.testing.assert_array_equal(output, x)
    np.testing.assert_array_equal(mask, np.ones_like(x))
    with pytest.raises(ValueError, match="rate from 0 to 1"):
        ops.Dropout.attributes_from({"rate": 1.5})


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 9])
@pytest.mark.parametrize("beta", [0.75, 0.6])
def test_lrn(size, beta):
    x = normal(2, 5, 3, 2)
    attributes = {"size": size, "alpha": 0.3, "beta": beta, "bias": 1.5}
    (result,) = check_operator(ops.Lrn, x, **attributes)
    before = (size - 1) // 2
    expected = np.empty_like(x)
    for c in range(5):
        total = (x[:, max(c - before, 0) : c + size - before] ** 2).sum(1)
        expected[:, c] = x[:, c] / (1.5 + 0.3 / size * total) ** beta
    close(result, expected)
    if size % 2:
        close(result, run_onnx("LRN", x, **attributes)[0])


def test_lrn_along_the_last_axis():
    check_operator(ops.Lrn, normal(2, 5), size=3, axis=-1, alpha=0.1, beta=0.75, bias=1)


@pytest.mark.parametrize("axis", [(1,), (0, -1), ()])
def test_l2_normalize(axis):
    x = normal(2, 3, 4)
    (result,) = check_operator(ops.L2Normalize, x, eps=1e-5, axis=axis)
    total = (x**2).sum(axis or None, keepdims=True)
    close(result, x / np.sqrt(np.maximum(total, 1e-5)))


def test_l2_normalize_of_zeros():
    (result,) = check_operator(ops.L2Normalize, np.zeros((2, 2), np.float32), eps=1e-5, axis=(1,))
    np.testing.assert_array_equal(result, 0)
