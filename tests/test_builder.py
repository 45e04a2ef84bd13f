"""The graph builder: what it folds, what it keeps out of the IR, and what it refuses."""

import numpy as np
import pytest

from nnvm_mlir.builder import INLINE_ELEMENTS, GraphBuilder
from nnvm_mlir.context import make_context
from nnvm_mlir.dialects.nnvm import OPERATORS, verify_module
from nnvm_mlir.dialects.nnvm.types import TensorType
from nnvm_mlir.errors import CompileError
from nnvm_mlir.interpret import interpret

F32 = TensorType((2, 3), "float32")


@pytest.fixture
def b():
    return GraphBuilder(make_context())


def operations(graph):
    return [op.operation.name for op in graph.entry.regions[0].blocks[0].operations]


def test_known_values_are_folded_and_vanish(b):
    x = b.input("x", F32)
    shape = b.constant(np.array([3, 2]))
    flipped = b.op(OPERATORS["flip"], shape, axis=0)
    np.testing.assert_array_equal(flipped.constant, [2, 3])
    parts = b.op(OPERATORS["split"], flipped, indices_or_sections=2, axis=0)
    assert [part.constant.tolist() for part in parts] == [[2], [3]]
    ones = b.op(OPERATORS["ones"], shape=(2, 3), dtype="float32")
    b.output("y", b.op(OPERATORS["broadcast_add"], x, ones))
    graph = b.finish()
    assert operations(graph) == ["nnvm.constant", "nnvm.broadcast_add", "func.return"]
    assert graph.params == {}


def test_small_constants_are_inline_and_large_ones_are_parameters(b):
    x = b.input("c", TensorType((), "float32"))
    small = b.constant(np.ones(INLINE_ELEMENTS, np.float32), "c")
    large = b.constant(np.ones(INLINE_ELEMENTS + 1, np.float32), "c")
    for index, node in enumerate([small, large, large]):
        b.output(f"y{index}", b.op(OPERATORS["broadcast_add"], x, node))
    graph = b.finish()
    assert operations(graph).count("nnvm.constant") == 1
    assert [(v.name, v.kind) for v in graph.variables] == [("c", "input"), ("c_1", "parameter")]
    assert list(graph.params) == ["c_1"]
    verify_module(graph.module)


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint64", "float16", "bfloat16", "float64"])
@pytest.mark.parametrize("shape", [(), (0, 2), (3,)])
def test_constants_of_every_kind(b, dtype, shape):
    import ml_dtypes

    value = np.ones(shape).astype(ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype)
    b.output("y", b.constant(value))
    got = interpret(b.finish(), {})[0]
    assert got.dtype == value.dtype
    np.testing.assert_array_equal(got, value)


def test_a_fold_over_the_budget_is_refused_before_it_is_allocated(b):
    small = b.constant(np.zeros(1, np.float32))
    with pytest.raises(CompileError, match=r"'nnvm.tile' op \(node 'bomb'\).*limit is"):
        b.op(OPERATORS["tile"], small, reps=(1 << 40,), name="bomb")
    with pytest.raises(CompileError, match="limit is"):
        b.op(OPERATORS["full"], shape=(1 << 31, 1 << 31), fill_value=1.0)
    own = GraphBuilder(make_context(), fold_limit=100)
    own.op(OPERATORS["full"], shape=(25,), fill_value=1.0)
    with pytest.raises(CompileError, match="104 bytes"):
        own.op(OPERATORS["full"], shape=(26,), fill_value=1.0)


def test_errors_name_operator_and_node(b):
    x = b.input("x", F32)
    with pytest.raises(CompileError, match=r"'nnvm.matmul' op \(node 'mm'\)"):
        b.op(OPERATORS["matmul"], x, x, name="mm")
    with pytest.raises(CompileError, match="no attribute 'axes'"):
        b.op(OPERATORS["relu"], x, axes=1)
    with pytest.raises(CompileError, match="expects operands"):
        b.op(OPERATORS["broadcast_add"], x)
    with pytest.raises(CompileError, match="two variables are named 'x'"):
        b.parameter("x", np.zeros(1))
    with pytest.raises(CompileError, match="variable 'n' has a negative dimension"):
        b.input("n", TensorType((2, -1), "float32"))


def test_a_node_of_another_builder_is_refused(b):
    stranger = GraphBuilder(make_context()).input("x", F32)
    with pytest.raises(ValueError, match="another builder"):
        b.op(OPERATORS["broadcast_add"], b.input("y", F32), stranger)


@pytest.mark.parametrize(
    "name",
    [
        "",
        "a b",
        'quo"te',
        "new\nline",
        "%0",
        "@main",
        "\u00e9\U0001f600",
        "../../x",
        "x" * 100_000,
        "nul\0",
    ],
)
def test_any_name_is_kept(b, name):
    x = b.input(name, F32)
    w = b.parameter(name + "w", np.ones(3, np.float32))
    b.output(name + "y", b.op(OPERATORS["broadcast_add"], x, w, name=name))
    graph = b.finish()
    verify_module(graph.module)
    assert [v.name for v in graph.variables] == [name, name + "w"]
    assert graph.outputs[0].name == name + "y"
    got = interpret(graph, {name: np.zeros((2, 3), np.float32)})
    np.testing.assert_array_equal(got[0], np.ones((2, 3)))


def test_origins_are_the_inputs_that_a_value_depends_on(b):
    x, y, _ = (b.input(name, F32) for name in "xyz")
    w = b.parameter("w", np.ones(3, np.float32))
    total = b.op(OPERATORS["broadcast_add"], b.op(OPERATORS["broadcast_add"], y, w), x)
    assert [variable.name for variable in b.origins(total)] == ["x", "y"]
    assert b.origins(w) == []
    assert b.origins(b.constant(np.zeros(1))) == []
