// RUN: nnvm-opt --nnvm-alter-op-layout --nnvm-cse --nnvm-dce --split-input-file %s | FileCheck %s

// A convolutional chain is transposed at its two ends only; weights become HWIO, the bias of an addition is known.
// CHECK-LABEL: func.func @network(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<1x3x8x8xf32>
// CHECK: %[[T:.*]] = "nnvm.transpose"(%[[X]]) {axes = array<i64: 0, 2, 3, 1>}
// CHECK: %[[W:.*]] = "nnvm.transpose"({{.*}}) {axes = array<i64: 2, 3, 1, 0>}{{.*}} -> tensor<3x3x3x3xf32>
// CHECK: %[[C:.*]] = "nnvm.conv2d"(%[[T]], %[[W]]){{.*}}kernel_layout = "HWIO"{{.*}}layout = "NHWC"{{.*}} -> tensor<1x8x8x3xf32>
// CHECK-NOT: "nnvm.transpose"(%[[C]])
// CHECK: %[[R:.*]] = "nnvm.relu"(%[[C]])
// CHECK: %[[D:.*]] = "nnvm.conv2d"(%[[R]], %[[W]])
// CHECK: %[[A:.*]] = "nnvm.broadcast_add"(%[[D]], %[[R]])
// CHECK: %[[B:.*]] = "nnvm.broadcast_add"(%[[A]], %{{.*}}) : (tensor<1x8x8x3xf32>, tensor<1x1x1x3xf32>)
// CHECK: %[[P:.*]] = "nnvm.max_pool2d"(%[[B]]) {{.*}}layout = "NHWC"
// CHECK: %[[J:.*]] = "nnvm.concatenate"(%[[P]], %[[P]]) {axis = 3
// CHECK: %[[S:.*]] = "nnvm.softmax"(%[[J]]) {axis = 3
// CHECK: %[[Y:.*]] = "nnvm.transpose"(%[[S]]) {axes = array<i64: 0, 3, 1, 2>}
// CHECK-NEXT: return %[[Y]]
func.func @network(%x: tensor<1x3x8x8xf32>, %w: tensor<3x3x3x3xf32> {nnvm.kind = "parameter"}, %b: tensor<3x1x1xf32> {nnvm.kind = "parameter"}) -> tensor<1x6x4x4xf32> {
  %0 = "nnvm.conv2d"(%x, %w) {channels = 3, kernel_size = array<i64: 3, 3>, padding = array<i64: 1, 1>, use_bias = false} : (tensor<1x3x8x8xf32>, tensor<3x3x3x3xf32>) -> tensor<1x3x8x8xf32>
  %1 = "nnvm.relu"(%0) : (tensor<1x3x8x8xf32>) -> tensor<1x3x8x8xf32>
  %2 = "nnvm.conv2d"(%1, %w) {channels = 3, kernel_size = array<i64: 3, 3>, padding = array<i64: 1, 1>, use_bias = false} : (tensor<1x3x8x8xf32>, tensor<3x3x3x3xf32>) -> tensor<1x3x8x8xf32>
  %3 = "nnvm.broadcast_add"(%2, %1) : (tensor<1x3x8x8xf32>, tensor<1x3x8x8xf32>) -> tensor<1x3x8x8xf32>
  %4 = "nnvm.broadcast_add"(%3, %b) : (tensor<1x3x8x8xf32>, tensor<3x1x1xf32>) -> tensor<1x3x8x8xf32>
  %5 = "nnvm.max_pool2d"(%4) {pool_size = array<i64: 2, 2>, strides = array<i64: 2, 2>} : (tensor<1x3x8x8xf32>) -> tensor<1x3x4x4xf32>
  %6 = "nnvm.concatenate"(%5, %5) {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0>} : (tensor<1x3x4x4xf32>, tensor<1x3x4x4xf32>) -> tensor<1x6x4x4xf32>
  %7 = "nnvm.softmax"(%6) {axis = 1} : (tensor<1x6x4x4xf32>) -> tensor<1x6x4x4xf32>
  return %7 : tensor<1x6x4x4xf32>
}

// -----

// Reductions: with their axes kept a transpose follows, without them only what is left is transposed, here nothing.
// CHECK-LABEL: func.func @reductions(
// CHECK: %[[P:.*]] = "nnvm.max_pool2d"
// CHECK: %[[M:.*]] = "nnvm.mean"(%[[P]]) {axis = array<i64: 1, 2>} {{.*}} -> tensor<1x3xf32>
// CHECK: %[[K:.*]] = "nnvm.sum"(%[[P]]) {axis = array<i64: 3>, keepdims = true} {{.*}} -> tensor<1x4x4x1xf32>
// CHECK: %[[KT:.*]] = "nnvm.reshape"(%[[K]]) {{.*}} -> tensor<1x1x4x4xf32>
// CHECK: %[[A:.*]] = "nnvm.max"(%[[P]]) {axis = array<i64: 0, 1>} {{.*}} -> tensor<4x3xf32>
// CHECK: %[[AT:.*]] = "nnvm.transpose"(%[[A]]) {{.*}} -> tensor<3x4xf32>
// CHECK: return %[[M]], %[[KT]], %[[AT]]
func.func @reductions(%x: tensor<1x3x8x8xf32>) -> (tensor<1x3xf32>, tensor<1x1x4x4xf32>, tensor<3x4xf32>) {
  %0 = "nnvm.max_pool2d"(%x) {pool_size = array<i64: 2, 2>, strides = array<i64: 2, 2>} : (tensor<1x3x8x8xf32>) -> tensor<1x3x4x4xf32>
  %1 = "nnvm.mean"(%0) {axis = array<i64: 2, -1>} : (tensor<1x3x4x4xf32>) -> tensor<1x3xf32>
  %2 = "nnvm.sum"(%0) {axis = array<i64: 1>, keepdims = true} : (tensor<1x3x4x4xf32>) -> tensor<1x1x4x4xf32>
  %3 = "nnvm.max"(%0) {axis = array<i64: 1, 3>, exclude = true} : (tensor<1x3x4x4xf32>) -> tensor<3x4xf32>
  return %1, %2, %3 : tensor<1x3xf32>, tensor<1x1x4x4xf32>, tensor<3x4xf32>
}

// -----

// A reader that cannot follow gets the old layout, beside one that can.
// CHECK-LABEL: func.func @cannot_follow(
// CHECK-SAME: %{{.*}}: tensor<1x3x8x8xf32>, %[[O:[a-z0-9]+]]: tensor<1x3x4x4xf32>
// CHECK: %[[P:.*]] = "nnvm.avg_pool2d"
// CHECK: %[[B:.*]] = "nnvm.transpose"(%[[P]]) {{.*}} -> tensor<1x3x4x4xf32>
// CHECK-DAG: "nnvm.flatten"(%[[B]])
// CHECK-DAG: "nnvm.broadcast_add"(%[[B]], %[[O]])
// CHECK-DAG: %[[R:.*]] = "nnvm.relu"(%[[P]]) : (tensor<1x4x4x3xf32>)
// CHECK: return
func.func @cannot_follow(%x: tensor<1x3x8x8xf32>, %other: tensor<1x3x4x4xf32>) -> (tensor<1x48xf32>, tensor<1x3x4x4xf32>, tensor<1x3x4x4xf32>) {
  %0 = "nnvm.avg_pool2d"(%x) {pool_size = array<i64: 2, 2>, strides = array<i64: 2, 2>} : (tensor<1x3x8x8xf32>) -> tensor<1x3x4x4xf32>
  %1 = "nnvm.flatten"(%0) : (tensor<1x3x4x4xf32>) -> tensor<1x48xf32>
  %2 = "nnvm.broadcast_add"(%0, %other) : (tensor<1x3x4x4xf32>, tensor<1x3x4x4xf32>) -> tensor<1x3x4x4xf32>
  %3 = "nnvm.relu"(%0) : (tensor<1x3x4x4xf32>) -> tensor<1x3x4x4xf32>
  return %1, %2, %3 : tensor<1x48xf32>, tensor<1x3x4x4xf32>, tensor<1x3x4x4xf32>
}

// -----

// A pool must not take over a transpose that would undo its layout: this ends.
// CHECK-LABEL: func.func @at_odds(
// CHECK: "nnvm.transpose"(%{{.*}}) {axes = array<i64: 0, 3, 2, 1>}
// CHECK: nnvm.max_pool2d{{.*}}layout = "NHWC"
func.func @at_odds(%x: tensor<1x8x3x8xf32>) -> tensor<1x8x2x7xf32> {
  %0 = "nnvm.transpose"(%x) {axes = array<i64: 0, 1, 3, 2>} : (tensor<1x8x3x8xf32>) -> tensor<1x8x8x3xf32>
  %1 = "nnvm.max_pool2d"(%0) {pool_size = array<i64: 2, 2>} : (tensor<1x8x8x3xf32>) -> tensor<1x8x7x2xf32>
  %2 = "nnvm.transpose"(%1) {axes = array<i64: 0, 1, 3, 2>} : (tensor<1x8x7x2xf32>) -> tensor<1x8x2x7xf32>
  return %2 : tensor<1x8x2x7xf32>
}

// -----

// Matrix products read known weights by columns; a weight that is computed stays.
// CHECK-LABEL: func.func @matrices(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<2x4xf32>, %[[W:[a-z0-9]+]]: tensor<5x4xf32> {{.*}}, %[[V:[a-z0-9]+]]: tensor<5x4xf32>)
// CHECK: %[[WT:.*]] = "nnvm.transpose"(%[[W]]) {axes = array<i64: 1, 0>}
// CHECK: %[[M:.*]] = "nnvm.matmul"(%[[X]], %[[WT]]) : (
// CHECK: %[[D:.*]] = "nnvm.broadcast_add"(%[[M]]
// CHECK: %[[E:.*]] = "nnvm.dense"(%[[X]], %[[V]])
// CHECK: return %[[D]], %[[M]], %[[E]]
func.func @matrices(%x: tensor<2x4xf32>, %w: tensor<5x4xf32> {nnvm.kind = "parameter"}, %v: tensor<5x4xf32>) -> (tensor<2x5xf32>, tensor<2x5xf32>, tensor<2x5xf32>) {
  %b = "nnvm.constant"() {value = dense<1.0> : tensor<5xf32>} : () -> tensor<5xf32>
  %0 = "nnvm.dense"(%x, %w, %b) {units = 5} : (tensor<2x4xf32>, tensor<5x4xf32>, tensor<5xf32>) -> tensor<2x5xf32>
  %1 = "nnvm.matmul"(%x, %w) {transpose_b = true} : (tensor<2x4xf32>, tensor<5x4xf32>) -> tensor<2x5xf32>
  %2 = "nnvm.dense"(%x, %v) {units = 5, use_bias = false} : (tensor<2x4xf32>, tensor<5x4xf32>) -> tensor<2x5xf32>
  return %0, %1, %2 : tensor<2x5xf32>, tensor<2x5xf32>, tensor<2x5xf32>
}

// -----

// Layouts that are channels-last or blocked already stay.
// CHECK-LABEL: func.func @stays(
// CHECK-NOT: nnvm.transpose
// CHECK: return
func.func @stays(%x: tensor<1x8x8x3xf32>, %y: tensor<1x1x8x8x4xf32>) -> (tensor<1x7x7x3xf32>, tensor<1x1x7x7x4xf32>) {
  %0 = "nnvm.max_pool2d"(%x) {layout = "NHWC", pool_size = array<i64: 2, 2>} : (tensor<1x8x8x3xf32>) -> tensor<1x7x7x3xf32>
  %1 = "nnvm.max_pool2d"(%y) {layout = "NCHW4c", pool_size = array<i64: 2, 2>} : (tensor<1x1x8x8x4xf32>) -> tensor<1x1x7x7x4xf32>
  return %0, %1 : tensor<1x7x7x3xf32>, tensor<1x1x7x7x4xf32>
}

// -----

// Weights in blocks are packed for another kernel already.
// CHECK-LABEL: func.func @packed(
// CHECK-NOT: nnvm.transpose
// CHECK: "nnvm.conv2d"{{.*}}kernel_layout = "OIHW4o"
func.func @packed(%x: tensor<1x3x8x8xf32>, %w: tensor<1x3x1x1x4xf32> {nnvm.kind = "parameter"}) -> tensor<1x4x8x8xf32> {
  %0 = "nnvm.conv2d"(%x, %w) {channels = 4, kernel_size = array<i64: 1, 1>, kernel_layout = "OIHW4o", use_bias = false} : (tensor<1x3x8x8xf32>, tensor<1x3x1x1x4xf32>) -> tensor<1x4x8x8xf32>
  return %0 : tensor<1x4x8x8xf32>
}
