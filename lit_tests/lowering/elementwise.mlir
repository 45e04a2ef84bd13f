// RUN: nnvm-opt %s --nnvm-fuse --nnvm-plan-memory --convert-nnvm-to-linalg --nnvm-lower-kernels='target=cpu:x86-64-v4' | FileCheck %s
// RUN: nnvm-opt %s --nnvm-fuse --nnvm-plan-memory --convert-nnvm-to-linalg --nnvm-lower-kernels --nnvm-lower-to-llvm | FileCheck %s --check-prefix=LLVM

// A chain is one loop of vectors; exp is a polynomial, not a call.
// CHECK-LABEL: func.func private @k0
// CHECK-NOT: math.exp
// CHECK: math.fma {{.*}} : vector<16xf32>
// CHECK: arith.divf {{.*}} : vector<16xf32>
// The last 3 of 35 elements are masked.
// CHECK: vector.maskedstore
// CHECK-LABEL: func.func @main

// LLVM-LABEL: llvm.func @k0
// LLVM-NOT: llvm.call
// LLVM: llvm.return
// LLVM: llvm.func @main

func.func @main(%x: tensor<5x7xf32> {nnvm.name = "x"}) -> (tensor<5x7xf32> {nnvm.name = "y"}) {
  %0 = "nnvm.sigmoid"(%x) : (tensor<5x7xf32>) -> tensor<5x7xf32>
  %1 = "nnvm.broadcast_mul"(%x, %0) : (tensor<5x7xf32>, tensor<5x7xf32>) -> tensor<5x7xf32>
  return %1 : tensor<5x7xf32>
}
