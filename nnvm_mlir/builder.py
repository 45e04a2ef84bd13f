"""`GraphBuilder`: builds a graph operator by operator, folding what is known as it goes.

Frontends use it. Every node carries its type; a node whose value is known carries the value too,
and an operator on known values is evaluated at once (so shape arithmetic vanishes), within a budget
of bytes that is checked before anything is allocated.
"""

from __future__ import annotations

import weakref
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from nnvm_mlir.dialects import nnvm
from nnvm_mlir.dialects.nnvm.creation import Constant
from nnvm_mlir.dialects.nnvm.operator import VARIADIC_LIMIT, Attributes
from nnvm_mlir.dialects.nnvm.types import TensorType
from nnvm_mlir.errors import CompileError
from nnvm_mlir.graph import (
    ENTRY,
    INPUT,
    PARAMETER,
    Graph,
    Variable,
    update_function_type,
    variable_attributes,
)
from nnvm_mlir.mlir import func, ir

FOLD_LIMIT = 512 * 1024 * 1024
"""Default budget in bytes of the folded constants that are alive at one time, without those that weights allow for."""

_COUNTED_BYTES = 64 * 1024
"""Smaller constants do not count."""

TENSOR_LIMIT = 2**40
"""Bytes of one tensor, known or not, beyond which a model cannot be meant seriously."""

MAX_RANK = 64
"""NumPy's."""

FOLD_GROWTH = 8
"""How many bytes each byte of a weight adds to the budget of all folded constants together.

For example: int8 weights become float32, twice.
"""

INLINE_ELEMENTS = 16
"""Constants of at most this many elements stay in the IR; larger ones become parameters."""


@dataclass(eq=False)
class Node:
    """A tensor of a graph under construction.

    Attributes:
        type: its type.
        constant: its value where it is known; read-only.
        name: the name of the variable, if it is one, or a suggestion for one.
    """

    type: TensorType
    constant: np.ndarray | None = None
    name: str = ""
    value: ir.Value | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        """The static shape."""
        return self.type.static.shape

    @property
    def dtype(self) -> str:
        """The dtype name."""
        return self.type.static.dtype


class GraphBuilder:
    """Builds one graph in a context of its own choosing.

    Args:
        context: from `make_context()`.
        fold_limit: bytes that one folded constant may take, and all of them together beyond `FOLD_GROWTH` times the weights.
    """

    def __init__(self, context: ir.Context, fold_limit: int = FOLD_LIMIT) -> None:
        self.context = context
        self.fold_limit = fold_limit
        self._total_limit = fold_limit
        self._folded_bytes = 0
        self._counted: set[int] = set()
        self.params: dict[str, np.ndarray] = {}
        self._names: set[str] = set()
        self._counts: Counter[str] = Counter()
        self._variables: list[tuple[str, str]] = []
        self._outputs: list[tuple[str, Node]] = []
        with context, ir.Location.unknown():
            self._module = ir.Module.create()
            with ir.InsertionPoint(self._module.body):
                self._entry = func.FuncOp(ENTRY, ([], []))
            self._block = self._entry.add_entry_block()

    def input(self, name: str, tensor_type: TensorType) -> Node:
        """Declares an input. Raises CompileError when the name is taken or the type too large."""
        if name in self._names:
            raise CompileError(f"two variables are named {name!r}")
        try:
            _require_possible(tensor_type)
        except ValueError as error:
            raise CompileError(f"input {name!r} {error}") from None
        return self._variable(name, INPUT, tensor_type)

    def parameter(self, name: str, value: np.ndarray) -> Node:
        """Declares a variable whose value is known but is kept out of the IR. Raises CompileError when the name is taken."""
        if name in self._names:
            raise CompileError(f"two variables are named {name!r}")
        self.params[name] = np.asarray(value)
        return self._variable(name, PARAMETER, TensorType.of(self.params[name]))

    def constant(self, value: np.ndarray, name: str = "") -> Node:
        """A known tensor; it enters the graph only if an operator that is not folded uses it."""
        value = np.asarray(value)
        self._count(value)
        return Node(TensorType.of(value), value, name)

    def weight(self, value: np.ndarray, name: str) -> Node:
        """A known tensor that comes with the model: what may be folded grows with it."""
        self._total_limit += (FOLD_GROWTH + 1) * value.nbytes
        return self.constant(value, name)

    def op(
        self, operator: type[nnvm.Operator], *operands: Node, name: str = "", **attributes: Any
    ) -> Node | Any:
        """Adds an operator and returns its result, or a list where the operator has several.

        More operands than one operation may have are taken in groups, where that comes to the same.

        Raises:
            CompileError: the operator refuses its attributes or operands, or a fold exceeds the budget; it names the operator
                and `name`.
        """
        try:
            a = operator.attributes_from(attributes)
            types = operator.infer(a, [node.type for node in operands])[1]
            for tensor_type in types:
                _require_possible(tensor_type)
        except (TypeError, ValueError) as error:
            raise self._error(operator, name, str(error)) from error
        parts = operator.of_parts(attributes) if len(operands) > VARIADIC_LIMIT else None
        if all(node.constant is not None for node in operands):
            nodes = self._fold(operator, a, operands, types, name)
        elif parts is not None:
            starts = range(0, len(operands), VARIADIC_LIMIT)
            groups = [operands[start : start + VARIADIC_LIMIT] for start in starts]
            results = [self.op(operator, *group, name=name, **parts) for group in groups]
            return self.op(operator, *results, name=name, **parts)
        else:
            nodes = self._emit(operator, operands, types, name, attributes)
        return nodes[0] if len(nodes) == 1 else nodes

    def output(self, name: str, node: Node) -> None:
        """Declares the next output."""
        self._outputs.append((name, node))

    def finish(self, metadata: dict[str, str] | None = None) -> Graph:
        """The graph; the builder must not be used afterwards."""
        with self.context, ir.Location.unknown():
            values = [self.materialize(node) for _, node in self._outputs]
            with ir.InsertionPoint(self._block):
                func.ReturnOp(values)
            update_function_type(self._entry)
            arguments = [variable_attributes(*variable) for variable in self._variables]
            results = [variable_attributes(name) for name, _ in self._outputs]
            self._entry.attributes["arg_attrs"] = ir.ArrayAttr.get(arguments)
            self._entry.attributes["res_attrs"] = ir.ArrayAttr.get(results)
        return Graph(self._module, self.params, metadata or {})

    def materialize(self, node: Node) -> ir.Value:
        """The SSA value of a node; a known one becomes a constant op or a parameter."""
        if node.value is not None:
            if node.value.context != self.context:
                raise ValueError("the node belongs to another builder")
            return node.value
        if node.type.size <= INLINE_ELEMENTS and node.dtype != "bfloat16":
            with self.context, ir.InsertionPoint(self._block), ir.Location.unknown():
                node.value = Constant.build(value=node.constant).output
        else:
            name = self._fresh(node.name or "constant")
            value = np.asarray(node.constant)
            if not value.flags.c_contiguous:
                self._require_budget_of(name, node.type)
            node.value = self._variable(name, PARAMETER, node.type).value
            self.params[name] = np.asarray(value, order="C")
            self._count(self.params[name])
        return node.value

    def require_budget(self, tensor_type: TensorType) -> None:
        """Refuses a constant that is larger than the limit, or than what others leave of it. Raises ValueError."""
        left = min(self.fold_limit, self._total_limit - self._folded_bytes)
        if tensor_type.nbytes > left:
            others = "" if left == self.fold_limit else f", other constants leave {left} of it"
            raise ValueError(
                f"folding needs {tensor_type.nbytes} bytes for {tensor_type},"
                f" the limit is {self.fold_limit}{others}"
            )

    def origins(self, node: Node) -> list[Variable]:
        """The inputs on whose values a node depends, in their order."""
        found: dict[int, TensorType] = {}
        seen: set[ir.Operation] = set()
        pending = [node.value] if node.value is not None else []
        while pending:
            value = pending.pop()
            if isinstance(value.owner, ir.Block):
                found[ir.BlockArgument(value).arg_number] = TensorType.of(value)
            elif value.owner not in seen:
                seen.add(value.owner)
                pending.extend(value.owner.operands)
        return [
            Variable(name, found[index], kind, index)
            for index, (name, kind) in enumerate(self._variables)
            if index in found and kind == INPUT
        ]

    # ---- details ----------------------------------------------------------------------------------------------------

    def _require_budget_of(self, name: str, tensor_type: TensorType) -> None:
        try:
            self.require_budget(tensor_type)
        except ValueError as error:
            raise CompileError(f"constant {name!r}: {error}") from None

    def _count(self, array: np.ndarray) -> None:
        """Counts the memory of a constant for as long as it is alive."""
        owner = _memory_owner(array)
        if owner.nbytes >= _COUNTED_BYTES and id(owner) not in self._counted:
            self._counted.add(id(owner))
            self._folded_bytes += owner.nbytes
            weakref.finalize(owner, self._forget, id(owner), owner.nbytes).atexit = False

    def _forget(self, key: int, nbytes: int) -> None:
        self._counted.discard(key)
        self._folded_bytes -= nbytes

    def _fresh(self, wish: str) -> str:
        name = wish
        while name in self._names:
            self._counts[wish] += 1
            name = f"{wish}_{self._counts[wish]}"
        return name

    def _variable(self, name: str, kind: str, tensor_type: TensorType) -> Node:
        if any(dim is not None and dim < 0 for dim in tensor_type.shape or ()):
            raise CompileError(f"variable {name!r} has a negative dimension: {tensor_type.shape}")
        self._names.add(name)
        self._variables.append((name, kind))
        with self.context:
            value = self._block.add_argument(tensor_type.to_mlir(), ir.Location.name(name or "_"))
        return Node(tensor_type, None, name, value)

    def _fold(
        self,
        operator: type[nnvm.Operator],
        a: Attributes,
        operands: Sequence[Node],
        types: Sequence[TensorType],
        name: str,
    ) -> list[Node]:
        try:
            for tensor_type in types:
                self.require_budget(tensor_type)
        except ValueError as error:
            raise self._error(operator, name, str(error)) from None
        with np.errstate(all="ignore"):
            values = operator.evaluate(a, *(node.constant for node in operands))
        values = list(values) if isinstance(values, tuple) else [values]
        return [self.constant(value, name) for value in values]

    def _emit(
        self,
        operator: type[nnvm.Operator],
        operands: Sequence[Node],
        types: Sequence[TensorType],
        name: str,
        attributes: dict[str, Any],
    ) -> list[Node]:
        values = [self.materialize(node) for node in operands]
        with self.context, ir.Location.name(name or operator.OPERATION_NAME):
            op = operator.build(
                *values,
                ip=ir.InsertionPoint(self._block),
                result_types=types,
                **attributes,
            )
        return [
            Node(tensor_type, None, name, value)
            for tensor_type, value in zip(types, op.operation.results, strict=True)
        ]

    def _error(self, operator: type[nnvm.Operator], name: str, message: str) -> CompileError:
        where = f" (node {name!r})" if name else ""
        return CompileError(f"'{operator.OPERATION_NAME}' op{where} {message}")


def _memory_owner(array: np.ndarray) -> np.ndarray:
    """The array whose memory a view looks at."""
    owner, base = array, array.base
    while base is not None:
        owner = base if isinstance(base, np.ndarray) else owner
        base = getattr(base, "base", None)
    return owner


def _require_possible(tensor_type: TensorType) -> None:
    rank = len(tensor_type.shape or ())
    if rank > MAX_RANK:
        raise ValueError(f"has rank {rank}, the limit is {MAX_RANK}")
    if tensor_type.is_static and tensor_type.nbytes > TENSOR_LIMIT:
        raise ValueError(
            f"needs {tensor_type.nbytes} bytes for a tensor, the limit is {TENSOR_LIMIT}"
        )
