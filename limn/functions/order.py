"""Positions and order along a dim: argmax, sort, topk, cumsum. Indices are int32.

Order of floats as torch has it: NaN counts as the largest; of equal ones the first comes first.

A sort is composed: an element's place is the number of elements that come before it, which one kernel counts from all
pairs without storing them. That is n * n comparisons along a dim of n elements, fast for the hundreds and thousands
of a vocabulary or a batch; the numpy device holds the n * n flags of a row.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from limn import trace as t
from limn.dtypes import bool_, int32
from limn.functions.pieces import iota, mirror, not_, ordered, same, sum_dtype
from limn.functions.shape import cat
from limn.trace import Node, no_grad

if TYPE_CHECKING:
    from limn.tensor import Tensor

BLOCK = 32  # elements that cumsum adds up by one triangle of comparisons


class ValuesAndIndices(NamedTuple):
    """A pair whose parts have torch's names too: `x.sort().values`."""

    values: Tensor
    indices: Tensor


class Order:
    """Methods that compare the elements along a dim."""

    __slots__ = ()

    def argmax(self, dim: int | None = None, keepdim: bool = False) -> Tensor:
        """The position of the largest element along `dim`, or in row-major order of all; of equal ones the first, of
        NaN the first NaN. int32, no gradient."""
        return self._extreme(self._node, dim, keepdim, "argmax")

    def argmin(self, dim: int | None = None, keepdim: bool = False) -> Tensor:
        """The position of the smallest element along `dim`, or in row-major order of all; of equal ones the first, of
        NaN the first NaN. int32, no gradient."""
        return self._extreme(mirror(self._node), dim, keepdim, "argmin")

    def _extreme(self, node: Node, dim: int | None, keepdim: bool, name: str) -> Tensor:
        if dim is None:
            found = self._of(_first_largest(t.reshape(node, [self.size]), 0))
            return found.reshape([1] * self.ndim if keepdim else [])
        axes = self._line(dim, name)
        return self._reduced(_first_largest(node, axes[0]), axes, keepdim) if axes else self._of(t.const(0, (), int32))

    def max_with_indices(self, dim: int, keepdim: bool = False) -> ValuesAndIndices:
        """(values, indices) of the largest elements along `dim`, torch's max(dim): the gradient goes to the element at
        the index, also where others are equal."""
        return self._picked(self._node, dim, keepdim, "max_with_indices")

    def min_with_indices(self, dim: int, keepdim: bool = False) -> ValuesAndIndices:
        """(values, indices) of the smallest elements along `dim`, torch's min(dim): the gradient goes to the element
        at the index, also where others are equal."""
        return self._picked(mirror(self._node), dim, keepdim, "min_with_indices")

    def _picked(self, node: Node, dim: int, keepdim: bool, name: str) -> ValuesAndIndices:
        if not self.ndim:
            self._line(dim, name)
            return ValuesAndIndices(self, self._of(t.const(0, (), int32)))
        at, x = self._dim(dim, name), self._node
        with no_grad():
            index = _first_largest(node, at)
            best = t.largest(node, [at])
            value = best if node is x else mirror(best)

        def rule(y: Node, g: Node) -> list[Node]:
            here = same(iota(x.shape, at), t.expand(index, x.shape))
            return [t.where(here, t.expand(g, x.shape), t.const(0, x.shape, x.dtype))]

        values = t.with_rule(value, (x,), rule)
        return ValuesAndIndices(self._reduced(values, [at], keepdim), self._reduced(index, [at], keepdim))

    def argsort(self, dim: int = -1, descending: bool = False, stable: bool = True) -> Tensor:
        """The positions along `dim` in ascending order of the elements there; stable, whatever `stable` says. int32."""
        return self.sort(dim, descending)[1]

    def sort(self, dim: int = -1, descending: bool = False, stable: bool = True) -> ValuesAndIndices:
        """(values, indices) in ascending or descending order along `dim`, NaN as the largest; of equal ones the first
        comes first, whatever `stable` says. n * n comparisons for n elements; gradients go through the values."""
        axes = self._line(dim, "sort")
        if not axes:
            return ValuesAndIndices(self, self._of(t.const(0, (), int32)))
        [at] = axes
        lines = self.movedim(at, -1)
        shape, n = lines.shape, self.shape[at]
        flat = lines.reshape(-1, n)
        with no_grad():
            index = _sorted_positions(flat._node, descending)
        start = t.mul(iota(flat.shape, 0), t.const(n, flat.shape, int32))
        values = t.gather(flat.reshape(-1)._node, t.add(start, index))
        return ValuesAndIndices(*(self._of(t.reshape(node, shape)).movedim(-1, at) for node in (values, index)))

    def topk(self, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> ValuesAndIndices:
        """(values, indices) of the k largest or smallest elements along `dim`, in order whatever `sorted` says; of
        equal ones the first. As `sort`, of which it keeps the first k."""
        axes = self._line(dim, "topk")
        n = self.shape[axes[0]] if axes else 1
        if not isinstance(k, int | np.integer) or isinstance(k, bool) or not 1 <= k <= n:
            raise ValueError(f"topk: k is {k!r}, dim {dim} of shape {self.shape} has {n} elements; k must be 1 to {n}")
        values, indices = self.sort(dim, descending=largest)
        bounds = [(0, int(k) if d in axes else extent) for d, extent in enumerate(self.shape)]
        return ValuesAndIndices(values.shrink(bounds), indices.shrink(bounds))

    def cumsum(self, dim: int) -> Tensor:
        """The sums of the elements along `dim` up to and with each. bool and narrow ints are counted in int32, which
        wraps; halves total in float32 and round once.

        Within blocks of 32 by a triangle of selections, then over the blocks: about 33 additions an element.
        """
        axes = self._line(dim, "cumsum")
        wide = self.cast(sum_dtype(self.dtype))
        total = _running(wide.movedim(axes[0], -1)).movedim(-1, axes[0]) if axes else wide
        return total.cast(self.dtype) if self.dtype.is_half else total


def _first_largest(x: Node, at: int) -> Node:
    """The position along `at` of the first largest element, or the first NaN; the dim stays with extent 1."""
    with no_grad():
        best = t.expand(t.largest(x, [at]), x.shape)
        hit = not_(t.less(x, best))
        if x.dtype.is_float:  # where the largest is NaN, nothing is less
            hit = t.where(ordered(best), hit, not_(ordered(x)))
        elif x.dtype is bool_:
            hit = t.where(best, x, t.const(True, x.shape, bool_))
        n = x.shape[at]
        back = t.add(t.const(n - 1, x.shape, int32), t.neg(iota(x.shape, at)))  # the first has the greatest number
        found = t.largest(t.where(hit, back, t.const(-1, x.shape, int32)), [at])
        return t.add(t.const(n - 1, found.shape, int32), t.neg(found))


def _sorted_positions(x: Node, descending: bool) -> Node:
    """For each line of x (r, n) the positions in order."""
    r, n = x.shape
    if x.dtype is bool_:
        x = t.cast(x, int32)
    if x.realized is None:
        x = t.contiguous(x)  # each element is read n times
    every = (r, n, n)
    mine = t.expand(t.reshape(x, [r, n, 1]), every)
    other = t.expand(t.reshape(x, [r, 1, n]), every)
    if descending:
        mine, other = other, mine
    if x.dtype.is_float:
        a, b = ordered(mine), ordered(other)
        true, false = t.const(True, every, bool_), t.const(False, every, bool_)
        other_first = t.where(t.less(other, mine), true, t.where(a, false, b))
        mine_first = t.where(t.less(mine, other), true, t.where(b, false, a))
    else:
        other_first, mine_first = t.less(other, mine), t.less(mine, other)
    earlier = t.less(iota(every, 2), iota(every, 1))
    before = t.where(
        other_first, t.const(True, every, bool_), t.where(mine_first, t.const(False, every, bool_), earlier)
    )
    place = t.reshape(t.total(t.cast(before, int32), [2]), [r, n])
    cell = t.add(place, t.mul(iota((r, n), 0), t.const(n, (r, n), int32)))
    return t.reshape(t.scatter(iota((r, n), 1), cell, r * n), [r, n])


def _running(x: Tensor) -> Tensor:
    """Running sums along the last dim."""
    n = x.shape[-1]
    if n <= BLOCK:
        return _triangle(x)
    whole = n // BLOCK * BLOCK
    lead = [(0, extent) for extent in x.shape[:-1]]
    blocks = x.shrink([*lead, (0, whole)]).unflatten(-1, (whole // BLOCK, BLOCK))
    inner = _triangle(blocks)
    ends = _running(blocks.sum(-1))  # of each block, with all before it
    if whole // BLOCK > 1:
        starts = ends.shrink([*lead, (0, whole // BLOCK - 1)]).pad([*[(0, 0)] * len(lead), (1, 0)])
        inner = inner + starts.unsqueeze(-1)
    sums = inner.flatten(-2)
    if whole == n:
        return sums
    last = ends.shrink([*lead, (whole // BLOCK - 1, whole // BLOCK)])
    return cat([sums, _triangle(x.shrink([*lead, (whole, n)])) + last], x.ndim - 1)


def _triangle(x: Tensor) -> Tensor:
    """Running sums along the last dim, each as a sum of its own over what is not after it."""
    n = x.shape[-1]
    every = (*x.shape, n)
    here, until = iota(every, x.ndim), iota(every, x.ndim - 1)
    terms = t.expand(t.reshape(x._node, [*x.shape[:-1], 1, n]), every)
    kept = t.where(t.less(until, here), t.const(0, every, x.dtype), terms)
    return x._of(t.reshape(t.total(kept, [x.ndim]), x.shape))
