"""Compiled models on disk: saved by the compiler, loaded by the runtime alone.

A folder with `program.json` (signature, sizes, hashes), the object files and `weights.bin`. It is
code, to be trusted like a wheel: loading checks owner, permissions and hashes before anything is
mapped, and refuses what another processor or version wrote.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
import shutil
import stat
import tempfile
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from nnvm_mlir.errors import LoadError
from nnvm_mlir.runtime.calling import order_arrays
from nnvm_mlir.runtime.machine_code import MachineCode
from nnvm_mlir.runtime.openmp import openmp_library
from nnvm_mlir.runtime.program import Memory, Program, TensorSpec, aligned_bytes
from nnvm_mlir.target import cpu_flags

FORMAT = 1
STAGES = "stages"
"""Folder in the folder, for the modules that the program was made from; loading ignores it."""
_SIGNATURE = "program.json"
_WEIGHTS = "weights.bin"
_CODE = re.compile(r"code\d+\.o")
_SEAL = "signature_sha256"

# What LLVM may use of a processor's features; a program needs those of the machine it was compiled for.
_FEATURES = frozenset(
    "ssse3 sse4_1 sse4_2 popcnt avx f16c fma bmi1 bmi2 avx2 avx512f avx512dq avx512cd avx512bw avx512vl"
    " avx512ifma avx512vbmi avx512_vbmi2 avx512_bitalg avx512_vpopcntdq avx512_vnni avx512_bf16 avx512_fp16"
    " avx_vnni amx_tile gfni vaes vpclmulqdq".split()
)


class LoadedModel:
    """A model from a folder. Called like a compiled one."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self.inputs = program.inputs
        self.outputs = program.outputs

    def __call__(self, *arrays: Any, out: Any = None, **named: Any) -> list[np.ndarray]:
        """Runs on a dict of name to array, or on arrays in order; see `CompiledModel`."""
        return self._program(order_arrays(self.inputs, arrays, named), out)


def save(program: Program, folder: str | os.PathLike[str], features: frozenset[str]) -> None:
    """Writes a program to a folder; an older program there is replaced as a whole or not at all.

    Args:
        features: of the processor that it was compiled for.

    Raises:
        OSError: the folder cannot be written, or holds something else than a compiled model.
    """
    target = Path(os.path.abspath(folder))  # "." has no name to be replaced by
    foreign = (
        [path.name for path in target.iterdir() if not _is_ours(path)] if target.is_dir() else []
    )
    if foreign:
        raise FileExistsError(f"{target} holds {min(foreign)!r}, which is not of a compiled model")
    target.parent.mkdir(parents=True, exist_ok=True)
    files = {f"code{i}.o": data for i, data in enumerate(program.code.objects)}
    hashes = {name: hashlib.sha256(data).hexdigest() for name, data in files.items()}
    weights = program.memory.weights
    hashes[_WEIGHTS] = hashlib.sha256(weights.data).hexdigest()
    signature = {
        "format": FORMAT,
        "machine": platform.machine(),
        "features": sorted(features & _FEATURES),
        "inputs": [asdict(spec) for spec in program.inputs],
        "outputs": [asdict(spec) for spec in program.outputs],
        "arena_bytes": program.memory.arena_bytes,
        "status_offset": program.memory.status_offset,
        "checks": list(program.memory.checks),
        "openmp": bool(program.code.libraries),
        "sha256": hashes,
    }
    scratch = Path(tempfile.mkdtemp(prefix=".nnvm-", dir=target.parent))
    try:
        for name, data in files.items():
            (scratch / name).write_bytes(data)
        weights.tofile(scratch / _WEIGHTS)
        (scratch / _SIGNATURE).write_text(_sealed(signature))
        # Whatever the umask is: `load` refuses what a group can write.
        for path in scratch.iterdir():
            path.chmod(0o644)
        scratch.chmod(0o755)
        _replace_folder(scratch, target)
    except BaseException:
        shutil.rmtree(scratch, ignore_errors=True)
        raise


def _is_ours(path: Path) -> bool:
    if path.name == STAGES:
        return path.is_dir() and all(each.suffix == ".mlir" for each in path.iterdir())
    return path.name in (_SIGNATURE, _WEIGHTS) or _CODE.fullmatch(path.name) is not None


def _replace_folder(new: Path, target: Path) -> None:
    """Puts `new` in the place of `target`; where that fails, `target` stays."""
    if not target.is_dir():
        new.replace(target)
        return
    old = Path(tempfile.mkdtemp(prefix=".nnvm-", dir=target.parent))
    try:
        moved = target.replace(old / "old")
        try:
            new.replace(target)
        except BaseException:
            moved.replace(target)
            raise
    finally:
        shutil.rmtree(old, ignore_errors=True)


def load(folder: str | os.PathLike[str]) -> LoadedModel:
    """Loads a model that `save` wrote. Needs neither MLIR nor LLVM.

    Raises:
        LoadError: as `load_program`.
    """
    return LoadedModel(load_program(folder))


def load_program(folder: str | os.PathLike[str]) -> Program:
    """Loads a program that `save` wrote.

    Raises:
        LoadError: it is not such a folder, is damaged, comes from somebody else, or is for another machine or version.
    """
    path = Path(folder)
    _check_owner(path)
    signature = _read_signature(path)
    try:
        return _load_program(path, signature)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise LoadError(f"{path / _SIGNATURE} is damaged: {error!r}") from error


def _load_program(path: Path, signature: Mapping[str, Any]) -> Program:
    features = set(signature["features"]) - cpu_flags()
    if features:
        raise LoadError(f"{path}: compiled for a processor with {', '.join(sorted(features))}")
    if signature["machine"] != platform.machine():
        raise LoadError(f"{path}: compiled for {signature['machine']}, not {platform.machine()}")
    hashes = dict(signature["sha256"])
    weights = _read(path, _WEIGHTS, hashes.pop(_WEIGHTS))
    objects = [_read(path, name, digest).tobytes() for name, digest in hashes.items()]
    libraries = [openmp_library()] if signature["openmp"] else []
    code = MachineCode(objects, libraries)
    memory = Memory(
        signature["arena_bytes"], weights, signature["status_offset"], tuple(signature["checks"])
    )
    inputs, outputs = ([read_spec(e) for e in signature[key]] for key in ("inputs", "outputs"))
    return Program(code, inputs, outputs, memory)


def _check_owner(path: Path) -> None:
    """Refuses files that somebody else could have written: compiled code runs with the rights of who loads it."""
    try:
        names = [path, *path.iterdir()]
        states = [(each, each.lstat()) for each in names]
    except OSError as error:
        raise LoadError(f"{path}: not a compiled model: {error.strerror}") from error
    for each, state in states:
        if stat.S_ISLNK(state.st_mode):
            raise LoadError(f"{each} is a link")
        if state.st_uid not in (0, os.getuid()):
            raise LoadError(f"{each} belongs to another user")
        if state.st_mode & 0o022:
            raise LoadError(f"{each} can be written by others: chmod go-w it if you trust it")


def _read_signature(path: Path) -> dict[str, Any]:
    try:
        text = (path / _SIGNATURE).read_text()
        signature = json.loads(text)
    except (OSError, ValueError) as error:
        raise LoadError(f"{path}: not a compiled model: {error}") from error
    if not isinstance(signature, dict) or signature.get("format") != FORMAT:
        found = signature.get("format") if isinstance(signature, dict) else None
        raise LoadError(f"{path}: format {found}, expected {FORMAT}: compile the model again")
    signature.pop(_SEAL, None)
    if text != _sealed(signature):
        raise LoadError(f"{path / _SIGNATURE} is damaged: its hash differs")
    return signature


def _sealed(signature: dict[str, Any]) -> str:
    """The text of a signature, with a hash of itself."""
    digest = hashlib.sha256(json.dumps(signature).encode()).hexdigest()
    return json.dumps({**signature, _SEAL: digest}, indent=1) + "\n"


def _read(path: Path, name: str, digest: str) -> np.ndarray:
    """The bytes of a file of the folder, on a cache line, if they have the right hash."""
    if Path(name).name != name:
        raise LoadError(f"{path}: {name!r} is not a file name")
    try:
        with (path / name).open("rb") as file:
            data = aligned_bytes(os.fstat(file.fileno()).st_size)
            if file.readinto(data.data) != len(data):
                raise LoadError(f"{path / name} changed while it was read")
    except OSError as error:
        raise LoadError(f"{path / name}: {error.strerror}") from error
    if hashlib.sha256(data.data).hexdigest() != digest:
        raise LoadError(f"{path / name} is damaged: its hash differs")
    return data


def read_spec(entry: Mapping[str, Any]) -> TensorSpec:
    """A TensorSpec from what `asdict` made of it."""
    shape = entry["shape"]
    return TensorSpec(entry["name"], None if shape is None else tuple(shape), entry["dtype"])
