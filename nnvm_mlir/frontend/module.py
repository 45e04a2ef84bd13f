"""Graphs as a source of graphs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from nnvm_mlir.context import make_context
from nnvm_mlir.dialects.nnvm import verify_module
from nnvm_mlir.dialects.nnvm.types import TensorType
from nnvm_mlir.errors import CompileError
from nnvm_mlir.frontend.binding import bind_shape, infer_signature, require_shapes
from nnvm_mlir.graph import INPUT, PARAMETER, Graph
from nnvm_mlir.mlir import ir


class GraphSource:
    """A graph, kept as it is when the source is made.

    Raises:
        CompileError: the graph is invalid, or a parameter has no value or one of another type.
    """

    def __init__(self, graph: Graph) -> None:
        self._text = str(graph)
        self._params = dict(graph.params)
        self.metadata = graph.metadata
        copy = self._copy()
        verify_module(copy.module)
        _check_parameters(copy)
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


def _check_parameters(graph: Graph) -> None:
    for variable in graph.variables:
        if variable.kind != PARAMETER:
            continue
        if variable.name not in graph.params:
            raise CompileError(f"parameter {variable.name!r} has no value")
        given = TensorType.of(graph.params[variable.name])
        if given != variable.type:
            message = f"parameter {variable.name!r} has a value of type {given}"
            raise CompileError(f"{message}, expected {variable.type}")
