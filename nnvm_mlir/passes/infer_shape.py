"""`nnvm-infer-shape`: shapes of all values, forwards and backwards."""

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
class InferShape(Pass):
    """Infer the shapes of all values, in both directions; what does not follow stays unknown."""

    name: ClassVar[str] = "nnvm-infer-shape"

    def run(self, module: ir.Module) -> None:
        """Refines types in place. Raises CompileError for a conflict."""
        run_inference(module, _refine)


def _refine(op: Operator) -> tuple[list[TensorType], list[TensorType]]:
    before_in, before_out = op.operand_types, op.result_types
    shapes_in, shapes_out = op.infer_shape(
        op.values, [t.shape for t in before_in], [t.shape for t in before_out]
    )
    return (
        [TensorType(s, t.dtype) for s, t in zip(shapes_in, before_in, strict=True)],
        [TensorType(s, t.dtype) for s, t in zip(shapes_out, before_out, strict=True)],
    )
