"""Convolutions and transposed convolutions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nnvm_mlir.builder import Node
from nnvm_mlir.dialects.nnvm.convolution import (
    Conv1D,
    Conv1DTranspose,
    Conv2D,
    Conv2DTranspose,
    Conv3D,
    Conv3DTranspose,
)
from nnvm_mlir.frontend.onnx.converters.windows import (
    Window,
    per_axis,
    spatial_rank,
    split_padding,
    window_of,
)
from nnvm_mlir.frontend.onnx.registry import NodeContext, converter

_CONVOLUTIONS = (Conv1D, Conv2D, Conv3D)
_TRANSPOSED = (Conv1DTranspose, Conv2DTranspose, Conv3DTranspose)


@converter("Conv")
def conv(ctx: NodeContext) -> Node:
    """A convolution, with a bias or without."""
    return convolve(ctx, ctx.input(0), ctx.input(1), ctx.optional_input(2))


def convolve(ctx: NodeContext, data: Node, weight: Node, bias: Node | None) -> Node:
    """A convolution of any data and weight with the attributes of this node."""
    rank = spatial_rank(ctx)
    window = window_of(ctx, _kernel_shape(ctx, weight, rank))
    operands = [data, weight] if bias is None else [data, weight, bias]
    return ctx.op(
        _CONVOLUTIONS[rank - 1],
        *operands,
        channels=weight.shape[0],
        use_bias=bias is not None,
        **_attributes(ctx, window),
    )


@converter("ConvTranspose")
def conv_transpose(ctx: NodeContext) -> Node:
    """A transposed convolution; padding may be given by the shape of the output."""
    data, weight, bias = ctx.input(0), ctx.input(1), ctx.optional_input(2)
    rank = spatial_rank(ctx)
    window = window_of(ctx, _kernel_shape(ctx, weight, rank))
    extra = per_axis(ctx, "output_padding", ctx.attr("output_padding") or (0,) * rank, rank, 0)
    sizes = _output_sizes(ctx, data.shape[2:], window)
    if sizes is not None:
        window, extra = _padded_to(ctx, data.shape[2:], window, extra, sizes)
    operands = [data, weight] if bias is None else [data, weight, bias]
    attributes = _attributes(ctx, window)
    return ctx.op(
        _TRANSPOSED[rank - 1],
        *operands,
        channels=weight.shape[1] * attributes["groups"],
        use_bias=bias is not None,
        output_padding=extra,
        **attributes,
    )


def _kernel_shape(ctx: NodeContext, weight: Node, rank: int) -> tuple[int, ...]:
    if len(weight.shape) != rank + 2:
        raise ctx.error(f"the weight must have rank {rank + 2}, it has shape {weight.shape}")
    kernel = weight.shape[2:]
    declared = ctx.attr("kernel_shape")
    if declared is not None and declared != kernel:
        raise ctx.error(f"kernel_shape {list(declared)} is not that of the weight, {list(kernel)}")
    return kernel


def _attributes(ctx: NodeContext, window: Window) -> dict[str, Any]:
    groups = ctx.attr("group")
    if groups < 1:
        raise ctx.error(f"group must be at least 1, got {groups}")
    return {
        "kernel_size": window.kernel,
        "strides": window.strides,
        "dilation": window.dilations,
        "padding": window.padding,
        "groups": groups,
    }


def _output_sizes(ctx: NodeContext, sizes: Sequence[int], window: Window) -> tuple[int, ...] | None:
    """The spatial output sizes that a node asks for, or None where its pads decide."""
    declared = ctx.attr("output_shape")
    if declared:
        return per_axis(ctx, "output_shape", declared[-len(sizes) :], len(sizes))
    if ctx.attr("auto_pad") in ("SAME_UPPER", "SAME_LOWER"):
        return tuple(size * stride for size, stride in zip(sizes, window.strides, strict=True))
    return None


def _padded_to(
    ctx: NodeContext,
    sizes: Sequence[int],
    window: Window,
    extra: Sequence[int],
    wanted: Sequence[int],
) -> tuple[Window, tuple[int, ...]]:
    """The padding and output padding with which the output has the wanted sizes."""
    totals = [
        stride * (size - 1) + more + extent - want
        for stride, size, more, extent, want in zip(
            window.strides, sizes, extra, window.extents, wanted, strict=True
        )
    ]
    padding = split_padding([max(total, 0) for total in totals], ctx.attr("auto_pad"))
    more = tuple(m + max(-total, 0) for m, total in zip(extra, totals, strict=True))
    return Window(window.kernel, window.strides, window.dilations, padding), more
