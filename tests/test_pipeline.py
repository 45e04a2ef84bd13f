"""Passes, their options, pipeline text, and what happens around and inside a run."""

from dataclasses import dataclass
from typing import ClassVar

import pytest

from nnvm_mlir.errors import CompileError, operation_error
from nnvm_mlir.mlir import arith, ir
from nnvm_mlir.pipeline import (
    NO_MATCH,
    Pass,
    PatternPass,
    Pipeline,
    register_pass,
    registered_passes,
    registry,
)

SOURCE = """
func.func @f(%a: i32) -> i32 {
  %0 = arith.addi %a, %a : i32
  %1 = arith.addi %a, %a : i32
  %2 = arith.muli %0, %1 : i32
  return %2 : i32
}
"""


@dataclass(frozen=True)
class Configured(Pass):
    """Do nothing, with options.

    Whatever follows is not part of the summary.
    """

    name: ClassVar[str] = "nnvm-configured"
    max_depth: int = 256
    fast: bool = False
    ratio: float = 0.5
    label: str = "plain"
    sizes: tuple[int, ...] = (1, 2)

    def __post_init__(self):
        if self.max_depth < 0:
            raise ValueError("max-depth must not be negative")

    def run(self, module):
        return None


def add_to_multiply(op, rewriter):
    with rewriter.ip, op.location:
        rewriter.replace_op(op, arith.MulIOp(op.lhs, op.rhs))


def multiply_to_add(op, rewriter):
    with rewriter.ip, op.location:
        rewriter.replace_op(op, arith.AddIOp(op.lhs, op.rhs))


def never(op, rewriter):
    return NO_MATCH


def raise_key_error(op, rewriter):
    raise KeyError("lost")


def refuse(op, rewriter):
    raise operation_error(op, "is refused")


def make_pattern_pass(*table, greedy=True):
    @dataclass(frozen=True)
    class Patterns(PatternPass):
        """Rewrite."""

        name: ClassVar[str] = "nnvm-patterns"
        walk: ClassVar[bool] = not greedy

        def patterns(self):
            return table

    return Patterns()


def make_pass(function):
    @dataclass(frozen=True)
    class Anonymous(Pass):
        """Call a function."""

        name: ClassVar[str] = "nnvm-anonymous"

        def run(self, module):
            return function(module)

    return Anonymous()


@pytest.fixture(autouse=True)
def own_registry(monkeypatch):
    monkeypatch.setattr(registry, "_registry", {})
    register_pass(Configured)


@pytest.fixture
def module():
    context = ir.Context()
    with context:
        yield ir.Module.parse(SOURCE)


def count(module, name):
    return str(module).count(name)


# ---- options and text


@pytest.mark.parametrize(
    "text",
    [
        "builtin.module()",
        "builtin.module(canonicalize)",
        "builtin.module(nnvm-configured)",
        "builtin.module(nnvm-configured{max-depth=4 fast=true ratio=0.25 label=x sizes=8,16})",
        "builtin.module(nnvm-configured{label='a b},c)' sizes=''})",
        'builtin.module(nnvm-configured{label="it\'s"},cse,func.func(canonicalize,cse),any(cse))',
        "builtin.module(canonicalize{max-iterations=3 top-down=false})",
        "builtin.module(inline{op-pipelines=func.func(canonicalize{max-iterations=2})})",
    ],
)
def test_text_round_trips(text):
    pipeline = Pipeline.parse(text)
    assert str(pipeline) == text
    assert Pipeline.parse(str(pipeline)) == pipeline


def test_options_become_fields():
    text = "nnvm-configured{sizes=3 fast max-depth=-0 label=''}"
    (configured,) = Pipeline([text]).elements
    assert configured == Configured(max_depth=0, fast=True, label="", sizes=(3,))


def test_defaults_are_not_printed():
    assert str(Configured()) == "nnvm-configured"
    assert str(Configured(max_depth=4)) == "nnvm-configured{max-depth=4}"


def test_elements_may_be_objects_lists_and_blanks():
    pipeline = Pipeline([Configured(fast=True), " cse , canonicalize ", "func.func( cse )"])
    expected = "builtin.module(nnvm-configured{fast=true},cse,canonicalize,func.func(cse))"
    assert str(pipeline) == expected
    assert pipeline.pass_names == ("nnvm-configured", "cse", "canonicalize", "cse")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("cse", "expected builtin.module(...) around all of it"),
        ("func.func(cse)", "expected builtin.module(...) around all of it"),
        ("builtin.module(cse),cse", "around all of it"),
        ("", "expected the name of a pass"),
        ("builtin.module(cse", "column 19: expected ',' or ')'"),
        ("builtin.module(cse))", "column 20: expected ',' or the end"),
        ("builtin.module(cse,)", "column 20: expected the name of a pass"),
        ("builtin.module(cse{a=1)", "column 19: this '{' is not closed"),
        ("builtin.module(cse canonicalize)", "expected ',' or ')'"),
        ("builtin.module(cse(cse))", "'cse' is not the name of an operation"),
        ("builtin.module(builtin.module(cse))", "builtin.module is not nested"),
        ("builtin.module(func.func())", "expected the name of a pass"),
        ("builtin.module(" + "any(" * 1000, "nested more than 32 deep"),
        ("builtin.module(\N{COLLISION SYMBOL})", "expected the name of a pass"),
        ("builtin.module(nnvm-konfigured)", "did you mean 'nnvm-configured'?"),
        ("builtin.module(no-such-pass)", "unknown pass 'no-such-pass'"),
        ("builtin.module(func.func(nnvm-configured))", "cannot be nested"),
        ("builtin.module(any(func.func(nnvm-configured)))", "cannot be nested"),
        ("builtin.module(func.func(convert-func-to-llvm))", "restricted to 'builtin.module'"),
        ("builtin.module(func.func(sparsifier))", "the pipeline 'sparsifier' cannot be nested"),
        ("builtin.module(canonicalize{nonsense=1})", "no such option nonsense"),
        ("builtin.module(nnvm-configured{depth=1})", "has no option 'depth' (its options: max-"),
        ("builtin.module(nnvm-configured{max-depth=x})", "'max-depth' expects an integer, got 'x'"),
        ("builtin.module(nnvm-configured{max-depth})", "'max-depth' expects an integer, got ''"),
        ("builtin.module(nnvm-configured{fast=maybe})", "'fast' expects true or false"),
        ("builtin.module(nnvm-configured{fast fast})", "'fast' is given twice"),
        ("builtin.module(nnvm-configured{sizes=1,,2})", "'sizes' expects integers"),
        ("builtin.module(nnvm-configured{=})", "expected option=value, got '='"),
        ("builtin.module(nnvm-configured{max-depth=-1})", "max-depth must not be negative"),
    ],
)
def test_bad_text_is_refused(text, problem):
    with pytest.raises(ValueError) as caught:
        Pipeline.parse(text)
    assert problem in str(caught.value)


def test_summary_is_the_first_line():
    assert Configured.summary() == "Do nothing, with options."


# ---- registry


def test_registering_a_name_twice_is_refused():
    with pytest.raises(ValueError, match="two passes are named 'nnvm-configured'"):
        register_pass(Configured)


def test_registering_unprintable_options_is_refused():
    @dataclass(frozen=True)
    class Unprintable(Configured):
        """Has a set."""

        name: ClassVar[str] = "nnvm-unprintable"
        names: frozenset = frozenset()

    with pytest.raises(TypeError, match="'names' of Unprintable has an unsupported type"):
        register_pass(Unprintable)


def test_registering_without_documentation_is_refused():
    class Undocumented(Configured):
        name: ClassVar[str] = "nnvm-undocumented"

    with pytest.raises(TypeError, match="has no docstring"):
        register_pass(Undocumented)


def test_registered_passes_are_sorted_and_read_only():
    @register_pass
    @dataclass(frozen=True)
    class Another(Configured):
        """Another."""

        name: ClassVar[str] = "nnvm-another"

    assert list(registered_passes()) == ["nnvm-another", "nnvm-configured"]
    with pytest.raises(TypeError):
        registered_passes()["x"] = Another


# ---- running


def test_passes_of_both_kinds_run_in_order(module):
    seen = []
    pipeline = Pipeline(
        ["cse", make_pattern_pass((arith.AddIOp, add_to_multiply)), "func.func(canonicalize,cse)"]
    )
    records = pipeline.run(
        module,
        before=lambda name, m: seen.append((name, "before", count(m, "addi"))),
        after=lambda name, m: seen.append((name, "after", count(m, "addi"))),
    )
    assert seen == [
        ("cse", "before", 2),
        ("cse", "after", 1),
        ("nnvm-patterns", "before", 1),
        ("nnvm-patterns", "after", 0),
        ("canonicalize", "before", 0),
        ("canonicalize", "after", 0),
        ("cse", "before", 0),
        ("cse", "after", 0),
    ]
    assert [record.name for record in records] == ["cse", "nnvm-patterns", "canonicalize", "cse"]
    assert all(record.seconds >= 0 for record in records)
    assert records[1].counts == {"add_to_multiply": 1}


@pytest.mark.parametrize("greedy", [True, False])
def test_patterns_apply_until_none_matches(module, greedy):
    table = (("arith.addi", never), (arith.AddIOp, add_to_multiply))
    (record,) = Pipeline([make_pattern_pass(*table, greedy=greedy)]).run(module)
    assert record.counts == {"add_to_multiply": 2}
    assert count(module, "muli") == 3


def test_patterns_that_undo_one_another_end(module):
    table = ((arith.AddIOp, add_to_multiply), (arith.MulIOp, multiply_to_add))
    with pytest.raises(
        CompileError, match="very many rewrites: patterns undo one another"
    ) as caught:
        Pipeline([make_pattern_pass(*table)]).run(module)
    assert caught.value.diagnostics[0].location.startswith("-:")


@pytest.mark.parametrize("greedy", [True, False])
def test_exceptions_in_patterns_name_pattern_and_place(module, greedy):
    pipeline = Pipeline([make_pattern_pass((arith.AddIOp, raise_key_error), greedy=greedy)])
    with pytest.raises(CompileError) as caught:
        pipeline.run(module)
    error = caught.value
    (diagnostic,) = error.diagnostics
    assert (
        diagnostic.message == "pattern 'raise_key_error' of 'nnvm-patterns' raised KeyError: 'lost'"
    )
    assert diagnostic.location in ("-:3:8", "-:4:8")
    assert isinstance(error.__cause__, KeyError)
    assert error.pass_name == "nnvm-patterns"


def test_compile_errors_in_patterns_are_kept(module):
    with pytest.raises(CompileError) as caught:
        Pipeline([make_pattern_pass((arith.MulIOp, refuse))]).run(module)
    assert str(caught.value).startswith("-:5:8: error: 'arith.muli' op is refused\n")


def test_failure_has_pass_name_and_reproducer(module):
    def fail(module):
        raise CompileError("no good", hint="better")

    with pytest.raises(CompileError) as caught:
        Pipeline(["func.func(cse,canonicalize)", make_pass(fail), "cse"]).run(
            module, source="my net.mlir"
        )
    assert str(caught.value).splitlines() == [
        "error: no good",
        "note: pass 'nnvm-anonymous' failed",
        "hint: better",
        "note: reproduce with: nnvm-opt --pass-pipeline="
        "'builtin.module(func.func(cse),func.func(canonicalize),nnvm-anonymous)' 'my net.mlir'",
    ]


def test_other_exceptions_are_internal_errors(module):
    def fail(module):
        raise ZeroDivisionError("by zero")

    with pytest.raises(CompileError, match="internal error: ZeroDivisionError: by zero") as caught:
        Pipeline([make_pass(fail)]).run(module)
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


def test_emitted_errors_are_failures(module):
    def emit(module):
        module.body.operations[0].location.emit_error("emitted, but nothing raised")

    with pytest.raises(CompileError, match="-:2:1: error: emitted, but nothing raised"):
        Pipeline([make_pass(emit)]).run(module)


def test_failing_upstream_pass_is_named(module):
    bad = ir.Module.parse(
        "func.func @f(%a: i128) -> i128 {\n  %0 = arith.addi %a, %a : i128\n  return %0 : i128\n}",
        module.context,
    )
    with pytest.raises(CompileError, match=r"-:2:8: error: failed to legalize") as caught:
        Pipeline(["cse", "convert-arith-to-spirv"]).run(bad)
    assert caught.value.pass_name == "convert-arith-to-spirv"


def break_module(module):
    """Makes the function return nothing."""
    block = module.body.operations[0].regions[0].blocks[0]
    block.operations[len(block.operations) - 1].erase()
    with ir.InsertionPoint(block):
        ir.Operation.create("func.return")


def test_invalid_ir_is_found_after_the_pass(module):
    with pytest.raises(CompileError, match="op has 0 operands, but enclosing function") as caught:
        Pipeline([make_pass(break_module), "cse"]).run(module)
    assert caught.value.pass_name == "nnvm-anonymous"
    assert "left invalid IR" in caught.value.hint


def test_verification_can_be_left_out(module):
    def refuse(module):
        raise CompileError("never called")

    Pipeline([make_pass(break_module)]).run(module, verify=refuse, verify_each=False)


def test_own_verifier_runs_after_each_pass(module):
    calls = []

    def verify(module):
        calls.append(count(module, "addi"))
        if calls[-1] == 1:
            raise CompileError("one addition is not enough")

    with pytest.raises(CompileError, match="not enough") as caught:
        Pipeline(["canonicalize", "cse", "canonicalize"]).run(module, verify=verify)
    assert calls == [2, 1]
    assert caught.value.pass_name == "cse"


def test_keyboard_interrupt_passes(module):
    def interrupt(op, rewriter):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Pipeline([make_pattern_pass((arith.AddIOp, interrupt))]).run(module)
