"""Matrix products: compiled code against `evaluate`, and `evaluate` against einsum in float64."""

import ml_dtypes
import numpy as np
import pytest
from support import check_operator, evaluate, infer

from nnvm_mlir.dialects.nnvm import OPERATORS
from nnvm_mlir.dialects.nnvm.types import TensorType

RNG = np.random.default_rng(11)


def random(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


def exact(subscripts, *operands):
    return np.einsum(subscripts, *(x.astype(np.float64) for x in operands))


@pytest.mark.parametrize("shape", [(7,), (1, 17), (5, 33), (2, 3, 7), (0, 4)])
def test_dense(shape):
    data, weight, bias = random(*shape), random(6, shape[-1]), random(6)
    want = exact("...k,nk->...n", data, weight)
    got = check_operator(OPERATORS["dense"], data, weight, units=6, use_bias=False, atol=1e-5)[0]
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)
    got = check_operator(OPERATORS["dense"], data, weight, bias, units=6, atol=1e-5)[0]
    np.testing.assert_allclose(got, want + bias, rtol=1e-5, atol=1e-5)


def test_dense_over_nothing_is_the_bias():
    bias = random(3)
    data, weight = np.zeros((2, 0), np.float32), np.zeros((3, 0), np.float32)
    got = evaluate(OPERATORS["dense"], data, weight, bias, units=3)[0]
    np.testing.assert_array_equal(got, np.broadcast_to(bias, (2, 3)))


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_half_precision_accumulates_in_float32(dtype):
    data, weight = np.full((1, 4100), 0.1, dtype), np.ones((1, 4100), dtype)
    want = np.array([[4100 * float(data[0, 0])]]).astype(dtype)
    for name, operands, attributes in [
        ("dense", (data, weight), {"units": 1, "use_bias": False}),
        ("dense", (data, weight, np.zeros(1, dtype)), {"units": 1}),
        ("matmul", (data, weight.T), {}),
        ("batch_matmul", (data, weight), {"transpose_b": True}),
    ]:
        got = check_operator(OPERATORS[name], *operands, rtol=1e-2, **attributes)[0]
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize(
    ("lhs", "rhs", "attributes", "subscripts"),
    [
        ((5, 7), (7, 3), {}, "mk,kn->mn"),
        ((7, 5), (7, 3), {"transpose_a": True}, "km,kn->mn"),
        ((5, 7), (3, 7), {"transpose_b": True}, "mk,nk->mn"),
        ((2, 3, 4), (4, 5, 6), {}, "abk,kcd->abcd"),
        ((4, 3, 2), (6, 5, 4), {"transpose_a": True, "transpose_b": True}, "kba,dck->abcd"),
    ],
)
def test_matmul(lhs, rhs, attributes, subscripts):
    x, y = random(*lhs), random(*rhs)
    got = check_operator(OPERATORS["matmul"], x, y, atol=1e-5, **attributes)[0]
    np.testing.assert_allclose(got, exact(subscripts, x, y), rtol=1e-5, atol=1e-5)


def test_matmul_takes_a_vector_for_a_row():
    row, matrix = random(4), random(4, 3)
    got = check_operator(OPERATORS["matmul"], row, matrix, atol=1e-5)[0]
    np.testing.assert_allclose(got, (row @ matrix)[None], rtol=1e-5, atol=1e-5)
    column = random(3, 1)
    got = check_operator(OPERATORS["matmul"], column, row, atol=1e-5)[0]
    np.testing.assert_allclose(got, np.outer(column, row), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    ("lhs", "rhs"),
    [
        ((5, 7), (7, 3)),
        ((4, 5, 7), (4, 7, 3)),
        ((2, 1, 5, 7), (3, 7, 3)),
        ((5, 7), (4, 7, 1)),
        ((1, 5, 7), (4, 7, 3)),
        ((7,), (7,)),
        ((7,), (4, 7, 3)),
        ((2, 5, 7), (7,)),
    ],
)
def test_batch_matmul(lhs, rhs):
    x, y = random(*lhs), random(*rhs)
    got = check_operator(OPERATORS["batch_matmul"], x, y, atol=1e-5)[0]
    np.testing.assert_allclose(got, np.matmul(x.astype(float), y), rtol=1e-5, atol=1e-5)


def test_batch_matmul_transposed():
    x, y = random(1, 7, 5), random(4, 3, 7)
    got = check_operator(
        OPERATORS["batch_matmul"], x, y, transpose_a=True, transpose_b=True, atol=1e-5
    )[0]
    np.testing.assert_allclose(got, exact("zkm,bnk->bmn", x, y), rtol=1e-5, atol=1e-5)


def test_integers_wrap():
    x, y = np.array([[100, 100]], np.int8), np.array([[3], [1]], np.int8)
    assert check_operator(OPERATORS["matmul"], x, y)[0] == np.int8(400 - 512)


@pytest.mark.parametrize(
    ("lhs", "rhs", "lhs_zero", "rhs_zero"),
    [
        ((5, 7), (7, 3), (), ()),
        ((5, 7), (7, 3), (5,), (3,)),
        ((2, 5, 7), (2, 7, 3), (1,), (2, 1, 3)),
        ((2, 5, 7), (7, 3), (2, 5, 1), ()),
        ((7,), (7, 3), (), (3,)),
    ],
)
@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_matmul_integer(lhs, rhs, lhs_zero, rhs_zero, dtype):
    info = np.iinfo(dtype)
    a = RNG.integers(info.min, info.max + 1, lhs).astype(dtype)
    b = RNG.integers(-128, 128, rhs).astype("int8")
    a_zero = np.asarray(RNG.integers(info.min, info.max + 1, lhs_zero)).astype(dtype)
    b_zero = np.asarray(RNG.integers(-128, 128, rhs_zero)).astype("int8")
    got = check_operator(OPERATORS["matmul_integer"], a, b, a_zero, b_zero)[0]
    rows = a_zero[:, None] if a_zero.shape == (5,) else a_zero
    want = np.matmul(a.astype(np.int64) - rows, b.astype(np.int64) - b_zero)
    np.testing.assert_array_equal(got, want)


def test_dense_infers_parameters_and_backwards():
    ins, outs = infer(
        "dense", [TensorType((10, 20), "float32"), TensorType(), TensorType()], units=30
    )
    assert ins[1:] == [TensorType((30, 20), "float32"), TensorType((30,), "float32")]
    assert outs == [TensorType((10, 30), "float32")]
    unknown = [TensorType(), TensorType((30, 20))]
    ins, _ = infer("dense", unknown, [TensorType((4, 5, 30))], units=30, use_bias=False)
    assert ins[0] == TensorType((4, 5, 20))


@pytest.mark.parametrize(
    ("name", "shapes", "attributes", "message"),
    [
        ("dense", [(2, 3), (4, 3)], {"units": 4}, "expects 3 operands"),
        ("dense", [(2, 3), (4, 5), (4,)], {"units": 4}, "shapes 4x5 and 4x3 differ"),
        ("dense", [(2, 3), (4, 3), (4,)], {"units": 0}, "expected at least 1"),
        ("matmul", [(2, 3), (4, 5)], {}, "cannot multiply 2x3 by 4x5: 3 is not 4"),
        ("batch_matmul", [(2, 3), (2, 3)], {}, "cannot multiply 2x3 by 2x3: 3 is not 2"),
        ("batch_matmul", [(2, 2, 3), (3, 3, 4)], {}, "do not broadcast"),
        ("batch_matmul", [(), (3, 4)], {}, "rank 1 or more"),
        ("batch_matmul", [(3,), (3, 4)], {"transpose_a": True}, "'transpose_a' needs a matrix"),
        ("matmul_integer", [(2, 3), (3, 4), (), ()], {}, "expects int8 or uint8"),
    ],
)
def test_refused(name, shapes, attributes, message):
    with pytest.raises(ValueError, match=message):
        evaluate(OPERATORS[name], *(np.zeros(s, np.float32) for s in shapes), **attributes)


def test_zero_point_must_fit():
    zeros = [np.zeros(s, np.int8) for s in ((5, 7), (7, 3), (4,), ())]
    with pytest.raises(ValueError, match="zero point of shape 4 does not fit an operand 5x7"):
        evaluate(OPERATORS["matmul_integer"], *zeros)
