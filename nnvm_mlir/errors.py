"""What is raised when a model or a module cannot be compiled or a file cannot be loaded.

Errors are MLIR diagnostics in a Python exception, printed in MLIR's wording. Nothing here imports
the bindings, so that a deployed model can raise these errors too.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nnvm_mlir.mlir import ir

DEBUG_VARIABLE = "NNVM_MLIR_DEBUG"
"""The environment variable that makes command lines show tracebacks of internal errors."""

_OPERATOR = re.compile(r"'([\w.$]+)' op ")
_CURRENT_OPERATION = re.compile(r'see current operation: (?:%[^=]* = )?"?([\w.$]+)')


@dataclass(frozen=True)
class Position:
    """Where in a source something is: a place in a file, or the name of a node of an imported model.

    Attributes:
        file: path as the location has it, or None.
        line: 1-based, 0 if unknown.
        column: 1-based, 0 if unknown.
        name: the innermost name given to the location, or None.
    """

    file: str | None = None
    line: int = 0
    column: int = 0
    name: str | None = None

    @staticmethod
    def of(location: ir.Location) -> Position:
        """The first place in a file that a location leads to, or else its first name."""
        names: list[str] = []
        best = Position()
        pending = [location]
        while pending:
            loc = pending.pop()
            # Accessors of another kind of location than the one at hand crash the process.
            if loc.is_a_file():
                best = Position(loc.filename, loc.start_line, loc.start_col)
                if best.line:
                    break
            elif loc.is_a_name():
                names.append(loc.name_str)
                pending.append(loc.child_loc)
            elif loc.is_a_callsite():
                pending += [loc.caller, loc.callee]
            elif loc.is_a_fused():
                pending += reversed(loc.locations)
        return Position(best.file, best.line, best.column, names[0] if names else None)

    def __str__(self) -> str:
        if self.line:
            return f"{self.file}:{self.line}:{self.column}"
        parts = [self.file or "", f'"{self.name}"' if self.name else ""]
        return ": ".join(part for part in parts if part)


@dataclass(frozen=True)
class Diagnostic:
    """One message about one place.

    Attributes:
        severity: "error", "warning", "note" or "remark".
        message: MLIR's wording: lower case, no full stop, `'nnvm.conv2d' op expects X, got Y`.
        position: what it is about.
        notes: diagnostics that belong to it.
    """

    severity: str
    message: str
    position: Position = Position()
    notes: tuple[Diagnostic, ...] = ()

    @staticmethod
    def of(diagnostic: ir.Diagnostic | ir.DiagnosticInfo) -> Diagnostic:
        """A copy of a diagnostic of the bindings, which is valid only while it is handled."""
        return Diagnostic(
            diagnostic.severity.name.lower(),
            diagnostic.message,
            Position.of(diagnostic.location),
            tuple(Diagnostic.of(note) for note in diagnostic.notes),
        )

    @property
    def location(self) -> str:
        """`file:line:col`, or the quoted name of a node, or "" if unknown."""
        return str(self.position)

    @property
    def operator(self) -> str | None:
        """The operation that the message is about ("nnvm.conv2d"), or None."""
        matches = [_OPERATOR.search(self.message)]
        matches += [_CURRENT_OPERATION.match(note.message) for note in self.notes]
        return next((match[1] for match in matches if match), None)

    def __str__(self) -> str:
        prefix = f"{self.location}: " if self.location else ""
        lines = [f"{prefix}{self.severity}: {self.message}", *map(str, self.notes)]
        return "\n".join(lines)


class CompileError(RuntimeError):
    """A model or module is wrong, or cannot be compiled.

    Attributes:
        diagnostics: what is wrong and where; at least one.
        hint: what to do about it, or None.
        pass_name: the pass that failed, or None.
        reproducer: the `nnvm-opt` command line that shows the failure, or None.
    """

    def __init__(
        self,
        problem: str | Iterable[Diagnostic],
        *,
        hint: str | None = None,
        pass_name: str | None = None,
        reproducer: str | None = None,
    ) -> None:
        self.diagnostics = (
            (Diagnostic("error", problem),) if isinstance(problem, str) else tuple(problem)
        )
        self.hint = hint
        self.pass_name = pass_name
        self.reproducer = reproducer
        super().__init__(self.diagnostics)

    @staticmethod
    def from_mlir(error: ir.MLIRError) -> CompileError:
        """The diagnostics of an error of the bindings."""
        found = [Diagnostic.of(diagnostic) for diagnostic in error.error_diagnostics]
        return CompileError(found or error.message)

    def __str__(self) -> str:
        lines = [str(diagnostic) for diagnostic in self.diagnostics]
        if self.pass_name:
            lines.append(f"note: pass '{self.pass_name}' failed")
        if self.hint:
            lines.append(f"hint: {self.hint}")
        if self.reproducer:
            lines.append(f"note: reproduce with: {self.reproducer}")
        return "\n".join(lines)


class NeedsInputs(CompileError):
    """The model can be compiled only when more is known of some inputs.

    Attributes:
        names: of these inputs.
    """

    def __init__(self, message: str, names: Sequence[str]) -> None:
        super().__init__(message)
        self.names = tuple(names)


class NeedsShapes(NeedsInputs):
    """Some inputs have dimensions that the model leaves open: `import_model(..., shapes={name: shape})` gives them."""


class NeedsValue(NeedsInputs):
    """A shape (or the like) depends on the values of inputs: `import_model(..., values={name: array})` specialises on them."""


class LoadError(RuntimeError):
    """A file cannot be read, or is not what it should be."""


def operation_error(op: Any, message: str, *, hint: str | None = None) -> CompileError:
    """The error `'nnvm.conv2d' op MESSAGE` at the location of an operation."""
    operation = op.operation
    return location_error(operation.location, f"'{operation.name}' op {message}", hint=hint)


def location_error(location: ir.Location, message: str, *, hint: str | None = None) -> CompileError:
    """The error MESSAGE at a location."""
    return CompileError([Diagnostic("error", message, Position.of(location))], hint=hint)


@contextmanager
def collect_diagnostics(
    context: ir.Context, *, errors_only: bool = False
) -> Iterator[list[Diagnostic]]:
    """Collects what is emitted in `context` meanwhile.

    With `errors_only` everything else goes on to the handlers attached before.
    """
    collected: list[Diagnostic] = []

    def handle(diagnostic: ir.Diagnostic) -> bool:
        if errors_only and diagnostic.severity.name != "ERROR":
            return False
        collected.append(Diagnostic.of(diagnostic))
        return True

    # Otherwise the bindings keep errors to themselves, and abort the process when an operation
    # emits one and yet succeeds.
    emitted = context.emit_error_diagnostics
    context.emit_error_diagnostics = True
    handler = context.attach_diagnostic_handler(handle)
    try:
        yield collected
    finally:
        handler.detach()
        context.emit_error_diagnostics = emitted
