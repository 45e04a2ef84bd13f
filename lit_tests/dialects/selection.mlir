// Shapes and dtypes of selections by order.

// RUN: nnvm-opt --nnvm-infer-shape --nnvm-infer-type %s | FileCheck %s

// CHECK-LABEL: func.func @top_k(
// CHECK-SAME: -> (tensor<2x3xf16>, tensor<2x3xi64>) {
func.func @top_k(%x0: tensor<2x9xf16>) -> (tensor<*x!nnvm.unknown>, tensor<*x!nnvm.unknown>) {
  %0:2 = "nnvm.top_k"(%x0) {k = 3 : i64}
    : (tensor<2x9xf16>) -> (tensor<*x!nnvm.unknown>, tensor<*x!nnvm.unknown>)
  return %0#0, %0#1 : tensor<*x!nnvm.unknown>, tensor<*x!nnvm.unknown>
}
