"""Transposition in registers, for operands that are not contiguous along the result's last loop.

Layout changes (NCHW to blocked and back, weights, general permutations), and element-wise functions
with a transposed operand. A tile of as many rows as a vector has lanes is read along the operand's
contiguous loop, transposed by shuffles, and used along the result's. What is left over at the edges
is for gathers.
"""

from __future__ import annotations

from collections.abc import Sequence

from nnvm_mlir.lowering.cpu.affine import Form
from nnvm_mlir.lowering.cpu.points import Point
from nnvm_mlir.lowering.cpu.structured import Access, Argument
from nnvm_mlir.mlir import ir, vector


def cross_loop(
    accesses: Sequence[Access], sizes: Sequence[int], lane_loop: int, lanes: int
) -> int | None:
    """The loop over which an access that jumps along the lanes has stride 1; None if no tile fits.

    Args:
        accesses: what is read.
        sizes: trip count of each loop.
        lane_loop: the loop that vectors of the result run along.
        lanes: length of these vectors.
    """
    if sizes[lane_loop] < lanes:
        return None
    for access in accesses:
        if isinstance(access.source, Argument) and abs(access.form.coefficients[lane_loop]) > 1:
            for loop, coefficient in enumerate(access.form.coefficients):
                if coefficient == 1 and sizes[loop] >= lanes:
                    return loop
    return None


def is_crossed(access: Access) -> bool:
    """Whether an access is read by tiles: contiguous along the last loop but one only."""
    if not isinstance(access.source, Argument) or len(access.form.coefficients) < 2:
        return False
    cross, along = access.form.coefficients[-2:]
    return cross == 1 and abs(along) > 1


def load_tile(point: Point, access: Access) -> list[ir.Value]:
    """Reads `lanes` x `lanes` elements along the last two loops from `point`.

    Returns:
        A vector along the last loop for each of `lanes` indices of the last loop but one.
    """
    e, lanes = point.e, point.lanes
    *outer, cross, along = point.at
    crosswise = access.map(_swap_last)
    rows = [
        Point(e, point.buffers, [*outer, e.add(along, i), cross], lanes).load(crosswise)
        for i in range(lanes)  # type: ignore[arg-type]  # a point of vectors
    ]
    return transpose(rows)


def transpose(rows: Sequence[ir.Value]) -> list[ir.Value]:
    """The columns of a square matrix of 2^k rows, after k rounds of interleaving its halves."""
    lanes = len(rows)
    half = lanes // 2
    low, high = ([i // 2 + start + i % 2 * lanes for i in range(lanes)] for start in (0, half))
    rows = list(rows)
    for _ in range(lanes.bit_length() - 1):
        pairs = [(rows[i], rows[i + half]) for i in range(half)]
        rows = [vector.ShuffleOp(a, b, mask).result for a, b in pairs for mask in (low, high)]
    return rows


def _swap_last(form: Form) -> Form:
    *outer, cross, along = form.coefficients
    return Form((*outer, along, cross), form.offset)
