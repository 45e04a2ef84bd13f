"""Symbols: naming, operators, variables that appear by themselves, and errors."""

import numpy as np
import pytest

from nnvm_mlir import compiler
from nnvm_mlir import symbol as sym
from nnvm_mlir.dialects.nnvm.types import TensorType
from nnvm_mlir.errors import CompileError
from nnvm_mlir.frontend.symbolic import symbol_graph
from nnvm_mlir.interpret import interpret


def evaluate(symbol, **feeds):
    feeds = {name: np.asarray(value, np.float32) for name, value in feeds.items()}
    types = {name: TensorType.of(value) for name, value in feeds.items()}
    return interpret(symbol_graph(symbol, types, {}), feeds)


def test_arithmetic_with_numbers_and_symbols():
    x, y = sym.Variable("x"), sym.Variable("y")
    a, b = np.array([1.0, 2.0, 4.0]), np.array([[3.0], [5.0]])
    cases = {
        "add": (x + y, a + b),
        "radd": (3 + x, 3 + a),
        "sub": (x - y, a - b),
        "rsub": (3 - x, 3 - a),
        "sub number": (x - 3, a - 3),
        "mul": (x * y * 2, a * b * 2),
        "div": (x / y, a / b),
        "rdiv": (3 / x, 3 / a),
        "pow": (x**y, a**b),
        "rpow": (2**x, 2**a),
        "neg": (-x, -a),
        "numpy number": (x + np.float32(0.5), a + 0.5),
        "numpy number on the left": (np.float32(0.5) * x, a * 0.5),
    }
    for name, (symbol, want) in cases.items():
        feeds = {k: v for k, v in {"x": a, "y": b}.items() if k in symbol.list_input_names()}
        np.testing.assert_allclose(evaluate(symbol, **feeds)[0], want, rtol=1e-6, err_msg=name)


def test_operands_that_are_left_out_become_variables():
    x = sym.Variable("x")
    fc = sym.dense(x, units=3, name="fc")
    assert fc.list_input_names() == ["x", "fc_weight", "fc_bias"]
    assert fc.list_output_names() == ["fc_output"]
    bare = sym.dense(x, units=3, use_bias=False, name="fc")
    assert bare.list_input_names() == ["x", "fc_weight"]
    own = sym.dense(data=x, weight=sym.Variable("w"), units=3, use_bias=False)
    assert own.list_input_names() == ["x", "w"]
    norm = sym.batch_norm(x, name="bn")
    assert norm.list_input_names()[1:] == ["bn_gamma", "bn_beta", "bn_moving_mean", "bn_moving_var"]
    assert norm.list_output_names() == ["bn_output"]
    assert sym.relu(norm).list_input_names() == norm.list_input_names()


def test_help_lists_operands_and_attributes():
    text = sym.conv2d.__doc__
    assert "Operands: data, weight, bias?" in text
    assert "Attribute channels: an integer, required" in text
    assert "Attribute groups: an integer, default 1" in text


def test_errors_name_the_operator():
    with pytest.raises(ValueError, match=r"^conv2d: has no attribute 'kernel'"):
        sym.conv2d(sym.Variable("x"), kernel=(3, 3))


def test_any_number_of_operands():
    xs = [sym.Variable(f"x{i}") for i in range(40)]
    both = sym.Group([sym.concatenate(*xs, axis=0), sym.elemwise_sum(*xs, num_args=40)])
    shapes = {f"x{i}": (2, 3) for i in range(40)}
    _, lib, _ = compiler.build(both, shape=shapes)
    joined, total = lib([np.full((2, 3), i, np.float32) for i in range(40)])
    np.testing.assert_array_equal(joined[:, 0], np.repeat(np.arange(40), 2))
    np.testing.assert_array_equal(total, np.full((2, 3), 780))


def test_names_are_fresh_and_inputs_come_in_depth_first_order():
    a, b, c = (sym.Variable(name) for name in "abc")
    first, second = sym.relu(a), sym.relu(a)
    assert first.name != second.name
    assert ((b + c) * a).list_input_names() == ["b", "c", "a"]
    shared = sym.exp(a)
    assert (shared + shared).list_input_names() == ["a"]


def test_several_results():
    x = sym.Variable("x")
    parts = sym.split(x, indices_or_sections=(1, 3), axis=0, name="cut")
    assert len(parts) == 3
    assert [part.list_output_names() for part in parts] == [
        ["cut_output0"],
        ["cut_output1"],
        ["cut_output2"],
    ]
    assert parts["cut_output1"].list_output_names() == ["cut_output1"]
    both = sym.Group([parts[2], parts[0]])
    got = evaluate(both, x=np.arange(4))
    np.testing.assert_array_equal(got[0], [3])
    np.testing.assert_array_equal(got[1], [0])
    joined = evaluate(sym.concatenate(*parts, axis=0), x=np.arange(4))[0]
    np.testing.assert_array_equal(joined, np.arange(4))
    np.testing.assert_array_equal(
        evaluate(sym.concatenate([x, x], axis=0), x=[1, 2])[0], [1, 2, 1, 2]
    )
    with pytest.raises(KeyError, match="cut_output1"):
        parts["nothing"]
    with pytest.raises(IndexError):
        parts[3]


def test_debug_string_lists_nodes():
    text = sym.relu(sym.Variable("x"), name="r").debug_str()
    assert "Variable:x" in text
    assert "relu(x[0])" in text


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda x: sym.relu(3), "expected symbols"),
        (lambda x: x + "1", "symbol or a number"),
        (lambda x: sym.relu(x, alpha=1), "no attribute 'alpha'"),
        (lambda x: sym.cast(x), "requires attribute 'dtype'"),
        (lambda x: sym.cast(x, dtype="float31"), "dtype"),
        (lambda x: sym.Variable(3), "must be a string"),
        (lambda x: sym.relu(x, x), "at most 1 operands"),
        (lambda x: sym.relu(data=x, other=x), "other"),
    ],
)
def test_errors_say_what_is_wrong(make, message):
    with pytest.raises((TypeError, ValueError), match=message):
        make(sym.Variable("x"))


def test_unknown_operators():
    with pytest.raises(AttributeError, match="reluu"):
        _ = sym.reluu
    with pytest.raises(ValueError, match="reluu"):
        sym.apply("reluu", [], {})
    assert "relu" in dir(sym)
    assert "negative" in sym.relu.__doc__ or sym.relu.__doc__


def test_two_variables_of_one_name():
    with pytest.raises(CompileError, match="two variables are named 'x'"):
        symbol_graph(sym.Variable("x") + sym.Variable("x"), {}, {})
