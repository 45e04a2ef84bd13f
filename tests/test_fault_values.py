"""Values that trap, point nowhere or make no shape, at import and at calls; and shapes that lie or are empty."""

import numpy as np
import pytest
from compiled_models import X, folded, int64, model_of, run
from onnx_models import INT64, make_model, node, tensor, value_info

import nnvm_mlir
from nnvm_mlir.errors import CompileError

# ---- integers that trap ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "int64"])
@pytest.mark.parametrize("length", [6, 48])
def test_integer_division(dtype, length):
    low = np.iinfo(dtype).min
    feeds = {
        "a": np.resize(np.array([low, low, 5, 0, -7, 7], dtype), length),
        "b": np.resize(np.array([-1, 0, 0, 0, 2, -2], dtype), length),
    }
    nodes = [
        node("Div", ["a", "b"], ["quotient"]),
        node("Mod", ["a", "b"], ["modulus"]),
        node("Mod", ["a", "b"], ["remainder"], fmod=1),
    ]
    outputs = ["quotient", "modulus", "remainder"]
    got = run(nodes, feeds, outputs)
    np.testing.assert_array_equal(got, folded(nodes, feeds, outputs))
    np.testing.assert_array_equal(np.array(got)[1:, 4:6], [[1, -1], [-1, 1]])


@pytest.mark.parametrize("dtype", ["uint8", "uint16", "uint32", "uint64"])
@pytest.mark.parametrize("direction", ["LEFT", "RIGHT"])
def test_shifts_by_the_width_or_more(dtype, direction):
    width = np.iinfo(dtype).bits
    feeds = {"a": np.full(4, 131, dtype), "b": np.array([0, 1, width, 255], dtype)}
    nodes = [node("BitShift", ["a", "b"], ["y"], direction=direction)]
    (got,) = run(nodes, feeds)
    once = (131 * 2) % 2**width if direction == "LEFT" else 65
    np.testing.assert_array_equal(got, [131, once, 0, 0])
    np.testing.assert_array_equal(got, folded(nodes, feeds)[0])


@pytest.mark.parametrize("to", [2, 3, 6, 7])
def test_numbers_that_no_integer_holds(to):
    feeds = {"x": np.float32([np.nan, np.inf, -np.inf, 3e38, -3e38, 1.5, -1.5] * 3)}
    nodes = [node("Cast", ["x"], ["y"], to=to)]
    np.testing.assert_array_equal(run(nodes, feeds)[0], folded(nodes, feeds)[0])


# ---- indices ---------------------------------------------------------------------------------------------------------

INDEXED = {
    "Gather": ([node("Gather", ["x", "i"], ["y"])], {}),
    "GatherElements": ([node("GatherElements", ["x", "i"], ["y"])], {}),
    "GatherND": ([node("GatherND", ["x", "i"], ["y"])], {}),
    "ScatterND": ([node("ScatterND", ["x", "i", "u"], ["y"])], {"u": np.float32([9])}),
    "ScatterElements": (
        [node("ScatterElements", ["x", "i", "u"], ["y"], reduction="add")],
        {"u": np.float32([[9, 8]])},
    ),
}


@pytest.mark.parametrize("operator", INDEXED)
def test_indices_out_of_range(operator):
    nodes, more = INDEXED[operator]
    feeds = {"x": X, "i": int64([0, -1]), **more}
    model = nnvm_mlir.compile(model_of(nodes, feeds), threads=1)
    want = folded(nodes, feeds)[0]
    for bad in (99, -99, 2**62, -(2**63), 2**31, 2**32):
        for indices in ([0, bad], [bad, 0]):
            with pytest.raises(IndexError, match="node 'y'"):
                model({**feeds, "i": int64(indices)})
            with pytest.raises(CompileError, match="out of range"):
                folded(nodes, {**feeds, "i": int64(indices)})
    np.testing.assert_array_equal(model(feeds)[0], want)


def test_one_hot_of_an_index_out_of_range_is_all_off():
    nodes = [node("OneHot", ["i", "d", "v"], ["y"])]
    feeds = {"i": int64(1, -1, 3, -4, 2**62, -(2**63))}
    constants = [tensor("d", np.int64(3)), tensor("v", np.float32([0, 1]))]
    (got,) = run(nodes, feeds, constants=constants)
    np.testing.assert_array_equal(got, [[0, 1, 0], [0, 0, 1], *[[0, 0, 0]] * 4])


# ---- values that decide shapes ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("starts", "ends", "steps", "want"),
    [
        ([-1], [-100], [-1], X[::-1]),
        ([-(2**63)], [2**63 - 1], [1], X),
        ([2**62], [2**63 - 1], [2**62], X[:0]),
        ([2], [-(2**63)], [-(2**63)], X[2:]),
        ([2], [1], [1], X[:0]),
    ],
)
def test_slices_at_run_time(starts, ends, steps, want):
    feeds = {"x": X, "s": int64(*starts), "e": int64(*ends), "a": int64(0), "t": int64(*steps)}
    (got,) = run([node("Slice", ["x", "s", "e", "a", "t"], ["y"])], feeds)
    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize(
    ("nodes", "bad", "message"),
    [
        ([node("Reshape", ["x", "s"], ["y"])], [5, 5], "cannot reshape"),
        ([node("Reshape", ["x", "s"], ["y"])], [-1, -1], "not a shape"),
        ([node("Reshape", ["x", "s"], ["y"])], [2**62, 4], "cannot reshape"),
        ([node("Reshape", ["x", "s"], ["y"])], [-2, 3], "not a shape"),
        ([node("Expand", ["x", "s"], ["y"])], [5, 4], "broadcast"),
        ([node("Tile", ["x", "s"], ["y"])], [-1, 4], "repeats"),
        ([node("Tile", ["x", "s"], ["y"])], [2**40, 2**40], "needs"),
    ],
)
def test_shapes_that_a_call_gives_wrong(nodes, bad, message):
    model = nnvm_mlir.compile(model_of(nodes, {"x": X, "s": int64(3, 4)}), threads=1)
    good = model(x=X, s=int64(3, 4))[0]
    with pytest.raises(CompileError, match=message):
        model(x=X, s=int64(*bad))
    np.testing.assert_array_equal(model(x=X, s=int64(3, 4))[0], good)


def test_ranges_at_run_time():
    inputs = [value_info(name, [], INT64) for name in "sed"]
    model = nnvm_mlir.compile(make_model([node("Range", list("sed"), ["y"])], inputs), threads=1)
    np.testing.assert_array_equal(model(0, 7, 3)[0], [0, 3, 6])
    np.testing.assert_array_equal(model(0, 7, -3)[0], [])
    for arguments, message in [((0, 7, 0), "step"), ((0, 2**60, 1), "needs")]:
        with pytest.raises(CompileError, match=message):
            model(*arguments)
    np.testing.assert_array_equal(model(5, 0, -2)[0], [5, 3, 1])


def test_pads_that_cut():
    nodes = [node("Pad", ["x", "p"], ["y"])]
    (got,) = run(nodes, {"x": X, "p": int64(-1, 0, 0, -1)})
    np.testing.assert_array_equal(got, X[1:, :-1])
    for pads in (int64(-3, 0, -3, 0), int64(-(2**63), 0, 0, 0)):
        with pytest.raises(CompileError, match="pads"):
            run(nodes, {"x": X, "p": pads})


# ---- shapes that lie, or are empty -----------------------------------------------------------------------------------


def test_one_dimension_of_two_sizes():
    inputs = {"a": ["N", 2], "b": ["N", 2]}
    model = nnvm_mlir.compile(make_model([node("Add", ["a", "b"], ["y"])], inputs), threads=1)
    two, three = np.ones((2, 2), np.float32), np.ones((3, 2), np.float32)
    with pytest.raises(CompileError, match="'N' is 2 in input 'a' and 3 in input 'b'"):
        model(two, three)
    np.testing.assert_array_equal(model(three, three)[0], three * 2)


def test_declared_output_shape_that_lies():
    model = make_model([node("Relu", ["x"], ["y"])], {"x": [3, 4]}, [value_info("y", [7])])
    compiled = nnvm_mlir.compile(model, threads=1)
    assert compiled.outputs[0].shape == (3, 4)
    np.testing.assert_array_equal(compiled(X)[0], X)


EMPTY = np.zeros((0, 3), np.float32)
KERNEL = np.ones((4, 2, 3, 3), np.float32)


@pytest.mark.parametrize(
    ("nodes", "feeds", "want"),
    [
        ([node("Relu", ["x"], ["y"])], {"x": EMPTY}, EMPTY),
        ([node("Transpose", ["x"], ["y"])], {"x": EMPTY}, EMPTY.T),
        ([node("Softmax", ["x"], ["y"])], {"x": EMPTY.T}, EMPTY.T),
        ([node("MatMul", ["x", "w"], ["y"])], {"x": EMPTY.T, "w": EMPTY}, np.zeros((3, 3))),
        ([node("MatMul", ["w", "x"], ["y"])], {"x": EMPTY.T, "w": EMPTY}, np.zeros((0, 0))),
        ([node("Concat", ["x", "w"], ["y"], axis=0)], {"x": EMPTY, "w": X[:, :3]}, X[:, :3]),
        ([node("ReduceSum", ["x"], ["y"], keepdims=0)], {"x": EMPTY}, 0),
        ([node("ReduceMax", ["x"], ["y"])], {"x": EMPTY}, [[-np.inf]]),
        ([node("Conv", ["x", "w"], ["y"])], {"x": EMPTY.reshape(0, 2, 5, 5), "w": KERNEL}, np.zeros((0, 4, 3, 3))),
        ([node("Slice", ["x", "s", "s"], ["a"]), node("Exp", ["a"], ["y"])], {"x": X, "s": int64(1)}, X[:0]),
        ([node("Gather", ["x", "i"], ["y"])], {"x": X, "i": np.zeros((0, 2), np.int64)}, np.zeros((0, 2, 4))),
    ],
)  # fmt: skip
def test_empty_tensors(nodes, feeds, want):
    (got,) = run(nodes, feeds)
    assert got.shape == np.shape(want)
    np.testing.assert_array_equal(got, want)
