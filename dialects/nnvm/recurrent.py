"""Recurrent layers with ONNX's semantics: lstm, gru, rnn.

Shapes, with T time steps, batch B, input size I, hidden size H, D directions and G gates: data
(T, B, I), weight (D, G*H, I), recurrence (D, G*H, H), bias (D, 2*G*H) (of the input, then of the
recurrence), states (D, B, H), sequence_lens (B). Results: y (T, D, B, H) and the final states
(D, B, H). With `layout` 1 the batch comes first: data (B, T, I), states (B, D, H), y (B, T, D, H).
With `kernel_layout` "IG" the gates come last: weight (D, I, G*H), recurrence (D, H, G*H).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from nnvm_mlir.dialects.nnvm.fields import (
    Bool,
    Float,
    Floats,
    Int,
    Str,
    Strs,
    attribute,
    operand,
    result,
)
from nnvm_mlir.dialects.nnvm.numeric import widen
from nnvm_mlir.dialects.nnvm.operator import Attributes, Operator
from nnvm_mlir.dialects.nnvm.recurrent_activation import Activation
from nnvm_mlir.dialects.nnvm.types import Shape, is_float, unify_dtypes, unify_shapes


class Recurrent(Operator):
    """What the recurrent layers have in common.

    Class attributes:
        gates: how many gates (G) a cell has.
        default_activations: the activation functions of one direction.
        states: operands that hold initial states, by position; hidden state first.
    """

    gates: ClassVar[int]
    default_activations: ClassVar[tuple[str, ...]]
    states: ClassVar[tuple[int, ...]] = (4,)

    hidden_size = attribute(Int)
    direction = attribute(Str, "forward", choices=("forward", "reverse", "bidirectional"))
    activations = attribute(Strs, ())
    activation_alpha = attribute(Floats, ())
    activation_beta = attribute(Floats, ())
    clip = attribute(Float, None)
    layout = attribute(Int, 0, choices=(0, 1))
    kernel_layout = attribute(Str, "GI", choices=("GI", "IG"))

    @classmethod
    def check(cls, a: Attributes) -> None:
        if a.hidden_size < 1:
            raise ValueError(f"expects hidden_size >= 1, got {a.hidden_size}")
        expected = cls.directions(a) * len(cls.default_activations)
        if a.activations and len(a.activations) != expected:
            raise ValueError(f"expects {expected} activations, got {len(a.activations)}")
        cls.cell_activations(a)

    @classmethod
    def directions(cls, a: Attributes) -> int:
        """How many directions (D) the layer has."""
        return 2 if a.direction == "bidirectional" else 1

    @classmethod
    def is_reverse(cls, a: Attributes, direction: int) -> bool:
        """Whether a direction runs from the last time step to the first."""
        return a.direction == "reverse" or direction == 1

    @classmethod
    def cell_activations(cls, a: Attributes) -> list[list[Activation]]:
        """Each direction's activations; alphas and betas go to those that take them, in order."""
        names = a.activations or cls.default_activations * cls.directions(a)
        alphas, betas = iter(a.activation_alpha), iter(a.activation_beta)
        functions = [Activation.named(name, alphas, betas) for name in names]
        count = len(cls.default_activations)
        return [functions[i : i + count] for i in range(0, len(functions), count)]

    @classmethod
    def operand_shapes(
        cls, a: Attributes, steps: int | None, batch: int | None, inputs: int | None
    ) -> list[Shape]:
        """The shapes of all operands, sequence_lens included."""
        d, h, g = cls.directions(a), a.hidden_size, cls.gates
        data = (batch, steps, inputs) if a.layout else (steps, batch, inputs)
        kernels: list[Shape] = [(d, g * h, inputs), (d, g * h, h)]
        if a.kernel_layout == "IG":
            kernels = [(d, inputs, g * h), (d, h, g * h)]
        shapes: list[Shape] = [data, *kernels, (d, 2 * g * h)]
        return [*shapes, *[cls.state_shape(a, batch)] * len(cls.states), (batch,)]

    @classmethod
    def state_shape(cls, a: Attributes, batch: int | None) -> Shape:
        """The shape of initial and final states."""
        d, h = cls.directions(a), a.hidden_size
        return (batch, d, h) if a.layout else (d, batch, h)

    @classmethod
    def infer_shape(
        cls, a: Attributes, ins: Sequence[Shape], outs: Sequence[Shape]
    ) -> tuple[list[Shape], list[Shape]]:
        data = unify_shapes([ins[0], (None, None, None)])
        steps, batch, inputs = (data[i] for i in ((1, 0, 2) if a.layout else (0, 1, 2)))  # type: ignore[index]
        expected = cls.operand_shapes(a, steps, batch, inputs)[: len(ins)]
        d, h = cls.directions(a), a.hidden_size
        y = (batch, steps, d, h) if a.layout else (steps, d, batch, h)
        results = [y, *[cls.state_shape(a, batch)] * len(cls.states)]
        return (
            [unify_shapes(pair) for pair in zip(expected, ins, strict=True)],
            [unify_shapes(pair) for pair in zip(results, outs, strict=True)],
        )

    @classmethod
    def infer_dtype(
        cls, a: Attributes, ins: Sequence[str | None], outs: Sequence[str | None]
    ) -> tuple[list[str | None], list[str | None]]:
        lengths = list(ins[len(cls.operand_fields) - 1 :])
        floats = ins[: len(ins) - len(lengths)]
        dtype = unify_dtypes([*floats, *outs])
        if dtype is not None and not is_float(dtype):
            raise ValueError(f"expects a floating-point dtype, got {dtype}")
        if any(d is not None and (is_float(d) or d == "bool") for d in lengths):
            raise ValueError(f"expects sequence_lens of an integer dtype, got {lengths[0]}")
        return [*[dtype] * len(floats), *lengths], [dtype] * len(outs)

    @classmethod
    def cell(
        cls,
        a: Attributes,
        functions: Sequence[Activation],
        x: np.ndarray,
        states: Sequence[np.ndarray],
        recurrence: np.ndarray,
        bias: np.ndarray,
        *peephole: np.ndarray,
    ) -> tuple[np.ndarray, ...]:
        """The states after one step of one direction.

        `x` is the step's input times the weight, without bias; `bias` has the input's and the
        recurrence's half.
        """
        raise NotImplementedError

    @classmethod
    def evaluate(cls, a: Attributes, *arrays: np.ndarray) -> tuple[np.ndarray, ...]:
        count = len(cls.operand_fields) - 1
        data, weight, recurrence, bias, *rest = (widen(x) for x in arrays[:count])
        if a.kernel_layout == "IG":
            weight, recurrence = weight.swapaxes(1, 2), recurrence.swapaxes(1, 2)
        first = list(rest[: len(cls.states)])
        peephole = rest[len(cls.states) :]
        if a.layout:
            data, first = data.swapaxes(0, 1), [state.swapaxes(0, 1) for state in first]
        steps, batch = data.shape[:2]
        lengths = (
            np.full(batch, steps) if len(arrays) == count else np.clip(arrays[count], 0, steps)
        )
        y = np.zeros((steps, cls.directions(a), batch, a.hidden_size), data.dtype)
        last = []
        for d, functions in enumerate(cls.cell_activations(a)):
            states = [state[d] for state in first]
            for step in range(steps):
                active = np.flatnonzero(step < lengths)
                time = lengths[active] - 1 - step if cls.is_reverse(a, d) else step
                x = data[time, active] @ weight[d].T
                old = [state[active] for state in states]
                extra = (p[d] for p in peephole)
                new = cls.cell(a, functions, x, old, recurrence[d], bias[d], *extra)
                states = [state.copy() for state in states]
                for state, value in zip(states, new, strict=True):
                    state[active] = value
                y[time, d, active] = new[0]
            last.append(states)
        results = [y, *(np.stack(state) for state in zip(*last, strict=True))]
        if a.layout:
            results = [y.transpose(2, 0, 1, 3), *(state.swapaxes(0, 1) for state in results[1:])]
        return tuple(value.astype(arrays[0].dtype) for value in results)


class Lstm(Recurrent, name="lstm"):
    """Long short-term memory; gates i, o, f, c in this order.

    i, o, f = f(x W + h R + bias + peephole * c) (o with the new c); C = f * c + i * g(...);
    h = o * h(C). `peephole` (D, 3*H) is of i, o, f. `input_forget` sets f = 1 - i. `clip` bounds
    what goes into the gates' activations; the memory is not bounded.
    """

    gates = 4
    default_activations = ("sigmoid", "tanh", "tanh")
    states = (4, 5)
    data = operand()
    weight = operand()
    recurrence = operand()
    bias = operand()
    initial_h = operand()
    initial_c = operand()
    peephole = operand()
    sequence_lens = operand(optional=True)
    y = result()
    y_h = result()
    y_c = result()
    input_forget = attribute(Bool, False)

    @classmethod
    def operand_shapes(
        cls, a: Attributes, steps: int | None, batch: int | None, inputs: int | None
    ) -> list[Shape]:
        *shapes, lengths = super().operand_shapes(a, steps, batch, inputs)
        return [*shapes, (cls.directions(a), 3 * a.hidden_size), lengths]

    @classmethod
    def cell(
        cls,
        a: Attributes,
        functions: Sequence[Activation],
        x: np.ndarray,
        states: Sequence[np.ndarray],
        recurrence: np.ndarray,
        bias: np.ndarray,
        *peephole: np.ndarray,
    ) -> tuple[np.ndarray, ...]:
        f, g, h = functions
        hidden, memory = states
        total = x + hidden @ recurrence.T + np.add(*np.split(bias, 2))
        i, o, forget, c = np.split(total, 4, axis=1)
        p_i, p_o, p_f = np.split(peephole[0], 3)
        i = f(_clipped(a, i + p_i * memory))
        forget = 1 - i if a.input_forget else f(_clipped(a, forget + p_f * memory))
        memory = forget * memory + i * g(_clipped(a, c))
        o = f(_clipped(a, o + p_o * memory))
        return o * h(memory), memory


class Gru(Recurrent, name="gru"):
    """Gated recurrent unit; gates z, r, h in this order.

    z, r = f(x W + h R + bias); n = g(x W + (r * h) R + bias), or with `linear_before_reset`
    g(x W + r * (h R + recurrence bias) + input bias); H = (1 - z) * n + z * h.
    """

    gates = 3
    default_activations = ("sigmoid", "tanh")
    data = operand()
    weight = operand()
    recurrence = operand()
    bias = operand()
    initial_h = operand()
    sequence_lens = operand(optional=True)
    y = result()
    y_h = result()
    linear_before_reset = attribute(Bool, False)

    @classmethod
    def cell(
        cls,
        a: Attributes,
        functions: Sequence[Activation],
        x: np.ndarray,
        states: Sequence[np.ndarray],
        recurrence: np.ndarray,
        bias: np.ndarray,
        *peephole: np.ndarray,
    ) -> tuple[np.ndarray, ...]:
        f, g = functions
        (hidden,) = states
        x_z, x_r, x_h = np.split(x + bias[: len(bias) // 2], 3, axis=1)
        r_z, r_r, r_h = np.split(recurrence, 3)
        b_z, b_r, b_h = np.split(bias[len(bias) // 2 :], 3)
        z = f(_clipped(a, x_z + hidden @ r_z.T + b_z))
        r = f(_clipped(a, x_r + hidden @ r_r.T + b_r))
        if a.linear_before_reset:
            gated = r * (hidden @ r_h.T + b_h)
        else:
            gated = (r * hidden) @ r_h.T + b_h
        n = g(_clipped(a, x_h + gated))
        return ((1 - z) * n + z * hidden,)


class Rnn(Recurrent, name="rnn"):
    """H = f(x W + h R + bias)."""

    gates = 1
    default_activations = ("tanh",)
    data = operand()
    weight = operand()
    recurrence = operand()
    bias = operand()
    initial_h = operand()
    sequence_lens = operand(optional=True)
    y = result()
    y_h = result()

    @classmethod
    def cell(
        cls,
        a: Attributes,
        functions: Sequence[Activation],
        x: np.ndarray,
        states: Sequence[np.ndarray],
        recurrence: np.ndarray,
        bias: np.ndarray,
        *peephole: np.ndarray,
    ) -> tuple[np.ndarray, ...]:
        total = x + states[0] @ recurrence.T + np.add(*np.split(bias, 2))
        return (functions[0](_clipped(a, total)),)


def _clipped(a: Attributes, x: np.ndarray) -> np.ndarray:
    """What goes into an activation, bounded by the attribute `clip`."""
    return x if a.clip is None else np.clip(x, x.dtype.type(-a.clip), x.dtype.type(a.clip))
