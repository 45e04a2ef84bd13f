// RUN: nnvm-opt --nnvm-dce %s | FileCheck %s

// A chain without readers goes as a whole; an operation with one result that is read stays.
// CHECK-LABEL: func.func @unused(
// CHECK-SAME: %[[X:.*]]: tensor<4xf32>, %{{.*}}: tensor<4xf32>
// CHECK-NEXT: %[[S:.*]]:2 = "nnvm.dropout"(%[[X]])
// CHECK-NEXT: return %[[S]]#1
func.func @unused(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "nnvm.exp"(%y) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = "nnvm.relu"(%0) : (tensor<4xf32>) -> tensor<4xf32>
  %2:2 = "nnvm.dropout"(%x) : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  return %2#1 : tensor<4xf32>
}

// CHECK-LABEL: func.func @used(
// CHECK-NEXT: nnvm.exp
// CHECK-NEXT: return
func.func @used(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "nnvm.exp"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
