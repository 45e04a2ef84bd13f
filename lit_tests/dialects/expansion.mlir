// Shapes of what is padded and repeated.

// RUN: nnvm-opt --nnvm-infer-shape --nnvm-infer-type %s | FileCheck %s

// CHECK-LABEL: func.func @pad(
// CHECK-SAME: -> tensor<5x?xf32> {
func.func @pad(%x0: tensor<2x?xf32>) -> tensor<*x!nnvm.unknown> {
  %0 = "nnvm.pad"(%x0) {pad_width = array<i64: 1, 2, 0, 0>, mode = "edge"}
    : (tensor<2x?xf32>) -> tensor<*x!nnvm.unknown>
  return %0 : tensor<*x!nnvm.unknown>
}

// CHECK-LABEL: func.func @broadcast_to(
// CHECK-SAME: -> tensor<3x4x5xf32> {
func.func @broadcast_to(%x0: tensor<4x1xf32>) -> tensor<*x!nnvm.unknown> {
  %0 = "nnvm.broadcast_to"(%x0) {shape = array<i64: 3, 0, 5>}
    : (tensor<4x1xf32>) -> tensor<*x!nnvm.unknown>
  return %0 : tensor<*x!nnvm.unknown>
}

// CHECK-LABEL: func.func @expand_like(
// CHECK-SAME: -> tensor<2x3xf32> {
func.func @expand_like(%x0: tensor<3xf32>, %x1: tensor<2x3xi64>) -> tensor<*x!nnvm.unknown> {
  %0 = "nnvm.expand_like"(%x0, %x1) {axis = array<i64: 0>}
    : (tensor<3xf32>, tensor<2x3xi64>) -> tensor<*x!nnvm.unknown>
  return %0 : tensor<*x!nnvm.unknown>
}

// CHECK-LABEL: func.func @tile(
// CHECK-SAME: -> tensor<2x4x3xf32> {
func.func @tile(%x0: tensor<2x3xf32>) -> tensor<*x!nnvm.unknown> {
  %0 = "nnvm.tile"(%x0) {reps = array<i64: 2, 2, 1>}
    : (tensor<2x3xf32>) -> tensor<*x!nnvm.unknown>
  return %0 : tensor<*x!nnvm.unknown>
}
