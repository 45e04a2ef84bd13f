"""`nnvm`: compile, run, time and look into models from the command line."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from typer.exceptions import TyperException

app = typer.Typer(
    name="nnvm",
    help="Compile ONNX models to machine code, run them, time them, and look at every stage.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
_out = Console()
_err = Console(stderr=True)

Model = Annotated[Path, typer.Argument(help="An ONNX file.", metavar="MODEL.onnx")]
Runnable = Annotated[
    Path, typer.Argument(help="An ONNX file, or a folder of nnvm compile.", metavar="MODEL")
]
Shape = Annotated[
    list[str],
    typer.Option("--shape", "-s", help="Shape of an input, such as x=1x3x224x224. Repeatable."),
]
Threads = Annotated[int | None, typer.Option(help="Threads; by default all usable cores.", min=1)]
OptLevel = Annotated[int, typer.Option(help="0 (plain) to 3 (everything).", min=0, max=3)]
TargetName = Annotated[
    str, typer.Option("--target", help="cpu, or cpu:NAME for a named processor.")
]


@app.command("compile")
def compile_command(
    model: Model,
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder to write.")],
    shape: Shape = [],  # noqa: B006
    threads: Threads = None,
    opt_level: OptLevel = 3,
    target: TargetName = "cpu",
    stages: Annotated[bool, typer.Option(help="Write the module after every stage, too.")] = True,
) -> None:
    """Compile a model to a folder, which `nnvm run` and `nnvm_mlir.load` run without a compiler."""
    from nnvm_mlir.runtime.artifact import STAGES

    compiled = _compile(model, _shapes(shape), threads, opt_level, target)
    compiled.save(output)
    if stages:
        with _err.status("writing the stages"):
            folder = output / STAGES
            folder.mkdir()
            for number, (name, text) in enumerate(compiled.stages.items()):
                (folder / f"{number:02d}-{name}.mlir").write_text(text)
    table = Table("", "name", "shape", "dtype", title=escape(str(output)))
    for kind, specs in (("in", compiled.inputs), ("out", compiled.outputs)):
        for spec in specs:
            dims = "x".join(map(str, spec.shape)) or "scalar"
            table.add_row(kind, escape(spec.name), dims, spec.dtype)
    _out.print(table)


@app.command()
def run(
    model: Runnable,
    input: Annotated[Path | None, typer.Option(help=".npz with one array for each input.")] = None,
    output: Annotated[Path | None, typer.Option(help=".npz to write the outputs to.")] = None,
    seed: Annotated[int, typer.Option(help="Seed of the random inputs.")] = 0,
    shape: Shape = [],  # noqa: B006
    threads: Threads = None,
    opt_level: OptLevel = 3,
    target: TargetName = "cpu",
) -> None:
    """Run a model once, on given or random inputs, and print what goes in and comes out."""
    import nnvm_mlir

    given = _load_inputs(input) if input is not None else {}
    shapes = {name: array.shape for name, array in given.items()} | _shapes(shape)
    if model.is_dir():
        compiled = nnvm_mlir.load(model)
    else:
        compiled = _compile(model, shapes, threads, opt_level, target)
    feeds = given or _random_inputs(compiled.inputs, seed)
    outputs = compiled(feeds)
    table = Table("", "name", "shape", "dtype", "min", "mean", "max")
    names = [spec.name for spec in compiled.outputs]
    rows = [("in", n, a) for n, a in feeds.items()]
    rows += [("out", n, a) for n, a in zip(names, outputs, strict=True)]
    for kind, name, array in rows:
        table.add_row(kind, escape(name), *_summary(array))
    _out.print(table)
    if output is not None:
        _save_arrays(output, dict(zip(names, outputs, strict=True)))


@app.command()
def bench(
    model: Model,
    threads: Threads = None,
    seconds: Annotated[float, typer.Option(help="Time to measure for.", min=0.05)] = 2.0,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    shape: Shape = [],  # noqa: B006
    opt_level: OptLevel = 3,
    target: TargetName = "cpu",
) -> None:
    """Time a model on random inputs, beside onnxruntime if it is installed."""
    from nnvm_mlir.benchmark import measure, onnxruntime_session

    compiled = _compile(model, _shapes(shape), threads, opt_level, target)
    feeds = _random_inputs(compiled.inputs, seed=0)
    rows = {"nnvm_mlir": measure(lambda: compiled(feeds), seconds)}
    session = onnxruntime_session(model, compiled.target.threads)
    if session is not None:
        rows["onnxruntime"] = measure(lambda: session.run(None, feeds), seconds)
    if as_json:
        sys.stdout.write(json.dumps({"threads": compiled.target.threads, **rows}) + "\n")
        return
    table = Table(
        "", "median ms", "p10", "p90", "runs", title=f"{compiled.target.threads} thread(s)"
    )
    for name, row in rows.items():
        figures = (f"{row[key]:.3f}" for key in ("median", "p10", "p90"))
        table.add_row(name, *figures, str(row["runs"]))
    _out.print(table)


@app.command()
def show(
    model: Model,
    after: Annotated[str, typer.Option(help="A stage; 'list' names them.")] = "nnvm-fuse",
    shape: Shape = [],  # noqa: B006
    threads: Threads = None,
    opt_level: OptLevel = 3,
    target: TargetName = "cpu",
) -> None:
    """Print the module after a stage."""
    stages = _compile(model, _shapes(shape), threads, opt_level, target).stages
    if after == "list":
        for name in stages:
            _out.print(name, highlight=False)
    elif after in stages:
        sys.stdout.write(stages[after])
    else:
        raise ValueError(f"there is no stage {after!r}; the stages are: {', '.join(stages)}")


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point of `nnvm`. Returns the exit code: 0, 1 for an error in the input, 2 for wrong usage."""
    from nnvm_mlir.errors import CompileError, LoadError

    try:
        code = app(args=argv, prog_name="nnvm", standalone_mode=False)
    except TyperException as error:
        return _fail(error.format_message(), 2)
    except (CompileError, LoadError, ValueError, TypeError, IndexError, OSError) as error:
        return _fail(str(error), 1)
    except (KeyboardInterrupt, typer.Abort):
        return 130
    return int(code or 0)


def _fail(message: str, code: int) -> int:
    _err.print(f"nnvm: error: {message}", highlight=False, markup=False, soft_wrap=True)
    return code


def _compile(
    model: Path,
    shapes: dict[str, tuple[int, ...]],
    threads: int | None,
    opt_level: int,
    target: str,
) -> Any:
    import nnvm_mlir

    with _err.status(f"compiling {escape(model.name)}"):
        compiled = nnvm_mlir.compile(
            model, target=target, shapes=shapes, threads=threads, opt_level=opt_level
        )
    open_inputs = [s for s in compiled.inputs if s.shape is None or None in s.shape]
    if open_inputs:
        listed = ", ".join(str(spec) for spec in open_inputs)
        raise ValueError(f"give the shapes of the inputs with --shape NAME=1x3x...: {listed}")
    return compiled


def _shapes(options: list[str]) -> dict[str, tuple[int, ...]]:
    shapes = {}
    for text in options:
        name, equals, dims = text.rpartition("=")
        sizes = dims.split("x") if dims else []
        if not equals or not all(size.isdecimal() for size in sizes):
            raise ValueError(f"--shape {text!r}: expected NAME=1x3x224x224")
        shapes[name] = tuple(map(int, sizes))
    return shapes


def _load_inputs(path: Path) -> dict[str, Any]:
    import zipfile

    import numpy as np

    from nnvm_mlir.errors import LoadError

    try:
        with zipfile.ZipFile(path), np.load(path, allow_pickle=False) as archive:
            return {name: archive[name] for name in archive.files}
    except (zipfile.BadZipFile, ValueError, EOFError) as error:
        raise LoadError(f"{path} is not an .npz file of arrays: {error}") from error


def _save_arrays(path: Path, arrays: dict[str, Any]) -> None:
    """Writes an .npz file; unlike `numpy.savez`, under the path as it is, and with any names."""
    import zipfile

    import numpy as np

    with zipfile.ZipFile(path, "w") as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, array, allow_pickle=False)


def _random_inputs(specs: Sequence[Any], seed: int) -> dict[str, Any]:
    import numpy as np

    rng = np.random.default_rng(seed)
    feeds = {}
    for spec in specs:
        if "float" in spec.dtype:
            feeds[spec.name] = rng.standard_normal(spec.shape).astype(spec.dtype)
        else:
            feeds[spec.name] = rng.integers(0, 2, spec.shape).astype(spec.dtype)
    return feeds


def _summary(array: Any) -> tuple[str, ...]:
    import numpy as np

    shape = "x".join(map(str, array.shape)) or "scalar"
    if array.size == 0:
        return shape, str(array.dtype), "-", "-", "-"
    wide = array.astype(np.float64)
    figures = (f"{value:.6g}" for value in (wide.min(), wide.mean(), wide.max()))
    return shape, str(array.dtype), *figures


if __name__ == "__main__":
    sys.exit(main())
