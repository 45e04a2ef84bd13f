// RUN: nnvm-opt --split-input-file --verify-diagnostics %s

func.func @dtype(%x0: tensor<2x3xi32>) -> tensor<2x3xi32> {
  // expected-error@below {{expects a floating-point dtype, got int32}}
  %0 = "nnvm.softmax"(%x0)
    : (tensor<2x3xi32>) -> tensor<2x3xi32>
  return %0 : tensor<2x3xi32>
}

// -----

func.func @axis(%x0: tensor<2x3xf32>) -> tensor<2x3xf32> {
  // expected-error@below {{axis 2 is out of range for rank 2}}
  %0 = "nnvm.log_softmax"(%x0) {axis = 2 : i64}
    : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}

// -----

func.func @channels(%x0: tensor<2x3xf32>, %x1: tensor<2xf32>, %x2: tensor<3xf32>, %x3: tensor<3xf32>, %x4: tensor<3xf32>) -> (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>) {
  // expected-error@below {{shapes 2 and 3 differ}}
  %0:3 = "nnvm.batch_norm"(%x0, %x1, %x2, %x3, %x4)
    : (tensor<2x3xf32>, tensor<2xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>)
  return %0#0, %0#1, %0#2 : tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>
}

// -----

func.func @parameters(%x0: tensor<2x3xf32>, %x1: tensor<2xf32>) -> tensor<2x3xf32> {
  // expected-error@below {{shapes 2x3 and 2 do not broadcast to one shape}}
  %0 = "nnvm.layer_norm"(%x0, %x1)
    : (tensor<2x3xf32>, tensor<2xf32>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}

// -----

func.func @rate(%x0: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
  // expected-error@below {{expects a rate from 0 to 1, got 2.0}}
  %0:2 = "nnvm.dropout"(%x0) {rate = 2.0 : f64}
    : (tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>)
  return %0#0, %0#1 : tensor<2xf32>, tensor<2xf32>
}

// -----

func.func @window(%x0: tensor<2x3xf32>) -> tensor<2x3xf32> {
  // expected-error@below {{expects size >= 1, got 0}}
  %0 = "nnvm.lrn"(%x0) {size = 0 : i64, alpha = 1.0 : f64, beta = 0.75 : f64, bias = 1.0 : f64}
    : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}
