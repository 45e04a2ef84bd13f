"""Padding and repeating: compiled code against the references, and those against NumPy."""

import numpy as np
import pytest
from support import check_operator, counted, inferred

from nnvm_mlir.dialects.nnvm import expansion as ops
from nnvm_mlir.dialects.nnvm.types import DTYPES


@pytest.mark.parametrize("mode", ["constant", "edge", "reflect", "wrap"])
@pytest.mark.parametrize("width", [(0, 0, 0, 0), (1, 0, 0, 2), (2, 3, 1, 1), (7, 8, 9, 20)])
@pytest.mark.parametrize("shape", [(3, 4), (1, 2)])
def test_pad(shape, width, mode):
    x = counted(*shape)
    (result,) = check_operator(ops.Pad, x, pad_width=width, mode=mode)
    np.testing.assert_array_equal(result, np.pad(x, [width[:2], width[2:]], mode))


def test_pad_value():
    (result,) = check_operator(ops.Pad, counted(2, dtype="int8"), pad_width=(1, 1), pad_value=-3)
    np.testing.assert_array_equal(result, [-3, 0, 1, -3])
    (result,) = check_operator(ops.Pad, counted(0, 2), pad_width=(1, 0, 0, 1), pad_value=2.5)
    np.testing.assert_array_equal(result, [[2.5, 2.5, 2.5]])
    check_operator(ops.Pad, counted(), pad_width=())


def test_pad_infers_both_ways():
    width = (1, 2, 0, 0)
    assert inferred(ops.Pad, None, outs=[(5, None)], pad_width=width)[0] == [(2, None)]
    assert inferred(ops.Pad, (None, 3), pad_width=width)[1] == [(None, 3)]
    with pytest.raises(ValueError, match="exceed the result 1x1"):
        inferred(ops.Pad, None, outs=[(1, 1)], pad_width=width)
    with pytest.raises(ValueError, match="pads 2 dimensions, got shape 3"):
        inferred(ops.Pad, (3,), pad_width=width)
    with pytest.raises(ValueError, match="no element to repeat"):
        inferred(ops.Pad, (0, 3), pad_width=width, mode="edge")
    with pytest.raises(ValueError, match="widths >= 0"):
        ops.Pad.attributes_from({"pad_width": (1, -1)})


@pytest.mark.parametrize(
    ("shape", "target", "expected"),
    [
        ((4, 1), (0, 4), (4, 4)),
        ((4, 1, 5), (0, 4, 5), (4, 4, 5)),
        ((3,), (2, 3), (2, 3)),
        ((), (2, 2), (2, 2)),
        ((2, 3), (2, 3), (2, 3)),
        ((), (), ()),
    ],
)
def test_broadcast_to(shape, target, expected):
    (result,) = check_operator(ops.BroadcastTo, counted(*shape), shape=target)
    np.testing.assert_array_equal(result, np.broadcast_to(counted(*shape), expected))


def test_broadcast_to_infers():
    assert inferred(ops.BroadcastTo, None, shape=(0, 4)) == ([None], [(None, 4)])
    with pytest.raises(ValueError, match="cannot broadcast 3 to 4"):
        inferred(ops.BroadcastTo, (3,), shape=(4,))
    with pytest.raises(ValueError, match="fewer dimensions"):
        inferred(ops.BroadcastTo, (3, 3), shape=(3,))


@pytest.mark.parametrize(
    ("shape", "like", "attributes", "expanded"),
    [
        ((3,), (2, 3), {"axis": (0,)}, (1, 3)),
        ((2,), (2, 3), {"axis": (-1,)}, (2, 1)),
        ((3,), (2, 3, 4), {"axis": (1,), "exclude": True}, (1, 3, 1)),
        ((2, 3), (2, 3), {}, (2, 3)),
        ((), (2, 3), {}, (1, 1)),
        ((1,), (2, 3), {"axis": (0, 1)}, (1, 1)),
    ],
)
def test_expand_like(shape, like, attributes, expanded):
    x = counted(*shape)
    (result,) = check_operator(ops.ExpandLike, x, np.zeros(like), **attributes)
    np.testing.assert_array_equal(result, np.broadcast_to(x.reshape(expanded), like))


def test_expand_like_refuses():
    with pytest.raises(ValueError, match=r"cannot expand 4 along axes \(0,\) to 2x3"):
        inferred(ops.ExpandLike, (4,), (2, 3), axis=(0,))


@pytest.mark.parametrize(
    ("shape", "reps"),
    [
        ((2, 3), (2, 2)),
        ((2, 3), (2,)),
        ((3,), (2, 1, 3)),
        ((), (2,)),
        ((2,), (0,)),
        ((0, 2), (2, 2)),
    ],
)
def test_tile(shape, reps):
    (result,) = check_operator(ops.Tile, counted(*shape), reps=reps)
    np.testing.assert_array_equal(result, np.tile(counted(*shape), reps))


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_dtype(dtype):
    x = counted(2, 1, dtype=dtype)
    check_operator(ops.BroadcastTo, x, shape=(2, 3))
    check_operator(ops.Tile, x, reps=(2, 3))
    check_operator(ops.Pad, x, pad_width=(1, 1, 1, 1), pad_value=1.0)
    check_operator(ops.Pad, x, pad_width=(1, 1, 1, 1), mode="edge")
