// RUN: nnvm-opt --split-input-file --verify-diagnostics %s

func.func @size(%data: tensor<1x1x5x5xf32>) -> tensor<1x1x3x3xf32> {
  // expected-error@below {{attribute 'pool_size' must be 2 numbers >= 1, one for each of the axes HW; got (3,)}}
  %0 = "nnvm.max_pool2d"(%data) {pool_size = array<i64: 3>}
    : (tensor<1x1x5x5xf32>) -> tensor<1x1x3x3xf32>
  return %0 : tensor<1x1x3x3xf32>
}

// -----

func.func @padding(%data: tensor<1x1x5x5xf32>) -> tensor<1x1x3x3xf32> {
  // expected-error@below {{attribute 'padding' must be 1, 2 or 4 numbers >= 0 (begins, then ends); got (1, 1, 1)}}
  %0 = "nnvm.max_pool2d"(%data) {pool_size = array<i64: 3, 3>, padding = array<i64: 1, 1, 1>}
    : (tensor<1x1x5x5xf32>) -> tensor<1x1x3x3xf32>
  return %0 : tensor<1x1x3x3xf32>
}

// -----

func.func @result(%data: tensor<1x1x5x5xf32>) -> tensor<1x1x5x5xf32> {
  // expected-error@below {{expects result 0 of shape 1x1x3x3, got 1x1x5x5}}
  %0 = "nnvm.avg_pool2d"(%data) {pool_size = array<i64: 3, 3>}
    : (tensor<1x1x5x5xf32>) -> tensor<1x1x5x5xf32>
  return %0 : tensor<1x1x5x5xf32>
}

// -----

func.func @order(%data: tensor<1x1x5xf32>) -> tensor<1x1x3xf32> {
  // expected-error@below {{attribute 'storage_order': expected one of 0, 1, got 2}}
  %0:2 = "nnvm.max_pool1d_indices"(%data) {pool_size = array<i64: 3>, storage_order = 2 : i64}
    : (tensor<1x1x5xf32>) -> (tensor<1x1x3xf32>, tensor<1x1x3xi64>)
  return %0#0 : tensor<1x1x3xf32>
}

// -----

func.func @global(%data: tensor<1x4x5xf32>) -> tensor<1x4x1xf32> {
  // expected-error@below {{layout NCHW has 4 dimensions, got shape 1x4x5}}
  %0 = "nnvm.global_max_pool2d"(%data) : (tensor<1x4x5xf32>) -> tensor<1x4x1xf32>
  return %0 : tensor<1x4x1xf32>
}
