// Matrix products: parameters of dense follow from its data, the data from the result.

// RUN: nnvm-opt --nnvm-infer-shape --nnvm-infer-type --split-input-file --verify-diagnostics %s | FileCheck %s

// CHECK-LABEL: func.func @dense(
// CHECK-SAME: tensor<30x20xf32>, %{{.*}}: tensor<30xf32>) -> tensor<2x10x30xf32>
func.func @dense(%x: tensor<2x10x20xf32>, %w: tensor<*x!nnvm.unknown>, %b: tensor<*x!nnvm.unknown>) -> tensor<*x!nnvm.unknown> {
  %0 = "nnvm.dense"(%x, %w, %b) {units = 30 : i64} : (tensor<2x10x20xf32>, tensor<*x!nnvm.unknown>, tensor<*x!nnvm.unknown>) -> tensor<*x!nnvm.unknown>
  return %0 : tensor<*x!nnvm.unknown>
}

// -----

// CHECK-LABEL: func.func @dense_backwards(
// CHECK-SAME: tensor<4x20xf32>
func.func @dense_backwards(%x: tensor<*x!nnvm.unknown>, %w: tensor<30x20xf32>) -> tensor<4x30xf32> {
  %0 = "nnvm.dense"(%x, %w) {units = 30 : i64, use_bias = false} : (tensor<*x!nnvm.unknown>, tensor<30x20xf32>) -> tensor<4x30xf32>
  return %0 : tensor<4x30xf32>
}

// -----

// CHECK-LABEL: func.func @products(
// CHECK-SAME: -> (tensor<2x3x5x6xf32>, tensor<7x2x3x6xf32>, tensor<3x6xi32>)
func.func @products(%a: tensor<2x3x4xf32>, %b: tensor<4x5x6xf32>, %c: tensor<7x1x4x6xf32>, %d: tensor<3x4xui8>, %e: tensor<4x6xi8>, %f: tensor<ui8>, %g: tensor<6xi8>) -> (tensor<*x!nnvm.unknown>, tensor<*x!nnvm.unknown>, tensor<*x!nnvm.unknown>) {
  // CHECK: "nnvm.matmul"(%{{.*}}, %{{.*}}) : (tensor<2x3x4xf32>, tensor<4x5x6xf32>) -> tensor<2x3x5x6xf32>
  %0 = "nnvm.matmul"(%a, %b) : (tensor<2x3x4xf32>, tensor<4x5x6xf32>) -> tensor<*x!nnvm.unknown>
  // CHECK: "nnvm.batch_matmul"(%{{.*}}, %{{.*}}) : (tensor<2x3x4xf32>, tensor<7x1x4x6xf32>) -> tensor<7x2x3x6xf32>
  %1 = "nnvm.batch_matmul"(%a, %c) : (tensor<2x3x4xf32>, tensor<7x1x4x6xf32>) -> tensor<*x!nnvm.unknown>
  // CHECK: "nnvm.matmul_integer"{{.*}} -> tensor<3x6xi32>
  %2 = "nnvm.matmul_integer"(%d, %e, %f, %g) : (tensor<3x4xui8>, tensor<4x6xi8>, tensor<ui8>, tensor<6xi8>) -> tensor<*x!nnvm.unknown>
  return %0, %1, %2 : tensor<*x!nnvm.unknown>, tensor<*x!nnvm.unknown>, tensor<*x!nnvm.unknown>
}

// -----

func.func @inner(%a: tensor<2x3xf32>, %b: tensor<4x5xf32>) -> tensor<2x5xf32> {
  // expected-error@+1 {{'nnvm.matmul' op cannot multiply 2x3 by 4x5: 3 is not 4}}
  %0 = "nnvm.matmul"(%a, %b) : (tensor<2x3xf32>, tensor<4x5xf32>) -> tensor<2x5xf32>
  return %0 : tensor<2x5xf32>
}

// -----

func.func @weight(%x: tensor<2x3xf32>, %w: tensor<4x5xf32>) -> tensor<2x4xf32> {
  // expected-error@+1 {{'nnvm.dense' op shapes 4x5 and 4x3 differ}}
  %0 = "nnvm.dense"(%x, %w) {units = 4 : i64, use_bias = false} : (tensor<2x3xf32>, tensor<4x5xf32>) -> tensor<2x4xf32>
  return %0 : tensor<2x4xf32>
}

// -----

func.func @bias(%x: tensor<2x3xf32>, %w: tensor<4x3xf32>) -> tensor<2x4xf32> {
  // expected-error@+1 {{'nnvm.dense' op expects 3 operands (use_bias), got 2}}
  %0 = "nnvm.dense"(%x, %w) {units = 4 : i64} : (tensor<2x3xf32>, tensor<4x3xf32>) -> tensor<2x4xf32>
  return %0 : tensor<2x4xf32>
}
