"""Selections by order: compiled code against the references, and those against NumPy."""

import numpy as np
import pytest
from support import check_operator

from nnvm_mlir.dialects.nnvm import selection as ops
from nnvm_mlir.dialects.nnvm.types import DTYPES, numpy_dtype


@pytest.mark.parametrize("largest", [True, False])
@pytest.mark.parametrize(
    ("shape", "k", "axis"),
    [
        ((7,), 3, 0),
        ((3, 17), 17, 1),
        ((4, 33), 1, -1),
        ((9, 2, 3), 5, 0),
        ((1,), 1, 0),
        ((5,), 0, 0),
    ],
)
def test_top_k(shape, k, axis, largest):
    x = np.random.default_rng(0).integers(-9, 9, shape).astype(np.float32)
    attributes = {"k": k, "axis": axis, "largest": largest}
    values, indices = check_operator(ops.TopK, x, **attributes)
    np.testing.assert_array_equal(values, np.take_along_axis(x, indices, axis))
    ordered = np.sort(x, axis)
    ordered = np.flip(ordered, axis) if largest else ordered
    np.testing.assert_array_equal(values, np.take(ordered, np.arange(k), axis))


def test_top_k_ties_and_nan():
    x = np.array([1, np.nan, 3, 3, -np.inf, np.nan, 1], np.float32)
    _, indices = check_operator(ops.TopK, x, k=7)
    np.testing.assert_array_equal(indices, [1, 5, 2, 3, 0, 6, 4])
    _, indices = check_operator(ops.TopK, x, k=7, largest=False)
    np.testing.assert_array_equal(indices, [4, 0, 6, 2, 3, 1, 5])


@pytest.mark.parametrize("dtype", DTYPES)
def test_top_k_of_every_dtype(dtype):
    x = np.array([3, 0, 7, 7, 1, 2]).astype(numpy_dtype(dtype))
    check_operator(ops.TopK, x, k=4)


def test_top_k_refuses():
    with pytest.raises(ValueError, match="k of at most 3"):
        ops.TopK.result_shapes(ops.TopK.attributes_from({"k": 4}), (3,))
