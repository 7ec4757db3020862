"""`x[...]`, read and assigned: numpy's basic indexing as views, and elements by int tensors.

A slice keeps numpy's meaning for every step: a step other than 1 is a strided view, a negative one a flipped
view, and neither copies. Index tensors follow numpy too: they broadcast with each other, negative numbers count from
the end, and the dims they make stand where they stood, or in front if a slice, None or Ellipsis stands between them
(an int beside them counts as one of them, as in numpy). A bool mask, whose result has a shape that depends on values,
is refused.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from limn import trace as t
from limn.autograd import unmove
from limn.dtypes import bool_, check_scalar, int32
from limn.functions.pieces import checked, fit, iota, not_, row_numbers, same
from limn.runtime.buffers import Buffer
from limn.trace import Node, no_grad
from limn.view import View

if TYPE_CHECKING:
    from limn.tensor import Tensor

PAIRS = 2048  # up to so many positions, an assignment compares all pairs to see which are named again later


def index(x: Tensor, key: Any) -> Tensor:
    """x[key]. IndexError for an int outside its dim, too many indices, or a slice that selects nothing;
    TypeError for what is no index."""
    keys = _full(x, key)
    if not any(_is_rows(k) for k in keys):
        return type(x)._of(t.move(x._node, _basic(x.shape, keys)))
    found = _Rows(x, keys)
    table = t.reshape(t.move(x._node, found.view), [found.count, *found.rest])
    return type(x)._of(t.gather(table, found.rows)).permute(found.order)


def assign(x: Tensor, key: Any, value: Any) -> None:
    """x[key] = value: one assign to x of what it holds, with these elements changed. Where index tensors name an
    element several times, the last one counts."""
    keys = _full(x, key)
    with no_grad():
        if any(_is_rows(k) for k in keys):
            found = _Rows(x, keys)
            view = found.view
            chosen, new = found.placed(x, value)
        else:
            view = _basic(x.shape, keys)
            chosen, new = t.const(True, view.shape, bool_), _valued(x, value, view.shape)
        chosen, new = unmove(chosen, view, x.shape), unmove(new, view, x.shape)
        x.assign(type(x)._of(t.where(chosen, new, x._node)))


def _full(x: Tensor, key: Any) -> list[Any]:
    """The key as a list with one entry for each dim, Nones, and an Ellipsis if it stands for no dim: it still keeps
    index tensors apart."""
    keys = list(key) if isinstance(key, tuple) else [key]
    taken = sum(1 for k in keys if k is not None and k is not Ellipsis)
    dots = [n for n, k in enumerate(keys) if k is Ellipsis]
    if len(dots) > 1:
        raise IndexError("indexing: only one Ellipsis can stand in an index")
    if taken > x.ndim:
        raise IndexError(f"indexing: {taken} indices for shape {x.shape}, which has {x.ndim} dims")
    at = dots[0] if dots else len(keys)
    keys[at : at + 1] = [slice(None)] * (x.ndim - taken) or keys[at : at + 1]
    return keys


def _basic(extents: tuple[int, ...], keys: list[Any]) -> View:
    """The view of ints, slices and None; an index tensor is taken as a whole slice."""
    bounds: list[tuple[int, int]] = []
    steps: list[int] = []
    backwards: list[int] = []
    shape: list[int] = []
    dim = 0
    for k in keys:
        if k is Ellipsis:
            continue
        if k is None:
            shape.append(1)
            continue
        extent = extents[dim]
        if isinstance(k, slice) or _is_rows(k):
            start, stop, step = _slice(k, extent, dim, extents) if isinstance(k, slice) else (0, extent, 1)
            count = len(range(start, stop, step))
            if count == 0:
                raise IndexError(
                    f"indexing: {_text(k)} selects nothing of dim {dim} in shape {extents}; tensors are never empty"
                )
            last = start + (count - 1) * step
            bounds.append((min(start, last), max(start, last) + 1))
            steps.append(abs(step))
            if step < 0:
                backwards.append(dim)
            shape.append(count)
        else:
            bounds.append(_int(k, extent, dim, extents))
            steps.append(1)
        dim += 1
    view = View.contiguous(extents).shrink(bounds).flip(backwards).every(steps).reshape(shape)
    assert view is not None  # only extents of 1 come and go
    return view


class _Rows:
    """An index with index tensors, as a gather.

    view    of x, with the dims of the index tensors in front, then those of slices and None, `rest`
    count   elements of the dims in front: the rows of the table
    rows    the row numbers
    order   how the dims of the gather, those of `rows` and then `rest`, are permuted to those of x[key]
    """

    def __init__(self, x: Tensor, keys: list[Any]):
        shown = [k for k in keys if k is None or isinstance(k, slice) or _is_rows(k)]  # ints leave no dim
        picked = [d for d, k in enumerate(shown) if _is_rows(k)]
        others = [d for d in range(len(shown)) if d not in picked]
        self.view = _basic(x.shape, keys).permute([*picked, *others])
        extents = self.view.shape[: len(picked)]
        self.count, self.rest = prod(extents), self.view.shape[len(picked) :]
        nodes = [_wrapped(row_numbers(x, shown[d], "indexing"), n) for d, n in zip(picked, extents)]
        shape: tuple[int, ...] = ()
        for node in nodes:
            if not fit(shape, node.shape):
                shapes = " and ".join(str(n.shape) for n in nodes)
                raise IndexError(f"indexing: index tensors of shapes {shapes} do not broadcast; reshape them")
            shape = np.broadcast_shapes(shape, node.shape)
        if len(nodes) > 1:  # one outside its own dim could hit another row
            nodes = [checked(node, n) for node, n in zip(nodes, extents)]
        self.rows = t.expand(nodes[0], shape)
        for node, n in zip(nodes[1:], extents[1:]):
            self.rows = t.add(t.mul(self.rows, t.const(n, shape, int32)), t.expand(node, shape))
        advanced = [p for p, k in enumerate(keys) if not (k is None or k is Ellipsis or isinstance(k, slice))]
        together = advanced[-1] - advanced[0] == len(advanced) - 1
        before = [k for k in keys[: advanced[0]] if k is not Ellipsis]
        lead = len(before) if together else 0  # each of those leaves one dim
        dims, rest = list(range(len(shape))), [len(shape) + d for d in range(len(self.rest))]
        self.order = [*rest[:lead], *dims, *rest[lead:]]

    def placed(self, x: Tensor, value: Any) -> tuple[Node, Node]:
        """For each element of `view` whether it is assigned to, and what."""
        shape = (*self.rows.shape, *self.rest)
        given = _valued(x, value, tuple(shape[d] for d in self.order))
        back = [self.order.index(d) for d in range(len(shape))]
        given = t.move(given, View.contiguous(given.shape).permute(back))
        n = prod(self.rows.shape)
        cells, given = t.reshape(self.rows, [n]), t.reshape(given, [n, *self.rest])
        one, nothing = t.const(1, (n,), int32), t.const(0, (n,), int32)
        numbered = t.where(_last_named(cells, self.count), t.add(iota((n,), 0), one), nothing)
        place = t.scatter(numbered, cells, self.count)  # of each row, which value it gets, counted from 1
        named = t.less(t.const(0, place.shape, int32), place)
        before = t.add(place, t.const(-1, place.shape, int32))
        new = t.gather(given, t.where(named, before, t.const(0, place.shape, int32)))
        chosen = t.expand(t.reshape(named, [self.count] + [1] * len(self.rest)), new.shape)
        return t.reshape(chosen, self.view.shape), t.reshape(new, self.view.shape)


def _valued(x: Tensor, value: Any, shape: tuple[int, ...]) -> Node:
    """What is assigned to x[key] of this shape."""
    if isinstance(value, bool | int | float | np.generic):
        number = value.item() if isinstance(value, np.generic) else value
        return t.scalar(check_scalar(number, x.dtype), shape, x.dtype)
    if not hasattr(value, "_node"):
        value = type(x)(value, dtype=x.dtype)
    if value.dtype is not x.dtype:
        raise TypeError(
            f"indexing: the tensor is {x.dtype.name}, the value assigned {value.dtype.name}; use .cast({x.dtype.name})"
        )
    node, extra = value._node, value.ndim - len(shape)
    if extra > 0 and set(value.shape[:extra]) == {1}:
        node = t.reshape(node, value.shape[extra:])
    if len(node.shape) > len(shape) or any(m not in (1, n) for m, n in zip(node.shape[::-1], shape[::-1])):
        raise ValueError(
            f"indexing: a value of shape {value.shape} is assigned to elements of shape {shape}; it must broadcast"
        )
    return t.expand(node, shape)


def _last_named(cells: Node, count: int) -> Node:
    """True where no later element of the vector `cells` names the same cell of `count`."""
    (n,) = cells.shape
    if n <= PAIRS:
        mine, other = t.expand(t.reshape(cells, [n, 1]), (n, n)), t.expand(t.reshape(cells, [1, n]), (n, n))
        later = t.less(iota((n, n), 0), iota((n, n), 1))
        again = t.where(later, same(mine, other), t.const(False, (n, n), bool_))
        return not_(t.reshape(t.largest(again, [1]), [n]))
    # from the highest bit down: of those that name one cell keep the ones whose position has the bit, if there are any
    alive, nothing = t.const(True, (n,), bool_), t.const(False, (n,), bool_)
    for bit in reversed(range((n - 1).bit_length())):
        marked = t.where(t.buffer_node(Buffer.of(np.arange(n) >> bit & 1, bool_), (n,)), alive, nothing)
        some = t.scatter(t.cast(marked, int32), cells, count)
        alive = t.where(t.less(t.const(0, (n,), int32), t.gather(some, cells)), marked, alive)
    return alive


def _is_rows(k: Any) -> bool:
    if isinstance(k, np.ndarray | list):
        return True
    return hasattr(k, "_node") and (k.ndim > 0 or k.dtype.kind == "bool" or k._node.realized is None)


def _int(k: Any, extent: int, dim: int, shape: tuple[int, ...]) -> tuple[int, int]:
    if isinstance(k, bool | np.bool_) or not hasattr(k, "__index__"):
        raise TypeError(f"indexing: {k!r} is no index; use ints, slices, None, Ellipsis or int tensors")
    position = k.__index__()
    if not -extent <= position < extent:
        raise IndexError(f"indexing: index {position} is outside dim {dim} of shape {shape}")
    position %= extent
    return position, position + 1


def _slice(k: slice, extent: int, dim: int, shape: tuple[int, ...]) -> tuple[int, int, int]:
    try:
        return k.indices(extent)
    except (TypeError, ValueError) as reason:
        raise IndexError(f"indexing: {_text(k)} on dim {dim} of shape {shape}: {reason}") from None


def _text(k: slice) -> str:
    parts = ["" if p is None else str(p) for p in (k.start, k.stop, k.step)]
    return ":".join(parts if k.step is not None else parts[:2])


def _wrapped(rows: Node, count: int) -> Node:
    """Negative numbers counted from the end; one that is too low stays as the user wrote it."""
    zero, low, size = (t.const(v, rows.shape, int32) for v in (0, -count, count))
    return t.where(t.less(rows, zero), t.where(t.less(rows, low), rows, t.add(rows, size)), rows)
