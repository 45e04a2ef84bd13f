"""Sequences, which exist while a model is imported only."""

import numpy as np
import pytest
from onnx_models import X, make_model, node, run_model, tensor

from nnvm_mlir.errors import CompileError
from nnvm_mlir.frontend.onnx import import_model

MODEL_INPUTS = {"x": [2, 3]}
NUMBERS = [tensor(f"{n}", n) for n in (-1, 0, 1, 2, 9)] + [tensor("sizes", [1, 2])]


def _model(*nodes):
    return make_model(nodes, MODEL_INPUTS, initializers=NUMBERS)


@pytest.mark.parametrize(
    "split, expected",
    [(["x"], X[:, 2:]), (["x", "2"], X[:, 2:]), (["x", "sizes"], X[:, 1:]), (["x", "9"], X)],
)
def test_split_and_at(split, expected):
    nodes = [node("SplitToSequence", split, ["s"], axis=1), node("SequenceAt", ["s", "-1"], ["y"])]
    np.testing.assert_array_equal(run_model(_model(*nodes), {"x": X})[0], expected)


def test_split_without_the_dimension():
    nodes = [
        node("SplitToSequence", ["x"], ["s"], axis=-1, keepdims=0),
        node("SequenceAt", ["s", "1"], ["y"]),
    ]
    np.testing.assert_array_equal(run_model(_model(*nodes), {"x": X})[0], X[:, 1])


@pytest.mark.parametrize("new_axis", [0, 1])
def test_building_a_sequence(new_axis):
    nodes = [
        node("Neg", ["x"], ["n"]),
        node("SequenceEmpty", [], ["a"]),
        node("SequenceInsert", ["a", "x"], ["b"]),
        node("SequenceInsert", ["b", "n", "0"], ["c"]),
        node("SequenceInsert", ["c", "x", "-1"], ["d"]),
        node("SequenceErase", ["d"], ["e"]),
        node("ConcatFromSequence", ["e"], ["y"], axis=-1, new_axis=new_axis),
    ]
    combine = np.stack if new_axis else np.concatenate
    expected = combine([-X, X], axis=-1)
    np.testing.assert_array_equal(run_model(_model(*nodes), {"x": X})[0], expected)


def test_length():
    nodes = [node("SequenceConstruct", ["x", "x"], ["s"]), node("SequenceLength", ["s"], ["y"])]
    assert run_model(_model(*nodes), {"x": X})[0] == 2


@pytest.mark.parametrize(
    "nodes, message",
    [
        ([node("SplitToSequence", ["x", "0"], ["y"])], "parts of 0 elements"),
        ([node("SplitToSequence", ["x", "sizes"], ["y"])], "do not split dimension 0"),
        ([node("SequenceAt", ["x", "0"], ["y"])], "must be a sequence"),
        ([node("SequenceConstruct", ["x"], ["y"])], "output 'y' is a sequence"),
        (
            [node("SequenceConstruct", ["x"], ["s"]), node("Relu", ["s"], ["y"])],
            "input 0 is a sequence",
        ),
        (
            [node("SequenceConstruct", ["x"], ["s"]), node("Shape", ["s"], ["y"])],
            "input 0 is a sequence",
        ),
        ([node("SequenceConstruct", ["x"], ["s"]), node("SequenceAt", ["s", "1"], ["y"])], "range"),
    ],
)
def test_misuse(nodes, message):
    with pytest.raises(CompileError, match=message):
        import_model(_model(*nodes))
