"""NNVM's graph runtime: create, set_input, run, get_output."""

from __future__ import annotations

from typing import Any

import numpy as np

from nnvm_mlir.runtime.program import Program, as_input


class GraphModule:
    """A compiled graph with its inputs and outputs held between calls."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._values: dict[str, np.ndarray] = {}
        self._results: list[np.ndarray] | None = None

    def set_input(self, key: str | int | None = None, value: Any = None, **named: Any) -> None:
        """Sets one input by name or position, and more by name.

        Raises:
            KeyError: there is no such input.
            TypeError, ValueError: the value does not fit.
        """
        if key is not None:
            spec = self._program.inputs[key] if isinstance(key, int) else None
            named = {spec.name if spec else str(key): value, **named}
        specs = {spec.name: spec for spec in self._program.inputs}
        for name, array in named.items():
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


def create(graph: Any, lib: Program, device: Any = None) -> GraphModule:
    """A module for a graph that `compiler.build` compiled into `lib`. (The program holds all that is needed of the graph.)"""
    return GraphModule(lib)
