// RUN: nnvm-opt %s --convert-nnvm-to-linalg | FileCheck %s --check-prefix=LINALG
// RUN: nnvm-opt %s --nnvm-plan-memory --convert-nnvm-to-linalg --nnvm-lower-kernels='target=cpu:x86-64-v4 threads=2' | FileCheck %s --check-prefix=KERNEL --implicit-check-not=memref.alloc --implicit-check-not=scf.parallel

// LINALG-DAG: #[[NARROW:[a-z0-9]+]] = affine_map<(d0, d1) -> (d0, 0)>
// LINALG-DAG: #[[REPEATED:[a-z0-9]+]] = affine_map<(d0, d1, d2, d3) -> (0, d1, 0, d3)>

// Constants are stored around the data, which is moved without a check of each element.
// LINALG-LABEL: func.func private @frame
// LINALG: tensor.pad %arg0 low[1, 1] high[1, 1]
// LINALG-NOT: linalg.
// LINALG: return
// KERNEL-LABEL: func.func private @frame
// KERNEL-NOT: arith.cmpi
// KERNEL: %[[ROW:[0-9]+]] = vector.load %arg0
// KERNEL: vector.store %[[ROW]], %arg1
// KERNEL: %[[REST:[0-9]+]] = vector.maskedload %arg0
// KERNEL: vector.maskedstore %arg1[%{{.*}}], %{{.*}}, %[[REST]]

func.func private @frame(%x: tensor<6x35xf32>) -> tensor<8x37xf32> {
  %0 = "nnvm.pad"(%x) {pad_width = array<i64: 1, 1, 1, 1>} : (tensor<6x35xf32>) -> tensor<8x37xf32>
  return %0 : tensor<8x37xf32>
}

// Repeated data is read in one generic; axes that are not padded are read as they are.
// LINALG-LABEL: func.func private @edge
// LINALG: linalg.generic
// LINALG: arith.maxsi
// LINALG: %[[ROW:[0-9]+]] = arith.minsi
// LINALG: %[[COLUMN:[0-9]+]] = linalg.index 1
// LINALG: tensor.extract %arg0[%[[ROW]], %[[COLUMN]]]

func.func private @edge(%x: tensor<6x32xf32>) -> tensor<8x32xf32> {
  %0 = "nnvm.pad"(%x) {pad_width = array<i64: 1, 1, 0, 0>, mode = "edge"} : (tensor<6x32xf32>) -> tensor<8x32xf32>
  return %0 : tensor<8x32xf32>
}

// An element is read once for its row.
// LINALG-LABEL: func.func private @column
// LINALG: linalg.generic {indexing_maps = [#[[NARROW]], #{{.*}}]
// KERNEL-LABEL: func.func private @column
// KERNEL: scf.for
// KERNEL: %[[X:[0-9]+]] = memref.load %arg0
// KERNEL: %[[ALL:[0-9]+]] = vector.broadcast %[[X]] : f32 to vector<16xf32>
// KERNEL: scf.for
// KERNEL: vector.store %[[ALL]], %arg1

func.func private @column(%x: tensor<4x1xf32>) -> tensor<4x32xf32> {
  %0 = "nnvm.broadcast_to"(%x) {shape = array<i64: 4, 32>} : (tensor<4x1xf32>) -> tensor<4x32xf32>
  return %0 : tensor<4x32xf32>
}

// Repetitions are axes that the data is broadcast along.
// LINALG-LABEL: func.func private @tile
// LINALG: linalg.generic {indexing_maps = [#[[REPEATED]], #{{.*}}]
// LINALG: tensor.collapse_shape
// KERNEL-LABEL: func.func private @tile
// KERNEL: %[[X:[0-9]+]] = vector.load %arg0
// KERNEL: vector.store %[[X]], %arg1
// KERNEL-LABEL: func.func @main

func.func private @tile(%x: tensor<2x16xf32>) -> tensor<4x48xf32> {
  %0 = "nnvm.tile"(%x) {reps = array<i64: 2, 3>} : (tensor<2x16xf32>) -> tensor<4x48xf32>
  return %0 : tensor<4x48xf32>
}

func.func @main(%frame_x: tensor<6x35xf32>, %edge_x: tensor<6x32xf32>, %column_x: tensor<4x1xf32>, %tile_x: tensor<2x16xf32>) -> (tensor<8x37xf32>, tensor<8x32xf32>, tensor<4x32xf32>, tensor<4x48xf32>) {
  %0 = call @frame(%frame_x) : (tensor<6x35xf32>) -> tensor<8x37xf32>
  %1 = call @edge(%edge_x) : (tensor<6x32xf32>) -> tensor<8x32xf32>
  %2 = call @column(%column_x) : (tensor<4x1xf32>) -> tensor<4x32xf32>
  %3 = call @tile(%tile_x) : (tensor<2x16xf32>) -> tensor<4x48xf32>
  return %0, %1, %2, %3 : tensor<8x37xf32>, tensor<8x32xf32>, tensor<4x32xf32>, tensor<4x48xf32>
}
