"""`Operator`, the base of every operation of the dialect: what an operator *means*.

A subclass declares its operands, results and attributes (see `fields`) and states its rules as
class methods on plain Python data, so that they run and are tested without MLIR. How an operator is
*implemented* lives in `lowering`.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, ClassVar

from nnvm_mlir.dialects.nnvm.fields import Attribute, Operand, Result
from nnvm_mlir.dialects.nnvm.types import (
    KINDS,
    Shape,
    StaticType,
    TensorType,
    is_known,
    require_kind,
    show,
    unify_dtypes,
    unify_shapes,
)
from nnvm_mlir.mlir import ir


class Fusion(enum.Enum):
    """How an operator takes part in fusion: NNVM's six pattern kinds, in the order of their strength."""

    ELEMWISE = 0
    BROADCAST = 1
    INJECTIVE = 2
    COMM_REDUCE = 3
    OUT_ELEMWISE_FUSABLE = 4
    OPAQUE = 8


_SEGMENT_SIZES = ("operandSegmentSizes", "resultSegmentSizes")

OPERATORS: dict[str, type[Operator]] = {}
"""Every operator class by its name in the dialect ("conv2d")."""

VARIADIC_LIMIT = 16
"""How many operands or results a variadic field may have.

IRDL takes the values of one variadic field to be of one type. So each of them is an optional field
of its own, and an attribute tells which are there: `operandSegmentSizes` or `resultSegmentSizes`,
an array of as many ones as there are values, followed by zeros.
"""

Attributes = SimpleNamespace
"""An operator's attribute values by name, defaults filled in: the `a` of every rule."""


class Operator(ir.OpView):
    """An operation of the nnvm dialect.

    Class attributes:
        fusion: its pattern kind.
        kinds: what the operands may hold, unless `infer_dtype` says otherwise.
        is_view: whether the result is the first operand's buffer seen under another shape.
        visible_results: how many results, the first ones, a symbol of the operator shows; None for all.
        checks_data: whether operand values can be wrong at run time (an index out of range), which compiled code reports.
        fields: declared operands, results and attributes, in order.
    """

    OPERATION_NAME: ClassVar[str] = ""
    _ODS_REGIONS = (0, True)

    fusion: ClassVar[Fusion] = Fusion.OPAQUE
    kinds: ClassVar[Sequence[str]] = KINDS
    is_view: ClassVar[bool] = False
    checks_data: ClassVar[bool] = False
    visible_results: ClassVar[int | None] = None
    operand_fields: ClassVar[tuple[Operand, ...]] = ()
    result_fields: ClassVar[tuple[Result, ...]] = ()
    attribute_fields: ClassVar[dict[str, Attribute]] = {}

    def __init_subclass__(cls, name: str | None = None, **kwargs: Any) -> None:
        """Collects the declared fields; with a name, registers the operator.

        Raises:
            ValueError: a field hides what every operation offers, or the name is taken.
        """
        super().__init_subclass__(**kwargs)
        operands, results = [], []
        attributes = dict(cls.attribute_fields)
        for key, field in list(vars(cls).items()):
            if not isinstance(field, Operand | Result | Attribute):
                continue
            if hasattr(Operator, key):
                raise ValueError(f"{cls.__name__}: a field named {key!r} would hide Operator.{key}")
            field.name = key
            if isinstance(field, Operand):
                operands.append(field)
                setattr(cls, key, _operand_property(len(operands) - 1, field))
            elif isinstance(field, Result):
                results.append(field)
                setattr(cls, key, _result_property(len(results) - 1, field))
            else:
                attributes[key] = field
                setattr(cls, key, _attribute_property(field))
        cls.operand_fields = tuple(operands) or cls.operand_fields
        cls.result_fields = tuple(results) or cls.result_fields
        cls.attribute_fields = attributes
        if name is not None:
            # IRDL refuses names that begin with underscores: `__add_scalar__` is `nnvm.add_scalar` in IR.
            cls.OPERATION_NAME = f"nnvm.{name.strip('_')}"
            if name in OPERATORS:
                raise ValueError(f"two classes declare the operator {name!r}")
            OPERATORS[name] = cls

    # ---- what a subclass states -------------------------------------------------------------------------------------
    #
    # `*arrays: Any, **_: Any` lets a subclass state a rule with just the operands that it has: this is
    # how Python's typing spells "further parameters of any kind".

    @classmethod
    def check(cls, a: Attributes) -> None:
        """Refuses attribute values that no operand could make right. Raises ValueError."""

    @classmethod
    def result_shapes(cls, a: Attributes, *shapes: Any, **_: Any) -> Any:
        """Result shapes from operand shapes that are wholly known.

        Returns one shape, or a list of one shape per result. Raises ValueError for operands that do
        not fit.
        """
        raise NotImplementedError(f"{cls.OPERATION_NAME} has no shape rule")

    @classmethod
    def infer_shape(
        cls, a: Attributes, ins: Sequence[Shape], outs: Sequence[Shape]
    ) -> tuple[list[Shape], list[Shape]]:
        """Refines what is known of operand and result shapes, in both directions.

        The default asks `result_shapes` once all operands are known. Raises ValueError for a
        conflict.
        """
        if not all(is_known(shape) for shape in ins):
            return list(ins), list(outs)
        return list(ins), refine(outs, as_list(cls.result_shapes(a, *ins)))

    @classmethod
    def infer_dtype(
        cls, a: Attributes, ins: Sequence[str | None], outs: Sequence[str | None]
    ) -> tuple[list[str | None], list[str | None]]:
        """Refines dtypes in both directions. The default, NNVM's: all operands and results have one dtype."""
        require_kind(ins, cls.kinds)
        dtype = unify_dtypes([*ins, *outs])
        return [dtype] * len(ins), [dtype] * len(outs)

    @classmethod
    def of_parts(cls, given: dict[str, Any]) -> dict[str, Any] | None:
        """How the operator on many operands follows from itself on groups of them, and then on the groups' results.

        Returns:
            The attributes for that, from those given for all; None if it does not follow.
        """
        return None

    @classmethod
    def permuted(cls, a: Attributes, rank: int, axes: Sequence[int]) -> dict[str, Any] | None:
        """How the operator works on operands whose axes are permuted.

        Args:
            rank: of the operands and results before.
            axes: axis i of the permuted tensors is axis axes[i] of the original ones.

        Returns:
            The attributes that change, if the results then come out permuted alike; None if the operator cannot.
        """
        return None

    @classmethod
    def evaluate(cls, a: Attributes, *arrays: Any, **_: Any) -> Any:
        """The value on NumPy arrays: the reference in tests, and the folding of small constants.

        Returns an array, or a tuple of one array per result.
        """
        raise NotImplementedError(f"{cls.OPERATION_NAME} has no reference")

    @classmethod
    def num_results(cls, a: Attributes) -> int:
        """How many results an operation with these attributes has."""
        return len(cls.result_fields)

    # ---- what every operation offers --------------------------------------------------------------------------------

    @classmethod
    def attributes_from(cls, given: dict[str, Any]) -> Attributes:
        """Checked attribute values with defaults filled in.

        Raises:
            TypeError, ValueError: unknown, missing or malformed attributes.
        """
        unknown = sorted(set(given) - set(cls.attribute_fields))
        if unknown:
            names = ", ".join(cls.attribute_fields) or "none"
            raise ValueError(f"has no attribute {unknown[0]!r} (its attributes: {names})")
        values = {}
        for key, field in cls.attribute_fields.items():
            if key not in given and field.required:
                raise ValueError(f"requires attribute {key!r} ({field.kind.expected})")
            try:
                values[key] = field.normalize(given[key]) if key in given else field.default
            except (TypeError, ValueError) as error:
                raise type(error)(f"attribute {key!r}: {error}") from None
        a = Attributes(**values)
        cls.check(a)
        return a

    @classmethod
    def infer(
        cls, a: Attributes, ins: Sequence[TensorType], outs: Sequence[TensorType] | None = None
    ) -> tuple[list[TensorType], list[TensorType]]:
        """Refines operand and result types; `outs` None means that nothing is known of the results.

        Raises:
            ValueError: the types contradict the operator or each other.
        """
        cls._check_operand_count(len(ins))
        if outs is None:
            outs = [TensorType()] * cls.num_results(a)
        in_shapes, out_shapes = cls.infer_shape(a, [t.shape for t in ins], [t.shape for t in outs])
        in_dtypes, out_dtypes = cls.infer_dtype(a, [t.dtype for t in ins], [t.dtype for t in outs])
        return (
            [TensorType(*pair) for pair in zip(in_shapes, in_dtypes, strict=True)],
            [TensorType(*pair) for pair in zip(out_shapes, out_dtypes, strict=True)],
        )

    @classmethod
    def build(
        cls,
        *operands: ir.Value,
        loc: ir.Location | None = None,
        ip: ir.InsertionPoint | None = None,
        result_types: Sequence[TensorType] | None = None,
        **given: Any,
    ) -> Any:
        """Creates an operation; result types are inferred from the operands unless given.

        Raises:
            TypeError, ValueError: attributes or operand types that the operator refuses.
        """
        a = cls.attributes_from(given)
        if result_types is None:
            result_types = cls.infer(a, [TensorType.of(value) for value in operands])[1]
        attributes = {
            key: field.kind.encode(getattr(a, key))
            for key, field in cls.attribute_fields.items()
            if field.required or getattr(a, key) != field.default
        }
        attributes |= cls._segment_sizes(len(operands), len(result_types))
        operation = ir.Operation.create(
            cls.OPERATION_NAME,
            results=[t.to_mlir() for t in result_types],
            operands=list(operands),
            attributes=attributes,
            loc=loc,
            ip=ip,
        )
        return operation.opview

    def rebuilt(self, *operands: ir.Value, **changed: Any) -> Any:
        """This operation on other operands, and with some attributes changed; None is an attribute's default.

        Raises:
            TypeError, ValueError: as `build`.
        """
        given = {**vars(self.values), **changed}
        return self.build(*operands, **{k: v for k, v in given.items() if v is not None})

    @property
    def values(self) -> Attributes:
        """This operation's attribute values, defaults filled in.

        Raises:
            TypeError, ValueError: unknown, missing or malformed attributes.
        """
        given = {}
        for named in self.operation.attributes:
            key = named if isinstance(named, str) else named.name
            if "." in key or key in _SEGMENT_SIZES:  # of another layer, or of MLIR itself
                continue
            field = self.attribute_fields.get(key)
            attr = self.operation.attributes[key]
            try:
                given[key] = field.kind.decode(attr) if field else attr
            except TypeError as error:
                raise TypeError(f"attribute {key!r}: {error}") from None
        return self.attributes_from(given)

    @property
    def operand_types(self) -> list[TensorType]:
        """Types of the operands."""
        return [TensorType.of(value) for value in self.operation.operands]

    @property
    def result_types(self) -> list[TensorType]:
        """Types of the results."""
        return [TensorType.of(value) for value in self.operation.results]

    @property
    def static_operands(self) -> list[StaticType]:
        """Types of the operands, which must be static. Raises ValueError when one is not."""
        return [t.static for t in self.operand_types]

    @property
    def static_results(self) -> list[StaticType]:
        """Types of the results, which must be static. Raises ValueError when one is not."""
        return [t.static for t in self.result_types]

    @property
    def is_used(self) -> bool:
        """Whether any result has a use."""
        return any(next(iter(value.uses), None) is not None for value in self.operation.results)

    def check_types(self) -> None:
        """Checks this operation's attributes and types against its rules.

        Raises:
            TypeError, ValueError: what does not fit.
        """
        a = self.values
        ins, outs = self.operand_types, self.result_types
        if len(outs) != self.num_results(a):
            raise ValueError(f"expects {self.num_results(a)} results, got {len(outs)}")
        self.infer(a, ins, outs)

    @classmethod
    def _segment_sizes(cls, operands: int, results: int) -> dict[str, ir.Attribute]:
        """The attributes that count the values of variadic fields. Raises ValueError when there are too many."""
        attributes = {}
        groups: tuple[tuple[Sequence[Operand | Result], int], ...] = (
            (cls.operand_fields, operands),
            (cls.result_fields, results),
        )
        for key, (fields, count) in zip(_SEGMENT_SIZES, groups, strict=True):
            if not any(field.variadic for field in fields):
                continue
            missing = VARIADIC_LIMIT + len(fields) - 1 - count
            if missing < 0:
                raise ValueError(
                    f"takes at most {count + missing} values, got {count}: use several operations"
                )
            attributes[key] = ir.DenseI32ArrayAttr.get([1] * count + [0] * missing)
        return attributes

    @classmethod
    def _check_operand_count(cls, count: int) -> None:
        required = sum(not (f.optional or f.variadic) for f in cls.operand_fields)
        unbounded = any(f.variadic for f in cls.operand_fields)
        if count < required or (count > len(cls.operand_fields) and not unbounded):
            names = ", ".join(f.name for f in cls.operand_fields)
            raise ValueError(f"expects operands ({names}), got {count}")


class SameShape(Operator):
    """Operators whose operands and results all have one shape, known from any of them."""

    @classmethod
    def infer_shape(
        cls, a: Attributes, ins: Sequence[Shape], outs: Sequence[Shape]
    ) -> tuple[list[Shape], list[Shape]]:
        shape = unify_shapes([*ins, *outs])
        return [shape] * len(ins), [shape] * len(outs)


def as_list(shapes: Any) -> list[Shape]:
    """One shape or a list of shapes, as a list."""
    return list(shapes) if isinstance(shapes, list) else [shapes]


def refine(declared: Sequence[Shape], inferred: Sequence[Shape]) -> list[Shape]:
    """What was declared of result shapes, refined by what a rule inferred.

    Raises:
        ValueError: they contradict each other.
    """
    refined = []
    for index, (have, want) in enumerate(zip(declared, inferred, strict=True)):
        try:
            refined.append(unify_shapes([want, have]))
        except ValueError:
            raise ValueError(
                f"expects result {index} of shape {show(want)}, got {show(have)}"
            ) from None
    return refined


def normalize_axis(axis: int, rank: int) -> int:
    """A possibly negative axis as an index from 0. Raises ValueError when out of range."""
    if not -rank <= axis < rank:
        raise ValueError(f"axis {axis} is out of range for rank {rank}")
    return axis % rank


def normalize_axes(axes: Sequence[int], rank: int) -> tuple[int, ...]:
    """Distinct axes, sorted, from 0. Raises ValueError when out of range or repeated."""
    normal = sorted(normalize_axis(axis, rank) for axis in axes)
    if len(set(normal)) != len(normal):
        raise ValueError(f"axes {tuple(axes)} name one axis twice")
    return tuple(normal)


def permuted_axis(axis: int, rank: int, axes: Sequence[int]) -> dict[str, Any]:
    """What `Operator.permuted` says when operand and result have the attribute `axis` in common."""
    return {"axis": axes.index(normalize_axis(axis, rank))}


def moved_axes(listed: Sequence[int], axes: Sequence[int]) -> tuple[int, ...]:
    """Where listed axes (possibly negative) are after a transpose by `axes`, sorted."""
    return tuple(sorted(axes.index(axis % len(axes)) for axis in listed))


def _operand_property(index: int, field: Operand) -> property:
    def get(self: Operator) -> Any:
        operands = self.operation.operands
        if field.variadic:
            return [operands[i] for i in range(index, len(operands))]
        return operands[index] if index < len(operands) else None

    return property(get, doc=f"Operand {field.name!r}.")


def _result_property(index: int, field: Result) -> property:
    def get(self: Operator) -> Any:
        results = self.operation.results
        return list(results) if field.variadic else results[index]

    return property(get, doc=f"Result {field.name!r}.")


def _attribute_property(field: Attribute) -> property:
    def get(self: Operator) -> Any:
        attributes = self.operation.attributes
        if field.name in attributes:
            return field.kind.decode(attributes[field.name])
        return field.default

    return property(get, doc=f"Attribute {field.name!r}.")
