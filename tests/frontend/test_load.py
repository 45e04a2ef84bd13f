import gzip
import os
import pickle
import struct
import tracemalloc

import numpy as np
import onnx
import pytest
from onnx import helper
from onnx_models import make_model, node, relu_model, run_model, tensor, value_info

from nnvm_mlir.errors import CompileError, LoadError
from nnvm_mlir.frontend.onnx import import_model, load_model
from nnvm_mlir.frontend.onnx.check import MAX_DEPTH, MAX_OPSET

RELU = relu_model().SerializeToString()


def test_accepts_a_path_bytes_and_a_model(tmp_path):
    path = tmp_path / "model.onnx"
    path.write_bytes(RELU)
    for source in (path, str(path), RELU, bytearray(RELU), relu_model()):
        assert load_model(source).proto.graph.node[0].op_type == "Relu"


def test_refuses_what_is_no_source():
    with pytest.raises(TypeError, match="expected a path, bytes or an"):
        load_model(3)


# ---- foreign and damaged files -------------------------------------------------------------------


@pytest.mark.parametrize(
    "data, message",
    [
        (b"", "is empty"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n", "git lfs pull"),
        (b"<!DOCTYPE html><html></html>", "HTML page"),
        (b"\n<html><body>404</body></html>", "HTML page"),
        (gzip.compress(RELU), "gzip"),
        (pickle.dumps({"a": np.zeros(3)}), "pickle"),
        (b"PK\x03\x04" + bytes(64), "zip archive"),
        (b"\x1c\x00\x00\x00ORTM" + bytes(64), "ONNX Runtime"),
        (b"\x1c\x00\x00\x00TFL3" + bytes(64), "TensorFlow Lite"),
        (b'{"nodes": []}', "JSON"),
        (b"hello world, this is some text", "text"),
        (np.random.default_rng(0).bytes(1000), "not an ONNX model"),
        (RELU + b"\xff" * 20, "not an ONNX model"),
        (RELU + b"\xa2\x06\x03abc", "no part of an ONNX model"),
    ],
)
def test_foreign_data_is_named(data, message, tmp_path):
    with pytest.raises(LoadError, match=message):
        load_model(data)
    path = tmp_path / "model.onnx"
    path.write_bytes(data)
    with pytest.raises(LoadError, match=message):
        load_model(path)


def test_every_truncation_is_refused():
    for length in range(len(RELU)):
        with pytest.raises((LoadError, CompileError)):
            load_model(RELU[:length])


def test_flipped_bytes_never_escape_as_other_errors():
    rng = np.random.default_rng(0)
    data = make_model(
        [node("Conv", ["x", "w"], ["c"], pads=[1, 1, 1, 1]), node("Relu", ["c"], ["y"])],
        {"x": [1, 1, 4, 4]},
        initializers=[tensor("w", np.ones((2, 1, 3, 3), np.float32))],
    ).SerializeToString()
    for _ in range(400):
        broken = bytearray(data)
        for position in rng.integers(0, len(data), rng.integers(1, 4)):
            broken[position] = rng.integers(256)
        try:
            import_model(bytes(broken))
        except (LoadError, CompileError):
            pass


@pytest.mark.parametrize("kind", ["missing", "directory", "fifo", "device", "nul"])
def test_paths_that_are_no_files(kind, tmp_path):
    path = tmp_path / "model.onnx"
    if kind == "directory":
        path.mkdir()
    elif kind == "fifo":
        os.mkfifo(path)
    elif kind == "device":
        path = "/dev/zero"
    elif kind == "nul":
        path = f"{path}\0x"
    with pytest.raises(LoadError, match=r"cannot open|not a regular file"):
        load_model(path)


# ---- versions ------------------------------------------------------------------------------------


def _edited(**fields):
    model = relu_model()
    for name, value in fields.items():
        setattr(model, name, value)
    return model


def _with_opsets(*opsets):
    model = relu_model()
    del model.opset_import[:]
    model.opset_import.extend(helper.make_opsetid(*opset) for opset in opsets)
    return model


@pytest.mark.parametrize(
    "model, message",
    [
        (_edited(ir_version=99), f"IR version is 99, supported are 3 to {onnx.IR_VERSION}"),
        (_edited(ir_version=2), "IR version is 2"),
        (_edited(ir_version=0), "IR version is missing"),
        (_with_opsets(), "imports no opset"),
        (_with_opsets(("", 5)), f"opset 5 is not supported: expected 6 to {MAX_OPSET}"),
        (_with_opsets(("", MAX_OPSET + 1)), f"opset {MAX_OPSET + 1} is not supported"),
        (_with_opsets(("", 13), ("ai.onnx", 14)), "two opset versions of domain ''"),
        (make_model([node("Relu", ["x"], ["y"])], {"x": [1]}, outputs=()), "has no output"),
    ],
)
def test_versions(model, message):
    with pytest.raises(CompileError, match=message):
        load_model(model)


def test_unused_foreign_domains_are_fine():
    load_model(_with_opsets(("", 13), ("com.example", 1), ("ai.onnx.ml", 2)))


# ---- names and order -----------------------------------------------------------------------------


def _replaced(old: bytes, new: bytes) -> bytes:
    assert len(old) == len(new) and old in RELU
    return RELU.replace(old, new)


@pytest.mark.parametrize(
    "data, message",
    [
        (_replaced(b"relu", b"re\xfe\xff"), "not valid UTF-8"),
        (_replaced(b"Relu", b"R\xfflu"), "not valid UTF-8"),
        (_replaced(b"relu", b"re\0u"), "NUL"),
        (_replaced(b"\x0a\x01x", b"\x0a\x01\xff"), "not valid UTF-8"),
    ],
)
def test_names_that_are_not_text(data, message):
    with pytest.raises(CompileError, match=message):
        load_model(data)


@pytest.mark.parametrize(
    "nodes, message",
    [
        ([node("Relu", ["y"], ["y"])], "cycle"),
        ([node("Add", ["x", "y"], ["a"]), node("Relu", ["a"], ["y"])], "cycle"),
        ([node("Relu", ["z"], ["y"])], "reads 'z', which nothing defines"),
        ([node("Relu", ["x"], ["y"]), node("Abs", ["x"], ["y"])], "defines 'y' twice"),
        ([node("Relu", ["x"], ["x"]), node("Relu", ["x"], ["y"])], "defines 'x' twice"),
        ([node("Relu", ["w"], ["w"]), node("Relu", ["x"], ["y"])], "defines 'w' twice"),
        ([node("Relu", ["x"], ["z"])], "output 'y', which nothing defines"),
        ([node("", ["x"], ["y"])], "no operator type"),
    ],
)  # fmt: skip
def test_graphs_that_are_not_in_order(nodes, message):
    model = make_model(nodes, {"x": [2]}, initializers=[tensor("w", [1.0, 2.0], "float32")])
    with pytest.raises(CompileError, match=message):
        load_model(model)


def test_duplicate_inputs_and_initializers():
    twice = make_model([node("Relu", ["x"], ["y"])], [value_info("x", [2])] * 2)
    with pytest.raises(CompileError, match="defines 'x' twice"):
        load_model(twice)
    weights = [tensor("w", [1.0], "float32")] * 2
    with pytest.raises(CompileError, match="two initializers named 'w'"):
        load_model(make_model([node("Relu", ["w"], ["y"])], initializers=weights))


def test_shadowing_in_a_branch():
    branch = helper.make_graph([node("Relu", ["x"], ["x"])], "b", [], [value_info("x", [2])])
    nodes = [node("If", ["c"], ["y"], then_branch=branch, else_branch=branch)]
    with pytest.raises(CompileError, match="defines 'x' twice"):
        load_model(make_model(nodes, {"x": [2], "c": []}))


def test_nodes_out_of_order_are_sorted():
    nodes = [node("Relu", ["a"], ["y"]), node("Neg", ["x"], ["a"])]
    x = np.array([-1, 2], np.float32)
    np.testing.assert_array_equal(run_model(make_model(nodes, {"x": [2]}), {"x": x})[0], [1, 0])


# ---- depth and size ------------------------------------------------------------------------------


def _nested_ifs(depth):
    graph = helper.make_graph([node("Neg", ["x"], ["v0"])], "g0", [], [value_info("v0", [2])])
    for level in range(1, depth + 1):
        both = {"then_branch": graph, "else_branch": graph} if level == 1 else {
            "then_branch": graph,
            "else_branch": helper.make_graph(
                [node("Abs", ["x"], [f"e{level}"])], f"e{level}", [], [value_info(f"e{level}", [2])]
            ),
        }  # fmt: skip
        inner = node("If", ["c"], [f"v{level}"], **both)
        graph = helper.make_graph([inner], f"g{level}", [], [value_info(f"v{level}", [2])])
    return make_model(
        list(graph.node),
        {"x": [2]},
        outputs=[f"v{depth}"],
        initializers=[tensor("c", True)],
    )


def test_legal_depth_works():
    x = np.array([1, -2], np.float32)
    np.testing.assert_array_equal(run_model(_nested_ifs(30), {"x": x})[0], -x)


def test_too_deep_is_refused():
    model = relu_model()
    graph = model.graph
    for _ in range(MAX_DEPTH + 1):
        inner = graph.node.add(op_type="If", output=["v"])
        graph = inner.attribute.add(name="then_branch", type=onnx.AttributeProto.GRAPH).g
    with pytest.raises(CompileError, match=f"more than {MAX_DEPTH} deep"):
        load_model(model)


def test_raw_bytes_of_2000_levels():
    data = b""  # graph.node.attribute.g, again and again
    for _ in range(2000):
        for field in (b"\x32", b"\x2a", b"\x0a"):
            size, varint = len(data), b""
            while size >= 128:
                varint += struct.pack("B", size % 128 + 128)
                size //= 128
            data = field + varint + struct.pack("B", size) + data
    prefix = b"\x08\x08\x3a" + b"\xff\xff\xff\x7f"
    with pytest.raises(LoadError):
        load_model(prefix + data)


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
