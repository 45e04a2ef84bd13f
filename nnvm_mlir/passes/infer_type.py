"""`nnvm-infer-type`: dtypes of all values, forwards and backwards."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from nnvm_mlir.dialects.nnvm import Operator
from nnvm_mlir.dialects.nnvm.types import TensorType
from nnvm_mlir.mlir import ir
from nnvm_mlir.passes.inference import run_inference
from nnvm_mlir.pipeline import Pass, register_pass


@register_pass
@dataclass(frozen=True)
class InferType(Pass):
    """Infer the dtypes of all values, in both directions; what does not follow stays unknown."""

    name: ClassVar[str] = "nnvm-infer-type"

    def run(self, module: ir.Module) -> None:
        """Refines types in place. Raises CompileError for a conflict."""
        run_inference(module, _refine)


def _refine(op: Operator) -> tuple[list[TensorType], list[TensorType]]:
    before_in, before_out = op.operand_types, op.result_types
    dtypes_in, dtypes_out = op.infer_dtype(
        op.values, [t.dtype for t in before_in], [t.dtype for t in before_out]
    )
    return (
        [TensorType(t.shape, d) for d, t in zip(dtypes_in, before_in, strict=True)],
        [TensorType(t.shape, d) for d, t in zip(dtypes_out, before_out, strict=True)],
    )
