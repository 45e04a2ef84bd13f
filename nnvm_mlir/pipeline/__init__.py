"""Passes and pipelines: what a pass is, how passes are named, and how a list of them, ours and upstream's, runs.

Nothing here knows a dialect. Passes register themselves when their modules are imported
(`nnvm_mlir.passes`, `nnvm_mlir.lowering`).
"""

from nnvm_mlir.pipeline.passes import NO_MATCH, Pass, PatternPass, Rewrite
from nnvm_mlir.pipeline.pipeline import PassRecord, Pipeline, Verifier
from nnvm_mlir.pipeline.registry import register_pass, registered_passes

__all__ = [
    "NO_MATCH",
    "Pass",
    "PassRecord",
    "PatternPass",
    "Pipeline",
    "Rewrite",
    "Verifier",
    "register_pass",
    "registered_passes",
]
