"""Graphs: their variables, read from a module with and without attributes."""

import numpy as np
import pytest

from nnvm_mlir.context import make_context
from nnvm_mlir.errors import CompileError
from nnvm_mlir.graph import Graph, entry_function, functions
from nnvm_mlir.interpret import interpret
from nnvm_mlir.mlir import ir

TEXT = """
func.func private @helper(%x: tensor<2xf32>) -> tensor<2xf32> {
  return %x : tensor<2xf32>
}
func.func @main(%a: tensor<2xf32> {nnvm.name = "first", nnvm.kind = "input"},
    %b: tensor<?xi1> {nnvm.name = "w", nnvm.kind = "parameter"}, %c: tensor<*x!nnvm.unknown>)
    -> (tensor<2xf32> {nnvm.name = "y"}) {
  return %a : tensor<2xf32>
}
"""


def parse(text):
    return Graph(ir.Module.parse(text, make_context()))


def test_variables():
    graph = parse(TEXT)
    assert [(v.name, v.kind, v.index) for v in graph.variables] == [
        ("first", "input", 0),
        ("w", "parameter", 1),
        ("arg2", "input", 2),
    ]
    assert [str(v.type) for v in graph.variables] == [
        "tensor<2xf32>",
        "tensor<?xi1>",
        "tensor<*x!nnvm.unknown>",
    ]
    assert [v.name for v in graph.inputs] == ["first", "arg2"]
    assert [(v.name, v.index) for v in graph.outputs] == [("y", 0)]
    assert [f.name.value for f in functions(graph.module)] == ["helper", "main"]


def test_names_of_results_without_attributes():
    graph = parse("func.func @main(%a: tensor<i32>) -> tensor<i32> {\n return %a : tensor<i32>\n}")
    assert [v.name for v in graph.inputs] == ["arg0"]
    assert [v.name for v in graph.outputs] == ["output0"]


def test_no_entry_function():
    with pytest.raises(CompileError, match="no function @main"):
        entry_function(parse("func.func private @other()").module)


def test_interpret_refuses_what_does_not_fit():
    graph = parse(
        "func.func @main(%a: tensor<2xf32>) -> tensor<2xf32> {\n"
        ' %0 = "nnvm.relu"(%a) : (tensor<2xf32>) -> tensor<2xf32>\n return %0 : tensor<2xf32>\n}'
    )
    got = interpret(graph, {"arg0": np.float32([-1, 1])})[0]
    np.testing.assert_array_equal(got, [0, 1])
    with pytest.raises(KeyError, match="arg0"):
        interpret(graph, {})
    with pytest.raises(ValueError, match="expected tensor<2xf32>"):
        interpret(graph, {"arg0": np.zeros(3, np.float32)})
