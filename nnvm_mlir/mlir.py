"""The one place that imports MLIR's Python bindings.

Everything else takes `ir`, the upstream dialects and the rewriting API from here, so that another
build of the bindings can be put in by changing this file only.
"""

from mlir import ir  # type: ignore[attr-defined]  # a namespace package
from mlir._mlir_libs import _mlir as _bindings

# Without upstream's opdsl, which nothing here needs and which costs 20 MB and 30 ms.
from mlir.dialects import _linalg_ops_gen as linalg
from mlir.dialects import (
    affine,
    arith,
    bufferization,
    builtin,
    func,
    irdl,
    llvm,
    math,
    memref,
    scf,
    tensor,
    vector,
)
from mlir.dialects.llvm import translate_module_to_llvmir
from mlir.execution_engine import ExecutionEngine
from mlir.passmanager import PassManager
from mlir.rewrite import (
    GreedyRewriteConfig,
    GreedySimplifyRegionLevel,
    PatternRewriter,
    RewritePatternSet,
    apply_patterns_and_fold_greedily,
    walk_and_apply_patterns,
)


def operations(root: ir.Operation) -> list[ir.Operation]:
    """The operations of `root`, innermost first, and `root`.

    Unlike `Operation.walk`, which turns exceptions of its callback, an interrupt too, into
    RuntimeError, this lets them through.
    """
    found, remaining = [], [root]
    while remaining:
        op = remaining.pop()
        found.append(op)
        for region in op.regions:
            for block in region.blocks:
                remaining.extend(inner.operation for inner in block.operations)
    return found[::-1]


register_dialect = _bindings.register_dialect
register_operation = _bindings.register_operation
append_dialect_search_prefix = _bindings.globals.append_dialect_search_prefix

__all__ = [
    "ExecutionEngine",
    "GreedyRewriteConfig",
    "GreedySimplifyRegionLevel",
    "PassManager",
    "PatternRewriter",
    "RewritePatternSet",
    "affine",
    "append_dialect_search_prefix",
    "apply_patterns_and_fold_greedily",
    "arith",
    "bufferization",
    "builtin",
    "func",
    "ir",
    "irdl",
    "linalg",
    "llvm",
    "math",
    "memref",
    "operations",
    "register_dialect",
    "register_operation",
    "scf",
    "tensor",
    "translate_module_to_llvmir",
    "vector",
    "walk_and_apply_patterns",
]
