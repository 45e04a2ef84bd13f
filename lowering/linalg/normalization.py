"""Lowering of normalisations: chains of reductions and maps that read the reduced values in place.

No reshapes come between them, so that each chain can become one kernel over rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

from nnvm_mlir.dialects.nnvm import normalization as ops
from nnvm_mlir.dialects.nnvm.operator import normalize_axis
from nnvm_mlir.lowering.linalg.builder import (
    LinalgBuilder,
    broadcast_map,
    from_storage,
    shape_of,
    to_storage,
)
from nnvm_mlir.lowering.linalg.registry import lowers
from nnvm_mlir.lowering.linalg.scalars import Scalars, compute_dtype
from nnvm_mlir.mlir import ir

Function = Callable[..., ir.Value]


class Rows:
    """A tensor seen as rows along some axes, and computations that have one value for each row.

    What is computed is kept in the dtype that bodies compute in.
    """

    def __init__(self, b: LinalgBuilder, x: ir.Value, dtype: str, axes: Sequence[int]) -> None:
        self.b, self.x, self.dtype = b, x, dtype
        self.wide = compute_dtype(dtype)
        self.s = Scalars(dtype)
        self.shape = shape_of(x)
        rank = len(self.shape)
        dims = [ir.AffineDimExpr.get(i) for i in range(rank)]
        kept = [i for i in range(rank) if i not in axes]
        self.count = prod(self.shape[i] for i in axes)
        self.row_shape = [self.shape[i] for i in kept]
        self.per_element = ir.AffineMap.get_identity(rank)
        self.per_row = ir.AffineMap.get(rank, 0, [dims[i] for i in kept])
        self.iterators = ["reduction" if i in axes else "parallel" for i in range(rank)]

    def along(self, *axes: int) -> ir.AffineMap:
        """How a tensor that has only these axes of `x` is read."""
        return ir.AffineMap.get(len(self.shape), 0, [ir.AffineDimExpr.get(i) for i in axes])

    def fold(
        self,
        combine: Callable[[ir.Value, ir.Value], ir.Value],
        initial: ir.Value,
        element: Function,
        *per_row: ir.Value,
    ) -> ir.Value:
        """Folds `element(x, *values of the row)` along each row."""

        def body(stored: ir.Value, *rest: ir.Value) -> list[ir.Value]:
            *values, accumulator = rest
            return [combine(accumulator, element(from_storage(stored, self.dtype), *values))]

        init = self.b.fill(self.row_shape, self.wide, initial)
        maps = [self.per_element, *[self.per_row] * len(per_row)]
        return self.b.generic(
            [self.x, *per_row], maps, [init], [self.per_row], self.iterators, body
        )[0]

    def of_row(self, function: Function, *per_row: ir.Value) -> ir.Value:
        """A function of the values of each row."""
        return self.b.map(function, per_row, [self.wide] * len(per_row), self.wide, self.row_shape)

    def map(
        self, function: Function, *others: tuple[ir.Value, ir.AffineMap, str], dtype: str
    ) -> ir.Value:
        """A function of each element and of others, each read through a map, in a result dtype."""

        def body(stored: ir.Value, *rest: ir.Value) -> list[ir.Value]:
            values = [
                from_storage(value, other[2]) for value, other in zip(rest, others, strict=False)
            ]
            return [to_storage(function(from_storage(stored, self.dtype), *values), dtype)]

        return self.b.generic(
            [self.x, *(value for value, _, _ in others)],
            [self.per_element, *(access for _, access, _ in others)],
            [self.b.empty(self.shape, dtype)],
            [self.per_element],
            ["parallel"] * len(self.shape),
            body,
        )[0]

    def row_value(self, value: ir.Value) -> tuple[ir.Value, ir.AffineMap, str]:
        """A value of each row, for `map`."""
        return value, self.per_row, self.wide

    def sum(self, element: Function, *per_row: ir.Value) -> ir.Value:
        """The sum of a function of the elements of each row."""
        return self.fold(self.s.add, self.s.const(0), element, *per_row)


@lowers(ops.Softmax)
def softmax(b: LinalgBuilder, op: ops.Softmax, x: ir.Value) -> ir.Value:
    """Maximum, exponentials, their sum, and the quotients."""
    rows, dtype = _along_axis(b, op, x), op.static_operands[0].dtype
    s = rows.s
    greatest = rows.fold(s.max, s.lowest(), lambda value: value)
    raised = rows.map(
        lambda value, top: s.call("exp", s.sub(value, top)),
        rows.row_value(greatest),
        dtype=rows.wide,
    )
    powers = _along_axis(b, op, raised, rows.wide)
    total = powers.sum(lambda value: value)
    return powers.map(s.div, powers.row_value(total), dtype=dtype)


@lowers(ops.LogSoftmax)
def log_softmax(b: LinalgBuilder, op: ops.LogSoftmax, x: ir.Value) -> ir.Value:
    """Maximum, the logarithm of the sum of exponentials, and the differences."""
    rows, dtype = _along_axis(b, op, x), op.static_operands[0].dtype
    s = rows.s
    greatest = rows.fold(s.max, s.lowest(), lambda value: value)
    total = rows.sum(lambda value, top: s.call("exp", s.sub(value, top)), greatest)
    logarithm = rows.of_row(lambda value: s.call("log", value), total)
    return rows.map(
        lambda value, top, log: s.sub(s.sub(value, top), log),
        rows.row_value(greatest),
        rows.row_value(logarithm),
        dtype=dtype,
    )


@lowers(ops.LayerNorm)
def layer_norm(
    b: LinalgBuilder, op: ops.LayerNorm, x: ir.Value, gamma: ir.Value, beta: ir.Value | None = None
) -> ir.Value:
    """Standardised rows, scaled and shifted by parameters that broadcast."""
    shape, dtype = shape_of(x), op.static_operands[0].dtype
    axes = range(normalize_axis(op.axis, len(shape)), len(shape))
    rows = Rows(b, x, dtype, axes)
    parameters = [
        (p, broadcast_map(shape_of(p), shape), dtype) for p in (gamma, beta) if p is not None
    ]
    return _standardized(rows, op.epsilon, parameters)


@lowers(ops.InstanceNorm)
def instance_norm(
    b: LinalgBuilder, op: ops.InstanceNorm, x: ir.Value, gamma: ir.Value, beta: ir.Value
) -> ir.Value:
    """Standardised channels of each image, scaled and shifted per channel."""
    dtype = op.static_operands[0].dtype
    rows = Rows(b, x, dtype, range(2, len(shape_of(x))))
    return _standardized(rows, op.epsilon, [(p, rows.along(1), dtype) for p in (gamma, beta)])


@lowers(ops.BatchNorm)
def batch_norm(
    b: LinalgBuilder, op: ops.BatchNorm, x: ir.Value, *parameters: ir.Value
) -> list[ir.Value]:
    """A factor per channel, then one map; the moving statistics are passed on."""
    a, dtype = op.values, op.static_operands[0].dtype
    gamma, beta, mean, var = parameters
    rows = Rows(b, x, dtype, ())
    s, channel = rows.s, rows.along(normalize_axis(a.axis, len(rows.shape)))

    def factor(variance: ir.Value, gamma: ir.Value) -> ir.Value:
        inverse = _inverse_root(s, s.add(variance, s.const(a.epsilon)))
        return s.mul(inverse, gamma) if a.scale else inverse

    def output(value: ir.Value, mean: ir.Value, factor: ir.Value, beta: ir.Value) -> ir.Value:
        scaled = s.mul(s.sub(value, mean), factor)
        return s.add(scaled, beta) if a.center else scaled

    factors = b.map(factor, [var, gamma], [dtype, dtype], rows.wide)
    others = [(mean, channel, dtype), (factors, channel, rows.wide), (beta, channel, dtype)]
    return [rows.map(output, *others, dtype=dtype), mean, var]


@lowers(ops.Dropout)
def dropout(b: LinalgBuilder, op: ops.Dropout, x: ir.Value) -> list[ir.Value]:
    """The operand, and ones."""
    dtype = op.static_operands[0].dtype
    return [x, b.fill(shape_of(x), dtype, Scalars(dtype).const(1))]


@lowers(ops.Lrn)
def lrn(b: LinalgBuilder, op: ops.Lrn, x: ir.Value) -> ir.Value:
    """A sum of squares over a sliding window of padded data, then one map."""
    a, dtype = op.values, op.static_operands[0].dtype
    rows = Rows(b, x, dtype, ())
    s, rank = rows.s, len(rows.shape)
    axis = normalize_axis(a.axis, rank)
    low, high = [0] * rank, [0] * rank
    low[axis], high[axis] = op.window(a)
    padded = b.pad(x, low, high, b.scalar(0, dtype))
    loops = [ir.AffineDimExpr.get(i) for i in range(rank + 1)]
    access: list[ir.AffineExpr] = loops[:-1]
    access[axis] = loops[axis] + loops[-1]

    def body(stored: ir.Value, _: ir.Value, total: ir.Value) -> list[ir.Value]:
        value = from_storage(stored, dtype)
        return [s.add(total, s.mul(value, value))]

    window = b.empty([a.size], dtype)  # states the size of the innermost loop
    total = b.generic(
        [padded, window],
        [ir.AffineMap.get(rank + 1, 0, access), ir.AffineMap.get(rank + 1, 0, loops[-1:])],
        [b.fill(rows.shape, rows.wide, s.const(0))],
        [ir.AffineMap.get(rank + 1, 0, loops[:-1])],
        [*["parallel"] * rank, "reduction"],
        body,
    )[0]

    def output(value: ir.Value, total: ir.Value) -> ir.Value:
        base = s.add(s.const(a.bias), s.mul(total, s.const(a.alpha / a.size)))
        return s.div(value, _power(s, base, a.beta))

    return rows.map(output, (total, rows.per_element, rows.wide), dtype=dtype)


@lowers(ops.L2Normalize)
def l2_normalize(b: LinalgBuilder, op: ops.L2Normalize, x: ir.Value) -> ir.Value:
    """The sum of squares, one over its root, and the products."""
    dtype, eps = op.static_operands[0].dtype, op.eps
    rows = Rows(b, x, dtype, op.axes(op.values, len(shape_of(x))))
    s = rows.s
    total = rows.sum(lambda value: s.mul(value, value))
    norm = rows.of_row(lambda value: s.call("sqrt", s.max(value, s.const(eps))), total)
    return rows.map(s.div, rows.row_value(norm), dtype=dtype)


def _along_axis(b: LinalgBuilder, op: ops.AlongAxis, x: ir.Value, dtype: str | None = None) -> Rows:
    axis = normalize_axis(op.axis, len(shape_of(x)))
    return Rows(b, x, dtype or op.static_operands[0].dtype, (axis,))


def _standardized(
    rows: Rows, epsilon: float, parameters: list[tuple[ir.Value, ir.AffineMap, str]]
) -> ir.Value:
    """Rows with mean 0 and variance 1, times the first parameter and plus the second, if any.

    The variance is computed from differences to the mean, which loses no precision.
    """
    s = rows.s

    def squared(value: ir.Value, mean: ir.Value) -> ir.Value:
        difference = s.sub(value, mean)
        return s.mul(difference, difference)

    def inverse(total: ir.Value) -> ir.Value:
        variance = s.div(total, s.const(rows.count))
        return _inverse_root(s, s.add(variance, s.const(epsilon)))

    def output(value: ir.Value, mean: ir.Value, factor: ir.Value, *rest: ir.Value) -> ir.Value:
        result = s.mul(s.mul(s.sub(value, mean), factor), rest[0])
        return s.add(result, rest[1]) if len(rest) > 1 else result

    total = rows.sum(lambda value: value)
    mean = rows.of_row(lambda value: s.div(value, s.const(rows.count)), total)
    factor = rows.of_row(inverse, rows.sum(squared, mean))
    others = [rows.row_value(mean), rows.row_value(factor), *parameters]
    return rows.map(output, *others, dtype=rows.dtype)


def _inverse_root(s: Scalars, x: ir.Value) -> ir.Value:
    return s.div(s.const(1), s.call("sqrt", x))


def _power(s: Scalars, x: ir.Value, exponent: float) -> ir.Value:
    if exponent == 0.75:  # the usual one, and two roots are far cheaper than a power
        root = s.call("sqrt", x)
        return s.mul(root, s.call("sqrt", root))
    return s.call("powf", x, s.const(exponent))
