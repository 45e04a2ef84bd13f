"""What the linalg of windows and images looks like: what generators of fast kernels rely on."""

import pytest
from support import operator_function

import nnvm_mlir.dialects.nnvm as nnvm
from nnvm_mlir.dialects.nnvm import OPERATORS
from nnvm_mlir.dialects.nnvm.types import TensorType
from nnvm_mlir.lowering.linalg import convert_function
from nnvm_mlir.mlir import ir


@pytest.fixture(autouse=True)
def context():
    with ir.Context() as context, ir.Location.unknown():
        context.enable_multithreading(False)
        nnvm.load(context)
        yield


def lower(name, *shapes, **attributes):
    """The operations of the lowered function; the caller keeps the module alive through them."""
    types = [TensorType(shape, "float32") for shape in shapes]
    module = operator_function(OPERATORS[name], types, **attributes)
    convert_function(next(iter(module.body.operations)))
    module.operation.verify()
    return module, list(next(iter(module.body.operations)).regions[0].blocks[0].operations)


def generics(name, *shapes, **attributes):
    """The indexing maps of each linalg.generic."""
    _module, operations = lower(name, *shapes, **attributes)
    return [
        [str(ir.AffineMapAttr(m).value) for m in op.attributes["indexing_maps"]]
        for op in operations
        if op.operation.name == "linalg.generic"
    ]


def names(name, *shapes, **attributes):
    _module, operations = lower(name, *shapes, **attributes)
    return [op.operation.name for op in operations]


CONV = {"kernel_size": (3, 3), "use_bias": False}


def test_plain_convolution():
    maps = generics("conv2d", (1, 4, 9, 9), (8, 4, 3, 3), channels=8, strides=(2, 1), **CONV)
    assert maps == [
        [
            "(d0, d1, d2, d3, d4, d5, d6) -> (d0, d4, d2 * 2 + d5, d3 + d6)",
            "(d0, d1, d2, d3, d4, d5, d6) -> (d1, d4, d5, d6)",
            "(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1, d2, d3)",
        ]
    ]


def test_blocked_convolution_has_loops_over_blocks():
    maps = generics(
        "conv2d", (1, 1, 9, 9, 16), (2, 1, 3, 3, 16, 16), channels=32, layout="NCHW16c",
        kernel_layout="OIHW16i16o", **CONV,
    )  # fmt: skip
    assert maps == [
        [
            "(d0, d1, d2, d3, d4, d5, d6, d7, d8) -> (d0, d5, d2 + d6, d3 + d7, d8)",
            "(d0, d1, d2, d3, d4, d5, d6, d7, d8) -> (d1, d5, d6, d7, d8, d4)",
            "(d0, d1, d2, d3, d4, d5, d6, d7, d8) -> (d0, d1, d2, d3, d4)",
        ]
    ]


def test_depthwise_convolution_has_no_loop_over_input_channels():
    maps = generics(
        "conv2d", (1, 2, 9, 9, 16), (2, 1, 3, 3, 16), channels=32, groups=32, layout="NCHW16c",
        kernel_layout="OIHW16o", **CONV,
    )  # fmt: skip
    assert maps == [
        [
            "(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1, d2 + d5, d3 + d6, d4)",
            "(d0, d1, d2, d3, d4, d5, d6) -> (d1, 0, d5, d6, d4)",
            "(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1, d2, d3, d4)",
        ]
    ]


def test_groups_are_a_loop():
    maps = generics("conv2d", (1, 8, 9, 9), (4, 4, 3, 3), channels=4, groups=2, **CONV)
    assert maps == [
        [
            "(d0, d1, d2, d3, d4, d5, d6, d7) -> (d0, d1, d5, d3 + d6, d4 + d7)",
            "(d0, d1, d2, d3, d4, d5, d6, d7) -> (d1, d2, d5, d6, d7)",
            "(d0, d1, d2, d3, d4, d5, d6, d7) -> (d0, d1, d2, d3, d4)",
        ]
    ]


def test_transposed_convolution_is_one_convolution_for_each_phase():
    a = {"channels": 2, "kernel_size": (4, 4), "padding": 1, "use_bias": False}
    shapes = (1, 3, 4, 4), (3, 2, 4, 4)
    phases = names("conv2d_transpose", *shapes, strides=(2, 2), **a)
    assert phases.count("linalg.generic") == phases.count("tensor.insert_slice") == 4
    dense = names("conv2d_transpose", *shapes, **a)
    assert dense.count("linalg.generic") == 1
    assert "tensor.insert_slice" not in dense


def test_pool_reads_a_window():
    maps = generics("max_pool2d", (1, 4, 9, 9), pool_size=(3, 3), strides=(2, 2), dilation=(1, 2))
    assert maps == [
        [
            "(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2 * 2 + d4, d3 * 2 + d5 * 2)",
            "(d0, d1, d2, d3, d4, d5) -> (d4, d5)",
            "(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2, d3)",
        ]
    ]


def test_no_padding_is_no_operation():
    assert "tensor.pad" not in names("max_pool2d", (1, 1, 4, 4), pool_size=(2, 2))
    assert "tensor.pad" in names("max_pool2d", (1, 1, 4, 4), pool_size=(2, 2), padding=1)


def test_upsampling_by_a_whole_factor_gathers_nothing():
    maps = generics("upsampling", (1, 2, 3, 4), scale=2)
    assert maps == [
        [
            "(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2, d4)",
            "(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2, d3, d4, d5)",
        ]
    ]
