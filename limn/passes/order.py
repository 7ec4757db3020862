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

Bits: the same, since reduction dims keep their order among each other, and with it each cell's order of terms.

Declines: kernels with several reductions (their loops must agree on one order), nested sums of one split (split-reduce
has placed their lanes), and scatters (the order of the dims is the order in which rows are added).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, i64
from xdsl.ir import BlockArgument, SSAValue
from xdsl.passes import ModulePass

from limn.analysis.phases import chains_of
from limn.dialects import graph, schedule
from limn.view import row_major


@dataclass(frozen=True)
class Order(ModulePass):
    """schedule -> schedule."""

    name = "order"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for kernel in op.body.ops:
            if isinstance(kernel, schedule.KernelOp):
                _reorder(kernel)


def _reorder(kernel: schedule.KernelOp) -> None:
    chains = chains_of(kernel)
    if len(chains) > 1 or any(len(chain) > 1 for chain in chains):
        return
    if any(isinstance(op, schedule.ScatterOp) for op in kernel.block.ops):
        return
    reduced = chains[0][0].reduced if chains else ()
    loops = [dim for dim in kernel.loop_order if kernel.dims[dim] > 1]
    if not loops:
        return
    votes = _votes(kernel, chains[0][0] if chains else None)
    movable = [dim for dim in loops if dim not in reduced or dim == _last(loops, reduced)]
    best = max(movable, key=lambda dim: (votes[dim], loops.index(dim)))
    if votes[best] <= votes[loops[-1]]:
        return
    rows = set(kernel.loop_order[: kernel.row_count]) - {best}
    order = [dim for dim in kernel.loop_order if dim != best] + [best]
    kernel.order = graph.integers(order)
    kernel.rows = IntegerAttr(next((i for i, dim in enumerate(order) if dim not in rows), len(order)), i64)


def _last(loops: list[int], reduced: Iterable[int]) -> int:
    return max((dim for dim in loops if dim in reduced), key=loops.index)


def _votes(kernel: schedule.KernelOp, fold: graph.ReduceOp | None) -> Counter[int]:
    """How many of the buffers that the innermost loop walks have stride 1 along each dim."""
    votes: Counter[int] = Counter()
    for strides in _walked_strides(kernel, fold):
        votes.update(dim for dim, stride in enumerate(strides) if abs(stride) == 1 and kernel.dims[dim] > 1)
    return votes


def _walked_strides(kernel: schedule.KernelOp, fold: graph.ReduceOp | None) -> Iterable[tuple[int, ...]]:
    if fold is None:
        yield from (row_major(graph.shape_of(value)) for value in kernel.terminator.values)
    else:
        yield row_major(graph.shape_of(fold.result))
    for op in kernel.block.ops:
        if isinstance(op, graph.ViewOp | schedule.GatherOp) and isinstance(op.operands[0], BlockArgument):
            strides = op.view_strides if isinstance(op, graph.ViewOp) else op.gather_strides
            if fold is None or _spans(op.result, fold.reduced):
                yield strides


def _spans(value: SSAValue, dims: Iterable[int]) -> bool:
    shape = graph.shape_of(value)
    return any(shape[dim] > 1 for dim in dims)
