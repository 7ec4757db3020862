"""Random schedule kernels in normal form, and running a module at its stage: the fuzz of `lower` and of nest passes.

A kernel is grown op by op over dims of extents that are odd, small and sometimes 1. Loads have any layout that stays
inside its buffer: permuted, repeated, flipped, strided, padded at either edge or at both. Loop order and shared rows
are drawn from what the verifier allows.
"""

from __future__ import annotations

import numpy as np
from xdsl.dialects.builtin import FunctionType, ModuleOp, TensorType, f32, i32
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Region, SSAValue

from limn.dialects import graph, nest, schedule
from limn.dialects.affine import Index
from limn.interpreters import nest as nest_interpreter
from limn.interpreters import schedule as schedule_interpreter
from limn.interpreters.nest_numpy import NUMPY, poison

EXTENTS = (1, 2, 3, 5, 6, 9, 17)


class RandomKernel:
    """One kernel and the function that launches it; `module` holds both."""

    def __init__(self, seed: int, ops: int = 12):
        self.rng = np.random.default_rng(seed)
        rank = int(self.rng.integers(1, 5))
        self.dims = [int(self.rng.choice(EXTENTS)) for _ in range(rank)]
        self.block = Block()
        self.bounds: list[int | None] = []  # for each argument, what its row numbers stay below
        self.values: list[SSAValue] = []
        for _ in range(ops):
            self._grow()
        self._finish()

    def _chance(self, p: float) -> bool:
        return bool(self.rng.random() < p)

    def _add(self, op) -> SSAValue:
        self.block.add_op(op)
        self.values.append(op.results[0])
        return op.results[0]

    def _argument(self, kind: TensorType, below: int | None = None) -> SSAValue:
        self.bounds.append(below)
        return self.block.insert_arg(kind, len(self.block.args))

    def _shape(self) -> list[int]:
        return [n if self._chance(0.75) else 1 for n in self.dims]

    def _load(self, element=f32, shape=None, below: int | None = None) -> SSAValue:
        shape = shape if shape is not None else self._shape()
        strides, box, step = [0] * len(shape), [(0, n) for n in shape], 1
        for d in self.rng.permutation(len(shape)):
            low, high = 0, shape[d]
            if below is None and self._chance(0.3):
                low = int(self.rng.integers(0, shape[d] + 1))
                high = int(self.rng.integers(low, shape[d] + 1))
            box[d] = (low, high)
            if self._chance(0.85):
                every = int(self.rng.choice([1, 1, 1, 2, 3]))
                strides[d] = step * every * (-1 if self._chance(0.2) else 1)
                step *= max((high - low) * every, 1)
        lowest = sum(min(s * lo, s * (hi - 1)) for s, (lo, hi) in zip(strides, box))
        size = step + int(self.rng.integers(0, 3))
        offset = -lowest if all(lo < hi for lo, hi in box) else 0
        source = self._argument(TensorType(element, [size]), below)
        op = graph.ViewOp(source, shape, strides, offset, box)
        self.block.add_op(op)
        if element == f32:
            self.values.append(op.result)
        return op.result

    def _pick(self) -> SSAValue:
        if not self.values or self._chance(0.25):
            return self._load()
        return self.values[int(self.rng.integers(max(0, len(self.values) - 5), len(self.values)))]

    def _meet(self, a: SSAValue, b: SSAValue) -> tuple[SSAValue, SSAValue]:
        """Both values, repeated to a common shape."""
        shape = [max(m, n) for m, n in zip(graph.shape_of(a), graph.shape_of(b))]
        return self._repeat(a, shape), self._repeat(b, shape)

    def _repeat(self, a: SSAValue, shape: list[int]) -> SSAValue:
        own = graph.shape_of(a)
        if list(own) == shape:
            return a
        strides = [0 if m != n else s for m, n, s in zip(own, shape, graph.row_major(own))]
        return self._add(graph.ViewOp(a, shape, strides))

    def _grow(self) -> None:
        kind = int(self.rng.integers(0, 12))
        a = self._pick()
        axes = [d for d, n in enumerate(graph.shape_of(a)) if (n > 1 or self._chance(0.2)) and self._chance(0.5)]
        if kind <= 2 and axes:
            self._add((graph.SumOp if self._chance(0.7) else graph.MaxOp)(a, axes))
        elif kind == 3:
            self._add(graph.NegOp(a) if self._chance(0.5) else graph.RecipOp(a))
        elif kind == 4:
            self._add(schedule.KeepOp(a))
        elif kind == 5:
            zero = self._add(graph.ConstOp(0.25, a.type))
            condition = graph.CmpLtOp(zero, a)
            self.block.add_op(condition)
            self._add(graph.WhereOp(condition.result, a, zero))
        elif kind == 6:
            self._add(self._round(a))
        elif kind == 7 and self._chance(0.5):
            self._gather()
        elif kind == 8:
            self._add(graph.MulOp(*self._meet(a, self._pick()), recip=True))
        elif kind <= 10:
            self._add(graph.MulOp(*self._meet(a, self._pick())))
        else:
            self._add(graph.AddOp(*self._meet(a, self._pick())))

    def _round(self, a: SSAValue):
        whole = graph.CastOp(a, i32)
        self.block.add_op(whole)
        return graph.CastOp(whole.result, f32)

    def _gather(self) -> None:
        shape, rows = self._shape(), int(self.rng.integers(1, 6))
        row = self._load(i32, [n if self._chance(0.6) else 1 for n in shape], below=rows)
        strides, width = [0] * len(shape), 1
        for d in self.rng.permutation(len(shape)):
            if self._chance(0.5):
                strides[d] = width
                width *= shape[d]
        table = self._argument(TensorType(f32, [rows, width + 1]))
        self._add(schedule.GatherOp(table, row, shape, strides, 1))

    def _finish(self) -> None:
        count = int(self.rng.integers(1, 4))
        yielded = [self.values[-1], *(self._pick() for _ in range(count - 1))]
        spanned = set().union(*({d for d, n in enumerate(graph.shape_of(v)) if n > 1} for v in yielded))
        names = [("i" if d in spanned else "r") + str(d) for d in range(len(self.dims))]
        self.block.add_op(schedule.YieldOp(*yielded))
        order = [int(d) for d in self.rng.permutation(len(self.dims))]
        reduced = {d for op in self.block.ops if isinstance(op, graph.ReduceOp) for d in op.reduced if self.dims[d] > 1}
        rows = 0
        while rows < len(order) and order[rows] not in reduced and self._chance(0.8):
            rows += 1
        results = [TensorType(graph.element_of(v), list(graph.shape_of(v))) for v in yielded]
        kernel = schedule.KernelOp("k", results, names, self.dims, rows, order, self.block)
        inputs = [a.type for a in self.block.args]
        body = Block(arg_types=inputs)
        launch = schedule.LaunchOp("k", list(body.args), results)
        body.add_ops([launch, ReturnOp(*launch.outs)])
        self.module = ModuleOp([kernel, FuncOp("main", FunctionType.from_lists(inputs, results), Region(body))])
        self.module.verify()

    def inputs(self, seed: int = 0, whole: bool = False) -> list[np.ndarray]:
        """Arrays for the arguments; with `whole` small whole numbers."""
        rng = np.random.default_rng(seed)
        arrays = []
        for argument, below in zip(self.block.args, self.bounds):
            shape = graph.shape_of(argument)
            if below is not None:
                arrays.append(rng.integers(0, below, shape).astype(np.int32))
            else:
                values = rng.integers(-3, 4, shape) if whole else rng.normal(size=shape)
                arrays.append(values.astype(np.float32))
        return arrays


def run_schedule(module: ModuleOp, arrays: list[np.ndarray]) -> list[np.ndarray]:
    """The results of a schedule module, flat: the function's, then the assigned values."""
    return [np.asarray(a).reshape(-1) for a in schedule_interpreter.run(module, arrays, "ascending")]


def run_nest(module: ModuleOp, arrays: list[np.ndarray], order: str = "forward") -> list[np.ndarray]:
    """The outputs of a nest module's plan, flat, in the same order; outputs are poisoned before."""
    plan = next(op for op in module.body.ops if isinstance(op, nest.PlanOp))
    buffers = [np.array(a).reshape(-1) for a in arrays]
    for argument in plan.block.args[plan.input_count : plan.input_count + plan.output_count]:
        kind = nest.memref_of(argument)
        buffers.append(np.zeros(kind.get_shape()[0], NUMPY[str(kind.element_type)]))
        poison(buffers[-1])
    table = list(buffers)
    nest_interpreter.run_plan(module, table, order=order)
    for output, target in plan.swaps:
        assert table[target] is buffers[output], "a commit swaps the new version in"
    return buffers[plan.input_count :]


def assert_same_bits(got: list[np.ndarray], want: list[np.ndarray]) -> None:
    """Equal to the bit, NaN with NaN of any payload."""
    assert len(got) == len(want)
    for position, (a, b) in enumerate(zip(got, want)):
        assert a.dtype == b.dtype
        assert a.shape == b.shape
        bits = np.dtype(f"u{a.dtype.itemsize}")
        same = (a.view(bits) == b.view(bits)) | ((a != a) & (b != b))
        assert same.all(), f"output {position} differs at {np.flatnonzero(~same)[:5]}: {a[~same][:5]} {b[~same][:5]}"


def random_nest(seed: int) -> tuple[ModuleOp, list[np.ndarray]]:
    """A nest whose loads are in bounds only where their checks hold: odd steps, bounds and checks over several indices.

    Every turn writes a cell of its own, and a running total that depends on the order of the turns.
    """
    rng = np.random.default_rng(seed)
    sizes = [int(rng.integers(3, 40)) for _ in range(2)]
    depth = int(rng.integers(1, 4))
    block = Block(arg_types=[*(nest.memref(n, f32) for n in sizes), nest.memref(12**depth, f32), nest.memref(1, f32)])
    *sources, out, total = block.args
    block.add_op(zero := nest.ConstOp(0.0, f32))
    block.add_op(nest.StoreOp(zero, total, 0))
    clear = nest.ForOp.block_named("c")
    clear.add_op(nest.StoreOp(zero, out, Index.of(clear.args[0])))
    block.add_op(nest.ForOp([0], [12**depth], clear))
    bodies = [nest.ForOp.block_named(f"i{d}") for d in range(depth)]
    indices = [Index.of(b.args[0]) for b in bodies]
    cell = Index.constant(0)
    for index in indices:
        cell = cell * 12 + index
    inner = bodies[-1]
    for source, size in zip(sources, sizes):
        tested = Index.constant(int(rng.integers(-9, 10)))
        for index in indices:
            if rng.random() < 0.6:
                tested = tested + index * int(rng.choice([1, 1, 1, -1, 2, 3, -2]))
        low = int(rng.integers(-12, 12))
        high = low + int(rng.integers(0, size + 1))
        checks = [(tested, low, high)]
        if rng.random() < 0.5:
            checks.append((indices[int(rng.integers(0, depth))], int(rng.integers(0, 5)), int(rng.integers(4, 14))))
        if tested.is_constant is not None and not low <= tested.is_constant < high:
            continue
        inner.add_op(load := nest.LoadOp(source, tested - low, checks))
        inner.add_op(nest.AccumulateOp("add", load, out, cell))
        inner.add_op(half := nest.ConstOp(0.5, f32))
        inner.add_op(nest.AccumulateOp("fma", load, total, 0, half))
    for d in reversed(range(depth)):
        low, step = int(rng.integers(0, 4)), int(rng.choice([1, 1, 2, 3, 5]))
        lowers: list[Index | int] = [low]
        uppers: list[Index | int] = [int(rng.integers(low, 13))]
        if d and rng.random() < 0.3:
            uppers.append(indices[d - 1] * int(rng.choice([1, -1])) + 8)
        if d and rng.random() < 0.3:
            lowers = [indices[d - 1]] if rng.random() < 0.5 else [low, indices[d - 1] - 2]
        loop = nest.ForOp(lowers, uppers, bodies[d], step)
        (bodies[d - 1] if d else block).add_op(loop)
    module = ModuleOp([nest.KernelOp("k", block)])
    module.verify()
    return module, [rng.normal(size=n).astype(np.float32) for n in sizes]


def run_kernel(module: ModuleOp, arrays: list[np.ndarray], order: str = "forward") -> list[np.ndarray]:
    """What the only kernel of a module writes to its arguments after those given; poisoned before."""
    kernel = next(op for op in module.body.ops if isinstance(op, nest.KernelOp))
    buffers = [a.copy() for a in arrays]
    for argument in kernel.block.args[len(arrays) :]:
        kind = nest.memref_of(argument)
        buffers.append(np.zeros(kind.get_shape()[0], NUMPY[str(kind.element_type)]))
        poison(buffers[-1])
    nest_interpreter.run_kernel(kernel, buffers, order)
    return buffers[len(arrays) :]
