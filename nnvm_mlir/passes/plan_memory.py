"""`nnvm-plan-memory`: a place for every value of the fused entry function.

Values that are not outputs live in one arena; two whose lifetimes overlap get disjoint ranges.
Parameters lie one after another in a block of weights. The plan is written into attributes:
`nnvm.offsets` on each call (one byte offset for each result, -1 for a result that is written to an
output's own buffer), `nnvm.offset` on each parameter, and the sizes on the function.

Placement is greedy by size, largest first, each value at the lowest offset that is free during its
lifetime (Pisarchyk and Lee, "Efficient Memory Management for Deep Neural Net Inference", 2020).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from nnvm_mlir.dialects.nnvm.types import TensorType
from nnvm_mlir.errors import CompileError
from nnvm_mlir.graph import PARAMETER, entry_function, variables
from nnvm_mlir.mlir import func, ir
from nnvm_mlir.passes.fuse import storage_root
from nnvm_mlir.passes.inference import require_static
from nnvm_mlir.pipeline import Pass, register_pass
from nnvm_mlir.runtime.program import ALIGNMENT

OFFSETS = "nnvm.offsets"
OFFSET = "nnvm.offset"
ARENA_BYTES = "nnvm.arena_bytes"
WEIGHT_BYTES = "nnvm.weight_bytes"
OUTPUT_BUFFER = -1

MEMORY_LIMIT = 32 * 1024**3
"""Default budget in bytes of all that one call needs: arena, weights and outputs."""


@dataclass
class Lifetime:
    """A buffer that is live from call number `start` to call number `end`, both included."""

    value: ir.Value
    nbytes: int
    start: int
    end: int


@register_pass
@dataclass(frozen=True)
class PlanMemory(Pass):
    """Assign an offset in one arena to every value.

    Attributes:
        limit: bytes that arena, weights and outputs may take together.
    """

    name: ClassVar[str] = "nnvm-plan-memory"

    limit: int = MEMORY_LIMIT

    def run(self, module: ir.Module) -> None:
        """Annotates the fused entry function in place.

        Raises:
            CompileError: a type is not known, or the plan needs more memory than the limit.
        """
        require_static(module)
        entry = entry_function(module)
        lifetimes, outputs = find_lifetimes(entry)
        offsets, arena_bytes = place(lifetimes)
        where = {life.value: offset for life, offset in zip(lifetimes, offsets, strict=True)}
        where |= dict.fromkeys(outputs, OUTPUT_BUFFER)
        for op in entry.regions[0].blocks[0].operations:
            if isinstance(op, func.CallOp):
                planned = [where[result] for result in op.operation.results]
                op.operation.attributes[OFFSETS] = ir.DenseI64ArrayAttr.get(planned, module.context)
        i64 = ir.IntegerType.get_signless(64, module.context)
        weight_bytes = _place_weights(entry)
        require_memory(entry, arena_bytes, weight_bytes, self.limit)
        entry.attributes[ARENA_BYTES] = ir.IntegerAttr.get(i64, arena_bytes)
        entry.attributes[WEIGHT_BYTES] = ir.IntegerAttr.get(i64, weight_bytes)


def require_memory(
    entry: func.FuncOp, arena_bytes: int, weight_bytes: int, limit: int = MEMORY_LIMIT
) -> None:
    """Refuses a program that needs too much memory, before anything is allocated. Raises CompileError."""
    operations = entry.regions[0].blocks[0].operations
    results = operations[len(operations) - 1].operands
    output_bytes = sum(TensorType.of(value).nbytes for value in results)
    needed = arena_bytes + weight_bytes + output_bytes
    if needed > limit:
        raise CompileError(
            f"the program needs {needed} bytes of memory (intermediate values {arena_bytes},"
            f" parameters {weight_bytes}, outputs {output_bytes}), the limit is {limit}"
        )


def find_lifetimes(entry: func.FuncOp) -> tuple[list[Lifetime], list[ir.Value]]:
    """Lifetimes of the call results that are not outputs, and the call results that are."""
    block = entry.regions[0].blocks[0]
    operations = list(block.operations)
    outputs = [storage_root(value) for value in operations[-1].operands]
    lifetimes: dict[ir.Value, Lifetime] = {}
    for step, op in enumerate(operations[:-1]):
        for value in op.operation.operands:
            life = lifetimes.get(storage_root(value))
            if life is not None:
                life.end = step
        if isinstance(op, func.CallOp):
            for result in op.operation.results:
                if result not in outputs:
                    nbytes = aligned(TensorType.of(result).nbytes)
                    lifetimes[result] = Lifetime(result, nbytes, step, step)
    return list(lifetimes.values()), outputs


def place(lifetimes: Sequence[Lifetime]) -> tuple[list[int], int]:
    """An offset for each lifetime, and the bytes of the arena that holds them all."""
    count = len(lifetimes)
    starts = np.array([life.start for life in lifetimes], np.int64)
    ends = np.array([life.end for life in lifetimes], np.int64)
    sizes = np.array([life.nbytes for life in lifetimes], np.int64)
    offsets = np.full(count, -1, np.int64)
    for index in np.argsort(-sizes, kind="stable"):
        conflicts = (offsets >= 0) & (starts <= ends[index]) & (ends >= starts[index])
        neighbours = np.flatnonzero(conflicts)
        position = 0
        for other in neighbours[np.argsort(offsets[neighbours], kind="stable")]:
            if position + sizes[index] <= offsets[other]:
                break
            position = max(position, int(offsets[other] + sizes[other]))
        offsets[index] = position
    return offsets.tolist(), int((offsets + sizes).max(initial=0))


def lower_bound(lifetimes: Sequence[Lifetime]) -> int:
    """The most bytes that are live at one time: no plan can do with less."""
    changes: dict[int, int] = {}
    for life in lifetimes:
        changes[life.start] = changes.get(life.start, 0) + life.nbytes
        changes[life.end + 1] = changes.get(life.end + 1, 0) - life.nbytes
    return int(np.cumsum([changes[step] for step in sorted(changes)]).max(initial=0))


def _place_weights(entry: func.FuncOp) -> int:
    """Writes the offset of every parameter into its attributes; returns the bytes of all."""
    if "arg_attrs" not in entry.attributes:
        return 0
    attributes = list(ir.ArrayAttr(entry.attributes["arg_attrs"]))
    position = 0
    i64 = ir.IntegerType.get_signless(64, entry.context)
    for variable in variables(entry):
        if variable.kind != PARAMETER:
            continue
        old = attributes[variable.index]
        named = {entry_.name: entry_.attr for entry_ in old}
        named[OFFSET] = ir.IntegerAttr.get(i64, position)
        attributes[variable.index] = ir.DictAttr.get(named, entry.context)
        position += aligned(variable.type.nbytes)
    entry.attributes["arg_attrs"] = ir.ArrayAttr.get(attributes, entry.context)
    return position


def aligned(nbytes: int) -> int:
    """`nbytes` rounded up, so that the next buffer starts where buffers do."""
    return -(-nbytes // ALIGNMENT) * ALIGNMENT
