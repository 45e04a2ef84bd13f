"""What every operator must come with."""

import inspect

import pytest

import nnvm_mlir.lowering.linalg  # noqa: F401  registers the rules
from nnvm_mlir.context import make_context
from nnvm_mlir.dialects.nnvm import OPERATORS, Operator
from nnvm_mlir.dialects.nnvm.fields import operand
from nnvm_mlir.lowering.linalg.registry import has_rule


@pytest.fixture(scope="module")
def context():
    return make_context()


@pytest.mark.parametrize("name", sorted(OPERATORS))
def test_operator_is_complete(name, context):
    operator = OPERATORS[name]
    documentation = operator.__dict__.get("__doc__") or ""
    assert documentation.strip(), "has no docstring of its own"
    assert has_rule(operator), "has no lowering to linalg"
    assert operator.evaluate.__func__ is not Operator.evaluate.__func__, "has no evaluate"
    assert context.is_registered_operation(operator.OPERATION_NAME), "is not in the IRDL definition"
    states_shapes = any(
        getattr(operator, rule).__func__ is not getattr(Operator, rule).__func__
        for rule in ("result_shapes", "infer_shape")
    )
    assert states_shapes, "has no shape rule"


@pytest.mark.parametrize("name", sorted(OPERATORS))
def test_hooks_of_families_are_filled_in(name):
    operator = OPERATORS[name]
    declared = {
        hook
        for base in operator.__mro__
        for hook in inspect.get_annotations(base)
        if hook != "name"
    }
    missing = [hook for hook in declared if not hasattr(operator, hook)]
    assert not missing, f"lacks {missing}"


@pytest.mark.parametrize("key", ["values", "results", "location"])
def test_field_must_not_hide_what_operations_offer(key):
    with pytest.raises(ValueError, match=f"{key!r} would hide Operator.{key}"):
        type("Bad", (Operator,), {key: operand()})


def test_names_of_classes_follow_the_operators():
    for name, operator in OPERATORS.items():
        assert operator.__name__.lower() == name.replace("_", ""), name
