"""`nnvm-fold-scale-axis`: scales and shifts per channel go into the weights and the bias of the convolution before them.

Only what is known when the model is built is folded, so the new weights are computed once. The
convolution must have no other reader: its result changes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from nnvm_mlir.dialects.nnvm import Operator
from nnvm_mlir.dialects.nnvm.broadcast import BroadcastAdd, BroadcastMul, BroadcastSub
from nnvm_mlir.dialects.nnvm.convolution import Convolution, ConvolutionTranspose
from nnvm_mlir.dialects.nnvm.elementwise import Negative
from nnvm_mlir.dialects.nnvm.expansion import BroadcastTo
from nnvm_mlir.dialects.nnvm.layout import Layout
from nnvm_mlir.dialects.nnvm.transform import Reshape
from nnvm_mlir.dialects.nnvm.types import TensorType, known
from nnvm_mlir.mlir import PatternRewriter, ir
from nnvm_mlir.passes.parameters import depends_on_parameters_only
from nnvm_mlir.pipeline import NO_MATCH, PatternPass, register_pass


@register_pass
@dataclass(frozen=True)
class FoldScaleAxis(PatternPass):
    """Fold scales and shifts per channel into the weights and bias of convolutions."""

    name: ClassVar[str] = "nnvm-fold-scale-axis"

    def patterns(self):
        """A multiplication, addition or subtraction that reads a convolution."""
        return (
            (BroadcastMul, fold_scale),
            (BroadcastAdd, fold_shift),
            (BroadcastSub, fold_negative_shift),
        )


def fold_scale(op: BroadcastMul, rewriter: PatternRewriter) -> bool | None:
    """conv(x, w, b) * s -> conv(x, w * s, b * s)."""
    return _fold(op, rewriter, either_side=True, change=_scaled)


def fold_shift(op: BroadcastAdd, rewriter: PatternRewriter) -> bool | None:
    """conv(x, w, b) + s -> conv(x, w, b + s)."""
    return _fold(op, rewriter, either_side=True, change=_shifted)


def fold_negative_shift(op: BroadcastSub, rewriter: PatternRewriter) -> bool | None:
    """conv(x, w, b) - s -> conv(x, w, b - s)."""
    return _fold(
        op,
        rewriter,
        either_side=False,
        change=lambda conv, s: _shifted(conv, Negative.build(s).output),
    )


def _fold(
    op: Operator,
    rewriter: PatternRewriter,
    either_side: bool,
    change: Callable[[Convolution, ir.Value], list[ir.Value]],
) -> bool | None:
    sides = [(op.lhs, op.rhs), (op.rhs, op.lhs)] if either_side else [(op.lhs, op.rhs)]
    for value, other in sides:
        conv = _private_convolution(value)
        if conv is not None and _lies_along_channels(other, conv) and _foldable(conv, change):
            with rewriter.ip, op.location:
                vector = Reshape.build(other, shape=(TensorType.of(other).size,)).output
                operands = change(conv, vector)
                folded = conv.rebuilt(*operands, use_bias=len(operands) == 3)
            rewriter.replace_op(op, [folded.output])
            return None
    return NO_MATCH


def _private_convolution(value: ir.Value) -> Convolution | None:
    """The floating-point convolution that computes a value which is read once, or None."""
    conv = value.owner
    if not isinstance(conv, Convolution):
        return None
    is_float = all(t.dtype == conv.result_types[0].dtype for t in conv.operand_types)
    return conv if is_float and len(list(value.uses)) == 1 else None


def _foldable(conv: Convolution, change: Callable[..., Any]) -> bool:
    layout = Layout.parse(conv.output_layout(conv.values))
    grouped_transpose = isinstance(conv, ConvolutionTranspose) and conv.groups != 1
    return not layout.is_blocked and not (change is _scaled and grouped_transpose)


def _lies_along_channels(value: ir.Value, conv: Convolution) -> bool:
    """Whether a value is known at build time and varies with the channel only (or not at all)."""
    shape = TensorType.of(value).shape
    out = known(conv.result_types[0].shape)
    channel = Layout.parse(conv.output_layout(conv.values)).index("C")
    if shape is None or len(shape) > len(out) or not depends_on_parameters_only(value):
        return False
    full = (*[1] * (len(out) - len(shape)), *shape)
    expected = [1] * len(out)
    expected[channel] = out[channel]
    return all(size in (1, wanted) for size, wanted in zip(full, expected, strict=True))


def _scaled(conv: Convolution, scale: ir.Value) -> list[ir.Value]:
    rank = len(conv.operand_types[1].shape or ())
    axis = "I" if isinstance(conv, ConvolutionTranspose) else "O"
    shape = [1] * rank
    shape[Layout.parse(conv.kernel_layout).index(axis)] = TensorType.of(scale).size
    along = Reshape.build(scale, shape=tuple(shape)).output
    operands = [conv.data, BroadcastMul.build(conv.weight, along).output]
    if conv.bias is not None:
        operands.append(BroadcastMul.build(conv.bias, scale).output)
    return operands


def _shifted(conv: Convolution, shift: ir.Value) -> list[ir.Value]:
    if conv.bias is not None:
        return [conv.data, conv.weight, BroadcastAdd.build(conv.bias, shift).output]
    if TensorType.of(shift).size != conv.channels:
        shift = BroadcastTo.build(shift, shape=(conv.channels,)).output
    return [conv.data, conv.weight, shift]
