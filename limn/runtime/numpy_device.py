"""The numpy device: the graph interpreter as a backend, one numpy call an op, no fusion. It is the reference
the compiled devices are held to, and the fallback where there is no compiler."""

from __future__ import annotations

import warnings
from math import prod

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from limn.dialects.graph import MulOp, shape_of
from limn.dtypes import BY_NUMPY
from limn.interpreters.graph import Program, dtype_of
from limn.runtime.buffers import Buffer

LARGE_PRODUCT = 256 * 2**20  # bytes; above, the numpy device says once what it is about to allocate
_warned = False


class NumpyPlan:
    """A graph module made ready to run on numpy."""

    def __init__(self, module: ModuleOp):
        func = next(op for op in module.ops if isinstance(op, FuncOp))
        _warn_of_large_products(func)
        self.program = Program(func)
        self.shapes = [shape_of(argument) for argument in func.body.block.args]

    def run(self, inputs: list[Buffer]) -> list[Buffer]:
        """New buffers: the function's results, then the new version for each assign in their order.
        IndexError for a bad row."""
        arrays = [buffer.array.reshape(shape) for buffer, shape in zip(inputs, self.shapes, strict=True)]
        return [Buffer.of(array, BY_NUMPY[array.dtype]) for array in self.program(arrays)]


class NumpyDevice:
    """Compiling is choosing numpy functions."""

    name = "numpy"
    pipeline = ""

    def compile(self, module: ModuleOp) -> NumpyPlan:
        """The plan of a graph module."""
        return NumpyPlan(module)


def _warn_of_large_products(func: FuncOp) -> None:
    """A contraction is a broadcast product and a sum, and here the whole product exists for a moment."""
    global _warned
    if _warned:
        return
    for op in func.body.block.ops:
        if isinstance(op, MulOp) and (size := prod(shape_of(op.result)) * dtype_of(op.result).itemsize) > LARGE_PRODUCT:
            _warned = True
            warnings.warn(
                f"the numpy device builds a product of shape {shape_of(op.result)}, {size / 2**20:.0f} MB, to sum it; "
                'limn.set_device("c") computes it in place',
                stacklevel=2,
            )
            return
