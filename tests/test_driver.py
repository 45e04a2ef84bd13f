"""`compile()` and the model that it returns: shapes, specialisation, names, stages, levels and overhead."""

import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from random_graphs import RandomGraph, assert_same

import nnvm_mlir
from nnvm_mlir import symbol as sym
from nnvm_mlir.builder import GraphBuilder
from nnvm_mlir.context import make_context
from nnvm_mlir.dialects.nnvm import OPERATORS
from nnvm_mlir.dialects.nnvm.types import TensorType
from nnvm_mlir.driver import MAX_OPT_LEVEL
from nnvm_mlir.errors import CompileError
from nnvm_mlir.interpret import interpret
from nnvm_mlir.target import Target

A = np.float32([[1, 2, 3], [4, 5, 6]])
B = np.float32([10, 20, 30])


@pytest.fixture
def total():
    return sym.Variable("x") * 2 + sym.Variable("y")


def test_shapes_that_are_given(total):
    model = nnvm_mlir.compile(total, shapes={"x": (2, 3), "y": (3,)})
    assert [(s.name, s.shape, s.dtype) for s in model.inputs] == [
        ("x", (2, 3), "float32"),
        ("y", (3,), "float32"),
    ]
    assert [(s.name, s.shape) for s in model.outputs] == [(total.list_output_names()[0], (2, 3))]
    for arguments, named in [
        (({"x": A, "y": B},), {}),
        (({"y": B, "x": A},), {}),
        ((A, B), {}),
        ((A,), {"y": B}),
        ((), {"x": A, "y": B}),
    ]:
        results = model(*arguments, **named)
        assert isinstance(results, list)
        np.testing.assert_array_equal(results[0], A * 2 + B)
    out = np.zeros((2, 3), np.float32)
    assert model(A, B, out=[out])[0] is out
    np.testing.assert_array_equal(out, A * 2 + B)


def test_shapes_that_the_first_call_decides(total):
    model = nnvm_mlir.compile(total)
    assert [s.shape for s in model.inputs] == [None, None]
    with pytest.raises(ValueError, match="call the model first"):
        _ = model.stages
    np.testing.assert_array_equal(model(A, B)[0], A * 2 + B)
    np.testing.assert_array_equal(model({"x": B, "y": B})[0], B * 3)
    assert [s.shape for s in model.inputs] == [None, None]
    assert len(model._programs) == 2
    model(A, B)
    model(B, B)
    assert len(model._programs) == 2
    with pytest.raises(CompileError, match="broadcast_add"):
        model(A, np.zeros(4, np.float32))
    np.testing.assert_array_equal(model(A, B)[0], A * 2 + B)


def test_shapes_in_part():
    x = sym.Variable("x", shape=(None, 3))
    model = nnvm_mlir.compile(sym.sum(x, axis=(1,)))
    assert model.inputs[0].shape == (None, 3)
    for rows in (1, 4):
        np.testing.assert_array_equal(model(np.ones((rows, 3), np.float32))[0], [3] * rows)
    with pytest.raises(ValueError, match=r"x: \?x3 float32: got shape 2x4"):
        model(np.ones((2, 4), np.float32))
    with pytest.raises(CompileError, match=r"'x' is declared as \?x3, got shape 2x4"):
        nnvm_mlir.compile(sym.relu(x), shapes={"x": (2, 4)})


def test_shapes_that_follow_backwards():
    x, y = sym.Variable("x"), sym.Variable("y")
    model = nnvm_mlir.compile(sym.elemwise_add(x, sym.sqrt(y)), shapes={"x": (4,)})
    assert model.inputs[1].shape == (4,)
    np.testing.assert_array_equal(
        model(np.ones(4, np.float32), np.full(4, 4, np.float32))[0], [3] * 4
    )


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (({"x": A},), ValueError, "input 'y' is missing"),
        (({"x": A, "y": B, "z": B},), ValueError, "no input 'z'"),
        ((A,), ValueError, "expected 2 inputs, got 1"),
        ((A, B, B), ValueError, "expected 2 inputs, got 3"),
        ((A, B.astype(np.int64)), TypeError, "y.*int64"),
    ],
)
@pytest.mark.parametrize("shapes", [None, {"x": (2, 3), "y": (3,)}])
def test_calls_that_do_not_fit(total, shapes, arguments, error, message):
    model = nnvm_mlir.compile(total, shapes=shapes)
    with pytest.raises(error, match=message):
        model(*arguments)


def test_positions_and_names_together(total):
    model = nnvm_mlir.compile(total)
    with pytest.raises(ValueError, match="'x' is given twice"):
        model(A, x=A, y=B)
    with pytest.raises(ValueError, match="expected 2 inputs, got 3"):
        model(A, B, B, y=B)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"shapes": {"z": (1,)}}, "shapes name 'z'"),
        ({"opt_level": 4}, "opt_level"),
        ({"threads": 0}, "threads"),
        ({"target": "gpu"}, "target"),
        ({"shapes": {"x": (-1, 3)}}, "x"),
        ({"shapes": [(2, 3)]}, "shapes: expected a dict"),
        ({"opt_level": "3"}, "opt_level must be an integer"),
        ({"target": None}, "target: expected a text or a Target"),
    ],
)
def test_options_that_are_wrong(total, options, message):
    with pytest.raises((ValueError, TypeError), match=message):
        nnvm_mlir.compile(total, **options)


def test_a_target_keeps_its_threads(total):
    target = Target.parse("cpu").with_threads(2)
    assert nnvm_mlir.compile(total, target=target).target.threads == 2
    assert nnvm_mlir.compile(total, target=target, threads=1).target.threads == 1


def test_what_cannot_be_compiled():
    for model in (3, None, [1], np.zeros(3)):
        with pytest.raises((TypeError, nnvm_mlir.LoadError)):
            nnvm_mlir.compile(model)


def test_stages_are_modules_in_order(total):
    model = nnvm_mlir.compile(total, shapes={"x": (2, 3), "y": (3,)})
    stages = model.stages
    names = list(stages)
    assert names[0] == "import"
    assert names[-1] == "llvm"
    assert names.index("nnvm-fuse") < names.index("nnvm-plan-memory") < names.index("linalg")
    assert "nnvm.broadcast_add" in stages["import"]
    assert "linalg.generic" in stages["linalg"]
    assert "llvm.func" in stages["llvm"]
    assert model.stages == stages


@pytest.mark.parametrize("seed", range(6))
def test_levels_agree_with_the_interpreter(seed):
    random = RandomGraph(seed, operators=6)
    want = interpret(random.graph, random.feeds)
    for level in range(MAX_OPT_LEVEL + 1):
        model = nnvm_mlir.compile(random.graph, opt_level=level, threads=1 + level % 2)
        assert [s.name for s in model.inputs] == list(random.feeds)
        assert_same(model(random.feeds), want, level)


def test_a_graph_of_open_shapes():
    b = GraphBuilder(make_context())
    x = b.input("x", TensorType((None, 2), "float32"))
    b.output("y", b.op(OPERATORS["relu"], x))
    graph = b.finish()
    before = str(graph)
    model = nnvm_mlir.compile(graph)
    for rows in (1, 3):
        np.testing.assert_array_equal(
            model(-np.ones((rows, 2), np.float32))[0], np.zeros((rows, 2))
        )
    assert str(graph) == before


def test_parameters_without_a_fitting_value_are_named():
    b = GraphBuilder(make_context())
    weight = b.parameter("w", np.ones(2, np.float32))
    b.output("y", b.op(OPERATORS["negative"], weight))
    graph = b.finish()
    np.testing.assert_array_equal(nnvm_mlir.compile(graph)()[0], [-1, -1])
    graph.params["w"] = np.ones(3, np.float32)
    with pytest.raises(CompileError, match="'w' has a value of type tensor<3xf32>"):
        nnvm_mlir.compile(graph)
    graph.params.clear()
    with pytest.raises(CompileError, match="parameter 'w' has no value"):
        nnvm_mlir.compile(graph)


def test_several_models_in_several_threads():
    def work(scale):
        x = sym.Variable("x", shape=(5,))
        return nnvm_mlir.compile(sym.tanh(x) * scale)(np.ones(5, np.float32))[0][0]

    with ThreadPoolExecutor(4) as pool:
        got = list(pool.map(work, range(8)))
    np.testing.assert_allclose(got, np.tanh(1.0) * np.arange(8), rtol=1e-5)


def test_one_model_specialised_by_several_threads():
    model = nnvm_mlir.compile(sym.Variable("x") + 1)
    with ThreadPoolExecutor(4) as pool:
        got = list(pool.map(lambda n: model(np.zeros(n % 3 + 1, np.float32))[0].sum(), range(24)))
    assert got == [n % 3 + 1 for n in range(24)]
    assert len(model._programs) == 3


@pytest.mark.parametrize("shapes", [{"x": (2, 3), "y": (3,)}, None])
def test_overhead_of_a_call(total, shapes):
    model = nnvm_mlir.compile(total, shapes=shapes, threads=1)
    feeds = {"x": A, "y": B}
    times = []
    for _ in range(2000):
        start = time.perf_counter()
        model(feeds)
        times.append(time.perf_counter() - start)
    assert np.median(times) < 30e-6


def test_processors_that_cannot_run_here(total, monkeypatch):
    monkeypatch.setattr("nnvm_mlir.build.cpu_flags", lambda: frozenset(["avx2"]))
    shapes = {"x": (2, 3), "y": (3,)}
    with pytest.raises(CompileError, match=r"cpu:x86-64-v2 cannot run .* lacks popcnt"):
        nnvm_mlir.compile(total, target="cpu:x86-64-v2", shapes=shapes)
    with pytest.raises(ValueError, match="unknown processor 'z80': known are haswell"):
        nnvm_mlir.Target(cpu="z80")


def test_float16_on_a_processor_without_conversions():
    x = sym.Variable("x", (5,), "float16")
    model = nnvm_mlir.compile(sym.sqrt(x), target="cpu:x86-64", threads=1)
    values = np.arange(5, dtype=np.float16)
    np.testing.assert_array_equal(model(values)[0], np.sqrt(values))
