"""Pipeline text as a tree: `builtin.module(nnvm-fuse{max-depth=4},func.func(cse))`."""

from __future__ import annotations

import re
from dataclasses import dataclass

_NAME = re.compile(r"\s*([A-Za-z_][\w.-]*)")
_MAX_DEPTH = 32


@dataclass(frozen=True)
class Element:
    """A pass, or an operation name with the elements that run on each such operation.

    Attributes:
        name: of the pass or of the operation.
        options: the text between the braces of a pass.
        children: what is nested, None for a pass.
    """

    name: str
    options: str = ""
    children: tuple[Element, ...] | None = None

    def __str__(self) -> str:
        if self.children is not None:
            return f"{self.name}({','.join(map(str, self.children))})"
        return f"{self.name}{{{self.options}}}" if self.options else self.name


def parse_elements(text: str) -> tuple[Element, ...]:
    """The elements of a comma-separated list.

    Raises:
        ValueError: the text is malformed; the message quotes it with the column.
    """
    reader = _Reader(text)
    elements = reader.elements(0)
    if reader.peek():
        raise reader.error("expected ',' or the end")
    return elements


class _Reader:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    def error(self, problem: str) -> ValueError:
        return ValueError(f"pipeline '{self._text}', column {self._at + 1}: {problem}")

    def peek(self) -> str:
        """The next character that is not blank, or "" at the end."""
        while self._at < len(self._text) and self._text[self._at].isspace():
            self._at += 1
        return self._text[self._at : self._at + 1]

    def elements(self, depth: int) -> tuple[Element, ...]:
        if depth > _MAX_DEPTH:
            raise self.error(f"nested more than {_MAX_DEPTH} deep")
        found = [self._element(depth)]
        while self.peek() == ",":
            self._at += 1
            found.append(self._element(depth))
        return tuple(found)

    def _element(self, depth: int) -> Element:
        match = _NAME.match(self._text, self._at)
        if match is None:
            raise self.error("expected the name of a pass or an operation")
        self._at = match.end()
        name = match[1]
        if self.peek() == "{":
            return Element(name, self._options())
        if self.peek() != "(":
            return Element(name)
        if name != "any" and "." not in name:
            raise self.error(f"'{name}' is not the name of an operation: only those nest passes")
        self._at += 1
        children = self.elements(depth + 1)
        if self.peek() != ")":
            raise self.error("expected ',' or ')'")
        self._at += 1
        return Element(name, children=children)

    def _options(self) -> str:
        """The text between a pair of braces, which may contain quoted text and further pairs."""
        start = self._at
        depth = 0
        quote = ""
        for index in range(start, len(self._text)):
            char = self._text[index]
            if quote:
                quote = "" if char == quote else quote
            elif char in "'\"":
                quote = char
            elif char in "{}":
                depth += 1 if char == "{" else -1
                if depth == 0:
                    self._at = index + 1
                    return self._text[start + 1 : index].strip()
        raise self.error("this '{' is not closed")
