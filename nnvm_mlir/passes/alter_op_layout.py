"""`nnvm-alter-op-layout`: the layouts that kernels read fastest, for whole regions of a graph.

Convolutions and pools ask for channels last: their inner loops then read a vector of channels from
one address. Each is rewritten between two transposes. Matrix products ask for columns last,
recurrent layers for gates. Transposes then sink through the operators that can work on permuted
operands (they say how, in `Operator.permuted`), meet, and cancel, until a convolutional network is
transposed at its two ends only. Weights are transposed too, which `nnvm-precompute-prune`
evaluates.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from nnvm_mlir.dialects.nnvm import OPERATORS, Operator
from nnvm_mlir.dialects.nnvm.broadcast import BroadcastAdd
from nnvm_mlir.dialects.nnvm.convolution import Convolution, ConvolutionTranspose
from nnvm_mlir.dialects.nnvm.layout import Layout
from nnvm_mlir.dialects.nnvm.linear import BatchMatmul, Dense, Matmul
from nnvm_mlir.dialects.nnvm.operator import Attributes
from nnvm_mlir.dialects.nnvm.recurrent import Recurrent
from nnvm_mlir.dialects.nnvm.reduction import Reduction
from nnvm_mlir.dialects.nnvm.transform import Reshape, Transpose
from nnvm_mlir.dialects.nnvm.types import TensorType, known
from nnvm_mlir.dialects.nnvm.window import Spatial
from nnvm_mlir.mlir import PatternRewriter, ir
from nnvm_mlir.passes.parameters import depends_on_parameters_only
from nnvm_mlir.pipeline import NO_MATCH, PatternPass, register_pass

Axes = tuple[int, ...]


@register_pass
@dataclass(frozen=True)
class AlterOpLayout(PatternPass):
    """Put channels last around convolutions and pools, and cancel the transposes in between."""

    name: ClassVar[str] = "nnvm-alter-op-layout"

    def patterns(self):
        """Channels last where it pays, then transposes sink and cancel."""
        spatial = [op for op in OPERATORS.values() if issubclass(op, Spatial)]
        followers = [op for op in OPERATORS.values() if op is not Transpose]
        return (
            (Transpose, compose_transposes),
            (Transpose, transpose_without_effect),
            (Dense, put_columns_last),
            *((op, put_gates_last) for op in OPERATORS.values() if issubclass(op, Recurrent)),
            (Matmul, untranspose_weight),
            (BatchMatmul, untranspose_weight),
            *((operator, put_channels_last) for operator in spatial),
            *((operator, sink_transpose) for operator in followers),
            *((op, sink_below_reduction) for op in followers if issubclass(op, Reduction)),
        )


def channels_last(layout: str) -> str:
    """A data layout with its channels moved to the end."""
    return layout.replace("C", "") + "C"


def kernel_channels_last(operator: type[Operator], axes: str) -> str:
    """The layout of weights for channels-last data: output channels innermost, so that they fill vectors."""
    return f"{axes}OI" if issubclass(operator, ConvolutionTranspose) else f"{axes}IO"


def put_channels_last(op: Spatial, rewriter: PatternRewriter) -> bool | None:
    """op(x) in NCHW -> transpose(op'(transpose(x))) in NHWC."""
    a = op.values
    layout = Layout.parse(a.layout)
    target = channels_last(a.layout)
    is_convolution = isinstance(op, Convolution)
    if target == a.layout or layout.is_blocked or len(op.operation.results) != 1:
        return NO_MATCH
    if is_convolution and a.out_layout not in (None, a.layout):
        return NO_MATCH
    given: dict[str, str | None] = {"layout": target}
    operands = list(op.operation.operands)
    to_last = layout.permutation(Layout.parse(target))
    order: tuple[int, ...] | None = ()
    if is_convolution:
        kernel_layout = kernel_channels_last(type(op), op.axes)
        given |= {"kernel_layout": kernel_layout, "out_layout": None}
        order = Layout.parse(a.kernel_layout).permutation(Layout.parse(kernel_layout))
    if to_last is None or order is None:
        return NO_MATCH
    with rewriter.ip, op.location:
        operands[0] = Transpose.build(operands[0], axes=to_last).output
        if is_convolution:
            operands[1] = Transpose.build(operands[1], axes=order).output
        changed = op.rebuilt(*operands, **given)
        restored = Transpose.build(changed.output, axes=inverse(to_last))
    rewriter.replace_op(op, [restored.output])
    return None


def put_columns_last(op: Dense, rewriter: PatternRewriter) -> bool | None:
    """dense(x, w, b) -> matmul(x, transpose(w)) + b: a vector of columns then lies at one address."""
    if not depends_on_parameters_only(op.weight):
        return NO_MATCH
    with rewriter.ip, op.location:
        result = Matmul.build(op.data, Transpose.build(op.weight, axes=(1, 0)).output).output
        if op.bias is not None:
            result = BroadcastAdd.build(result, op.bias).output
    rewriter.replace_op(op, [result])
    return None


def put_gates_last(op: Recurrent, rewriter: PatternRewriter) -> bool | None:
    """Kernels of a recurrent layer, where they are known, with the gates last: a vector of gates then lies at one address."""
    operands = list(op.operation.operands)
    if op.kernel_layout == "IG" or not all(map(depends_on_parameters_only, operands[1:3])):
        return NO_MATCH
    with rewriter.ip, op.location:
        operands[1:3] = [Transpose.build(value, axes=(0, 2, 1)).output for value in operands[1:3]]
        changed = op.rebuilt(*operands, kernel_layout="IG")
    rewriter.replace_op(op, list(changed.operation.results))
    return None


def untranspose_weight(op: Matmul, rewriter: PatternRewriter) -> bool | None:
    """matmul(x, w, transpose_b) -> matmul(x, transpose(w)) for a weight that is known."""
    rank = op.operand_types[1].rank
    if not op.transpose_b or rank != 2 or not depends_on_parameters_only(op.rhs):
        return NO_MATCH
    with rewriter.ip, op.location:
        weight = Transpose.build(op.rhs, axes=(1, 0)).output
        changed = op.rebuilt(op.lhs, weight, transpose_b=False)
    rewriter.replace_op(op, [changed.output])
    return None


def compose_transposes(op: Transpose, rewriter: PatternRewriter) -> bool | None:
    """transpose(transpose(x)) -> transpose(x)."""
    source = transposed(op.data)
    if source is None:
        return NO_MATCH
    inner = _axes(source)
    with rewriter.ip, op.location:
        merged = Transpose.build(source.data, axes=tuple(inner[axis] for axis in _axes(op)))
    rewriter.replace_op(op, [merged.output])
    return None


def transpose_without_effect(op: Transpose, rewriter: PatternRewriter) -> bool | None:
    """A transpose that moves no axis but ones of size 1 only renames the shape."""
    if _moves(op):
        return NO_MATCH
    if op.operand_types[0] == op.result_types[0]:
        rewriter.replace_op(op, [op.data])
        return None
    with rewriter.ip, op.location:
        view = Reshape.build(op.data, shape=known(op.result_types[0].shape), allow_zero=True)
    rewriter.replace_op(op, [view.output])
    return None


def sink_transpose(op: Operator, rewriter: PatternRewriter) -> bool | None:
    """op(transpose(x)) -> transpose(op'(x)), where the operator can work on permuted operands."""
    operands = list(op.operation.operands)
    first = next((t for t in map(transposed, operands) if t is not None and _costs(t)), None)
    if first is None:
        return NO_MATCH
    axes = _axes(first)
    if any(t.rank != len(axes) for t in op.result_types):
        return NO_MATCH
    given = op.permuted(op.values, len(axes), inverse(axes))
    if given is None or not all(_movable(value, axes) for value in operands):
        return NO_MATCH
    if isinstance(op, Spatial) and given["layout"] != channels_last(given["layout"]):
        return NO_MATCH  # `put_channels_last` would bring the transpose back
    with rewriter.ip, op.location:
        moved = [_untransposed(value, axes) for value in operands]
        changed = op.rebuilt(*moved, **given)
        results = [Transpose.build(r, axes=axes).output for r in changed.operation.results]
    rewriter.replace_op(op, results)
    return None


def sink_below_reduction(op: Reduction, rewriter: PatternRewriter) -> bool | None:
    """A reduction that drops its axes: the transpose of what is left follows."""
    source = transposed(op.data)
    a = op.values
    if source is None or a.keepdims:
        return NO_MATCH
    axes = _axes(source)
    moved = op.permuted(Attributes(**{**vars(a), "keepdims": True}), len(axes), inverse(axes))
    if moved is None:
        return NO_MATCH
    reduced = op.axes(a, len(axes))
    kept = [axes[axis] for axis in range(len(axes)) if axis not in reduced]
    with rewriter.ip, op.location:
        changed = op.rebuilt(source.data, **moved)
        order = tuple(sorted(kept).index(axis) for axis in kept)
        result = Transpose.build(changed.output, axes=order).output if kept else changed.output
    rewriter.replace_op(op, [result])
    return None


def transposed(value: ir.Value) -> Transpose | None:
    """The transpose that computes a value, or None."""
    return value.owner if isinstance(value.owner, Transpose) else None


def inverse(axes: Sequence[int]) -> Axes:
    """The permutation that undoes `axes`."""
    return tuple(axes.index(axis) for axis in range(len(axes)))


def _axes(op: Transpose) -> Axes:
    rank = len(op.operand_types[0].shape or ())
    return op.axes or tuple(reversed(range(rank)))


def _moves(op: Transpose) -> bool:
    """Whether elements change places: not if only axes of size 1 move."""
    shape = known(op.operand_types[0].shape)
    order = [axis for axis in _axes(op) if shape[axis] != 1]
    return order != sorted(order)


def _costs(op: Transpose) -> bool:
    """Whether there is work to save. Others must not sink: two operands could push one back and forth."""
    return _moves(op) and not depends_on_parameters_only(op.data)


def _movable(value: ir.Value, axes: Axes) -> bool:
    """Whether an operand can be had in the order before the transpose at no cost worth speaking of."""
    source = transposed(value)
    if source is not None and _axes(source) == axes:
        return True
    return TensorType.of(value).size == 1 or depends_on_parameters_only(value)


def _untransposed(value: ir.Value, axes: Axes) -> ir.Value:
    """An operand in the order before the transpose; one of lower rank is first given its leading axes of size 1."""
    source = transposed(value)
    if source is not None and _axes(source) == axes:
        return source.data
    shape = known(TensorType.of(value).shape)
    if len(shape) == 0:
        return value
    if len(shape) < len(axes):
        shape = (*[1] * (len(axes) - len(shape)), *shape)
        value = Reshape.build(value, shape=shape, allow_zero=True).output
    return Transpose.build(value, axes=inverse(axes)).output
