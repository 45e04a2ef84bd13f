"""Operators that say how they work on permuted operands do so for permutations of all kinds."""

import itertools

import numpy as np
import pytest

from nnvm_mlir import symbol as sym
from nnvm_mlir.dialects.nnvm.types import TensorType
from nnvm_mlir.frontend.symbolic import symbol_graph
from nnvm_mlir.interpret import interpret
from nnvm_mlir.passes.alter_op_layout import AlterOpLayout
from nnvm_mlir.pipeline import Pipeline

X = np.random.default_rng(0).permutation(120).reshape(2, 3, 4, 5).astype(np.float32) / 16 - 3

CASES = {
    "unary": sym.tanh,
    "scalar": lambda t: t * 2,
    "binary": lambda t: t + sym.relu(t),
    "constant": lambda t: t + sym.constant(value=X[0, 0, :1, :1]),
    "where": lambda t: sym.where(sym.broadcast_greater(t, t * 2, out_dtype="bool"), t, -t),
    "cast": lambda t: sym.cast(t, dtype="int32"),
    "softmax": lambda t: sym.softmax(t, axis=-2),
    "log_softmax": lambda t: sym.log_softmax(t, axis=1),
    "layer_norm": lambda t: sym.layer_norm(t, *[sym.ones_like(sym.sum(t, axis=(0, 1, 2)))] * 2),
    "lrn": lambda t: sym.lrn(t, size=3, axis=1, alpha=1e-2, beta=0.75, bias=1.0),
    "l2_normalize": lambda t: sym.l2_normalize(t, eps=1e-3, axis=(1, -1)),
    "concatenate": lambda t: sym.concatenate(t, sym.negative(t), axis=-1),
    "split": lambda t: sym.split(t, indices_or_sections=(1,), axis=2),
    "slice": lambda t: sym.strided_slice(t, begin=(0, -1), end=(9, -9), stride=(1, -1)),
    "pad": lambda t: sym.pad(t, pad_width=(1, 0, 0, 2, 0, 0, 1, 1)),
    "pad edge": lambda t: sym.pad(t, pad_width=(1, 0, 0, 1, 0, 0, 1, 1), mode="reflect"),
    "flip": lambda t: sym.flip(t, axis=-2),
    "cumsum": lambda t: sym.cumsum(t, axis=1),
    "interpolate": lambda t: sym.interpolate(t, size=(3, 5, 6, 4), mode="linear"),
    "prelu": lambda t: sym.prelu(t, sym.max(t, axis=(0, 2, 3))),
    "max_pool": lambda t: sym.max_pool2d(t, pool_size=(2, 1), padding=(1, 0, 0, 0)),
    "max_pool_indices": lambda t: sym.max_pool2d_indices(t, pool_size=(2, 2)),
    "avg_pool": lambda t: sym.avg_pool2d(t, pool_size=(2, 2), strides=(2, 1)),
    "global_pool": sym.global_avg_pool2d,
    "upsampling": lambda t: sym.upsampling(t, scale=2),
    "resize": lambda t: sym.resize(t, size=(6, 3)),
    "argmax": lambda t: sym.argmax(t, axis=(2,)),
    "argmax of several": lambda t: sym.argmax(t, axis=(1, 2)),
    "argmin of all": lambda t: sym.argmin(t),
    "argmax of several, kept": lambda t: sym.argmax(t, axis=(1, -1), keepdims=True),
    "mean": lambda t: sym.mean(t, axis=(1, -1)),
    "max": lambda t: sym.max(t, axis=(0,), keepdims=True),
    "sum of others": lambda t: sym.sum(t, axis=(1,), exclude=True),
    "sum of all": lambda t: sym.sum(t),
    "take": lambda t: sym.take(t, sym.constant(value=np.array([1, 0])), axis=1),
    "top_k": lambda t: sym.top_k(t, k=2, axis=1),
    "one_hot": lambda t: sym.one_hot(sym.cast(t, dtype="int32"), depth=3, on_value=1, off_value=0),
    "depth_to_space": lambda t: sym.space_to_depth(sym.upsampling(t, scale=2), block_size=2),
    "broadcast_to": lambda t: sym.broadcast_to(
        sym.sum(t, axis=(1,), keepdims=True), shape=(0, 7, 0, 0)
    ),
    "tile": lambda t: sym.tile(t, reps=(2, 1, 1, 1)),
}


@pytest.mark.parametrize("case", CASES)
def test_permutations(case):
    for axes in list(itertools.permutations(range(4)))[1::2]:
        moved = sym.transpose(sym.Variable("x"), axes=axes)
        graph = symbol_graph(CASES[case](moved), {"x": TensorType.of(X)}, {})
        want = interpret(graph, {"x": X})
        Pipeline([AlterOpLayout()]).run(graph.module)
        for got, expected in zip(interpret(graph, {"x": X}), want, strict=True):
            assert (got.dtype, got.shape) == (expected.dtype, expected.shape), axes
            np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-5, err_msg=str(axes))
