"""Weights in files next to the model: where they may lie, and what is refused."""

import os
import tracemalloc

import numpy as np
import onnx
import pytest
from onnx_models import make_model, node, run_model, tensor

from nnvm_mlir.errors import LoadError
from nnvm_mlir.frontend.onnx import import_model, load_model

# ---- external data -------------------------------------------------------------------------------


def _external_model(folder, location="w.bin", values=4, **entries):
    weight = tensor("w", np.zeros(values, np.float32))
    weight.ClearField("raw_data")
    weight.data_location = onnx.TensorProto.EXTERNAL
    for key, value in {"location": location, **entries}.items():
        weight.external_data.add(key=key, value=str(value))
    path = folder / "model.onnx"
    model = make_model([node("Add", ["x", "w"], ["y"])], {"x": [values]}, initializers=[weight])
    path.write_bytes(model.SerializeToString())
    return path


WEIGHTS = np.arange(4, dtype=np.float32)


def _run_external(path):
    return run_model(path, {"x": np.zeros(4, np.float32)})[0]


@pytest.mark.parametrize("entries", [{}, {"offset": 0}, {"offset": 0, "length": 16}])
def test_external_data(tmp_path, entries):
    (tmp_path / "w.bin").write_bytes(WEIGHTS.tobytes())
    np.testing.assert_array_equal(_run_external(_external_model(tmp_path, **entries)), WEIGHTS)


def test_external_data_at_an_offset_in_a_subfolder(tmp_path):
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "w.bin").write_bytes(b"\0" * 5 + WEIGHTS.tobytes() + b"rest")
    path = _external_model(tmp_path, "sub/w.bin", offset=5, length=16)
    np.testing.assert_array_equal(_run_external(path), WEIGHTS)


def test_external_data_in_a_relative_folder(tmp_path, monkeypatch):
    (tmp_path / "w.bin").write_bytes(WEIGHTS.tobytes())
    _external_model(tmp_path)
    monkeypatch.chdir(tmp_path)
    np.testing.assert_array_equal(_run_external("model.onnx"), WEIGHTS)


def test_hugging_face_cache_layout(tmp_path):
    blobs, snapshot = tmp_path / "blobs", tmp_path / "snapshots" / "abc" / "onnx"
    blobs.mkdir()
    snapshot.mkdir(parents=True)
    (blobs / "1234").write_bytes(WEIGHTS.tobytes())
    (snapshot / "w.bin").symlink_to("../../../blobs/1234")
    np.testing.assert_array_equal(_run_external(_external_model(snapshot)), WEIGHTS)


@pytest.mark.parametrize(
    "location, message",
    [
        ("missing.bin", "cannot open"),
        ("../secret.bin", "outside the model's folder"),
        ("sub/../../secret.bin", "outside the model's folder"),
        ("link.bin", "outside the model's folder"),
        ("loop.bin", "cannot open|outside"),
        ("linked/secret.bin", "outside the model's folder"),
        ("/etc/passwd", "outside the model's folder"),
        ("", "without a valid location"),
        ("a\0b", "without a valid location"),
        ("folder", "not a regular file"),
        (".", "not a regular file"),
        ("fifo", "not a regular file"),
    ],
)
def test_external_files_that_must_not_be_read(tmp_path, location, message):
    folder = tmp_path / "model"
    (folder / "folder").mkdir(parents=True)
    (tmp_path / "secret.bin").write_bytes(WEIGHTS.tobytes())
    (folder / "link.bin").symlink_to("../secret.bin")
    (folder / "loop.bin").symlink_to("loop.bin")
    (folder / "linked").symlink_to("..")
    os.mkfifo(folder / "fifo")
    with pytest.raises(LoadError, match=message):
        _run_external(_external_model(folder, location))


@pytest.mark.parametrize(
    "entries, message",
    [
        ({"offset": 4}, "needs 16 bytes, its external data has 12"),
        ({"length": 12}, "needs 16 bytes, its external data has 12"),
        ({"length": 20}, "claims bytes 0 to 20"),
        ({"offset": 17}, "claims bytes 17"),
        ({"offset": -1}, "not a byte count"),
        ({"offset": "0x0"}, "not a byte count"),
        ({"offset": 2**64 - 8}, "not a byte count"),
        ({"offset": 2**63 - 8, "length": 16}, "claims bytes"),
        ({"length": "9" * 5000}, "not a byte count"),
    ],
)
def test_external_sizes_that_lie(tmp_path, entries, message):
    (tmp_path / "w.bin").write_bytes(WEIGHTS.tobytes())
    with pytest.raises(LoadError, match=message):
        _run_external(_external_model(tmp_path, **entries))


def test_external_data_needs_a_folder(tmp_path):
    data = _external_model(tmp_path).read_bytes()
    with pytest.raises(LoadError, match="give the path of the model file"):
        _run_external(data)


def test_external_data_in_an_attribute(tmp_path):
    (tmp_path / "w.bin").write_bytes(WEIGHTS.tobytes())
    path = _external_model(tmp_path, "../w.bin")
    model = onnx.load(path, load_external_data=False)
    constant = node("Constant", [], ["v"], value=model.graph.initializer[0])
    hidden = make_model([constant, node("Add", ["x", "v"], ["y"])], {"x": [4]})
    path.write_bytes(hidden.SerializeToString())
    with pytest.raises(LoadError, match="outside the model's folder"):
        _run_external(path)


def _one_weight(graph):
    (value,) = graph.params.values()
    return value


def test_file_that_shrinks_after_the_import(tmp_path):
    weights = np.arange(100, dtype=np.float32)
    (tmp_path / "w.bin").write_bytes(weights.tobytes())
    graph = import_model(_external_model(tmp_path, values=100))
    os.truncate(tmp_path / "w.bin", 0)
    np.testing.assert_array_equal(_one_weight(graph), weights)


def test_weights_beyond_2_gigabytes_of_a_file(tmp_path):
    offset = 3 << 30  # in a sparse file; the weights before it are declared, but nothing reads them
    weights = np.arange(100, dtype=np.float32)
    with open(tmp_path / "w.bin", "wb") as file:
        file.seek(offset)
        file.write(weights.tobytes())
    path = _external_model(tmp_path, values=100, offset=offset, length=400)
    model = onnx.load(path, load_external_data=False)
    size = 4 << 20
    for index in range(600):
        weight = model.graph.initializer.add(
            name=f"unused{index}", data_type=1, dims=[size // 4], data_location=1
        )
        entries = {"location": "w.bin", "offset": index * size, "length": size}
        for key, value in entries.items():
            weight.external_data.add(key=key, value=str(value))
    path.write_bytes(model.SerializeToString())
    np.testing.assert_array_equal(_one_weight(import_model(path)), weights)


@pytest.mark.parametrize("external", [True, False])
def test_weights_are_held_once(tmp_path, external):
    values = 4 << 20
    path = _external_model(tmp_path, values=values)
    with open(tmp_path / "w.bin", "wb") as file:
        file.truncate(4 * values)
    if not external:
        onnx.save(onnx.load(path), path)
    loaded = load_model(path)
    tracemalloc.start()
    graph = import_model(loaded)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert _one_weight(graph).nbytes == 4 * values
    assert peak < 4 * values * 1.25
