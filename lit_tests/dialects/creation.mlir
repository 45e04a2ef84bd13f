// Operators that make tensors: shapes come from attributes, from the operand, or from users.

// RUN: nnvm-opt --nnvm-infer-shape --nnvm-infer-type --split-input-file --verify-diagnostics %s | FileCheck %s

// CHECK-LABEL: func.func @creation(
// CHECK-SAME: -> (tensor<2xi64>, tensor<4x5xf32>, tensor<3xui8>)
func.func @creation(%x: tensor<3xui8>) -> (tensor<*x!nnvm.unknown>, tensor<4x5xf32>, tensor<*x!nnvm.unknown>) {
  // CHECK: "nnvm.constant"() {value = dense<[1, 2]> : tensor<2xi64>} : () -> tensor<2xi64>
  %0 = "nnvm.constant"() {value = dense<[1, 2]> : tensor<2xi64>} : () -> tensor<*x!nnvm.unknown>
  // CHECK: "nnvm.full"() {fill_value = 3.000000e+00 : f64} : () -> tensor<4x5xf32>
  %1 = "nnvm.full"() {fill_value = 3.0} : () -> tensor<*x!nnvm.unknown>
  // CHECK: "nnvm.relu"(%{{.*}}) : (tensor<4x5xf32>) -> tensor<4x5xf32>
  %2 = "nnvm.relu"(%1) : (tensor<*x!nnvm.unknown>) -> tensor<4x5xf32>
  // CHECK: "nnvm.ones_like"(%{{.*}}) : (tensor<3xui8>) -> tensor<3xui8>
  %3 = "nnvm.ones_like"(%x) : (tensor<3xui8>) -> tensor<*x!nnvm.unknown>
  return %0, %2, %3 : tensor<*x!nnvm.unknown>, tensor<4x5xf32>, tensor<*x!nnvm.unknown>
}

// -----

func.func @negative() -> tensor<*x!nnvm.unknown> {
  // expected-error@+1 {{attribute 'shape': expected sizes from 0, got (-1,)}}
  %0 = "nnvm.zeros"() {shape = array<i64: -1>} : () -> tensor<*x!nnvm.unknown>
  return %0 : tensor<*x!nnvm.unknown>
}

// -----

func.func @shapes() -> tensor<3xf32> {
  // expected-error@+1 {{'nnvm.ones' op shapes 2 and 3 differ}}
  %0 = "nnvm.ones"() {shape = array<i64: 2>} : () -> tensor<3xf32>
  return %0 : tensor<3xf32>
}
