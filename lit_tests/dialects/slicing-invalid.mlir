// RUN: nnvm-opt --split-input-file --verify-diagnostics %s

func.func @ranks(%x0: tensor<2x3xf32>, %x1: tensor<2xf32>) -> tensor<2x4xf32> {
  // expected-error@below {{shapes 2x3 and 2 differ in rank}}
  %0 = "nnvm.concatenate"(%x0, %x1) {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0>}
    : (tensor<2x3xf32>, tensor<2xf32>) -> tensor<2x4xf32>
  return %0 : tensor<2x4xf32>
}

// -----

func.func @sections(%x0: tensor<3xf32>) -> (tensor<1xf32>, tensor<2xf32>) {
  // expected-error@below {{cannot split an axis of size 3 into 2 equal parts}}
  %0:2 = "nnvm.split"(%x0) {indices_or_sections = 2 : i64, axis = 0 : i64, resultSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0>}
    : (tensor<3xf32>) -> (tensor<1xf32>, tensor<2xf32>)
  return %0#0, %0#1 : tensor<1xf32>, tensor<2xf32>
}

// -----

func.func @count(%x0: tensor<3xf32>) -> (tensor<1xf32>, tensor<2xf32>) {
  // expected-error@below {{expects 3 results, got 2}}
  %0:2 = "nnvm.split"(%x0) {indices_or_sections = 3 : i64, axis = 0 : i64, resultSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0>}
    : (tensor<3xf32>) -> (tensor<1xf32>, tensor<2xf32>)
  return %0#0, %0#1 : tensor<1xf32>, tensor<2xf32>
}

// -----

func.func @stride(%x0: tensor<3xf32>) -> tensor<3xf32> {
  // expected-error@below {{expects strides other than 0, got (0,)}}
  %0 = "nnvm.strided_slice"(%x0) {begin = array<i64: 0>, end = array<i64: 3>, stride = array<i64: 0>}
    : (tensor<3xf32>) -> tensor<3xf32>
  return %0 : tensor<3xf32>
}

// -----

func.func @axis(%x0: tensor<3xf32>) -> tensor<3xf32> {
  // expected-error@below {{axis 1 is out of range for rank 1}}
  %0 = "nnvm.flip"(%x0) {axis = 1 : i64}
    : (tensor<3xf32>) -> tensor<3xf32>
  return %0 : tensor<3xf32>
}

// -----

func.func @axes(%x0: tensor<4x3xf32>, %x1: tensor<3xi64>) -> tensor<4x3xf32> {
  // expected-error@below {{expects two axes, got 0 for both batch and time}}
  %0 = "nnvm.reverse_sequence"(%x0, %x1) {batch_axis = 0 : i64}
    : (tensor<4x3xf32>, tensor<3xi64>) -> tensor<4x3xf32>
  return %0 : tensor<4x3xf32>
}
