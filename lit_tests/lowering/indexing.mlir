// RUN: nnvm-opt %s --nnvm-plan-memory --convert-nnvm-to-linalg | FileCheck %s --check-prefix=LINALG
// RUN: nnvm-opt %s --nnvm-plan-memory --convert-nnvm-to-linalg --nnvm-lower-kernels | FileCheck %s --check-prefix=ENTRY

// Indices are data: each is moved into range before anything is read, and a wrong one is reported in the kernel's status.
// LINALG-LABEL: func.func private @rows
// LINALG-SAME: %[[STATUS:[a-z0-9]+]]: memref<1xi64>
// LINALG: linalg.generic
// LINALG: scf.if
// LINALG: memref.store %{{.*}}, %[[STATUS]]
// LINALG: tensor.extract
// LINALG-LABEL: func.func @main
// LINALG: %[[WORD:.*]] = memref.alloc() : memref<1xi64>
// LINALG: call @rows(%{{.*}}, %{{.*}}, %[[WORD]])

// The status word lies in the arena and is cleared before the kernel runs.
// ENTRY-LABEL: func.func @main(
// ENTRY-SAME: %[[ARENA:[a-z0-9]+]]: memref
// ENTRY: %[[VIEW:.*]] = memref.view %[[ARENA]]
// ENTRY: memref.store %{{.*}}, %[[VIEW]]
// ENTRY: call @rows

func.func private @rows(%x: tensor<5x3xf32>, %i: tensor<2xi64>) -> tensor<2x3xf32> {
  %0 = "nnvm.take"(%x, %i) {axis = 0 : i64} : (tensor<5x3xf32>, tensor<2xi64>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}

func.func @main(%x: tensor<5x3xf32>, %i: tensor<2xi64>) -> tensor<2x3xf32> {
  %0 = call @rows(%x, %i) : (tensor<5x3xf32>, tensor<2xi64>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}
