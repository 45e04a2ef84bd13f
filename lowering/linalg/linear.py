"""Lowering of matrix products: contractions as linalg.generic.

The loops are in the order (stack..., rows, columns, inner).

Transposes become indexing maps and a bias becomes the value that the accumulation starts from.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from nnvm_mlir.dialects.nnvm import linear as ops
from nnvm_mlir.lowering.linalg.builder import (
    LinalgBuilder,
    from_storage,
    shape_of,
    splat_constant,
)
from nnvm_mlir.lowering.linalg.registry import lowers
from nnvm_mlir.lowering.linalg.scalars import Scalars, cast, compute_dtype
from nnvm_mlir.mlir import ir

Subscripts = list[ir.AffineExpr]


def contract(
    b: LinalgBuilder,
    operands: Sequence[tuple[ir.Value, str, Subscripts]],
    init: ir.Value,
    accumulator: str,
    term: Callable[..., ir.Value] | None = None,
) -> ir.Value:
    """Adds the products of operands to `init` over one inner loop, the last.

    Args:
        b: where to build.
        operands: tensors with their nnvm dtypes, and the loop or constant that subscripts each
            axis.
        init: the tensor to start from; its axes are the outer loops in order.
        accumulator: its nnvm dtype, to which the operands' scalars are cast.
        term: the function of the operands' scalars that is summed, by default their product.
    """
    s = Scalars(accumulator)
    term = term or s.mul
    dtypes = [dtype for _, dtype, _ in operands]
    outer = len(shape_of(init))
    maps = [ir.AffineMap.get(outer + 1, 0, subscripts) for _, _, subscripts in operands]
    out_map = ir.AffineMap.get(outer + 1, 0, _loops(outer))

    def body(*stored: ir.Value) -> list[ir.Value]:
        *values, total = stored
        scalars = [
            cast(from_storage(value, dtype), dtype, accumulator)
            for value, dtype in zip(values, dtypes, strict=True)
        ]
        return [s.add(total, term(*scalars))]

    iterators = ["parallel"] * outer + ["reduction"]
    tensors = [value for value, _, _ in operands]
    return b.generic(tensors, maps, [init], [out_map], iterators, body)[0]


@lowers(ops.Dense)
def dense(b: LinalgBuilder, op: ops.Dense, data: ir.Value, weight: ir.Value, *bias: ir.Value):
    """data[..., k] * weight[n, k], accumulated on the bias."""
    result = op.static_results[0]
    dtype, shape = result.dtype, result.shape
    accumulator = compute_dtype(dtype)
    if bias:
        init = b.map(lambda x: x, bias, [dtype], accumulator, shape)
    else:
        init = _zeros(b, shape, accumulator)
    *outer, column, inner = _loops(len(shape) + 1)
    operands = [(data, dtype, [*outer, inner]), (weight, dtype, [column, inner])]
    return b.cast(contract(b, operands, init, accumulator), accumulator, dtype)


@lowers(ops.Matmul)
def matmul(b: LinalgBuilder, op: ops.Matmul, lhs: ir.Value, rhs: ir.Value) -> ir.Value:
    """The last axis of lhs contracted with the first of rhs."""
    a, result = op.values, op.static_results[0]
    dtype, accumulator = result.dtype, compute_dtype(result.dtype)
    lhs, rhs = (b.reshape(x, (1, *shape_of(x))) if len(shape_of(x)) == 1 else x for x in (lhs, rhs))
    rows = len(shape_of(lhs)) - 1
    loops = _loops(len(result.shape) + 1)
    left, right = [*loops[:rows], loops[-1]], [loops[-1], *loops[rows:-1]]
    operands = [
        (lhs, dtype, left[::-1] if a.transpose_a else left),
        (rhs, dtype, right[::-1] if a.transpose_b else right),
    ]
    init = _zeros(b, result.shape, accumulator)
    return b.cast(contract(b, operands, init, accumulator), accumulator, dtype)


@lowers(ops.BatchMatmul)
def batch_matmul(b: LinalgBuilder, op: ops.BatchMatmul, lhs: ir.Value, rhs: ir.Value) -> ir.Value:
    """Stacks of matrices, a stack of one being read again for each of the other."""
    a, result = op.values, op.static_results[0]
    dtype, accumulator = result.dtype, compute_dtype(result.dtype)
    left, right = _stacked_subscripts(shape_of(lhs), shape_of(rhs), len(result.shape))
    if a.transpose_a:
        left[-2:] = left[:-3:-1]
    if a.transpose_b:
        right[-2:] = right[:-3:-1]
    init = _zeros(b, result.shape, accumulator)
    operands = [(lhs, dtype, left), (rhs, dtype, right)]
    return b.cast(contract(b, operands, init, accumulator), accumulator, dtype)


@lowers(ops.MatmulInteger)
def matmul_integer(b: LinalgBuilder, op: ops.MatmulInteger, *operands: ir.Value) -> ir.Value:
    """Stacks of matrices whose elements have their zero points subtracted as they are read."""
    lhs, rhs, *zero_points = operands
    result = op.static_results[0]
    dtypes = [t.dtype for t in op.static_operands]
    shapes = [shape_of(lhs), shape_of(rhs)]
    subscripts = _stacked_subscripts(shapes[0], shapes[1], len(result.shape))
    s = Scalars("int32")
    entries = [(lhs, dtypes[0], subscripts[0]), (rhs, dtypes[1], subscripts[1])]
    known: list[int | None] = []
    for side, zero_point in enumerate(zero_points):
        splat = splat_constant(zero_point)
        known.append(None if splat is None else _as_integer(splat.value, dtypes[side]))
        if splat is None:
            shape = op.zero_point_shape(shape_of(zero_point), shapes[side], side == 0)
            value = b.reshape(zero_point, shape)
            entries.append((value, dtypes[side], _aligned(shape, subscripts[side])))

    def term(left: ir.Value, right: ir.Value, *stored: ir.Value) -> ir.Value:
        rest = iter(stored)
        factors = []
        for value, zero in zip((left, right), known, strict=True):
            offset = next(rest) if zero is None else s.const(zero)
            factors.append(value if zero == 0 else s.sub(value, offset))
        return s.mul(*factors)

    return contract(b, entries, _zeros(b, result.shape, "int32"), "int32", term)


def _loops(count: int) -> Subscripts:
    return [ir.AffineDimExpr.get(i) for i in range(count)]


def _stacked_subscripts(
    lhs: Sequence[int], rhs: Sequence[int], outer: int
) -> tuple[Subscripts, Subscripts]:
    loops = _loops(outer + 1)
    inner = loops.pop()
    column = [loops.pop()] if len(rhs) > 1 else []
    row = [loops.pop()] if len(lhs) > 1 else []
    left = [*_aligned(lhs[:-2], loops), *row, inner]
    return left, [*_aligned(rhs[:-2], loops), inner, *column]


def _aligned(shape: Sequence[int], loops: Subscripts) -> Subscripts:
    """Subscripts of a tensor that broadcasts against the last of the loops."""
    last = loops[len(loops) - len(shape) :]
    zero = ir.AffineConstantExpr.get(0)
    return [zero if size == 1 else loop for size, loop in zip(shape, last, strict=True)]


def _as_integer(value: int, dtype: str) -> int:
    """The number that a signless attribute stands for."""
    return value % 256 if dtype == "uint8" else value


def _zeros(b: LinalgBuilder, shape: Sequence[int], dtype: str) -> ir.Value:
    return b.fill(shape, dtype, Scalars(dtype).const(0))
