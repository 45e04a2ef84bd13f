"""Inputs of a model: declared types made static by the shapes and values that a caller gives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import onnx

from nnvm_mlir.builder import GraphBuilder, Node
from nnvm_mlir.dialects.nnvm.types import TensorType, show
from nnvm_mlir.errors import CompileError, NeedsShapes
from nnvm_mlir.frontend.onnx.tensors import dtype_of

_ANONYMOUS = ("", "?", "-1")
"""Names of dimensions under which exporters mean "any size", each time another."""


def model_inputs(graph: onnx.GraphProto) -> list[onnx.ValueInfoProto]:
    """What a caller must give: the graph's inputs without those that have an initializer."""
    initialized = {tensor.name for tensor in graph.initializer}
    return [value for value in graph.input if value.name not in initialized]


def declared_type(value: onnx.ValueInfoProto) -> TensorType:
    """The type that a model declares for an input or output, open dimensions unknown.

    Raises:
        CompileError: it is no tensor.
    """
    return _Binding().type_of(value, None)


def bind_inputs(
    builder: GraphBuilder,
    graph: onnx.GraphProto,
    shapes: Mapping[str, Sequence[int]],
    values: Mapping[str, np.ndarray],
) -> dict[str, Node]:
    """Declares the graph's inputs, each with a static type; those in `values` become constants.

    Raises:
        NeedsShapes: dimensions stay open; it names every input that has some.
        CompileError: a given shape contradicts the declared one, a name is unknown, or one symbolic
            dimension gets two sizes.
    """
    inputs = model_inputs(graph)
    names = [value.name for value in inputs]
    for given in (*shapes, *values):
        if given not in names:
            raise CompileError(
                f"the model has no input {given!r}; its inputs are {', '.join(map(repr, names))}"
            )
    binding = _Binding()
    known = {**shapes, **{name: np.shape(array) for name, array in values.items()}}
    for value in inputs:
        if value.name in known:
            binding.bind(value, known[value.name])
    types = {value.name: binding.type_of(value, known.get(value.name)) for value in inputs}
    missing = [name for name, tensor_type in types.items() if not tensor_type.is_static]
    if missing:
        listed = ", ".join(f"{name!r} ({show(types[name].shape)})" for name in missing)
        raise NeedsShapes(f"shapes must be given for the inputs {listed}", missing)
    nodes = {}
    for name, tensor_type in types.items():
        if name in values:
            nodes[name] = builder.constant(_checked_value(name, values[name], tensor_type), name)
        else:
            nodes[name] = builder.input(name, tensor_type)
    return nodes


class _Binding:
    """Sizes of symbolic dimensions, and who gave them."""

    def __init__(self) -> None:
        self.sizes: dict[str, tuple[int, str]] = {}

    def bind(self, value: onnx.ValueInfoProto, shape: Sequence[int]) -> None:
        """Takes the sizes of symbolic dimensions from the shape given for an input."""
        tensor_type = _tensor_type(value)
        dims = tensor_type.shape.dim
        if any(not isinstance(dim, int | np.integer) or dim < 0 for dim in shape):
            raise CompileError(f"input {value.name!r}: {tuple(shape)} is not a shape")
        if not tensor_type.HasField("shape"):
            return
        if len(dims) != len(shape):
            raise CompileError(
                f"input {value.name!r} has rank {len(dims)},"
                f" the given shape {tuple(shape)} has rank {len(shape)}"
            )
        for axis, (dim, size) in enumerate(zip(dims, shape, strict=True)):
            if _fixed_size(dim) is not None:
                if dim.dim_value != size:
                    raise CompileError(
                        f"input {value.name!r} has size {dim.dim_value} in dimension {axis},"
                        f" not {size}"
                    )
            elif dim.dim_param not in _ANONYMOUS:
                before, giver = self.sizes.setdefault(dim.dim_param, (size, value.name))
                if before != size:
                    raise CompileError(
                        f"dimension {dim.dim_param!r} is {before} in input {giver!r}"
                        f" and {size} in input {value.name!r}"
                    )

    def type_of(self, value: onnx.ValueInfoProto, shape: Sequence[int] | None) -> TensorType:
        """The type of an input, as far as it is known."""
        tensor_type = _tensor_type(value)
        dtype = dtype_of(tensor_type.elem_type, f"input {value.name!r}")
        if shape is not None:
            return TensorType(tuple(int(dim) for dim in shape), dtype)
        if not tensor_type.HasField("shape"):
            return TensorType(None, dtype)
        return TensorType(tuple(self._size(dim) for dim in tensor_type.shape.dim), dtype)

    def _size(self, dim: onnx.TensorShapeProto.Dimension) -> int | None:
        fixed = _fixed_size(dim)
        if fixed is not None:
            return fixed
        return self.sizes.get(dim.dim_param, (None, ""))[0]


def _fixed_size(dim: onnx.TensorShapeProto.Dimension) -> int | None:
    # Paddle exports write -1 where the standard wants a dimension without value.
    return dim.dim_value if dim.HasField("dim_value") and dim.dim_value >= 0 else None


def _tensor_type(value: onnx.ValueInfoProto) -> onnx.TypeProto.Tensor:
    kind = value.type.WhichOneof("value")
    if kind != "tensor_type":
        raise CompileError(
            f"input {value.name!r} is {kind or 'of no type'}; only tensors are supported"
        )
    return value.type.tensor_type


def _checked_value(name: str, value: np.ndarray, tensor_type: TensorType) -> np.ndarray:
    array = np.array(value)
    array.flags.writeable = False
    if TensorType.of(array) != tensor_type:
        raise CompileError(
            f"the value given for input {name!r} is {array.dtype}{list(array.shape)},"
            f" expected {tensor_type.dtype}{list(tensor_type.shape or ())}"
        )
    return array
