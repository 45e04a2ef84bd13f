"""Reads and writes at positions: compiled code against the references, and those against NumPy."""

import numpy as np
import pytest
from oracle import run_onnx
from support import check_operator, counted, evaluate, run_operator

from nnvm_mlir.dialects.nnvm import indexing as ops
from nnvm_mlir.dialects.nnvm.types import DTYPES, TensorType


def inferred(operator, *shapes, **attributes):
    a = operator.attributes_from(attributes)
    return operator.infer_shape(a, list(shapes), [None] * operator.num_results(a))[1][0]


@pytest.mark.parametrize(
    ("shape", "indices", "axis"),
    [
        ((5, 3), [0, 4, -1, 2], 0),
        ((5, 3), [[0, 2], [-3, 1]], 1),
        ((2, 3, 4), [[1]], 1),
        ((2, 3, 4), 2, -1),
        ((2, 3), [5, 0, -6], None),
        ((4,), -4, 0),
    ],
)
@pytest.mark.parametrize("dtype", ["int8", "int32", "int64"])
def test_take(shape, indices, axis, dtype):
    x, i = counted(*shape), np.array(indices, dtype)
    (result,) = (
        check_operator(ops.Take, x, i, axis=axis)
        if axis is not None
        else check_operator(ops.Take, x, i)
    )
    np.testing.assert_array_equal(result, np.take(x, i, axis))


def test_take_of_unsigned_indices():
    x = counted(200)
    check_operator(ops.Take, x, np.array([199, 128, 0], np.uint8), axis=0)


@pytest.mark.parametrize("dtype", DTYPES)
def test_take_of_every_dtype(dtype):
    check_operator(ops.Take, counted(4, 2, dtype=dtype), np.array([3, 0]), axis=0)


def test_indices_out_of_range():
    x, i = counted(3), np.array([3, -4], np.int32)
    with pytest.raises(ValueError, match="index 3 is out of range for an axis of size 3"):
        evaluate(ops.Take, x, i, axis=0)
    np.testing.assert_array_equal(run_operator(ops.Take, x, i, axis=0)[0], [2, 0])


def test_indices_must_be_integers():
    a = ops.Take.attributes_from({})
    with pytest.raises(ValueError, match="integer dtype, got float32"):
        ops.Take.infer(a, [TensorType((3,), "float32"), TensorType((2,), "float32")])


def test_nothing_to_select():
    assert inferred(ops.Take, (0, 2), (0,), axis=0) == (0, 2)
    with pytest.raises(ValueError, match="cannot select anything from empty data"):
        inferred(ops.Take, (0, 2), (1,), axis=0)
    check_operator(ops.Take, counted(3), np.zeros(0, np.int64), axis=0)


@pytest.mark.parametrize(
    ("shape", "indices", "axis"),
    [
        ((2, 3), [[0, -1, 1], [1, 1, 0]], 0),
        ((3, 3), [[1, -3, 0, 2]], 1),
        ((2, 2, 2), [[[0, 1], [1, 0]], [[-1, -1], [0, 0]]], -1),
        ((4,), [3, -4], 0),
    ],
)
def test_gather_elements(shape, indices, axis):
    x, i = counted(*shape), np.array(indices)
    (result,) = check_operator(ops.GatherElements, x, i, axis=axis)
    np.testing.assert_array_equal(result, run_onnx("GatherElements", x, i, axis=axis)[0])


def test_gather_elements_refuses():
    with pytest.raises(ValueError, match="only axis 0 may be larger"):
        inferred(ops.GatherElements, (2, 3), (2, 4))


@pytest.mark.parametrize(
    ("shape", "indices", "batch"),
    [
        ((2, 3), [[0, 1, -1], [2, 0, 1]], 0),
        ((2, 3, 4), [[0, 1, -1], [2, 0, 1]], 0),
        ((2, 3, 4), [[[1, 0], [0, -2]]], 0),
        ((2, 3, 4), [[[0, 1, 2], [2, -1, 0]]], 1),
        ((2, 3, 4), [[2, -1]], 1),
        ((3,), [2], 0),
    ],
)
def test_gather_nd(shape, indices, batch):
    x, i = counted(*shape), np.array(indices)
    (result,) = check_operator(ops.GatherNd, x, i, batch_dims=batch)
    last = np.moveaxis(i, 0, -1)
    np.testing.assert_array_equal(result, run_onnx("GatherND", x, last, batch_dims=batch)[0])


def test_gather_nd_shapes():
    assert inferred(ops.GatherNd, (2, 3, 4), (2, 5)) == (5, 4)
    check_operator(ops.GatherNd, counted(2, 3), np.zeros((0, 2), np.int64))
    with pytest.raises(ValueError, match="do not fit data"):
        inferred(ops.GatherNd, (2, 3), (3, 5))
    with pytest.raises(ValueError, match="rank above 0"):
        inferred(ops.GatherNd, (2, 3), ())


@pytest.mark.parametrize("reduction", ["none", "add", "mul", "max", "min"])
@pytest.mark.parametrize(
    ("shape", "indices", "axis"),
    [
        ((3, 3), [[1, 0, 2], [0, 2, -2]], 0),
        ((1, 5), [[1, -4]], 1),
        ((2, 4), [[1, 1], [3, 3]], -1),
    ],
)
def test_scatter_elements(shape, indices, axis, reduction):
    x, i = counted(*shape), np.array(indices)
    updates = np.linspace(-2, 9, i.size, dtype=np.float32).reshape(i.shape)
    attributes = {"axis": axis, "reduction": reduction}
    (result,) = check_operator(ops.ScatterElements, x, i, updates, **attributes)
    (expected,) = run_onnx("ScatterElements", x, i, updates, **attributes)
    np.testing.assert_allclose(result, expected, rtol=1e-6)


@pytest.mark.parametrize("reduction", ["none", "add", "mul", "max", "min"])
@pytest.mark.parametrize(
    ("shape", "indices"),
    [
        ((8,), [[4], [3], [-7], [4]]),
        ((4, 4, 2), [[0], [-2]]),
        ((4, 4, 2), [[[0, 1], [2, -1]], [[0, 1], [3, 3]]]),
    ],
)
def test_scatter_nd(shape, indices, reduction):
    x, i = counted(*shape), np.array(indices)
    update_shape = (*i.shape[:-1], *shape[i.shape[-1] :])
    updates = np.linspace(-2, 9, int(np.prod(update_shape)), dtype=np.float32)
    updates = updates.reshape(update_shape)
    (result,) = check_operator(ops.ScatterNd, x, i, updates, reduction=reduction)
    (expected,) = run_onnx("ScatterND", x, i, updates, reduction=reduction)
    np.testing.assert_allclose(result, expected, rtol=1e-6)


@pytest.mark.parametrize("dtype", DTYPES)
def test_scatter_of_every_dtype(dtype):
    x, updates = counted(4, dtype=dtype), counted(3, dtype=dtype)
    check_operator(ops.ScatterElements, x, np.array([2, 2, 0]), updates, reduction="max")


def test_scatter_leaves_its_operand_alone():
    x = counted(3)
    run_operator(ops.ScatterElements, x, np.array([0]), np.full(1, 9, np.float32))
    np.testing.assert_array_equal(x, counted(3))
    check_operator(ops.ScatterNd, x, np.zeros((0, 1), np.int64), np.zeros(0, np.float32))


def test_scatter_infers_updates():
    a = ops.ScatterNd.attributes_from({})
    assert ops.ScatterNd.infer_shape(a, [(4, 5), (2, 1), None], [None])[0][2] == (2, 5)
    with pytest.raises(ValueError, match="differ"):
        ops.ScatterNd.infer_shape(a, [(4, 5), (2, 1), (2, 4)], [None])


@pytest.mark.parametrize("axis", [-1, 0, 1])
@pytest.mark.parametrize("dtype", ["int32", "uint8", "float32"])
def test_one_hot(axis, dtype):
    indices = np.array([[0, 3], [1, 9]]).astype(dtype)
    (result,) = check_operator(ops.OneHot, indices, depth=4, axis=axis)
    expected = np.moveaxis(np.arange(4) == indices[..., None], -1, axis)
    np.testing.assert_array_equal(result, expected.astype(np.float32))


def test_one_hot_values():
    attributes = {"depth": 3, "on_value": 5, "off_value": -1, "dtype": "int8"}
    (result,) = check_operator(ops.OneHot, np.array([-1, -3, -4, 3]), **attributes)
    expected = [[-1, -1, 5], [5, -1, -1], [-1, -1, -1], [-1, -1, -1]]
    np.testing.assert_array_equal(result, np.array(expected, np.int8))
    check_operator(ops.OneHot, np.array(1), depth=2, dtype="bool")
