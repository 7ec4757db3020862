"""Which loops of a nest kernel may run as lanes: their turns touch different cells of whatever the kernel writes.

A loop over ``i`` qualifies when, for each memory that is stored to inside of it,

- the memory is scratch made inside the loop (each lane gets its own), or
- every access inside has the same nonzero stride ``s`` along ``i``, and the remaining part of the subscripts cannot
  bridge a step of ``i``: terms of smaller stride span less than one step, and terms of larger stride are multiples of
  something larger than all steps of ``i`` together.

Then all turns together are one turn after the other in any interleaving, bit for bit. Bounds of inner loops must not
differ between lanes. What is not proven runs turn by turn: slower, never wrong.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from math import gcd
from typing import TypeAlias

from xdsl.ir import Block, SSAValue
from xdsl.ir.affine import AffineBinaryOpExpr, AffineBinaryOpKind, AffineConstantExpr, AffineDimExpr, AffineExpr

from limn.dialects.nest import AccessOp, CheckRowOp, ForOp, Index, LoadOp, ScratchOp, extent_of

MOST_LANES = 1 << 15
"""Lanes that run at once: enough to hide the price of a numpy call, few enough that values stay in the cache."""

Ranges: TypeAlias = dict[SSAValue, tuple[int, int]]
"""The least and greatest value that an index may have."""


def terms(expr: AffineExpr, factor: int = 1) -> Iterator[tuple[int, AffineExpr]]:
    """``expr`` as a sum of (factor, dim or quotient or remainder or 1)."""
    stack = [(factor, expr)]
    while stack:
        factor, expr = stack.pop()
        if isinstance(expr, AffineConstantExpr):
            yield factor * expr.value, AffineConstantExpr(1)
        elif isinstance(expr, AffineBinaryOpExpr) and expr.kind is AffineBinaryOpKind.Add:
            stack += [(factor, expr.rhs), (factor, expr.lhs)]
        elif isinstance(expr, AffineBinaryOpExpr) and expr.kind is AffineBinaryOpKind.Mul:
            sides = (expr.lhs, expr.rhs)
            constant = next((s.value for s in sides if isinstance(s, AffineConstantExpr)), None)
            if constant is None:
                yield factor, expr
            else:
                stack.append((factor * constant, sides[isinstance(sides[0], AffineConstantExpr)]))
        else:
            yield factor, expr


def linear(index: Index) -> tuple[dict[SSAValue, int], int] | None:
    """(stride of each index value, constant), or None for a subscript with quotients or remainders."""
    strides: dict[SSAValue, int] = {}
    constant = 0
    for factor, leaf in terms(index.expr):
        if isinstance(leaf, AffineConstantExpr):
            constant += factor
        elif isinstance(leaf, AffineDimExpr):
            value = index.values[leaf.position]
            strides[value] = strides.get(value, 0) + factor
        else:
            return None
    return {value: stride for value, stride in strides.items() if stride}, constant


def interval(index: Index, ranges: Ranges) -> tuple[int, int]:
    """The least and greatest value of an affine expression, never too narrow."""
    return _interval(index.expr, [ranges[value] for value in index.values])


def _interval(expr: AffineExpr, dims: list[tuple[int, int]]) -> tuple[int, int]:
    if isinstance(expr, AffineConstantExpr):
        return expr.value, expr.value
    if isinstance(expr, AffineDimExpr):
        return dims[expr.position]
    assert isinstance(expr, AffineBinaryOpExpr)
    (low, high), (first, last) = _interval(expr.lhs, dims), _interval(expr.rhs, dims)
    if expr.kind is AffineBinaryOpKind.Add:
        return low + first, high + last
    if expr.kind is AffineBinaryOpKind.Mul:
        ends = [low * first, low * last, high * first, high * last]
    elif expr.kind is AffineBinaryOpKind.FloorDiv:
        ends = [low // first, high // first]
    elif expr.kind is AffineBinaryOpKind.CeilDiv:
        ends = [-(-low // first), -(-high // first)]
    else:
        return (low, high) if low >= 0 and high < first else (0, first - 1)
    return min(ends), max(ends)


def range_of(loop: ForOp, ranges: Ranges) -> tuple[int, int]:
    """The least and greatest value of a loop's index; (low, low) for a loop that may not run at all."""
    low = max(interval(index, ranges)[0] for index in loop.lowers)
    high = min(interval(index, ranges)[1] for index in loop.uppers) - 1
    return low, max(low, high)


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
    ranges: Ranges = {}
    order: list[ForOp] = []
    written: set[SSAValue] = set()
    for op in block.walk():
        if isinstance(op, ForOp):
            ranges[op.index] = range_of(op, ranges)
            order.append(op)
        elif isinstance(op, CheckRowOp):
            ranges[op.result] = (0, op.bound.value.data - 1)
        elif isinstance(op, AccessOp) and not isinstance(op, LoadOp):
            written.add(op.memory)
    chunks: dict[ForOp, int] = {}
    lanes_inside: dict[ForOp, int] = {}
    for loop in reversed(order):  # inner loops first
        inner = max((lanes_inside[op] for op in loop.block.ops if isinstance(op, ForOp)), default=1)
        kept = max((extent_of(op.result) for op in loop.block.ops if isinstance(op, ScratchOp)), default=1)
        low, high = ranges[loop.index]
        turns = (high - low) // loop.stride + 1
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
    inner: set[SSAValue] = {loop.index}
    rows: set[SSAValue] = set()
    private: set[SSAValue] = set()
    accesses: dict[SSAValue, list[AccessOp]] = {}
    for op in loop.block.walk():
        if isinstance(op, ForOp):
            # Bounds may use the indices of other inner loops, which are the same in all lanes (this test, applied
            # to each of them, makes it so), but not this index and not a row number read in a lane.
            if any(value is loop.index or value in rows for value in op.values):
                return False
            inner.add(op.index)
        elif isinstance(op, CheckRowOp):
            inner.add(op.result)
            rows.add(op.result)
        elif isinstance(op, ScratchOp):
            private.add(op.result)
        elif isinstance(op, AccessOp):
            accesses.setdefault(op.memory, []).append(op)
    for memory, touching in accesses.items():
        shared = memory not in private and extent_of(memory) and not all(isinstance(op, LoadOp) for op in touching)
        if shared and not _disjoint(loop, touching, inner, ranges):
            return False
    return True


def _disjoint(loop: ForOp, accesses: Iterable[AccessOp], inner: set[SSAValue], ranges: Ranges) -> bool:
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
