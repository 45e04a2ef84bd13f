"""What the ONNX standard says of an operator at an opset: its attributes, inputs and outputs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import onnx
from onnx import AttributeProto
from onnx.defs import OpSchema

from nnvm_mlir.errors import CompileError
from nnvm_mlir.frontend.onnx.check import node_label


@dataclass(frozen=True)
class AttributeSchema:
    """One attribute: its `AttributeProto` type, whether it must be given, and its default."""

    type: int
    required: bool
    default: Any = None


@dataclass(frozen=True)
class Schema:
    """One version of an operator."""

    since: int
    attributes: dict[str, AttributeSchema]
    optional_inputs: tuple[bool, ...]
    """Whether each declared input may be absent."""
    inputs: tuple[int, int]
    """Fewest and most inputs."""
    outputs: tuple[int, int]
    definition: Any
    """The standard's own `OpSchema`."""

    def check_node(self, node: onnx.NodeProto) -> None:
        """Refuses a node whose inputs, outputs or attributes are not as declared.

        Raises:
            CompileError: it names the node.
        """
        where = f"{node.op_type} node {node_label(node)!r}"
        for kind, count, (fewest, most) in (
            ("inputs", len(node.input), self.inputs),
            ("outputs", len(node.output), self.outputs),
        ):
            if not fewest <= count <= most:
                raise CompileError(f"{where} has {count} {kind}, expected {fewest} to {most}")
        for index, optional in enumerate(self.optional_inputs):
            if not optional and index < len(node.input) and not node.input[index]:
                raise CompileError(f"{where} lacks input {index}")
        given = set()
        for attribute in node.attribute:
            given.add(attribute.name)
            declared = self.attributes.get(attribute.name)
            if declared is None:
                raise CompileError(f"{where} has an unknown attribute {attribute.name!r}")
            if attribute.type != declared.type:
                names = AttributeProto.AttributeType
                raise CompileError(
                    f"{where}: attribute {attribute.name!r} has type {names.Name(attribute.type)},"
                    f" expected {names.Name(declared.type)}"
                )
        for name, declared in self.attributes.items():
            if declared.required and name not in given:
                raise CompileError(f"{where} lacks the attribute {name!r}")


@cache
def find_schema(op_type: str, opset: int, domain: str = "") -> Schema | None:
    """The operator's version in force at `opset`, or None where there is no such operator."""
    try:
        schema: Any = onnx.defs.get_schema(op_type, opset, domain)
    except onnx.defs.SchemaError:
        return None
    attributes = {}
    for name, declared in schema.attributes.items():
        default = declared.default_value
        has_default = default is not None and default.type != AttributeProto.UNDEFINED
        attributes[name] = AttributeSchema(
            declared.type.value,
            declared.required,
            attribute_value(default) if has_default else None,
        )
    optional = tuple(i.option == OpSchema.FormalParameterOption.Optional for i in schema.inputs)
    if schema.inputs and schema.inputs[-1].option == OpSchema.FormalParameterOption.Variadic:
        optional = optional[:-1]
    return Schema(
        since=schema.since_version,
        attributes=attributes,
        optional_inputs=optional,
        inputs=(schema.min_input, schema.max_input),
        outputs=(schema.min_output, schema.max_output),
        definition=schema,
    )


def attribute_value(attribute: onnx.AttributeProto) -> Any:
    """The Python value of an attribute: strings decoded, lists as tuples, messages as they are.

    Raises:
        CompileError: a string that is not UTF-8.
    """
    value = onnx.helper.get_attribute_value(attribute)
    try:
        if isinstance(value, bytes):
            return value.decode()
        if attribute.type == AttributeProto.STRINGS:
            return tuple(item.decode() for item in value)
    except UnicodeDecodeError:
        raise CompileError(f"attribute {attribute.name!r} is not valid UTF-8: {value!r}") from None
    return tuple(value) if isinstance(value, list) or attribute.type in _LISTS else value


_LISTS = {
    AttributeProto.FLOATS,
    AttributeProto.INTS,
    AttributeProto.GRAPHS,
    AttributeProto.TENSORS,
}
