"""The graph passes, one file each; importing this package registers them."""

from nnvm_mlir.passes import (
    alter_op_layout,
    common_subexpressions,
    dead_code,
    fold_scale_axis,
    fuse,
    infer_shape,
    infer_type,
    plan_memory,
    precompute_prune,
    simplify_inference,
)

__all__ = [
    "alter_op_layout",
    "common_subexpressions",
    "dead_code",
    "fold_scale_axis",
    "fuse",
    "infer_shape",
    "infer_type",
    "plan_memory",
    "precompute_prune",
    "simplify_inference",
]
