// Element-wise operators: shape and dtype follow in both directions; predicates give i1.

// RUN: nnvm-opt --nnvm-infer-shape --nnvm-infer-type --split-input-file --verify-diagnostics %s | FileCheck %s

// CHECK-LABEL: func.func @forwards(
// CHECK-SAME: -> (tensor<2x3xf16>, tensor<2x3xi1>, tensor<2x3xui8>)
func.func @forwards(%x: tensor<2x3xf16>) -> (tensor<*x!nnvm.unknown>, tensor<*x!nnvm.unknown>, tensor<*x!nnvm.unknown>) {
  // CHECK: "nnvm.mul_scalar"(%{{.*}}) {scalar = 5.000000e-01 : f64} : (tensor<2x3xf16>) -> tensor<2x3xf16>
  %0 = "nnvm.mul_scalar"(%x) {scalar = 0.5} : (tensor<2x3xf16>) -> tensor<*x!nnvm.unknown>
  // CHECK: "nnvm.is_nan"(%{{.*}}) : (tensor<2x3xf16>) -> tensor<2x3xi1>
  %1 = "nnvm.is_nan"(%0) : (tensor<*x!nnvm.unknown>) -> tensor<*x!nnvm.unknown>
  // CHECK: "nnvm.cast"(%{{.*}}) {dtype = ui8} : (tensor<2x3xf16>) -> tensor<2x3xui8>
  %2 = "nnvm.cast"(%0) {dtype = ui8} : (tensor<*x!nnvm.unknown>) -> tensor<*x!nnvm.unknown>
  return %0, %1, %2 : tensor<*x!nnvm.unknown>, tensor<*x!nnvm.unknown>, tensor<*x!nnvm.unknown>
}

// -----

// CHECK-LABEL: func.func @backwards(
// CHECK-SAME: tensor<2x3xf32>
func.func @backwards(%x: tensor<?x3x!nnvm.unknown>) -> tensor<2x?xf32> {
  // CHECK: "nnvm.exp"(%{{.*}}) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %0 = "nnvm.exp"(%x) : (tensor<?x3x!nnvm.unknown>) -> tensor<2x?xf32>
  return %0 : tensor<2x?xf32>
}

// -----

func.func @integers(%x: tensor<2xi32>) -> tensor<2xi32> {
  // expected-error@+1 {{'nnvm.exp' op expects float operands, got int32}}
  %0 = "nnvm.exp"(%x) : (tensor<2xi32>) -> tensor<2xi32>
  return %0 : tensor<2xi32>
}

// -----

func.func @shapes(%x: tensor<2xf32>) -> tensor<3xf32> {
  // expected-error@+1 {{'nnvm.exp' op shapes 2 and 3 differ}}
  %0 = "nnvm.exp"(%x) : (tensor<2xf32>) -> tensor<3xf32>
  return %0 : tensor<3xf32>
}

// -----

func.func @missing(%x: tensor<2xf32>) -> tensor<2xf32> {
  // expected-error@+1 {{'nnvm.clip' op requires attribute 'a_max' (a number)}}
  %0 = "nnvm.clip"(%x) {a_min = 0.0} : (tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

// -----

func.func @infinite(%x: tensor<2xi8>) -> tensor<2xi8> {
  // expected-error@+1 {{attribute 'scalar': inf has no int8 value}}
  %0 = "nnvm.add_scalar"(%x) {scalar = 0x7FF0000000000000 : f64} : (tensor<2xi8>) -> tensor<2xi8>
  return %0 : tensor<2xi8>
}
