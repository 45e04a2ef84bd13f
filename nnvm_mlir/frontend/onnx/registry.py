"""The table of converters, and what a converter sees of its node.

    @converter("Add", since=7)
    def add(ctx: NodeContext) -> Node:
        return ctx.op(BroadcastAdd, *ctx.operands)

A converter serves the opsets from `since` to the next registration of the same operator. It returns
the node's outputs in order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx

from nnvm_mlir.builder import Node
from nnvm_mlir.dialects.nnvm.operator import Operator
from nnvm_mlir.dialects.nnvm.types import TensorType, numpy_dtype
from nnvm_mlir.errors import CompileError, LoadError, NeedsValue
from nnvm_mlir.frontend.onnx.check import node_label
from nnvm_mlir.frontend.onnx.schema import Schema, attribute_value
from nnvm_mlir.frontend.onnx.tensors import dtype_of, to_array

if TYPE_CHECKING:
    from nnvm_mlir.frontend.onnx.importer import Importer
    from nnvm_mlir.frontend.onnx.scope import Scope

Results = Node | Sequence[Node | None]
"""Outputs of a node; one that it does not name may be None."""

Converter = Callable[["NodeContext"], Results]

_CONVERTERS: dict[tuple[str, str], list[tuple[int, Converter]]] = {}


def converter(*op_types: str, since: int = 1, domain: str = "") -> Callable[[Converter], Converter]:
    """Registers a converter of the named operators, from opset `since` on."""

    def register(function: Converter) -> Converter:
        for op_type in op_types:
            versions = _CONVERTERS.setdefault((domain, op_type), [])
            versions.append((since, function))
            versions.sort(key=lambda version: version[0], reverse=True)
        return function

    return register


def register_direct(
    op_type: str, operator: type[Operator], *attributes: str, **renamed: str
) -> None:
    """Registers an operator that the dialect has with the same operands.

    Args:
        attributes: names that mean the same in both.
        renamed: the dialect's name of an attribute, and ONNX's.
    """
    names = {**dict(zip(attributes, attributes, strict=True)), **renamed}

    @converter(op_type)
    def convert(ctx: NodeContext) -> Any:
        values = {ours: ctx.attr(theirs) for ours, theirs in names.items()}
        given = {name: value for name, value in values.items() if value is not None}
        return ctx.op(operator, *ctx.operands, **given)


def find_converter(op_type: str, opset: int, domain: str = "") -> Converter | None:
    """The converter in force at `opset`, or None."""
    for since, function in _CONVERTERS.get((domain, op_type), ()):
        if since <= opset:
            return function
    return None


def supported_operators() -> list[tuple[str, str]]:
    """Every (domain, operator type) with a converter, sorted."""
    return sorted(_CONVERTERS)


class NodeContext:
    """One ONNX node during its conversion.

    Attributes:
        inputs: the node's inputs; None where one is absent.
        opset: version of the node's domain.
        num_outputs: how many outputs the node names, absent ones in between included.
    """

    def __init__(
        self, importer: Importer, scope: Scope, node: onnx.NodeProto, opset: int, schema: Schema
    ) -> None:
        self.importer = importer
        self.scope = scope
        self.node = node
        self.opset = opset
        self.name = node_label(node)
        self.op_type = node.op_type
        self.num_outputs = len(node.output)
        self.inputs = [scope.lookup(name) if name else None for name in node.input]
        self.schema = schema
        self._attributes = {attribute.name: attribute for attribute in node.attribute}

    # ---- what the node says ----------------------------------------------------------------------

    def attr(self, name: str, default: Any = None) -> Any:
        """An attribute's value, or the standard's default, or else `default`; a tensor as array."""
        if name in self._attributes:
            value = attribute_value(self._attributes[name])
        else:
            declared = self.schema.attributes.get(name)
            value = default if declared is None or declared.default is None else declared.default
        if isinstance(value, onnx.TensorProto):
            what = f"attribute {name!r} of {self.op_type} node {self.name!r}"
            return to_array(value, self.importer.folder, what)
        return value

    def is_given(self, name: str) -> bool:
        """Whether the node itself gives the attribute."""
        return name in self._attributes

    def dtype(self, code: int) -> str:
        """The dtype name of an ONNX element type among the attributes."""
        try:
            return dtype_of(code, "the wanted tensor")
        except LoadError as error:
            raise self.error(str(error)) from None

    def input(self, index: int) -> Node:
        """A required input, which must be a tensor."""
        node = self.optional_input(index)
        if node is None:
            raise self.error(f"input {index} is missing")
        if not node.type.is_static:
            raise self.error(f"input {index} is a sequence, expected a tensor")
        return node

    @property
    def operands(self) -> list[Node]:
        """All inputs, none of which may be absent."""
        return [self.input(index) for index in range(len(self.inputs))]

    def has_input(self, index: int) -> bool:
        """Whether the input is present."""
        return index < len(self.inputs) and self.inputs[index] is not None

    def optional_input(self, index: int) -> Node | None:
        """The input, or None where it is absent."""
        return self.inputs[index] if index < len(self.inputs) else None

    def wants_output(self, index: int) -> bool:
        """Whether the node names this output."""
        return index < self.num_outputs and bool(self.node.output[index])

    def constant_input(self, index: int) -> np.ndarray | None:
        """The known value of an input; None where it is absent.

        Raises:
            NeedsValue: it depends on values of the graph's inputs.
        """
        node = self.optional_input(index)
        if node is None:
            return None
        return self.known(node, f"input {index}")

    def known(self, node: Node, what: str) -> np.ndarray:
        """The known value of a node.

        Raises:
            NeedsValue: it depends on values of the graph's inputs.
        """
        if node.constant is None:
            names = [origin.name for origin in self.importer.builder.origins(node)]
            raise NeedsValue(
                f"{self.op_type} node {self.name!r}: {what} depends on the values of"
                f" {', '.join(map(repr, names))}, which must be known when the model is compiled",
                names,
            )
        return node.constant

    def int_list(self, index: int) -> tuple[int, ...] | None:
        """The known value of a 1-D (or 0-d) integer input; None where it is absent."""
        value = self.constant_input(index)
        if value is None:
            return None
        if value.dtype.kind not in "iu" or value.ndim > 1:
            raise self.error(f"input {index} must be a list of integers")
        return tuple(int(item) for item in value.reshape(-1))

    def attr_or_input(self, name: str, index: int, since: int) -> tuple[int, ...] | None:
        """A list of integers that was an attribute before opset `since`, and is an input since."""
        if self.opset < since:
            return self.attr(name)
        return self.int_list(index)

    def scalar_input(self, index: int) -> Any:
        """The known value of an input of one element as a Python number; None if it is absent."""
        value = self.constant_input(index)
        if value is None:
            return None
        if value.size != 1:
            raise self.error(f"input {index} must have one element, it has shape {value.shape}")
        return value.reshape(()).item()

    # ---- what the converter makes ----------------------------------------------------------------

    def op(self, operator: type[Operator], *operands: Node, **attributes: Any) -> Any:
        """Adds an operator; returns its result, or a list of results where it has several."""
        return self.importer.builder.op(operator, *operands, name=self.name, **attributes)

    def constant(self, value: Any, dtype: str | None = None) -> Node:
        """A known tensor."""
        array = np.asarray(value, None if dtype is None else numpy_dtype(dtype))
        return self.importer.builder.constant(array, self.name)

    def filled(self, value: Any, shape: Sequence[int], dtype: str) -> Node:
        """A known tensor of one number; it takes no memory of its own before it is used."""
        self.require_budget(TensorType(tuple(shape), dtype))
        return self.constant(np.broadcast_to(np.asarray(value, numpy_dtype(dtype)), tuple(shape)))

    def require_budget(self, tensor_type: TensorType) -> None:
        """Refuses, before it is allocated, a constant that is larger than the import's limit."""
        try:
            self.importer.builder.require_budget(tensor_type)
        except ValueError as error:
            raise self.error(str(error)) from None

    def run_graph(self, graph: onnx.GraphProto, *arguments: Node) -> list[Node]:
        """Imports one of the node's graphs inline; returns its outputs."""
        return self.importer.run_branch(graph, self.scope, arguments)

    def expand_standard_function(self) -> Results:
        """Imports the function by which the standard defines this operator; returns its outputs."""
        return self.importer.expand_standard_function(self)

    def scalar_like(self, value: float, node: Node) -> Node:
        """A known 0-d tensor of a node's dtype."""
        return self.constant(value, node.dtype)

    def error(self, message: str) -> CompileError:
        """An error about this node, to be raised."""
        return CompileError(f"{self.op_type} node {self.name!r}: {message}")
