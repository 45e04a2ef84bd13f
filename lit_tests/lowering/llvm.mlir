// RUN: nnvm-opt %s --nnvm-plan-memory --convert-nnvm-to-linalg --nnvm-lower-kernels='target=cpu:x86-64-v4 threads=2' --nnvm-lower-to-llvm='threads=2' | FileCheck %s --check-prefixes=CHECK,THREADS --implicit-check-not=malloc --implicit-check-not=alloca
// RUN: nnvm-opt %s --nnvm-plan-memory --convert-nnvm-to-linalg --nnvm-lower-kernels='target=cpu:x86-64-v4' --nnvm-lower-to-llvm | FileCheck %s --implicit-check-not=malloc --implicit-check-not=alloca --implicit-check-not=omp.

// Elementary functions of float32 are code of the kernel: neither calls, nor intrinsics that would become calls.
// CHECK-LABEL: llvm.func @functions(
// CHECK-NOT: llvm.call
// CHECK-NOT: llvm.intr.{{(exp|log|pow|a?(sin|cos|tan))}}
// CHECK: llvm.intr.fma{{.*}} vector<16xf32>
// CHECK-NOT: llvm.call
// CHECK-NOT: llvm.intr.{{(exp|log|pow|a?(sin|cos|tan))}}

func.func private @functions(%x: tensor<64xf32>) -> tensor<64xf32> {
  %0 = "nnvm.exp"(%x) : (tensor<64xf32>) -> tensor<64xf32>
  %1 = "nnvm.log"(%0) : (tensor<64xf32>) -> tensor<64xf32>
  %2 = "nnvm.sqrt"(%1) : (tensor<64xf32>) -> tensor<64xf32>
  %3 = "nnvm.rsqrt"(%2) : (tensor<64xf32>) -> tensor<64xf32>
  %4 = "nnvm.erf"(%3) : (tensor<64xf32>) -> tensor<64xf32>
  %5 = "nnvm.asin"(%4) : (tensor<64xf32>) -> tensor<64xf32>
  %6 = "nnvm.acos"(%5) : (tensor<64xf32>) -> tensor<64xf32>
  %7 = "nnvm.atan"(%6) : (tensor<64xf32>) -> tensor<64xf32>
  %8 = "nnvm.sinh"(%7) : (tensor<64xf32>) -> tensor<64xf32>
  %9 = "nnvm.cosh"(%8) : (tensor<64xf32>) -> tensor<64xf32>
  %10 = "nnvm.tanh"(%9) : (tensor<64xf32>) -> tensor<64xf32>
  %11 = "nnvm.asinh"(%10) : (tensor<64xf32>) -> tensor<64xf32>
  %12 = "nnvm.acosh"(%11) : (tensor<64xf32>) -> tensor<64xf32>
  %13 = "nnvm.atanh"(%12) : (tensor<64xf32>) -> tensor<64xf32>
  %14 = "nnvm.softplus"(%13) : (tensor<64xf32>) -> tensor<64xf32>
  %15 = "nnvm.elu"(%14) : (tensor<64xf32>) -> tensor<64xf32>
  %16 = "nnvm.pow_scalar"(%15) {scalar = 1.5} : (tensor<64xf32>) -> tensor<64xf32>
  %17 = "nnvm.rpow_scalar"(%16) {scalar = 1.5} : (tensor<64xf32>) -> tensor<64xf32>
  return %17 : tensor<64xf32>
}

// Angles that are too large for the polynomial are left to the C library, if there are any.
// CHECK-LABEL: llvm.func @angles(
// CHECK: llvm.intr.fma
// CHECK: %[[ANY:[0-9]+]] = "llvm.intr.vector.reduce.or"
// CHECK-NEXT: llvm.cond_br %[[ANY]], ^[[RARE:[a-z0-9]+]], ^
// CHECK-NEXT: ^[[RARE]]:
// CHECK-NEXT: llvm.intr.sin
// CHECK-NOT: llvm.intr.sin

func.func private @angles(%x: tensor<64xf32>) -> tensor<64xf32> {
  %0 = "nnvm.sin"(%x) : (tensor<64xf32>) -> tensor<64xf32>
  return %0 : tensor<64xf32>
}

// Plain loops compute them in the same way.
// CHECK-LABEL: llvm.func @loops(
// CHECK-NOT: llvm.call
// CHECK-NOT: llvm.intr.exp
// CHECK: llvm.intr.fma{{.*}} f32
// CHECK-NOT: llvm.call
// CHECK-NOT: llvm.intr.exp

func.func private @loops(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = "nnvm.exp"(%x) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = "nnvm.cumsum"(%0) {axis = 1 : i64} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return %1 : tensor<4x8xf32>
}

// What takes long is shared by threads: one parallel region, for a number of threads that is known.
// CHECK-LABEL: llvm.func @large(
// THREADS: omp.parallel num_threads(
// THREADS: omp.wsloop
// CHECK: llvm.store {{.*}} vector<16xf32>
// THREADS-NOT: omp.parallel

func.func private @large(%x: tensor<1024x1024xf32>) -> tensor<1024x1024xf32> {
  %0 = "nnvm.relu"(%x) : (tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  return %0 : tensor<1024x1024xf32>
}

// A buffer is one pointer; nothing, neither kernel nor entry, allocates memory.
// CHECK-LABEL: llvm.func @main(
// CHECK-SAME: %arg0: !llvm.ptr
// CHECK: llvm.call @functions(%{{[a-z0-9]+}}, %{{[a-z0-9]+}}) : (!llvm.ptr, !llvm.ptr) -> ()

func.func @main(%x: tensor<64xf32>, %y: tensor<4x8xf32>, %z: tensor<1024x1024xf32>) -> (tensor<64xf32>, tensor<64xf32>, tensor<4x8xf32>, tensor<1024x1024xf32>) {
  %0 = call @functions(%x) : (tensor<64xf32>) -> tensor<64xf32>
  %1 = call @angles(%x) : (tensor<64xf32>) -> tensor<64xf32>
  %2 = call @loops(%y) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %3 = call @large(%z) : (tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  return %0, %1, %2, %3 : tensor<64xf32>, tensor<64xf32>, tensor<4x8xf32>, tensor<1024x1024xf32>
}
