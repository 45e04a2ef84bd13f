"""Real models agree with onnxruntime: a few, quick to fetch and to compile, always; the whole corpus with `pytest -m corpus`."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence

import numpy as np
import onnx
import pytest
from corpus import TABLE, fetch, random_inputs, reference
from inputs import Maker, constant, integers, normal, page, uniform

import nnvm_mlir

fetch_once = functools.cache(fetch)


def assert_close(
    results: Sequence[np.ndarray], expected: Sequence[np.ndarray], reweighted: bool
) -> None:
    """Floats agree within 2e-5 of the largest plus 1e-3 of each, or, as logits, within 1e-3; integers are equal.

    Args:
        reweighted: the last output is logits.
    """
    assert len(results) == len(expected)
    for i, (result, wanted) in enumerate(zip(results, expected, strict=True)):
        assert (result.shape, result.dtype) == (wanted.shape, wanted.dtype)
        if wanted.dtype.kind != "f":
            np.testing.assert_array_equal(result, wanted)
        elif reweighted and i == len(results) - 1:
            np.testing.assert_allclose(result, wanted, rtol=0, atol=1e-3)
        else:
            atol = 2e-5 * np.abs(wanted).max()
            np.testing.assert_allclose(result, wanted, rtol=1e-3, atol=atol)


def check(name: str, threads: int, opt_level: int = 3) -> None:
    model = fetch_once(name)
    shapes = {key: array.shape for key, array in model.inputs.items()}
    compiled = nnvm_mlir.compile(model.path, shapes=shapes, threads=threads, opt_level=opt_level)
    assert_close(compiled(model.inputs), model.outputs, TABLE[name].reweighted)


def check_other_size(name: str, makers: Mapping[str, Maker]) -> None:
    """Opens every dimension of the inputs; the first call binds them."""
    model = onnx.load(fetch_once(name).path)
    for value in model.graph.input:
        for i, dim in enumerate(value.type.tensor_type.shape.dim):
            dim.dim_param = f"{value.name} {i}"
    for value in model.graph.output:
        value.type.tensor_type.ClearField("shape")
    inputs = random_inputs("other size", makers)
    expected = reference(model.SerializeToString(), inputs)
    assert_close(nnvm_mlir.compile(model)(inputs), expected, TABLE[name].reweighted)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("name", ["squeezenet", "shufflenet", "silero_vad", "ppocr_cls"])
def test_agrees(name: str, threads: int):
    check(name, threads)


@pytest.mark.parametrize("name", ["silero_vad", "ppocr_cls"])
def test_agrees_unoptimized(name: str):
    check(name, threads=1, opt_level=0)


def test_batch_of_two():
    check_other_size("squeezenet", {"data_0": normal(2, 3, 224, 224)})


@pytest.mark.corpus
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("name", TABLE)
def test_corpus_agrees(name: str, threads: int):
    check(name, threads)


@pytest.mark.corpus
@pytest.mark.parametrize("name", TABLE)
def test_corpus_agrees_unoptimized(name: str):
    check(name, threads=1, opt_level=0)


OTHER_SIZES: list[tuple[str, dict[str, Maker]]] = [
    ("squeezenet", {"data_0": normal(1, 3, 193, 257)}),
    ("ppocr_det", {"x": page(1, 3, 320, 480)}),
    ("ppocr_cls", {"x": page(3, 3, 48, 100)}),
    ("ppocr_cls", {"x": page(1, 3, 33, 191)}),
    ("yolox_det", {"images": uniform(1, 3, 352, 416, high=255)}),
    ("open_nsfw", {"input:0": uniform(2, 224, 224, 3, low=-110, high=145)}),
    ("magika", {"bytes": integers(3, 2048, below=257, dtype="int32")}),
    (
        "minilm_l3",
        {
            "input_ids": integers(2, 17, below=30000),
            "attention_mask": constant(2, 17, value=1, dtype="int64"),
        },
    ),
    (
        "minilm_l3",
        {
            "input_ids": integers(3, 130, below=30000),
            "attention_mask": integers(3, 130, below=2),
        },
    ),
    ("silero_vad", {"input": normal(3, 576, scale=0.1), "state": normal(2, 3, 128)}),
    (
        "silero_vad_seq",
        {
            "input": normal(7, 576, scale=0.1),
            "h": normal(1, 1, 128),
            "c": normal(1, 1, 128),
        },
    ),
    ("basic_pitch", {"serving_default_input_2:0": normal(2, 43844, 1, scale=0.1)}),
    ("spindle_eeg", {"raw_signal": normal(2, 1, 7500), "spectrogram": normal(2, 15, 7500)}),
]


@pytest.mark.corpus
@pytest.mark.parametrize(("name", "makers"), OTHER_SIZES)
def test_corpus_at_other_sizes(name: str, makers: dict[str, Maker]):
    check_other_size(name, makers)
