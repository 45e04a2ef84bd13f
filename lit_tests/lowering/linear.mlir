// RUN: nnvm-opt %s --convert-nnvm-to-linalg | FileCheck %s --check-prefix=LINALG --implicit-check-not=tensor.expand_shape --implicit-check-not=tensor.collapse_shape --implicit-check-not=linalg.transpose
// RUN: nnvm-opt %s --nnvm-plan-memory --convert-nnvm-to-linalg --nnvm-lower-kernels='target=cpu:x86-64-v4 threads=2' | FileCheck %s --check-prefix=KERNEL --implicit-check-not=memref.alloc --implicit-check-not=scf.parallel

// LINALG-DAG: #[[LHS:[a-z0-9]+]] = affine_map<(d0, d1, d2) -> (d0, d2)>
// LINALG-DAG: #[[RHS:[a-z0-9]+]] = affine_map<(d0, d1, d2) -> (d2, d1)>
// LINALG-DAG: #[[TRANSPOSED:[a-z0-9]+]] = affine_map<(d0, d1, d2) -> (d1, d2)>
// LINALG-DAG: #[[OUT:[a-z0-9]+]] = affine_map<(d0, d1, d2) -> (d0, d1)>
// LINALG-DAG: #[[STACKS:[a-z0-9]+]] = affine_map<(d0, d1, d2, d3, d4) -> (d0, 0, d2, d4)>
// LINALG-DAG: #[[STACK:[a-z0-9]+]] = affine_map<(d0, d1, d2, d3, d4) -> (d1, d4, d3)>

// The sum starts from the bias, and the weight is transposed by its map.
// LINALG-LABEL: func.func private @dense
// LINALG: %[[BIAS:[0-9]+]] = linalg.generic {{.*}} ins(%arg2 :
// LINALG: linalg.generic {indexing_maps = [#[[LHS]], #[[TRANSPOSED]], #[[OUT]]], iterator_types = ["parallel", "parallel", "reduction"]} ins(%arg0, %arg1 {{.*}} outs(%[[BIAS]] :
// LINALG-NOT: linalg.generic
// LINALG: return

// Both operands are contiguous along the sum: lanes are partial sums, added up once for each result.
// KERNEL-LABEL: func.func private @dense
// KERNEL: scf.parallel
// KERNEL: scf.for {{.*}} iter_args({{(%[a-z0-9]+ = %[a-z0-9_]+, ){15}%}}
// KERNEL: vector.load %arg0
// KERNEL: vector.load %arg1
// KERNEL: vector.fma {{.*}} : vector<16xf32>
// KERNEL: scf.yield
// KERNEL: vector.reduction <add>

func.func private @dense(%x: tensor<256x256xf32>, %w: tensor<256x256xf32>, %b: tensor<256xf32>) -> tensor<256x256xf32> {
  %0 = "nnvm.dense"(%x, %w, %b) {units = 256 : i64} : (tensor<256x256xf32>, tensor<256x256xf32>, tensor<256xf32>) -> tensor<256x256xf32>
  return %0 : tensor<256x256xf32>
}

// LINALG-LABEL: func.func private @matmul
// LINALG: linalg.generic {indexing_maps = [#[[LHS]], #[[RHS]], #[[OUT]]]

// Vectors run along the columns: elements of the left matrix are broadcast, accumulators stored as they are.
// KERNEL-LABEL: func.func private @matmul
// KERNEL: %[[SUMS:[0-9]+]]:24 = scf.for
// KERNEL: %[[ELEMENT:[0-9]+]] = memref.load %arg0
// KERNEL: vector.broadcast %[[ELEMENT]] : f32 to vector<16xf32>
// KERNEL: vector.fma {{.*}} : vector<16xf32>
// KERNEL-NOT: vector.reduction
// KERNEL: vector.store %[[SUMS]]#0, %arg2

func.func private @matmul(%a: tensor<64x128xf32>, %b: tensor<128x96xf32>) -> tensor<64x96xf32> {
  %0 = "nnvm.matmul"(%a, %b) : (tensor<64x128xf32>, tensor<128x96xf32>) -> tensor<64x96xf32>
  return %0 : tensor<64x96xf32>
}

// A stack of one is read again for each of the others: nothing is broadcast in memory.
// LINALG-LABEL: func.func private @batch
// LINALG: linalg.generic {indexing_maps = [#[[STACKS]], #[[STACK]], #{{.*}}], {{.*}} ins(%arg0, %arg1 :

// The last 3 of 19 columns are masked, in loads and in stores.
// KERNEL-LABEL: func.func private @batch
// KERNEL: %[[THREE:[a-z0-9_]+]] = arith.constant dense<[true, true, true, {{(false(, )?){13}]}}>
// KERNEL: vector.maskedload %arg1[%{{.*}}], %[[THREE]]
// KERNEL: vector.store
// KERNEL: vector.maskedstore %arg2[%{{.*}}], %[[THREE]]

func.func private @batch(%a: tensor<4x1x17x33xf32>, %b: tensor<3x33x19xf32>) -> tensor<4x3x17x19xf32> {
  %0 = "nnvm.batch_matmul"(%a, %b) : (tensor<4x1x17x33xf32>, tensor<3x33x19xf32>) -> tensor<4x3x17x19xf32>
  return %0 : tensor<4x3x17x19xf32>
}

// Zero points are subtracted as elements are read; one that is known to be zero is not.
// LINALG-LABEL: func.func private @integer
// LINALG: linalg.generic {{.*}} ins(%arg0, %arg1, %arg2 : tensor<32x64xi8>, tensor<64x48xi8>, tensor<i8>)
// LINALG-COUNT-1: arith.subi
// LINALG-NOT: arith.subi
// LINALG: arith.muli {{.*}} : i32
// KERNEL-LABEL: func.func private @integer
// KERNEL: arith.extsi {{.*}} : vector<16xi8> to vector<16xi32>
// KERNEL: arith.muli {{.*}} : vector<16xi32>
// KERNEL: vector.store {{.*}} : memref<1536xi32>, vector<16xi32>

func.func private @integer(%a: tensor<32x64xui8>, %b: tensor<64x48xi8>, %z: tensor<ui8>) -> tensor<32x48xi32> {
  %0 = "nnvm.constant"() {value = dense<0> : tensor<i8>} : () -> tensor<i8>
  %1 = "nnvm.matmul_integer"(%a, %b, %z, %0) : (tensor<32x64xui8>, tensor<64x48xi8>, tensor<ui8>, tensor<i8>) -> tensor<32x48xi32>
  return %1 : tensor<32x48xi32>
}

// float16 is summed in float32, and rounded once.
// LINALG-LABEL: func.func private @half
// LINALG: linalg.generic {{.*}} outs({{.*}} : tensor<32x48xf32>)
// LINALG: linalg.generic
// LINALG: arith.truncf
// KERNEL-LABEL: func.func private @half
// KERNEL: scf.for {{.*}} -> (vector<16xf32>,
// KERNEL: scf.yield
// KERNEL: %[[ROUNDED:[0-9]+]] = arith.truncf {{.*}} : vector<16xf32> to vector<16xf16>
// KERNEL: vector.store %[[ROUNDED]], %arg2
// KERNEL-LABEL: func.func @main

func.func private @half(%a: tensor<32x64xf16>, %b: tensor<64x48xf16>) -> tensor<32x48xf16> {
  %0 = "nnvm.matmul"(%a, %b) : (tensor<32x64xf16>, tensor<64x48xf16>) -> tensor<32x48xf16>
  return %0 : tensor<32x48xf16>
}

func.func @main(%dense_x: tensor<256x256xf32>, %dense_w: tensor<256x256xf32>, %dense_b: tensor<256xf32>, %matmul_a: tensor<64x128xf32>, %matmul_b: tensor<128x96xf32>, %batch_a: tensor<4x1x17x33xf32>, %batch_b: tensor<3x33x19xf32>, %integer_a: tensor<32x64xui8>, %integer_b: tensor<64x48xi8>, %integer_z: tensor<ui8>, %half_a: tensor<32x64xf16>, %half_b: tensor<64x48xf16>) -> (tensor<256x256xf32>, tensor<64x96xf32>, tensor<4x3x17x19xf32>, tensor<32x48xi32>, tensor<32x48xf16>) {
  %0 = call @dense(%dense_x, %dense_w, %dense_b) : (tensor<256x256xf32>, tensor<256x256xf32>, tensor<256xf32>) -> tensor<256x256xf32>
  %1 = call @matmul(%matmul_a, %matmul_b) : (tensor<64x128xf32>, tensor<128x96xf32>) -> tensor<64x96xf32>
  %2 = call @batch(%batch_a, %batch_b) : (tensor<4x1x17x33xf32>, tensor<3x33x19xf32>) -> tensor<4x3x17x19xf32>
  %3 = call @integer(%integer_a, %integer_b, %integer_z) : (tensor<32x64xui8>, tensor<64x48xi8>, tensor<ui8>) -> tensor<32x48xi32>
  %4 = call @half(%half_a, %half_b) : (tensor<32x64xf16>, tensor<64x48xf16>) -> tensor<32x48xf16>
  return %0, %1, %2, %3, %4 : tensor<256x256xf32>, tensor<64x96xf32>, tensor<4x3x17x19xf32>, tensor<32x48xi32>, tensor<32x48xf16>
}
