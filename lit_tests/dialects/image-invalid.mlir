// RUN: nnvm-opt --split-input-file --verify-diagnostics %s

func.func @mode(%data: tensor<3x4xf32>) -> tensor<6x8xf32> {
  // expected-error@below {{attribute 'mode': expected one of 'nearest', 'linear', 'cubic', got 'area'}}
  %0 = "nnvm.interpolate"(%data) {size = array<i64: 6, 8>, mode = "area"}
    : (tensor<3x4xf32>) -> tensor<6x8xf32>
  return %0 : tensor<6x8xf32>
}

// -----

func.func @roi(%data: tensor<3x4xf32>) -> tensor<6x8xf32> {
  // expected-error@below {{attribute 'roi' must be 4 numbers (begins, then ends), got ()}}
  %0 = "nnvm.interpolate"(%data) {
    size = array<i64: 6, 8>, coordinate_transformation_mode = "tf_crop_and_resize"
  } : (tensor<3x4xf32>) -> tensor<6x8xf32>
  return %0 : tensor<6x8xf32>
}

// -----

func.func @rank(%data: tensor<3xf32>) -> tensor<6x8xf32> {
  // expected-error@below {{expects data of rank 2, got rank 1}}
  %0 = "nnvm.interpolate"(%data) {size = array<i64: 6, 8>} : (tensor<3xf32>) -> tensor<6x8xf32>
  return %0 : tensor<6x8xf32>
}

// -----

func.func @scale(%data: tensor<1x1x3x4xf32>) -> tensor<1x1x3x4xf32> {
  // expected-error@below {{attribute 'scale' must be positive, got 0}}
  %0 = "nnvm.upsampling"(%data) {scale = 0 : i64}
    : (tensor<1x1x3x4xf32>) -> tensor<1x1x3x4xf32>
  return %0 : tensor<1x1x3x4xf32>
}
