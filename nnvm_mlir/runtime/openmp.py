"""LLVM's OpenMP runtime, which code for several threads calls."""

from __future__ import annotations

import ctypes
import functools
import importlib.util
import os
from pathlib import Path

from nnvm_mlir.errors import LoadError

_COUNTS = "OMP_NUM_THREADS"


@functools.cache
def openmp_library() -> str:
    """Path of the runtime, which is loaded and has read its environment when this returns.

    Raises:
        LoadError: it is not installed.
    """
    spec = importlib.util.find_spec("cmeel")
    for folder in (spec.submodule_search_locations or []) if spec else []:
        path = Path(folder).parent / "cmeel.prefix" / "lib" / "libomp.so"
        if path.is_file():
            _start(path)
            return str(path)
    raise LoadError(
        "LLVM's OpenMP runtime (libomp.so) was not found: install cmeel-libomp, or use one thread"
    )


def _start(path: Path) -> None:
    """Makes the runtime read its environment, where nothing is that it cannot read.

    It takes counts that are no numbers from uninitialised memory, and then ends the process. No
    kernel depends on these counts: each asks for its own.
    """
    counts = os.environ.get(_COUNTS)
    hidden = counts is not None and not all(map(_is_count, counts.split(",")))
    if hidden:
        del os.environ[_COUNTS]
    try:
        ctypes.CDLL(str(path)).omp_get_max_threads()
    finally:
        if hidden and counts is not None:
            os.environ[_COUNTS] = counts


def _is_count(text: str) -> bool:
    return text.strip().isdecimal() and int(text) < 2**31
