"""Reading and writing at one point of a loop nest, or at a vector of points along its last loop."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from nnvm_mlir.lowering.cpu.affine import Form
from nnvm_mlir.lowering.cpu.emitter import Emitter, Index
from nnvm_mlir.lowering.cpu.structured import Access, Argument, Constant
from nnvm_mlir.mlir import arith, ir


@dataclass(frozen=True)
class Point:
    """Where code is being emitted.

    Attributes:
        e: the emitter.
        buffers: the kernel's inputs.
        at: index of each loop, of the first lane.
        lanes: length of the vectors, which run along the last loop; None for scalars.
        active: how many lanes are in use, where not all.
        known: values of accesses that were read before, outside of the last loop.
    """

    e: Emitter
    buffers: Sequence[ir.Value]
    at: Sequence[Index]
    lanes: int | None = None
    active: int | None = None
    known: dict[Access, ir.Value] = field(default_factory=dict)

    @property
    def mask(self) -> ir.Value | None:
        """The lanes in use; None where all are."""
        if self.active is None or self.lanes is None:
            return None
        return self.e.mask(self.active, self.lanes)

    def load(self, access: Access) -> ir.Value:
        """The value of an access. Lanes that are not in use hold 1, or the access's padding."""
        e = self.e
        if access in self.known:
            return self.known[access]
        if isinstance(access.source, Constant):
            return e.constant(access.source.value, access.element, self.lanes)
        if not isinstance(access.source, Argument):
            return e.constant(0, access.element, self.lanes)
        buffer = self.buffers[access.source.index]
        at = self._position(access.form)
        stride = self._stride(access.form)
        inside = [self._in_range(g.form, g.size) for g in access.guards]
        scalar = [flag for flag in inside if not isinstance(flag.type, ir.VectorType)]
        if self.lanes is None or (stride == 0 and len(scalar) == len(inside)):
            return e.broadcast(self._load_scalar(access, buffer, at, scalar), self.lanes)
        mask = self._all([*inside, *([] if self.mask is None else [self.mask])])
        otherwise = 1 if access.padding is None else access.padding
        if stride == 1:
            return e.load(buffer, at, self.lanes, mask, otherwise)
        return e.gather(buffer, at, stride, self.lanes, mask, otherwise)

    def store(self, value: ir.Value, buffer: ir.Value, form: Form) -> None:
        """Writes to position `form`; lanes need stride 1 along the last loop."""
        self.e.store(value, buffer, self._position(form), self.mask)

    def index(self, loop: int) -> ir.Value:
        """The index of a loop in every lane."""
        e = self.e
        value = e.broadcast(e.index(self.at[loop]), self.lanes)
        if self.lanes is None or loop != len(self.at) - 1:
            return value
        return arith.AddIOp(value, self._steps(1)).result

    def _position(self, form: Form) -> Index:
        return self.e.linear(form.coefficients, self.at, form.offset)

    def _stride(self, form: Form) -> int:
        return form.coefficients[-1] if self.lanes is not None else 0

    def _steps(self, stride: int) -> ir.Value:
        """`stride * lane` in every lane, as indices."""
        e, lanes, index = self.e, self.lanes, ir.IndexType.get()
        steps = e.op("vector.step", [], ir.VectorType.get([lanes], index))
        return (
            steps if stride == 1 else arith.MulIOp(steps, e.constant(stride, index, lanes)).result
        )

    def _in_range(self, form: Form, size: int) -> ir.Value:
        """Whether 0 <= form < size: an i1, or a vector of them where the lanes differ."""
        e, index = self.e, ir.IndexType.get()
        value, stride, lanes = e.index(self._position(form)), self._stride(form), None
        if stride:
            lanes = self.lanes
            value = arith.AddIOp(e.broadcast(value, lanes), self._steps(stride)).result
        below = arith.CmpIPredicate.ult  # as an unsigned number, a negative index is large
        return arith.CmpIOp(below, value, e.constant(size, index, lanes)).result

    def _all(self, flags: Sequence[ir.Value]) -> ir.Value | None:
        total = None
        for flag in flags:
            if not isinstance(flag.type, ir.VectorType):
                flag = self.e.broadcast(flag, self.lanes)
            total = flag if total is None else arith.AndIOp(total, flag).result
        return total

    def _load_scalar(
        self, access: Access, buffer: ir.Value, at: Index, inside: Sequence[ir.Value]
    ) -> ir.Value:
        if not inside:
            return self.e.load(buffer, at)
        flag = inside[0]
        for other in inside[1:]:
            flag = arith.AndIOp(flag, other).result
        safe = arith.SelectOp(flag, self.e.index(at), self.e.index(0)).result
        padding = self.e.constant(0 if access.padding is None else access.padding, access.element)
        return arith.SelectOp(flag, self.e.load(buffer, safe), padding).result
