// RUN: nnvm-opt --split-input-file --verify-diagnostics %s

func.func @weight(%data: tensor<1x4x5x5xf32>, %weight: tensor<6x3x3x3xf32>)
    -> tensor<1x6x3x3xf32> {
  // expected-error@below {{expects weight of shape 6x4x3x3, got 6x3x3x3}}
  %0 = "nnvm.conv2d"(%data, %weight) {
    channels = 6 : i64, kernel_size = array<i64: 3, 3>, use_bias = false
  } : (tensor<1x4x5x5xf32>, tensor<6x3x3x3xf32>) -> tensor<1x6x3x3xf32>
  return %0 : tensor<1x6x3x3xf32>
}

// -----

func.func @output(%data: tensor<1x4x5x5xf32>, %weight: tensor<6x4x3x3xf32>)
    -> tensor<1x6x5x5xf32> {
  // expected-error@below {{expects output of shape 1x6x3x3, got 1x6x5x5}}
  %0 = "nnvm.conv2d"(%data, %weight) {
    channels = 6 : i64, kernel_size = array<i64: 3, 3>, use_bias = false
  } : (tensor<1x4x5x5xf32>, tensor<6x4x3x3xf32>) -> tensor<1x6x5x5xf32>
  return %0 : tensor<1x6x5x5xf32>
}

// -----

func.func @bias(%data: tensor<1x4x5xf32>, %weight: tensor<6x4x3xf32>) -> tensor<1x6x3xf32> {
  // expected-error@below {{expects a bias operand when use_bias is True}}
  %0 = "nnvm.conv1d"(%data, %weight) {
    channels = 6 : i64, kernel_size = array<i64: 3>
  } : (tensor<1x4x5xf32>, tensor<6x4x3xf32>) -> tensor<1x6x3xf32>
  return %0 : tensor<1x6x3xf32>
}

// -----

func.func @window(%data: tensor<1x4x2xf32>, %weight: tensor<6x4x3xf32>) -> tensor<1x6x1xf32> {
  // expected-error@below {{a window that spans 3 does not fit an axis of 2 padded by 0 and 0}}
  %0 = "nnvm.conv1d"(%data, %weight) {
    channels = 6 : i64, kernel_size = array<i64: 3>, use_bias = false
  } : (tensor<1x4x2xf32>, tensor<6x4x3xf32>) -> tensor<1x6x1xf32>
  return %0 : tensor<1x6x1xf32>
}

// -----

func.func @strides(%data: tensor<1x4x5xf32>, %weight: tensor<6x4x3xf32>) -> tensor<1x6x1xf32> {
  // expected-error@below {{attribute 'strides' must be 1 numbers >= 1, one for each of the axes W; got (1, 2)}}
  %0 = "nnvm.conv1d"(%data, %weight) {
    channels = 6 : i64, kernel_size = array<i64: 3>, strides = array<i64: 1, 2>, use_bias = false
  } : (tensor<1x4x5xf32>, tensor<6x4x3xf32>) -> tensor<1x6x1xf32>
  return %0 : tensor<1x6x1xf32>
}

// -----

func.func @groups(%data: tensor<1x4x5xf32>, %weight: tensor<6x1x3xf32>) -> tensor<1x6x3xf32> {
  // expected-error@below {{4 data channels do not divide into 3 groups}}
  %0 = "nnvm.conv1d"(%data, %weight) {
    channels = 6 : i64, kernel_size = array<i64: 3>, groups = 3 : i64, use_bias = false
  } : (tensor<1x4x5xf32>, tensor<6x1x3xf32>) -> tensor<1x6x3xf32>
  return %0 : tensor<1x6x3xf32>
}

// -----

func.func @layout(%data: tensor<1x4x5x2xf32>, %weight: tensor<6x4x3xf32>) -> tensor<1x6x3xf32> {
  // expected-error@below {{layout 'NCW2w' must not split the spatial axes W}}
  %0 = "nnvm.conv1d"(%data, %weight) {
    channels = 6 : i64, kernel_size = array<i64: 3>, layout = "NCW2w", use_bias = false
  } : (tensor<1x4x5x2xf32>, tensor<6x4x3xf32>) -> tensor<1x6x3xf32>
  return %0 : tensor<1x6x3xf32>
}

// -----

func.func @transposed_output(%data: tensor<1x4x3xf32>, %weight: tensor<4x6x3xf32>)
    -> tensor<1x6x8xf32> {
  // expected-error@below {{no data gives an output of 8 along W}}
  %0 = "nnvm.conv1d_transpose"(%data, %weight) {
    channels = 6 : i64, kernel_size = array<i64: 3>, strides = array<i64: 2>, use_bias = false
  } : (tensor<1x4x3xf32>, tensor<4x6x3xf32>) -> tensor<1x6x8xf32>
  return %0 : tensor<1x6x8xf32>
}
