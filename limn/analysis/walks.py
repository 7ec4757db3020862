"""How a kernel walks through memory: the strides of its reads and stores along each of its dims."""

from __future__ import annotations

from collections import Counter

from xdsl.ir import BlockArgument, SSAValue

from limn.dialects import graph, schedule
from limn.view import row_major


def reductions(kernel: schedule.KernelOp) -> list[graph.ReduceOp]:
    """The reductions of a kernel in the order of its body."""
    return [op for op in kernel.block.ops if isinstance(op, graph.ReduceOp)]


def strided_reads(kernel: schedule.KernelOp) -> list[tuple[SSAValue, tuple[int, ...]]]:
    """Each read of an argument and the strides of its walk through memory."""
    found: list[tuple[SSAValue, tuple[int, ...]]] = []
    for op in kernel.block.ops:
        if isinstance(op, graph.ViewOp) and isinstance(op.source, BlockArgument):
            found.append((op.result, op.view_strides))
        elif isinstance(op, schedule.GatherOp):
            found.append((op.result, op.row_strides))
    return found


def votes(kernel: schedule.KernelOp) -> Counter[int]:
    """How many buffers the kernel walks with stride 1 along each dim."""
    walks = [strides for _, strides in strided_reads(kernel)]
    walks += [row_major(graph.shape_of(value)) for value in kernel.terminator.values]
    return Counter(d for walk in walks for d, stride in enumerate(walk) if abs(stride) == 1 and kernel.dims[d] > 1)


def is_masked(kernel: schedule.KernelOp, group: tuple[int, ...]) -> bool:
    """Whether some read is masked along one of these dims."""
    for op in kernel.block.ops:
        if isinstance(op, graph.ViewOp) and op.view_mask is not None:
            shape = graph.shape_of(op.result)
            if any(op.view_mask[d] != (0, shape[d]) for d in group):
                return True
    return False


def merged_dims(kernel: schedule.KernelOp) -> list[tuple[int, ...]]:
    """The dims of a kernel, neighbours together where they are folded together and walk memory as one."""
    over = schedule.spanned(kernel)
    groups: list[tuple[int, ...]] = []
    for dim in range(len(kernel.dims)):
        if groups and not over & {dim, groups[-1][-1]} and _walk_as_one(kernel, groups[-1][-1], dim):
            groups[-1] = (*groups[-1], dim)
        else:
            groups.append((dim,))
    return groups


def _walk_as_one(kernel: schedule.KernelOp, outer: int, inner: int) -> bool:
    if any((outer in op.reduced) != (inner in op.reduced) for op in reductions(kernel)):
        return False
    for op in kernel.block.ops:
        for result in op.results:
            shape = graph.shape_of(result)
            if (shape[outer] > 1) != (shape[inner] > 1):
                return False
    if is_masked(kernel, (outer, inner)):
        return False
    extent = kernel.dims[inner]
    return all(s[outer] == s[inner] * extent for v, s in strided_reads(kernel) if graph.shape_of(v)[inner] > 1)
