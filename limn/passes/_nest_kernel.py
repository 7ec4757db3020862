"""The loops of ``lower``: one schedule kernel as one nest kernel.

A kernel is lowered scope by scope, from the outermost in. A scope is the body of a loop, or the kernel itself; in it

1. the reductions that have their home here and are needed further in are evaluated: start value, loops, accumulate;
2. goals (store a result, accumulate a term) whose loops are all open write their value;
3. the other goals open their next loop, sharing it where they agree, and the scope of its body is lowered likewise.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import prod

from xdsl.ir import Attribute, Block, SSAValue

from limn.analysis.dims import KernelDims, fold_order
from limn.dialects import graph, nest, schedule
from limn.dialects.affine import Index
from limn.dialects.graph import element_of, row_major, shape_of, size_of
from limn.dialects.legality import PassRefused
from limn.passes import _nest_values as values
from limn.passes._nest_elements import Elements, Memory, Scope, scratch


@dataclass(frozen=True, eq=False)
class Goal:
    """Something to write in the scope in which ``loops`` are open; ``needs`` are the values it will ask for."""

    loops: tuple[int, ...]
    needs: tuple[SSAValue, ...]
    write: Callable[[Scope], None]


def lower_kernel(kernel: schedule.KernelOp, stack_bytes: int) -> nest.KernelOp:
    """The loop nest of ``kernel``, its arguments first and then one output for each result.

    Raises:
        PassRefused: if a total needs more scratch than ``stack_bytes`` in every loop order that was tried.
    """
    order = fold_order(kernel)
    for _ in kernel.block.ops:
        lowering = _KernelLowering(kernel, order, stack_bytes)
        if lowering.too_large is None:
            return lowering.run()
        # with its cells outermost and its axes innermost the total of that reduction is one register
        kept, axes = lowering.dims.kept(lowering.too_large), lowering.dims.axes(lowering.too_large)
        order = [*(d for d in order if d in kept), *(d for d in order if d not in kept | axes)]
        order += [d for d in fold_order(kernel) if d in axes]
    raise PassRefused(
        kernel,
        f"kernel @{kernel.sym_name.data} needs more than {stack_bytes} bytes of scratch for a row of totals;"
        " allow more with lower{stack-bytes=..} or fuse less",
    )


class _KernelLowering:
    def __init__(self, kernel: schedule.KernelOp, order: Sequence[int], stack_bytes: int):
        self.kernel, self.stack_bytes = kernel, stack_bytes
        self.dims = KernelDims(kernel, order)
        self.arguments = Block(arg_types=_memrefs(kernel))
        inputs: dict[SSAValue, SSAValue] = dict(zip(kernel.block.args, self.arguments.args))
        self.elements = Elements(self.dims, inputs, stack_bytes)
        self.outputs = self.arguments.args[len(kernel.block.args) :]
        _name_arguments(kernel, self.arguments)
        self.in_output = self._totals_in_outputs()
        self.too_large = next((r for r in self.dims.reduces if self._scratch_bytes(r) > stack_bytes), None)

    def run(self) -> nest.KernelOp:
        scope = Scope(self.arguments)
        goals: list[Goal] = []
        for position, value in enumerate(self.kernel.terminator.values):
            goals.append(self._store(scope, position, value))
        self.lower(scope, goals)
        return nest.KernelOp(self.kernel.sym_name.data, self.arguments)

    # ------------------------------------------------------------------------------------------------ scopes and goals

    def lower(self, scope: Scope, goals: Sequence[Goal]) -> None:
        for group in self._reductions_at(scope, goals):
            self._reduce(scope, group)
        inner: dict[int, list[Goal]] = {}
        for goal in goals:
            if goal.loops:
                inner.setdefault(goal.loops[0], []).append(replace(goal, loops=goal.loops[1:]))
            else:
                goal.write(scope)
        for dim, rest in inner.items():
            body = Scope(nest.ForOp.block_named(self.kernel.names[dim]), scope, dim)
            self.lower(body, rest)
            scope.block.add_op(nest.ForOp([0], [self.dims.extents[dim]], body.block))

    def _reductions_at(self, scope: Scope, goals: Sequence[Goal]) -> list[list[graph.ReduceOp]]:
        """The reductions to evaluate here: those with equal loops that need none of each other are a group.

        Each is as late as those who need it allow, so that a group reads what its members share once.
        """
        dims, needed = self.dims, set[graph.ReduceOp]()
        pending = [r for goal in goals for value in goal.needs for r in dims.direct[value]]
        while pending:
            reduce = pending.pop()
            if reduce not in needed and scope.memory_of(reduce) is None:
                needed.add(reduce)
                pending.extend(dims.direct[dims.operand_of(reduce)])
        level: dict[graph.ReduceOp, int] = {}
        groups: dict[tuple[object, ...], list[graph.ReduceOp]] = {}
        for reduce in reversed(dims.reduces):
            if reduce in needed:
                level.setdefault(reduce, 0)
                for behind in dims.direct[dims.operand_of(reduce)]:
                    before = level[reduce] - (dims.home(behind) == tuple(scope.bound))
                    level[behind] = min(level.get(behind, 0), before)
        for reduce in dims.reduces:
            if reduce in needed and dims.home(reduce) == tuple(scope.bound):
                groups.setdefault((level[reduce], dims.kept(reduce), dims.axes(reduce)), []).append(reduce)
        return [groups[key] for key in sorted(groups, key=lambda key: key[0])]  # pyright: ignore

    def _reduce(self, scope: Scope, group: Sequence[graph.ReduceOp]) -> None:
        """Evaluate reductions with equal loops together: {start value, accumulate} inside the loops they share."""
        dims = self.dims
        for reduce in group:
            scope.memory[reduce] = self._total(scope, reduce)
        kept, axes = dims.kept(group[0]), dims.axes(group[0])
        loops = [d for d in dims.in_order(kept | axes) if d not in scope.bound]
        around = next((n for n, d in enumerate(loops) if d in axes), len(loops))
        cells = tuple(d for d in loops[around:] if d in kept)

        def write(body: Scope) -> None:
            self.lower(body, [Goal(cells, (), lambda s, r=reduce: self._start(s, r)) for reduce in group])
            terms = [(dims.operand_of(r),) for r in group]
            self.lower(
                body,
                [
                    Goal(tuple(loops[around:]), needs, lambda s, r=reduce: self._accumulate(s, r))
                    for reduce, needs in zip(group, terms)
                ],
            )

        self.lower(scope, [Goal(tuple(loops[:around]), (), write)])

    # ---------------------------------------------------------------------------------------------------------- totals

    def _totals_in_outputs(self) -> dict[graph.ReduceOp, int]:
        """Reductions that are totalled in an output: a yield is just that, cell for cell and of the same type."""
        found: dict[graph.ReduceOp, int] = {}
        for position, value in enumerate(self.kernel.terminator.values):
            reduce = self.dims.same[value].owner if value in self.dims.same else None
            if isinstance(reduce, graph.ReduceOp) and reduce not in found:
                kept = self.dims.kept(reduce)
                whole = frozenset(d for d, extent in enumerate(shape_of(value)) if extent > 1) == kept
                same_type = values.totalled_in(element_of(value)) == element_of(value)
                if whole and same_type and kept != frozenset(self.dims.home(reduce)):
                    found[reduce] = position
        return found

    def _scratch_bytes(self, reduce: graph.ReduceOp) -> int:
        cells = prod(self.dims.extents[d] for d in self.dims.accumulator(reduce))
        total = nest.memref(cells, values.totalled_in(element_of(reduce.result)))
        return 0 if reduce in self.in_output else nest.byte_size(total)

    def _total(self, scope: Scope, reduce: graph.ReduceOp) -> Memory:
        if reduce in self.in_output:
            return self._output(self.in_output[reduce])
        element = values.totalled_in(element_of(reduce.result))
        return scratch(scope, self.dims, self.dims.accumulator(reduce), element, "acc")

    def _start(self, scope: Scope, reduce: graph.ReduceOp) -> None:
        memory = scope.memory_of(reduce)
        assert memory is not None
        element = nest.memref_of(memory.memref).element_type
        start = scope.append(nest.ConstOp(values.start_of(reduce), element))
        scope.block.add_op(nest.StoreOp(start, memory.memref, scope.index(memory)))

    def _accumulate(self, scope: Scope, reduce: graph.ReduceOp) -> None:
        memory = scope.memory_of(reduce)
        assert memory is not None
        element = nest.memref_of(memory.memref).element_type
        term = values.converted(self.elements.value(scope, self.dims.operand_of(reduce)), element, scope.append)
        kind = nest.ADD if isinstance(reduce, graph.SumOp) else nest.MAX
        scope.block.add_op(nest.AccumulateOp(kind, term, memory.memref, scope.index(memory)))

    # --------------------------------------------------------------------------------------------------------- results

    def _output(self, position: int) -> Memory:
        shape = shape_of(self.kernel.terminator.values[position])
        return Memory(self.outputs[position], {d: s for d, s in enumerate(row_major(shape)) if shape[d] > 1})

    def _store(self, scope: Scope, position: int, value: SSAValue) -> Goal:
        if isinstance(value.owner, schedule.ScatterOp):
            return self._scatter(scope, position, value.owner)
        value, memory = self.dims.same[value], self._output(position)
        reduce = value.owner
        if isinstance(reduce, graph.ReduceOp) and self.in_output.get(reduce) == position:
            return Goal(self.dims.home(reduce), (value,), lambda _: None)

        def write(scope: Scope) -> None:
            scope.block.add_op(nest.StoreOp(self.elements.value(scope, value), memory.memref, scope.index(memory)))

        return Goal(self.dims.in_order(frozenset(memory.strides)), (value,), write)

    def _scatter(self, scope: Scope, position: int, op: schedule.ScatterOp) -> Goal:
        """Zero the output here, and later add each value at its row."""
        value, row, output = self.dims.same[op.value], self.dims.same[op.row], self.outputs[position]
        element, rows = element_of(op.result), shape_of(op.result)[0]
        if values.totalled_in(element) != element:
            raise PassRefused(op, f"a scatter into {element} is not lowered; cast to f32 first")
        zeros = nest.ForOp.block_named("cell")
        zeros.add_ops([zero := nest.ConstOp(0, element), nest.StoreOp(zero, output, Index.of(zeros.args[0]))])
        scope.block.add_op(nest.ForOp([0], [size_of(op.result)], zeros))
        shape = shape_of(op.value)
        strides = {d: s for d, s in enumerate(op.row_strides) if shape[d] > 1}

        def write(scope: Scope) -> None:
            term = self.elements.value(scope, value)
            start = self.elements.row(scope, op.row, row, rows) * (size_of(op.result) // rows)
            cell = start + values.linear(strides, scope.bound, op.row_offset)
            scope.block.add_op(nest.AccumulateOp(nest.ADD, term, output, cell))

        return Goal(self.dims.in_order(frozenset(strides)), (value, row), write)


def _memrefs(kernel: schedule.KernelOp) -> list[Attribute]:
    return [nest.memref(size_of(t), t.element_type) for t in kernel.function_type.inputs] + [  # pyright: ignore
        nest.memref(size_of(t), t.element_type) for t in kernel.stored_types
    ]


def _name_arguments(kernel: schedule.KernelOp, block: Block) -> None:
    count, results = len(kernel.block.args), len(kernel.stored_types)
    for position, argument in enumerate(block.args):
        if position < count:
            argument.name_hint = kernel.block.args[position].name_hint or f"in{position}"
        else:
            argument.name_hint = "out" if results == 1 else f"out{position - count}"
