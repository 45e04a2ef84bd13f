"""Arithmetic of windows that slide over spatial axes, shared by convolution and pooling."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from nnvm_mlir.dialects.nnvm.fields import attribute
from nnvm_mlir.dialects.nnvm.layout import Layout
from nnvm_mlir.dialects.nnvm.operator import Attributes, Operator
from nnvm_mlir.dialects.nnvm.types import Shape, show, unify_shapes


def zeros(axes: str) -> tuple[int, ...]:
    """The default of an attribute that has one number, 0, for each spatial axis."""
    return (0,) * len(axes)


def ones(axes: str) -> tuple[int, ...]:
    """The default of an attribute that has one number, 1, for each spatial axis."""
    return (1,) * len(axes)


def data_layout(axes: str) -> str:
    """The default layout of data: batch, channels, then the spatial axes."""
    return f"NC{axes}"


class Spatial(Operator):
    """Operators on batch, channels and 1, 2 or 3 spatial axes.

    A leaf class names its axes, `class MaxPool2D(MaxPool, name="max_pool2d", axes="HW")`. An
    attribute whose default depends on them declares a function from the axes as its default.
    """

    axes: ClassVar[str] = ""

    def __init_subclass__(cls, axes: str = "", **kwargs: Any) -> None:
        """Fixes the spatial axes, and with them the defaults of the inherited attributes."""
        if axes:
            cls.axes = axes
            for key, field in cls.attribute_fields.items():
                if callable(field.default):
                    default = field.default(axes)
                    setattr(cls, key, attribute(field.kind, default, choices=field.choices))
        super().__init_subclass__(**kwargs)


def parse_layout(text: str, axes: str, letters: str = "NC") -> Layout:
    """The layout of a tensor with the axes `letters` and the spatial ones `axes`.

    Raises:
        ValueError: other axes, or a spatial axis that is split.
    """
    layout = Layout.parse(text)
    if set(layout.axes) != set(letters + axes):
        raise ValueError(f"layout {text!r} must have the axes of {letters + axes}")
    if any(layout.block(axis) for axis in axes):
        raise ValueError(f"layout {text!r} must not split the spatial axes {axes}")
    return layout


def permuted_layout(layout: str, axes: Sequence[int]) -> dict[str, Any] | None:
    """What `Operator.permuted` says when operand and result lie in the attribute `layout`."""
    if Layout.parse(layout).is_blocked:
        return None
    return {"layout": "".join(layout[i] for i in axes)}


def spatial_dims(layout: str, axes: str) -> list[int]:
    """The dims that hold the spatial axes."""
    return [Layout.parse(layout).index(axis) for axis in axes]


class InOneLayout(Spatial):
    """Spatial operators whose data and output lie in the attribute `layout`."""

    @classmethod
    def permuted(cls, a: Attributes, rank: int, axes: Sequence[int]) -> dict[str, Any] | None:
        return permuted_layout(a.layout, axes)

    @classmethod
    def check(cls, a: Attributes) -> None:
        parse_layout(a.layout, cls.axes)

    @classmethod
    def dims(cls, a: Attributes) -> list[int]:
        """The dims of data that hold the spatial axes."""
        return spatial_dims(a.layout, cls.axes)


def check_numbers(what: str, values: Sequence[int], axes: str, least: int) -> None:
    """Requires one number of at least `least` for each spatial axis. Raises ValueError."""
    if len(values) != len(axes) or min(values) < least:
        raise ValueError(
            f"attribute {what!r} must be {len(axes)} numbers >= {least}, one for each of the axes "
            f"{axes}; got {tuple(values)}"
        )


def relayout(x: np.ndarray, source: Layout, target: Layout) -> np.ndarray:
    """An array brought from one layout into another."""
    if source == target:
        return x
    for step in source.conversion(x.shape, target):
        x = step.apply(x)
    return x


def convert_shape(shape: Shape, source: Layout, target: Layout) -> Shape:
    """A shape, which may be unknown, brought from one layout into another."""
    return None if shape is None else source.convert_shape(shape, target)


def begins_ends(padding: Sequence[int], rank: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Padding before and after each of `rank` axes.

    `padding` is one number for all, one for each axis (both ends), or all begins followed by all
    ends.

    Raises:
        ValueError: another count, or a negative number.
    """
    if len(padding) not in (1, rank, 2 * rank) or min(padding) < 0:
        raise ValueError(
            f"attribute 'padding' must be 1, {rank} or {2 * rank} numbers >= 0 (begins, then "
            f"ends); got {tuple(padding)}"
        )
    if len(padding) == 2 * rank:
        return tuple(padding[:rank]), tuple(padding[rank:])
    both = tuple(padding) * (rank if len(padding) == 1 else 1)
    return both, both


def extent(kernel: int, dilation: int) -> int:
    """How many positions a dilated window spans."""
    return (kernel - 1) * dilation + 1


def window_count(
    size: int, span: int, stride: int, padding: tuple[int, int], ceil_mode: bool = False
) -> int:
    """How many windows of `span` positions fit an axis.

    With `ceil_mode` a last window may reach beyond the end, if it starts inside the data or the
    padding before it.

    Raises:
        ValueError: the window is larger than the padded axis.
    """
    free = size + sum(padding) - span
    if free < 0:
        raise ValueError(
            f"a window that spans {span} does not fit an axis of {size} padded by {padding[0]} and "
            f"{padding[1]}"
        )
    if not ceil_mode:
        return free // stride + 1
    count = -(-free // stride) + 1
    return count - 1 if (count - 1) * stride >= size + padding[0] else count


def sliding_windows(
    x: np.ndarray, dims: Sequence[int], kernel: Sequence[int], strides: Sequence[int],
    dilation: Sequence[int], counts: Sequence[int],
) -> np.ndarray:  # fmt: skip
    """A view of all windows of an array that holds them wholly.

    Args:
        x: the padded array.
        dims: which of its dims the window slides over; the other arguments have one number for
            each.
        kernel: taps of the window.
        strides: distance of two windows.
        dilation: distance of two taps.
        counts: number of windows.

    Returns:
        An array of `x`'s dims, with `counts` in place of those slid over, followed by `kernel`.
    """
    shape, step = list(x.shape), list(x.strides)
    taps = [x.strides[dim] * d for dim, d in zip(dims, dilation, strict=True)]
    for dim, stride, count in zip(dims, strides, counts, strict=True):
        shape[dim], step[dim] = count, step[dim] * stride
    return np.lib.stride_tricks.as_strided(x, [*shape, *kernel], [*step, *taps], writeable=False)


def agree(what: str, declared: Shape, expected: tuple[int | None, ...]) -> tuple[int | None, ...]:
    """What is known of a shape from its declaration and from a rule, which tells at least its rank.

    Raises:
        ValueError: they contradict each other.
    """
    try:
        return unify_shapes([declared, expected]) or ()
    except ValueError:
        raise ValueError(
            f"expects {what} of shape {show(expected)}, got {show(declared)}"
        ) from None
