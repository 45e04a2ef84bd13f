"""Recurrent layers: compiled code against the references, and those against onnxruntime."""

import numpy as np
import pytest
from oracle import run_onnx
from support import check_operator, evaluate

from nnvm_mlir.dialects.nnvm import recurrent as ops
from nnvm_mlir.dialects.nnvm.types import numpy_dtype

STEPS, BATCH, INPUTS, HIDDEN = 5, 3, 4, 6
LENGTHS = np.array([5, 1, 3], np.int32)
OPERATORS = {"LSTM": ops.Lstm, "GRU": ops.Gru, "RNN": ops.Rnn}


def operands(operator, direction="forward", layout=0, dtype="float32", seed=0):
    """Random operands without sequence_lens."""
    a = operator.attributes_from({"hidden_size": HIDDEN, "direction": direction, "layout": layout})
    rng = np.random.default_rng(seed)
    shapes = operator.operand_shapes(a, STEPS, BATCH, INPUTS)[:-1]
    return [rng.uniform(-1, 1, shape).astype(numpy_dtype(dtype)) for shape in shapes]


def onnx_operands(name, arrays, lengths):
    """The operands in ONNX's order, and for layout 0."""
    data, weight, recurrence, bias, *rest = arrays
    return [data, weight, recurrence, bias, lengths, *rest]


def check(name, arrays, lengths=None, onnx_attributes=None, **attributes):
    operator = OPERATORS[name]
    attributes["hidden_size"] = HIDDEN
    given = arrays if lengths is None else [*arrays, lengths]
    results = check_operator(operator, *given, rtol=1e-4, atol=1e-5, **attributes)
    expected = run_onnx(
        name,
        *onnx_operands(name, arrays, lengths),
        outputs=len(results),
        **{**attributes, **(onnx_attributes or {})},
    )
    for have, want in zip(results, expected, strict=True):
        np.testing.assert_allclose(have, want, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
@pytest.mark.parametrize("lengths", [None, LENGTHS], ids=["full", "lengths"])
@pytest.mark.parametrize("name", OPERATORS)
def test_directions(name, lengths, direction):
    check(name, operands(OPERATORS[name], direction), lengths, direction=direction)


@pytest.mark.parametrize("name", OPERATORS)
def test_clip(name):
    check(name, operands(OPERATORS[name]), clip=0.3)


def test_gru_linear_before_reset():
    for direction in ("forward", "bidirectional"):
        arrays = operands(ops.Gru, direction)
        check("GRU", arrays, LENGTHS, direction=direction, linear_before_reset=True)


def test_lstm_input_forget():
    check("LSTM", operands(ops.Lstm), input_forget=True)


@pytest.mark.parametrize(
    ("function", "alpha", "beta"),
    [
        ("Relu", (), ()),
        ("Affine", (0.8,), (0.1,)),
        ("LeakyRelu", (0.3,), ()),
        ("ThresholdedRelu", (0.4,), ()),
        ("ScaledTanh", (0.7,), (1.3,)),
        ("HardSigmoid", (0.3,), (0.4,)),
        ("Elu", (0.6,), ()),
        ("Softsign", (), ()),
        ("Softplus", (), ()),
        ("Sigmoid", (), ()),
        ("Tanh", (), ()),
    ],
)
def test_activations(function, alpha, beta):
    given = {"activations": (function,), "activation_alpha": alpha, "activation_beta": beta}
    given = {key: value for key, value in given.items() if value}
    check("RNN", operands(ops.Rnn), **given)


def test_parameters_go_to_the_activations_that_take_them():
    check(
        "LSTM",
        operands(ops.Lstm, "bidirectional"),
        direction="bidirectional",
        activations=("HardSigmoid", "Tanh", "LeakyRelu", "Sigmoid", "Elu", "ScaledTanh"),
        activation_alpha=(0.3, 0.2, 0.5, 0.9),
        activation_beta=(0.4, 1.1),
    )


@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
@pytest.mark.parametrize("operator", OPERATORS.values())
def test_layout_1_is_layout_0_with_the_batch_first(operator, direction):
    arrays = operands(operator, direction)
    count = len(operator.states)
    batch_first = [arrays[0].swapaxes(0, 1), *arrays[1:4]]
    batch_first += [state.swapaxes(0, 1) for state in arrays[4 : 4 + count]] + arrays[4 + count :]
    attributes = {"hidden_size": HIDDEN, "direction": direction}
    y, *states = evaluate(operator, *arrays, LENGTHS, **attributes)
    results = check_operator(
        operator, *batch_first, LENGTHS, rtol=1e-4, atol=1e-5, layout=1, **attributes
    )
    np.testing.assert_array_equal(results[0], y.transpose(2, 0, 1, 3))
    for have, want in zip(results[1:], states, strict=True):
        np.testing.assert_array_equal(have, want.swapaxes(0, 1))


@pytest.mark.parametrize("dtype", ["float16", "float64"])
@pytest.mark.parametrize("operator", OPERATORS.values())
def test_dtypes(operator, dtype):
    arrays = operands(operator, dtype=dtype)
    check_operator(operator, *arrays, rtol=1e-2, atol=1e-2, hidden_size=HIDDEN)


@pytest.mark.parametrize("operator", OPERATORS.values())
def test_gates_last_is_the_same_layer_with_transposed_kernels(operator):
    attributes = {"hidden_size": HIDDEN, "direction": "bidirectional"}
    arrays = operands(operator, "bidirectional")
    expected = evaluate(operator, *arrays, **attributes)
    arrays[1:3] = [np.ascontiguousarray(kernel.swapaxes(1, 2)) for kernel in arrays[1:3]]
    got = check_operator(operator, *arrays, rtol=1e-4, atol=1e-5, kernel_layout="IG", **attributes)
    for have, want in zip(got, expected, strict=True):
        np.testing.assert_allclose(have, want, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("operator", OPERATORS.values())
def test_one_step_of_one_sequence(operator):
    arrays = operands(operator)
    arrays[0] = arrays[0][:1, :1]
    for i in operator.states:
        arrays[i] = arrays[i][:, :1]
    check_operator(operator, *arrays, rtol=1e-4, atol=1e-5, hidden_size=HIDDEN)


def test_lstm_infers_operands():
    a = ops.Lstm.attributes_from({"hidden_size": 6, "direction": "bidirectional"})
    ins, outs = ops.Lstm.infer_shape(a, [(5, 3, 4), *[None] * 7], [None] * 3)
    assert ins[1:] == [(2, 24, 4), (2, 24, 6), (2, 48), (2, 3, 6), (2, 3, 6), (2, 18), (3,)]
    assert outs == [(5, 2, 3, 6), (2, 3, 6), (2, 3, 6)]
    with pytest.raises(ValueError, match="differ"):
        ops.Lstm.infer_shape(a, [(5, 3, 4), (1, 24, 4), *[None] * 5], [None] * 3)


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        ({"hidden_size": 0}, "hidden_size >= 1"),
        ({"hidden_size": 1, "activations": ("Tanh",)}, "expects 3 activations, got 1"),
        ({"hidden_size": 1, "activations": ("Tanh", "Tanh", "Exp")}, "unknown activation 'Exp'"),
        ({"hidden_size": 1, "layout": 2}, "expected one of 0, 1"),
    ],
)
def test_lstm_refuses(attributes, message):
    with pytest.raises(ValueError, match=message):
        ops.Lstm.attributes_from(attributes)
