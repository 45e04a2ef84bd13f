"""Linear quantization: integers that stand for `scale * (integer - zero_point)`."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from nnvm_mlir.dialects.nnvm import numeric
from nnvm_mlir.dialects.nnvm.fields import DType, Int, attribute, operand, result
from nnvm_mlir.dialects.nnvm.operator import Attributes, Fusion, Operator, normalize_axis
from nnvm_mlir.dialects.nnvm.types import (
    Dtypes,
    Shape,
    is_known,
    require_kind,
    show,
    unify_dtypes,
    unify_shapes,
)

QUANTIZED = ("int8", "uint8", "int16", "uint16")


class Quantization(Operator):
    """An element-wise conversion by a scale and a zero point.

    These are scalars, or have one element for each index of `axis`.
    """

    fusion = Fusion.BROADCAST

    data = operand()
    scale = operand()
    zero_point = operand()
    output = result()
    axis = attribute(Int, 1)

    @classmethod
    def infer_shape(
        cls, a: Attributes, ins: Sequence[Shape], outs: Sequence[Shape]
    ) -> tuple[list[Shape], list[Shape]]:
        data, parameters = unify_shapes([ins[0], *outs]), unify_shapes(ins[1:])
        if is_known(data) and is_known(parameters):
            cls.parameter_shape(a, data, parameters)  # type: ignore[arg-type]
        return [data, parameters, parameters], [data]

    @classmethod
    def parameter_shape(
        cls, a: Attributes, data: tuple[int, ...], parameter: tuple[int, ...]
    ) -> tuple[int, ...]:
        """The shape under which scale and zero point broadcast against the data.

        Raises:
            ValueError: they do not fit.
        """
        if len(parameter) <= 1 and prod(parameter) == 1:
            return ()
        axis = normalize_axis(a.axis, len(data))
        if parameter != (data[axis],):
            raise ValueError(
                f"expects scale and zero_point to be scalars or of shape {data[axis]}, "
                f"got {show(parameter)}"
            )
        return (data[axis], *[1] * (len(data) - axis - 1))


class QuantizeLinear(Quantization, name="quantize_linear"):
    """saturate(round(data / scale) + zero_point), halves to the even integer; NaN becomes 0.

    The result has the zero point's dtype, which `dtype` may repeat: int8, uint8, int16 or uint16.
    Computed in float32.
    """

    dtype = attribute(DType, None)

    @classmethod
    def check(cls, a: Attributes) -> None:
        if a.dtype is not None and a.dtype not in QUANTIZED:
            raise ValueError(
                f"attribute 'dtype': expected one of {', '.join(QUANTIZED)}, got {a.dtype}"
            )

    @classmethod
    def infer_dtype(
        cls, a: Attributes, ins: Dtypes, outs: Dtypes
    ) -> tuple[list[str | None], list[str | None]]:
        require_kind(ins[:1], ("float", "int"))
        require_kind(ins[1:2], ("float",))
        dtype = unify_dtypes([ins[2], a.dtype, *outs])
        if dtype is not None and dtype not in QUANTIZED:
            raise ValueError(f"expects a zero_point of {', '.join(QUANTIZED)}, got {dtype}")
        return [ins[0], ins[1], dtype], [dtype]

    @classmethod
    def evaluate(cls, a: Attributes, x: np.ndarray, scale: np.ndarray, zero_point: np.ndarray):
        shape = cls.parameter_shape(a, x.shape, scale.shape)
        divisor, offset = (p.astype(np.float32).reshape(shape) for p in (scale, zero_point))
        with np.errstate(all="ignore"):
            value = np.rint(x.astype(np.float32) / divisor) + offset
        return numeric.cast(np.asarray(value), str(zero_point.dtype))


class DequantizeLinear(Quantization, name="dequantize_linear"):
    """(data - zero_point) * scale, in the dtype of the scale.

    The data holds 8-, 16- or 32-bit integers.
    """

    @classmethod
    def infer_dtype(
        cls, a: Attributes, ins: Dtypes, outs: Dtypes
    ) -> tuple[list[str | None], list[str | None]]:
        integer, real = unify_dtypes([ins[0], ins[2]]), unify_dtypes([ins[1], *outs])
        require_kind([real], ("float",))
        if integer is not None and integer not in (*QUANTIZED, "int32"):
            raise ValueError(f"expects data of {', '.join(QUANTIZED)} or int32, got {integer}")
        return [integer, real, integer], [real]

    @classmethod
    def evaluate(cls, a: Attributes, x: np.ndarray, scale: np.ndarray, zero_point: np.ndarray):
        shape = cls.parameter_shape(a, x.shape, scale.shape)
        offset = zero_point.astype(np.int32).reshape(shape)
        factor = numeric.widen(scale).reshape(shape)
        difference = (x.astype(np.int32) - offset).astype(factor.dtype)
        return np.asarray(difference * factor).astype(scale.dtype)
