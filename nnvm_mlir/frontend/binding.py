"""What symbols and graphs share as sources: binding shapes, and inferring the others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from nnvm_mlir.dialects.nnvm.types import TensorType, is_known, show, unify_shapes
from nnvm_mlir.errors import CompileError, NeedsShapes
from nnvm_mlir.graph import Graph, Variable
from nnvm_mlir.passes.infer_shape import InferShape
from nnvm_mlir.passes.infer_type import InferType
from nnvm_mlir.pipeline import Pipeline
from nnvm_mlir.runtime.program import TensorSpec


def bind_shape(name: str, declared: TensorType, shapes: Mapping[str, Sequence[int]]) -> TensorType:
    """The type of an input, with what `shapes` says of it.

    Raises:
        CompileError: it contradicts what is declared.
    """
    if name not in shapes:
        return declared
    given = tuple(shapes[name])
    try:
        return TensorType(unify_shapes([declared.shape, given]), declared.dtype)
    except ValueError:
        message = f"input {name!r} is declared as {show(declared.shape)}, got shape {show(given)}"
        raise CompileError(message) from None


def infer_signature(graph: Graph) -> tuple[tuple[TensorSpec, ...], tuple[TensorSpec, ...]]:
    """Inputs and outputs as far as they follow from what is known; types are refined in place.

    Raises:
        CompileError: something contradicts something else.
    """
    Pipeline([InferShape(), InferType()]).run(graph.module)
    return tuple(map(_spec, graph.inputs)), tuple(map(_spec, graph.outputs))


def require_shapes(graph: Graph) -> None:
    """Infers all types in place.

    Raises:
        NeedsShapes: shapes of inputs remain unknown.
        CompileError: something contradicts something else.
    """
    inputs, _ = infer_signature(graph)
    unknown = [spec for spec in inputs if not is_known(spec.shape)]
    if unknown:
        listed = "; ".join(map(str, unknown))
        raise NeedsShapes(f"shapes of inputs do not follow: {listed}", [s.name for s in unknown])


def _spec(variable: Variable) -> TensorSpec:
    return TensorSpec(variable.name, variable.type.shape, variable.type.dtype or "float32")
