// RUN: nnvm-opt %s --convert-nnvm-to-linalg | FileCheck %s --check-prefix=LINALG
// RUN: nnvm-opt %s --nnvm-plan-memory --convert-nnvm-to-linalg --nnvm-lower-kernels='target=cpu:x86-64-v4 threads=2' | FileCheck %s --check-prefix=KERNEL --implicit-check-not=memref.alloc --implicit-check-not=scf.parallel --implicit-check-not=math.exp --implicit-check-not=math.erf --implicit-check-not=math.log1p

// LINALG-LABEL: func.func private @relu
// LINALG: linalg.generic {{.*}} ["parallel"]} ins(%arg0
// LINALG: arith.maximumf

// Threads take pieces of whole vectors; what is left over comes after them.
// KERNEL-LABEL: func.func private @relu
// KERNEL: scf.parallel
// KERNEL: arith.maximumf {{.*}} : vector<16xf32>
// KERNEL: vector.store
// KERNEL: scf.reduce
// KERNEL: vector.maskedstore

func.func private @relu(%x: tensor<1048579xf32>) -> tensor<1048579xf32> {
  %0 = "nnvm.relu"(%x) : (tensor<1048579xf32>) -> tensor<1048579xf32>
  return %0 : tensor<1048579xf32>
}

// LINALG-LABEL: func.func private @gelu
// LINALG: math.erf

// A polynomial for whole vectors and for the last 12 of 140 elements, which are masked.
// KERNEL-LABEL: func.func private @gelu
// KERNEL: vector.load
// KERNEL: math.fma {{.*}} : vector<16xf32>
// KERNEL: vector.store
// KERNEL: vector.maskedload
// KERNEL: math.fma {{.*}} : vector<16xf32>
// KERNEL: vector.maskedstore

func.func private @gelu(%x: tensor<4x35xf32>) -> tensor<4x35xf32> {
  %0 = "nnvm.gelu"(%x) : (tensor<4x35xf32>) -> tensor<4x35xf32>
  return %0 : tensor<4x35xf32>
}

// A form that does not overflow: max(x, 0) + log1p(exp(-|x|)).
// LINALG-LABEL: func.func private @softplus
// LINALG: %[[SIZE:[0-9]+]] = math.absf
// LINALG: %[[BELOW:[0-9]+]] = arith.negf %[[SIZE]]
// LINALG: %[[DECAY:[0-9]+]] = math.exp %[[BELOW]]
// LINALG: math.log1p %[[DECAY]]
// KERNEL-LABEL: func.func private @softplus
// KERNEL: math.fma {{.*}} : vector<16xf32>
// KERNEL: vector.store
// KERNEL-LABEL: func.func @main

func.func private @softplus(%x: tensor<64xf32>) -> tensor<64xf32> {
  %0 = "nnvm.softplus"(%x) : (tensor<64xf32>) -> tensor<64xf32>
  return %0 : tensor<64xf32>
}

func.func @main(%relu_x: tensor<1048579xf32>, %gelu_x: tensor<4x35xf32>, %softplus_x: tensor<64xf32>) -> (tensor<1048579xf32>, tensor<4x35xf32>, tensor<64xf32>) {
  %0 = call @relu(%relu_x) : (tensor<1048579xf32>) -> tensor<1048579xf32>
  %1 = call @gelu(%gelu_x) : (tensor<4x35xf32>) -> tensor<4x35xf32>
  %2 = call @softplus(%softplus_x) : (tensor<64xf32>) -> tensor<64xf32>
  return %0, %1, %2 : tensor<1048579xf32>, tensor<4x35xf32>, tensor<64xf32>
}
