"""The form of the linalg level that code generation relies on."""

import re

import pytest
from support import LOOPS, operator_function

import nnvm_mlir.dialects.nnvm as nnvm
import nnvm_mlir.lowering.linalg as linalg_rules
from nnvm_mlir.dialects.nnvm import OPERATORS
from nnvm_mlir.dialects.nnvm.types import TensorType
from nnvm_mlir.mlir import PassManager, ir

BUFFERIZE = LOOPS[: LOOPS.index(",convert-linalg-to-loops")] + ")"


def linalg_form(name, *shapes, passes=None, **attributes):
    """The IR of one operator on float32 operands, after lowering to linalg and some passes."""
    context = ir.Context()
    context.enable_multithreading(False)
    nnvm.load(context)
    with context, ir.Location.unknown():
        types = [
            shape if isinstance(shape, TensorType) else TensorType(shape, "float32")
            for shape in shapes
        ]
        module = operator_function(OPERATORS[name], types, **attributes)
        linalg_rules.convert_function(module.body.operations[0])
        module.operation.verify()
        if passes:
            PassManager.parse(passes).run(module.operation)
        return str(module)


def count(text, op):
    return len(re.findall(rf"{re.escape(op)}\b", text))


@pytest.mark.parametrize(
    ("name", "shape", "attributes"),
    [
        ("__layout_transform__", (1, 32, 7, 7), {"src_layout": "NCHW", "dst_layout": "NCHW16c"}),
        ("__layout_transform__", (1, 2, 7, 7, 16), {"src_layout": "NCHW16c", "dst_layout": "NHWC"}),
        ("depth_to_space", (1, 12, 2, 2), {"block_size": 2}),
        ("transpose", (2, 3, 4), {}),
        ("tile", (2, 3), {"reps": (2, 2)}),
        ("flip", (2, 3), {}),
        ("strided_slice", (5, 3), {"begin": (4,), "end": (-9,), "stride": (-2,)}),
        ("pad", (2, 3), {"pad_width": (1, 1, 1, 1), "mode": "reflect"}),
    ],
)
def test_one_generic(name, shape, attributes):
    assert count(linalg_form(name, shape, **attributes), "linalg.generic") == 1


@pytest.mark.parametrize(
    ("name", "shape", "attributes"),
    [
        ("reshape", (2, 3), {"shape": (6,)}),
        ("squeeze", (1, 3), {}),
        ("split", (4, 6), {"indices_or_sections": 2}),
    ],
)
def test_no_generic(name, shape, attributes):
    assert count(linalg_form(name, shape, **attributes), "linalg.generic") == 0


@pytest.mark.parametrize(
    ("name", "shapes", "generics"),
    [
        ("softmax", [(2, 3, 4)], 4),
        ("log_softmax", [(2, 3, 4)], 4),
        ("layer_norm", [(2, 3, 4), (4,), (4,)], 5),
    ],
)
def test_rows_have_no_reshapes(name, shapes, generics):
    text = linalg_form(name, *shapes)
    assert count(text, "linalg.generic") == generics
    assert "expand_shape" not in text
    assert "collapse_shape" not in text


@pytest.mark.parametrize(
    ("name", "shapes", "attributes"),
    [
        (
            "lstm",
            [(5, 3, 4), (1, 24, 4), (1, 24, 6), (1, 48), (1, 3, 6), (1, 3, 6), (1, 18)],
            {"hidden_size": 6},
        ),
        ("gru", [(5, 3, 4), (1, 18, 4), (1, 18, 6), (1, 36), (1, 3, 6)], {"hidden_size": 6}),
        ("top_k", [(5, 33)], {"k": 3}),
        (
            "scatter_elements",
            [(5, 3), TensorType((2, 3), "int64"), (2, 3)],
            {"reduction": "add"},
        ),
    ],
)
def test_loops_allocate_nothing(name, shapes, attributes):
    text = linalg_form(name, *shapes, passes=BUFFERIZE, **attributes)
    loop = text[text.index("scf.for") :]
    assert "memref.alloc" in text
    assert "memref.alloc" not in loop
