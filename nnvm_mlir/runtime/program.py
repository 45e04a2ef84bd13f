"""`Program`: compiled machine code for one set of shapes, and how it is called.

Nothing here knows MLIR: a program is an address, a block of weights and a signature.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from nnvm_mlir.runtime.machine_code import MachineCode

ALIGNMENT = 64
"""Every buffer of a program starts on a cache line."""

ENTRY = "nnvm_entry"
"""The function of compiled code that a program calls."""


@dataclass(frozen=True)
class TensorSpec:
    """Name, shape and dtype of an input or an output.

    Attributes:
        shape: None stands for a dimension that is bound when the program is specialised.
    """

    name: str
    shape: tuple[int | None, ...] | None
    dtype: str

    def __str__(self) -> str:
        dims = (
            "?"
            if self.shape is None
            else "x".join("?" if d is None else str(d) for d in self.shape)
        )
        return f"{self.name}: {dims or 'scalar'} {self.dtype}"


@dataclass(frozen=True, eq=False)
class Memory:
    """The memory that a program works in.

    Attributes:
        arena_bytes: scratch memory of one call.
        weights: the block of parameters, aligned to a cache line; calls share it.
        status_offset: where in the arena the status words (int64) begin.
        checks: for each status word the node that it speaks of; the program stores 1 in it when that node meets an index out of
            range.
    """

    arena_bytes: int
    weights: np.ndarray
    status_offset: int = 0
    checks: tuple[str, ...] = ()


class Program:
    """Machine code for fixed shapes, called with NumPy arrays.

    Calls may come from many threads: each works in an arena of its own, and the interpreter lock is
    released while the code runs.

    Args:
        code: defines `ENTRY`, which takes an array of pointers to arena, weights, inputs and outputs.
        inputs, outputs: the signature, in order.
        memory: what it works in.
    """

    def __init__(
        self,
        code: MachineCode,
        inputs: Sequence[TensorSpec],
        outputs: Sequence[TensorSpec],
        memory: Memory,
    ) -> None:
        self.inputs = tuple(inputs)
        self.outputs = tuple(outputs)
        self.memory = memory
        self.code = code
        self._function = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(code.address(ENTRY))
        self._in = [_closed(spec) for spec in inputs]
        self._out = [_closed(spec) for spec in outputs]
        self._frames: list[_Frame] = []

    def __call__(
        self, arrays: Sequence[Any], out: Sequence[np.ndarray] | None = None
    ) -> list[np.ndarray]:
        """Runs on one array for each input.

        Args:
            arrays: in the order of `inputs`. Arrays that are not contiguous or not in native byte order are copied.
            out: arrays to write the outputs into; fresh ones by default.

        Raises:
            TypeError, ValueError: an array does not fit; the message names it.
            IndexError: an index in an array is out of range; the message names the node. Outputs are then meaningless.
        """
        if len(arrays) != len(self._in):
            raise ValueError(f"expected {len(self._in)} inputs, got {len(arrays)}")
        ready = []
        for array, (dtype, shape, spec) in zip(arrays, self._in, strict=True):
            if not (
                type(array) is np.ndarray
                and array.dtype == dtype
                and array.shape == shape
                and array.flags.c_contiguous
                and array.flags.aligned
            ):
                array = as_input(array, spec)
            ready.append(array)
        if out is None:
            results = [np.empty(shape, dtype) for dtype, shape, _ in self._out]
        else:
            results = self._check_out(out)
            ready = [
                a.copy() if any(np.may_share_memory(a, r) for r in results) else a for a in ready
            ]
        try:
            frame = self._frames.pop()
        except IndexError:
            frame = _Frame(self.memory, len(ready) + len(results))
        slots = frame.slots
        for index, array in enumerate(ready, 2):
            slots[index] = array.__array_interface__["data"][0]
        for index, array in enumerate(results, 2 + len(ready)):
            slots[index] = array.__array_interface__["data"][0]
        self._function(frame.address)
        failed = None
        if self.memory.checks and frame.status.any():
            failed = self.memory.checks[int(frame.status.argmax())]
        self._frames.append(frame)
        if failed is not None:
            raise IndexError(f"node {failed!r}: an index is out of range")
        return results

    def _check_out(self, out: Sequence[np.ndarray]) -> list[np.ndarray]:
        if len(out) != len(self._out):
            raise ValueError(f"expected {len(self._out)} output arrays, got {len(out)}")
        for array, (dtype, shape, spec) in zip(out, self._out, strict=True):
            if not isinstance(array, np.ndarray) or array.dtype != dtype or array.shape != shape:
                raise ValueError(f"output array for {spec} has another type, shape or dtype")
            if not (array.flags.c_contiguous and array.flags.writeable and array.flags.aligned):
                raise ValueError(f"output array for {spec} must be contiguous and writeable")
        for index, array in enumerate(out):
            if any(np.may_share_memory(array, other) for other in out[:index]):
                raise ValueError("two output arrays overlap")
        return list(out)


class _Frame:
    """The memory of one call at a time: an arena and the argument slots."""

    def __init__(self, memory: Memory, arguments: int) -> None:
        try:
            self.arena = aligned_bytes(memory.arena_bytes)
        except MemoryError:
            raise MemoryError(
                f"a call needs {memory.arena_bytes} bytes for intermediate values"
            ) from None
        words = self.arena[memory.status_offset :][: 8 * len(memory.checks)]
        self.status = words.view(np.int64)
        count = arguments + 2
        self.slots = (ctypes.c_void_p * count)()
        self.slots[0] = self.arena.ctypes.data
        self.slots[1] = memory.weights.ctypes.data
        self.address = ctypes.addressof(self.slots)


def _closed(spec: TensorSpec) -> tuple[np.dtype, tuple[int, ...], TensorSpec]:
    """The dtype and shape that arrays of a program have. Raises ValueError for an open shape."""
    shape = tuple(dim for dim in spec.shape or () if dim is not None)
    if shape != spec.shape:
        raise ValueError(f"a program needs fixed shapes, got {spec}")
    return np.dtype(_numpy(spec.dtype)), shape, spec


def aligned_bytes(nbytes: int) -> np.ndarray:
    """Uninitialised bytes that start on a cache line."""
    raw = np.empty(nbytes + ALIGNMENT, np.uint8)
    start = -raw.ctypes.data % ALIGNMENT
    return raw[start : start + nbytes]


def as_input(array: Any, spec: TensorSpec) -> np.ndarray:
    """`array` as a contiguous native array of the input's dtype and shape.

    Python numbers and lists take the input's dtype if it can hold such numbers; an array of another
    dtype is refused, never reinterpreted.

    Raises:
        TypeError: not an array, or of another dtype.
        ValueError: of another shape, or a number that the dtype cannot hold.
    """
    dtype = np.dtype(_numpy(spec.dtype))
    if not isinstance(array, np.ndarray):
        if isinstance(array, bool | int | float | list | tuple):
            array = _from_numbers(array, dtype, spec)
        elif hasattr(array, "__dlpack__"):
            array = np.from_dlpack(array)
        else:
            array = np.asarray(array)
    if array.dtype != dtype:
        if array.dtype.newbyteorder("=") != dtype:
            raise TypeError(f"input {spec}: got dtype {array.dtype}")
        array = array.astype(dtype)
    if spec.shape is not None and not _fits(array.shape, spec.shape):
        raise ValueError(f"input {spec}: got shape {'x'.join(map(str, array.shape)) or 'scalar'}")
    return np.require(array, requirements=["C", "A"])


_NUMBER_KINDS = {"b": 0, "i": 1, "u": 1, "f": 2}


def _from_numbers(numbers: Any, dtype: np.dtype, spec: TensorSpec) -> np.ndarray:
    try:
        array = np.asarray(numbers)
        widest = _NUMBER_KINDS.get(dtype.kind, 2)  # bfloat16 is of no kind that NumPy knows
        if array.size and _NUMBER_KINDS.get(array.dtype.kind, 3) > widest:
            raise TypeError(f"input {spec}: got a list of {array.dtype}")
        return np.asarray(numbers, dtype)
    except (ValueError, OverflowError) as error:
        raise ValueError(f"input {spec}: {error}") from error


def _fits(shape: tuple[int, ...], expected: tuple[int | None, ...]) -> bool:
    return len(shape) == len(expected) and all(
        e is None or s == e for s, e in zip(shape, expected, strict=True)
    )


def _numpy(dtype: str) -> Any:
    if dtype == "bfloat16":
        import ml_dtypes

        return ml_dtypes.bfloat16
    return dtype
