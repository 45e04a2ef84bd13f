"""The ONNX standard's own node tests, run through an importer and an executor.

`node_tests.txt` lists those that must pass: losing one is a failure, gaining one is worth a line.
"""

import warnings
from functools import cache
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx.backend.test.loader import load_model_tests
from onnx_models import Execute, run_model

import nnvm_mlir
from nnvm_mlir.interpret import interpret

NAMES = (Path(__file__).parent / "node_tests.txt").read_text().split()


@cache
def suite():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {case.name: case for case in load_model_tests(kind="node")}


def array(value):
    if isinstance(value, onnx.TensorProto):
        return onnx.numpy_helper.to_array(value)
    return np.asarray(value)


def check_case(name: str, execute: Execute) -> None:
    """Runs one test of the suite on every data set that comes with it."""
    case = suite()[name]
    names = [value.name for value in case.model.graph.input]
    for inputs, outputs in case.data_sets:
        arrays = dict(zip(names, map(array, inputs), strict=True))
        results = run_model(case.model, arrays, execute)
        for got, want in zip(results, map(array, outputs), strict=True):
            assert got.dtype == want.dtype and got.shape == want.shape
            if want.dtype.kind in "biu":
                np.testing.assert_array_equal(got, want)
            else:
                got, want = got.astype(np.float64), want.astype(np.float64)
                np.testing.assert_allclose(got, want, rtol=case.rtol, atol=case.atol)


def compiled(graph, arrays):
    """What the compiled graph gives for these arrays; some inputs may have become constants."""
    model = nnvm_mlir.compile(graph, threads=1)
    return model({spec.name: arrays[spec.name] for spec in model.inputs})


@pytest.mark.parametrize("execute", [interpret, compiled])
@pytest.mark.parametrize("name", NAMES)
def test_node(name, execute):
    check_case(name, execute)


def test_the_list_is_sorted_and_without_repetitions():
    assert NAMES == sorted(set(NAMES))
