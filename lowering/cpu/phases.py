"""Reductions that each compute a strided part of one tensor, as a transposed convolution has them.

At linalg level these are `linalg.generic` results, put one after the other into a tensor by
`tensor.insert_slice`, with element-wise generics over the whole tensor behind. Every phase is a
reduction of its own, with the part of the element-wise generics that concerns it as its epilogue.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from nnvm_mlir.lowering.cpu.affine import Form, row_major_strides
from nnvm_mlir.lowering.cpu.emitter import Unsupported
from nnvm_mlir.lowering.cpu.structured import Kernel, Part, loops_of, read
from nnvm_mlir.lowering.cpu.tensor_ops import behind_reshapes, producer, shape_of, static_values
from nnvm_mlir.mlir import func, ir, linalg, tensor


@dataclass(frozen=True)
class Slice:
    """Along one dimension of the whole tensor: the indices `offset + step * i` for `i < size`."""

    offset: int
    size: int
    step: int


def read_phases(function: func.FuncOp) -> list[Kernel]:
    """Reads a kernel function as one kernel for each of its phases; a single one without phases.

    May add a copy of the result to the function.

    Raises:
        Unsupported: as `read`, or phases do not cover the tensor.
    """
    inserts = [
        op.operation
        for op in function.regions[0].blocks[0].operations
        if op.operation.name == "tensor.insert_slice"
    ]
    if not inserts or not all(_is_reduction(producer(op.operands[0])) for op in inserts):
        return [read(function)]
    whole = inserts[-1].results[0]
    shape = shape_of(whole.type)
    slices = [_slices(op) for op in inserts]
    for op, earlier in zip(inserts[1:], inserts, strict=False):
        if op.operands[1] != earlier.results[0]:
            raise Unsupported("slices of different tensors")
    if sum(math.prod(s.size for s in phase) for phase in slices) != math.prod(shape):
        raise Unsupported("phases that leave elements out")
    _name_result(function, whole)
    followers = _followers(function, whole)
    return [read(function, {op: _part(op, shape, phase) for op in followers}) for phase in slices]


def _is_reduction(op: ir.Operation | None) -> bool:
    return (
        op is not None
        and op.name == "linalg.generic"
        and "reduction" in str(op.attributes["iterator_types"])
    )


def _slices(op: ir.Operation) -> list[Slice]:
    numbers = (static_values(op, f"static_{name}") for name in ("offsets", "sizes", "strides"))
    return [Slice(*values) for values in zip(*numbers, strict=True)]


def _name_result(function: func.FuncOp, whole: ir.Value) -> None:
    """If the tensor itself is returned, returns a copy, so that phases always have an epilogue."""
    *_, terminator = function.regions[0].blocks[0].operations
    for number, value in enumerate(terminator.operands):
        if behind_reshapes(value) != whole:
            continue
        shape = shape_of(value.type)
        with terminator.location, ir.InsertionPoint(terminator):
            empty = tensor.EmptyOp(list(shape), value.type.element_type).result
            identity = ir.AffineMapAttr.get(ir.AffineMap.get_identity(len(shape)))
            parallel = ir.Attribute.parse("#linalg.iterator_type<parallel>")
            copy = linalg.GenericOp(
                [value.type],
                [value],
                [empty],
                ir.ArrayAttr.get([identity, identity]),
                ir.ArrayAttr.get([parallel] * len(shape)),
            )
            element = value.type.element_type
            block = copy.regions[0].blocks.append(element, element)
            with ir.InsertionPoint(block):
                linalg.YieldOp([block.arguments[0]])
            terminator.operands[number] = copy.results[0]


def _followers(function: func.FuncOp, whole: ir.Value) -> list[ir.Operation]:
    """The generics that depend on the whole tensor."""
    depending = [whole]
    found = []
    for op in function.regions[0].blocks[0].operations:
        if any(operand in depending for operand in op.operands):
            depending.extend(op.results)
            if op.operation.name == "linalg.generic":
                found.append(op.operation)
    if producer(whole) in found:
        found.remove(producer(whole))
    return found


def _part(op: ir.Operation, shape: Sequence[int], slices: Sequence[Slice]) -> Part:
    """The iterations of an element-wise generic over the whole tensor that are in one phase."""
    sizes, output = loops_of(op)
    strides = row_major_strides(shape)
    forms = [Form.of_dim(loop, len(sizes)) for loop in range(len(sizes))]
    parts = list(sizes)
    for along, extent, stride in zip(slices, shape, strides, strict=True):
        if along == Slice(0, extent, 1):
            continue
        loops = [d for d, c in enumerate(output.coefficients) if c == stride and sizes[d] == extent]
        if len(loops) != 1:
            raise Unsupported("an epilogue of phases in another layout")
        parts[loops[0]] = along.size
        forms[loops[0]] = forms[loops[0]].scaled(along.step).shifted(along.offset)
    return Part(tuple(parts), tuple(forms))
