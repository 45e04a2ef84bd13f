"""The command line `nnvm` on a tiny model: results, files, exit codes, and no traceback for bad input."""

import json

import numpy as np
import onnx
import pytest
from onnx import helper
from onnx_models import INT64, make_model, node, tensor, value_info

from nnvm_mlir.cli import main

W = np.arange(6, dtype=np.float32).reshape(3, 2)


@pytest.fixture
def model(tmp_path):
    path = tmp_path / "tiny.onnx"
    nodes = [node("MatMul", ["x", "w"], ["m"]), node("Relu", ["m"], ["y"])]
    proto = make_model(
        nodes, {"x": ["batch", 3]}, [value_info("y", ["batch", 2])], [tensor("w", W)]
    )
    onnx.save(proto, path)
    return path


@pytest.fixture
def run(capfd):
    def call(*arguments):
        code = main([str(argument) for argument in arguments])
        out, err = capfd.readouterr()
        assert "Traceback" not in out + err
        return code, out, err

    return call


def test_run_on_given_inputs(run, model, tmp_path):
    x = np.array([[1, -2, 3], [-1, 0, 0]], np.float32)
    np.savez(tmp_path / "in.npz", x=x)
    code, out, _ = run(
        "run", model, "--input", tmp_path / "in.npz", "--output", tmp_path / "out.npz"
    )
    assert code == 0
    assert "2x3" in out
    assert "2x2" in out
    with np.load(tmp_path / "out.npz") as archive:
        np.testing.assert_allclose(archive["y"], np.maximum(x @ W, 0), rtol=1e-6)


def test_run_on_random_inputs(run, model):
    code, first, _ = run("run", model, "--shape", "x=4x3")
    assert code == 0
    assert "4x3" in first
    assert run("run", model, "--shape", "x=4x3")[1] == first
    assert run("run", model, "--shape", "x=4x3", "--seed", 1)[1] != first


def test_bench(run, model):
    code, out, _ = run("bench", model, "-s", "x=1x3", "--seconds", 0.05, "--threads", 1, "--json")
    assert code == 0
    result = json.loads(out)
    assert result["threads"] == 1
    assert 0 < result["nnvm_mlir"]["p10"] <= result["nnvm_mlir"]["median"]
    code, out, _ = run("bench", model, "-s", "x=1x3", "--seconds", 0.05, "--threads", 1)
    assert code == 0
    assert "median" in out


def test_show(run, model):
    code, out, _ = run("show", model, "-s", "x=1x3", "--after", "list")
    assert code == 0
    assert "nnvm-fuse" in out.split()
    code, out, _ = run("show", model, "-s", "x=1x3", "--after", "nnvm-fuse")
    assert code == 0
    assert "func.func @main" in out
    code, _, err = run("show", model, "-s", "x=1x3", "--after", "nnvm-fuze")
    assert code == 1
    assert "nnvm-fuse" in err


def test_compile_and_run_what_was_compiled(run, model, tmp_path):
    folder = tmp_path / "a" / "b"
    for _ in range(2):
        code, out, err = run("compile", model, "-o", folder, "-s", "x=2x3", "--threads", 1)
        assert code == 0, err
    assert "2x3" in out
    stages = sorted(path.name for path in (folder / "stages").iterdir())
    assert stages[0].startswith("00-import")
    np.savez(tmp_path / "in.npz", x=np.ones((2, 3), np.float32))
    arguments = ["--input", tmp_path / "in.npz", "--output", tmp_path / "out.npz"]
    code, _, err = run("run", folder, *arguments)
    assert code == 0, err
    with np.load(tmp_path / "out.npz") as archive:
        np.testing.assert_allclose(archive["y"], [[6, 9], [6, 9]], rtol=1e-6)


def test_compile_never_replaces_a_folder_of_something_else(run, model, tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").write_text("years of work")
    code, _, err = run("compile", model, "-o", tmp_path / "mine", "-s", "x=2x3")
    assert code == 1
    assert "mine" in err
    assert (tmp_path / "mine" / "thesis.tex").read_text() == "years of work"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["mine", "tiny.onnx"]


def test_index_out_of_range_in_the_input(run, tmp_path):
    inputs = [value_info("x", [2]), value_info("i", [1], INT64)]
    proto = make_model([node("Gather", ["x", "i"], ["y"])], inputs, [value_info("y", [1])])
    onnx.save(proto, tmp_path / "gather.onnx")
    np.savez(tmp_path / "in.npz", x=np.ones(2, np.float32), i=np.array([2]))
    code, _, err = run("run", tmp_path / "gather.onnx", "--input", tmp_path / "in.npz")
    assert code == 1
    assert "out of range" in err


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["run", "MODEL"], 1, "--shape"),
        (["run", "MODEL", "--shape", "x=3"], 1, "x"),
        (["run", "MODEL", "--shape", "x=2x4"], 1, "x"),
        (["run", "MODEL", "--shape", "z=2x3"], 1, "'z'"),
        (["run", "MODEL", "--shape", "2x3"], 1, "NAME="),
        (["run", "MODEL", "--shape", "x=-1x3"], 1, "NAME="),
        (["run", "MODEL", "--shape", "x=1x3", "--target", "gpu"], 1, "target"),
        (["run", "missing.onnx"], 1, "missing.onnx"),
        (["run", "FOLDER"], 1, "not a compiled model"),
        (["run", "TEXT"], 1, "text.npz"),
        (["run", "MODEL", "--input", "missing.npz"], 1, "missing.npz"),
        (["run", "MODEL", "--input", "TEXT"], 1, "text.npz"),
        (["run", "MODEL", "--input", "EMPTY"], 1, "empty.npz"),
        (["run", "MODEL", "--input", "OTHER"], 1, "'x'"),
        (["run", "MODEL", "--input", "WRONG"], 1, "float64"),
        (["run", "MODEL", "-s", "x=1x3", "--output", "FOLDER/none/y.npz"], 1, "none"),
        (["compile", "MODEL", "-s", "x=1x3", "-o", "TEXT"], 1, "text.npz"),
        (["compile", "FOLDER", "-o", "FOLDER/none/y.npz"], 1, "not a regular file"),
        (["show", "FOLDER"], 1, "not a regular file"),
        (["bench", "FOLDER"], 1, "not a regular file"),
        (["bench", "MODEL", "-s", "x=1x3", "--threads", "0"], 2, "threads"),
        (["run", "MODEL", "--opt-level", "7"], 2, "opt-level"),
        (["compile", "MODEL"], 2, "output"),
        (["rum", "MODEL"], 2, "rum"),
        (["run"], 2, "MODEL"),
    ],
)
def test_bad_input(run, model, tmp_path, arguments, code, message):
    (tmp_path / "text.npz").write_text("<html>not a model</html>")
    (tmp_path / "empty.npz").write_bytes(b"")
    np.savez(tmp_path / "other.npz", z=W)
    np.savez(tmp_path / "wrong.npz", x=np.ones((1, 3)))
    places = {
        "MODEL": model,
        "FOLDER": tmp_path,
        "TEXT": tmp_path / "text.npz",
        "EMPTY": tmp_path / "empty.npz",
        "OTHER": tmp_path / "other.npz",
        "WRONG": tmp_path / "wrong.npz",
        "FOLDER/none/y.npz": tmp_path / "none" / "y.npz",
    }
    got, out, err = run(*(places.get(argument, argument) for argument in arguments))
    assert got == code, err
    assert message in err.replace("\n", "")
    assert out == "" or "none" in message


def test_help(run):
    code, out, _ = run("--help")
    assert code == 0
    for command in ("compile", "run", "bench", "show"):
        assert command in out
        assert run(command, "--help")[0] == 0


def test_hostile_names(run, tmp_path):
    names = {"x": "[/bold] in=\n", "y": "file", "z": "../../z"}
    nodes = [node("Neg", [names["x"]], [names["y"]]), node("Abs", [names["x"]], [names["z"]])]
    outputs = [value_info(names["y"], [2], INT64), value_info(names["z"], [2], INT64)]
    path = tmp_path / "[red]model.onnx"
    onnx.save(make_model(nodes, [value_info(names["x"], [2], INT64)], outputs), path)
    code, out, err = run("run", path, "--output", tmp_path / "y.npz")
    assert code == 0, err
    assert "[/bold]" in out
    with np.load(tmp_path / "y.npz") as archive:
        assert sorted(archive.files) == sorted([names["y"], names["z"]])
    assert not (tmp_path.parent.parent / "z.npy").exists()


def test_unsupported_operators_are_listed(run, tmp_path):
    path = tmp_path / "m.onnx"
    nodes = [helper.make_node("Foo", ["x"], ["m"], domain="dom"), node("Bar", ["m"], ["y"])]
    onnx.save(make_model(nodes, {"x": [2]}, domains={"dom": 1}), path)
    code, _, err = run("run", path)
    assert code == 1
    assert "Foo" in err
    assert "Bar" in err
