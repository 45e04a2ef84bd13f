"""The entry function at memref level: buffers at the offsets of the memory plan, one call of a kernel after another.

    @main(arena, weights, inputs..., outputs...)

All are flat byte buffers, passed as bare pointers.
"""

from __future__ import annotations

from dataclasses import dataclass

from nnvm_mlir.dialects.nnvm.types import TensorType
from nnvm_mlir.errors import operation_error
from nnvm_mlir.graph import ENTRY, PARAMETER, entry_function, kernels, variables
from nnvm_mlir.lowering.cpu.loops import WORKSPACE
from nnvm_mlir.mlir import arith, func, ir, memref
from nnvm_mlir.passes.fuse import storage_root
from nnvm_mlir.passes.plan_memory import (
    ARENA_BYTES,
    OFFSET,
    OFFSETS,
    WEIGHT_BYTES,
    aligned,
    require_memory,
)


@dataclass(frozen=True)
class Place:
    """A buffer: an argument of the entry function and a byte offset in it."""

    base: ir.Value
    offset: int


@dataclass(frozen=True)
class Entry:
    """What a caller of the lowered entry function must know.

    Attributes:
        arena_bytes: of the arena: the plan's, then one status word (int64) for each check, then the workspace that kernels share.
        status_offset: where the status words begin.
        checks: for each status word the node that it speaks of.
    """

    arena_bytes: int
    status_offset: int
    checks: tuple[str, ...]


def lower_entry(module: ir.Module) -> Entry:
    """Replaces the planned graph-level entry function; the kernels are at memref level already.

    Raises:
        CompileError: there is no memory plan, or with the workspace of the kernels the program needs too much memory.
    """
    entry = entry_function(module)
    if ARENA_BYTES not in entry.attributes:
        raise operation_error(entry, "has no memory plan", hint="run nnvm-plan-memory first")
    callees = {kernel.name.value: kernel for kernel in kernels(module)}
    arena = entry.attributes[ARENA_BYTES].value
    workspace = max((_workspace_bytes(kernel) for kernel in callees.values()), default=0)
    block = entry.regions[0].blocks[0]
    terminator = block.operations[len(block.operations) - 1]
    status = [op for op in block.operations if isinstance(op, memref.AllocOp)]
    checks = [_label(op) for op in status]
    status_offset = arena
    arena += aligned(8 * len(checks))
    arena_bytes = arena + workspace
    require_memory(entry, arena_bytes, entry.attributes[WEIGHT_BYTES].value)
    arguments = variables(entry)
    inputs = [v for v in arguments if v.kind != PARAMETER]
    sizes = [arena_bytes, entry.attributes[WEIGHT_BYTES].value]
    sizes += [v.type.nbytes for v in inputs]
    sizes += [TensorType.of(value).nbytes for value in terminator.operands]
    i8 = ir.IntegerType.get_signless(8)
    lowered = func.FuncOp(
        ENTRY,
        ([ir.MemRefType.get([size], i8) for size in sizes], []),
        loc=entry.location,
        ip=ir.InsertionPoint(entry),
    )
    lowered.attributes["llvm.emit_c_interface"] = ir.UnitAttr.get()
    body = lowered.add_entry_block()
    buffers = list(body.arguments)
    places: dict[ir.Value, Place] = {}
    for variable, buffer in zip(inputs, buffers[2:], strict=False):
        places[entry.arguments[variable.index]] = Place(buffer, 0)
    for variable in arguments:
        if variable.kind == PARAMETER:
            attrs = ir.ArrayAttr(entry.attributes["arg_attrs"])[variable.index]
            places[entry.arguments[variable.index]] = Place(buffers[1], attrs[OFFSET].value)
    outputs = buffers[2 + len(inputs) :]
    for value, buffer in zip(terminator.operands, outputs, strict=True):
        places[storage_root(value)] = Place(buffer, 0)
    with ir.InsertionPoint(body):
        for number, op in enumerate(status):
            places[op.memref] = Place(buffers[0], status_offset + 8 * number)
            _clear(places[op.memref])
        for op in block.operations:
            if not isinstance(op, func.CallOp):
                continue
            for result, offset in zip(op.results, op.attributes[OFFSETS], strict=True):
                places.setdefault(result, Place(buffers[0], offset))
            kernel = callees[op.callee.value]
            operands = [places[storage_root(v)] for v in (*op.operands, *op.results)]
            if _workspace_bytes(kernel):
                operands.append(Place(buffers[0], arena))
            with op.location:
                _call(kernel, operands)
        func.ReturnOp([])
    entry.erase()
    return Entry(arena_bytes, status_offset, tuple(checks))


def _call(kernel: func.FuncOp, operands: list[Place]) -> None:
    views = [_view(t, place) for t, place in zip(kernel.type.inputs, operands, strict=True)]
    func.CallOp([], ir.FlatSymbolRefAttr.get(kernel.name.value), views)


def _view(buffer_type: ir.Type, place: Place) -> ir.Value:
    offset = arith.constant(ir.IndexType.get(), place.offset)
    return memref.ViewOp(buffer_type, place.base, offset, []).result


def _clear(place: Place) -> None:
    i64 = ir.IntegerType.get_signless(64)
    word = _view(ir.MemRefType.get([1], i64), place)
    memref.store(arith.constant(i64, 0), word, [arith.constant(ir.IndexType.get(), 0)])


def _label(op: memref.AllocOp) -> str:
    """The name of the node whose data a status speaks of."""
    return op.location.name_str if op.location.is_a_name() else "without a name"


def _workspace_bytes(kernel: func.FuncOp) -> int:
    """Bytes of workspace, rounded up to whole cache lines."""
    if WORKSPACE not in kernel.attributes:
        return 0
    return aligned(kernel.attributes[WORKSPACE].value)
