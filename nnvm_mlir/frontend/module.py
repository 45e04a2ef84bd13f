"""Graphs as a source of graphs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from nnvm_mlir.context import make_context
from nnvm_mlir.dialects.nnvm import verify_module
from nnvm_mlir.frontend.binding import bind_shape, infer_signature, require_shapes
from nnvm_mlir.graph import INPUT, Graph
from nnvm_mlir.mlir import ir


class GraphSource:
    """A graph, kept as it is when the source is made.

    Raises:
        CompileError: the graph is invalid.
    """

    def __init__(self, graph: Graph) -> None:
        self._text = str(graph)
        self._params = dict(graph.params)
        self.metadata = graph.metadata
        copy = self._copy()
        verify_module(copy.module)
        self.inputs, self.outputs = infer_signature(copy)

    def import_graph(
        self, shapes: Mapping[str, Sequence[int]], values: Mapping[str, np.ndarray]
    ) -> Graph:
        """A copy of the graph for these shapes; shapes that follow from others may be left out."""
        graph = self._copy()
        arguments = graph.entry.arguments
        with graph.module.context:
            for variable in graph.variables:
                if variable.kind == INPUT:
                    bound = bind_shape(variable.name, variable.type, shapes)
                    arguments[variable.index].set_type(bound.to_mlir())
        require_shapes(graph)
        return graph

    def _copy(self) -> Graph:
        module = ir.Module.parse(self._text, make_context())
        return Graph(module, dict(self._params), self.metadata)
