"""Turns a fused function of nnvm ops into the same function of linalg and tensor ops, by the rules of the operator families."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from nnvm_mlir.dialects.nnvm.types import TensorType
from nnvm_mlir.errors import location_error, operation_error
from nnvm_mlir.graph import ENTRY, functions, kernels
from nnvm_mlir.lowering.linalg.builder import LinalgBuilder, storage_type
from nnvm_mlir.lowering.linalg.registry import STATUS, apply_rule
from nnvm_mlir.mlir import builtin, func, ir, memref
from nnvm_mlir.pipeline import Pass, register_pass

MAX_ELEMENTS = 2**40
"""Elements of one tensor; in fused code it need not exist, but its indices must be numbers."""


@register_pass
@dataclass(frozen=True)
class ConvertToLinalg(Pass):
    """Convert fused functions of nnvm ops to linalg on tensors."""

    name: ClassVar[str] = "convert-nnvm-to-linalg"

    def run(self, module: ir.Module) -> None:
        """Converts every function but the entry, in place."""
        convert_module(module)


def convert_module(module: ir.Module) -> None:
    """Converts every function but the entry, whose calls are adapted.

    Raises:
        CompileError: an operator has no rule; it names the function and the operator.
    """
    converted: dict[str, func.FuncOp] = {}
    for kernel in kernels(module):
        name = kernel.name.value
        try:
            converted[name] = convert_function(kernel)
        except NotImplementedError as error:
            raise operation_error(kernel, f"cannot be lowered: {error}") from error
    for entry in functions(module):
        if entry.name.value != ENTRY:
            continue
        for op in entry.regions[0].blocks[0].operations:
            if isinstance(op, func.CallOp):
                if op.callee.value not in converted:
                    raise operation_error(op, f"calls @{op.callee.value}, which is no kernel")
                _adapt_call(op, converted[op.callee.value])


def _adapt_call(call: func.CallOp, callee: func.FuncOp) -> None:
    """Makes a call agree with its converted callee: casts between nnvm and stored types, and a buffer for the status."""
    wanted = callee.type
    if [v.type for v in call.operands] == list(wanted.inputs) and [
        r.type for r in call.results
    ] == list(wanted.results):
        return
    with call.location, ir.InsertionPoint(call):
        operands = [_cast(v, t) for v, t in zip(call.operands, wanted.inputs, strict=False)]
        if STATUS in callee.attributes:
            operands.append(memref.AllocOp(wanted.inputs[-1], [], []).memref)
        changed = func.CallOp(wanted.results, call.callee, operands)
        for name in call.attributes:
            if name.startswith("nnvm."):
                changed.attributes[name] = call.attributes[name]
        for old, new in zip(call.results, changed.results, strict=True):
            old.replace_all_uses_with(_cast(new, old.type))
    call.erase()


def _cast(value: ir.Value, wanted: ir.Type) -> ir.Value:
    if value.type == wanted:
        return value
    return builtin.UnrealizedConversionCastOp([wanted], [value]).results[0]


def convert_function(function: func.FuncOp) -> func.FuncOp:
    """Replaces `function` by one on linalg-level tensors, with the same name and attributes.

    A function with operators that check data takes one more argument: see `STATUS`.

    Raises:
        NotImplementedError: an operator has no rule; nothing has been replaced then.
    """
    block = function.regions[0].blocks[0]
    return_op = block.operations[len(block.operations) - 1]
    inputs = [storage_type(TensorType.of(argument)) for argument in block.arguments]
    outputs = [storage_type(TensorType.of(value)) for value in return_op.operands]
    checks_data = any(getattr(op, "checks_data", False) for op in block.operations)
    if checks_data:
        inputs.append(ir.MemRefType.get([1], ir.IntegerType.get_signless(64)))
    name = function.name.value
    converted = func.FuncOp(
        name,
        (inputs, outputs),
        visibility="private",
        loc=function.location,
        ip=ir.InsertionPoint(function),
    )
    try:
        entry = converted.add_entry_block()
        values = dict(zip(block.arguments, entry.arguments, strict=False))
        if checks_data:
            i64 = ir.IntegerType.get_signless(64)
            converted.attributes[STATUS] = ir.IntegerAttr.get(i64, len(inputs) - 1)
        builder = LinalgBuilder()
        with ir.InsertionPoint(entry):
            for op in block.operations:
                operands = [values[operand] for operand in op.operands]
                if op.operation.name == "func.return":
                    func.ReturnOp(operands, loc=op.location)
                    continue
                with op.location:
                    results = apply_rule(builder, op, operands)
                values.update(zip(op.results, results, strict=True))
        require_possible_sizes(entry)
    except BaseException:
        converted.erase()
        raise
    for named in function.attributes:
        key = named if isinstance(named, str) else named.name
        if key.startswith("nnvm."):
            converted.attributes[key] = function.attributes[key]
    function.erase()
    return converted


def require_possible_sizes(block: ir.Block) -> None:
    """Refuses tensors whose offsets could overflow, such as data padded by 2^41. Raises CompileError."""
    for op in block.operations:
        for value in op.operation.results:
            if not isinstance(value.type, ir.RankedTensorType):
                continue
            shape = value.type.shape
            if math.prod(shape) > MAX_ELEMENTS:
                what = f"needs a tensor of shape {'x'.join(map(str, shape))}"
                raise location_error(op.location, f"{what}, the limit is {MAX_ELEMENTS} elements")
