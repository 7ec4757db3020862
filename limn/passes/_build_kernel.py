"""The kernel op of one group of nodes: the part of ``fuse`` that writes IR.

Each member of the group is emitted once under its index map, operands first: as a value with one dim for each dim of
the kernel. What is not a member is loaded through a view of the argument that holds it.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue

from limn.analysis.grouping import Group, Map, cells
from limn.analysis.nodes import Access, Node, dims_kept
from limn.dialects import graph, schedule
from limn.view import row_major


def build_kernel(group: Group, symbol: str) -> tuple[schedule.KernelOp, list[BlockArgument | Node]]:
    """The kernel of ``group``, and the buffer or stored node that each of its arguments stands for."""
    body = _Body(group)
    for node, index_map in reversed(group.members):
        body.values[node, index_map] = body.emit(node, index_map)
    body.block.add_op(schedule.YieldOp(*(body.values[key] for key in group.results)))
    over: set[int] = set()
    for node, index_map in group.results:
        index_rank = len(node.operands[1].view.shape) if isinstance(node.op, graph.ScatterOp) else 0
        over |= set(cells(index_map[index_rank:]))
    names = [f"{'i' if dim in over else 'r'}{dim}" for dim in range(len(group.extents))]
    rows = len(group.rows) if group.rows is not None else 0
    types = [TensorType(node.element, list(node.stored_shape or node.shape)) for node, _ in group.results]
    order = range(len(group.extents))
    kernel = schedule.KernelOp(symbol, types, names, group.extents, rows, order, body.block)
    return kernel, [base for base, _ in body.arguments]


class _Body:
    def __init__(self, group: Group):
        self.group = group
        self.members = set(group.members)
        self.block = Block()
        self.arguments: dict[tuple[BlockArgument | Node, tuple[int, ...]], BlockArgument] = {}
        self.values: dict[tuple[Node, Map], SSAValue] = {}
        self._reads: dict[tuple[Access, Map], SSAValue] = {}

    def emit(self, node: Node, index_map: Map) -> SSAValue:
        """The value of a member; its operands are in ``values`` or in arguments."""
        op = node.op
        match op:
            case graph.ReduceOp():
                return self._fold(node)
            case graph.ConstOp():
                return self._const(op.value, node.element, index_map)
            case graph.GatherOp():
                return self._gather(node, index_map)
            case graph.ScatterOp():
                return self._scatter(node, index_map)
            case _:
                operands = [self.read(access, index_map) for access in node.operands]
        match op:
            case None:
                return operands[0]
            case graph.CastOp():
                new = graph.CastOp(operands[0], node.element)
            case graph.MulOp():
                new = graph.MulOp(operands[0], operands[1], op.recip is not None)
            case _:
                new = type(op)(*operands)  # pyright: ignore[reportCallIssue]
        return self._add(new, op.results[0].name_hint)

    def read(self, access: Access, index_map: Map) -> SSAValue:
        """The values of an access as the kernel sees them under a map."""
        if (access, index_map) not in self._reads:
            self._reads[access, index_map] = self._read(access, index_map)
        return self._reads[access, index_map]

    def _read(self, access: Access, index_map: Map) -> SSAValue:
        base, view = access.base, access.view
        if isinstance(base, Node):
            if access.is_const:
                assert isinstance(base.op, graph.ConstOp)
                return self._const(base.op.value, base.element, index_map)
            where = dims_kept(base.shape, view)
            if where is not None:
                inner = tuple(index_map[w] if w >= 0 else -1 for w in where)
                if (base, inner) in self.members:
                    return self._repeat(self.values[base, inner], self._shape(index_map))
        if view.is_empty:
            element = base.element if isinstance(base, Node) else graph.element_of(base)
            return self._const(graph.number(0, element), element, index_map)
        strides, mask = [0] * len(self.group.extents), [(0, extent) for extent in self._shape(index_map)]
        for dim, stride, bounds in zip(index_map, view.strides, view.box, strict=True):
            if dim >= 0:
                strides[dim], mask[dim] = stride, bounds
        argument = self._argument(base)
        return self._add(graph.ViewOp(argument, self._shape(index_map), strides, view.offset, mask))

    def _repeat(self, value: SSAValue, shape: list[int]) -> SSAValue:
        source = graph.shape_of(value)
        if list(source) == shape:
            return value
        strides = [0 if s != o else stride for s, o, stride in zip(source, shape, row_major(source), strict=True)]
        return self._add(graph.ViewOp(value, shape, strides))

    def _const(self, value: Attribute, element: Attribute, index_map: Map) -> SSAValue:
        return self._add(graph.ConstOp(value, TensorType(element, self._shape(index_map))))  # pyright: ignore

    def _fold(self, node: Node) -> SSAValue:
        folded = self.group.folded[node]
        value = self.read(node.source, folded)
        for reduction in reversed((node, *node.chain)):
            op = reduction.op
            assert isinstance(op, graph.SumOp | graph.MaxOp)
            axes = [folded[axis] for axis in op.reduced if folded[axis] >= 0]
            value = self._add(type(op)(value, axes), op.result.name_hint)
        return value

    def _gather(self, node: Node, index_map: Map) -> SSAValue:
        table, index = node.operands
        rank = len(index.view.shape)
        strides = self._row_strides(index_map[rank:], table.view.shape[1:])
        argument = self._argument(table.base, table.view.shape)
        row = self.read(index, index_map[:rank])
        hint = node.name_hint
        return self._add(schedule.GatherOp(argument, row, self._shape(index_map), strides), hint)

    def _scatter(self, node: Node, index_map: Map) -> SSAValue:
        rows, index = node.operands
        rank = len(index.view.shape)
        strides = self._row_strides(index_map[rank:], node.shape[1:])
        value, row = self.read(rows, index_map), self.read(index, index_map[:rank])
        hint = node.name_hint
        return self._add(schedule.ScatterOp(value, row, strides, TensorType(node.element, list(node.shape))), hint)

    def _row_strides(self, index_map: Map, shape: Sequence[int]) -> list[int]:
        strides = [0] * len(self.group.extents)
        for dim, stride in zip(index_map, row_major(shape), strict=True):
            if dim >= 0:
                strides[dim] = stride
        return strides

    def _argument(self, base: BlockArgument | Node, shape: Sequence[int] | None = None) -> BlockArgument:
        """The argument that holds ``base``, as a tensor of ``shape`` where that matters (a table has rows)."""
        if isinstance(base, Node):
            element, stored = base.element, base.stored_shape or base.shape
            hint = base.name_hint
        else:
            element, stored, hint = graph.element_of(base), graph.shape_of(base), base.name_hint
        shape = stored if shape is None else tuple(shape)
        if (base, shape) not in self.arguments:
            argument = self.block.insert_arg(TensorType(element, list(shape)), len(self.block.args))
            argument.name_hint = hint
            self.arguments[base, shape] = argument
        return self.arguments[base, shape]

    def _shape(self, index_map: Map) -> list[int]:
        present = set(index_map)
        return [extent if dim in present else 1 for dim, extent in enumerate(self.group.extents)]

    def _add(self, op: Operation, hint: str | None = None) -> SSAValue:
        self.block.add_op(op)
        op.results[0].name_hint = hint
        return op.results[0]
