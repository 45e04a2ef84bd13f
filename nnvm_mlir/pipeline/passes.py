"""What a pass is."""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from nnvm_mlir.errors import CompileError, Diagnostic, Position
from nnvm_mlir.mlir import (
    GreedyRewriteConfig,
    GreedySimplifyRegionLevel,
    PatternRewriter,
    RewritePatternSet,
    apply_patterns_and_fold_greedily,
    ir,
    operations,
    walk_and_apply_patterns,
)
from nnvm_mlir.pipeline.options import write_options

NO_MATCH = True
"""What a rewrite function returns when it does not apply; anything falsy means success."""

Rewrite = Callable[[Any, PatternRewriter], bool | None]
"""Rewrites an operation and returns None, or leaves everything as it is and returns NO_MATCH."""

# More rewrites than this for each operation of the module means that patterns undo one another.
_MAX_REWRITES_PER_OPERATION = 100


@dataclass(frozen=True)
class Pass(ABC):
    """A transformation of a module: valid IR in, valid IR out.

    A pass is a frozen dataclass. `name` is its key in the registry and its spelling in pipeline
    text; its fields are its options (`max_depth: int = 256` is written `nnvm-fuse{max-depth=64}`),
    each a bool, int, float, str or tuple of ints with a default; the first line of its docstring is
    its summary.
    """

    name: ClassVar[str]

    @abstractmethod
    def run(self, module: ir.Module) -> Mapping[str, int] | None:
        """Transforms `module` in place; the module's context and an unknown location are current.

        Returns:
            Counts for the statistics, by what was counted, or None.

        Raises:
            CompileError: the module is wrong.
        """

    @classmethod
    def summary(cls) -> str:
        """The first line of the documentation."""
        return (inspect.cleandoc(cls.__dict__.get("__doc__") or "")).partition("\n")[0]

    def __str__(self) -> str:
        options = write_options(self)
        return f"{self.name}{{{options}}}" if options else self.name


@dataclass(frozen=True)
class PatternPass(Pass):
    """A pass that is a set of rewrite patterns.

    A rewrite function may create operations at `rewriter.ip`, and replace or erase through the
    rewriter. It does not touch an operation again after it was replaced or erased. With `walk` it
    changes nothing before its root.

    Attributes:
        walk: every operation is visited once, definitions before uses; otherwise patterns are
            applied greedily until none
            matches, and upstream's folders run too.
    """

    walk: ClassVar[bool] = False

    @abstractmethod
    def patterns(self) -> Iterable[tuple[type | str, Rewrite]]:
        """Roots, as operation classes or names, and what rewrites them; earlier ones first."""

    def run(self, module: ir.Module) -> Mapping[str, int]:
        """Applies the patterns.

        Returns:
            The number of rewrites by name of the function.
        """
        application = _Application(self.name, module)
        patterns = RewritePatternSet(module.context)
        for root, rewrite in self.patterns():
            patterns.add(root, application.guard(rewrite))
        frozen = patterns.freeze()
        if self.walk:
            walk_and_apply_patterns(module.operation, frozen)
        else:
            config = GreedyRewriteConfig()
            config.region_simplification_level = GreedySimplifyRegionLevel.DISABLED
            config.max_iterations = (
                -1
            )  # rewrites are limited instead: a long chain takes many rounds
            apply_patterns_and_fold_greedily(module.operation, frozen, config)
        if application.failure is not None:
            raise application.failure
        return application.counts


class _Application:
    """One application of a set of patterns.

    It counts rewrites, and keeps exceptions from unwinding the driver, which is not made for them.
    """

    def __init__(self, pass_name: str, module: ir.Module) -> None:
        self.counts: Counter[str] = Counter()
        self.failure: BaseException | None = None
        self._pass_name = pass_name
        self._remaining = _MAX_REWRITES_PER_OPERATION * len(operations(module.operation))

    def guard(self, rewrite: Rewrite) -> Rewrite:
        """`rewrite`, counted; after a failure it matches nothing, so that the driver ends."""

        def guarded(op: Any, rewriter: PatternRewriter) -> bool | None:
            if self.failure is not None:
                return NO_MATCH
            location = op.location
            try:
                if rewrite(op, rewriter):
                    return NO_MATCH
            except (CompileError, KeyboardInterrupt) as error:
                self.failure = error
                return NO_MATCH
            except BaseException as error:
                self.failure = self._error(
                    rewrite, f"raised {type(error).__name__}: {error}", location
                )
                self.failure.__cause__ = error
                return NO_MATCH
            self.counts[rewrite.__name__] += 1
            self._remaining -= 1
            if self._remaining < 0:
                message = "still applies after very many rewrites: patterns undo one another"
                self.failure = self._error(rewrite, message, location)
            return None

        return guarded

    def _error(self, rewrite: Rewrite, message: str, location: ir.Location) -> CompileError:
        text = f"pattern '{rewrite.__name__}' of '{self._pass_name}' {message}"
        return CompileError([Diagnostic("error", text, Position.of(location))])
