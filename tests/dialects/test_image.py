"""Resampling: `evaluate` against onnxruntime, compiled code against `evaluate`, known values."""

import numpy as np
import pytest
from oracle import run_onnx
from support import check_operator, evaluate

from nnvm_mlir.dialects.nnvm import OPERATORS
from nnvm_mlir.dialects.nnvm.interpolation import COORDINATE_MODES, NEAREST_MODES
from nnvm_mlir.dialects.nnvm.types import TensorType

RNG = np.random.default_rng(0)
INTERPOLATE = OPERATORS["interpolate"]
DATA = RNG.normal(size=(1, 2, 4, 5)).astype(np.float32)
ROI = (0, 0, 0.125, -0.25, 1, 1, 0.75, 1.25)
# (scales, sizes) of H and W, upwards and downwards, whole and not.
SCALES = [(2, 3), (2.5, 1.6), (0.6, 0.5), (1.5, 0.3)]
SIZES = [(8, 10), (7, 3), (1, 9)]
ONNX_MODES = [mode for mode in COORDINATE_MODES if mode != "tf_half_pixel_for_nn"]


def agrees_with_onnxruntime(mode, **attributes):
    for scales in SCALES:
        whole = np.array([1, 1, *scales], np.float32)
        size = tuple(int(n) for n in np.floor(DATA.shape * whole))
        got = evaluate(
            INTERPOLATE, DATA, size=size, scales=whole.tolist(), roi=ROI, mode=mode, **attributes
        )
        want = run_onnx("Resize", DATA, np.float32(ROI), whole, opset=19, mode=mode, **attributes)
        np.testing.assert_allclose(got[0], want[0], rtol=1e-4, atol=1e-5, err_msg=str(scales))
    for sizes in SIZES:
        size = (1, 2, *sizes)
        got = evaluate(INTERPOLATE, DATA, size=size, roi=ROI, mode=mode, **attributes)
        want = run_onnx(
            "Resize", DATA, np.float32(ROI), None, np.int64(size), opset=19, mode=mode, **attributes
        )
        np.testing.assert_allclose(got[0], want[0], rtol=1e-4, atol=1e-5, err_msg=str(sizes))


@pytest.mark.parametrize("coordinates", ONNX_MODES)
@pytest.mark.parametrize("rounding", NEAREST_MODES)
def test_nearest_agrees_with_onnxruntime(coordinates, rounding):
    agrees_with_onnxruntime(
        "nearest", coordinate_transformation_mode=coordinates, nearest_mode=rounding
    )


@pytest.mark.parametrize("coordinates", ONNX_MODES)
def test_linear_agrees_with_onnxruntime(coordinates):
    agrees_with_onnxruntime(
        "linear", coordinate_transformation_mode=coordinates, extrapolation_value=7.0
    )


@pytest.mark.parametrize("coordinates", ONNX_MODES)
@pytest.mark.parametrize("exclude_outside", [False, True])
def test_cubic_agrees_with_onnxruntime(coordinates, exclude_outside):
    agrees_with_onnxruntime(
        "cubic",
        coordinate_transformation_mode=coordinates,
        exclude_outside=exclude_outside,
        cubic_coeff_a=-0.5,
    )


@pytest.mark.parametrize("mode", ["linear", "cubic"])
def test_antialias_agrees_with_onnxruntime(mode):
    agrees_with_onnxruntime(mode, antialias=True, exclude_outside=True)


@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
@pytest.mark.parametrize("coordinates", ["half_pixel", "align_corners", "tf_crop_and_resize"])
@pytest.mark.parametrize("size", [(1, 2, 8, 15), (1, 3, 3, 7)])
def test_compiled(mode, coordinates, size):
    check_operator(
        INTERPOLATE, DATA, size=size, mode=mode, coordinate_transformation_mode=coordinates,
        roi=ROI, extrapolation_value=7.0,
    )  # fmt: skip


@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
@pytest.mark.parametrize("dtype", ["float16", "float64", "int8", "uint8"])
def test_dtypes(mode, dtype):
    x = (DATA * 40).astype(np.int64).astype(dtype)
    check_operator(INTERPOLATE, x, size=(1, 2, 7, 3), mode=mode, rtol=1e-3)


def test_bool():
    check_operator(INTERPOLATE, DATA > 0, size=(1, 2, 7, 3))


@pytest.mark.parametrize("rank", [1, 3, 5])
def test_ranks(rank):
    x = RNG.normal(size=range(2, 2 + rank)).astype(np.float32)
    size = [n + 1 for n in x.shape]
    check_operator(
        INTERPOLATE, x, size=size, mode="linear", coordinate_transformation_mode="align_corners"
    )


@pytest.mark.parametrize("mode", ["nearest", "linear"])
def test_empty_batch(mode):
    check_operator(INTERPOLATE, np.zeros((0, 2, 3), np.float32), size=(0, 2, 6), mode=mode)


def test_same_size_is_a_copy():
    for mode in ("nearest", "linear", "cubic"):
        got = check_operator(INTERPOLATE, DATA, size=DATA.shape, mode=mode)[0]
        np.testing.assert_array_equal(got, DATA)


@pytest.mark.parametrize("method", ["NEAREST_NEIGHBOR", "BILINEAR"])
@pytest.mark.parametrize("scale", [1, 3])
def test_upsampling(method, scale):
    got = check_operator(OPERATORS["upsampling"], DATA, scale=scale, method=method)[0]
    np.testing.assert_allclose(got[:, :, ::scale, ::scale], DATA, rtol=1e-5, atol=1e-6)
    if method == "NEAREST_NEIGHBOR":
        np.testing.assert_array_equal(got, DATA.repeat(scale, 2).repeat(scale, 3))


@pytest.mark.parametrize("layout", ["NHWC", "NCHW2c"])
def test_image_layouts(layout):
    axes = {"NHWC": (0, 2, 3, 1), "NCHW2c": (0, 1, 3, 4, 2)}[layout]
    x = DATA if layout == "NHWC" else DATA.reshape(1, 1, 2, 4, 5)
    want = evaluate(OPERATORS["resize"], DATA, size=(7, 3))[0]
    got = check_operator(OPERATORS["resize"], x.transpose(axes), size=(7, 3), layout=layout)[0]
    want = want if layout == "NHWC" else want.reshape(1, 1, 2, 7, 3)
    np.testing.assert_allclose(got, want.transpose(axes), rtol=1e-6)


def test_resize_known_values():
    x = np.array([0, 1, 2, 3], np.float32).reshape(1, 1, 1, 4)
    resize = OPERATORS["resize"]
    assert check_operator(resize, x, size=(1, 8))[0].ravel().tolist() == [
        0, 0.5, 1, 1.5, 2, 2.5, 3, 3,
    ]  # fmt: skip
    corners = check_operator(resize, x, size=(1, 7), align_corners=True)[0]
    np.testing.assert_allclose(corners.ravel(), np.arange(7) / 2, rtol=1e-6)
    nearest = check_operator(resize, x, size=(1, 6), method="NEAREST_NEIGHBOR")[0]
    assert nearest.ravel().tolist() == [0, 0, 1, 2, 2, 3]


@pytest.mark.parametrize(
    ("name", "attributes", "shape", "message"),
    [
        ("interpolate", {"size": (1, -1)}, (1, 1), "'size' must not be negative"),
        ("interpolate", {"size": (1, 2)}, (1, 0), "an axis of data of shape 1x0 or of size"),
        ("interpolate", {"size": (1, 2)}, (1, 1, 1), "expects data of rank 2, got rank 3"),
        ("interpolate", {"size": (1, 2), "scales": (1.0,)}, (1, 1), "'scales' must be 2 positive"),
        (
            "interpolate",
            {"size": (1, 2), "coordinate_transformation_mode": "tf_crop_and_resize"},
            (1, 1),
            "'roi' must be 4 numbers",
        ),
        ("interpolate", {"size": (1, 2), "mode": "area"}, (1, 1), "'mode': expected one of"),
        ("upsampling", {"scale": 0}, (1, 1, 1, 1), "'scale' must be positive"),
        ("resize", {"size": (1,)}, (1, 1, 1, 1), "'size' must be 2 numbers >= 1"),
        ("resize", {"size": (1, 2), "layout": "NC"}, (1, 1), "must have the axes of NCHW"),
    ],
)
def test_refusals(name, attributes, shape, message):
    operator = OPERATORS[name]
    with pytest.raises(ValueError, match=message):
        operator.infer(operator.attributes_from(attributes), [TensorType(shape, "float32")])


def test_sizes_are_inferred_backwards():
    operator = OPERATORS["upsampling"]
    a = operator.attributes_from({"scale": 2})
    ins, outs = operator.infer(
        a, [TensorType((None, 3, 4, 4), "float32")], [TensorType((2, None, None, None))]
    )
    assert ins[0].shape == (2, 3, 4, 4)
    assert outs[0].shape == (2, 3, 8, 8)
