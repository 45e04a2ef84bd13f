// RUN: nnvm-opt --split-input-file --verify-diagnostics %s

func.func @size(%x0: tensor<2x3xf32>) -> tensor<4xf32> {
  // expected-error@below {{cannot reshape 2x3 into 4: the sizes are 6 and 4}}
  %0 = "nnvm.reshape"(%x0) {shape = array<i64: 4>}
    : (tensor<2x3xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @squeezed(%x0: tensor<2x1xf32>) -> tensor<1xf32> {
  // expected-error@below {{cannot squeeze axis 0 of 2x1: its size is not 1}}
  %0 = "nnvm.squeeze"(%x0) {axis = array<i64: 0>}
    : (tensor<2x1xf32>) -> tensor<1xf32>
  return %0 : tensor<1xf32>
}

// -----

func.func @axes(%x0: tensor<2x3xf32>) -> tensor<3x2xf32> {
  // expected-error@below {{axes (0, 0) name one axis twice}}
  %0 = "nnvm.transpose"(%x0) {axes = array<i64: 0, 0>}
    : (tensor<2x3xf32>) -> tensor<3x2xf32>
  return %0 : tensor<3x2xf32>
}

// -----

func.func @transposed(%x0: tensor<2x3xf32>) -> tensor<2x3xf32> {
  // expected-error@below {{expects result 0 of shape 3x2, got 2x3}}
  %0 = "nnvm.transpose"(%x0)
    : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}

// -----

func.func @block(%x0: tensor<1x3x7x7xf32>) -> tensor<1x1x7x7x16xf32> {
  // expected-error@below {{axis C of size 3 is not divisible by the block 16 of layout NCHW16c}}
  %0 = "nnvm.layout_transform"(%x0) {src_layout = "NCHW", dst_layout = "NCHW16c"}
    : (tensor<1x3x7x7xf32>) -> tensor<1x1x7x7x16xf32>
  return %0 : tensor<1x1x7x7x16xf32>
}

// -----

func.func @layout(%x0: tensor<1x3x7x7xf32>) -> tensor<1x3x7x7xf32> {
  // expected-error@below {{layout 'NCHWc': expected an axis such as C or a block such as 16c at 'c'}}
  %0 = "nnvm.layout_transform"(%x0) {src_layout = "NCHW", dst_layout = "NCHWc"}
    : (tensor<1x3x7x7xf32>) -> tensor<1x3x7x7xf32>
  return %0 : tensor<1x3x7x7xf32>
}
