"""Give the buffers of a plan places in one arena, by the launches between which they are in use.

An arena is asked for once, and need only be as large as what is in use at one time.

    nest.plan @main(%x: memref<12xf32>, %out: memref<12xf32>) inputs 1 {
      %0 = nest.alloc : memref<12xf32>
      nest.launch @k0(%x, %0)
      %1 = nest.alloc : memref<12xf32>
      nest.launch @k0(%0, %1)
      %2 = nest.alloc : memref<12xf32>
      nest.launch @k0(%1, %2)
      nest.launch @k0(%2, %out)
    }

becomes

    nest.plan @main(%x: memref<12xf32>, %out: memref<12xf32>, %arena: memref<128xi8>) inputs 1 arena {
      %0 = nest.slice %arena[0] : memref<12xf32>
      nest.launch @k0(%x, %0)
      %1 = nest.slice %arena[64] : memref<12xf32>
      nest.launch @k0(%0, %1)
      %2 = nest.slice %arena[0] : memref<12xf32>
      ..

A buffer is in use from the first launch that names it to the last. In the order of the launches each takes the first
gap in which it fits, at an offset that is a multiple of ``align`` bytes. A plan that has an arena already keeps it and
its slices, and the new ones lie behind.

Bits: the same, since buffers in use at one launch never overlap. Declines: a plan without ``nest.alloc`` is left alone.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, UnitAttr, i8
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from limn.dialects import nest
from limn.passes._options import at_least


@dataclass(frozen=True)
class PlanMemoryPass(ModulePass):
    """nest -> nest. Options: ``align``, the bytes of which every offset is a multiple."""

    name = "plan-memory"
    align: int = 64

    def __post_init__(self) -> None:
        at_least(self, align=1)

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for plan in op.body.block.ops:
            if isinstance(plan, nest.PlanOp):
                plan_memory(plan, self.align)


def plan_memory(plan: nest.PlanOp, align: int) -> None:
    """Turn every ``nest.alloc`` of ``plan`` into a slice of its arena."""
    allocs = [op for op in plan.block.ops if isinstance(op, nest.AllocOp)]
    if not allocs:
        return
    arena = plan.arena_argument
    base = -(-nest.extent_of(arena) // align) * align if arena is not None else 0
    offsets, end = place(plan, align, base)
    kind = nest.memref(end, i8)
    if arena is None:
        arena = plan.block.insert_arg(kind, len(plan.block.args))
        arena.name_hint = "arena"
        plan.arena = UnitAttr()
    else:
        arena = Rewriter.replace_value_with_new_type(arena, kind)
    for alloc in allocs:
        if alloc.result in offsets:
            made = nest.SliceOp(arena, offsets[alloc.result], nest.memref_of(alloc.result))
            made.result.name_hint = alloc.result.name_hint
            plan.block.insert_op_before(made, alloc)
            alloc.result.replace_all_uses_with(made.result)
        plan.block.erase_op(alloc)


def lifetimes(plan: nest.PlanOp) -> dict[SSAValue, tuple[int, int]]:
    """The first and the last launch, counted from 0, that name each buffer made by ``nest.alloc``."""
    found: dict[SSAValue, tuple[int, int]] = {}
    launches = [op for op in plan.block.ops if isinstance(op, nest.LaunchOp)]
    for position, launch in enumerate(launches):
        for buffer in launch.buffers:
            if isinstance(buffer.owner, nest.AllocOp):
                found[buffer] = (found.get(buffer, (position, 0))[0], position)
    return found


def place(plan: nest.PlanOp, align: int, base: int) -> tuple[dict[SSAValue, int], int]:
    """An offset from ``base`` on for each buffer, and the end of the last one."""
    lives = lifetimes(plan)
    dying: dict[int, list[SSAValue]] = {}
    for buffer, (_, last) in lives.items():
        dying.setdefault(last, []).append(buffer)
    offsets: dict[SSAValue, int] = {}
    gaps, end, done = Gaps(base), base, 0
    for buffer, (first, _) in lives.items():  # in the order of their first launches
        for position in range(done, first):
            for dead in dying.get(position, ()):
                gaps.give(offsets[dead], _bytes(dead, align))
        done = max(done, first)
        offsets[buffer] = gaps.take(_bytes(buffer, align))
        end = max(end, offsets[buffer] + _bytes(buffer, align))
    return offsets, end


def _bytes(buffer: SSAValue, align: int) -> int:
    return -(-nest.byte_size(nest.memref_of(buffer)) // align) * align


class Gaps:
    """The free parts of an arena that has no upper end: (start, end) in ascending order, the last one open."""

    OPEN = 1 << 62

    def __init__(self, start: int):
        self.gaps = [(start, self.OPEN)]

    def take(self, size: int) -> int:
        """The offset of ``size`` bytes in the first gap that has as many."""
        place = next(n for n, (start, end) in enumerate(self.gaps) if end - start >= size)
        start, end = self.gaps[place]
        self.gaps[place : place + 1] = [(start + size, end)] if start + size < end else []
        return start

    def give(self, start: int, size: int) -> None:
        """Free those bytes again, joining them to the gaps beside them."""
        end = start + size
        if size == 0:
            return
        place = bisect_left(self.gaps, (start, end))
        if place < len(self.gaps) and self.gaps[place][0] == end:
            end = self.gaps.pop(place)[1]
        if place > 0 and self.gaps[place - 1][1] == start:
            start = self.gaps.pop(place - 1)[0]
        insort(self.gaps, (start, end))
