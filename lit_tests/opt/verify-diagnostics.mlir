// RUN: nnvm-opt --split-input-file --verify-diagnostics %s

func.func @missing() -> i32 {
  // expected-error@below {{op has 0 operands, but enclosing function (@missing) returns 1}}
  return
}

// -----

// expected-error@+2 {{use of undeclared SSA value name}}
func.func @undeclared() -> i32 {
  return %nothing : i32
}

// -----

func.func @above() -> i32 {
  return %nothing : i32
  // expected-error@above {{use of undeclared SSA value name}}
}

// -----

func.func @same() -> i32 {
  return %nothing : i32 // expected-error {{undeclared SSA value}}
}

// -----

func.func @notes() {
  "scf.yield"() ({
    // expected-note@-1 {{see current operation}}
    // expected-error@-2 {{requires zero regions}}
  }) : () -> ()
  return
}
