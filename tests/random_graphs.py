"""Random graph functions for the passes: views of every kind between elementwise ops, reductions, products and rows.

Unlike `dags.py`, which draws what a user can write and compares with torch, this draws graph ops themselves, several
results and assigns, so that fusion meets shapes, layouts and sharing that the frontend would not make.
"""

from __future__ import annotations

from corpus import Builder, Case
from numpy.random import Generator, default_rng
from xdsl.dialects.builtin import f32, i1, i32
from xdsl.ir import SSAValue

from limn.dialects import graph
from limn.view import View

SHAPES = ((6,), (4, 6), (3, 4, 6), (4, 1), (1, 6), (6, 4), (12,), (2, 1, 6), (5, 32), (32,), ())


class RandomGraph:
    """`case` is a function of about ``size`` drawn ops; equal seeds give equal functions."""

    def __init__(self, seed: int, size: int = 30):
        self.rng: Generator = default_rng(seed)
        self.builder = Builder()
        self.values = [self.builder.arg(*self._shape()) for _ in range(int(self.rng.integers(2, 6)))]
        self.targets = list(self.values)
        self.index = self.builder.arg(3, of=i32, below=2)
        for _ in range(size):
            value = self._draw()
            if 1 <= graph.size_of(value) <= 4000:
                self.values.append(value)
        self.case = self._finish()

    def _shape(self) -> tuple[int, ...]:
        return SHAPES[self.rng.integers(len(SHAPES))]

    def _pick(self) -> SSAValue:
        recent = self.values[-8:] if self.rng.random() < 0.6 else self.values
        return recent[self.rng.integers(len(recent))]

    def _partner(self, x: SSAValue) -> SSAValue:
        """A value of x's shape: one that exists, or one repeated, or a constant."""
        shape = graph.shape_of(x)
        same = [v for v in self.values if graph.shape_of(v) == shape]
        if self.rng.random() < 0.6:
            return same[self.rng.integers(len(same))]
        fits = [v for v in self.values if _repeats_to(graph.shape_of(v), shape)]
        if self.rng.random() < 0.8:
            return self.builder.expand(fits[self.rng.integers(len(fits))], *shape)
        return self.builder.const(float(self.rng.integers(-2, 3)) / 2, x)

    def _draw(self) -> SSAValue:
        kinds = (self._unary, self._binary, self._binary, self._view, self._reduce, self._row_op, self._rare)
        return kinds[self.rng.integers(len(kinds))](self._pick())

    def _unary(self, x: SSAValue) -> SSAValue:
        b = self.builder
        match self.rng.integers(5):
            case 0:
                return b.op(graph.NegOp(x))
            case 1:
                return b.op(graph.SqrtOp(b.mul(x, x)))
            case 2:
                return b.op(graph.RecipOp(b.add(b.mul(x, x), b.const(1.0, x))))
            case 3:
                return b.op(graph.CastOp(b.op(graph.CastOp(x, i32)), f32))
            case _:
                return b.relu(x)

    def _binary(self, x: SSAValue) -> SSAValue:
        b, y = self.builder, self._partner(x)
        match self.rng.integers(4):
            case 0:
                return b.add(x, y)
            case 1:
                return b.mul(b.scaled(x, 0.5), y)
            case 2:
                return b.div(x, b.add(b.mul(y, y), b.const(2.0, x)))
            case _:
                less = b.op(graph.CmpLtOp(x, y))
                flipped = b.op(graph.WhereOp(less, b.const(0, graph.shape_of(x), i1), less))
                return b.op(graph.WhereOp(flipped if self.rng.random() < 0.5 else less, x, self._partner(x)))

    def _view(self, x: SSAValue) -> SSAValue:
        b, layout = self.builder, self.builder.layout(x)
        shape = layout.shape
        match self.rng.integers(7):
            case 0:
                return b.view(x, layout.permute(list(self.rng.permutation(len(shape)))))
            case 1:
                return b.view(x, layout.pad([tuple(self.rng.integers(0, 3, 2).tolist()) for _ in shape]))
            case 2:
                ends = [(self.rng.integers(0, (n + 1) // 2), self.rng.integers(n // 2 + 1, n + 1)) for n in shape]
                return b.view(x, layout.shrink([(int(start), int(stop)) for start, stop in ends]))
            case 3:
                return b.view(x, layout.flip([d for d in range(len(shape)) if self.rng.random() < 0.5]))
            case 4:
                return b.reshape(x, *self._other_shape(layout.size))
            case 5:
                return b.op(graph.ContiguousOp(x))
            case _:
                extents = tuple(3 if n == 1 and self.rng.random() < 0.5 else n for n in shape)
                return b.view(x, layout.expand(extents))

    def _other_shape(self, size: int) -> tuple[int, ...]:
        fits = [(size,), (size, 1), (1, size)]
        fits += [(n, size // n) for n in (2, 3, 4, 6) if size % n == 0]
        return fits[self.rng.integers(len(fits))]

    def _reduce(self, x: SSAValue) -> SSAValue:
        rank = len(graph.shape_of(x))
        axes = [d for d in range(rank) if self.rng.random() < 0.5] or list(range(rank))[-1:]
        if not axes:
            return x
        return self.builder.sum(x, *axes) if self.rng.random() < 0.6 else self.builder.max(x, *axes)

    def _row_op(self, x: SSAValue) -> SSAValue:
        """Something that folds rows and goes on with each of their elements."""
        b = self.builder
        shape = graph.shape_of(x)
        if not shape:
            return b.relu(x)
        axis = int(self.rng.integers(len(shape))) if self.rng.random() < 0.2 else len(shape) - 1
        centred = b.sub(x, b.like(b.max(x, axis) if self.rng.random() < 0.5 else b.sum(x, axis), x))
        if self.rng.random() < 0.5:
            return centred
        total = b.sum(b.mul(centred, self._partner(x)), axis)
        return b.mul(centred, b.like(b.op(graph.RecipOp(b.add(b.mul(total, total), b.const(1.0, total)))), x))

    def _rare(self, x: SSAValue) -> SSAValue:
        b, shape = self.builder, graph.shape_of(x)
        if len(shape) == 2 and shape[1] <= 40 and self.rng.random() < 0.7:
            return b.matmul(x, x, transpose_b=True) if shape[0] <= 40 else x
        if not shape or shape[0] < 2:
            return b.add(x, x)
        if self.rng.random() < 0.5:
            return b.op(graph.GatherOp(x, self.index))
        if shape[0] != 3:
            return b.op(graph.GatherOp(x, self.index))
        return b.op(graph.ScatterOp(x, self.index, int(self.rng.integers(2, 5))))

    def _finish(self) -> Case:
        b = self.builder
        for target in self.targets:
            fits = [v for v in self.values if graph.shape_of(v) == graph.shape_of(target)]
            if self.rng.random() < 0.4:
                b.assign(target, fits[self.rng.integers(len(fits))])
        count = int(self.rng.integers(1, 9))
        return b.case(*(self._pick() for _ in range(count)))


def _repeats_to(source: tuple[int, ...], shape: tuple[int, ...]) -> bool:
    if len(source) > len(shape):
        return False
    return all(s in (1, e) for s, e in zip(View.contiguous(source).shape[::-1], shape[::-1]))
