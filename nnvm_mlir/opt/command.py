"""The command line of `nnvm-opt`."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer.exceptions import TyperException

from nnvm_mlir.errors import DEBUG_VARIABLE, LoadError
from nnvm_mlir.opt.processing import SPLIT_MARKER, Settings, process, read_chunks

if TYPE_CHECKING:
    from nnvm_mlir.pipeline import PassRecord, Pipeline

_UPSTREAM_FLAGS = ("canonicalize", "cse", "inline", "symbol-dce")
"""Upstream passes that have a flag; the others are reached by --pass-pipeline."""

_app = typer.Typer(add_completion=False, rich_markup_mode=None)


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point of `nnvm-opt`.

    Returns:
        The exit code: 0, 1 for an error in the input or in a pass, 2 for wrong usage.
    """
    try:
        flags, arguments = _take_pass_flags(sys.argv[1:] if argv is None else argv)
        code = _app(args=arguments, prog_name="nnvm-opt", standalone_mode=False, obj=flags)
        sys.stdout.flush()
        return int(code or 0)
    except TyperException as error:
        return _fail(f"nnvm-opt: error: {error.format_message()}", 2)
    except (LoadError, OSError) as error:
        if isinstance(error, BrokenPipeError):
            # The reader went away; the interpreter must not fail once more when it flushes at exit.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return 1
        return _fail(f"nnvm-opt: error: {error}", 1)
    except (KeyboardInterrupt, typer.Abort):
        return 130
    except Exception as error:
        if os.environ.get(DEBUG_VARIABLE):
            raise
        problem = f"internal error: {type(error).__name__}: {error}"
        return _fail(f"nnvm-opt: {problem}; {DEBUG_VARIABLE}=1 shows where", 1)


@_app.command(
    epilog="Each pass of --list-passes has a flag, --NAME or --NAME='OPTION=VALUE ...', and so have"
    f" upstream's {', '.join(_UPSTREAM_FLAGS)}. Flags run in the order in which they are given."
    " Exit codes: 0 success, 1 an error in the input or in a pass, 2 wrong usage."
)
def _command(
    ctx: typer.Context,
    source: Annotated[
        str, typer.Argument(metavar="[INPUT]", help="File to read, - for standard input.")
    ] = "-",
    pass_pipeline: Annotated[
        str | None,
        typer.Option(
            "--pass-pipeline",
            "-p",
            help="Passes to run: 'builtin.module(nnvm-fuse,func.func(cse))'.",
        ),
    ] = None,
    output: Annotated[str, typer.Option("-o", help="File to write.", metavar="FILE")] = "-",
    split_input_file: Annotated[
        bool,
        typer.Option("--split-input-file", help=f"Process parts between '{SPLIT_MARKER}' lines."),
    ] = False,
    verify_diagnostics: Annotated[
        bool,
        typer.Option(
            "--verify-diagnostics",
            help="Check diagnostics against // expected-error {{...}} comments.",
        ),
    ] = False,
    verify_each: Annotated[bool, typer.Option(help="Verify the IR after each pass.")] = True,
    print_ir_before: Annotated[
        list[str], typer.Option(help="Print the IR before this pass.", metavar="PASS")
    ] = [],  # noqa: B006
    print_ir_after: Annotated[
        list[str], typer.Option(help="Print the IR after this pass.", metavar="PASS")
    ] = [],  # noqa: B006
    print_ir_before_all: Annotated[
        bool, typer.Option("--print-ir-before-all", help="Print the IR before each pass.")
    ] = False,
    print_ir_after_all: Annotated[
        bool, typer.Option("--print-ir-after-all", help="Print the IR after each pass.")
    ] = False,
    debug_info: Annotated[
        bool, typer.Option("--mlir-print-debuginfo", help="Print locations.")
    ] = False,
    timing: Annotated[
        bool, typer.Option("--timing", help="Print time and statistics of each pass.")
    ] = False,
    list_passes: Annotated[
        bool, typer.Option("--list-passes", help="Print the project's passes and exit.")
    ] = False,
) -> int:
    """Run passes on IR in MLIR's textual form and print the result."""
    if list_passes:
        _list_passes()
        return 0
    pipeline = _pipeline(pass_pipeline, ctx.obj)
    names = pipeline.pass_names
    for name in (*print_ir_before, *print_ir_after):
        if name not in names:
            raise TyperException(f"no pass '{name}' runs; these do: {', '.join(names) or 'none'}")
    settings = Settings(
        pipeline,
        verify_diagnostics,
        verify_each,
        frozenset(names if print_ir_before_all else print_ir_before),
        frozenset(names if print_ir_after_all else print_ir_after),
        debug_info,
    )
    from nnvm_mlir.context import make_context

    context = make_context()
    texts: list[str] = []
    records: list[PassRecord] = []
    succeeded = True
    for chunk in read_chunks(source, split_input_file):
        text, passed = process(chunk, context, settings, records)
        succeeded &= passed
        texts += [text] if text is not None else []
    if timing:
        _print_timing(records)
    if not succeeded:
        return 1
    _write(output, f"{SPLIT_MARKER}\n".join(texts))
    return 0


def _take_pass_flags(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """Splits arguments into pipeline elements, from flags of passes, and other arguments."""
    import nnvm_mlir.lowering
    import nnvm_mlir.passes  # noqa: F401
    from nnvm_mlir.pipeline import registered_passes

    known = {*registered_passes(), *_UPSTREAM_FLAGS}
    elements: list[str] = []
    others: list[str] = []
    for index, argument in enumerate(arguments):
        if argument == "--":
            return elements, [*others, *arguments[index:]]
        name, equals, options = argument.removeprefix("--").partition("=")
        if argument.startswith("--") and (name in known or name.startswith("nnvm-")):
            elements.append(f"{name}{{{options}}}" if equals else name)
        else:
            others.append(argument)
    return elements, others


def _pipeline(text: str | None, flags: Sequence[str]) -> Pipeline:
    from nnvm_mlir.pipeline import Pipeline

    if text is not None and flags:
        raise TyperException("--pass-pipeline and flags of passes exclude each other")
    try:
        return Pipeline(flags) if text is None else Pipeline.parse(text)
    except ValueError as error:
        raise TyperException(str(error)) from error


def _write(path: str, text: str) -> None:
    """Writes to standard output for "-", and to a file as a whole or not at all."""
    if path == "-":
        sys.stdout.write(text)
        return
    target = Path(os.path.realpath(path))
    try:
        if target.exists() and not target.is_file():
            target.write_text(text)  # a device or a pipe, which a new file must not replace
            return
        temporary = target.with_name(f".{target.name}.{os.getpid()}.tmp")
        try:
            temporary.write_text(text)
            temporary.replace(target)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as error:
        raise LoadError(f"cannot write '{path}': {error.strerror}") from error


def _list_passes() -> None:
    from nnvm_mlir.pipeline import registered_passes
    from nnvm_mlir.pipeline.options import options_of

    passes = registered_passes()
    width = max(map(len, passes), default=0)
    for name, cls in passes.items():
        print(f"{name:{width}}  {cls.summary()}")
        for option in options_of(cls).values():
            print(f"{'':{width}}  {{{option}}}  {option.kind.expected}")


def _print_timing(records: Sequence[PassRecord]) -> None:
    from rich.console import Console
    from rich.table import Table

    total = sum(record.seconds for record in records)
    table = Table("Pass", title="Pass times")
    table.add_column("Seconds", justify="right")
    table.add_column("Share", justify="right")
    table.add_column("Statistics")
    for record in records:
        share = f"{record.seconds / total:.0%}" if total else ""
        counts = ", ".join(f"{name} {count}" for name, count in record.counts.items())
        table.add_row(record.name, f"{record.seconds:.4f}", share, counts)
    table.add_row("total", f"{total:.4f}", "", "")
    Console(stderr=True).print(table)


def _fail(message: str, code: int) -> int:
    print(message, file=sys.stderr)
    return code
