"""Graph modules that every pass is tried on: layouts, fusions and edges that once broke a compiler or could.

`CASES` maps a name to a function that builds the case anew: a module with one function, and what its arguments may
hold. Nothing here depends on the frontend, so that passes can be tested without it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp, TensorType, f32, f64, i1, i32
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Region, SSAValue

from limn.dialects import graph
from limn.dtypes import BY_MLIR
from limn.view import View

Array = np.ndarray[Any, Any]


@dataclass
class Case:
    """A module with one function, and for each integer argument the exclusive upper bound of its values."""

    module: ModuleOp
    below: dict[int, int] = field(default_factory=dict)

    @property
    def func(self) -> FuncOp:
        return next(op for op in self.module.body.ops if isinstance(op, FuncOp))

    def inputs(self, seed: int = 0, whole: bool = False) -> list[Array]:
        """Arrays for the arguments; with ``whole`` small whole numbers, on which sums are exact in any order."""
        rng = np.random.default_rng(seed)
        return [self._input(rng, i, a, whole) for i, a in enumerate(self.func.body.block.args)]

    def _input(self, rng: np.random.Generator, position: int, argument: SSAValue, whole: bool) -> Array:
        shape, dtype = graph.shape_of(argument), BY_MLIR[str(graph.element_of(argument))]
        if dtype.is_float:
            values = rng.integers(-3, 4, shape) if whole else rng.normal(size=shape)
        else:
            values = rng.integers(0, self.below.get(position, 2 if dtype.kind == "bool" else 50), shape)
        return np.asarray(values).astype(dtype.numpy)


class Builder:
    """Builds a function op by op; tensors are SSA values."""

    def __init__(self) -> None:
        self.block = Block()
        self.below: dict[int, int] = {}

    def arg(self, *shape: int, of: Any = f32, below: int | None = None) -> SSAValue:
        if below is not None:
            self.below[len(self.block.args)] = below
        return self.block.insert_arg(TensorType(of, list(shape)), len(self.block.args))

    def op(self, op: Any) -> SSAValue:
        self.block.add_op(op)
        return op.results[0]

    def const(self, value: float, like: SSAValue | Sequence[int], of: Any = f32) -> SSAValue:
        shape, of = (graph.shape_of(like), graph.element_of(like)) if isinstance(like, SSAValue) else (like, of)
        return self.op(graph.ConstOp(value, TensorType(of, list(shape))))

    def view(self, x: SSAValue, view: View) -> SSAValue:
        return self.op(graph.ViewOp(x, view.shape, view.strides, view.offset, view.mask))

    def layout(self, x: SSAValue) -> View:
        return View.contiguous(graph.shape_of(x))

    def reshape(self, x: SSAValue, *shape: int) -> SSAValue:
        return self.view(x, View.contiguous(shape))

    def permute(self, x: SSAValue, *axes: int) -> SSAValue:
        return self.view(x, self.layout(x).permute(axes))

    def expand(self, x: SSAValue, *shape: int) -> SSAValue:
        """Repeat along leading dims that x lacks and along dims of extent 1."""
        missing = len(shape) - len(graph.shape_of(x))
        view = View.contiguous((1,) * missing + graph.shape_of(x)).expand(shape)
        return self.view(x, view)

    def add(self, a: SSAValue, b: SSAValue) -> SSAValue:
        return self.op(graph.AddOp(a, b))

    def mul(self, a: SSAValue, b: SSAValue) -> SSAValue:
        return self.op(graph.MulOp(a, b))

    def div(self, a: SSAValue, b: SSAValue) -> SSAValue:
        return self.op(graph.MulOp(a, b, recip=True))

    def sub(self, a: SSAValue, b: SSAValue) -> SSAValue:
        return self.add(a, self.op(graph.NegOp(b)))

    def exp(self, a: SSAValue) -> SSAValue:
        return self.op(graph.ExpOp(a))

    def scaled(self, a: SSAValue, factor: float) -> SSAValue:
        return self.mul(a, self.const(factor, a))

    def relu(self, a: SSAValue) -> SSAValue:
        zero = self.const(0.0, a)
        return self.op(graph.WhereOp(self.op(graph.CmpLtOp(zero, a)), a, zero))

    def sum(self, a: SSAValue, *axes: int) -> SSAValue:
        return self.op(graph.SumOp(a, axes))

    def max(self, a: SSAValue, *axes: int) -> SSAValue:
        return self.op(graph.MaxOp(a, axes))

    def like(self, x: SSAValue, y: SSAValue) -> SSAValue:
        return self.expand(x, *graph.shape_of(y))

    def matmul(self, a: SSAValue, b: SSAValue, transpose_a: bool = False, transpose_b: bool = False) -> SSAValue:
        """a @ b over the last two dims, with leading batch dims where both have them."""
        left = self.layout(a).permute([*range(len(graph.shape_of(a)) - 2), -1, -2]) if transpose_a else self.layout(a)
        right = self.layout(b).permute([*range(len(graph.shape_of(b)) - 2), -1, -2]) if transpose_b else self.layout(b)
        (*batch, m, k), n = left.shape, right.shape[-1]
        lhs = View((*batch, m, 1, k), (*left.strides[:-1], 0, left.strides[-1])).expand((*batch, m, n, k))
        right = right.permute([*range(len(batch)), len(batch) + 1, len(batch)])
        rhs = View((*batch, 1, n, k), (*right.strides[:-2], 0, *right.strides[-2:])).expand((*batch, m, n, k))
        product = self.mul(self.view(a, lhs), self.view(b, rhs))
        return self.reshape(self.sum(product, len(batch) + 2), *batch, m, n)

    def mean(self, x: SSAValue, axis: int) -> SSAValue:
        total = self.sum(x, axis)
        return self.scaled(total, 1.0 / graph.shape_of(x)[axis])

    def softmax(self, x: SSAValue) -> SSAValue:
        last = len(graph.shape_of(x)) - 1
        e = self.exp(self.sub(x, self.like(self.max(x, last), x)))
        return self.div(e, self.like(self.sum(e, last), x))

    def log_softmax(self, x: SSAValue) -> SSAValue:
        last = len(graph.shape_of(x)) - 1
        d = self.sub(x, self.like(self.max(x, last), x))
        return self.sub(d, self.like(self.op(graph.LogOp(self.sum(self.exp(d), last))), x))

    def normalized(self, x: SSAValue) -> tuple[SSAValue, SSAValue]:
        """x with mean 0 and variance 1 along its last dim, and 1 / the deviation."""
        last = len(graph.shape_of(x)) - 1
        d = self.sub(x, self.like(self.mean(x, last), x))
        variance = self.mean(self.mul(d, d), last)
        rstd = self.op(graph.RecipOp(self.op(graph.SqrtOp(self.add(variance, self.const(1e-5, variance))))))
        return self.mul(d, self.like(rstd, x)), rstd

    def layer_norm(self, x: SSAValue, gain: SSAValue, bias: SSAValue) -> SSAValue:
        normal, _ = self.normalized(x)
        return self.add(self.mul(normal, self.like(gain, x)), self.like(bias, x))

    def layer_norm_gradient(self, x: SSAValue, gain: SSAValue, g: SSAValue) -> SSAValue:
        last = len(graph.shape_of(x)) - 1
        normal, rstd = self.normalized(x)
        gg = self.mul(g, self.like(gain, x))
        a = self.like(self.mean(gg, last), x)
        b = self.mul(normal, self.like(self.mean(self.mul(gg, normal), last), x))
        return self.mul(self.sub(self.sub(gg, a), b), self.like(rstd, x))

    def assign(self, target: SSAValue, value: SSAValue) -> SSAValue:
        return self.op(graph.AssignOp(target, value))

    def case(self, *results: SSAValue) -> Case:
        self.block.add_op(ReturnOp(*results))
        types = ([a.type for a in self.block.args], [r.type for r in results])
        return Case(ModuleOp([FuncOp("main", types, Region(self.block))]), self.below)


CASES: dict[str, Callable[[], Case]] = {}


def case(build: Callable[[Builder], Case]) -> Callable[[Builder], Case]:
    CASES[build.__name__] = lambda: build(Builder())
    return build


# Elementwise, layouts


@case
def elementwise(b: Builder) -> Case:
    x, y = b.arg(4, 5), b.arg(4, 5)
    return b.case(b.scaled(b.add(b.mul(x, y), b.exp(x)), 0.5))


@case
def scalars(b: Builder) -> Case:
    x, y = b.arg(), b.arg()
    return b.case(b.add(b.mul(x, y), b.const(1.5, x)))


@case
def broadcasts(b: Builder) -> Case:
    x, row, column, one = b.arg(4, 5), b.arg(5), b.arg(4, 1), b.arg(1, 1)
    return b.case(b.add(b.add(x, b.like(row, x)), b.mul(b.like(column, x), b.like(one, x))))


@case
def expensive_row_repeated(b: Builder) -> Case:
    x, row = b.arg(6, 5), b.arg(5)
    return b.case(b.mul(x, b.like(b.exp(row), x)))


@case
def expensive_column_repeated(b: Builder) -> Case:
    x, column = b.arg(6, 5), b.arg(6, 1)
    return b.case(b.mul(x, b.like(b.exp(column), x)))


@case
def transposed_operand(b: Builder) -> Case:
    x, y = b.arg(4, 7), b.arg(7, 4)
    return b.case(b.add(x, b.permute(y, 1, 0)))


@case
def permute_of_a_sum(b: Builder) -> Case:
    x, y = b.arg(3, 4, 5), b.arg(3, 4, 5)
    return b.case(b.scaled(b.permute(b.add(x, y), 2, 0, 1), 2.0))


@case
def pad_at_both_ends(b: Builder) -> Case:
    x, y = b.arg(3, 4), b.arg(6, 7)
    padded = b.view(x, b.layout(x).pad([(1, 2), (2, 1)]))
    return b.case(b.add(b.exp(padded), y))


@case
def pad_of_an_expression(b: Builder) -> Case:
    x = b.arg(3, 4)
    e = b.exp(x)
    return b.case(b.view(e, b.layout(e).pad([(0, 2), (1, 0)])), e)


@case
def pad_of_a_constant(b: Builder) -> Case:
    x = b.arg(5, 4)
    ones = b.const(1.0, (3, 4))
    return b.case(b.mul(x, b.view(ones, b.layout(ones).pad([(1, 1), (0, 0)]))))


@case
def slices_and_steps(b: Builder) -> Case:
    x, y = b.arg(9, 8), b.arg(3, 4)
    part = b.view(x, b.layout(x).shrink([(1, 8), (1, 8)]).every([3, 2]))
    return b.case(b.mul(part, y))


@case
def negative_strides(b: Builder) -> Case:
    x, y = b.arg(4, 6), b.arg(4, 6)
    flipped = b.view(x, b.layout(x).flip([0, 1]))
    return b.case(b.add(flipped, y), b.view(y, b.layout(y).flip([1])))


@case
def reshape_merges_and_splits(b: Builder) -> Case:
    x, y = b.arg(4, 6), b.arg(2, 12)
    s = b.add(x, b.reshape(y, 4, 6))
    return b.case(b.exp(b.reshape(s, 3, 8)), b.reshape(s, 24))


@case
def views_that_do_not_compose(b: Builder) -> Case:
    x = b.arg(3, 4)
    padded = b.view(x, b.layout(x).pad([(0, 1), (0, 1)]))
    return b.case(b.scaled(b.reshape(padded, 2, 10), 3.0))


@case
def size_one_dims(b: Builder) -> Case:
    x, y = b.arg(1, 5, 1), b.arg(1, 5, 1)
    s = b.sum(b.add(x, y), 0, 2)
    return b.case(b.mul(s, x), b.max(b.reshape(x, 5, 1, 1), 1))


@case
def empty_mask(b: Builder) -> Case:
    x, y = b.arg(3, 4), b.arg(3, 4)
    nothing = b.op(graph.ViewOp(x, (3, 4), (0, 0), 0, [(0, 0), (0, 0)]))
    return b.case(b.add(nothing, y))


@case
def comparisons_and_bools(b: Builder) -> Case:
    x, y, m = b.arg(4, 5), b.arg(4, 5), b.arg(4, 5, of=i1)
    less = b.op(graph.CmpLtOp(x, y))
    both = b.op(graph.WhereOp(less, m, b.const(0, (4, 5), i1)))
    count = b.sum(b.op(graph.CastOp(both, i32)), 1)
    return b.case(b.op(graph.WhereOp(both, x, y)), both, count, b.max(m, 0))


@case
def integers_and_doubles(b: Builder) -> Case:
    i, d = b.arg(6, 7, of=i32), b.arg(6, 7, of=f64)
    wide = b.op(graph.CastOp(i, f64))
    return b.case(b.sum(b.mul(wide, d), 1), b.op(graph.CastOp(d, i32)), b.sum(b.mul(i, i), 0), b.max(i, 1))


# Contractions


def _matmul(transpose_a: bool, transpose_b: bool) -> Callable[[Builder], Case]:
    def build(b: Builder) -> Case:
        x = b.arg(*((5, 7) if not transpose_a else (7, 5)))
        w = b.arg(*((7, 6) if not transpose_b else (6, 7)))
        return b.case(b.matmul(x, w, transpose_a, transpose_b))

    return build


for _a in (False, True):
    for _b in (False, True):
        _name = f"matmul_{'t' if _a else 'n'}{'t' if _b else 'n'}"
        CASES[_name] = lambda a=_a, b=_b: _matmul(a, b)(Builder())


@case
def matmul_batched(b: Builder) -> Case:
    x, y = b.arg(2, 3, 4, 5), b.arg(2, 3, 5, 6)
    return b.case(b.matmul(x, y))


@case
def matmul_bias_relu(b: Builder) -> Case:
    x, w, c = b.arg(9, 17), b.arg(17, 13), b.arg(13)
    h = b.matmul(x, w)
    return b.case(b.relu(b.add(h, b.like(c, h))))


@case
def matmul_scale_residual(b: Builder) -> Case:
    x, w, r = b.arg(8, 16), b.arg(16, 8), b.arg(8, 8)
    return b.case(b.add(b.scaled(b.matmul(x, w), 0.125), r))


@case
def two_layers(b: Builder) -> Case:
    x, w1, w2 = b.arg(8, 20), b.arg(20, 12), b.arg(12, 10)
    return b.case(b.matmul(b.relu(b.matmul(x, w1)), w2))


@case
def matmul_of_cast(b: Builder) -> Case:
    x, w = b.arg(4, 6, of=i32), b.arg(6, 5)
    return b.case(b.matmul(b.op(graph.CastOp(x, f32)), w))


@case
def matmul_then_softmax(b: Builder) -> Case:
    x, w = b.arg(6, 12), b.arg(12, 10)
    return b.case(b.softmax(b.matmul(x, w)))


@case
def matmul_used_twice(b: Builder) -> Case:
    x, w = b.arg(6, 12), b.arg(12, 10)
    h = b.matmul(x, w)
    return b.case(b.relu(h), b.permute(h, 1, 0), h)


@case
def product_transposed(b: Builder) -> Case:
    """The gradient of a weight, as autograd records it: a product, permuted, in an update."""
    x, g, w = b.arg(6, 12), b.arg(6, 9), b.arg(12, 9)
    b.assign(w, b.sub(w, b.scaled(b.permute(b.matmul(g, x, transpose_a=True), 1, 0), 0.1)))
    return b.case()


@case
def softmax_transposed(b: Builder) -> Case:
    return b.case(b.scaled(b.permute(b.softmax(b.arg(6, 10)), 1, 0), 2.0))


@case
def sum_of_permuted_axes(b: Builder) -> Case:
    x = b.arg(4, 5, 4, 3)
    y = b.add(x, b.relu(x))
    return b.case(b.sum(b.permute(y, 2, 1, 0, 3), 0, 1, 2), b.sum(b.permute(b.relu(x), 3, 2, 1, 0), 1, 3))


@case
def outer_product_of_one(b: Builder) -> Case:
    x, w = b.arg(1, 9), b.arg(9, 6)
    return b.case(b.matmul(x, w))


@case
def convolution(b: Builder) -> Case:
    x, w = b.arg(2, 3, 6, 6), b.arg(4, 3, 3, 3)
    padded = b.layout(x).pad([(0, 0), (0, 0), (1, 1), (1, 1)])
    # windows of the padded image would not compose as one View, so the image is copied first
    p = b.op(graph.ContiguousOp(b.view(x, padded)))
    windows = View((2, 4, 6, 6, 3, 3, 3), (192, 0, 8, 1, 64, 8, 1))
    kernel = View((2, 4, 6, 6, 3, 3, 3), (0, 27, 0, 0, 9, 3, 1))
    return b.case(b.sum(b.mul(b.view(p, windows), b.view(w, kernel)), 4, 5, 6))


# Reductions and rows


@case
def softmax(b: Builder) -> Case:
    return b.case(b.softmax(b.arg(6, 10)))


@case
def softmax_wide(b: Builder) -> Case:
    return b.case(b.softmax(b.arg(3, 48)))


@case
def softmax_ragged(b: Builder) -> Case:
    return b.case(b.softmax(b.arg(3, 37)))


@case
def softmax_of_a_vector(b: Builder) -> Case:
    return b.case(b.softmax(b.arg(32)))


@case
def softmax_of_heads(b: Builder) -> Case:
    return b.case(b.softmax(b.scaled(b.arg(2, 3, 8, 16), 0.25)))


@case
def softmax_square(b: Builder) -> Case:
    return b.case(b.softmax(b.arg(16, 256)))


@case
def softmax_over_the_first_axis(b: Builder) -> Case:
    x = b.arg(10, 6)
    e = b.exp(b.sub(x, b.like(b.max(x, 0), x)))
    return b.case(b.div(e, b.like(b.sum(e, 0), x)))


@case
def softmax_masked(b: Builder) -> Case:
    x, m = b.arg(4, 12), b.arg(4, 12, of=i1)
    return b.case(b.softmax(b.op(graph.WhereOp(m, x, b.const(float("-inf"), x)))))


@case
def log_softmax(b: Builder) -> Case:
    return b.case(b.log_softmax(b.arg(6, 32)))


@case
def cross_entropy(b: Builder) -> Case:
    x, y = b.arg(8, 10), b.arg(8, 10)
    loss = b.sum(b.mul(b.log_softmax(x), y), 0, 1)
    return b.case(b.scaled(b.reshape(loss), -1 / 8))


@case
def softmax_gradient(b: Builder) -> Case:
    x, g = b.arg(6, 48), b.arg(6, 48)
    y = b.softmax(x)
    return b.case(y, b.mul(y, b.sub(g, b.like(b.sum(b.mul(g, y), 1), x))))


@case
def layer_norm(b: Builder) -> Case:
    return b.case(b.layer_norm(b.arg(6, 24), b.arg(24), b.arg(24)))


@case
def layer_norm_gradient(b: Builder) -> Case:
    return b.case(b.layer_norm_gradient(b.arg(6, 48), b.arg(48), b.arg(6, 48)))


@case
def layer_norm_both_ways(b: Builder) -> Case:
    x, gain, bias, g = b.arg(6, 48), b.arg(48), b.arg(48), b.arg(6, 48)
    normal, rstd = b.normalized(x)
    gg = b.mul(g, b.like(gain, x))
    y = b.add(b.mul(normal, b.like(gain, x)), b.like(bias, x))
    inner = b.mul(normal, b.like(b.mean(b.mul(gg, normal), 1), x))
    dx = b.mul(b.sub(b.sub(gg, b.like(b.mean(gg, 1), x)), inner), b.like(rstd, x))
    return b.case(y, dx, b.reshape(b.sum(b.mul(g, normal), 0), 48), b.reshape(b.sum(g, 0), 48))


@case
def mean_of_everything(b: Builder) -> Case:
    x = b.arg(7, 11)
    return b.case(b.reshape(b.scaled(b.sum(x, 0, 1), 1 / 77)))


@case
def sums_over_each_axis(b: Builder) -> Case:
    x = b.arg(5, 6, 7)
    return b.case(b.sum(x, 0), b.sum(x, 1), b.sum(x, 2), b.sum(x, 0, 2), b.max(x, 1, 2))


@case
def sum_of_sums(b: Builder) -> Case:
    x = b.arg(4, 5, 6)
    return b.case(b.sum(b.sum(x, 2), 1), b.max(b.sum(x, 1), 2), b.sum(b.exp(b.max(x, 2)), 1))


@case
def reduce_used_by_other_cells(b: Builder) -> Case:
    x = b.arg(5, 5)
    s = b.sum(x, 1)
    return b.case(b.mul(b.like(s, x), b.expand(b.reshape(s, 1, 5), 5, 5)))


@case
def rows_of_another_extent(b: Builder) -> Case:
    x, y = b.arg(6, 9), b.arg(6, 4)
    return b.case(b.mul(y, b.like(b.sum(b.exp(x), 1), y)), b.sum(x, 1))


@case
def sum_of_a_masked_view(b: Builder) -> Case:
    x = b.arg(5, 6)
    return b.case(b.sum(b.view(x, b.layout(x).pad([(1, 0), (3, 2)])), 1))


@case
def sum_of_a_constant(b: Builder) -> Case:
    return b.case(b.sum(b.const(0.5, (3, 8)), 1), b.max(b.arg(3, 1), 1))


@case
def long_sum(b: Builder) -> Case:
    return b.case(b.reshape(b.sum(b.arg(3 * 4096 + 57), 0)))


@case
def long_rows(b: Builder) -> Case:
    x = b.arg(2, 5003)
    return b.case(b.sum(b.mul(x, x), 1), b.softmax(x))


@case
def long_columns(b: Builder) -> Case:
    return b.case(b.sum(b.arg(4500, 3), 0))


@case
def row_with_a_tail(b: Builder) -> Case:
    x = b.arg(2, 36)
    return b.case(b.div(x, b.like(b.sum(b.mul(x, x), 1), x)))


# Rows of tables


@case
def gather(b: Builder) -> Case:
    table, index, bias = b.arg(7, 3), b.arg(2, 5, of=i32, below=7), b.arg(3)
    g = b.op(graph.GatherOp(table, index))
    return b.case(b.add(g, b.like(bias, g)))


@case
def gather_wrapped_index(b: Builder) -> Case:
    table, index = b.arg(7, 2, 3), b.arg(5, of=i32, below=7)
    shifted = b.add(index, b.const(-7, index))
    inside = b.op(graph.WhereOp(b.op(graph.CmpLtOp(shifted, b.const(0, index))), index, shifted))
    return b.case(b.exp(b.op(graph.GatherOp(table, inside))))


@case
def gather_of_an_expression(b: Builder) -> Case:
    table, index = b.arg(6, 4), b.arg(3, of=i32, below=4)
    return b.case(b.sum(b.op(graph.GatherOp(b.permute(b.exp(table), 1, 0), index)), 1))


@case
def gather_scalars(b: Builder) -> Case:
    table, index = b.arg(9), b.arg(4, of=i32, below=9)
    one = b.arg(of=i32, below=9)
    return b.case(b.op(graph.GatherOp(table, index)), b.op(graph.GatherOp(table, one)))


@case
def gather_reshaped_table(b: Builder) -> Case:
    table, index = b.arg(4, 6), b.arg(5, of=i32, below=8)
    rows = b.op(graph.GatherOp(b.reshape(table, 8, 3), index))
    return b.case(rows, b.scaled(table, 2.0))


@case
def gather_of_the_first_rows(b: Builder) -> Case:
    table, index = b.arg(7, 3), b.arg(5, of=i32, below=2)
    first = b.op(graph.ViewOp(table, (2, 3), (3, 1)))
    return b.case(b.op(graph.GatherOp(first, index)), b.op(graph.GatherOp(b.reshape(first, 3, 2), index)))


@case
def scatter(b: Builder) -> Case:
    rows, index = b.arg(2, 5, 3), b.arg(2, 5, of=i32, below=4)
    return b.case(b.op(graph.ScatterOp(b.exp(rows), index, 4)))


@case
def scatter_then_update(b: Builder) -> Case:
    w, rows, index = b.arg(6, 3), b.arg(9, 3), b.arg(9, of=i32, below=6)
    grad = b.op(graph.ScatterOp(rows, index, 6))
    b.assign(w, b.sub(w, b.scaled(grad, 0.1)))
    return b.case(b.sum(grad, 0))


# Functions


@case
def argument_returned(b: Builder) -> Case:
    x = b.arg(3, 4)
    return b.case(x, b.permute(x, 1, 0), b.reshape(x, 12), x)


@case
def constants_returned(b: Builder) -> Case:
    return b.case(b.const(2.5, (3, 2)), b.const(7, (4,), i32), b.const(1.0, ()))


@case
def nothing(b: Builder) -> Case:
    b.arg(3)
    return b.case()


@case
def without_elements(b: Builder) -> Case:
    x, y, w = b.arg(3, 0), b.arg(3, 4), b.arg(0)
    empty = b.exp(b.add(x, x))
    nothing = b.view(y, b.layout(y).shrink([(0, 3), (2, 2)]))
    b.assign(w, b.reshape(b.scaled(x, 2.0), 0))
    total = b.add(b.like(b.sum(x, 1), y), y)
    padded = b.view(x, b.layout(x).pad([(0, 0), (2, 2)]))
    return b.case(empty, nothing, total, b.max(x, 1), b.sum(x, 0), b.add(padded, y), x)


@case
def dead_code(b: Builder) -> Case:
    x = b.arg(3)
    b.exp(b.op(graph.ContiguousOp(x)))
    return b.case(b.scaled(x, 3.0))


@case
def copies(b: Builder) -> Case:
    x = b.arg(3, 4)
    c = b.op(graph.ContiguousOp(b.permute(x, 1, 0)))
    e = b.op(graph.ContiguousOp(b.exp(x)))
    return b.case(b.add(b.permute(c, 1, 0), e), b.reshape(c, 12))


@case
def momentum_steps(b: Builder) -> Case:
    for shape in ((4, 3), (3,), (4, 3)):
        w, m, g = b.arg(*shape), b.arg(*shape), b.arg(*shape)
        next_m = b.add(b.scaled(m, 0.9), g)
        b.assign(m, next_m)
        b.assign(w, b.sub(w, b.scaled(next_m, 0.05)))
    return b.case()


@case
def assign_then_read(b: Builder) -> Case:
    w, x = b.arg(3, 4), b.arg(3, 4)
    new = b.assign(w, b.add(w, x))
    return b.case(b.exp(new), new, b.scaled(w, 2.0))


@case
def assign_an_argument(b: Builder) -> Case:
    w, x = b.arg(3), b.arg(3)
    b.assign(w, x)
    b.assign(x, w)
    return b.case(b.add(w, x))


@case
def used_by_two_kernels(b: Builder) -> Case:
    x = b.arg(4, 6)
    e = b.exp(x)
    return b.case(b.permute(b.scaled(e, 2.0), 1, 0), b.sum(e, 0), b.scaled(e, 3.0))


@case
def shared_inputs(b: Builder) -> Case:
    x, y = b.arg(4, 6), b.arg(4, 6)
    return b.case(b.add(x, y), b.mul(x, y), b.exp(x))


@case
def digits_step(b: Builder) -> Case:
    """Forward, backward and update of a 12-9-5 network on 6 samples, as the frontend would trace it."""
    x, y, w1, b1, w2, b2 = b.arg(6, 12), b.arg(6, 5), b.arg(12, 9), b.arg(9), b.arg(9, 5), b.arg(5)
    z = b.matmul(x, w1)
    z = b.add(z, b.like(b1, z))
    h = b.relu(z)
    logits = b.matmul(h, w2)
    logits = b.add(logits, b.like(b2, logits))
    logp = b.log_softmax(logits)
    loss = b.scaled(b.reshape(b.sum(b.mul(logp, y), 0, 1)), -1 / 6)
    grad = b.scaled(b.sub(b.exp(logp), y), 1 / 6)
    gh = b.matmul(grad, w2, transpose_b=True)
    zero = b.const(0.0, z)
    gz = b.op(graph.WhereOp(b.op(graph.CmpLtOp(zero, z)), gh, zero))
    for target, gradient in (
        (w1, b.matmul(x, gz, transpose_a=True)),
        (b1, b.reshape(b.sum(gz, 0), 9)),
        (w2, b.matmul(h, grad, transpose_a=True)),
        (b2, b.reshape(b.sum(grad, 0), 5)),
    ):
        b.assign(target, b.sub(target, b.scaled(gradient, 0.05)))
    return b.case(loss)
