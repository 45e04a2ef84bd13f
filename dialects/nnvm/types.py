"""Tensor types as plain Python data, and their MLIR spelling.

Shape and dtype rules work on `TensorType` and never touch MLIR. What is not known is None: a
dimension, a whole shape (unknown rank), or a dtype. In IR these are `?`, `*` and `!nnvm.unknown`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import NamedTuple, TypeGuard, TypeVar

import numpy as np

from nnvm_mlir.mlir import ir

Shape = tuple[int | None, ...] | None
Dtypes = Sequence[str | None]

Dim = TypeVar("Dim", int, int | None)
"""A dimension, for rules of which all results are known when all operands are."""

# dtype name (NumPy's) -> MLIR spelling. Signed integers are signless in IR, as upstream dialects expect.
_MLIR_NAMES = {
    "float16": "f16", "bfloat16": "bf16", "float32": "f32", "float64": "f64",
    "int8": "i8", "int16": "i16", "int32": "i32", "int64": "i64",
    "uint8": "ui8", "uint16": "ui16", "uint32": "ui32", "uint64": "ui64",
    "bool": "i1",
}  # fmt: skip
_DTYPE_NAMES = {mlir: name for name, mlir in _MLIR_NAMES.items()}
DTYPES = tuple(_MLIR_NAMES)

NUMBERS = ("float", "int", "uint")
KINDS = (*NUMBERS, "bool")
"""What elements can be: see `kind`."""


@dataclass(frozen=True)
class TensorType:
    """Shape and dtype of a tensor, each of which may be unknown (None), wholly or in part."""

    shape: Shape = None
    dtype: str | None = None

    @property
    def rank(self) -> int | None:
        """Number of dimensions, or None."""
        return None if self.shape is None else len(self.shape)

    @property
    def is_static(self) -> bool:
        """Whether every dimension and the dtype are known."""
        return self.dtype is not None and is_known(self.shape)

    @property
    def static(self) -> StaticType:
        """This type, all of which is known.

        Raises:
            ValueError: something is unknown.
        """
        if self.dtype is None or not is_known(self.shape):
            raise ValueError(f"expected a static type, got {self}")
        return StaticType(self.shape, self.dtype)

    @property
    def size(self) -> int:
        """Number of elements of a static type."""
        return prod(known(self.shape))

    @property
    def nbytes(self) -> int:
        """Bytes of a static type, stored densely; a bool takes one byte."""
        return self.size * itemsize(self.static.dtype)

    def __str__(self) -> str:
        dims = (
            "*x"
            if self.shape is None
            else "".join(f"{'?' if d is None else d}x" for d in self.shape)
        )
        return f"tensor<{dims}{_MLIR_NAMES[self.dtype] if self.dtype else '!nnvm.unknown'}>"

    def to_mlir(self) -> ir.Type:
        """The MLIR type, in the current context."""
        element = element_type(self.dtype)
        if self.shape is None:
            return ir.UnrankedTensorType.get(element, loc=ir.Location.unknown(element.context))
        dynamic = ir.ShapedType.get_dynamic_size()
        dims = [dynamic if d is None else d for d in self.shape]
        return ir.RankedTensorType.get(dims, element, loc=ir.Location.unknown(element.context))

    @staticmethod
    def of(value: ir.Type | ir.Value | np.ndarray) -> TensorType:
        """The type of an MLIR tensor type, an MLIR value or a NumPy array.

        Raises:
            TypeError: the MLIR type is not a tensor.
        """
        if isinstance(value, np.ndarray):
            return TensorType(value.shape, str(value.dtype))
        mlir_type = value.type if isinstance(value, ir.Value) else value
        if isinstance(mlir_type, ir.RankedTensorType):
            ranked = ir.RankedTensorType(mlir_type)
            shape = tuple(
                None if ranked.is_dynamic_dim(i) else ranked.get_dim_size(i)
                for i in range(ranked.rank)
            )
            return TensorType(shape, dtype_name(ranked.element_type))
        if isinstance(mlir_type, ir.UnrankedTensorType):
            return TensorType(None, dtype_name(ir.UnrankedTensorType(mlir_type).element_type))
        raise TypeError(f"expected a tensor type, got {mlir_type}")


class StaticType(NamedTuple):
    """Shape and dtype of a tensor, both wholly known."""

    shape: tuple[int, ...]
    dtype: str


def is_known(shape: Shape) -> TypeGuard[tuple[int, ...]]:
    """Whether the rank and every dimension are known."""
    return shape is not None and None not in shape


def known(shape: Shape) -> tuple[int, ...]:
    """`shape` narrowed to known dimensions.

    Raises:
        ValueError: something is unknown.
    """
    if not is_known(shape):
        raise ValueError(f"the shape must be known here, got {show(shape)}")
    return shape


def element_type(dtype: str | None) -> ir.Type:
    """MLIR's element type of a dtype name; None is `!nnvm.unknown`."""
    if dtype is None:
        return ir.Type.parse("!nnvm.unknown")
    if dtype not in _MLIR_NAMES:
        raise ValueError(f"unknown dtype {dtype!r}: expected one of {', '.join(DTYPES)}")
    return ir.Type.parse(_MLIR_NAMES[dtype])


def dtype_name(element: ir.Type) -> str | None:
    """NumPy's name of an MLIR element type, or None for `!nnvm.unknown`.

    Raises:
        TypeError: an element type that no operator takes.
    """
    text = str(element)
    if text == "!nnvm.unknown":
        return None
    if text not in _DTYPE_NAMES:
        raise TypeError(f"unsupported element type {text}")
    return _DTYPE_NAMES[text]


def numpy_dtype(dtype: str) -> np.dtype:
    """The NumPy dtype of a dtype name (bfloat16 by ml_dtypes)."""
    if dtype == "bfloat16":
        import ml_dtypes  # imported here because it takes longer than all the rest

        return np.dtype(ml_dtypes.bfloat16)
    return np.dtype(dtype)


def itemsize(dtype: str) -> int:
    """Bytes of one element."""
    return numpy_dtype(dtype).itemsize


def is_float(dtype: str) -> bool:
    """Whether the dtype is a floating-point one."""
    return "float" in dtype


def is_unsigned(dtype: str) -> bool:
    """Whether the dtype is an unsigned integer or bool."""
    return dtype.startswith("uint") or dtype == "bool"


def kind(dtype: str) -> str:
    """What numbers a dtype holds: "float", "int", "uint" or "bool"."""
    if is_float(dtype):
        return "float"
    return dtype.rstrip("0123456789")


def require_kind(dtypes: Sequence[str | None], kinds: Sequence[str]) -> None:
    """Checks that every known dtype is of one of the kinds.

    Raises:
        ValueError: one is not.
    """
    for dtype in dtypes:
        if dtype is not None and kind(dtype) not in kinds:
            raise ValueError(f"expects {' or '.join(kinds)} operands, got {dtype}")


def unify_shapes(shapes: Sequence[Shape]) -> Shape:
    """The most that is known of a shape of which each item is a partial view.

    Raises:
        ValueError: two items contradict each other.
    """
    result: Shape = None
    for shape in shapes:
        if shape is None:
            continue
        if result is None:
            result = shape
            continue
        if len(result) != len(shape):
            raise ValueError(f"shapes {show(result)} and {show(shape)} differ in rank")
        merged = []
        for a, b in zip(result, shape, strict=True):
            if a is not None and b is not None and a != b:
                raise ValueError(f"shapes {show(result)} and {show(shape)} differ")
            merged.append(b if a is None else a)
        result = tuple(merged)
    return result


def unify_dtypes(dtypes: Sequence[str | None]) -> str | None:
    """The dtype that all known items name, or None.

    Raises:
        ValueError: two items differ.
    """
    named = [d for d in dtypes if d is not None]
    for other in named[1:]:
        if other != named[0]:
            raise ValueError(f"dtypes {named[0]} and {other} differ")
    return named[0] if named else None


def show(shape: Shape) -> str:
    """A shape for a message: "2x?x3", "scalar", "unknown"."""
    if shape is None:
        return "unknown"
    return "x".join("?" if d is None else str(d) for d in shape) or "scalar"
