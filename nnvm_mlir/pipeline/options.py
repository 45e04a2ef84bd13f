"""Options of passes: a dataclass's fields as text, `max-depth=4 fast=true sizes=8,16`, and back."""

from __future__ import annotations

import dataclasses
import functools
import re
import typing
from collections.abc import Callable
from typing import Any

_OPTION = re.compile(
    r"\s*(?P<key>[\w-]+)"
    r"(?:=(?:'(?P<single>[^']*)'|\"(?P<double>[^\"]*)\"|(?P<plain>[^\s'\"{}]*)))?"
    r"(?=\s|$)"
)
_BOOLEANS = {"true": True, "1": True, "false": False, "0": False}


def _read_boolean(text: str) -> bool:
    if text not in _BOOLEANS:
        raise ValueError(text)
    return _BOOLEANS[text]


def _read_integers(text: str) -> tuple[int, ...]:
    return tuple(int(item) for item in text.split(",")) if text else ()


def _write_string(value: str) -> str:
    if value and not re.search(r"[\s'\"{}]", value):
        return value
    if "'" in value and '"' in value:
        raise ValueError(f"an option's value has both kinds of quotes: {value}")
    return f'"{value}"' if "'" in value else f"'{value}'"


@dataclasses.dataclass(frozen=True)
class _Kind:
    """A type that options can have."""

    expected: str
    read: Callable[[str], Any]
    write: Callable[[Any], str]


_KINDS: dict[Any, _Kind] = {
    bool: _Kind("true or false", _read_boolean, lambda value: str(value).lower()),
    int: _Kind("an integer", int, str),
    float: _Kind("a number", float, repr),
    str: _Kind("text", str, _write_string),
    tuple[int, ...]: _Kind(
        "integers separated by commas",
        _read_integers,
        lambda value: ",".join(map(str, value)) or "''",
    ),
}


@dataclasses.dataclass(frozen=True)
class Option:
    """One option of a pass: a field with its spelling."""

    field: str
    key: str
    kind: _Kind
    default: Any

    def __str__(self) -> str:
        return f"{self.key}={self.kind.write(self.default)}"


@functools.cache
def options_of(cls: type) -> dict[str, Option]:
    """The options of a pass class by their spelling.

    Raises:
        TypeError: a field has no default, or a type that has no text form.
    """
    hints = typing.get_type_hints(cls)
    options = {}
    for field in dataclasses.fields(cls):
        where = f"option {field.name!r} of {cls.__name__}"
        if hints[field.name] not in _KINDS:
            raise TypeError(f"{where} has an unsupported type: {field.type}")
        if field.default is dataclasses.MISSING:
            raise TypeError(f"{where} has no default")
        key = field.name.replace("_", "-")
        options[key] = Option(field.name, key, _KINDS[hints[field.name]], field.default)
    return options


def read_options(cls: type, name: str, text: str) -> dict[str, Any]:
    """Values of a pass's fields from the text between its braces.

    Raises:
        ValueError: the text is malformed, or names an option that the pass lacks, or twice, or a
            value has the wrong type.
    """
    options = options_of(cls)
    values: dict[str, Any] = {}
    text = text.strip()
    start = 0
    while start < len(text):
        match = _OPTION.match(text, start)
        if match is None:
            rest = text[start:].strip()
            raise ValueError(f"pass '{name}': expected option=value, got '{rest}'")
        start = match.end()
        option = options.get(match["key"])
        if option is None:
            known = f"its options: {', '.join(options)}" if options else "it has none"
            raise ValueError(f"pass '{name}' has no option '{match['key']}' ({known})")
        if option.field in values:
            raise ValueError(f"pass '{name}': option '{option.key}' is given twice")
        given = next(
            (match[g] for g in ("single", "double", "plain") if match[g] is not None), None
        )
        if given is None and option.kind is _KINDS[bool]:
            given = "true"
        try:
            values[option.field] = option.kind.read(given or "")
        except ValueError:
            expected = f"option '{option.key}' expects {option.kind.expected}"
            raise ValueError(f"pass '{name}': {expected}, got '{given or ''}'") from None
    return values


def write_options(instance: Any) -> str:
    """The options of a pass that differ from their defaults, as `read_options` reads them."""
    cls: Any = type(instance)
    changed = []
    for option in options_of(cls).values():
        value = getattr(instance, option.field)
        if value != option.default:
            changed.append(f"{option.key}={option.kind.write(value)}")
    return " ".join(changed)
