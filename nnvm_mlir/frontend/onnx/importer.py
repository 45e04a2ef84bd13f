"""ONNX model to graph: binds shapes, converts node after node, inlines branches and functions.

Values that are known are folded as the graph is built, so shape arithmetic leaves nothing behind,
and a branch whose condition is known is imported alone.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import onnx
from onnx import AttributeProto, FunctionProto, GraphProto, NodeProto

from nnvm_mlir.builder import FOLD_LIMIT, GraphBuilder, Node
from nnvm_mlir.context import make_context
from nnvm_mlir.errors import CompileError, LoadError
from nnvm_mlir.frontend.onnx.check import (
    captured_names,
    function_key,
    node_label,
    normalize_domain,
    opset_versions,
    ordered_nodes,
)
from nnvm_mlir.frontend.onnx.inputs import bind_inputs
from nnvm_mlir.frontend.onnx.load import Model, Source, load_model
from nnvm_mlir.frontend.onnx.registry import NodeContext, find_converter
from nnvm_mlir.frontend.onnx.schema import Schema, find_schema
from nnvm_mlir.frontend.onnx.scope import Scope, with_attributes_of, without_inputs
from nnvm_mlir.frontend.onnx.standard_functions import function_body
from nnvm_mlir.frontend.onnx.support import check_supported
from nnvm_mlir.frontend.onnx.tensors import dtype_of, to_array
from nnvm_mlir.graph import Graph

log = logging.getLogger(__name__)

NODE_LIMIT = 100_000
"""Nodes that one import may convert, those of inlined functions and unrolled loops included."""

MAX_CALL_DEPTH = 64
"""How deep functions may call each other."""


class Importer:
    """The state of one import: the graph under construction, and what the model offers to nodes."""

    def __init__(self, model: Model, fold_limit: int) -> None:
        self.model = model
        self.folder = model.folder
        self.builder = GraphBuilder(make_context(), fold_limit)
        self.functions = {function_key(function): function for function in model.proto.functions}
        self._converted = 0

    def run(self, shapes: Mapping[str, Sequence[int]], values: Mapping[str, np.ndarray]) -> Graph:
        """Imports the model's graph."""
        proto = self.model.proto
        graph = proto.graph
        scope = Scope(opset_versions(proto.opset_import))
        scope.values.update(bind_inputs(self.builder, graph, shapes, values))
        outputs = self.run_graph(graph, scope)
        for declared, node in zip(graph.output, outputs, strict=True):
            _check_output(declared, node)
            self.builder.output(declared.name, node)
        return self.builder.finish({entry.key: entry.value for entry in proto.metadata_props})

    def run_graph(self, graph: GraphProto, scope: Scope) -> list[Node]:
        """Converts a graph whose inputs `scope` already holds; returns its outputs.

        Initializers that nothing reads are not even loaded.
        """
        outputs = [value.name for value in graph.output]
        read = set(outputs).union(*map(captured_names, graph.node))
        for tensor in graph.initializer:
            if tensor.name in read:
                is_main = scope.outer is None
                array = self.model.weight(tensor) if is_main else to_array(tensor, self.folder)
                scope.values[tensor.name] = self.builder.weight(array, tensor.name)
        self._run_nodes(graph.node, outputs, scope)
        return [scope.lookup(name) for name in outputs]

    def run_branch(
        self, graph: GraphProto, outer: Scope, arguments: Sequence[Node] = ()
    ) -> list[Node]:
        """Imports a branch or a loop body inline.

        Raises:
            CompileError: operators in it are not supported, or it takes another number of inputs.
        """
        check_supported(graph.node, outer.opsets, self.functions)
        if len(arguments) != len(graph.input):
            raise CompileError(
                f"graph {graph.name!r} takes {len(graph.input)} inputs, not {len(arguments)}"
            )
        scope = Scope(
            outer.opsets, outer=outer, attributes=outer.attributes, call_depth=outer.call_depth
        )
        scope.values.update(zip((value.name for value in graph.input), arguments, strict=True))
        return self.run_graph(graph, scope)

    def run_function(
        self,
        function: FunctionProto,
        call: NodeProto,
        arguments: Sequence[Node | None],
        given: Iterable[AttributeProto],
        outer: Scope,
    ) -> list[Node | None]:
        """Inlines a function; an argument that is absent stays absent inside.

        Args:
            call: the node that stands for the function; only the outputs that it names are made.
            arguments: its inputs.
            given: its attributes; of two with one name the last counts.
            outer: the scope of the call.
        """
        depth = outer.call_depth + 1
        if depth > MAX_CALL_DEPTH:
            raise CompileError(
                f"function {function.name!r} is recursive,"
                f" or calls are nested more than {MAX_CALL_DEPTH} deep"
            )
        if len(arguments) > len(function.input):
            raise CompileError(
                f"node {node_label(call)!r} gives {len(arguments)} inputs to function"
                f" {function.name!r}, which takes {len(function.input)}"
            )
        attributes = {attribute.name: attribute for attribute in function.attribute_proto}
        attributes.update((attribute.name, attribute) for attribute in given)
        opsets = {**outer.opsets, **opset_versions(function.opset_import)}
        scope = Scope(opsets, attributes=attributes, call_depth=depth)
        absent = set(function.input)
        for name, node in zip(function.input, arguments, strict=False):
            if node is not None:
                scope.values[name] = node
                absent.discard(name)
        nodes = [without_inputs(node, absent) for node in function.node]
        outputs = [
            formal if actual else ""
            for formal, actual in zip(function.output, call.output, strict=False)
        ]
        self._run_nodes(nodes, outputs, scope)
        return [scope.lookup(name) if name else None for name in outputs]

    # ---- nodes -----------------------------------------------------------------------------------

    def _run_nodes(self, nodes: Sequence[NodeProto], outputs: Sequence[str], scope: Scope) -> None:
        order = ordered_nodes(nodes, scope.names())
        reads = [captured_names(node) for node in order]
        uses = Counter(name for names in reads for name in names)
        uses.update(outputs)
        for node, names in zip(order, reads, strict=True):
            self._run_node(node, scope)
            for name in names:  # what nothing reads any more is freed: folded weights can be large
                uses[name] -= 1
                if uses[name] == 0:
                    scope.values.pop(name, None)

    def _run_node(self, node: NodeProto, scope: Scope) -> None:
        self._converted += 1
        if self._converted > NODE_LIMIT:
            raise CompileError(
                f"the model has more than {NODE_LIMIT} nodes once functions and loops are inlined"
            )
        node = with_attributes_of(scope, node)
        domain = normalize_domain(node.domain)
        where = f"{node.op_type} node {node_label(node)!r}"
        try:
            results = self._convert(node, domain, scope)
        except (CompileError, LoadError):
            raise
        except (ValueError, TypeError, ArithmeticError, LookupError, MemoryError) as error:
            # A converter met something that the checks before it let pass: the model is to blame.
            raise CompileError(f"{where}: {error or type(error).__name__}") from error
        if len(results) < len(node.output):
            raise CompileError(f"{where} names {len(node.output)} outputs, it has {len(results)}")
        for name, result in zip(node.output, results, strict=False):
            if name and result is not None:
                scope.values[name] = result

    def _convert(self, node: NodeProto, domain: str, scope: Scope) -> Sequence[Node | None]:
        function = self.functions.get((domain, node.op_type, node.overload))
        if function is not None:
            arguments = [scope.lookup(name) if name else None for name in node.input]
            return self.run_function(function, node, arguments, node.attribute, scope)
        opset = scope.opsets[domain]
        schema = find_schema(node.op_type, opset, domain)
        if schema is None:
            raise CompileError(
                f"{node.op_type} node {node_label(node)!r}: no such operator in opset {opset}"
            )
        schema.check_node(node)
        convert = find_converter(node.op_type, opset, domain)
        context = NodeContext(self, scope, node, opset, schema)
        results = convert(context) if convert else self.expand_standard_function(context)
        return [results] if isinstance(results, Node) else results

    def expand_standard_function(self, context: NodeContext) -> Sequence[Node | None]:
        """Converts a node by the function with which the standard defines its operator."""
        body = function_body(context, context.schema)
        if body is None:
            raise context.error("is not supported with these attributes and types")
        opsets = {**context.scope.opsets, **opset_versions(body.opset_import)}
        check_supported(body.node, opsets, self.functions)
        given = [*_schema_defaults(context.schema), *context.node.attribute]
        return self.run_function(body, context.node, context.inputs, given, context.scope)


def _schema_defaults(schema: Schema) -> list[AttributeProto]:
    """Default values of an operator's attributes."""
    declared = schema.definition.attributes.values()
    return [
        item.default_value
        for item in declared
        if item.default_value is not None and item.default_value.type != AttributeProto.UNDEFINED
    ]


def import_model(
    model: Source | Model,
    shapes: Mapping[str, Sequence[int]] | None = None,
    values: Mapping[str, np.ndarray] | None = None,
    fold_limit: int = FOLD_LIMIT,
) -> Graph:
    """Imports an ONNX model, specialised on shapes and, where given, on values of its inputs.

    Args:
        model: a path, the bytes of a file, a `ModelProto`, or what `load_model` returned.
        shapes: shape of every input whose declared shape is open.
        values: inputs to be constants of the graph; they are no inputs of it any more.
        fold_limit: bytes that one folded constant may take.

    Raises:
        LoadError: the model or one of its tensors cannot be read.
        NeedsShapes: the shapes of some inputs are neither declared nor given.
        NeedsValue: a shape depends on the values of some inputs.
        CompileError: the model is malformed, or has operators that are not supported (the message
            lists all of them).
    """
    loaded = model if isinstance(model, Model) else load_model(model)
    check_operators(loaded)
    return Importer(loaded, fold_limit).run(shapes or {}, values or {})


def check_operators(model: Model) -> None:
    """Raises CompileError, which lists them all, if operators of a model are not supported."""
    functions = {function_key(function): function for function in model.proto.functions}
    check_supported(model.proto.graph.node, opset_versions(model.proto.opset_import), functions)


def _check_output(declared: onnx.ValueInfoProto, node: Node) -> None:
    """The dtype must be as declared; the shape need not, for files in the wild declare wrong ones."""
    what = f"output {declared.name!r}"
    if not node.type.is_static:
        raise CompileError(f"{what} is a sequence; only tensors are supported")
    tensor_type = declared.type.tensor_type
    if not tensor_type.elem_type:
        return
    dtype = dtype_of(tensor_type.elem_type, what)
    if dtype != node.dtype:
        raise CompileError(f"{what} is declared as {dtype}, but the model computes {node.dtype}")
    if tensor_type.HasField("shape"):
        shape = [dim.dim_value if dim.dim_value > 0 else None for dim in tensor_type.shape.dim]
        if len(shape) != len(node.shape) or any(
            want not in (None, have) for want, have in zip(shape, node.shape, strict=True)
        ):
            log.info("%s is declared with shape %s, but has %s", what, shape, list(node.shape))
