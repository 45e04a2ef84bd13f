"""Models that are wrong, lie or explode, through `compile()` and calls: one clean error, or the right answer."""

import itertools

import numpy as np
import pytest
from compiled_models import X, int64, model_of, run
from onnx_models import node, tensor

import nnvm_mlir
from nnvm_mlir.errors import CompileError, LoadError

# ---- files -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "empty"),
        (b"version https://git-lfs.github.com/spec/v1\n", "LFS"),
        (b"<!DOCTYPE html><html>", "HTML"),
        (b"\x08\x08\x12", "not an ONNX model"),
    ],
)
def test_files_that_are_no_models(tmp_path, data, message):
    path = tmp_path / "m.onnx"
    path.write_bytes(data)
    with pytest.raises(LoadError, match=message):
        nnvm_mlir.compile(path)


def test_every_unsupported_operator_is_listed():
    nodes = [node("Nope", ["x"], ["a"], name="n1"), node("Never", ["a"], ["y"], name="n2")]
    with pytest.raises(CompileError, match=r"(?s)Never.*'n2'.*Nope.*'n1'"):
        nnvm_mlir.compile(model_of(nodes, {"x": X}))


# ---- size ------------------------------------------------------------------------------------------------------------


def test_a_chain_of_ten_thousand_nodes():
    operators = ["Relu", "Neg", "Abs", "Identity"]
    nodes = [node(operators[i % 4], [f"v{i}"], [f"v{i + 1}"]) for i in range(10_000)]
    (got,) = run(nodes, {"v0": X}, ["v10000"])
    np.testing.assert_array_equal(got, X)


def test_sixty_doublings():
    nodes = [node("Add", [f"v{i}"] * 2, [f"v{i + 1}"]) for i in range(60)]
    np.testing.assert_array_equal(run(nodes, {"v0": X}, ["v60"])[0], X * 2.0**60)


def test_sixty_diamonds():
    nodes = []
    for i in range(60):
        nodes += [
            node("Relu", [f"v{i}"], [f"a{i}"]),
            node("ReduceMax", [f"v{i}"], [f"b{i}"], axes=[1]),
            node("Max", [f"a{i}", f"b{i}"], [f"v{i + 1}"]),
        ]
    want = np.broadcast_to(X.max(1, keepdims=True), X.shape)
    np.testing.assert_array_equal(run(nodes, {"v0": X}, ["v60"])[0], want)


def test_a_concatenation_of_three_thousand():
    nodes = [node(("Neg", "Abs")[i % 2], ["x"], [f"v{i}"]) for i in range(3000)]
    nodes.append(node("Concat", [f"v{i}" for i in range(3000)], ["y"], axis=0))
    x = np.float32([1, 2])
    np.testing.assert_array_equal(run(nodes, {"x": x})[0], np.tile([-1, -2, 1, 2], 1500))


# ---- memory ----------------------------------------------------------------------------------------------------------

BIG = int64(2**20, 2**20)


def doublings(count):
    return [node("Concat", [f"v{i}"] * 2, [f"v{i + 1}"], axis=0) for i in range(count)]


@pytest.mark.parametrize(
    ("nodes", "feeds", "constants"),
    [
        ([node("ConstantOfShape", ["s"], ["b"])], {}, {"s": BIG}),
        ([node("ConstantOfShape", ["s"], ["b"])], {}, {"s": int64(2**62, 2**62, 4)}),
        ([node("Tile", ["c", "s"], ["b"])], {}, {"s": BIG, "c": X}),
        ([node("Tile", ["x", "s"], ["b"])], {"x": X}, {"s": BIG}),
        ([node("Expand", ["x", "s"], ["b"])], {"x": X[:1, :1]}, {"s": BIG}),
        ([node("Expand", ["x", "s"], ["a"]), node("Softmax", ["a"], ["b"])], {"x": X[:1, :1]}, {"s": int64(2**17, 2**17)}),
        ([node("Pad", ["x", "s"], ["b"])], {"x": X}, {"s": int64(0, 0, *BIG)}),
        ([node("Range", ["a", "s", "d"], ["b"])], {}, {"a": int64(0), "s": int64(2**60), "d": int64(1)}),
        ([node("OneHot", ["i", "s", "v"], ["b"])], {}, {"i": int64(1, 2), "s": int64(2**40), "v": np.float32([0, 1])}),
        ([node("Add", ["c", "x"], ["b"])], {"x": np.ones((1, 2**20), np.float32)}, {"c": np.ones((2**20, 1), np.float32)}),
        ([*doublings(40), node("Relu", ["v40"], ["b"])], {}, {"v0": X}),
        ([*doublings(34), node("Softmax", ["v34"], ["b"])], {"v0": X}, {}),
    ],
)  # fmt: skip
@pytest.mark.parametrize("reduced", [True, False])
def test_tensors_that_explode(nodes, feeds, constants, reduced):
    scalars = (
        {"a", "s", "d"}
        if nodes[0].op_type == "Range"
        else {"s"}
        if nodes[0].op_type == "OneHot"
        else set()
    )
    tensors = [tensor(n, v.reshape(()) if n in scalars else v) for n, v in constants.items()]
    last = node("ReduceSum", ["b"], ["y"]) if reduced else node("Identity", ["b"], ["y"])
    with pytest.raises(CompileError, match=r"needs \d+ bytes.*limit"):
        nnvm_mlir.compile(model_of([*nodes, last], feeds, constants=tensors), threads=1)


def test_many_constants_share_one_budget():
    nodes = [
        node("ConstantOfShape", ["s"], [f"c{i}"], value=tensor("v", np.float32([i])))
        for i in range(20)
    ]
    nodes.append(node("Sum", ["x", *(f"c{i}" for i in range(20))], ["y"]))
    with pytest.raises(CompileError, match="other constants leave"):
        run(nodes, {"x": X[0, :1]}, constants=[tensor("s", int64(100, 2**18))])


# ---- attributes ------------------------------------------------------------------------------------------------------

IMAGE = np.ones((1, 2, 5, 5), np.float32)
KERNEL = tensor("w", np.ones((2, 2, 3, 3), np.float32))


@pytest.mark.parametrize(
    ("operator", "inputs", "attributes", "message"),
    [
        ("Conv", ["x", "w"], {"group": 0}, "group"),
        ("Conv", ["x", "w"], {"strides": [0, 1]}, "strides"),
        ("Conv", ["x", "w"], {"pads": [-9, 0, 0, 0]}, "pad"),
        ("Conv", ["x", "w"], {"dilations": [2**62, 1]}, "window|dilation"),
        ("MaxPool", ["x"], {"kernel_shape": [2**31, 2**31]}, "window|positions"),
        ("AveragePool", ["x"], {"kernel_shape": [2**31] * 2, "pads": [2**30] * 4}, "positions"),
        ("Transpose", ["x"], {"perm": [0, 0, 1, 2]}, "twice"),
        ("Softmax", ["x"], {"axis": 99}, "axis"),
        ("Cast", ["x"], {"to": 999}, "999"),
        ("DepthToSpace", ["x"], {"blocksize": 0}, "block"),
        ("LRN", ["x"], {"size": 0}, "size"),
    ],
)
def test_attributes_that_make_no_sense(operator, inputs, attributes, message):
    model = model_of(
        [node(operator, inputs, ["y"], **attributes)], {"x": IMAGE}, constants=[KERNEL]
    )
    with pytest.raises(CompileError, match=message):
        nnvm_mlir.compile(model, threads=1)


def test_attributes_that_are_not_finite():
    (got,) = run([node("LeakyRelu", ["x"], ["y"], alpha=float("nan"))], {"x": np.float32([-1, 2])})
    np.testing.assert_array_equal(got, [np.nan, 2])
    (got,) = run([node("Elu", ["x"], ["y"], alpha=float("inf"))], {"x": np.float32([-1, 2])})
    np.testing.assert_array_equal(got, [-np.inf, 2])


# ---- names -----------------------------------------------------------------------------------------------------------

NAMES = [
    'a"b',
    "a\nb",
    "\U0001f600",
    "%0",
    "a.b",
    "a_b",
    "malloc",
    "main",
    "nnvm_entry",
    "../../x",
    "[red]",
    "{}",
    "x" * 100_000,
]


def test_hostile_names():
    operators = ["Relu", "Tanh", "MatMul", "Softmax"]
    nodes = []
    for i, (source, target) in enumerate(itertools.pairwise(NAMES)):
        operator = operators[i % 4]
        inputs = [source, source] if operator == "MatMul" else [source]
        nodes.append(node(operator, inputs, [target], name="twice"))
    x = X[:3, :3]
    named = model_of(nodes, {NAMES[0]: x}, NAMES[-2:])
    plain = {name: f"v{i}" for i, name in enumerate(NAMES)}
    for item in nodes:
        item.input[:] = [plain[name] for name in item.input]
        item.output[:] = [plain[name] for name in item.output]
    want = run(nodes, {"v0": x}, [plain[name] for name in NAMES[-2:]])
    compiled = nnvm_mlir.compile(named, threads=1)
    assert [spec.name for spec in compiled.outputs] == NAMES[-2:]
    for have, expected in zip(compiled({NAMES[0]: x}), want, strict=True):
        np.testing.assert_array_equal(have, expected)
