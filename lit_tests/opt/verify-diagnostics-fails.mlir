// Missing and unexpected diagnostics are errors, each with its place.

// RUN: not nnvm-opt --split-input-file --verify-diagnostics %s 2>&1 | FileCheck %s

// CHECK: verify-diagnostics-fails.mlir:[[@LINE+1]]:4: error: expected error "never" was not produced
// expected-error@below {{never}}
func.func @fine() {
  return
}

// -----

func.func @unexpected() -> i32 {
  // CHECK: verify-diagnostics-fails.mlir:[[@LINE+1]]:10: error: unexpected error: use of undeclared SSA value name
  return %nothing : i32
}

// -----

func.func @wrong_text() -> i32 {
  // CHECK: verify-diagnostics-fails.mlir:[[@LINE+3]]:10: error: unexpected error: use of
  // CHECK: verify-diagnostics-fails.mlir:[[@LINE+1]]:6: error: expected error "other words" was not produced
  // expected-error@below {{other words}}
  return %nothing : i32
}
