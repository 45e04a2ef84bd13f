"""Small combinations of operators that several families need."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

import numpy as np

from nnvm_mlir.builder import Node
from nnvm_mlir.dialects.nnvm.elementwise import Cast
from nnvm_mlir.dialects.nnvm.expansion import BroadcastTo
from nnvm_mlir.dialects.nnvm.operator import VARIADIC_LIMIT
from nnvm_mlir.dialects.nnvm.slicing import Concatenate, Split
from nnvm_mlir.dialects.nnvm.transform import Reshape
from nnvm_mlir.frontend.onnx.registry import NodeContext


def reshape(ctx: NodeContext, data: Node, shape: Sequence[int]) -> Node:
    """The tensor under another shape of as many elements."""
    if data.shape == tuple(shape):
        return data
    return ctx.op(Reshape, data, shape=tuple(shape), allow_zero=True)


def cast(ctx: NodeContext, data: Node, dtype: str) -> Node:
    """The tensor in another dtype."""
    return data if data.dtype == dtype else ctx.op(Cast, data, dtype=dtype)


def broadcast_to(ctx: NodeContext, data: Node, shape: Sequence[int]) -> Node:
    """The tensor broadcast to a shape that it can be broadcast to, as NumPy does."""
    target = tuple(shape)
    if data.shape == target:
        return data
    if 0 in target:  # where BroadcastTo would take 0 for "keep"
        return ctx.constant(np.zeros(target), data.dtype)
    return ctx.op(BroadcastTo, data, shape=target)


def concatenate(ctx: NodeContext, tensors: Sequence[Node], axis: int) -> Node:
    """Tensors one after the other."""
    return ctx.op(Concatenate, *tensors, axis=axis) if len(tensors) > 1 else tensors[0]


def split(ctx: NodeContext, data: Node, sizes: Sequence[int], axis: int) -> list[Node]:
    """Parts of the given sizes, by several operations where one would have too many results."""
    if len(sizes) == 1:
        return [data]
    groups = [
        sizes[start : start + VARIADIC_LIMIT] for start in range(0, len(sizes), VARIADIC_LIMIT)
    ]
    if len(groups) > 1:
        parts = split(ctx, data, [sum(group) for group in groups], axis)
        pairs = zip(parts, groups, strict=True)
        return [node for part, group in pairs for node in split(ctx, part, group, axis)]
    cuts = tuple(accumulate(sizes[:-1]))
    return ctx.op(Split, data, indices_or_sections=cuts, axis=axis)


def channel_shape(channels: int, rank: int) -> tuple[int, ...]:
    """The shape under which a vector over axis 1 broadcasts against data of `rank`."""
    return (channels, *[1] * (rank - 2))


def is_scalar(node: Node | None) -> bool:
    """Whether a node is a known tensor of one element."""
    return node is not None and node.constant is not None and node.type.size == 1
