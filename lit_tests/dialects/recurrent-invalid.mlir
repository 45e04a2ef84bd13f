// RUN: nnvm-opt --split-input-file --verify-diagnostics %s

func.func @weight(%x0: tensor<5x3x4xf32>, %x1: tensor<1x7x4xf32>, %x2: tensor<1x6x6xf32>, %x3: tensor<1x12xf32>, %x4: tensor<1x3x6xf32>) -> (tensor<5x1x3x6xf32>, tensor<1x3x6xf32>) {
  // expected-error@below {{shapes 1x6x4 and 1x7x4 differ}}
  %0:2 = "nnvm.rnn"(%x0, %x1, %x2, %x3, %x4) {hidden_size = 6 : i64}
    : (tensor<5x3x4xf32>, tensor<1x7x4xf32>, tensor<1x6x6xf32>, tensor<1x12xf32>, tensor<1x3x6xf32>) -> (tensor<5x1x3x6xf32>, tensor<1x3x6xf32>)
  return %0#0, %0#1 : tensor<5x1x3x6xf32>, tensor<1x3x6xf32>
}

// -----

func.func @activations(%x0: tensor<5x3x4xf32>, %x1: tensor<1x6x4xf32>, %x2: tensor<1x6x6xf32>, %x3: tensor<1x12xf32>, %x4: tensor<1x3x6xf32>) -> (tensor<5x1x3x6xf32>, tensor<1x3x6xf32>) {
  // expected-error@below {{unknown activation 'Gelu': expected one of}}
  %0:2 = "nnvm.rnn"(%x0, %x1, %x2, %x3, %x4) {hidden_size = 6 : i64, activations = ["Gelu"]}
    : (tensor<5x3x4xf32>, tensor<1x6x4xf32>, tensor<1x6x6xf32>, tensor<1x12xf32>, tensor<1x3x6xf32>) -> (tensor<5x1x3x6xf32>, tensor<1x3x6xf32>)
  return %0#0, %0#1 : tensor<5x1x3x6xf32>, tensor<1x3x6xf32>
}

// -----

func.func @lengths(%x0: tensor<5x3x4xf32>, %x1: tensor<1x6x4xf32>, %x2: tensor<1x6x6xf32>, %x3: tensor<1x12xf32>, %x4: tensor<1x3x6xf32>, %x5: tensor<3xf32>) -> (tensor<5x1x3x6xf32>, tensor<1x3x6xf32>) {
  // expected-error@below {{expects sequence_lens of an integer dtype, got float32}}
  %0:2 = "nnvm.rnn"(%x0, %x1, %x2, %x3, %x4, %x5) {hidden_size = 6 : i64}
    : (tensor<5x3x4xf32>, tensor<1x6x4xf32>, tensor<1x6x6xf32>, tensor<1x12xf32>, tensor<1x3x6xf32>, tensor<3xf32>) -> (tensor<5x1x3x6xf32>, tensor<1x3x6xf32>)
  return %0#0, %0#1 : tensor<5x1x3x6xf32>, tensor<1x3x6xf32>
}
