"""NNVM's interface: `compiler.build` and the graph runtime."""

import numpy as np
import pytest

from nnvm_mlir import compiler
from nnvm_mlir import symbol as sym
from nnvm_mlir.errors import CompileError
from nnvm_mlir.interpret import interpret
from nnvm_mlir.runtime import graph_runtime


def test_build_infers_shapes_backwards_and_runs():
    x = sym.Variable("x")
    y = sym.Variable("y")
    z = sym.elemwise_add(x, sym.sqrt(y))
    graph, lib, params = compiler.build(z, target="cpu", shape={"x": (4,)}, dtype="float32")
    assert [(v.name, v.type.shape) for v in graph.inputs] == [("x", (4,)), ("y", (4,))]
    assert params == {}
    module = graph_runtime.create(graph, lib)
    module.set_input("x", np.float32([1, 2, 3, 4]))
    module.set_input(y=np.float32([1, 4, 9, 16]))
    module.run()
    assert module.get_num_outputs() == 1
    np.testing.assert_array_equal(module.get_output(0), [2, 4, 6, 8])
    out = np.zeros(4, np.float32)
    assert module.get_output(0, out) is out
    np.testing.assert_array_equal(out, [2, 4, 6, 8])
    module.run(x=np.zeros(4, np.float32))
    np.testing.assert_array_equal(module.get_output(0), [1, 2, 3, 4])
    np.testing.assert_array_equal(out, [2, 4, 6, 8])


@pytest.mark.parametrize("opt_level", range(4))
def test_parameters_are_precomputed_and_pruned(opt_level):
    rng = np.random.default_rng(1)
    x = sym.Variable("x")
    conv = sym.conv2d(x, channels=4, kernel_size=(3, 3), padding=(1, 1), name="conv")
    y = sym.relu(sym.batch_norm(conv, name="bn"))
    values = {
        name: rng.random(shape).astype(np.float32)
        for name, shape in {
            "conv_weight": (4, 3, 3, 3),
            "conv_bias": (4,),
            "bn_gamma": (4,),
            "bn_beta": (4,),
            "bn_moving_mean": (4,),
            "bn_moving_var": (4,),
        }.items()
    }
    data = rng.standard_normal((1, 3, 8, 8)).astype(np.float32)
    everything = {"x": data, **values}
    plain, _, _ = compiler.build(y, shape={n: v.shape for n, v in everything.items()}, opt_level=0)
    want = interpret(plain, everything)[0]
    graph, lib, params = compiler.build(
        y, shape={"x": data.shape}, params=values, opt_level=opt_level
    )
    assert [v.name for v in graph.inputs] == ["x"]
    assert set(params) == {v.name for v in graph.variables if v.kind == "parameter"}
    if opt_level == 3:
        assert len(params) == 2
    np.testing.assert_allclose(interpret(graph, {"x": data})[0], want, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(lib([data])[0], want, rtol=1e-4, atol=1e-5)
    module = graph_runtime.create(graph, lib)
    module.set_input(**params)
    with pytest.raises(ValueError, match="compiled in with another value"):
        module.set_input(next(iter(params)), 7)


def test_dtypes_by_name():
    x = sym.Variable("x")
    y = sym.cast(sym.Variable("y"), dtype="float64")
    _, lib, _ = compiler.build(x + y, shape={"x": (2,), "y": (2,)}, dtype={"y": "int32"})
    assert [spec.dtype for spec in lib.inputs] == ["float64", "int32"]
    np.testing.assert_array_equal(lib([np.ones(2), np.int32([1, -2])])[0], [2, -1])


def test_errors():
    x, y = sym.Variable("x"), sym.Variable("y")
    with pytest.raises(CompileError, match="types remain unknown"):
        compiler.build(x + y, shape={"x": (4,)})
    with pytest.raises(CompileError, match="elemwise_add"):
        compiler.build(sym.elemwise_add(x, y), shape={"x": (4,), "y": (5,)})
    with pytest.raises(ValueError, match="'z', which is no variable"):
        compiler.build(x, shape={"x": (4,), "z": (4,)})
    with pytest.raises(ValueError, match="'z', which is no variable"):
        compiler.build(x, shape={"x": (4,)}, params={"z": np.zeros(3)})
    with pytest.raises(ValueError, match="opt_level"):
        compiler.build(x, shape={"x": (4,)}, opt_level=9)
    with pytest.raises(ValueError, match="target"):
        compiler.build(x, target="tpu", shape={"x": (4,)})


def test_graph_runtime_refuses_what_does_not_fit():
    graph, lib, _ = compiler.build(sym.relu(sym.Variable("x")), shape={"x": (2,)})
    module = graph_runtime.create(graph, lib)
    with pytest.raises(ValueError, match="has not run"):
        module.get_output(0)
    with pytest.raises(ValueError, match="'x' has not been set"):
        module.run()
    with pytest.raises(KeyError, match="'y'"):
        module.set_input("y", np.zeros(2, np.float32))
    with pytest.raises(IndexError):
        module.set_input(1, np.zeros(2, np.float32))
    with pytest.raises(TypeError, match="float64"):
        module.set_input("x", np.zeros(2))
    given = np.float32([-1, 1])
    module.set_input(0, given)
    given[:] = 7
    module.run()
    np.testing.assert_array_equal(module.get_output(0), [0, 1])
    np.testing.assert_array_equal(module.get_input("x"), [-1, 1])
    with pytest.raises(IndexError):
        module.get_output(1)
