"""How an operator class declares its operands, results and attributes.

    class Conv2D(Operator, name="conv2d"):
        data = operand()
        weight = operand()
        bias = operand(optional=True)
        output = result()
        strides = attribute(Ints, (1, 1))

An attribute kind converts between Python values and MLIR attributes; it is the only place that
knows how each is spelled in IR.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from nnvm_mlir.dialects.nnvm.types import (
    DTYPES,
    TensorType,
    dtype_name,
    element_type,
    numpy_dtype,
)
from nnvm_mlir.mlir import ir

REQUIRED = object()


@dataclass
class Operand:
    """One operand, an optional one, or (last only) any number of them."""

    optional: bool = False
    variadic: bool = False
    name: str = ""


@dataclass
class Result:
    """One result, or (alone) any number of them."""

    variadic: bool = False
    name: str = ""


class Kind:
    """Converts one kind of attribute; `expected` names it in messages."""

    expected: ClassVar[str]

    @classmethod
    def normalize(cls, value: Any) -> Any:
        """The canonical Python value. Raises TypeError or ValueError for anything else."""
        raise NotImplementedError

    @classmethod
    def encode(cls, value: Any) -> ir.Attribute:
        """The MLIR attribute of a canonical value, in the current context."""
        raise NotImplementedError

    @classmethod
    def decode(cls, attr: ir.Attribute) -> Any:
        """The Python value of an MLIR attribute. Raises TypeError for another kind."""
        raise NotImplementedError


class Int(Kind):
    """A 64-bit integer, `3 : i64`."""

    expected = "an integer"

    @classmethod
    def normalize(cls, value: Any) -> int:
        if isinstance(value, bool) or not hasattr(value, "__index__"):
            raise TypeError(f"expected {cls.expected}, got {value!r}")
        return value.__index__()

    @classmethod
    def encode(cls, value: int) -> ir.Attribute:
        return ir.IntegerAttr.get(ir.IntegerType.get_signless(64), value)

    @classmethod
    def decode(cls, attr: ir.Attribute) -> int:
        if not isinstance(attr, ir.IntegerAttr) or isinstance(attr, ir.BoolAttr):
            raise TypeError(f"expected {cls.expected}, got {attr}")
        return ir.IntegerAttr(attr).value


class Float(Kind):
    """A double, `0.5 : f64`."""

    expected = "a number"

    @classmethod
    def normalize(cls, value: Any) -> float:
        return float(value)

    @classmethod
    def encode(cls, value: float) -> ir.Attribute:
        return ir.FloatAttr.get(ir.F64Type.get(), value)

    @classmethod
    def decode(cls, attr: ir.Attribute) -> float:
        if isinstance(attr, ir.FloatAttr):
            return ir.FloatAttr(attr).value
        raise TypeError(f"expected {cls.expected}, got {attr}")


class Bool(Kind):
    """`true` or `false`."""

    expected = "a boolean"

    @classmethod
    def normalize(cls, value: Any) -> bool:
        if value not in (0, 1):
            raise TypeError(f"expected {cls.expected}, got {value!r}")
        return bool(value)

    @classmethod
    def encode(cls, value: bool) -> ir.Attribute:
        return ir.BoolAttr.get(value)

    @classmethod
    def decode(cls, attr: ir.Attribute) -> bool:
        if not isinstance(attr, ir.BoolAttr):
            raise TypeError(f"expected {cls.expected}, got {attr}")
        return ir.BoolAttr(attr).value


class Str(Kind):
    """A string."""

    expected = "a string"

    @classmethod
    def normalize(cls, value: Any) -> str:
        if not isinstance(value, str):
            raise TypeError(f"expected {cls.expected}, got {value!r}")
        return value

    @classmethod
    def encode(cls, value: str) -> ir.Attribute:
        return ir.StringAttr.get(value)

    @classmethod
    def decode(cls, attr: ir.Attribute) -> str:
        if not isinstance(attr, ir.StringAttr):
            raise TypeError(f"expected {cls.expected}, got {attr}")
        return ir.StringAttr(attr).value


class Ints(Kind):
    """A list of 64-bit integers, `array<i64: 1, 1>`; a tuple in Python."""

    expected = "a list of integers"

    @classmethod
    def normalize(cls, value: Any) -> tuple[int, ...]:
        items = [value] if hasattr(value, "__index__") else value
        return tuple(Int.normalize(item) for item in items)

    @classmethod
    def encode(cls, value: tuple[int, ...]) -> ir.Attribute:
        return ir.DenseI64ArrayAttr.get(list(value))

    @classmethod
    def decode(cls, attr: ir.Attribute) -> tuple[int, ...]:
        if not isinstance(attr, ir.DenseI64ArrayAttr):
            raise TypeError(f"expected {cls.expected} (array<i64: ...>), got {attr}")
        return tuple(ir.DenseI64ArrayAttr(attr))


class IntOrInts(Kind):
    """One integer, or a list of them: each in IR as its own kind is."""

    expected = "an integer or a list of integers"

    @classmethod
    def normalize(cls, value: Any) -> int | tuple[int, ...]:
        return Int.normalize(value) if hasattr(value, "__index__") else Ints.normalize(value)

    @classmethod
    def encode(cls, value: int | tuple[int, ...]) -> ir.Attribute:
        return Int.encode(value) if isinstance(value, int) else Ints.encode(value)

    @classmethod
    def decode(cls, attr: ir.Attribute) -> int | tuple[int, ...]:
        return (Int if isinstance(attr, ir.IntegerAttr) else Ints).decode(attr)


class Floats(Kind):
    """A list of doubles, `array<f64: 0.5>`; a tuple in Python."""

    expected = "a list of numbers"

    @classmethod
    def normalize(cls, value: Any) -> tuple[float, ...]:
        return tuple(float(item) for item in value)

    @classmethod
    def encode(cls, value: tuple[float, ...]) -> ir.Attribute:
        return ir.DenseF64ArrayAttr.get(list(value))

    @classmethod
    def decode(cls, attr: ir.Attribute) -> tuple[float, ...]:
        if not isinstance(attr, ir.DenseF64ArrayAttr):
            raise TypeError(f"expected {cls.expected} (array<f64: ...>), got {attr}")
        return tuple(ir.DenseF64ArrayAttr(attr))


class Strs(Kind):
    """A list of strings, `["tanh", "sigmoid"]`; a tuple in Python."""

    expected = "a list of strings"

    @classmethod
    def normalize(cls, value: Any) -> tuple[str, ...]:
        return tuple(Str.normalize(item) for item in value)

    @classmethod
    def encode(cls, value: tuple[str, ...]) -> ir.Attribute:
        return ir.ArrayAttr.get([ir.StringAttr.get(item) for item in value])

    @classmethod
    def decode(cls, attr: ir.Attribute) -> tuple[str, ...]:
        if not isinstance(attr, ir.ArrayAttr):
            raise TypeError(f"expected {cls.expected}, got {attr}")
        return tuple(Str.decode(item) for item in ir.ArrayAttr(attr))


class DType(Kind):
    """An element type, `f32` in IR and "float32" in Python."""

    expected = "an element type"

    @classmethod
    def normalize(cls, value: Any) -> str:
        name = value if isinstance(value, str) else np.dtype(value).name
        if name not in DTYPES:
            raise ValueError(f"expected one of {', '.join(DTYPES)}, got {value!r}")
        return name

    @classmethod
    def encode(cls, value: str) -> ir.Attribute:
        return ir.TypeAttr.get(element_type(value))

    @classmethod
    def decode(cls, attr: ir.Attribute) -> str:
        if isinstance(attr, ir.TypeAttr):
            name = dtype_name(ir.TypeAttr(attr).value)
            if name is not None:
                return name
        raise TypeError(f"expected {cls.expected}, got {attr}")


class Tensor(Kind):
    """A small constant, `dense<[1, 2]> : tensor<2xi64>`; a NumPy array in Python."""

    expected = "a dense constant"

    @classmethod
    def normalize(cls, value: Any) -> np.ndarray:
        return np.asarray(value)

    @classmethod
    def encode(cls, value: np.ndarray) -> ir.Attribute:
        tensor_type = TensorType.of(value)
        if tensor_type.dtype == "bool":
            packed = np.packbits(value, axis=None, bitorder="little")
            return ir.DenseElementsAttr.get(
                packed, type=element_type("bool"), shape=list(value.shape)
            )
        raw = np.ascontiguousarray(value)
        if tensor_type.dtype == "bfloat16":
            raw = raw.view(np.uint16)
        return ir.DenseElementsAttr.get(
            raw, type=element_type(tensor_type.dtype), shape=list(value.shape)
        )

    @classmethod
    def decode(cls, attr: ir.Attribute) -> np.ndarray:
        if not isinstance(attr, ir.DenseElementsAttr):
            raise TypeError(f"expected {cls.expected}, got {attr}")
        dense = ir.DenseElementsAttr(attr)
        shape, name = TensorType.of(dense.type).static
        dtype = numpy_dtype(name)
        if dense.is_splat:
            value = np.asarray(_splat(dense.get_splat_value()))  # unsigned values come signed
            return np.full(shape, value.astype(dtype))
        if name == "bool":
            bits = [bool(v) for v in ir.DenseIntElementsAttr(attr)]
            return np.array(bits, bool).reshape(shape)
        if name == "bfloat16":
            raise TypeError(f"a bfloat16 constant must be a splat, got {attr}")
        return np.array(dense).astype(dtype, copy=True).reshape(shape)


def _splat(attr: ir.Attribute) -> Any:
    for kind in (ir.BoolAttr, ir.FloatAttr, ir.IntegerAttr):
        if isinstance(attr, kind):
            return kind(attr).value
    raise TypeError(f"expected a number, got {attr}")


@dataclass
class Attribute:
    """A named attribute of an operator: its kind, its default, and the values allowed (if listed)."""

    kind: type[Kind]
    default: Any = REQUIRED
    choices: tuple[Any, ...] = ()
    name: str = ""

    @property
    def required(self) -> bool:
        """Whether every operation must give it."""
        return self.default is REQUIRED

    def normalize(self, value: Any) -> Any:
        """The canonical Python value of what a caller gave.

        Raises:
            TypeError, ValueError: not of this kind, or not among the choices.
        """
        value = self.kind.normalize(value)
        if self.choices and value not in self.choices:
            raise ValueError(f"expected one of {', '.join(map(repr, self.choices))}, got {value!r}")
        return value


def operand(*, optional: bool = False, variadic: bool = False) -> Any:
    """Declares an operand of an operator."""
    return Operand(optional, variadic)


def result(*, variadic: bool = False) -> Any:
    """Declares a result of an operator."""
    return Result(variadic)


def attribute(kind: type[Kind], default: Any = REQUIRED, *, choices: tuple[Any, ...] = ()) -> Any:
    """Declares an attribute of an operator; without a default it must be given."""
    return Attribute(kind, default, choices)
