// Activation functions: defaults are not spelled, attributes are checked.

// RUN: nnvm-opt --nnvm-infer-shape --nnvm-infer-type --split-input-file --verify-diagnostics %s | FileCheck %s

// CHECK-LABEL: func.func @defaults(
func.func @defaults(%x: tensor<4xf32>) -> tensor<*x!nnvm.unknown> {
  // CHECK: "nnvm.leaky_relu"(%{{.*}}) : (tensor<4xf32>) -> tensor<4xf32>
  %0 = "nnvm.leaky_relu"(%x) : (tensor<4xf32>) -> tensor<*x!nnvm.unknown>
  // CHECK: "nnvm.gelu"(%{{.*}}) {approximate = "tanh"} : (tensor<4xf32>) -> tensor<4xf32>
  %1 = "nnvm.gelu"(%0) {approximate = "tanh"} : (tensor<*x!nnvm.unknown>) -> tensor<*x!nnvm.unknown>
  return %1 : tensor<*x!nnvm.unknown>
}

// -----

func.func @choice(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{attribute 'approximate': expected one of 'none', 'tanh', got 'fast'}}
  %0 = "nnvm.gelu"(%x) {approximate = "fast"} : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @unknown(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{'nnvm.relu' op has no attribute 'alpha' (its attributes: none)}}
  %0 = "nnvm.relu"(%x) {alpha = 0.5} : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @kind(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{attribute 'alpha': expected a number, got "big"}}
  %0 = "nnvm.elu"(%x) {alpha = "big"} : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
