"""Sum long axes in blocks and lanes, so that sums are accurate and vectorise.

A sum folds its terms one after the other, in that order: language, not a matter of the machine. Folding ten million
terms into one float32 loses digits (from 2**24 on, adding 1 changes nothing), and a chain of additions that depend on
each other fills no vector. So a long axis becomes several: R elements are [blocks, 256, 16], of which the sum over 256
comes first, 16 of them side by side, then the sum over the 16, then over the blocks. The numbers 256 and 16 belong to
the language: the same on every machine, whatever its vectors and threads.

    schedule.kernel @k0(%x: tensor<768xf32>) -> tensor<1xf32> dims [r0 = 768] rows 0 order [0] {
      %0 = graph.view %x strides [1] : tensor<768xf32> -> tensor<768xf32>
      %1 = graph.sum %0 axes [0] : tensor<768xf32> -> tensor<1xf32>
    =>
    schedule.kernel @k0(%x: tensor<768xf32>) -> tensor<1xf32> dims [r0 = 48, r1 = 16] rows 0 order [0, 1] {
      %0 = graph.view %x strides [16, 1] : tensor<768xf32> -> tensor<48x16xf32>
      %1 = graph.sum %0 axes [0] : tensor<48x16xf32> -> tensor<1x16xf32>
      %2 = graph.sum %1 axes [1] : tensor<1x16xf32> -> tensor<1x1xf32>

The dim is cut in the whole kernel, maxima and results along it too: a softmax stays one kernel, and its loads and
stores walk the same memory. Lanes are the largest of 16, 8 and 4 that divides the axis (of a row of results of over
4096, else any divisor up to 64); they are given to axes that most buffers walk with stride 1. An axis of over 4096
that they do not divide is summed in parts, blocks first, the left-over elements last; so is one of over 256 that is
folded across the lanes of another, as the rows of a column sum are. Neighbouring axes that memory does not tell apart
count as one axis. Several axes with many terms are summed one by one, the innermost first. Sums of halves become sums
of f32 that are rounded once, at the end.

Bits: those of sums change, and only those: equal on whole numbers whose sums are exact; otherwise closer to the true
sum. Integers and maxima keep their values. Which sums change depends on the graph and the options alone.

Declines: contractions (each operand of the product repeats along some kept dim, so `order` and the nest passes find
other dims to vectorise), scatters, axes that a mask cuts, and short axes that 16, 8 and 4 do not divide.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from limn.analysis.contractions import is_contraction
from limn.analysis.walks import is_masked, merged_dims, reductions, votes
from limn.dialects import graph, schedule
from limn.passes._keep_row import drop_idle_keeps
from limn.passes._options import at_least
from limn.passes._split_dims import Cut, KernelCutter, Part

LANES = (16, 8, 4)
LONG_ROW_LANES = (16, 8, *range(64, 3, -1))
"""For rows too long to stay whole that are results too: cut in parts they would be read, and computed, more often."""
BLOCK = 256


@dataclass(frozen=True)
class SplitReducePass(ModulePass):
    """schedule -> schedule; axes below ``shortest`` stay whole, those of over ``longest`` are cut in any case, and so
    are those of over ``columns`` that are only folded and not walked in steps of one, where blocks cost little."""

    name = "split-reduce"
    shortest: int = 32
    longest: int = 4096
    columns: int = 256

    def __post_init__(self) -> None:
        at_least(self, shortest=1, longest=1, columns=1)

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for kernel in [inner for inner in op.body.ops if isinstance(inner, schedule.KernelOp)]:
            if not _is_split(kernel):
                continue
            groups = merged_dims(kernel)
            parts = self._parts(kernel, groups)
            many = any(math.prod(kernel.dims[a] for a in r.reduced) > self.longest for r in reductions(kernel))
            if parts or many:
                new = KernelCutter(Cut(kernel, groups, parts), self.longest).kernel()
                drop_idle_keeps(new)
                Rewriter.replace_op(kernel, new, [])

    def _parts(self, kernel: schedule.KernelOp, groups: list[tuple[int, ...]]) -> dict[int, tuple[Part, ...]]:
        """The parts of each group of dims that is cut; of several that would be cut unequally only the longest is."""
        walked = votes(kernel)
        folded = {axis for op in reductions(kernel) for axis in op.reduced}
        summed = {axis for op in reductions(kernel) if isinstance(op, graph.SumOp) for axis in op.reduced}
        over = schedule.spanned(kernel)
        found: dict[int, tuple[Part, ...]] = {}
        for position, group in enumerate(groups):
            if group[0] in folded and not is_masked(kernel, group):
                size = math.prod(kernel.dims[d] for d in group)
                is_walked = 0 < walked[group[-1]] == max(walked.values())
                parts = self._cut(size, is_walked, group[0] in over)
                if len(parts) == 1 or group[0] in summed:
                    found[position] = parts
        ragged = sorted((p for p in found if len(found[p]) > 1), key=lambda p: sum(map(_size, found[p])))
        return {p: parts for p, parts in found.items() if parts and p not in ragged[:-1]}

    def _cut(self, size: int, is_walked: bool, is_stored: bool) -> tuple[Part, ...]:
        choice = LONG_ROW_LANES if is_stored and size > self.longest else LANES
        lanes = next((n for n in choice if is_walked and size % n == 0 and n < size), 0)
        if lanes and size >= self.shortest:
            count = size // lanes
            if count <= BLOCK:
                return (Part(0, (count, lanes), lanes=True),)
            if is_stored or (count % BLOCK == 0 and count <= BLOCK * BLOCK):
                inner = next(n for n in range(BLOCK, 0, -1) if count % n == 0)
                extents = (count // inner, inner, lanes) if inner > BLOCK // 8 else (count, lanes)
                return (Part(0, extents, lanes=True),)
        if size <= (self.longest if is_walked or is_stored else min(self.columns, self.longest)):
            return ()
        inner = (BLOCK, LANES[0]) if is_walked else (BLOCK,)
        parts: list[Part] = []
        start = 0
        while size - start >= math.prod(inner):
            blocks = (size - start) // math.prod(inner)
            outer = (blocks,) if blocks <= BLOCK else (blocks // BLOCK, BLOCK)
            extents = (*outer, *inner) if blocks > 1 else inner
            parts.append(Part(start, extents, lanes=is_walked))
            start += _size(parts[-1])
        if is_walked and size - start >= 2 * LANES[0]:
            parts.append(Part(start, ((size - start) // LANES[0], LANES[0]), lanes=True))
            start += _size(parts[-1])
        if start < size:
            parts.append(Part(start, (size - start,)))
        return tuple(parts)


def _size(part: Part) -> int:
    return math.prod(part.extents)


def _is_split(kernel: schedule.KernelOp) -> bool:
    """Whether the kernel has reductions that this pass may group anew."""
    found = reductions(kernel)
    has_scatter = any(isinstance(op, schedule.ScatterOp) for op in kernel.block.ops)
    return bool(found) and not has_scatter and not any(is_contraction(op) for op in found)
