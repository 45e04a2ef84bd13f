"""Window geometry of convolutions and pools: kernel, strides, dilations and padding of a node."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from nnvm_mlir.frontend.onnx.registry import NodeContext


@dataclass(frozen=True)
class Window:
    """One entry for each spatial axis.

    Attributes:
        padding: begins, then ends.
    """

    kernel: tuple[int, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    padding: tuple[int, ...]

    @property
    def extents(self) -> tuple[int, ...]:
        """Elements from the first to the last that a kernel touches."""
        return tuple((k - 1) * d + 1 for k, d in zip(self.kernel, self.dilations, strict=True))


def spatial_rank(ctx: NodeContext, most: int = 3) -> int:
    """How many spatial axes the first input has.

    Raises:
        CompileError: fewer than one or more than `most`.
    """
    shape = ctx.input(0).shape
    if not 1 <= len(shape) - 2 <= most:
        raise ctx.error(f"expected 1 to {most} spatial axes, the data has shape {shape}")
    return len(shape) - 2


def window_of(ctx: NodeContext, kernel: Sequence[int]) -> Window:
    """The window of a convolution or pool over the spatial axes of the first input.

    Raises:
        CompileError: attributes of a wrong length, or not positive.
    """
    rank = spatial_rank(ctx)
    kernel = per_axis(ctx, "kernel_shape", kernel, rank)
    strides = per_axis(ctx, "strides", ctx.attr("strides") or (1,) * rank, rank)
    dilations = per_axis(ctx, "dilations", ctx.attr("dilations") or (1,) * rank, rank)
    window = Window(kernel, strides, dilations, (0,) * 2 * rank)
    mode = ctx.attr("auto_pad", "NOTSET")
    if mode in ("SAME_UPPER", "SAME_LOWER"):
        padding = _same(ctx.input(0).shape[2:], window, mode)
    elif mode in ("NOTSET", ""):
        padding = ctx.attr("pads") or window.padding
    elif mode == "VALID":
        padding = window.padding
    else:
        raise ctx.error(f"unknown auto_pad {mode!r}")
    if len(padding) != 2 * rank or min(padding) < 0:
        raise ctx.error(f"expected {2 * rank} pads of at least 0, got {list(padding)}")
    return Window(kernel, strides, dilations, tuple(padding))


def per_axis(
    ctx: NodeContext, name: str, values: Sequence[int], rank: int, least: int = 1
) -> tuple[int, ...]:
    """Attribute values, one for each spatial axis and none below `least`."""
    if len(values) != rank or min(values) < least:
        raise ctx.error(f"{name} must be {rank} numbers of at least {least}, got {list(values)}")
    return tuple(values)


def split_padding(totals: Sequence[int], mode: str) -> tuple[int, ...]:
    """Begins and ends that share out total paddings; `mode` says which gets the larger half."""
    small = tuple(total // 2 for total in totals)
    large = tuple(total - half for total, half in zip(totals, small, strict=True))
    return small + large if mode == "SAME_UPPER" else large + small


def _same(sizes: Sequence[int], window: Window, mode: str) -> tuple[int, ...]:
    """Padding such that the output has ceil(size / stride) elements."""
    totals = [
        max((-(-size // stride) - 1) * stride + extent - size, 0)
        for size, stride, extent in zip(sizes, window.strides, window.extents, strict=True)
    ]
    return split_padding(totals, mode)
