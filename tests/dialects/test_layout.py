"""Layout algebra on plain data."""

import itertools

import numpy as np
import pytest

from nnvm_mlir.dialects.nnvm.layout import Layout


def convert(array: np.ndarray, source: str, target: str) -> np.ndarray:
    for step in Layout.parse(source).conversion(array.shape, Layout.parse(target)):
        array = array.reshape(step.expanded).transpose(step.permutation).reshape(step.result)
    return array


def test_parse():
    layout = Layout.parse("NCHW16c")
    assert str(layout) == "NCHW16c"
    assert layout.axes == ("N", "C", "H", "W")
    assert layout.rank == 5
    assert (layout.block("C"), layout.block("H")) == (16, None)
    assert layout.index("C") == 1
    assert layout.plain == Layout.parse("NCHW")
    assert Layout.parse("N16cHWC").index("C") == 4


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("NCHWc", "expected an axis"),
        ("N CHW", "expected an axis"),
        ("NCHW0c", "expected an axis"),
        ("NCHWC", "twice"),
        ("NCHW4c4c", "twice"),
        ("NHW16c", "but not the axis"),
        ("__undef__", "expected an axis"),
    ],
)
def test_parse_refuses(text, message):
    with pytest.raises(ValueError, match=message):
        Layout.parse(text)


def test_shapes():
    nchw, blocked = Layout.parse("NCHW"), Layout.parse("NCHW16c")
    assert nchw.convert_shape((1, 32, 7, 5), blocked) == (1, 2, 7, 5, 16)
    assert blocked.convert_shape((1, 2, 7, 5, 16), Layout.parse("NHWC8c")) == (1, 7, 5, 4, 8)
    assert nchw.convert_shape((None, None, 7, 5), blocked) == (None, None, 7, 5, 16)
    with pytest.raises(ValueError, match="axis C of size 3 is not divisible by the block 16"):
        nchw.convert_shape((1, 3, 7, 5), blocked)
    with pytest.raises(ValueError, match="do not have the same axes"):
        nchw.convert_shape((1, 3, 7, 5), Layout.parse("NCW"))
    with pytest.raises(ValueError, match="4 dimensions, got shape 1x2"):
        nchw.convert_shape((1, 2), blocked)
    with pytest.raises(ValueError, match="blocks of 16 along C"):
        blocked.convert_shape((1, 2, 7, 5, 8), nchw)


def test_permutation():
    assert Layout.parse("NCHW").permutation(Layout.parse("NHWC")) == (0, 2, 3, 1)
    assert Layout.parse("NCHW").permutation(Layout.parse("NCHW16c")) is None


def test_conversion_blocks_channels():
    x = np.arange(2 * 8 * 3 * 2).reshape(2, 8, 3, 2)
    expected = x.reshape(2, 2, 4, 3, 2).transpose(0, 1, 3, 4, 2)
    np.testing.assert_array_equal(convert(x, "NCHW", "NCHW4c"), expected)


def test_reblocking_is_one_step_when_blocks_divide():
    assert len(Layout.parse("NC8c").conversion((1, 2, 8), Layout.parse("NC4c"))) == 1
    assert len(Layout.parse("NC8c").conversion((1, 3, 8), Layout.parse("NC12c"))) == 2


@pytest.mark.parametrize(
    ("source", "target"),
    list(itertools.permutations(["NCHW", "NHWC", "NCHW4c", "NCHW12c", "2nN8cHWC", "CHWN24c"], 2)),
)
def test_conversion_goes_through_the_plain_layout(source, target):
    plain = np.arange(2 * 24 * 3 * 5).reshape(2, 24, 3, 5)
    there = convert(plain, "NCHW", source)
    np.testing.assert_array_equal(convert(there, source, target), convert(plain, "NCHW", target))
    np.testing.assert_array_equal(convert(there, source, "NCHW"), plain)
