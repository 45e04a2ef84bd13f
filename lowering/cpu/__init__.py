"""Linalg on tensors to machine code for CPUs: generators of vector kernels, loops for the rest, LLVM."""
