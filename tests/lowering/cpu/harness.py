"""Compiles the text of one kernel function and calls it with NumPy arrays."""

from __future__ import annotations

import ctypes
import itertools

import numpy as np
import pytest

from nnvm_mlir.lowering.cpu.kernels import lower_kernel
from nnvm_mlir.lowering.cpu.llvm import lower_to_llvm
from nnvm_mlir.lowering.cpu.loops import lower_to_loops
from nnvm_mlir.mlir import ExecutionEngine, ir
from nnvm_mlir.runtime.openmp import openmp_library
from nnvm_mlir.target import Target

DTYPES = {
    "f32": np.float32, "f64": np.float64, "f16": np.float16, "i8": np.int8, "i16": np.int16,
    "i32": np.int32, "i64": np.int64,
}  # fmt: skip

AVX512 = Target()
AVX2 = Target(vector_bits=256, vector_registers=16)
NEON = Target(vector_bits=128, vector_registers=32)
THREADS = Target(threads=2)
TARGETS = pytest.mark.parametrize(
    "target", [AVX512, AVX2, NEON, THREADS], ids=["avx512", "avx2", "neon", "threads"]
)
"""Runs a test on machines of several vector widths, and on one with threads."""


def aligned(array):
    """A copy of `array` on a 64-byte boundary, with NaN behind it."""
    size = array.nbytes
    raw = np.full(size + 128, 0xFF, np.uint8)
    start = -raw.ctypes.data % 64
    result = raw[start : start + size].view(array.dtype).reshape(array.shape)
    result[...] = array
    return result


class Compiled:
    """A kernel function compiled for `target`.

    Attributes:
        fast: whether a vector generator took it (`lower` says which ones are tried).
    """

    def __init__(self, text, target=AVX512, require_fast=True, lower=lower_kernel):
        self.target = target
        with ir.Context() as self.context, ir.Location.unknown():
            self.context.enable_multithreading(False)
            module = ir.Module.parse(text)
            function = next(op for op in module.body.operations if op.operation.name == "func.func")
            name = function.name.value
            self.shapes = [
                (tuple(t.shape), DTYPES[str(t.element_type)]) for t in function.type.results
            ]
            self.workspace = 0
            self.fast = bool(lower(function, target))
            if require_fast and not self.fast:
                raise AssertionError("no generator takes the kernel")
            if not self.fast:
                self.workspace = lower_to_loops(function)
            kernel = next(
                op
                for op in module.body.operations
                if op.operation.name == "func.func" and op.name.value == name
            )
            kernel.attributes["sym_visibility"] = ir.StringAttr.get("public")
            module.operation.verify()
            self.text = str(module)
            lower_to_llvm(module, target)
            libraries = [openmp_library()] if target.threads > 1 else []
            self.engine = ExecutionEngine(module, opt_level=2, shared_libs=libraries)
            address = self.engine.raw_lookup(name)
            assert address
            self.entry = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(address)

    def bind(self, *arrays):
        """Returns (call, outputs)."""
        outputs = [aligned(np.full(s, -77, d)) for s, d in self.shapes]
        inputs = [aligned(a) for a in arrays]
        scratch = [np.zeros(self.workspace, np.uint8)] if self.workspace else []
        pointers = [ctypes.c_void_p(a.ctypes.data) for a in (*inputs, *outputs, *scratch)]
        packed = (ctypes.c_void_p * len(pointers))(*(ctypes.addressof(p) for p in pointers))
        address = ctypes.addressof(packed)

        def call():
            self.entry(address)

        call.keep = (pointers, packed, inputs, scratch, self)
        return call, outputs

    def __call__(self, *arrays):
        call, outputs = self.bind(*arrays)
        call()
        return outputs[0] if len(outputs) == 1 else outputs


class Text:
    """Writes kernel functions: a few operations at linalg level, by their loops."""

    def __init__(self):
        self.arguments = []
        self.lines = []
        self._numbers = itertools.count()

    def argument(self, *shape, element="f32"):
        value = f"%arg{len(self.arguments)}"
        self.arguments.append((value, tensor(shape, element)))
        return value, shape, element

    def constant(self, value, element="f32"):
        name = f"%c{next(self._numbers)}"
        self.lines.append(f"{name} = arith.constant {value} : {element}")
        return name

    def empty(self, shape, element="f32"):
        name = f"%e{next(self._numbers)}"
        self.lines.append(f"{name} = tensor.empty() : {tensor(shape, element)}")
        return name, tuple(shape), element

    def fill(self, value, shape, element="f32"):
        scalar = self.constant(value, element)
        empty, shape, element = self.empty(shape, element)
        name = f"%f{next(self._numbers)}"
        type_ = tensor(shape, element)
        self.lines.append(
            f"{name} = linalg.fill ins({scalar} : {element}) outs({empty} : {type_}) -> {type_}"
        )
        return name, shape, element

    def pad(self, value, low, high, number="0.0"):
        name, shape, element = value
        scalar = self.constant(number, element)
        padded = tuple(s + a + b for s, a, b in zip(shape, low, high, strict=True))
        result = f"%p{next(self._numbers)}"
        indices = ", ".join(f"%i{d}: index" for d in range(len(shape)))
        self.lines.append(
            f"{result} = tensor.pad {name} low{list(low)} high{list(high)} {{ ^bb0({indices}): "
            f"tensor.yield {scalar} : {element} }} : "
            f"{tensor(shape, element)} to {tensor(padded, element)}"
        )
        return result, padded, element

    def reshape(self, value, shape, groups):
        name, old, element = value
        result = f"%s{next(self._numbers)}"
        kind = "collapse" if len(shape) < len(old) else "expand"
        sizes = f" output_shape {list(shape)}" if kind == "expand" else ""
        self.lines.append(
            f"{result} = tensor.{kind}_shape {name} {groups}{sizes} : "
            f"{tensor(old, element)} into {tensor(shape, element)}"
        )
        return result, tuple(shape), element

    def generic(self, kinds, inputs, init, maps, body):
        """A linalg.generic.

        `kinds` is like "pprr" for parallel and reduction loops, each of `maps` like "d0, d1 * 2".
        `body` gets %a0, %a1, ... from the inputs and %acc from `init`; it must compute %y.
        """
        dims = ", ".join(f"d{i}" for i in range(len(kinds)))
        values = [*inputs, init]
        attributes = ", ".join(f"affine_map<({dims}) -> ({m})>" for m in maps)
        iterators = ", ".join({"p": '"parallel"', "r": '"reduction"'}[k] for k in kinds)
        operands = ", ".join(v[0] for v in inputs)
        types = ", ".join(tensor(v[1], v[2]) for v in inputs)
        arguments = ", ".join(
            f"%a{i}: {v[2]}" if v is not init else f"%acc: {v[2]}" for i, v in enumerate(values)
        )
        name = f"%g{next(self._numbers)}"
        result = tensor(init[1], init[2])
        ins = f"ins({operands} : {types}) " if inputs else ""
        self.lines.append(
            f"{name} = linalg.generic "
            f"{{indexing_maps = [{attributes}], iterator_types = [{iterators}]}} "
            f"{ins}outs({init[0]} : {result}) {{\n^bb0({arguments}):\n{body}\n"
            f"linalg.yield %y : {init[2]} }} -> {result}"
        )
        return name, init[1], init[2]

    def finish(self, *results, name="kernel"):
        arguments = ", ".join(f"{n}: {t}" for n, t in self.arguments)
        types = ", ".join(tensor(r[1], r[2]) for r in results)
        values = ", ".join(r[0] for r in results)
        lines = "\n".join(self.lines)
        body = f"{lines}\nreturn {values} : {types}"
        return f"func.func private @{name}({arguments}) -> ({types}) {{\n{body}\n}}"


def tensor(shape, element):
    return f"tensor<{''.join(f'{s}x' for s in shape)}{element}>"
