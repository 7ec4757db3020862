"""Which accesses can meet: whether the turns of a loop touch different elements of a memory.

All accesses must have the same nonzero stride ``s`` along the loop, and what remains of their subscripts must not
bridge a step of it: terms of smaller stride span less than one step, and terms of larger stride are multiples of
something larger than all steps of the loop together. What is not proven is taken to meet.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd

from xdsl.ir import SSAValue

from limn.analysis.affine import Ranges, linear
from limn.dialects.nest import AccessOp, CheckRowOp, ForOp, LoadOp, ScratchOp, extent_of


def shared_accesses(loop: ForOp) -> dict[SSAValue, list[AccessOp]]:
    """The accesses inside a loop to each memory that is written there and outlives a turn."""
    found: dict[SSAValue, list[AccessOp]] = {}
    private: set[SSAValue] = set()
    for op in loop.block.walk():
        if isinstance(op, ScratchOp):
            private.add(op.result)
        elif isinstance(op, AccessOp):
            found.setdefault(op.memory, []).append(op)
    return {
        memory: touching
        for memory, touching in found.items()
        if memory not in private and extent_of(memory) and not all(isinstance(op, LoadOp) for op in touching)
    }


def independent(loop: ForOp, ranges: Ranges) -> bool:
    """Whether no turn of ``loop`` touches what another turn writes, so that the turns may run in any interleaving."""
    inner: set[SSAValue] = {loop.index}
    for op in loop.block.walk():
        if isinstance(op, ForOp):
            inner.add(op.index)
        elif isinstance(op, CheckRowOp):
            inner.add(op.result)
    return all(disjoint(loop, touching, inner, ranges) for touching in shared_accesses(loop).values())


def disjoint(loop: ForOp, accesses: Sequence[AccessOp], inner: set[SSAValue], ranges: Ranges) -> bool:
    """Whether different turns of ``loop`` touch different elements by ``accesses``, which share one memory."""
    fixed: set[tuple[tuple[SSAValue, int], ...]] = set()
    spans: list[dict[int, tuple[int, int]]] = []
    for op in accesses:
        found = linear(op.index)
        if found is None:
            return False
        strides, constant = found
        fixed.add(tuple(sorted(((v, s) for v, s in strides.items() if v not in inner or v is loop.index), key=_key)))
        span = {1: (constant, constant)}
        for value, stride in strides.items():
            if value in inner and value is not loop.index:
                low, high = ranges[value]
                ends = (low, high) if stride > 0 else (-high, -low)
                before = span.get(abs(stride), (0, 0))
                span[abs(stride)] = (before[0] + ends[0], before[1] + ends[1])
        spans.append(span)
    if len(fixed) != 1:
        return False
    step = abs(dict(next(iter(fixed))).get(loop.index, 0))
    if step == 0:
        return False
    widths: dict[int, int] = {}
    for stride in {stride for span in spans for stride in span}:
        ends = [span.get(stride, (0, 0)) for span in spans]
        widths[stride] = stride * (max(high for _, high in ends) - min(low for low, _ in ends))
    low, high = ranges[loop.index]
    return _cannot_bridge(step * loop.stride, step * (high - low), widths)


def _key(pair: tuple[SSAValue, int]) -> int:
    return id(pair[0])


def _cannot_bridge(step: int, reach: int, widths: dict[int, int]) -> bool:
    """Whether no sum of terms (stride: width) equals a nonzero multiple of ``step`` up to ``reach``."""
    moving = sorted(stride for stride, width in widths.items() if width)
    for count in range(len(moving) + 1):
        small = sum(widths[stride] for stride in moving[:count])
        large = gcd(*moving[count:])  # 0 when there is none
        if small < step and (large == 0 or reach + small < large):
            return True
    return False
