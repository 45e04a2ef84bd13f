// RUN: nnvm-opt %s --convert-nnvm-to-linalg | FileCheck %s --check-prefix=LINALG
// RUN: nnvm-opt %s --nnvm-plan-memory --convert-nnvm-to-linalg --nnvm-lower-kernels='target=cpu:x86-64-v4 threads=2' | FileCheck %s --check-prefix=KERNEL --implicit-check-not=memref.alloc --implicit-check-not=scf.parallel

// LINALG-LABEL: func.func private @sum
// LINALG: linalg.generic {{.*}} iterator_types = ["parallel", "reduction"]} ins(%arg0
// LINALG: arith.addf

// Four accumulators hide the latency of an addition; they meet at the end of the row, then their lanes.
// KERNEL-LABEL: func.func private @sum
// KERNEL: scf.parallel
// KERNEL: %[[SUMS:[0-9]+]]:4 = scf.for {{.*}} -> (vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>)
// KERNEL: scf.yield
// KERNEL-COUNT-3: arith.addf {{.*}} : vector<16xf32>
// KERNEL-NEXT: vector.reduction <add>
// KERNEL-NOT: vector.reduction

func.func private @sum(%x: tensor<1024x1024xf32>) -> tensor<1024xf32> {
  %0 = "nnvm.sum"(%x) {axis = array<i64: 1>} : (tensor<1024x1024xf32>) -> tensor<1024xf32>
  return %0 : tensor<1024xf32>
}

// Over the first axis lanes are results: no lanes are combined, the last 3 of 35 are masked.
// LINALG-LABEL: func.func private @columns
// LINALG: iterator_types = ["reduction", "parallel"]
// KERNEL-LABEL: func.func private @columns
// KERNEL-NOT: vector.reduction
// KERNEL: arith.maximumf {{.*}} : vector<16xf32>
// KERNEL: vector.store
// KERNEL: vector.maskedstore %arg1

func.func private @columns(%x: tensor<8x35xf32>) -> tensor<35xf32> {
  %0 = "nnvm.max"(%x) {axis = array<i64: 0>} : (tensor<8x35xf32>) -> tensor<35xf32>
  return %0 : tensor<35xf32>
}

// Lanes beyond the row's end count as what changes no sum, -0. The division is the epilogue.
// LINALG-LABEL: func.func private @mean
// LINALG: linalg.generic {{.*}}"reduction"]
// LINALG: linalg.generic
// LINALG: arith.divf
// KERNEL-LABEL: func.func private @mean
// KERNEL: %[[ROW:[a-z0-9_]+]] = arith.constant dense<[{{(true, ){5}(false(, )?){11}]}}>
// KERNEL: %[[ZERO:[a-z0-9_]+]] = arith.constant dense<-0.000000e+00>
// KERNEL: %[[REST:[0-9]+]] = vector.maskedload %arg0[%{{.*}}], %[[ROW]]
// KERNEL: arith.select %[[ROW]], %[[REST]], %[[ZERO]]
// KERNEL: vector.reduction <add>
// KERNEL: %[[MEAN:[0-9]+]] = arith.divf
// KERNEL: memref.store %[[MEAN]], %arg1

func.func private @mean(%x: tensor<2x3x37xf32>) -> tensor<2x3xf32> {
  %0 = "nnvm.mean"(%x) {axis = array<i64: 2>} : (tensor<2x3x37xf32>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}

// What is not a result lies in the workspace, here the maximum that belongs to the position.
// LINALG-LABEL: func.func private @largest
// LINALG: linalg.generic {{.*}} outs({{.*}} : tensor<4xf32>, tensor<4xi32>)
// KERNEL: func.func private @largest(%{{.*}}, %[[SPACE:[a-z0-9]+]]: memref<[[BYTES:[0-9]+]]xi8>) attributes {{.*}}nnvm.workspace = [[BYTES]] : i64}
// KERNEL: memref.view %[[SPACE]][%{{.*}}][] : memref<[[BYTES]]xi8> to memref<4xf32>

func.func private @largest(%x: tensor<4x33xf32>) -> tensor<4xi32> {
  %0 = "nnvm.argmax"(%x) {axis = array<i64: 1>} : (tensor<4x33xf32>) -> tensor<4xi32>
  return %0 : tensor<4xi32>
}

// A reduction that also writes what it has so far: one pass.
// LINALG-LABEL: func.func private @running
// LINALG: linalg.generic {{.*}} iterator_types = ["parallel", "reduction"]} {{.*}} outs({{.*}} : tensor<4xf32>, tensor<4x8xf32>)
// LINALG: linalg.yield %[[SUM:[0-9]+]], %[[SUM]]
// KERNEL: func.func private @running(%{{.*}}: memref<[[BYTES:[0-9]+]]xi8>) attributes {{.*}}nnvm.workspace = [[BYTES]] : i64}
// KERNEL-LABEL: func.func @main

func.func private @running(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = "nnvm.cumsum"(%x) {axis = 1 : i64} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

func.func @main(%sum_x: tensor<1024x1024xf32>, %columns_x: tensor<8x35xf32>, %mean_x: tensor<2x3x37xf32>, %largest_x: tensor<4x33xf32>, %running_x: tensor<4x8xf32>) -> (tensor<1024xf32>, tensor<35xf32>, tensor<2x3xf32>, tensor<4xi32>, tensor<4x8xf32>) {
  %0 = call @sum(%sum_x) : (tensor<1024x1024xf32>) -> tensor<1024xf32>
  %1 = call @columns(%columns_x) : (tensor<8x35xf32>) -> tensor<35xf32>
  %2 = call @mean(%mean_x) : (tensor<2x3x37xf32>) -> tensor<2x3xf32>
  %3 = call @largest(%largest_x) : (tensor<4x33xf32>) -> tensor<4xi32>
  %4 = call @running(%running_x) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return %0, %1, %2, %3, %4 : tensor<1024xf32>, tensor<35xf32>, tensor<2x3xf32>, tensor<4xi32>, tensor<4x8xf32>
}
