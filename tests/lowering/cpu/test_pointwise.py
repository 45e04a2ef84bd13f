"""Element-wise functions and data movement against NumPy, over odd sizes and several machines."""

import numpy as np
import pytest

from nnvm_mlir.lowering.cpu import pointwise
from nnvm_mlir.lowering.cpu.emitter import Unsupported
from nnvm_mlir.mlir import ir
from nnvm_mlir.target import Target
from tests.lowering.cpu.harness import DTYPES, TARGETS, Compiled, Text, tensor


def compiled(text, target):
    return Compiled(text, target, lower=pointwise.lower)


def values(shape, dtype=np.float32, seed=0):
    rng = np.random.default_rng(seed)
    if np.issubdtype(dtype, np.floating):
        return rng.standard_normal(shape).astype(dtype)
    return rng.integers(-100, 100, shape).astype(dtype)


BROADCASTS = [
    # shape, shape of the second operand, its index
    ((), (), ""),
    ((1,), (1,), "d0"),
    ((7,), (7,), "d0"),
    ((1000,), (1000,), "d0"),
    ((140001,), (140001,), "d0"),
    ((3, 33), (33,), "d1"),
    ((3, 33), (3, 1), "d0, 0"),
    ((5, 6), (), ""),
    ((2, 3, 5, 7), (3, 1, 1), "d1, 0, 0"),
    ((64, 50, 50), (64, 1, 1), "d0, 0, 0"),
    ((4, 5, 16), (4, 1, 16), "d0, 0, d2"),
    ((2, 17, 7, 7), (2, 17, 7, 7), "d0, d1, d2, d3"),
]


def check_broadcast(shape, other, index, element, target):
    dtype = DTYPES[element]
    text = Text()
    a = text.argument(*shape, element=element)
    b = text.argument(*other, element=element)
    dims = ", ".join(f"d{d}" for d in range(len(shape)))
    add = "arith.addi" if element[0] == "i" else "arith.addf"
    body = f"%y = {add} %a0, %a1 : {element}"
    result = text.generic(
        "p" * len(shape), [a, b], text.empty(shape, element), [dims, index, dims], body
    )
    x, y = values(shape, dtype), values(other, dtype, 1)
    np.testing.assert_array_equal(compiled(text.finish(result), target)(x, y), x + y)


@TARGETS
@pytest.mark.parametrize("shape, other, index", BROADCASTS)
def test_broadcast(shape, other, index, target):
    check_broadcast(shape, other, index, "f32", target)


@pytest.mark.parametrize("shape, other, index", BROADCASTS)
@pytest.mark.parametrize("element", ["f64", "i64", "i8"])
def test_broadcast_of_other_types(shape, other, index, element):
    check_broadcast(shape, other, index, element, Target())


def test_large_work_is_parallel_and_small_work_is_not():
    def loops(size):
        text = Text()
        x = text.argument(size)
        body = "%y = arith.negf %a0 : f32"
        result = text.generic("p", [x], text.empty((size,)), ["d0", "d0"], body)
        return compiled(text.finish(result), Target(threads=2)).text

    assert "scf.parallel" not in loops(1000)
    assert loops(1_000_000).count("scf.parallel") == 1


@TARGETS
def test_padded_operand_that_is_broadcast_along_the_lanes(target):
    text = Text()
    x, y = text.argument(3), text.argument(6, 33)
    padded = text.pad(x, [2], [1], "4.0")
    body = "%y = arith.addf %a0, %a1 : f32"
    result = text.generic("pp", [padded, y], text.empty((6, 33)), ["d0", "d0, d1", "d0, d1"], body)
    a, b = values((3,)), values((6, 33), seed=1)
    expected = np.pad(a, (2, 1), constant_values=4)[:, None] + b
    np.testing.assert_array_equal(compiled(text.finish(result), target)(a, b), expected)


@TARGETS
def test_chain_over_a_reshape(target):
    text = Text()
    x, scale = text.argument(4, 6, 9), text.argument(6, 1)
    three = ["d0, d1, d2", "d1, 0", "d0, d1, d2"]
    body = "%t = math.tanh %a0 : f32\n%y = arith.mulf %t, %a1 : f32"
    scaled = text.generic("ppp", [x, scale], text.empty((4, 6, 9)), three, body)
    text.lines.append(
        f"%flat = tensor.collapse_shape {scaled[0]} [[0, 1], [2]] : "
        f"{tensor((4, 6, 9), 'f32')} into {tensor((24, 9), 'f32')}"
    )
    body = "%y = math.absf %a0 : f32"
    result = text.generic(
        "pp", [("%flat", (24, 9), "f32")], text.empty((24, 9)), ["d0, d1", "d0, d1"], body
    )
    a, b = values((4, 6, 9)), values((6, 1))
    expected = np.abs(np.tanh(a.astype(np.float64)) * b).reshape(24, 9)
    np.testing.assert_allclose(compiled(text.finish(result), target)(a, b), expected, 1e-6)


def test_a_value_used_twice_at_every_step_is_computed_once():
    text = Text()
    value = text.argument(37)
    for _ in range(60):
        body = (
            "%s = arith.addf %a0, %a1 : f32\n%c = arith.constant 0.5 : f32\n"
            "%y = arith.mulf %s, %c : f32"
        )
        value = text.generic("p", [value, value], text.empty((37,)), ["d0"] * 3, body)
    kernel = compiled(text.finish(value), Target())
    x = values(37)
    np.testing.assert_array_equal(kernel(x), x)
    assert kernel.text.count("arith.addf") <= 3 * 60


MIXED = """
func.func private @kernel(%a: tensor<5x37xf32>, %b: tensor<5x37xi8>, %c: tensor<5x37xi64>)
    -> (tensor<5x37xf32>, tensor<5x37xi8>, tensor<5x37xi64>) {
  %e = tensor.empty() : tensor<5x37xf32>
  %e8 = tensor.empty() : tensor<5x37xi8>
  %e64 = tensor.empty() : tensor<5x37xi64>
  %r:3 = linalg.generic {
      indexing_maps = [#m, #m, #m, #m, #m, #m], iterator_types = ["parallel", "parallel"]}
      ins(%a, %b, %c : tensor<5x37xf32>, tensor<5x37xi8>, tensor<5x37xi64>)
      outs(%e, %e8, %e64 : tensor<5x37xf32>, tensor<5x37xi8>, tensor<5x37xi64>) {
  ^bb0(%x: f32, %y: i8, %w: i64, %o: f32, %o8: i8, %o64: i64):
    %zero = arith.constant 0 : i8
    %mask = arith.cmpi ne, %y, %zero : i8
    %wide = arith.sitofp %w : i64 to f32
    %s = arith.select %mask, %x, %wide : f32
    %less = arith.cmpf olt, %x, %wide : f32
    %flag = arith.extui %less : i1 to i8
    %i = linalg.index 1 : index
    %column = arith.index_cast %i : index to i64
    %t = arith.addi %column, %w : i64
    linalg.yield %s, %flag, %t : f32, i8, i64
  } -> (tensor<5x37xf32>, tensor<5x37xi8>, tensor<5x37xi64>)
  return %r#0, %r#1, %r#2 : tensor<5x37xf32>, tensor<5x37xi8>, tensor<5x37xi64>
}
""".replace("#m", "affine_map<(i, j) -> (i, j)>")


@TARGETS
def test_mixed_types_masks_indices_and_several_results(target):
    a, b, c = values((5, 37)) * 50, values((5, 37), np.int8) % 2, values((5, 37), np.int64)
    selected, less, column = compiled(MIXED, target)(a, b, c)
    np.testing.assert_array_equal(selected, np.where(b != 0, a, c.astype(np.float32)))
    np.testing.assert_array_equal(less, (a < c).astype(np.int8))
    np.testing.assert_array_equal(column, c + np.arange(37))


def insert(text, part, whole, offsets, steps=None):
    """tensor.insert_slice of `part` into `whole`."""
    (name, shape, element), (target, full, _) = part, whole
    steps = steps or [1] * len(shape)
    result = f"%into{len(text.lines)}"
    text.lines.append(
        f"{result} = tensor.insert_slice {name} into {target}{list(offsets)}{list(shape)}{steps} : "
        f"{tensor(shape, element)} into {tensor(full, element)}"
    )
    return result, full, element


def extract(text, value, offsets, sizes, steps, kept=None):
    """tensor.extract_slice; `kept` is the shape of the result where unit dimensions are dropped."""
    name, shape, element = value
    kept = tuple(kept or sizes)
    result = f"%from{len(text.lines)}"
    text.lines.append(
        f"{result} = tensor.extract_slice {name}{list(offsets)}{list(sizes)}{list(steps)} : "
        f"{tensor(shape, element)} to {tensor(kept, element)}"
    )
    return result, kept, element


@TARGETS
@pytest.mark.parametrize("axis, sizes", [(1, [3, 4, 1]), (0, [2, 1]), (2, [5, 18])])
@pytest.mark.parametrize("element", ["f32", "i64", "i8"])
def test_concatenation(axis, sizes, element, target):
    shapes = [[2, 3, 20] for _ in sizes]
    for shape, size in zip(shapes, sizes, strict=True):
        shape[axis] = size
    full = list(shapes[0])
    full[axis] = sum(sizes)
    text = Text()
    parts = [text.argument(*shape, element=element) for shape in shapes]
    whole = text.empty(full, element)
    start = 0
    for part, size in zip(parts, sizes, strict=True):
        offsets = [0, 0, 0]
        offsets[axis] = start
        whole = insert(text, part, whole, offsets)
        start += size
    dtype = DTYPES[element]
    arrays = [values(shape, dtype, i) for i, shape in enumerate(shapes)]
    actual = compiled(text.finish(whole), target)(*arrays)
    np.testing.assert_array_equal(actual, np.concatenate(arrays, axis))


def test_concatenation_of_large_parts_on_threads():
    text = Text()
    parts = [text.argument(64, 5000), text.argument(64, 6001)]
    whole = insert(text, parts[0], text.empty((64, 11001)), (0, 0))
    whole = insert(text, parts[1], whole, (0, 5000))
    kernel = compiled(text.finish(whole), Target(threads=2))
    assert kernel.text.count("scf.parallel") == 2
    a, b = values((64, 5000)), values((64, 6001), seed=1)
    np.testing.assert_array_equal(kernel(a, b), np.concatenate([a, b], 1))


@TARGETS
def test_slices_with_steps(target):
    text = Text()
    x = text.argument(6, 10, 40)
    steps = extract(text, x, (1, 2, 3), (3, 4, 17), (2, 1, 2))
    row = extract(text, x, (1, 2, 0), (1, 4, 40), (1, 1, 1), (4, 40))
    a = values((6, 10, 40))
    got_steps, got_row = compiled(text.finish(steps, row), target)(a)
    np.testing.assert_array_equal(got_steps, a[1:6:2, 2:6, 3:37:2])
    np.testing.assert_array_equal(got_row, a[1, 2:6])


@TARGETS
def test_split_of_a_computed_value(target):
    text = Text()
    x = text.argument(6, 50)
    body = "%y = math.absf %a0 : f32"
    value = text.generic("pp", [x], text.empty((6, 50)), ["d0, d1"] * 2, body)
    parts = [
        extract(text, value, (0, 0), (6, 17), (1, 1)),
        extract(text, value, (0, 17), (6, 33), (1, 1)),
    ]
    a = values((6, 50))
    first, second = compiled(text.finish(*parts), target)(a)
    np.testing.assert_array_equal(first, np.abs(a[:, :17]))
    np.testing.assert_array_equal(second, np.abs(a[:, 17:]))


@TARGETS
def test_stores_with_steps_over_a_filled_tensor(target):
    text = Text()
    x = text.argument(3, 20)
    whole = insert(text, x, text.fill("0.5", (6, 41)), (1, 1), [2, 2])
    a = values((3, 20))
    expected = np.full((6, 41), 0.5, np.float32)
    expected[1::2, 1::2] = a
    np.testing.assert_array_equal(compiled(text.finish(whole), target)(a), expected)


@TARGETS
def test_pad(target):
    text = Text()
    padded = text.pad(text.argument(2, 3, 5, 7), [0, 0, 1, 2], [0, 0, 2, 3], "1.5")
    a = values((2, 3, 5, 7))
    expected = np.pad(a, ((0, 0), (0, 0), (1, 2), (2, 3)), constant_values=1.5)
    np.testing.assert_array_equal(compiled(text.finish(padded), target)(a), expected)


@TARGETS
def test_padded_operand_of_an_element_wise_function(target):
    text = Text()
    padded = text.pad(text.argument(2, 5, 27), [0, 1, 2], [0, 2, 3], "1.5")
    other = text.argument(2, 8, 32)
    body = "%y = arith.mulf %a0, %a1 : f32"
    maps = ["d0, d1, d2"] * 3
    result = text.generic("ppp", [padded, other], text.empty((2, 8, 32)), maps, body)
    a, b = values((2, 5, 27)), values((2, 8, 32), seed=1)
    expected = np.pad(a, ((0, 0), (1, 2), (2, 3)), constant_values=1.5) * b
    np.testing.assert_array_equal(compiled(text.finish(result), target)(a, b), expected)


@TARGETS
def test_reversed_and_transposed_operands(target):
    text = Text()
    x, y = text.argument(5, 37), text.argument(37, 5)
    body = "%y = arith.subf %a0, %a1 : f32"
    maps = ["d0, 36 - d1", "d1, d0", "d0, d1"]
    result = text.generic("pp", [x, y], text.empty((5, 37)), maps, body)
    a, b = values((5, 37)), values((37, 5), seed=1)
    actual = compiled(text.finish(result), target)(a, b)
    np.testing.assert_array_equal(actual, a[:, ::-1] - b.T)


def test_no_elements():
    text = Text()
    x = text.argument(3, 0)
    body = "%y = math.absf %a0 : f32"
    result = text.generic("pp", [x], text.empty((3, 0)), ["d0, d1"] * 2, body)
    assert compiled(text.finish(result), Target())(np.zeros((3, 0), np.float32)).shape == (3, 0)


def test_a_reduction_is_left_as_it_is():
    text = Text()
    x = text.argument(3, 5)
    body = "%y = arith.addf %acc, %a0 : f32"
    result = text.generic("pr", [x], text.fill("0.0", (3,)), ["d0, d1", "d0"], body)
    with ir.Context(), ir.Location.unknown():
        module = ir.Module.parse(text.finish(result))
        before = str(module)
        with pytest.raises(Unsupported, match="a reduction"):
            pointwise.lower(module.body.operations[0], Target())
        assert str(module) == before


def test_elements_too_far_apart_for_a_gather_are_refused_before_anything_is_emitted():
    text = Text()
    x, out = text.argument(2, 2**31), text.empty((2**31, 2))
    text.lines.append("%t = arith.constant dense<[1.0, 2.0]> : tensor<2xf32>")
    body = "%y = arith.addf %a0, %a1 : f32"
    maps = ["d1, d0", "d1", "d0, d1"]
    result = text.generic("pp", [x, ("%t", (2,), "f32")], out, maps, body)
    with ir.Context(), ir.Location.unknown():
        module = ir.Module.parse(text.finish(result))
        before = str(module)
        with pytest.raises(Unsupported, match="2147483648 apart"):
            pointwise.lower(module.body.operations[0], Target())
        assert str(module) == before
