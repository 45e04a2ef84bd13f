"""Reading values and operations of the tensor dialect: shapes, static attributes, constants."""

from __future__ import annotations

from nnvm_mlir.lowering.cpu.emitter import Unsupported
from nnvm_mlir.mlir import ir


def producer(value: ir.Value) -> ir.Operation | None:
    """The operation that `value` is a result of; None for the arguments of a block."""
    owner = value.owner
    return None if isinstance(owner, ir.Block) else owner.operation


def defining_op(value: ir.Value) -> ir.Operation:
    """The operation that `value` is a result of.

    Raises:
        Unsupported: it is an argument of a block.
    """
    op = producer(value)
    if op is None:
        raise Unsupported("an argument of a block where the result of an operation is expected")
    return op


def constant_value(op: ir.Operation) -> float | int:
    """The value of a scalar or splat `arith.constant`.

    Raises:
        Unsupported: the elements differ.
    """
    attribute = op.attributes["value"]
    if isinstance(attribute, ir.DenseElementsAttr):
        if not attribute.is_splat:
            raise Unsupported("a constant tensor with different elements")
        attribute = attribute.get_splat_value()
    return attribute.value


def static_values(op: ir.Operation, name: str) -> list[int]:
    """An attribute with static offsets, sizes, strides or paddings."""
    values = list(ir.DenseI64ArrayAttr(op.attributes[name]))
    if any(value < -(2**62) for value in values):
        raise Unsupported(f"{op.name} with {name} known only at run time")
    return values


def pad_value(op: ir.Operation) -> float | int:
    """The number that a `tensor.pad` writes around its operand."""
    *_, terminator = op.regions[0].blocks[0].operations
    constant = producer(terminator.operands[0])
    if constant is None or constant.name != "arith.constant":
        raise Unsupported("tensor.pad with a computed value")
    return constant_value(constant)


def reassociation(op: ir.Operation) -> list[list[int]]:
    """The groups of dimensions that a reshape joins or splits."""
    return [
        [ir.IntegerAttr(d).value for d in ir.ArrayAttr(group)]
        for group in ir.ArrayAttr(op.attributes["reassociation"])
    ]


def behind_reshapes(value: ir.Value) -> ir.Value:
    """What `value` is a view of under another shape."""
    while (op := producer(value)) is not None and op.name in (
        "tensor.collapse_shape",
        "tensor.expand_shape",
    ):
        value = op.operands[0]
    return value


def shape_of(type_: ir.Type) -> tuple[int, ...]:
    """The static shape of a tensor; () for a scalar."""
    if not isinstance(type_, ir.ShapedType):
        return ()
    if not type_.has_static_shape:
        raise Unsupported(f"the dynamic type {type_}")
    return tuple(type_.shape)


def count_of(type_: ir.Type) -> int:
    """Number of elements of a tensor; 1 for a scalar."""
    count = 1
    for extent in shape_of(type_):
        count *= extent
    return count
