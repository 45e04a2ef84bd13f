"""Lowering of shape changes: views are reshapes, permutations one copying generic each."""

from __future__ import annotations

from nnvm_mlir.dialects.nnvm import transform as ops
from nnvm_mlir.lowering.linalg.builder import LinalgBuilder, shape_of
from nnvm_mlir.lowering.linalg.registry import lowers
from nnvm_mlir.mlir import ir


@lowers(ops.Reshape, ops.ReshapeLike, ops.Flatten, ops.ExpandDims, ops.Squeeze)
def view(b: LinalgBuilder, op: ops.View, x: ir.Value, *_: ir.Value) -> ir.Value:
    """The same buffer under the result's shape."""
    return b.reshape(x, op.static_results[0].shape)


@lowers(ops.Transpose, ops.LayoutTransform, ops.DepthToSpace, ops.SpaceToDepth)
def permuting(b: LinalgBuilder, op: ops.Permuting, x: ir.Value) -> ir.Value:
    """One permuting copy after another."""
    shape = shape_of(x)
    if 0 in shape:
        return b.reshape(x, op.static_results[0].shape)
    for step in op.reorders(op.values, shape):
        x = b.reorder(x, step)
    return x
