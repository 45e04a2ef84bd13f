"""Calling compiled programs: every kind of array that a caller may give, threads, and lifetimes."""

import gc
import sys
import threading
import time

import numpy as np
import pytest

import nnvm_mlir
from nnvm_mlir import symbol as sym


def build(make, threads=1, **types):
    """A program for `make` of variables, given as name=(shape, dtype)."""
    variables = [sym.Variable(name, shape, dtype) for name, (shape, dtype) in types.items()]
    model = nnvm_mlir.compile(make(*variables), threads=threads)
    return model._latest


@pytest.fixture(scope="module")
def difference():
    return build(lambda x, y: x * 2 - y, x=((3, 4), "float32"), y=((4,), "float32"))


X = np.arange(12, dtype=np.float32).reshape(3, 4)
Y = np.float32([1, 2, 3, 4])
WANT = X * 2 - Y


def misaligned(array):
    raw = np.zeros(array.nbytes + 1, np.uint8)
    view = raw[1:].view(array.dtype).reshape(array.shape)
    view[...] = array
    return view


def read_only(array):
    array = array.copy()
    array.flags.writeable = False
    return array


class DLPack:
    """An array of another library."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


FORMS = {
    "plain": lambda a: a,
    "strided": lambda a: np.repeat(a, 2, axis=-1)[..., ::2],
    "negative strides": lambda a: np.flip(np.flip(a).copy()),
    "Fortran order": np.asfortranarray,
    "big endian": lambda a: a.astype(">f4"),
    "read-only": read_only,
    "misaligned": misaligned,
    "subclass": lambda a: a.view(np.matrix) if a.ndim == 2 else a,
    "lists": lambda a: a.tolist(),
    "integers in lists": lambda a: a.astype(int).tolist(),
    "DLPack": DLPack,
    "memoryview": lambda a: memoryview(a),
    "offset by one element": lambda a: np.concatenate([a.ravel()[:1], a.ravel()])[1:].reshape(
        a.shape
    ),
}


@pytest.mark.parametrize("form", FORMS)
def test_arrays_of_every_form(difference, form):
    x, y = FORMS[form](X), FORMS[form](Y)
    got = difference([x, y])[0]
    assert type(got) is np.ndarray
    np.testing.assert_array_equal(got, WANT)


@pytest.mark.parametrize(
    ("arrays", "error", "message"),
    [
        ([X], ValueError, "expected 2 inputs, got 1"),
        ([X, Y, Y], ValueError, "expected 2 inputs, got 3"),
        ([X.astype(np.float64), Y], TypeError, "x: 3x4 float32: got dtype float64"),
        ([X.astype(np.int32), Y], TypeError, "got dtype int32"),
        ([X.view(np.int32), Y], TypeError, "got dtype int32"),
        ([X[:2], Y], ValueError, "x: 3x4 float32: got shape 2x4"),
        ([X, Y[None]], ValueError, "y: 4 float32: got shape 1x4"),
        ([X.T, Y], ValueError, "got shape 4x3"),
        ([X, 1.0], ValueError, "got shape scalar"),
        ([X, None], TypeError, "y: 4 float32: got dtype object"),
        ([X, "text"], TypeError, "y: 4 float32"),
        ([X, ["a", "b", "c", "d"]], TypeError, "y: 4 float32"),
        ([X, [1, 2, [3], 4]], ValueError, "y: 4 float32"),
        ([X, {"y": Y}], TypeError, "y: 4 float32"),
        ([X, [1j, 2, 3, 4]], TypeError, "y: 4 float32"),
    ],
)
def test_arrays_that_do_not_fit_are_refused_by_name(difference, arrays, error, message):
    with pytest.raises(error, match=message):
        difference(arrays)
    np.testing.assert_array_equal(difference([X, Y])[0], WANT)


def test_numbers_in_lists_are_never_cut():
    program = build(lambda x: x + 1, x=((2,), "int8"))
    np.testing.assert_array_equal(program([[1, 2]])[0], [2, 3])
    np.testing.assert_array_equal(program([np.int8([127, -1])])[0], [-128, 0])
    with pytest.raises(TypeError, match="x: 2 int8"):
        program([[1.5, 2]])
    with pytest.raises(ValueError, match="x: 2 int8"):
        program([[300, 2]])


@pytest.mark.parametrize("dtype", ["float64", "float16", "bool", "uint8", "int64", "uint32"])
def test_dtypes(dtype):
    program = build(lambda x: sym.copy(x), x=((5,), dtype))
    x = np.array([0, 1, 1, 0, 1]).astype(dtype)
    got = program([x])[0]
    assert got.dtype == x.dtype
    np.testing.assert_array_equal(got, x)
    np.testing.assert_array_equal(program([x.astype(x.dtype.newbyteorder(">"))])[0], x)


@pytest.mark.parametrize("shape", [(), (1,), (0,), (2, 0, 3), (1, 1, 1, 1, 1), (1000,), (7, 13)])
def test_shapes(shape):
    program = build(lambda x: sym.exp(x) - 1, x=(shape, "float32"))
    x = np.full(shape, 0.5, np.float32)
    got = program([x])[0]
    assert got.shape == shape
    np.testing.assert_allclose(got, np.exp(x) - 1, rtol=1e-5)
    if shape == ():
        np.testing.assert_allclose(program([0.5])[0], np.exp(0.5) - 1, rtol=1e-5)


def test_given_output_arrays(difference):
    out = np.zeros((3, 4), np.float32)
    assert difference([X, Y], out=[out])[0] is out
    np.testing.assert_array_equal(out, WANT)
    x = X.copy()
    difference([x, Y], out=[x])
    np.testing.assert_array_equal(x, WANT)
    shifted = np.zeros(16, np.float32)
    x = shifted[:12].reshape(3, 4)
    x[...] = X
    difference([x, Y], out=[shifted[4:].reshape(3, 4)])
    np.testing.assert_array_equal(shifted[4:].reshape(3, 4), WANT)


@pytest.mark.parametrize(
    "out",
    [
        [],
        [np.zeros((3, 4), np.float64)],
        [np.zeros((4, 3), np.float32)],
        [np.zeros((3, 8), np.float32)[:, ::2]],
        [read_only(X)],
        [misaligned(X)],
        [X.tolist()],
        [np.zeros((3, 4), ">f4")],
    ],
)
def test_output_arrays_that_do_not_fit(difference, out):
    with pytest.raises(ValueError, match="output"):
        difference([X, Y], out=out)


def test_output_arrays_that_overlap():
    program = build(lambda x: sym.Group([x + 1, x + 2]), x=((4,), "float32"))
    both = np.zeros(6, np.float32)
    with pytest.raises(ValueError, match="overlap"):
        program([Y], out=[both[:4], both[2:]])
    first, second = program([Y], out=[both[:4], np.zeros(4, np.float32)])
    np.testing.assert_array_equal(first, Y + 1)
    np.testing.assert_array_equal(second, Y + 2)


def test_outputs_that_are_inputs_constants_or_equal_do_not_share_memory():
    program = build(
        lambda x: sym.Group([x, x, sym.ones(shape=(4,)), sym.reshape(x, shape=(2, 2))]),
        x=((4,), "float32"),
    )
    outputs = program([Y])
    for output in outputs:
        assert not np.may_share_memory(output, Y)
        output += 1
    np.testing.assert_array_equal(outputs[0], Y + 1)
    np.testing.assert_array_equal(outputs[1], Y + 1)
    np.testing.assert_array_equal(outputs[2], np.full(4, 2))
    np.testing.assert_array_equal(outputs[3].ravel(), Y + 1)
    np.testing.assert_array_equal(program([Y])[2], np.ones(4))


def test_outputs_outlive_the_next_call_and_the_program():
    program = build(lambda x: sym.tanh(x), x=((1000,), "float32"))
    x = np.linspace(-1, 1, 1000, dtype=np.float32)
    first = program([x])[0]
    kept = first.copy()
    program([x + 1])
    np.testing.assert_array_equal(first, kept)
    call = program.__call__
    del program
    gc.collect()
    np.testing.assert_array_equal(call([x])[0], kept)
    del call
    gc.collect()
    np.testing.assert_array_equal(first, kept)


@pytest.mark.parametrize("threads", [1, 2])
def test_sixteen_callers_get_the_same_bits(threads):
    def network(x, w):
        y = sym.matmul(x, w)
        return sym.softmax(sym.tanh(y) + sym.mean(y, axis=(1,), keepdims=True))

    program = build(network, threads, x=((16, 64), "float32"), w=((64, 48), "float32"))
    rng = np.random.default_rng(0)
    feeds = [
        [rng.standard_normal(s.shape).astype(np.float32) for s in program.inputs] for _ in range(16)
    ]
    want = [program(arrays)[0].tobytes() for arrays in feeds]
    failures = []

    def work(index):
        for _ in range(50):
            if program(feeds[index])[0].tobytes() != want[index]:
                failures.append(index)

    workers = [threading.Thread(target=work, args=(index,)) for index in range(16)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert failures == []


def test_a_call_with_hardly_any_python_stack_left(difference):
    def depth():
        frame, count = sys._getframe(), 0
        while frame is not None:
            frame, count = frame.f_back, count + 1
        return count

    def descend(levels):
        return difference([X, Y])[0] if levels == 0 else descend(levels - 1)

    remaining = sys.getrecursionlimit() - depth()
    np.testing.assert_array_equal(descend(remaining - 20), WANT)


def test_a_call_from_a_thread_with_a_small_stack():
    program = build(
        lambda x, w: sym.softmax(sym.relu(sym.matmul(x, w))),
        x=((64, 64), "float32"),
        w=((64, 64), "float32"),
    )
    x = np.eye(64, dtype=np.float32)
    want = program([x, x])[0]
    results = []
    previous = threading.stack_size(64 * 1024)
    try:
        worker = threading.Thread(target=lambda: results.append(program([x, x])[0]))
        worker.start()
        worker.join()
    finally:
        threading.stack_size(previous)
    np.testing.assert_array_equal(results[0], want)


def test_the_interpreter_lock_is_free_during_a_call():
    program = build(
        lambda x, w: sym.matmul(x, w), x=((768, 768), "float32"), w=((768, 768), "float32")
    )
    x = np.ones((768, 768), np.float32)
    ticks = []
    stop = threading.Event()

    def tick():
        while not stop.is_set():
            ticks.append(None)
            time.sleep(0.0002)

    worker = threading.Thread(target=tick)
    switch = sys.getswitchinterval()
    worker.start()
    sys.setswitchinterval(100)
    try:
        program([x, x])
        before = len(ticks)
        program([x, x])
        after = len(ticks)
    finally:
        stop.set()
        sys.setswitchinterval(switch)
        worker.join()
    assert after > before + 2


def test_programs_that_are_deleted_during_calls():
    x = np.ones((64, 64), np.float32)
    for _ in range(3):
        program = build(
            lambda a, w: sym.matmul(a, w), a=((64, 64), "float32"), w=((64, 64), "float32")
        )
        results = []
        workers = [
            threading.Thread(
                target=lambda p=program, into=results: into.extend(
                    p([x, x])[0][0, 0] for _ in range(50)
                )
            )
            for _ in range(4)
        ]
        for worker in workers:
            worker.start()
        del program
        gc.collect()
        for worker in workers:
            worker.join()
        assert results == [64.0] * 200


def test_indices_out_of_range_are_reported_and_do_no_harm():
    program = build(
        lambda a, i: sym.take(sym.take(a, i, axis=0, name="rows"), i, axis=1, name="columns"),
        a=((3, 100), "float32"),
        i=((2,), "int64"),
    )
    a = np.arange(300, dtype=np.float32).reshape(3, 100)
    good = np.array([2, -3])
    for bad in ([3, 0], [0, -4], [2**62, 0], [-(2**63), 1]):
        with pytest.raises(IndexError, match="rows"):
            program([a, np.array(bad)])
        np.testing.assert_array_equal(program([a, good])[0], a[[2, 0]][:, [2, -3]])


def test_a_failure_in_one_thread_is_not_seen_by_another():
    program = build(lambda a, i: sym.take(a, i), a=((4,), "float32"), i=((2,), "int64"))
    outcomes = {True: set(), False: set()}

    def work(fails):
        for _ in range(300):
            try:
                outcomes[fails].add(tuple(program([Y, np.array([1, 9 if fails else 2])])[0]))
            except IndexError:
                outcomes[fails].add("error")

    workers = [threading.Thread(target=work, args=(index % 2 == 0,)) for index in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert outcomes == {True: {"error"}, False: {(2.0, 3.0)}}
