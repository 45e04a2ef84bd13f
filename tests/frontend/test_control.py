"""Control flow: branches and loops that settings decide, and those that data would."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from onnx_models import (
    BOOL,
    INT64,
    X,
    make_model,
    node,
    operators,
    run_model,
    tensor,
    value_info,
)

from nnvm_mlir.errors import CompileError, NeedsValue
from nnvm_mlir.frontend.onnx import import_model, importer
from nnvm_mlir.frontend.onnx.converters import control
from nnvm_mlir.interpret import interpret

# ---- control flow --------------------------------------------------------------------------------


def _if_model(else_node=None, condition=BOOL):
    then_branch = helper.make_graph([node("Neg", ["x"], ["t"])], "t", [], [value_info("t", None)])
    other = else_node or node("Abs", ["x"], ["e"])
    else_branch = helper.make_graph([other], "e", [], [value_info("e", None)])
    nodes = [
        node("Greater", ["c", "limit"], ["choice"]),
        node("If", ["choice"], ["y"], name="if", then_branch=then_branch, else_branch=else_branch),
    ]
    limit = helper.make_tensor("limit", condition, [], [0])
    return make_model(
        nodes, [value_info("x", [2, 3]), value_info("c", [1], condition)], initializers=[limit]
    )


@pytest.mark.parametrize("c", [-1, 1])
def test_if_on_a_setting(c):
    value = np.array([c])
    with pytest.raises(
        NeedsValue, match="If node 'if': the condition depends on the values of 'c'"
    ):
        import_model(_if_model(condition=INT64))
    graph = import_model(_if_model(condition=INT64), values={"c": value})
    assert operators(graph) == ["nnvm.negative" if c > 0 else "nnvm.abs"]
    np.testing.assert_array_equal(interpret(graph, {"x": X})[0], -X if c > 0 else np.abs(X))


@pytest.mark.parametrize("c", [-1, 1])
def test_if_on_data(c):
    inputs = {"x": X, "c": np.array([c], np.float32)}
    graph = import_model(_if_model(condition=TensorProto.FLOAT))
    np.testing.assert_array_equal(interpret(graph, inputs)[0], -X if c > 0 else np.abs(X))


def test_if_on_data_whose_branches_differ():
    model = _if_model(node("Flatten", ["x"], ["e"], axis=0), TensorProto.FLOAT)
    with pytest.raises(NeedsValue, match=r"If node 'if': the condition, .* depends on the values"):
        import_model(model)


def _loop_model(trips):
    body = helper.make_graph(
        [
            node("Add", ["s", "x"], ["s2"]),
            node("Identity", ["go"], ["again"]),
            node("Neg", ["s2"], ["out"]),
        ],
        "body",
        [value_info("i", [], INT64), value_info("go", [], BOOL), value_info("s", [2, 3])],
        [value_info("again", [], BOOL), value_info("s2", [2, 3]), value_info("out", [2, 3])],
    )  # fmt: skip
    nodes = [node("Loop", ["m", "", "x"], ["y", "z"], name="loop", body=body)]
    return make_model(nodes, {"x": [2, 3]}, ["y", "z"], [tensor("m", trips)])


def test_loop_is_unrolled():
    y, z = run_model(_loop_model(3), {"x": X})
    np.testing.assert_array_equal(y, 4 * X)
    np.testing.assert_array_equal(z, [-2 * X, -3 * X, -4 * X])


def test_endless_loop_is_refused(monkeypatch):
    monkeypatch.setattr(control, "MAX_TRIPS", 100)
    with pytest.raises(CompileError, match="'loop': the loop runs more than"):
        import_model(_loop_model(2**62))


# ---- functions -----------------------------------------------------------------------------------

OPSETS = [helper.make_opsetid("", 17), helper.make_opsetid("f", 1)]


def _function(name, inputs, outputs, nodes, attributes=(), protos=()):
    return helper.make_function("f", name, inputs, outputs, nodes, OPSETS, attributes, protos)


def _calling(functions, *calls, **options):
    return make_model(list(calls), {"x": [2, 3]}, functions=functions, domains={"f": 1}, **options)


def test_functions_are_inlined():
    leaky = node("LeakyRelu", ["a"], ["b"])
    leaky.attribute.add(name="alpha", type=onnx.AttributeProto.FLOAT, ref_attr_name="slope")
    inner = _function("Inner", ["a"], ["b"], [leaky], protos=[helper.make_attribute("slope", 0.5)])
    outer = _function(
        "Outer", ["b"], ["a"], [node("Inner", ["b"], ["x"], domain="f"), node("Neg", ["x"], ["a"])]
    )
    call = node("Outer", ["x"], ["y"], domain="f")
    (y,) = run_model(_calling([inner, outer], call), {"x": X})
    np.testing.assert_array_equal(y, -np.where(X > 0, X, X / 2))
    given = node("Inner", ["x"], ["y"], domain="f", slope=2.0)
    np.testing.assert_array_equal(
        run_model(_calling([inner], given), {"x": X})[0], np.where(X > 0, X, X * 2)
    )


def test_absent_arguments_stay_absent():
    clip = _function(
        "MyClip", ["a", "low", "high"], ["b"], [node("Clip", ["a", "low", "high"], ["b"])]
    )
    call = node("MyClip", ["x", "", "one"], ["y"], domain="f")
    model = _calling([clip], call, initializers=[tensor("one", 1.0, "float32")])
    np.testing.assert_array_equal(run_model(model, {"x": X})[0], np.minimum(X, 1))


def test_recursive_functions_are_refused():
    forward = _function("A", ["a"], ["b"], [node("B", ["a"], ["b"], domain="f")])
    backward = _function("B", ["a"], ["b"], [node("A", ["a"], ["b"], domain="f")])
    with pytest.raises(CompileError, match="is recursive"):
        import_model(_calling([forward, backward], node("A", ["x"], ["y"], domain="f")))


def test_function_bombs_are_refused(monkeypatch):
    monkeypatch.setattr(importer, "NODE_LIMIT", 10_000)
    functions = [_function("F0", ["a"], ["b"], [node("Neg", ["a"], ["b"])])]
    for level in range(1, 12):
        calls = [
            node(f"F{level - 1}", ["a" if i == 0 else f"v{i}"], [f"v{i + 1}"], domain="f")
            for i in range(10)
        ]
        functions.append(_function(f"F{level}", ["a"], ["v10"], calls))
    with pytest.raises(CompileError, match=r"more than .* nodes once functions"):
        import_model(_calling(functions, node("F11", ["x"], ["y"], domain="f")))


def test_function_defined_twice():
    function = _function("F", ["a"], ["b"], [node("Neg", ["a"], ["b"])])
    with pytest.raises(CompileError, match="'F' of domain 'f' is defined twice"):
        import_model(_calling([function, function], node("F", ["x"], ["y"], domain="f")))


def test_function_called_with_too_many_arguments():
    function = _function("F", ["a"], ["b"], [node("Neg", ["a"], ["b"])])
    call = node("F", ["x", "x"], ["y"], domain="f", name="call")
    with pytest.raises(CompileError, match="node 'call' gives 2 inputs to function 'F'"):
        import_model(_calling([function], call))
    call = node("F", ["x"], ["y", "z"], domain="f", name="call")
    with pytest.raises(CompileError, match="'call' names 2 outputs, it has 1"):
        import_model(_calling([function], call))
