"""`nnvm-simplify-inference`: operators that differ between training and inference become what they are at inference.

Batch normalisation becomes a scale and a shift per channel, dropout disappears.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from nnvm_mlir.dialects.nnvm.broadcast import BroadcastAdd, BroadcastMul, BroadcastSub
from nnvm_mlir.dialects.nnvm.elementwise import AddScalar, Negative, Rsqrt
from nnvm_mlir.dialects.nnvm.normalization import BatchNorm, Dropout
from nnvm_mlir.dialects.nnvm.operator import normalize_axis
from nnvm_mlir.dialects.nnvm.transform import Reshape
from nnvm_mlir.mlir import PatternRewriter, ir
from nnvm_mlir.pipeline import NO_MATCH, PatternPass, register_pass


def expand_batch_norm(op: BatchNorm, rewriter: PatternRewriter) -> bool | None:
    """data * scale + shift, with scale = gamma / sqrt(var + epsilon) and shift = beta - mean * scale.

    Only inference has this form: the statistics that it returns are the moving ones.
    """
    data = op.operand_types[0]
    if data.rank is None:
        return NO_MATCH
    axis = normalize_axis(op.axis, data.rank)
    with rewriter.ip, op.location:
        scale = Rsqrt.build(AddScalar.build(op.moving_var, scalar=op.epsilon).output).output
        if op.scale:
            scale = BroadcastMul.build(scale, op.gamma).output
        shift = BroadcastMul.build(op.moving_mean, scale).output
        shift = (BroadcastSub.build(op.beta, shift) if op.center else Negative.build(shift)).output
        scaled = BroadcastMul.build(op.data, _along(scale, axis, data.rank)).output
        shifted = BroadcastAdd.build(scaled, _along(shift, axis, data.rank)).output
    rewriter.replace_op(op, [shifted, op.moving_mean, op.moving_var])
    return None


def drop_dropout(op: Dropout, rewriter: PatternRewriter) -> bool | None:
    """The identity; the mask is all ones, and is kept as such where somebody reads it."""
    if next(iter(op.mask.uses), None) is not None:
        return NO_MATCH
    rewriter.replace_op(op, [op.data, op.data])
    return None


def _along(vector: ir.Value, axis: int, rank: int) -> ir.Value:
    """A vector as a tensor of `rank` dimensions that lies along `axis`."""
    trailing = rank - 1 - axis
    return vector if trailing == 0 else Reshape.build(vector, shape=(-1, *[1] * trailing)).output


@register_pass
@dataclass(frozen=True)
class SimplifyInference(PatternPass):
    """Rewrite batch normalisation and dropout to what they are at inference."""

    name: ClassVar[str] = "nnvm-simplify-inference"

    def patterns(self):
        """Batch norm and dropout."""
        return ((BatchNorm, expand_batch_norm), (Dropout, drop_dropout))
