"""Diagnostics, positions and the wording of errors."""

import subprocess
import sys

import pytest

from nnvm_mlir.errors import (
    CompileError,
    Diagnostic,
    Position,
    collect_diagnostics,
    location_error,
    operation_error,
)
from nnvm_mlir.mlir import ir


@pytest.fixture
def context():
    context = ir.Context()
    context.enable_multithreading(False)
    with context:
        yield context


def positions():
    file = ir.Location.file("net.mlir", 3, 5)
    unknown = ir.Location.unknown()
    return {
        "net.mlir:3:5": file,
        "": unknown,
        '"conv1"': ir.Location.name("conv1"),
        "net.mlir:3:5 ": ir.Location.name("conv1", file),
        '"outer"': ir.Location.name("outer", ir.Location.name("inner")),
        'model.onnx: "conv1"': ir.Location.name("conv1", ir.Location.file("model.onnx", 0, 0)),
        '"a"': ir.Location.fused([ir.Location.name("a"), ir.Location.name("b")]),
        "net.mlir:3:5  ": ir.Location.fused([ir.Location.name("a"), unknown, file]),
        "net.mlir:3:5   ": ir.Location.callsite(file, [ir.Location.file("caller.mlir", 1, 1)]),
        "net.mlir:3:5    ": ir.Location.callsite(unknown, [file]),
    }


def test_positions_of_all_kinds_of_locations(context):
    for expected, location in positions().items():
        assert str(Position.of(location)) == expected.rstrip(), str(location)


def test_file_location_keeps_the_name(context):
    position = Position.of(ir.Location.name("conv1", ir.Location.file("net.mlir", 3, 5)))
    assert position == Position("net.mlir", 3, 5, "conv1")


def test_operation_error_has_mlir_wording(context):
    module = ir.Module.parse("func.func private @f()")
    error = operation_error(module.body.operations[0], "expects X, got Y", hint="give X")
    assert str(error) == "-:1:1: error: 'func.func' op expects X, got Y\nhint: give X"
    assert error.diagnostics[0].operator == "func.func"
    assert error.diagnostics[0].location == "-:1:1"


def test_location_error_without_location(context):
    assert str(location_error(ir.Location.unknown(), "no good")) == "error: no good"


def test_operator_from_the_note():
    note = Diagnostic("note", 'see current operation: %0:2 = "nnvm.split"(%arg0) : () -> ()')
    assert (
        Diagnostic("error", "op expects exactly 2 operands", notes=(note,)).operator == "nnvm.split"
    )


def test_message_alone_is_one_error():
    error = CompileError("no good")
    assert error.diagnostics == (Diagnostic("error", "no good"),)
    assert error.diagnostics[0].operator is None


def test_all_parts_are_printed():
    note = Diagnostic("note", "see there", Position("a.mlir", 2, 1))
    first = Diagnostic("error", "one", Position("a.mlir", 1, 1), (note,))
    error = CompileError(
        [first, Diagnostic("error", "two")], hint="do it", pass_name="p", reproducer="nnvm-opt x"
    )
    assert str(error).splitlines() == [
        "a.mlir:1:1: error: one",
        "a.mlir:2:1: note: see there",
        "error: two",
        "note: pass 'p' failed",
        "hint: do it",
        "note: reproduce with: nnvm-opt x",
    ]


def test_from_mlir_keeps_notes(context):
    with pytest.raises(ir.MLIRError) as caught:
        ir.Module.parse("func.func @f() -> i32 {\n  return\n}")
    error = CompileError.from_mlir(caught.value)
    (diagnostic,) = error.diagnostics
    assert diagnostic.location == "-:2:3"
    assert diagnostic.operator == "func.return"
    assert diagnostic.notes[0].severity == "note"


def test_collecting_only_errors_leaves_the_rest(context):
    before = context.emit_error_diagnostics
    with collect_diagnostics(context) as everything:
        with collect_diagnostics(context, errors_only=True) as errors:
            ir.Location.name("here").emit_error("bad")
            with pytest.raises(ir.MLIRError):
                ir.Module.parse("foo", context)
    assert errors[0].message == "bad"
    assert len(errors) == 2 and everything == []
    assert context.emit_error_diagnostics == before


def test_errors_do_not_load_mlir():
    code = "import sys, nnvm_mlir.errors; sys.exit('mlir' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
