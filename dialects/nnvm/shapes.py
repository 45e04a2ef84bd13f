"""Shape rules that several families share, as pure functions on tuples.

None is an unknown dimension.
"""

from __future__ import annotations

from collections.abc import Sequence

from nnvm_mlir.dialects.nnvm.types import Shape, show


def broadcast_shapes(*shapes: Shape) -> Shape:
    """NumPy's broadcast of shapes that may be known in part; None as soon as one rank is unknown.

    Raises:
        ValueError: two dimensions differ and neither is 1.
    """
    result: tuple[int | None, ...] = ()
    for shape in shapes:
        if shape is None:
            return None
        rank = max(len(result), len(shape))
        pairs = zip(_padded(result, rank), _padded(shape, rank), strict=True)
        try:
            result = tuple(_broadcast_dim(a, b) for a, b in pairs)
        except ValueError:
            raise ValueError(
                f"shapes {' and '.join(map(show, shapes))} do not broadcast to one shape"
            ) from None
    return result


def reduced_shape(shape: Sequence[int], axes: Sequence[int], keepdims: bool) -> tuple[int, ...]:
    """The shape after reducing `axes` (from 0), which stay as 1 with `keepdims`."""
    if keepdims:
        return tuple(1 if i in axes else size for i, size in enumerate(shape))
    return tuple(size for i, size in enumerate(shape) if i not in axes)


def _padded(shape: tuple[int | None, ...], rank: int) -> tuple[int | None, ...]:
    return (1,) * (rank - len(shape)) + shape


def _broadcast_dim(a: int | None, b: int | None) -> int | None:
    if a == 1:
        return b
    if b == 1 or a == b:
        return a
    if a is None or b is None:
        return b if a is None else a
    raise ValueError
