// RUN: nnvm-opt --nnvm-fold-scale-axis --nnvm-dce --split-input-file %s | FileCheck %s

// A scale and a shift per channel end in the weights and the bias.
// CHECK-LABEL: func.func @scale_and_shift(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<1x3x8x8xf32>, %[[W:[a-z0-9]+]]: tensor<4x3x3x3xf32>
// CHECK-SAME: %[[S:[a-z0-9]+]]: tensor<4x1x1xf32>
// CHECK: %[[S4:.*]] = "nnvm.reshape"(%{{.*}}) {{.*}} -> tensor<4x1x1x1xf32>
// CHECK: %[[SW:.*]] = "nnvm.broadcast_mul"(%[[W]], %[[S4]])
// CHECK: %[[B:.*]] = "nnvm.negative"
// CHECK: %[[Y:.*]] = "nnvm.conv2d"(%[[X]], %[[SW]], %[[B]])
// CHECK-NOT: use_bias = false
// CHECK-NEXT: return %[[Y]]
func.func @scale_and_shift(%x: tensor<1x3x8x8xf32>, %w: tensor<4x3x3x3xf32> {nnvm.kind = "parameter"}, %s: tensor<4x1x1xf32> {nnvm.kind = "parameter"}) -> tensor<1x4x6x6xf32> {
  %0 = "nnvm.conv2d"(%x, %w) {channels = 4, kernel_size = array<i64: 3, 3>, use_bias = false} : (tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>) -> tensor<1x4x6x6xf32>
  %1 = "nnvm.broadcast_mul"(%s, %0) : (tensor<4x1x1xf32>, tensor<1x4x6x6xf32>) -> tensor<1x4x6x6xf32>
  %2 = "nnvm.broadcast_sub"(%1, %s) : (tensor<1x4x6x6xf32>, tensor<4x1x1xf32>) -> tensor<1x4x6x6xf32>
  return %2 : tensor<1x4x6x6xf32>
}

// -----

// Grouped, channels last, with a bias, by a constant of one element.
// CHECK-LABEL: func.func @grouped(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<1x8x8x4xf32>, %[[W:[a-z0-9]+]]: tensor<8x2x3x3xf32>{{.*}}, %[[B:[a-z0-9]+]]: tensor<8xf32>
// CHECK: "nnvm.broadcast_mul"(%[[W]], %{{.*}}) : (tensor<8x2x3x3xf32>, tensor<1x1x1x1xf32>)
// CHECK: "nnvm.broadcast_mul"(%[[B]], %{{.*}}) : (tensor<8xf32>, tensor<1xf32>)
// CHECK: %[[Y:.*]] = "nnvm.conv2d"(%[[X]]{{.*}}groups = 2
// CHECK-NEXT: return %[[Y]]
func.func @grouped(%x: tensor<1x8x8x4xf32>, %w: tensor<8x2x3x3xf32> {nnvm.kind = "parameter"}, %b: tensor<8xf32> {nnvm.kind = "parameter"}) -> tensor<1x6x6x8xf32> {
  %c = "nnvm.constant"() {value = dense<2.0> : tensor<f32>} : () -> tensor<f32>
  %0 = "nnvm.conv2d"(%x, %w, %b) {channels = 8, groups = 2, kernel_size = array<i64: 3, 3>, layout = "NHWC"} : (tensor<1x8x8x4xf32>, tensor<8x2x3x3xf32>, tensor<8xf32>) -> tensor<1x6x6x8xf32>
  %1 = "nnvm.broadcast_mul"(%0, %c) : (tensor<1x6x6x8xf32>, tensor<f32>) -> tensor<1x6x6x8xf32>
  return %1 : tensor<1x6x6x8xf32>
}

// -----

// The output channels of a transposed convolution are its weights' second axis.
// CHECK-LABEL: func.func @transposed(
// CHECK: "nnvm.broadcast_mul"(%{{.*}}, %{{.*}}) : (tensor<3x4x3x3xf32>, tensor<1x4x1x1xf32>)
// CHECK: %[[Y:.*]] = "nnvm.conv2d_transpose"
// CHECK-NEXT: return %[[Y]]
func.func @transposed(%x: tensor<1x3x8x8xf32>, %w: tensor<3x4x3x3xf32> {nnvm.kind = "parameter"}, %s: tensor<4x1x1xf32> {nnvm.kind = "parameter"}) -> tensor<1x4x10x10xf32> {
  %0 = "nnvm.conv2d_transpose"(%x, %w) {channels = 4, kernel_size = array<i64: 3, 3>, use_bias = false} : (tensor<1x3x8x8xf32>, tensor<3x4x3x3xf32>) -> tensor<1x4x10x10xf32>
  %1 = "nnvm.broadcast_mul"(%0, %s) : (tensor<1x4x10x10xf32>, tensor<4x1x1xf32>) -> tensor<1x4x10x10xf32>
  return %1 : tensor<1x4x10x10xf32>
}

// -----

// Not: another reader of the convolution, a scale along another axis, a scale that is not known, s - conv.
// CHECK-LABEL: func.func @refused(
// CHECK: %[[A:.*]] = "nnvm.conv2d"(%[[X:.*]], %[[W:[a-z0-9]+]])
// CHECK-NEXT: %[[AS:.*]] = "nnvm.broadcast_mul"(%[[A]]
// CHECK-NEXT: %[[B:.*]] = "nnvm.conv2d"(%{{.*}}, %[[W]])
// CHECK-NEXT: %[[BS:.*]] = "nnvm.broadcast_mul"(%[[B]]
// CHECK-NEXT: %[[C:.*]] = "nnvm.conv2d"(%{{.*}}, %[[W]])
// CHECK-NEXT: %[[CS:.*]] = "nnvm.broadcast_add"(%[[C]]
// CHECK-NEXT: %[[D:.*]] = "nnvm.conv2d"(%{{.*}}, %[[W]])
// CHECK-NEXT: %[[DS:.*]] = "nnvm.broadcast_sub"(%{{.*}}, %[[D]])
// CHECK-NEXT: return %[[A]], %[[AS]], %[[BS]], %[[CS]], %[[DS]]
!t = tensor<1x4x4x4xf32>
func.func @refused(%x: tensor<1x3x6x6xf32>, %w: tensor<4x3x3x3xf32> {nnvm.kind = "parameter"}, %s: tensor<4x1x1xf32> {nnvm.kind = "parameter"}, %i: tensor<4x1x1xf32>, %h: tensor<4x1xf32> {nnvm.kind = "parameter"}) -> (!t, !t, !t, !t, !t) {
  %a = "nnvm.conv2d"(%x, %w) {channels = 4, kernel_size = array<i64: 3, 3>, use_bias = false} : (tensor<1x3x6x6xf32>, tensor<4x3x3x3xf32>) -> !t
  %as = "nnvm.broadcast_mul"(%a, %s) : (!t, tensor<4x1x1xf32>) -> !t
  %b = "nnvm.conv2d"(%x, %w) {channels = 4, kernel_size = array<i64: 3, 3>, use_bias = false} : (tensor<1x3x6x6xf32>, tensor<4x3x3x3xf32>) -> !t
  %bs = "nnvm.broadcast_mul"(%b, %h) : (!t, tensor<4x1xf32>) -> !t
  %c = "nnvm.conv2d"(%x, %w) {channels = 4, kernel_size = array<i64: 3, 3>, use_bias = false} : (tensor<1x3x6x6xf32>, tensor<4x3x3x3xf32>) -> !t
  %cs = "nnvm.broadcast_add"(%c, %i) : (!t, tensor<4x1x1xf32>) -> !t
  %d = "nnvm.conv2d"(%x, %w) {channels = 4, kernel_size = array<i64: 3, 3>, use_bias = false} : (tensor<1x3x6x6xf32>, tensor<4x3x3x3xf32>) -> !t
  %ds = "nnvm.broadcast_sub"(%s, %d) : (tensor<4x1x1xf32>, !t) -> !t
  return %a, %as, %bs, %cs, %ds : !t, !t, !t, !t, !t
}

// -----

// Not: the scale of a grouped transposed convolution, whose weights have no axis for it.
// CHECK-LABEL: func.func @grouped_transposed(
// CHECK: %[[C:.*]] = "nnvm.conv2d_transpose"(%{{[a-z0-9]+}}, %{{[a-z0-9]+}})
// CHECK-NEXT: "nnvm.broadcast_mul"(%[[C]]
func.func @grouped_transposed(%x: tensor<1x4x2x2xf32>, %w: tensor<4x2x1x1xf32> {nnvm.kind = "parameter"}, %s: tensor<4x1x1xf32> {nnvm.kind = "parameter"}) -> tensor<1x4x2x2xf32> {
  %0 = "nnvm.conv2d_transpose"(%x, %w) {channels = 4, groups = 2, kernel_size = array<i64: 1, 1>, use_bias = false} : (tensor<1x4x2x2xf32>, tensor<4x2x1x1xf32>) -> tensor<1x4x2x2xf32>
  %1 = "nnvm.broadcast_mul"(%0, %s) : (tensor<1x4x2x2xf32>, tensor<4x1x1xf32>) -> tensor<1x4x2x2xf32>
  return %1 : tensor<1x4x2x2xf32>
}
