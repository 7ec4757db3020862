"""What the Python text that ``limn.interpreters.nest`` writes calls: lanes, memory and the arithmetic of nest on numpy.

A loop whose turns do not depend on each other runs as *lanes*: its index is an array along one axis, and every value
computed from it is an array with that axis. Values that are the same in all lanes stay numpy scalars. Scalars and
arrays of one dtype give the same bits in numpy, so lanes change the speed and nothing else.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np

from limn.dtypes import BY_MLIR
from limn.interpreters.exact_fma import fma_many, fma_one

Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]

NUMPY: dict[str, np.dtype[Any]] = {name: dtype.numpy for name, dtype in BY_MLIR.items()} | {"i64": np.dtype(np.int64)}
"""The numpy dtype of each scalar type of nest, by its printed name."""

TYPE_NAMES: dict[str, str] = {name: dtype.name for name, dtype in BY_MLIR.items()} | {"i64": "int64"}
"""What the text calls each scalar type. The printed names would collide with loops called i1."""

_ndarray = np.ndarray


# ---------------------------------------------------------------------------------------------------------------- loops


def lanes(low: int, high: int, step: int, most: int, axis: int, rank: int) -> Iterator[tuple[Array, int, int]]:
    """The values of a loop index in chunks of at most ``most``: (array along ``axis`` of ``rank``, first, count)."""
    turns = max(-((low - high) // step), 0)
    shape = [1] * rank
    for start in range(0, turns, most):
        count = min(most, turns - start)
        first = low + start * step
        shape[axis] = count
        yield np.arange(first, first + count * step, step).reshape(shape), first, count


Order: TypeAlias = Callable[[range], Iterable[int]]


def _shuffled(turns: range) -> list[int]:
    found = list(turns)
    random.Random(len(found)).shuffle(found)
    return found


ORDERS: dict[str, Order] = {"forward": lambda turns: turns, "reverse": reversed, "shuffled": _shuffled}
"""The order in which the turns of a parallel loop are taken."""


# --------------------------------------------------------------------------------------------------------------- memory


def poison(memory: Array) -> None:
    """Fill with what no program should read: NaN for floats, the bytes 0xAA for integers, true for i1."""
    kind = memory.dtype
    if kind == np.bool_:
        memory[...] = True
    elif kind.kind == "i":
        memory.view(np.uint8)[...] = 0xAA
    else:
        memory[...] = np.nan


def scratch(size: int, kind: np.dtype[Any]) -> Array:
    """Poisoned memory of ``size`` elements."""
    memory = np.empty(size, kind)
    poison(memory)
    return memory


def outside(low: int, high: int, size: int, name: str) -> IndexError:
    """The error for an access of elements ``low`` to ``high`` of ``size``."""
    touched = f"element {low}" if low == high else f"elements {low} to {high}"
    return IndexError(f"{name} is accessed out of bounds: {touched} of {size}")


def inside(index: int, size: int, name: str) -> int:
    """``index``, which numpy would otherwise count from the end when negative."""
    if not 0 <= index < size:
        raise outside(index, index, size, name)
    return index


def window(memory: Array, start: int, counts: Sequence[int], strides: Sequence[int], name: str) -> Array:
    """The elements ``start + lane . strides`` of flat memory, as an array that shares its bytes."""
    low = high = start
    for count, stride in zip(counts, strides):
        reach = (count - 1) * stride
        if reach < 0:
            low += reach
        else:
            high += reach
    if low < 0 or high >= memory.size:
        raise outside(low, high, memory.size, name)
    size = memory.itemsize
    return _ndarray(counts, memory.dtype, memory, start * size, [stride * size for stride in strides])


def _checked(memory: Array, index: Array, name: str) -> Array:
    if index.size and (index.min() < 0 or index.max() >= memory.size):
        raise outside(int(index.min()), int(index.max()), memory.size, name)
    return index


def take(memory: Array, index: Any, name: str) -> Array:
    """The elements at an array of indices."""
    return memory[_checked(memory, np.asarray(index), name)]


def take_where(memory: Array, index: Any, mask: Any, name: str) -> Array:
    """The elements where the mask holds, zero elsewhere."""
    index, mask = np.broadcast_arrays(np.asarray(index), mask)
    out = np.zeros(mask.shape, memory.dtype)
    out[mask] = memory[_checked(memory, index[mask], name)]
    return out


def put(memory: Array, index: Any, value: Any, name: str) -> None:
    """Store at an array of indices."""
    memory[_checked(memory, np.asarray(index), name)] = value


def put_where(memory: Array, index: Any, mask: Any, value: Any, name: str) -> None:
    """Store where the mask holds."""
    index, mask, value = np.broadcast_arrays(np.asarray(index), mask, value)
    memory[_checked(memory, index[mask], name)] = value[mask]


class Rows:
    """Row numbers that were outside their table: the one at the lowest position is kept."""

    def __init__(self) -> None:
        self.worst: tuple[int, int, int] | None = None
        """(position, row, bound)"""

    def check(self, row: Any, bound: int, position: Any) -> Any:
        """``row`` as an index; a bad one is recorded and becomes 0."""
        if np.ndim(row) == 0 and np.ndim(position) == 0:
            return int(row) if 0 <= row < bound else self._record(int(position), int(row), bound)
        row, position = np.broadcast_arrays(np.asarray(row, np.int64), np.asarray(position))
        bad = (row < 0) | (row >= bound)
        if bad.any():
            lowest = position[bad].argmin()
            self._record(int(position[bad][lowest]), int(row[bad][lowest]), bound)
        return np.where(bad, 0, row)

    def _record(self, position: int, row: int, bound: int) -> int:
        if self.worst is None or position < self.worst[0]:
            self.worst = (position, row, bound)
        return 0

    def raise_worst(self) -> None:
        """IndexError if a row number was bad."""
        if self.worst is not None:
            position, row, bound = self.worst
            raise IndexError(f"row index {row} at position {position} is outside a table of {bound} rows")


# ----------------------------------------------------------------------------------------------------------- arithmetic


where: Callable[..., Any] = np.where


def larger(a: Any, b: Any) -> Any:
    """``nest.max`` of arrays."""
    return where((a > b) | (a != a), a, b)


def exp(a: Any) -> Any:
    """``nest.exp`` of scalars and arrays, with the same bits."""
    # numpy takes another road for strided arrays; one road for all keeps the bits of a lane independent of layout
    return np.exp(np.array(a, order="C") if np.ndim(a) else a)


def log(a: Any) -> Any:
    """``nest.log`` of scalars and arrays, with the same bits."""
    return np.log(np.array(a, order="C") if np.ndim(a) else a)


def index32(a: Any) -> Any:
    """An index as an i32, which wraps."""
    return np.int64(a).astype(np.int32)


def _cut(kind: np.dtype[Any]) -> Callable[[Any], Any]:
    """Float to integer: towards zero, saturating, NaN as 0."""
    low, high = int(np.iinfo(kind).min), int(np.iinfo(kind).max)

    def cut(a: Any) -> Any:
        wide = np.asarray(a, np.float64)
        whole = np.where(wide != wide, 0.0, np.trunc(wide))
        # 2.0 ** 63 is not an i64 but is what its largest value rounds to, so the bounds are tested, not clipped to
        out = np.where((whole > low) & (whole < high), whole, 0.0).astype(kind)
        return np.where(whole >= high, kind.type(high), np.where(whole <= low, kind.type(low), out))[()]

    return cut


def cast_of(source: str, target: str) -> Callable[[Any], Any]:
    """The function that casts from one scalar type to another, for scalars and arrays."""
    old, new = NUMPY[source], NUMPY[target]
    is_float = old.kind not in "ib"
    if target == "i1":
        return lambda a: (a.astype(np.float32) if source in ("f16", "bf16") else a) != 0
    if is_float and new.kind == "i":
        return _cut(new)
    through_float32 = (target in ("f16", "bf16") and not is_float) or target == "bf16" or source == "bf16"
    if through_float32:
        return lambda a: a.astype(np.float32).astype(new)
    return lambda a: a.astype(new)


HELPERS: dict[str, Any] = {
    **{name: NUMPY[kind].type for kind, name in TYPE_NAMES.items()},
    "cast_of": cast_of,
    "lanes": lanes,
    "scratch": scratch,
    "inside": inside,
    "window": window,
    "take": take,
    "take_where": take_where,
    "put": put,
    "put_where": put_where,
    "larger": larger,
    "where": where,
    "exp": exp,
    "log": log,
    "sqrt": np.sqrt,
    "fma_one": fma_one,
    "fma_many": fma_many,
    "index32": index32,
}
"""The names that the text may use."""
