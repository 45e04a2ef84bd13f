// RUN: nnvm-opt --nnvm-infer-type --split-input-file --verify-diagnostics %s

func.func @conflict(%x: tensor<2xf32>, %y: tensor<2xf64>) -> tensor<2x!nnvm.unknown> {
  %0 = "nnvm.relu"(%x) : (tensor<2xf32>) -> tensor<2x!nnvm.unknown>
  // expected-error@below {{dtypes float32 and float64 differ}}
  %1 = "nnvm.elemwise_add"(%0, %y) : (tensor<2x!nnvm.unknown>, tensor<2xf64>) -> tensor<2x!nnvm.unknown>
  return %1 : tensor<2x!nnvm.unknown>
}

// -----

func.func @kind(%x: tensor<2xi1>, %y: tensor<2x!nnvm.unknown>) -> tensor<2x!nnvm.unknown> {
  %0 = "nnvm.broadcast_equal"(%x, %y) : (tensor<2xi1>, tensor<2x!nnvm.unknown>) -> tensor<2x!nnvm.unknown>
  // expected-error@below {{'nnvm.sqrt' op expects}}
  %1 = "nnvm.sqrt"(%0) : (tensor<2x!nnvm.unknown>) -> tensor<2x!nnvm.unknown>
  return %1 : tensor<2x!nnvm.unknown>
}
