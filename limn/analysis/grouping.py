"""Which nodes of a function run in one kernel: the decisions of the pass ``fuse``.

Nodes are placed from the results backwards, so that whoever needs a node is already in a group when its turn comes.
A group's results span dims; each member has an *index map*: for each of its dims, the group's dim that runs along it
(-1 for extent 1). Elementwise operands inherit the map; a view that only repeats and permutes drops dims from it and
changes their order; a reduction adds the axes it folds. A node joins all groups that demand it, or it is stored: by
one of them as one more result, or by a group of its own. Stored results make groups depend on each other; that order
is kept free of cycles.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from xdsl.ir import BlockArgument

from limn.analysis.nodes import Access, FunctionNodes, Node, dims_kept, is_contraction
from limn.dialects import graph
from limn.view import View

Map = tuple[int, ...]


@dataclass
class Demand:
    """A group needs a node's value under an index map."""

    map: Map
    repeated: bool
    """Computed in place, it would be computed again along dims that it does not depend on."""
    factor: bool
    """It is an operand of a contraction."""


@dataclass(eq=False)
class Group:
    """The kernel to be: dims, results, and members in the order of being placed (consumers first)."""

    extents: list[int]
    results: list[tuple[Node, Map]]
    because: str
    members: list[tuple[Node, Map]] = field(default_factory=list[tuple[Node, Map]])
    folded: dict[Node, Map] = field(default_factory=dict[Node, Map])
    """For each reduction the map of what it folds."""
    inputs: set[BlockArgument | Node] = field(default_factory=set[BlockArgument | Node])
    """What the members read from outside, and what is not placed yet."""
    seen: dict[Access, Map] = field(default_factory=dict[Access, Map])
    rows: tuple[int, ...] | None = None
    """The dims that every reduction keeps; None while there is none."""
    product: Node | None = None
    """What the group's contraction sums; a group with one has no other reduction."""
    after: set[Group] = field(default_factory=set["Group"])
    """Groups whose results this one reads."""

    @property
    def spanned(self) -> tuple[int, ...]:
        """The dims along which its first result has cells."""
        return cells(self.results[0][1])

    @property
    def scatters(self) -> bool:
        """Whether its result is a scatter, which shares a kernel with no other."""
        return isinstance(self.results[0][0].op, graph.ScatterOp)


@dataclass(frozen=True)
class Limits:
    """What ``fuse`` takes to be profitable; its options, documented there."""

    recompute: int
    redraw: int
    inputs: int
    ops: int
    row: int


def cells(index_map: Map) -> tuple[int, ...]:
    """The dims of a map, without those of extent 1."""
    return tuple(d for d in index_map if d >= 0)


def reaches(start: Group, goal: Group, patience: int = 2000) -> bool:
    """Whether ``start`` runs after ``goal``; when the search takes too long, yes."""
    stack, found = [start], {start}
    while stack:
        if goal in found or len(found) > patience:
            return True
        stack.extend(fresh := [g for g in stack.pop().after if g not in found])
        found.update(fresh)
    return goal in found


class Grouping:
    """The groups of a function, and the group that stores each stored node."""

    def __init__(self, function: FunctionNodes, limits: Limits):
        self.limits = limits
        self.groups: list[Group] = []
        self.home: dict[Node, Group] = {}
        self._demands: dict[Node, dict[Group, list[Demand]]] = {}
        self._readers: dict[Node, list[Group]] = {}
        inner = {n for node in function.nodes for n in node.chain}
        for node in reversed(function.nodes):
            if node not in inner and (node in self._demands or node in self._readers or node.is_wanted):
                self._place(node)

    def _place(self, node: Node) -> None:
        demands = self._demands.pop(node, {})
        why = node.why or self._refusal(node, demands)
        if why is None:
            for group, [demand] in demands.items():
                self._join(group, node, demand)
            return
        group = self._host(node, demands)
        if group is None:
            group = self._new_group(node, why)
        self.home[node] = group
        for reader in [*demands, *self._readers.pop(node, [])]:
            if reader is not group:
                reader.after.add(group)

    def _refusal(self, node: Node, demands: dict[Group, list[Demand]]) -> str | None:
        """Why a node cannot be computed in every group that demands it."""
        if node in self._readers:
            return "a view that moves data reads it"
        if any(len(found) > 1 for found in demands.values()):
            return "needed under two index maps"
        if len(demands) > 1 and node.work > self.limits.recompute and not self._is_redrawn(node):
            return "several kernels need it"
        reasons = (self._misfit(group, node, demand) for group, [demand] in demands.items())
        return next((reason for reason in reasons if reason is not None), None)

    def _is_redrawn(self, node: Node) -> bool:
        """Whether a value comes from tables alone in so few ops that no kernel stores it for another."""
        return node.tabled is not None and len(node.tabled) <= self.limits.redraw

    def _misfit(self, group: Group, node: Node, demand: Demand) -> str | None:
        """Why a node cannot be computed in a group under a map."""
        if isinstance(node.op, graph.ScatterOp):
            return node.why
        if demand.factor and not isinstance(node.op, graph.CastOp):
            return "an operand of a contraction"
        if demand.repeated and node.work > self.limits.recompute:
            return "it would be computed again for each cell"
        if len(group.members) >= self.limits.ops:
            return f"a kernel has at most {self.limits.ops} ops"
        reads = (node.source,) if isinstance(node.op, graph.ReduceOp) else node.operands
        below = {a.base for a in reads if not a.is_const}
        if len((group.inputs | below) - {node}) > self.limits.inputs:
            return f"a kernel has at most {self.limits.inputs} inputs"
        if isinstance(node.op, graph.ReduceOp):
            return self._misfit_reduction(group, node, demand)
        return None

    def _misfit_reduction(self, group: Group, node: Node, demand: Demand) -> str | None:
        kept, spanned = tuple(sorted(cells(demand.map))), group.spanned
        if group.scatters or group.product is not None:
            return "a reduction whose result other cells need"
        if is_contraction(node) and (group.rows is not None or kept != spanned):
            return "a contraction whose result several phases need"
        if group.rows is not None and kept != group.rows:
            return "a reduction over other rows"
        if kept != spanned[: len(kept)]:
            return "a reduction whose result other cells need"
        if not kept and spanned:
            row = 1
            for dim in spanned:
                row *= group.extents[dim]
            if row > self.limits.row:
                return "a reduction whose result other cells need"
        return None

    def _host(self, node: Node, demands: dict[Group, list[Demand]]) -> Group | None:
        """A group that computes the node anyway and can store it too."""
        readers = {*demands, *self._readers.get(node, [])}
        for group, found in reversed(demands.items()):
            if len(found) > 1 or found[0].repeated or group in self._readers.get(node, []):
                continue
            if not _can_store(group, found[0].map) or self._misfit(group, node, found[0]) is not None:
                continue
            if any(reaches(group, reader) for reader in readers if reader is not group):
                continue
            if group.rows is None and cells(found[0].map) != group.spanned:
                group.rows = cells(found[0].map)
            self._join(group, node, found[0])
            group.results.append((node, found[0].map))
            return group
        return None

    def _new_group(self, node: Node, why: str) -> Group:
        shape = node.operands[0].view.shape if isinstance(node.op, graph.ScatterOp) else node.shape
        extents = [extent for extent in shape if extent > 1]
        dims = iter(range(len(extents)))
        index_map = tuple(next(dims) if extent > 1 else -1 for extent in shape)
        group = Group(extents, [(node, index_map)], why)
        self.groups.append(group)
        self._join(group, node, Demand(index_map, repeated=False, factor=False))
        return group

    def _join(self, group: Group, node: Node, demand: Demand) -> None:
        """Compute a node in a group, which then demands its operands."""
        group.members.append((node, demand.map))
        group.inputs.discard(node)
        if isinstance(node.op, graph.ReduceOp):
            group.rows = tuple(sorted(cells(demand.map)))
            if is_contraction(node):
                product = node.operands[0].base
                assert isinstance(product, Node)
                group.product = product
            folded = group.folded[node] = self._fold_map(group, node, demand.map)
            self._demand(group, node.source, folded, repeated=False, factor=False)
            return
        factor = demand.factor or node is group.product
        for position, access in enumerate(node.operands):
            if isinstance(node.op, graph.GatherOp) and position == 0:
                self._load(group, access.base)
            else:  # an index has the leading dims of the rows that it names, any other operand has all dims
                self._demand(group, access, demand.map[: len(access.view.shape)], demand.repeated, factor)

    def _demand(self, group: Group, access: Access, index_map: Map, repeated: bool, factor: bool) -> None:
        if access.is_const:
            return
        group.seen.setdefault(access, index_map)
        base = access.base
        where = dims_kept(base.shape, access.view) if isinstance(base, Node) else None
        if where is None or isinstance(base, BlockArgument):
            self._load(group, base)
            return
        group.inputs.add(base)
        inner = tuple(index_map[w] if w >= 0 else -1 for w in where)
        over, under = sorted(cells(index_map)), sorted(cells(inner))
        demand = Demand(inner, repeated or under != over[: len(under)], factor)
        found = self._demands.setdefault(base, {}).setdefault(group, [])
        for earlier in found:
            if earlier.map == inner:
                earlier.repeated |= demand.repeated
                earlier.factor |= factor
                return
        found.append(demand)

    def _load(self, group: Group, base: BlockArgument | Node) -> None:
        group.inputs.add(base)
        if isinstance(base, Node) and group not in (readers := self._readers.setdefault(base, [])):
            readers.append(group)

    def _fold_map(self, group: Group, node: Node, index_map: Map) -> Map:
        """The map of what a reduction folds: each axis takes a dim that a similar value has there, or a new one."""
        shape = node.source.view.shape
        alike = [
            m for m in (_similar(group, node.source), group.results[0][1]) if m is not None and len(m) == len(shape)
        ]
        folded, taken = list(index_map), set(cells(index_map))
        for reduction in (node, *node.chain):
            assert isinstance(reduction.op, graph.ReduceOp)
            axes = reduction.op.reduced
            if axes and all(shape[a] == 1 for a in axes):  # it folds one element: a loop of one round
                folded[axes[0]] = len(group.extents)
                group.extents.append(1)
        last = -1  # the axes ascend, and so do their dims: the order of the terms stays
        for axis in sorted(a for r in (node, *node.chain) for a in _axes(r) if shape[a] > 1):
            free = [m[axis] for m in alike] + list(range(len(group.extents)))
            fits = (d for d in free if d > last and d not in taken and group.extents[d] == shape[axis])
            last = next(fits, len(group.extents))
            if last == len(group.extents):
                group.extents.append(shape[axis])
            folded[axis] = last
        return tuple(folded)


def _can_store(group: Group, index_map: Map) -> bool:
    """Whether a kernel can have a value as one more result: one for each cell or for each of its rows."""
    over, spanned = cells(index_map), group.spanned
    if group.scatters or over != tuple(sorted(over)):
        return False
    return over in (spanned, group.rows) or (group.rows is None and over == spanned[: len(over)])


def _axes(node: Node) -> tuple[int, ...]:
    assert isinstance(node.op, graph.ReduceOp)
    return node.op.reduced


def _similar(group: Group, access: Access, patience: int = 32) -> Map | None:
    """The map under which the group reads ``access``, or something of its shape that it is computed from."""
    queue = [access]
    for position in range(patience):
        if position == len(queue):
            return None
        access = queue[position]
        if access in group.seen:
            return group.seen[access]
        base = access.base
        if not isinstance(base, Node) or not isinstance(base.op, graph.ELEMENTWISE):
            continue
        if access.view == View.contiguous(base.shape):
            queue.extend(base.operands)
    return None
