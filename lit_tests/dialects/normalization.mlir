// Shapes of normalisations, and of their parameters.

// RUN: nnvm-opt --nnvm-infer-shape --nnvm-infer-type %s | FileCheck %s

// CHECK-LABEL: func.func @softmax(
// CHECK-SAME: -> tensor<2x?xf32> {
func.func @softmax(%x0: tensor<2x?xf32>) -> tensor<*x!nnvm.unknown> {
  %0 = "nnvm.softmax"(%x0)
    : (tensor<2x?xf32>) -> tensor<*x!nnvm.unknown>
  return %0 : tensor<*x!nnvm.unknown>
}

// CHECK-LABEL: func.func @log_softmax(
// CHECK-SAME: -> tensor<2x3xf16> {
func.func @log_softmax(%x0: tensor<2x3xf16>) -> tensor<*x!nnvm.unknown> {
  %0 = "nnvm.log_softmax"(%x0) {axis = 0 : i64}
    : (tensor<2x3xf16>) -> tensor<*x!nnvm.unknown>
  return %0 : tensor<*x!nnvm.unknown>
}

// CHECK-LABEL: func.func @dropout(
// CHECK-SAME: -> (tensor<2x3xf32>, tensor<2x3xf32>) {
func.func @dropout(%x0: tensor<2x3xf32>) -> (tensor<*x!nnvm.unknown>, tensor<*x!nnvm.unknown>) {
  %0:2 = "nnvm.dropout"(%x0)
    : (tensor<2x3xf32>) -> (tensor<*x!nnvm.unknown>, tensor<*x!nnvm.unknown>)
  return %0#0, %0#1 : tensor<*x!nnvm.unknown>, tensor<*x!nnvm.unknown>
}

// CHECK-LABEL: func.func @instance_norm(
// CHECK-SAME: -> tensor<2x3x4xf32> {
func.func @instance_norm(%x0: tensor<2x3x4xf32>, %x1: tensor<3xf32>, %x2: tensor<3xf32>) -> tensor<*x!nnvm.unknown> {
  %0 = "nnvm.instance_norm"(%x0, %x1, %x2)
    : (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<*x!nnvm.unknown>
  return %0 : tensor<*x!nnvm.unknown>
}

// CHECK-LABEL: func.func @lrn(
// CHECK-SAME: -> tensor<1x8x2x2xf32> {
func.func @lrn(%x0: tensor<1x8x2x2xf32>) -> tensor<*x!nnvm.unknown> {
  %0 = "nnvm.lrn"(%x0) {size = 5 : i64, alpha = 1.0e-4 : f64, beta = 0.75 : f64, bias = 1.0 : f64}
    : (tensor<1x8x2x2xf32>) -> tensor<*x!nnvm.unknown>
  return %0 : tensor<*x!nnvm.unknown>
}

// CHECK-LABEL: func.func @l2_normalize(
// CHECK-SAME: -> tensor<1x8xf32> {
func.func @l2_normalize(%x0: tensor<1x8xf32>) -> tensor<*x!nnvm.unknown> {
  %0 = "nnvm.l2_normalize"(%x0) {eps = 1.0e-10 : f64, axis = array<i64: 1>}
    : (tensor<1x8xf32>) -> tensor<*x!nnvm.unknown>
  return %0 : tensor<*x!nnvm.unknown>
}

// CHECK-LABEL: func.func @batch_norm(
// CHECK-SAME: tensor<2x3x4x4xf32>, %{{.*}}: tensor<3xf32>, %{{.*}}: tensor<3xf32>, %{{.*}}: tensor<3xf32>, %{{.*}}: tensor<3xf32>
// CHECK-SAME: -> (tensor<2x3x4x4xf32>, tensor<3xf32>, tensor<3xf32>)
func.func @batch_norm(%x: tensor<2x3x4x4xf32>, %gamma: tensor<*x!nnvm.unknown>, %beta: tensor<*x!nnvm.unknown>, %mean: tensor<*x!nnvm.unknown>, %var: tensor<*x!nnvm.unknown>)
    -> (tensor<*x!nnvm.unknown>, tensor<*x!nnvm.unknown>, tensor<*x!nnvm.unknown>) {
  %0:3 = "nnvm.batch_norm"(%x, %gamma, %beta, %mean, %var)
    : (tensor<2x3x4x4xf32>, tensor<*x!nnvm.unknown>, tensor<*x!nnvm.unknown>, tensor<*x!nnvm.unknown>, tensor<*x!nnvm.unknown>) -> (tensor<*x!nnvm.unknown>, tensor<*x!nnvm.unknown>, tensor<*x!nnvm.unknown>)
  return %0#0, %0#1, %0#2 : tensor<*x!nnvm.unknown>, tensor<*x!nnvm.unknown>, tensor<*x!nnvm.unknown>
}

// CHECK-LABEL: func.func @layer_norm(
// CHECK-SAME: tensor<2x3x4xf32>, %{{.*}}: tensor<3x4xf32>, %{{.*}}: tensor<4xf32>
func.func @layer_norm(%x: tensor<2x3x4xf32>, %gamma: tensor<*x!nnvm.unknown>, %beta: tensor<4x!nnvm.unknown>) -> tensor<*x!nnvm.unknown> {
  %0 = "nnvm.layer_norm"(%x, %gamma, %beta) {axis = 1 : i64}
    : (tensor<2x3x4xf32>, tensor<*x!nnvm.unknown>, tensor<4x!nnvm.unknown>) -> tensor<*x!nnvm.unknown>
  return %0 : tensor<*x!nnvm.unknown>
}
