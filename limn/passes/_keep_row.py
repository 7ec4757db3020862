"""Which value of a kernel with several phases is worth a row of scratch: a part of ``fuse``.

Phases compute again what they need. That is cheap for a difference and dear for an exponential, and it reads the
inputs again: softmax would read its input three times. So at most one value is held in scratch between the phases:
the one that saves most, first in reads of an input beyond the second, then in exponentials, logarithms, roots and
divisions. If none saves any, there is no keep, since the scratch is traffic too.
"""

from __future__ import annotations

import math
from collections import Counter

from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from limn.analysis.phases import Phase, loads, phases
from limn.dialects import graph, schedule


def keep_row(kernel: schedule.KernelOp, max_row: int) -> None:
    """Put a ``schedule.keep`` into ``kernel`` where it pays and the row has at most ``max_row`` elements."""
    found = phases(kernel)
    if len(found) < 3 and not any(graph.is_heavy(op) for phase in found[1:] for op in phase.ops):
        return
    times = Counter(op for phase in found for op in phase.ops)
    best, cheapest = None, _cost(found, None)
    for op, count in times.items():
        if count > 1 and isinstance(op, graph.ELEMENTWISE) and _row_size(kernel, op.results[0]) <= max_row:
            cost = _cost(found, op)
            if cost < cheapest:
                best, cheapest = op, cost
    if best is not None:
        uses = list(best.results[0].uses)
        keep = schedule.KeepOp(best.results[0])
        Rewriter.insert_op(keep, InsertPoint.after(best))
        for use in uses:
            use.operation.operands[use.index] = keep.result


def drop_idle_keeps(kernel: schedule.KernelOp) -> None:
    """Remove each ``schedule.keep`` that fewer than two phases use."""
    times = Counter(op for phase in phases(kernel) for op in phase.ops)
    for op in list(kernel.block.ops):
        if isinstance(op, schedule.KeepOp) and times[op] < 2:
            op.result.replace_all_uses_with(op.operand)
            op.detach()
            op.erase()


def _row_size(kernel: schedule.KernelOp, value: SSAValue) -> int:
    rows = set(kernel.loop_order[: kernel.row_count])
    return math.prod(extent for dim, extent in enumerate(graph.shape_of(value)) if dim not in rows)


def _cost(found: list[Phase], kept: Operation | None) -> tuple[int, int]:
    """(reads of inputs beyond the second, expensive ops) for each element, if ``kept`` is computed once only."""
    reads: Counter[SSAValue] = Counter()
    heavy = 0
    is_kept = False
    for phase in found:
        running = set(phase.ops)
        if is_kept and kept in running:
            running = _without(phase, kept)
        is_kept |= kept in running
        heavy += sum(graph.is_heavy(op) for op in running)
        for argument in {load.operands[0] for load in loads(phase) if load in running}:
            reads[argument] += 1
    return sum(max(0, count - 2) for count in reads.values()), heavy


def _without(phase: Phase, kept: Operation | None) -> set[Operation]:
    """The ops that a phase runs when it finds ``kept`` in the scratch."""
    needed: set[Operation] = set()
    inside = set(phase.ops)
    roots = [chain[-1].operand for chain in phase.chains]
    for op in reversed(phase.ops):
        uses = [use.operation for result in op.results for use in result.uses]
        wanted = any(isinstance(user, schedule.YieldOp) and not phase.chains for user in uses)
        wanted |= any(result in roots for result in op.results)
        wanted |= any(user in needed for user in uses if user in inside)
        if wanted and op is not kept:
            needed.add(op)
    return needed
