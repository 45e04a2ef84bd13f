"""Building kernels: a thin layer over the bindings for index arithmetic, memory accesses and loops.

All operations go to the current insertion point. Buffers are flat (`memref<Nxf32>`); positions in
them are `Index`es: Python integers where they are known while generating, `index` values where they
are not. Arithmetic folds what is known, so that unrolled accesses become `base + constant`, which
LLVM turns into displacements.
"""

from __future__ import annotations

import math as pymath
from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias

from nnvm_mlir.mlir import arith, func, ir, memref, vector
from nnvm_mlir.runtime.program import ALIGNMENT
from nnvm_mlir.target import Target

Index: TypeAlias = int | ir.Value
"""A position or a size: an integer where it is known while generating, else a value of type `index`."""

# Up to this stride, loading everything between and shuffling is faster than gathering.
_PICKED_STRIDE = 4
# Gathers and scatters take their steps as 32-bit integers.
_LARGEST_STEP = 2**31 - 1


class Unsupported(Exception):
    """The kernel function is outside of what a generator covers; another path must lower it."""


class Emitter:
    """Emits operations of one kernel at the current insertion point.

    Attributes:
        target: what the code is generated for.
        globals: the constant tables that were emitted beside the kernel.
    """

    def __init__(self, target: Target, entry: ir.Block):
        self.target = target
        self._entry = entry
        self._constants: dict[tuple, ir.Value] = {}
        self.globals: list[memref.GlobalOp] = []
        self._index = ir.IndexType.get()
        self._nsw = ir.Attribute.parse("#arith.overflow<nsw>")

    # Index arithmetic

    def index(self, value: Index) -> ir.Value:
        """`value` as an SSA value of type `index`."""
        if not isinstance(value, int):
            return value
        return self._constant(("index", value), lambda: ir.IntegerAttr.get(self._index, value))

    def add(self, *terms: Index) -> Index:
        """The sum of `terms`, its known part added last (where it becomes a displacement)."""
        known = sum(term for term in terms if isinstance(term, int))
        total: ir.Value | None = None
        for term in terms:
            if not isinstance(term, int):
                total = term if total is None else self._add(total, term)
        if total is None:
            return known
        return self._add(total, self.index(known)) if known else total

    def mul(self, a: Index, b: Index) -> Index:
        """The product of two indices."""
        if isinstance(a, int):
            a, b = b, a
        if isinstance(b, int):
            if isinstance(a, int):
                return a * b
            if b in (0, 1):
                return a if b else 0
        return arith.MulIOp(self.index(a), self.index(b), overflowFlags=self._nsw).result

    def sub(self, a: Index, b: Index) -> Index:
        """`a - b`."""
        if isinstance(b, int):
            return self.add(a, -b)
        return arith.SubIOp(self.index(a), b, overflowFlags=self._nsw).result

    def div(self, a: Index, b: int) -> Index:
        """`a // b` for a non-negative `a` and a positive constant `b`."""
        if isinstance(a, int):
            return a // b
        return a if b == 1 else arith.DivUIOp(a, self.index(b)).result

    def rem(self, a: Index, b: int) -> Index:
        """`a % b` for a non-negative `a` and a positive constant `b`."""
        if isinstance(a, int):
            return a % b
        return 0 if b == 1 else arith.RemUIOp(a, self.index(b)).result

    def minimum(self, a: Index, b: Index) -> Index:
        """The smaller of two signed indices."""
        if isinstance(a, int) and isinstance(b, int):
            return min(a, b)
        return arith.MinSIOp(self.index(a), self.index(b)).result

    def maximum(self, a: Index, b: Index) -> Index:
        """The larger of two signed indices."""
        if isinstance(a, int) and isinstance(b, int):
            return max(a, b)
        return arith.MaxSIOp(self.index(a), self.index(b)).result

    def linear(
        self, coefficients: Sequence[int], indices: Sequence[Index], offset: Index = 0
    ) -> Index:
        """`sum(coefficient * index) + offset`."""
        terms = (self.mul(i, c) for c, i in zip(coefficients, indices, strict=True) if c)
        return self.add(*terms, offset)

    def _add(self, a: ir.Value, b: ir.Value) -> ir.Value:
        return arith.AddIOp(a, b, overflowFlags=self._nsw).result

    # Constants

    def constant(
        self, value: float | int | bool, element: ir.Type, lanes: int | None = None
    ) -> ir.Value:
        """`value` of type `element`, or a vector of `lanes` copies; one operation a function, in its entry block."""
        return self._constant(
            (_bits(value), element, lanes), lambda: splat_attribute(value, element, lanes)
        )

    def mask(self, count: int, lanes: int) -> ir.Value:
        """A mask (`vector<lanes x i1>`) whose first `count` lanes are on."""
        return self.lane_mask([lane < count for lane in range(lanes)])

    def lane_mask(self, active: Sequence[bool]) -> ir.Value:
        """A mask with the given lanes on."""
        type_ = ir.VectorType.get([len(active)], ir.IntegerType.get_signless(1))
        return self._constant(
            ("mask", tuple(active)),
            lambda: ir.DenseElementsAttr.get([ir.BoolAttr.get(lane) for lane in active], type_),
        )

    def _constant(self, key: tuple, attribute: Callable[[], ir.TypedAttr]) -> ir.Value:
        if key not in self._constants:
            value = attribute()
            with ir.InsertionPoint.at_block_begin(self._entry):
                self._constants[key] = arith.ConstantOp(value.type, value).result
        return self._constants[key]

    def table(self, values: Sequence[int], name: str) -> ir.Value:
        """A read-only `memref<Nxindex>` that holds `values`: a private global of the module called `name`."""
        type_ = ir.MemRefType.get([len(values)], self._index)
        tensor = ir.RankedTensorType.get([len(values)], self._index)
        data = ir.DenseElementsAttr.get(
            [ir.IntegerAttr.get(self._index, v) for v in values], tensor
        )
        return self.constant_global(name, type_, data)

    def constant_global(
        self, name: str, type_: ir.MemRefType, data: ir.DenseElementsAttr
    ) -> ir.Value:
        """A read-only buffer of `type_` that holds `data`: a private global of the module called `name`."""
        with ir.InsertionPoint(self._entry.owner):
            self.globals.append(
                memref.GlobalOp(
                    name,
                    ir.TypeAttr.get(type_),
                    sym_visibility="private",
                    initial_value=data,
                    constant=True,
                    alignment=ALIGNMENT,
                )
            )
        with ir.InsertionPoint.at_block_begin(self._entry):
            return memref.GetGlobalOp(type_, name).result

    # Memory

    def load(
        self,
        buffer: ir.Value,
        at: Index,
        lanes: int | None = None,
        mask: ir.Value | None = None,
        masked_off: float | int = 0,
    ) -> ir.Value:
        """Loads a scalar (`lanes` None) or `lanes` neighbouring elements.

        Args:
            buffer: a one-dimensional memref.
            at: position of the first element.
            lanes: length of the vector; None loads a scalar.
            mask: lanes to read; memory behind the others is not touched.
            masked_off: the value of the lanes that are not read.
        """
        element = ir.MemRefType(buffer.type).element_type
        if lanes is None:
            return memref.LoadOp(buffer, [self.index(at)]).result
        type_ = ir.VectorType.get([lanes], element)
        if mask is None:
            return vector.LoadOp(type_, buffer, [self.index(at)]).result
        other = self.constant(masked_off, element, lanes)
        return vector.MaskedLoadOp(type_, buffer, [self.index(at)], mask, other).result

    def gather(
        self,
        buffer: ir.Value,
        at: Index,
        stride: int,
        lanes: int,
        mask: ir.Value | None = None,
        masked_off: float | int = 0,
    ) -> ir.Value:
        """Loads `lanes` elements that are `stride` apart; the rest is as for `load`.

        Small strides load all elements between (but not behind) and pick from them, which is faster
        than the hardware's gathers.
        """
        element = ir.MemRefType(buffer.type).element_type
        type_ = ir.VectorType.get([lanes], element)
        if 1 < stride <= _PICKED_STRIDE and mask is None:
            run = self.lane_mask([n % stride == 0 for n in range(stride * lanes)])
            loaded = self.load(buffer, at, stride * lanes, run)
            picked = ir.DenseI64ArrayAttr.get([stride * lane for lane in range(lanes)])
            return self.op("vector.shuffle", [loaded, loaded], type_, {"mask": picked})
        every = self.mask(lanes, lanes) if mask is None else mask
        other = self.constant(masked_off, element, lanes)
        return self.op(
            "vector.gather",
            [buffer, self.index(at), self._steps(stride, lanes), every, other],
            type_,
        )

    def store(
        self, value: ir.Value, buffer: ir.Value, at: Index, mask: ir.Value | None = None
    ) -> None:
        """Stores a scalar or a vector (the lanes of `mask` only) at position `at` of a one-dimensional memref."""
        if not isinstance(value.type, ir.VectorType):
            memref.StoreOp(value, buffer, [self.index(at)])
        elif mask is None:
            vector.StoreOp(value, buffer, [self.index(at)])
        else:
            vector.MaskedStoreOp(buffer, [self.index(at)], mask, value)

    def scatter(
        self,
        value: ir.Value,
        buffer: ir.Value,
        at: Index,
        stride: int,
        mask: ir.Value | None = None,
    ) -> None:
        """Stores the lanes of a vector `stride` elements apart, from position `at` on."""
        lanes = ir.VectorType(value.type).shape[0]
        every = self.mask(lanes, lanes) if mask is None else mask
        operands = [buffer, self.index(at), self._steps(stride, lanes), every, value]
        ir.Operation.create("vector.scatter", operands=operands)

    def _steps(self, stride: int, lanes: int) -> ir.Value:
        """`stride * lane` in every lane.

        Raises:
            Unsupported: the last lane is too far away.
        """
        if abs(stride) * (lanes - 1) > _LARGEST_STEP:
            raise Unsupported(f"vectors of elements that are {stride} apart")
        i32 = ir.IntegerType.get_signless(32)
        return self._constant(
            ("steps", stride, lanes),
            lambda: ir.DenseElementsAttr.get(
                [ir.IntegerAttr.get(i32, stride * lane) for lane in range(lanes)],
                ir.VectorType.get([lanes], i32),
            ),
        )

    def broadcast(self, scalar: ir.Value, lanes: int | None) -> ir.Value:
        """A vector of `lanes` copies of `scalar` (the scalar itself for None)."""
        if lanes is None:
            return scalar
        return vector.BroadcastOp(ir.VectorType.get([lanes], scalar.type), scalar).result

    def prefetch(self, buffer: ir.Value, at: Index, locality: int = 3) -> None:
        """Asks for the cache line at position `at`; locality 3 = first level, 2 = second level."""
        memref.PrefetchOp(buffer, [self.index(at)], False, locality, True)

    # Arithmetic

    def fma(self, a: ir.Value, b: ir.Value, c: ir.Value) -> ir.Value:
        """`a * b + c`: fused for floating-point numbers, two operations for integers."""
        element = element_of(c.type)
        if isinstance(element, ir.IntegerType):
            return arith.AddIOp(arith.MulIOp(a, b).result, c).result
        if isinstance(c.type, ir.VectorType):
            return vector.FMAOp(a, b, c).result
        return self.op("math.fma", [a, b, c], c.type)

    def op(
        self,
        name: str,
        operands: Sequence[ir.Value],
        result: ir.Type,
        attributes: dict | None = None,
    ) -> ir.Value:
        """Any operation with one result, by name ("arith.addf")."""
        return ir.Operation.create(
            name, results=[result], operands=list(operands), attributes=attributes
        ).result

    def sum(self, vector_value: ir.Value) -> ir.Value:
        """The sum of the lanes, in any order."""
        element = ir.VectorType(vector_value.type).element_type
        return self.op(
            "vector.reduction",
            [vector_value],
            element,
            {
                "kind": ir.Attribute.parse("#vector.kind<add>"),
                "fastmath": ir.Attribute.parse("#arith.fastmath<reassoc>"),
            },
        )

    # Control flow

    def loop(
        self,
        lower: Index,
        upper: Index,
        step: int,
        body: Callable[..., Iterable[ir.Value] | None],
        carried: Sequence[ir.Value] = (),
    ) -> list[ir.Value]:
        """`for i in range(lower, upper, step)`: `body(i, *carried)` returns the next values of `carried`.

        Emits `scf.for`, or just the body where it is known to run once (and nothing where it never
        runs).

        Returns:
            The values of `carried` after the loop.
        """
        carried = list(carried)
        if isinstance(lower, int) and isinstance(upper, int) and upper - lower <= step:
            return list(body(lower, *carried) or ()) if upper > lower else carried
        from_, to, by = self.index(lower), self.index(upper), self.index(step)
        types = [value.type for value in carried]
        loop = ir.Operation.create(
            "scf.for", results=types, operands=[from_, to, by, *carried], regions=1
        )
        block = ir.Block.create_at_start(loop.regions[0], [self._index, *types])
        with ir.InsertionPoint(block):
            results = list(body(*block.arguments) or ())
            ir.Operation.create("scf.yield", operands=results)
        return list(loop.results)

    def parallel(
        self, lower: Index, upper: Index, step: int, body: Callable[[Index], None]
    ) -> None:
        """A loop whose iterations are independent: spread over the target's threads if it has several.

        A kernel may have one of them, as its outermost loop.
        """
        known = isinstance(lower, int) and isinstance(upper, int)
        if self.target.threads == 1 or (known and upper - lower <= step):
            self.loop(lower, upper, step, lambda i: body(i))
            return
        bounds = [self.index(lower), self.index(upper), self.index(step)]
        loop = ir.Operation.create(
            "scf.parallel",
            operands=bounds,
            attributes={"operandSegmentSizes": ir.DenseI32ArrayAttr.get([1, 1, 1, 0])},
            regions=1,
        )
        block = ir.Block.create_at_start(loop.regions[0], [self._index])
        with ir.InsertionPoint(block):
            body(block.arguments[0])
            ir.Operation.create("scf.reduce")

    def less(self, a: Index, b: Index) -> ir.Value:
        """`a < b`, signed, as i1."""
        return arith.CmpIOp(arith.CmpIPredicate.slt, self.index(a), self.index(b)).result

    def when(
        self,
        condition: ir.Value,
        then: Callable[[], None],
        otherwise: Callable[[], None] | None = None,
    ) -> None:
        """`if condition: then() else: otherwise()`, without results."""
        branch = ir.Operation.create("scf.if", operands=[condition], regions=2)
        for region, emit in zip(branch.regions, (then, otherwise), strict=True):
            if emit is not None:
                with ir.InsertionPoint(ir.Block.create_at_start(region, [])):
                    emit()
                    ir.Operation.create("scf.yield")


def emit_function(
    original: func.FuncOp,
    inputs: Sequence[tuple[int, ir.Type]],
    outputs: Sequence[tuple[int, ir.Type]],
    target: Target,
    body: Callable[[Emitter, list[ir.Value], list[ir.Value]], None],
) -> func.FuncOp:
    """Replaces the tensor function `original` by one on flat buffers, of the same name.

    Args:
        original: erased when the new function is complete; untouched when `body` raises.
        inputs: number of elements and element type of each argument.
        outputs: the same for each result; they become arguments after the inputs.
        target: what to generate for.
        body: `body(emitter, input_buffers, output_buffers)` emits everything but the return. The
            function's constant tables follow its inputs.

    Returns:
        The new function, at the place of the old one.
    """
    types = [ir.MemRefType.get([max(size, 1)], element) for size, element in (*inputs, *outputs)]
    with original.location, ir.InsertionPoint(original):
        name = ir.StringAttr(original.attributes["sym_name"]).value
        new = func.FuncOp(name, ir.FunctionType.get(types, []), visibility="private")
    entry = new.add_entry_block()
    buffers = list(entry.arguments)
    e = Emitter(target, entry)
    try:
        with original.location, ir.InsertionPoint(entry):
            tables = _emit_tables(e, original)
            body(e, buffers[: len(inputs)] + tables, buffers[len(inputs) :])
            func.ReturnOp([])
    except BaseException:
        # The next generator will want the names.
        for op in (new, *e.globals):
            op.operation.erase()
        raise
    for attribute in original.attributes:
        if attribute not in ("sym_name", "function_type", "arg_attrs", "res_attrs"):
            new.attributes[attribute] = original.attributes[attribute]
    if "sym_visibility" not in original.attributes:
        del new.attributes["sym_visibility"]
    original.operation.erase()
    return new


def constant_tables(block: ir.Block) -> list[ir.Operation]:
    """The constant tensors of a kernel function's body whose elements differ."""
    return [
        op.operation
        for op in block.operations
        if op.operation.name == "arith.constant"
        and isinstance(op.operation.attributes["value"], ir.DenseElementsAttr)
        and not op.operation.attributes["value"].is_splat
    ]


def _emit_tables(e: Emitter, original: func.FuncOp) -> list[ir.Value]:
    """Makes each constant table of `original` a global, and emits flat views of them."""
    views = []
    for number, op in enumerate(constant_tables(original.regions[0].blocks[0])):
        name = f"{ir.StringAttr(original.attributes['sym_name']).value}_table{number}"
        tensor = op.results[0].type
        type_ = ir.MemRefType.get(tensor.shape, tensor.element_type)
        view = e.constant_global(name, type_, op.attributes["value"])
        if tensor.rank > 1:
            flat = ir.MemRefType.get([pymath.prod(tensor.shape)], tensor.element_type)
            dims = ir.ArrayAttr.get([_index_array(range(tensor.rank))])
            view = memref.CollapseShapeOp(flat, view, dims).result
        views.append(view)
    return views


def _index_array(values: Iterable[int]) -> ir.ArrayAttr:
    i64 = ir.IntegerType.get_signless(64)
    return ir.ArrayAttr.get([ir.IntegerAttr.get(i64, value) for value in values])


def element_of(type_: ir.Type) -> ir.Type:
    """The element type of a vector, memref or tensor type; a scalar type itself."""
    return type_.element_type if isinstance(type_, ir.ShapedType) else type_


def element_bytes(element: ir.Type) -> int:
    """Bytes of one element in memory."""
    return 8 if isinstance(element, ir.IndexType) else -(-element.width // 8)


def splat_attribute(
    value: float | int | bool, element: ir.Type, lanes: int | None = None
) -> ir.TypedAttr:
    """`value` as an attribute of type `element` or `vector<lanes x element>`."""
    if isinstance(element, ir.IntegerType | ir.IndexType):
        scalar = ir.IntegerAttr.get(element, int(value))
    else:
        scalar = ir.FloatAttr.get(element, float(value))
    if lanes is None:
        return scalar
    return ir.DenseElementsAttr.get_splat(ir.VectorType.get([lanes], element), scalar)


def _bits(value: float | int | bool) -> object:
    """A key under which -0.0 and 0.0, and 1 and 1.0, are different and NaN equals itself."""
    return (type(value), "nan" if isinstance(value, float) and pymath.isnan(value) else repr(value))
