"""NNVM's compiler interface: `build` a symbol into a graph, a library and parameters.

    graph, lib, params = compiler.build(z, target="cpu", shape={"x": (4,)}, dtype="float32")
    module = graph_runtime.create(graph, lib)

The modern interface is `nnvm_mlir.compile`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from nnvm_mlir.build import build_program
from nnvm_mlir.dialects.nnvm.types import TensorType
from nnvm_mlir.frontend.symbolic import symbol_graph
from nnvm_mlir.graph import Graph
from nnvm_mlir.runtime.program import Program
from nnvm_mlir.symbol import Symbol
from nnvm_mlir.target import Target

DEFAULT_OPT_LEVEL = 2
"""NNVM's default."""


def build(
    symbol: Symbol,
    target: str | Target = "cpu",
    shape: Mapping[str, Sequence[int]] | None = None,
    dtype: str | Mapping[str, str] = "float32",
    params: Mapping[str, np.ndarray] | None = None,
    opt_level: int = DEFAULT_OPT_LEVEL,
) -> tuple[Graph, Program, dict[str, np.ndarray]]:
    """Compiles a symbol.

    Args:
        symbol: what to compute.
        target: as of `nnvm_mlir.compile`.
        shape: shapes of variables by name; the others are inferred, in both directions.
        dtype: of all variables, or by name.
        params: values of variables that are parameters.

    Returns:
        The optimised graph, the compiled program, and the parameters as the program has them.

    Raises:
        CompileError: shapes conflict or do not follow from those given, or the graph cannot be
            compiled.
        ValueError: a name is that of no variable, or another argument is wrong.
    """
    values = {name: np.asarray(value) for name, value in (params or {}).items()}
    names = symbol.list_input_names()
    for what, given in (("shape", shape), ("dtype", dtype), ("params", params)):
        for name in given if isinstance(given, Mapping) else ():
            if name not in names:
                raise ValueError(
                    f"{what} names {name!r}, which is no variable (variables: {', '.join(names)})"
                )
    types = {
        name: TensorType(
            tuple(shape[name]) if shape and name in shape else None,
            dtype if isinstance(dtype, str) else dtype.get(name),
        )
        for name in names
    }
    graph = symbol_graph(symbol, types, values)
    parsed = Target.resolve(target, None)
    kept: dict[str, Any] = {}

    def record(stage: str, module: Any) -> None:
        if stage == "nnvm-plan-memory":
            kept["module"] = type(module).parse(str(module))
            kept["params"] = dict(graph.params)

    program = build_program(graph, parsed, opt_level, record)
    return Graph(kept["module"], kept["params"]), program, kept["params"]
