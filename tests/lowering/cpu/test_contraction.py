"""Contractions and window reductions against NumPy in float64: odd sizes, several machines."""

import itertools

import numpy as np
import pytest

from nnvm_mlir.lowering.cpu import schedule
from nnvm_mlir.target import Target
from tests.lowering.cpu.harness import TARGETS, THREADS, Compiled, Text, tensor

MULTIPLY_ADD = "%t = arith.mulf %a0, %a1 : f32\n%y = arith.addf %acc, %t : f32"
ADD = "%y = arith.addf %a0, %a1 : f32"
ADD_RELU = (
    "%s = arith.addf %a0, %a1 : f32\n%z = arith.constant 0.0 : f32\n"
    "%y = arith.maximumf %s, %z : f32"
)
BLOCK = 16


@pytest.fixture(autouse=True)
def threads_for_small_work(monkeypatch):
    """So that the loops that threads share are tested with few iterations, too."""
    monkeypatch.setattr(schedule, "_PARALLEL_WORK", 0)


def random(*shape):
    return np.random.default_rng(len(shape)).standard_normal(shape, dtype=np.float32)


def assert_close(actual, expected, tolerance=1e-5):
    assert actual.shape == expected.shape
    scale = max(np.abs(expected).max(), 1e-6)
    assert np.abs(actual - expected).max() <= tolerance * scale


def windows(x, kernel, strides, dilation, pads, padding=0.0):
    """All (kh, kw, view) of `x` [..., H, W, b], padded by (top, left, bottom, right)."""
    top, left, bottom, right = pads
    widths = [(0, 0)] * (x.ndim - 3) + [(top, bottom), (left, right), (0, 0)]
    x = np.pad(x.astype(np.float64), widths, constant_values=padding)
    high, wide = (
        (x.shape[axis] - dilation * (k - 1) - 1) // s + 1
        for axis, k, s in zip((-3, -2), kernel, strides, strict=True)
    )
    for i, j in itertools.product(range(kernel[0]), range(kernel[1])):
        rows = slice(i * dilation, i * dilation + (high - 1) * strides[0] + 1, strides[0])
        columns = slice(j * dilation, j * dilation + (wide - 1) * strides[1] + 1, strides[1])
        yield i, j, x[..., rows, columns, :]


def output_size(size, kernel, stride, dilation, before, after):
    return (size + before + after - dilation * (kernel - 1) - 1) // stride + 1


def pad(text, x, pads, number="0.0"):
    top, left, bottom, right = pads
    outer = [0] * (len(x[1]) - 3)
    if not any(pads):
        return x
    return text.pad(x, [*outer, top, left, 0], [*outer, bottom, right, 0], number)


CONVOLUTIONS = [
    # batch, in, (h, w), out, kernel, strides, dilation, pads (top, left, bottom, right)
    (1, 32, (14, 14), 32, (1, 1), (1, 1), 1, (0, 0, 0, 0)),
    (2, 16, (7, 7), 48, (1, 1), (2, 2), 1, (0, 0, 0, 0)),
    (1, 16, (5, 7), 16, (1, 1), (1, 1), 1, (1, 1, 1, 1)),
    (1, 32, (7, 7), 48, (3, 3), (1, 1), 1, (1, 1, 1, 1)),
    (2, 48, (13, 27), 16, (3, 3), (2, 2), 1, (0, 1, 1, 2)),
    (1, 16, (14, 13), 32, (5, 2), (3, 1), 1, (2, 0, 1, 1)),
    (1, 16, (13, 14), 48, (3, 3), (1, 2), 2, (2, 2, 1, 3)),
    (1, 16, (1, 27), 32, (1, 7), (1, 1), 1, (0, 3, 0, 3)),
]


@TARGETS
@pytest.mark.parametrize("case", CONVOLUTIONS, ids=str)
def test_convolution_with_bias_residual_and_relu(case, target):
    batch, inputs, size, outputs, kernel, strides, dilation, pads = case
    high, wide = (
        output_size(size[d], kernel[d], strides[d], dilation, pads[d], pads[d + 2])
        for d in range(2)
    )
    out = (batch, outputs // BLOCK, high, wide, BLOCK)
    text = Text()
    x = text.argument(batch, inputs // BLOCK, *size, BLOCK)
    w = text.argument(outputs // BLOCK, inputs // BLOCK, *kernel, BLOCK, BLOCK)
    bias = text.argument(outputs // BLOCK, BLOCK)
    residual = text.argument(*out)
    spread = "%one = arith.constant 1.0 : f32\n%y = arith.mulf %a0, %one : f32"
    init = text.generic("ppppp", [bias], text.empty(out), ["d1, d4", "d0, d1, d2, d3, d4"], spread)
    sums = text.generic(
        "ppppprrrr",
        [pad(text, x, pads), w],
        init,
        [
            f"d0, d5, d2 * {strides[0]} + d6 * {dilation}, d3 * {strides[1]} + d7 * {dilation}, d8",
            "d1, d5, d6, d7, d8, d4",
            "d0, d1, d2, d3, d4",
        ],
        MULTIPLY_ADD,
    )
    result = text.generic(
        "ppppp", [sums, residual], text.empty(out), ["d0, d1, d2, d3, d4"] * 3, ADD_RELU
    )
    arrays = [random(*value[1]) for value in (x, w, bias, residual)]
    actual = Compiled(text.finish(result), target)(*arrays)
    expected = arrays[3] + arrays[2][None, :, None, None].astype(np.float64)
    for i, j, view in windows(arrays[0], kernel, strides, dilation, pads):
        expected = expected + np.einsum("nihwa,oiab->nohwb", view, arrays[1][:, :, i, j])
    assert_close(actual, np.maximum(expected, 0))


@TARGETS
@pytest.mark.parametrize(
    ("inputs", "size", "kernel", "stride", "padding"),
    [(3, 33, 7, 2, 3), (3, 27, 3, 2, 1), (1, 13, 5, 1, 2), (4, 14, 3, 3, 0)],
)
def test_stem_on_plain_input(inputs, size, kernel, stride, padding, target):
    extent = output_size(size, kernel, stride, 1, padding, padding)
    out = (3, extent, extent, BLOCK)
    text = Text()
    x = text.argument(inputs, size, size)
    w = text.argument(3, inputs, kernel, kernel, BLOCK)
    around = (0, padding, padding)
    padded = text.pad(x, around, around) if padding else x
    result = text.generic(
        "pppprrr",
        [padded, w],
        text.fill("0.0", out),
        [
            f"d4, d1 * {stride} + d5, d2 * {stride} + d6",
            "d0, d4, d5, d6, d3",
            "d0, d1, d2, d3",
        ],
        MULTIPLY_ADD,
    )
    arrays = [random(*value[1]) for value in (x, w)]
    actual = Compiled(text.finish(result), target)(*arrays)
    expected = np.zeros(out)
    views = windows(arrays[0][..., None], (kernel,) * 2, (stride,) * 2, 1, (padding,) * 4)
    for i, j, view in views:
        expected += np.einsum("chwz,ocb->ohwb", view, arrays[1][:, :, i, j])
    assert_close(actual, expected)


@TARGETS
@pytest.mark.parametrize(
    ("size", "kernel", "stride", "dilation", "pads"),
    [
        ((13, 27), 3, 1, 1, (1, 1, 1, 1)),
        ((14, 14), 3, 2, 1, (0, 0, 1, 1)),
        ((7, 7), 5, 1, 1, (2, 2, 2, 2)),
        ((14, 13), 3, 1, 2, (2, 2, 2, 2)),
        ((5, 1), 3, 1, 1, (1, 1, 1, 1)),
    ],
)
def test_depthwise(size, kernel, stride, dilation, pads, target):
    extents = [
        output_size(size[d], kernel, stride, dilation, pads[d], pads[d + 2]) for d in range(2)
    ]
    out = (2, *extents, BLOCK)
    text = Text()
    x = text.argument(2, *size, BLOCK)
    w = text.argument(2, kernel, kernel, BLOCK)
    bias = text.argument(2 * BLOCK)
    text.lines.append(
        f"%b = tensor.expand_shape {bias[0]} [[0, 1]] output_shape [2, {BLOCK}] : "
        f"tensor<{2 * BLOCK}xf32> into tensor<2x{BLOCK}xf32>"
    )
    sums = text.generic(
        "pppprr",
        [pad(text, x, pads), w],
        text.fill("0.0", out),
        [
            f"d0, d1 * {stride} + d4 * {dilation}, d2 * {stride} + d5 * {dilation}, d3",
            "d0, d4, d5, d3",
            "d0, d1, d2, d3",
        ],
        MULTIPLY_ADD,
    )
    result = text.generic(
        "pppp",
        [sums, ("%b", (2, BLOCK), "f32")],
        text.empty(out),
        ["d0, d1, d2, d3", "d0, d3", "d0, d1, d2, d3"],
        ADD_RELU,
    )
    arrays = [random(*value[1]) for value in (x, w, bias)]
    actual = Compiled(text.finish(result), target)(*arrays)
    expected = np.zeros(out) + arrays[2].reshape(2, 1, 1, BLOCK)
    for i, j, view in windows(arrays[0], (kernel,) * 2, (stride,) * 2, dilation, pads):
        expected += view * arrays[1][:, i, j][:, None, None]
    assert_close(actual, np.maximum(expected, 0))


@TARGETS
@pytest.mark.parametrize(
    ("kind", "size", "kernel", "stride", "pads"),
    [
        ("max", (14, 13), 3, 2, (1, 1, 1, 1)),
        ("max", (27, 5), 2, 1, (0, 1, 1, 0)),
        ("average", (14, 14), 2, 2, (0, 0, 0, 0)),
        ("average", (7, 7), 7, 1, (0, 0, 0, 0)),
        ("average", (13, 27), 1, 1, (0, 0, 0, 0)),
    ],
)
def test_pooling(kind, size, kernel, stride, pads, target):
    extents = [output_size(size[d], kernel, stride, 1, pads[d], pads[d + 2]) for d in range(2)]
    out = (3, *extents, BLOCK)
    lowest = "0xFF800000"
    text = Text()
    x = text.argument(3, *size, BLOCK)
    combine = "maximumf" if kind == "max" else "addf"
    start = lowest if kind == "max" else "0.0"
    result = text.generic(
        "pppprr",
        [pad(text, x, pads, start), text.empty((kernel, kernel))],
        text.fill(start, out),
        [f"d0, d1 * {stride} + d4, d2 * {stride} + d5, d3", "d4, d5", "d0, d1, d2, d3"],
        f"%y = arith.{combine} %acc, %a0 : f32",
    )
    if kind == "average":
        scale = f"%s = arith.constant {1 / kernel**2} : f32\n%y = arith.mulf %a0, %s : f32"
        result = text.generic("pppp", [result], text.empty(out), ["d0, d1, d2, d3"] * 2, scale)
    array = random(*x[1])
    actual = Compiled(text.finish(result), target)(array)
    views = windows(array, (kernel,) * 2, (stride,) * 2, 1, pads, -np.inf)
    parts = np.stack([view for _, _, view in views])
    assert_close(actual, parts.max(0) if kind == "max" else parts.mean(0))


def test_pooling_keeps_nan():
    text = Text()
    x = text.argument(1, 4, 4, BLOCK)
    result = text.generic(
        "pppprr",
        [x, text.empty((2, 2))],
        text.fill("0xFF800000", (1, 2, 2, BLOCK)),
        ["d0, d1 * 2 + d4, d2 * 2 + d5, d3", "d4, d5", "d0, d1, d2, d3"],
        "%y = arith.maximumf %acc, %a0 : f32",
    )
    array = random(*x[1])
    array[0, 0, 1, 5] = np.nan
    actual = Compiled(text.finish(result))(array)
    assert np.isnan(actual[0, 0, 0, 5])
    assert np.isnan(actual).sum() == 1


@TARGETS
@pytest.mark.parametrize(
    ("batch", "rows", "columns", "depth", "transposed"),
    [
        (1, 17, 33, 7, False),
        (2, 14, 64, 33, True),
        (3, 1, 50, 64, False),
        (1, 5, 5, 1, False),
        (1, 33, 16, 3, True),
    ],
)
def test_matrix_product(batch, rows, columns, depth, transposed, target):
    text = Text()
    a = text.argument(batch, *((depth, rows) if transposed else (rows, depth)))
    b = text.argument(batch, depth, columns)
    bias = text.argument(columns)
    out = (batch, rows, columns)
    sums = text.generic(
        "pppr",
        [a, b],
        text.fill("0.0", out),
        ["d0, d3, d1" if transposed else "d0, d1, d3", "d0, d3, d2", "d0, d1, d2"],
        MULTIPLY_ADD,
    )
    result = text.generic(
        "ppp", [sums, bias], text.empty(out), ["d0, d1, d2", "d2", "d0, d1, d2"], ADD
    )
    arrays = [random(*value[1]) for value in (a, b, bias)]
    actual = Compiled(text.finish(result), target)(*arrays)
    left = arrays[0].swapaxes(1, 2) if transposed else arrays[0]
    assert_close(actual, left.astype(np.float64) @ arrays[1] + arrays[2])


@TARGETS
@pytest.mark.parametrize("rows", [1, 13, 31])
def test_matrix_product_with_packed_columns(rows, target):
    depth, panels, width = 37, 3, 32
    out = (rows, panels, width)
    text = Text()
    a, b = text.argument(rows, depth), text.argument(panels, depth, width)
    sums = text.generic(
        "pppr",
        [a, b],
        text.fill("0.0", out),
        ["d0, d3", "d1, d3, d2", "d0, d1, d2"],
        MULTIPLY_ADD,
    )
    text.lines.append(
        f"%flat = tensor.collapse_shape {sums[0]} [[0], [1, 2]] : {tensor(out, 'f32')} into "
        f"{tensor((rows, panels * width), 'f32')}"
    )
    result = text.generic(
        "pp",
        [("%flat", (rows, panels * width), "f32")],
        text.empty((rows, panels * width)),
        ["d0, d1"] * 2,
        "%y = arith.negf %a0 : f32",
    )
    arrays = [random(*value[1]) for value in (a, b)]
    actual = Compiled(text.finish(result), target)(*arrays)
    expected = -np.einsum("mk,pkn->mpn", *arrays, dtype=np.float64)
    assert_close(actual, expected.reshape(rows, -1))


@TARGETS
@pytest.mark.parametrize("shape", [(7, 33, 37), (1, 19, 64), (17, 1, 5)])
def test_matrix_product_with_transposed_columns(shape, target):
    rows, columns, depth = shape
    text = Text()
    a, b, bias = text.argument(rows, depth), text.argument(columns, depth), text.argument(columns)
    out = (rows, columns)
    sums = text.generic(
        "ppr", [a, b], text.fill("0.0", out), ["d0, d2", "d1, d2", "d0, d1"], MULTIPLY_ADD
    )
    result = text.generic("pp", [sums, bias], text.empty(out), ["d0, d1", "d1", "d0, d1"], ADD)
    arrays = [random(*value[1]) for value in (a, b, bias)]
    actual = Compiled(text.finish(result), target)(*arrays)
    assert_close(actual, arrays[0].astype(np.float64) @ arrays[1].T + arrays[2])


@TARGETS
@pytest.mark.parametrize(
    ("size", "kernel", "stride", "dilation", "pads"),
    [
        ((9, 33), 3, 1, 1, (1, 1, 1, 1)),
        ((14, 13), 3, 2, 1, (0, 1, 1, 0)),
        ((7, 40), 1, 2, 1, (0, 0, 0, 0)),
        ((5, 17), 3, 1, 2, (2, 2, 2, 2)),
        ((27, 27), 5, 5, 1, (2, 2, 2, 2)),
    ],
)
def test_convolution_in_plain_layout(size, kernel, stride, dilation, pads, target):
    """The lanes run along the width, so that padding masks lanes and strides are gathered."""
    extents = [
        output_size(size[d], kernel, stride, dilation, pads[d], pads[d + 2]) for d in range(2)
    ]
    out = (2, 5, *extents)
    text = Text()
    x, w, bias = text.argument(2, 3, *size), text.argument(5, 3, kernel, kernel), text.argument(5)
    top, left, bottom, right = pads
    padded = text.pad(x, (0, 0, top, left), (0, 0, bottom, right)) if any(pads) else x
    sums = text.generic(
        "pppprrr",
        [padded, w],
        text.fill("0.0", out),
        [
            f"d0, d4, d2 * {stride} + d5 * {dilation}, d3 * {stride} + d6 * {dilation}",
            "d1, d4, d5, d6",
            "d0, d1, d2, d3",
        ],
        MULTIPLY_ADD,
    )
    result = text.generic(
        "pppp",
        [sums, bias],
        text.empty(out),
        ["d0, d1, d2, d3", "d1", "d0, d1, d2, d3"],
        ADD_RELU,
    )
    arrays = [random(*value[1]) for value in (x, w, bias)]
    actual = Compiled(text.finish(result), target)(*arrays)
    expected = np.zeros(out) + arrays[2][:, None, None]
    views = windows(arrays[0][..., None], (kernel,) * 2, (stride,) * 2, dilation, pads)
    for i, j, view in views:
        expected += np.einsum("nchwz,oc->nohw", view, arrays[1][:, :, i, j])
    assert_close(actual, np.maximum(expected, 0))


@TARGETS
@pytest.mark.parametrize(("stride", "padding"), [(1, 1), (2, 0), (2, 1)])
def test_pooling_in_plain_layout(stride, padding, target):
    lowest = "0xFF800000"
    extents = [output_size(size, 3, stride, 1, padding, padding) for size in (14, 37)]
    text = Text()
    x = text.argument(3, 14, 37)
    around = (0, padding, padding)
    result = text.generic(
        "ppprr",
        [text.pad(x, around, around, lowest) if padding else x, text.empty((3, 3))],
        text.fill(lowest, (3, *extents)),
        [f"d0, d1 * {stride} + d3, d2 * {stride} + d4", "d3, d4", "d0, d1, d2"],
        "%y = arith.maximumf %acc, %a0 : f32",
    )
    array = random(*x[1])
    actual = Compiled(text.finish(result), target)(array)
    views = windows(array[..., None], (3, 3), (stride,) * 2, 1, (padding,) * 4, -np.inf)
    assert_close(actual, np.max([view[..., 0] for _, _, view in views], axis=0))


def test_integer_product_with_wider_sums():
    text = Text()
    a, b = text.argument(7, 20, element="i8"), text.argument(20, 21, element="i8")
    body = (
        "%x = arith.extsi %a0 : i8 to i32\n%w = arith.extsi %a1 : i8 to i32\n"
        "%t = arith.muli %x, %w : i32\n%y = arith.addi %acc, %t : i32"
    )
    result = text.generic(
        "ppr", [a, b], text.fill("0", (7, 21), "i32"), ["d0, d2", "d2, d1", "d0, d1"], body
    )
    generator = np.random.default_rng(0)
    arrays = [generator.integers(-128, 128, value[1], np.int8) for value in (a, b)]
    actual = Compiled(text.finish(result))(*arrays)
    np.testing.assert_array_equal(actual, arrays[0].astype(np.int32) @ arrays[1].astype(np.int32))


def test_grouped_convolution():
    groups, blocks, size = 3, 2, 9
    out = (groups, blocks, size, size, BLOCK)
    text = Text()
    x = text.argument(groups, blocks, size, size, BLOCK)
    w = text.argument(groups, blocks, blocks, 3, 3, BLOCK, BLOCK)
    result = text.generic(
        "ppppprrrr",
        [pad(text, x, (1, 1, 1, 1)), w],
        text.fill("0.0", out),
        ["d0, d5, d2 + d6, d3 + d7, d8", "d0, d1, d5, d6, d7, d8, d4", "d0, d1, d2, d3, d4"],
        MULTIPLY_ADD,
    )
    arrays = [random(*value[1]) for value in (x, w)]
    actual = Compiled(text.finish(result))(*arrays)
    expected = np.zeros(out)
    for i, j, view in windows(arrays[0], (3, 3), (1, 1), 1, (1, 1, 1, 1)):
        expected += np.einsum("gihwa,goiab->gohwb", view, arrays[1][:, :, :, i, j])
    assert_close(actual, expected)


def test_convolution_in_three_dimensions():
    size, out = (5, 6, 7), (2, 5, 3, 7, BLOCK)
    text = Text()
    x, w = text.argument(2, *size, BLOCK), text.argument(2, 2, 3, 3, 3, BLOCK, BLOCK)
    padded = text.pad(x, (0, 1, 1, 1, 0), (0, 1, 1, 1, 0))
    result = text.generic(
        "ppppprrrrr",
        [padded, w],
        text.fill("0.0", out),
        [
            "d5, d1 + d6, d2 * 2 + d7, d3 + d8, d9",
            "d0, d5, d6, d7, d8, d9, d4",
            "d0, d1, d2, d3, d4",
        ],
        MULTIPLY_ADD,
    )
    arrays = [random(*value[1]) for value in (x, w)]
    actual = Compiled(text.finish(result))(*arrays)
    padded = np.pad(arrays[0].astype(np.float64), [(0, 0), (1, 1), (1, 1), (1, 1), (0, 0)])
    expected = np.zeros(out)
    for k, i, j in itertools.product(range(3), repeat=3):
        view = padded[:, k : k + 5, i : i + 5 : 2, j : j + 7]
        expected += np.einsum("idhwa,oiab->odhwb", view, arrays[1][:, :, k, i, j])
    assert_close(actual, expected)


@TARGETS
@pytest.mark.parametrize("epilogue", [True, False])
def test_phases_of_a_transposed_convolution(epilogue, target):
    """Two reductions fill the even and the odd places of one tensor."""
    length, channels = 19, 32
    part, whole = (length, channels), (2 * length, channels)
    text = Text()
    x, w = text.argument(length, 24), text.argument(2, 24, channels)
    sums = text.fill("1.0", whole)
    for phase in range(2):
        old, cut, new = sums[0], f"%cut{phase}", f"%new{phase}"
        place = f"[{phase}, 0] [{length}, {channels}] [2, 1]"
        types = f"{tensor(part, 'f32')} into {tensor(whole, 'f32')}"
        text.lines += [
            f"{cut} = tensor.extract_slice {old} {place} : "
            f"{tensor(whole, 'f32')} to {tensor(part, 'f32')}",
            f"%w{phase} = tensor.extract_slice {w[0]} [{phase}, 0, 0] [1, 24, {channels}] "
            f"[1, 1, 1] : {tensor(w[1], 'f32')} to {tensor((24, channels), 'f32')}",
        ]
        products = text.generic(
            "ppr",
            [x, (f"%w{phase}", (24, channels), "f32")],
            (cut, part, "f32"),
            ["d0, d2", "d2, d1", "d0, d1"],
            MULTIPLY_ADD,
        )
        text.lines.append(f"{new} = tensor.insert_slice {products[0]} into {old} {place} : {types}")
        sums = (new, whole, "f32")
    result = sums
    if epilogue:
        residual = text.argument(*whole)
        result = text.generic("pp", [sums, residual], text.empty(whole), ["d0, d1"] * 3, ADD_RELU)
    arrays = [random(*value[1]) for value in ((x, w, residual) if epilogue else (x, w))]
    actual = Compiled(text.finish(result), target)(*arrays)
    expected = 1 + np.einsum("lk,pkc->lpc", *arrays[:2], dtype=np.float64).reshape(whole)
    assert_close(actual, np.maximum(expected + arrays[2], 0) if epilogue else expected)


@pytest.mark.parametrize(("rows", "columns"), [(64, 512), (96, 80), (1, 4096)])
def test_large_products_on_several_threads(rows, columns):
    text = Text()
    a, b = text.argument(rows, 256), text.argument(256, columns)
    out = (rows, columns)
    sums = text.generic(
        "ppr", [a, b], text.fill("0.0", out), ["d0, d2", "d2, d1", "d0, d1"], MULTIPLY_ADD
    )
    arrays = [random(*value[1]) for value in (a, b)]
    compiled = Compiled(text.finish(sums), THREADS)
    assert compiled.text.count("scf.parallel") == 1
    assert_close(compiled(*arrays), arrays[0].astype(np.float64) @ arrays[1])


def test_constant_table_in_the_epilogue():
    text = Text()
    a, b = text.argument(2, 5), text.argument(5, 3)
    out = (2, 3)
    sums = text.generic(
        "ppr", [a, b], text.fill("0.0", out), ["d0, d2", "d2, d1", "d0, d1"], MULTIPLY_ADD
    )
    text.lines.append(
        "%t = arith.constant dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> : tensor<2x3xf32>"
    )
    result = text.generic("pp", [sums, ("%t", out, "f32")], text.empty(out), ["d0, d1"] * 3, ADD)
    arrays = [random(*value[1]) for value in (a, b)]
    actual = Compiled(text.finish(result))(*arrays)
    expected = arrays[0].astype(np.float64) @ arrays[1] + np.arange(1, 7).reshape(out)
    assert_close(actual, expected)


def test_weights_larger_than_the_cache_are_prefetched():
    def kernel(l2_bytes):
        text = Text()
        a, b = text.argument(64, 128), text.argument(8, 128, 32)
        out = (64, 8, 32)
        maps = ["d0, d3", "d1, d3, d2", "d0, d1, d2"]
        sums = text.generic("pppr", [a, b], text.fill("0.0", out), maps, MULTIPLY_ADD)
        arrays = [random(*value[1]) for value in (a, b)]
        compiled = Compiled(text.finish(sums), Target(l2_bytes=l2_bytes))
        expected = np.einsum("mk,pkn->mpn", *arrays, dtype=np.float64)
        assert_close(compiled(*arrays), expected)
        return compiled.text

    assert "memref.prefetch" in kernel(64 * 1024)
    assert "memref.prefetch" not in kernel(8 * 1024 * 1024)


def test_two_results_of_one_accumulator():
    text = Text()
    a, b = text.argument(6, 9), text.argument(9, 32)
    out = (6, 32)
    sums = text.generic(
        "ppr", [a, b], text.fill("0.0", out), ["d0, d2", "d2, d1", "d0, d1"], MULTIPLY_ADD
    )
    negative = text.generic(
        "pp", [sums], text.empty(out), ["d0, d1"] * 2, "%y = arith.negf %a0 : f32"
    )
    arrays = [random(*value[1]) for value in (a, b)]
    first, second = Compiled(text.finish(sums, negative))(*arrays)
    expected = arrays[0].astype(np.float64) @ arrays[1]
    assert_close(first, expected)
    assert_close(second, -expected)


@pytest.mark.parametrize("number", ["1.0", "0xFF800000"])
def test_padding_that_counts_is_not_skipped(number):
    text = Text()
    x = text.argument(1, 5, 5, BLOCK)
    result = text.generic(
        "pppprr",
        [pad(text, x, (1, 1, 1, 1), number), text.empty((3, 3))],
        text.fill("0.0", x[1]),
        ["d0, d1 + d4, d2 + d5, d3", "d4, d5", "d0, d1, d2, d3"],
        "%y = arith.addf %acc, %a0 : f32",
    )
    array = random(*x[1])
    kernel = Compiled(text.finish(result), require_fast=False)
    views = windows(array, (3, 3), (1, 1), 1, (1, 1, 1, 1), -np.inf if "x" in number else 1.0)
    expected = sum(view for _, _, view in views)
    np.testing.assert_allclose(kernel(array), expected, rtol=1e-4, atol=1e-4)
