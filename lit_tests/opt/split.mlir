// Parts are processed one by one, and line numbers are those of the file.

// RUN: nnvm-opt --split-input-file --cse %s | FileCheck %s
// RUN: not nnvm-opt --cse %s 2>&1 | FileCheck %s --check-prefix=WHOLE

// CHECK-LABEL: func.func @f()
// CHECK: // -----
// CHECK-LABEL: func.func @f(
// CHECK-SAME: i32
// WHOLE: split.mlir:[[@LINE+7]]:1: error: redefinition of symbol named 'f'
func.func @f() {
  return
}

// -----

func.func @f(%a: i32) {
  return
}
