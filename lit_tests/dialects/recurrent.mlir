// Shapes of recurrent layers: operands from data, directions and hidden size.

// RUN: nnvm-opt --nnvm-infer-shape --nnvm-infer-type %s | FileCheck %s

// CHECK-LABEL: func.func @lstm(
// CHECK-SAME: tensor<2x24x4xf32>, %{{.*}}: tensor<2x24x6xf32>, %{{.*}}: tensor<2x48xf32>
// CHECK-SAME: -> (tensor<5x2x3x6xf32>, tensor<2x3x6xf32>, tensor<2x3x6xf32>)
func.func @lstm(%x: tensor<5x3x4xf32>, %w: tensor<*x!nnvm.unknown>, %r: tensor<*x!nnvm.unknown>, %b: tensor<*x!nnvm.unknown>, %h: tensor<*x!nnvm.unknown>, %c: tensor<*x!nnvm.unknown>, %p: tensor<*x!nnvm.unknown>)
    -> (tensor<*x!nnvm.unknown>, tensor<*x!nnvm.unknown>, tensor<*x!nnvm.unknown>) {
  %0:3 = "nnvm.lstm"(%x, %w, %r, %b, %h, %c, %p) {hidden_size = 6 : i64, direction = "bidirectional"}
    : (tensor<5x3x4xf32>, tensor<*x!nnvm.unknown>, tensor<*x!nnvm.unknown>, tensor<*x!nnvm.unknown>, tensor<*x!nnvm.unknown>, tensor<*x!nnvm.unknown>, tensor<*x!nnvm.unknown>) -> (tensor<*x!nnvm.unknown>, tensor<*x!nnvm.unknown>, tensor<*x!nnvm.unknown>)
  return %0#0, %0#1, %0#2 : tensor<*x!nnvm.unknown>, tensor<*x!nnvm.unknown>, tensor<*x!nnvm.unknown>
}

// CHECK-LABEL: func.func @gru(
// CHECK-SAME: -> (tensor<5x1x3x6xf32>, tensor<1x3x6xf32>) {
func.func @gru(%x0: tensor<5x3x4xf32>, %x1: tensor<1x18x4xf32>, %x2: tensor<1x18x6xf32>, %x3: tensor<1x36xf32>, %x4: tensor<1x3x6xf32>, %x5: tensor<3xi32>) -> (tensor<*x!nnvm.unknown>, tensor<*x!nnvm.unknown>) {
  %0:2 = "nnvm.gru"(%x0, %x1, %x2, %x3, %x4, %x5) {hidden_size = 6 : i64, linear_before_reset = true}
    : (tensor<5x3x4xf32>, tensor<1x18x4xf32>, tensor<1x18x6xf32>, tensor<1x36xf32>, tensor<1x3x6xf32>, tensor<3xi32>) -> (tensor<*x!nnvm.unknown>, tensor<*x!nnvm.unknown>)
  return %0#0, %0#1 : tensor<*x!nnvm.unknown>, tensor<*x!nnvm.unknown>
}

// The batch comes first.
// CHECK-LABEL: func.func @rnn(
// CHECK-SAME: -> (tensor<3x5x1x6xf16>, tensor<3x1x6xf16>) {
func.func @rnn(%x0: tensor<3x5x4xf16>, %x1: tensor<1x6x4xf16>, %x2: tensor<1x6x6xf16>, %x3: tensor<1x12xf16>, %x4: tensor<3x1x6xf16>) -> (tensor<*x!nnvm.unknown>, tensor<*x!nnvm.unknown>) {
  %0:2 = "nnvm.rnn"(%x0, %x1, %x2, %x3, %x4) {hidden_size = 6 : i64, layout = 1 : i64}
    : (tensor<3x5x4xf16>, tensor<1x6x4xf16>, tensor<1x6x6xf16>, tensor<1x12xf16>, tensor<3x1x6xf16>) -> (tensor<*x!nnvm.unknown>, tensor<*x!nnvm.unknown>)
  return %0#0, %0#1 : tensor<*x!nnvm.unknown>, tensor<*x!nnvm.unknown>
}
