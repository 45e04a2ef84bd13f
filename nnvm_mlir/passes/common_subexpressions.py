"""`nnvm-cse`: equal operations on equal operands are computed once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from nnvm_mlir.dialects.nnvm import OPERATORS, Operator
from nnvm_mlir.mlir import PatternRewriter
from nnvm_mlir.pipeline import NO_MATCH, PatternPass, register_pass


@register_pass
@dataclass(frozen=True)
class CommonSubexpressionElimination(PatternPass):
    """Replace an operation by an equal earlier one."""

    name: ClassVar[str] = "nnvm-cse"
    walk: ClassVar[bool] = True

    def patterns(self):
        """One pattern, on every operator, that remembers what it has seen; one walk visits definitions before uses."""
        seen: dict[tuple[Any, ...], Operator] = {}

        def reuse_equal(op: Operator, rewriter: PatternRewriter) -> bool | None:
            key = _key(op)
            earlier = seen.setdefault(key, op)
            if earlier == op:
                return NO_MATCH
            rewriter.replace_op(op, list(earlier.operation.results))
            return None

        return tuple((operator, reuse_equal) for operator in OPERATORS.values())


def _key(op: Operator) -> tuple[Any, ...]:
    operation = op.operation
    return (
        operation.name,
        operation.parent,
        tuple(operation.operands),
        tuple((name, operation.attributes[name]) for name in sorted(operation.attributes)),
        tuple(result.type for result in operation.results),
    )
