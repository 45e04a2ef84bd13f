// RUN: nnvm-opt --nnvm-plan-memory --split-input-file %s | FileCheck %s

// A chain needs two places, in turns; the output is written where the caller wants it. Sizes are whole cache lines.
// CHECK-LABEL: func.func @main(
// CHECK-SAME: nnvm.arena_bytes = 128 : i64, nnvm.weight_bytes = 0 : i64
// CHECK: call @k(%arg0) {nnvm.offsets = array<i64: [[A:0|64]]>}
// CHECK: call @k({{.*}}) {nnvm.offsets = array<i64: [[B:0|64]]>}
// CHECK-NEXT: call @k({{.*}}) {nnvm.offsets = array<i64: [[A]]>}
// CHECK-NEXT: call @k({{.*}}) {nnvm.offsets = array<i64: [[B]]>}
// CHECK-NEXT: call @k({{.*}}) {nnvm.offsets = array<i64: -1>}
func.func private @k(tensor<3xf32>) -> tensor<3xf32>
func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {
  %0 = call @k(%x) : (tensor<3xf32>) -> tensor<3xf32>
  %1 = call @k(%0) : (tensor<3xf32>) -> tensor<3xf32>
  %2 = call @k(%1) : (tensor<3xf32>) -> tensor<3xf32>
  %3 = call @k(%2) : (tensor<3xf32>) -> tensor<3xf32>
  %4 = call @k(%3) : (tensor<3xf32>) -> tensor<3xf32>
  return %4 : tensor<3xf32>
}

// -----

// A view keeps what it looks at alive: %0 is read by the last call, so nothing may take its place.
// CHECK-LABEL: func.func @main(
// CHECK-SAME: nnvm.arena_bytes = 192 : i64
// CHECK: %[[A:.*]] = call @k(%arg0) {nnvm.offsets = array<i64: [[AT:[0-9]+]]>}
// CHECK-NEXT: "nnvm.reshape"(%[[A]])
// CHECK-NEXT: call @k(%[[A]]) {nnvm.offsets
// CHECK-NOT: nnvm.offsets = array<i64: [[AT]]>
// CHECK: return
func.func private @k(tensor<4xf32>) -> tensor<4xf32>
func.func private @join(tensor<2x2xf32>, tensor<4xf32>) -> tensor<4xf32>
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = call @k(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = "nnvm.reshape"(%0) {shape = array<i64: 2, 2>} : (tensor<4xf32>) -> tensor<2x2xf32>
  %2 = call @k(%0) : (tensor<4xf32>) -> tensor<4xf32>
  %3 = call @k(%2) : (tensor<4xf32>) -> tensor<4xf32>
  %4 = call @join(%1, %3) : (tensor<2x2xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %4 : tensor<4xf32>
}

// -----

// An output that is read again, also through a view, is read where it was written. Results that
// nobody reads have a place while they are written. Parameters lie one after another.
// CHECK-LABEL: func.func @main(
// CHECK-SAME: nnvm.name = "a", nnvm.offset = 0 : i64
// CHECK-SAME: nnvm.name = "b", nnvm.offset = 64 : i64
// CHECK-SAME: nnvm.arena_bytes = 64 : i64, nnvm.weight_bytes = 192 : i64
// CHECK: call @two({{.*}}) {nnvm.offsets = array<i64: -1, 0>}
// CHECK: call @k({{.*}}) {nnvm.offsets = array<i64: -1>}
func.func private @two(tensor<1xi8>, tensor<20xf32>) -> (tensor<4xf32>, tensor<3xi8>)
func.func private @k(tensor<2x2xf32>) -> tensor<4xf32>
func.func @main(%a: tensor<1xi8> {nnvm.name = "a", nnvm.kind = "parameter"}, %b: tensor<20xf32> {nnvm.name = "b", nnvm.kind = "parameter"}) -> (tensor<2x2xf32>, tensor<4xf32>) {
  %0:2 = call @two(%a, %b) : (tensor<1xi8>, tensor<20xf32>) -> (tensor<4xf32>, tensor<3xi8>)
  %1 = "nnvm.reshape"(%0#0) {shape = array<i64: 2, 2>} : (tensor<4xf32>) -> tensor<2x2xf32>
  %2 = call @k(%1) : (tensor<2x2xf32>) -> tensor<4xf32>
  return %1, %2 : tensor<2x2xf32>, tensor<4xf32>
}
