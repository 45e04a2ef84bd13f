"""Small models exported by PyTorch long ago, as they come with the onnx package: opset 6, IR version 3."""

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx.backend.test.loader import load_model_tests
from onnx_models import run_model

CASES = [
    case
    for kind in ("pytorch-converted", "pytorch-operator")
    for case in load_model_tests(kind=kind)
]


def _array(path: Path) -> np.ndarray:
    return onnx.numpy_helper.to_array(onnx.TensorProto.FromString(path.read_bytes()))


def _arrays(folder: Path, what: str) -> list[np.ndarray]:
    paths = sorted(folder.glob(f"{what}_*.pb"), key=lambda path: int(path.stem.split("_")[1]))
    return [_array(path) for path in paths]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_exported_model(case):
    folder = Path(case.model_dir)
    graph = onnx.load(folder / "model.onnx").graph
    initialized = {tensor.name for tensor in graph.initializer}
    names = [value.name for value in graph.input if value.name not in initialized]
    for data in sorted(folder.glob("test_data_set_*")):
        inputs = dict(zip(names, _arrays(data, "input"), strict=True))
        outputs = run_model(folder / "model.onnx", inputs)
        for got, want in zip(outputs, _arrays(data, "output"), strict=True):
            assert got.dtype == want.dtype and got.shape == want.shape
            np.testing.assert_allclose(got, want, rtol=1e-3, atol=1e-6)


def test_all_cases_are_there():
    assert len(CASES) == 117
