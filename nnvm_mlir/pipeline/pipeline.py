"""Lists of passes, ours and upstream's: reading, printing and running them."""

from __future__ import annotations

import functools
import shlex
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from nnvm_mlir.errors import DEBUG_VARIABLE, CompileError, collect_diagnostics
from nnvm_mlir.mlir import PassManager, ir
from nnvm_mlir.pipeline.passes import Pass
from nnvm_mlir.pipeline.registry import make_pass, registered_passes, unknown_pass
from nnvm_mlir.pipeline.text import Element, parse_elements

Verifier = Callable[[ir.Module], None]
"""Checks what upstream's verifier does not know; raises CompileError."""

Callback = Callable[[str, ir.Module], None]
"""Called with the name of a pass and the module before or after it."""

_ANCHOR = "builtin.module"
_OUR_PREFIX = "nnvm-"


@dataclass(frozen=True)
class PassRecord:
    """What one run of one pass did.

    Attributes:
        name: of the pass.
        seconds: wall time, without verification.
        counts: the pass's own statistics.
    """

    name: str
    seconds: float
    counts: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, init=False)
class Pipeline:
    """An immutable list of passes that run on a module in order.

    Elements are passes of ours, as objects or text ("nnvm-fuse{max-depth=4}"), and upstream's as
    text ("canonicalize", "func.func(cse)"). Passes of ours work on the whole module and cannot be
    nested.
    """

    elements: tuple[Pass | Element, ...]

    def __init__(self, elements: Iterable[str | Pass]) -> None:
        """
        Raises:
            ValueError: an element is malformed, unknown, or has wrong options.
        """
        resolved: list[Pass | Element] = []
        for element in elements:
            if isinstance(element, Pass):
                resolved.append(element)
            else:
                resolved.extend(_resolve(parsed) for parsed in parse_elements(element))
        object.__setattr__(self, "elements", tuple(resolved))

    @staticmethod
    def parse(text: str) -> Pipeline:
        """Reads `builtin.module(ELEMENT,...)`, the form that `str()` writes.

        Raises:
            ValueError: as the constructor, or the outermost operation is not builtin.module.
        """
        if text.replace(" ", "") == f"{_ANCHOR}()":
            return Pipeline([])
        parsed = parse_elements(text)
        if len(parsed) != 1 or parsed[0].name != _ANCHOR or parsed[0].children is None:
            raise ValueError(f"pipeline '{text}': expected {_ANCHOR}(...) around all of it")
        return Pipeline(map(str, parsed[0].children))

    def __str__(self) -> str:
        return f"{_ANCHOR}({','.join(map(str, self.elements))})"

    @property
    def pass_names(self) -> tuple[str, ...]:
        """Names of the passes as they run, nested ones without what they are nested in."""
        return tuple(step.name for step in self._steps())

    def run(
        self,
        module: ir.Module,
        *,
        verify: Verifier | None = None,
        verify_each: bool = True,
        before: Callback | None = None,
        after: Callback | None = None,
        source: str = "input.mlir",
    ) -> list[PassRecord]:
        """Runs all passes on `module`, in place. Threading is turned off in the module's context.

        Args:
            verify: checks the module after each pass, besides upstream's verifier.
            verify_each: False leaves out both.
            before, after: called around each pass.
            source: the file that `module` came from, for the reproducer.

        Returns:
            What each pass did.

        Raises:
            CompileError: a pass failed or left invalid IR; it names the pass and has the command
                that reproduces it. The module
                is then in an undefined state.
        """
        context = module.context
        context.enable_multithreading(False)
        records: list[PassRecord] = []
        done: list[str] = []
        with context, ir.Location.unknown():
            for step in self._steps():
                done.append(step.text)
                if before is not None:
                    before(step.name, module)
                start = time.perf_counter()
                try:
                    counts = _guarded(functools.partial(step.run, module), module)
                    seconds = time.perf_counter() - start
                    if verify_each:
                        _verify(module, verify)
                except CompileError as error:
                    error.pass_name = step.name
                    text = shlex.quote(f"{_ANCHOR}({','.join(done)})")
                    error.reproducer = f"nnvm-opt --pass-pipeline={text} {shlex.quote(source)}"
                    raise
                records.append(PassRecord(step.name, seconds, counts or {}))
                if after is not None:
                    after(step.name, module)
        return records

    def _steps(self) -> Iterator[_Step]:
        for element in self.elements:
            if isinstance(element, Pass):
                yield _Step(element.name, str(element), element.run)
            else:
                yield from map(_upstream_step, _leaves(element))


@dataclass(frozen=True)
class _Step:
    """One pass as it runs: its name, its text below the module, what runs it."""

    name: str
    text: str
    run: Callable[[ir.Module], Mapping[str, int] | None]


def _guarded(
    action: Callable[[], Mapping[str, int] | None], module: ir.Module
) -> Mapping[str, int] | None:
    """Calls `action`; what goes wrong in it, an emitted error included, becomes a CompileError."""
    with collect_diagnostics(module.context, errors_only=True) as errors:
        try:
            result = action()
        except CompileError:
            raise
        except ir.MLIRError as error:
            raise (CompileError(errors) if errors else CompileError.from_mlir(error)) from error
        except Exception as error:
            problem = f"internal error: {type(error).__name__}: {error}"
            raise CompileError(
                problem, hint=f"this is a bug of the pass; {DEBUG_VARIABLE}=1 shows where"
            ) from error
    if errors:
        raise CompileError(errors)
    return result


def _verify(module: ir.Module, verify: Verifier | None) -> None:
    def check() -> None:
        module.operation.verify()
        if verify is not None:
            verify(module)

    try:
        _guarded(check, module)
    except CompileError as error:
        error.hint = error.hint or "the pass left invalid IR, which is a bug of the pass"
        raise


def _leaves(element: Element) -> Iterator[Element]:
    """The passes of an element one by one, each nested as it was.

    Running them apart is the same, because a nested pass sees nothing of its operation's siblings.
    """
    if element.children is None:
        yield element
        return
    for child in element.children:
        for leaf in _leaves(child):
            yield Element(element.name, children=(leaf,))


def _innermost(element: Element) -> Element:
    while element.children is not None:
        element = element.children[0]
    return element


def _upstream_step(element: Element) -> _Step:
    def run(module: ir.Module) -> None:
        manager = PassManager(_ANCHOR, module.context)
        manager.enable_verifier(False)
        manager.add(str(element))
        manager.run(module.operation)

    return _Step(_innermost(element).name, str(element), run)


def _resolve(element: Element) -> Pass | Element:
    """A pass of ours as an object, and an element of upstream's after a check.

    Raises:
        ValueError: it is unknown, nested wrongly, or has wrong options.
    """
    if element.children is None and element.name in registered_passes():
        return make_pass(element.name, element.options)
    if element.name == _ANCHOR:
        raise ValueError(
            f"'{element}': a pipeline's elements run on a module, {_ANCHOR} is not nested"
        )
    for leaf in _leaves(element):
        _check_upstream(leaf)
    return element


def _check_upstream(element: Element) -> None:
    leaf = _innermost(element)
    is_nested = element.children is not None
    if is_nested and leaf.name in registered_passes():
        raise ValueError(f"'{element}': '{leaf.name}' runs on the module and cannot be nested")
    if leaf.name.startswith(_OUR_PREFIX):
        raise unknown_pass(leaf.name)
    context = _scratch_context()
    try:
        alone = PassManager("any", context)
        alone.add(str(leaf))
        # A pipeline of several passes adds them unchecked, and one that does not fit where it is
        # nested aborts the process.
        is_one_pass = (
            str(alone).removeprefix("any(").startswith((f"{leaf.name}{{", f"{leaf.name})"))
        )
        if is_nested and not is_one_pass:
            raise ValueError(f"'{element}': the pipeline '{leaf.name}' cannot be nested")
        PassManager(_ANCHOR, context).add(str(element))
    except ValueError as error:
        if "does not refer to a registered pass" in str(error):
            raise unknown_pass(leaf.name) from None
        problem = "; ".join(line for line in str(error).splitlines() if line.strip())
        raise ValueError(
            problem if problem.startswith("'") else f"'{element}': {problem}"
        ) from None


@functools.cache
def _scratch_context() -> ir.Context:
    """For checking pipeline text; holds no IR."""
    context = ir.Context()
    context.enable_multithreading(False)
    return context
