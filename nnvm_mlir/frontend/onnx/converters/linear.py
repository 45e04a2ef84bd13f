"""Matrix products."""

from __future__ import annotations

from nnvm_mlir.builder import Node
from nnvm_mlir.dialects.nnvm.broadcast import BroadcastAdd
from nnvm_mlir.dialects.nnvm.elementwise import MulScalar
from nnvm_mlir.dialects.nnvm.linear import BatchMatmul, Dense, Matmul
from nnvm_mlir.dialects.nnvm.transform import Transpose
from nnvm_mlir.frontend.onnx.converters.common import is_scalar, reshape
from nnvm_mlir.frontend.onnx.registry import NodeContext, converter


@converter("MatMul")
def matmul(ctx: NodeContext) -> Node:
    """numpy.matmul; a single matrix on the right takes the simpler operator."""
    lhs, rhs = ctx.input(0), ctx.input(1)
    if len(lhs.shape) >= 2 and len(rhs.shape) == 2:
        return ctx.op(Matmul, lhs, rhs)
    return ctx.op(BatchMatmul, lhs, rhs)


@converter("Gemm")
def gemm(ctx: NodeContext) -> Node:
    """alpha * A' * B' + beta * C."""
    lhs, rhs, addend = ctx.input(0), ctx.input(1), ctx.optional_input(2)
    if len(lhs.shape) != 2 or len(rhs.shape) != 2:
        raise ctx.error(f"expected matrices, got shapes {lhs.shape} and {rhs.shape}")
    alpha, beta = ctx.attr("alpha"), ctx.attr("beta")
    transpose_a, transpose_b = bool(ctx.attr("transA")), bool(ctx.attr("transB"))
    if addend is not None and beta == 0:
        addend = None
    if addend is not None and beta != 1:
        addend = ctx.op(MulScalar, addend, scalar=beta)
    if not transpose_a and (transpose_b or rhs.constant is not None):
        weight = rhs if transpose_b else ctx.op(Transpose, rhs, axes=(1, 0))
        units = weight.shape[0]
        if alpha == 1 and addend is not None and _is_bias(addend, units):
            bias = reshape(ctx, addend, (units,))
            return ctx.op(Dense, lhs, weight, bias, units=units)
        product = ctx.op(Dense, lhs, weight, units=units, use_bias=False)
    else:
        product = ctx.op(Matmul, lhs, rhs, transpose_a=transpose_a, transpose_b=transpose_b)
    if alpha != 1:
        product = ctx.op(MulScalar, product, scalar=alpha)
    if addend is None or _is_zero(addend):
        return product
    total = ctx.op(BroadcastAdd, product, addend)
    if total.shape != product.shape:
        raise ctx.error(f"C of shape {addend.shape} does not broadcast to {product.shape}")
    return total


def _is_bias(addend: Node, units: int) -> bool:
    return addend.shape in ((units,), (1, units))


def _is_zero(addend: Node) -> bool:
    return is_scalar(addend) and not addend.constant
