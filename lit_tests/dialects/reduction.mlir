// Reductions: which axes stay, and the result of reducing all.

// RUN: nnvm-opt --nnvm-infer-shape --nnvm-infer-type --split-input-file --verify-diagnostics %s | FileCheck %s

// CHECK-LABEL: func.func @axes(
func.func @axes(%x: tensor<2x3x4xf32>) -> tensor<*x!nnvm.unknown> {
  // CHECK: "nnvm.sum"(%{{.*}}) : (tensor<2x3x4xf32>) -> tensor<f32>
  %0 = "nnvm.sum"(%x) : (tensor<2x3x4xf32>) -> tensor<*x!nnvm.unknown>
  // CHECK: "nnvm.max"(%{{.*}}) {axis = array<i64: -1>, keepdims = true} : (tensor<2x3x4xf32>) -> tensor<2x3x1xf32>
  %1 = "nnvm.max"(%x) {axis = array<i64: -1>, keepdims = true} : (tensor<2x3x4xf32>) -> tensor<*x!nnvm.unknown>
  // CHECK: "nnvm.mean"(%{{.*}}) {axis = array<i64: 1>, exclude = true} : (tensor<2x3x4xf32>) -> tensor<3xf32>
  %2 = "nnvm.mean"(%x) {axis = array<i64: 1>, exclude = true} : (tensor<2x3x4xf32>) -> tensor<*x!nnvm.unknown>
  // CHECK: "nnvm.argmax"(%{{.*}}) {axis = array<i64: 1>, dtype = i64} : (tensor<2x3x4xf32>) -> tensor<2x4xi64>
  %3 = "nnvm.argmax"(%x) {axis = array<i64: 1>, dtype = i64} : (tensor<2x3x4xf32>) -> tensor<*x!nnvm.unknown>
  // CHECK: "nnvm.cumsum"(%{{.*}}) {axis = 1 : i64} : (tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  %4 = "nnvm.cumsum"(%x) {axis = 1 : i64} : (tensor<2x3x4xf32>) -> tensor<*x!nnvm.unknown>
  return %4 : tensor<*x!nnvm.unknown>
}

// -----

func.func @range(%x: tensor<2x3xf32>) -> tensor<2xf32> {
  // expected-error@+1 {{'nnvm.sum' op axis 2 is out of range for rank 2}}
  %0 = "nnvm.sum"(%x) {axis = array<i64: 2>} : (tensor<2x3xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

// -----

func.func @result(%x: tensor<2x3xf32>) -> tensor<3xf32> {
  // expected-error@+1 {{'nnvm.sum' op expects result 0 of shape 2, got 3}}
  %0 = "nnvm.sum"(%x) {axis = array<i64: 1>} : (tensor<2x3xf32>) -> tensor<3xf32>
  return %0 : tensor<3xf32>
}

// -----

func.func @empty(%x: tensor<2x0xf32>) -> tensor<2xi32> {
  // expected-error@+1 {{'nnvm.argmin' op expects at least one element along the reduced axes}}
  %0 = "nnvm.argmin"(%x) {axis = array<i64: 1>} : (tensor<2x0xf32>) -> tensor<2xi32>
  return %0 : tensor<2xi32>
}
