"""What counts as a model: sources that are accepted, and foreign or damaged data."""

import gzip
import os
import pickle

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
        (gzip.compress(RELU, mtime=0), "gzip"),
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


def test_names_in_a_branch_that_are_not_text():
    data = _nested_ifs(2).SerializeToString()
    assert b"v0" in data
    with pytest.raises(CompileError, match="not valid UTF-8"):
        load_model(data.replace(b"v0", b"\xff0"))


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
    def message(field, content):
        size, varint = len(content), b""
        while size >= 128:
            varint += bytes([size % 128 + 128])
            size //= 128
        return bytes([field * 8 + 2]) + varint + bytes([size]) + content

    data = b""
    for _ in range(2000):  # GraphProto.node, NodeProto.attribute, AttributeProto.g
        data = message(1, message(5, message(6, data)))
    with pytest.raises(LoadError, match="nests graphs too deep"):
        load_model(b"\x08\x08" + message(7, data))
