"""Expected diagnostics written in comments of the IR that causes them, as `nnvm-opt
--verify-diagnostics` checks them.

    // expected-error@below {{'nnvm.relu' op expects 1 operand}}

The part after `@` is `+N`, `-N`, `above`, `below` (the nearest line without annotations) or
`unknown` (no location), and is left out for the same line. A diagnostic matches when its message
contains the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from nnvm_mlir.errors import Diagnostic, Position

_ANNOTATION = re.compile(
    r"expected-(?P<severity>error|warning|note|remark) *"
    r"(?:@(?P<where>[+-]\d+|above|below|unknown))? *\{\{(?P<text>.*?)\}\}(?!\})"
)


@dataclass(frozen=True)
class _Expectation:
    severity: str
    text: str
    line: int
    written_at: Position

    def matches(self, diagnostic: Diagnostic) -> bool:
        return (
            self.severity == diagnostic.severity
            and self.line == diagnostic.position.line
            and self.text in diagnostic.message
        )


def check_expectations(
    text: str, file: str, first_line: int, diagnostics: Iterable[Diagnostic]
) -> list[Diagnostic]:
    """Compares diagnostics with the annotations in the IR.

    Args:
        text: the IR.
        file: its name.
        first_line: the number of its first line in the file.
        diagnostics: what it caused.

    Returns:
        An error for each diagnostic that is not expected, notes excepted, and for each that is
        missing.
    """
    missing = _expectations(text, file, first_line)
    problems = []
    for diagnostic in diagnostics:
        for emitted in (diagnostic, *diagnostic.notes):
            match = next((e for e in missing if e.matches(emitted)), None)
            if match is not None:
                missing.remove(match)
            elif emitted.severity != "note":
                problem = f"unexpected {emitted.severity}: {emitted.message}"
                problems.append(Diagnostic("error", problem, emitted.position))
    for expectation in missing:
        problem = f'expected {expectation.severity} "{expectation.text}" was not produced'
        problems.append(Diagnostic("error", problem, expectation.written_at))
    return problems


def _expectations(text: str, file: str, first_line: int) -> list[_Expectation]:
    lines = text.splitlines()
    annotated = [list(_ANNOTATION.finditer(line)) for line in lines]

    def nearest_plain(index: int, step: int) -> int:
        while 0 <= index < len(lines) and annotated[index]:
            index += step
        return index

    found = []
    for index, matches in enumerate(annotated):
        for match in matches:
            where = match["where"] or "+0"
            if where == "unknown":
                line = 0
            elif where in ("above", "below"):
                line = first_line + nearest_plain(index, -1 if where == "above" else 1)
            else:
                line = first_line + index + int(where)
            position = Position(file, first_line + index, match.start() + 1)
            found.append(_Expectation(match["severity"], match["text"], line, position))
    return found
