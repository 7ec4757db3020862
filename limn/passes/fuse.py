"""Fuse a function's graph ops into kernels and the launches that run them.

Each op by itself would read its operands from memory and write its result there. A kernel runs many over one loop nest
and stores what others need:

    func.func @main(%x: tensor<4x5xf32>, %b: tensor<5xf32>) -> tensor<4x5xf32> {
      %0 = graph.view %b strides [0, 1] : tensor<5xf32> -> tensor<4x5xf32>
      %1 = graph.add %x, %0 : tensor<4x5xf32>
      %2 = graph.exp %1 : tensor<4x5xf32>
      func.return %2 : tensor<4x5xf32>
    }
    =>
    schedule.kernel @k0(%x: tensor<4x5xf32>, %b: tensor<5xf32>) -> tensor<4x5xf32>
        dims [i0 = 4, i1 = 5] rows 0 order [0, 1] {
      %0 = graph.view %x strides [5, 1] : tensor<4x5xf32> -> tensor<4x5xf32>
      %1 = graph.view %b strides [0, 1] : tensor<5xf32> -> tensor<4x5xf32>
      %2 = graph.add %0, %1 : tensor<4x5xf32>
      %3 = graph.exp %2 : tensor<4x5xf32>
      schedule.yield %3 : tensor<4x5xf32>
    }
    func.func @main(%x: tensor<4x5xf32>, %b: tensor<5xf32>) -> tensor<4x5xf32> {
      %0 = schedule.launch @k0(%x, %b) because "requested output" : ..
      func.return %0 : tensor<4x5xf32>
    }

What must be in memory: requested outputs, assigned values, copies, scatters, tables that a gather addresses, and what
a view reads other than by repeating it, permuting its dims and inserting or dropping dims of extent 1. A computed
operand of a contraction is stored too, since each of its elements is read many times, and so is a value computed from
folded rows before it is permuted, since it shares a kernel with its rows. A scatter of halves is stored in f32, and
rounded by the kernels that read it.

What shares a kernel: everything else that one kernel needs. A reduction joins the kernel of those who need it if it
keeps all dims of the results (bias, activation and residual ride with a matrix product) or the leading ones, the rows
(softmax and layer norm are one kernel each). Then phases follow each other inside the row loops, and at most one row
is held in scratch (``schedule.keep``) so that each input is read at most twice. A kernel has at most one contraction
and computes it once. A value that several kernels need is computed in each where that is cheap, given what is in memory
and what is repeated along a dim (so the mean and deviation of a layer norm are stored, not its result), else stored, by
a kernel that computes it anyway if it can. Elementwise kernels over equal dims that share an input become one.

Where the decisions are: `limn/analysis/nodes.py` (what is computed, and from what), `grouping.py` (which kernels),
`merging.py`; `_build_kernel.py` and `_keep_row.py` beside this file write the kernels. Each launch says `because` of
what its kernel was cut from its neighbours.

Bits: the same, in every element: each op that a result needs runs as it stood, reductions in their order.

Declines: a function that has launches already is left alone. ``graph.custom``, which no kernel can hold, is an error
that names `expand-custom`. Work is linear in the number of ops, without recursion.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType, f32
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, BlockArgument, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from limn.analysis.grouping import Group, Grouping, Limits
from limn.analysis.merging import merge_siblings
from limn.analysis.nodes import Access, FunctionNodes, Node
from limn.dialects import graph, schedule
from limn.dialects.legality import check_function
from limn.passes._build_kernel import build_kernel
from limn.passes._keep_row import keep_row
from limn.passes._options import at_least


@dataclass(frozen=True)
class FusePass(ModulePass):
    """graph -> schedule.

    Options: ``recompute``, the most ops that are computed again rather than stored for several kernels (exponentials,
    logarithms, roots, divisions and reductions never are); ``redraw``, the same where all that these ops read is far
    smaller than their result, as with the random words of a dropout: its backward draws the mask again and none is
    stored; ``max_inputs`` and ``max_ops`` of a kernel; ``max_row``, the most elements that a row in scratch may have,
    and a tensor that one kernel both folds to one number and reads again; ``merge``, whether kernels with a common
    input become one.
    """

    name = "fuse"
    recompute: int = 6
    redraw: int = 64
    max_inputs: int = 24
    max_ops: int = 200
    max_row: int = 65536
    merge: bool = True

    def __post_init__(self) -> None:
        at_least(self, recompute=0, redraw=0, max_inputs=1, max_ops=1, max_row=0)

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        limits = Limits(self.recompute, self.redraw, self.max_inputs, self.max_ops, self.max_row)
        taken = {inner.sym_name.data for inner in op.body.ops if isinstance(inner, FuncOp | schedule.KernelOp)}
        names = (name for number in itertools.count() if (name := f"k{number}") not in taken)
        for func in [inner for inner in op.body.ops if isinstance(inner, FuncOp)]:
            check_function(func)
            if any(isinstance(inner, schedule.LaunchOp) for inner in func.body.block.ops):
                continue
            _widen_scatters(func)
            function = FunctionNodes(func)
            grouping = Grouping(function, limits)
            if self.merge:
                merge_siblings(grouping, function.nodes)
            _rebuild(func, function, grouping, names)


def _widen_scatters(func: FuncOp) -> None:
    """Let scatters of halves total in f32 and round once: a kernel has no other memory to total in than its result."""
    for op in list(func.body.block.ops):
        if isinstance(op, graph.ScatterOp) and graph.element_of(op.result) in graph.HALVES:
            wide = graph.CastOp(op.rows, f32)
            total = graph.ScatterOp(wide, op.index, graph.shape_of(op.result)[0])
            rounded = graph.CastOp(total, graph.element_of(op.result))
            total.location, total.result.name_hint = op.location, op.result.name_hint
            Rewriter.replace_op(op, [wide, total, rounded])


def _rebuild(func: FuncOp, function: FunctionNodes, grouping: Grouping, names: Iterator[str]) -> None:
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
        name = next(names)
        kernel, arguments = build_kernel(group, name)
        keep_row(kernel, grouping.limits.row)
        module_block.insert_op_before(kernel, func)
        inputs = [_shaped(block, values[base], graph.shape_of(a)) for base, a in zip(arguments, kernel.block.args)]
        block.add_op(launch := schedule.LaunchOp(name, inputs, kernel.stored_types, group.because))
        for (node, _), result in zip(group.results, launch.outs, strict=True):
            values[node] = result
            if node.op is not None:
                launch.location = node.op.location
                result.name_hint = node.op.results[0].name_hint
    for assign, access in function.assigns:
        assert isinstance(assign.target, BlockArgument)
        block.add_op(new := graph.AssignOp(values[assign.target], _value(block, values, access)))
        new.result.name_hint = assign.result.name_hint
    block.add_op(ReturnOp(*(_value(block, values, access) for access in function.results)))
    func.body.detach_block(old)
    func.body.add_block(block)
    old.erase()


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
