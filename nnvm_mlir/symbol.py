"""Symbols: graphs written in Python, NNVM's way.

    x = sym.Variable("x")
    y = sym.relu(sym.dense(x, units=10, name="fc")) + 1

Every operator of the dialect is a function of this module, under its name there: operands by
position or by name, attributes by name. Operands that are left out become variables called
`<name>_<operand>`.
"""

from __future__ import annotations

import inspect
import numbers
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from nnvm_mlir.dialects.nnvm import OPERATORS, Operator

_counts: dict[str, int] = {}


@dataclass(eq=False)
class SymbolNode:
    """A variable (no operator) or an operator on other nodes' results."""

    operator: type[Operator] | None
    name: str
    attributes: dict[str, Any] = field(default_factory=dict)
    inputs: list[tuple[SymbolNode, int]] = field(default_factory=list)

    @property
    def num_outputs(self) -> int:
        """How many results the node has."""
        if self.operator is None:
            return 1
        return self.operator.num_results(self.operator.attributes_from(self.attributes))

    @property
    def num_visible(self) -> int:
        """How many of them, the first ones, a symbol of the node shows."""
        visible = None if self.operator is None else self.operator.visible_results
        return self.num_outputs if visible is None else visible


class Symbol:
    """One or more results of nodes."""

    # NumPy numbers leave arithmetic with symbols to the symbols.
    __array_ufunc__ = None

    def __init__(self, entries: Sequence[tuple[SymbolNode, int]]) -> None:
        self.entries = list(entries)

    @property
    def name(self) -> str:
        """The name of the node, or of the first one of a group."""
        return self.entries[0][0].name

    def __len__(self) -> int:
        return len(self.entries)

    def __iter__(self) -> Iterator[Symbol]:
        return (Symbol([entry]) for entry in self.entries)

    def __getitem__(self, key: int | str) -> Symbol:
        """An output by its position or its name. Raises IndexError or KeyError."""
        if isinstance(key, str):
            names = self.list_output_names()
            if key not in names:
                raise KeyError(f"no output {key!r} (outputs: {', '.join(names)})")
            key = names.index(key)
        return Symbol([self.entries[key]])

    def list_output_names(self) -> list[str]:
        """Names of the outputs: `<node>_output`, numbered where a node has several; a variable's own name."""
        names = []
        for node, index in self.entries:
            if node.operator is None:
                names.append(node.name)
            elif node.num_visible == 1:
                names.append(f"{node.name}_output")
            else:
                names.append(f"{node.name}_output{index}")
        return names

    def list_input_names(self) -> list[str]:
        """Names of the variables, in the order in which a depth-first walk from the outputs meets them."""
        return [node.name for node in topological_order(self.entries) if node.operator is None]

    def debug_str(self) -> str:
        """The nodes in order, for people."""
        lines = [f"Symbol outputs: {', '.join(self.list_output_names())}"]
        for node in topological_order(self.entries):
            if node.operator is None:
                lines.append(f"Variable:{node.name}")
                continue
            operands = ", ".join(f"{source.name}[{index}]" for source, index in node.inputs)
            lines.append(
                f"{operator_name(node.operator)}({operands}) {node.attributes} name={node.name}"
            )
        return "\n".join(lines)

    def __add__(self, other: Any) -> Symbol:
        return _arithmetic("add", self, other)

    def __radd__(self, other: Any) -> Symbol:
        return _arithmetic("add", self, other)

    def __sub__(self, other: Any) -> Symbol:
        return _arithmetic("sub", self, other)

    def __rsub__(self, other: Any) -> Symbol:
        return _scalar("rsub", self, other)

    def __mul__(self, other: Any) -> Symbol:
        return _arithmetic("mul", self, other)

    def __rmul__(self, other: Any) -> Symbol:
        return _arithmetic("mul", self, other)

    def __truediv__(self, other: Any) -> Symbol:
        return _arithmetic("div", self, other)

    def __rtruediv__(self, other: Any) -> Symbol:
        return _scalar("rdiv", self, other)

    def __pow__(self, other: Any) -> Symbol:
        return _arithmetic("pow", self, other)

    def __rpow__(self, other: Any) -> Symbol:
        return _scalar("rpow", self, other)

    def __neg__(self) -> Symbol:
        return apply("negative", [self], {})


def Variable(name: str, shape: Sequence[int] | None = None, dtype: str | None = None) -> Symbol:
    """An input of a graph.

    Args:
        name: unique among the graph's variables.
        shape: None if it is to be inferred or given later.
        dtype: likewise.

    Raises:
        TypeError: the name is not a string.
    """
    if not isinstance(name, str):
        raise TypeError(f"a variable's name must be a string, got {name!r}")
    attributes = {"shape": None if shape is None else tuple(shape), "dtype": dtype}
    return Symbol([(SymbolNode(None, name, attributes), 0)])


def Group(symbols: Sequence[Symbol]) -> Symbol:
    """A symbol whose outputs are those of all the given ones, in order."""
    return Symbol([entry for symbol in symbols for entry in symbol.entries])


def apply(
    operator: str,
    operands: Sequence[Symbol],
    attributes: Mapping[str, Any],
    name: str | None = None,
) -> Symbol:
    """Applies an operator by its name in the dialect.

    Raises:
        ValueError: unknown operator, or attributes or a number of operands that it refuses.
        TypeError: an operand is not a symbol.
    """
    if operator not in OPERATORS:
        raise ValueError(f"there is no operator {operator!r}")
    cls = OPERATORS[operator]
    given = {key: value for key, value in attributes.items() if value is not None}
    try:
        a = cls.attributes_from(given)
    except (TypeError, ValueError) as error:
        raise type(error)(f"{operator}: {error}") from None
    entries: list[tuple[SymbolNode, int]] = []
    for operand in operands:
        if not isinstance(operand, Symbol):
            raise TypeError(f"{operator}: expected symbols as operands, got {operand!r}")
        entries.extend(operand.entries)
    limit = len(cls.operand_fields)
    if len(entries) > limit and not any(f.variadic for f in cls.operand_fields):
        raise ValueError(f"{operator}: expected at most {limit} operands, got {len(entries)}")
    name = name or _fresh_name(operator)
    for declared in cls.operand_fields[len(entries) :]:
        wanted = not declared.optional or (
            declared.name == "bias" and getattr(a, "use_bias", False)
        )
        if wanted and not declared.variadic:
            entries.append((SymbolNode(None, f"{name}_{declared.name}"), 0))
    node = SymbolNode(cls, name, given, entries)
    return Symbol([(node, index) for index in range(node.num_visible)])


def topological_order(entries: Sequence[tuple[SymbolNode, int]]) -> list[SymbolNode]:
    """Every node that the entries depend on, producers first, in depth-first order."""
    order: list[SymbolNode] = []
    seen: set[SymbolNode] = set()
    stack = [(node, False) for node, _ in reversed(entries)]
    while stack:
        node, done = stack.pop()
        if done:
            order.append(node)
        elif node not in seen:
            seen.add(node)
            stack.append((node, True))
            stack.extend((source, False) for source, _ in reversed(node.inputs))
    return order


def operator_name(operator: type[Operator]) -> str:
    """An operator's name without the dialect's prefix."""
    return operator.OPERATION_NAME.removeprefix("nnvm.")


def _fresh_name(operator: str) -> str:
    base = operator.strip("_")
    number = _counts.get(base, 0)
    _counts[base] = number + 1
    return f"{base}{number}"


def _arithmetic(operation: str, lhs: Symbol, rhs: Any) -> Symbol:
    if isinstance(rhs, Symbol):
        return apply(f"broadcast_{operation}", [lhs, rhs], {})
    return _scalar(operation, lhs, rhs)


def _scalar(operation: str, symbol: Symbol, number: Any) -> Symbol:
    if not isinstance(number, numbers.Number):
        raise TypeError(f"expected a symbol or a number, got {number!r}")
    return apply(f"__{operation}_scalar__", [symbol], {"scalar": number})


def __getattr__(name: str) -> Any:
    """Every operator of the dialect as a function."""
    if name not in OPERATORS:
        raise AttributeError(f"there is no operator {name!r}")
    cls = OPERATORS[name]
    declared = [f.name for f in cls.operand_fields]

    def function(*operands: Symbol, name: str | None = None, **given: Any) -> Symbol:
        if len(operands) == 1 and isinstance(operands[0], list | tuple):
            operands = tuple(operands[0])
        ordered = list(operands)
        for key in declared[len(ordered) :]:
            if key in given:
                ordered.append(given.pop(key))
        return apply(operator_name(cls), ordered, given, name)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = _documentation(cls)
    globals()[name] = function
    return function


def _documentation(operator: type[Operator]) -> str:
    """The operator's own documentation, then its operands, and its attributes with their defaults."""
    lines = [inspect.cleandoc(operator.__doc__ or ""), ""]
    operands = ", ".join(f"{f.name}?" if f.optional else f.name for f in operator.operand_fields)
    lines.append(f"Operands: {operands or 'none'}")
    for key, declared in operator.attribute_fields.items():
        default = "required" if declared.required else f"default {declared.default!r}"
        lines.append(f"Attribute {key}: {declared.kind.expected}, {default}")
    return "\n".join(lines)


def __dir__() -> list[str]:
    return sorted({*globals(), *OPERATORS})
