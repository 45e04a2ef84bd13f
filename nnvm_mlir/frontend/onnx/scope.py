"""`Scope`: the names that a node sees, and the node as it is seen inside a function."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from onnx import AttributeProto, NodeProto

from nnvm_mlir.builder import Node
from nnvm_mlir.errors import CompileError


@dataclass
class Scope:
    """Names of one graph or function body while its nodes are converted.

    Attributes:
        opsets: version by domain.
        values: what is defined so far.
        outer: the enclosing graph, which a branch sees and a function does not.
        attributes: of the function call being inlined, by name.
        call_depth: how many function calls enclose it.
    """

    opsets: Mapping[str, int]
    values: dict[str, Node] = field(default_factory=dict)
    outer: Scope | None = None
    attributes: Mapping[str, AttributeProto] = field(default_factory=dict)
    call_depth: int = 0

    def lookup(self, name: str) -> Node:
        """The value of a name, here or in an enclosing graph."""
        scope: Scope | None = self
        while scope is not None:
            if name in scope.values:
                return scope.values[name]
            scope = scope.outer
        raise CompileError(f"nothing defines {name!r}")

    def names(self) -> set[str]:
        """Every name defined so far, here or in an enclosing graph."""
        found: set[str] = set()
        scope: Scope | None = self
        while scope is not None:
            found |= scope.values.keys()
            scope = scope.outer
        return found


def with_attributes_of(scope: Scope, node: NodeProto) -> NodeProto:
    """The node with the attributes of the enclosing function put in where it refers to them."""
    if not any(attribute.ref_attr_name for attribute in node.attribute):
        return node
    resolved = NodeProto()
    resolved.CopyFrom(node)
    del resolved.attribute[:]
    for attribute in node.attribute:
        if not attribute.ref_attr_name:
            resolved.attribute.append(attribute)
        elif attribute.ref_attr_name in scope.attributes:
            copy = resolved.attribute.add()
            copy.CopyFrom(scope.attributes[attribute.ref_attr_name])
            copy.name = attribute.name
    return resolved


def without_inputs(node: NodeProto, absent: Collection[str]) -> NodeProto:
    """The node with the named inputs absent."""
    if not any(name in absent for name in node.input):
        return node
    copy = NodeProto()
    copy.CopyFrom(node)
    copy.input[:] = ["" if name in absent else name for name in node.input]
    return copy
