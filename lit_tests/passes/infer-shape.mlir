// RUN: nnvm-opt --nnvm-infer-shape --split-input-file %s | FileCheck %s

// Forwards, through operators that change shapes; the function's type follows.
// CHECK-LABEL: func.func @forwards(
// CHECK-SAME: tensor<2x3x8x8xf32>, %{{.*}}: tensor<4x3x3x3xf32>) -> tensor<2x64xf32>
// CHECK: nnvm.conv2d{{.*}} -> tensor<2x4x4x4xf32>
// CHECK: nnvm.flatten{{.*}} -> tensor<2x64xf32>
func.func @forwards(%x: tensor<2x3x8x8xf32>, %w: tensor<*xf32>) -> tensor<*xf32> {
  %0 = "nnvm.conv2d"(%x, %w) {channels = 4, kernel_size = array<i64: 3, 3>, padding = array<i64: 1, 1>, strides = array<i64: 2, 2>, use_bias = false} : (tensor<2x3x8x8xf32>, tensor<*xf32>) -> tensor<*xf32>
  %1 = "nnvm.flatten"(%0) : (tensor<*xf32>) -> tensor<*xf32>
  return %1 : tensor<*xf32>
}

// -----

// Backwards, through two operators, to an argument.
// CHECK-LABEL: func.func @backwards(
// CHECK-SAME: tensor<4xf32>, %{{.*}}: tensor<4xf32>) -> tensor<4xf32>
// CHECK: nnvm.sqrt{{.*}} -> tensor<4xf32>
func.func @backwards(%x: tensor<4xf32>, %y: tensor<*xf32>) -> tensor<*xf32> {
  %0 = "nnvm.sqrt"(%y) : (tensor<*xf32>) -> tensor<*xf32>
  %1 = "nnvm.elemwise_add"(%x, %0) : (tensor<4xf32>, tensor<*xf32>) -> tensor<*xf32>
  return %1 : tensor<*xf32>
}

// -----

// Dimensions that are known in different places meet.
// CHECK-LABEL: func.func @meet(
// CHECK-SAME: tensor<2x4xf32>, %{{.*}}: tensor<2x4xf32>) -> tensor<2x4xf32>
func.func @meet(%x: tensor<?x4xf32>, %y: tensor<2x?xf32>) -> tensor<?x?xf32> {
  %0 = "nnvm.elemwise_mul"(%x, %y) : (tensor<?x4xf32>, tensor<2x?xf32>) -> tensor<?x?xf32>
  return %0 : tensor<?x?xf32>
}

// -----

// What does not follow stays unknown; dtypes are not this pass's.
// CHECK-LABEL: func.func @open(
// CHECK-SAME: tensor<?x4x!nnvm.unknown>) -> tensor<?x4x!nnvm.unknown>
// CHECK: nnvm.relu{{.*}} -> tensor<?x4x!nnvm.unknown>
func.func @open(%x: tensor<?x4x!nnvm.unknown>) -> tensor<*x!nnvm.unknown> {
  %0 = "nnvm.relu"(%x) : (tensor<?x4x!nnvm.unknown>) -> tensor<*x!nnvm.unknown>
  return %0 : tensor<*x!nnvm.unknown>
}

// -----

// CHECK-LABEL: func.func private @external(tensor<*xf32>) -> tensor<*xf32>
func.func private @external(tensor<*xf32>) -> tensor<*xf32>
