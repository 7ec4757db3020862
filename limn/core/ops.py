"""Index arithmetic of dense tensors by numpy's rules: shapes that broadcast, strides in elements, positions."""

from __future__ import annotations

from collections.abc import MutableSequence, Sequence
from math import prod


def shape_broadcast(a: Sequence[int], b: Sequence[int]) -> tuple[int, ...]:
    """The shape that two broadcast to: dims are matched from the last one on, and an extent of 1 becomes the other.

    ValueError where two extents differ and neither is 1.
    """
    rank = max(len(a), len(b))
    one, other = ((1,) * (rank - len(s)) + tuple(s) for s in (a, b))
    for dim, (m, n) in enumerate(zip(one, other)):
        if m != n and 1 not in (m, n):
            raise ValueError(
                f"shapes {tuple(a)} and {tuple(b)} do not broadcast: extents {m} and {n} at dim {dim - rank} must be "
                "equal or 1"
            )
    return tuple(n if m == 1 else m for m, n in zip(one, other))


def strides_from_shape(shape: Sequence[int]) -> tuple[int, ...]:
    """Row-major strides, in elements: strides_from_shape((4, 5, 3)) == (15, 3, 1)."""
    return tuple(prod(shape[dim + 1 :]) for dim in range(len(shape)))


def index_to_position(index: Sequence[int], strides: Sequence[int]) -> int:
    """Where the element at `index` lies in flat storage. ValueError for different lengths."""
    if len(index) != len(strides):
        raise ValueError(f"index {tuple(index)} has {len(index)} dims, strides {tuple(strides)} have {len(strides)}")
    return sum(i * stride for i, stride in zip(index, strides))


def to_index(ordinal: int, shape: Sequence[int], out_index: MutableSequence[int] | None = None) -> tuple[int, ...]:
    """The index of element number `ordinal` in row-major order, which is also written to `out_index` if given.

    IndexError outside 0 to size - 1.
    """
    if not 0 <= ordinal < prod(shape):
        raise IndexError(f"element {ordinal} is outside shape {tuple(shape)}, which has {prod(shape)} elements")
    index = tuple(ordinal // step % extent for extent, step in zip(shape, strides_from_shape(shape)))
    return _written(index, out_index)


def broadcast_index(
    big_index: Sequence[int],
    big_shape: Sequence[int],
    shape: Sequence[int],
    out_index: MutableSequence[int] | None = None,
) -> tuple[int, ...]:
    """The index into `shape` of what stands at `big_index` once `shape` is broadcast to `big_shape`; also written to
    `out_index` if given.

    ValueError where `shape` does not broadcast to `big_shape`.
    """
    if shape_broadcast(shape, big_shape) != tuple(big_shape):
        raise ValueError(f"shape {tuple(shape)} does not broadcast to {tuple(big_shape)}; only extents of 1 repeat")
    inner = big_index[len(big_shape) - len(shape) :]
    return _written(tuple(0 if extent == 1 else int(i) for i, extent in zip(inner, shape)), out_index)


def _written(index: tuple[int, ...], out_index: MutableSequence[int] | None) -> tuple[int, ...]:
    if out_index is not None:
        for dim, i in enumerate(index):
            out_index[dim] = i
    return index
