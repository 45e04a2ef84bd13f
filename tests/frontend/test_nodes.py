"""Nodes that cannot be imported: every message names the node and what is wrong."""

import numpy as np
import pytest
from onnx import TensorProto, helper
from onnx_models import (
    X,
    import_with,
    make_model,
    node,
    run_model,
    tensor,
    value_info,
)

from nnvm_mlir.errors import CompileError
from nnvm_mlir.frontend.onnx import import_model
from nnvm_mlir.frontend.onnx.registry import supported_operators

# ---- unsupported operators -----------------------------------------------------------------------


def test_all_unsupported_operators_in_one_error():
    nodes = [
        node("Nonsense", ["x"], ["a"], name="first"),
        node("Custom", ["a"], ["b"], name="second", domain="com.example"),
        node("Nonsense", ["b"], ["c"], name="third"),
        node("Unimported", ["c"], ["d"], domain="org.other"),
        node("Det", ["d"], ["y"], name="determinant"),
        node("Relu", ["x"], ["z"], name="fine"),
    ]
    # Weights that cannot be loaded prove that no work was done before.
    broken = TensorProto(name="w", data_type=TensorProto.STRING, dims=[1])
    model = make_model(nodes, {"x": [2]}, initializers=[broken], domains={"com.example": 3})
    with pytest.raises(CompileError) as caught:
        import_model(model)
    lines = str(caught.value).splitlines()
    assert lines[1:] == [
        "  Custom (domain 'com.example', opset 3), used by 'second'",
        "  Det (domain 'ai.onnx', opset 17), used by 'determinant'",
        "  Nonsense (domain 'ai.onnx', opset 17), used by 'first', 'third'",
        "  Unimported (domain 'org.other', not imported), used by 'd'",
    ]


def test_unsupported_operators_inside_functions_and_branches():
    body = helper.make_function(
        "f", "F", ["x"], ["y"], [node("Strange", ["x"], ["y"], name="inside")],
        [helper.make_opsetid("", 17)],
    )  # fmt: skip
    branch = helper.make_graph(
        [node("Odd", ["x"], ["b"], name="branch")], "b", [], [value_info("b", [2])]
    )
    nodes = [
        node("F", ["x"], ["a"], domain="f"),
        node("If", ["c"], ["y"], then_branch=branch, else_branch=branch),
    ]
    model = make_model(nodes, {"x": [2], "c": []}, functions=[body], domains={"f": 1})
    with pytest.raises(CompileError, match=r"(?s)Odd .*'branch', 'branch'.*Strange .*'inside'"):
        import_model(model)


def test_operator_that_is_newer_than_the_opset():
    model = make_model([node("Gelu", ["x"], ["y"])], {"x": [2]}, opset=17)
    with pytest.raises(CompileError, match=r"Gelu \(domain 'ai.onnx', opset 17\)"):
        import_model(model)


def test_dropped_branch_needs_no_support():
    odd = helper.make_graph([node("Odd", ["x"], ["b"])], "b", [], [value_info("b", [2, 3])])
    good = helper.make_graph([node("Neg", ["x"], ["g"])], "g", [], [value_info("g", [2, 3])])
    nodes = [node("If", ["c"], ["y"], then_branch=good, else_branch=odd)]

    def model(condition):
        return make_model(nodes, {"x": [2, 3]}, initializers=[tensor("c", condition)])

    np.testing.assert_array_equal(run_model(model(True), {"x": X})[0], -X)
    with pytest.raises(CompileError, match="Odd"):
        import_model(model(False))


# ---- attributes and arity ------------------------------------------------------------------------


def _conv(**attributes):
    attributes = {"kernel_shape": [3, 3], **attributes}
    return make_model(
        [node("Conv", ["x", "w"], ["y"], name="conv", **attributes)],
        {"x": [1, 2, 8, 8]},
        initializers=[tensor("w", np.ones((4, 2, 3, 3), np.float32))],
    )


def _one(op_type, *inputs, opset=17, shape=(2, 3), **attributes):
    names = ["x", *(f"i{index}" for index in range(len(inputs)))]
    initializers = [tensor(n, value) for n, value in zip(names[1:], inputs, strict=True)]
    nodes = [node(op_type, names, ["y"], name="n", **attributes)]
    return make_model(nodes, {"x": shape}, initializers=initializers, opset=opset)


def _twice():
    model = _conv(group=1)
    model.graph.node[0].attribute.append(helper.make_attribute("group", 2))
    return model


def _of_type(attribute):
    model = _conv()
    model.graph.node[0].attribute.append(attribute)
    return model


@pytest.mark.parametrize(
    "model, message",
    [
        (_twice(), "'conv' has the attribute 'group' twice"),
        (_of_type(helper.make_attribute("group", 1.5)), "'group' has type FLOAT, expected INT"),
        (_of_type(helper.make_attribute("stride", [1, 1])), "unknown attribute 'stride'"),
        (_of_type(helper.make_attribute("auto_pad", b"\xff")), "not valid UTF-8"),
        (_conv(auto_pad="SOME"), "unknown auto_pad 'SOME'"),
        (_conv(group=0), "group must be at least 1"),
        (_conv(group=3), "Conv|conv2d"),
        (_conv(strides=[0, 1]), "strides must be 2 numbers of at least 1"),
        (_conv(strides=[1]), "strides must be 2 numbers"),
        (_conv(dilations=[1, 0]), "dilations"),
        (_conv(dilations=[2**40, 1]), "conv2d"),
        (_conv(pads=[-1, 0, 0, 0]), "pads"),
        (_conv(pads=[0, 0]), "expected 4 pads"),
        (_conv(kernel_shape=[2**31, 3]), "kernel_shape"),
        (_one("Flatten", axis=99), "axis 99 is out of range"),
        (_one("Softmax", axis=99), "axis 99"),
        (_one("Concat"), "lacks the attribute 'axis'"),
        (_one("Transpose", perm=[0, 0]), "transpose"),
        (_one("Transpose", perm=[0, 2]), "transpose"),
        (_one("Cast", to=999), "unknown element type 999"),
        (_one("Cast", to=TensorProto.STRING), "STRING, which is not supported"),
        (_one("DepthToSpace", blocksize=0, shape=(1, 4, 2, 2)), "depth_to_space"),
        (_one("MaxPool", kernel_shape=[0, 1], shape=(1, 1, 4, 4)), "kernel_shape"),
        (_one("MaxPool", kernel_shape=[2**31, 1], shape=(1, 1, 4, 4)), "max_pool2d"),
        (_one("MaxPool", kernel_shape=[2], shape=(1, 1, 4, 4)), "kernel_shape must be 2 numbers"),
        (_one("Add"), "has 1 inputs, expected 2 to 2"),
        (_one("Relu", X), "has 2 inputs, expected 1 to 1"),
        (_one("Reshape", np.array([7, 7])), "elements|reshape"),
        (_one("Reshape", np.array([-1, -1])), "is not a shape"),
        (_one("Reshape", np.array([0, 0, 0])), "keeps dimension 2"),
        (_one("Reshape", np.array([1.5])), "must be a list of integers"),
        (_one("Expand", np.array([5, 3])), "do not broadcast"),
        (_one("Tile", np.array([2])), "repeats"),
        (_one("Tile", np.array([-1, 1])), "repeats"),
        (_one("Slice", np.array([0]), np.array([1, 2])), "differ in length"),
        (_one("Slice", *map(np.array, ([0], [1], [0], [0]))), "a step must not be 0"),
        (_one("Slice", *map(np.array, ([0], [1], [5], [1]))), "axis 5 is out of range"),
        (_one("Split", np.array([1, 3]), axis=1), "do not split"),
        (_one("Gather", np.array([0, 2])), "out of range for size 2"),
        (_one("Gather", np.array([-3])), "out of range for size 2"),
        (_one("Gather", np.array([0.5])), "take"),
        (_one("GatherND", np.array([[0, 3]])), "out of range"),
        (_one("Unsqueeze", np.array([0, 0])), "twice"),
        (_one("Squeeze", np.array([0])), "squeeze"),
        (_one("Split", axis=1, num_outputs=2**31, opset=18), "num_outputs is not 1"),
        (_one("TopK", np.array([9])), "TopK"),
        (_one("Pad", np.array([-9, 0, 0, 0])), "cut more than the size"),
        (_one("MatMul", X), "multiply"),
        (_one("Add", np.ones(5, np.float32)), "broadcast_add"),
        (_one("Add", np.ones(3, np.float64)), "dtypes float32 and float64 differ"),
    ],
)  # fmt: skip
def test_malformed_nodes(model, message):
    with pytest.raises(CompileError, match=message) as caught:
        import_model(model)
    name = model.graph.node[0].name
    assert f"'{name}'" in str(caught.value) or "UTF-8" in message


def test_missing_required_input():
    model = make_model([node("Add", ["x", ""], ["y"], name="n")], {"x": [2]})
    with pytest.raises(CompileError, match="Add node 'n' lacks input 1"):
        import_model(model)


def test_nan_attributes_are_legal():
    (y,) = run_model(_one("LeakyRelu", alpha=float("nan")), {"x": X})
    np.testing.assert_array_equal(y, np.where(X > 0, X, np.nan))


def test_negative_pads_cut():
    (y,) = run_model(_one("Pad", np.array([0, -1, 1, -1])), {"x": X})
    np.testing.assert_array_equal(y, [[2], [-5], [0]])


# ---- opsets --------------------------------------------------------------------------------------


def test_softmax_coerces_to_a_matrix_before_opset_13():
    x = np.random.default_rng(0).normal(size=(2, 3, 4)).astype(np.float32)
    (y,) = run_model(_one("Softmax", axis=1, opset=11, shape=x.shape), {"x": x})
    np.testing.assert_allclose(y.sum(axis=(1, 2)), 1, rtol=1e-6)
    (y,) = run_model(_one("Softmax", axis=1, opset=13, shape=x.shape), {"x": x})
    np.testing.assert_allclose(y.sum(axis=1), 1, rtol=1e-6)


def test_limited_broadcasting_of_opset_6():
    w = np.array([1, 2], np.float32)
    (y,) = run_model(_one("Add", w, opset=6, broadcast=1, axis=0), {"x": X})
    np.testing.assert_array_equal(y, X + w[:, None])
    with pytest.raises(CompileError, match="'broadcast' is not set"):
        import_model(_one("Add", w, opset=6))


def test_attributes_that_became_inputs():
    for opset, model in {
        6: _one("Clip", min=0.0, max=2.0, opset=6),
        11: _one("Clip", np.float32(0), np.float32(2), opset=11),
    }.items():
        np.testing.assert_array_equal(
            run_model(model, {"x": X})[0], X.clip(0, 2), err_msg=str(opset)
        )
    for opset, model in {
        9: _one("Slice", starts=[1], ends=[99], axes=[1], opset=9),
        10: _one("Slice", np.array([1]), np.array([99]), np.array([1]), opset=10),
    }.items():
        np.testing.assert_array_equal(run_model(model, {"x": X})[0], X[:, 1:], err_msg=str(opset))
    for opset, model in {
        11: _one("ReduceSum", axes=[1], keepdims=0, opset=11),
        13: _one("ReduceSum", np.array([1]), keepdims=0, opset=13),
    }.items():
        np.testing.assert_array_equal(run_model(model, {"x": X})[0], X.sum(1), err_msg=str(opset))


def test_many_operators_are_supported():
    assert len(supported_operators()) >= 130


def test_specialised_graphs_share_nothing():
    model = make_model([node("Relu", ["x"], ["y"])], {"x": ["N", 3]})
    first, second = (import_with(model, {"x": np.zeros((n, 3), np.float32)}) for n in (1, 2))
    assert first.module.context is not second.module.context
    assert first.outputs[0].type.shape == (1, 3)
