"""The scalar side of kernels: regions of generics re-emitted on vectors, and trees of element-wise generics.

`emit_region` evaluates the body of one generic on vectors (or scalars). `expression` joins
element-wise generics that feed each other into one tree over the loops of whoever asks;
`Evaluation` emits such trees, each part once for each point.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from nnvm_mlir.lowering.cpu import vector_math
from nnvm_mlir.lowering.cpu.affine import Form, delinearize
from nnvm_mlir.lowering.cpu.emitter import Emitter, Unsupported
from nnvm_mlir.lowering.cpu.structured import Access, Generic, Result
from nnvm_mlir.lowering.cpu.tensor_ops import constant_value, defining_op
from nnvm_mlir.mlir import arith, ir

Position = Callable[[int], ir.Value]
"""Gives the index of a loop as a value of type `index`, or as a vector of them where a value is a vector."""


@dataclass(frozen=True)
class Load:
    """A leaf that reads a buffer."""

    access: Access


@dataclass(frozen=True)
class Accumulator:
    """A leaf that is a result of a reduction that the tree comes after.

    Attributes:
        index: which of its results.
        generic: the reduction, where there can be several.
    """

    index: int
    generic: Generic | None = None


@dataclass(frozen=True, eq=False)
class Apply:
    """A result of an element-wise generic, equal only to itself: a tree may share parts, many times over.

    Attributes:
        generic: whose region to evaluate.
        result: which of its results.
        operands: a tree for each operand of the generic (inputs, then inits); None where the region
            does not use it.
        forms: the generic's loops over the caller's loops, if the region asks for their indices
            (else empty).
    """

    generic: Generic
    result: int
    operands: tuple[Node | None, ...]
    forms: tuple[Form, ...]


Node = Load | Accumulator | Apply

Shared = dict[tuple, Apply]
"""Trees that were built before, to be shared by trees over the same loops."""


def expression(
    access: Access,
    sizes: Sequence[int],
    accumulators: Mapping[Result, Form] | None = None,
    shared: Shared | None = None,
) -> Node:
    """The tree behind an access over loops of `sizes`.

    Args:
        access: what is read; results of element-wise generics are computed in place of being read.
        sizes: trip counts of the caller's loops.
        accumulators: results that are leaves, with the position that the caller's iteration has of
            them.
        shared: trees to share with; updated.

    Raises:
        Unsupported: a producer is a reduction, is padded, or is not indexed by affine forms of the
            caller's loops.
    """
    source = access.source
    if not isinstance(source, Result):
        return Load(access)
    if access.guards:
        raise Unsupported("a computed value is padded")
    if accumulators and source in accumulators:
        if access.form.normalized(sizes) != accumulators[source].normalized(sizes):
            raise Unsupported("the result of a reduction is permuted or broadcast")
        return Accumulator(source.index, source.generic)
    generic = source.generic
    if not generic.is_elementwise:
        raise Unsupported("a second reduction")
    written = generic.outputs[source.index]
    forms = delinearize(
        access.form.shifted(-written.offset), written.coefficients, generic.sizes, sizes
    )
    if forms is None:
        raise Unsupported("an intermediate result is not indexed loop by loop")
    return apply(generic, source.index, forms, sizes, accumulators, shared)


def apply(
    generic: Generic,
    result: int,
    forms: tuple[Form, ...],
    sizes: Sequence[int],
    accumulators: Mapping[Result, Form] | None = None,
    shared: Shared | None = None,
) -> Apply:
    """The tree of a result of `generic` whose loops are `forms` over the caller's loops; see `expression`."""
    shared = {} if shared is None else shared
    key = (generic, result, forms)
    if key in shared:
        return shared[key]
    operands: list[Node | None] = []
    for number, access in enumerate((*generic.inputs, *generic.inits)):
        used = any(True for _ in generic.block.arguments[number].uses)
        if access is None or not used:
            operands.append(None)
            continue
        composed = access.compose(forms, len(sizes))
        operands.append(expression(composed, sizes, accumulators, shared))
    shared[key] = Apply(generic, result, tuple(operands), forms if generic.uses_position else ())
    return shared[key]


def subtrees(node: Node) -> list[Node]:
    """A tree and all its parts, each once, before what it consists of."""
    found: dict[Node, None] = {}
    pending = [node]
    while pending:
        node = pending.pop()
        if node not in found:
            found[node] = None
            if isinstance(node, Apply):
                pending.extend(o for o in reversed(node.operands) if o is not None)
    return list(found)


def positions(node: Node) -> list[Form]:
    """The forms whose value some region of the tree asks for (`linalg.index`)."""
    return [form for part in subtrees(node) if isinstance(part, Apply) for form in part.forms]


def leaves(node: Node) -> list[Access]:
    """Every access that a tree reads."""
    return [part.access for part in subtrees(node) if isinstance(part, Load)]


def rewrite(
    node: Node, change: Callable[[Form], Form], done: dict[Node, Node] | None = None
) -> Node:
    """The tree over other loops: every form replaced by `change` of it.

    Args:
        node: the tree.
        change: gives the new form.
        done: parts that were rewritten before, so that trees that share them do so afterwards;
            updated.
    """
    done = {} if done is None else done
    if isinstance(node, Accumulator):
        return node
    if node not in done:
        if isinstance(node, Load):
            done[node] = Load(node.access.map(change))
        else:
            operands = tuple(None if o is None else rewrite(o, change, done) for o in node.operands)
            forms = tuple(change(form) for form in node.forms)
            done[node] = replace(node, operands=operands, forms=forms)
    return done[node]


class Evaluation:
    """Emits the value of expression trees at one point (vector) of the caller's loops.

    Args:
        e: the emitter.
        lanes: length of the vectors; None for scalars.
        load: emits the read of a leaf.
        accumulators: values of the `Accumulator` leaves.
        position: gives the caller's value of one of its loops (index type, vector of `lanes`); None
            where no region asks.
    """

    def __init__(
        self,
        e: Emitter,
        lanes: int | None,
        load: Callable[[Access], ir.Value],
        accumulators: Sequence[ir.Value] = (),
        position: Position | None = None,
    ):
        self._e = e
        self._lanes = lanes
        self._load = load
        self._accumulators = accumulators
        self._position = position
        self._regions: dict[tuple, list[ir.Value]] = {}
        self._loads: dict[Access, ir.Value] = {}

    def value(self, node: Node) -> ir.Value:
        """Emits (or finds again) the value of `node`."""
        if isinstance(node, Accumulator):
            return self._accumulators[node.index]
        if isinstance(node, Load):
            if node.access not in self._loads:
                self._loads[node.access] = self._load(node.access)
            return self._loads[node.access]
        key = (node.generic, node.operands, node.forms)
        if key not in self._regions:
            operands = [None if o is None else self.value(o) for o in node.operands]
            self._regions[key] = emit_region(
                self._e, node.generic, operands, self._lanes, position=self._positions(node.forms)
            )
        return self._regions[key][node.result]

    def _positions(self, forms: tuple[Form, ...]) -> Position | None:
        if self._position is None:
            return None
        outer, e = self._position, self._e

        def position(dim: int) -> ir.Value:
            index = ir.IndexType.get()
            total = e.constant(forms[dim].offset, index, self._lanes)
            for loop in forms[dim].dims:
                factor = e.constant(forms[dim].coefficients[loop], index, self._lanes)
                term = arith.MulIOp(outer(loop), factor).result
                total = arith.AddIOp(total, term).result
            return total

        return position


def emit_region(
    e: Emitter,
    generic: Generic,
    values: Sequence[ir.Value | None],
    lanes: int | None,
    wanted: Sequence[ir.Value] | None = None,
    position: Position | None = None,
) -> list[ir.Value]:
    """Re-emits the scalar region of a generic on vectors.

    Args:
        e: the emitter.
        generic: whose region.
        values: one for each argument of the region (inputs, then inits), vectors of `lanes`
            elements; None where nothing that is wanted depends on it.
        lanes: length of the vectors; None emits scalars.
        wanted: values of the region to compute, by default those that it yields. Nothing else is
            emitted.
        position: gives the index of the generic's loop `dim` for `linalg.index`.

    Returns:
        The wanted values.
    """
    known = dict(zip(generic.block.arguments, values, strict=True))

    def emitted(value: ir.Value) -> ir.Value:
        if value in known:
            found = known[value]
            if found is None:
                raise Unsupported("a region needs an operand that is not read")
            return found
        op = defining_op(value)
        if op.name == "arith.constant":
            result = e.constant(constant_value(op), value.type, lanes)
        elif op.name == "linalg.index":
            if position is None:
                raise Unsupported("a region that asks for its loop indices")
            result = position(ir.IntegerAttr(op.attributes["dim"]).value)
        else:
            operands = [emitted(operand) for operand in op.operands]
            if op.name.startswith("math."):
                result = vector_math.expand(e, op.name, operands)
            else:
                attributes = {name: op.attributes[name] for name in op.attributes}
                result = e.op(op.name, operands, _vectorized(value.type, lanes), attributes)
        known[value] = result
        return result

    return [emitted(value) for value in (generic.yielded if wanted is None else wanted)]


def _vectorized(element: ir.Type, lanes: int | None) -> ir.Type:
    return element if lanes is None else ir.VectorType.get([lanes], element)
