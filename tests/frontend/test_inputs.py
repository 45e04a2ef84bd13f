"""Inputs and outputs of models: open dimensions, declared types, names, metadata."""

import numpy as np
import pytest
from onnx import TensorProto, helper
from onnx_models import (
    INT64,
    X,
    make_model,
    node,
    relu_model,
    run_model,
    tensor,
    value_info,
)

from nnvm_mlir.errors import CompileError, LoadError, NeedsShapes
from nnvm_mlir.frontend.onnx import import_model
from nnvm_mlir.interpret import interpret
from nnvm_mlir.mlir import ir

# ---- shapes of inputs ----------------------------------------------------------------------------

ADD = [node("Add", ["a", "b"], ["y"], name="add")]


@pytest.mark.parametrize("dim", ["N", "?", "", None, -1])
def test_open_dimensions_are_asked_for(dim):
    inputs = [value_info("x", [dim if isinstance(dim, str) else None, 3])]
    if dim == -1:
        inputs[0].type.tensor_type.shape.dim[0].dim_value = -1
    model = make_model([node("Relu", ["x"], ["y"])], inputs)
    with pytest.raises(NeedsShapes, match=r"'x' \(\?x3\)") as caught:
        import_model(model)
    assert caught.value.names == ("x",)
    graph = import_model(model, {"x": (2, 3)})
    assert graph.inputs[0].type.shape == (2, 3)
    np.testing.assert_array_equal(interpret(graph, {"x": X})[0], np.maximum(X, 0))


def test_input_without_a_shape():
    model = make_model([node("Relu", ["x"], ["y"])], {"x": None})
    with pytest.raises(NeedsShapes, match="'x' "):
        import_model(model)
    assert import_model(model, {"x": (2, 3)}).inputs[0].type.shape == (2, 3)


def test_symbolic_dimension_is_shared():
    model = make_model(ADD, {"a": ["N", 3], "b": ["N", 3]})
    assert import_model(model, {"a": (2, 3)}).inputs[1].type.shape == (2, 3)
    with pytest.raises(CompileError, match="dimension 'N' is 2 in input 'a' and 4 in input 'b'"):
        import_model(model, {"a": (2, 3), "b": (4, 3)})


def test_anonymous_dimensions_are_not_shared():
    model = make_model([node("MatMul", ["a", "b"], ["y"])], {"a": ["?", "?"], "b": ["?", "?"]})
    graph = import_model(model, {"a": (2, 3), "b": (3, 4)})
    assert graph.outputs[0].type.shape == (2, 4)


@pytest.mark.parametrize(
    "shapes, message",
    [
        ({"a": (5, 3)}, "'a' has size 2 in dimension 0, not 5"),
        ({"a": (2, 3, 1)}, "'a' has rank 2, the given shape .* has rank 3"),
        ({"a": (2, -3)}, "is not a shape"),
        ({"a": (2.0, 3)}, "is not a shape"),
        ({"c": (2, 3)}, "no input 'c'; its inputs are 'a', 'b'"),
    ],
)
def test_given_shapes_are_checked(shapes, message):
    with pytest.raises(CompileError, match=message):
        import_model(make_model(ADD, {"a": [2, 3], "b": [2, 3]}), shapes)


@pytest.mark.parametrize(
    "code, message", [(0, "unknown element type 0"), (8, "STRING"), (77, "unknown element type 77")]
)
def test_input_types(code, message):
    with pytest.raises(LoadError, match=f"input 'x' has .*{message}"):
        import_model(make_model([node("Relu", ["x"], ["y"])], [value_info("x", [2], code)]))


def test_sequences_are_refused():
    sequence = helper.make_tensor_sequence_value_info("x", TensorProto.FLOAT, [2])
    with pytest.raises(CompileError, match="only tensors are supported"):
        import_model(make_model([node("Relu", ["x"], ["y"])], [sequence]))


# ---- declared outputs ----------------------------------------------------------------------------


def test_declared_output_shape_may_be_wrong(caplog):
    caplog.set_level("INFO")
    output = value_info("y", [1, "seqlen"])
    graph = import_model(make_model([node("Relu", ["x"], ["y"])], {"x": [20, 1, 9]}, [output]))
    assert graph.outputs[0].type.shape == (20, 1, 9)
    assert "output 'y' is declared with shape [1, None], but has [20, 1, 9]" in caplog.text


def test_declared_output_dtype_must_be_right():
    output = value_info("y", [2, 3], INT64)
    with pytest.raises(
        CompileError, match="'y' is declared as int64, but the model computes float32"
    ):
        import_model(make_model([node("Relu", ["x"], ["y"])], {"x": [2, 3]}, [output]))


def test_declared_inner_types_are_not_trusted():
    model = relu_model()
    model.graph.value_info.append(value_info("y", [7, 7], INT64))
    np.testing.assert_array_equal(run_model(model, {"x": X})[0], np.maximum(X, 0))


# ---- what inputs and outputs may be --------------------------------------------------------------


def test_outputs_that_are_inputs_initializers_or_repeated():
    model = make_model(
        [node("Relu", ["x"], ["y"])], {"x": [2, 3]}, ["x", "w", "y", "y"],
        initializers=[tensor("w", np.arange(100))],
    )  # fmt: skip
    x, w, y, again = run_model(model, {"x": X})
    np.testing.assert_array_equal(x, X)
    np.testing.assert_array_equal(w, np.arange(100))
    np.testing.assert_array_equal(y, again)


def test_initializers_that_are_inputs_are_constants():
    model = make_model(
        ADD, {"a": [2, 3], "b": [3]}, initializers=[tensor("b", np.ones(3, np.float32))]
    )
    graph = import_model(model)
    assert [v.name for v in graph.inputs] == ["a"]
    np.testing.assert_array_equal(interpret(graph, {"a": X})[0], X + 1)


def test_unused_inputs_stay():
    graph = import_model(make_model([node("Relu", ["x"], ["y"])], {"x": [2, 3], "length": []}))
    assert [v.name for v in graph.inputs] == ["x", "length"]


def test_metadata_is_kept():
    model = relu_model()
    model.metadata_props.add(key="character", value="a\nb\u4e2d")
    assert import_model(model).metadata == {"character": "a\nb\u4e2d"}


NAMES = [
    "a b", 'quo"te', "new\nline", "\U0001f600", "%0", "malloc", "main", "../../x", "x" * 100_000,
    "a_b", "a.b", "a/b", ";rm -rf", "0", "{s:x}", "//", "\\",
]  # fmt: skip


def test_hostile_names():
    nodes = [node("Add", ["x", f"w{n}"], [f"o{n}"], name=n) for n in NAMES]
    nodes += [node("Relu", [f"o{n}"], [n], name="same") for n in NAMES]
    weights = [tensor(f"w{n}", np.full((2, 3), i, np.float32)) for i, n in enumerate(NAMES)]
    for names in (weights, weights[::-1]):
        graph = import_model(make_model(nodes, {"x": [2, 3]}, NAMES, names))
        assert [v.name for v in graph.outputs] == NAMES
        for i, y in enumerate(interpret(graph, {"x": X})):
            np.testing.assert_array_equal(y, np.maximum(X + i, 0))
    text = str(graph.module)
    assert "sym_name" not in text
    with graph.module.context:
        assert str(ir.Module.parse(text)) == text
