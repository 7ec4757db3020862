"""The elements of ``lower``: a value of a schedule kernel for the loop indices at hand.

A value is computed in the innermost scope that wants it, once. What depends on a finished reduction, row numbers, and
what takes long are computed as far out as they are known, so that a row's scale is not found again for each of its
elements.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from math import prod

from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue

from limn.analysis.dims import KernelDims, partial_masks, reads_nothing
from limn.dialects import graph, nest, schedule
from limn.dialects.affine import Index
from limn.dialects.graph import element_of, row_major, shape_of, size_of
from limn.passes import _nest_values as values

LARGEST_ARRAY = 1 << 18
"""Bytes of one array on a thread's stack, of which threads have some megabytes; larger scratch is on the heap."""


@dataclass(frozen=True)
class Memory:
    """Where cells of a value lie: a memref, and how far apart neighbours along each dim are."""

    memref: SSAValue
    strides: dict[int, int]


class Scope:
    """A loop body that is being written: the dims that have an index here, and what is known."""

    def __init__(self, block: Block, outer: Scope | None = None, dim: int | None = None):
        self.block, self.outer = block, outer
        self.bound: dict[int, SSAValue] = dict(outer.bound) if outer is not None else {}
        if dim is not None:
            self.bound[dim] = block.args[0]
        self.values: dict[Hashable, SSAValue] = {}
        self.memory: dict[Operation, Memory] = {}

    def value(self, key: Hashable) -> SSAValue | None:
        """What is known under ``key`` here or further out."""
        scope: Scope | None = self
        while scope is not None:
            if key in scope.values:
                return scope.values[key]
            scope = scope.outer
        return None

    def memory_of(self, op: Operation) -> Memory | None:
        """Where the value of ``op`` lies, if it has been stored here or further out."""
        scope: Scope | None = self
        while scope is not None:
            if op in scope.memory:
                return scope.memory[op]
            scope = scope.outer
        return None

    def append(self, op: Operation) -> SSAValue:
        """Write ``op`` here; a cast that is already known is not written again."""
        key = (op.operands[0], op.results[0].type) if isinstance(op, nest.CastOp) else op
        if (known := self.value(key)) is None:
            self.block.add_op(op)
            known = self.values[key] = op.results[0]
        return known

    def index(self, memory: Memory) -> Index:
        """The cell of ``memory`` for the indices at hand."""
        return values.linear(memory.strides, self.bound)


def scratch(scope: Scope, dims: KernelDims, over: Sequence[int], element: Attribute, name: str) -> Memory:
    """Memory of one cell for each index of the dims ``over``, allocated in ``scope``."""
    extents = [dims.extents[d] for d in over]
    size = prod(extents)
    fits = nest.byte_size(nest.memref(size, element)) <= LARGEST_ARRAY
    made = scope.append(nest.ScratchOp(size, element, "register" if size == 1 else "stack" if fits else "heap"))
    made.name_hint = name
    return Memory(made, dict(zip(over, row_major(extents))))


class Elements:
    """Writes the ops that compute values; ``inputs`` are the memrefs of the kernel's arguments."""

    def __init__(self, dims: KernelDims, inputs: dict[SSAValue, SSAValue], stack_bytes: int):
        self.dims, self.inputs, self.stack_bytes = dims, inputs, stack_bytes
        ops = list(dims.kernel.block.ops)
        self.early = {dims.same[op.row] for op in ops if isinstance(op, schedule.GatherOp | schedule.ScatterOp)}
        self.early |= {dims.same[op.results[0]] for op in ops if isinstance(op, graph.HEAVY)}

    def value(self, scope: Scope, wanted: SSAValue) -> SSAValue:
        """``wanted`` for the element at hand, with the ops it takes written to the scopes where they belong."""
        stack = [(self._place(scope, wanted), wanted)]
        while stack:
            place, value = stack[-1]
            if place.value(value) is not None:
                stack.pop()
                continue
            op = value.owner
            assert isinstance(op, Operation)
            operands = self._operands(place, op)
            missing = [(self._place(place, o), o) for o in operands if place.value(o) is None]
            if missing:
                stack.extend(reversed(missing))
                continue
            stack.pop()
            known = [place.value(o) for o in operands]
            made = self._write(place, op, [k for k in known if k is not None])
            made.name_hint = made.name_hint or value.name_hint
            place.values[value] = made
        found = scope.value(wanted)
        assert found is not None
        return found

    def _operands(self, scope: Scope, op: Operation) -> list[SSAValue]:
        if isinstance(op, graph.ReduceOp) or (isinstance(op, schedule.KeepOp) and scope.memory_of(op) is not None):
            return []
        return [self.dims.same[o] for o in op.operands if not isinstance(o, BlockArgument)]

    def _place(self, scope: Scope, value: SSAValue) -> Scope:
        """The scope in which to compute ``value``: ``scope``, or for some the outermost that has all its indices."""
        if not self.dims.direct[value] and value not in self.early:
            return scope
        while (outer := scope.outer) is not None and self.dims.dims[value] <= outer.bound.keys():
            scope = outer  # a value has all dims of the reductions behind it, so they are known there
        return scope

    def _write(self, scope: Scope, op: Operation, operands: Sequence[SSAValue]) -> SSAValue:
        if isinstance(op, graph.ViewOp):
            return self._load(scope, op)
        if isinstance(op, schedule.GatherOp):
            return self._gather(scope, op)
        if isinstance(op, schedule.KeepOp):
            return self._keep(scope, op, operands)
        if isinstance(op, graph.ReduceOp):
            memory = scope.memory_of(op)
            assert memory is not None
            total = scope.append(nest.LoadOp(memory.memref, scope.index(memory)))
            return values.converted(total, element_of(op.result), scope.append)
        return values.scalar(op, operands, scope.append)

    def _load(self, scope: Scope, op: graph.ViewOp) -> SSAValue:
        if reads_nothing(op):
            return scope.append(nest.ConstOp(0, element_of(op.result)))
        strides = {d: s for d, s in enumerate(op.view_strides) if shape_of(op.result)[d] > 1}
        checks = [(Index.of(scope.bound[d]), low, high) for d, low, high in partial_masks(op)]
        index = values.linear(strides, scope.bound, op.view_offset)
        return scope.append(nest.LoadOp(self.inputs[op.source], index, checks))  # pyright: ignore[reportArgumentType]

    def row(self, scope: Scope, written: SSAValue, row: SSAValue, rows: int) -> Index:
        """The checked row number, as an index."""
        place = self._place(scope, row)
        if (known := place.value((row, rows))) is None:
            number = self.value(place, row)
            strides = {d: s for d, s in enumerate(row_major(shape_of(written))) if shape_of(written)[d] > 1}
            position = values.linear(strides, place.bound)
            known = place.values[(row, rows)] = place.append(nest.CheckRowOp(number, rows, position))
            known.name_hint = "row"
        return Index.of(known)

    def _gather(self, scope: Scope, op: schedule.GatherOp) -> SSAValue:
        rows, shape = shape_of(op.table)[0], shape_of(op.result)
        start = self.row(scope, op.row, self.dims.same[op.row], rows) * (size_of(op.table) // rows)
        strides = {d: s for d, s in enumerate(op.row_strides) if shape[d] > 1}
        cell = start + values.linear(strides, scope.bound, op.row_offset)
        return scope.append(nest.LoadOp(self.inputs[op.table], cell))  # pyright: ignore[reportArgumentType]

    def _keep(self, scope: Scope, op: schedule.KeepOp, operands: Sequence[SSAValue]) -> SSAValue:
        """The kept value: loaded if an earlier phase has stored it, else stored for the phases to come."""
        if (memory := scope.memory_of(op)) is not None:
            return scope.append(nest.LoadOp(memory.memref, scope.index(memory)))
        over = [d for d in self.dims.in_order(self.dims.dims[op.result]) if d not in self.dims.rows()]
        element = element_of(op.result)
        if prod(self.dims.extents[d] for d in over) * nest.byte_size(nest.memref(1, element)) <= self.stack_bytes:
            shared: Scope | None = scope
            while shared is not None and tuple(shared.bound) != self.dims.rows():
                shared = shared.outer
            if shared is not None:
                memory = shared.memory[op] = scratch(shared, self.dims, over, element, "kept")
                scope.block.add_op(nest.StoreOp(operands[0], memory.memref, scope.index(memory)))
        return operands[0]
