"""Structure of a model: versions, names, and graphs whose nodes can be put in order.

Nothing here recurses over nodes. Nested graphs (branches, loop bodies) are bounded in depth before
anything walks them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence

import onnx
from onnx import AttributeProto, FunctionProto, GraphProto, NodeProto

from nnvm_mlir.errors import CompileError

MIN_IR_VERSION = 3
MIN_OPSET = 6
MAX_OPSET = onnx.defs.onnx_opset_version()
MAX_DEPTH = 32
"""How deep graphs may be nested: as deep as protobuf parses them."""


def check_model(model: onnx.ModelProto) -> None:
    """Checks everything that can be checked without knowing any operator.

    Raises:
        CompileError: it names the version, name, node or cycle that is wrong.
    """
    if not MIN_IR_VERSION <= model.ir_version <= onnx.IR_VERSION:
        given = model.ir_version or "missing"
        raise CompileError(
            f"the model's IR version is {given},"
            f" supported are {MIN_IR_VERSION} to {onnx.IR_VERSION}"
        )
    opset_versions(model.opset_import)
    _check_all_nodes(model)
    seen: set[tuple[str, str, str]] = set()
    for function in model.functions:
        key = function_key(function)
        if key in seen:
            raise CompileError(f"the function {key[1]!r} of domain {key[0]!r} is defined twice")
        seen.add(key)
        opset_versions(function.opset_import)
        _check_function(function)
    if not model.graph.output:
        raise CompileError("the model's graph has no output")
    _check_graph(model.graph, frozenset())


def opset_versions(imports: Iterable[onnx.OperatorSetIdProto]) -> dict[str, int]:
    """Version by domain; the default domain is "".

    Raises:
        CompileError: there is none, or there are two of one domain, or the version of the default
            domain is not supported.
    """
    versions: dict[str, int] = {}
    for entry in imports:
        domain = normalize_domain(_text(entry.domain, "an opset's domain"))
        if versions.setdefault(domain, entry.version) != entry.version:
            raise CompileError(
                f"two opset versions of domain {domain!r}: {versions[domain]} and {entry.version}"
            )
    if not versions:
        raise CompileError("the model imports no opset")
    default = versions.get("")
    if default is not None and not MIN_OPSET <= default <= MAX_OPSET:
        raise CompileError(f"opset {default} is not supported: expected {MIN_OPSET} to {MAX_OPSET}")
    return versions


def normalize_domain(domain: str) -> str:
    """The default domain has two spellings; "" is ours."""
    return "" if domain == "ai.onnx" else domain


def function_key(function: FunctionProto) -> tuple[str, str, str]:
    """What a node names to call a function of the model."""
    return normalize_domain(function.domain), function.name, function.overload


def node_label(node: NodeProto) -> str:
    """A node's name for messages; an unnamed one is called by its first output."""
    return node.name or next((name for name in node.output if name), "")


def subgraphs(node: NodeProto) -> Iterator[GraphProto]:
    """The graphs among a node's attributes."""
    for attribute in node.attribute:
        if attribute.type == AttributeProto.GRAPH:
            yield attribute.g
        elif attribute.type == AttributeProto.GRAPHS:
            yield from attribute.graphs


def captured_names(node: NodeProto) -> set[str]:
    """Every name a node reads: its inputs, and what its graphs take from outside."""
    names = {name for name in node.input if name}
    for graph in subgraphs(node):
        inner = {t.name for t in graph.initializer} | {v.name for v in graph.input}
        used = {v.name for v in graph.output}
        for child in graph.node:
            used |= captured_names(child)
            inner.update(child.output)
        names |= used - inner
    return names


def ordered_nodes(nodes: Sequence[NodeProto], defined: Iterable[str]) -> list[NodeProto]:
    """The nodes in an order in which every name is defined before it is read.

    Nodes that are in such an order stay in it.

    Args:
        nodes: nodes of one graph or function.
        defined: names known before the first node.

    Raises:
        CompileError: a name is never defined, or the nodes form a cycle.
    """
    available = set(defined)
    reads = [captured_names(node) for node in nodes]
    for node, needs in zip(nodes, reads, strict=True):
        if not needs <= available:
            break
        available.update(node.output)
    else:
        return list(nodes)
    return _sorted_nodes(nodes, reads, set(defined))


def _sorted_nodes(
    nodes: Sequence[NodeProto], reads: Sequence[set[str]], defined: set[str]
) -> list[NodeProto]:
    producers = {name: index for index, node in enumerate(nodes) for name in node.output if name}
    waiting: list[int] = []
    readers: dict[int, list[int]] = {}
    for index, needs in enumerate(reads):
        missing = needs - defined
        for name in sorted(missing):
            if name not in producers:
                raise CompileError(
                    f"node {node_label(nodes[index])!r} ({nodes[index].op_type}) reads {name!r},"
                    " which nothing defines"
                )
        sources = {producers[name] for name in missing}
        waiting.append(len(sources))
        for source in sources:
            readers.setdefault(source, []).append(index)
    ready = deque(index for index, count in enumerate(waiting) if count == 0)
    order = []
    while ready:
        index = ready.popleft()
        order.append(index)
        for reader in readers.get(index, ()):
            waiting[reader] -= 1
            if waiting[reader] == 0:
                ready.append(reader)
    if len(order) < len(nodes):
        stuck = [repr(node_label(nodes[index])) for index, count in enumerate(waiting) if count]
        shown = ", ".join(stuck[:5]) + (", ..." if len(stuck) > 5 else "")
        raise CompileError(f"the graph has a cycle through the nodes {shown}")
    return [nodes[index] for index in order]


def _check_all_nodes(model: onnx.ModelProto) -> None:
    """Bounds the depth of graphs, and checks that every name in any of them is text."""
    pending: list[tuple[GraphProto | FunctionProto, int]] = [(model.graph, 0)]
    pending += [(function, 0) for function in model.functions]
    while pending:
        body, depth = pending.pop()
        if depth > MAX_DEPTH:
            raise CompileError(f"graphs are nested more than {MAX_DEPTH} deep")
        where = f"in {_text(body.name, 'the name of a graph')!r}"
        for declared in (*body.input, *body.output, *getattr(body, "initializer", ())):
            _text(getattr(declared, "name", declared), f"the name of a tensor {where}")
        for node in body.node:
            _check_texts(node)
            pending.extend((graph, depth + 1) for graph in subgraphs(node))


def _check_function(function: FunctionProto) -> None:
    names = _Names(f"function {function.name!r}", frozenset())
    for name in function.input:
        names.define(name, "input")
    _check_body(function.node, function.output, names)


def _check_graph(graph: GraphProto, outer: frozenset[str]) -> None:
    names = _Names(f"graph {graph.name!r}", outer)
    for value in graph.input:
        names.define(value.name, "input")
    inputs = set(names.local)
    if graph.sparse_initializer:
        raise CompileError(f"{names.where} has sparse initializers, which are not supported")
    initializers: set[str] = set()
    for tensor in graph.initializer:
        if tensor.name in initializers:
            raise CompileError(f"{names.where} has two initializers named {tensor.name!r}")
        initializers.add(tensor.name)
        if tensor.name not in inputs:
            names.define(tensor.name, "initializer")
    _check_body(graph.node, [value.name for value in graph.output], names)


def _check_body(nodes: Sequence[NodeProto], outputs: Sequence[str], names: _Names) -> None:
    known = names.outer | names.local
    for node in nodes:
        for name in node.output:
            if name:
                names.define(name, f"output of node {node_label(node)!r}")
    ordered_nodes(nodes, known)
    visible = frozenset(names.outer | names.local)
    for name in outputs:
        if name not in visible:
            raise CompileError(f"{names.where} has the output {name!r}, which nothing defines")
    for node in nodes:
        for graph in subgraphs(node):
            _check_graph(graph, visible.difference(node.output))


def _check_texts(node: NodeProto) -> None:
    _text(node.name, "a node name")
    for value, what in ((node.op_type, "operator type"), (node.domain, "domain")):
        _text(value, f"the {what} of node {node_label(node)!r}")
    if not node.op_type:
        raise CompileError(f"node {node_label(node)!r} has no operator type")
    for name in (*node.input, *node.output):
        _text(name, f"a name at node {node_label(node)!r}")
    seen: set[str] = set()
    for attribute in node.attribute:
        name = _text(attribute.name, f"an attribute name of node {node_label(node)!r}")
        if name in seen:
            raise CompileError(f"node {node_label(node)!r} has the attribute {name!r} twice")
        seen.add(name)


class _Names:
    """Names of one graph, each defined once and hiding none of an enclosing graph."""

    def __init__(self, where: str, outer: frozenset[str]) -> None:
        self.where = where
        self.outer = outer
        self.local: set[str] = set()

    def define(self, name: str, what: str) -> None:
        if not name:
            raise CompileError(f"{self.where} has an {what} without a name")
        if name in self.local or name in self.outer:
            raise CompileError(f"{self.where} defines {name!r} twice (the second is an {what})")
        self.local.add(name)


def _text(value: str | bytes, what: str) -> str:
    """A string of the file; protobuf hands out bytes where they are not UTF-8."""
    if not isinstance(value, str):
        raise CompileError(f"{what} is not valid UTF-8: {value!r}")
    if "\0" in value:
        raise CompileError(f"{what} contains a NUL character: {value!r}")
    return value
