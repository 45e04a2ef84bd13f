"""Einsum as transposes, sums and batched matrix products, two operands at a time."""

from __future__ import annotations

import math
from dataclasses import dataclass

from nnvm_mlir.builder import Node
from nnvm_mlir.dialects.nnvm.linear import BatchMatmul
from nnvm_mlir.dialects.nnvm.reduction import Sum
from nnvm_mlir.dialects.nnvm.transform import Transpose
from nnvm_mlir.frontend.onnx.converters.common import reshape
from nnvm_mlir.frontend.onnx.registry import NodeContext, converter

Labels = tuple[str, ...]
"""A label for each axis: a letter, or "...N" for the Nth axis from the end of an ellipsis."""


@dataclass(frozen=True)
class _Term:
    node: Node
    labels: Labels

    @property
    def sizes(self) -> dict[str, int]:
        return dict(zip(self.labels, self.node.shape, strict=True))


@converter("Einsum")
def einsum(ctx: NodeContext) -> Node:
    """Contracts the operands from left to right."""
    terms, output = _parse(ctx)
    result = terms[0]
    for index, term in enumerate(terms[1:], 2):
        later = {label for other in terms[index:] for label in other.labels}
        result = _contract(ctx, result, term, later.union(output))
    return _arranged(ctx, _summed(ctx, result, set(output)), output).node


def _parse(ctx: NodeContext) -> tuple[list[_Term], Labels]:
    equation = ctx.attr("equation").replace(" ", "")
    left, arrow, right = equation.partition("->")
    operands = left.split(",")
    if len(operands) != len(ctx.inputs):
        raise ctx.error(f"equation {equation!r} does not have {len(ctx.inputs)} operands")
    terms = []
    for index, text in enumerate(operands):
        node = ctx.input(index)
        labels = _labels(ctx, text, len(node.shape))
        if len(set(labels)) != len(labels):
            raise ctx.error(f"diagonals ({text!r}) are not supported")
        terms.append(_Term(node, labels))
    names = [label for term in terms for label in term.labels]
    dotted = sorted({n for n in names if n.startswith(".")}, key=lambda n: -int(n[3:]))
    if not arrow:
        once = sorted(n for n in set(names) if names.count(n) == 1 and not n.startswith("."))
        return terms, (*dotted, *once)
    output = _labels(ctx, right, len(right.replace("...", "")) + len(dotted))
    if not set(output) <= set(names) or len(set(output)) != len(output):
        raise ctx.error(f"equation {equation!r} has an output that its operands do not determine")
    return terms, output


def _labels(ctx: NodeContext, text: str, rank: int) -> Labels:
    before, dots, after = text.partition("...")
    hidden = rank - len(before) - len(after)
    if (not (before + after).isalpha() and before + after) or hidden < 0 or (hidden and not dots):
        raise ctx.error(f"{text!r} does not describe a tensor of rank {rank}")
    return (*before, *(f"...{axis}" for axis in range(hidden - 1, -1, -1)), *after)


def _contract(ctx: NodeContext, lhs: _Term, rhs: _Term, kept: set[str]) -> _Term:
    """The product of two terms, summed over what neither the rest nor the output needs."""
    lhs = _summed(ctx, lhs, kept.union(rhs.labels))
    rhs = _summed(ctx, rhs, kept.union(lhs.labels))
    shared = [label for label in lhs.labels if label in rhs.labels]
    for label in shared:
        if lhs.sizes[label] != rhs.sizes[label]:
            raise ctx.error(f"label {label!r} has sizes {lhs.sizes[label]} and {rhs.sizes[label]}")
    batch = [label for label in shared if label in kept]
    inner = [label for label in shared if label not in kept]
    rows = [label for label in lhs.labels if label not in shared]
    columns = [label for label in rhs.labels if label not in shared]
    sizes = {**lhs.sizes, **rhs.sizes}

    def volume(labels: list[str]) -> int:
        return math.prod(sizes[label] for label in labels)

    left = _arranged(ctx, lhs, (*batch, *rows, *inner)).node
    right = _arranged(ctx, rhs, (*batch, *inner, *columns)).node
    left = reshape(ctx, left, (volume(batch), volume(rows), volume(inner)))
    right = reshape(ctx, right, (volume(batch), volume(inner), volume(columns)))
    labels = (*batch, *rows, *columns)
    product = ctx.op(BatchMatmul, left, right)
    return _Term(reshape(ctx, product, [sizes[label] for label in labels]), labels)


def _summed(ctx: NodeContext, term: _Term, kept: set[str]) -> _Term:
    axes = tuple(axis for axis, label in enumerate(term.labels) if label not in kept)
    if not axes:
        return term
    labels = tuple(label for label in term.labels if label in kept)
    return _Term(ctx.op(Sum, term.node, axis=axes), labels)


def _arranged(ctx: NodeContext, term: _Term, labels: Labels) -> _Term:
    axes = tuple(term.labels.index(label) for label in labels)
    if axes == tuple(range(len(axes))):
        return term
    return _Term(ctx.op(Transpose, term.node, axes=axes), labels)
