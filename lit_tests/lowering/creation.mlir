// RUN: nnvm-opt %s --convert-nnvm-to-linalg | FileCheck %s --check-prefix=LINALG
// RUN: nnvm-opt %s --nnvm-plan-memory --convert-nnvm-to-linalg --nnvm-lower-kernels='target=cpu:x86-64-v4 threads=2' | FileCheck %s --check-prefix=KERNEL --implicit-check-not=memref.alloc --implicit-check-not=scf.parallel

// A fill: of the operand nothing is read.
// LINALG-LABEL: func.func private @like
// LINALG: linalg.fill
// KERNEL-LABEL: func.func private @like
// KERNEL: scf.for
// KERNEL-NEXT: vector.store %{{.*}}, %arg1{{.*}} vector<16xf32>
// KERNEL-NEXT: }
// KERNEL-NEXT: vector.maskedstore %arg1
// KERNEL-NEXT: return

func.func private @like(%x: tensor<4x35xf32>) -> tensor<4x35xf32> {
  %0 = "nnvm.ones_like"(%x) : (tensor<4x35xf32>) -> tensor<4x35xf32>
  return %0 : tensor<4x35xf32>
}

// For others in the kernel it is a number, not a tensor.
// LINALG-LABEL: func.func private @offset
// LINALG: linalg.fill
// KERNEL-LABEL: func.func private @offset
// KERNEL: %[[THREE:[a-z0-9_]+]] = arith.constant dense<3.000000e+00> : vector<16xf32>
// KERNEL: arith.addf %{{.*}}, %[[THREE]]
// KERNEL: vector.store %{{.*}}, %arg1
// KERNEL-NOT: vector.store

func.func private @offset(%x: tensor<4x32xf32>) -> tensor<4x32xf32> {
  %0 = "nnvm.full"() {shape = array<i64: 4, 32>, fill_value = 3.0 : f64} : () -> tensor<4x32xf32>
  %1 = "nnvm.elemwise_add"(%x, %0) : (tensor<4x32xf32>, tensor<4x32xf32>) -> tensor<4x32xf32>
  return %1 : tensor<4x32xf32>
}

// LINALG-LABEL: func.func private @table
// LINALG: arith.constant dense<[1, 2, 4]> : tensor<3xi64>
// KERNEL: memref.global {{.*}} @[[TABLE:[a-z0-9_]+]] : memref<3xi64> = dense<[1, 2, 4]>
// KERNEL-LABEL: func.func private @table
// KERNEL: memref.get_global @[[TABLE]]
// KERNEL-LABEL: func.func @main

func.func private @table() -> tensor<3xi64> {
  %0 = "nnvm.constant"() {value = dense<[1, 2, 4]> : tensor<3xi64>} : () -> tensor<3xi64>
  return %0 : tensor<3xi64>
}

func.func @main(%like_x: tensor<4x35xf32>, %offset_x: tensor<4x32xf32>) -> (tensor<4x35xf32>, tensor<4x32xf32>, tensor<3xi64>) {
  %0 = call @like(%like_x) : (tensor<4x35xf32>) -> tensor<4x35xf32>
  %1 = call @offset(%offset_x) : (tensor<4x32xf32>) -> tensor<4x32xf32>
  %2 = call @table() : () -> tensor<3xi64>
  return %0, %1, %2 : tensor<4x35xf32>, tensor<4x32xf32>, tensor<3xi64>
}
