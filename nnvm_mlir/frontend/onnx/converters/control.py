"""Control flow that is decided when the model is compiled, and the choice between two branches."""

from __future__ import annotations

import itertools

from nnvm_mlir.builder import Node
from nnvm_mlir.dialects.nnvm.broadcast import Where
from nnvm_mlir.dialects.nnvm.indexing import Take
from nnvm_mlir.dialects.nnvm.operator import normalize_axis
from nnvm_mlir.dialects.nnvm.transform import ExpandDims
from nnvm_mlir.dialects.nnvm.types import is_float
from nnvm_mlir.frontend.onnx.converters.common import concatenate, reshape
from nnvm_mlir.frontend.onnx.registry import NodeContext, converter

MAX_TRIPS = 10_000
"""Trips that a loop is unrolled for."""


@converter("If")
def if_(ctx: NodeContext) -> list[Node]:
    """The branch that a known condition takes; else a choice between the results of both."""
    condition = ctx.input(0)
    if condition.type.size != 1:
        raise ctx.error(f"the condition must have one element, it has shape {condition.shape}")
    if condition.constant is None and _is_setting(ctx, condition):
        ctx.known(condition, "the condition")
    if condition.constant is not None:
        taken = "then_branch" if condition.constant.reshape(()) else "else_branch"
        return ctx.run_graph(ctx.attr(taken))
    then_results = ctx.run_graph(ctx.attr("then_branch"))
    else_results = ctx.run_graph(ctx.attr("else_branch"))
    if [node.type for node in then_results] != [node.type for node in else_results]:
        ctx.known(condition, "the condition, whose branches differ in type,")
    condition = reshape(ctx, condition, ())
    return [
        ctx.op(Where, condition, *pair) for pair in zip(then_results, else_results, strict=True)
    ]


def _is_setting(ctx: NodeContext, condition: Node) -> bool:
    """Whether a condition depends on no data, but on settings (a sampling rate, a switch)."""
    return all(
        origin.type.size == 1 and not is_float(origin.type.dtype or "")
        for origin in ctx.importer.builder.origins(condition)
    )


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
            collected.append(node)
    if any(not collected for collected in scanned):
        raise ctx.error("a loop without trips that collects values is not supported")
    return [
        *states,
        *(_stacked(ctx, collected, 0) for collected in scanned),
    ]


@converter("Scan", since=9)
def scan(ctx: NodeContext) -> list[Node]:
    """Unrolled over the elements of the scanned inputs."""
    body, count = ctx.attr("body"), ctx.attr("num_scan_inputs")
    num_states = len(ctx.inputs) - count
    if count < 1 or num_states < 0 or len(body.output) < num_states:
        raise ctx.error(f"num_scan_inputs {count} does not fit {len(ctx.inputs)} inputs")
    num_scanned = len(body.output) - num_states
    states = [ctx.input(index) for index in range(num_states)]
    sources = [ctx.input(index) for index in range(num_states, len(ctx.inputs))]
    axes = ctx.attr("scan_input_axes") or (0,) * count
    reversed_in = ctx.attr("scan_input_directions") or (0,) * count
    out_axes = ctx.attr("scan_output_axes") or (0,) * num_scanned
    reversed_out = ctx.attr("scan_output_directions") or (0,) * num_scanned
    lengths = {node.shape[axis] for node, axis in zip(sources, axes, strict=True)}
    if len(lengths) != 1:
        raise ctx.error(f"the scanned inputs have different lengths {sorted(lengths)}")
    trips = lengths.pop()
    if not 1 <= trips <= MAX_TRIPS:
        raise ctx.error(f"{trips} trips are not supported, expected 1 to {MAX_TRIPS}")
    scanned: list[list[Node]] = [[] for _ in range(num_scanned)]
    for trip in range(trips):
        elements = [
            ctx.op(Take, node, ctx.constant(trips - 1 - trip if back else trip, "int64"), axis=axis)
            for node, axis, back in zip(sources, axes, reversed_in, strict=True)
        ]
        results = ctx.run_graph(body, *states, *elements)
        states = results[:num_states]
        for collected, node in zip(scanned, results[num_states:], strict=True):
            collected.append(node)
    return [
        *states,
        *(
            _stacked(ctx, collected[::-1] if back else collected, axis)
            for collected, axis, back in zip(scanned, out_axes, reversed_out, strict=True)
        ),
    ]


def _stacked(ctx: NodeContext, nodes: list[Node], axis: int) -> Node:
    """Tensors of one shape along a new axis."""
    axis = normalize_axis(axis, len(nodes[0].shape) + 1)
    return concatenate(ctx, [ctx.op(ExpandDims, node, axis=axis) for node in nodes], axis)
