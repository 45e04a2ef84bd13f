// RUN: nnvm-opt --nnvm-simplify-inference --nnvm-dce --split-input-file %s | FileCheck %s

// CHECK-LABEL: func.func @batch_norm(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<2x3x4xf32>, %[[G:[a-z0-9]+]]: tensor<3xf32>, %[[B:[a-z0-9]+]]: tensor<3xf32>, %[[M:[a-z0-9]+]]: tensor<3xf32>, %[[V:[a-z0-9]+]]: tensor<3xf32>
// CHECK: %[[VE:.*]] = "nnvm.add_scalar"(%[[V]]) {scalar = 1.000000e-03
// CHECK: %[[R:.*]] = "nnvm.rsqrt"(%[[VE]])
// CHECK: %[[S:.*]] = "nnvm.broadcast_mul"(%[[R]], %[[G]])
// CHECK: %[[MS:.*]] = "nnvm.broadcast_mul"(%[[M]], %[[S]])
// CHECK: %[[T:.*]] = "nnvm.broadcast_sub"(%[[B]], %[[MS]])
// CHECK: %[[SC:.*]] = "nnvm.reshape"(%[[S]]){{.*}} -> tensor<3x1xf32>
// CHECK: %[[Y:.*]] = "nnvm.broadcast_mul"(%[[X]], %[[SC]])
// CHECK: %[[TC:.*]] = "nnvm.reshape"(%[[T]])
// CHECK: %[[Z:.*]] = "nnvm.broadcast_add"(%[[Y]], %[[TC]])
// CHECK: return %[[Z]], %[[M]], %[[V]]
func.func @batch_norm(%x: tensor<2x3x4xf32>, %g: tensor<3xf32>, %b: tensor<3xf32>, %m: tensor<3xf32>, %v: tensor<3xf32>) -> (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>) {
  %0:3 = "nnvm.batch_norm"(%x, %g, %b, %m, %v) {epsilon = 1.0e-3 : f64} : (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>)
  return %0#0, %0#1, %0#2 : tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>
}

// -----

// Along the last axis, without scale and center: gamma and beta are not read, nothing is reshaped.
// CHECK-LABEL: func.func @plain(
// CHECK-SAME: %[[G:[a-z0-9]+]]: tensor<3xf32>, %[[B:[a-z0-9]+]]: tensor<3xf32>, %[[M:[a-z0-9]+]]: tensor<3xf32>
// CHECK-NOT: %[[G]]
// CHECK-NOT: %[[B]]
// CHECK-NOT: nnvm.reshape
// CHECK: nnvm.negative
// CHECK-NOT: nnvm.batch_norm
// CHECK: return
func.func @plain(%x: tensor<2x3xf32>, %g: tensor<3xf32>, %b: tensor<3xf32>, %m: tensor<3xf32>, %v: tensor<3xf32>) -> tensor<2x3xf32> {
  %0:3 = "nnvm.batch_norm"(%x, %g, %b, %m, %v) {axis = -1, center = false, scale = false} : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>)
  return %0#0 : tensor<2x3xf32>
}

// -----

// Without a rank there is no axis to lay the scale along.
// CHECK-LABEL: func.func @unranked(
// CHECK: nnvm.batch_norm
func.func @unranked(%x: tensor<*xf32>, %g: tensor<3xf32>) -> tensor<*xf32> {
  %0:3 = "nnvm.batch_norm"(%x, %g, %g, %g, %g) : (tensor<*xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<*xf32>, tensor<3xf32>, tensor<3xf32>)
  return %0#0 : tensor<*xf32>
}

// -----

// CHECK-LABEL: func.func @dropout(
// CHECK-SAME: %[[X:.*]]: tensor<4xf32>
// CHECK-NEXT: return %[[X]]
func.func @dropout(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0:2 = "nnvm.dropout"(%x) : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  return %0#0 : tensor<4xf32>
}
