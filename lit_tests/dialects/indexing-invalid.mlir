// RUN: nnvm-opt --split-input-file --verify-diagnostics %s

func.func @dtype(%x0: tensor<5xf32>, %x1: tensor<2xf32>) -> tensor<2xf32> {
  // expected-error@below {{expects indices of an integer dtype, got float32}}
  %0 = "nnvm.take"(%x0, %x1)
    : (tensor<5xf32>, tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

// -----

func.func @elements(%x0: tensor<2x3xf32>, %x1: tensor<2x4xi64>) -> tensor<2x4xf32> {
  // expected-error@below {{indices 2x4 do not fit data 2x3: only axis 0 may be larger}}
  %0 = "nnvm.gather_elements"(%x0, %x1)
    : (tensor<2x3xf32>, tensor<2x4xi64>) -> tensor<2x4xf32>
  return %0 : tensor<2x4xf32>
}

// -----

func.func @depth(%x0: tensor<2x3xf32>, %x1: tensor<3x5xi64>) -> tensor<5xf32> {
  // expected-error@below {{indices 3x5 with 0 batch dimensions do not fit data 2x3}}
  %0 = "nnvm.gather_nd"(%x0, %x1)
    : (tensor<2x3xf32>, tensor<3x5xi64>) -> tensor<5xf32>
  return %0 : tensor<5xf32>
}

// -----

func.func @reduction(%x0: tensor<2xf32>, %x1: tensor<1x1xi64>, %x2: tensor<1xf32>) -> tensor<2xf32> {
  // expected-error@below {{attribute 'reduction': expected one of 'none', 'add', 'mul', 'max', 'min', got 'mean'}}
  %0 = "nnvm.scatter_nd"(%x0, %x1, %x2) {reduction = "mean"}
    : (tensor<2xf32>, tensor<1x1xi64>, tensor<1xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}
