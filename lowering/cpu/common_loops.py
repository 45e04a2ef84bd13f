"""One set of loops for generics that see the same elements under different shapes.

Each of them walks over its loops in the order of the memory of its largest operand; where the
extents of all these walks nest in each other, their common refinement is the set of loops.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

from nnvm_mlir.lowering.cpu.affine import Form, delinearize, row_major_strides
from nnvm_mlir.lowering.cpu.emitter import Unsupported
from nnvm_mlir.lowering.cpu.structured import Generic


def common_sizes(generics: Sequence[Generic]) -> list[int]:
    """Loops into which the loops of all generics over whole rows can be split, outermost first."""
    total = max(math.prod(generic.sizes) for generic in generics)
    if total == 0:
        raise Unsupported("no elements")
    cuts = {1, total}
    for generic in generics:
        if math.prod(generic.sizes) == total:
            span = 1
            for d in reversed(_memory_order(generic)):
                span *= generic.sizes[d]
                cuts.add(span)
    ordered = sorted(cuts)
    sizes = []
    for below, above in itertools.pairwise(ordered):
        if above % below:
            raise Unsupported("loops that do not nest in each other")
        sizes.append(above // below)
    return sizes[::-1]


def _memory_order(generic: Generic) -> list[int]:
    """The loops of a generic, outermost first as they walk over its largest operand."""
    loops = range(len(generic.sizes))
    forms = [a.form for a in generic.inputs if a is not None] + list(generic.outputs)
    for form in forms:
        if all(form.coefficients[d] > 0 for d in loops if generic.sizes[d] > 1):
            return sorted(loops, key=lambda d: -form.coefficients[d])
    return list(loops)


def loops_over(generic: Generic, sizes: Sequence[int]) -> tuple[Form, ...]:
    """The loops of a generic over whole rows as forms over the common loops."""
    order = _memory_order(generic)
    strides = [0] * len(order)
    for d, stride in zip(order, row_major_strides([generic.sizes[d] for d in order]), strict=True):
        strides[d] = stride
    forms = delinearize(Form(row_major_strides(sizes)), strides, generic.sizes, sizes)
    if forms is None:
        raise Unsupported("reductions over different rows")
    return forms


def reduced(generic: Generic, loops: Sequence[Form]) -> set[int]:
    """The common loops that a reduction runs over."""
    over: dict[bool, set[int]] = {True: set(), False: set()}
    for form, is_reduced in zip(loops, generic.reductions, strict=True):
        over[is_reduced].update(form.dims)
    if over[True] & over[False]:
        raise Unsupported("a common loop that is reduced in part")
    return over[True]
