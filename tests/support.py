"""What tests share: run one operator, or a whole function, through the linalg level and plain loops."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

import nnvm_mlir.dialects.nnvm as nnvm
import nnvm_mlir.lowering.linalg as linalg_rules
from nnvm_mlir.dialects.nnvm.operator import Operator
from nnvm_mlir.dialects.nnvm.types import TensorType, numpy_dtype
from nnvm_mlir.mlir import ExecutionEngine, PassManager, func, ir

LOOPS = (
    "builtin.module(linalg-generalize-named-ops,"
    "one-shot-bufferize{bufferize-function-boundaries=1 function-boundary-type-conversion=identity-layout-map},"
    "buffer-results-to-out-params{hoist-static-allocs=1 modify-public-functions=1},"
    "convert-linalg-to-loops,expand-strided-metadata,"
    "lower-affine,convert-scf-to-cf,convert-vector-to-llvm,"
    "convert-math-to-llvm,convert-math-to-libm,arith-expand{include-bf16=true},expand-strided-metadata,finalize-memref-to-llvm,convert-arith-to-llvm,convert-index-to-llvm,"
    "convert-func-to-llvm{use-bare-ptr-memref-call-conv=1},convert-cf-to-llvm,reconcile-unrealized-casts)"
)

# Has memrefCopy, to which strided copies (of padded or sliced tensors) are lowered here.
RUNNER_UTILS = Path(ir.__file__).parent / "lib" / "libmlir_c_runner_utils.so"


def counted(*shape: int, dtype: str = "float32") -> np.ndarray:
    """0, 1, 2, ... in a shape."""
    return np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(numpy_dtype(dtype))


def inferred(operator, *shapes, outs=None, **attributes):
    """The shapes of operands and results that an operator infers."""
    a = operator.attributes_from(attributes)
    return operator.infer_shape(a, list(shapes), outs or [None])


def infer(name, ins, outs=None, **attributes):
    """The types of operands and results that an operator, by its name in NNVM, infers."""
    operator = nnvm.OPERATORS[name]
    return operator.infer(operator.attributes_from(attributes), ins, outs)


def operator_function(operator: type[Operator], types: Sequence[TensorType], **attributes: Any):
    """A module with `func @f` of one operation, in the current context."""
    module = ir.Module.create()
    with ir.InsertionPoint(module.body):
        function = func.FuncOp("f", ([t.to_mlir() for t in types], []))
        with ir.InsertionPoint(function.add_entry_block()):
            op = operator.build(*function.arguments, **attributes)
            func.ReturnOp(list(op.operation.results))
        results = [v.type for v in op.operation.results]
        function.attributes["function_type"] = ir.TypeAttr.get(
            ir.FunctionType.get([t.to_mlir() for t in types], results)
        )
    module.operation.verify()
    return module


def run_loops(module: ir.Module, inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Lowers `@f` of nnvm ops to linalg and plain loops, and calls it."""
    function = next(op for op in module.body.operations if op.operation.name == "func.func")
    outputs = [TensorType.of(t) for t in function.type.results]
    converted = linalg_rules.convert_function(function)
    has_status = "nnvm.status" in converted.attributes
    converted.attributes["sym_visibility"] = ir.StringAttr.get("public")
    converted.attributes["llvm.emit_c_interface"] = ir.UnitAttr.get()
    PassManager.parse(LOOPS).run(module.operation)
    engine = ExecutionEngine(module, opt_level=0, shared_libs=[str(RUNNER_UTILS)])
    address = engine.raw_lookup("f")
    if not address:
        raise RuntimeError("the compiled function was not found")
    results = [np.zeros(t.shape, numpy_dtype(t.dtype)) for t in outputs]
    status = [np.zeros(1, np.int64)] if has_status else []
    buffers = [np.ascontiguousarray(a) for a in inputs] + status + results
    pointers = [ctypes.c_void_p(b.ctypes.data) for b in buffers]
    packed = (ctypes.c_void_p * len(pointers))(*[ctypes.addressof(p) for p in pointers])
    ctypes.CFUNCTYPE(None, ctypes.c_void_p)(address)(ctypes.addressof(packed))
    return results


def run_operator(
    operator: type[Operator], *inputs: np.ndarray, **attributes: Any
) -> list[np.ndarray]:
    """The compiled results of one operator on arrays."""
    context = ir.Context()
    context.enable_multithreading(False)
    nnvm.load(context)
    with context, ir.Location.unknown():
        types = [TensorType.of(a) for a in inputs]
        return run_loops(operator_function(operator, types, **attributes), inputs)


def evaluate(operator: type[Operator], *inputs: np.ndarray, **attributes: Any) -> list[np.ndarray]:
    """The reference results of one operator, checked against its inferred types."""
    a = operator.attributes_from(attributes)
    types = operator.infer(a, [TensorType.of(x) for x in inputs])[1]
    values = operator.evaluate(a, *inputs)
    values = list(values) if isinstance(values, tuple) else [values]
    for value, expected in zip(values, types, strict=True):
        got = TensorType.of(np.asarray(value))
        if got != expected:
            raise AssertionError(
                f"{operator.OPERATION_NAME}: evaluate gives {got}, inferred {expected}"
            )
    return [np.asarray(value) for value in values]


def check_operator(
    operator: type[Operator],
    *inputs: np.ndarray,
    rtol: float = 1e-5,
    atol: float = 1e-6,
    **attributes: Any,
) -> list[np.ndarray]:
    """Compiles the operator, compares with its reference, and returns the reference results."""
    expected = evaluate(operator, *inputs, **attributes)
    got = run_operator(operator, *inputs, **attributes)
    for have, want in zip(got, expected, strict=True):
        assert have.dtype == want.dtype
        np.testing.assert_allclose(have, want, rtol=rtol, atol=atol)
    return expected
