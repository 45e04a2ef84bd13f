"""Measures one engine on one model and prints JSON. A process of its own: no engine sees another's threads or memory.

python benchmarks/engines.py ENGINE MODEL.onnx INPUTS.npz THREADS SECONDS
"""

from __future__ import annotations

import json
import re
import resource
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from nnvm_mlir.benchmark import measure, onnxruntime_session

Inputs = Mapping[str, np.ndarray]
Call = Callable[[], Any]


def prepare_nnvm(path: Path, inputs: Inputs, threads: int) -> Call:
    import nnvm_mlir

    shapes = {name: array.shape for name, array in inputs.items()}
    model = nnvm_mlir.compile(path, shapes=shapes, threads=threads)
    return lambda: model(inputs)


def prepare_onnxruntime(path: Path, inputs: Inputs, threads: int) -> Call:
    session = onnxruntime_session(path, threads, spinning=True)
    return lambda: session.run(None, inputs)


def prepare_openvino(path: Path, inputs: Inputs, threads: int) -> Call:
    import openvino

    core = openvino.Core()
    model = core.read_model(path)
    model.reshape({name: list(array.shape) for name, array in inputs.items()})
    options = {
        "INFERENCE_NUM_THREADS": threads,
        "INFERENCE_PRECISION_HINT": "f32",
        "PERFORMANCE_HINT": "LATENCY",
    }
    request = core.compile_model(model, "CPU", options).create_infer_request()
    return lambda: request.infer(inputs)


# By the name of the package.
ENGINES = {
    "nnvm_mlir": prepare_nnvm,
    "onnxruntime": prepare_onnxruntime,
    "openvino": prepare_openvino,
}


def peak_megabytes() -> float:
    """The most memory that this process has had resident (Linux). Unlike `getrusage`, this leaves out the parent process."""
    status = Path("/proc/self/status").read_text()
    return int(re.search(r"VmHWM:\s+(\d+) kB", status)[1]) / 1024


def children_peak_megabytes() -> float:
    """The most memory that a child process of this one has had resident: nnvm_mlir compiles in one. 0 where there was none."""
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024


def main() -> None:
    engine, path, inputs_path, threads, seconds = sys.argv[1:]
    with np.load(inputs_path) as archive:
        inputs = dict(archive)
    start = time.perf_counter()
    call = ENGINES[engine](Path(path), inputs, int(threads))
    call()
    figures = {"compile_s": time.perf_counter() - start, **measure(call, float(seconds))}
    figures |= {"peak_mb": peak_megabytes(), "children_peak_mb": children_peak_megabytes()}
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
