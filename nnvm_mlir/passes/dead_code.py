"""`nnvm-dce`: operations whose results nobody uses are removed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from nnvm_mlir.dialects.nnvm import OPERATORS, Operator
from nnvm_mlir.mlir import PatternRewriter
from nnvm_mlir.pipeline import NO_MATCH, PatternPass, register_pass


def erase_unused(op: Operator, rewriter: PatternRewriter) -> bool | None:
    """Removes an operation without uses; no operator of the dialect has side effects."""
    if op.is_used:
        return NO_MATCH
    rewriter.erase_op(op.operation)
    return None


@register_pass
@dataclass(frozen=True)
class DeadCodeElimination(PatternPass):
    """Remove operations whose results are not used."""

    name: ClassVar[str] = "nnvm-dce"

    def patterns(self):
        """One pattern, on every operator."""
        return tuple((operator, erase_unused) for operator in OPERATORS.values())
