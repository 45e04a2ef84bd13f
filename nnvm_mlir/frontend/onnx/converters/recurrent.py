"""Recurrent layers: absent inputs are zeros."""

from __future__ import annotations

from typing import Any

from nnvm_mlir.builder import Node
from nnvm_mlir.dialects.nnvm.recurrent import Gru, Lstm, Rnn
from nnvm_mlir.frontend.onnx.registry import NodeContext, converter

_SEQUENCE_LENS = 4
_INITIAL_H = 5
_INITIAL_C = 6
_PEEPHOLE = 7
_OPTIONAL = ("activations", "activation_alpha", "activation_beta", "clip")


@converter("RNN")
def rnn(ctx: NodeContext) -> list[Node]:
    """One gate."""
    return _recurrent(ctx, Rnn, 1)


@converter("GRU")
def gru(ctx: NodeContext) -> list[Node]:
    """Three gates."""
    return _recurrent(ctx, Gru, 3, linear_before_reset=ctx.attr("linear_before_reset", 0))


@converter("LSTM")
def lstm(ctx: NodeContext) -> list[Node]:
    """Four gates, a cell state and peepholes."""
    return _recurrent(ctx, Lstm, 4, input_forget=ctx.attr("input_forget", 0))


def _recurrent(ctx: NodeContext, operator: Any, gates: int, **attributes: Any) -> list[Node]:
    data, weight, recurrence = (ctx.input(index) for index in range(3))
    if len(data.shape) != 3 or len(recurrence.shape) != 3:
        raise ctx.error(
            f"expected 3-D data and recurrence, got {data.shape} and {recurrence.shape}"
        )
    directions, hidden = recurrence.shape[0], recurrence.shape[2]
    if ctx.attr("hidden_size", hidden) != hidden:
        raise ctx.error(
            f"hidden_size {ctx.attr('hidden_size')} is not that of the weights, {hidden}"
        )
    layout = ctx.attr("layout", 0)
    batch = data.shape[0 if layout else 1]
    state = (batch, directions, hidden) if layout else (directions, batch, hidden)

    def given(index: int, shape: tuple[int, ...]) -> Node:
        return ctx.optional_input(index) or ctx.filled(0, shape, data.dtype)

    operands = [data, weight, recurrence, given(3, (directions, 2 * gates * hidden))]
    operands.append(given(_INITIAL_H, state))
    if operator is Lstm:
        operands.append(given(_INITIAL_C, state))
        operands.append(given(_PEEPHOLE, (directions, 3 * hidden)))
    if ctx.has_input(_SEQUENCE_LENS):
        operands.append(ctx.input(_SEQUENCE_LENS))
    optional = {name: ctx.attr(name) for name in _OPTIONAL if ctx.is_given(name)}
    return ctx.op(
        operator,
        *operands,
        hidden_size=hidden,
        direction=ctx.attr("direction"),
        layout=layout,
        **optional,
        **attributes,
    )
