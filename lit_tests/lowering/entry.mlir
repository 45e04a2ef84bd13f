// RUN: nnvm-opt %s --nnvm-plan-memory --convert-nnvm-to-linalg --nnvm-lower-kernels='target=cpu:x86-64-v4' --cse --canonicalize | FileCheck %s --implicit-check-not=memref.alloc --implicit-check-not=memref.copy

// Both calls of a kernel share its code.
// CHECK-LABEL: func.func private @double
// CHECK-NOT: func.func private @double

// Memory comes from the caller as bytes: the arena, the weights, each input, each output. The arena ends with the kernels' workspace.
// CHECK-LABEL: func.func @main(
// CHECK-SAME: %[[ARENA:[a-z0-9]+]]: memref<[[BYTES:[0-9]+]]xi8>, %[[WEIGHTS:[a-z0-9]+]]: memref<192xi8>, %[[X:[a-z0-9]+]]: memref<560xi8>, %[[A:[a-z0-9]+]]: memref<560xi8>, %[[B:[a-z0-9]+]]: memref<1120xi8>, %[[C:[a-z0-9]+]]: memref<16xi8>)

// Results are at the plan's offsets, outputs where the caller wants them.
// CHECK: %[[IN:[a-z0-9_]+]] = memref.view %[[X]][%c0][] : memref<560xi8> to memref<140xf32>
// CHECK: %[[FIRST:[a-z0-9_]+]] = memref.view %[[ARENA]][%c0][] : memref<[[BYTES]]xi8> to memref<140xf32>
// CHECK: call @double(%[[IN]], %[[FIRST]])
// CHECK: %[[SECOND:[a-z0-9_]+]] = memref.view %[[ARENA]][%c576][]
// CHECK: call @double(%[[FIRST]], %[[SECOND]])
// CHECK: %[[OUT:[a-z0-9_]+]] = memref.view %[[A]][%c0][]
// CHECK: call @double(%[[SECOND]], %[[OUT]])

// The reshape is nothing: the buffer that it looks at is passed on. The second weight follows the first.
// CHECK: %[[W:[a-z0-9_]+]] = memref.view %[[WEIGHTS]][%c64][] : memref<192xi8> to memref<32xf32>
// CHECK: %[[PRODUCT:[a-z0-9_]+]] = memref.view %[[B]][%c0][]
// CHECK: call @product(%[[SECOND]], %[[W]], %[[PRODUCT]])

// The workspace lies behind everything that the plan has placed.
// CHECK: %[[SPACE:[a-z0-9_]+]] = memref.view %[[ARENA]][%c1152][] : memref<[[BYTES]]xi8> to memref<{{[0-9]+}}xi8>
// CHECK: call @largest(%{{.*}}, %{{.*}}, %[[SPACE]])
// CHECK-NEXT: return

func.func private @double(%x: tensor<4x35xf32>) -> tensor<4x35xf32> {
  %0 = "nnvm.elemwise_add"(%x, %x) : (tensor<4x35xf32>, tensor<4x35xf32>) -> tensor<4x35xf32>
  return %0 : tensor<4x35xf32>
}

func.func private @product(%x: tensor<35x4xf32>, %w: tensor<8x4xf32>) -> tensor<35x8xf32> {
  %0 = "nnvm.dense"(%x, %w) {units = 8 : i64, use_bias = false} : (tensor<35x4xf32>, tensor<8x4xf32>) -> tensor<35x8xf32>
  return %0 : tensor<35x8xf32>
}

func.func private @largest(%x: tensor<4x4xf32>) -> tensor<4xi32> {
  %0 = "nnvm.argmax"(%x) {axis = array<i64: 1>} : (tensor<4x4xf32>) -> tensor<4xi32>
  return %0 : tensor<4xi32>
}

func.func @main(%x: tensor<4x35xf32>, %v: tensor<4x4xf32> {nnvm.name = "v", nnvm.kind = "parameter"}, %w: tensor<8x4xf32> {nnvm.name = "w", nnvm.kind = "parameter"}) -> (tensor<4x35xf32>, tensor<35x8xf32>, tensor<4xi32>) {
  %0 = call @double(%x) : (tensor<4x35xf32>) -> tensor<4x35xf32>
  %1 = call @double(%0) : (tensor<4x35xf32>) -> tensor<4x35xf32>
  %2 = call @double(%1) : (tensor<4x35xf32>) -> tensor<4x35xf32>
  %3 = "nnvm.reshape"(%1) {shape = array<i64: 35, 4>} : (tensor<4x35xf32>) -> tensor<35x4xf32>
  %4 = call @product(%3, %w) : (tensor<35x4xf32>, tensor<8x4xf32>) -> tensor<35x8xf32>
  %5 = call @largest(%v) : (tensor<4x4xf32>) -> tensor<4xi32>
  return %2, %4, %5 : tensor<4x35xf32>, tensor<35x8xf32>, tensor<4xi32>
}
