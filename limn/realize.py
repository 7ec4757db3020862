"""Where laziness ends: `realize(*tensors)` computes a batch, in one run of one plan.

Every assign among the things a batch needs is committed with it. What fails, an index outside its table say,
changes nothing: buffers are versions, and the new ones are taken over only when the whole run has succeeded.

Plans are kept by structure (see importer). A user's number is written into the program as a constant until
the same structure comes with another one; then the plan is made once more with that number as an argument,
and a learning rate may go on changing without further compilation.
"""

from __future__ import annotations

import struct
from collections import OrderedDict
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

from limn.dialects.graph import AssignOp, ViewOp
from limn.dump import dump
from limn.importer import Record, build, record
from limn.runtime import Buffer, Device, find_device, get_device
from limn.trace import BufferTag, Leaf, Node

if TYPE_CHECKING:
    from limn.tensor import Tensor

PLANS_KEPT = 4096  # the least recently used are dropped beyond

pending: WeakValueDictionary[int, Tensor] = WeakValueDictionary()
"""Tensors that have been assigned to, by id because == on tensors is elementwise; an optimizer realizes these with its
own. Entries that are committed are no longer pending."""


class _Known:
    """The plan of one structure, the numbers written into it, and which numbers are arguments instead."""

    __slots__ = ("numbers", "operands", "plan")

    def __init__(self, plan: Any, numbers: bytes, operands: frozenset[int]):
        self.plan, self.numbers, self.operands = plan, numbers, operands


_plans: OrderedDict[tuple[object, object], _Known] = OrderedDict()


def realize(*tensors: Tensor) -> None:
    """Compute these tensors, and commit the assigns they depend on, in one batch. TypeError for what is no tensor."""
    for tensor in tensors:
        if not hasattr(tensor, "_node"):
            raise TypeError(f"realize: takes tensors, got {tensor!r}; give a list of them as realize(*tensors)")
    realize_nodes(tensor._node for tensor in tensors)


def pending_assigns() -> list[Tensor]:
    """The tensors whose last assign no realize has committed yet."""
    return [t for t in pending.values() if t._node.op is AssignOp and t._node.realized is None]


def realize_nodes(nodes: Iterable[Node]) -> None:
    wanted = [node for node in dict.fromkeys(nodes) if node.realized is None and not _share(node)]
    if not wanted:
        return
    found = record(wanted)
    outputs = _plan(found)
    for node, buffer in zip([*found.results, *found.commits], outputs, strict=True):
        _remember(node, buffer)


def _share(node: Node) -> bool:
    """A reshape of a buffer is that buffer: nothing to run."""
    if node.op is not ViewOp or not node.arg.is_contiguous:
        return False
    buffer = node.srcs[0].realized
    if buffer is None or buffer.size != node.arg.size:
        return False
    _remember(node, buffer)
    return True


def _remember(node: Node, buffer: Buffer) -> None:
    """Take over a computed value. What it came from is let go unless gradients need it."""
    node.realized = buffer
    if not node.tracked or isinstance(node.grad, Leaf):
        node.op, node.srcs, node.arg = BufferTag, (), None


def _plan(found: Record) -> list[Buffer]:
    """Run the plan of this structure, made now if there is none, and return its outputs."""
    device, bound = _device(found)
    key = (device, found.key)
    numbers = struct.pack(f"{len(found.scalars)}d", *(value for value, _ in found.scalars))
    known = _plans.get(key)
    operands = known.operands if known is not None else frozenset[int]()
    if known is not None and known.numbers != numbers:
        operands |= {
            k for k in range(len(found.scalars)) if known.numbers[8 * k : 8 * k + 8] != numbers[8 * k : 8 * k + 8]
        }
    if known is None or operands != known.operands:
        module = build(found, operands)
        dump(module)
        known = _plans[key] = _Known(device.compile(module), numbers, operands)
        if len(_plans) > PLANS_KEPT:
            _plans.popitem(last=False)
    else:
        _plans.move_to_end(key)
    inputs = [buffer for buffer, _ in found.buffers]
    for position in sorted(operands):
        value, dtype = found.scalars[position]
        argument = Buffer(dtype, 1)
        argument.array[0] = value
        inputs.append(argument)
    outputs = known.plan.run(inputs)
    if bound:
        for buffer in outputs:
            buffer.device = bound
    return outputs


def _device(found: Record) -> tuple[Device, str | None]:
    """The device that a batch runs on: the one that what it reads is bound to, if anything is, and its name then."""
    names = {buffer.device for buffer, _ in found.buffers} - {None}
    if not names:
        return get_device(), None
    if len(names) > 1:
        first, second = sorted(names)[:2]
        raise RuntimeError(
            f"realize: one batch reads tensors bound to {first} and to {second}; bring them to one with t.to({first!r})"
        )
    name = names.pop()
    return find_device(name), name
