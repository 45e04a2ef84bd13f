"""The operations by which reductions combine two values."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from nnvm_mlir.mlir import ir


@dataclass(frozen=True)
class Operation:
    """A way to combine two values.

    Attributes:
        kind: the horizontal reduction that does the same.
        neutral: from the bits of an integer type (0 for floats) to the value that changes nothing.
    """

    kind: str
    neutral: Callable[[int], float | int]


OPERATIONS = {
    "arith.addf": Operation("add", lambda bits: -0.0),
    "arith.mulf": Operation("mul", lambda bits: 1.0),
    "arith.maximumf": Operation("maximumf", lambda bits: -math.inf),
    "arith.minimumf": Operation("minimumf", lambda bits: math.inf),
    "arith.maxnumf": Operation("maxnumf", lambda bits: -math.inf),
    "arith.minnumf": Operation("minnumf", lambda bits: math.inf),
    "arith.addi": Operation("add", lambda bits: 0),
    "arith.muli": Operation("mul", lambda bits: 1),
    "arith.maxsi": Operation("maxsi", lambda bits: -(1 << (bits - 1))),
    "arith.minsi": Operation("minsi", lambda bits: (1 << (bits - 1)) - 1),
    "arith.maxui": Operation("maxui", lambda bits: 0),
    "arith.minui": Operation("minui", lambda bits: -1),
    "arith.andi": Operation("and", lambda bits: -1),
    "arith.ori": Operation("or", lambda bits: 0),
    "arith.xori": Operation("xor", lambda bits: 0),
}


def neutral(operation: str, element: ir.Type) -> float | int:
    """The value of type `element` that `operation` changes nothing with."""
    bits = element.width if isinstance(element, ir.IntegerType) else 0
    return OPERATIONS[operation].neutral(bits)
