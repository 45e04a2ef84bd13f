// Shapes of what is cut, joined and mirrored.

// RUN: nnvm-opt --nnvm-infer-shape --nnvm-infer-type %s | FileCheck %s

// CHECK-LABEL: func.func @concatenate(
// CHECK-SAME: -> tensor<2x8xf32> {
func.func @concatenate(%x0: tensor<2x3xf32>, %x1: tensor<2x5xf32>) -> tensor<*x!nnvm.unknown> {
  %0 = "nnvm.concatenate"(%x0, %x1) {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0>}
    : (tensor<2x3xf32>, tensor<2x5xf32>) -> tensor<*x!nnvm.unknown>
  return %0 : tensor<*x!nnvm.unknown>
}

// CHECK-LABEL: func.func @split(
// CHECK-SAME: -> (tensor<2x3xf32>, tensor<2x4xf32>) {
func.func @split(%x0: tensor<2x7xf32>) -> (tensor<*x!nnvm.unknown>, tensor<*x!nnvm.unknown>) {
  %0:2 = "nnvm.split"(%x0) {indices_or_sections = array<i64: 3>, resultSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0>}
    : (tensor<2x7xf32>) -> (tensor<*x!nnvm.unknown>, tensor<*x!nnvm.unknown>)
  return %0#0, %0#1 : tensor<*x!nnvm.unknown>, tensor<*x!nnvm.unknown>
}

// CHECK-LABEL: func.func @sections(
// CHECK-SAME: -> (tensor<2x3xi64>, tensor<2x3xi64>) {
func.func @sections(%x0: tensor<2x6xi64>) -> (tensor<*x!nnvm.unknown>, tensor<*x!nnvm.unknown>) {
  %0:2 = "nnvm.split"(%x0) {indices_or_sections = 2 : i64, resultSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0>}
    : (tensor<2x6xi64>) -> (tensor<*x!nnvm.unknown>, tensor<*x!nnvm.unknown>)
  return %0#0, %0#1 : tensor<*x!nnvm.unknown>, tensor<*x!nnvm.unknown>
}

// CHECK-LABEL: func.func @strided_slice(
// CHECK-SAME: -> tensor<3x5xf32> {
func.func @strided_slice(%x0: tensor<9x5xf32>) -> tensor<*x!nnvm.unknown> {
  %0 = "nnvm.strided_slice"(%x0) {begin = array<i64: -2>, end = array<i64: -100>, stride = array<i64: -3>}
    : (tensor<9x5xf32>) -> tensor<*x!nnvm.unknown>
  return %0 : tensor<*x!nnvm.unknown>
}

// CHECK-LABEL: func.func @slice_like(
// CHECK-SAME: -> tensor<2x5xf32> {
func.func @slice_like(%x0: tensor<4x5xf32>, %x1: tensor<2x9xi8>) -> tensor<*x!nnvm.unknown> {
  %0 = "nnvm.slice_like"(%x0, %x1) {axis = array<i64: 0>}
    : (tensor<4x5xf32>, tensor<2x9xi8>) -> tensor<*x!nnvm.unknown>
  return %0 : tensor<*x!nnvm.unknown>
}

// CHECK-LABEL: func.func @flip(
// CHECK-SAME: -> tensor<2x?xf32> {
func.func @flip(%x0: tensor<2x?xf32>) -> tensor<*x!nnvm.unknown> {
  %0 = "nnvm.flip"(%x0) {axis = -1 : i64}
    : (tensor<2x?xf32>) -> tensor<*x!nnvm.unknown>
  return %0 : tensor<*x!nnvm.unknown>
}

// CHECK-LABEL: func.func @trilu(
// CHECK-SAME: -> tensor<2x3x3xf32> {
func.func @trilu(%x0: tensor<2x3x3xf32>) -> tensor<*x!nnvm.unknown> {
  %0 = "nnvm.trilu"(%x0) {upper = false}
    : (tensor<2x3x3xf32>) -> tensor<*x!nnvm.unknown>
  return %0 : tensor<*x!nnvm.unknown>
}

// CHECK-LABEL: func.func @reverse_sequence(
// CHECK-SAME: %{{.*}}: tensor<3xi64>
func.func @reverse_sequence(%x: tensor<4x3xf32>, %lengths: tensor<*xi64>) -> tensor<*x!nnvm.unknown> {
  %0 = "nnvm.reverse_sequence"(%x, %lengths) : (tensor<4x3xf32>, tensor<*xi64>) -> tensor<*x!nnvm.unknown>
  return %0 : tensor<*x!nnvm.unknown>
}

// One unknown size follows from the result's.
// CHECK-LABEL: func.func @backwards(
// CHECK-SAME: %{{.*}}: tensor<2x3xf32>, %{{.*}}: tensor<2x4xf32>
func.func @backwards(%x: tensor<2x3xf32>, %y: tensor<*x!nnvm.unknown>) -> tensor<2x7xf32> {
  %0 = "nnvm.concatenate"(%x, %y) {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0>}
    : (tensor<2x3xf32>, tensor<*x!nnvm.unknown>) -> tensor<2x7xf32>
  return %0 : tensor<2x7xf32>
}
