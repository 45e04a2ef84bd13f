// Flags of passes run in command-line order, ours and upstream's; --pass-pipeline is the long form.

// RUN: nnvm-opt %s | FileCheck %s --check-prefix=NONE
// RUN: nnvm-opt --cse %s | FileCheck %s --check-prefix=CSE
// RUN: nnvm-opt --pass-pipeline='builtin.module(func.func(cse))' < %s | FileCheck %s --check-prefix=CSE
// RUN: nnvm-opt --cse --nnvm-fuse=max-operators=4 --cse %s --print-ir-before-all -o %t 2>&1 | FileCheck %s --check-prefix=ORDER
// RUN: FileCheck %s --check-prefix=CSE --input-file=%t
// RUN: nnvm-opt --cse --mlir-print-debuginfo %s | FileCheck %s --check-prefix=DEBUG
// RUN: nnvm-opt --cse --timing %s 2>&1 >/dev/null | FileCheck %s --check-prefix=TIMING
// RUN: nnvm-opt --list-passes | FileCheck %s --check-prefix=LIST
// RUN: nnvm-opt --help | FileCheck %s --check-prefix=HELP

// NONE-COUNT-2: arith.addi
// CSE: arith.addi
// CSE-NOT: arith.addi
// ORDER: IR Dump Before cse
// ORDER: IR Dump Before nnvm-fuse
// ORDER: IR Dump Before cse
// DEBUG: loc({{.*}}flags.mlir":
// TIMING: Pass times
// TIMING: cse
// TIMING: total
// LIST: nnvm-fuse{{ +[A-Z]}}
// HELP: --pass-pipeline
// HELP: --verify-diagnostics
func.func @main(%a: i32) -> i32 {
  %0 = arith.addi %a, %a : i32
  %1 = arith.addi %a, %a : i32
  %2 = arith.muli %0, %1 : i32
  return %2 : i32
}
