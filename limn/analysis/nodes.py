"""A graph function as nodes that compute, with every view folded into the accesses between them.

Fusion does not want to see views: what matters is which computation reads which memory or computation, and through
which layout. So each chain of ``graph.view`` becomes one `Access` (what is read, through which View), and what is left
are nodes. Where two views do not compose, the inner one becomes a node that copies, as do a requested output that is
only a view and a masked view of a constant (a one-element copy of the number).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, BlockArgument, Operation, SSAValue

from limn.dialects import graph
from limn.dialects.legality import PassRefused
from limn.dtypes import BY_MLIR
from limn.view import View, compose, row_major


@dataclass(eq=False)
class Node:
    """One computation: an op of the graph, or a copy of what its only operand reads (``op`` is then None)."""

    op: Operation | None
    shape: tuple[int, ...]
    element: Attribute
    operands: tuple[Access, ...] = ()
    why: str | None = None
    """Why the value must be in memory; None where that is open."""
    is_wanted: bool = False
    """Whether the function returns or assigns it."""
    chain: list[Node] = field(default_factory=list["Node"])
    """Of a reduction: the reductions it folds directly, outermost first (nested sums of one split)."""
    uses: int = 0
    """How many accesses read it, results and assigns included."""
    work: int = 0
    """About how many ops computing it anew takes, back to what is in memory; HEAVY_WORK where that never pays."""
    tabled: frozenset[Node] | None = None
    """What computes it, itself included, where that is light and reads but tables: memory small beside its own size.
    Random words are such a value. None otherwise."""
    stored_shape: tuple[int, ...] | None = None
    """The shape in which the function returns it or assigns it first."""
    folds_rows: bool = False
    """Whether it is computed from reductions that are no contractions, back to what is in memory."""

    @property
    def name_hint(self) -> str | None:
        """The name that the text gave the value."""
        return self.op.results[0].name_hint if self.op is not None else None

    @property
    def source(self) -> Access:
        """What a reduction folds, beneath the reductions of its chain."""
        return (self.chain[-1] if self.chain else self).operands[0]


HEAVY_WORK = 1 << 20
REPEATED = 4
"""How many times a value is repeated for those who use it to be computed again, and itself to be stored."""


@dataclass(frozen=True)
class Access:
    """A read of a buffer (an argument of the function) or of a node's value, through a view of its flat elements."""

    base: BlockArgument | Node
    view: View

    @property
    def is_const(self) -> bool:
        """Whether it is one number in every element."""
        return isinstance(self.base, Node) and isinstance(self.base.op, graph.ConstOp) and self.view.mask is None

    @property
    def is_whole(self) -> bool:
        """Whether it reads every element of its base in order; of a longer base, the first ones are not all."""
        return self.view.is_contiguous and self.view.size == math.prod(base_shape(self.base))


def base_shape(base: BlockArgument | Node) -> tuple[int, ...]:
    """The shape of what an access reads, before its view."""
    return base.shape if isinstance(base, Node) else graph.shape_of(base)


def dims_kept(shape: Sequence[int], view: View) -> tuple[int, ...] | None:
    """For each dim of ``shape`` the dim of ``view`` that runs along it, -1 for extent 1; None if the view moves data.

    A view that moves none only permutes dims, repeats values, and inserts or drops dims of extent 1.
    """
    if view.offset or view.mask is not None:
        return None
    along = {stride: (dim, view.shape[dim]) for dim, stride in enumerate(view.strides) if stride}
    if len(along) != sum(1 for stride in view.strides if stride):
        return None
    where: list[int] = []
    for extent, stride in zip(shape, row_major(shape), strict=True):
        dim, found = along.pop(stride, (-1, 1)) if extent > 1 else (-1, 1)
        if found != extent:
            return None
        where.append(dim)
    return tuple(where) if not along else None


def permutes(where: Sequence[int]) -> bool:
    """Whether the dims of `dims_kept` stand in another order than before."""
    dims = [dim for dim in where if dim >= 0]
    return dims != sorted(dims)


def view_of(op: graph.ViewOp) -> View:
    """The layout of a view op."""
    return View.of(graph.shape_of(op.result), op.view_strides, op.view_offset, op.view_mask)


class FunctionNodes:
    """The nodes of a function in program order, and what it returns and assigns as accesses of stored nodes."""

    def __init__(self, func: FuncOp):
        self.nodes: list[Node] = []
        self.results: list[Access] = []
        self.assigns: list[tuple[graph.AssignOp, Access]] = []
        self._access: dict[SSAValue, Access] = {}
        self._copies: dict[Access, Node] = {}
        for argument in func.body.block.args:
            self._access[argument] = Access(argument, View.contiguous(graph.shape_of(argument)))
        for op in func.body.block.ops:
            self._read(op)
        for node in self.nodes:
            _force_operands(node)
            node.folds_rows = _folds_rows(node)
        for node in self.nodes:
            if isinstance(node.op, graph.ReduceOp):
                node.chain = _nested(node)
            node.work = _work(node)
            node.tabled = _tabled(node)

    def _read(self, op: Operation) -> None:
        match op:
            case _ if op.results and graph.size_of(op.results[0]) == 0:
                self._no_element(op)
            case graph.ReduceOp() if graph.size_of(op.operand) == 0:
                start = 0 if isinstance(op, graph.SumOp) else BY_MLIR[str(graph.element_of(op.result))].lowest
                self._number(op.result, start)
            case graph.ScatterOp() if graph.size_of(op.rows) == 0:
                self._number(op.result, 0)
            case graph.ViewOp():
                self._access[op.result] = self._through(op)
            case graph.ContiguousOp():
                self._access[op.result] = self._stored(self._access[op.operand], "a copy")
            case graph.AssignOp():
                value = self._stored(self._access[op.value], "assigned")
                self.assigns.append((op, value))
                self._access[op.result] = value
            case ReturnOp():
                self.results = [self._stored(self._access[v], "requested output") for v in op.operands]
            case graph.CustomOp():
                raise PassRefused(
                    op,
                    f"fuse cannot schedule graph.custom {op.kernel}: no kernel of that name is known; run expand-custom"
                    " first, in a pipeline that has a builder for it",
                )
            case graph.ConstOp() | graph.GatherOp() | graph.ScatterOp():
                self._add(op)
            case _ if isinstance(op, (*graph.ELEMENTWISE, *graph.REDUCTIONS)):
                self._add(op)
            case _:
                raise PassRefused(op, f"fuse works on functions of graph ops; '{op.name}' is none")

    def _no_element(self, op: Operation) -> None:
        """Nothing computes a tensor without elements; an assign of one is still an assign."""
        for result in op.results:
            self._number(result, 0)
        if isinstance(op, graph.AssignOp):
            self.assigns.append((op, self._access[op.result]))

    def _number(self, result: SSAValue, value: float | int) -> None:
        node = Node(graph.ConstOp(value, graph.tensor_of(result)), graph.shape_of(result), graph.element_of(result))
        self._access[result] = Access(node, View.contiguous(node.shape))

    def _add(self, op: Operation) -> None:
        result = op.results[0]
        operands = [self._access[v] for v in op.operands]
        if isinstance(op, graph.GatherOp) and (isinstance(operands[0].base, Node) or not operands[0].is_whole):
            operands[0] = self._stored(operands[0], "a gather addresses it")
        node = Node(op, graph.shape_of(result), graph.element_of(result), tuple(operands))
        for access in node.operands:
            if isinstance(access.base, Node):
                access.base.uses += 1
        if isinstance(op, graph.ScatterOp):
            node.why = "rows are added at addresses"
        self.nodes.append(node)
        self._access[result] = Access(node, View.contiguous(node.shape))

    def _through(self, op: graph.ViewOp) -> Access:
        source, outer = self._access[op.source], view_of(op)
        if isinstance(source.base, Node) and isinstance(source.base.op, graph.ConstOp) and source.view.mask is None:
            if outer.mask is None:
                return Access(source.base, outer)
            number = self._copy(Access(source.base, View.contiguous(())), "a padded constant")
            return Access(number, View.of(outer.shape, (0,) * len(outer.shape), 0, outer.mask))
        both = compose(source.view, outer)
        if both is not None:
            return Access(source.base, both)
        return Access(self._copy(source, "a view that does not compose with the next"), outer)

    def _stored(self, access: Access, why: str) -> Access:
        """An access of the same values that reads the memory of a node in order."""
        base, view = access.base, access.view
        if view.size == 0:
            return access
        if not isinstance(base, Node) or access.is_const or not access.is_whole:
            base = self._copy(access, why)
        base.why = base.why or why
        base.uses += 1
        if why in ("requested output", "assigned"):
            base.is_wanted = True
            base.stored_shape = base.stored_shape or view.shape
        return Access(base, View.contiguous(view.shape))

    def _copy(self, access: Access, why: str) -> Node:
        if access not in self._copies:
            base = access.base
            element = base.element if isinstance(base, Node) else graph.element_of(base)
            node = Node(None, access.view.shape, element, (access,), why)
            if isinstance(base, Node):
                base.uses += 1
            self.nodes.append(node)
            self._copies[access] = node
        return self._copies[access]


def _nested(node: Node) -> list[Node]:
    """The reductions of the same kind that ``node`` folds directly and that nothing else uses."""
    inner = node.operands[0]
    base = inner.base
    if not isinstance(base, Node) or type(base.op) is not type(node.op) or base.uses != 1 or base.why is not None:
        return []
    if is_contraction(base):
        return []
    return [base, *base.chain] if inner.view == View.contiguous(base.shape) else []


def _work(node: Node) -> int:
    if isinstance(node.op, graph.ConstOp):
        return 0
    if isinstance(node.op, graph.REDUCTIONS) or graph.is_heavy(node.op):
        return HEAVY_WORK
    return min(HEAVY_WORK, 1 + sum(_work_of(access) for access in node.operands))


def _work_of(access: Access) -> int:
    """The work behind an operand; none where it is in memory, or so small that it would rather be stored itself."""
    base = access.base
    if not isinstance(base, Node) or base.why is not None:
        return 0
    return 0 if REPEATED * math.prod(base.shape) <= access.view.size else base.work


TABLE_SHARE = 16
"""What is this many times smaller than a value is small beside it."""
MOST_TABLED = 256


def _tabled(node: Node) -> frozenset[Node] | None:
    if node.why is not None or node.work == 0 or not isinstance(node.op, graph.ELEMENTWISE) or graph.is_heavy(node.op):
        return None
    found = {node}
    for base in (a.base for a in node.operands if not a.is_const):
        if isinstance(base, Node) and base.why is None:
            if base.tabled is None:
                return None
            found |= base.tabled
        elif math.prod(base_shape(base)) * TABLE_SHARE > math.prod(node.shape):
            return None
    return frozenset(found) if len(found) <= MOST_TABLED else None


def varies(access: Access, patience: int = 16) -> set[int]:
    """Dims of an access along which its values may change. Each op shares out half of the patience that is left, so
    that wide expressions stay cheap; where none is left, the most is assumed."""
    view = access.view
    if access.is_const:
        return set()
    if view.mask is not None:
        return set(range(len(view.shape)))
    dims = {d for d, stride in enumerate(view.strides) if stride}
    base = access.base
    if not isinstance(base, Node) or not isinstance(base.op, graph.ELEMENTWISE) or patience == 0:
        return dims
    where = dims_kept(base.shape, view)
    if where is None:
        return dims
    inner: set[int] = set()
    for operand in base.operands:
        inner |= {where[d] for d in varies(operand, patience // 2)}
    return inner & dims


def is_contraction(node: Node) -> bool:
    """Whether a node sums a product in which each operand repeats along some kept dim of extent over 1."""
    if not isinstance(node.op, graph.SumOp):
        return False
    product = node.operands[0].base
    if not isinstance(product, Node) or not isinstance(product.op, graph.MulOp) or product.op.recip is not None:
        return False
    if node.operands[0].view != View.contiguous(product.shape):
        return False
    kept = {d for d, extent in enumerate(product.shape) if extent > 1} - set(node.op.reduced)
    return all(kept - varies(operand) for operand in product.operands)


def _force_operands(node: Node) -> None:
    """Mark what must be in memory because ``node`` addresses it.

    What folds rows is stored in the order of its rows, in which they share a kernel; a permutation reads it from there.
    """
    for access in node.operands:
        base = access.base
        if isinstance(base, Node) and not access.is_const:
            where = dims_kept(base.shape, access.view)
            if where is None or (base.folds_rows and permutes(where)):
                base.why = base.why or "a view that moves data reads it"


def _folds_rows(node: Node) -> bool:
    if isinstance(node.op, graph.ReduceOp):
        return not is_contraction(node)
    below = [access.base for access in node.operands]
    return any(b.folds_rows for b in below if isinstance(b, Node) and b.why is None)
