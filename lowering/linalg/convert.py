"""Turns a fused function of nnvm ops into the same function of linalg and tensor ops, by the rules of the operator families."""

from __future__ import annotations

from nnvm_mlir.dialects.nnvm.types import TensorType
from nnvm_mlir.lowering.linalg.builder import LinalgBuilder, storage_type
from nnvm_mlir.lowering.linalg.registry import STATUS, apply_rule
from nnvm_mlir.mlir import func, ir


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
    except BaseException:
        converted.erase()
        raise
    for named in function.attributes:
        key = named if isinstance(named, str) else named.name
        if key.startswith("nnvm."):
            converted.attributes[key] = function.attributes[key]
    function.erase()
    return converted
