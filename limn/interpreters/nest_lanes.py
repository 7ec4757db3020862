"""Which loops of a nest kernel may run as lanes: their turns touch different cells of whatever the kernel writes.

What ``limn.analysis.dependence`` proves of a loop lets its turns run together, bit for bit as if one after the other.
Bounds of inner loops must not differ between lanes. What is not proven runs turn by turn: slower, never wrong.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.ir import Block, SSAValue

from limn.analysis import dependence
from limn.analysis.affine import Ranges, ranges_in, turns_of
from limn.dialects.nest import AccessOp, CheckRowOp, ForOp, LoadOp, ScratchOp, extent_of

MOST_LANES = 1 << 15
"""Lanes that run at once: enough to hide the price of a numpy call, few enough that values stay in the cache."""


@dataclass
class Analysis:
    """What a translation asks: the range of every index, the loops that run as lanes, the memory that is written."""

    ranges: Ranges
    chunks: dict[ForOp, int]
    """For each loop that runs as lanes, how many at most at once."""
    axes: dict[ForOp, int]
    """The array axis of each such loop: the number of such loops around it."""
    rank: int
    written: set[SSAValue]


def analyse(block: Block) -> Analysis:
    """Analyse the body of a kernel."""
    ranges = ranges_in(block)
    order = [op for op in block.walk() if isinstance(op, ForOp)]
    written = {op.memory for op in block.walk() if isinstance(op, AccessOp) and not isinstance(op, LoadOp)}
    chunks: dict[ForOp, int] = {}
    lanes_inside: dict[ForOp, int] = {}
    for loop in reversed(order):  # inner loops first
        inner = max((lanes_inside[op] for op in loop.block.ops if isinstance(op, ForOp)), default=1)
        kept = max((extent_of(op.result) for op in loop.block.ops if isinstance(op, ScratchOp)), default=1)
        turns = turns_of(loop, ranges)
        most = MOST_LANES // max(inner, kept // 32)  # a lane's scratch may be 32 times what its values take
        if most > 1 and turns > 1 and independent(loop, ranges):
            chunks[loop] = most
            inner *= min(turns, most)
        lanes_inside[loop] = inner
    axes: dict[ForOp, int] = {}
    for loop in order:
        around = loop.parent_op()
        while isinstance(around, ForOp) and around not in chunks:
            around = around.parent_op()
        axes[loop] = axes[around] + 1 if isinstance(around, ForOp) else 0
    rank = max((axes[loop] + 1 for loop in chunks), default=0)
    return Analysis(ranges, chunks, axes, rank, written)


def independent(loop: ForOp, ranges: Ranges) -> bool:
    """Whether the turns of ``loop`` may run as lanes."""
    rows: set[SSAValue] = set()
    for op in loop.block.walk():
        if isinstance(op, ForOp):
            # Bounds may use the indices of other inner loops, which are the same in all lanes (this test, applied
            # to each of them, makes it so), but not this index and not a row number read in a lane.
            if any(value is loop.index or value in rows for value in op.values):
                return False
        elif isinstance(op, CheckRowOp):
            rows.add(op.result)
    return dependence.independent(loop, ranges)
