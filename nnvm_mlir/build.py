"""From a graph of known shapes to a program: the graph pipeline, the lowering, and machine code."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from nnvm_mlir.dialects.nnvm import verify_module
from nnvm_mlir.dialects.nnvm.types import numpy_dtype
from nnvm_mlir.errors import CompileError
from nnvm_mlir.frontend.source import open_source
from nnvm_mlir.graph import PARAMETER, Graph, entry_function, functions, variables
from nnvm_mlir.interpret import interpret_function
from nnvm_mlir.lowering.cpu.codegen import generate_objects
from nnvm_mlir.lowering.cpu.lower import lower_module
from nnvm_mlir.mlir import ir
from nnvm_mlir.passes.inference import require_static
from nnvm_mlir.passes.plan_memory import OFFSET, WEIGHT_BYTES
from nnvm_mlir.passes.precompute_prune import PRECOMPUTE
from nnvm_mlir.pipeline import Pipeline
from nnvm_mlir.pipelines import graph_pipeline
from nnvm_mlir.runtime.machine_code import MachineCode
from nnvm_mlir.runtime.openmp import openmp_library
from nnvm_mlir.runtime.program import Memory, Program, TensorSpec, aligned_bytes
from nnvm_mlir.target import Target, cpu_flags

Record = Callable[[str, ir.Module], None]


class LocalCompiler:
    """Compiles a model in this process.

    Args:
        model: what `open_source` takes.

    Raises:
        TypeError, LoadError, CompileError: as `open_source`.
    """

    def __init__(self, model: Any, target: Target, opt_level: int) -> None:
        self._source = open_source(model)
        self._target = target
        self._opt_level = opt_level
        self.inputs = self._source.inputs
        self.outputs = self._source.outputs
        self.metadata = self._source.metadata

    def specialize(
        self, shapes: Mapping[str, Sequence[int]], values: Mapping[str, np.ndarray]
    ) -> Program:
        """The program for these shapes, and for these values of some inputs.

        Raises:
            NeedsShapes, NeedsValue: more must be known.
            CompileError: the model cannot be compiled.
        """
        graph = self._source.import_graph(shapes, values)
        return build_program(graph, self._target, self._opt_level)

    def stages(
        self, shapes: Mapping[str, Sequence[int]], values: Mapping[str, np.ndarray]
    ) -> dict[str, str]:
        """The module as text after every stage of `specialize`; a stage that runs again is numbered ("nnvm-dce#2")."""
        texts: dict[str, str] = {}

        def record(stage: str, module: ir.Module) -> None:
            earlier = sum(name.partition("#")[0] == stage for name in texts)
            texts[f"{stage}#{earlier + 1}" if earlier else stage] = str(module)

        graph = self._source.import_graph(shapes, values)
        build_program(graph, self._target, self._opt_level, record)
        return texts


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
    _require_runnable(target)
    calls_openmp = any(b"__kmpc_" in data for data in objects)
    libraries = [openmp_library()] if calls_openmp else []
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
            names = [
                attrs["nnvm.name"].value for attrs in ir.ArrayAttr(function.attributes["res_attrs"])
            ]
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
        shape, dtype = variable.type.static
        view = block[start : start + variable.type.nbytes].view(numpy_dtype(dtype))
        np.copyto(view.reshape(shape), value)
    return block


def _require_runnable(target: Target) -> None:
    """Refuses code that would end this process with an illegal instruction. Raises CompileError."""
    missing = target.features() - cpu_flags()
    if missing:
        listed = ", ".join(sorted(missing))
        raise CompileError(f"code for {target} cannot run on this machine, which lacks {listed}")


def _spec(name: str, tensor_type: Any) -> TensorSpec:
    return TensorSpec(name, tensor_type.shape, tensor_type.dtype)
