"""Operators that the ONNX standard defines by a function of simpler ones: no converter needed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import onnx
from onnx import FunctionProto

from nnvm_mlir.dialects.nnvm.types import numpy_dtype
from nnvm_mlir.frontend.onnx.schema import Schema, find_schema

if TYPE_CHECKING:
    from nnvm_mlir.builder import Node
    from nnvm_mlir.frontend.onnx.registry import NodeContext


def has_function_body(op_type: str, opset: int, domain: str = "") -> bool:
    """Whether the standard defines the operator by a function."""
    schema = find_schema(op_type, opset, domain)
    return schema is not None and bool(schema.definition.all_function_opset_versions)


def function_body(ctx: NodeContext, schema: Schema) -> FunctionProto | None:
    """The function that defines a node's operator for its attributes and types, or None."""
    definition = schema.definition
    fixed = _newest(definition.function_opset_versions, ctx.opset)
    if fixed is not None:
        return FunctionProto.FromString(definition.get_function_with_opset_version(fixed))
    version = _newest(definition.context_dependent_function_opset_versions, ctx.opset)
    if version is None:
        return None
    types = [_type_proto(node).SerializeToString() for node in ctx.inputs]
    body = definition.get_context_dependent_function_with_opset_version(
        version, ctx.node.SerializeToString(), types
    )
    return FunctionProto.FromString(body) if body else None


def _newest(versions: list[int], opset: int) -> int | None:
    return max((version for version in versions if version <= opset), default=None)


def _type_proto(node: Node | None) -> onnx.TypeProto:
    if node is None:
        return onnx.TypeProto()
    element_type = onnx.helper.np_dtype_to_tensor_dtype(numpy_dtype(node.dtype))
    return onnx.helper.make_tensor_type_proto(element_type, node.shape)
