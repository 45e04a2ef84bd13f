// RUN: nnvm-opt --canonicalize --cse --print-ir-after=cse %s 2>&1 >/dev/null | FileCheck %s --check-prefix=AFTER
// RUN: nnvm-opt --pass-pipeline='builtin.module(func.func(canonicalize,cse))' --print-ir-before=cse %s 2>&1 >/dev/null | FileCheck %s --check-prefix=BEFORE
// RUN: nnvm-opt --canonicalize --cse --print-ir-after-all %s 2>&1 >/dev/null | FileCheck %s --check-prefix=ALL

// AFTER-NOT: IR Dump
// AFTER: // -----// IR Dump After cse //----- //
// AFTER-NEXT: module {
// AFTER-NOT: IR Dump
// BEFORE: // -----// IR Dump Before cse //----- //
// BEFORE-NOT: IR Dump
// ALL: IR Dump After canonicalize
// ALL: func.func @f
// ALL: IR Dump After cse
// ALL: func.func @f
func.func @f() {
  return
}
