"""Compiled models on disk: what is loaded is what was saved, and anything else is refused before it runs."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

import nnvm_mlir
from nnvm_mlir import LoadError
from nnvm_mlir import symbol as sym
from nnvm_mlir.runtime import artifact

X = np.arange(12, dtype=np.float32).reshape(3, 4)
Y = np.ones(5, np.float32)
W = np.linspace(-1, 1, 20, dtype=np.float32).reshape(4, 5)


@pytest.fixture(scope="module")
def model():
    x, y = sym.Variable("x", (3, 4)), sym.Variable("y", (5,))
    product = sym.matmul(x, sym.constant(value=W)) + y
    return nnvm_mlir.compile(sym.Group([sym.tanh(product), sym.relu(x)]), threads=1)


@pytest.fixture
def folder(model, tmp_path):
    model.save(tmp_path / "saved")
    return tmp_path / "saved"


def test_a_program_of_several_threads(tmp_path):
    x = sym.Variable("x", (256, 256))
    model = nnvm_mlir.compile(sym.matmul(x, x), threads=2)
    model.save(tmp_path / "saved")
    assert json.loads((tmp_path / "saved" / "program.json").read_text())["openmp"]
    values = np.linspace(0, 1, 256 * 256, dtype=np.float32).reshape(256, 256)
    (got,) = nnvm_mlir.load(tmp_path / "saved")(values)
    np.testing.assert_allclose(got, values @ values, rtol=1e-5)


def edit(folder, change):
    """Changes the signature and seals it again, as a saver with other ideas would."""
    path = folder / "program.json"
    signature = json.loads(path.read_text())
    del signature["signature_sha256"]
    change(signature)
    path.write_text(artifact._sealed(signature))


def test_what_is_loaded_is_what_was_saved(model, folder):
    loaded = nnvm_mlir.load(folder)
    assert loaded.inputs == model.inputs
    assert loaded.outputs == model.outputs
    for got, want in zip(loaded({"x": X, "y": Y}), model(X, Y), strict=True):
        assert got.tobytes() == want.tobytes()
    with pytest.raises(ValueError, match="'y' is missing"):
        loaded({"x": X})


def test_loading_needs_no_compiler(folder):
    program = f"""
import sys
import nnvm_mlir
import numpy as np
model = nnvm_mlir.load({str(folder)!r})
model(np.ones((3, 4), np.float32), np.ones(5, np.float32))
loaded = [name for name in sys.modules if name.split(".")[0] in ("mlir", "onnx", "llvm")]
assert not loaded, loaded
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_what_was_saved_under_any_umask_can_be_loaded(model, tmp_path):
    old = os.umask(0o002)
    try:
        model.save(tmp_path / "saved")
    finally:
        os.umask(old)
    assert nnvm_mlir.load(tmp_path / "saved").inputs == model.inputs


def test_the_current_folder_can_be_saved_to_again(model, folder, monkeypatch):
    monkeypatch.chdir(folder)
    model.save(".")
    assert nnvm_mlir.load(folder).inputs == model.inputs
    assert [path.name for path in folder.parent.iterdir()] == [folder.name]


def test_every_damage_is_found(folder):
    rng = np.random.default_rng(0)
    for path in folder.iterdir():
        data = path.read_bytes()
        damaged = [b"", data[:-1], data + b"\0", data[: len(data) // 2]]
        for position in rng.integers(0, 8 * len(data), 60):
            flipped = bytearray(data)
            flipped[position // 8] ^= 1 << (position % 8)
            damaged.append(bytes(flipped))
        for content in damaged:
            path.write_bytes(content)
            with pytest.raises(LoadError):
                nnvm_mlir.load(folder)
        path.write_bytes(data)
    nnvm_mlir.load(folder)


def test_missing_files(folder, tmp_path):
    for path in list(folder.iterdir()):
        path.rename(tmp_path / "aside")
        with pytest.raises(LoadError, match=path.name if path.suffix != ".json" else "compiled"):
            nnvm_mlir.load(folder)
        (tmp_path / "aside").rename(path)
    for place in (tmp_path / "nothing", tmp_path, folder / "program.json"):
        with pytest.raises(LoadError, match="not a compiled model"):
            nnvm_mlir.load(place)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda s: s.update(format=99), "format 99"),
        (lambda s: s.update(machine="pdp11"), "pdp11"),
        (lambda s: s.update(features=["hovercraft"]), "hovercraft"),
        (lambda s: s["sha256"].update({"../../etc/passwd": "0"}), "not a file name"),
        (lambda s: s.pop("arena_bytes"), "arena_bytes"),
        (lambda s: s.update(inputs=3), "damaged"),
        (lambda s: s["sha256"].pop("weights.bin"), "weights.bin"),
    ],
)
def test_what_other_machines_and_versions_wrote(folder, change, message):
    edit(folder, change)
    with pytest.raises(LoadError, match=message):
        nnvm_mlir.load(folder)


def test_files_that_others_may_write(folder):
    for path in (folder, folder / "weights.bin"):
        mode = path.stat().st_mode
        path.chmod(mode | 0o020)
        with pytest.raises(LoadError, match="written by others"):
            nnvm_mlir.load(folder)
        path.chmod(mode)
    target = folder / "weights.bin"
    target.rename(folder.parent / "elsewhere")
    os.symlink(folder.parent / "elsewhere", target)
    with pytest.raises(LoadError, match="is a link"):
        nnvm_mlir.load(folder)


def test_saving_replaces_a_model_and_nothing_else(model, folder, tmp_path):
    model.save(folder)
    nnvm_mlir.load(folder)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("mine")
    with pytest.raises(FileExistsError, match=r"notes\.txt"):
        model.save(tmp_path / "mine")
    model.save(tmp_path / "both")
    (tmp_path / "both" / "notes.txt").write_text("mine")
    with pytest.raises(FileExistsError, match=r"notes\.txt"):
        model.save(tmp_path / "both")
    assert (tmp_path / "both" / "notes.txt").read_text() == "mine"
    (tmp_path / "file").write_text("mine")
    with pytest.raises(OSError, match="file"):
        model.save(tmp_path / "file")
    assert (tmp_path / "file").read_text() == "mine"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["both", "file", "mine", "saved"]
