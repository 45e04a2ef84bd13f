"""Reading a model: from a path, bytes or a `ModelProto` to one that is checked and safe to walk."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import onnx
from google.protobuf.message import DecodeError
from google.protobuf.unknown_fields import UnknownFieldSet

from nnvm_mlir.errors import LoadError
from nnvm_mlir.frontend.onnx.check import MAX_DEPTH, check_model
from nnvm_mlir.frontend.onnx.external import open_regular
from nnvm_mlir.frontend.onnx.tensors import to_array

Source = str | os.PathLike | bytes | onnx.ModelProto

# How files that are mistaken for models begin, and what to say about them.
_FOREIGN = (
    (b"version https://git-lfs", "a Git LFS pointer, not the model itself: run `git lfs pull`"),
    (b"<!doctype html", "an HTML page: the download probably failed"),
    (b"<html", "an HTML page: the download probably failed"),
    (b"<?xml", "an XML document"),
    (b"\x1f\x8b", "gzip-compressed data: unpack it first"),
    (b"PK\x03\x04", "a zip archive (a PyTorch checkpoint or a packed model): unpack or export it"),
    (b"BZh", "bzip2-compressed data: unpack it first"),
    (b"\xfd7zXZ", "xz-compressed data: unpack it first"),
    (b"\x28\xb5\x2f\xfd", "zstd-compressed data: unpack it first"),
    (b"\x89HDF", "an HDF5 (Keras) file: export it to ONNX"),
    (b"\x7fELF", "an executable or a shared library"),
    (b"{", "JSON text"),
)
_FOREIGN_AT_4 = (
    (b"ORTM", "an ONNX Runtime (.ort) model: give the original .onnx file"),
    (b"TFL3", "a TensorFlow Lite model: export it to ONNX"),
)
_PROTOBUF_LIMIT = 2**31 - 1
_LARGE_WEIGHT = 4096
"""Bytes."""


@dataclass(frozen=True)
class Model:
    """A checked model.

    Attributes:
        proto: the model; the data of large initializers may be in `weights` instead.
        folder: where its external data may lie; None when it did not come from a file.
        weights: initializers of the main graph by name.
    """

    proto: onnx.ModelProto
    folder: Path | None = None
    weights: dict[str, np.ndarray] = field(default_factory=dict)

    def weight(self, tensor: onnx.TensorProto) -> np.ndarray:
        """The value of an initializer of the main graph, which is held once for all imports.

        Raises:
            LoadError: it cannot be read.
        """
        if tensor.name not in self.weights:
            self.weights[tensor.name] = to_array(tensor, self.folder)
        return self.weights[tensor.name]


def load_model(source: Source) -> Model:
    """Reads and checks a model.

    Args:
        source: a path, the bytes of a file, or a model in memory.

    Raises:
        LoadError: it cannot be read, or is not a model; the message says what it looks like.
        CompileError: it is a model that is malformed, or too new or too old.
        TypeError: `source` is something else.
    """
    if isinstance(source, onnx.ModelProto):
        check_model(source)
        return Model(source)
    if isinstance(source, bytes | bytearray | memoryview):
        model = Model(_parse(bytes(source), "the model"))
    elif isinstance(source, str | os.PathLike):
        path = Path(os.fsdecode(source))
        model = Model(_parse(_read(path), repr(str(path))), path.parent)
    else:
        raise TypeError(
            f"expected a path, bytes or an onnx.ModelProto, got {type(source).__name__}"
        )
    check_model(model.proto)
    return _with_weights_detached(model)


def _with_weights_detached(model: Model) -> Model:
    """The model with its large weights outside the protobuf, whose memory is freed only as a whole."""
    for tensor in model.proto.graph.initializer:
        if tensor.ByteSize() >= _LARGE_WEIGHT and tensor.HasField("raw_data"):
            model.weight(tensor)
            tensor.ClearField("raw_data")
    if not model.weights:
        return model
    slim = onnx.ModelProto.FromString(model.proto.SerializeToString())
    return Model(slim, model.folder, model.weights)


def _read(path: Path) -> bytes:
    with open_regular(path) as descriptor:
        size = os.fstat(descriptor).st_size
        if size > _PROTOBUF_LIMIT:
            raise LoadError(
                f"{str(path)!r} has {size} bytes, but model files end at 2 GB:"
                " save the weights as external data"
            )
        with open(descriptor, "rb", closefd=False) as file:
            return file.read()


def _parse(data: bytes, what: str) -> onnx.ModelProto:
    if not data:
        raise LoadError(f"{what} is empty")
    model = onnx.ModelProto()
    try:
        model.ParseFromString(data)
    except DecodeError as error:
        if "Depth" in str(error):
            raise LoadError(f"{what} nests graphs too deep: more than {MAX_DEPTH}") from None
        raise LoadError(f"{what} is not an ONNX model: {_appearance(data)}") from None
    if not model.HasField("graph"):
        raise LoadError(f"{what} is not an ONNX model, it has no graph: {_appearance(data)}")
    if len(UnknownFieldSet(model)):
        raise LoadError(f"{what} has data that is no part of an ONNX model, or is damaged")
    return model


def _appearance(data: bytes) -> str:
    start = data[:64].lstrip().lower()
    for magic, description in _FOREIGN:
        if start.startswith(magic.lower()):
            return f"it looks like {description}"
    for magic, description in _FOREIGN_AT_4:
        if data[4:8] == magic:
            return f"it looks like {description}"
    if data[:1] == b"\x80" and data[1:2] <= b"\x05":
        return "it looks like a Python pickle (a PyTorch checkpoint?): export it to ONNX"
    if all(32 <= byte < 127 or byte in b"\t\r\n" for byte in data[:256]):
        return "it looks like text"
    return "it is truncated, damaged or of another format"
