// RUN: nnvm-opt --nnvm-infer-shape --nnvm-infer-type %s | FileCheck %s

// The weight and the bias follow from the data and the attributes.
// CHECK-LABEL: func.func @parameters
// CHECK-SAME: %{{.*}}: tensor<1x3x224x224xf32>, %{{.*}}: tensor<64x3x7x7xf32>, %{{.*}}: tensor<64xf32>
// CHECK: "nnvm.conv2d"
// CHECK-SAME: -> tensor<1x64x112x112xf32>
func.func @parameters(%data: tensor<1x3x224x224xf32>, %weight: tensor<*x!nnvm.unknown>,
                      %bias: tensor<*x!nnvm.unknown>) -> tensor<*x!nnvm.unknown> {
  %0 = "nnvm.conv2d"(%data, %weight, %bias) {
    channels = 64 : i64, kernel_size = array<i64: 7, 7>, strides = array<i64: 2, 2>,
    padding = array<i64: 3, 3>
  } : (tensor<1x3x224x224xf32>, tensor<*x!nnvm.unknown>, tensor<*x!nnvm.unknown>)
    -> tensor<*x!nnvm.unknown>
  return %0 : tensor<*x!nnvm.unknown>
}

// With stride 1 the data follows from the output.
// CHECK-LABEL: func.func @backwards
// CHECK-SAME: %{{.*}}: tensor<2x4x10x12xf32>
func.func @backwards(%data: tensor<*x!nnvm.unknown>, %weight: tensor<8x4x3x3xf32>)
    -> tensor<2x8x8x10xf32> {
  %0 = "nnvm.conv2d"(%data, %weight) {
    channels = 8 : i64, kernel_size = array<i64: 3, 3>, use_bias = false
  } : (tensor<*x!nnvm.unknown>, tensor<8x4x3x3xf32>) -> tensor<2x8x8x10xf32>
  return %0 : tensor<2x8x8x10xf32>
}

// Blocked layouts block the weight and the bias too.
// CHECK-LABEL: func.func @blocked
// CHECK-SAME: tensor<1x1x9x9x16xf32>, %{{.*}}: tensor<2x1x3x3x16x16xf32>, %{{.*}}: tensor<2x16xf32>
// CHECK: -> tensor<1x2x7x7x16xf32>
func.func @blocked(%data: tensor<1x1x9x9x16xf32>, %weight: tensor<*x!nnvm.unknown>,
                   %bias: tensor<*x!nnvm.unknown>) -> tensor<*x!nnvm.unknown> {
  %0 = "nnvm.conv2d"(%data, %weight, %bias) {
    channels = 32 : i64, kernel_size = array<i64: 3, 3>, layout = "NCHW16c",
    kernel_layout = "OIHW16i16o"
  } : (tensor<1x1x9x9x16xf32>, tensor<*x!nnvm.unknown>, tensor<*x!nnvm.unknown>)
    -> tensor<*x!nnvm.unknown>
  return %0 : tensor<*x!nnvm.unknown>
}

// CHECK-LABEL: func.func @transposed
// CHECK: "nnvm.conv2d_transpose"
// CHECK-SAME: (tensor<1x8x14x14xf32>, tensor<8x4x3x3xf32>) -> tensor<1x4x28x28xf32>
func.func @transposed(%data: tensor<1x8x14x14xf32>, %weight: tensor<*x!nnvm.unknown>)
    -> tensor<*x!nnvm.unknown> {
  %0 = "nnvm.conv2d_transpose"(%data, %weight) {
    channels = 4 : i64, kernel_size = array<i64: 3, 3>, strides = array<i64: 2, 2>,
    padding = array<i64: 1, 1>, output_padding = array<i64: 1, 1>, use_bias = false
  } : (tensor<1x8x14x14xf32>, tensor<*x!nnvm.unknown>) -> tensor<*x!nnvm.unknown>
  return %0 : tensor<*x!nnvm.unknown>
}

// Integers accumulate in `out_dtype`.
// CHECK-LABEL: func.func @integers
// CHECK: -> tensor<1x4x3xi32>
func.func @integers(%data: tensor<1x2x5xui8>, %weight: tensor<4x2x3xi8>) -> tensor<*x!nnvm.unknown> {
  %0 = "nnvm.conv1d"(%data, %weight) {
    channels = 4 : i64, kernel_size = array<i64: 3>, use_bias = false, out_dtype = "int32"
  } : (tensor<1x2x5xui8>, tensor<4x2x3xi8>) -> tensor<*x!nnvm.unknown>
  return %0 : tensor<*x!nnvm.unknown>
}
