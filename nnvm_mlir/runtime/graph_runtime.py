"""NNVM's graph runtime: create, set_input, run, get_output."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from nnvm_mlir.runtime.program import Program, as_input

if TYPE_CHECKING:
    from nnvm_mlir.graph import Graph


class GraphModule:
    """A compiled graph with its inputs and outputs held between calls.

    Args:
        program: the compiled code; it holds the parameters.
        params: the values of the parameters, by name.
    """

    def __init__(self, program: Program, params: Mapping[str, np.ndarray]) -> None:
        self._program = program
        self._params = params
        self._values: dict[str, np.ndarray] = {}
        self._results: list[np.ndarray] | None = None

    def set_input(self, key: str | int | None = None, value: Any = None, **named: Any) -> None:
        """Sets one input by name or position, and more by name. The parameters may be among them, as NNVM's users give them.

        Raises:
            KeyError: there is no such input.
            TypeError, ValueError: the value does not fit, or is another than the parameter that was compiled in.
        """
        if key is not None:
            spec = self._program.inputs[key] if isinstance(key, int) else None
            named = {spec.name if spec else str(key): value, **named}
        specs = {spec.name: spec for spec in self._program.inputs}
        for name, array in named.items():
            if name in self._params:
                if not np.array_equal(array, self._params[name]):
                    raise ValueError(
                        f"parameter {name!r} is compiled in with another value: build again"
                    )
                continue
            if name not in specs:
                raise KeyError(f"there is no input {name!r} (inputs: {', '.join(specs)})")
            self._values[name] = as_input(array, specs[name]).copy()

    def run(self, **named: Any) -> None:
        """Runs the graph, after setting the inputs given by name.

        Raises:
            ValueError: an input has not been set.
        """
        self.set_input(**named)
        missing = [s.name for s in self._program.inputs if s.name not in self._values]
        if missing:
            raise ValueError(f"input {missing[0]!r} has not been set")
        self._results = self._program([self._values[s.name] for s in self._program.inputs])

    def get_num_outputs(self) -> int:
        """How many outputs the graph has."""
        return len(self._program.outputs)

    def get_input(self, key: str | int) -> np.ndarray:
        """An input as it was set. Raises KeyError when it was not."""
        name = self._program.inputs[key].name if isinstance(key, int) else key
        return self._values[name]

    def get_output(self, index: int, out: np.ndarray | None = None) -> np.ndarray:
        """Output number `index` of the last run, copied into `out` if given.

        Raises:
            ValueError: the graph has not run yet.
        """
        if self._results is None:
            raise ValueError("the graph has not run yet")
        if out is None:
            return self._results[index]
        np.copyto(out, self._results[index])
        return out


def create(graph: Graph, lib: Program, device: Any = None) -> GraphModule:
    """A module for a graph that `compiler.build` compiled into `lib`."""
    return GraphModule(lib, graph.params)
