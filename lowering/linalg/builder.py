"""Builds linalg and tensor ops for lowering rules.

Tensors at this level are static, with signless elements; a bool is stored as an i8 that holds 0 or
1 (a vector of i1 in memory would be packed bits). Bodies of generics compute bools as i1, and
float16 and bfloat16 in f32: `from_storage` and `to_storage` convert at the boundary of each body.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

import numpy as np

from nnvm_mlir.dialects.nnvm.layout import Reorder
from nnvm_mlir.dialects.nnvm.types import TensorType
from nnvm_mlir.lowering.linalg.scalars import Scalars, cast, compute_dtype, scalar_type
from nnvm_mlir.mlir import arith, ir, linalg, tensor

Body = Callable[..., ir.Value | Sequence[ir.Value]]


def storage_element(dtype: str) -> ir.Type:
    """The element type in which a dtype is stored: i8 for bool, signless integers."""
    return ir.IntegerType.get_signless(8) if dtype == "bool" else scalar_type(dtype)


def storage_type(nnvm_type: TensorType) -> ir.RankedTensorType:
    """The linalg-level tensor type of a static nnvm type."""
    shape, dtype = nnvm_type.static
    return ir.RankedTensorType.get(list(shape), storage_element(dtype))


def shape_of(value: ir.Value) -> tuple[int, ...]:
    """The static shape of a tensor value."""
    return tuple(ir.RankedTensorType(value.type).shape)


class LinalgBuilder:
    """Creates ops at the current insertion point, with the current location."""

    # ---- generics --------------------------------------------------------------------------------

    def generic(
        self,
        inputs: Sequence[ir.Value],
        input_maps: Sequence[ir.AffineMap],
        inits: Sequence[ir.Value],
        init_maps: Sequence[ir.AffineMap],
        iterators: Sequence[str],
        body: Callable[..., Sequence[ir.Value]],
    ) -> list[ir.Value]:
        """A linalg.generic; where a tensor is empty no iteration is left, and the inits come back.

        Args:
            inputs: tensors that are read.
            input_maps: for each the element that an iteration reads.
            inits: tensors that are updated.
            init_maps: for each the element that an iteration updates.
            iterators: "parallel" or "reduction" for each loop.
            body: from one scalar of each input and init, as stored, to one for each init.
        """
        if any(0 in shape_of(value) for value in (*inputs, *inits)):
            return list(inits)
        op = linalg.GenericOp(
            [init.type for init in inits],
            list(inputs),
            list(inits),
            ir.ArrayAttr.get([ir.AffineMapAttr.get(m) for m in (*input_maps, *init_maps)]),
            ir.ArrayAttr.get(
                [ir.Attribute.parse(f"#linalg.iterator_type<{kind}>") for kind in iterators]
            ),
        )
        elements = [ir.RankedTensorType(v.type).element_type for v in (*inputs, *inits)]
        block = op.regions[0].blocks.append(*elements)
        with ir.InsertionPoint(block):
            linalg.YieldOp(list(body(*block.arguments)))
        return list(op.results)

    def map(
        self,
        function: Body,
        inputs: Sequence[ir.Value],
        dtypes: Sequence[str],
        result_dtype: str,
        shape: Sequence[int] | None = None,
    ) -> ir.Value:
        """Applies a scalar function to every element, inputs broadcast to one shape as in NumPy.

        Args:
            function: from one scalar of each input to the result's, all as bodies compute (see
                `Scalars`).
            inputs: tensors.
            dtypes: their nnvm dtypes.
            result_dtype: the result's.
            shape: the result's shape; by default the inputs' broadcast shape.
        """
        if shape is None:
            shape = np.broadcast_shapes(*(shape_of(value) for value in inputs))
        rank = len(shape)
        scalars = [splat_constant(value) for value in inputs]
        tensors = [v for v, scalar in zip(inputs, scalars, strict=True) if scalar is None]
        maps = [broadcast_map(shape_of(value), shape) for value in tensors]

        def body(*arguments: ir.Value) -> list[ir.Value]:
            stored = iter(arguments)
            operands = [
                from_storage(
                    next(stored) if scalar is None else arith.constant(scalar.type, scalar), d
                )
                for scalar, d in zip(scalars, dtypes, strict=True)
            ]
            return [to_storage(function(*operands), result_dtype)]

        init = self.empty(shape, result_dtype)
        identity = ir.AffineMap.get_identity(rank)
        return self.generic(tensors, maps, [init], [identity], ["parallel"] * rank, body)[0]

    def reduce(
        self,
        combine: Callable[[ir.Value, ir.Value], ir.Value],
        initial: ir.Value,
        x: ir.Value,
        dtype: str,
        axes: Sequence[int],
        keepdims: bool,
        element: Callable[[ir.Value], ir.Value] | None = None,
        finish: Callable[[ir.Value], ir.Value] | None = None,
        accumulator: str | None = None,
    ) -> ir.Value:
        """Folds a function over axes: `finish(combine(accumulator, element(x)))`, in x's dtype.

        Args:
            combine: the function of accumulator and element.
            initial: the accumulator at the start; like all scalars here as bodies compute.
            x: the tensor.
            dtype: its nnvm dtype.
            axes: the folded axes, from 0, sorted.
            keepdims: whether they stay, with size 1.
            element: what is done first with each element.
            finish: what is done last with each accumulator.
            accumulator: the nnvm dtype that is accumulated in, by default the one that bodies
                compute in.
        """
        accumulator = accumulator or compute_dtype(dtype)
        shape = shape_of(x)
        rank = len(shape)
        kept = [i for i in range(rank) if i not in axes]
        dims = [ir.AffineDimExpr.get(i) for i in range(rank)]
        out_map = ir.AffineMap.get(rank, 0, [dims[i] for i in kept])
        iterators = ["reduction" if i in axes else "parallel" for i in range(rank)]

        def body(stored: ir.Value, accumulated: ir.Value) -> list[ir.Value]:
            value = cast(from_storage(stored, dtype), dtype, accumulator)
            if element is not None:
                value = element(value)
            return [to_storage(combine(from_storage(accumulated, accumulator), value), accumulator)]

        init = self.fill([shape[i] for i in kept], accumulator, initial)
        result = self.generic(
            [x], [ir.AffineMap.get_identity(rank)], [init], [out_map], iterators, body
        )[0]
        if finish is not None or accumulator != dtype:
            finish = finish or (lambda value: value)
            result = self.map(
                lambda value: cast(finish(value), accumulator, dtype),
                [result],
                [accumulator],
                dtype,
            )
        if keepdims:
            result = self.reshape(result, [1 if i in axes else shape[i] for i in range(rank)])
        return result

    # ---- whole tensors ---------------------------------------------------------------------------

    def empty(self, shape: Sequence[int], dtype: str) -> ir.Value:
        """An uninitialised tensor, for a generic to write."""
        return tensor.EmptyOp(list(shape), storage_element(dtype)).result

    def fill(self, shape: Sequence[int], dtype: str, value: ir.Value) -> ir.Value:
        """A tensor of one scalar, given as bodies compute."""
        return filled(to_storage(value, dtype), self.empty(shape, dtype))

    def scalar(self, value: float | int | bool, dtype: str) -> ir.Value:
        """A constant scalar as stored, such as `pad` takes."""
        return to_storage(Scalars(dtype).const(value), dtype)

    def constant(self, value: np.ndarray) -> ir.Value:
        """A constant tensor of a NumPy array (for small ones: weights are function arguments)."""
        stored = value.astype(np.int8) if value.dtype == bool else value
        stored = np.ascontiguousarray(stored)
        if stored.dtype.kind == "u":
            stored = stored.view(stored.dtype.str.replace("u", "i"))
        element = storage_element(str(value.dtype))
        raw = stored.view(np.uint16) if str(value.dtype) == "bfloat16" else stored
        attr = ir.DenseElementsAttr.get(raw, type=element, shape=list(value.shape))
        return arith.constant(ir.RankedTensorType.get(list(value.shape), element), attr)

    def reshape(self, x: ir.Value, shape: Sequence[int]) -> ir.Value:
        """The same elements in row-major order under another shape of the same size."""
        old, new = shape_of(x), tuple(shape)
        if old == new:
            return x
        element = ir.RankedTensorType(x.type).element_type
        if prod(new) == 0:
            return tensor.EmptyOp(list(new), element).result
        groups = _reassociation(old, new)
        if groups is not None and len(new) < len(old):
            return tensor.collapse_shape(ir.RankedTensorType.get(list(new), element), x, groups)
        groups = _reassociation(new, old)
        if groups is not None and len(new) > len(old):
            return tensor.expand_shape(
                ir.RankedTensorType.get(list(new), element), x, groups, [], list(new)
            )
        return self.reshape(self.reshape(x, (prod(old),)), new)

    def cast(self, x: ir.Value, source: str, target: str) -> ir.Value:
        """A tensor of dtype `source` in dtype `target`; the tensor itself where they are the same."""
        if source == target:
            return x
        return self.map(lambda value: cast(value, source, target), [x], [source], target)

    def reorder(self, x: ir.Value, step: Reorder) -> ir.Value:
        """A permuting copy: a transposition between two reshapes."""
        transposed = self.transpose(self.reshape(x, step.expanded), step.permutation)
        return self.reshape(transposed, step.result)

    def transpose(self, x: ir.Value, axes: Sequence[int]) -> ir.Value:
        """Result axis i is operand axis axes[i]."""
        if list(axes) == list(range(len(axes))):
            return x
        shape = shape_of(x)
        rank = len(shape)
        dims: list[ir.AffineExpr] = [ir.AffineDimExpr.get(0)] * rank
        for position, axis in enumerate(axes):
            dims[axis] = ir.AffineDimExpr.get(position)
        init = tensor.EmptyOp(
            [shape[axis] for axis in axes], ir.RankedTensorType(x.type).element_type
        ).result
        return self.generic(
            [x],
            [ir.AffineMap.get(rank, 0, dims)],
            [init],
            [ir.AffineMap.get_identity(rank)],
            ["parallel"] * rank,
            lambda value, _: [value],
        )[0]

    def pad(
        self, x: ir.Value, low: Sequence[int], high: Sequence[int], value: ir.Value
    ) -> ir.Value:
        """Pads with a scalar (as stored); no padding gives `x` itself."""
        if not any(low) and not any(high):
            return x
        shape = [a + b + c for a, b, c in zip(shape_of(x), low, high, strict=True)]
        element = ir.RankedTensorType(x.type).element_type
        op = tensor.PadOp(ir.RankedTensorType.get(shape, element), x, [], [], list(low), list(high))
        index = ir.IndexType.get()
        block = op.regions[0].blocks.append(*[index] * len(shape))
        with ir.InsertionPoint(block):
            tensor.YieldOp(value)
        return op.result

    def slice(
        self, x: ir.Value, offsets: Sequence[int], sizes: Sequence[int], strides: Sequence[int]
    ) -> ir.Value:
        """A rectangular part with positive strides."""
        element = ir.RankedTensorType(x.type).element_type
        return tensor.extract_slice(
            ir.RankedTensorType.get(list(sizes), element),
            x, [], [], [], list(offsets), list(sizes), list(strides),
        )  # fmt: skip

    def concatenate(self, parts: Sequence[ir.Value], axis: int) -> ir.Value:
        """The parts one after another along an axis."""
        shape = list(shape_of(parts[0]))
        shape[axis] = sum(shape_of(part)[axis] for part in parts)
        element = ir.RankedTensorType(parts[0].type).element_type
        result = tensor.EmptyOp(shape, element).result
        position = 0
        for part in parts:
            sizes = list(shape_of(part))
            offsets = [0] * len(shape)
            offsets[axis] = position
            position += sizes[axis]
            if prod(sizes):
                result = tensor.insert_slice(
                    part, result, [], [], [], offsets, sizes, [1] * len(shape)
                )
        return result


def from_storage(value: ir.Value, dtype: str) -> ir.Value:
    """A stored scalar as bodies compute with it: bool as i1, float16 and bfloat16 as f32."""
    if dtype == "bool":
        return cast(value, "int8", "bool")
    wide = compute_dtype(dtype)
    return value if wide == dtype else arith.extf(scalar_type(wide), value)


def to_storage(value: ir.Value, dtype: str) -> ir.Value:
    """The inverse of `from_storage`; a constant stays one, as generators expect of fills and padding."""
    if compute_dtype(dtype) == dtype and dtype != "bool":
        return value
    stored = storage_element(dtype)
    if isinstance(value.owner, arith.ConstantOp):
        number = value.owner.literal_value
        return arith.constant(stored, int(number) if dtype == "bool" else number)
    return (arith.extui if dtype == "bool" else arith.truncf)(stored, value)


def filled(value: ir.Value, out: ir.Value) -> ir.Value:
    """The tensor `out` with one scalar (as stored) in every element."""
    op = linalg.FillOp([out.type], [value], [out])
    block = op.regions[0].blocks.append(value.type, value.type)
    with ir.InsertionPoint(block):
        linalg.YieldOp([block.arguments[0]])
    return op.results[0]


def splat_constant(value: ir.Value) -> ir.Attribute | None:
    """The scalar of which a tensor is made, if its defining op is a constant of one value."""
    owner = value.owner
    if isinstance(owner, ir.Block) or owner.name != "arith.constant":
        return None
    attr = owner.attributes["value"]
    if isinstance(attr, ir.DenseElementsAttr) and attr.is_splat:
        return attr.get_splat_value()
    return None


def broadcast_map(shape: Sequence[int], result: Sequence[int]) -> ir.AffineMap:
    """How an operand of `shape` is read by a loop over `result`, broadcast as in NumPy."""
    skipped = len(result) - len(shape)
    exprs = [
        ir.AffineConstantExpr.get(0) if size == 1 else ir.AffineDimExpr.get(skipped + i)
        for i, size in enumerate(shape)
    ]
    return ir.AffineMap.get(len(result), 0, exprs)


def _reassociation(fine: Sequence[int], coarse: Sequence[int]) -> list[list[int]] | None:
    """Groups of `fine` dims whose products are the `coarse` dims, or None when there are none."""
    if prod(fine) == 0:
        return None
    groups: list[list[int]] = []
    position = 0
    for size in coarse:
        group: list[int] = []
        product = 1
        while position < len(fine) and (product < size or not group):
            group.append(position)
            product *= fine[position]
            position += 1
        if product != size:
            return None
        groups.append(group)
    if not groups:
        return [] if all(size == 1 for size in fine) else None
    while position < len(fine):
        if fine[position] != 1:
            return None
        groups[-1].append(position)
        position += 1
    return groups
