"""Recurrent layers: absent inputs are zeros."""

from __future__ import annotations

from typing import Any

from nnvm_mlir.builder import Node
from nnvm_mlir.frontend.onnx.converters import ops
from nnvm_mlir.frontend.onnx.registry import NodeContext, converter

_SEQUENCE_LENS = 4
_INITIAL_H = 5
_INITIAL_C = 6
_PEEPHOLE = 7


@converter("RNN")
def rnn(ctx: NodeContext) -> list[Node]:
    """One gate."""
    return _recurrent(ctx, ops.Rnn, 1)


@converter("GRU")
def gru(ctx: NodeContext) -> list[Node]:
    """Three gates."""
    return _recurrent(ctx, ops.Gru, 3, linear_before_reset=ctx.attr("linear_before_reset", 0))


@converter("LSTM")
def lstm(ctx: NodeContext) -> list[Node]:
    """Four gates, a cell state and peepholes."""
    return _recurrent(ctx, ops.Lstm, 4, input_forget=ctx.attr("input_forget", 0))


def _recurrent(ctx: NodeContext, operator: Any, gates: int, **attributes: Any) -> list[Node]:
    data, weight, recurrence = (ctx.input(index) for index in range(3))
    if len(data.shape) != 3 or len(recurrence.shape) != 3:
        raise ctx.error(f"expected 3-D data and recurrence, got {data.shape} and {recurrence.shape}")
    directions, hidden = recurrence.shape[0], recurrence.shape[2]
    if ctx.attr("hidden_size", hidden) != hidden:
        raise ctx.error(f"hidden_size {ctx.attr('hidden_size')} is not that of the weights, {hidden}")
    layout = ctx.attr("layout", 0)
    batch = data.shape[0 if layout else 1]
    state = (batch, directions, hidden) if layout else (directions, batch, hidden)

    def given(index: int, shape: tuple[int, ...]) -> Node:
        return ctx.optional_input(index) or ctx.filled(0, shape, data.dtype)

    operands = [data, weight, recurrence, given(3, (directions, 2 * gates * hidden))]
    operands.append(given(_INITIAL_H, state))
    if operator is ops.Lstm:
        operands.append(given(_INITIAL_C, state))
        operands.append(given(_PEEPHOLE, (directions, 3 * hidden)))
    if ctx.has_input(_SEQUENCE_LENS):
        operands.append(ctx.input(_SEQUENCE_LENS))
    optional = {"clip": ctx.attr("clip"), "activations": ctx.attr("activations")}
    return ctx.op(
        operator,
        *operands,
        hidden_size=hidden,
        direction=ctx.attr("direction"),
        activation_alpha=ctx.attr("activation_alpha", ()),
        activation_beta=ctx.attr("activation_beta", ()),
        layout=layout,
        **{name: value for name, value in optional.items() if value is not None},
        **attributes,
    )
