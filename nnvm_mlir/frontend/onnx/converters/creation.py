"""Constants, and tensors made from shapes and ranges."""

from __future__ import annotations

import math

import numpy as np

from nnvm_mlir.builder import Node
from nnvm_mlir.dialects.nnvm.types import TensorType, numpy_dtype
from nnvm_mlir.frontend.onnx.registry import NodeContext, converter

_CONSTANT_FORMS = {
    "value": None,
    "value_float": "float32",
    "value_floats": "float32",
    "value_int": "int64",
    "value_ints": "int64",
}


@converter("Constant")
def constant(ctx: NodeContext) -> Node:
    """A tensor, a number or a list of numbers."""
    found = [
        ctx.constant(value, dtype)
        for name, dtype in _CONSTANT_FORMS.items()
        if (value := ctx.attr(name)) is not None
    ]
    if len(found) != 1:
        raise ctx.error(
            "expected exactly one value, a tensor or numbers"
            " (strings and sparse tensors are not supported)"
        )
    return found[0]


@converter("ConstantOfShape")
def constant_of_shape(ctx: NodeContext) -> Node:
    """A tensor of one number."""
    value = ctx.attr("value", np.zeros(1, np.float32))
    if value.size != 1:
        raise ctx.error(f"attribute 'value' must have one element, it has shape {value.shape}")
    return ctx.filled(value.reshape(()), _shape(ctx, ctx.int_list(0)), str(value.dtype))


@converter("Range")
def make_range(ctx: NodeContext) -> Node:
    """The numbers from a start, by a step, to a limit."""
    start, limit, step = (ctx.scalar_input(index) for index in range(3))
    if step == 0:
        raise ctx.error("the step must not be 0")
    span = (limit - start) / step
    if not math.isfinite(span):
        raise ctx.error(f"from {start} to {limit} by {step} is not a range")
    count = max(math.ceil(span), 0)
    dtype = ctx.input(0).dtype
    ctx.require_budget(TensorType((count,), dtype))
    steps = np.arange(count).astype(numpy_dtype(dtype))
    return ctx.constant(
        numpy_dtype(dtype).type(start) + steps * numpy_dtype(dtype).type(step), dtype
    )


@converter("EyeLike")
def eye_like(ctx: NodeContext) -> Node:
    """Ones on a diagonal."""
    data = ctx.input(0)
    if len(data.shape) != 2:
        raise ctx.error(f"expected a matrix, got shape {data.shape}")
    code = ctx.attr("dtype")
    dtype = data.dtype if code is None else ctx.dtype(code)
    ctx.require_budget(TensorType(data.shape, dtype))
    return ctx.constant(np.eye(*data.shape, k=ctx.attr("k")), dtype)


@converter("Shape")
def shape(ctx: NodeContext) -> Node:
    """The shape, or a part of it."""
    dims = ctx.input(0).shape
    return ctx.constant(dims[ctx.attr("start", 0) : ctx.attr("end")], "int64")


@converter("Size")
def size(ctx: NodeContext) -> Node:
    """The number of elements."""
    return ctx.constant(ctx.input(0).type.size, "int64")


def _shape(ctx: NodeContext, dims: tuple[int, ...] | None) -> tuple[int, ...]:
    if dims is None or any(dim < 0 for dim in dims):
        raise ctx.error(f"{dims} is not a shape")
    return dims
