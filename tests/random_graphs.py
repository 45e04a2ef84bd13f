"""Random graphs of some forty operators, for tests of whatever must keep the meaning of a graph."""

from __future__ import annotations

import numpy as np

from nnvm_mlir.builder import GraphBuilder, Node
from nnvm_mlir.context import make_context
from nnvm_mlir.dialects.nnvm import OPERATORS
from nnvm_mlir.dialects.nnvm.types import TensorType
from nnvm_mlir.graph import Graph

MAX_ELEMENTS = 4096
INPUT_SHAPES = [(2, 4, 6, 5), (1, 6, 7, 7), (2, 5, 4), (3, 8), (1, 6), (7,), (), (0, 3)]


class RandomGraph:
    """Builds one graph. `graph` is the result, `feeds` are arrays for its inputs.

    Operators that turn small differences into large ones (comparisons, rounding, arg max) are
    applied only to values that no pass may change in their last bits.
    """

    def __init__(self, seed: int, operators: int = 20) -> None:
        self.rng = np.random.default_rng(seed)
        self.builder = GraphBuilder(make_context())
        self.feeds: dict[str, np.ndarray] = {}
        self.nodes: list[Node] = []
        self.exact: set[Node] = set()
        for index in range(self.between(1, 4)):
            self._add_input(f"x{index}")
        moves = [name for name in dir(self) if name.startswith("move_")]
        while len(self.nodes) < operators + len(self.feeds):
            getattr(self, str(self.rng.choice(moves)))()
        for index in range(self.between(1, 4)):
            node = self.choice(self.nodes[-8:] if index else self.nodes[-2:])
            self.builder.output(f"y{index}", node)
        if self.rng.random() < 0.3:
            self.builder.output("x", self.nodes[0])
            self.builder.output("again", self.nodes[0])
            self.builder.output("known", self.builder.constant(np.arange(3, dtype=np.int64)))
        self.graph: Graph = self.builder.finish()

    # ---- choices ----------------------------------------------------------------------------------------------------

    def between(self, low: int, high: int) -> int:
        """A random integer, both ends included."""
        return int(self.rng.integers(low, high + 1))

    def choice(self, items):
        """A random item."""
        return items[self.between(0, len(items) - 1)]

    def pick(self, rank: int | None = None, dtype: str = "float32", exact: bool = False):
        """A random node, late ones more often; None if there is none of the kind."""
        found = [
            n
            for n in self.nodes
            if n.dtype == dtype
            and (rank is None or len(n.shape) == rank)
            and (not exact or n in self.exact)
        ]
        return self.choice(found[-6:]) if found else None

    def param(self, *shape: int, positive: bool = False) -> Node:
        """A parameter, now and then computed from others or inlined."""
        value = self.rng.standard_normal(shape).astype(np.float32) / 2
        value = np.abs(value) + 0.5 if positive else value
        kind = self.between(0, 3)
        if kind == 0 or positive:
            return self.builder.constant(value, "w")
        node = self.builder.parameter(f"p{len(self.builder.params)}", value)
        return self.builder.op(OPERATORS["tanh"], node) if kind == 1 else node

    def add(self, name: str, *operands: Node, exact: bool = False, **attributes) -> list[Node]:
        """Applies an operator and remembers its results."""
        made = self.builder.op(OPERATORS[name], *operands, **attributes)
        made = [made] if isinstance(made, Node) else made
        for node in made:
            if node.type.size <= MAX_ELEMENTS:
                self.nodes.append(node)
            if exact and all(n in self.exact for n in operands):
                self.exact.add(node)
        return made

    def _add_input(self, name: str) -> None:
        shape = self.choice(INPUT_SHAPES)
        value = self.rng.standard_normal(shape).astype(np.float32)
        node = self.builder.input(name, TensorType.of(value))
        self.feeds[name] = value
        self.nodes.append(node)
        self.exact.add(node)

    # ---- operators: one way each to extend the graph, or none where nothing fits --------------------------------------

    def move_unary(self):
        name = self.choice(
            ["relu", "sigmoid", "tanh", "abs", "negative", "copy", "leaky_relu", "erf"]
        )
        self.add(name, self.pick(), exact=True)

    def move_scalar(self):
        name = self.choice(
            ["__add_scalar__", "__mul_scalar__", "__rsub_scalar__", "__div_scalar__"]
        )
        self.add(name, self.pick(), scalar=self.choice([0.5, -1.25, 2]), exact=True)

    def move_square_root(self):
        self.add("sqrt", *self.add("abs", self.pick(), exact=True), exact=True)

    def move_clip(self):
        self.add("clip", self.pick(), a_min=-1.0, a_max=1.5, exact=True)

    def move_same_shape(self):
        lhs = self.pick()
        others = [n for n in self.nodes if n.type == lhs.type]
        name = self.choice(["broadcast_add", "broadcast_sub", "broadcast_max", "elemwise_add"])
        self.add(name, lhs, self.choice(others), exact=True)

    def move_broadcast(self):
        lhs = self.pick()
        shape = [self.choice([1, n]) for n in lhs.shape][self.between(0, len(lhs.shape)) :]
        pair = [lhs, self.param(*shape)]
        self.rng.shuffle(pair)
        self.add(self.choice(["broadcast_add", "broadcast_mul", "broadcast_sub"]), *pair)

    def move_channel_scale(self):
        if (x := self.pick(4)) is not None:
            channel = self.param(x.shape[1], 1, 1)
            pair = [x, channel] if self.between(0, 1) else [channel, x]
            self.add(self.choice(["broadcast_mul", "broadcast_add", "broadcast_sub"]), *pair)

    def move_sum_of_many(self):
        x = self.pick()
        self.add(
            "elemwise_sum",
            *[self.choice([n for n in self.nodes if n.type == x.type]) for _ in "abc"],
        )

    def move_conv2d(self):
        if (x := self.pick(4)) is None or 0 in x.shape:
            return
        last = self.between(0, 3) == 0
        channels, *sizes = (x.shape[3], *x.shape[1:3]) if last else x.shape[1:]
        groups = self.choice([g for g in (1, 1, 2, channels) if channels % g == 0])
        out = groups * self.between(1, 3)
        kernel = [self.between(1, min(3, n)) for n in sizes]
        weight = self.param(out, channels // groups, *kernel)
        bias = [self.param(out)] if self.between(0, 1) else []
        conv = self.add(
            "conv2d",
            x,
            weight,
            *bias,
            channels=out,
            kernel_size=kernel,
            strides=(self.between(1, 2), 1),
            padding=self.choice([(0, 0), (1, 1), (1, 0, 0, 1)]),
            groups=groups,
            layout="NHWC" if last else "NCHW",
            use_bias=bool(bias),
        )[0]
        self._scale_and_shift(conv, 3 if last else 1)

    def move_conv2d_transpose(self):
        if (x := self.pick(4)) is None or 0 in x.shape:
            return
        groups = self.choice([g for g in (1, 1, 2) if x.shape[1] % g == 0])
        out = groups * self.between(1, 2)
        conv = self.add(
            "conv2d_transpose",
            x,
            self.param(x.shape[1], out // groups, 2, 3),
            self.param(out),
            channels=out,
            kernel_size=(2, 3),
            strides=(2, 1),
            groups=groups,
        )[0]
        self._scale_and_shift(conv, 1)

    def move_conv1d(self):
        if (x := self.pick(3)) is not None and 0 not in x.shape:
            weight = self.param(3, x.shape[1], 1)
            conv = self.add("conv1d", x, weight, channels=3, kernel_size=(1,), use_bias=False)
            self.add("relu", *conv)

    def _scale_and_shift(self, conv: Node, axis: int) -> None:
        shape = [1] * (4 - axis)
        shape[0] = conv.shape[axis]
        for name in ("broadcast_mul", "broadcast_add"):
            if self.between(0, 1):
                conv = self.add(name, conv, self.param(*shape))[0]
        if self.between(0, 1):
            self.add("relu", conv)

    def move_pool(self):
        if (x := self.pick(4)) is not None and min(x.shape) >= 2:
            name = self.choice(["max_pool2d", "avg_pool2d"])
            self.add(name, x, pool_size=(2, 2), strides=self.choice([(1, 1), (2, 2)]))

    def move_global_pool(self):
        if (x := self.pick(4)) is not None and 0 not in x.shape:
            self.add(self.choice(["global_max_pool2d", "global_avg_pool2d"]), x)

    def move_pool_with_indices(self):
        if (x := self.pick(4, exact=True)) is not None and min(x.shape) >= 2:
            self.add("max_pool2d_indices", x, pool_size=(2, 2), strides=(2, 2), exact=True)

    def move_batch_norm(self):
        if (x := self.pick()) is not None and len(x.shape) >= 2:
            axis = self.between(0, len(x.shape) - 1)
            n = x.shape[axis]
            stats = [self.param(n), self.param(n), self.param(n), self.param(n, positive=True)]
            self.add("batch_norm", x, *stats, axis=axis, scale=bool(self.between(0, 1)))

    def move_dropout(self):
        self.nodes.append(self.builder.op(OPERATORS["dropout"], self.pick())[0])

    def move_dense(self):
        if (x := self.pick(2)) is not None and 0 not in x.shape:
            self.add("dense", x, self.param(4, x.shape[1]), self.param(4), units=4)

    def move_matmul(self):
        if (x := self.pick(2)) is not None and 0 not in x.shape:
            self.add("matmul", x, self.choice([x, self.param(*x.shape)]), transpose_b=True)

    def move_batch_matmul(self):
        if (x := self.pick(3)) is not None and 0 not in x.shape:
            self.add("batch_matmul", x, self.param(6, x.shape[-1]), transpose_b=True)

    def move_concatenate(self):
        if (x := self.pick()).shape:
            others = [n for n in self.nodes if n.type == x.type]
            axis = self.between(-1, len(x.shape) - 1)
            self.add(
                "concatenate", x, self.choice(others), self.choice(others), axis=axis, exact=True
            )

    def move_split(self):
        if (x := self.pick()).shape and max(x.shape) > 1:
            axis = int(np.argmax(x.shape))
            self.add("split", x, indices_or_sections=(1,), axis=axis, exact=True)

    def move_transpose(self):
        x = self.pick()
        axes = tuple(int(i) for i in self.rng.permutation(len(x.shape)))
        back = tuple(axes.index(i) for i in range(len(axes)))
        moved = self.add("transpose", x, axes=axes, exact=True)[0]
        if self.between(0, 1):
            self.add("transpose", *self.add("abs", moved, exact=True), axes=back, exact=True)

    def move_reshape(self):
        x = self.pick()
        shape = self.choice([(-1,), (1, -1)]) if x.type.size else (3, 0)
        self.add("reshape", x, shape=shape, allow_zero=True, exact=True)

    def move_views(self):
        x = self.pick()
        if len(x.shape) < 4:
            self.add("squeeze", *self.add("expand_dims", x, axis=0, exact=True), axis=0, exact=True)
        if len(x.shape) > 1:
            self.add("flatten", x, exact=True)

    def move_reduce(self):
        if not (x := self.pick()).shape or 0 in x.shape:
            return
        axis = self.choice([(0,), (-1,), (), tuple(range(len(x.shape)))[1:]])
        self.add(
            self.choice(["sum", "mean", "max", "min"]),
            x,
            axis=axis,
            keepdims=bool(self.between(0, 1)),
            exclude=self.between(0, 3) == 0 and 0 < len(axis) < len(x.shape),
        )

    def move_softmax(self):
        if (x := self.pick()).shape:
            self.add(
                self.choice(["softmax", "log_softmax"]), x, axis=self.between(0, len(x.shape) - 1)
            )

    def move_layer_norm(self):
        if (x := self.pick()).shape and 0 not in x.shape:
            n = x.shape[-1]
            self.add("layer_norm", x, self.param(n), self.param(n))

    def move_slice(self):
        if (x := self.pick()).shape and x.shape[0] > 1:
            begin, stride = self.choice([((1,), (1,)), ((0,), (2,)), ((-1,), (-1,))])
            end = (-x.shape[0] - 1,) if stride[0] < 0 else (x.shape[0],)
            self.add("strided_slice", x, begin=begin, end=end, stride=stride, exact=True)

    def move_pad(self):
        x = self.pick()
        if x.shape:
            width = [self.between(0, 1) for _ in range(2 * len(x.shape))]
            self.add("pad", x, pad_width=width, pad_value=0.5, exact=True)

    def move_flip_or_tile(self):
        if (x := self.pick()).shape:
            self.add("flip", x, axis=-1, exact=True)
            self.add("tile", x, reps=(2,), exact=True)

    def move_take(self):
        if (x := self.pick()).shape and x.shape[0]:
            indices = self.builder.constant(self.rng.integers(0, x.shape[0], 3))
            self.add("take", x, indices, axis=0, exact=True)

    def move_compare(self):
        if (x := self.pick(exact=True)) is not None:
            mask = self.add("__mul_scalar__", x, scalar=0.5, exact=True)[0]
            mask = self.add("broadcast_greater", x, mask, out_dtype="bool", exact=True)[0]
            self.add("where", self.add("logical_not", mask, exact=True)[0], x, self.pick(0) or x)

    def move_integers(self):
        if (x := self.pick(exact=True)) is not None:
            number = self.add("cast", x, dtype="int32", exact=True)[0]
            self.add("broadcast_add", number, number, exact=True)
            self.add("cast", self.add("sum", number)[0], dtype="float32")

    def move_arg_max(self):
        if (x := self.pick(exact=True)) is not None and x.shape and 0 not in x.shape:
            axis = self.choice([(), (0,), (-1,), tuple(range(len(x.shape)))[-2:]])
            self.add("argmax", x, axis=axis, keepdims=bool(self.between(0, 1)), exact=True)

    def move_shared_known_values(self):
        known = self.param(1)
        x = self.pick()
        self.add("broadcast_add", *self.add("broadcast_mul", x, known), known)


def assert_same(got, want, context: object = "") -> None:
    """Compares lists of outputs: types exactly, floats within what reordered sums may differ by."""
    assert len(got) == len(want)
    for index, (have, expected) in enumerate(zip(got, want, strict=True)):
        where = f"{context} output {index}"
        assert (have.dtype, have.shape) == (expected.dtype, expected.shape), where
        scale = np.max(np.abs(expected), initial=1.0) if expected.dtype.kind == "f" else 0
        np.testing.assert_allclose(have, expected, rtol=1e-4, atol=1e-4 * scale, err_msg=where)
