"""How the arguments of a model's call are brought into the order of its inputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from nnvm_mlir.runtime.program import TensorSpec


def order_arrays(
    specs: Sequence[TensorSpec], arrays: tuple[Any, ...], named: Mapping[str, Any]
) -> Sequence[Any]:
    """One array for each input, from a dict, from positions, from names, or from a mixture.

    Raises:
        ValueError: an input is missing, unknown, or given twice.
    """
    if len(arrays) == 1 and isinstance(arrays[0], Mapping):
        given = {**arrays[0], **named}
    elif named:
        given = {spec.name: array for spec, array in zip(specs, arrays, strict=False)}
        if len(arrays) > len(specs):
            raise ValueError(f"expected {len(specs)} inputs, got {len(arrays)} by position")
        twice = next((name for name in named if name in given), None)
        if twice is not None:
            raise ValueError(f"input {twice!r} is given twice, by position and by name")
        given.update(named)
    else:
        return arrays
    try:
        ordered = [given[spec.name] for spec in specs]
    except KeyError as error:
        raise ValueError(f"input {error.args[0]!r} is missing") from None
    if len(given) != len(ordered):
        extra = sorted(set(given) - {spec.name for spec in specs})
        raise ValueError(f"there is no input {extra[0]!r}")
    return ordered
