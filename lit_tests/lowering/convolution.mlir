// RUN: nnvm-opt %s --convert-nnvm-to-linalg | FileCheck %s --check-prefix=LINALG
// RUN: nnvm-opt %s --nnvm-plan-memory --convert-nnvm-to-linalg --nnvm-lower-kernels='target=cpu:x86-64-v4' | FileCheck %s --check-prefix=AVX512
// RUN: nnvm-opt %s --nnvm-plan-memory --convert-nnvm-to-linalg --nnvm-lower-kernels='target=cpu:haswell' | FileCheck %s --check-prefix=AVX2
// RUN: nnvm-opt %s --nnvm-plan-memory --convert-nnvm-to-linalg --nnvm-lower-kernels='target=cpu:x86-64-v4 threads=2' | FileCheck %s --check-prefix=THREADS

// One contraction over taps and channels that starts from the bias, and its epilogue.
// LINALG-LABEL: func.func private @conv
// LINALG: tensor.pad
// LINALG: linalg.generic {{.*}}"reduction", "reduction", "reduction"
// LINALG: arith.mulf
// LINALG: arith.addf
// LINALG: arith.maximumf

// Accumulators of one tile stay in registers over all reduction loops; nothing is allocated.
// AVX512-LABEL: func.func private @conv
// AVX512-NOT: memref.alloc
// AVX512: scf.for {{.*}} iter_args
// AVX512: {{vector|math}}.fma {{.*}} : vector<16xf32>
// AVX512: arith.maximumf {{.*}} : vector<16xf32>
// AVX512: vector.store
// AVX512-LABEL: func.func @main
// AVX512: call @conv

// AVX2-LABEL: func.func private @conv
// AVX2: {{vector|math}}.fma {{.*}} : vector<8xf32>
// AVX2-NOT: vector<16xf32>

// One parallel loop for a kernel.
// THREADS-LABEL: func.func private @conv
// THREADS: scf.parallel
// THREADS-NOT: scf.parallel
// THREADS-LABEL: func.func @main

func.func private @conv(%x: tensor<1x28x28x64xf32>, %w: tensor<3x3x64x64xf32>, %b: tensor<64xf32>) -> tensor<1x28x28x64xf32> {
  %0 = "nnvm.conv2d"(%x, %w, %b) {channels = 64 : i64, kernel_size = array<i64: 3, 3>, padding = array<i64: 1, 1>, layout = "NHWC", kernel_layout = "HWIO"} : (tensor<1x28x28x64xf32>, tensor<3x3x64x64xf32>, tensor<64xf32>) -> tensor<1x28x28x64xf32>
  %1 = "nnvm.relu"(%0) : (tensor<1x28x28x64xf32>) -> tensor<1x28x28x64xf32>
  return %1 : tensor<1x28x28x64xf32>
}

func.func @main(%x: tensor<1x28x28x64xf32>, %w: tensor<3x3x64x64xf32>, %b: tensor<64xf32>) -> tensor<1x28x28x64xf32> {
  %0 = call @conv(%x, %w, %b) : (tensor<1x28x28x64xf32>, tensor<3x3x64x64xf32>, tensor<64xf32>) -> tensor<1x28x28x64xf32>
  return %0 : tensor<1x28x28x64xf32>
}
