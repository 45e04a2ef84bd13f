"""Shape changes and permutations: compiled code against the references, and those against NumPy."""

import numpy as np
import pytest
from support import check_operator, counted, inferred

from nnvm_mlir.dialects.nnvm import transform as ops
from nnvm_mlir.dialects.nnvm.types import DTYPES, TensorType


@pytest.mark.parametrize(
    ("data", "codes", "expected"),
    [
        ((4,), (2, 2), (2, 2)),
        ((2, 3, 4), (4, 0, 2), (4, 3, 2)),
        ((2, 3, 4), (2, 0, 0), (2, 3, 4)),
        ((2, 3, 4), (6, 1, -1), (6, 1, 4)),
        ((2, 3, 4), (3, -1, 8), (3, 1, 8)),
        ((2, 3, 4), (-1,), (24,)),
        ((2, 3, 4), (-2,), (2, 3, 4)),
        ((2, 3, 4), (2, -2), (2, 3, 4)),
        ((2, 3, 4), (-2, 1, 1), (2, 3, 4, 1, 1)),
        ((2, 3, 4), (-3, 4), (6, 4)),
        ((2, 3, 4, 5), (-3, -3), (6, 20)),
        ((2, 3, 4), (0, -3), (2, 12)),
        ((2, 3, 4), (-3, -2), (6, 4)),
        ((2, 3, 4), (-4, 1, 2, -2), (1, 2, 3, 4)),
        ((2, 3, 4), (2, -4, -1, 3, -2), (2, 1, 3, 4)),
        ((1, 1), (), ()),
        ((), (1, 1), (1, 1)),
        ((0, 3), (3, 0), (3, 3)),
    ],
)
def test_reshape_codes(data, codes, expected):
    if data == (0, 3):
        with pytest.raises(ValueError, match="cannot reshape 0x3 into 3x3"):
            inferred(ops.Reshape, data, shape=codes)
        return
    (result,) = check_operator(ops.Reshape, counted(*data), shape=codes)
    np.testing.assert_array_equal(result, counted(*data).reshape(expected))


def test_reshape_of_nothing():
    (result,) = check_operator(ops.Reshape, counted(0, 3), shape=(0, 7), allow_zero=True)
    assert result.shape == (0, 7)
    assert inferred(ops.Reshape, (0, 3), shape=(3, 0), allow_zero=True)[1] == [(3, 0)]


@pytest.mark.parametrize(
    ("codes", "message"),
    [
        ((5,), "cannot reshape 2x3 into 5"),
        ((-1, -1), "at most one -1"),
        ((4, -1), "cannot infer -1"),
        ((0, 0, 0), "no dimension left"),
        ((-4, 3, 2, 0), "cannot split a dimension of size 2"),
        ((-4, -1, -1, 0), "at most one of them -1"),
        ((-4, 2), "expects two sizes after it"),
        ((-5,), "at least -4"),
    ],
)
def test_reshape_refuses(codes, message):
    with pytest.raises(ValueError, match=message):
        inferred(ops.Reshape, (2, 3), shape=codes)


def test_reshape_knows_sizes_without_data():
    assert inferred(ops.Reshape, None, shape=(2, -1)) == ([None], [(2, None)])
    assert inferred(ops.Reshape, None, shape=(0, -1)) == ([None], [None])


@pytest.mark.parametrize("dtype", DTYPES)
def test_reshape_of_every_dtype(dtype):
    check_operator(ops.Reshape, counted(2, 6, dtype=dtype), shape=(3, 4))


def test_reshape_like():
    data, like = counted(2, 6), np.zeros((3, 1, 4), np.int8)
    (result,) = check_operator(ops.ReshapeLike, data, like)
    np.testing.assert_array_equal(result, data.reshape(3, 1, 4))
    assert inferred(ops.ReshapeLike, None, None, outs=[(2, 3)]) == ([None, (2, 3)], [(2, 3)])
    with pytest.raises(ValueError, match="sizes differ"):
        inferred(ops.ReshapeLike, (2, 3), (4,))


@pytest.mark.parametrize("shape", [(3,), (2, 3), (2, 3, 4, 5), (0, 3)])
def test_flatten(shape):
    (result,) = check_operator(ops.Flatten, counted(*shape))
    assert result.shape == (shape[0], int(np.prod(shape[1:])))


@pytest.mark.parametrize(
    ("shape", "axis", "count", "expected"),
    [
        ((2, 3), 1, 1, (2, 1, 3)),
        ((2, 3), -1, 2, (2, 3, 1, 1)),
        ((2, 3), -3, 1, (1, 2, 3)),
        ((), 0, 2, (1, 1)),
        ((2,), 1, 0, (2,)),
        ((0,), 1, 1, (0, 1)),
    ],
)
def test_expand_dims(shape, axis, count, expected):
    (result,) = check_operator(ops.ExpandDims, counted(*shape), axis=axis, num_newaxis=count)
    assert result.shape == expected


def test_expand_dims_infers_backwards():
    result = inferred(ops.ExpandDims, (None, 3), outs=[(2, 1, None)], axis=1)
    assert result == ([(2, 3)], [(2, 1, 3)])
    with pytest.raises(ValueError, match="axis 3 is out of range"):
        inferred(ops.ExpandDims, (2, 3), axis=3)


@pytest.mark.parametrize(
    ("shape", "axis", "expected"),
    [
        ((1, 3, 1), (), (3,)),
        ((1, 3, 1), (0,), (3, 1)),
        ((1, 3, 1), (0, -1), (3,)),
        ((1, 1), (), ()),
        ((0, 1), (1,), (0,)),
        ((), (), ()),
    ],
)
def test_squeeze(shape, axis, expected):
    (result,) = check_operator(ops.Squeeze, counted(*shape), axis=axis)
    assert result.shape == expected


def test_squeeze_refuses():
    with pytest.raises(ValueError, match="cannot squeeze axis 1 of 1x3"):
        inferred(ops.Squeeze, (1, 3), axis=(1,))


@pytest.mark.parametrize(
    ("shape", "axes"),
    [
        ((2, 3), ()),
        ((2, 3, 4, 5), (1, 2, 3, 0)),
        ((2, 3, 4), (0, -1, 1)),
        ((3,), ()),
        ((), ()),
        ((0, 2, 3), (0, 2, 1)),
    ],
)
def test_transpose(shape, axes):
    (result,) = check_operator(ops.Transpose, counted(*shape), axes=axes)
    np.testing.assert_array_equal(result, np.transpose(counted(*shape), axes or None))


def test_transpose_infers_both_ways():
    assert inferred(ops.Transpose, None, outs=[(2, 3, None)], axes=(1, 2, 0))[0] == [(None, 2, 3)]
    assert inferred(ops.Transpose, (2, 3), outs=[(None, None)]) == ([(2, 3)], [(3, 2)])
    with pytest.raises(ValueError, match="do not permute"):
        inferred(ops.Transpose, (2, 3), axes=(0, 1, 2))
    with pytest.raises(ValueError, match="twice"):
        inferred(ops.Transpose, (2, 3), axes=(0, 0))
    with pytest.raises(ValueError, match="expects result 0 of shape 3x2, got 2x3"):
        inferred(ops.Transpose, (2, 3), outs=[(2, 3)])


@pytest.mark.parametrize(
    ("shape", "source", "target"),
    [
        ((2, 8, 3, 5), "NCHW", "NHWC"),
        ((2, 8, 3, 5), "NCHW", "NCHW4c"),
        ((2, 2, 3, 5, 4), "NCHW4c", "NCHW"),
        ((2, 2, 3, 5, 4), "NCHW4c", "NHWC2c"),
        ((1, 3, 8), "NC8c", "NC12c"),
        ((8, 4, 3, 3), "OIHW", "OIHW2i4o"),
        ((0, 8, 3, 5), "NCHW", "NCHW4c"),
    ],
)
def test_layout_transform(shape, source, target):
    check_operator(ops.LayoutTransform, counted(*shape), src_layout=source, dst_layout=target)


def test_layout_transform_is_a_blocked_transposition():
    layouts = {"src_layout": "NCHW", "dst_layout": "NCHW4c"}
    (result,) = check_operator(ops.LayoutTransform, counted(2, 8, 3, 5), **layouts)
    expected = counted(2, 8, 3, 5).reshape(2, 2, 4, 3, 5).transpose(0, 1, 3, 4, 2)
    np.testing.assert_array_equal(result, expected)


def test_layout_transform_infers_both_ways():
    layouts = {"src_layout": "NCHW", "dst_layout": "NCHW4c"}
    backwards = inferred(ops.LayoutTransform, None, outs=[(1, 2, 3, 5, 4)], **layouts)
    assert backwards == ([(1, 8, 3, 5)], [(1, 2, 3, 5, 4)])
    with pytest.raises(ValueError, match="axis C of size 3 is not divisible by the block 4"):
        inferred(ops.LayoutTransform, (1, 3, 8, 8), **layouts)
    with pytest.raises(ValueError, match="do not have the same axes"):
        ops.LayoutTransform.attributes_from({"src_layout": "NCHW", "dst_layout": "NC"})


@pytest.mark.parametrize("mode", ["DCR", "CRD"])
def test_depth_to_space(mode):
    x = counted(2, 12, 3, 5)
    (result,) = check_operator(ops.DepthToSpace, x, block_size=2, mode=mode)
    strides = (3, 6) if mode == "DCR" else (1, 2)  # of a step right, and of a step down
    assert result.shape == (2, 3, 6, 10)
    assert result[0, 0, 0, 1] == x[0, strides[0], 0, 0]
    assert result[0, 0, 1, 0] == x[0, strides[1], 0, 0]
    if mode == "DCR":
        (back,) = check_operator(ops.SpaceToDepth, result, block_size=2)
        np.testing.assert_array_equal(back, x)


def test_depth_to_space_refuses():
    with pytest.raises(ValueError, match="divisible by the square of block_size 2"):
        inferred(ops.DepthToSpace, (1, 3, 2, 2), block_size=2)
    with pytest.raises(ValueError, match="height and width divisible"):
        inferred(ops.SpaceToDepth, (1, 3, 3, 2), block_size=2)
    with pytest.raises(ValueError, match="rank 4"):
        inferred(ops.SpaceToDepth, (3, 3, 2), block_size=2)


def test_views_take_the_dtype_of_data():
    a = ops.ReshapeLike.attributes_from({})
    ins = [TensorType((2, 3), "float16"), TensorType((6,), "int64")]
    assert ops.ReshapeLike.infer(a, ins)[1] == [TensorType((6,), "float16")]
