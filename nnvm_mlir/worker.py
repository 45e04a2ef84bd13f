"""Compiles models in files in a process of their own.

The compiler is large, and MLIR and LLVM end the process that they run in when they meet a bug of
theirs. So `RemoteCompiler` runs this module's `main` in a child: a request goes in as JSON, the
compiled model comes back as a folder that the runtime loads, and errors come back as what they are.
Only data crosses; nothing is unpickled.
"""

from __future__ import annotations

import base64
import ctypes
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from nnvm_mlir.errors import (
    CompileError,
    Diagnostic,
    LoadError,
    NeedsInputs,
    NeedsShapes,
    NeedsValue,
    Position,
)
from nnvm_mlir.runtime import artifact
from nnvm_mlir.runtime.program import Program, TensorSpec
from nnvm_mlir.target import Target

Json = dict[str, Any]
Shapes = Mapping[str, Sequence[int]]
Values = Mapping[str, np.ndarray]

_BOOTSTRAP = "import sys; sys.path[:] = {path!r}; from nnvm_mlir.worker import main; main()"
_RESPONSE = "response.json"
_PROGRAM = "program"

_NEEDS = {error.__name__: error for error in (NeedsShapes, NeedsValue)}
_PLAIN = {e.__name__: e for e in (LoadError, ValueError, TypeError, OSError, MemoryError)}


class RemoteCompiler:
    """Compiles a model in a file, in child processes.

    Args:
        path: of an ONNX file.
        target, opt_level: as of `nnvm_mlir.compile`.
        shapes: what the first program will probably be asked for: it is made by the child that looks at the model.

    Raises:
        LoadError, CompileError: the file is not a model, or has operators that are not supported.
    """

    def __init__(
        self, path: str | os.PathLike[str], target: Target, opt_level: int, shapes: Shapes
    ) -> None:
        self._model = {
            "path": os.fsdecode(path),
            "target": asdict(target),
            "opt_level": opt_level,
        }
        response, _ = self._first = self._ask(shapes, {})
        self._first_shapes = _plain(shapes)
        self.inputs = _read_specs(response["inputs"])
        self.outputs = _read_specs(response["outputs"])
        self.metadata: Mapping[str, str] = response["metadata"]

    def specialize(self, shapes: Shapes, values: Values) -> Program:
        """The program for these shapes, and for these values of some inputs.

        Raises:
            NeedsShapes, NeedsValue: more must be known.
            CompileError: the model cannot be compiled.
        """
        asked_before = not values and self._first_shapes == _plain(shapes)
        response, program = self._first if asked_before else self._ask(shapes, values)
        if program is None:
            raise _read_error(response["needs"])
        return program

    def stages(self, shapes: Shapes, values: Values) -> dict[str, str]:
        """The module as text after every stage of `specialize`."""
        return self._ask(shapes, values, stages=True)[0]["stages"]

    def _ask(
        self, shapes: Shapes, values: Values, stages: bool = False
    ) -> tuple[Json, Program | None]:
        """The response of a child, and the program that it made, if enough is known to make one."""
        request = {
            **self._model,
            "shapes": _plain(shapes),
            "values": {name: _write_array(array) for name, array in values.items()},
            "stages": stages,
        }
        with tempfile.TemporaryDirectory(prefix="nnvm-") as name:
            folder = Path(name)
            _run_child({**request, "folder": name})
            response = json.loads((folder / _RESPONSE).read_text())
            if "error" in response:
                raise _read_error(response["error"])
            made = (folder / _PROGRAM).is_dir()
            return response, artifact.load_program(folder / _PROGRAM) if made else None


def _run_child(request: Json) -> None:
    """Runs `main` on a request in a child that ends with this process.

    Raises:
        CompileError: the child died.
    """
    command = [sys.executable, *_isolation(), "-c", _BOOTSTRAP.format(path=sys.path)]
    child = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    try:
        _, said = child.communicate(json.dumps(request).encode())
    except BaseException:
        child.kill()
        child.wait()
        raise
    if child.returncode:
        how = (
            f"was ended by signal {signal.Signals(-child.returncode).name}"
            if child.returncode < 0
            else f"failed with exit code {child.returncode}"
        )
        last = said.decode(errors="replace").strip()[-2000:]
        raise CompileError(f"the compiler {how}: {last}", hint="this is a bug of the compiler")


def _isolation() -> list[str]:
    """The options by which this interpreter distrusts its surroundings."""
    if sys.flags.isolated:
        return ["-I"]
    return ["-E"] if sys.flags.ignore_environment else []


def main() -> None:
    """Answers the request on standard input, in the folder that it names."""
    # PR_SET_PDEATHSIG: nobody waits for an orphan's answer.
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)
    request = json.loads(sys.stdin.buffer.read())
    folder = Path(request["folder"])
    try:
        response = _answer(request, folder)
    except (CompileError, *_PLAIN.values()) as error:
        response = {"error": _write_error(error)}
    (folder / _RESPONSE).write_text(json.dumps(response))


def _answer(request: Json, folder: Path) -> Json:
    from nnvm_mlir.build import LocalCompiler

    target = Target(**request["target"])
    compiler = LocalCompiler(request["path"], target, request["opt_level"])
    shapes = {name: tuple(shape) for name, shape in request["shapes"].items()}
    values = {name: _read_array(text) for name, text in request["values"].items()}
    response: Json = {
        "inputs": [asdict(spec) for spec in compiler.inputs],
        "outputs": [asdict(spec) for spec in compiler.outputs],
        "metadata": dict(compiler.metadata),
    }
    if request["stages"]:
        response["stages"] = compiler.stages(shapes, values)
    elif set(shapes) <= {spec.name for spec in compiler.inputs}:
        try:
            program = compiler.specialize(shapes, values)
            artifact.save(program, folder / _PROGRAM, target.features())
        except NeedsInputs as need:
            response["needs"] = _write_error(need)
    return response


def _plain(shapes: Shapes) -> dict[str, list[int]]:
    return {name: [int(dim) for dim in shape] for name, shape in shapes.items()}


def _read_specs(entries: Sequence[Json]) -> tuple[TensorSpec, ...]:
    return tuple(artifact.read_spec(entry) for entry in entries)


def _write_array(array: np.ndarray) -> Json:
    data = base64.b64encode(np.ascontiguousarray(array).tobytes()).decode()
    return {"dtype": str(array.dtype), "shape": list(array.shape), "data": data}


def _read_array(entry: Json) -> np.ndarray:
    data = base64.b64decode(entry["data"])
    return np.frombuffer(data, entry["dtype"]).reshape(entry["shape"])


def _write_error(error: BaseException) -> Json:
    if not isinstance(error, CompileError):
        name = next(name for name, kind in _PLAIN.items() if isinstance(error, kind))
        return {"kind": name, "message": str(error)}
    written: Json = {
        "kind": type(error).__name__,
        "diagnostics": [asdict(diagnostic) for diagnostic in error.diagnostics],
        "hint": error.hint,
        "pass_name": error.pass_name,
        "reproducer": error.reproducer,
    }
    if isinstance(error, NeedsInputs):
        written["names"] = list(error.names)
    return written


def _read_error(entry: Json) -> Exception:
    kind = entry["kind"]
    if kind in _PLAIN:
        return _PLAIN[kind](entry["message"])
    diagnostics = [_read_diagnostic(d) for d in entry["diagnostics"]]
    if kind in _NEEDS:
        return _NEEDS[kind](diagnostics[0].message, entry["names"])
    keys = ("hint", "pass_name", "reproducer")
    return CompileError(diagnostics, **{key: entry[key] for key in keys})


def _read_diagnostic(entry: Json) -> Diagnostic:
    notes = tuple(_read_diagnostic(note) for note in entry["notes"])
    return Diagnostic(entry["severity"], entry["message"], Position(**entry["position"]), notes)
