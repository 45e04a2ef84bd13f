// RUN: nnvm-opt %s --convert-nnvm-to-linalg | FileCheck %s --check-prefix=LINALG
// RUN: nnvm-opt %s --nnvm-plan-memory --convert-nnvm-to-linalg --nnvm-lower-kernels='target=cpu:x86-64-v4 threads=2' | FileCheck %s --check-prefix=KERNEL --implicit-check-not=memref.alloc --implicit-check-not=scf.parallel

// LINALG-DAG: #[[SWAPPED:[a-z0-9]+]] = affine_map<(d0, d1) -> (d1, d0)>
// LINALG-DAG: #[[BLOCKS:[a-z0-9]+]] = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d3, d4, d1, d5, d2)>

// LINALG-LABEL: func.func private @transpose
// LINALG: linalg.generic {indexing_maps = [#[[SWAPPED]], #{{.*}}], iterator_types = ["parallel", "parallel"]} ins(%arg0

// Tiles of 16 x 16 in registers: 16 rows, four rounds of 16 shuffles, 16 columns.
// KERNEL-LABEL: func.func private @transpose
// KERNEL: scf.parallel
// KERNEL-NOT: gather
// KERNEL-COUNT-16: vector.load %arg0
// KERNEL-COUNT-64: vector.shuffle
// KERNEL-NOT: vector.shuffle
// KERNEL-COUNT-16: vector.store %{{.*}}, %arg1
// KERNEL-NOT: vector.store

func.func private @transpose(%x: tensor<1024x1024xf32>) -> tensor<1024x1024xf32> {
  %0 = "nnvm.transpose"(%x) {axes = array<i64: 1, 0>} : (tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  return %0 : tensor<1024x1024xf32>
}

// Blocks of channels are a view and one permutation. Three tiles of 16 of the 49 pixels; the last is gathered.
// LINALG-LABEL: func.func private @blocked
// LINALG: tensor.expand_shape
// LINALG: linalg.generic
// LINALG-NOT: linalg.generic
// LINALG: return
// KERNEL-LABEL: func.func private @blocked
// KERNEL-COUNT-16: vector.load %arg0
// KERNEL-COUNT-64: vector.shuffle
// KERNEL-COUNT-16: vector.store %{{.*}}, %arg1
// KERNEL: vector.gather %arg0
// KERNEL: vector.store %{{.*}}, %arg1

func.func private @blocked(%x: tensor<1x32x7x7xf32>) -> tensor<1x2x7x7x16xf32> {
  %0 = "nnvm.layout_transform"(%x) {src_layout = "NCHW", dst_layout = "NCHW16c"} : (tensor<1x32x7x7xf32>) -> tensor<1x2x7x7x16xf32>
  return %0 : tensor<1x2x7x7x16xf32>
}

// One permutation of a view with two more axes for each block.
// LINALG-LABEL: func.func private @squares
// LINALG: tensor.expand_shape {{.*}} into tensor<1x3x16x2x32x2xf32>
// LINALG: linalg.generic {indexing_maps = [#[[BLOCKS]], #{{.*}}]
// LINALG: tensor.collapse_shape
// KERNEL-LABEL: func.func private @squares
// KERNEL: vector.shuffle {{.*}} [0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30]
// KERNEL: vector.store %{{.*}}, %arg1{{.*}} vector<16xf32>

func.func private @squares(%x: tensor<1x3x32x64xf32>) -> tensor<1x12x16x32xf32> {
  %0 = "nnvm.space_to_depth"(%x) {block_size = 2 : i64} : (tensor<1x3x32x64xf32>) -> tensor<1x12x16x32xf32>
  return %0 : tensor<1x12x16x32xf32>
}

// In a fused function a view is free: the kernel is one flat loop.
// LINALG-LABEL: func.func private @views
// LINALG: tensor.collapse_shape
// LINALG: tensor.expand_shape
// LINALG: linalg.generic
// LINALG-NOT: linalg.generic
// KERNEL-LABEL: func.func private @views
// KERNEL: scf.for
// KERNEL-NEXT: %[[X:[0-9]+]] = vector.load %arg0
// KERNEL-NEXT: %[[Y:[0-9]+]] = arith.maximumf %[[X]]
// KERNEL-NEXT: vector.store %[[Y]], %arg1
// KERNEL-NEXT: }
// KERNEL-NEXT: return
// KERNEL-LABEL: func.func @main

func.func private @views(%x: tensor<2x3x16xf32>) -> tensor<16x6xf32> {
  %0 = "nnvm.reshape"(%x) {shape = array<i64: 16, 6>} : (tensor<2x3x16xf32>) -> tensor<16x6xf32>
  %1 = "nnvm.relu"(%0) : (tensor<16x6xf32>) -> tensor<16x6xf32>
  return %1 : tensor<16x6xf32>
}

func.func @main(%transpose_x: tensor<1024x1024xf32>, %blocked_x: tensor<1x32x7x7xf32>, %squares_x: tensor<1x3x32x64xf32>, %views_x: tensor<2x3x16xf32>) -> (tensor<1024x1024xf32>, tensor<1x2x7x7x16xf32>, tensor<1x12x16x32xf32>, tensor<16x6xf32>) {
  %0 = call @transpose(%transpose_x) : (tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  %1 = call @blocked(%blocked_x) : (tensor<1x32x7x7xf32>) -> tensor<1x2x7x7x16xf32>
  %2 = call @squares(%squares_x) : (tensor<1x3x32x64xf32>) -> tensor<1x12x16x32xf32>
  %3 = call @views(%views_x) : (tensor<2x3x16xf32>) -> tensor<16x6xf32>
  return %0, %1, %2, %3 : tensor<1024x1024xf32>, tensor<1x2x7x7x16xf32>, tensor<1x12x16x32xf32>, tensor<16x6xf32>
}
