"""Small pieces that several functions share: shapes that users pass, and comparisons as trace nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from limn import trace as t
from limn.dtypes import bool_, float32
from limn.trace import Node

if TYPE_CHECKING:
    from limn.tensor import Tensor


def shape_of(given: tuple[Any, ...], name: str) -> tuple[int, ...]:
    """A shape given as f(4, 3) or f((4, 3))."""
    shape = given[0] if len(given) == 1 and isinstance(given[0], tuple | list) else given
    if not all(isinstance(n, int | np.integer) and not isinstance(n, bool) and n > 0 for n in shape):
        raise ValueError(f"{name}: a shape is positive ints, got {tuple(shape)}; tensors are never empty")
    return tuple(int(n) for n in shape)


def fit(a: tuple[int, ...], b: tuple[int, ...]) -> bool:
    return all(m == n or 1 in (m, n) for m, n in zip(a[::-1], b[::-1]))


def widened(x: Tensor) -> Tensor:
    return x if x.dtype.is_float and not x.dtype.is_half else x.cast(float32)


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


def equal(a: Node, b: Node) -> Node:
    false = t.const(False, a.shape, bool_)
    return t.where(t.less(a, b), false, t.where(t.less(b, a), false, _neither(a, b)))


def less_equal(a: Node, b: Node) -> Node:
    if not a.dtype.is_float:
        return not_(t.less(b, a))
    true, false = t.const(True, a.shape, bool_), t.const(False, a.shape, bool_)
    return t.where(t.less(a, b), true, t.where(t.less(b, a), false, _neither(a, b)))
