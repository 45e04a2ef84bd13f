"""`compile()`: from a model to something that is called.

A model is compiled for fixed shapes. Where the model leaves dimensions open, or where the shape of
a tensor depends on the value of an input, one specialised program is made for each case that is
met, on its first call, and kept.

A model in a file is compiled by another process (see `worker`), so that the compiler's memory goes
when it is done and nothing in a file can take the caller's process down; this module itself loads
no compiler.
"""

from __future__ import annotations

import operator
import os
import sys
import threading
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from nnvm_mlir.errors import NeedsShapes, NeedsValue
from nnvm_mlir.pipelines import MAX_OPT_LEVEL, graph_pipeline
from nnvm_mlir.runtime import artifact
from nnvm_mlir.runtime.calling import order_arrays
from nnvm_mlir.runtime.program import Program, TensorSpec, as_input
from nnvm_mlir.target import Target
from nnvm_mlir.worker import RemoteCompiler, Shapes, Values

MAX_PROGRAMS = 64
"""Specialised programs that a model keeps; the oldest is dropped for a new one."""


class Compiler(Protocol):
    """Makes programs of one model."""

    inputs: tuple[TensorSpec, ...]
    outputs: tuple[TensorSpec, ...]
    metadata: Mapping[str, str]

    def specialize(self, shapes: Shapes, values: Values) -> Program:
        """The program for these shapes and values. Raises NeedsShapes or NeedsValue when more must be known."""

    def stages(self, shapes: Shapes, values: Values) -> dict[str, str]:
        """The module as text after every stage."""


def compile(
    model: Any,
    target: str | Target = "cpu",
    shapes: Shapes | None = None,
    threads: int | None = None,
    opt_level: int = MAX_OPT_LEVEL,
) -> CompiledModel:
    """Compiles a model.

    Args:
        model: the path of an ONNX file, an `onnx.ModelProto`, a `Symbol` or a `Graph`. A file is read again for
            every specialised program: keep it while shapes are open.
        target: "cpu" (this machine), "cpu:NAME" or a `Target`.
        shapes: shapes of inputs by name, where the model leaves dimensions open. Without them, the first call decides.
        threads: threads of one call; by default those of a `Target`, or else the cores that this process may use.
        opt_level: 0 (plain) to 3 (everything).

    Raises:
        CompileError: the model cannot be compiled.
        LoadError: the file is not a model.
        ValueError, TypeError: an argument is wrong.
    """
    parsed = Target.resolve(target, threads)
    graph_pipeline(opt_level)
    if shapes is not None and not isinstance(shapes, Mapping):
        raise TypeError(f"shapes: expected a dict of name to shape, got {type(shapes).__name__}")
    given = {name: _checked(name, shape) for name, shape in (shapes or {}).items()}
    compiled = CompiledModel(_compiler(model, parsed, opt_level, given), parsed, given)
    compiled.prepare()
    return compiled


def _compiler(model: Any, target: Target, opt_level: int, shapes: Shapes) -> Compiler:
    if isinstance(model, str | os.PathLike) and sys.executable:
        return RemoteCompiler(model, target, opt_level, shapes)
    from nnvm_mlir.build import LocalCompiler

    return LocalCompiler(model, target, opt_level)


class CompiledModel:
    """A model that can be called. Made by `compile()`; calls may come from several threads."""

    def __init__(self, compiler: Compiler, target: Target, shapes: Shapes) -> None:
        self.target = target
        self._compiler = compiler
        self._shapes = dict(shapes)
        unknown = sorted(set(self._shapes) - {spec.name for spec in compiler.inputs})
        if unknown:
            names = ", ".join(repr(spec.name) for spec in compiler.inputs)
            raise ValueError(f"shapes name {unknown[0]!r}, which is no input (inputs: {names})")
        self._value_inputs: tuple[str, ...] = ()
        self._stage_inputs: tuple[Shapes, Values] = ({}, {})
        self._shapes_open = False
        self._programs: dict[Any, Program] = {}
        self._lock = threading.Lock()
        self._latest: Program | None = None

    @property
    def inputs(self) -> tuple[TensorSpec, ...]:
        """Names, shapes and dtypes of the inputs; dimensions that a call decides are None."""
        return (self._only_program or self._compiler).inputs

    @property
    def outputs(self) -> tuple[TensorSpec, ...]:
        """Names, shapes and dtypes of the outputs; shapes that a call decides are None."""
        return (self._only_program or self._compiler).outputs

    @property
    def metadata(self) -> Mapping[str, str]:
        """Free text that came with the model."""
        return self._compiler.metadata

    @property
    def stages(self) -> dict[str, str]:
        """The module as text after every stage, in order, for the program that was made last.

        A stage that runs again is numbered ("nnvm-dce#2"). The model is compiled again to make the
        texts.
        """
        return self._compiler.stages(*self._stage_key())

    def prepare(self) -> None:
        """Compiles at once if the shapes are known; otherwise the first call does."""
        try:
            with self._lock:
                self._specialize({}, {})
        except NeedsShapes:
            self._shapes_open = True
        except NeedsValue as need:
            self._value_inputs = tuple(need.names)

    def __call__(
        self, *arrays: Any, out: Sequence[np.ndarray] | None = None, **named: Any
    ) -> list[np.ndarray]:
        """Runs the model on a dict of name to array, or on arrays in the order of `inputs`.

        Args:
            out: arrays to write the outputs into.

        Returns:
            The outputs, in the model's order.

        Raises:
            TypeError, ValueError: an input is missing, unknown, or of a wrong type or shape.
        """
        ordered = order_arrays(self._compiler.inputs, arrays, named)
        program = self._only_program
        if program is not None:
            return program(ordered, out)
        specs = self._compiler.inputs
        if len(ordered) != len(specs):
            raise ValueError(f"expected {len(specs)} inputs, got {len(ordered)}")
        ready = {spec.name: as_input(a, spec) for a, spec in zip(ordered, specs, strict=True)}
        program = self._program_for(ready)
        return program([ready[spec.name] for spec in program.inputs], out)

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Writes the program that was made last to a folder that `nnvm_mlir.load` reads, without a compiler.

        Raises:
            ValueError: nothing has been compiled yet, since shapes are not known.
            OSError: the folder cannot be written.
        """
        if self._latest is None:
            raise ValueError("the shapes are not known yet: give shapes, or call the model first")
        artifact.save(self._latest, folder, self.target.features())

    # ---- details ----------------------------------------------------------------------------------------------------

    @property
    def _only_program(self) -> Program | None:
        """The program that serves every call, where nothing is left for a call to decide."""
        return None if self._shapes_open or self._value_inputs else self._latest

    def _program_for(self, arrays: Mapping[str, np.ndarray]) -> Program:
        while True:
            shapes = {name: array.shape for name, array in arrays.items()}
            values = {name: arrays[name] for name in self._value_inputs}
            program = self._programs.get(_key(shapes, values))
            if program is not None:
                return program
            with self._lock:
                try:
                    return self._specialize(shapes, values)
                except NeedsValue as need:
                    if set(need.names) <= set(self._value_inputs):
                        raise
                    self._value_inputs = (*self._value_inputs, *need.names)

    def _specialize(self, shapes: Shapes, values: Mapping[str, np.ndarray]) -> Program:
        key = _key(shapes, values)
        if key not in self._programs:
            program = self._compiler.specialize({**self._shapes, **shapes}, values)
            while len(self._programs) >= MAX_PROGRAMS:
                del self._programs[next(iter(self._programs))]
            self._programs[key] = program
        self._stage_inputs = (dict(shapes), dict(values))
        self._latest = self._programs[key]
        return self._latest

    def _stage_key(self) -> tuple[Shapes, Mapping[str, np.ndarray]]:
        if self._latest is None:
            raise ValueError("the shapes are not known yet: give shapes, or call the model first")
        shapes, values = self._stage_inputs
        return {**self._shapes, **shapes}, values


def _checked(name: str, shape: Sequence[int]) -> tuple[int, ...]:
    try:
        dims = tuple(operator.index(dim) for dim in shape)
    except TypeError:
        dims = (-1,)
    if min(dims, default=0) < 0:
        raise ValueError(f"shape of {name!r}: expected integers from 0, got {shape!r}")
    return dims


def _key(shapes: Shapes, values: Mapping[str, np.ndarray]) -> Any:
    return (
        tuple(sorted((name, tuple(shape)) for name, shape in shapes.items())),
        tuple(sorted((name, value.tobytes()) for name, value in values.items())),
    )
