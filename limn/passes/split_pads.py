"""Split loops where a range check changes, so that the loops in between load without checks.

A check in the innermost loop stands in the way of plain vector loads, and most of its turns pass it.

    nest.for %i0 = 0 to 9 {                                         nest.for %i0 = 0 to 2 {
      %v = nest.load %in0[%i0 - 2] where [%i0] in [2] to [7] : f32    %0 = nest.const 0.0 : f32
      nest.store %v, %out[%i0] : f32                                  nest.store %0, %out[%i0] : f32
    }                                                               }
                                                              ->    nest.for %i0 = 2 to 7 {
                                                                      %v = nest.load %in0[%i0 - 2] : f32
                                                                      nest.store %v, %out[%i0] : f32
                                                                    }
                                                                    nest.for %i0 = 7 to 9 { .. as the first .. }

A check belongs to the innermost loop whose index it tests. Where it tests outer indices too, the bounds of the three
loops become ``max`` and ``min`` of affine expressions. Loops with a step start on one of their own turns. Checks that
the ranges of the indices decide are resolved wherever they are.

Bits: the same, since the turns keep their order.

Declines: accesses that are not in an innermost loop; checks with quotients, remainders or row numbers; collapsed
loops; a step with a lower bound that is not one expression; and a kernel that would grow to more than ``growth`` times
its ops.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, Region
from xdsl.passes import ModulePass

from limn.analysis.affine import Ranges, interval, range_of
from limn.analysis.checks import Check, ceiling, check_on, decide
from limn.dialects import nest
from limn.dialects.affine import Index
from limn.passes._options import at_least


@dataclass(frozen=True)
class SplitPadsPass(ModulePass):
    """nest -> nest. Options: ``growth``, how many times as many ops a kernel may get."""

    name = "split-pads"
    growth: int = 8

    def __post_init__(self) -> None:
        at_least(self, growth=1)

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for kernel in op.body.block.ops:
            if isinstance(kernel, nest.KernelOp):
                _Splitter((self.growth - 1) * _size(kernel)).block(kernel.block, {})


def accesses(op: Operation) -> Iterator[nest.AccessOp]:
    """The accesses inside ``op`` that have checks."""
    return (found for found in op.walk() if isinstance(found, nest.AccessOp) and found.checks is not None)


def _size(op: Operation) -> int:
    return sum(1 for _ in op.walk())


def is_innermost(block: Block | None) -> bool:
    """Whether no loop stands in this block."""
    return block is not None and not any(isinstance(op, nest.ForOp) for op in block.ops)


def resolve(access: nest.AccessOp, holds: dict[int, bool]) -> None:
    """Drop the checks that ``holds`` knows by their position; an access of which one fails becomes zero or nothing."""
    block = access.parent
    assert block is not None
    if not holds:
        return
    new: Operation | None = None
    if all(holds.values()):
        rest = [c for position, c in enumerate(access.conditions) if position not in holds]
        if isinstance(access, nest.LoadOp):
            new = nest.LoadOp(access.memory, access.index, rest)
        elif isinstance(access, nest.StoreOp):
            new = nest.StoreOp(access.value, access.memory, access.index, rest)
        else:
            assert isinstance(access, nest.AccumulateOp)
            kind, factor = access.kind.data, access.factor
            new = nest.AccumulateOp(kind, access.value, access.memory, access.index, factor, rest)
    elif isinstance(access, nest.LoadOp):
        new = nest.ConstOp(0, access.result.type)
    if new is not None:
        new.location = access.location
        block.insert_op_before(new, access)
        if access.results:
            new.results[0].name_hint = access.results[0].name_hint
            access.results[0].replace_all_uses_with(new.results[0])
    block.erase_op(access)


class _Splitter:
    def __init__(self, budget: int):
        self.budget = budget

    def block(self, block: Block, ranges: Ranges) -> None:
        for op in list(block.ops):
            if isinstance(op, nest.ForOp):
                self.loop(op, ranges)
            elif isinstance(op, nest.CheckRowOp):
                ranges[op.result] = (0, op.bound.value.data - 1)
            elif isinstance(op, nest.AccessOp) and op.checks is not None:
                resolve(op, _decided(op, ranges))

    def loop(self, loop: nest.ForOp, ranges: Ranges) -> None:
        """Split a loop for its first check, and what comes of it for the next; then go into its body."""
        ranges[loop.index] = range_of(loop, ranges)
        check = self._wanted(loop, ranges)
        if check is None:
            self.block(loop.block, ranges)
            return
        self.budget -= 2 * _size(loop)  # up to three loops in place of one
        block = loop.parent
        assert block is not None
        for part in split(loop, check, ranges):
            block.insert_op_before(part, loop)
            self.loop(part, ranges)
        loop.detach()
        loop.erase()

    def _wanted(self, loop: nest.ForOp, ranges: Ranges) -> Check | None:
        if loop.collapse is not None or (loop.stride > 1 and len(loop.lowers) > 1):
            return None
        outer = {value: found for value, found in ranges.items() if value is not loop.index}
        for access in accesses(loop):
            if is_innermost(access.parent):
                for condition in access.conditions:
                    check = check_on(loop, condition, outer)
                    if check is not None and decide(condition, ranges) is None:
                        return check if 2 * _size(loop) <= self.budget else None
        return None


def _decided(access: nest.AccessOp, ranges: Ranges) -> dict[int, bool]:
    found = {position: decide(condition, ranges) for position, condition in enumerate(access.conditions)}
    return {position: holds for position, holds in found.items() if holds is not None}


def split(loop: nest.ForOp, check: Check, ranges: Ranges) -> Iterator[nest.ForOp]:
    """The loops before, in and after the turns in which ``check`` holds, without those that cannot run."""
    first, last = check.edges()
    start, end = _turn_from(loop, first), _turn_from(loop, last)
    parts = [(loop.lowers, [*loop.uppers, first], False)]
    parts.append(([*loop.lowers, start], [*loop.uppers, last], True))
    parts.append(([*loop.lowers, end], loop.uppers, False))
    outer = {value: found for value, found in ranges.items() if value is not loop.index}
    for lowers, uppers, holds in parts:
        lower, upper = _tightest(lowers, ranges, 1), _tightest(uppers, ranges, -1)
        if max(interval(i, ranges)[0] for i in lower) >= min(interval(i, ranges)[1] for i in upper):
            continue
        body = Region()
        loop.body.clone_into(body)
        part = nest.ForOp(lower, upper, body, loop.stride, loop.kind.data)
        part.location = loop.location
        for access in list(accesses(part)):  # a Check does not hold the loop's index, so those of a clone are equal
            known = {n: holds for n, c in enumerate(access.conditions) if check_on(part, c, outer) == check}
            resolve(access, known)
        yield part


def _turn_from(loop: nest.ForOp, edge: Index) -> Index:
    """The first turn of a loop with a step at or after ``edge``, counted on from its lower bound in both directions."""
    if loop.stride == 1:
        return edge
    low = loop.lowers[0]
    return low + ceiling(edge - low, loop.stride) * loop.stride


def _tightest(indices: Sequence[Index], ranges: Ranges, sign: int) -> list[Index]:
    """The lower (sign 1) or upper (sign -1) bounds that some turn of the outer loops may need."""
    kept: list[tuple[Index, int, int]] = []
    for index in indices:
        least, most = sorted(sign * end for end in interval(index, ranges))
        if all(low < most for _, low, _ in kept):  # none is at least as tight whatever the outer indices are
            kept = [bound for bound in kept if bound[2] > least] + [(index, least, most)]
    return [index for index, _, _ in kept]
