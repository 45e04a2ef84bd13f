// RUN: nnvm-opt --nnvm-precompute-prune --split-input-file %s | FileCheck %s

// What depends on parameters only moves; its result is a new parameter named after the location;
// parameters that nothing reads any more go, inputs stay.
// CHECK-LABEL: func.func @precompute(
// CHECK-SAME: %[[W:[a-z0-9]+]]: tensor<2xf32> {nnvm.kind = "parameter", nnvm.name = "w"}
// CHECK-SAME: nnvm.name = "v"
// CHECK-SAME: nnvm.name = "unused"
// CHECK-SAME: -> (tensor<2xf32> {nnvm.name = "scaled"})
// CHECK: %[[C:.*]] = "nnvm.constant"
// CHECK: %[[E:.*]] = "nnvm.exp"(%[[W]])
// CHECK: %[[S:.*]] = "nnvm.broadcast_mul"(%[[E]], %[[C]])
// CHECK: return %[[S]]
// CHECK-LABEL: func.func @main(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<2xf32> {nnvm.kind = "input", nnvm.name = "x"}
// CHECK-SAME: %[[V:[a-z0-9]+]]: tensor<2xf32> {nnvm.kind = "parameter", nnvm.name = "v"}
// CHECK-SAME: %[[N:[a-z0-9]+]]: tensor<2xf32> {nnvm.kind = "parameter", nnvm.name = "scaled"}
// CHECK-NOT: unused
// CHECK-DAG: %[[T:.*]] = "nnvm.constant"() {value = dense<2.0{{.*}}> : tensor<f32>}
// CHECK-DAG: %[[XN:.*]] = "nnvm.broadcast_add"(%[[X]], %[[N]])
// CHECK: %[[A:.*]] = "nnvm.broadcast_add"(%[[XN]], %[[V]])
// CHECK: "nnvm.broadcast_add"(%[[A]], %[[T]])
// CHECK-NOT: nnvm.exp
func.func @main(%x: tensor<2xf32> {nnvm.name = "x", nnvm.kind = "input"}, %w: tensor<2xf32> {nnvm.name = "w", nnvm.kind = "parameter"}, %v: tensor<2xf32> {nnvm.name = "v", nnvm.kind = "parameter"}, %unused: tensor<2xf32> {nnvm.name = "unused", nnvm.kind = "parameter"}) -> (tensor<2xf32>, tensor<2xf32>) {
  %c = "nnvm.constant"() {value = dense<2.0> : tensor<f32>} : () -> tensor<f32>
  %0 = "nnvm.exp"(%w) : (tensor<2xf32>) -> tensor<2xf32>
  %1 = "nnvm.broadcast_mul"(%0, %c) : (tensor<2xf32>, tensor<f32>) -> tensor<2xf32> loc("scaled")
  %2 = "nnvm.broadcast_add"(%x, %1) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %3 = "nnvm.broadcast_add"(%2, %v) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %4 = "nnvm.broadcast_add"(%3, %c) : (tensor<2xf32>, tensor<f32>) -> tensor<2xf32>
  return %4, %4 : tensor<2xf32>, tensor<2xf32>
}

// -----

// Names that are taken are numbered.
// CHECK-LABEL: func.func @precompute(
// CHECK-SAME: nnvm.name = "w.1"}, tensor<2xf32> {nnvm.name = "w.2"}
// CHECK-LABEL: func.func @main(
// CHECK-NEXT: return %{{.*}}, %{{.*}}
func.func @main(%w: tensor<2xf32> {nnvm.name = "w", nnvm.kind = "parameter"}) -> (tensor<2xf32>, tensor<2xf32>) {
  %0 = "nnvm.exp"(%w) : (tensor<2xf32>) -> tensor<2xf32> loc("w")
  %1 = "nnvm.relu"(%w) : (tensor<2xf32>) -> tensor<2xf32> loc("w")
  return %0, %1 : tensor<2xf32>, tensor<2xf32>
}

// -----

// Nothing to do: inputs are not known, and constants alone are not worth a function.
// CHECK-NOT: @precompute
// CHECK: func.func @main(%[[X:.*]]: tensor<2xf32>
// CHECK-NEXT: %[[C:.*]] = "nnvm.constant"
// CHECK-NEXT: %[[E:.*]] = "nnvm.exp"(%[[X]])
// CHECK-NEXT: return %[[E]], %[[C]]
func.func @main(%x: tensor<2xf32>) -> (tensor<2xf32>, tensor<f32>) {
  %c = "nnvm.constant"() {value = dense<2.0> : tensor<f32>} : () -> tensor<f32>
  %0 = "nnvm.exp"(%x) : (tensor<2xf32>) -> tensor<2xf32>
  return %0, %c : tensor<2xf32>, tensor<f32>
}
