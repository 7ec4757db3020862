"""Random nest kernels: everything the dialect has, legal and in bounds, for comparing who runs or transforms them.

A kernel is grown statement by statement from a seed: nested loops with steps and max/min bounds, loads and stores
with and without range checks, accumulates into memory and scratch, row checks, and every scalar op at every type that
has it. Subscripts are shifted, or guarded by a check, until the ranges of their indices prove them inside.
"""

from __future__ import annotations

import random
from typing import Any

import numpy as np
from xdsl.dialects.builtin import IntegerType, bf16, f16, f32, f64, i1, i8, i16, i32, i64
from xdsl.ir import Attribute, Block, SSAValue

from limn.analysis.affine import interval, range_of
from limn.dialects import nest
from limn.dialects.graph import is_float
from limn.interpreters.nest_numpy import NUMPY, poison

MEMORY = (f32, f32, f32, f32, f64, f64, i32, i32, i16, i8, i1, f16, bf16)
COMPUTED = (f32, f32, f32, f64, f64, i32, i16, i8, i64, i1)
UNARY = (nest.NegOp, nest.SqrtOp, nest.ExpOp, nest.LogOp)
FLOAT_BINARY = (nest.AddOp, nest.SubOp, nest.MulOp, nest.DivOp, nest.MaxOp)
INT_BINARY = (nest.AddOp, nest.SubOp, nest.MulOp, nest.MaxOp, nest.AndOp, nest.OrOp, nest.XorOp)
BOOL_BINARY = (nest.AndOp, nest.OrOp, nest.XorOp)
SPECIAL = (0.0, -0.0, 1.0, -1.0, float("inf"), float("-inf"), float("nan"), 1e-45, -5e-324, 1.5e-38, 3.4e38, 1e308, 2.5)


def arrays_of(kernel: nest.KernelOp, seed: int, outputs: frozenset[int]) -> list[np.ndarray]:
    """Flat arrays for the arguments: random values with every special one, poison for outputs."""
    rng = np.random.default_rng(seed)
    arrays = []
    for place, argument in enumerate(kernel.block.args):
        size, kind = nest.extent_of(argument), NUMPY[str(nest.memref_of(argument).element_type)]
        array = np.zeros(size, kind)
        if place in outputs:
            poison(array)
        elif kind == np.bool_:
            array[...] = rng.integers(0, 2, size)
        elif kind.kind == "i":
            ends = np.iinfo(kind)
            wide = rng.integers(ends.min, ends.max, size, endpoint=True)
            array[...] = np.where(rng.random(size) < 0.5, wide, rng.integers(-3, 4, size))
        else:
            with np.errstate(all="ignore"):
                values = rng.normal(size=size) * 10.0 ** rng.integers(-3, 4, size)
                array[...] = np.where(rng.random(size) < 0.06, rng.choice(SPECIAL, size), values)
        arrays.append(array)
    return arrays


class NestKernel:
    """``kernel``, the places of its ``outputs`` among its arguments, and ``arrays(seed)`` to run it on."""

    def __init__(self, seed: int, statements: int = 9, depth: int = 3):
        self.random = random.Random(seed)
        self.ranges: dict[SSAValue, tuple[int, int]] = {}
        self.loaded: set[SSAValue] = set()
        """Values straight from an input: their bits are known even where they are NaN, so bitcast takes them only."""
        body = Block()
        self.inputs = [self._argument(body, self.pick(MEMORY), self.pick((1, 7, 24, 40))) for _ in range(4)]
        self.rows = self._argument(body, i32, 9)
        tidy = self.chance(0.6)
        kinds = (f32, f32, f64, i32, i8, i1, f16)
        outs = [self._argument(body, self.pick(kinds), 125 if tidy else self.pick((12, 60))) for _ in range(3)]
        self.layout: dict[SSAValue, tuple[int, ...]] = {}
        """For each output of a tidy kernel the depths of the loops whose cells it holds; the others are folded."""
        if tidy:
            layouts = ((0,), (0, 1), (0, 1), (0, 1, 2), (1, 2))
            one = self.pick(layouts)
            self.layout = {out: one if self.chance(0.8) else self.pick(layouts) for out in outs}
        self.depths: dict[SSAValue, int] = {}
        self.memories: list[SSAValue] = list(outs)
        self.outputs = frozenset(body.args.index(out) for out in outs)
        for out in outs[: self.random.randint(1, 3)]:  # or every total would start from poison
            fill = nest.ForOp.block_named("i")
            start = self.value([], nest.memref_of(out).element_type, fill)
            fill.add_op(nest.StoreOp(start, out, nest.Index.of(fill.args[0])))
            body.add_op(nest.ForOp([0], [nest.extent_of(out)], fill))
        self.grow(body, [], [], statements, depth)
        self.kernel = nest.KernelOp("k", body)
        self.kernel.verify()

    def arrays(self, seed: int = 0) -> list[np.ndarray]:
        arrays = arrays_of(self.kernel, seed, self.outputs)
        arrays[list(self.kernel.block.args).index(self.rows)][...] = np.random.default_rng(seed).integers(0, 3, 9)
        return arrays

    # ----------------------------------------------------------------------------------------------------- drawing

    def _argument(self, block: Block, kind: Attribute, size: int) -> SSAValue:
        return block.insert_arg(nest.memref(size, kind), len(block.args))

    def chance(self, p: float) -> bool:
        return self.random.random() < p

    def pick(self, options: Any) -> Any:
        return self.random.choice(list(options))

    def index(self, indices: list[SSAValue], row_major: float = 0.5) -> nest.Index:
        """Row-major over some of the indices, or any small combination of them."""
        some = [i for i in indices if self.chance(0.9)]
        found = nest.Index.constant(0)
        if self.chance(row_major):
            step = 1
            for i in reversed(some):
                found = found + nest.Index.of(i) * step
                step *= self.ranges[i][1] + 1
            return found
        for i in some:
            found = found + nest.Index.of(i) * self.random.randint(-3, 5)
        if some and self.chance(0.15):
            found = found // 2 if self.chance(0.5) else found % self.random.randint(2, 5)
        return found

    def place(self, memory: SSAValue, indices: list[SSAValue]) -> tuple[nest.Index, list[tuple[nest.Index, int, int]]]:
        """A subscript that is proven to be inside, and range checks."""
        index, size = self.index(indices), nest.extent_of(memory)
        if memory in self.layout:
            index = nest.Index.constant(0)
            for i in indices:
                if self.depths.get(i) in self.layout[memory]:
                    index = index + nest.Index.of(i) * 5 ** (2 - self.depths[i])
        checks = []
        low, high = interval(index, self.ranges)
        if low < 0 and self.chance(0.7):
            index, low, high = index - low, 0, high - low
        if low < 0 or high >= size:
            if self.chance(0.8):
                checks.append((index, 0, size))
            else:
                index = index % size
        if self.chance(0.2):
            other = self.index(indices)
            low, high = interval(other, self.ranges)
            checks.append((other, low + self.random.randint(0, 2), high + self.random.randint(-1, 1)))
        return index, checks

    def value(self, values: list[SSAValue], kind: Attribute, block: Block) -> SSAValue:
        """A value of a type: one of those in scope, one of them cast, or a constant."""
        found = [v for v in values if v.type == kind]
        if found and self.chance(0.95):
            return self.pick(found[-5:])
        if values and self.chance(0.7):
            cast = nest.CastOp(self.pick(values[-5:]), kind)
            block.add_op(cast)
            return cast.result
        if is_float(kind):
            number: Any = self.pick(SPECIAL) if self.chance(0.1) else self.random.uniform(-4, 4)
            with np.errstate(over="ignore"):
                number = number if kind == f64 else float(NUMPY[str(kind)].type(number))
        elif kind == i1:
            number = self.chance(0.5)
        else:
            assert isinstance(kind, IntegerType)
            top = 1 << (kind.width.data - 1)
            number = self.pick((0, 1, -1, 3, top - 1, -top))
        op = nest.ConstOp(number, kind)
        block.add_op(op)
        return op.result

    # ------------------------------------------------------------------------------------------------- statements

    def grow(self, block: Block, indices: list[SSAValue], values: list[SSAValue], statements: int, depth: int) -> None:
        values, memories = list(values), list(self.memories)
        indices = list(indices)
        for _ in range(statements):
            kind = self.random.randrange(18)
            if depth and (kind <= 1 or (not indices and self.chance(0.6))):
                self.loop(block, indices, values, statements, depth)
            elif kind <= 4 or not values:
                values.append(self.load(block, indices, self.pick(self.inputs + self.memories)))
            elif kind == 5:
                self.accumulate(block, indices, values)
            elif kind == 6:
                self.store(block, indices, values, self.pick(self.memories))
            elif kind == 7 and self.chance(0.5):
                space = self.pick(nest.SPACES)
                size = 1 if space == "register" else self.random.randint(1, 6)
                op = nest.ScratchOp(size, self.pick((f32, f64, i32, i16)), space)
                block.add_op(op)
                self.memories.append(op.result)
                for at in range(size):
                    start = self.value(values, nest.memref_of(op.result).element_type, block)
                    block.add_op(nest.StoreOp(start, op.result, at))
            elif kind == 8 and self.chance(0.5):
                row = self.load(block, indices, self.rows)
                op = nest.CheckRowOp(row, 3, self.index(indices, row_major=1.0))
                block.add_op(op)
                self.ranges[op.result] = (0, 2)
                indices.append(op.result)
            else:
                values.append(self.arithmetic(block, indices, values))
        self.store(block, indices, values, self.pick(self.memories))
        self.memories = memories

    def loop(self, block: Block, indices: list[SSAValue], values: list[SSAValue], statements: int, depth: int) -> None:
        body = nest.ForOp.block_named(f"i{len(indices)}")
        low: list[nest.Index | int] = [self.pick((0, 0, 0, 0, 0, 1, 2))]
        high: list[nest.Index | int] = [self.pick((1, 2, 3, 4, 5, 5, 5))]
        if indices and self.chance(0.2):
            low.append(nest.Index.of(self.pick(indices)) - self.random.randint(0, 3))
        if indices and self.chance(0.2):
            high.append(nest.Index.of(self.pick(indices)) + self.random.randint(0, 4))
        op = nest.ForOp(
            low, high, body, self.pick((1, 1, 1, 1, 2, 3)), self.pick(nest.LOOP_KINDS[:1] * 4 + nest.LOOP_KINDS)
        )
        self.ranges[op.index] = range_of(op, self.ranges)
        self.depths[op.index] = sum(i in self.depths for i in indices)
        block.add_op(op)
        self.grow(body, [*indices, op.index], values, max(statements - 2, 2), depth - 1)

    def load(self, block: Block, indices: list[SSAValue], memory: SSAValue) -> SSAValue:
        op = nest.LoadOp(memory, *self.place(memory, indices))
        block.add_op(op)
        if memory in self.inputs:
            self.loaded.add(op.result)
        return op.result

    def store(self, block: Block, indices: list[SSAValue], values: list[SSAValue], memory: SSAValue) -> None:
        kind = nest.memref_of(memory).element_type
        value = self.value(values[-2:] if self.chance(0.7) else values, kind, block)
        block.add_op(nest.StoreOp(value, memory, *self.place(memory, indices)))

    def accumulate(self, block: Block, indices: list[SSAValue], values: list[SSAValue]) -> None:
        memory = self.pick(self.memories)
        kind = nest.memref_of(memory).element_type
        if kind in (i1, f16, bf16):
            return
        how = self.pick((nest.ADD, nest.MAX, nest.FMA) if is_float(kind) else (nest.ADD, nest.MAX))
        factor = self.value(values, kind, block) if how == nest.FMA else None
        index, checks = self.place(memory, indices)
        block.add_op(nest.AccumulateOp(how, self.value(values, kind, block), memory, index, factor, checks))

    def arithmetic(self, block: Block, indices: list[SSAValue], values: list[SSAValue]) -> SSAValue:
        here = [v.type for v in values[-4:] if v.type in COMPUTED]
        kind = self.pick(here) if here and self.chance(0.8) else self.pick(COMPUTED)
        a, b, c = (self.value(values, kind, block) for _ in range(3))
        choice = self.random.randrange(16)
        widths = {v: nest.width_of(v.type) for v in values if v in self.loaded and v.type != i1}
        if choice == 0:
            op: Any = nest.CmpLtOp(a, b)
        elif choice == 1:
            kind = self.pick(MEMORY)
            condition = self.value(values, i1, block)
            op = nest.SelectOp(condition, self.value(values, kind, block), self.value(values, kind, block))
        elif choice <= 3:
            op = nest.CastOp(self.pick(values), self.pick(COMPUTED))
        elif choice == 4 and widths:
            value = self.pick(widths)
            op = nest.BitcastOp(value, self.pick([t for t in nest.SCALARS if nest.width_of(t) == widths[value]]))
        elif choice == 5:
            op = nest.IndexOp(self.index(indices))
        elif is_float(kind):
            unary, binary = self.pick(UNARY), self.pick(FLOAT_BINARY)
            op = self.pick((unary(a), binary(a, b), binary(a, b), nest.FmaOp(a, b, c)))
        elif kind == i1:
            op = self.pick(BOOL_BINARY)(a, b)
        elif choice == 6:
            shift = nest.ConstOp(self.random.randrange(nest.width_of(kind)), kind)
            block.add_op(shift)
            op = self.pick((nest.ShlOp, nest.ShrOp))(a, shift)
        else:
            op = self.pick((nest.NegOp(a), *(made(a, b) for made in INT_BINARY)))
        block.add_op(op)
        return op.results[0]
