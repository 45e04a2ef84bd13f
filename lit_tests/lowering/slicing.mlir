// RUN: nnvm-opt %s --convert-nnvm-to-linalg | FileCheck %s --check-prefix=LINALG
// RUN: nnvm-opt %s --nnvm-plan-memory --convert-nnvm-to-linalg --nnvm-lower-kernels='target=cpu:x86-64-v4 threads=2' | FileCheck %s --check-prefix=KERNEL --implicit-check-not=memref.alloc --implicit-check-not=scf.parallel

// LINALG-DAG: #[[MIRRORED:[a-z0-9]+]] = affine_map<(d0, d1) -> (d0, -d1 + 31)>

// Parts are inserted into the result: each is written where it belongs, the last 3 of 35 columns masked.
// LINALG-LABEL: func.func private @joined
// LINALG: tensor.insert_slice %arg0 into %{{.*}}[0, 0]
// LINALG: tensor.insert_slice %arg1 into %{{.*}}[0, 16]
// LINALG-NOT: linalg.
// LINALG: return
// KERNEL-LABEL: func.func private @joined
// KERNEL: %[[X:[0-9]+]] = vector.load %arg0
// KERNEL: vector.store %[[X]], %arg2
// KERNEL: %[[Y:[0-9]+]] = vector.load %arg1
// KERNEL: vector.store %[[Y]], %arg2
// KERNEL: %[[REST:[0-9]+]] = vector.maskedload %arg1
// KERNEL: vector.maskedstore %arg2[%{{.*}}], %{{.*}}, %[[REST]]

func.func private @joined(%x: tensor<8x16xf32>, %y: tensor<8x35xf32>) -> tensor<8x51xf32> {
  %0 = "nnvm.concatenate"(%x, %y) {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0>} : (tensor<8x16xf32>, tensor<8x35xf32>) -> tensor<8x51xf32>
  return %0 : tensor<8x51xf32>
}

// LINALG-LABEL: func.func private @parts
// LINALG: tensor.extract_slice %arg0[0, 0] [8, 16] [1, 1]
// LINALG: tensor.extract_slice %arg0[0, 16] [8, 32] [1, 1]
// KERNEL-LABEL: func.func private @parts
// KERNEL: vector.store %{{.*}}, %arg1
// KERNEL: vector.store %{{.*}}, %arg2

func.func private @parts(%x: tensor<8x48xf32>) -> (tensor<8x16xf32>, tensor<8x32xf32>) {
  %0:2 = "nnvm.split"(%x) {axis = 1 : i64, indices_or_sections = array<i64: 16>, resultSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0>} : (tensor<8x48xf32>) -> (tensor<8x16xf32>, tensor<8x32xf32>)
  return %0#0, %0#1 : tensor<8x16xf32>, tensor<8x32xf32>
}

// A slice is an address of whoever reads it, not a copy.
// LINALG-LABEL: func.func private @cut
// LINALG: tensor.extract_slice %arg0[1, 8] [3, 32] [3, 1]
// LINALG: linalg.generic
// KERNEL-LABEL: func.func private @cut
// KERNEL: %[[X:[0-9]+]] = vector.load %arg0
// KERNEL: %[[Y:[0-9]+]] = arith.maximumf %[[X]]
// KERNEL: vector.store %[[Y]], %arg1
// KERNEL-NOT: vector.store

func.func private @cut(%x: tensor<9x48xf32>) -> tensor<3x32xf32> {
  %0 = "nnvm.strided_slice"(%x) {begin = array<i64: 1, 8>, end = array<i64: 9, 40>, stride = array<i64: 3, 1>} : (tensor<9x48xf32>) -> tensor<3x32xf32>
  %1 = "nnvm.relu"(%0) : (tensor<3x32xf32>) -> tensor<3x32xf32>
  return %1 : tensor<3x32xf32>
}

// LINALG-LABEL: func.func private @flip
// LINALG: linalg.generic {indexing_maps = [#[[MIRRORED]], #{{.*}}]
// KERNEL-LABEL: func.func private @flip
// KERNEL: vector.store {{.*}} : memref<128xf32>, vector<16xf32>

func.func private @flip(%x: tensor<4x32xf32>) -> tensor<4x32xf32> {
  %0 = "nnvm.flip"(%x) {axis = 1 : i64} : (tensor<4x32xf32>) -> tensor<4x32xf32>
  return %0 : tensor<4x32xf32>
}

// The positions of the lanes decide what stays.
// LINALG-LABEL: func.func private @lower
// LINALG: linalg.index 0
// LINALG: linalg.index 1
// LINALG: arith.cmpi sle
// KERNEL-LABEL: func.func private @lower
// KERNEL: vector.step
// KERNEL: arith.cmpi sle
// KERNEL: arith.select {{.*}} : vector<16xi1>, vector<16xf32>

func.func private @lower(%x: tensor<16x16xf32>) -> tensor<16x16xf32> {
  %0 = "nnvm.trilu"(%x) {upper = false} : (tensor<16x16xf32>) -> tensor<16x16xf32>
  return %0 : tensor<16x16xf32>
}

// Lengths are data: the position that they lead to is moved into range before anything is read.
// LINALG-LABEL: func.func private @reversed
// LINALG: linalg.generic {{.*}} ins(%arg1
// LINALG: arith.maxsi
// LINALG: arith.minsi
// LINALG: tensor.extract %arg0
// KERNEL-LABEL: func.func private @reversed
// KERNEL: arith.maxsi
// KERNEL: arith.minsi
// KERNEL: memref.load %arg0
// KERNEL-LABEL: func.func @main

func.func private @reversed(%x: tensor<4x16xf32>, %n: tensor<16xi64>) -> tensor<4x16xf32> {
  %0 = "nnvm.reverse_sequence"(%x, %n) : (tensor<4x16xf32>, tensor<16xi64>) -> tensor<4x16xf32>
  return %0 : tensor<4x16xf32>
}

func.func @main(%joined_x: tensor<8x16xf32>, %joined_y: tensor<8x35xf32>, %parts_x: tensor<8x48xf32>, %cut_x: tensor<9x48xf32>, %flip_x: tensor<4x32xf32>, %lower_x: tensor<16x16xf32>, %reversed_x: tensor<4x16xf32>, %reversed_n: tensor<16xi64>) -> (tensor<8x51xf32>, tensor<8x16xf32>, tensor<8x32xf32>, tensor<3x32xf32>, tensor<4x32xf32>, tensor<16x16xf32>, tensor<4x16xf32>) {
  %0 = call @joined(%joined_x, %joined_y) : (tensor<8x16xf32>, tensor<8x35xf32>) -> tensor<8x51xf32>
  %1:2 = call @parts(%parts_x) : (tensor<8x48xf32>) -> (tensor<8x16xf32>, tensor<8x32xf32>)
  %2 = call @cut(%cut_x) : (tensor<9x48xf32>) -> tensor<3x32xf32>
  %3 = call @flip(%flip_x) : (tensor<4x32xf32>) -> tensor<4x32xf32>
  %4 = call @lower(%lower_x) : (tensor<16x16xf32>) -> tensor<16x16xf32>
  %5 = call @reversed(%reversed_x, %reversed_n) : (tensor<4x16xf32>, tensor<16xi64>) -> tensor<4x16xf32>
  return %0, %1#0, %1#1, %2, %3, %4, %5 : tensor<8x51xf32>, tensor<8x16xf32>, tensor<8x32xf32>, tensor<3x32xf32>, tensor<4x32xf32>, tensor<16x16xf32>, tensor<4x16xf32>
}
