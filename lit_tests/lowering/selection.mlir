// RUN: nnvm-opt %s --convert-nnvm-to-linalg | FileCheck %s --check-prefix=LINALG
// RUN: nnvm-opt %s --nnvm-plan-memory --convert-nnvm-to-linalg --nnvm-lower-kernels='target=cpu:x86-64-v4 threads=2' | FileCheck %s --check-prefix=KERNEL --implicit-check-not=memref.alloc --implicit-check-not=scf.parallel

// A stable merge sort of the positions in each row: 9 take four passes, in turns between two buffers.
// LINALG-LABEL: func.func private @top
// LINALG: scf.for {{.*}} -> (tensor<2x3xf32>, tensor<2x3xi64>, tensor<9xi64>, tensor<9xi64>)
// LINALG: tensor.insert
// LINALG-COUNT-4: scf.for {{.*}} -> (index, index, tensor<9xi64>)
// LINALG-NOT: -> (index, index, tensor<9xi64>)
// LINALG: tensor.extract %arg0

// Both buffers of a row are in the workspace.
// KERNEL: func.func private @top(%{{.*}}, %[[SPACE:[a-z0-9]+]]: memref<[[BYTES:[0-9]+]]xi8>) attributes {{.*}}nnvm.workspace = [[BYTES]] : i64}
// KERNEL-COUNT-2: memref.view %[[SPACE]][%{{.*}}][] : memref<[[BYTES]]xi8> to memref<9xi64>
// KERNEL-NOT: to memref<9xi64>
// KERNEL-LABEL: func.func @main

func.func private @top(%x: tensor<2x9xf32>) -> (tensor<2x3xf32>, tensor<2x3xi64>) {
  %0:2 = "nnvm.top_k"(%x) {k = 3 : i64} : (tensor<2x9xf32>) -> (tensor<2x3xf32>, tensor<2x3xi64>)
  return %0#0, %0#1 : tensor<2x3xf32>, tensor<2x3xi64>
}

func.func @main(%top_x: tensor<2x9xf32>) -> (tensor<2x3xf32>, tensor<2x3xi64>) {
  %0:2 = call @top(%top_x) : (tensor<2x9xf32>) -> (tensor<2x3xf32>, tensor<2x3xi64>)
  return %0#0, %0#1 : tensor<2x3xf32>, tensor<2x3xi64>
}
