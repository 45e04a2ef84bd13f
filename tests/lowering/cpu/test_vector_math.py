"""Elementary functions against NumPy in float64: errors in units of the last place, specials."""

import math

import numpy as np
import pytest

from nnvm_mlir.target import Target
from tests.lowering.cpu.harness import Compiled, Text

POINTS = 1 << 15
AVX512 = Target()
AVX2 = Target(vector_bits=256, vector_registers=16)
SPECIALS = np.array(
    [
        0.0, -0.0, np.nan, np.inf, -np.inf, 1.0, -1.0, 1e-45, -1e-45, 1e-39, -1e-39, 3.4e38,
        -3.4e38, 0.5, -0.5, 2.0, -2.0, 88.72, 88.73, -87.4, -103.9, -104.5, 1e5, 2e5, 1e30,
    ],
    np.float32,
)  # fmt: skip


def by_bits(low, high):
    """Floats between two positive ones, evenly spaced by bit pattern: as many in each binade."""
    first, last = (int(np.float32(x).view(np.int32)) for x in (low, high))
    return np.linspace(first, last, POINTS).astype(np.int32).view(np.float32)


def evenly(low, high):
    return np.linspace(low, high, POINTS).astype(np.float32)


def both_signs(x):
    return np.concatenate([x, -x])


TINY, HUGE = 1e-45, 3.4e38
POSITIVE = by_bits(TINY, HUGE)
ALL = both_signs(POSITIVE)
SMALL = both_signs(by_bits(TINY, 10.0))

# Function: reference, arguments, bound of the error in units of the last place.
FUNCTIONS = {
    "acos": (np.arccos, both_signs(by_bits(TINY, 1.0)), 1.3),
    "acosh": (np.arccosh, by_bits(1.0, HUGE), 0.51),
    "asin": (np.arcsin, both_signs(by_bits(TINY, 1.0)), 2.2),
    "asinh": (np.arcsinh, ALL, 0.51),
    "atan": (np.arctan, ALL, 2.5),
    "atanh": (np.arctanh, both_signs(by_bits(TINY, 1.0 - 6e-8)), 0.51),
    "cos": (np.cos, np.concatenate([evenly(-1e5, 1e5), SMALL, by_bits(1e5, HUGE)]), 1.6),
    "cosh": (np.cosh, both_signs(by_bits(TINY, 90.0)), 0.51),
    "erf": (np.vectorize(math.erf), both_signs(by_bits(TINY, 6.0)), 4.6),
    "exp": (np.exp, evenly(-104.0, 89.0), 1.1),
    "exp2": (np.exp2, evenly(-150.0, 128.5), 1.0),
    "expm1": (np.expm1, np.concatenate([evenly(-20.0, 89.0), SMALL]), 1.5),
    "log": (np.log, POSITIVE, 0.8),
    "log10": (np.log10, POSITIVE, 0.51),
    "log1p": (np.log1p, np.concatenate([evenly(-0.999999, 10.0), POSITIVE]), 1.5),
    "log2": (np.log2, POSITIVE, 0.51),
    "rsqrt": (lambda x: 1.0 / np.sqrt(x), POSITIVE, 1.5),
    "sin": (np.sin, np.concatenate([evenly(-1e5, 1e5), SMALL, by_bits(1e5, HUGE)]), 1.6),
    "sinh": (np.sinh, both_signs(by_bits(TINY, 90.0)), 0.51),
    "tan": (np.tan, np.concatenate([evenly(-1e5, 1e5), SMALL, by_bits(1e5, HUGE)]), 3.3),
    "tanh": (np.tanh, both_signs(by_bits(TINY, 20.0)), 4.4),
    "round": (lambda x: np.trunc(x + np.copysign(0.5, x)), both_signs(by_bits(1e-3, 1e9)), 0.0),
}


def compiled(name, shape, target=AVX512, element="f32", operands=1):
    text = Text()
    dims = ", ".join(f"d{i}" for i in range(len(shape)))
    inputs = [text.argument(*shape, element=element) for _ in range(operands)]
    arguments = ", ".join(f"%a{i}" for i in range(operands))
    result = text.generic(
        "p" * len(shape),
        inputs,
        text.empty(shape, element),
        [dims] * (operands + 1),
        f"%y = math.{name} {arguments} : {element}",
    )
    return Compiled(text.finish(result), target)


def ulps(actual, expected):
    """|actual - expected| in units of the last place of float32, where both are finite."""
    with np.errstate(over="ignore"):
        rounded = expected.astype(np.float32)
    finite = np.isfinite(rounded) & np.isfinite(actual)
    same = (rounded == actual) | (np.isnan(rounded) & np.isnan(actual))
    assert np.all(finite | same), "infinities and NaN"
    zero = finite & (rounded == 0) & (actual == 0)
    assert np.array_equal(np.signbit(rounded[zero]), np.signbit(actual[zero])), "signed zeros"
    unit = np.spacing(np.abs(rounded[finite])).astype(np.float64)
    return np.abs(actual[finite].astype(np.float64) - expected[finite]) / unit


@pytest.mark.parametrize("target", [AVX512, AVX2], ids=["avx512", "avx2"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_float32(name, target):
    reference, arguments, bound = FUNCTIONS[name]
    x = np.concatenate([arguments, SPECIALS])
    with np.errstate(all="ignore"):
        expected = reference(x.astype(np.float64))
        assert ulps(compiled(name, x.shape, target)(x), expected).max() <= bound


@pytest.mark.parametrize("name", ["exp", "log", "tanh", "erf", "sin", "cosh"])
def test_scalars_are_the_same_code(name):
    reference, _, bound = FUNCTIONS[name]
    function = compiled(name, ())
    for x in np.array([0.3, 1.7, 5.0, 2e5], np.float32):
        with np.errstate(over="ignore"):
            expected = np.asarray(reference(np.float64(x)))
        assert ulps(function(np.asarray(x)), expected).max(initial=0.0) <= bound


@pytest.mark.parametrize("name", ["exp", "tanh", "erf"])
def test_float16_is_computed_in_float32(name):
    reference = FUNCTIONS[name][0]
    x = np.linspace(-9.0, 9.0, 1003).astype(np.float16)
    expected = reference(x.astype(np.float64)).astype(np.float16)
    actual = compiled(name, x.shape, element="f16")(x)
    steps = np.abs(actual.view(np.int16).astype(int) - expected.view(np.int16).astype(int))
    assert steps.max() <= 1


@pytest.mark.parametrize("name", ["exp", "tanh", "erf", "asinh"])
def test_float64_calls_the_library(name):
    reference = FUNCTIONS[name][0]
    x = np.linspace(-3.0, 3.0, 37)
    np.testing.assert_allclose(compiled(name, x.shape, element="f64")(x), reference(x), rtol=1e-14)


def test_power():
    rng = np.random.default_rng(0)
    special = [
        0.0, -0.0, 1.0, -1.0, 2.0, -2.0, 3.0, -3.0, 0.5, -0.5, np.inf, -np.inf, np.nan, 1e-45,
        -1e-45, 1e10, -1e10, 3e38, 1e-20, 1.5, -1.5, 33554431.0,
    ]  # fmt: skip
    x, y = (a.ravel() for a in np.meshgrid(special, special))
    x = np.concatenate([x, np.exp(rng.uniform(-88, 88, POINTS)), rng.uniform(0.99, 1.01, POINTS)])
    y = np.concatenate([y, rng.uniform(-3, 3, POINTS), rng.uniform(-9e3, 9e3, POINTS)])
    x = np.concatenate([x, -np.exp(rng.uniform(-3, 3, POINTS))]).astype(np.float32)
    y = np.concatenate([y, rng.integers(-30, 30, POINTS)]).astype(np.float32)
    with np.errstate(all="ignore"):
        expected = np.power(x.astype(np.float64), y.astype(np.float64))
        assert ulps(compiled("powf", x.shape, operands=2)(x, y), expected).max() <= 0.51


@pytest.mark.parametrize("exponent", [-1.0, 1.0, 2.0, 3.0, 0.5])
def test_power_of_a_constant(exponent):
    text = Text()
    x = text.argument(1003)
    body = f"%c = arith.constant {exponent} : f32\n%y = math.powf %a0, %c : f32"
    kernel = Compiled(text.finish(text.generic("p", [x], text.empty((1003,)), ["d0"] * 2, body)))
    values = np.linspace(0.01, 9.0, 1003).astype(np.float32)
    np.testing.assert_allclose(kernel(values), values.astype(np.float64) ** exponent, rtol=2e-7)
    if exponent in (1.0, 2.0, 3.0):
        assert "f64" not in kernel.text
