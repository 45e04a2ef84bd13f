// A failing pass is named, with the command that reproduces the failure.

// RUN: not nnvm-opt --pass-pipeline='builtin.module(cse,func.func(canonicalize,convert-complex-to-llvm{complex-range=bad}))' %s 2>&1 | FileCheck %s --check-prefix=USAGE
// RUN: not nnvm-opt --cse --pass-pipeline='builtin.module(cse)' %s 2>&1 | FileCheck %s --check-prefix=BOTH
// RUN: not nnvm-opt --pass-pipeline='builtin.module(cse,one-shot-bufferize,canonicalize)' %s 2>&1 | FileCheck %s

// CHECK: pass-failure.mlir:[[@LINE+8]]:8: error: op was not bufferized
// CHECK: note: pass 'one-shot-bufferize' failed
// CHECK: note: reproduce with: nnvm-opt --pass-pipeline='builtin.module(cse,one-shot-bufferize)' {{.*}}pass-failure.mlir
// USAGE: error: {{.*}}convert-complex-to-llvm
// BOTH: error: --pass-pipeline and flags of passes exclude each other

func.func @f(%a: tensor<2xf32>) -> tensor<2xf32> {
  %cast = tensor.cast %a : tensor<2xf32> to tensor<?xf32>
  %0 = quant.qcast %a : tensor<2xf32> to tensor<2x!quant.uniform<i8:f32, 1.0>>
  %1 = quant.dcast %0 : tensor<2x!quant.uniform<i8:f32, 1.0>> to tensor<2xf32>
  return %1 : tensor<2xf32>
}
