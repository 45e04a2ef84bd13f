// RUN: nnvm-opt %s --convert-nnvm-to-linalg | FileCheck %s --check-prefix=LINALG
// RUN: nnvm-opt %s --nnvm-plan-memory --convert-nnvm-to-linalg --nnvm-lower-kernels='target=cpu:x86-64-v4 threads=2' | FileCheck %s --check-prefix=KERNEL --implicit-check-not=memref.alloc --implicit-check-not=scf.parallel

// LINALG-DAG: #[[REPEATED:[a-z0-9]+]] = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1, d2, d4, d6)>

// Two more axes that the data is broadcast along.
// LINALG-LABEL: func.func private @nearest
// LINALG: linalg.generic {indexing_maps = [#[[REPEATED]], #{{.*}}]
// LINALG-NEXT: ^bb0(%[[X:[a-z0-9]+]]: f32
// LINALG-NEXT: linalg.yield %[[X]]
// LINALG: tensor.collapse_shape
// KERNEL-LABEL: func.func private @nearest
// KERNEL: scf.parallel
// KERNEL: %[[X:[0-9]+]] = vector.load %arg0{{.*}} vector<16xf32>
// KERNEL: vector.store %[[X]], %arg1

func.func private @nearest(%x: tensor<1x32x64x64x16xf32>) -> tensor<1x32x128x128x16xf32> {
  %0 = "nnvm.upsampling"(%x) {scale = 2 : i64, layout = "NCHW16c"} : (tensor<1x32x64x64x16xf32>) -> tensor<1x32x128x128x16xf32>
  return %0 : tensor<1x32x128x128x16xf32>
}

// One axis after the other: for each position two neighbours and their weights, which are tables.
// LINALG-LABEL: func.func private @bilinear
// LINALG: arith.constant dense<{{.*}} : tensor<7x2xi64>
// LINALG: arith.constant dense<{{.*}} : tensor<7x2xf32>
// LINALG: %[[ROWS:[0-9]+]] = linalg.generic {{.*}}"reduction"]
// LINALG: tensor.extract %arg0
// LINALG: linalg.generic {{.*}}"reduction"]
// LINALG: tensor.extract %[[ROWS]]
// LINALG-NOT: linalg.generic
// LINALG: return

// What lies between the two is in the workspace; tables are constants of the program.
// KERNEL: func.func private @bilinear(%{{.*}}, %[[SPACE:[a-z0-9]+]]: memref<[[BYTES:[0-9]+]]xi8>) attributes {{.*}}nnvm.workspace = [[BYTES]] : i64}
// KERNEL-DAG: memref.get_global
// KERNEL-DAG: memref.view %[[SPACE]][%{{.*}}][] : memref<[[BYTES]]xi8> to memref<1x7x4x32xf32>
// KERNEL-LABEL: func.func @main

func.func private @bilinear(%x: tensor<1x4x4x32xf32>) -> tensor<1x7x5x32xf32> {
  %0 = "nnvm.resize"(%x) {size = array<i64: 7, 5>, layout = "NHWC"} : (tensor<1x4x4x32xf32>) -> tensor<1x7x5x32xf32>
  return %0 : tensor<1x7x5x32xf32>
}

func.func @main(%nearest_x: tensor<1x32x64x64x16xf32>, %bilinear_x: tensor<1x4x4x32xf32>) -> (tensor<1x32x128x128x16xf32>, tensor<1x7x5x32xf32>) {
  %0 = call @nearest(%nearest_x) : (tensor<1x32x64x64x16xf32>) -> tensor<1x32x128x128x16xf32>
  %1 = call @bilinear(%bilinear_x) : (tensor<1x4x4x32xf32>) -> tensor<1x7x5x32xf32>
  return %0, %1 : tensor<1x32x128x128x16xf32>, tensor<1x7x5x32xf32>
}
