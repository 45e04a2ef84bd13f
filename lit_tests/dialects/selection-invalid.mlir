// RUN: nnvm-opt --split-input-file --verify-diagnostics %s

func.func @k(%x0: tensor<2xf32>) -> (tensor<3xf32>, tensor<3xi64>) {
  // expected-error@below {{expects k of at most 2, the size of the axis; got 3}}
  %0:2 = "nnvm.top_k"(%x0) {k = 3 : i64}
    : (tensor<2xf32>) -> (tensor<3xf32>, tensor<3xi64>)
  return %0#0, %0#1 : tensor<3xf32>, tensor<3xi64>
}
