// RUN: nnvm-opt --nnvm-infer-type --split-input-file %s | FileCheck %s

// CHECK-LABEL: func.func @both_ways(
// CHECK-SAME: tensor<2xf16>, %{{.*}}: tensor<?xf16>) -> (tensor<2xf16>, tensor<2xi32>)
// CHECK: nnvm.sqrt{{.*}} -> tensor<?xf16>
// CHECK: nnvm.cast{{.*}} -> tensor<2xi32>
func.func @both_ways(%x: tensor<2xf16>, %y: tensor<?x!nnvm.unknown>) -> (tensor<2x!nnvm.unknown>, tensor<2x!nnvm.unknown>) {
  %0 = "nnvm.sqrt"(%y) : (tensor<?x!nnvm.unknown>) -> tensor<?x!nnvm.unknown>
  %1 = "nnvm.elemwise_add"(%x, %0) : (tensor<2xf16>, tensor<?x!nnvm.unknown>) -> tensor<2x!nnvm.unknown>
  %2 = "nnvm.cast"(%1) {dtype = i32} : (tensor<2x!nnvm.unknown>) -> tensor<2x!nnvm.unknown>
  return %1, %2 : tensor<2x!nnvm.unknown>, tensor<2x!nnvm.unknown>
}

// -----

// A cast tells nothing of its operand.
// CHECK-LABEL: func.func @open(
// CHECK-SAME: tensor<2x!nnvm.unknown>) -> tensor<2xi1>
func.func @open(%x: tensor<2x!nnvm.unknown>) -> tensor<2x!nnvm.unknown> {
  %0 = "nnvm.cast"(%x) {dtype = i1} : (tensor<2x!nnvm.unknown>) -> tensor<2x!nnvm.unknown>
  return %0 : tensor<2x!nnvm.unknown>
}
