// RUN: nnvm-opt --nnvm-fuse --split-input-file %s | FileCheck %s
// RUN: nnvm-opt --nnvm-fuse=enabled=false --split-input-file %s | FileCheck %s --check-prefix=OFF
// RUN: nnvm-opt --nnvm-fuse=max-operators=2 --split-input-file %s | FileCheck %s --check-prefix=TWO

// An epilogue, with a constant inside, and a chain that another operand comes through.
// CHECK-LABEL: func.func private @k0_exp_conv2d_add_scalar_and_2_more(
// CHECK-SAME: %[[Y:[a-z0-9]+]]: tensor<2x1x1xf32>, %[[X:[a-z0-9]+]]: tensor<1x3x4x4xf32>, %[[W:[a-z0-9]+]]: tensor<2x3x1x1xf32>
// CHECK: %[[E:.*]] = "nnvm.exp"(%[[Y]])
// CHECK: %[[C:.*]] = "nnvm.conv2d"(%[[X]], %[[W]])
// CHECK: %[[A:.*]] = "nnvm.add_scalar"(%[[C]])
// CHECK: %[[S:.*]] = "nnvm.broadcast_add"(%[[A]], %[[E]])
// CHECK: %[[K:.*]] = "nnvm.constant"
// CHECK: %[[M:.*]] = "nnvm.broadcast_mul"(%[[S]], %[[K]])
// CHECK: return %[[M]]
// CHECK-LABEL: func.func @main(
// CHECK-NEXT: %[[R:.*]] = call @k0_{{.*}}(%arg2, %arg0, %arg1)
// CHECK-NEXT: return %[[R]]
// OFF-LABEL: func.func @main(
// OFF-COUNT-5: call @k
// OFF: return
// TWO-LABEL: func.func @main(
// TWO-COUNT-3: call @k
// TWO-NOT: call
// TWO: return
func.func @main(%x: tensor<1x3x4x4xf32>, %w: tensor<2x3x1x1xf32>, %y: tensor<2x1x1xf32>) -> tensor<1x2x4x4xf32> {
  %k = "nnvm.constant"() {value = dense<3.0> : tensor<f32>} : () -> tensor<f32>
  %0 = "nnvm.conv2d"(%x, %w) {channels = 2, kernel_size = array<i64: 1, 1>, use_bias = false} : (tensor<1x3x4x4xf32>, tensor<2x3x1x1xf32>) -> tensor<1x2x4x4xf32>
  %1 = "nnvm.add_scalar"(%0) {scalar = 1.0 : f64} : (tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32>
  %2 = "nnvm.exp"(%y) : (tensor<2x1x1xf32>) -> tensor<2x1x1xf32>
  %3 = "nnvm.broadcast_add"(%1, %2) : (tensor<1x2x4x4xf32>, tensor<2x1x1xf32>) -> tensor<1x2x4x4xf32>
  %4 = "nnvm.broadcast_mul"(%3, %k) : (tensor<1x2x4x4xf32>, tensor<f32>) -> tensor<1x2x4x4xf32>
  return %4 : tensor<1x2x4x4xf32>
}

// -----

// A value with two readers is computed once, and ends its group; the diamond below it is one group.
// CHECK-LABEL: func.func @main(
// CHECK-NEXT: %[[E:.*]] = call @k0_exp(%arg0)
// CHECK-NEXT: %[[S:.*]] = call @k1_{{negative_sqrt|sqrt_negative}}_broadcast_add(%[[E]])
// CHECK-NEXT: return %[[S]]
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "nnvm.exp"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = "nnvm.sqrt"(%0) : (tensor<4xf32>) -> tensor<4xf32>
  %2 = "nnvm.negative"(%0) : (tensor<4xf32>) -> tensor<4xf32>
  %3 = "nnvm.broadcast_add"(%1, %2) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %3 : tensor<4xf32>
}

// -----

// A chain goes into the reduction that reads it, its epilogue follows; one that grows again does not.
// CHECK-LABEL: func.func @main(
// CHECK-NEXT: %[[S:.*]] = call @k0_exp_sum_sqrt(%arg0)
// CHECK-NEXT: %[[D:.*]] = call @k1_broadcast_div(%arg0, %[[S]])
// CHECK-NEXT: return %[[D]]
func.func @main(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %0 = "nnvm.exp"(%x) : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %1 = "nnvm.sum"(%0) {axis = array<i64: 1>, keepdims = true} : (tensor<2x4xf32>) -> tensor<2x1xf32>
  %2 = "nnvm.sqrt"(%1) : (tensor<2x1xf32>) -> tensor<2x1xf32>
  %3 = "nnvm.broadcast_div"(%x, %2) : (tensor<2x4xf32>, tensor<2x1xf32>) -> tensor<2x4xf32>
  return %3 : tensor<2x4xf32>
}

// -----

// Two anchors do not share a kernel: the addition follows the later one. Equal groups share a function, others do not.
// CHECK: func.func private @k0_matmul(
// CHECK: func.func private @k1_matmul_broadcast_add(
// CHECK: func.func private @k2_leaky_relu(
// CHECK: func.func private @k3_leaky_relu(
// CHECK-NOT: func.func private
// CHECK-LABEL: func.func @main(
// CHECK-NEXT: %[[A:.*]] = call @k0_matmul(%arg0)
// CHECK-NEXT: %[[B:.*]] = call @k1_matmul_broadcast_add(%arg0, %[[A]])
// CHECK-NEXT: %[[C:.*]] = call @k2_leaky_relu(%[[B]])
// CHECK-NEXT: %[[D:.*]] = call @k2_leaky_relu(%arg0)
// CHECK-NEXT: %[[E:.*]] = call @k3_leaky_relu(%[[B]])
// CHECK-NEXT: return %[[C]], %[[D]], %[[E]]
!t = tensor<2x2xf32>
func.func @main(%x: !t) -> (!t, !t, !t) {
  %0 = "nnvm.matmul"(%x, %x) : (!t, !t) -> !t
  %1 = "nnvm.matmul"(%x, %x) {transpose_a = true} : (!t, !t) -> !t
  %2 = "nnvm.broadcast_add"(%0, %1) : (!t, !t) -> !t
  %3 = "nnvm.leaky_relu"(%2) : (!t) -> !t
  %4 = "nnvm.leaky_relu"(%x) : (!t) -> !t
  %5 = "nnvm.leaky_relu"(%2) {alpha = 0.5 : f64} : (!t) -> !t
  return %3, %4, %5 : !t, !t, !t
}

// -----

// Views stay outside, and interrupt groups; a view of a constant is a constant.
// CHECK: func.func private @k1_broadcast_add(
// CHECK: "nnvm.constant"() {value = dense<{{.*}}> : tensor<2x1xf32>}
// CHECK-LABEL: func.func @main(
// CHECK-NEXT: %[[E:.*]] = call @k0_exp(%arg0)
// CHECK-NEXT: %[[V:.*]] = "nnvm.reshape"(%[[E]])
// CHECK-NEXT: %[[S:.*]] = call @k1_broadcast_add(%[[V]])
// CHECK-NEXT: return %[[S]]
func.func @main(%x: tensor<4xf32>) -> tensor<2x2xf32> {
  %c = "nnvm.constant"() {value = dense<[1.0, 2.0]> : tensor<2xf32>} : () -> tensor<2xf32>
  %0 = "nnvm.exp"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = "nnvm.reshape"(%0) {shape = array<i64: 2, 2>} : (tensor<4xf32>) -> tensor<2x2xf32>
  %2 = "nnvm.expand_dims"(%c) {axis = 1} : (tensor<2xf32>) -> tensor<2x1xf32>
  %3 = "nnvm.broadcast_add"(%1, %2) : (tensor<2x2xf32>, tensor<2x1xf32>) -> tensor<2x2xf32>
  return %3 : tensor<2x2xf32>
}

// -----

// Every output has a buffer of its own: an input, a constant, a duplicate, a view of another output are copied.
// CHECK-LABEL: func.func @main(
// CHECK-NEXT: %[[E:.*]] = call @k0_exp(%arg0)
// CHECK-NEXT: %[[V:.*]] = "nnvm.reshape"(%[[E]])
// CHECK-NEXT: %[[I:.*]] = call @[[COPY:k1_copy]](%arg0)
// CHECK-NEXT: %[[C:.*]] = call @{{.*}}()
// CHECK-NEXT: %[[D:.*]] = call @[[COPY]](%[[E]])
// CHECK-NEXT: %[[W:.*]] = call @{{.*}}(%[[V]])
// CHECK-NEXT: return %[[I]], %[[C]], %[[E]], %[[D]], %[[W]]
func.func @main(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<f32>, tensor<4xf32>, tensor<4xf32>, tensor<2x2xf32>) {
  %c = "nnvm.constant"() {value = dense<1.0> : tensor<f32>} : () -> tensor<f32>
  %0 = "nnvm.exp"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = "nnvm.reshape"(%0) {shape = array<i64: 2, 2>} : (tensor<4xf32>) -> tensor<2x2xf32>
  return %x, %c, %0, %0, %1 : tensor<4xf32>, tensor<f32>, tensor<4xf32>, tensor<4xf32>, tensor<2x2xf32>
}
