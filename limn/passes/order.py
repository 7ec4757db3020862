"""Choose each kernel's innermost loop by the strides of its buffers.

Walking memory in steps of one element is what caches and vector units want. Each buffer that the innermost loop walks
votes for the dim along which it has stride 1 (or -1): what a reduction folds and the total that it accumulates, or
in a kernel without one all that it loads and stores. The dim with most votes becomes the innermost loop, on a strict
win over the dim that is innermost now; so a reduction axis stays innermost on a tie, where its total can live in a
register. In the product of two matrices the columns win:

    schedule.kernel @k0(%a: tensor<4x5xf32>, %b: tensor<5x3xf32>) -> tensor<4x3xf32>
      dims [i0 = 4, i1 = 3, r2 = 5] rows 2 order [0, 1, 2] { ..
    =>
      dims [i0 = 4, i1 = 3, r2 = 5] rows 1 order [0, 2, 1] { ..     // for i0, for r2, for i1

and where the right operand is transposed (both are walked along r2) nothing changes.

The nested sums of one split count as one reduction; another dim may pass them.

Bits: the same, since reduction dims keep their order among each other, and with it each cell's order of terms.

Declines: kernels in which one reduction waits for another or keeps other dims (their loops must agree on one order),
and scatters (the order of the dims is the order in which rows are added).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, i64
from xdsl.passes import ModulePass

from limn.analysis.phases import axes_of, chains_of, levels
from limn.analysis.walks import strided_reads
from limn.dialects import graph, schedule
from limn.view import row_major


@dataclass(frozen=True)
class OrderPass(ModulePass):
    """schedule -> schedule."""

    name = "order"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for kernel in op.body.ops:
            if isinstance(kernel, schedule.KernelOp):
                _reorder(kernel)


def _reorder(kernel: schedule.KernelOp) -> None:
    chains = chains_of(kernel)
    if any(level != -1 for level in levels(kernel, chains).values()) or len({_kept(chain) for chain in chains}) > 1:
        return
    if any(isinstance(op, schedule.ScatterOp) for op in kernel.block.ops):
        return
    reduced = {axis for chain in chains for axis in axes_of(chain)}
    loops = [dim for dim in kernel.loop_order if kernel.dims[dim] > 1]
    if not loops:
        return
    votes = Counter(d for walk in _walks(kernel, chains) for d in loops if abs(walk[d]) == 1)
    last = [dim for dim in loops if dim in reduced][-1:]
    best = max((d for d in loops if d not in reduced or d in last), key=lambda d: (votes[d], loops.index(d)))
    if votes[best] <= votes[loops[-1]]:
        return
    rows = set(kernel.loop_order[: kernel.row_count]) - {best}
    order = [dim for dim in kernel.loop_order if dim != best] + [best]
    kernel.order = graph.integers(order)
    kernel.rows = IntegerAttr(next((i for i, dim in enumerate(order) if dim not in rows), len(order)), i64)


def _kept(chain: tuple[graph.ReduceOp, ...]) -> tuple[int, ...]:
    return graph.shape_of(chain[0].result)


def _walks(kernel: schedule.KernelOp, chains: list[tuple[graph.ReduceOp, ...]]) -> Iterable[tuple[int, ...]]:
    """The strides of each buffer that the innermost loop walks."""
    stored = [chain[0].result for chain in chains] or list(kernel.terminator.values)
    yield from (row_major(graph.shape_of(value)) for value in stored)
    axes = {axis for chain in chains for axis in axes_of(chain)}
    for value, strides in strided_reads(kernel):
        shape = graph.shape_of(value)
        if not chains or any(shape[axis] > 1 for axis in axes):
            yield strides
