"""From kernels on memrefs, vectors and loops to the LLVM dialect: the pipeline of passes, one reason a line."""

from __future__ import annotations

from nnvm_mlir.mlir import PassManager, ir
from nnvm_mlir.target import Target


def pipeline(target: Target) -> list[str]:
    """The passes, in order, for kernels that use `target.threads` threads."""
    threads = [
        # The one parallel loop of a kernel becomes a parallel region of OpenMP.
        f"convert-scf-to-openmp{{num-threads={target.threads}}}",
        # Removes the empty alloca scopes that the conversion leaves around loop bodies;
        # convert-scf-to-cf cannot have them.
        "canonicalize",
    ]
    return [
        # Index arithmetic that unrolling left behind: fewer operations for everything below.
        "canonicalize",
        "cse",
        *(threads if target.threads > 1 else []),
        # Loops and conditionals become branches.
        "convert-scf-to-cf",
        # Square roots, absolute values and the like have LLVM intrinsics; polynomials were emitted
        # for most of the rest.
        "convert-math-to-llvm",
        # The rest (float64 error functions and the like, plain loops) is left to the C library; that
        # takes vectors apart, so it comes before these are lowered.
        "convert-math-to-libm",
        # Multi-dimensional vector operations are unrolled, the others become LLVM's.
        "convert-vector-to-llvm",
        # Subviews and casts become pointer arithmetic, which may be affine.
        "expand-strided-metadata",
        "lower-affine",
        # What LLVM has no operation for (ceiling division, ...) is written out, and so are
        # conversions of bfloat16, which would be calls into a compiler's runtime library on
        # processors without an instruction for them.
        "arith-expand{include-bf16=true}",
        "finalize-memref-to-llvm",
        "convert-arith-to-llvm",
        "convert-index-to-llvm",
        # A buffer is passed as one pointer.
        "convert-func-to-llvm{use-bare-ptr-memref-call-conv=1}",
        "convert-ub-to-llvm",
        "convert-cf-to-llvm",
        *(["convert-openmp-to-llvm"] if target.threads > 1 else []),
        "reconcile-unrealized-casts",
    ]


def lower_to_llvm(module: ir.Module, target: Target) -> None:
    """Lowers a module of kernels to the LLVM dialect, in place."""
    text = f"builtin.module({','.join(pipeline(target))})"
    with module.context:
        PassManager.parse(text).run(module.operation)
