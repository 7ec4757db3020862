"""What a schedule module means: its kernels and launches, run on numpy arrays.

A kernel's body is graph ops in normal form, so each is run by the table of the graph interpreter; what is new here is
small: a kept value is itself, a gather and a scatter address rows of a flat table, and what a kernel yields is its
result in row-major order, whatever its shape. Folds go by the same two modes; "ascending" is what the stages below do,
op by op in the order of the body.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Operation, SSAValue

from limn.dialects import graph, schedule
from limn.interpreters.graph import TABLE, Array, Fold, check_rows, dtype_of

Values: TypeAlias = dict[SSAValue, Any]
Step: TypeAlias = Callable[[Values], None]


def _cells(strides: Sequence[int], offset: int, shape: Sequence[int]) -> Array:
    """The position inside a row of each cell of ``shape``."""
    position = np.full(shape, offset, np.int64)
    for dim, (stride, extent) in enumerate(zip(strides, shape)):
        along = [1] * len(shape)
        along[dim] = extent
        position += (np.arange(extent) * stride).reshape(along)
    return position


def _gather(op: schedule.GatherOp) -> Callable[[Array, Array], Array]:
    rows, shape = graph.shape_of(op.table)[0], graph.shape_of(op.result)
    width = graph.size_of(op.table) // max(rows, 1)
    inside = _cells(op.row_strides, op.row_offset, shape)

    def gather(table: Array, row: Array) -> Array:
        check_rows(row, rows)
        return np.ascontiguousarray(table).reshape(-1)[row.astype(np.int64) * width + inside]

    return gather


def _scatter(op: schedule.ScatterOp, fold: Fold) -> Callable[[Array, Array], Array]:
    dtype, out, shape = dtype_of(op.result), graph.shape_of(op.result), graph.shape_of(op.value)
    width = graph.size_of(op.result) // max(out[0], 1)
    inside = _cells(op.row_strides, op.row_offset, shape)
    narrow = np.dtype(np.float32) if dtype.is_half else dtype.numpy
    accumulate = np.dtype(np.float64) if dtype.is_float and fold == "wide" else narrow

    def scatter(value: Array, row: Array) -> Array:
        check_rows(row, out[0])
        total = np.zeros(graph.size_of(op.result), accumulate)
        np.add.at(total, (row.astype(np.int64) * width + inside).reshape(-1), value.astype(accumulate).reshape(-1))
        return total.reshape(out).astype(dtype.numpy)

    return scatter


def _same(kept: Array) -> Array:
    return kept


def _function(op: Operation, fold: Fold) -> Callable[..., Any]:
    match op:
        case schedule.KeepOp():
            return _same
        case schedule.GatherOp():
            return _gather(op)
        case schedule.ScatterOp():
            return _scatter(op, fold)
        case _ if type(op) in TABLE:
            return TABLE[type(op)](op, fold)
        case _:
            raise NotImplementedError(f"'{op.name}' has no place in a schedule")


def _step(op: Operation, function: Callable[..., Any]) -> Step:
    operands, (result,) = tuple(op.operands), op.results

    def run(values: Values) -> None:
        values[result] = np.asarray(function(*(values[operand] for operand in operands)))

    return run


class Kernel:
    """One kernel as a numpy function of its arguments: a list of its results."""

    def __init__(self, kernel: schedule.KernelOp, fold: Fold):
        self.block = kernel.block
        self.steps = [_step(op, _function(op, fold)) for op in self.block.ops if not isinstance(op, schedule.YieldOp)]
        self.yielded = tuple(kernel.terminator.values)
        self.shapes = [graph.shape_of(kind) for kind in kernel.stored_types]

    def __call__(self, *arrays: Array) -> list[Array]:
        values: Values = dict(zip(self.block.args, arrays, strict=True))
        for step in self.steps:
            step(values)
        return [np.ascontiguousarray(values[v]).reshape(shape) for v, shape in zip(self.yielded, self.shapes)]


def run(
    module: ModuleOp, arrays: Sequence[Array], fold: Fold = "ascending", function: str | None = None
) -> list[Array]:
    """Interpret a function of a schedule module (the only one unless named) on arrays of its arguments' shapes.

    Returns the function's results, then the new value of each ``graph.assign`` in their order. IndexError for a row
    outside its table.
    """
    kernels = {op.sym_name.data: Kernel(op, fold) for op in module.body.ops if isinstance(op, schedule.KernelOp)}
    functions = [op for op in module.body.ops if isinstance(op, FuncOp)]
    func = next(f for f in functions if function in (None, f.sym_name.data))
    values: Values = dict(zip(func.body.block.args, arrays, strict=True))
    assigned: list[Array] = []
    with np.errstate(all="ignore"):
        for op in func.body.block.ops:
            match op:
                case schedule.LaunchOp():
                    out = kernels[op.kernel.string_value()](*(values[v] for v in op.inputs))
                    values.update(zip(op.outs, out, strict=True))
                case graph.AssignOp():
                    values[op.result] = values[op.value]
                    assigned.append(values[op.value])
                case ReturnOp():
                    return [values[v] for v in op.operands] + assigned
                case _:
                    _step(op, _function(op, fold))(values)
    raise ValueError(f"function @{func.sym_name.data} does not return")
