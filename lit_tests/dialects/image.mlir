// RUN: nnvm-opt --nnvm-infer-shape --nnvm-infer-type %s | FileCheck %s

// CHECK-LABEL: func.func @upsampling
// CHECK: -> tensor<1x2x6x8x16xf32>
func.func @upsampling(%data: tensor<1x2x3x4x16xf32>) -> tensor<*x!nnvm.unknown> {
  %0 = "nnvm.upsampling"(%data) {scale = 2 : i64, layout = "NCHW16c"}
    : (tensor<1x2x3x4x16xf32>) -> tensor<*x!nnvm.unknown>
  return %0 : tensor<*x!nnvm.unknown>
}

// CHECK-LABEL: func.func @resize
// CHECK: -> tensor<1x7x5x2xf32>
func.func @resize(%data: tensor<1x3x4x2xf32>) -> tensor<*x!nnvm.unknown> {
  %0 = "nnvm.resize"(%data) {size = array<i64: 7, 5>, layout = "NHWC"}
    : (tensor<1x3x4x2xf32>) -> tensor<*x!nnvm.unknown>
  return %0 : tensor<*x!nnvm.unknown>
}

// CHECK-LABEL: func.func @interpolate
// CHECK: -> tensor<1x2x7x5xui8>
func.func @interpolate(%data: tensor<1x2x3x4xui8>) -> tensor<*x!nnvm.unknown> {
  %0 = "nnvm.interpolate"(%data) {size = array<i64: 1, 2, 7, 5>, mode = "cubic"}
    : (tensor<1x2x3x4xui8>) -> tensor<*x!nnvm.unknown>
  return %0 : tensor<*x!nnvm.unknown>
}
