from nnvm_mlir.dialects.nnvm import OPERATORS
def __getattr__(n):
    for c in OPERATORS.values():
        if c.__name__==n: return c
    raise AttributeError(n)
