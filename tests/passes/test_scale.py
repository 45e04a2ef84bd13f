"""Passes on long, wide and joined graphs: time grows with the number of operators, and nothing recurses over them."""

import time

import numpy as np
import pytest

from nnvm_mlir.build import optimize
from nnvm_mlir.builder import GraphBuilder
from nnvm_mlir.context import make_context
from nnvm_mlir.dialects.nnvm import OPERATORS
from nnvm_mlir.dialects.nnvm.types import TensorType
from nnvm_mlir.graph import functions
from nnvm_mlir.interpret import interpret
from nnvm_mlir.passes.infer_shape import InferShape
from nnvm_mlir.pipeline import Pipeline

OPERATORS_IN_ALL = 10_000


def chain(b, x):
    for _ in range(OPERATORS_IN_ALL // 2):
        x = b.op(OPERATORS["__add_scalar__"], x, scalar=1.0)
        x = b.op(OPERATORS["negative"], x)
    return x, np.zeros((2, 3))


def chain_with_parameters(b, x):
    for index in range(OPERATORS_IN_ALL // 2):
        p = b.parameter(f"p{index}", np.ones(3, np.float32))
        x = b.op(OPERATORS["broadcast_add"], x, b.op(OPERATORS["negative"], p))
    return x, np.full((2, 3), -OPERATORS_IN_ALL // 2)


def transposed_chain(b, x):
    x = b.op(OPERATORS["transpose"], x)
    p = b.parameter("p", np.ones((3, 1), np.float32))
    for _ in range(2000):
        x = b.op(OPERATORS["broadcast_add"], x, p)
    return b.op(OPERATORS["transpose"], x), np.full((2, 3), 2000)


def fan_out_and_join(b, x):
    leaves = [b.op(OPERATORS["__add_scalar__"], x, scalar=float(i)) for i in range(3000)]
    joined = [b.op(OPERATORS["elemwise_sum"], *leaves[i : i + 50]) for i in range(0, 3000, 50)]
    total = b.op(OPERATORS["elemwise_sum"], *joined)
    return total, np.full((2, 3), 2999 * 3000 / 2)


def doubling(b, x):
    x = b.op(OPERATORS["__add_scalar__"], x, scalar=1.0)
    for _ in range(60):
        x = b.op(OPERATORS["broadcast_add"], x, x)
    return x, np.full((2, 3), 2.0**60)


@pytest.mark.parametrize(
    "make", [chain, chain_with_parameters, transposed_chain, fan_out_and_join, doubling]
)
def test_large_graphs(make):
    b = GraphBuilder(make_context())
    x = b.input("x", TensorType((2, 3), "float32"))
    y, want = make(b, x)
    b.output("y", y)
    graph = b.finish()
    start = time.perf_counter()
    optimize(graph, 3)
    assert time.perf_counter() - start < 60
    got = interpret(graph, {"x": np.zeros((2, 3), np.float32)})[0]
    np.testing.assert_allclose(got, want, rtol=1e-6)
    assert len(functions(graph.module)) <= OPERATORS_IN_ALL / 32


def test_shapes_travel_backwards_through_a_long_chain():
    b = GraphBuilder(make_context())
    x = b.input("x", TensorType(None, "float32"))
    y = b.input("y", TensorType((2, 3), "float32"))
    node = x
    for _ in range(OPERATORS_IN_ALL):
        node = b.op(OPERATORS["negative"], node)
    b.output("z", b.op(OPERATORS["elemwise_add"], node, y))
    graph = b.finish()
    Pipeline([InferShape()]).run(graph.module)
    assert graph.inputs[0].type.shape == (2, 3)
