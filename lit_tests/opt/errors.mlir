// Errors in the input have a place, and exit codes tell input (1) from usage (2).

// RUN: not nnvm-opt %s 2>&1 | FileCheck %s
// RUN: not nnvm-opt %s.missing 2>&1 | FileCheck %s --check-prefix=MISSING
// RUN: not nnvm-opt %S 2>&1 | FileCheck %s --check-prefix=FOLDER
// RUN: not nnvm-opt --nnvm-fuze %s 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// RUN: not nnvm-opt --pass-pipeline='builtin.module(func.func(nnvm-fuse))' %s 2>&1 | FileCheck %s --check-prefix=NESTED
// RUN: not nnvm-opt --pass-pipeline='builtin.module(cse' %s 2>&1 | FileCheck %s --check-prefix=SYNTAX
// RUN: not nnvm-opt --nnvm-fuse=max-operators=many %s 2>&1 | FileCheck %s --check-prefix=OPTION
// RUN: not nnvm-opt --canonicalize --print-ir-after=cse %s 2>&1 | FileCheck %s --check-prefix=PRINT

// CHECK-NOT: Traceback
// CHECK: errors.mlir:[[@LINE+11]]:10: error: use of undeclared SSA value name
// CHECK-NOT: Traceback
// MISSING: error: cannot read {{.*}}errors.mlir.missing': No such file or directory
// FOLDER: error: cannot read {{.*}}: Is a directory
// UNKNOWN: error: unknown pass 'nnvm-fuze'; did you mean 'nnvm-fuse'
// NESTED: error: 'func.func(nnvm-fuse)': 'nnvm-fuse' runs on the module and cannot be nested
// SYNTAX: error: pipeline 'builtin.module(cse', column 19: expected ',' or ')'
// OPTION: error: pass 'nnvm-fuse': option 'max-operators' expects an integer, got 'many'
// PRINT: error: no pass 'cse' runs; these do: canonicalize

func.func @f() -> i32 {
  return %nothing : i32
}
