import tracemalloc

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from onnx_models import (
    import_with,
    make_model,
    node,
    relu_model,
    run_model,
    tensor,
    value_info,
)

from nnvm_mlir.errors import CompileError, LoadError
from nnvm_mlir.frontend.onnx import import_model, importer
from nnvm_mlir.frontend.onnx.converters import control
from nnvm_mlir.frontend.onnx.registry import supported_operators
from nnvm_mlir.frontend.source import NeedsShapes, NeedsValue
from nnvm_mlir.interpret import interpret
from nnvm_mlir.mlir import ir

X = np.array([[-1.0, 2.0, -3.0], [4.0, -5.0, 6.0]], np.float32)
INT64 = TensorProto.INT64
BOOL = TensorProto.BOOL


def operators(graph):
    """Names of the operators of the entry function, without constants."""
    block = graph.entry.regions[0].blocks[0]
    names = [op.operation.name for op in block.operations]
    return [name for name in names if name not in ("nnvm.constant", "func.return")]


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
