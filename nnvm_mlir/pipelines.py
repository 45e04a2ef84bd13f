"""The default graph pipelines: lists of passes with the reason for each, used by `compile()`, `compiler.build` and `nnvm-opt`."""

from __future__ import annotations

MAX_OPT_LEVEL = 3


def graph_pipeline(opt_level: int) -> list[str]:
    """Passes from an imported graph to a fused, planned one.

    Level 0 only makes the graph executable; 1 fuses; 2 evaluates what depends on parameters only; 3
    changes layouts and folds scales. A higher level includes the lower ones.

    Raises:
        ValueError: the level is not 0 to 3.
        TypeError: it is not an integer.
    """
    if not isinstance(opt_level, int):
        raise TypeError(f"opt_level must be an integer, got {opt_level!r}")
    if not 0 <= opt_level <= MAX_OPT_LEVEL:
        raise ValueError(f"opt_level must be 0 to {MAX_OPT_LEVEL}, got {opt_level}")
    passes = [
        (0, "nnvm-infer-shape"),  # everything below works on known shapes
        (0, "nnvm-infer-type"),
        (0, "nnvm-simplify-inference"),  # batch norm has no kernel of its own
        (0, "nnvm-dce"),  # passes below ask who reads a value
        (3, "nnvm-fold-scale-axis"),  # scales and biases go into convolution weights
        (3, "nnvm-alter-op-layout"),  # the layouts that kernels read fastest
        (1, "nnvm-cse"),  # frontends repeat themselves, and so do transposes of one value
        (0, "nnvm-dce"),  # what was replaced would keep its parameters alive
        (2, "nnvm-precompute-prune"),  # weights are transformed once, here
        (0, "nnvm-fuse" if opt_level >= 1 else "nnvm-fuse{enabled=false}"),
        (0, "nnvm-plan-memory"),
    ]
    return [name for level, name in passes if level <= opt_level]
