"""Lowering of operators that make tensors: constants and fills."""

from __future__ import annotations

from nnvm_mlir.dialects.nnvm import creation as ops
from nnvm_mlir.lowering.linalg.builder import LinalgBuilder
from nnvm_mlir.lowering.linalg.registry import lowers
from nnvm_mlir.lowering.linalg.scalars import Scalars
from nnvm_mlir.mlir import ir


@lowers(ops.Constant)
def constant(b: LinalgBuilder, op: ops.Constant) -> ir.Value:
    """A constant tensor."""
    return b.constant(op.values.value)


@lowers(ops.Full, ops.Zeros, ops.Ones, ops.FullLike, ops.ZerosLike, ops.OnesLike)
def filled(b: LinalgBuilder, op: ops.Filled, *like: ir.Value) -> ir.Value:
    """A tensor filled with one number; of the operand only the type matters."""
    result = op.static_results[0]
    return b.fill(result.shape, result.dtype, Scalars(result.dtype).const(op.fill(op.values)))
