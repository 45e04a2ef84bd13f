"""Transpositions and layout changes against NumPy, over odd sizes, element types and machines."""

import numpy as np
import pytest

from nnvm_mlir.lowering.cpu import pointwise
from nnvm_mlir.target import Target
from tests.lowering.cpu.harness import DTYPES, TARGETS, Compiled, Text


def compiled(text, target):
    return Compiled(text, target, lower=pointwise.lower)


def values(shape, element="f32", seed=0):
    rng = np.random.default_rng(seed)
    return rng.integers(-100, 100, shape).astype(DTYPES[element])


def permuted(axes):
    """The index of an operand whose axis `axes[i]` is axis i of the result."""
    index = [""] * len(axes)
    for position, axis in enumerate(axes):
        index[axis] = f"d{position}"
    return ", ".join(index)


def dims(rank):
    return ", ".join(f"d{d}" for d in range(rank))


def transpose(text, x, axes):
    _, shape, element = x
    result = text.empty([shape[axis] for axis in axes], element)
    body = f"%y = arith.bitcast %a0 : {element} to {element}"
    return text.generic("p" * len(axes), [x], result, [permuted(axes), dims(len(axes))], body)


PERMUTATIONS = [
    ((16, 16), (1, 0)),
    ((40, 50), (1, 0)),
    ((7, 5), (1, 0)),
    ((400, 417), (1, 0)),
    ((3, 33, 40), (0, 2, 1)),
    ((3, 33, 40), (2, 1, 0)),
    ((2, 3, 20, 24), (0, 2, 3, 1)),
    ((2, 20, 24, 3), (0, 3, 1, 2)),
    ((2, 17, 3, 18), (0, 2, 1, 3)),
    ((128, 6, 32), (1, 2, 0)),
    ((2, 3, 4, 5, 6), (4, 2, 0, 3, 1)),
]


def check_transpose(shape, axes, element, target):
    text = Text()
    result = transpose(text, text.argument(*shape, element=element), axes)
    x = values(shape, element)
    actual = compiled(text.finish(result), target)(x)
    np.testing.assert_array_equal(actual, x.transpose(axes))


@TARGETS
@pytest.mark.parametrize("shape, axes", PERMUTATIONS)
def test_transpose(shape, axes, target):
    check_transpose(shape, axes, "f32", target)


@pytest.mark.parametrize("element", ["i64", "i8", "f16"])
@pytest.mark.parametrize("shape, axes", PERMUTATIONS)
def test_transpose_of_other_types(shape, axes, element):
    check_transpose(shape, axes, element, Target())


@TARGETS
def test_transposed_operand_of_a_sum(target):
    text = Text()
    x, y = text.argument(35, 50), text.argument(50, 35)
    body = "%y = arith.addf %a0, %a1 : f32"
    result = text.generic("pp", [x, y], text.empty((50, 35)), ["d1, d0", "d0, d1", "d0, d1"], body)
    a, b = values((35, 50)), values((50, 35), seed=1)
    np.testing.assert_array_equal(compiled(text.finish(result), target)(a, b), a.T + b)


BLOCKED = [(1, 32, 7, 7, 16), (2, 33, 5, 5, 16), (1, 3, 9, 9, 16), (1, 16, 20, 21, 8)]


@TARGETS
@pytest.mark.parametrize("batch, channels, height, width, block", BLOCKED)
def test_to_blocked_channels_with_a_tail_of_zeros(batch, channels, height, width, block, target):
    blocks = -(-channels // block)
    missing = blocks * block - channels
    text = Text()
    x = text.argument(batch, channels, height, width)
    if missing:
        x = text.pad(x, [0] * 4, [0, missing, 0, 0])
    split = text.reshape(x, (batch, blocks, block, height, width), [[0], [1, 2], [3], [4]])
    result = transpose(text, split, (0, 1, 3, 4, 2))
    a = values((batch, channels, height, width))
    padded = np.pad(a, ((0, 0), (0, missing), (0, 0), (0, 0)))
    expected = padded.reshape(batch, blocks, block, height, width).transpose(0, 1, 3, 4, 2)
    np.testing.assert_array_equal(compiled(text.finish(result), target)(a), expected)


@TARGETS
@pytest.mark.parametrize("batch, channels, height, width, block", BLOCKED)
def test_from_blocked_channels(batch, channels, height, width, block, target):
    blocks = -(-channels // block)
    text = Text()
    x = text.argument(batch, blocks, height, width, block)
    moved = transpose(text, x, (0, 1, 4, 2, 3))
    result = text.reshape(moved, (batch, blocks * block, height, width), [[0], [1, 2], [3], [4]])
    a = values((batch, blocks, height, width, block))
    expected = a.transpose(0, 1, 4, 2, 3).reshape(batch, blocks * block, height, width)
    np.testing.assert_array_equal(compiled(text.finish(result), target)(a), expected)


@TARGETS
@pytest.mark.parametrize("outputs, inputs, kernel, block", [(32, 16, 3, 16), (16, 24, 1, 8)])
def test_weights_to_blocks(outputs, inputs, kernel, block, target):
    sizes = (outputs // block, block, inputs // block, block, kernel, kernel)
    text = Text()
    x = text.argument(outputs, inputs, kernel, kernel)
    split = text.reshape(x, sizes, [[0, 1], [2, 3], [4], [5]])
    result = transpose(text, split, (0, 2, 4, 5, 3, 1))
    a = values((outputs, inputs, kernel, kernel))
    expected = a.reshape(sizes).transpose(0, 2, 4, 5, 3, 1)
    np.testing.assert_array_equal(compiled(text.finish(result), target)(a), expected)


def test_tiles_are_transposed_in_registers():
    text = Text()
    result = transpose(text, text.argument(64, 64), (1, 0))
    kernel = compiled(text.finish(result), Target())
    assert "vector.gather" not in kernel.text
    assert kernel.text.count("vector.shuffle") == 4 * 16  # log2(16) rounds of 16 shuffles
