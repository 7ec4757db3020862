"""Accesses that leave their memory for certain: a slip of the hand in a loop bound or a subscript.

The verifier of ``nest`` looks at one op and knows constant subscripts only. Here the loops around are known too. Only
what is certain is refused: the subscript is linear, no range check guards the access, and every loop around it has
constant bounds and runs.
"""

from __future__ import annotations

from xdsl.ir import Block

from limn.analysis.affine import Ranges, interval, linear
from limn.dialects.legality import IllegalOp
from limn.dialects.nest import AccessOp, CheckRowOp, ForOp, KernelOp, extent_of


def check_bounds(kernel: KernelOp) -> None:
    """Refuse a kernel with an access that leaves its memory.

    Raises:
        IllegalOp: for the first such access, with the elements it touches and the size of the memory.
    """
    stack: list[tuple[Block, Ranges]] = [(kernel.block, {})]
    while stack:
        block, ranges = stack.pop()
        for op in block.ops:
            if isinstance(op, CheckRowOp):
                ranges[op.result] = (0, op.bound.value.data - 1)
            elif isinstance(op, ForOp):
                if (bounds := op.constant_bounds) is not None and bounds[0] < bounds[1]:
                    turns = (bounds[1] - bounds[0] - 1) // op.stride
                    stack.append((op.block, ranges | {op.index: (bounds[0], bounds[0] + turns * op.stride)}))
            elif isinstance(op, AccessOp) and op.checks is None:
                _check(op, ranges)


def _check(op: AccessOp, ranges: Ranges) -> None:
    index, size = op.index, extent_of(op.memory)
    if linear(index) is None or not all(value in ranges for value in index.values):
        return
    first, last = interval(index, ranges)
    if first < 0 or last >= size:
        name = f"%{op.memory.name_hint}" if op.memory.name_hint else "its memory"
        raise IllegalOp(op, f"'{op.name}' touches elements {first} to {last} of {name}, which has {size}")
