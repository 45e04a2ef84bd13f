"""One error for all operators of a model that cannot be compiled, before any work is done."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from onnx import FunctionProto, NodeProto

from nnvm_mlir.errors import CompileError
from nnvm_mlir.frontend.onnx.check import node_label, normalize_domain, opset_versions, subgraphs
from nnvm_mlir.frontend.onnx.registry import find_converter
from nnvm_mlir.frontend.onnx.schema import find_schema
from nnvm_mlir.frontend.onnx.standard_functions import has_function_body

_SHOWN_NODES = 10

Functions = Mapping[tuple[str, str, str], FunctionProto]


def check_supported(
    nodes: Sequence[NodeProto], opsets: Mapping[str, int], functions: Functions
) -> None:
    """Refuses nodes that no converter, function of the model or standard function body can handle.

    Nested graphs are listed too when something outside them is unsupported; alone they are judged
    when they are imported, for a branch that is never taken needs no support.

    Raises:
        CompileError: it lists each operator with domain, opset and the nodes that use it.
    """
    unsupported: dict[tuple[str, str, int | None], list[str]] = {}
    nested: dict[tuple[str, str, int | None], list[str]] = {}
    seen: set[tuple[str, str, str]] = set()
    pending: list[tuple[Sequence[NodeProto], Mapping[str, int], bool]] = [(nodes, opsets, False)]
    while pending:
        body, versions, inside = pending.pop()
        for node in body:
            domain = normalize_domain(node.domain)
            key = (domain, node.op_type, node.overload)
            function = functions.get(key)
            if function is not None:
                if key not in seen:
                    seen.add(key)
                    pending.append((function.node, opset_versions(function.opset_import), inside))
            elif not _is_supported(node.op_type, versions.get(domain), domain):
                found = nested if inside else unsupported
                where = (node.op_type, domain, versions.get(domain))
                found.setdefault(where, []).append(node_label(node))
            pending.extend((graph.node, versions, True) for graph in subgraphs(node))
    if unsupported:
        for where, names in nested.items():
            unsupported.setdefault(where, []).extend(names)
        lines = [_describe(*where, names) for where, names in sorted(unsupported.items(), key=str)]
        raise CompileError("the model has unsupported operators:\n  " + "\n  ".join(lines))


def _is_supported(op_type: str, opset: int | None, domain: str) -> bool:
    if opset is None or find_schema(op_type, opset, domain) is None:
        return False
    return find_converter(op_type, opset, domain) is not None or has_function_body(
        op_type, opset, domain
    )


def _describe(op_type: str, domain: str, opset: int | None, names: list[str]) -> str:
    version = "not imported" if opset is None else f"opset {opset}"
    shown = ", ".join(map(repr, names[:_SHOWN_NODES])) + (
        f" and {len(names) - _SHOWN_NODES} more" if len(names) > _SHOWN_NODES else ""
    )
    return f"{op_type} (domain {domain or 'ai.onnx'!r}, {version}), used by {shown}"
