"""Control flow that is decided when the model is compiled: branches with a known condition, loops with known trips."""

from __future__ import annotations

import itertools

from nnvm_mlir.builder import Node
from nnvm_mlir.frontend.onnx.converters import ops
from nnvm_mlir.frontend.onnx.registry import NodeContext, converter

MAX_TRIPS = 10_000
"""Trips that a loop is unrolled for."""


@converter("If")
def if_(ctx: NodeContext) -> list[Node]:
    """The branch that a known condition takes; else a choice between the results of both."""
    condition = ctx.input(0)
    if condition.type.size != 1:
        raise ctx.error(f"the condition must have one element, it has shape {condition.shape}")
    if condition.constant is not None:
        taken = "then_branch" if condition.constant.reshape(()) else "else_branch"
        return ctx.run_graph(ctx.attr(taken))
    then_results = ctx.run_graph(ctx.attr("then_branch"))
    else_results = ctx.run_graph(ctx.attr("else_branch"))
    if [node.type for node in then_results] != [node.type for node in else_results]:
        ctx.known(condition, "the condition, whose branches differ in type,")
    return [
        ctx.op(ops.Where, condition, *pair) for pair in zip(then_results, else_results, strict=True)
    ]


@converter("Loop")
def loop(ctx: NodeContext) -> list[Node]:
    """Unrolled: the trips and every condition must be known."""
    trips, condition = ctx.scalar_input(0), ctx.scalar_input(1)
    body = ctx.attr("body")
    states = [ctx.input(index) for index in range(2, len(ctx.inputs))]
    scanned: list[list[Node]] = [[] for _ in range(len(body.output) - 1 - len(states))]
    running = condition is None or bool(condition)
    for trip in itertools.count():
        if not running or (trips is not None and trip >= trips):
            break
        if trip >= MAX_TRIPS:
            raise ctx.error(f"the loop runs more than {MAX_TRIPS} times, which is not supported")
        results = ctx.run_graph(body, ctx.constant(trip, "int64"), ctx.constant(True), *states)
        running = bool(ctx.known(results[0], "the condition of the loop"))
        states = results[1 : 1 + len(states)]
        for collected, node in zip(scanned, results[1 + len(states) :], strict=True):
            collected.append(ctx.op(ops.ExpandDims, node, axis=0))
    if any(not collected for collected in scanned):
        raise ctx.error("a loop without trips that collects values is not supported")
    return [
        *states,
        *(ctx.op(ops.Concatenate, *collected, axis=0) for collected in scanned),
    ]
