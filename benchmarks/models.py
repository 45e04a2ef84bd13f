"""Times nnvm_mlir on the models of the corpus, beside onnxruntime and openvino where they are installed.

Every measurement is a process of its own, and the engines take turns round by round, so that a
machine whose speed drifts hurts all alike. Milliseconds are the median of the best round; MB are
the peak of the measured process, and of the one that compiles.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from itertools import product
from pathlib import Path
from statistics import geometric_mean
from typing import Any

import engines
from corpus import TABLE, Model, fetch
from rich import box
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

OURS = "nnvm_mlir"
Figures = dict[str, Any]


def main() -> None:
    options = parse_options()
    installed = [engine for engine in engines.ENGINES if find_spec(engine)]
    models = [fetch(name) for name in options.models]
    rows = []
    with Progress(console=Console(stderr=True), transient=True) as progress:
        steps = len(options.threads) * len(models) * options.rounds * len(installed)
        task = progress.add_task("", total=steps)
        for threads, model in product(options.threads, models):
            best: dict[str, Figures] = {}
            for _, engine in product(range(options.rounds), installed):
                progress.update(task, description=f"{model.name}, {threads} thread(s): {engine}")
                try:
                    figures = measure(engine, model, threads, options.seconds)
                    best[engine] = min(figures, best.get(engine, figures), key=median)
                except RuntimeError as error:
                    progress.console.print(str(error), markup=False)
                progress.advance(task)
            rows.append({"model": model.name, "threads": threads, "engines": best})
    for threads in options.threads:
        chosen = [row for row in rows if row["threads"] == threads]
        Console().print(table_of(chosen, installed, title=f"{threads} thread(s)"))
    if options.json is not None:
        options.json.write_text(json.dumps(rows, indent=1) + "\n")


def parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--models", nargs="+", choices=TABLE, default=list(TABLE), metavar="NAME")
    parser.add_argument("--threads", nargs="+", type=int, default=[1, 2])
    parser.add_argument("--rounds", type=int, default=3, help="measurements of each engine")
    parser.add_argument("--seconds", type=float, default=1.0, help="time of each measurement")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all figures to FILE")
    return parser.parse_args()


def measure(engine: str, model: Model, threads: int, seconds: float) -> Figures:
    """One round in a new process."""
    inputs = model.path.with_name("inputs.npz")
    arguments = [engine, model.path, inputs, threads, seconds]
    command = [sys.executable, engines.__file__, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{engine} failed on {model.name}:\n{done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])


def median(figures: Figures) -> float:
    return figures["median"]


def table_of(rows: Sequence[Figures], installed: Sequence[str], title: str) -> Table:
    """One row for each model, and the geometric mean of the ratios of the best peer to ours."""
    table = Table(title=title, box=box.SIMPLE, collapse_padding=True, pad_edge=False)
    table.add_column("model", no_wrap=True)
    for engine in installed:
        table.add_column(f"{engine}\nms / MB", justify="right", no_wrap=True)
    table.add_column("compile\ns / MB", justify="right", no_wrap=True)
    table.add_column("peer\n/ ours", justify="right")
    ratios = []
    for row in rows:
        best = row["engines"]
        cells = [describe(best.get(engine)) for engine in installed]
        ours = best.get(OURS)
        peers = [median(best[engine]) for engine in best if engine != OURS]
        ratio = min(peers) / median(ours) if ours and peers else None
        ratios += [ratio] if ratio else []
        compiling = f"{ours['compile_s']:.1f} / {ours['children_peak_mb']:3.0f}" if ours else ""
        table.add_row(row["model"], *cells, compiling, f"{ratio:.2f}" if ratio else "")
    if ratios:
        blanks = [""] * (len(installed) + 1)
        table.add_row("geometric mean", *blanks, f"{geometric_mean(ratios):.2f}")
    return table


def describe(figures: Figures | None) -> str:
    return f"{median(figures):.3f} / {figures['peak_mb']:3.0f}" if figures else "failed"


if __name__ == "__main__":
    main()
