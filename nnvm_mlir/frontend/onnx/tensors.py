"""`TensorProto` to NumPy array, with every size checked before anything is allocated."""

from __future__ import annotations

import math
from pathlib import Path
from typing import NamedTuple

import numpy as np
import onnx
from onnx import TensorProto

from nnvm_mlir.dialects.nnvm.types import numpy_dtype
from nnvm_mlir.errors import LoadError
from nnvm_mlir.frontend.onnx.external import read_external

MAX_BYTES = 2**63 - 1


class _Storage(NamedTuple):
    dtype: str
    field: str
    """The typed field that holds the elements when `raw_data` does not."""
    bits: str | None = None
    """Set when the field holds bit patterns of this integer dtype."""


_STORAGE: dict[int, _Storage] = {
    TensorProto.FLOAT: _Storage("float32", "float_data"),
    TensorProto.DOUBLE: _Storage("float64", "double_data"),
    TensorProto.FLOAT16: _Storage("float16", "int32_data", "uint16"),
    TensorProto.BFLOAT16: _Storage("bfloat16", "int32_data", "uint16"),
    TensorProto.INT8: _Storage("int8", "int32_data"),
    TensorProto.INT16: _Storage("int16", "int32_data"),
    TensorProto.INT32: _Storage("int32", "int32_data"),
    TensorProto.INT64: _Storage("int64", "int64_data"),
    TensorProto.UINT8: _Storage("uint8", "int32_data"),
    TensorProto.UINT16: _Storage("uint16", "int32_data"),
    TensorProto.UINT32: _Storage("uint32", "uint64_data"),
    TensorProto.UINT64: _Storage("uint64", "uint64_data"),
    TensorProto.BOOL: _Storage("bool", "int32_data"),
}
_FIELDS = {
    "float_data": "float32",
    "double_data": "float64",
    "int32_data": "int32",
    "int64_data": "int64",
    "uint64_data": "uint64",
    "string_data": "object",
}


def dtype_of(element_type: int, what: str) -> str:
    """The dtype name of an ONNX element type.

    Raises:
        LoadError: it is unknown, or one that no operator takes (strings, complex numbers and those
            of less than 8 bits among others).
    """
    if element_type in _STORAGE:
        return _STORAGE[element_type].dtype
    if element_type in TensorProto.DataType.values() and element_type != TensorProto.UNDEFINED:
        name = TensorProto.DataType.Name(element_type)
        raise LoadError(f"{what} has elements of type {name}, which is not supported")
    raise LoadError(f"{what} has the unknown element type {element_type}")


def to_array(tensor: onnx.TensorProto, folder: Path | None = None, what: str = "") -> np.ndarray:
    """The value of a tensor; `raw_data` is not copied again.

    Args:
        tensor: a tensor of the model.
        folder: folder of the model file, for external data.
        what: names the tensor in messages; by default its own name.

    Raises:
        LoadError: its sizes, fields or external data contradict each other.
    """
    what = what or f"initializer {tensor.name!r}"
    dtype = numpy_dtype(dtype_of(tensor.data_type, what))
    shape = _checked_shape(tensor, dtype.itemsize, what)
    if tensor.HasField("segment"):
        raise LoadError(f"{what} is stored in segments, which is not supported")
    fields = [name for name in _FIELDS if len(getattr(tensor, name))]
    raw = tensor.raw_data if tensor.HasField("raw_data") else None
    if raw and fields:
        raise LoadError(f"{what} has two kinds of data: raw_data and {fields[0]}")
    if tensor.data_location == TensorProto.EXTERNAL:
        if raw or fields:
            raise LoadError(f"{what} has both external and inline data")
        little = dtype.newbyteorder("<")
        array = read_external(_entries(tensor, what), folder, little, shape, what)
    elif raw is not None and not fields:
        array = _from_raw(raw, dtype, shape, what)
    else:
        array = _from_field(tensor, fields, shape, what)
    if dtype == np.bool_:
        array = array.view(np.uint8) != 0
    return array.astype(dtype, copy=False)


def _checked_shape(tensor: onnx.TensorProto, itemsize: int, what: str) -> tuple[int, ...]:
    shape = tuple(tensor.dims)
    if any(dim < 0 for dim in shape):
        raise LoadError(f"{what} has a negative dimension in {list(shape)}")
    if math.prod(max(dim, 1) for dim in shape) * itemsize > MAX_BYTES:
        raise LoadError(f"{what} of shape {list(shape)} is larger than any memory")
    return shape


def _from_raw(raw: bytes, dtype: np.dtype, shape: tuple[int, ...], what: str) -> np.ndarray:
    expected = math.prod(shape) * dtype.itemsize
    if len(raw) != expected:
        raise LoadError(
            f"{what} of shape {list(shape)} needs {expected} bytes, raw_data has {len(raw)}"
        )
    return np.frombuffer(raw, dtype.newbyteorder("<")).reshape(shape)


def _from_field(
    tensor: onnx.TensorProto, fields: list[str], shape: tuple[int, ...], what: str
) -> np.ndarray:
    storage = _STORAGE[tensor.data_type]
    wrong = [name for name in fields if name != storage.field]
    if wrong:
        raise LoadError(f"{what} of {storage.dtype} has data in {wrong[0]}, not in {storage.field}")
    values = getattr(tensor, storage.field)
    if len(values) != math.prod(shape):
        raise LoadError(
            f"{what} of shape {list(shape)} needs {math.prod(shape)} elements,"
            f" {storage.field} has {len(values)}"
        )
    stored = np.array(values, _FIELDS[storage.field])
    narrow = stored.astype(storage.bits or storage.dtype)
    if narrow.dtype.kind in "biu" and not np.array_equal(narrow, stored):
        raise LoadError(f"{what} has values in {storage.field} that do not fit {storage.dtype}")
    return narrow.view(numpy_dtype(storage.dtype)).reshape(shape)


def _entries(tensor: onnx.TensorProto, what: str) -> dict[str, str]:
    entries: dict[str, str] = {}
    for entry in tensor.external_data:
        if not isinstance(entry.key, str) or not isinstance(entry.value, str):
            raise LoadError(f"{what} has external data entries that are not UTF-8")
        if entry.key in entries:
            raise LoadError(f"{what} gives {entry.key!r} of its external data twice")
        entries[entry.key] = entry.value
    return entries
