"""Sequences of tensors: they exist during the import only, where every length and position is known."""

from __future__ import annotations

from dataclasses import dataclass

from nnvm_mlir.builder import Node
from nnvm_mlir.dialects.nnvm.operator import normalize_axis
from nnvm_mlir.dialects.nnvm.transform import ExpandDims, Squeeze
from nnvm_mlir.dialects.nnvm.types import TensorType
from nnvm_mlir.frontend.onnx.converters.common import concatenate, split
from nnvm_mlir.frontend.onnx.registry import NodeContext, converter


@dataclass(eq=False)
class SequenceNode(Node):
    """A list of tensors; as a tensor it has no type, so that operators refuse it."""

    items: tuple[Node, ...] = ()


@converter("SequenceEmpty", "SequenceConstruct")
def sequence_construct(ctx: NodeContext) -> Node:
    """A sequence of the operands."""
    return _sequence(ctx.operands)


@converter("SplitToSequence")
def split_to_sequence(ctx: NodeContext) -> Node:
    """Parts of given sizes, or of one size, or single elements."""
    data = ctx.input(0)
    axis = normalize_axis(ctx.attr("axis"), len(data.shape))
    total = data.shape[axis]
    given = ctx.optional_input(1)
    if given is None:
        sizes = (1,) * total
    elif given.shape:
        sizes = ctx.int_list(1) or ()
    else:
        chunk = ctx.scalar_input(1)
        if chunk < 1:
            raise ctx.error(f"parts of {chunk} elements are not possible")
        sizes = tuple(min(chunk, total - start) for start in range(0, total, chunk))
    if sum(sizes) != total or min(sizes, default=0) < 0:
        raise ctx.error(f"sizes {list(sizes)} do not split dimension {axis} of size {total}")
    parts = split(ctx, data, sizes, axis) if sizes else []
    if given is None and not ctx.attr("keepdims"):
        parts = [ctx.op(Squeeze, part, axis=axis) for part in parts]
    return _sequence(parts)


@converter("SequenceAt")
def sequence_at(ctx: NodeContext) -> Node:
    """One tensor of the sequence."""
    items = _items(ctx)
    return items[_position(ctx, 1, len(items), len(items) - 1)]


@converter("SequenceInsert")
def sequence_insert(ctx: NodeContext) -> Node:
    """The sequence with one more tensor, by default at its end."""
    items = _items(ctx)
    end = len(items)
    place = _position(ctx, 2, end, end) if ctx.has_input(2) else end
    return _sequence([*items[:place], ctx.input(1), *items[place:]])


@converter("SequenceErase")
def sequence_erase(ctx: NodeContext) -> Node:
    """The sequence without one tensor, by default its last."""
    items = _items(ctx)
    last = len(items) - 1
    if last < 0:
        raise ctx.error("the sequence is empty")
    place = _position(ctx, 1, len(items), last) if ctx.has_input(1) else last
    return _sequence([*items[:place], *items[place + 1 :]])


@converter("SequenceLength")
def sequence_length(ctx: NodeContext) -> Node:
    """How many tensors there are."""
    return ctx.constant(len(_items(ctx)), "int64")


@converter("ConcatFromSequence")
def concat_from_sequence(ctx: NodeContext) -> Node:
    """The tensors one after the other along an axis that they have, or a new one."""
    items = _items(ctx)
    if not items:
        raise ctx.error("the sequence is empty")
    new_axis = ctx.attr("new_axis")
    axis = normalize_axis(ctx.attr("axis"), len(items[0].shape) + bool(new_axis))
    if new_axis:
        items = tuple(ctx.op(ExpandDims, item, axis=axis) for item in items)
    return concatenate(ctx, items, axis)


def _sequence(items: list[Node]) -> SequenceNode:
    return SequenceNode(TensorType(), items=tuple(items))


def _items(ctx: NodeContext) -> tuple[Node, ...]:
    sequence = ctx.optional_input(0)
    if not isinstance(sequence, SequenceNode):
        raise ctx.error("input 0 must be a sequence")
    return sequence.items


def _position(ctx: NodeContext, index: int, count: int, most: int) -> int:
    """The known position in a sequence of `count` tensors; a negative one counts from the end."""
    position = ctx.scalar_input(index)
    if not -count <= position <= most:
        raise ctx.error(f"position {position} is out of range")
    return position if position >= 0 else position + count
