// RUN: nnvm-opt %s -o %t.1
// RUN: nnvm-opt %t.1 -o %t.2
// RUN: diff %t.1 %t.2
// RUN: FileCheck %s < %t.2

// Every kind of attribute, type and operand count comes back as it was.

// CHECK-LABEL: func.func @attributes(
// CHECK: nnvm.conv2d{{.*}}dilation = array<i64: 2, 1>{{.*}}kernel_layout = "HWIO"{{.*}}padding = array<i64: 1, 0, 0, 1>{{.*}}use_bias = false
// CHECK: nnvm.interpolate{{.*}}scales = array<f64: 1.000000e+00, 2.500000e-01>
// CHECK: nnvm.cast{{.*}}{dtype = bf16}
// CHECK: nnvm.clip{{.*}}a_min = 0xFFF0000000000000 : f64
// CHECK: nnvm.constant{{.*}}dense<[true, false, true]> : tensor<3xi1>
// CHECK: nnvm.constant{{.*}}dense<18446744073709551615> : tensor<2xui64>
// CHECK: nnvm.constant{{.*}}dense<[1, -2]> : tensor<2xi8>
// CHECK: nnvm.lstm{{.*}}activations = ["sigmoid", "tanh", "tanh"]
func.func @attributes(%x: tensor<1x8x8x4xf32>, %w: tensor<3x3x4x8xf32>, %v: tensor<2x4xf32>, %s: tensor<5x1x3xf32>, %wi: tensor<1x8x3xf32>, %wr: tensor<1x8x2xf32>, %b: tensor<1x16xf32>, %h: tensor<1x1x2xf32>, %p: tensor<1x6xf32>) -> tensor<2x4xbf16> {
  %0 = "nnvm.conv2d"(%x, %w) {channels = 8, kernel_size = array<i64: 3, 3>, dilation = array<i64: 2, 1>, padding = array<i64: 1, 0, 0, 1>, layout = "NHWC", kernel_layout = "HWIO", use_bias = false} : (tensor<1x8x8x4xf32>, tensor<3x3x4x8xf32>) -> tensor<1x5x7x8xf32>
  %1 = "nnvm.interpolate"(%v) {size = array<i64: 2, 1>, scales = array<f64: 1.0, 0.25>, mode = "linear"} : (tensor<2x4xf32>) -> tensor<2x1xf32>
  %2 = "nnvm.cast"(%v) {dtype = bf16} : (tensor<2x4xf32>) -> tensor<2x4xbf16>
  %3 = "nnvm.clip"(%v) {a_min = 0xFFF0000000000000 : f64, a_max = 0.1 : f64} : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %4 = "nnvm.constant"() {value = dense<[true, false, true]> : tensor<3xi1>} : () -> tensor<3xi1>
  %5 = "nnvm.constant"() {value = dense<18446744073709551615> : tensor<2xui64>} : () -> tensor<2xui64>
  %6 = "nnvm.constant"() {value = dense<[1, -2]> : tensor<2xi8>} : () -> tensor<2xi8>
  %7:3 = "nnvm.lstm"(%s, %wi, %wr, %b, %h, %h, %p) {hidden_size = 2, activations = ["sigmoid", "tanh", "tanh"]} : (tensor<5x1x3xf32>, tensor<1x8x3xf32>, tensor<1x8x2xf32>, tensor<1x16xf32>, tensor<1x1x2xf32>, tensor<1x1x2xf32>, tensor<1x6xf32>) -> (tensor<5x1x1x2xf32>, tensor<1x1x2xf32>, tensor<1x1x2xf32>)
  return %2 : tensor<2x4xbf16>
}

// CHECK-LABEL: func.func @types(
// CHECK-SAME: tensor<*x!nnvm.unknown>, %{{.*}}: tensor<?x2x!nnvm.unknown>, %{{.*}}: tensor<f16>, %{{.*}}: tensor<0x?xui16>
// CHECK: nnvm.relu{{.*}} -> tensor<*x!nnvm.unknown>
func.func @types(%a: tensor<*x!nnvm.unknown>, %b: tensor<?x2x!nnvm.unknown>, %c: tensor<f16>, %d: tensor<0x?xui16>) {
  %0 = "nnvm.relu"(%a) : (tensor<*x!nnvm.unknown>) -> tensor<*x!nnvm.unknown>
  return
}

// CHECK-LABEL: func.func @counts(
// CHECK-SAME: {nnvm.kind = "input", nnvm.name = "q\22uo\0Ate"}
// CHECK: nnvm.concatenate
// CHECK: nnvm.dense"(%{{[^,]*}}, %{{[^,]*}}, %{{[^,]*}}) {units = 4 : i64}
// CHECK: nnvm.dense"(%{{[^,]*}}, %{{[^,]*}}) {units = 4 : i64, use_bias = false}
// CHECK: nnvm.dropout{{.*}} -> (tensor<2x3xf32>, tensor<2x3xf32>)
func.func @counts(%x: tensor<2x3xf32> {nnvm.name = "q\22uo\0Ate", nnvm.kind = "input"}, %w: tensor<4x3xf32>, %b: tensor<4xf32>) -> tensor<2x3xf32> {
  %0 = "nnvm.concatenate"(%x, %x) {axis = 0, operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0>} : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<4x3xf32>
  %1 = "nnvm.dense"(%x, %w, %b) {units = 4} : (tensor<2x3xf32>, tensor<4x3xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  %2 = "nnvm.dense"(%x, %w) {units = 4, use_bias = false} : (tensor<2x3xf32>, tensor<4x3xf32>) -> tensor<2x4xf32>
  %3:2 = "nnvm.dropout"(%x) : (tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>)
  return %3#1 : tensor<2x3xf32>
}
