"""The passes of the project by name."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from types import MappingProxyType
from typing import TypeVar

from nnvm_mlir.pipeline.options import options_of, read_options
from nnvm_mlir.pipeline.passes import Pass

PassClass = TypeVar("PassClass", bound=type[Pass])

_registry: dict[str, type[Pass]] = {}


def register_pass(cls: PassClass) -> PassClass:
    """Class decorator that makes a pass known by its name.

    Raises:
        ValueError: the name is taken.
        TypeError: the pass has no documentation, or an option that cannot be written as text.
    """
    if cls.name in _registry:
        raise ValueError(f"two passes are named '{cls.name}': {_registry[cls.name]} and {cls}")
    if not cls.summary():
        raise TypeError(f"pass '{cls.name}' has no docstring")
    options_of(cls)
    _registry[cls.name] = cls
    return cls


def registered_passes() -> Mapping[str, type[Pass]]:
    """All registered passes by name, in alphabetical order."""
    return MappingProxyType(dict(sorted(_registry.items())))


def make_pass(name: str, options: str) -> Pass:
    """The pass called `name` with `options` as between the braces of pipeline text.

    Raises:
        ValueError: the options are wrong.
    """
    cls = _registry[name]
    values = read_options(cls, name, options)
    try:
        return cls(**values)
    except ValueError as error:
        raise ValueError(f"pass '{name}': {error}") from error


def unknown_pass(name: str) -> ValueError:
    """The error for a name that is neither ours nor upstream's."""
    close = difflib.get_close_matches(name, _registry)
    quoted = " or ".join(f"'{other}'" for other in close)
    advice = f"; did you mean {quoted}?" if close else ""
    return ValueError(f"unknown pass '{name}'{advice}")
