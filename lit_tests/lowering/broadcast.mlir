// RUN: nnvm-opt %s --convert-nnvm-to-linalg | FileCheck %s --check-prefix=LINALG --implicit-check-not=tensor.expand_shape --implicit-check-not=tensor.collapse_shape
// RUN: nnvm-opt %s --nnvm-plan-memory --convert-nnvm-to-linalg --nnvm-lower-kernels='target=cpu:x86-64-v4 threads=2' | FileCheck %s --check-prefix=KERNEL --implicit-check-not=memref.alloc --implicit-check-not=scf.parallel

// LINALG-DAG: #[[ALL:[a-z0-9]+]] = affine_map<(d0, d1) -> (d0, d1)>
// LINALG-DAG: #[[ROW:[a-z0-9]+]] = affine_map<(d0, d1) -> (d1)>
// LINALG-DAG: #[[COLUMN:[a-z0-9]+]] = affine_map<(d0, d1) -> (d0, 0)>

// Operands are broadcast by their maps.
// LINALG-LABEL: func.func private @rows
// LINALG: linalg.generic {indexing_maps = [#[[ALL]], #[[ROW]], #[[ALL]]], {{.*}} ins(%arg0, %arg1 :
// LINALG-NOT: linalg.generic
// LINALG: return

// Threads share the rows, the last 13 of 1021 columns are masked.
// KERNEL-LABEL: func.func private @rows
// KERNEL: scf.parallel
// KERNEL: scf.for
// KERNEL: vector.load %arg0{{.*}} vector<16xf32>
// KERNEL: vector.load %arg1{{.*}} vector<16xf32>
// KERNEL: vector.store %{{.*}}, %arg2
// KERNEL: vector.maskedload %arg0
// KERNEL: vector.maskedload %arg1
// KERNEL: vector.maskedstore %arg2

func.func private @rows(%x: tensor<1024x1021xf32>, %y: tensor<1021xf32>) -> tensor<1024x1021xf32> {
  %0 = "nnvm.broadcast_add"(%x, %y) : (tensor<1024x1021xf32>, tensor<1021xf32>) -> tensor<1024x1021xf32>
  return %0 : tensor<1024x1021xf32>
}

// One element for a whole row is read before it.
// LINALG-LABEL: func.func private @columns
// LINALG: linalg.generic {indexing_maps = [#[[ALL]], #[[COLUMN]], #[[ALL]]]
// KERNEL-LABEL: func.func private @columns
// KERNEL: %[[Y:[0-9]+]] = memref.load %arg1
// KERNEL: %[[ALL:[0-9]+]] = vector.broadcast %[[Y]] : f32 to vector<16xf32>
// KERNEL: scf.for
// KERNEL: arith.mulf %{{.*}}, %[[ALL]] : vector<16xf32>

func.func private @columns(%x: tensor<8x32xf32>, %y: tensor<8x1xf32>) -> tensor<8x32xf32> {
  %0 = "nnvm.broadcast_mul"(%x, %y) : (tensor<8x32xf32>, tensor<8x1xf32>) -> tensor<8x32xf32>
  return %0 : tensor<8x32xf32>
}

// Booleans are bytes where they are stored; in a fused kernel they are masks, which are not.
// LINALG-LABEL: func.func private @chosen
// LINALG: arith.cmpf olt
// LINALG: arith.extui {{.*}} : i1 to i8
// LINALG: linalg.generic {{.*}} : tensor<8x32xi8>,
// LINALG: arith.select
// KERNEL-LABEL: func.func private @chosen
// KERNEL: arith.cmpf olt, {{.*}} : vector<16xf32>
// KERNEL: arith.select {{.*}} : vector<16xi1>, vector<16xf32>
// KERNEL: vector.store %{{.*}}, %arg2
// KERNEL-NOT: vector.store
// KERNEL-LABEL: func.func @main

func.func private @chosen(%x: tensor<8x32xf32>, %y: tensor<32xf32>) -> tensor<8x32xf32> {
  %0 = "nnvm.broadcast_less"(%x, %y) {out_dtype = "bool"} : (tensor<8x32xf32>, tensor<32xf32>) -> tensor<8x32xi1>
  %1 = "nnvm.where"(%0, %x, %y) : (tensor<8x32xi1>, tensor<8x32xf32>, tensor<32xf32>) -> tensor<8x32xf32>
  return %1 : tensor<8x32xf32>
}

func.func @main(%rows_x: tensor<1024x1021xf32>, %rows_y: tensor<1021xf32>, %columns_x: tensor<8x32xf32>, %columns_y: tensor<8x1xf32>, %chosen_x: tensor<8x32xf32>, %chosen_y: tensor<32xf32>) -> (tensor<1024x1021xf32>, tensor<8x32xf32>, tensor<8x32xf32>) {
  %0 = call @rows(%rows_x, %rows_y) : (tensor<1024x1021xf32>, tensor<1021xf32>) -> tensor<1024x1021xf32>
  %1 = call @columns(%columns_x, %columns_y) : (tensor<8x32xf32>, tensor<8x1xf32>) -> tensor<8x32xf32>
  %2 = call @chosen(%chosen_x, %chosen_y) : (tensor<8x32xf32>, tensor<32xf32>) -> tensor<8x32xf32>
  return %0, %1, %2 : tensor<1024x1021xf32>, tensor<8x32xf32>, tensor<8x32xf32>
}
