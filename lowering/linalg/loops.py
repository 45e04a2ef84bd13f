"""Sequential loops over tensors that they carry: for what a linalg.generic cannot say."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from nnvm_mlir.lowering.linalg.positions import index
from nnvm_mlir.mlir import ir, scf

LoopBody = Callable[..., Sequence[ir.Value]]


def for_loop(
    lower: ir.Value | int,
    upper: ir.Value | int,
    inits: Sequence[ir.Value],
    body: LoopBody,
    step: ir.Value | int = 1,
) -> list[ir.Value]:
    """An scf.for. `body(position, *carried)` returns the next values of what is carried."""
    bounds = [index(v) if isinstance(v, int) else v for v in (lower, upper, step)]
    loop = scf.ForOp(*bounds, list(inits))
    with ir.InsertionPoint(loop.body):
        scf.YieldOp(list(body(loop.induction_variable, *loop.inner_iter_args)))
    return list(loop.results)


def for_each(shape: Sequence[int], inits: Sequence[ir.Value], body: LoopBody) -> list[ir.Value]:
    """Loops over the positions of a shape in row-major order; `body(positions, *carried)`."""

    def nest(outer: tuple[ir.Value, ...], carried: Sequence[ir.Value]) -> Sequence[ir.Value]:
        if len(outer) == len(shape):
            return body(outer, *carried)
        return for_loop(0, shape[len(outer)], carried, lambda i, *inner: nest((*outer, i), inner))

    return list(nest((), inits))
