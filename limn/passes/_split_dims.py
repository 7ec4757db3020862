"""Rewrite a kernel over other dims: the part of ``split-reduce`` that writes IR.

Dims that no layout tells apart are merged, and dims are cut into several. A cut of the whole dim replaces it. A cut
into parts of unequal size (blocks and what is left over) gives each part dims of its own, in which all that spans the
dim is written again; sums over it become the total of the parts' sums.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import TensorType, f32
from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from limn.dialects import graph, schedule
from limn.view import row_major


@dataclass(frozen=True)
class Part:
    """Elements ``start`` to ``start + prod(extents)`` of a dim as several dims, of which the last may be lanes."""

    start: int
    extents: tuple[int, ...]
    lanes: bool = False

    @property
    def folds(self) -> tuple[int, ...]:
        """The order in which its dims are summed: inner before outer, but the lanes after what runs beside them."""
        inner = list(reversed(range(len(self.extents))))
        if self.lanes and len(inner) > 1:
            inner[:2] = [inner[1], inner[0]]
        return tuple(inner)


class Cut:
    """How the dims of a kernel become other dims: groups of neighbours merge, then each group is cut into parts."""

    def __init__(
        self, kernel: schedule.KernelOp, groups: Sequence[tuple[int, ...]], parts: dict[int, tuple[Part, ...]]
    ):
        self.kernel, self.groups = kernel, groups
        self.extents: list[int] = []
        self.at: list[tuple[int, ...]] = []
        """For each group its new dims; where it is in unequal parts those of the whole, uncut."""
        self.ragged: int | None = None
        self.parts: list[tuple[Part, tuple[int, ...]]] = []
        self.whole: list[Part] = []
        self.is_whole_needed = True
        for position, group in enumerate(groups):
            size = math.prod(kernel.dims[d] for d in group)
            found = parts.get(position, (Part(0, (size,)),))
            first, *others = found
            if others:
                self.ragged = position
                self.is_whole_needed = _needs_whole(kernel, group)
                self.whole.append(Part(0, (size,)))
                whole = (size,) if self.is_whole_needed else ()
                self.at.append(self._new(whole))
            else:
                self.whole.append(first)
                self.at.append(self._new(first.extents))
        if self.ragged is not None:
            self.parts = [(part, self._new(part.extents)) for part in parts[self.ragged]]

    def _new(self, extents: Sequence[int]) -> tuple[int, ...]:
        self.extents.extend(extents)
        return tuple(range(len(self.extents) - len(extents), len(self.extents)))

    def place(self, group: int, space: int | None) -> tuple[Part, tuple[int, ...]]:
        """The dims of a group, in the whole kernel or in one part of its ragged dim."""
        if group == self.ragged and space is not None:
            return self.parts[space]
        return self.whole[group], self.at[group]


def _needs_whole(kernel: schedule.KernelOp, group: tuple[int, ...]) -> bool:
    """Whether anything but sums needs a dim that is cut into unequal parts."""
    folded = (op for op in kernel.block.ops if isinstance(op, graph.MaxOp) and set(group) & set(op.reduced))
    return bool(schedule.spanned(kernel) & set(group)) or any(True for _ in folded)


class KernelCutter:
    """Writes the body of a kernel again over the dims of a cut."""

    def __init__(self, cut: Cut, nested_from: int):
        self.cut, self.nested_from = cut, nested_from
        kernel = cut.kernel
        self.block = Block(arg_types=[a.type for a in kernel.block.args])
        self.values: dict[tuple[SSAValue, int | None], SSAValue] = {}
        for old, new in zip(kernel.block.args, self.block.args, strict=True):
            new.name_hint = old.name_hint
            self.values[old, None] = new
        for op in kernel.block.ops:
            if not isinstance(op, schedule.YieldOp):
                for space in self._spaces(op):
                    self._emit(op, space)
        self.block.add_op(schedule.YieldOp(*(self.values[v, None] for v in kernel.terminator.values)))
        _erase_unused(self.block)

    def kernel(self) -> schedule.KernelOp:
        """The new kernel, under the old symbol."""
        old, cut = self.cut.kernel, self.cut
        order = [n for d in old.loop_order for g, dims in enumerate(cut.groups) if dims[0] == d for n in cut.at[g]]
        order += [n for _, dims in cut.parts for n in dims]
        over = {n for g, dims in enumerate(cut.groups) if set(dims) & schedule.spanned(old) for n in cut.at[g]}
        names = [f"{'i' if n in over else 'r'}{n}" for n in range(len(cut.extents))]
        symbol, rows = old.sym_name.data, old.row_count
        return schedule.KernelOp(symbol, old.stored_types, names, cut.extents, rows, order, self.block)

    def _spans_ragged(self, value: SSAValue) -> bool:
        if self.cut.ragged is None or isinstance(value, BlockArgument):
            return False
        shape = graph.shape_of(value)
        return any(shape[d] > 1 for d in self.cut.groups[self.cut.ragged])

    def _spaces(self, op: Operation) -> list[int | None]:
        if not self._spans_ragged(op.results[0]):
            return [None]
        return ([None] if self.cut.is_whole_needed else []) + list(range(len(self.cut.parts)))

    def _get(self, value: SSAValue, space: int | None) -> SSAValue:
        return self.values[value, space if self._spans_ragged(value) else None]

    def _emit(self, op: Operation, space: int | None) -> None:
        match op:
            case graph.ConstOp():
                new = graph.ConstOp(op.value, self._type(op.result, space))  # pyright: ignore[reportArgumentType]
            case graph.ViewOp() if isinstance(op.source, BlockArgument):
                new = self._load(op, space)
            case graph.ViewOp():
                value, shape = self._get(op.source, space), self._shape(op.result, space)
                pairs = zip(graph.shape_of(value), shape, row_major(graph.shape_of(value)), strict=True)
                new = graph.ViewOp(value, shape, [0 if s != o else stride for s, o, stride in pairs])
            case schedule.GatherOp():
                strides, offset = self._strides(op.result, op.row_strides, op.row_offset, space)
                table, row = self.values[op.table, None], self._get(op.row, space)
                new = schedule.GatherOp(table, row, self._shape(op.result, space), strides, offset)
            case graph.ReduceOp():
                self.values[op.result, space] = self._reduce(op, space)
                return
            case schedule.KeepOp() if space is not None:
                self.values[op.result, space] = self._get(op.operand, space)
                return
            case _:
                operands = [self._get(v, space) for v in op.operands]
                new = op.create(
                    operands=operands, result_types=[self._type(op.results[0], space)], properties=op.properties
                )
        self.block.add_op(new)
        new.results[0].name_hint = op.results[0].name_hint
        self.values[op.results[0], space] = new.results[0]

    def _reduce(self, op: graph.ReduceOp, space: int | None) -> SSAValue:
        assert isinstance(op, graph.SumOp | graph.MaxOp)
        axes = set(op.reduced)
        groups = [g for g, dims in enumerate(self.cut.groups) if dims[0] in axes]
        if not (isinstance(op, graph.SumOp) and self.cut.ragged in groups and self._spans_ragged(op.operand)):
            total = self._fold(op, groups, space)
        else:
            total = self._fold(op, groups, 0)
            for part in range(1, len(self.cut.parts)):
                total = self._add(graph.AddOp(total, self._fold(op, groups, part)))
        if graph.element_of(total) != graph.element_of(op.result):
            total = self._add(graph.CastOp(total, graph.element_of(op.result)))
        total.name_hint = op.result.name_hint
        return total

    def _fold(self, op: graph.SumOp | graph.MaxOp, groups: list[int], space: int | None) -> SSAValue:
        """The fold of a value as reductions one after the other. Several sums of halves are summed in f32: rounded
        between them, they would be rounded more than once."""
        value = self._get(op.operand, space)
        places = [self.cut.place(g, space) for g in groups]
        steps = [[dims[k]] for part, dims in reversed(places) for k in part.folds]
        size = math.prod(graph.shape_of(value)[d] for [d] in steps)
        if all(len(dims) == 1 for _, dims in places) and size <= self.nested_from:
            steps = [[d for [d] in steps]]
        is_sum_of_parts = isinstance(op, graph.SumOp) and (len(steps) > 1 or space is not None)
        if is_sum_of_parts and graph.element_of(value) in graph.HALVES:
            value = self._add(graph.CastOp(value, f32))
        for dims in steps:
            value = self._add(type(op)(value, dims))
        return value

    def _add(self, op: Operation) -> SSAValue:
        self.block.add_op(op)
        return op.results[0]

    def _load(self, op: graph.ViewOp, space: int | None) -> graph.ViewOp:
        strides, offset = self._strides(op.result, op.view_strides, op.view_offset, space)
        shape = self._shape(op.result, space)
        mask = [(0, extent) for extent in shape]
        for group, dims in enumerate(self.cut.groups):
            new = self.cut.place(group, space)[1]
            if op.view_mask is not None and len(new) == 1 and len(dims) == 1:  # what is cut is not masked
                mask[new[0]] = op.view_mask[dims[0]]
        return graph.ViewOp(self.values[op.source, None], shape, strides, offset, mask)

    def _strides(self, value: SSAValue, old: Sequence[int], offset: int, space: int | None) -> tuple[list[int], int]:
        """Strides over the new dims, and the offset, of what had strides ``old``."""
        shape, strides = graph.shape_of(value), [0] * len(self.cut.extents)
        for group, dims in enumerate(self.cut.groups):
            if not any(shape[d] > 1 for d in dims):
                continue
            part, new = self.cut.place(group, space)
            offset += part.start * old[dims[-1]]
            for n, factor in zip(new, row_major(part.extents), strict=True):
                strides[n] = factor * old[dims[-1]]
        return strides, offset

    def _shape(self, value: SSAValue, space: int | None) -> list[int]:
        old, shape = graph.shape_of(value), [1] * len(self.cut.extents)
        for group, dims in enumerate(self.cut.groups):
            if any(old[d] > 1 for d in dims):
                for n in self.cut.place(group, space)[1]:
                    shape[n] = self.cut.extents[n]
        return shape

    def _type(self, value: SSAValue, space: int | None) -> graph.AnyTensor:
        return TensorType(graph.element_of(value), self._shape(value, space))


def _erase_unused(block: Block) -> None:
    for op in reversed(list(block.ops)):
        if op.results and not any(True for result in op.results for _ in result.uses):
            op.detach()
            op.erase()
