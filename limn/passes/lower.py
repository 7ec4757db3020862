"""Lower schedule kernels to loop nests, and functions to plans.

A schedule says what runs together and in which order; a target wants loops, addresses and registers. All of them are
written out here, so that the passes and printers behind need no knowledge of tensors.

    schedule.kernel @k(%a: tensor<4x5xf32>, %b: tensor<5x3xf32>) -> tensor<4x3xf32>
        dims [i0 = 4, i1 = 3, r2 = 5] rows 0 order [0, 2, 1] {
      %0 = graph.view %a strides [5, 0, 1] : tensor<4x5xf32> -> tensor<4x3x5xf32>
      %1 = graph.view %b strides [0, 1, 3] : tensor<5x3xf32> -> tensor<4x3x5xf32>
      %2 = graph.mul %0, %1 : tensor<4x3x5xf32>
      %3 = graph.sum %2 axes [2] : tensor<4x3x5xf32> -> tensor<4x3x1xf32>
      schedule.yield %3 : tensor<4x3x1xf32>
    }

becomes the nest that the docstring of ``limn/dialects/nest.py`` shows: loops in the order that the schedule asks for,
loads with their index arithmetic, halves widened, every reduction in the one form {start value, accumulate, finish}.
Its total is a register if it has one cell where the reduction stands; the output, if a result of the kernel is just
that total; else scratch on the stack, of at most ``stack-bytes``: where that does not suffice the loops change places
so that it is a register. The function becomes a plan: buffers, launches and commits, with a copy kernel where a result
is an argument or is returned twice.

Bits: those of the schedule interpreter with ascending folds. Each reduction folds ascending over its axes, whatever
``order`` says about their places among themselves.

Declines: nest ops are left alone. An error: an op that does not belong to the schedule level, a scatter into halves or
i1, and a kernel whose totals find no room in ``stack-bytes`` in any order of the loops.

Where the parts are: `_nest_kernel.py` beside this file writes the loops of a kernel, `_nest_elements.py` the value of
one element, `_nest_values.py` its arithmetic; `limn/analysis/dims.py` says what depends on what.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, BlockArgument, Operation, SSAValue
from xdsl.passes import ModulePass

from limn.dialects import graph, nest, schedule
from limn.dialects.affine import Index
from limn.dialects.graph import row_major, shape_of, size_of, tensor_of
from limn.dialects.legality import PassRefused, check_function
from limn.passes._nest_kernel import lower_kernel
from limn.passes._options import at_least


@dataclass(frozen=True)
class LowerPass(ModulePass):
    """schedule -> nest. Options: ``stack_bytes``, the scratch that one row of totals or one kept row may take."""

    name = "lower"
    stack_bytes: int = 262144

    def __post_init__(self) -> None:
        at_least(self, stack_bytes=0)

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        copies = CopyKernels(op)
        lowered: list[Operation] = []
        for old in list(op.body.block.ops):
            if isinstance(old, schedule.KernelOp):
                new = lower_kernel(old, self.stack_bytes)
            elif isinstance(old, FuncOp):
                new = lower_function(old, copies)
            else:
                continue
            new.attributes |= {k: v for k, v in old.attributes.items() if k != "sym_visibility"}
            new.location = old.location
            op.body.block.insert_op_before(new, old)
            lowered.append(old)
        for old in lowered:
            old.detach()
            old.erase()
        if copies.made:
            first = op.body.block.first_op
            assert first is not None
            op.body.block.insert_ops_before(list(copies.made.values()), first)


class CopyKernels:
    """Kernels that copy a buffer, one for each size and element type that asked."""

    def __init__(self, module: ModuleOp):
        self.taken = {op.sym_name.data for op in module.body.block.ops if isinstance(op, schedule.KernelOp | FuncOp)}
        self.made: dict[nest.AnyMemRef, nest.KernelOp] = {}

    def named(self, kind: nest.AnyMemRef) -> str:
        """The name of the kernel that copies buffers of type ``kind``."""
        if kind not in self.made:
            size, element = kind.get_shape()[0], kind.element_type
            name = f"copy_{size}x{element}"
            while name in self.taken:
                name += "_"
            block = Block(arg_types=[kind, kind])
            source, out = block.args
            source.name_hint, out.name_hint = "in0", "out"
            body = nest.ForOp.block_named("i0")
            body.add_op(load := nest.LoadOp(source, Index.of(body.args[0])))
            body.add_op(nest.StoreOp(load.result, out, Index.of(body.args[0])))
            block.add_op(nest.ForOp([0], [size], body))
            self.made[kind] = nest.KernelOp(name, block)
        return self.made[kind].sym_name.data


def memref_like(value: SSAValue) -> nest.AnyMemRef:
    """The flat memory that holds a tensor."""
    return nest.memref(size_of(value), tensor_of(value).element_type)


def lower_function(func: FuncOp, copies: CopyKernels) -> nest.PlanOp:
    """The plan of a function of launches, views of whole buffers, and assigns.

    Raises:
        PassRefused: for an op or a type that does not belong to the schedule level.
    """
    check_function(func)
    source = func.body.block
    origin = whole_buffers(source)
    assigns = [op for op in source.ops if isinstance(op, graph.AssignOp)]
    targets = [op.target.index for op in assigns if isinstance(op.target, BlockArgument)]
    returned = source.last_op
    assert isinstance(returned, ReturnOp)
    wanted = [*returned.operands, *(op.value for op in assigns)]

    block = Block(arg_types=[memref_like(v) for v in [*source.args, *wanted]])
    inputs, outputs = block.args[: len(source.args)], block.args[len(source.args) :]
    for position, (old, new) in enumerate(zip(source.args, inputs)):
        new.name_hint = old.name_hint or f"in{position}"
    for position, output in enumerate(outputs):
        if position < len(returned.operands):
            output.name_hint = "out" if len(returned.operands) == 1 else f"out{position}"
        else:
            target = targets[position - len(returned.operands)]
            output.name_hint = f"{inputs[target].name_hint}_next"

    buffers: dict[SSAValue, SSAValue] = dict(zip(source.args, inputs))
    repeated: list[tuple[SSAValue, SSAValue]] = []  # outputs whose buffer is an argument or another output
    for value, output in zip(wanted, outputs):
        if origin[value] in buffers:
            repeated.append((origin[value], output))
        else:
            buffers[origin[value]] = output
    for op in source.ops:
        if isinstance(op, schedule.LaunchOp):
            for result in op.outs:
                if result not in buffers:
                    block.add_op(alloc := nest.AllocOp(memref_like(result)))
                    alloc.result.name_hint = result.name_hint
                    buffers[result] = alloc.result
            given = [*(buffers[origin[v]] for v in op.inputs), *(buffers[v] for v in op.outs)]
            block.add_op(launch := nest.LaunchOp(op.kernel.string_value(), given, op.because))
            launch.location = op.location
    for value, output in repeated:
        if size_of(value):
            name = copies.named(nest.memref_of(output))
            block.add_op(nest.LaunchOp(name, [buffers[value], output], StringAttr("result that is another's bytes")))
    first = len(inputs) + len(returned.operands)
    commits = [(first + n, target) for n, target in enumerate(targets)]
    return nest.PlanOp(func.sym_name.data, len(inputs), commits, block)


def whole_buffers(block: Block) -> dict[SSAValue, SSAValue]:
    """From each value of a schedule function to the argument or launch result whose bytes it is."""
    origin: dict[SSAValue, SSAValue] = {a: a for a in block.args}
    for op in block.ops:
        if isinstance(op, schedule.LaunchOp):
            origin.update((result, result) for result in op.outs)
        elif isinstance(op, graph.ConstOp) and not size_of(op.result):
            origin[op.result] = op.result  # a result without elements: nothing writes it
        elif isinstance(op, graph.AssignOp):
            origin[op.result] = origin[op.value]
        elif isinstance(op, graph.ViewOp) and is_whole(op):
            origin[op.result] = origin[op.source]
        elif not isinstance(op, ReturnOp | schedule.KernelOp):
            raise PassRefused(op, f"'{op.name}' in a function is no launch, assign or view of whole bytes")
    return origin


def is_whole(op: graph.ViewOp) -> bool:
    """Whether a view reads all bytes of its source in their order."""
    shape = shape_of(op.result)
    in_order = all(s == w or n == 1 for s, w, n in zip(op.view_strides, row_major(shape), shape))
    return in_order and not op.view_offset and op.view_mask is None and size_of(op.source) == size_of(op.result)
