// Shapes of views and permutations.

// RUN: nnvm-opt --nnvm-infer-shape --nnvm-infer-type %s | FileCheck %s

// CHECK-LABEL: func.func @reshape(
// CHECK-SAME: -> tensor<6x4xf32> {
func.func @reshape(%x0: tensor<2x3x4xf32>) -> tensor<*x!nnvm.unknown> {
  %0 = "nnvm.reshape"(%x0) {shape = array<i64: -3, -1>}
    : (tensor<2x3x4xf32>) -> tensor<*x!nnvm.unknown>
  return %0 : tensor<*x!nnvm.unknown>
}

// CHECK-LABEL: func.func @split_dim(
// CHECK-SAME: -> tensor<2x1x3x4xf32> {
func.func @split_dim(%x0: tensor<2x3x4xf32>) -> tensor<*x!nnvm.unknown> {
  %0 = "nnvm.reshape"(%x0) {shape = array<i64: 2, -4, -1, 3, -2>}
    : (tensor<2x3x4xf32>) -> tensor<*x!nnvm.unknown>
  return %0 : tensor<*x!nnvm.unknown>
}

// CHECK-LABEL: func.func @reshape_like(
// CHECK-SAME: -> tensor<3x4xf32> {
func.func @reshape_like(%x0: tensor<2x6xf32>, %x1: tensor<3x4xi64>) -> tensor<*x!nnvm.unknown> {
  %0 = "nnvm.reshape_like"(%x0, %x1)
    : (tensor<2x6xf32>, tensor<3x4xi64>) -> tensor<*x!nnvm.unknown>
  return %0 : tensor<*x!nnvm.unknown>
}

// CHECK-LABEL: func.func @flatten(
// CHECK-SAME: -> tensor<2x12xf32> {
func.func @flatten(%x0: tensor<2x3x4xf32>) -> tensor<*x!nnvm.unknown> {
  %0 = "nnvm.flatten"(%x0)
    : (tensor<2x3x4xf32>) -> tensor<*x!nnvm.unknown>
  return %0 : tensor<*x!nnvm.unknown>
}

// CHECK-LABEL: func.func @expand_dims(
// CHECK-SAME: -> tensor<2x1x1x?xf32> {
func.func @expand_dims(%x0: tensor<2x?xf32>) -> tensor<*x!nnvm.unknown> {
  %0 = "nnvm.expand_dims"(%x0) {axis = 1 : i64, num_newaxis = 2 : i64}
    : (tensor<2x?xf32>) -> tensor<*x!nnvm.unknown>
  return %0 : tensor<*x!nnvm.unknown>
}

// CHECK-LABEL: func.func @squeeze(
// CHECK-SAME: -> tensor<3xi1> {
func.func @squeeze(%x0: tensor<1x3x1xi1>) -> tensor<*x!nnvm.unknown> {
  %0 = "nnvm.squeeze"(%x0)
    : (tensor<1x3x1xi1>) -> tensor<*x!nnvm.unknown>
  return %0 : tensor<*x!nnvm.unknown>
}

// CHECK-LABEL: func.func @transpose(
// CHECK-SAME: -> tensor<?x2x3xf32> {
func.func @transpose(%x0: tensor<2x3x?xf32>) -> tensor<*x!nnvm.unknown> {
  %0 = "nnvm.transpose"(%x0) {axes = array<i64: 2, 0, 1>}
    : (tensor<2x3x?xf32>) -> tensor<*x!nnvm.unknown>
  return %0 : tensor<*x!nnvm.unknown>
}

// NNVM's __layout_transform__.
// CHECK-LABEL: func.func @blocked(
// CHECK-SAME: -> tensor<1x2x7x7x16xf32> {
func.func @blocked(%x0: tensor<1x32x7x7xf32>) -> tensor<*x!nnvm.unknown> {
  %0 = "nnvm.layout_transform"(%x0) {src_layout = "NCHW", dst_layout = "NCHW16c"}
    : (tensor<1x32x7x7xf32>) -> tensor<*x!nnvm.unknown>
  return %0 : tensor<*x!nnvm.unknown>
}

// CHECK-LABEL: func.func @depth_to_space(
// CHECK-SAME: -> tensor<1x3x4x6xf32> {
func.func @depth_to_space(%x0: tensor<1x12x2x3xf32>) -> tensor<*x!nnvm.unknown> {
  %0 = "nnvm.depth_to_space"(%x0) {block_size = 2 : i64}
    : (tensor<1x12x2x3xf32>) -> tensor<*x!nnvm.unknown>
  return %0 : tensor<*x!nnvm.unknown>
}

// CHECK-LABEL: func.func @space_to_depth(
// CHECK-SAME: -> tensor<1x12x2x3xf32> {
func.func @space_to_depth(%x0: tensor<1x3x4x6xf32>) -> tensor<*x!nnvm.unknown> {
  %0 = "nnvm.space_to_depth"(%x0) {block_size = 2 : i64}
    : (tensor<1x3x4x6xf32>) -> tensor<*x!nnvm.unknown>
  return %0 : tensor<*x!nnvm.unknown>
}

// The operand's shape follows from the result's.
// CHECK-LABEL: func.func @backwards(
// CHECK-SAME: tensor<1x32x7x7xf32>
func.func @backwards(%x: tensor<*x!nnvm.unknown>) -> tensor<1x2x7x7x16xf32> {
  %0 = "nnvm.layout_transform"(%x) {src_layout = "NCHW", dst_layout = "NCHW16c"}
    : (tensor<*x!nnvm.unknown>) -> tensor<1x2x7x7x16xf32>
  return %0 : tensor<1x2x7x7x16xf32>
}
