"""Timing calls: medians and percentiles, and onnxruntime as a yardstick."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np


def measure(call: Callable[[], Any], seconds: float, warmup: int = 3) -> dict[str, float]:
    """Calls again and again for `seconds`.

    Returns:
        Milliseconds: "median", "p10", "p90"; and the number of "runs".
    """
    for _ in range(warmup):
        call()
    times: list[float] = []
    end = time.perf_counter() + seconds
    while len(times) < 5 or time.perf_counter() < end:
        start = time.perf_counter()
        call()
        times.append((time.perf_counter() - start) * 1e3)
    p10, median, p90 = np.percentile(times, [10, 50, 90])
    return {"median": float(median), "p10": float(p10), "p90": float(p90), "runs": len(times)}


def onnxruntime_session(path: Path, threads: int, spinning: bool = False) -> Any | None:
    """An onnxruntime session on the CPU, or None when onnxruntime is not installed.

    Args:
        spinning: whether its threads spin between calls, which is faster, but steals the cores from whoever else is measured in the
            same process.
    """
    try:
        import onnxruntime
    except ImportError:
        return None
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 4
    options.add_session_config_entry("session.intra_op.allow_spinning", str(int(spinning)))
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
