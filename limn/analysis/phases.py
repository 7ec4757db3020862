"""The phases of a kernel: which loops over a row run one after the other, and what each of them reads and computes.

Inside the shared row loops of a kernel each reduction folds a row, and what needs its result must wait for it. A
reduction together with those it folds directly (nested sums of one split) is a *chain*. A chain runs in the latest
phase that is early enough for those who need it; chains of one phase over the same dims share its loop. The last phase
computes what is yielded.

    x -> max -> exp(x - max) -> sum -> exp(x - max) / sum          phase 0: max    phase 1: sum    phase 2: the quotient

A value whose dims are all rows is computed once a row, between the phases, and belongs to none. A value of a phase that
a later one needs again is computed again there, unless it is a ``schedule.keep``.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from xdsl.ir import Operation, SSAValue

from limn.dialects import graph, schedule


@dataclass(frozen=True)
class Phase:
    """One loop over a row: the chains that it folds (none in the last phase) and the ops of each of its elements."""

    chains: tuple[tuple[graph.ReduceOp, ...], ...]
    """Each chain from the reduction whose result is used down to the one that folds the elements."""
    ops: tuple[Operation, ...]
    """In the order of the body; a ``schedule.keep`` of an earlier phase is read from the scratch, not computed."""


def chains_of(kernel: schedule.KernelOp) -> list[tuple[graph.ReduceOp, ...]]:
    """The reductions of a kernel, those that one folds directly and that nothing else uses together with it."""
    chains: list[tuple[graph.ReduceOp, ...]] = []
    folded: set[Operation] = set()
    for op in reversed(list(kernel.block.ops)):
        if not isinstance(op, graph.ReduceOp) or op in folded:
            continue
        chain = [op]
        while isinstance(inner := chain[-1].operand.owner, type(op)) and inner.result.has_one_use():
            chain.append(inner)
        folded.update(chain)
        chains.append(tuple(chain))
    return chains[::-1]


def is_row_value(kernel: schedule.KernelOp, value: SSAValue) -> bool:
    """Whether a value of a body is one number in each round of the shared row loops."""
    rows = set(kernel.loop_order[: kernel.row_count])
    return all(extent == 1 or dim in rows for dim, extent in enumerate(graph.shape_of(value)))


def phases(kernel: schedule.KernelOp) -> list[Phase]:
    """The phases of a kernel in the order in which they run; an elementwise kernel has one."""
    chains = chains_of(kernel)
    heads: set[SSAValue] = {chain[0].result for chain in chains}
    level = levels(kernel, chains)
    found: list[Phase] = []
    kept: set[Operation] = set()
    for key in sorted({(level[c], axes_of(c)) for c in chains}):
        together = tuple(c for c in chains if (level[c], axes_of(c)) == key)
        found.append(Phase(together, _elements(kernel, (c[-1].operand for c in together), heads, kept)))
    found.append(Phase((), _elements(kernel, kernel.terminator.values, heads, kept)))
    return found


def axes_of(chain: tuple[graph.ReduceOp, ...]) -> tuple[int, ...]:
    """The dims that a chain folds, ascending."""
    return tuple(sorted(axis for reduction in chain for axis in reduction.reduced))


def levels(
    kernel: schedule.KernelOp, chains: list[tuple[graph.ReduceOp, ...]]
) -> dict[tuple[graph.ReduceOp, ...], int]:
    """For each chain how many phases run from its own to the last that needs its result, as a negative number.

    Chains that none of the others needs have -1.
    """
    inside = {reduction: chain for chain in chains for reduction in chain}
    remaining: dict[SSAValue, int] = {}
    level: dict[tuple[graph.ReduceOp, ...], int] = dict.fromkeys(chains, -1)
    for op in reversed(list(kernel.block.ops)):
        after = max((remaining.get(result, 0) for result in op.results), default=0)
        if isinstance(op, graph.ReduceOp) and op is inside[op][0]:
            after += 1
            level[inside[op]] = -after
        for operand in op.operands:
            remaining[operand] = max(remaining.get(operand, 0), after)
    return level


def _elements(
    kernel: schedule.KernelOp,
    values: Iterable[SSAValue],
    heads: set[SSAValue],
    kept: set[Operation],
) -> tuple[Operation, ...]:
    """The ops that a phase runs for each element of a row; ``kept`` collects the keeps that have run."""
    stack, found = list(values), set[Operation]()
    while stack:
        value = stack.pop()
        op = value.owner
        if not isinstance(op, Operation) or op in found or value in heads or is_row_value(kernel, value):
            continue
        found.add(op)
        if op not in kept:
            stack.extend(op.operands)
    kept.update(op for op in found if isinstance(op, schedule.KeepOp))
    return tuple(op for op in kernel.block.ops if op in found)


def loads(phase: Phase) -> list[graph.ViewOp | schedule.GatherOp]:
    """The reads of arguments of a phase."""
    return [
        op
        for op in phase.ops
        if isinstance(op, graph.ViewOp | schedule.GatherOp) and not isinstance(op.operands[0].owner, Operation)
    ]
