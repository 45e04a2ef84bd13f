"""From the nnvm dialect to linalg, and from linalg to machine code."""
