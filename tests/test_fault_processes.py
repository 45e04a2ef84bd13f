"""Surroundings that are hostile: environment, paths, stacks, forks, signals. Each case is a process of its own, which may die."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from onnx_models import make_model, node, tensor

import nnvm_mlir

N = 256  # enough work for several threads
NET = make_model(
    [
        node("Expand", ["one", "shape"], ["w"]),  # the model must fit into the environment
        node("MatMul", ["x", "w"], ["a"]),
        node("Softmax", ["a"], ["b"]),
        node("MatMul", ["b", "w"], ["y"]),
    ],
    {"x": [N, N]},
    initializers=[tensor("one", np.ones(1, np.float32)), tensor("shape", np.array([N, N]))],
)

PRELUDE = """
import os, sys, threading, time
import numpy as np
import nnvm_mlir, onnx
net = onnx.load_from_string(bytes.fromhex(os.environ["NET"]))
x = np.ones((256, 256), np.float32)
def same(y): return bool(np.allclose(y, 1, atol=1e-5))
"""


def run_child(code, *, options=(), env=None, cwd=None, prelude=PRELUDE, limit=30):
    """What a fresh interpreter prints for `code`; it must end well and in time."""
    child = subprocess.run(
        [sys.executable, *options, "-c", prelude + code],
        capture_output=True,
        text=True,
        timeout=limit,
        cwd=cwd,
        env={**os.environ, "NET": NET.SerializeToString().hex(), **(env or {})},
    )
    assert child.returncode == 0, (child.returncode, child.stdout, child.stderr[-2000:])
    return child.stdout.split()


@pytest.mark.parametrize("wish", ["0", "-1", "abc", "1000000", "2,3", "99999999999999999999", ""])
def test_thread_counts_that_the_environment_gives(wish, monkeypatch):
    from nnvm_mlir.target import default_threads, max_threads

    monkeypatch.setenv("OMP_NUM_THREADS", wish)
    assert 1 <= default_threads() <= max_threads()
    if wish == "2,3":
        assert default_threads() == 2


@pytest.mark.parametrize("threads", [0, -1, 10**6, 10**30])
def test_thread_counts_that_make_no_sense(threads):
    with pytest.raises(ValueError, match="threads must be 1 to"):
        nnvm_mlir.compile(NET, threads=threads)


@pytest.mark.parametrize("counts", ["nonsense", "", "-1", "x,2", "99999999999999999999"])
def test_one_core(counts):
    code = """
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
model = nnvm_mlir.compile(net)
print(model.target.threads, same(model(x)[0]), same(nnvm_mlir.compile(net, threads=4)(x)[0]))
"""
    assert run_child(code, env={"OMP_NUM_THREADS": counts}) == ["1", "True", "True"]


def test_fork_after_threads_have_run():
    code = """
import multiprocessing
model = nnvm_mlir.compile(net, threads=2)
assert same(model(x)[0])
def work(queue):
    queue.put(same(model(x)[0]) and same(nnvm_mlir.compile(net, threads=2)(x)[0]))
context = multiprocessing.get_context("fork")
queue = context.Queue()
child = context.Process(target=work, args=(queue,), daemon=True)
child.start()
print(queue.get(timeout=20))
child.join(5)
print(child.exitcode, same(model(x)[0]))
"""
    assert run_child(code) == ["True", "0", "True"]


def test_compiling_and_calling_with_a_small_stack():
    code = """
results = []
def work(): results.append(same(nnvm_mlir.compile(net, threads=2)(x)[0]))
threading.stack_size(256 * 1024)
worker = threading.Thread(target=work)
worker.start()
worker.join()
print(results)
"""
    assert run_child(code) == ["[True]"]


def test_compiling_and_calling_with_a_deep_python_stack():
    code = """
def descend(n, then): return then() if n == 0 else descend(n - 1, then)
model = nnvm_mlir.compile(net, threads=1)
print(same(descend(sys.getrecursionlimit() - 25, lambda: model(x)[0])))
print(same(descend(800, lambda: nnvm_mlir.compile(net, threads=1)(x)[0])))
"""
    assert run_child(code) == ["True", "True"]


def test_a_call_from_a_signal_handler():
    code = """
import signal
model = nnvm_mlir.compile(net, threads=2)
inside = []
signal.signal(signal.SIGALRM, lambda *_: inside.append(same(model(x)[0])))
signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
end = time.monotonic() + 0.5
outside = []
while time.monotonic() < end:
    outside.append(same(model(x)[0]))
signal.setitimer(signal.ITIMER_REAL, 0)
print(len(inside) > 0, all(inside), all(outside))
"""
    assert run_child(code) == ["True", "True", "True"]


def test_exit_while_threads_run():
    code = """
model = nnvm_mlir.compile(net, threads=2)
def work():
    while True: model(x)
for _ in range(3): threading.Thread(target=work, daemon=True).start()
time.sleep(0.2)
print("end")
"""
    assert run_child(code) == ["end"]


def test_denormal_arithmetic_of_the_caller_is_left_alone():
    code = """
model = nnvm_mlir.compile(net, threads=2)
model(x)
print(np.float32(1e-40) * np.float32(0.5) != 0, 5e-324 * 2 != 0)
"""
    assert run_child(code) == ["True", "True"]


def test_without_the_openmp_runtime():
    code = """
import importlib.util
find = importlib.util.find_spec
importlib.util.find_spec = lambda name, *more: None if name == "cmeel" else find(name, *more)
try:
    nnvm_mlir.compile(net, threads=2)
except Exception as error:
    print(type(error).__name__, "libomp.so" in str(error), "cmeel-libomp" in str(error))
print(same(nnvm_mlir.compile(net, threads=1)(x)[0]))
"""
    kind, *rest = run_child(code)
    assert kind in ("LoadError", "CompileError")
    assert rest == ["True", "True", "True"]


def test_beside_another_openmp_runtime():
    code = """
import ctypes
try:
    ctypes.CDLL("libgomp.so.1", mode=ctypes.RTLD_GLOBAL)
except OSError:
    print("skip")
else:
    print(same(nnvm_mlir.compile(net, threads=2)(x)[0]))
"""
    (got,) = run_child(code)
    if got == "skip":
        pytest.skip("there is no libgomp")
    assert got == "True"


def test_assertions_and_warnings_do_not_matter():
    code = "print(same(nnvm_mlir.compile(net, threads=2)(x)[0]))"
    assert run_child(code, options=["-O", "-W", "error"]) == ["True"]


def test_in_a_folder_that_was_deleted(tmp_path):
    path = tmp_path / "m.onnx"
    path.write_bytes(NET.SerializeToString())
    gone = tmp_path / "gone"
    gone.mkdir()
    code = f"""
print(same(nnvm_mlir.compile({str(path)!r}, threads=1)(x)[0]))
try:
    nnvm_mlir.compile("m.onnx")
except nnvm_mlir.LoadError as error:
    print("m.onnx" in str(error))
"""
    prelude = "import os; os.rmdir(os.getcwd())" + PRELUDE
    assert run_child(code, cwd=gone, prelude=prelude) == ["True", "True"]


@pytest.mark.parametrize("name", [b"a b\n'q\".onnx", b"\xff\xfe.onnx", b"-x%s{}.onnx"])
@pytest.mark.parametrize("form", ["absolute", "relative"])
def test_paths_of_any_bytes(tmp_path, monkeypatch, name, form):
    path = Path(os.fsdecode(os.path.join(os.fsencode(tmp_path), name)))
    path.write_bytes(NET.SerializeToString())
    monkeypatch.chdir(tmp_path)
    given = path if form == "absolute" else os.fsdecode(name)
    (got,) = nnvm_mlir.compile(given, threads=1)(np.ones((N, N), np.float32))
    np.testing.assert_allclose(got, 1, rtol=1e-5)


@pytest.mark.parametrize("locale", ["C", "tr_TR.UTF-8"])
def test_command_line_in_other_locales(tmp_path, locale):
    path = os.path.join(os.fsencode(tmp_path), b"[red] \xff.onnx")
    Path(os.fsdecode(path)).write_bytes(b"<html>")
    child = subprocess.run(
        [sys.executable, "-m", "nnvm_mlir.cli", "run", path],
        capture_output=True,
        env={**os.environ, "LC_ALL": locale, "PYTHONUTF8": "0"},
        timeout=30,
    )
    assert child.returncode == 1
    assert b"HTML" in child.stderr
    assert b"Traceback" not in child.stderr


def test_interrupted_while_compiling():
    code = """
import signal
from onnx import helper
nodes = [helper.make_node("Add", ["x", f"c{i}"], [f"y{i}"]) for i in range(400)]
floats = lambda name: helper.make_tensor_value_info(name, 1, [3])
weights = [helper.make_tensor(f"c{i}", 1, [1], [float(i)]) for i in range(400)]
graph = helper.make_graph(nodes, "g", [floats("x")], [floats(f"y{i}") for i in range(400)], weights)
slow = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
assert same(nnvm_mlir.compile(net, threads=1)(x)[0])
late = []
for delay in (0.05, 0.3, 0.6):
    timer = threading.Timer(delay, signal.raise_signal, [signal.SIGINT])
    start = time.monotonic()
    timer.start()
    try:
        nnvm_mlir.compile(slow, threads=1)
        timer.join()
        time.sleep(0.1)
    except KeyboardInterrupt:
        late.append(time.monotonic() - start - delay)
print(all(seconds < 2 for seconds in late), same(nnvm_mlir.compile(net, threads=1)(x)[0]))
"""
    assert run_child(code, limit=60) == ["True", "True"]
