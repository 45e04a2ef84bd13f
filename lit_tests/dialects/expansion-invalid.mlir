// RUN: nnvm-opt --split-input-file --verify-diagnostics %s

func.func @width(%x0: tensor<2xf32>) -> tensor<3xf32> {
  // expected-error@below {{expects a pair of widths >= 0 per dimension, got (1,)}}
  %0 = "nnvm.pad"(%x0) {pad_width = array<i64: 1>}
    : (tensor<2xf32>) -> tensor<3xf32>
  return %0 : tensor<3xf32>
}

// -----

func.func @mode(%x0: tensor<2xf32>) -> tensor<4xf32> {
  // expected-error@below {{attribute 'mode': expected one of 'constant', 'edge', 'reflect', 'wrap', got 'mirror'}}
  %0 = "nnvm.pad"(%x0) {pad_width = array<i64: 1, 1>, mode = "mirror"}
    : (tensor<2xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @size(%x0: tensor<3xf32>) -> tensor<4xf32> {
  // expected-error@below {{cannot broadcast 3 to 4}}
  %0 = "nnvm.broadcast_to"(%x0) {shape = array<i64: 4>}
    : (tensor<3xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @like(%x0: tensor<4xf32>, %x1: tensor<2x3xf32>) -> tensor<2x3xf32> {
  // expected-error@below {{cannot expand 4 along axes (0,) to 2x3}}
  %0 = "nnvm.expand_like"(%x0, %x1) {axis = array<i64: 0>}
    : (tensor<4xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}
