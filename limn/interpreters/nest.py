"""Run ``nest`` kernels and plans: each kernel is translated to Python text on numpy, and that text is run.

    run_kernel(kernel, [a, b, out])        writes out
    run_plan(module, buffers)              runs the plan; on success swaps the committed entries of the list
    source(kernel)                         the text, to read

The text of the kernel in the dialect's docstring; its cells run as lanes, the sum over ``r2`` in order:

    def kernel(in0, in1, out, rows, in_order):
        z = float32(0.0)
        for i0, i0_at, i0_n in lanes(0, 4, 1, 10922, 0, 2):
            for i1, i1_at, i1_n in lanes(0, 3, 1, 32768, 1, 2):
                window(out, i0_at * 3 + i1_at, (i0_n, i1_n), (3, 1), '@k0: out')[...] = z
            for r2 in range(0, 5, 1):
                for i1_2, i1_2_at, i1_2_n in lanes(0, 3, 1, 32768, 1, 2):
                    v1 = window(in0, i0_at * 5 + r2, (i0_n, 1), (5, 0), '@k0: in0')
                    v2 = window(in1, i1_2_at + r2 * 3, (1, i1_2_n), (0, 1), '@k0: in1')
                    v3 = v1 * v2
                    del v1, v2
                    old_ = window(out, i0_at * 3 + i1_2_at, (i0_n, i1_2_n), (3, 1), '@k0: out')
                    old_[...] = old_ + v3
                    del v3

Every op computes at its own dtype; halves exist in memory only. Memory is never read or written outside of its
bounds: that raises. Scratch is poisoned each time it is made. ``nest_reference`` says the same one op at a time, and
the tests hold the two to equal bits. A loop that cannot run as lanes costs about a tenth of a microsecond for each op
and turn.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, Literal, TypeAlias

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue
from xdsl.traits import SymbolTable

from limn.dialects import nest
from limn.interpreters.nest_numpy import HELPERS, NUMPY, ORDERS, Rows, scratch
from limn.interpreters.nest_translate import Translator

Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]
Order: TypeAlias = Literal["forward", "reverse", "shuffled"]


def source(kernel: nest.KernelOp) -> str:
    """The Python text of a kernel."""
    return Translator(kernel).text


@lru_cache(maxsize=256)
def _compiled(text: str) -> Callable[..., None]:
    names = dict(HELPERS)
    exec(compile(text, "<nest kernel>", "exec"), names)
    return names["kernel"]


def run_kernel(kernel: nest.KernelOp, buffers: Sequence[Array], order: Order = "forward") -> None:
    """Run a kernel on flat arrays of its arguments' sizes and dtypes, writing those that it stores to.

    ``order`` is that of the turns of parallel loops; results that differ between orders are races.

    Raises:
        ValueError: for an array of the wrong size or dtype, or one that is written and overlaps another.
        IndexError: for an access out of bounds, or a row number that a ``nest.check_row`` refuses.
    """
    rows = Rows()
    _launch(kernel, _compiled(source(kernel)), buffers, rows, order)
    rows.raise_worst()


def _launch(
    kernel: nest.KernelOp, function: Callable[..., None], buffers: Sequence[Array], rows: Rows, order: Order
) -> None:
    what = f"@{kernel.sym_name.data}"
    check_buffers(what, kernel.block.args, buffers)
    for place, argument in enumerate(kernel.block.args):
        if any(isinstance(use.operation, nest.StoreOp | nest.AccumulateOp) for use in argument.uses):
            for other, buffer in enumerate(buffers):
                if other != place and np.may_share_memory(buffers[place], buffer):
                    raise ValueError(f"{what} writes argument {place}, which overlaps argument {other}")
    with np.errstate(all="ignore"):
        function(*buffers, rows, ORDERS[order])


def check_buffers(what: str, arguments: Sequence[SSAValue], buffers: Sequence[Array]) -> None:
    """Raise ValueError unless the buffers are flat arrays of the arguments' sizes and dtypes."""
    if len(buffers) != len(arguments):
        raise ValueError(f"{what} takes {len(arguments)} buffers, got {len(buffers)}")
    for place, (argument, buffer) in enumerate(zip(arguments, buffers)):
        size, kind = nest.extent_of(argument), NUMPY[str(nest.memref_of(argument).element_type)]
        if buffer.shape != (size,) or buffer.dtype != kind or not buffer.flags.c_contiguous:
            found = f"shape {buffer.shape}, {buffer.dtype}"
            raise ValueError(f"{what} takes a flat array of {size} {kind} as argument {place}, got {found}")


class Program:
    """A plan whose kernels are translated once, to be run many times.

    ``module`` holds the plan (``name`` says which, if there are several) and its kernels.
    """

    def __init__(self, module: ModuleOp, name: str | None = None, order: Order = "forward"):
        plans = [op for op in module.body.block.ops if isinstance(op, nest.PlanOp)]
        plans = [plan for plan in plans if name in (None, plan.sym_name.data)]
        if len(plans) != 1:
            raise ValueError(f"the module holds {len(plans)} plans{f' called @{name}' if name else ''}; name one")
        self.plan = plans[0]
        self.order: Order = order
        self.kernels: dict[str, tuple[nest.KernelOp, Callable[..., None]]] = {}
        for op in self.plan.block.ops:
            if isinstance(op, nest.LaunchOp) and (symbol := op.kernel.string_value()) not in self.kernels:
                kernel = SymbolTable.lookup_symbol(op, op.kernel)
                if not isinstance(kernel, nest.KernelOp):
                    raise ValueError(f"the plan launches @{symbol}, which is no kernel of the module")
                self.kernels[symbol] = (kernel, _compiled(source(kernel)))

    def run(self, buffers: list[Array]) -> None:
        """Run the plan on flat arrays, one for each argument in order; the arena may be left out.

        On success the committed entries of ``buffers`` are swapped. A row number that is outside of its table stops
        the plan after the kernel that met it, with nothing committed.

        Raises:
            ValueError, IndexError: as ``run_kernel``.
        """
        arguments = self.plan.block.args
        given = list(buffers)
        if self.plan.arena is not None and len(given) == len(arguments) - 1:
            given.append(scratch(nest.extent_of(arguments[-1]), np.dtype(np.int8)))
        check_buffers(f"plan @{self.plan.sym_name.data}", arguments, given)
        memory: dict[SSAValue, Array] = dict(zip(arguments, given))
        for op in self.plan.block.ops:
            if isinstance(op, nest.LaunchOp):
                rows = Rows()
                kernel, function = self.kernels[op.kernel.string_value()]
                _launch(kernel, function, [memory[value] for value in op.buffers], rows, self.order)
                rows.raise_worst()
            elif isinstance(op, nest.AllocOp | nest.SliceOp):
                kind = nest.memref_of(op.result)
                size, dtype = kind.get_shape()[0], NUMPY[str(kind.element_type)]
                if isinstance(op, nest.AllocOp):
                    memory[op.result] = scratch(size, dtype)
                else:
                    start = op.byte_offset
                    memory[op.result] = memory[op.arena][start : start + nest.byte_size(kind)].view(dtype)
        for one, other in self.plan.swaps:
            buffers[one], buffers[other] = buffers[other], buffers[one]


def run_plan(module: ModuleOp, buffers: list[Array], name: str | None = None, order: Order = "forward") -> None:
    """Run the plan of a module; see ``Program``, which is for running one many times."""
    Program(module, name, order).run(buffers)
