"""Lowering of recurrent layers.

The inputs of all time steps meet their weights in one contraction. What is left is a sequential
loop over time that carries the states and its scratch buffers, so that no step allocates.
"""

from __future__ import annotations

from collections.abc import Sequence

from nnvm_mlir.dialects.nnvm import recurrent as ops
from nnvm_mlir.lowering.linalg.builder import LinalgBuilder, from_storage, shape_of, to_storage
from nnvm_mlir.lowering.linalg.loops import for_loop
from nnvm_mlir.lowering.linalg.positions import index, loop_index, position
from nnvm_mlir.lowering.linalg.recurrent_cells import (
    Cell,
    Direction,
    GruCell,
    Keep,
    LstmCell,
    RnnCell,
)
from nnvm_mlir.lowering.linalg.registry import lowers
from nnvm_mlir.lowering.linalg.scalars import compute_dtype
from nnvm_mlir.mlir import arith, ir, tensor

_CELLS: dict[type[ops.Recurrent], type[Cell]] = {
    ops.Lstm: LstmCell,
    ops.Gru: GruCell,
    ops.Rnn: RnnCell,
}


@lowers(*_CELLS)
def recurrent(b: LinalgBuilder, op: ops.Recurrent, *operands: ir.Value) -> list[ir.Value]:
    """One direction after the other, each writing its part of the results."""
    a = op.values
    results = [b.empty(t.shape, t.dtype) for t in op.static_results]
    for d in range(op.directions(a)):
        results = _Layer(b, op, d, operands).run(*results)
    return results


class _Layer:
    """One direction `d` of an operation."""

    def __init__(
        self, b: LinalgBuilder, op: ops.Recurrent, d: int, operands: Sequence[ir.Value]
    ) -> None:
        self.b, self.a, self.d = b, op.values, d
        self.dtype = op.static_results[0].dtype
        self.wide = compute_dtype(self.dtype)
        self.backwards = op.is_reverse(self.a, d)
        count = len(op.operand_fields) - 1
        self.lengths = operands[count] if len(operands) > count else None
        self.data, weight, recurrence, bias, *rest = operands[:count]
        self.state_axis = self.a.layout
        states, peephole = rest[: len(op.states)], rest[len(op.states) :]
        self.states = [self._own(value, self.state_axis) for value in states]
        self.weight, self.bias = self._own(weight), self._own(bias)
        self.steps, self.batch = shape_of(self.data)[:2][:: -1 if self.a.layout else 1]
        self.cell = _CELLS[type(op)](
            Direction(
                b,
                self.a,
                self.dtype,
                op.cell_activations(self.a)[d],
                self._own(recurrence),
                self.bias,
                self._own(peephole[0]) if peephole else None,
                self.batch,
            )
        )

    def run(self, y: ir.Value, *last: ir.Value) -> list[ir.Value]:
        """The layer's results with this direction's part written."""
        inputs = self._input_gates()
        # The loop writes states in place, so it starts from copies of them.
        states = [
            self.b.map(lambda value: value, [state], [self.dtype], self.wide)
            for state in self.states
        ]
        count = len(states)

        def body(step: ir.Value, y: ir.Value, *carried: ir.Value) -> list[ir.Value]:
            time = arith.subi(index(self.steps - 1), step) if self.backwards else step
            x = self._time_step(inputs, time)
            new, scratch = self.cell.step(x, carried[:count], carried[count:], self._keep(time))
            return [self._written(y, new[0], time), *new, *scratch]

        y, *carried = for_loop(0, self.steps, [y, *states, *self.cell.scratch()], body)
        return [y, *map(self._final, carried[:count], last)]

    def _own(self, value: ir.Value, axis: int = 0) -> ir.Value:
        """The part of an operand, on whose given axis the directions lie, that is of this one."""
        shape = list(shape_of(value))
        offsets = [0] * len(shape)
        if shape[axis] > 1:
            offsets[axis], shape[axis] = self.d, 1
            value = self.b.slice(value, offsets, shape, [1] * len(shape))
        return self.b.reshape(value, shape[:axis] + shape[axis + 1 :])

    def _input_gates(self) -> ir.Value:
        """(T, B, G*H): the data of all time steps times the weight, plus all of the bias.

        Only what the reset gate of a GRU must multiply first is left out.
        """
        b, s = self.b, self.cell.d.s
        half = shape_of(self.bias)[0] // 2
        first, second = (b.slice(self.bias, [start], [half], [1]) for start in (0, half))
        separate = self.cell.separate_bias
        if separate:
            rest = b.slice(first, [half - separate], [separate], [1])
            first, second = (b.slice(v, [0], [half - separate], [1]) for v in (first, second))
        bias = b.map(s.add, [first, second], [self.dtype] * 2, self.dtype)
        if separate:
            bias = b.concatenate([bias, rest], 0)
        shape = (self.steps, self.batch, half)
        init = b.map(lambda value: value, [bias], [self.dtype], self.wide, shape)
        time, row = (ir.AffineDimExpr.get(i) for i in range(2))
        outer = [row, time] if self.a.layout else [time, row]
        return self.cell.d.product(self.data, self.dtype, outer, self.weight, init)

    def _time_step(self, inputs: ir.Value, time: ir.Value) -> ir.Value:
        """The input gates (B, G*H) of one time step."""
        _, batch, width = shape_of(inputs)
        element = ir.RankedTensorType(inputs.type).element_type
        return tensor.extract_slice(
            ir.RankedTensorType.get([batch, width], element),
            inputs, [time], [], [], [_dynamic(), 0, 0], [1, batch, width], [1, 1, 1],
        )  # fmt: skip

    def _keep(self, time: ir.Value) -> Keep:
        if self.lengths is None:
            return lambda new, old: new
        return lambda new, old: arith.select(self._is_active(time), new, old)

    def _is_active(self, time: ir.Value) -> ir.Value:
        """Whether, in a body over sequences, the sequence has this time step."""
        length = position(tensor.extract(self.lengths, [loop_index(0)]))
        return arith.cmpi(arith.CmpIPredicate.slt, time, length)

    def _written(self, y: ir.Value, hidden: ir.Value, time: ir.Value) -> ir.Value:
        """`y` with the output of one time step, which is zero where a sequence is over."""
        if self.lengths is not None:
            zero = self.cell.d.s.const(0)

            def masked(value: ir.Value, _: ir.Value) -> list[ir.Value]:
                value = arith.select(self._is_active(time), from_storage(value, self.wide), zero)
                return [to_storage(value, self.dtype)]

            identity = ir.AffineMap.get_identity(2)
            init = self.b.empty(shape_of(hidden), self.dtype)
            hidden = self.b.generic(
                [hidden], [identity], [init], [identity], ["parallel"] * 2, masked
            )[0]
        else:
            hidden = self._narrow(hidden)
        batch, units = shape_of(hidden)
        if self.a.layout:
            offsets, sizes = [0, _dynamic(), self.d, 0], [batch, 1, 1, units]
        else:
            offsets, sizes = [_dynamic(), self.d, 0, 0], [1, 1, batch, units]
        return tensor.insert_slice(hidden, y, [time], [], [], offsets, sizes, [1] * 4)

    def _final(self, state: ir.Value, whole: ir.Value) -> ir.Value:
        """A result of final states with this direction's part written."""
        batch, units = shape_of(state)
        offsets, sizes = [0] * 3, [batch, units]
        offsets[self.state_axis] = self.d
        sizes.insert(self.state_axis, 1)
        return tensor.insert_slice(self._narrow(state), whole, [], [], [], offsets, sizes, [1] * 3)

    def _narrow(self, state: ir.Value) -> ir.Value:
        """A state in the dtype of the results."""
        return self.b.cast(state, self.wide, self.dtype)


def _dynamic() -> int:
    return ir.ShapedType.get_dynamic_stride_or_offset()
