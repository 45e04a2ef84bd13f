"""Passes keep the meaning of random graphs: each alone, and every prefix of the pipeline at every level."""

import pytest
from random_graphs import RandomGraph, assert_same

import nnvm_mlir.passes  # noqa: F401
from nnvm_mlir.build import evaluate_precomputed
from nnvm_mlir.context import make_context
from nnvm_mlir.dialects.nnvm import verify_module
from nnvm_mlir.interpret import interpret
from nnvm_mlir.mlir import ir
from nnvm_mlir.pipeline import Pipeline
from nnvm_mlir.pipelines import MAX_OPT_LEVEL, graph_pipeline

SEEDS = range(30)
PASSES = sorted(
    {element for level in range(MAX_OPT_LEVEL + 1) for element in graph_pipeline(level)}
)


def run_pass(graph, element):
    Pipeline([element]).run(graph.module, verify=verify_module)
    if element == "nnvm-precompute-prune":
        evaluate_precomputed(graph)


@pytest.mark.parametrize("seed", SEEDS)
def test_each_pass_alone(seed):
    for element in PASSES:
        random = RandomGraph(seed)
        want = interpret(random.graph, random.feeds)
        if element == "nnvm-plan-memory":
            run_pass(random.graph, "nnvm-fuse")
        run_pass(random.graph, element)
        assert_same(interpret(random.graph, random.feeds), want, element)


@pytest.mark.parametrize("seed", SEEDS)
def test_pipeline(seed):
    for level in range(MAX_OPT_LEVEL + 1):
        random = RandomGraph(seed)
        want = interpret(random.graph, random.feeds)
        for element in graph_pipeline(level):
            run_pass(random.graph, element)
            assert_same(interpret(random.graph, random.feeds), want, (level, element))


@pytest.mark.parametrize("seed", range(10))
def test_text_round_trips(seed):
    graph = RandomGraph(seed).graph
    for element in (None, *graph_pipeline(MAX_OPT_LEVEL)):
        if element:
            run_pass(graph, element)
        text = str(graph)
        assert str(ir.Module.parse(text, make_context())) == text
