"""`python -m nnvm_mlir.opt` is `nnvm-opt`."""

import sys

from nnvm_mlir.opt.command import main

sys.exit(main())
