"""The loop nest of a convolution in any layouts, as one linalg.generic.

Its parallel loops are the dims of the output, in their order, so that the output's map is the
identity; then come the outer input channels, the taps of the kernel, and the inner input channels.
Groups have loops of their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

from nnvm_mlir.dialects.nnvm.layout import Layout
from nnvm_mlir.lowering.linalg.blocked import (
    Loop,
    MisalignedError,
    loops_of_dims,
    loops_over,
    view,
)
from nnvm_mlir.lowering.linalg.builder import LinalgBuilder, from_storage
from nnvm_mlir.lowering.linalg.scalars import Scalars, cast
from nnvm_mlir.mlir import ir


@dataclass(frozen=True)
class Layouts:
    """The layouts of a convolution's tensors."""

    data: Layout
    kernel: Layout
    output: Layout

    @property
    def plain(self) -> Layouts:
        """The same without blocks."""
        return Layouts(self.data.plain, self.kernel.plain, self.output.plain)


@dataclass(frozen=True)
class Channels:
    """The sizes of the loops over batch and channels.

    Attributes:
        batch, groups: their numbers.
        inputs, outputs: channels of one group.
        transposed: whether the kernel's O counts the input channels of all groups and its I the
            output channels of one, instead of the other way round.
    """

    batch: int
    groups: int
    inputs: int
    outputs: int
    transposed: bool


@dataclass(frozen=True)
class Step:
    """How data is walked along a spatial axis: stride * place + dilation * tap + offset."""

    stride: int
    dilation: int
    offset: int = 0


class Nest:
    """The loops of a convolution, and which of them walk each dim of its tensors.

    Raises:
        MisalignedError: the blocks of two layouts, or blocks and groups, do not fit each other.
    """

    def __init__(self, c: Channels, layouts: Layouts, axes: str) -> None:
        data, kernel, output = layouts.data, layouts.kernel, layouts.output
        batch = loops_over(c.batch, filter(None, (data.block("N"), output.block("N"))))
        group, inputs, outputs = _channel_loops(c, layouts)
        self.channels = group + outputs
        self.places = [Loop() for _ in axes]
        self.taps = [Loop() for _ in axes]
        places = {axis: [loop] for axis, loop in zip(axes, self.places, strict=True)}
        taps = {axis: [loop] for axis, loop in zip(axes, self.taps, strict=True)}
        many, few = (inputs, outputs) if c.transposed else (outputs, inputs)
        self.data = loops_of_dims(data, {"N": batch, "C": group + inputs, **places})
        self.kernel = loops_of_dims(kernel, {"O": group + many, "I": few, **taps})
        out_dims = loops_of_dims(output, {"N": batch, "C": self.channels, **places})
        self.parallel = list(chain.from_iterable(out_dims))
        first_place = min(data.index(axis) for axis in axes)
        outer = [x for dim in self.data[:first_place] for x in dim if x in inputs]
        inner = [x for x in inputs if x not in outer]
        self.loops = [*self.parallel, *outer, *self.taps, *inner]

    def output_shape(self, spatial: Sequence[int]) -> list[int]:
        """The shape of the output with one dim for each parallel loop."""
        sizes = dict(zip(self.places, spatial, strict=True))
        return [sizes.get(loop, loop.size) for loop in self.parallel]

    def output_dims(self) -> list[int]:
        """The dims of that shape which hold the spatial axes."""
        return [self.parallel.index(loop) for loop in self.places]

    def spread(
        self, b: LinalgBuilder, bias: ir.Value, shape: Sequence[int], dtype: str
    ) -> ir.Value:
        """A bias repeated over an output of `shape` (as from `output_shape`)."""
        bias = b.reshape(bias, [loop.size for loop in self.channels])
        dims = [ir.AffineDimExpr.get(self.parallel.index(loop)) for loop in self.channels]
        rank = len(shape)
        return b.generic(
            [bias],
            [ir.AffineMap.get(rank, 0, dims)],
            [b.empty(shape, dtype)],
            [ir.AffineMap.get_identity(rank)],
            ["parallel"] * rank,
            lambda value, _: [value],
        )[0]

    def accumulate(
        self,
        b: LinalgBuilder,
        data: ir.Value,
        weight: ir.Value,
        sums: ir.Value,
        steps: Sequence[Step],
        dtypes: Sequence[str],
    ) -> ir.Value:
        """Adds the products of data and weight to the sums.

        Args:
            b: the builder.
            data: in its layout, padded so that every access is inside.
            weight: in its layout.
            sums: in a shape as from `output_shape`.
            steps: how data is walked along each spatial axis.
            dtypes: of data, weight and the sums.
        """
        rank, parallel = len(self.loops), len(self.parallel)
        dims = {loop: ir.AffineDimExpr.get(i) for i, loop in enumerate(self.loops)}
        in_data = dict(dims)
        for place, tap, step in zip(self.places, self.taps, steps, strict=True):
            in_data[place] = dims[place] * step.stride + dims[tap] * step.dilation + step.offset
        s = Scalars(dtypes[2])

        def body(x: ir.Value, w: ir.Value, total: ir.Value) -> list[ir.Value]:
            x = cast(from_storage(x, dtypes[0]), dtypes[0], s.dtype)
            w = cast(from_storage(w, dtypes[1]), dtypes[1], s.dtype)
            return [s.add(total, s.mul(x, w))]

        return b.generic(
            [view(b, data, self.data), view(b, weight, self.kernel)],
            [_access(rank, self.data, in_data), _access(rank, self.kernel, dims)],
            [sums],
            [ir.AffineMap.get(rank, 0, [dims[loop] for loop in self.parallel])],
            ["parallel"] * parallel + ["reduction"] * (rank - parallel),
            body,
        )[0]


def _access(
    rank: int, dims: Sequence[Sequence[Loop]], index: dict[Loop, ir.AffineExpr]
) -> ir.AffineMap:
    """The map of a tensor seen with one dim for each loop; a dim without a loop has size 1."""
    exprs: list[ir.AffineExpr] = []
    for loops in dims:
        exprs.extend([index[loop] for loop in loops] or [ir.AffineConstantExpr.get(0)])
    return ir.AffineMap.get(rank, 0, exprs)


def _channel_loops(c: Channels, layouts: Layouts) -> tuple[list[Loop], list[Loop], list[Loop]]:
    """The loops over groups, and over the input and the output channels of one group."""
    groups: set[int] = set()
    inputs: set[int] = set()
    outputs: set[int] = set()
    many, few = (inputs, outputs) if c.transposed else (outputs, inputs)
    sides = (
        (layouts.data.block("C"), inputs, c.inputs),
        (layouts.output.block("C"), outputs, c.outputs),
        (layouts.kernel.block("O"), many, c.inputs if c.transposed else c.outputs),
    )
    for block, side, size in sides:
        if block is None:
            continue
        if c.groups == 1 or block < size:
            side.add(block)
        elif block % size:
            raise MisalignedError(f"blocks of {block} do not fit groups of {size} channels")
        elif block > size:
            groups.add(block // size)
    few.update(filter(None, [layouts.kernel.block("I")]))

    def within_group(size: int, blocks: set[int]) -> list[Loop]:
        return [] if c.groups > 1 and size == 1 else loops_over(size, blocks)

    return (
        loops_over(c.groups, groups) if c.groups > 1 else [],
        within_group(c.inputs, inputs),
        within_group(c.outputs, outputs),
    )
