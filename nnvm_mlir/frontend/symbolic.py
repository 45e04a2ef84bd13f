"""Symbols as a source of graphs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from nnvm_mlir.builder import GraphBuilder, Node
from nnvm_mlir.context import make_context
from nnvm_mlir.dialects.nnvm.types import TensorType
from nnvm_mlir.frontend.binding import bind_shape, infer_signature, require_shapes
from nnvm_mlir.graph import Graph
from nnvm_mlir.symbol import Symbol, topological_order


class SymbolSource:
    """A symbol whose variables are inputs."""

    def __init__(self, symbol: Symbol) -> None:
        self._symbol = symbol
        variables = [node for node in topological_order(symbol.entries) if node.operator is None]
        self._types = {
            node.name: TensorType(
                node.attributes.get("shape"), node.attributes.get("dtype") or "float32"
            )
            for node in variables
        }
        self.inputs, self.outputs = infer_signature(symbol_graph(symbol, self._types, {}))
        self.metadata: Mapping[str, str] = {}

    def import_graph(
        self, shapes: Mapping[str, Sequence[int]], values: Mapping[str, np.ndarray]
    ) -> Graph:
        """A graph for these shapes; shapes that follow from others may be left out."""
        types = {name: bind_shape(name, known, shapes) for name, known in self._types.items()}
        graph = symbol_graph(self._symbol, types, values)
        require_shapes(graph)
        return graph


def symbol_graph(
    symbol: Symbol, types: Mapping[str, TensorType], params: Mapping[str, np.ndarray]
) -> Graph:
    """Builds the graph of a symbol.

    Args:
        types: what is known of the variables' types, by name.
        params: values of variables that are parameters.

    Raises:
        CompileError: two variables share a name, or an operator refuses its operands.
    """
    builder = GraphBuilder(make_context())
    results: dict[object, list[Node]] = {}
    for node in topological_order(symbol.entries):
        if node.operator is None:
            if node.name in params:
                results[node] = [builder.parameter(node.name, params[node.name])]
            else:
                known = types.get(node.name, TensorType())
                results[node] = [builder.input(node.name, known)]
            continue
        operands = [results[source][index] for source, index in node.inputs]
        made = builder.op(node.operator, *operands, name=node.name, **node.attributes)
        results[node] = [made] if isinstance(made, Node) else list(made)
    for name, (node, index) in zip(symbol.list_output_names(), symbol.entries, strict=True):
        builder.output(name, results[node][index])
    return builder.finish()
