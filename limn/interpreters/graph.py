"""What each graph op means, as numpy: the reference that every device and every later stage is held to.

`TABLE` gives, for each op class, a function that reads the op's attributes once and returns the numpy
function of its operands. `translate` turns a function into a list of such steps; `run` executes one on
arrays. Nothing is fused: one numpy call an op.

There are two ways to fold a sum or a maximum:
- "wide" (the numpy device): floats are totalled in float64 and rounded once, so the result is as good as its
  dtype allows;
- "ascending" (what the compiled stages do): each cell is folded in row-major order over the reduced axes from
  0 or the lowest value, in the dtype of accumulation, which is the tensor's own, float32 for halves.

Halves are a storage width: each op computes in float32 and rounds once. A float becomes an int by cutting
towards zero, saturating, NaN as 0. No numpy warning leaves this module.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any, Literal, TypeAlias

import ml_dtypes
import numpy as np
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Operation, SSAValue

from limn.dialects.graph import (
    AddOp,
    AssignOp,
    CastOp,
    CmpLtOp,
    ConstOp,
    ContiguousOp,
    CustomOp,
    ExpOp,
    GatherOp,
    LogOp,
    MaxOp,
    MulOp,
    NegOp,
    RecipOp,
    ScatterOp,
    SqrtOp,
    SumOp,
    ViewOp,
    WhereOp,
    element_of,
    python_number,
    shape_of,
)
from limn.dtypes import BY_MLIR, DType

Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]
Fold: TypeAlias = Literal["wide", "ascending"]
Function: TypeAlias = Callable[..., Array]


def dtype_of(value: SSAValue) -> DType:
    """The element type of a tensor value."""
    return BY_MLIR[str(element_of(value))]


def _elementwise(function: Function) -> Callable[[Operation, Fold], Function]:
    """The builder of an op that is one numpy function; on halves it computes in float32."""

    def build(op: Operation, fold: Fold) -> Function:
        del fold
        narrow = dtype_of(op.results[0])
        if not any(dtype_of(operand).is_half for operand in op.operands):
            return function

        def rounded(*arrays: Array) -> Array:
            widened = [a.astype(np.float32) if a.dtype != np.bool_ else a for a in arrays]
            return np.asarray(function(*widened)).astype(narrow.numpy)

        return rounded

    return build


def _mul(op: Operation, fold: Fold) -> Function:
    assert isinstance(op, MulOp)
    return _elementwise(np.multiply if op.recip is None else np.divide)(op, fold)


def _const(op: Operation, fold: Fold) -> Function:
    assert isinstance(op, ConstOp)
    value = np.asarray(python_number(op.value)).astype(dtype_of(op.result).numpy)
    whole = np.broadcast_to(value, shape_of(op.result))
    return lambda: whole


def _view(op: Operation, fold: Fold) -> Function:
    """A window on the bytes where nothing is masked; else zeros with that window copied in."""
    assert isinstance(op, ViewOp)
    shape, strides, offset, mask = shape_of(op.result), op.view_strides, op.view_offset, op.view_mask
    box = mask if mask is not None else tuple((0, extent) for extent in shape)
    inside = tuple(slice(low, high) for low, high in box)
    window = tuple(high - low for low, high in box)
    start = offset + sum(low * stride for (low, _), stride in zip(box, strides))

    def read(source: Array) -> Array:
        if 0 in window:
            return np.zeros(shape, source.dtype)
        flat = np.ascontiguousarray(source).reshape(-1)
        steps = tuple(stride * source.itemsize for stride in strides)
        seen = np.lib.stride_tricks.as_strided(flat[start:], window, steps, writeable=False)
        if mask is None:
            return seen
        padded = np.zeros(shape, source.dtype)
        padded[inside] = seen
        return padded

    return read


def _cast(op: Operation, fold: Fold) -> Function:
    assert isinstance(op, CastOp)
    source, target = dtype_of(op.operand), dtype_of(op.result)

    def not_zero(a: Array) -> Array:
        return np.not_equal(a.astype(np.float32) if source.is_half else a, 0)

    def convert(a: Array) -> Array:
        # ml_dtypes goes to bfloat16 from float32 only
        return (a.astype(np.float32) if target.numpy == ml_dtypes.bfloat16 else a).astype(target.numpy)

    def cut(a: Array) -> Array:
        low, high = float(target.min), float(target.max)
        wide = a.astype(np.float32 if source.is_half else a.dtype, copy=False)
        if wide.size and low < wide.min() and wide.max() < high:  # nothing to saturate, and no NaN
            return wide.astype(target.numpy)
        wide = wide.astype(np.float64)
        return np.clip(np.trunc(np.where(wide != wide, 0.0, wide)), low, high).astype(target.numpy)

    if target.kind == "bool":
        return not_zero
    return cut if source.is_float and target.kind == "int" else convert


def _accumulation(dtype: DType) -> np.dtype[Any]:
    """What folds compute in, where order matters: the tensor's own dtype, float32 for halves."""
    return np.dtype(np.float32) if dtype.is_half else dtype.numpy


def _rows_ascending(a: Array, axes: Sequence[int]) -> Array:
    """The terms of each cell along axis 0, in row-major order over the reduced axes."""
    kept = [d for d in range(a.ndim) if d not in axes]
    terms = prod(a.shape[d] for d in axes)
    return a.transpose([*axes, *kept]).reshape(terms, *(a.shape[d] for d in kept))


def _sum(op: Operation, fold: Fold) -> Function:
    assert isinstance(op, SumOp)
    dtype, axes, result_shape = dtype_of(op.result), op.reduced, shape_of(op.result)
    total = np.dtype(np.float64) if dtype.is_float and fold == "wide" else _accumulation(dtype)

    def at_once(a: Array) -> Array:
        return np.sum(a, axis=axes, dtype=total, keepdims=True).astype(dtype.numpy)

    def ascending(a: Array) -> Array:
        rows = _rows_ascending(a, axes).astype(total)
        if len(rows) == 0:
            return np.zeros(result_shape, dtype.numpy)
        # accumulate adds strictly in order; + 0 is the start value, which turns a total of -0 into 0
        sums = np.add.accumulate(rows, axis=0)[-1] + total.type(0)
        return np.asarray(sums).reshape(result_shape).astype(dtype.numpy)

    return ascending if dtype.is_float and fold == "ascending" else at_once


def _max(op: Operation, fold: Fold) -> Function:
    assert isinstance(op, MaxOp)
    dtype, axes, result_shape = dtype_of(op.result), op.reduced, shape_of(op.result)
    compute, start = _accumulation(dtype), dtype.lowest

    def at_once(a: Array) -> Array:
        return np.max(a.astype(compute), axis=axes, keepdims=True, initial=start).astype(dtype.numpy)

    def ascending(a: Array) -> Array:
        rows = _rows_ascending(a, axes).astype(compute)
        best = np.full(rows.shape[1:], start, compute)
        for row in rows:
            best = np.where((best > row) | (best != best), best, row)
        return best.reshape(result_shape).astype(dtype.numpy)

    return at_once if fold == "wide" else ascending


def check_rows(index: Array, rows: int) -> None:
    """IndexError for the first row number, in row-major order, that lies outside a table of `rows` rows."""
    bad = (index < 0) | (index >= rows)
    if bad.any():
        first = index.reshape(-1)[int(np.argmax(bad.reshape(-1)))]
        raise IndexError(f"row {int(first)} is outside the table, which has rows 0 to {rows - 1}")


def _gather(op: Operation, fold: Fold) -> Function:
    assert isinstance(op, GatherOp)
    rows = shape_of(op.table)[0]

    def gather(table: Array, index: Array) -> Array:
        check_rows(index, rows)
        return np.take(table, index, axis=0)

    return gather


def _scatter(op: Operation, fold: Fold) -> Function:
    assert isinstance(op, ScatterOp)
    dtype, shape = dtype_of(op.result), shape_of(op.result)
    accumulate = np.dtype(np.float64) if dtype.is_float and fold == "wide" else _accumulation(dtype)

    def scatter(rows: Array, index: Array) -> Array:
        check_rows(index, shape[0])
        total = np.zeros(shape, accumulate)
        np.add.at(total, index, rows.astype(accumulate))
        return total.astype(dtype.numpy)

    return scatter


CUSTOM: dict[str, Callable[[CustomOp], Function]] = {}
"""The numpy meaning of each custom kernel, by name: a builder like those of TABLE."""


def _custom(op: Operation, fold: Fold) -> Function:
    assert isinstance(op, CustomOp)
    kernel = op.kernel.data
    if kernel not in CUSTOM:
        raise NotImplementedError(f"the custom kernel '{kernel}' has no numpy meaning; known: {sorted(CUSTOM)}")
    return CUSTOM[kernel](op)


def _assign(op: Operation, fold: Fold) -> Function:
    def second(target: Array, value: Array) -> Array:
        return value

    return second


def _contiguous(op: Operation, fold: Fold) -> Function:
    def copy(a: Array) -> Array:
        return np.array(a, order="C")

    return copy


TABLE: dict[type[Operation], Callable[[Operation, Fold], Function]] = {
    ConstOp: _const,
    ViewOp: _view,
    NegOp: _elementwise(np.negative),
    ExpOp: _elementwise(np.exp),
    LogOp: _elementwise(np.log),
    SqrtOp: _elementwise(np.sqrt),
    RecipOp: _elementwise(np.reciprocal),
    CastOp: _cast,
    AddOp: _elementwise(np.add),
    MulOp: _mul,
    CmpLtOp: _elementwise(np.less),
    WhereOp: _elementwise(np.where),
    SumOp: _sum,
    MaxOp: _max,
    GatherOp: _gather,
    ScatterOp: _scatter,
    ContiguousOp: _contiguous,
    AssignOp: _assign,
    CustomOp: _custom,
}


class Program:
    """A graph function as numpy steps. Calling it with the arguments gives the function's results, then the
    new value of each assign in the order of the `graph.assign` ops. Results may share memory with arguments
    and with each other."""

    def __init__(self, func: FuncOp, fold: Fold = "wide"):
        block = func.body.block
        slots: dict[SSAValue, int] = {argument: slot for slot, argument in enumerate(block.args)}
        steps: list[tuple[Function, tuple[int, ...], tuple[int, ...]]] = []
        results: list[int] = []
        assigned: list[int] = []
        for op in block.ops:
            sources = tuple(slots[operand] for operand in op.operands)
            if isinstance(op, ReturnOp):
                results = list(sources)
                continue
            if type(op) not in TABLE:
                raise NotImplementedError(f"'{op.name}' is not a graph op; the graph interpreter runs graph ops only")
            for result in op.results:
                slots[result] = len(slots)
            steps.append((TABLE[type(op)](op, fold), sources, tuple(slots[r] for r in op.results)))
            if isinstance(op, AssignOp):
                assigned.append(slots[op.result])
        self.arguments = len(block.args)
        self.outputs = results + assigned
        self.slots = len(slots)
        # a value is dropped after the last step that reads it, so that memory is held no longer than needed
        last: dict[int, int] = dict.fromkeys(self.outputs, -1)
        dying: list[tuple[int, ...]] = []
        for _, sources, made in reversed(steps):
            dying.append(tuple(s for s in {*sources, *made} if s not in last))
            last |= dict.fromkeys((*sources, *made), 0)
        self.steps = [(*step, dead) for step, dead in zip(steps, reversed(dying))]

    def __call__(self, arrays: Sequence[Array]) -> list[Array]:
        if len(arrays) != self.arguments:
            raise ValueError(f"the function takes {self.arguments} arrays, got {len(arrays)}")
        values: list[Any] = [*arrays, *[None] * (self.slots - self.arguments)]
        with np.errstate(all="ignore"):
            for function, sources, made, dead in self.steps:
                out = function(*[values[s] for s in sources])
                if len(made) == 1:
                    values[made[0]] = np.asarray(out)
                else:
                    for slot, value in zip(made, out):
                        values[slot] = value
                for slot in dead:
                    values[slot] = None
        return [values[slot] for slot in self.outputs]


def run(func: FuncOp, arrays: Sequence[Array], fold: Fold = "wide") -> list[Array]:
    """Interpret a graph function on arrays of its arguments' shapes and dtypes.

    Returns the function's results, then the new value of each `graph.assign` in their order. IndexError for a
    bad row number.
    """
    return Program(func, fold)(arrays)
