"""Convolutions: `evaluate` against onnxruntime, compiled code against `evaluate`, and inference."""

import numpy as np
import pytest
from oracle import run_onnx
from support import check_operator, evaluate

from nnvm_mlir.dialects.nnvm import OPERATORS
from nnvm_mlir.dialects.nnvm.layout import Layout
from nnvm_mlir.dialects.nnvm.types import TensorType, numpy_dtype
from nnvm_mlir.dialects.nnvm.window import relayout

RNG = np.random.default_rng(0)


def normal(*shape, dtype=np.float32):
    return RNG.normal(size=shape).astype(dtype)


def integers(*shape, dtype=np.int8):
    info = np.iinfo(dtype)
    return RNG.integers(info.min, info.max, shape, dtype, endpoint=True)


def geometry(rank, largest_size):
    """Random numbers for one convolution: groups, channels of a group, sizes, attributes."""
    groups, inputs, outputs = (int(n) for n in RNG.integers(1, 4, 3))
    sizes = RNG.integers(4, largest_size + 1, rank).tolist()
    attributes = {
        "channels": groups * outputs,
        "kernel_size": RNG.integers(1, 4, rank).tolist(),
        "strides": RNG.integers(1, 4, rank).tolist(),
        "dilation": RNG.integers(1, 3, rank).tolist(),
        "padding": RNG.integers(1, 3, 2 * rank).tolist(),
        "groups": groups,
    }
    return inputs, outputs, sizes, attributes


def onnx_attributes(a):
    names = {"strides": "strides", "dilation": "dilations", "padding": "pads", "groups": "group"}
    return {onnx_name: a[name] for name, onnx_name in names.items()}


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_evaluate_agrees_with_onnxruntime(rank):
    for _ in range(25):
        inputs, outputs, sizes, a = geometry(rank, 8)
        groups = a["groups"]
        data = normal(2, groups * inputs, *sizes)
        weight = normal(groups * outputs, inputs, *a["kernel_size"])
        bias = normal(groups * outputs)
        got = evaluate(OPERATORS[f"conv{rank}d"], data, weight, bias, **a)
        want = run_onnx("Conv", data, weight, bias, **onnx_attributes(a))
        np.testing.assert_allclose(got[0], want[0], rtol=1e-4, atol=1e-4, err_msg=str(a))


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_evaluate_of_transposed_agrees_with_onnxruntime(rank):
    for _ in range(25):
        inputs, outputs, sizes, a = geometry(rank, 6)
        groups = a["groups"]
        extra = [int(RNG.integers(0, stride)) for stride in a["strides"]]
        data = normal(2, groups * inputs, *sizes)
        weight = normal(groups * inputs, outputs, *a["kernel_size"])
        bias = normal(groups * outputs)
        operator = OPERATORS[f"conv{rank}d_transpose"]
        got = evaluate(operator, data, weight, bias, output_padding=extra, **a)
        want = run_onnx(
            "ConvTranspose", data, weight, bias, output_padding=extra, **onnx_attributes(a)
        )
        np.testing.assert_allclose(got[0], want[0], rtol=1e-4, atol=1e-4, err_msg=str(a))


@pytest.mark.parametrize("rank", [1, 2, 3])
@pytest.mark.parametrize("transposed", [False, True])
def test_compiled(rank, transposed):
    for _ in range(4):
        inputs, outputs, sizes, a = geometry(rank, 5)
        groups = a["groups"]
        data = normal(2, groups * inputs, *sizes)
        if transposed:
            weight = normal(groups * inputs, outputs, *a["kernel_size"])
            a["output_padding"] = [stride - 1 for stride in a["strides"]]
        else:
            weight = normal(groups * outputs, inputs, *a["kernel_size"])
        operator = OPERATORS[f"conv{rank}d_transpose" if transposed else f"conv{rank}d"]
        check_operator(operator, data, weight, normal(groups * outputs), atol=1e-4, **a)


# layout, kernel_layout, out_layout, data channels, output channels, groups
LAYOUTS = [
    ("NHWC", "HWIO", None, 3, 5, 1),
    ("NHWC", "HWIO", None, 6, 4, 2),
    ("NHWC", "OIHW", "NCHW", 3, 5, 1),
    ("NCHW8c", "OIHW8i8o", None, 16, 8, 1),
    ("NCHW4c", "OIHW4i8o", "NCHW8c", 8, 16, 1),
    ("NCHW16c", "OIHW8i4o", "NCHW2c", 16, 8, 1),
    ("NCHW", "OIHW8o", "NCHW8c", 3, 16, 1),
    ("NCHW8c", "OIHW", "NCHW", 16, 3, 1),
    ("NCHW8c", "OIHW8o", None, 16, 16, 16),  # depthwise
    ("NCHW8c", "OIHW8o", None, 8, 16, 8),  # depthwise with two outputs for each channel
    ("NCHW8c", "OIHW4i4o", None, 16, 16, 2),  # a group is a block
    ("NCHW8c", "OIHW4o2i", None, 32, 32, 4),
    ("NCHW6c", "OIHW4o", "NCHW4c", 12, 12, 1),
    ("NCHW4c", "OIHW4o", None, 12, 12, 2),  # blocks straddle groups: computed in plain layouts
    ("N2nCHW", "OIHW", "NCHW", 2, 2, 1),
]


@pytest.mark.parametrize("case", LAYOUTS, ids=lambda c: "-".join(map(str, c)))
@pytest.mark.parametrize("transposed", [False, True])
def test_layouts(case, transposed):
    layout, kernel_layout, out_layout, inputs, outputs, groups = case
    if transposed:
        inputs, outputs = outputs, inputs
        layout, out_layout = out_layout or layout, layout
    a = {
        "channels": outputs, "kernel_size": (3, 2), "strides": (2, 1), "padding": (1, 0, 2, 1),
        "groups": groups,
    }  # fmt: skip
    operator = OPERATORS["conv2d_transpose" if transposed else "conv2d"]
    kernel = (inputs, outputs // groups) if transposed else (outputs, inputs // groups)
    data, weight, bias = normal(2, inputs, 4, 5), normal(*kernel, 3, 2), normal(outputs)
    want = evaluate(operator, data, weight, bias, **a)[0]
    data = relayout(data, Layout.parse("NCHW"), Layout.parse(layout))
    weight = relayout(weight, Layout.parse("OIHW"), Layout.parse(kernel_layout))
    a |= {"layout": layout, "kernel_layout": kernel_layout}
    if out_layout is not None:
        a["out_layout"] = out_layout
    got = check_operator(operator, data, weight, bias, atol=1e-4, **a)[0]
    target = Layout.parse(out_layout or layout)
    np.testing.assert_allclose(
        relayout(got, target, Layout.parse("NCHW")), want, rtol=1e-4, atol=1e-4
    )


@pytest.mark.parametrize("name", ["conv1d", "conv1d_transpose"])
def test_empty_batch(name):
    a = {"channels": 4, "kernel_size": (3,), "padding": 1}
    check_operator(OPERATORS[name], normal(0, 4, 5), normal(4, 4, 3), normal(4), **a)


def test_blocked_bias():
    data, weight = normal(1, 1, 3, 3, 4), normal(2, 1, 1, 1, 4, 4)
    a = {
        "channels": 8, "kernel_size": (1, 1), "layout": "NCHW4c", "kernel_layout": "OIHW4i4o",
    }  # fmt: skip
    bias = normal(8)
    flat = check_operator(OPERATORS["conv2d"], data, weight, bias, **a)[0]
    blocked = check_operator(OPERATORS["conv2d"], data, weight, bias.reshape(2, 4), **a)[0]
    np.testing.assert_array_equal(flat, blocked)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64"])
def test_floats(dtype):
    shapes = (1, 4, 5, 5), (4, 4, 3, 3), (4,)
    data, weight, bias = (normal(*shape, dtype=numpy_dtype(dtype)) for shape in shapes)
    a = {"channels": 4, "kernel_size": (3, 3), "padding": 1}
    check_operator(OPERATORS["conv2d"], data, weight, bias, rtol=2e-3, atol=2e-3, **a)


def test_half_precision_sums_in_float32():
    data = np.full((1, 4096, 1, 1), 1, np.float16)
    weight = np.full((1, 4096, 1, 1), 1, np.float16)  # float16 sums would stop at 2048
    a = {"channels": 1, "kernel_size": (1, 1), "use_bias": False}
    assert check_operator(OPERATORS["conv2d"], data, weight, **a)[0].item() == 4096


@pytest.mark.parametrize("data_dtype", ["int8", "uint8"])
@pytest.mark.parametrize("transposed", [False, True])
def test_integers(data_dtype, transposed):
    data, weight = integers(1, 4, 4, 4, dtype=data_dtype), integers(4, 4, 3, 3)
    a = {"channels": 4, "kernel_size": (3, 3), "padding": 1, "use_bias": False}
    operator = OPERATORS["conv2d_transpose" if transposed else "conv2d"]
    got = check_operator(operator, data, weight, out_dtype="int32", **a)[0]
    wide = evaluate(operator, data.astype(np.float64), weight.astype(np.float64), **a)[0]
    np.testing.assert_array_equal(got, wide)


def test_same_dtype_wraps():
    data, weight = integers(1, 4, 4, 4), integers(4, 4, 3, 3)
    a = {"channels": 4, "kernel_size": (3, 3), "use_bias": False}
    wide = evaluate(OPERATORS["conv2d"], data, weight, out_dtype="int32", **a)[0]
    got = check_operator(OPERATORS["conv2d"], data, weight, **a)[0]
    np.testing.assert_array_equal(got, wide.astype(np.int8))


def infer(name, ins, outs=None, **attributes):
    """Shapes of operands and results, from float32 operands of partly known shapes."""
    operator = OPERATORS[name]
    a = operator.attributes_from(attributes)
    outs = None if outs is None else [TensorType(outs)]
    ins, outs = operator.infer(a, [TensorType(shape, "float32") for shape in ins], outs)
    return [t.shape for t in (*ins, *outs)]


def test_parameters_follow_from_data():
    shapes = infer("conv2d", [(1, 8, 9, 9), None, None], channels=6, kernel_size=(3, 2), groups=2)
    assert shapes == [(1, 8, 9, 9), (6, 4, 3, 2), (6,), (1, 6, 7, 8)]
    shapes = infer(
        "conv2d", [(1, 1, 9, 9, 8), None, None], channels=32, kernel_size=(3, 3), layout="NCHW8c",
        kernel_layout="OIHW8i16o", out_layout="NCHW16c",
    )  # fmt: skip
    assert shapes == [(1, 1, 9, 9, 8), (2, 1, 3, 3, 8, 16), (2, 16), (1, 2, 7, 7, 16)]
    shapes = infer("conv1d_transpose", [(1, 8, 4), None], channels=6, kernel_size=3, groups=2,
                   use_bias=False, strides=2)  # fmt: skip
    assert shapes == [(1, 8, 4), (8, 3, 3), (1, 6, 9)]


def test_data_follows_from_output():
    a = {"channels": 6, "kernel_size": (3, 3), "use_bias": False}
    shapes = infer("conv2d", [None, (6, 4, 3, 3)], (2, 6, 5, None), padding=1, **a)
    assert shapes[0] == (2, 4, 5, None)
    shapes = infer("conv2d", [(None, 4, 8, 9), None], (2, None, None, None), strides=(2, 2), **a)
    assert shapes == [(2, 4, 8, 9), (6, 4, 3, 3), (2, 6, 3, 4)]
    shapes = infer("conv2d_transpose", [None, (4, 6, 3, 3)], (2, 6, 9, 9), strides=(2, 2), **a)
    assert shapes[0] == (2, 4, 4, 4)


@pytest.mark.parametrize(
    ("attributes", "shapes", "message"),
    [
        ({"kernel_size": (3,)}, [(1, 4, 5, 5), None], "'kernel_size' must be 2 numbers >= 1"),
        ({"strides": (0, 1)}, [(1, 4, 5, 5), None], "'strides' must be 2 numbers >= 1"),
        ({"padding": (1, 1, 1)}, [(1, 4, 5, 5), None], "'padding' must be 1, 2 or 4 numbers"),
        ({"padding": (-1, 1)}, [(1, 4, 5, 5), None], "numbers >= 0"),
        ({"groups": 4}, [(1, 4, 5, 5), None], "6 channels do not divide into 4 groups"),
        ({"groups": 3}, [(1, 4, 5, 5), None], "4 data channels do not divide into 3 groups"),
        ({}, [(1, 4, 2, 5), None], "spans 3 does not fit an axis of 2"),
        ({}, [(1, 4, 5, 5), (6, 3, 3, 3)], "expects weight of shape 6x4x3x3, got 6x3x3x3"),
        ({}, [(1, 4, 5), None], "layout NCHW has 4 dimensions, got shape 1x4x5"),
        ({"layout": "NCW"}, [(1, 4, 5), None], "must have the axes of NCHW"),
        ({"layout": "NCHW2h"}, [(1, 4, 5, 5, 2), None], "must not split the spatial axes HW"),
        ({"out_layout": "NCHW4c"}, [(1, 4, 5, 5), None], "6 is not divisible by the block 4"),
        ({"use_bias": True}, [(1, 4, 5, 5), None], "expects a bias operand"),
    ],
)
def test_refusals(attributes, shapes, message):
    given = {"channels": 6, "kernel_size": (3, 3), "use_bias": False} | attributes
    with pytest.raises(ValueError, match=message):
        infer("conv2d", shapes, **given)


def test_refuses_mixed_floats():
    operator = OPERATORS["conv1d"]
    a = operator.attributes_from(
        {"channels": 1, "kernel_size": 1, "use_bias": False, "out_dtype": "float32"}
    )
    types = [TensorType((1, 1, 1), "float32"), TensorType((1, 1, 1), "int8")]
    with pytest.raises(ValueError, match="data of dtype float32 does not go with"):
        operator.infer(a, types)
