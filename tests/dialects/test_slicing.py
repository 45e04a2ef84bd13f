"""Cutting, joining and mirroring: compiled code against the references, and those against NumPy."""

import numpy as np
import pytest
from support import check_operator, counted, inferred

from nnvm_mlir.dialects.nnvm import slicing as ops
from nnvm_mlir.dialects.nnvm.types import DTYPES


@pytest.mark.parametrize(
    ("shapes", "axis"),
    [
        ([(10, 20), (10, 30)], 1),
        ([(2, 3), (4, 3), (1, 3)], 0),
        ([(2, 3, 1), (2, 3, 5)], -1),
        ([(0, 3), (2, 3)], 0),
        ([(0,), (0,)], 0),
        ([(4,)], 0),
    ],
)
def test_concatenate(shapes, axis):
    parts = [counted(*shape) + 100 * i for i, shape in enumerate(shapes)]
    (result,) = check_operator(ops.Concatenate, *parts, axis=axis)
    np.testing.assert_array_equal(result, np.concatenate(parts, axis))


def test_concatenate_infers_both_ways():
    ins, outs = inferred(ops.Concatenate, (2, None), (None, 3), outs=[(None, 7)], axis=1)
    assert (ins, outs) == ([(2, 4), (2, 3)], [(2, 7)])
    with pytest.raises(ValueError, match="differ"):
        inferred(ops.Concatenate, (2, 3), (4, 3), axis=1)
    with pytest.raises(ValueError, match="axis 1 is out of range for rank 1"):
        inferred(ops.Concatenate, (2,), (4,))
    with pytest.raises(ValueError, match="one operand or more"):
        inferred(ops.Concatenate)


@pytest.mark.parametrize(
    ("shape", "cuts", "axis", "expected"),
    [
        ((10, 20), 2, 1, [(10, 10), (10, 10)]),
        ((10, 20), (11,), 1, [(10, 11), (10, 9)]),
        ((10, 20), (6,), -1, [(10, 6), (10, 14)]),
        ((5, 2), (0, 2, 2, 5), 0, [(0, 2), (2, 2), (0, 2), (3, 2), (0, 2)]),
        ((0, 2), 3, 0, [(0, 2), (0, 2), (0, 2)]),
        ((4,), 1, 0, [(4,)]),
        ((4,), (), 0, [(4,)]),
    ],
)
def test_split(shape, cuts, axis, expected):
    x = counted(*shape)
    results = check_operator(ops.Split, x, indices_or_sections=cuts, axis=axis)
    assert [part.shape for part in results] == expected
    np.testing.assert_array_equal(np.concatenate(results, axis), x)


def test_split_refuses():
    with pytest.raises(ValueError, match="cannot split an axis of size 3 into 2"):
        inferred(ops.Split, (3,), indices_or_sections=2, axis=0)
    with pytest.raises(ValueError, match="cannot cut an axis of size 3 at 4"):
        inferred(ops.Split, (3,), indices_or_sections=(4,), axis=0)
    with pytest.raises(ValueError, match="ascending"):
        ops.Split.attributes_from({"indices_or_sections": (2, 1)})
    with pytest.raises(ValueError, match="one section or more"):
        ops.Split.attributes_from({"indices_or_sections": 0})


@pytest.mark.parametrize(
    ("begin", "end", "stride"),
    [
        ((1,), (3,), ()),
        ((0, 1), (4, 5), (2, 3)),
        ((-3, -100), (100, -1), (1, 2)),
        ((3, 4), (0, -100), (-1, -2)),
        ((-1,), (-6,), (-1,)),
        ((0, 4), (4, 1), (1, -1)),
        ((3,), (1,), ()),
        ((0,), (3,), (-1,)),
    ],
)
def test_strided_slice(begin, end, stride):
    x = counted(4, 5, 2)
    (result,) = check_operator(ops.StridedSlice, x, begin=begin, end=end, stride=stride)
    strides = (*stride, *[1] * (len(begin) - len(stride)))
    slices = [
        slice(b, None if s < 0 and e < -x.shape[i] else e, s)
        for i, (b, e, s) in enumerate(zip(begin, end, strides, strict=True))
    ]
    np.testing.assert_array_equal(result, x[tuple(slices)])


def test_strided_slice_refuses():
    with pytest.raises(ValueError, match="other than 0"):
        ops.StridedSlice.attributes_from({"begin": (0,), "end": (1,), "stride": (0,)})
    with pytest.raises(ValueError, match="one length"):
        ops.StridedSlice.attributes_from({"begin": (0,), "end": (1, 2)})
    with pytest.raises(ValueError, match="slices 2 dimensions"):
        inferred(ops.StridedSlice, (3,), begin=(0, 0), end=(1, 1))


def test_strided_slice_of_a_scalar():
    check_operator(ops.StridedSlice, counted(), begin=(), end=())


def test_slice_like():
    x = counted(4, 5, 3)
    (result,) = check_operator(ops.SliceLike, x, np.zeros((2, 3)))
    np.testing.assert_array_equal(result, x[:2, :3])
    (result,) = check_operator(ops.SliceLike, x, np.zeros((9, 2, 1)), axis=(1, -1))
    np.testing.assert_array_equal(result, x[:, :2, :1])
    with pytest.raises(ValueError, match="cannot slice axis 0"):
        inferred(ops.SliceLike, (2, 3), (3, 3))


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_flip(axis):
    (result,) = check_operator(ops.Flip, counted(3, 4, 5), axis=axis)
    np.testing.assert_array_equal(result, np.flip(counted(3, 4, 5), axis))


def test_flip_of_nothing():
    check_operator(ops.Flip, counted(0, 2))
    with pytest.raises(ValueError, match="out of range for rank 0"):
        inferred(ops.Flip, ())


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_dtype(dtype):
    x = counted(3, 4, dtype=dtype)
    check_operator(ops.Concatenate, x, x, axis=1)
    check_operator(ops.Flip, x)
    check_operator(ops.Trilu, x)


@pytest.mark.parametrize("upper", [True, False])
@pytest.mark.parametrize("k", [0, 1, -2, 9, -9])
def test_trilu(k, upper):
    x = counted(2, 3, 5) + 1
    (result,) = check_operator(ops.Trilu, x, k=k, upper=upper)
    np.testing.assert_array_equal(result, (np.triu if upper else np.tril)(x, k))


def test_trilu_refuses():
    with pytest.raises(ValueError, match="rank 2 or more"):
        inferred(ops.Trilu, (3,))


@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_reverse_sequence(dtype):
    x = counted(4, 3)
    (result,) = check_operator(ops.ReverseSequence, x, np.array([1, 2, 4], dtype))
    expected = np.array([[0, 4, 11], [3, 1, 8], [6, 7, 5], [9, 10, 2]])
    np.testing.assert_array_equal(result, expected)


def test_reverse_sequence_of_other_axes_and_lengths():
    lengths = np.array([0, 9], np.int32)
    axes = {"batch_axis": 0, "time_axis": 2}
    x = counted(2, 3, 4)
    (result,) = check_operator(ops.ReverseSequence, x, lengths, **axes)
    np.testing.assert_array_equal(result, np.stack([x[0], x[1, :, ::-1]]))
    assert inferred(ops.ReverseSequence, (4, 3), None)[0] == [(4, 3), (3,)]
    with pytest.raises(ValueError, match="two axes"):
        inferred(ops.ReverseSequence, (4, 3), None, batch_axis=0)
