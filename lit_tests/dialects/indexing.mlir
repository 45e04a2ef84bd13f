// Shapes and dtypes of reads and writes at positions held in other tensors.

// RUN: nnvm-opt --nnvm-infer-shape --nnvm-infer-type %s | FileCheck %s

// CHECK-LABEL: func.func @take(
// CHECK-SAME: -> tensor<2x2x3xf16> {
func.func @take(%x0: tensor<5x3xf16>, %x1: tensor<2x2xi32>) -> tensor<*x!nnvm.unknown> {
  %0 = "nnvm.take"(%x0, %x1) {axis = 0 : i64}
    : (tensor<5x3xf16>, tensor<2x2xi32>) -> tensor<*x!nnvm.unknown>
  return %0 : tensor<*x!nnvm.unknown>
}

// CHECK-LABEL: func.func @flat(
// CHECK-SAME: -> tensor<4xf32> {
func.func @flat(%x0: tensor<5x3xf32>, %x1: tensor<4xui8>) -> tensor<*x!nnvm.unknown> {
  %0 = "nnvm.take"(%x0, %x1)
    : (tensor<5x3xf32>, tensor<4xui8>) -> tensor<*x!nnvm.unknown>
  return %0 : tensor<*x!nnvm.unknown>
}

// CHECK-LABEL: func.func @gather_elements(
// CHECK-SAME: -> tensor<2x3xf32> {
func.func @gather_elements(%x0: tensor<5x3xf32>, %x1: tensor<2x3xi64>) -> tensor<*x!nnvm.unknown> {
  %0 = "nnvm.gather_elements"(%x0, %x1)
    : (tensor<5x3xf32>, tensor<2x3xi64>) -> tensor<*x!nnvm.unknown>
  return %0 : tensor<*x!nnvm.unknown>
}

// The first dimension of indices counts the indexed dimensions, as in NNVM.
// CHECK-LABEL: func.func @gather_nd(
// CHECK-SAME: -> tensor<5x4xf32> {
func.func @gather_nd(%x0: tensor<2x3x4xf32>, %x1: tensor<2x5xi64>) -> tensor<*x!nnvm.unknown> {
  %0 = "nnvm.gather_nd"(%x0, %x1)
    : (tensor<2x3x4xf32>, tensor<2x5xi64>) -> tensor<*x!nnvm.unknown>
  return %0 : tensor<*x!nnvm.unknown>
}

// CHECK-LABEL: func.func @scatter_elements(
// CHECK-SAME: -> tensor<5x3xf32> {
func.func @scatter_elements(%x0: tensor<5x3xf32>, %x1: tensor<2x3xi64>, %x2: tensor<2x3xf32>) -> tensor<*x!nnvm.unknown> {
  %0 = "nnvm.scatter_elements"(%x0, %x1, %x2) {reduction = "add"}
    : (tensor<5x3xf32>, tensor<2x3xi64>, tensor<2x3xf32>) -> tensor<*x!nnvm.unknown>
  return %0 : tensor<*x!nnvm.unknown>
}

// CHECK-LABEL: func.func @one_hot(
// CHECK-SAME: -> tensor<7x2xi8> {
func.func @one_hot(%x0: tensor<2xi32>) -> tensor<*x!nnvm.unknown> {
  %0 = "nnvm.one_hot"(%x0) {depth = 7 : i64, axis = 0 : i64, dtype = i8}
    : (tensor<2xi32>) -> tensor<*x!nnvm.unknown>
  return %0 : tensor<*x!nnvm.unknown>
}

// CHECK-LABEL: func.func @updates(
// CHECK-SAME: %{{.*}}: tensor<2x5xf32>) -> tensor<4x5xf32>
func.func @updates(%x: tensor<4x5xf32>, %i: tensor<2x1xi64>, %updates: tensor<*x!nnvm.unknown>) -> tensor<*x!nnvm.unknown> {
  %0 = "nnvm.scatter_nd"(%x, %i, %updates) : (tensor<4x5xf32>, tensor<2x1xi64>, tensor<*x!nnvm.unknown>) -> tensor<*x!nnvm.unknown>
  return %0 : tensor<*x!nnvm.unknown>
}
