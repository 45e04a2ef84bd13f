"""`nnvm-opt` as a function: exit codes, files, and input that is no IR."""

import io
import os
import random
import sys
from dataclasses import dataclass
from types import SimpleNamespace
from typing import ClassVar

import pytest

from nnvm_mlir.errors import Diagnostic, Position
from nnvm_mlir.opt import main
from nnvm_mlir.opt.expectations import check_expectations
from nnvm_mlir.pipeline import Pass, registry

FUNCTION = "func.func @f() {\n  return\n}\n"
PRINTED = "module {\n  func.func @f() {\n    return\n  }\n}\n"


@pytest.fixture
def opt(capsys, monkeypatch):
    """Runs `nnvm-opt`; gives exit code, output and errors."""

    def run(*arguments, stdin=b""):
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(stdin)))
        code = main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        assert "Traceback" not in captured.err
        return SimpleNamespace(code=code, out=captured.out, err=captured.err)

    return run


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "f.mlir"
    path.write_text(FUNCTION)
    return path


@pytest.fixture
def crashing_pass(monkeypatch):
    @dataclass(frozen=True)
    class Crashing(Pass):
        """Raise an error that is no CompileError."""

        name: ClassVar[str] = "nnvm-crashing"

        def run(self, module):
            raise KeyError("lost")

    monkeypatch.setitem(registry._registry, "nnvm-crashing", Crashing)


def test_file_and_standard_input(opt, source):
    for result in (opt(source), opt("-", stdin=FUNCTION.encode()), opt(stdin=FUNCTION.encode())):
        assert (result.code, result.out, result.err) == (0, PRINTED, "")


def test_file_name_that_is_not_utf8(opt, tmp_path):
    path = tmp_path / "a\n\udce9.mlir"
    path.write_text(FUNCTION)
    assert opt(path).out == PRINTED


def test_empty_input_is_an_empty_module(opt):
    assert opt().out == "module {\n}\n"


def test_output_is_a_fixed_point(opt):
    once = opt(stdin=FUNCTION.encode()).out
    assert opt(stdin=once.encode()).out == once


def test_standard_input_is_named_in_errors(opt):
    result = opt(stdin=b"func.func @f() {\n  foo\n}")
    assert result.code == 1 and result.out == ""
    assert result.err.startswith("<stdin>:2:3: error: custom op 'foo' is unknown")


def test_output_replaces_the_file_only_after_success(opt, source, tmp_path):
    target = tmp_path / "out.mlir"
    target.write_text("old")
    assert opt("-o", target, stdin=b"foo").code == 1
    assert target.read_text() == "old"
    assert opt("-o", target, source).code == 0
    assert target.read_text() == PRINTED
    assert sorted(os.listdir(tmp_path)) == ["f.mlir", "out.mlir"]


def test_output_through_a_link_and_into_a_device(opt, source, tmp_path):
    (tmp_path / "link.mlir").symlink_to(tmp_path / "real.mlir")
    assert opt(source, "-o", tmp_path / "link.mlir").code == 0
    assert (tmp_path / "link.mlir").is_symlink()
    assert (tmp_path / "real.mlir").read_text() == PRINTED
    assert opt(source, "-o", os.devnull).code == 0
    assert not os.path.isfile(os.devnull)


def test_output_that_cannot_be_written(opt, source, tmp_path):
    result = opt(source, "-o", tmp_path / "missing" / "out.mlir")
    assert result.code == 1
    assert "error: cannot write" in result.err and "No such file or directory" in result.err
    assert opt(source, "-o", tmp_path).code == 1


def test_input_is_not_read_twice(opt, tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    child = os.fork()
    if child == 0:
        pipe.write_text(FUNCTION)
        os._exit(0)
    result = opt(pipe)
    os.waitpid(child, 0)
    assert result.out == PRINTED


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["--no-such-option"], "No such option"),
        (["a.mlir", "b.mlir"], "unexpected extra argument"),
        (["--nnvm-no-such-pass"], "unknown pass 'nnvm-no-such-pass'"),
        (["--pass-pipeline"], "requires an argument"),
        (["-p", "builtin.module(cse", "x"], "column 19: expected ',' or ')'"),
        (["-p", "builtin.module(cse)", "--cse"], "exclude each other"),
        (["--cse=nonsense=1"], "no such option nonsense"),
        (["--cse=}"], "pipeline 'cse{}}'"),
        (["--cse", "--print-ir-before=inline"], "no pass 'inline' runs; these do: cse"),
    ],
)
def test_wrong_usage(opt, arguments, problem):
    result = opt(*arguments)
    assert result.code == 2
    assert result.out == ""
    assert result.err.startswith("nnvm-opt: error: ") and problem in result.err


def test_input_that_cannot_be_read(opt, tmp_path):
    assert "No such file or directory" in opt(tmp_path / "missing.mlir").err
    assert "Is a directory" in opt(tmp_path).err
    result = opt(stdin=b"module {\n  // \xff\n}")
    assert result.code == 1
    assert result.err == "nnvm-opt: error: '<stdin>' is not text: line 2 is not valid UTF-8\n"


@pytest.mark.parametrize(
    "opening", ["module {", "module attributes {a = [", "tuple<", "loc(fused["]
)
def test_deep_nesting_is_refused(opt, opening):
    result = opt(stdin=(opening * 100_000).encode())
    assert result.code == 1
    assert "nested more than 500 deep" in result.err


def test_brackets_in_text_do_not_nest(opt):
    text = f'module attributes {{a.b = "{"(" * 1000}"}} {{\n  // {"[" * 1000}\n}}\n'
    assert opt(stdin=text.encode()).code == 0
    arrows = "".join(f"func.func private @f{i}() -> i32\n" for i in range(1000))
    assert opt(stdin=arrows.encode()).code == 0


def test_garbage_is_an_error_with_a_place(opt):
    rng = random.Random(0)
    alphabet = FUNCTION + '%@#!"\\\0{}()<>[]:=->,x0123456789.\N{COLLISION SYMBOL}'
    for _ in range(80):
        text = "".join(rng.choices(alphabet, k=rng.randrange(1, 60)))
        result = opt(stdin=text.encode())
        assert result.code == 0 or "error: " in result.err, text


def test_truncated_input_is_an_error(opt):
    text = FUNCTION.encode()
    for length in range(1, len(text) - 2):
        if text[:length].strip():
            result = opt(stdin=text[:length])
            assert result.code == 1 and result.err.startswith("<stdin>:"), text[:length]


@pytest.mark.parametrize(
    ("text", "name", "problem"),
    [
        ("func.func @main() { return }", "nnvm-lower-kernels", "no memory plan"),
        (
            "func.func @main(%x: tensor<?xf32>) { return }",
            "nnvm-plan-memory",
            "types remain unknown: argument %arg0",
        ),
        (
            "func.func @main(%x: i32) { return }",
            "nnvm-precompute-prune",
            "has an argument 'arg0': expected a tensor type, got i32",
        ),
        (
            "func.func @main() { cf.br ^a\n ^a: return }",
            "nnvm-infer-shape",
            "expects one block in @main, got 2",
        ),
        (
            "func.func private @k()\n func.func @main() { return }",
            "convert-nnvm-to-linalg",
            "expects one block in @k, got 0",
        ),
        (
            "func.func @main() { call @main() : () -> ()\n return }",
            "convert-nnvm-to-linalg",
            "calls @main, which is no kernel",
        ),
    ],
)
def test_module_that_a_pass_cannot_work_on(opt, text, name, problem):
    result = opt(f"--{name}", stdin=text.encode())
    assert result.code == 1
    assert problem in result.err
    assert "internal error" not in result.err


def test_internal_errors_are_short(opt, crashing_pass):
    result = opt("--nnvm-crashing", stdin=FUNCTION.encode())
    assert result.code == 1
    assert "error: internal error: KeyError: 'lost'" in result.err
    assert "--pass-pipeline='builtin.module(nnvm-crashing)' '<stdin>'" in result.err


def test_internal_errors_show_where_when_asked(crashing_pass, source, capsys, monkeypatch):
    monkeypatch.setenv("NNVM_MLIR_DEBUG", "1")
    assert main(["--nnvm-crashing", str(source)]) == 1
    assert "Traceback" in capsys.readouterr().err


def test_every_part_is_processed_after_an_error(opt):
    text = f"foo\n// -----\n{FUNCTION}// -----\nbar\n"
    result = opt("--split-input-file", stdin=text.encode())
    assert result.code == 1 and result.out == ""
    assert result.err.splitlines()[0].startswith("<stdin>:1:1: error: custom op 'foo'")
    assert result.err.splitlines()[1].startswith("<stdin>:7:1: error: custom op 'bar'")


def test_dump_header_does_not_split(opt):
    text = f"// -----// IR Dump After cse //----- //\n{FUNCTION}"
    assert opt("--split-input-file", stdin=text.encode()).out == PRINTED


def test_no_verify_each_lets_invalid_ir_pass(opt, source, monkeypatch):
    @dataclass(frozen=True)
    class Breaking(Pass):
        """Remove terminators."""

        name: ClassVar[str] = "nnvm-breaking"

        def run(self, module):
            module.body.operations[0].regions[0].blocks[0].operations[0].erase()

    monkeypatch.setitem(registry._registry, "nnvm-breaking", Breaking)
    assert "left invalid IR" in opt(source, "--nnvm-breaking").err
    assert opt(source, "--nnvm-breaking", "--no-verify-each").code == 0


# ---- expectations


def error(line, message="no good", severity="error", notes=()):
    return Diagnostic(severity, message, Position("f", line, 1) if line else Position(), notes)


@pytest.mark.parametrize(
    ("text", "diagnostics"),
    [
        ("a // expected-error {{good}}", [error(1)]),
        ("// expected-error@+1 {{good}}\na", [error(2)]),
        ("a\n\n// expected-error @-2 {{no good}}", [error(1)]),
        ("// expected-error@below {{good}}\n// expected-warning@below {{hm}}\na",
         [error(3), error(3, "hm", "warning")]),
        ("a\n// expected-note@above {{good}}\n// expected-remark@above {{good}}",
         [error(1, severity="note"), error(1, severity="remark")]),
        ("// expected-error@unknown {{good}}", [error(0)]),
        ("a // expected-error {{one}} expected-error {{two}}", [error(1, "two"), error(1, "one")]),
        ("a // expected-error {{{x}}}", [error(1, "an {x} in braces")]),
        ("a", [error(1, severity="note")]),
        ("a // expected-error {{good}} expected-note {{see}}",
         [error(1, notes=(error(1, "see there", "note"),))]),
    ],
)  # fmt: skip
def test_expectations_are_met(text, diagnostics):
    assert check_expectations(text, "f", 1, diagnostics) == []


@pytest.mark.parametrize(
    ("text", "diagnostics", "problem"),
    [
        (
            "a // expected-error {{good}}",
            [],
            'f:1:6: error: expected error "good" was not produced',
        ),
        ("a", [error(1)], "f:1:1: error: unexpected error: no good"),
        ("a", [error(0, severity="warning")], "error: unexpected warning: no good"),
        ("a // expected-error {{good}}", [error(1), error(1)], "f:1:1: error: unexpected error"),
        ("a // expected-error {{bad}}", [error(1, "bad"), error(2, "bad")], "f:2:1: error: unexp"),
        ("a // expected-warning {{good}}", [error(1)], "f:1:1: error: unexpected error: no good"),
    ],
)
def test_expectations_are_not_met(text, diagnostics, problem):
    assert str(check_expectations(text, "f", 1, diagnostics)[0]).startswith(problem)


def test_expectations_count_lines_of_the_file():
    assert check_expectations("a // expected-error {{good}}", "f", 7, [error(7)]) == []
