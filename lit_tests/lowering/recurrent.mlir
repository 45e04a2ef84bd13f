// RUN: nnvm-opt %s --convert-nnvm-to-linalg | FileCheck %s --check-prefix=LINALG
// RUN: nnvm-opt %s --nnvm-plan-memory --convert-nnvm-to-linalg --nnvm-lower-kernels='target=cpu:x86-64-v4 threads=2' | FileCheck %s --check-prefix=KERNEL --implicit-check-not=memref.alloc --implicit-check-not=scf.parallel --implicit-check-not=math.exp --implicit-check-not=math.tanh

// The data of all time steps is multiplied at once; a step adds the product of its state, and all
// gates of all units are one generic that updates both states in place.
// LINALG-LABEL: func.func private @lstm
// LINALG: %[[DATA:[0-9]+]] = linalg.generic {{.*}}"reduction", {{.*}} ins(%arg0, {{.*}} outs({{.*}} : tensor<5x3x256xf32>)
// LINALG: scf.for {{.*}} %[[H:[a-z0-9]+]] = %{{[0-9]+}}, %[[C:[a-z0-9]+]] = %{{[0-9]+}}, %{{[a-z0-9]+}} = %{{[0-9]+}})
// LINALG: tensor.extract_slice %[[DATA]]
// LINALG: linalg.generic {{.*}}"reduction", {{.*}} ins(%[[H]],
// LINALG: linalg.generic {{.*}} iterator_types = ["parallel", "parallel"]} {{.*}} outs(%[[H]], %[[C]] :
// LINALG-COUNT-2: math.exp
// LINALG: math.tanh
// LINALG: math.exp
// LINALG: math.tanh
// LINALG-NOT: linalg.generic
// LINALG: tensor.insert_slice

// Products and states lie in the workspace; no function is called.
// KERNEL: func.func private @lstm(%{{.*}}: memref<[[BYTES:[0-9]+]]xi8>) attributes {{.*}}nnvm.workspace = [[BYTES]] : i64}
// KERNEL: math.fma

func.func private @lstm(%x: tensor<5x3x32xf32>, %w: tensor<1x256x32xf32>, %r: tensor<1x256x64xf32>, %b: tensor<1x512xf32>, %h: tensor<1x3x64xf32>, %c: tensor<1x3x64xf32>, %p: tensor<1x192xf32>) -> (tensor<5x1x3x64xf32>, tensor<1x3x64xf32>, tensor<1x3x64xf32>) {
  %0:3 = "nnvm.lstm"(%x, %w, %r, %b, %h, %c, %p) {hidden_size = 64 : i64} : (tensor<5x3x32xf32>, tensor<1x256x32xf32>, tensor<1x256x64xf32>, tensor<1x512xf32>, tensor<1x3x64xf32>, tensor<1x3x64xf32>, tensor<1x192xf32>) -> (tensor<5x1x3x64xf32>, tensor<1x3x64xf32>, tensor<1x3x64xf32>)
  return %0#0, %0#1, %0#2 : tensor<5x1x3x64xf32>, tensor<1x3x64xf32>, tensor<1x3x64xf32>
}

// A reset gate that applies after the product multiplies its bias, too: only that is left to the steps.
// LINALG-LABEL: func.func private @gru
// LINALG: linalg.generic {{.*}}"reduction", {{.*}} ins(%arg0, {{.*}} outs({{.*}} : tensor<5x3x96xf32>)
// LINALG: scf.for {{.*}} %[[H:[a-z0-9]+]] = %{{[0-9]+}}, %{{[a-z0-9]+}} = %{{[0-9]+}})
// LINALG: linalg.generic {{.*}}"reduction", {{.*}} ins(%[[H]],
// LINALG: linalg.generic {{.*}} outs(%[[H]] : tensor<3x32xf32>)
// KERNEL: func.func private @gru(%{{.*}}: memref<[[BYTES:[0-9]+]]xi8>) attributes {{.*}}nnvm.workspace = [[BYTES]] : i64}
// KERNEL-LABEL: func.func @main

func.func private @gru(%x: tensor<5x3x32xf32>, %w: tensor<1x96x32xf32>, %r: tensor<1x96x32xf32>, %b: tensor<1x192xf32>, %h: tensor<1x3x32xf32>) -> (tensor<5x1x3x32xf32>, tensor<1x3x32xf32>) {
  %0:2 = "nnvm.gru"(%x, %w, %r, %b, %h) {hidden_size = 32 : i64, linear_before_reset = true} : (tensor<5x3x32xf32>, tensor<1x96x32xf32>, tensor<1x96x32xf32>, tensor<1x192xf32>, tensor<1x3x32xf32>) -> (tensor<5x1x3x32xf32>, tensor<1x3x32xf32>)
  return %0#0, %0#1 : tensor<5x1x3x32xf32>, tensor<1x3x32xf32>
}

func.func @main(%lstm_x: tensor<5x3x32xf32>, %lstm_w: tensor<1x256x32xf32>, %lstm_r: tensor<1x256x64xf32>, %lstm_b: tensor<1x512xf32>, %lstm_h: tensor<1x3x64xf32>, %lstm_c: tensor<1x3x64xf32>, %lstm_p: tensor<1x192xf32>, %gru_x: tensor<5x3x32xf32>, %gru_w: tensor<1x96x32xf32>, %gru_r: tensor<1x96x32xf32>, %gru_b: tensor<1x192xf32>, %gru_h: tensor<1x3x32xf32>) -> (tensor<5x1x3x64xf32>, tensor<1x3x64xf32>, tensor<1x3x64xf32>, tensor<5x1x3x32xf32>, tensor<1x3x32xf32>) {
  %0:3 = call @lstm(%lstm_x, %lstm_w, %lstm_r, %lstm_b, %lstm_h, %lstm_c, %lstm_p) : (tensor<5x3x32xf32>, tensor<1x256x32xf32>, tensor<1x256x64xf32>, tensor<1x512xf32>, tensor<1x3x64xf32>, tensor<1x3x64xf32>, tensor<1x192xf32>) -> (tensor<5x1x3x64xf32>, tensor<1x3x64xf32>, tensor<1x3x64xf32>)
  %1:2 = call @gru(%gru_x, %gru_w, %gru_r, %gru_b, %gru_h) : (tensor<5x3x32xf32>, tensor<1x96x32xf32>, tensor<1x96x32xf32>, tensor<1x192xf32>, tensor<1x3x32xf32>) -> (tensor<5x1x3x32xf32>, tensor<1x3x32xf32>)
  return %0#0, %0#1, %0#2, %1#0, %1#1 : tensor<5x1x3x64xf32>, tensor<1x3x64xf32>, tensor<1x3x64xf32>, tensor<5x1x3x32xf32>, tensor<1x3x32xf32>
}
