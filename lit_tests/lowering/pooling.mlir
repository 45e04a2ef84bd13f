// RUN: nnvm-opt %s --convert-nnvm-to-linalg | FileCheck %s --check-prefix=LINALG
// RUN: nnvm-opt %s --nnvm-plan-memory --convert-nnvm-to-linalg --nnvm-lower-kernels='target=cpu:x86-64-v4 threads=2' | FileCheck %s --check-prefix=KERNEL --implicit-check-not=memref.alloc --implicit-check-not=scf.parallel

// LINALG-DAG: #[[STRIDED:[a-z0-9]+]] = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1, d2 * 2 + d5, d3 * 2 + d6, d4)>
// LINALG-DAG: #[[WINDOW:[a-z0-9]+]] = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d5, d6)>

// Padding is the smallest value; the window's shape is all that is used of its operand.
// LINALG-LABEL: func.func private @max
// LINALG: %[[LOWEST:.*]] = arith.constant 0xFF800000 : f32
// LINALG: tensor.pad
// LINALG: tensor.yield %[[LOWEST]]
// LINALG: linalg.generic {indexing_maps = [#[[STRIDED]], #[[WINDOW]], #{{.*}}], iterator_types = [{{("parallel", ){5}"}}reduction", "reduction"]}
// LINALG: arith.maximumf

// Outputs of a row are accumulated side by side; rows of padding are left out, not read. No padded copy is made.
// KERNEL-LABEL: func.func private @max
// KERNEL: scf.parallel
// KERNEL: arith.maxsi
// KERNEL: arith.minsi
// KERNEL: scf.for {{.*}} iter_args({{(%[a-z0-9]+ = %[a-z0-9_]+, ){7}%}}
// KERNEL-NOT: {{maskedload|gather}}
// KERNEL: arith.maximumf {{.*}} : vector<16xf32>
// KERNEL: vector.store
// KERNEL-NOT: {{maskedload|gather}}

func.func private @max(%x: tensor<1x8x112x112x16xf32>) -> tensor<1x8x56x56x16xf32> {
  %0 = "nnvm.max_pool2d"(%x) {pool_size = array<i64: 3, 3>, strides = array<i64: 2, 2>, padding = array<i64: 1, 1>, layout = "NCHW16c"} : (tensor<1x8x112x112x16xf32>) -> tensor<1x8x56x56x16xf32>
  return %0 : tensor<1x8x56x56x16xf32>
}

// Every other element of a row: whole vectors, and a shuffle.
// KERNEL-LABEL: func.func private @strided
// KERNEL-NOT: gather
// KERNEL: vector.shuffle {{.*}} [0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30]
// KERNEL: arith.maximumf {{.*}} : vector<16xf32>

func.func private @strided(%x: tensor<1x2x8x32xf32>) -> tensor<1x2x4x16xf32> {
  %0 = "nnvm.max_pool2d"(%x) {pool_size = array<i64: 2, 2>, strides = array<i64: 2, 2>} : (tensor<1x2x8x32xf32>) -> tensor<1x2x4x16xf32>
  return %0 : tensor<1x2x4x16xf32>
}

// The sum of a window, times the reciprocal of its size.
// LINALG-LABEL: func.func private @average
// LINALG-NOT: tensor.pad
// LINALG: linalg.generic {{.*}}"reduction", "reduction"]
// LINALG: arith.addf
// LINALG: linalg.generic
// LINALG: arith.constant 2.500000e-01
// LINALG: arith.mulf

// The product is the epilogue of the accumulators: sums are not stored.
// KERNEL-LABEL: func.func private @average
// KERNEL: %[[QUARTER:[a-z0-9_]+]] = arith.constant dense<2.500000e-01> : vector<16xf32>
// KERNEL: %[[SUMS:[0-9]+]]:4 = scf.for
// KERNEL: arith.addf {{.*}} : vector<16xf32>
// KERNEL-NOT: vector.store
// KERNEL: %[[MEAN:[0-9]+]] = arith.mulf %[[SUMS]]#0, %[[QUARTER]]
// KERNEL: vector.store %[[MEAN]], %arg1

func.func private @average(%x: tensor<1x8x8x32xf32>) -> tensor<1x4x4x32xf32> {
  %0 = "nnvm.avg_pool2d"(%x) {pool_size = array<i64: 2, 2>, strides = array<i64: 2, 2>, layout = "NHWC"} : (tensor<1x8x8x32xf32>) -> tensor<1x4x4x32xf32>
  return %0 : tensor<1x4x4x32xf32>
}

// A row-wise reduction: the last of 49 elements is masked, sums of lanes are added once.
// LINALG-LABEL: func.func private @global
// LINALG: linalg.generic {{.*}}"parallel", "parallel", "reduction", "reduction"]
// KERNEL-LABEL: func.func private @global
// KERNEL: %[[ONE:[a-z0-9_]+]] = arith.constant dense<[true, {{(false(, )?){15}]}}>
// KERNEL: vector.maskedload %arg0[%{{.*}}], %[[ONE]]
// KERNEL: vector.reduction <add>
// KERNEL-NOT: vector.reduction
// KERNEL: memref.store

func.func private @global(%x: tensor<1x64x7x7xf32>) -> tensor<1x64x1x1xf32> {
  %0 = "nnvm.global_avg_pool2d"(%x) : (tensor<1x64x7x7xf32>) -> tensor<1x64x1x1xf32>
  return %0 : tensor<1x64x1x1xf32>
}

// Two results of one generic, the maximum and where it is: plain loops that write both in place.
// LINALG-LABEL: func.func private @indices
// LINALG: linalg.generic {{.*}} outs({{.*}} : tensor<1x2x4x4xf32>, tensor<1x2x4x4xi64>)
// KERNEL: func.func private @indices(%{{.*}}, %[[BEST:[a-z0-9]+]]: memref<1x2x4x4xf32>, %[[AT:[a-z0-9]+]]: memref<1x2x4x4xi64>) attributes {nnvm.plain_loops}
// KERNEL: memref.store %{{.*}}, %[[BEST]]
// KERNEL: memref.store %{{.*}}, %[[AT]]
// KERNEL-LABEL: func.func @main

func.func private @indices(%x: tensor<1x2x8x8xf32>) -> (tensor<1x2x4x4xf32>, tensor<1x2x4x4xi64>) {
  %0:2 = "nnvm.max_pool2d_indices"(%x) {pool_size = array<i64: 2, 2>, strides = array<i64: 2, 2>} : (tensor<1x2x8x8xf32>) -> (tensor<1x2x4x4xf32>, tensor<1x2x4x4xi64>)
  return %0#0, %0#1 : tensor<1x2x4x4xf32>, tensor<1x2x4x4xi64>
}

func.func @main(%max_x: tensor<1x8x112x112x16xf32>, %strided_x: tensor<1x2x8x32xf32>, %average_x: tensor<1x8x8x32xf32>, %global_x: tensor<1x64x7x7xf32>, %indices_x: tensor<1x2x8x8xf32>) -> (tensor<1x8x56x56x16xf32>, tensor<1x2x4x16xf32>, tensor<1x4x4x32xf32>, tensor<1x64x1x1xf32>, tensor<1x2x4x4xf32>, tensor<1x2x4x4xi64>) {
  %0 = call @max(%max_x) : (tensor<1x8x112x112x16xf32>) -> tensor<1x8x56x56x16xf32>
  %1 = call @strided(%strided_x) : (tensor<1x2x8x32xf32>) -> tensor<1x2x4x16xf32>
  %2 = call @average(%average_x) : (tensor<1x8x8x32xf32>) -> tensor<1x4x4x32xf32>
  %3 = call @global(%global_x) : (tensor<1x64x7x7xf32>) -> tensor<1x64x1x1xf32>
  %4:2 = call @indices(%indices_x) : (tensor<1x2x8x8xf32>) -> (tensor<1x2x4x4xf32>, tensor<1x2x4x4xi64>)
  return %0, %1, %2, %3, %4#0, %4#1 : tensor<1x8x56x56x16xf32>, tensor<1x2x4x16xf32>, tensor<1x4x4x32xf32>, tensor<1x64x1x1xf32>, tensor<1x2x4x4xf32>, tensor<1x2x4x4xi64>
}
