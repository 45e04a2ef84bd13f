"""The table of lowering rules: operator class -> function that builds the same computation from linalg and tensor ops."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from nnvm_mlir.dialects.nnvm.operator import Operator
from nnvm_mlir.lowering.linalg.builder import LinalgBuilder
from nnvm_mlir.mlir import ir

Rule = Callable[..., ir.Value | Sequence[ir.Value]]
"""`rule(b, op, *operands)`: builds at `b`'s insertion point and returns the result, or one value per result.

`b` is a LinalgBuilder; `op` the operation (read its attributes and nnvm types from it); the
operands are linalg-level tensors.
"""

STATUS = "nnvm.status"
"""Attribute of a kernel: the number of an argument, a memref<1xi64>.

The kernel stores 1 there when data is wrong (an index out of range).
"""

_RULES: dict[type[Operator], Rule] = {}


def lowers(*operators: type[Operator]) -> Callable[[Rule], Rule]:
    """Registers a rule for operator classes. Raises ValueError when one has a rule already."""

    def register(rule: Rule) -> Rule:
        for operator in operators:
            if operator in _RULES:
                raise ValueError(f"{operator.OPERATION_NAME} has two lowering rules")
            _RULES[operator] = rule
        return rule

    return register


def has_rule(operator: type[Operator]) -> bool:
    """Whether a rule is registered for the operator class."""
    return operator in _RULES


def apply_rule(b: LinalgBuilder, op: Any, operands: Sequence[ir.Value]) -> list[ir.Value]:
    """Runs the rule of `op`'s class.

    Raises:
        NotImplementedError: there is none; the message names the operator.
    """
    rule = _RULES.get(type(op))
    if rule is None:
        raise NotImplementedError(f"{op.operation.name} has no lowering to linalg")
    results = rule(b, op, *operands)
    return [results] if isinstance(results, ir.Value) else list(results)
