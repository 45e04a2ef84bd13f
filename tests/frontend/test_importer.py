"""Importing as a whole: models of unusual size, values that decide shapes, shared weights."""

import tracemalloc

import numpy as np
import pytest
from onnx_models import (
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
from nnvm_mlir.frontend.onnx import import_model, load_model
from nnvm_mlir.interpret import interpret

# ---- size ----------------------------------------------------------------------------------------


def test_long_chain():
    nodes = [node("Neg", ["x" if i == 0 else f"v{i - 1}"], [f"v{i}"]) for i in range(10_000)]
    np.testing.assert_array_equal(
        run_model(make_model(nodes, {"x": [2, 3]}, ["v9999"]), {"x": X})[0], X
    )


def test_sixty_doublings():
    nodes = [node("Add", [f"v{i}", f"v{i}"], [f"v{i + 1}"]) for i in range(60)]
    nodes.insert(0, node("Identity", ["x"], ["v0"]))
    (y,) = run_model(make_model(nodes, {"x": [2, 3]}, ["v60"]), {"x": X})
    np.testing.assert_array_equal(y, X * 2.0**60)


def test_wide_concat():
    nodes = [node("Concat", ["x"] * 3000, ["y"], axis=0)]
    np.testing.assert_array_equal(
        run_model(make_model(nodes, {"x": [2, 3]}), {"x": X})[0], np.tile(X, (3000, 1))
    )


BIG = np.array([2**21, 2**20])


@pytest.mark.parametrize(
    "nodes, constants",
    [
        ([node("ConstantOfShape", ["s"], ["y"])], {"s": BIG}),
        ([node("Tile", ["one", "s"], ["y"])], {"s": BIG}),
        ([node("Expand", ["one", "s"], ["y"])], {"s": BIG}),
        ([node("Pad", ["one", "s"], ["y"])], {"s": np.array([0, 0, *BIG])}),
        ([node("Range", ["a", "b", "c"], ["y"])], {"a": 0, "b": 2**40, "c": 1}),
        ([node("Range", ["a", "b", "c"], ["y"])], {"a": 0.0, "b": 1.0, "c": 1e-30}),
        ([node("OneHot", ["i", "d", "v"], ["y"])], {"i": BIG, "d": 2**40, "v": np.eye(2)[0]}),
        ([node("Resize", ["one", "", "s"], ["y"])], {"s": np.array([2e6, 2e6], np.float32)}),
        (
            [node("Concat", [*"aaaaa"], ["b"], axis=0), node("Concat", [*"bbbbbb"], ["y"], axis=0)],
            {"a": np.ones(10**6)},
        ),
    ],
)  # fmt: skip
def test_constants_that_explode(nodes, constants):
    constants = {"one": np.ones((1, 1), np.float32), **constants}
    weights = [tensor(name, value) for name, value in constants.items()]
    tracemalloc.start()
    with pytest.raises(CompileError, match=r"needs [0-9]+ bytes .*the limit is"):
        import_model(make_model(nodes, initializers=weights), fold_limit=100 << 20)
    assert tracemalloc.get_traced_memory()[1] < 300 << 20
    tracemalloc.stop()


def test_tensors_that_no_machine_holds():
    nodes = [node("Concat", [f"v{i}"] * 2, [f"v{i + 1}"], axis=0, name=f"n{i}") for i in range(60)]
    nodes.insert(0, node("Identity", ["x"], ["v0"]))
    with pytest.raises(CompileError, match=r"'n\d+'\) needs [0-9]+ bytes for a tensor"):
        import_model(make_model(nodes, {"x": [2, 3]}, ["v60"]))
    with pytest.raises(CompileError, match=r"input 'x' needs [0-9]+ bytes for a tensor"):
        import_model(make_model([node("Relu", ["x"], ["y"])], {"x": ["N"]}), {"x": (2**70,)})


# ---- known values --------------------------------------------------------------------------------


def test_shape_arithmetic_leaves_nothing_behind():
    nodes = [
        node("Shape", ["x"], ["s"]),
        node("Gather", ["s", "zero"], ["n"]),
        node("Unsqueeze", ["n", "zero1"], ["n1"]),
        node("Concat", ["n1", "rest"], ["t"], axis=0),
        node("Reshape", ["x", "t"], ["y"]),
    ]
    weights = [tensor("zero", 0), tensor("zero1", [0]), tensor("rest", [-1, 1])]
    model = make_model(nodes, {"x": ["N", "C"]}, initializers=weights)
    graph = import_model(model, {"x": (2, 3)})
    assert operators(graph) == ["nnvm.reshape"]
    assert graph.outputs[0].type.shape == (2, 3, 1)


RESHAPE = make_model(
    [node("Abs", ["s"], ["t"]), node("Reshape", ["x", "t"], ["y"], name="r")],
    [value_info("x", [2, 3]), value_info("s", [1], INT64)],
)


def test_values_that_decide_a_shape_are_asked_for():
    with pytest.raises(
        NeedsValue, match="Reshape node 'r': input 1 depends on the values of 's'"
    ) as caught:
        import_model(RESHAPE)
    assert caught.value.names == ("s",)
    graph = import_model(RESHAPE, values={"s": np.array([-6])})
    assert [v.name for v in graph.inputs] == ["x"]
    assert graph.outputs[0].type.shape == (6,)


@pytest.mark.parametrize("value", [np.array([6], np.int32), np.array([3, 2])])
def test_given_values_are_checked(value):
    with pytest.raises(CompileError, match="'s'"):
        import_model(RESHAPE, values={"s": value})


def test_given_values_are_copied():
    value = np.array([[1.0, 2.0]], np.float32)
    model = make_model([node("Identity", ["x"], ["y"])], {"x": [1, 2]})
    graph = import_model(model, values={"x": value})
    value[:] = 0
    np.testing.assert_array_equal(interpret(graph, {})[0], [[1, 2]])


def test_graph_of_constants():
    nodes = [node("Constant", [], ["a"], value_floats=[3.0, 1.0]), node("Min", ["a", "b"], ["y"])]
    graph = import_model(make_model(nodes, initializers=[tensor("b", [2.0], "float32")]))
    assert operators(graph) == []
    np.testing.assert_array_equal(interpret(graph, {})[0], [2, 1])


@pytest.mark.parametrize("op_type", ["Div", "Mod"])
def test_integer_division_by_zero_and_of_the_smallest(op_type):
    a, b = np.array([7, -(2**63)]), np.array([0, -1])
    nodes = [node(op_type, ["a", "b"], ["y"])]
    folded = run_model(make_model(nodes, initializers=[tensor("a", a), tensor("b", b)]), {})
    inputs = [value_info("a", [2], INT64), value_info("b", [2], INT64)]
    np.testing.assert_array_equal(
        run_model(make_model(nodes, inputs), {"a": a, "b": b})[0], folded[0]
    )


def test_specialised_graphs_share_weights():
    weights = [tensor("w", np.ones((100, 100), np.float32))]
    model = make_model([node("MatMul", ["x", "w"], ["y"])], {"x": ["N", 100]}, ["y"], weights)
    for source in (model, model.SerializeToString()):
        loaded = load_model(source)
        graphs = [import_model(loaded, {"x": (n, 100)}) for n in (1, 2)]
        first, second = (graph.params["w"] for graph in graphs)
        assert np.shares_memory(first, second)
