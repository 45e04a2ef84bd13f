// RUN: nnvm-opt --nnvm-cse --nnvm-dce %s | FileCheck %s

// Equal operations merge, and then those that read them.
// CHECK-LABEL: func.func @chains(
// CHECK-SAME: %[[X:.*]]: tensor<2xf32>
// CHECK-NEXT: %[[E:.*]] = "nnvm.exp"(%[[X]])
// CHECK-NEXT: %[[R:.*]] = "nnvm.relu"(%[[E]])
// CHECK-NEXT: %[[S:.*]] = "nnvm.broadcast_add"(%[[R]], %[[R]])
// CHECK-NEXT: return %[[S]]
func.func @chains(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = "nnvm.exp"(%x) : (tensor<2xf32>) -> tensor<2xf32>
  %1 = "nnvm.relu"(%0) : (tensor<2xf32>) -> tensor<2xf32>
  %2 = "nnvm.exp"(%x) : (tensor<2xf32>) -> tensor<2xf32>
  %3 = "nnvm.relu"(%2) : (tensor<2xf32>) -> tensor<2xf32>
  %4 = "nnvm.broadcast_add"(%1, %3) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return %4 : tensor<2xf32>
}

// Other attributes, operands in another order, other types, other functions: not equal.
// CHECK-LABEL: func.func @differ(
// CHECK-COUNT-2: nnvm.leaky_relu
// CHECK-COUNT-2: nnvm.broadcast_sub
// CHECK-COUNT-2: nnvm.cast
// CHECK: return
func.func @differ(%x: tensor<2xf32>, %y: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xi8>, tensor<2xi16>) {
  %0 = "nnvm.leaky_relu"(%x) {alpha = 0.5 : f64} : (tensor<2xf32>) -> tensor<2xf32>
  %1 = "nnvm.leaky_relu"(%x) : (tensor<2xf32>) -> tensor<2xf32>
  %2 = "nnvm.broadcast_sub"(%x, %y) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %3 = "nnvm.broadcast_sub"(%y, %x) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %4 = "nnvm.cast"(%x) {dtype = i8} : (tensor<2xf32>) -> tensor<2xi8>
  %5 = "nnvm.cast"(%x) {dtype = i16} : (tensor<2xf32>) -> tensor<2xi16>
  return %0, %1, %2, %3, %4, %5 : tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xi8>, tensor<2xi16>
}

// CHECK-LABEL: func.func @constants(
// CHECK-COUNT-1: dense<1>
// CHECK-NOT: dense<1>
// CHECK: return
func.func @constants() -> (tensor<i64>, tensor<i64>, tensor<i64>) {
  %0 = "nnvm.constant"() {value = dense<1> : tensor<i64>} : () -> tensor<i64>
  %1 = "nnvm.constant"() {value = dense<1> : tensor<i64>} : () -> tensor<i64>
  %2 = "nnvm.constant"() {value = dense<2> : tensor<i64>} : () -> tensor<i64>
  return %0, %1, %2 : tensor<i64>, tensor<i64>, tensor<i64>
}
