"""Run the turns of outer loops on several threads, where that is proven to change nothing and worth its price.

    nest.for %i0 = 0 to 512 {                                    nest.for %i0 = 0 to 512 parallel {
      nest.for %i1 = 0 to 512 {                                    nest.for %i1 = 0 to 512 {
        nest.store %z, %out[%i0 * 512 + %i1] : f32        ->         nest.store %z, %out[%i0 * 512 + %i1] : f32
      ..                                                           ..

A loop is parallel if no turn touches what another turn writes: for each memory that outlives a turn, the stride of the
loop's index and the span of the other indices prove that the elements differ (``limn.analysis.dependence``). Scratch
made in the body is one for each turn.

The outermost such loop is marked, if its turns together execute ``grain`` ops or more. One with fewer than ``turns``
turns whose body is just another such loop shares its turns with it (``parallel collapse 2``).

Bits: the same on any number of threads, since a loop that carries a total from turn to turn, as that of a reduction or
a scatter by row, is never parallel, so folds keep their order.

Declines: loops inside a parallel loop, what is not proven, and what is too small.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, StringAttr, i64
from xdsl.ir import Block
from xdsl.passes import ModulePass

from limn.analysis.affine import Ranges, ranges_in, turns_of
from limn.analysis.dependence import independent
from limn.dialects import nest
from limn.passes._options import at_least


@dataclass(frozen=True)
class ParallelizePass(ModulePass):
    """nest -> nest. Options: ``grain``, the ops that are worth waking threads for; ``turns``, how many a loop has on
    its own."""

    name = "parallelize"
    grain: int = 500_000
    turns: int = 8

    def __post_init__(self) -> None:
        at_least(self, grain=0, turns=0)

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for kernel in op.body.block.ops:
            if isinstance(kernel, nest.KernelOp):
                self.mark(kernel.block, ranges_in(kernel.block))

    def mark(self, block: Block, ranges: Ranges) -> None:
        """Mark the outermost loops in ``block`` that qualify."""
        for loop in block.ops:
            if not isinstance(loop, nest.ForOp) or work(loop, ranges) < self.grain:
                continue
            if loop.kind.data == nest.SEQUENTIAL and turns_of(loop, ranges) > 1 and independent(loop, ranges):
                loop.kind = StringAttr(nest.PARALLEL)
                inner = only_loop(loop)
                if turns_of(loop, ranges) < self.turns and inner is not None and independent(inner, ranges):
                    loop.collapse = IntegerAttr(2, i64)
            elif loop.kind.data == nest.SEQUENTIAL:
                self.mark(loop.block, ranges)


def work(loop: nest.ForOp, ranges: Ranges) -> int:
    """How many ops the turns of ``loop`` execute, at most."""
    each = 0
    for op in loop.block.ops:
        each += work(op, ranges) if isinstance(op, nest.ForOp) else 1
    return each * turns_of(loop, ranges)


def only_loop(loop: nest.ForOp) -> nest.ForOp | None:
    """The loop that is the whole body of ``loop``, if its bounds are constants: then the two collapse."""
    first = loop.block.first_op
    alone = first is not None and first is loop.block.last_op
    if not alone or not isinstance(first, nest.ForOp) or first.constant_bounds is None:
        return None
    return first if loop.constant_bounds is not None and first.kind.data == nest.SEQUENTIAL else None
