"""One time step of the recurrent layers, on tensors.

A step is the recurrent contraction, and the gates as one generic that writes the states in place.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from nnvm_mlir.dialects.nnvm.operator import Attributes
from nnvm_mlir.dialects.nnvm.recurrent_activation import Activation
from nnvm_mlir.lowering.linalg.builder import LinalgBuilder, filled, from_storage, shape_of
from nnvm_mlir.lowering.linalg.elementwise import FUNCTIONS
from nnvm_mlir.lowering.linalg.scalars import Scalars, cast, compute_dtype
from nnvm_mlir.mlir import ir

Gates = dict[str, ir.Value]
"""Scalars that a cell computes with, by name."""


Keep = Callable[[ir.Value, ir.Value], ir.Value]
"""`keep(new, old)`: the new value of a state in sequences that are not over, else the old one."""


@dataclass
class Direction:
    """One direction of a layer: its part of the operands, in the layout of one direction."""

    b: LinalgBuilder
    a: Attributes
    dtype: str
    functions: Sequence[Activation]
    recurrence: ir.Value  # (G*H, H), or (H, G*H) with kernel_layout "IG"
    bias: ir.Value  # (2*G*H)
    peephole: ir.Value | None  # (3*H)
    batch: int

    @property
    def wide(self) -> str:
        """The dtype in which states and gates are kept between steps."""
        return compute_dtype(self.dtype)

    @property
    def s(self) -> Scalars:
        """Arithmetic in that dtype."""
        return Scalars(self.dtype)

    def scratch(self, gates: int) -> ir.Value:
        """A buffer for some gates of every sequence."""
        return self.b.empty([self.batch, gates * self.a.hidden_size], self.wide)

    def recur(self, hidden: ir.Value, out: ir.Value, first: int = 0) -> ir.Value:
        """`hidden` times the recurrence of the gates from `first` on, as many as `out` holds."""
        h, gates = self.a.hidden_size, self.gate_axis
        width = shape_of(out)[1]
        kernel = self.recurrence
        if width != shape_of(kernel)[gates]:
            offsets, sizes = [0, 0], [h, h]
            offsets[gates], sizes[gates] = first * h, width
            kernel = self.b.slice(kernel, offsets, sizes, [1, 1])
        zero = filled(self.s.const(0), out)
        return self.product(hidden, self.wide, [ir.AffineDimExpr.get(0)], kernel, zero)

    @property
    def gate_axis(self) -> int:
        """The axis of a kernel on which the gates lie."""
        return self.a.kernel_layout.index("G")

    def product(
        self,
        x: ir.Value,
        dtype: str,
        outer: Sequence[ir.AffineExpr],
        kernel: ir.Value,
        init: ir.Value,
    ) -> ir.Value:
        """`init` (..., G*H) plus a tensor (..., I) times a kernel.

        The loop over the gates is innermost: with the gates last in the kernel, too, plain loops
        become vector code.

        Args:
            x, dtype: the tensor.
            outer: the loops over the leading axes of `init` that subscript those of the tensor.
            kernel: (G*H, I) or (I, G*H).
            init: what to add to, in `wide`.
        """
        count, s = len(outer), self.s
        k, gate = ir.AffineDimExpr.get(count), ir.AffineDimExpr.get(count + 1)
        subscripts = [gate, k] if self.gate_axis == 0 else [k, gate]
        leading = [ir.AffineDimExpr.get(i) for i in range(count)]
        maps = [
            ir.AffineMap.get(count + 2, 0, expressions)
            for expressions in ([*outer, k], subscripts, [*leading, gate])
        ]

        def body(value: ir.Value, weight: ir.Value, total: ir.Value) -> list[ir.Value]:
            operands = ((value, dtype), (weight, self.dtype))
            factors = (cast(from_storage(v, d), d, self.wide) for v, d in operands)
            return [s.add(total, s.mul(*factors))]

        iterators = ["parallel"] * count + ["reduction", "parallel"]
        return self.b.generic([x, kernel], maps[:2], [init], maps[2:], iterators, body)[0]

    def activated(self, function: Activation, x: ir.Value, clip: bool = True) -> ir.Value:
        """An activation function on a scalar, which the attribute `clip` bounds first."""
        s = self.s
        if clip and self.a.clip is not None:
            x = s.max(s.min(x, s.const(self.a.clip)), s.const(-self.a.clip))
        if function.in_scale != 1:
            x = s.mul(x, s.const(function.in_scale))
        x = FUNCTIONS[function.operator](s, function.values, x)
        if function.out_scale != 1:
            x = s.mul(x, s.const(function.out_scale))
        return s.add(x, s.const(function.out_offset)) if function.out_offset else x

    def cells(
        self,
        sources: dict[str, tuple[ir.Value, str, int]],
        outs: Sequence[ir.Value],
        body: Callable[..., Sequence[ir.Value]],
    ) -> list[ir.Value]:
        """One generic over all cells (sequence, hidden unit).

        Args:
            sources: by name a tensor, its dtype, and which gate of it to read. A vector has one
                value for each hidden unit and gate, the same for all sequences.
            outs: tensors of one value for each cell, written in place.
            body: from the scalars of `sources` by name, and those of `outs` as they were, to the
                scalars of `outs`.
        """
        row, unit = ir.AffineDimExpr.get(0), ir.AffineDimExpr.get(1)
        tensors, maps = [], []
        for value, _, gate in sources.values():
            *outer, width = shape_of(value)
            units = self.a.hidden_size
            tensors.append(self.b.reshape(value, [*outer, width // units, units]))
            position = [*[row] * len(outer), ir.AffineConstantExpr.get(gate), unit]
            maps.append(ir.AffineMap.get(2, 0, position))

        def stored_body(*stored: ir.Value) -> list[ir.Value]:
            gates = {
                name: from_storage(value, dtype)
                for (name, (_, dtype, _)), value in zip(sources.items(), stored, strict=False)
            }
            return list(body(gates, *stored[len(sources) :]))

        return self.b.generic(
            tensors,
            maps,
            outs,
            [ir.AffineMap.get_identity(2)] * len(outs),
            ["parallel"] * 2,
            stored_body,
        )


class Cell:
    """How one step of a layer is built; `scratch` buffers are carried from step to step."""

    def __init__(self, d: Direction) -> None:
        self.d = d

    @property
    def separate_bias(self) -> int:
        """How many of the last values of the recurrence's bias the cell adds itself."""
        return 0

    def scratch(self) -> list[ir.Value]:
        """The buffers that a step needs."""
        return [
            self.d.scratch(shape_of(self.d.recurrence)[self.d.gate_axis] // self.d.a.hidden_size)
        ]

    def step(
        self, x: ir.Value, states: Sequence[ir.Value], scratch: Sequence[ir.Value], keep: Keep
    ) -> tuple[list[ir.Value], list[ir.Value]]:
        """The next states and the buffers, from a step's input gates (B, G*H), bias included."""
        raise NotImplementedError


class RnnCell(Cell):
    """See `nnvm.rnn`."""

    def step(
        self, x: ir.Value, states: Sequence[ir.Value], scratch: Sequence[ir.Value], keep: Keep
    ) -> tuple[list[ir.Value], list[ir.Value]]:
        d = self.d
        product = d.recur(states[0], scratch[0])
        sources = {"x": (x, d.wide, 0), "r": (product, d.wide, 0)}

        def body(g: Gates, hidden: ir.Value) -> list[ir.Value]:
            return [keep(d.activated(d.functions[0], d.s.add(g["x"], g["r"])), hidden)]

        return d.cells(sources, states, body), [product]


class LstmCell(Cell):
    """See `nnvm.lstm`."""

    def step(
        self, x: ir.Value, states: Sequence[ir.Value], scratch: Sequence[ir.Value], keep: Keep
    ) -> tuple[list[ir.Value], list[ir.Value]]:
        d, s = self.d, self.d.s
        f, g, h = d.functions
        product = d.recur(states[0], scratch[0])
        sources: dict[str, tuple[ir.Value, str, int]] = {}
        for gate, name in enumerate("iofc"):
            sources[f"x_{name}"] = (x, d.wide, gate)
            sources[f"r_{name}"] = (product, d.wide, gate)
        for gate, name in enumerate("iof"):
            sources[f"p_{name}"] = (d.peephole, d.dtype, gate)

        def body(v: Gates, hidden: ir.Value, memory: ir.Value) -> list[ir.Value]:
            def gate(name: str, memory: ir.Value) -> ir.Value:
                total = s.add(v[f"x_{name}"], v[f"r_{name}"])
                return d.activated(f, s.add(total, s.mul(v[f"p_{name}"], memory)))

            i = gate("i", memory)
            forget = s.sub(s.const(1), i) if d.a.input_forget else gate("f", memory)
            candidate = d.activated(g, s.add(v["x_c"], v["r_c"]))
            new = s.add(s.mul(forget, memory), s.mul(i, candidate))
            output = s.mul(gate("o", new), d.activated(h, new, clip=False))
            return [keep(output, hidden), keep(new, memory)]

        return d.cells(sources, states, body), [product]


class GruCell(Cell):
    """See `nnvm.gru`."""

    @property
    def separate_bias(self) -> int:
        return self.d.a.hidden_size if self.d.a.linear_before_reset else 0

    def scratch(self) -> list[ir.Value]:
        d = self.d
        return (
            [d.scratch(3)]
            if d.a.linear_before_reset
            else [d.scratch(2), d.scratch(1), d.scratch(1)]
        )

    def step(
        self, x: ir.Value, states: Sequence[ir.Value], scratch: Sequence[ir.Value], keep: Keep
    ) -> tuple[list[ir.Value], list[ir.Value]]:
        d, s = self.d, self.d.s
        f, g = d.functions
        (hidden,) = states
        product = d.recur(hidden, scratch[0])
        gates = {
            f"{source}_{name}": (value, d.wide, gate)
            for source, value in (("x", x), ("r", product))
            for gate, name in enumerate("zr")
        }
        buffers = [product]
        gates["x_h"] = (x, d.wide, 2)
        if d.a.linear_before_reset:
            gates["r_h"] = (product, d.wide, 2)
            gates["b_h"] = (d.bias, d.dtype, 5)
        else:
            inputs = {name: gates.pop(name) for name in ("x_r", "r_r")}
            inputs["h"] = (hidden, d.wide, 0)
            (reset,) = d.cells(
                inputs,
                scratch[1:2],
                lambda v, _: [s.mul(d.activated(f, s.add(v["x_r"], v["r_r"])), v["h"])],
            )
            gated = d.recur(reset, scratch[2], first=2)
            gates["r_h"] = (gated, d.wide, 0)
            buffers += [reset, gated]

        def body(v: Gates, hidden: ir.Value) -> list[ir.Value]:
            z = d.activated(f, s.add(v["x_z"], v["r_z"]))
            recurrent = v["r_h"]
            if d.a.linear_before_reset:
                r = d.activated(f, s.add(v["x_r"], v["r_r"]))
                recurrent = s.mul(r, s.add(recurrent, v["b_h"]))
            n = d.activated(g, s.add(v["x_h"], recurrent))
            new = s.add(s.mul(s.sub(s.const(1), z), n), s.mul(z, hidden))
            return [keep(new, hidden)]

        return d.cells(gates, states, body), buffers
