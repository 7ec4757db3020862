"""What the values of a schedule kernel depend on, and where its reductions can stand among the loops.

A value's shape says which dims it is *written* over; a view that repeats it adds dims on which it does not depend. The
loops follow from what it does depend on:

    dims        the dims along which a value changes
    direct      the reductions it needs, not counting those behind another reduction
    kept        the dims of a reduction's result
    home        the loops around a reduction: the longest prefix of the kernel's order that lies in ``kept``; its other
                kept dims make its accumulator an array

Values that are equal by construction (the same op on the same operands, or a view that only repeats) have one
representative, ``same``, so that nothing is loaded or computed twice in a loop body.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TypeAlias

from xdsl.ir import BlockArgument, Operation, OpResult, SSAValue

from limn.dialects import graph, schedule
from limn.dialects.graph import shape_of

Dims: TypeAlias = frozenset[int]
NO_DIMS: Dims = frozenset()
NO_REDUCES: frozenset[graph.ReduceOp] = frozenset()


def fold_order(kernel: schedule.KernelOp) -> list[int]:
    """The kernel's loop order without dims of extent 1, and with the axes of each reduction ascending.

    A cell is folded in ascending order whatever ``order`` says, so the axes of one reduction change places until they
    ascend; the same holds for the dims whose order decides in which order a scatter adds to a cell.
    """
    order = [d for d in kernel.loop_order if kernel.dims[d] > 1]
    folds = [axes for op in kernel.block.ops if len(axes := folded_dims(op)) > 1]
    changed = True
    while changed:
        changed = False
        for axes in folds:
            places = sorted(order.index(a) for a in axes if a in order)
            for place, axis in zip(places, sorted(a for a in axes if a in order), strict=True):
                changed |= order[place] != axis
                order[place] = axis
    return order


def folded_dims(op: Operation) -> Sequence[int]:
    """The dims along which ``op`` adds or compares into one cell."""
    if isinstance(op, graph.ReduceOp):
        return op.reduced
    if isinstance(op, schedule.ScatterOp):
        row, strides = shape_of(op.row), op.row_strides
        return [d for d, extent in enumerate(shape_of(op.value)) if extent > 1 and (row[d] > 1 or not strides[d])]
    return ()


class KernelDims:
    """The facts above for one kernel, given the order of its loops (dims of extent over 1, outermost first)."""

    def __init__(self, kernel: schedule.KernelOp, order: Sequence[int]):
        self.kernel = kernel
        self.order = tuple(order)
        self.extents = kernel.dims
        self.same: dict[SSAValue, SSAValue] = {}
        self.dims: dict[SSAValue, Dims] = {}
        self.direct: dict[SSAValue, frozenset[graph.ReduceOp]] = {}
        self.reduces: list[graph.ReduceOp] = []
        known: dict[Hashable, SSAValue] = {}
        for op in kernel.block.ops:
            if not isinstance(op, schedule.YieldOp | schedule.ScatterOp):
                self._record(op, op.results[0], known)

    def _record(self, op: Operation, result: OpResult, known: dict[Hashable, SSAValue]) -> None:
        operands = tuple(o if isinstance(o, BlockArgument) else self.same[o] for o in op.operands)
        if is_repeat(op):
            self.same[result] = operands[0]
            return
        # what a reduction is depends on how often its operand repeats, what a load is only on where it reads
        shape = shape_of(op.operands[0]) if isinstance(op, graph.ReduceOp) else None
        element = graph.element_of(result)
        key = (type(op), operands, shape, element, read_dims(op), tuple(sorted(op.properties.items())))
        self.same[result] = known.setdefault(key, result)
        if self.same[result] is not result:
            return
        if isinstance(op, graph.ReduceOp):
            self.reduces.append(op)
            self.dims[result] = self.dims[operands[0]] - set(op.reduced)
            self.direct[result] = frozenset([op])
            return
        values = [o for o in operands if not isinstance(o, BlockArgument)]
        self.dims[result] = NO_DIMS.union(*(self.dims[v] for v in values), read_dims(op))
        self.direct[result] = NO_REDUCES.union(*(self.direct[v] for v in values))

    def operand_of(self, reduce: graph.ReduceOp) -> SSAValue:
        """What a reduction folds, as its representative."""
        return self.same[reduce.operand]

    def kept(self, reduce: graph.ReduceOp) -> Dims:
        """The dims of a reduction's result."""
        return self.dims[reduce.result]

    def axes(self, reduce: graph.ReduceOp) -> Dims:
        """The reduced dims that take a loop."""
        return frozenset(d for d in reduce.reduced if shape_of(reduce.operand)[d] > 1)

    def in_order(self, dims: Dims) -> tuple[int, ...]:
        """Some dims from the outermost loop to the innermost."""
        return tuple(d for d in self.order if d in dims)

    def home(self, reduce: graph.ReduceOp) -> tuple[int, ...]:
        """The loops around a reduction."""
        kept = self.kept(reduce)
        count = next((n for n, d in enumerate(self.order) if d not in kept), len(self.order))
        return self.order[:count]

    def accumulator(self, reduce: graph.ReduceOp) -> tuple[int, ...]:
        """The kept dims along which its accumulator has cells of its own."""
        return self.in_order(self.kept(reduce) - set(self.home(reduce)))

    def rows(self) -> tuple[int, ...]:
        """The loops that all phases of the kernel share."""
        return self.in_order(frozenset(self.kernel.loop_order[: self.kernel.row_count]))


def is_repeat(op: Operation) -> bool:
    """Whether ``op`` is a view of a computed value: in normal form that only repeats it."""
    return isinstance(op, graph.ViewOp) and not isinstance(op.source, BlockArgument)


def reads_nothing(op: graph.ViewOp) -> bool:
    """Whether the mask of a load hides every element, so that it is zero."""
    return any(low >= high for low, high in op.view_mask or ())


def partial_masks(op: graph.ViewOp) -> list[tuple[int, int, int]]:
    """(dim, low, high) for each dim along which a load reads only a part."""
    shape = shape_of(op.result)
    return [
        (d, low, high)
        for d, (low, high) in enumerate(op.view_mask or ())
        if shape[d] > 1 and (low, high) != (0, shape[d])
    ]


def read_dims(op: Operation) -> Dims:
    """The dims along which an op that reads an argument changes by itself."""
    if isinstance(op, graph.ViewOp):
        if reads_nothing(op):
            return NO_DIMS
        masked = {d for d, _, _ in partial_masks(op)}
        return frozenset(d for d, n in enumerate(shape_of(op.result)) if n > 1 and (op.view_strides[d] or d in masked))
    if isinstance(op, schedule.GatherOp):
        return frozenset(d for d, n in enumerate(shape_of(op.result)) if n > 1 and op.row_strides[d])
    return NO_DIMS
