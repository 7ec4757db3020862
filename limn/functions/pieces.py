"""Small pieces that several functions share: shapes that users pass, and comparisons as trace nodes."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from limn import trace as t
from limn.dtypes import DType, bool_, float32, float64, int8, int16, int32
from limn.runtime.buffers import Buffer
from limn.trace import Node

if TYPE_CHECKING:
    from limn.tensor import Tensor


def shape_of(given: tuple[Any, ...], name: str, size: Any = None) -> tuple[int, ...]:
    """A shape given as f(4, 3), f((4, 3)) or f(size=(4, 3))."""
    given = one_way(given, size, name, "size")
    shape = given[0] if len(given) == 1 and isinstance(given[0], tuple | list) else given
    if not all(isinstance(n, int | np.integer) and not isinstance(n, bool) and n > 0 for n in shape):
        raise ValueError(f"{name}: a shape is positive ints, got {tuple(shape)}; tensors are never empty")
    return tuple(int(n) for n in shape)


def one_way(given: tuple[Any, ...], named: Any, name: str, argument: str) -> tuple[Any, ...]:
    """The arguments of f(*given), or of f(argument=named); TypeError for both."""
    if named is None:
        return given
    if given:
        raise TypeError(f"{name}: got {given} and {argument}={named!r}, two names for one argument; give one")
    return (named,)


def one_int(value: Any, name: str, what: str) -> int:
    """An argument that is one int."""
    if not isinstance(value, int | np.integer) or isinstance(value, bool):
        raise TypeError(f"{name}: {what} is an int, got {value!r}")
    return int(value)


def one_number(value: Any, name: str, what: str) -> float:
    """An argument that is one number of Python or numpy."""
    if not isinstance(value, int | float | np.integer | np.floating) or isinstance(value, bool):
        raise TypeError(f"{name}: {what} is a number, got {value!r}")
    return value.item() if isinstance(value, np.generic) else value


def ints_of(values: tuple[Any, ...], name: str) -> list[int]:
    """Ints given one by one or as one sequence: f(4, 3) or f((4, 3))."""
    if len(values) == 1 and isinstance(values[0], tuple | list):
        values = tuple(values[0])
    for value in values:
        if not isinstance(value, int | np.integer) or isinstance(value, bool):
            raise TypeError(f"{name}: expected ints, got {value!r} in {values}")
    return [int(v) for v in values]


def fit(a: tuple[int, ...], b: tuple[int, ...]) -> bool:
    return all(m == n or 1 in (m, n) for m, n in zip(a[::-1], b[::-1]))


@lru_cache(maxsize=256)
def _counted(n: int) -> Buffer:
    return Buffer.of(np.arange(n), int32)


def row_of(n: int) -> Node:
    """0 to n - 1, in bytes that all users of this n share."""
    return t.buffer_node(_counted(n), (n,))


def iota(shape: tuple[int, ...], dim: int) -> Node:
    """The index along `dim` in every element of `shape`, int32."""
    line = t.reshape(row_of(shape[dim]), [n if d == dim else 1 for d, n in enumerate(shape)])
    return t.expand(line, shape)


def compute_dtype(dtype: DType) -> DType:
    """Where functions of floats compute: float64 in itself, all others in float32."""
    return dtype if dtype is float64 else float32


def widened(x: Tensor) -> Tensor:
    """A float tensor of the dtype that functions of floats compute in."""
    return x.cast(compute_dtype(x.dtype))


def sum_dtype(dtype: DType) -> DType:
    """Where sums and products of many compute: halves in float32, bool and narrow ints in int32."""
    return float32 if dtype.is_half else int32 if dtype in (bool_, int8, int16) else dtype


def result_dtype(dtype: DType) -> DType:
    """The dtype of such a function's result: a float stays, ints and bool give float32."""
    return dtype if dtype.is_float else float32


def not_(a: Node) -> Node:
    return t.where(a, t.const(False, a.shape, bool_), t.const(True, a.shape, bool_))


def ordered(a: Node) -> Node:
    """False where `a` is NaN: every other number is below inf or above -inf."""
    top, bottom = t.const(float("inf"), a.shape, a.dtype), t.const(float("-inf"), a.shape, a.dtype)
    return t.where(t.less(a, top), t.const(True, a.shape, bool_), t.less(bottom, a))


def _neither(a: Node, b: Node) -> Node:
    """For two of which neither is less: True if they are equal, False if one is NaN, which is then in their
    sum."""
    return ordered(t.add(a, b)) if a.dtype.is_float else t.const(True, a.shape, bool_)


def same(a: Node, b: Node) -> Node:
    """a == b for ints."""
    return not_(t.where(t.less(a, b), t.const(True, a.shape, bool_), t.less(b, a)))


def mirror(a: Node) -> Node:
    """Reverses the order of all values of a dtype, and undoes itself: -x for floats, -1 - x for ints, which
    never overflows, not x."""
    if a.dtype is bool_:
        return not_(a)
    return t.neg(a) if a.dtype.is_float else t.add(t.neg(a), t.const(-1, a.shape, a.dtype))


def equal(a: Node, b: Node) -> Node:
    false = t.const(False, a.shape, bool_)
    return t.where(t.less(a, b), false, t.where(t.less(b, a), false, _neither(a, b)))


def less_equal(a: Node, b: Node) -> Node:
    if not a.dtype.is_float:
        return not_(t.less(b, a))
    true, false = t.const(True, a.shape, bool_), t.const(False, a.shape, bool_)
    return t.where(t.less(a, b), true, t.where(t.less(b, a), false, _neither(a, b)))


def row_numbers(x: Tensor, rows: Any, name: str) -> Node:
    """Row numbers as an int32 node."""
    rows = x._as_tensor(rows)
    if not x.shape:
        raise IndexError(f"{name}: a 0-d tensor has no rows")
    if rows.dtype.kind != "int":
        hint = "use where for a mask" if rows.dtype.kind == "bool" else "cast it to int32"
        raise IndexError(f"{name}: row numbers must be ints, got {rows.dtype.name}; {hint}")
    return t.cast(rows._node, int32)


def checked(rows: Node, count: int) -> Node:
    """The row numbers themselves; one outside 0 to count - 1 is an IndexError when they are computed."""
    return t.gather(row_of(count), rows)
