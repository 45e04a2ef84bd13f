// Linear quantization: the zero point gives the integer dtype, the scale the float dtype.

// RUN: nnvm-opt --nnvm-infer-shape --nnvm-infer-type --split-input-file --verify-diagnostics %s | FileCheck %s

// CHECK-LABEL: func.func @quantize(
// CHECK-SAME: tensor<3xui8>) -> tensor<2x3xf16>
func.func @quantize(%x: tensor<2x3xf32>, %s: tensor<3xf32>, %h: tensor<3xf16>, %z: tensor<*x!nnvm.unknown>) -> tensor<*x!nnvm.unknown> {
  // CHECK: "nnvm.quantize_linear"{{.*}} -> tensor<2x3xui8>
  %0 = "nnvm.quantize_linear"(%x, %s, %z) {dtype = ui8} : (tensor<2x3xf32>, tensor<3xf32>, tensor<*x!nnvm.unknown>) -> tensor<*x!nnvm.unknown>
  // CHECK: "nnvm.dequantize_linear"{{.*}} -> tensor<2x3xf16>
  %1 = "nnvm.dequantize_linear"(%0, %h, %z) : (tensor<*x!nnvm.unknown>, tensor<3xf16>, tensor<*x!nnvm.unknown>) -> tensor<*x!nnvm.unknown>
  return %1 : tensor<*x!nnvm.unknown>
}

// -----

func.func @scale(%x: tensor<2x3xf32>, %s: tensor<2xf32>, %z: tensor<2xi8>) -> tensor<2x3xi8> {
  // expected-error@+1 {{'nnvm.quantize_linear' op expects scale and zero_point to be scalars or of shape 3, got 2}}
  %0 = "nnvm.quantize_linear"(%x, %s, %z) : (tensor<2x3xf32>, tensor<2xf32>, tensor<2xi8>) -> tensor<2x3xi8>
  return %0 : tensor<2x3xi8>
}

// -----

func.func @dtype(%x: tensor<2x3xf32>, %s: tensor<f32>, %z: tensor<i64>) -> tensor<2x3xi64> {
  // expected-error@+1 {{'nnvm.quantize_linear' op expects a zero_point of int8, uint8, int16, uint16, got int64}}
  %0 = "nnvm.quantize_linear"(%x, %s, %z) : (tensor<2x3xf32>, tensor<f32>, tensor<i64>) -> tensor<2x3xi64>
  return %0 : tensor<2x3xi64>
}
