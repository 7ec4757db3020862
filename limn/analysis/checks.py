"""Range checks of nest accesses: which loop they are about, where they change, and when ranges decide them."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.ir import Block, SSAValue

from limn.analysis.affine import Ranges, interval, linear
from limn.dialects import nest
from limn.dialects.affine import Index


@dataclass(frozen=True)
class Check:
    """``low <= index * factor + rest < high`` for the index of one loop; ``rest`` is the same in all of its turns."""

    factor: int
    rest: dict[SSAValue, int]
    low: int
    high: int

    def edges(self) -> tuple[Index, Index]:
        """The first value of the index that passes, and the first one after it that does not."""
        rest = Index.constant(0)
        for value, stride in self.rest.items():
            rest = rest + Index.of(value) * stride
        if self.factor > 0:
            low, high = Index.constant(self.low) - rest, Index.constant(self.high) - rest
            return ceiling(low, self.factor), ceiling(high, self.factor)
        return floor(rest - self.high, -self.factor) + 1, floor(rest - self.low, -self.factor) + 1


def floor(index: Index, divisor: int) -> Index:
    """``index / divisor`` rounded down, a number where it can be."""
    constant = index.is_constant
    return Index.constant(constant // divisor) if constant is not None else index // divisor


def ceiling(index: Index, divisor: int) -> Index:
    """``index / divisor`` rounded up."""
    return index if divisor == 1 else floor(index + (divisor - 1), divisor)


def check_on(loop: nest.ForOp, condition: tuple[Index, int, int], outer: Ranges) -> Check | None:
    """``condition`` as a check of ``loop``, if its index is the innermost that it tests."""
    found = linear(condition[0])
    if found is None or loop.index not in found[0]:
        return None
    strides, constant = found
    rest = {value: stride for value, stride in strides.items() if value is not loop.index}
    if any(value not in outer or not isinstance(value.owner, Block) for value in rest):
        return None
    return Check(strides[loop.index], rest, condition[1] - constant, condition[2] - constant)


def decide(condition: tuple[Index, int, int], ranges: Ranges) -> bool | None:
    """Whether a check always holds or always fails, else None."""
    index, low, high = condition
    least, most = interval(index, ranges)
    if low <= least and most < high:
        return True
    return False if most < low or least >= high else None
