"""Fuse a function's graph ops into kernels and the launches that run them."""

from __future__ import annotations

import heapq
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, BlockArgument, SSAValue
from xdsl.passes import ModulePass

from limn.analysis.grouping import Group, Grouping, Limits
from limn.analysis.nodes import Access, FunctionNodes, Node
from limn.dialects import graph, schedule
from limn.passes._build_kernel import build_kernel
from limn.passes._keep_row import keep_row


@dataclass(frozen=True)
class Fuse(ModulePass):
    """graph -> schedule."""

    name = "fuse"
    recompute: int = 6
    max_inputs: int = 24
    max_ops: int = 200
    max_row: int = 65536

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        kernels = 0
        for func in [f for f in op.body.ops if isinstance(f, FuncOp)]:
            if any(isinstance(inner, schedule.LaunchOp) for inner in func.body.block.ops):
                continue
            function = FunctionNodes(func)
            grouping = Grouping(function, Limits(self.recompute, self.max_inputs, self.max_ops, self.max_row))
            kernels = _rebuild(func, function, grouping, kernels, self.max_row)


def _rebuild(func: FuncOp, function: FunctionNodes, grouping: Grouping, count: int, max_row: int) -> int:
    """Replace the body of ``func`` by launches; put the kernels in front of it."""
    module_block = func.parent_block()
    assert module_block is not None
    old = func.body.block
    block = Block(arg_types=[a.type for a in old.args])
    values: dict[BlockArgument | Node, SSAValue] = {}
    for before, after in zip(old.args, block.args, strict=True):
        after.name_hint = before.name_hint
        values[before] = after
    for group in _in_order(grouping.groups):
        kernel, arguments = build_kernel(group, f"k{count}")
        keep_row(kernel, max_row)
        module_block.insert_op_before(kernel, func)
        inputs = [_shaped(block, values[base], graph.shape_of(a)) for base, a in zip(arguments, kernel.block.args)]
        block.add_op(launch := schedule.LaunchOp(f"k{count}", inputs, kernel.stored_types, group.because))
        for (node, _), result in zip(group.results, launch.outs, strict=True):
            values[node] = result
            result.name_hint = node.op.results[0].name_hint if node.op is not None else None
        count += 1
    for assign, access in function.assigns:
        assert isinstance(assign.target, BlockArgument)
        block.add_op(new := graph.AssignOp(values[assign.target], _value(block, values, access)))
        new.result.name_hint = assign.result.name_hint
    block.add_op(ReturnOp(*(_value(block, values, access) for access in function.results)))
    func.body.detach_block(old)
    func.body.add_block(block)
    old.erase()
    return count


def _value(block: Block, values: dict[BlockArgument | Node, SSAValue], access: Access) -> SSAValue:
    """What a function returns or assigns: the memory of a node in the shape of the access."""
    if access.view.size == 0:
        element = access.base.element if isinstance(access.base, Node) else graph.element_of(access.base)
        block.add_op(empty := graph.ConstOp(0, TensorType(element, list(access.view.shape))))
        return empty.result
    return _shaped(block, values[access.base], access.view.shape)


def _shaped(block: Block, value: SSAValue, shape: tuple[int, ...]) -> SSAValue:
    if graph.shape_of(value) == shape:
        return value
    block.add_op(view := graph.ViewOp(value, shape, graph.row_major(shape)))
    return view.result


def _in_order(groups: list[Group]) -> list[Group]:
    """Groups such that each runs after those whose results it reads; otherwise the latest demanded come first."""
    waiting = {g: len(g.after) for g in groups}
    users: dict[Group, list[Group]] = {g: [] for g in groups}
    place = {g: -position for position, g in enumerate(groups)}
    for group in groups:
        for earlier in group.after:
            users[earlier].append(group)
    ready = [(place[g], g) for g in groups if not waiting[g]]
    heapq.heapify(ready)
    order: list[Group] = []
    while ready:
        order.append(group := heapq.heappop(ready)[1])
        for user in users[group]:
            waiting[user] -= 1
            if not waiting[user]:
                heapq.heappush(ready, (place[user], user))
    return order
