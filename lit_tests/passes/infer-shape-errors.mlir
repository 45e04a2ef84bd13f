// RUN: nnvm-opt --nnvm-infer-shape --split-input-file --verify-diagnostics %s

func.func @conflict_after_inference(%x: tensor<4xf32>, %y: tensor<5xf32>) -> tensor<*xf32> {
  %0 = "nnvm.relu"(%x) : (tensor<4xf32>) -> tensor<*xf32>
  // expected-error@below {{'nnvm.elemwise_add' op}}
  %1 = "nnvm.elemwise_add"(%0, %y) : (tensor<*xf32>, tensor<5xf32>) -> tensor<*xf32>
  return %1 : tensor<*xf32>
}

// -----

func.func @conflict_backwards(%x: tensor<*xf32>) -> tensor<4xf32> {
  %0 = "nnvm.exp"(%x) : (tensor<*xf32>) -> tensor<3xf32>
  // expected-error@below {{'nnvm.relu' op shapes 3 and 4 differ}}
  %1 = "nnvm.relu"(%x) : (tensor<*xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}

// -----

func.func @in_the_input(%x: tensor<2x3xf32>, %y: tensor<2x3xf32>) -> tensor<2x3xf32> {
  // expected-error@below {{'nnvm.matmul' op}}
  %0 = "nnvm.matmul"(%x, %y) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}
