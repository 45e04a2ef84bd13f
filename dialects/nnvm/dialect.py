"""The dialect itself: its IRDL definition, loading into a context, and verification of whole modules."""

from __future__ import annotations

from collections.abc import Sequence

from nnvm_mlir.dialects.nnvm.fields import Operand, Result
from nnvm_mlir.dialects.nnvm.operator import OPERATORS, VARIADIC_LIMIT, Operator
from nnvm_mlir.errors import CompileError, Diagnostic, operation_error
from nnvm_mlir.mlir import (
    append_dialect_search_prefix,
    ir,
    irdl,
    register_dialect,
    register_operation,
)


@register_dialect
class NnvmDialect(ir.Dialect):
    """The dialect object that MLIR hands out for `nnvm`."""

    DIALECT_NAMESPACE = "nnvm"


def register_operators() -> None:
    """Makes parsed operations come back as their classes. Called once, by the package's `__init__`."""
    for operator in OPERATORS.values():
        register_operation(NnvmDialect)(operator)
    append_dialect_search_prefix("nnvm_mlir.dialects")


def load(context: ir.Context) -> None:
    """Defines the dialect in `context`. Loading it twice into one context aborts the process, so call it once for each."""
    with context, ir.Location.unknown():
        irdl.load_dialects(ir.Module.parse(irdl_text()))


def verify_module(module: ir.Module) -> None:
    """Checks every nnvm operation of a module against the rules of its operator.

    Raises:
        CompileError: one diagnostic for each operation that breaks them.
    """
    problems: list[Diagnostic] = []
    pending = [module.operation]
    while pending:
        operation = pending.pop()
        for region in operation.regions:
            for block in region.blocks:
                pending.extend(op.operation for op in reversed(list(block.operations)))
        op = operation.opview
        if isinstance(op, Operator):
            try:
                op.check_types()
            except (TypeError, ValueError) as error:
                problems.extend(operation_error(op, str(error)).diagnostics)
    if problems:
        raise CompileError(problems)


def irdl_text() -> str:
    """The dialect's definition in IRDL: names, operands and results of every operator."""
    operations = "\n".join(_irdl_operation(op) for _, op in sorted(OPERATORS.items()))
    return f"irdl.dialect @nnvm {{\n  irdl.type @unknown {{}}\n{operations}\n}}"


def _irdl_operation(operator: type[Operator]) -> str:
    # Constraints stop at counts: one SSA constraint used twice would mean "the same type". The operator's own rules check the rest.
    lines: list[str] = []

    def group(keyword: str, fields: list[tuple[str, str]]) -> None:
        if not fields:
            return
        entries = []
        for field, variadicity in fields:
            value = f"%c{len(lines)}"
            lines.append(f"    {value} = irdl.any")
            entries.append(f"{field}: {variadicity}{value}")
        lines.append(f"    irdl.{keyword}({', '.join(entries)})")

    group("operands", _irdl_fields(operator.operand_fields))
    group("results", _irdl_fields(operator.result_fields))
    body = "\n".join(lines)
    name = operator.OPERATION_NAME.removeprefix("nnvm.")
    return f"  irdl.operation @{name} {{\n{body}\n  }}"


def _irdl_fields(fields: Sequence[Operand | Result]) -> list[tuple[str, str]]:
    """Names and variadicities of IRDL fields; a variadic field stands for many optional ones (see VARIADIC_LIMIT)."""
    result = []
    for field in fields:
        if field.variadic:
            result += [(f"{field.name}{i}", "optional ") for i in range(VARIADIC_LIMIT)]
        else:
            result.append((field.name, "optional " if getattr(field, "optional", False) else ""))
    return result
