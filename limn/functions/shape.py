"""Joining, cutting and rearranging. What one View can say costs nothing; joins select between padded parts."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from limn import trace as t
from limn.dtypes import promote
from limn.functions.pieces import ints_of, iota, one_int, one_way
from limn.trace import Node
from limn.view import View

if TYPE_CHECKING:
    from limn.tensor import Tensor


class Shape:
    """Methods that move elements and change none."""

    __slots__ = ()

    # ---- dims

    def flip(self, *order: Any, dims: Any = None) -> Tensor:
        """Reverse the order along these dims, flip(0, 1), flip((0, 1)) or flip(dims=(0, 1)); flip() reverses along all,
        flip(()) along none."""
        given = one_way(order, dims, "flip", "dims")
        wanted = self._axes(ints_of(given, "flip") if given else None, "flip", nothing=True)
        return self._of(t.move(self._node, View.contiguous(self.shape).flip(wanted)))

    def squeeze(self, dim: Any = None) -> Tensor:
        """Drop a dim of extent 1, or several of a tuple (left alone if larger), or all such dims."""
        drop = range(self.ndim) if dim is None else self._axes(dim, "squeeze", nothing=True)
        return self.reshape([n for d, n in enumerate(self.shape) if n != 1 or d not in drop])

    def unsqueeze(self, dim: int) -> Tensor:
        """Insert a dim of extent 1 at position `dim`."""
        dim = one_int(dim, "unsqueeze", "a dim")
        if not -self.ndim - 1 <= dim <= self.ndim:
            raise IndexError(f"unsqueeze: dim {dim} is outside -{self.ndim + 1} to {self.ndim} for shape {self.shape}")
        at = dim % (self.ndim + 1)
        return self.reshape([*self.shape[:at], 1, *self.shape[at:]])

    def flatten(self, start_dim: int = 0, end_dim: int = -1) -> Tensor:
        """Merge the dims start_dim to end_dim into one."""
        if self.ndim == 0:
            return self.reshape(1)
        a, b = self._dim(start_dim, "flatten"), self._dim(end_dim, "flatten")
        if a > b:
            raise ValueError(f"flatten: start_dim {start_dim} comes after end_dim {end_dim} in shape {self.shape}")
        return self.reshape([*self.shape[:a], prod(self.shape[a : b + 1]), *self.shape[b + 1 :]])

    def unflatten(self, dim: int, sizes: Sequence[int]) -> Tensor:
        """Split a dim into dims of these sizes, one of which may be -1."""
        at, wanted = self._dim(dim, "unflatten"), ints_of((sizes,), "unflatten")
        known = prod(n for n in wanted if n != -1)
        if wanted.count(-1) == 1 and known > 0 and self.shape[at] % known == 0:
            wanted[wanted.index(-1)] = self.shape[at] // known
        if not wanted or any(n < 1 for n in wanted) or prod(wanted) != self.shape[at]:
            raise ValueError(
                f"unflatten: dim {dim} of shape {self.shape} has {self.shape[at]} elements, which do not fit "
                f"{tuple(wanted)}; their product must be equal"
            )
        return self.reshape([*self.shape[:at], *wanted, *self.shape[at + 1 :]])

    def expand_as(self, other: Tensor) -> Tensor:
        """Repeat dims of extent 1 up to the shape of `other`."""
        return self.expand(self._as_tensor(other).shape)

    def movedim(self, source: Any, destination: Any) -> Tensor:
        """Take a dim, or each of several, to another place; the others keep their order."""
        taken = [self._dim(d, "movedim") for d in ints_of((source,), "movedim")]
        placed = [self._dim(d, "movedim") for d in ints_of((destination,), "movedim")]
        if len(taken) != len(placed) or len(set(taken)) != len(taken) or len(set(placed)) != len(placed):
            raise ValueError(
                f"movedim: dims {source} do not go to {destination}; give as many places as dims, each once"
            )
        goes = dict(zip(placed, taken))
        others = iter(d for d in range(self.ndim) if d not in taken)
        return self.permute([goes[place] if place in goes else next(others) for place in range(self.ndim)])

    # ---- cutting

    def split(self, split_size: int | Sequence[int], dim: int = 0) -> tuple[Tensor, ...]:
        """Pieces of `split_size` along `dim`, the last one smaller if need be, or of each of several sizes, which must
        add up to the extent. Views."""
        at = self._dim(dim, "split")
        extent, size = self.shape[at], split_size
        if isinstance(size, int | np.integer) and not isinstance(size, bool):
            if size < 1:
                raise ValueError(f"split: pieces of {size} elements; a piece has at least one")
            sizes = [min(int(size), extent - start) for start in range(0, extent, int(size))]
        else:
            sizes = ints_of((size,), "split")
        if sum(sizes) != extent or min(sizes) < 1:
            raise ValueError(
                f"split: sizes {tuple(sizes)} do not cut dim {dim} of shape {self.shape}, which has {extent} elements; "
                "they must be positive and add up to it"
            )
        bounds = [(0, n) for n in self.shape]
        pieces, start = [], 0
        for n in sizes:
            bounds[at] = (start, start + n)
            pieces.append(self.shrink(bounds))
            start += n
        return tuple(pieces)

    def chunk(self, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
        """At most `chunks` pieces along `dim`, all of one size but the last, as torch."""
        at = self._dim(dim, "chunk")
        if not isinstance(chunks, int | np.integer) or isinstance(chunks, bool) or chunks < 1:
            raise ValueError(f"chunk: the number of pieces is a positive int, got {chunks!r}")
        return self.split(-(-self.shape[at] // int(chunks)), at)

    def tril(self, diagonal: int = 0) -> Tensor:
        """The lower triangle of each matrix, zeros above the diagonal with this number."""
        return self._triangle(diagonal, "tril", lower=True)

    def triu(self, diagonal: int = 0) -> Tensor:
        """The upper triangle of each matrix, zeros below the diagonal with this number."""
        return self._triangle(diagonal, "triu", lower=False)

    def _triangle(self, diagonal: int, name: str, lower: bool) -> Tensor:
        if self.ndim < 2:
            raise ValueError(f"{name}: shape {self.shape} has no matrices; it needs two dims or more")
        diagonal = one_int(diagonal, name, "a diagonal")
        node, shape = self._node, self.shape
        diagonal = max(-shape[-2] - 1, min(diagonal, shape[-1] + 1))  # beyond the corners nothing changes
        rows, columns = iota(shape[-2:], 0), iota(shape[-2:], 1)
        # column < row + diagonal + 1 keeps the lower triangle, row + diagonal - 1 < column the upper
        edge = t.add(rows, t.const(diagonal + (1 if lower else -1), rows.shape, rows.dtype))
        kept = t.less(columns, edge) if lower else t.less(edge, columns)
        return self._of(t.where(t.expand(kept, shape), node, t.const(0, shape, node.dtype)))

    # ---- repeating

    def repeat(self, *sizes: Any) -> Tensor:
        """The tensor laid side by side sizes[d] times along each dim; more sizes than dims add leading dims."""
        times = ints_of(sizes, "repeat")
        if len(times) < self.ndim or any(n < 1 for n in times):
            raise ValueError(
                f"repeat: sizes {tuple(times)} for shape {self.shape}; give a positive int for each dim, or more"
            )
        shape = (1,) * (len(times) - self.ndim) + self.shape
        spread = self.reshape([k for n in shape for k in (1, n)]).expand(
            [k for m, n in zip(times, shape) for k in (m, n)]
        )
        return spread.reshape([m * n for m, n in zip(times, shape)])

    def roll(self, shifts: Any, dims: Any = None) -> Tensor:
        """Move elements `shifts` places along `dims`, those at the end to the start; without dims in row-major order
        of all elements."""
        if dims is None:
            return self.reshape(-1).roll(shifts, 0).reshape(self.shape)
        moves, axes = ints_of((shifts,), "roll"), ints_of((dims,), "roll")
        if len(moves) != len(axes):
            raise ValueError(f"roll: {len(moves)} shifts for {len(axes)} dims; give one for each")
        x = self
        for move, dim in zip(moves, axes):
            at = x._dim(dim, "roll")
            cut = -move % x.shape[at]
            if cut:
                head, tail = x.split([cut, x.shape[at] - cut], at)
                x = cat([tail, head], at)
        return x


def _joined(tensors: Any, name: str) -> list[Tensor]:
    """The tensors of a join at the dtype where all meet."""
    if not isinstance(tensors, list | tuple) or not tensors or not all(hasattr(x, "_node") for x in tensors):
        given = [type(x).__name__ for x in tensors] if isinstance(tensors, list | tuple) else type(tensors).__name__
        raise TypeError(f"{name}: takes a list or tuple of tensors, got {given}; make them with Tensor(data)")
    dtype = tensors[0].dtype
    for x in tensors[1:]:
        dtype = promote(dtype, x.dtype)
    return [x.cast(dtype) for x in tensors]


def cat(tensors: Sequence[Tensor], dim: int = 0) -> Tensor:
    """The tensors one after the other along `dim`; their other dims are equal. Dtypes meet as in arithmetic.

    Each part is padded to the whole and an element selects its own, so a join fuses with what uses it.
    ValueError for shapes that do not fit, TypeError for what is no list of tensors.
    """
    parts = _joined(tensors, "cat")
    first = parts[0]
    if not first.shape:
        raise ValueError("cat: 0-d tensors have no dim to join; use stack")
    at = first._dim(dim, "cat")
    for x in parts[1:]:
        if x.ndim != first.ndim or any(m != n for d, (m, n) in enumerate(zip(x.shape, first.shape)) if d != at):
            raise ValueError(
                f"cat: shapes {first.shape} and {x.shape} do not fit along dim {dim}; all other dims must be equal"
            )
    total = sum(x.shape[at] for x in parts)
    shape = tuple(total if d == at else n for d, n in enumerate(first.shape))
    place = t.expand(iota(tuple(total if d == at else 1 for d in range(len(shape))), at), shape)
    end, result = total, None
    for x in reversed(parts):
        start = end - x.shape[at]
        pads = [(start, total - end) if d == at else (0, 0) for d in range(len(shape))]
        whole = t.move(x._node, View.contiguous(x.shape).pad(pads))
        result = whole if result is None else t.where(_before(place, end), whole, result)
        end = start
    assert result is not None
    return first._of(result)


def _before(place: Node, end: int) -> Node:
    return t.less(place, t.const(end, place.shape, place.dtype))


def stack(tensors: Sequence[Tensor], dim: int = 0) -> Tensor:
    """Tensors of one shape along a new dim at position `dim`."""
    parts = _joined(tensors, "stack")
    for x in parts[1:]:
        if x.shape != parts[0].shape:
            raise ValueError(f"stack: shapes {parts[0].shape} and {x.shape} differ; they must be equal")
    dim, ndim = one_int(dim, "stack", "a dim"), parts[0].ndim
    if not -ndim - 1 <= dim <= ndim:
        raise IndexError(f"stack: dim {dim} is outside -{ndim + 1} to {ndim} for shape {parts[0].shape}")
    return cat([x.unsqueeze(dim) for x in parts], dim)
