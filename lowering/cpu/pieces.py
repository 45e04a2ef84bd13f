"""Kernel functions without reductions as pieces: boxes of the results, computed point by point.

An element-wise function has one piece for each result. Data movement has more: a concatenation has
one for each part, a padded tensor one for the inside and one for each border. Later pieces
overwrite earlier ones where they overlap.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from nnvm_mlir.lowering.cpu.affine import Form, delinearize, row_major_strides
from nnvm_mlir.lowering.cpu.common_loops import common_sizes, loops_over
from nnvm_mlir.lowering.cpu.emitter import Unsupported, element_of
from nnvm_mlir.lowering.cpu.expressions import Load, Node, Shared, apply, expression
from nnvm_mlir.lowering.cpu.structured import Access, Constant, Reader, identity_forms
from nnvm_mlir.lowering.cpu.tensor_ops import (
    constant_value,
    count_of,
    pad_value,
    producer,
    reassociation,
    shape_of,
    static_values,
)
from nnvm_mlir.mlir import func, ir


@dataclass(frozen=True)
class Piece:
    """A box of one result.

    Attributes:
        output: which result of the function.
        sizes: trip count of each loop over the box.
        position: where an iteration writes in the flat result.
        node: the value that it writes.
        element: element type of the result.
    """

    output: int
    sizes: tuple[int, ...]
    position: Form
    node: Node
    element: ir.Type


@dataclass(frozen=True)
class Decomposition:
    """A kernel function as pieces.

    Attributes:
        arguments: number of elements and element type of each argument.
        outputs: the same for each result.
        pieces: in the order in which they must be written.
    """

    arguments: tuple[tuple[int, ir.Type], ...]
    outputs: tuple[tuple[int, ir.Type], ...]
    pieces: tuple[Piece, ...]


def decompose(function: func.FuncOp) -> Decomposition:
    """Takes a kernel function on tensors apart.

    Raises:
        Unsupported: it has a reduction, or something else that is no affine movement of elements.
    """
    entry = function.regions[0].blocks[0]
    *_, terminator = entry.operations
    walker = _Walker()
    for number, value in enumerate(terminator.operands):
        walker.walk(value, Form(row_major_strides(shape_of(value.type))), number)

    def flat(values: Sequence[ir.Value]) -> tuple[tuple[int, ir.Type], ...]:
        return tuple((count_of(v.type), element_of(v.type)) for v in values)

    pieces = tuple(piece for piece in walker.pieces if 0 not in piece.sizes)
    return Decomposition(flat(list(entry.arguments)), flat(list(terminator.operands)), pieces)


@dataclass
class _Walker:
    """Follows a result back to what it is made of.

    `place` is the position in the result over the dimensions of a value.
    """

    pieces: list[Piece] = field(default_factory=list)
    reader: Reader = field(default_factory=Reader)
    shared: dict[tuple[int, ...], Shared] = field(default_factory=dict)

    def walk(self, value: ir.Value, place: Form, output: int) -> None:
        if 0 in shape_of(value.type):
            return
        op = producer(value)
        step = _STEPS.get(op.name) if op is not None else None
        if step is not None:
            step(self, op, value, place, output)
            return
        shape = shape_of(value.type)
        access = self.reader.access(value, identity_forms(value.type), shape)
        self._add(
            output,
            shape,
            place,
            expression(access, shape, shared=self._shared(shape)),
            access.element,
        )

    def _shared(self, sizes: Sequence[int]) -> Shared:
        return self.shared.setdefault(tuple(sizes), {})

    def _add(
        self, output: int, sizes: Sequence[int], position: Form, node: Node, element: ir.Type
    ) -> None:
        position = position.normalized(sizes)
        self.pieces.append(Piece(output, tuple(sizes), position, node, element))

    def _generic(self, op: ir.Operation, value: ir.Value, place: Form, output: int) -> None:
        generic = self.reader.generic(op)
        if not generic.is_elementwise:
            raise Unsupported("a reduction")
        number = ir.OpResult(value).result_number
        shape = shape_of(value.type)
        where = delinearize(generic.outputs[number], row_major_strides(shape), shape, generic.sizes)
        if where is None:
            raise Unsupported("a result that is not written dimension by dimension")
        dims = len(generic.sizes)
        place = place.compose(where, dims)
        loops = tuple(Form.of_dim(d, dims) for d in range(dims))
        sizes: Sequence[int] = generic.sizes
        try:
            node = apply(generic, number, loops, sizes, shared=self._shared(sizes))
        except Unsupported:
            # Where a producer has more loops than this generic, because of a reshape in between.
            sizes = common_sizes(self.reader.generics)
            loops = loops_over(generic, sizes)
            node = apply(generic, number, loops, sizes, shared=self._shared(sizes))
        position = place.compose(loops, len(sizes))
        self._add(output, sizes, position, node, element_of(value.type))

    def _insert(self, op: ir.Operation, value: ir.Value, place: Form, output: int) -> None:
        part, whole = op.operands[:2]
        self.walk(whole, place, output)
        kept = list(shape_of(part.type))
        coefficients = []
        offset = place.offset
        described = zip(
            *(static_values(op, f"static_{name}") for name in ("offsets", "sizes", "strides")),
            place.coefficients,
            strict=True,
        )
        for start, extent, step, stride in described:
            offset += start * stride
            if kept and kept[0] == extent:
                kept.pop(0)
                coefficients.append(step * stride)
        if kept:
            raise Unsupported("a tensor.insert_slice whose dropped dimensions are not units")
        self.walk(part, Form(tuple(coefficients), offset), output)

    def _pad(self, op: ir.Operation, value: ir.Value, place: Form, output: int) -> None:
        inside = op.operands[0]
        low = static_values(op, "static_low")
        extents = shape_of(inside.type)
        # The border, slab by slab: dimensions before d span the inside, those after d everything.
        box = [(0, size) for size in shape_of(value.type)]
        for d, (before, extent) in enumerate(zip(low, extents, strict=True)):
            total = box[d][1]
            for start, size in ((0, before), (before + extent, total - before - extent)):
                box[d] = (start, size)
                self._fill(box, pad_value(op), place, output, element_of(value.type))
            box[d] = (before, extent)
        corner = sum(s * c for s, c in zip(low, place.coefficients, strict=True))
        self.walk(inside, place.shifted(corner), output)

    def _constant(self, op: ir.Operation, value: ir.Value, place: Form, output: int) -> None:
        constant = op if op.name == "arith.constant" else producer(op.operands[0])
        if constant is None or constant.name != "arith.constant":
            raise Unsupported("a tensor filled with a computed value")
        box = [(0, size) for size in shape_of(value.type)]
        self._fill(box, constant_value(constant), place, output, element_of(value.type))

    def _fill(
        self,
        box: Sequence[tuple[int, int]],
        number: float | int,
        place: Form,
        output: int,
        element: ir.Type,
    ) -> None:
        corner = sum(start * c for (start, _), c in zip(box, place.coefficients, strict=True))
        sizes = [size for _, size in box]
        access = Access(Constant(number), Form.zero(len(sizes)), element)
        self._add(output, sizes, place.shifted(corner), Load(access), element)

    def _collapse(self, op: ir.Operation, value: ir.Value, place: Form, output: int) -> None:
        source = op.operands[0]
        shape = shape_of(source.type)
        coefficients: list[int] = []
        for group, stride in zip(reassociation(op), place.coefficients, strict=True):
            inner = row_major_strides([shape[d] for d in group])
            coefficients.extend(stride * step for step in inner)
        if not reassociation(op):
            coefficients = [0] * len(shape)
        self.walk(source, Form(tuple(coefficients), place.offset), output)

    def _expand(self, op: ir.Operation, value: ir.Value, place: Form, output: int) -> None:
        shape = shape_of(value.type)
        coefficients = []
        for group in reassociation(op):
            inner = row_major_strides([shape[d] for d in group])
            strides = [
                (place.coefficients[d], step)
                for d, step in zip(group, inner, strict=True)
                if shape[d] > 1
            ]
            unit, step = strides[-1] if strides else (0, 1)
            if any(stride * step != unit * other for stride, other in strides):
                raise Unsupported("an expanded dimension that is taken apart")
            coefficients.append(unit // step)
        self.walk(op.operands[0], Form(tuple(coefficients), place.offset), output)

    def _nothing(self, op: ir.Operation, value: ir.Value, place: Form, output: int) -> None:
        """The content of a `tensor.empty` is not written."""


_STEPS = {
    "arith.constant": _Walker._constant,
    "linalg.fill": _Walker._constant,
    "linalg.generic": _Walker._generic,
    "tensor.collapse_shape": _Walker._collapse,
    "tensor.empty": _Walker._nothing,
    "tensor.expand_shape": _Walker._expand,
    "tensor.insert_slice": _Walker._insert,
    "tensor.pad": _Walker._pad,
    "tensor.splat": _Walker._constant,
}
