"""Compile the digit classifier next to this file, show every stage, and measure it.

python examples/digits/demo.py
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from statistics import median

import numpy as np
from rich.console import Console, Group
from rich.table import Table
from rich.text import Text

import nnvm_mlir

HERE = Path(__file__).resolve().parent
MODEL = HERE / "digits.onnx"
DRAWN = 4  # digits
EXCERPT = 3  # lines of a stage
TIMED_CALLS = 2000
INK = " ░▒▓█"
OPERATION = re.compile(r'^\s*(?:%[\w:#, %]+ = )?"?([a-z_]\w*(?:\.\w+)+)')
UNREMARKABLE = re.compile(r"(constant|global|func|undef|poison)$")

Array = np.ndarray
Classifier = Callable[[Array], Array]  # an image [1, 1, 8, 8] to the scores [1, 10]


def held_out_digits() -> tuple[Array, Array]:
    """Digits that the training never saw: float32 ``[n, 1, 8, 8]`` of 0..16, and the labels."""
    with np.load(HERE / "held_out.npz") as arrays:
        return arrays["images"][:, None].astype(np.float32), arrays["labels"]


def onnxruntime_classifier() -> Classifier | None:
    """The same model in onnxruntime, on one thread; None when it is not installed."""
    try:
        import onnxruntime
    except ImportError:
        return None
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(MODEL, options, providers=["CPUExecutionProvider"])
    return lambda image: session.run(["logits"], {"image": image})[0]


def classify(classifier: Classifier, images: Array) -> Array:
    """The predicted digit of each image, one call an image."""
    return np.array([classifier(image[None]).argmax() for image in images])


def microseconds(classifier: Classifier, images: Array) -> float:
    """The median time of a call with one image, warmed up."""
    classify(classifier, images)
    times = []
    for call in range(TIMED_CALLS):
        image = images[call % len(images)][None]
        start = time.perf_counter_ns()
        classifier(image)
        times.append(time.perf_counter_ns() - start)
    return median(times) / 1e3


def drawing(image: Array, caption: str) -> Group:
    """An image as shaded cells above its caption."""
    shades = np.minimum(image[0] * len(INK) / 16, len(INK) - 1).astype(int)
    rows = ("".join(INK[shade] * 2 for shade in row) for row in shades)
    return Group(Text("\n".join(rows)), Text(caption, style="bold"))


def show_digits(console: Console, images: Array, predicted: Array, labels: Array) -> None:
    grid = Table.grid(padding=(0, 2))
    captions = [f"is {label}: says {p}" for p, label in zip(predicted, labels, strict=True)]
    grid.add_row(*map(drawing, images, captions))
    console.print(grid)


def show_stages(console: Console, stages: Mapping[str, str]) -> None:
    """A table of the module after each stage: its size and its first telling operations."""
    table = Table(title="The model on its way to machine code", show_lines=True, expand=True)
    table.add_column("stage", style="bold")
    table.add_column("operations", justify="right")
    table.add_column("lines", justify="right")
    table.add_column("begins with", no_wrap=True, overflow="ellipsis", ratio=1)
    for name, module in stages.items():
        lines = module.splitlines()
        operations = [(match[1], line) for line in lines if (match := OPERATION.match(line))]
        telling = [line.strip() for op, line in operations if not UNREMARKABLE.search(op)]
        excerpt = Text("\n".join(telling[:EXCERPT]))
        table.add_row(name, f"{len(operations):,}", f"{len(lines):,}", excerpt)
    console.print(table)


def show_results(console: Console, ours: Classifier, images: Array, labels: Array) -> None:
    """A table of accuracy on all images and time for one, beside onnxruntime's."""
    table = Table(title=f"{len(images)} held-out digits, on one thread")
    for column in ("", "accuracy", "time per image"):
        table.add_column(column, justify="right" if column else "left")
    for name, classifier in {"nnvm_mlir": ours, "onnxruntime": onnxruntime_classifier()}.items():
        if classifier is None:
            table.add_row(name, "not installed", "not installed")
            continue
        accuracy = (classify(classifier, images) == labels).mean()
        table.add_row(name, f"{accuracy:.2%}", f"{microseconds(classifier, images):.1f} µs")
    console.print(table)


def main() -> None:
    console = Console()
    images, labels = held_out_digits()
    with console.status(f"compiling {MODEL.name}"):
        start = time.perf_counter()
        model = nnvm_mlir.compile(MODEL, shapes={"image": (1, 1, 8, 8)}, threads=1)
        seconds = time.perf_counter() - start
    console.print(f"[bold]{MODEL.name}[/bold]: compiled in {seconds:.2f} s")

    def ours(image: Array) -> Array:
        logits, _probabilities = model({"image": image})
        return logits

    show_stages(console, model.stages)
    drawn, answers = images[:DRAWN], labels[:DRAWN]
    show_digits(console, drawn, classify(ours, drawn), answers)
    show_results(console, ours, images, labels)


if __name__ == "__main__":
    main()
