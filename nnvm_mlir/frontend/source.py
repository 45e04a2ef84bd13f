"""`Source`: anything that can be imported as a graph once its shapes are known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from nnvm_mlir.graph import Graph
from nnvm_mlir.runtime.program import TensorSpec


class Source(Protocol):
    """A model before its shapes are bound."""

    inputs: tuple[TensorSpec, ...]
    outputs: tuple[TensorSpec, ...]
    metadata: Mapping[str, str]

    def import_graph(
        self, shapes: Mapping[str, Sequence[int]], values: Mapping[str, np.ndarray]
    ) -> Graph:
        """A new graph, in a context of its own, for these shapes.

        Args:
            shapes: shapes of inputs by name; dimensions that the model fixes need not be given.
            values: inputs whose values are taken as known.

        Raises:
            NeedsShapes, NeedsValue: more must be known.
            CompileError: the model cannot be imported.
        """


def open_source(model: Any) -> Source:
    """The source of whatever a user calls a model: a path, bytes, an `onnx.ModelProto`, a `Symbol` or a `Graph`.

    Raises:
        TypeError: it is nothing that can be compiled.
        LoadError: the file cannot be read as a model.
    """
    from nnvm_mlir.symbol import Symbol

    if isinstance(model, Symbol):
        from nnvm_mlir.frontend.symbolic import SymbolSource

        return SymbolSource(model)
    if isinstance(model, Graph):
        from nnvm_mlir.frontend.module import GraphSource

        return GraphSource(model)
    from nnvm_mlir.frontend.onnx.source import OnnxSource

    return OnnxSource(model)
