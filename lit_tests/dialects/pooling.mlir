// RUN: nnvm-opt --nnvm-infer-shape --nnvm-infer-type %s | FileCheck %s

// CHECK-LABEL: func.func @max
// CHECK: -> tensor<1x64x56x56xf32>
func.func @max(%data: tensor<1x64x112x112xf32>) -> tensor<*x!nnvm.unknown> {
  %0 = "nnvm.max_pool2d"(%data) {
    pool_size = array<i64: 3, 3>, strides = array<i64: 2, 2>, padding = array<i64: 1, 1>
  } : (tensor<1x64x112x112xf32>) -> tensor<*x!nnvm.unknown>
  return %0 : tensor<*x!nnvm.unknown>
}

// A last window that would start in the padding at the end is left out: 3 of 4 along H.
// CHECK-LABEL: func.func @ceil
// CHECK: -> tensor<1x3x2x4xf32>
func.func @ceil(%data: tensor<1x6x5x4xf32>) -> tensor<*x!nnvm.unknown> {
  %0 = "nnvm.avg_pool2d"(%data) {
    pool_size = array<i64: 3, 3>, strides = array<i64: 3, 3>, padding = array<i64: 1, 1>,
    layout = "NHWC", ceil_mode = true
  } : (tensor<1x6x5x4xf32>) -> tensor<*x!nnvm.unknown>
  return %0 : tensor<*x!nnvm.unknown>
}

// CHECK-LABEL: func.func @indices
// CHECK: -> (tensor<1x2x4xf16>, tensor<1x2x4xi64>)
func.func @indices(%data: tensor<1x2x8xf16>) -> (tensor<*x!nnvm.unknown>, tensor<*x!nnvm.unknown>) {
  %0:2 = "nnvm.max_pool1d_indices"(%data) {
    pool_size = array<i64: 2>, strides = array<i64: 2>
  } : (tensor<1x2x8xf16>) -> (tensor<*x!nnvm.unknown>, tensor<*x!nnvm.unknown>)
  return %0#0, %0#1 : tensor<*x!nnvm.unknown>, tensor<*x!nnvm.unknown>
}

// CHECK-LABEL: func.func @global
// CHECK: -> tensor<1x2x1x1x1x16xf32>
func.func @global(%data: tensor<1x2x3x4x5x16xf32>) -> tensor<*x!nnvm.unknown> {
  %0 = "nnvm.global_avg_pool3d"(%data) {layout = "NCDHW16c"}
    : (tensor<1x2x3x4x5x16xf32>) -> tensor<*x!nnvm.unknown>
  return %0 : tensor<*x!nnvm.unknown>
}
