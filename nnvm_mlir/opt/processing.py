"""What `nnvm-opt` does with its input: parse, run passes, print, report."""

from __future__ import annotations

import os
import re
import sys
import traceback
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from nnvm_mlir.errors import (
    DEBUG_VARIABLE,
    CompileError,
    Diagnostic,
    LoadError,
    collect_diagnostics,
)
from nnvm_mlir.opt.expectations import check_expectations

if TYPE_CHECKING:
    from nnvm_mlir.mlir import ir
    from nnvm_mlir.pipeline import PassRecord, Pipeline

SPLIT_MARKER = "// -----"
"""The line between parts of an input that are processed on their own."""

_SPLIT_LINE = re.compile(rf"^{SPLIT_MARKER}[ \t]*\r?$", re.MULTILINE)

# MLIR's parser recurses, and would overflow the stack of the process.
_MAX_NESTING = 500
_NESTING_TOKEN = re.compile(r'"(?:[^"\\\n]++|\\.)*+"|//[^\n]*|->|<=|>=|[\[({<]|[\])}>]')


@dataclass(frozen=True)
class Settings:
    """What the options say, but for where IR comes from and goes."""

    pipeline: Pipeline
    verify_diagnostics: bool
    verify_each: bool
    print_before: frozenset[str]
    print_after: frozenset[str]
    debug_info: bool


@dataclass(frozen=True)
class Chunk:
    """IR to process: a file, or a part of one from line `first_line` on.

    `path` is set where MLIR can read the chunk from a file itself, so that locations have its name.
    """

    text: str
    file: str
    first_line: int = 1
    path: str | None = None


def read_chunks(source: str, split: bool) -> Iterator[Chunk]:
    """The input, in parts if it is split.

    Raises:
        LoadError: it cannot be read, or is not text.
    """
    name = "<stdin>" if source == "-" else source
    try:
        data = sys.stdin.buffer.read() if source == "-" else Path(source).read_bytes()
        text = data.decode()
    except OSError as error:
        raise LoadError(f"cannot read '{name}': {error.strerror}") from error
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise LoadError(f"'{name}' is not text: line {line} is not valid UTF-8") from error
    if not split:
        # The bindings take paths as UTF-8 only, and a name with a line break would garble messages.
        readable = os.path.isfile(source) and source.isprintable()
        yield Chunk(text, name, path=source if readable else None)
        return
    line = 1
    for part in _SPLIT_LINE.split(text):
        yield Chunk(part, name, line)
        line += part.count("\n")


def process(
    chunk: Chunk, context: ir.Context, settings: Settings, records: list[PassRecord]
) -> tuple[str | None, bool]:
    """Parses one chunk and runs the pipeline on it, reporting to standard error.

    Returns:
        The resulting IR, or None after an error, and whether everything was as it should be.
    """
    text = None
    failure = None
    with collect_diagnostics(context) as emitted:
        try:
            module = _parse(chunk, context)
            records += _run(module, chunk, settings)
            text = _print(module, settings)
        except CompileError as error:
            failure = error
    diagnostics = [_in_file(diagnostic, chunk.file) for diagnostic in emitted]
    if failure is not None:
        failure.diagnostics = tuple(_in_file(d, chunk.file) for d in failure.diagnostics)
    if settings.verify_diagnostics:
        caused = [*diagnostics, *(failure.diagnostics if failure else ())]
        problems = check_expectations(chunk.text, chunk.file, chunk.first_line, caused)
        for problem in problems:
            print(problem, file=sys.stderr)
        return text, not problems
    if failure is not None and failure.__cause__ is not None and os.environ.get(DEBUG_VARIABLE):
        traceback.print_exception(failure.__cause__)
    for message in (*diagnostics, *([failure] if failure else [])):
        print(message, file=sys.stderr)
    return text, failure is None


def _parse(chunk: Chunk, context: ir.Context) -> ir.Module:
    from nnvm_mlir.mlir import ir

    if _nesting(chunk.text) > _MAX_NESTING:
        raise CompileError(f"{chunk.file}: brackets are nested more than {_MAX_NESTING} deep")
    with collect_diagnostics(context, errors_only=True) as errors:
        try:
            if chunk.path is not None:
                return ir.Module.parseFile(chunk.path, context)
            return ir.Module.parse("\n" * (chunk.first_line - 1) + chunk.text, context)
        except ir.MLIRError as error:
            raise (CompileError(errors) if errors else CompileError.from_mlir(error)) from error


def _nesting(text: str) -> int:
    """How deep brackets are nested."""
    depth = deepest = 0
    for match in _NESTING_TOKEN.finditer(text):
        token = match[0]
        if token in "[({<":
            depth += 1
            deepest = max(deepest, depth)
        elif token in "])}>":
            depth = max(depth - 1, 0)
    return deepest


def _run(module: ir.Module, chunk: Chunk, settings: Settings) -> list[PassRecord]:
    from nnvm_mlir.dialects.nnvm import verify_module

    def dump(when: str, name: str) -> None:
        print(f"// -----// IR Dump {when} {name} //----- //", file=sys.stderr)
        print(_print(module, settings), file=sys.stderr)

    def before(name: str, _: ir.Module) -> None:
        if name in settings.print_before:
            dump("Before", name)

    def after(name: str, _: ir.Module) -> None:
        if name in settings.print_after:
            dump("After", name)

    verify_module(module)
    return settings.pipeline.run(
        module,
        verify=verify_module,
        verify_each=settings.verify_each,
        before=before,
        after=after,
        source=chunk.file,
    )


def _print(module: ir.Module, settings: Settings) -> str:
    text = module.operation.get_asm(enable_debug_info=settings.debug_info)
    return text.rstrip("\n") + "\n"


def _in_file(diagnostic: Diagnostic, file: str) -> Diagnostic:
    """`diagnostic` with the file's name, where the parser saw only text, which it calls "-"."""
    notes = tuple(_in_file(note, file) for note in diagnostic.notes)
    position = diagnostic.position
    if position.file == "-":
        position = replace(position, file=file)
    return replace(diagnostic, position=position, notes=notes)
