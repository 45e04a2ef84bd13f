"""What code is generated for: a frozen description of the machine, from which every schedule derives.

Nothing here knows MLIR. `Target.parse` reads the text that users write (`"cpu"`, `"cpu:haswell"`),
`str()` writes it back.
"""

from __future__ import annotations

import functools
import operator
import os
import platform
from dataclasses import dataclass, replace
from pathlib import Path

_V2 = frozenset("ssse3 sse4_1 sse4_2 popcnt".split())
_V3 = _V2 | frozenset("avx f16c fma bmi1 bmi2 avx2".split())
_V4 = _V3 | frozenset("avx512f avx512dq avx512cd avx512bw avx512vl".split())


@dataclass(frozen=True)
class _Cpu:
    """A named processor: width and number of its vector registers, and the features that code for it may use."""

    vector_bits: int
    vector_registers: int
    features: frozenset[str]


# The names are LLVM's.
_NAMED_CPUS = {
    "x86-64": _Cpu(128, 16, frozenset()),
    "x86-64-v2": _Cpu(128, 16, _V2),
    "haswell": _Cpu(256, 16, _V3),
    "x86-64-v3": _Cpu(256, 16, _V3),
    "skylake-avx512": _Cpu(512, 32, _V4),
    "x86-64-v4": _Cpu(512, 32, _V4),
}
_ELEMENT_BITS = {
    "f64": 64, "i64": 64, "f32": 32, "i32": 32, "f16": 16, "bf16": 16, "i16": 16, "i8": 8,
}  # fmt: skip


@dataclass(frozen=True)
class Target:
    """A processor to compile for.

    Attributes:
        kind: "cpu".
        cpu: "native", or LLVM's name of one of the processors that `parse` knows.
        vector_bits: width of a vector register.
        vector_registers: how many there are.
        l1_bytes: first-level data cache of one core.
        l2_bytes: second-level cache of one core.
        threads: how many threads a kernel may use; 1 generates code without a threading runtime.
    """

    kind: str = "cpu"
    cpu: str = "native"
    vector_bits: int = 512
    vector_registers: int = 32
    l1_bytes: int = 32 * 1024
    l2_bytes: int = 1024 * 1024
    threads: int = 1

    def __post_init__(self) -> None:
        if self.cpu != "native" and self.cpu not in _NAMED_CPUS:
            known = ", ".join(sorted(_NAMED_CPUS))
            raise ValueError(f"unknown processor {self.cpu!r}: known are {known}")

    def features(self) -> frozenset[str]:
        """Features of the processor, as Linux names them, that generated code may use."""
        return cpu_flags() if self.cpu == "native" else _NAMED_CPUS[self.cpu].features

    def lanes(self, element: str) -> int:
        """Elements of type `element` ("f32", "i8", ...) in one vector register."""
        return self.vector_bits // _ELEMENT_BITS[element]

    def with_threads(self, threads: int | None) -> Target:
        """This target with `threads` threads, or with `default_threads()` when None.

        Raises:
            ValueError: fewer than 1, or more than `max_threads()`.
            TypeError: not an integer.
        """
        count = default_threads() if threads is None else operator.index(threads)
        if not 1 <= count <= max_threads():
            raise ValueError(f"threads must be 1 to {max_threads()}, got {count}")
        return replace(self, threads=count)

    @staticmethod
    def resolve(target: str | Target, threads: int | None) -> Target:
        """A target for a number of threads: by default those of a Target, and `default_threads()` for a text.

        Raises:
            ValueError: as `parse` and `with_threads`.
            TypeError: not such arguments.
        """
        if isinstance(target, Target):
            return target.with_threads(target.threads if threads is None else threads)
        if isinstance(target, str):
            return Target.parse(target).with_threads(threads)
        raise TypeError(f"target: expected a text or a Target, got {type(target).__name__}")

    @staticmethod
    def parse(text: str) -> Target:
        """Reads "cpu" (this machine) or "cpu:NAME" (a named processor).

        Raises:
            ValueError: unknown kind or processor; the message lists the known ones.
        """
        kind, _, cpu = text.partition(":")
        if kind != "cpu":
            raise ValueError(f"unknown target {text!r}: expected 'cpu' or 'cpu:NAME'")
        target = replace(host(), cpu=cpu or "native")
        if target.cpu == "native":
            return target
        named = _NAMED_CPUS[cpu]
        return replace(
            target, vector_bits=named.vector_bits, vector_registers=named.vector_registers
        )

    def __str__(self) -> str:
        return self.kind if self.cpu == "native" else f"{self.kind}:{self.cpu}"


@functools.cache
def host() -> Target:
    """The machine that this process runs on."""
    flags = cpu_flags()
    if platform.machine() in ("aarch64", "arm64"):
        bits, registers = 128, 32
    elif "avx512f" in flags and "avx512bw" in flags and "avx512vl" in flags:
        bits, registers = 512, 32
    elif "avx2" in flags and "fma" in flags:
        bits, registers = 256, 16
    else:
        bits, registers = 128, 16
    return Target(
        vector_bits=bits,
        vector_registers=registers,
        l1_bytes=_cache_bytes(1) or 32 * 1024,
        l2_bytes=_cache_bytes(2) or 1024 * 1024,
    )


def max_threads() -> int:
    """Most threads that may be asked for: the OpenMP runtime ends the process when it cannot start one."""
    return max(64, os.cpu_count() or 1)


def default_threads() -> int:
    """Threads to use when nobody says: OMP_NUM_THREADS, else the cores that this process may use.

    Affinity masks and the CPU quota of control groups (versions 1 and 2) are respected.
    """
    wish = os.environ.get("OMP_NUM_THREADS", "").split(",")[0]
    if wish.isdecimal() and 0 < int(wish) <= max_threads():
        return int(wish)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    quota = _cgroup_cpus()
    return max(1, min(cores or 1, int(quota) if quota and quota >= 1 else 1 if quota else 1024))


@functools.cache
def cpu_flags() -> frozenset[str]:
    """Features of this machine's processor, as Linux names them."""
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("flags"):
                return frozenset(line.partition(":")[2].split())
    except OSError:
        pass
    return frozenset()


def _cache_bytes(level: int) -> int | None:
    for index in range(5):
        folder = Path(f"/sys/devices/system/cpu/cpu0/cache/index{index}")
        try:
            if int((folder / "level").read_text()) != level:
                continue
            if (folder / "type").read_text().strip() == "Instruction":
                continue
            size = (folder / "size").read_text().strip()
        except (OSError, ValueError):
            return None
        units = {"K": 1024, "M": 1024**2}
        return int(size[:-1]) * units[size[-1]] if size[-1] in units else int(size)
    return None


def _cgroup_cpus() -> float | None:
    """The CPU quota of this process's control group in cores, or None."""
    try:
        quota, period = Path("/sys/fs/cgroup/cpu.max").read_text().split()
        return None if quota == "max" else int(quota) / int(period)
    except (OSError, ValueError):
        pass
    try:
        quota_us = int(Path("/sys/fs/cgroup/cpu/cpu.cfs_quota_us").read_text())
        period_us = int(Path("/sys/fs/cgroup/cpu/cpu.cfs_period_us").read_text())
        return quota_us / period_us if quota_us > 0 else None
    except (OSError, ValueError):
        return None
