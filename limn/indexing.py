"""`x[...]`: numpy's basic indexing as views, and rows by an int tensor.

A slice keeps numpy's meaning for every step: a step other than 1 is a strided view, a negative one a flipped
view, and neither copies.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from limn import trace as t
from limn.dtypes import int32
from limn.view import View

if TYPE_CHECKING:
    from limn.tensor import Tensor


def index(x: Tensor, key: Any) -> Tensor:
    """x[key]. IndexError for an int outside its dim, too many indices, or a slice that selects nothing;
    TypeError for what is no index."""
    keys = list(key) if isinstance(key, tuple) else [key]
    if any(_is_rows(k) for k in keys):
        if len(keys) != 1:
            raise IndexError(
                "indexing: an index tensor stands alone, x[rows]; index other dims before or after, as x[:, 1][rows]"
            )
        return _rows(x, keys[0])
    taken = sum(1 for k in keys if k is not None and k is not Ellipsis)
    if keys.count(Ellipsis) > 1:
        raise IndexError("indexing: only one Ellipsis can stand in an index")
    if taken > x.ndim:
        raise IndexError(f"indexing: {taken} indices for shape {x.shape}, which has {x.ndim} dims")
    at = next((n for n, k in enumerate(keys) if k is Ellipsis), len(keys))
    keys[at : at + 1] = [slice(None)] * (x.ndim - taken)

    bounds: list[tuple[int, int]] = []
    steps: list[int] = []
    backwards: list[int] = []
    shape: list[int] = []
    dim = 0
    for k in keys:
        if k is None:
            shape.append(1)
            continue
        extent = x.shape[dim]
        if isinstance(k, slice):
            start, stop, step = _slice(k, extent, dim, x.shape)
            count = len(range(start, stop, step))
            if count == 0:
                raise IndexError(
                    f"indexing: {_text(k)} selects nothing of dim {dim} in shape {x.shape}; tensors are never empty"
                )
            last = start + (count - 1) * step
            bounds.append((min(start, last), max(start, last) + 1))
            steps.append(abs(step))
            if step < 0:
                backwards.append(dim)
            shape.append(count)
        else:
            bounds.append(_int(k, extent, dim, x.shape))
            steps.append(1)
        dim += 1
    view = View.contiguous(x.shape).shrink(bounds).flip(backwards).every(steps)
    return type(x)._of(t.reshape(t.move(x._node, view), shape))


def _is_rows(k: Any) -> bool:
    if isinstance(k, np.ndarray | list):
        return True
    return hasattr(k, "_node") and (k.ndim > 0 or k.dtype.kind == "bool" or k._node.realized is None)


def _int(k: Any, extent: int, dim: int, shape: tuple[int, ...]) -> tuple[int, int]:
    if isinstance(k, bool | np.bool_) or not hasattr(k, "__index__"):
        raise TypeError(f"indexing: {k!r} is no index; use ints, slices, None, Ellipsis or one int tensor of rows")
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


def row_numbers(x: Tensor, rows: Any, name: str) -> t.Node:
    """Row numbers as an int32 node."""
    rows = x._as_tensor(rows)
    if not x.shape:
        raise IndexError(f"{name}: a 0-d tensor has no rows")
    if rows.dtype.kind != "int":
        hint = "use where for a mask" if rows.dtype.kind == "bool" else "cast it to int32"
        raise IndexError(f"{name}: row numbers must be ints, got {rows.dtype.name}; {hint}")
    return t.cast(rows._node, int32)


def _rows(x: Tensor, rows: Any) -> Tensor:
    """x[rows]: negative numbers count from the end; one outside is an IndexError when the result is
    computed."""
    node = row_numbers(x, rows, "indexing")
    count = x.shape[0]
    zero, low, size = (t.const(v, node.shape, int32) for v in (0, -count, count))
    wrapped = t.where(t.less(node, low), node, t.add(node, size))  # what is too low stays as the user wrote it
    return type(x)._of(t.gather(x._node, t.where(t.less(node, zero), wrapped, node)))
