"""Row reductions and what is built of them against NumPy in float64, over odd sizes."""

import math

import numpy as np
import pytest

from nnvm_mlir.lowering.cpu import rowwise
from nnvm_mlir.lowering.cpu.emitter import Unsupported
from nnvm_mlir.mlir import ir
from nnvm_mlir.target import Target
from tests.lowering.cpu.harness import TARGETS, Compiled, Text

LOWEST = "0xFF800000"


def compiled(text, target):
    return Compiled(text, target, lower=rowwise.lower)


def random(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape, dtype=np.float32) * 3


def dims(rank, without=()):
    return ", ".join(f"d{d}" for d in range(rank) if d not in without)


def reduce(text, x, axes, body, init, element="f32"):
    """Reduces over `axes` by `body`, over %a0 and %acc, from `init`."""
    rank = len(x[1])
    kinds = "".join("r" if d in axes else "p" for d in range(rank))
    kept = tuple(size for d, size in enumerate(x[1]) if d not in axes)
    maps = [dims(rank), dims(rank, axes)]
    return text.generic(kinds, [x], text.fill(init, kept, element), maps, body)


def pointwise(text, shape, operands, body):
    """Element-wise over `shape`; operands are (value, index)."""
    maps = [*(index for _, index in operands), dims(len(shape))]
    inputs = [value for value, _ in operands]
    return text.generic("p" * len(shape), inputs, text.empty(shape), maps, body)


def softmax(shape, axis, logarithm):
    text = Text()
    x = text.argument(*shape)
    rank, full, row = len(shape), dims(len(shape)), dims(len(shape), (axis,))
    top = reduce(text, x, (axis,), "%y = arith.maximumf %acc, %a0 : f32", LOWEST)
    shifted = pointwise(text, shape, [(x, full), (top, row)], "%y = arith.subf %a0, %a1 : f32")
    powers = pointwise(text, shape, [(shifted, full)], "%y = math.exp %a0 : f32")
    total = reduce(text, powers, (axis,), "%y = arith.addf %acc, %a0 : f32", "0.0")
    if not logarithm:
        body = "%y = arith.divf %a0, %a1 : f32"
        return text.finish(pointwise(text, shape, [(powers, full), (total, row)], body))
    rows = total[1]
    log = pointwise(text, rows, [(total, dims(rank - 1))], "%y = math.log %a0 : f32")
    body = "%y = arith.subf %a0, %a1 : f32"
    return text.finish(pointwise(text, shape, [(shifted, full), (log, row)], body))


@TARGETS
@pytest.mark.parametrize("logarithm", [False, True], ids=["softmax", "log_softmax"])
@pytest.mark.parametrize(
    "shape, axis",
    [
        ((3, 128), 1),
        ((2, 5, 1000), 2),
        ((4, 7), 1),
        ((3, 1), 1),
        ((5, 33), 1),
        ((2, 17, 6, 5), 1),
        ((100, 41), 0),
        ((1, 1001), 1),
        ((600, 300), 1),
    ],
)
def test_softmax(shape, axis, logarithm, target):
    x = random(*shape)
    powers = np.exp(x.astype(np.float64) - x.max(axis, keepdims=True))
    expected = powers / powers.sum(axis, keepdims=True)
    if logarithm:
        expected = np.log(expected)
    actual = compiled(softmax(shape, axis, logarithm), target)(x)
    np.testing.assert_allclose(actual, expected, rtol=3e-6, atol=1e-6 * logarithm)


def test_softmax_computes_each_exponential_once_a_pass():
    # The pass that sums the powers keeps them in the output; the quotient reads them from there.
    body = compiled(softmax((8, 64), 1, False), Target()).text
    exponentials = body.count("arith.shli")  # two in each exponential
    assert exponentials == 2 * 2  # two accumulators, in one pass


@TARGETS
def test_softmax_of_infinities(target):
    x = np.zeros((3, 40), np.float32)
    x[0, 7] = np.inf
    x[1, :] = -np.inf
    x[2, 5:] = -np.inf
    actual = compiled(softmax((3, 40), 1, False), target)(x)
    assert np.isnan(actual[0, 7]) and np.isnan(actual[1]).all()
    np.testing.assert_allclose(actual[2], [0.2] * 5 + [0.0] * 35, rtol=1e-6)


def normalization(shape, axes):
    text = Text()
    x = text.argument(*shape)
    affine = [shape[axis] for axis in axes]
    scale, shift = text.argument(*affine), text.argument(*affine)
    rank, full, row = len(shape), dims(len(shape)), dims(len(shape), axes)
    along = ", ".join(f"d{axis}" for axis in axes)
    count = math.prod(affine)
    rows = dims(rank - len(axes))
    total = reduce(text, x, axes, "%y = arith.addf %acc, %a0 : f32", "0.0")
    body = f"%n = arith.constant {count}.0 : f32\n%y = arith.divf %a0, %n : f32"
    mean = pointwise(text, total[1], [(total, rows)], body)
    centred = pointwise(text, shape, [(x, full), (mean, row)], "%y = arith.subf %a0, %a1 : f32")
    body = "%q = arith.mulf %a0, %a0 : f32\n%y = arith.addf %acc, %q : f32"
    squares = reduce(text, centred, axes, body, "0.0")
    body = (
        f"%n = arith.constant {count}.0 : f32\n%e = arith.constant 1.0e-5 : f32\n"
        "%v = arith.divf %a0, %n : f32\n%s = arith.addf %v, %e : f32\n%y = math.rsqrt %s : f32"
    )
    inverse = pointwise(text, total[1], [(squares, rows)], body)
    body = (
        "%n = arith.mulf %a0, %a1 : f32\n%s = arith.mulf %n, %a2 : f32\n"
        "%y = arith.addf %s, %a3 : f32"
    )
    operands = [(centred, full), (inverse, row), (scale, along), (shift, along)]
    return text.finish(pointwise(text, shape, operands, body))


@TARGETS
@pytest.mark.parametrize(
    "shape, axes",
    [
        ((3, 384), (1,)),
        ((2, 5, 33), (2,)),
        ((2, 3, 7, 5), (2, 3)),
        ((2, 3, 7, 5), (1, 2, 3)),
        ((2, 6, 40), (1,)),
        ((300, 500), (1,)),
    ],
)
def test_layer_normalization(shape, axes, target):
    affine = [shape[axis] for axis in axes]
    x, scale, shift = random(*shape), random(*affine, seed=1), random(*affine, seed=2)
    wide = x.astype(np.float64)
    mean, variance = (f(wide, axes, keepdims=True) for f in (np.mean, np.var))
    view = [size if d in axes else 1 for d, size in enumerate(shape)]
    expected = (wide - mean) / np.sqrt(variance + 1e-5) * scale.reshape(view) + shift.reshape(view)
    actual = compiled(normalization(shape, axes), target)(x, scale, shift)
    np.testing.assert_allclose(actual, expected, rtol=1e-5, atol=1e-5)


@TARGETS
def test_group_normalization(target):
    batch, channels, height, width, groups = 2, 6, 5, 7, 3
    size = channels // groups * height * width
    text = Text()
    x, scale = text.argument(batch, channels, height, width), text.argument(channels)
    flat = text.reshape(x, (batch, channels * height * width), [[0], [1, 2, 3]])
    rows = text.reshape(flat, (batch, groups, size), [[0], [1, 2]])
    total = reduce(text, rows, (2,), "%y = arith.addf %acc, %a0 : f32", "0.0")
    body = (
        f"%n = arith.constant {size}.0 : f32\n%m = arith.divf %a1, %n : f32\n"
        "%y = arith.subf %a0, %m : f32"
    )
    both = [(rows, "d0, d1, d2"), (total, "d0, d1")]
    centred = pointwise(text, (batch, groups, size), both, body)
    flat = text.reshape(centred, (batch, channels * height * width), [[0], [1, 2]])
    back = text.reshape(flat, (batch, channels, height, width), [[0], [1, 2, 3]])
    body = "%y = arith.mulf %a0, %a1 : f32"
    result = pointwise(text, back[1], [(back, "d0, d1, d2, d3"), (scale, "d1")], body)
    a, s = random(batch, channels, height, width), random(channels, seed=1)
    grouped = a.astype(np.float64).reshape(batch, groups, -1)
    expected = (grouped - grouped.mean(2, keepdims=True)).reshape(a.shape) * s[:, None, None]
    actual = compiled(text.finish(result), target)(a, s)
    np.testing.assert_allclose(actual, expected, rtol=1e-5, atol=1e-5)


@TARGETS
@pytest.mark.parametrize(
    "shape, axes",
    [
        ((3, 7, 50), (2,)),
        ((3, 7, 50), (1, 2)),
        ((3, 7, 50), (0, 1, 2)),
        ((3, 7, 50), (0,)),
        ((3, 7, 50), (1,)),
        ((3, 7, 50), (0, 2)),
        ((2, 64, 7, 7), (2, 3)),
        ((5, 1), (1,)),
        ((700, 400), (0,)),
    ],
)
def test_sum(shape, axes, target):
    text = Text()
    x = text.argument(*shape)
    result = reduce(text, x, axes, "%y = arith.addf %acc, %a0 : f32", "0.0")
    a = random(*shape)
    expected = a.astype(np.float64).sum(axes)
    actual = compiled(text.finish(result), target)(a)
    np.testing.assert_allclose(actual, expected, rtol=1e-5, atol=1e-4)


REDUCTIONS = [
    # operation, element type, first value, reference
    ("arith.maximumf", "f32", LOWEST, np.max),
    ("arith.minimumf", "f32", "0x7F800000", np.min),
    ("arith.mulf", "f32", "1.0", np.prod),
    ("arith.addf", "f64", "0.0", np.sum),
    ("arith.addi", "i64", "0", np.sum),
    ("arith.muli", "i32", "1", lambda x, axis: np.prod(x, axis, dtype=np.int32)),
    ("arith.maxsi", "i32", "-2147483648", np.max),
    ("arith.minsi", "i8", "127", np.min),
    ("arith.ori", "i8", "0", np.bitwise_or.reduce),
]


@TARGETS
@pytest.mark.parametrize("operation, element, init, reference", REDUCTIONS)
@pytest.mark.parametrize("axis", [0, 1])
def test_operations(operation, element, init, reference, axis, target):
    dtype = {"f32": np.float32, "f64": np.float64}.get(element) or np.dtype(f"int{element[1:]}")
    text = Text()
    x = text.argument(5, 37, element=element)
    body = f"%y = {operation} %acc, %a0 : {element}"
    result = reduce(text, x, (axis,), body, init, element)
    a = (random(5, 37) * (1 if element[0] == "f" else 9)).astype(dtype)
    actual = compiled(text.finish(result), target)(a)
    np.testing.assert_allclose(actual, reference(a, axis), rtol=1e-5)


@TARGETS
def test_sum_of_a_padded_operand(target):
    text = Text()
    x = text.pad(text.argument(5, 30), [1, 2], [0, 9], "1.5")
    result = reduce(text, x, (1,), "%y = arith.addf %acc, %a0 : f32", "0.0")
    a = random(5, 30)
    expected = np.pad(a, ((1, 0), (2, 9)), constant_values=1.5).sum(1, dtype=np.float64)
    actual = compiled(text.finish(result), target)(a)
    np.testing.assert_allclose(actual, expected, rtol=1e-5, atol=1e-5)


@TARGETS
def test_loops_in_another_order_than_the_memory(target):
    text = Text()
    x = text.argument(40, 7)
    init = text.fill(LOWEST, (7,))
    maps = ["d1, d0", "d0"]
    result = text.generic("pr", [x], init, maps, "%y = arith.maximumf %acc, %a0 : f32")
    a = random(40, 7)
    np.testing.assert_array_equal(compiled(text.finish(result), target)(a), a.max(0))


def test_sum_starts_from_its_initial_value():
    text = Text()
    result = reduce(text, text.argument(4, 19), (1,), "%y = arith.addf %acc, %a0 : f32", "3.5")
    a = random(4, 19)
    actual = compiled(text.finish(result), Target())(a)
    np.testing.assert_allclose(actual, a.sum(1) + 3.5, rtol=1e-5, atol=1e-5)


def test_maximum_of_nan_is_nan():
    text = Text()
    result = reduce(text, text.argument(2, 40), (1,), "%y = arith.maximumf %acc, %a0 : f32", LOWEST)
    a = random(2, 40)
    a[1, 33] = np.nan
    actual = compiled(text.finish(result), Target())(a)
    assert actual[0] == a[0].max() and np.isnan(actual[1])


@TARGETS
def test_mean_and_norm_in_the_same_pass(target):
    text = Text()
    x = text.argument(9, 100)
    total = reduce(text, x, (1,), "%y = arith.addf %acc, %a0 : f32", "0.0")
    body = "%q = arith.mulf %a0, %a0 : f32\n%y = arith.addf %acc, %q : f32"
    squares = reduce(text, x, (1,), body, "0.0")
    body = "%n = arith.constant 100.0 : f32\n%y = arith.divf %a0, %n : f32"
    mean = pointwise(text, (9,), [(total, "d0")], body)
    norm = pointwise(text, (9,), [(squares, "d0")], "%y = math.sqrt %a0 : f32")
    kernel = compiled(text.finish(mean, norm), target)
    a = random(9, 100)
    got_mean, got_norm = kernel(a)
    np.testing.assert_allclose(got_mean, a.mean(1, dtype=np.float64), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(got_norm, np.linalg.norm(a.astype(np.float64), axis=1), rtol=1e-6)


def test_rows_are_spread_over_threads_where_that_pays():
    target = Target(threads=2)
    assert "scf.parallel" in compiled(normalization((512, 768), (1,)), target).text
    assert "scf.parallel" not in compiled(normalization((8, 64), (1,)), target).text


def assert_unsupported(text, message):
    with ir.Context(), ir.Location.unknown():
        module = ir.Module.parse(text)
        before = str(module)
        with pytest.raises(Unsupported, match=message):
            rowwise.lower(module.body.operations[0], Target())
        assert str(module) == before


def test_functions_of_other_kinds_are_left_as_they_are():
    text = Text()
    x = text.argument(4, 6)
    assert_unsupported(
        text.finish(pointwise(text, (4, 6), [(x, "d0, d1")], "%y = math.absf %a0 : f32")),
        "no reduction",
    )
    text = Text()
    x = text.argument(4, 6)
    body = "%y = arith.addf %acc, %a0 : f32"
    rows, columns = reduce(text, x, (1,), body, "0.0"), reduce(text, x, (0,), body, "0.0")
    assert_unsupported(text.finish(rows, columns), "different dimensions")
