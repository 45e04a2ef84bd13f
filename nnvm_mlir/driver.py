"""`compile()`: from a model to something that is called.

A model is compiled for fixed shapes. Where the model leaves dimensions open, or where the shape of a tensor depends on the value of
an input, one specialised program is made for each case that is met, on its first call, and kept.
"""

from __future__ import annotations

import operator
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from nnvm_mlir.dialects.nnvm import verify_module
from nnvm_mlir.dialects.nnvm.types import numpy_dtype
from nnvm_mlir.errors import CompileError
from nnvm_mlir.frontend.source import NeedsShapes, NeedsValue, Source, open_source
from nnvm_mlir.graph import PARAMETER, Graph, entry_function, functions, variables
from nnvm_mlir.interpret import interpret_function
from nnvm_mlir.lowering.cpu.codegen import generate_objects
from nnvm_mlir.lowering.cpu.lower import lower_module
from nnvm_mlir.mlir import ir
from nnvm_mlir.passes.inference import require_static
from nnvm_mlir.passes.plan_memory import OFFSET, WEIGHT_BYTES
from nnvm_mlir.passes.precompute_prune import PRECOMPUTE
from nnvm_mlir.pipeline import Pipeline
from nnvm_mlir.pipelines import MAX_OPT_LEVEL, graph_pipeline
from nnvm_mlir.runtime import artifact
from nnvm_mlir.runtime.calling import order_arrays
from nnvm_mlir.runtime.machine_code import MachineCode
from nnvm_mlir.runtime.program import Memory, Program, TensorSpec, aligned_bytes, as_input
from nnvm_mlir.target import Target

Shapes = Mapping[str, Sequence[int]]
Record = Callable[[str, ir.Module], None]


def compile(  # noqa: A001
    model: Any,
    target: str | Target = "cpu",
    shapes: Shapes | None = None,
    threads: int | None = None,
    opt_level: int = MAX_OPT_LEVEL,
) -> CompiledModel:
    """Compiles a model.

    Args:
        model: the path of an ONNX file, an `onnx.ModelProto`, a `Symbol` or a `Graph`.
        target: "cpu" (this machine) or "cpu:NAME".
        shapes: shapes of inputs by name, where the model leaves dimensions open. Without them, the first call decides.
        threads: threads of one call; by default the cores that this process may use.
        opt_level: 0 (plain) to 3 (everything).

    Raises:
        CompileError: the model cannot be compiled.
        LoadError: the file is not a model.
        ValueError: an argument is wrong.
    """
    parsed = Target.parse(target) if isinstance(target, str) else target
    graph_pipeline(opt_level)
    compiled = CompiledModel(open_source(model), parsed.with_threads(threads), shapes, opt_level)
    compiled.prepare()
    return compiled


class CompiledModel:
    """A model that can be called. Made by `compile()`; calls may come from several threads."""

    def __init__(
        self, source: Source, target: Target, shapes: Shapes | None, opt_level: int
    ) -> None:
        self.target = target
        self.opt_level = opt_level
        self._source = source
        self._shapes = {name: _checked(name, shape) for name, shape in (shapes or {}).items()}
        unknown = sorted(set(self._shapes) - {spec.name for spec in source.inputs})
        if unknown:
            names = ", ".join(repr(spec.name) for spec in source.inputs)
            raise ValueError(f"shapes name {unknown[0]!r}, which is no input (inputs: {names})")
        self._value_inputs: tuple[str, ...] = ()
        self._shapes_open = False
        self._programs: dict[Any, Program] = {}
        self._lock = threading.Lock()
        self._latest: Program | None = None

    @property
    def inputs(self) -> tuple[TensorSpec, ...]:
        """Names, shapes and dtypes of the inputs; dimensions that a call decides are None."""
        return self._latest.inputs if self._is_static else self._source.inputs

    @property
    def outputs(self) -> tuple[TensorSpec, ...]:
        """Names, shapes and dtypes of the outputs; shapes that a call decides are None."""
        return self._latest.outputs if self._is_static else self._source.outputs

    @property
    def metadata(self) -> Mapping[str, str]:
        """Free text that came with the model."""
        return self._source.metadata

    @property
    def stages(self) -> dict[str, str]:
        """The module as text after every stage, in order, for the shapes of the latest program.

        A stage that runs again is numbered ("nnvm-dce#2"). The model is compiled again to make the texts.
        """
        texts: dict[str, str] = {}

        def record(stage: str, module: ir.Module) -> None:
            earlier = sum(name.partition("#")[0] == stage for name in texts)
            texts[f"{stage}#{earlier + 1}" if earlier else stage] = str(module)

        shapes, values = self._stage_key()
        build_program(self._source.import_graph(shapes, values), self.target, self.opt_level, record)
        return texts

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
        ordered = order_arrays(self._source.inputs, arrays, named)
        if self._is_static:
            return self._latest(ordered, out)
        specs = self._source.inputs
        if len(ordered) != len(specs):
            raise ValueError(f"expected {len(specs)} inputs, got {len(ordered)}")
        ready = {spec.name: as_input(a, spec) for a, spec in zip(ordered, specs, strict=True)}
        program = self._program_for(ready)
        return program([ready[spec.name] for spec in program.inputs], out)

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Writes the latest program to a folder that `nnvm_mlir.load` reads, without a compiler.

        Raises:
            ValueError: nothing has been compiled yet, since shapes are not known.
            OSError: the folder cannot be written.
        """
        if self._latest is None:
            raise ValueError("the shapes are not known yet: give shapes, or call the model first")
        artifact.save(self._latest, folder, self.target.features())

    # ---- details ----------------------------------------------------------------------------------------------------

    @property
    def _is_static(self) -> bool:
        return self._latest is not None and not self._shapes_open and not self._value_inputs

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
                    self._value_inputs = (*self._value_inputs, *need.names)

    def _specialize(self, shapes: Shapes, values: Mapping[str, np.ndarray]) -> Program:
        key = _key(shapes, values)
        if key not in self._programs:
            graph = self._source.import_graph({**self._shapes, **shapes}, values)
            self._programs[key] = build_program(graph, self.target, self.opt_level)
            self._stage_inputs = (dict(shapes), dict(values))
        self._latest = self._programs[key]
        return self._latest

    def _stage_key(self) -> tuple[Shapes, Mapping[str, np.ndarray]]:
        if self._latest is None:
            raise ValueError("the shapes are not known yet: give shapes, or call the model first")
        shapes, values = self._stage_inputs
        return {**self._shapes, **shapes}, values


def build_program(
    graph: Graph, target: Target, opt_level: int, record: Record | None = None
) -> Program:
    """Compiles a graph of known shapes; the graph is consumed.

    Args:
        record: called with the name of each stage and the module after it.
    """
    note = record or (lambda stage, module: None)
    module = graph.module
    with module.context, ir.Location.unknown():
        note("import", module)
        verify_module(module)
        optimize(graph, opt_level, note)
        inputs = [_spec(v.name, v.type) for v in graph.inputs]
        outputs = [_spec(v.name, v.type) for v in graph.outputs]
        weights = pack_weights(graph)
        entry = lower_module(module, target, note)
        objects = generate_objects(module, target)
    libraries = [artifact.openmp_library()] if target.threads > 1 else []
    memory = Memory(entry.arena_bytes, weights, entry.status_offset, entry.checks)
    return Program(MachineCode(objects, libraries), inputs, outputs, memory)


def optimize(graph: Graph, opt_level: int, note: Record = lambda stage, module: None) -> None:
    """Runs the graph pipeline, evaluating what depends on parameters only."""
    for element in graph_pipeline(opt_level):
        Pipeline([element]).run(graph.module)
        if element == "nnvm-precompute-prune":
            evaluate_precomputed(graph)
        note(element, graph.module)
        if element == "nnvm-infer-type":
            require_static(graph.module)


def evaluate_precomputed(graph: Graph) -> None:
    """Runs `@precompute` on the parameter values, and drops it and the values that are not needed any more."""
    for function in functions(graph.module):
        if function.name.value == PRECOMPUTE:
            parameters = variables(function)
            values = interpret_function(function, [graph.params[v.name] for v in parameters])
            names = [attrs["nnvm.name"].value for attrs in ir.ArrayAttr(function.attributes["res_attrs"])]
            graph.params.update(zip(names, values, strict=True))
            function.erase()
    used = {v.name for v in graph.variables if v.kind == PARAMETER}
    graph.params = {name: value for name, value in graph.params.items() if name in used}


def pack_weights(graph: Graph) -> np.ndarray:
    """All parameters in one block, at the offsets of the memory plan."""
    entry = entry_function(graph.module)
    block = aligned_bytes(entry.attributes[WEIGHT_BYTES].value)
    attributes = ir.ArrayAttr(entry.attributes["arg_attrs"]) if graph.params else []
    for variable in graph.variables:
        if variable.kind != PARAMETER:
            continue
        value = graph.params.pop(variable.name, None)
        if value is None:
            raise CompileError(f"parameter {variable.name!r} has no value")
        start = attributes[variable.index][OFFSET].value
        view = block[start : start + variable.type.nbytes].view(numpy_dtype(variable.type.dtype))
        np.copyto(view.reshape(variable.type.shape), value)
    return block


def _spec(name: str, tensor_type: Any) -> TensorSpec:
    return TensorSpec(name, tensor_type.shape, tensor_type.dtype)


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


