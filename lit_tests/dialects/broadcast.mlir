// Operators of several operands: NumPy broadcasting, or one shape in both directions.

// RUN: nnvm-opt --nnvm-infer-shape --nnvm-infer-type --split-input-file --verify-diagnostics %s | FileCheck %s

// CHECK-LABEL: func.func @broadcast(
// CHECK-SAME: -> (tensor<4x?x3xf32>, tensor<4x?x3xi1>, tensor<4x?x3xf32>)
func.func @broadcast(%x: tensor<?x3xf32>, %y: tensor<4x1x1xf32>) -> (tensor<*x!nnvm.unknown>, tensor<*x!nnvm.unknown>, tensor<*x!nnvm.unknown>) {
  // CHECK: "nnvm.broadcast_add"(%{{.*}}, %{{.*}}) : (tensor<?x3xf32>, tensor<4x1x1xf32>) -> tensor<4x?x3xf32>
  %0 = "nnvm.broadcast_add"(%x, %y) : (tensor<?x3xf32>, tensor<4x1x1xf32>) -> tensor<*x!nnvm.unknown>
  // CHECK: "nnvm.broadcast_less"(%{{.*}}, %{{.*}}) {out_dtype = "bool"} : {{.*}} -> tensor<4x?x3xi1>
  %1 = "nnvm.broadcast_less"(%0, %y) {out_dtype = "bool"} : (tensor<*x!nnvm.unknown>, tensor<4x1x1xf32>) -> tensor<*x!nnvm.unknown>
  // CHECK: "nnvm.where"(%{{.*}}, %{{.*}}, %{{.*}}) : (tensor<4x?x3xi1>, tensor<?x3xf32>, tensor<4x1x1xf32>) -> tensor<4x?x3xf32>
  %2 = "nnvm.where"(%1, %x, %y) : (tensor<*x!nnvm.unknown>, tensor<?x3xf32>, tensor<4x1x1xf32>) -> tensor<*x!nnvm.unknown>
  return %0, %1, %2 : tensor<*x!nnvm.unknown>, tensor<*x!nnvm.unknown>, tensor<*x!nnvm.unknown>
}

// -----

// CHECK-LABEL: func.func @backwards(
// CHECK-SAME: tensor<2x3xf32>, %{{.*}}: tensor<2x3xf32>
func.func @backwards(%x: tensor<*x!nnvm.unknown>, %y: tensor<2x?x!nnvm.unknown>) -> tensor<?x3xf32> {
  %0 = "nnvm.elemwise_add"(%x, %y) : (tensor<*x!nnvm.unknown>, tensor<2x?x!nnvm.unknown>) -> tensor<?x3xf32>
  return %0 : tensor<?x3xf32>
}

// -----

// CHECK-LABEL: func.func @slope(
// CHECK-SAME: %{{.*}}: tensor<5xf32>
func.func @slope(%x: tensor<2x5x7xf32>, %alpha: tensor<*x!nnvm.unknown>) -> tensor<*x!nnvm.unknown> {
  %0 = "nnvm.prelu"(%x, %alpha) : (tensor<2x5x7xf32>, tensor<*x!nnvm.unknown>) -> tensor<*x!nnvm.unknown>
  return %0 : tensor<*x!nnvm.unknown>
}

// -----

func.func @shapes(%x: tensor<2x3xf32>, %y: tensor<4x3xf32>) -> tensor<2x3xf32> {
  // expected-error@+1 {{'nnvm.broadcast_add' op shapes 2x3 and 4x3 do not broadcast to one shape}}
  %0 = "nnvm.broadcast_add"(%x, %y) : (tensor<2x3xf32>, tensor<4x3xf32>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}

// -----

func.func @no_broadcast(%x: tensor<2x3xf32>, %y: tensor<1x3xf32>) -> tensor<2x3xf32> {
  // expected-error@+1 {{'nnvm.elemwise_mul' op shapes 2x3 and 1x3 differ}}
  %0 = "nnvm.elemwise_mul"(%x, %y) : (tensor<2x3xf32>, tensor<1x3xf32>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}

// -----

func.func @dtypes(%x: tensor<2xf32>, %y: tensor<2xi32>) -> tensor<2xf32> {
  // expected-error@+1 {{'nnvm.broadcast_mul' op dtypes float32 and int32 differ}}
  %0 = "nnvm.broadcast_mul"(%x, %y) : (tensor<2xf32>, tensor<2xi32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}
