"""The memory plan: no two values that are alive together overlap, and the arena is close to the least possible."""

import numpy as np
import pytest
from random_graphs import RandomGraph

from nnvm_mlir.build import optimize
from nnvm_mlir.dialects.nnvm import Operator
from nnvm_mlir.dialects.nnvm.types import TensorType
from nnvm_mlir.mlir import func
from nnvm_mlir.passes.plan_memory import (
    ALIGNMENT,
    ARENA_BYTES,
    OFFSETS,
    OUTPUT_BUFFER,
    Lifetime,
    find_lifetimes,
    lower_bound,
    place,
)


def check_by_running(entry):
    """Runs the plan on bytes that carry the name of their owner, and looks that readers find what was written."""
    arena = np.full(entry.attributes[ARENA_BYTES].value, -1, np.int64)
    buffers = {}
    block = entry.regions[0].blocks[0]
    for op in block.operations:
        if isinstance(op, Operator):
            if op.is_view:
                buffers[op.operation.results[0]] = buffers.get(op.operation.operands[0])
            continue
        for value in op.operation.operands:
            if buffers.get(value) is not None:
                mark, region = buffers[value]
                assert (region == mark).all(), f"{value} was overwritten before {op}"
        if not isinstance(op, func.CallOp):
            continue
        for result, offset in zip(op.operation.results, op.attributes[OFFSETS], strict=True):
            size = TensorType.of(result).nbytes
            if offset == OUTPUT_BUFFER:
                region = np.full(size, -1, np.int64)
            else:
                assert offset % ALIGNMENT == 0
                region = arena[offset : offset + size]
                assert len(region) == size
            buffers[result] = (len(buffers), region)
        for result in op.operation.results:
            mark, region = buffers[result]
            region[:] = mark
        for result in op.operation.results:
            mark, region = buffers[result]
            assert (region == mark).all(), f"two results of {op} overlap"


@pytest.mark.parametrize("seed", range(40))
def test_values_that_live_together_do_not_overlap(seed):
    random = RandomGraph(seed, operators=40)
    optimize(random.graph, seed % 4)
    entry = random.graph.entry
    check_by_running(entry)
    bound = lower_bound(find_lifetimes(entry)[0])
    assert bound <= entry.attributes[ARENA_BYTES].value <= max(1.25 * bound, bound + 1024)


@pytest.mark.parametrize("seed", range(20))
def test_placement_of_random_lifetimes(seed):
    rng = np.random.default_rng(seed)
    lives = []
    for _ in range(200):
        start = int(rng.integers(0, 100))
        end = start + int(rng.geometric(0.2))
        lives.append(Lifetime(None, ALIGNMENT * int(rng.integers(0, 50)), start, end))
    offsets, total = place(lives)
    for i, a in enumerate(lives):
        for j, b in enumerate(lives[:i]):
            apart = offsets[i] + a.nbytes <= offsets[j] or offsets[j] + b.nbytes <= offsets[i]
            assert apart or a.start > b.end or b.start > a.end
    assert total == max(offset + life.nbytes for offset, life in zip(offsets, lives, strict=True))
    assert lower_bound(lives) <= total <= 1.3 * lower_bound(lives)


def test_nothing_to_place():
    assert place([]) == ([], 0)
    assert lower_bound([]) == 0
