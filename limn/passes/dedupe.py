"""Make kernels that do the same one kernel, launched many times.

A network repeats itself: its layers of one size, its parameters of one shape updated by one rule. Each kernel that is
not there twice need not be lowered, printed or compiled twice.

    %0 = schedule.launch @k0(%a) ..                 %0 = schedule.launch @k0(%a) ..
    %1 = schedule.launch @k1(%b) ..         =>      %1 = schedule.launch @k0(%b) ..

Two kernels are the same if all but their symbol, their value names and the names of their dims agree: types, sizes,
strides, order, and constants by their bits (0.0 is not -0.0, and a NaN is itself). Why a kernel exists stands on its
launch, so it does not tell kernels apart.

Bits: the same; each launch runs the ops that it ran.

Declines: kernels that differ in anything else stay.
"""

from __future__ import annotations

import struct
from collections.abc import Hashable
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import FloatAttr, ModuleOp, SymbolRefAttr
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.passes import ModulePass

from limn.dialects import schedule


@dataclass(frozen=True)
class DedupePass(ModulePass):
    """schedule -> schedule."""

    name = "dedupe"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        first: dict[Hashable, str] = {}
        renamed: dict[str, str] = {}
        for kernel in list(op.body.ops):
            if not isinstance(kernel, schedule.KernelOp):
                continue
            symbol = kernel.sym_name.data
            same = first.setdefault(structure(kernel), symbol)
            if same != symbol:
                renamed[symbol] = same
                kernel.detach()
                kernel.erase()
        if renamed:
            for launch in op.walk():
                if isinstance(launch, schedule.LaunchOp) and launch.kernel.string_value() in renamed:
                    launch.kernel = SymbolRefAttr(renamed[launch.kernel.string_value()])


def structure(kernel: schedule.KernelOp) -> Hashable:
    """What a kernel does, as a value that is equal for equal kernels: everything but names."""
    number: dict[SSAValue, int] = {}
    for argument in kernel.block.args:
        number[argument] = len(number)
    body: list[Hashable] = []
    for op in kernel.block.ops:
        body.append((op.name, tuple(number[v] for v in op.operands), tuple(r.type for r in op.results), _exact(op)))
        for result in op.results:
            number[result] = len(number)
    return (kernel.function_type, kernel.dims, kernel.loop_order, kernel.row_count, _exact(kernel), tuple(body))


def _exact(op: Operation) -> Hashable:
    """The attributes of an op by their bits, without names."""
    names = ("sym_name", "dim_names") if isinstance(op, schedule.KernelOp) else ()
    given = {**op.properties, **op.attributes}
    return tuple((key, _bits(value)) for key, value in sorted(given.items()) if key not in names)


def _bits(attribute: Attribute) -> Hashable:
    if isinstance(attribute, FloatAttr):
        return (str(attribute.get_type()), struct.pack("<d", attribute.value.data))
    return attribute
