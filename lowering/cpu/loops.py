"""The slow path that takes everything: a kernel function as plain loops over scalars, for LLVM's own vectoriser.

It is the reference for the generators as well. Bufferisation allocates; kernels must not, so every
allocation becomes a place in a workspace that the caller passes as the last argument.
"""

from __future__ import annotations

import math

from nnvm_mlir.errors import CompileError
from nnvm_mlir.lowering.cpu import vector_math
from nnvm_mlir.lowering.cpu.emitter import Emitter, element_bytes
from nnvm_mlir.mlir import PassManager, func, ir, linalg, memref, operations
from nnvm_mlir.passes.plan_memory import aligned
from nnvm_mlir.target import Target

WORKSPACE = "nnvm.workspace"
"""Attribute of a kernel: bytes of scratch memory that it takes as its last argument."""

PLAIN_LOOPS = "nnvm.plain_loops"
"""Attribute of a kernel that is plain loops: it needs LLVM's optimiser."""

_BUFFERIZE = ",".join(
    [
        "linalg-generalize-named-ops",
        # Computes directly into slices of results.
        "eliminate-empty-tensors",
        "one-shot-bufferize{bufferize-function-boundaries=1"
        " function-boundary-type-conversion=identity-layout-map}",
        # Destination passing: results are written where the caller says, without a copy where that
        # is possible.
        "buffer-results-to-out-params{hoist-static-allocs=1 modify-public-functions=1}",
    ]
)
_TO_LOOPS = "convert-linalg-to-loops,canonicalize,cse"


def lower_to_loops(function: func.FuncOp) -> int:
    """Replaces a kernel function on tensors by loops over buffers.

    Args:
        function: any function of linalg, tensor, scf and arith operations with static shapes;
            erased.

    Returns:
        The bytes of its workspace, also in its attribute `nnvm.workspace`. With 0 the function has
        neither attribute nor argument.

    Raises:
        CompileError: it cannot be bufferised, or allocates a buffer whose size is not known.
    """
    name = ir.StringAttr(function.attributes["sym_name"]).value
    with function.location:
        alone = ir.Module.create()
    copy = function.operation.clone(ip=ir.InsertionPoint(alone.body))
    copy.attributes["sym_visibility"] = ir.StringAttr.get("public", function.context)
    _protect_arguments(copy)
    try:
        _run(_BUFFERIZE, alone)
        _copies_to_linalg(alone)
        _run(_TO_LOOPS, alone)
    except ir.MLIRError as error:
        raise CompileError(f"the kernel '{name}' cannot be lowered to loops: {error}") from error
    kernel = next(op for op in alone.body.operations if isinstance(op, func.FuncOp))
    _expand_math(kernel)
    size = _use_workspace(kernel)
    kernel.attributes["sym_visibility"] = ir.StringAttr.get("private", function.context)
    kernel.attributes[PLAIN_LOOPS] = ir.UnitAttr.get(function.context)
    _rename_constants(alone, name)
    for op in alone.body.operations:
        op.operation.clone(ip=ir.InsertionPoint(function))
    function.operation.erase()
    return size


def _run(passes: str, module: ir.Module) -> None:
    with module.context:
        PassManager.parse(f"builtin.module({passes})").run(module.operation)


def _protect_arguments(function: ir.Operation) -> None:
    """Inputs are read only: without this, an update in place would write to them."""
    with function.context:
        read_only = ir.DictAttr.get({"bufferization.writable": ir.BoolAttr.get(False)})
        arguments = function.regions[0].blocks[0].arguments
        function.attributes["arg_attrs"] = ir.ArrayAttr.get([read_only] * len(arguments))


def _find(root: ir.Operation, *names: str) -> list[ir.Operation]:
    """All operations below `root`, or those with one of `names`."""
    return [op for op in operations(root) if not names or op.name in names]


def _copies_to_linalg(module: ir.Module) -> None:
    """Copies between strided buffers would become calls into a library."""
    for op in _find(module.operation, "memref.copy"):
        with op.location, ir.InsertionPoint(op):
            source, target = op.operands
            element = ir.MemRefType(source.type).element_type
            copy = linalg.CopyOp([], [source], [target])
            block = copy.regions[0].blocks.append(element, element)
            with ir.InsertionPoint(block):
                linalg.YieldOp([block.arguments[0]])
        op.erase()


def _expand_math(function: func.FuncOp) -> None:
    """The same polynomials as in vector code."""
    e = Emitter(Target(), function.regions[0].blocks[0])
    for op in _find(function.operation):
        if op.name.startswith("math."):
            with op.location, ir.InsertionPoint(op):
                value = vector_math.expand(e, op.name, list(op.operands))
            op.results[0].replace_all_uses_with(value)
            op.erase()


def _use_workspace(function: func.FuncOp) -> int:
    """Replaces every allocation by a view of one more argument; returns its size in bytes."""
    block = function.regions[0].blocks[0]
    allocations = _find(function.operation, "memref.alloc", "memref.alloca")
    if not allocations:
        return 0
    offsets, size = [], 0
    for op in allocations:
        type_ = ir.MemRefType(op.results[0].type)
        if not type_.has_static_shape:
            name = function.name.value
            raise CompileError(f"the kernel '{name}' allocates a buffer of unknown size: {type_}")
        offsets.append(size)
        size += math.prod(type_.shape) * element_bytes(type_.element_type)
        size = aligned(size)
    size = max(size, aligned(1))
    with function.location:
        i8 = ir.IntegerType.get_signless(8)
        type_ = ir.MemRefType.get([size], i8)
        workspace = block.add_argument(type_, function.location)
        inputs = [argument.type for argument in block.arguments]
        function.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(inputs, []))
        if "arg_attrs" in function.attributes:
            del function.attributes["arg_attrs"]
        function.attributes[WORKSPACE] = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), size)
    for op, offset in zip(allocations, offsets, strict=True):
        with op.location, ir.InsertionPoint(op):
            at = ir.Operation.create(
                "arith.constant",
                results=[ir.IndexType.get()],
                attributes={"value": ir.IntegerAttr.get(ir.IndexType.get(), offset)},
            ).result
            view = memref.ViewOp(op.results[0].type, workspace, at, []).result
        op.results[0].replace_all_uses_with(view)
        op.erase()
    return size


def _rename_constants(module: ir.Module, prefix: str) -> None:
    """Constant tensors became globals; their names must be those of this kernel alone."""
    for op in _find(module.operation, "memref.global", "memref.get_global"):
        key = "sym_name" if op.name == "memref.global" else "name"
        old = op.attributes[key]
        with module.context:
            if key == "sym_name":
                op.attributes[key] = ir.StringAttr.get(f"{prefix}{ir.StringAttr(old).value}")
            else:
                name = ir.FlatSymbolRefAttr(old).value
                op.attributes[key] = ir.FlatSymbolRefAttr.get(f"{prefix}{name}")
