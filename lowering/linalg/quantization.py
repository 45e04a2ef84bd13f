"""Lowering of linear quantization: one scalar function each."""

from __future__ import annotations

from nnvm_mlir.dialects.nnvm import quantization as ops
from nnvm_mlir.lowering.linalg.builder import LinalgBuilder, shape_of
from nnvm_mlir.lowering.linalg.registry import lowers
from nnvm_mlir.lowering.linalg.scalars import Scalars, cast
from nnvm_mlir.mlir import ir


@lowers(ops.QuantizeLinear, ops.DequantizeLinear)
def quantization(
    b: LinalgBuilder, op: ops.Quantization, x: ir.Value, scale: ir.Value, zero_point: ir.Value
) -> ir.Value:
    """Maps the conversion; scale and zero point are brought to where their axis is."""
    data, scale_type, zero_type = (t.dtype for t in op.static_operands)
    parameter_shape = op.parameter_shape(op.values, shape_of(x), shape_of(scale))
    scale, zero_point = (b.reshape(p, parameter_shape) for p in (scale, zero_point))

    def quantize(x: ir.Value, scale: ir.Value, zero: ir.Value) -> ir.Value:
        s = Scalars("float32")
        ratio = s.div(cast(x, data, s.dtype), cast(scale, scale_type, s.dtype))
        shifted = s.add(s.call("roundeven", ratio), cast(zero, zero_type, s.dtype))
        return cast(shifted, s.dtype, zero_type)

    def dequantize(x: ir.Value, scale: ir.Value, zero: ir.Value) -> ir.Value:
        integers, s = Scalars("int32"), Scalars(scale_type)
        difference = integers.sub(cast(x, data, "int32"), cast(zero, zero_type, "int32"))
        return s.mul(cast(difference, "int32", s.dtype), scale)

    function = quantize if isinstance(op, ops.QuantizeLinear) else dequantize
    dtypes = [data, scale_type, zero_type]
    return b.map(function, [x, scale, zero_point], dtypes, op.static_results[0].dtype)
