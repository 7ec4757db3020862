"""Layout as arithmetic: a `View` says where each element of a tensor lies in a flat buffer, without moving
any.

Element (i0, i1, ...) of a view is `source[offset + i0 * strides[0] + i1 * strides[1] + ...]` where `lo <= i <
hi` holds for every dim's (lo, hi) in `mask`, and zero elsewhere. Strides may be 0 (a broadcast) or negative
(a flip). Views are kept in one form: a dim of which only one index is ever read has stride 0, a mask that
hides nothing is None, a view that reads nothing at all is `View(shape, (0, ...), 0, ((0, 0), ...))`. So equal
layouts are mostly equal objects.

Permute, expand, pad, shrink, flip and slicing steps always give a View. A reshape may not: merging dims that
are not laid out one after the other, or splitting a padded dim across the edge of its mask, needs data to
move, and `compose` says None. The frontend then records a lazy copy.

Everything rests on `compose(inner, outer)`: `outer` addresses the cells of `inner` in row-major order, and
the composition addresses inner's source directly. It never divides: it looks at the cell in the corner of
what outer reads and at that cell's neighbours, which determines the only affine map that could be right, and
then checks by ranges that it never leaves a dim of inner.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from math import prod

Ints = tuple[int, ...]
Box = tuple[tuple[int, int], ...]


def row_major(shape: Sequence[int]) -> Ints:
    """Strides of a row-major buffer of this shape, 0 for dims of extent 1: row_major((4, 1, 3)) == (3, 0,
    1)."""
    strides, step = [], 1
    for extent in reversed(shape):
        strides.append(step if extent > 1 else 0)
        step *= extent
    return tuple(reversed(strides))


@dataclass(frozen=True, slots=True)
class View:
    """A layout; build one with `View.contiguous` and the methods below, or with `View.of` from raw
    numbers."""

    shape: Ints
    strides: Ints
    offset: int = 0
    mask: Box | None = None

    @staticmethod
    def contiguous(shape: Sequence[int]) -> View:
        """The row-major layout of a buffer that holds exactly this shape."""
        return _contiguous(tuple(shape))

    @staticmethod
    def of(
        shape: Sequence[int],
        strides: Sequence[int],
        offset: int = 0,
        box: Sequence[tuple[int, int]] | None = None,
    ) -> View:
        """The view of these numbers in the one form that equal layouts share. `box` is clipped to the
        shape."""
        new_strides, new_box = [], []
        for extent, stride, (lo, hi) in zip(shape, strides, box or [(0, n) for n in shape], strict=True):
            lo, hi = max(lo, 0), min(hi, extent)
            if lo >= hi:
                return View(tuple(shape), (0,) * len(shape), 0, ((0, 0),) * len(shape))
            if hi - lo == 1:  # only index lo is ever read
                offset, stride = offset + lo * stride, 0
            new_strides.append(stride)
            new_box.append((lo, hi))
        whole = all(lo == 0 and hi == n for (lo, hi), n in zip(new_box, shape))
        return View(tuple(shape), tuple(new_strides), offset, None if whole else tuple(new_box))

    @property
    def size(self) -> int:
        """The number of elements."""
        return prod(self.shape)

    @property
    def box(self) -> Box:
        """(lo, hi) of each dim: the indices that read the source."""
        return self.mask if self.mask is not None else tuple((0, n) for n in self.shape)

    @property
    def is_empty(self) -> bool:
        """True if no element reads the source: all zeros."""
        return self.mask is not None and any(lo >= hi for lo, hi in self.mask)

    @property
    def is_contiguous(self) -> bool:
        """True if the elements in row-major order are source[0], source[1], ...: a reshape of a buffer, free
        of charge."""
        return self.offset == 0 and self.mask is None and self.strides == row_major(self.shape)

    def where(self, index: Sequence[int]) -> int | None:
        """The position in the source of the element at `index`, or None where the mask makes it zero."""
        if any(not lo <= i < hi for i, (lo, hi) in zip(index, self.box)):
            return None
        return self.offset + sum(i * s for i, s in zip(index, self.strides))

    def positions(self) -> Iterator[int | None]:
        """`where` of every element in row-major order: for tests and small views."""
        return (self.where(index) for index in product(*map(range, self.shape)))

    def reshape(self, shape: Sequence[int]) -> View | None:
        """The same elements in row-major order under another shape of the same size; None if no View can say
        it."""
        return compose(self, View.contiguous(shape))

    def permute(self, axes: Sequence[int]) -> View:
        """Dim k of the result is dim axes[k]."""
        mask = None if self.mask is None else tuple(self.mask[a] for a in axes)
        return View(tuple(self.shape[a] for a in axes), tuple(self.strides[a] for a in axes), self.offset, mask)

    def expand(self, shape: Sequence[int]) -> View:
        """Repeat dims of extent 1 (same rank; the caller has checked that other extents agree)."""
        if self.is_empty:
            return View.of(shape, (0,) * len(shape), 0, [(0, 0)] * len(shape))
        box = [(0, new) if old != new else b for old, new, b in zip(self.shape, shape, self.box)]
        return View.of(shape, self.strides, self.offset, box)

    def pad(self, pads: Sequence[tuple[int, int]]) -> View:
        """Add pads[d] = (before, after) zeros to each dim; counts must not be negative."""
        shape = [n + a + b for n, (a, b) in zip(self.shape, pads)]
        offset = self.offset - sum(a * s for (a, _), s in zip(pads, self.strides))
        return View.of(shape, self.strides, offset, [(lo + a, hi + a) for (lo, hi), (a, _) in zip(self.box, pads)])

    def shrink(self, bounds: Sequence[tuple[int, int]]) -> View:
        """Keep the indices start <= i < stop of each dim, for bounds[d] = (start, stop)."""
        shape = [stop - start for start, stop in bounds]
        offset = self.offset + sum(a * s for (a, _), s in zip(bounds, self.strides))
        return View.of(shape, self.strides, offset, [(lo - a, hi - a) for (lo, hi), (a, _) in zip(self.box, bounds)])

    def flip(self, axes: Sequence[int]) -> View:
        """Reverse the order along these dims."""
        strides, box, offset = list(self.strides), list(self.box), self.offset
        for a in axes:
            n = self.shape[a]
            offset += (n - 1) * strides[a]
            strides[a] = -strides[a]
            box[a] = (n - box[a][1], n - box[a][0])
        return View.of(self.shape, strides, offset, box)

    def every(self, steps: Sequence[int]) -> View:
        """Keep every steps[d]-th index of each dim, counting from 0; steps are positive."""
        shape = [-(-n // k) for n, k in zip(self.shape, steps)]
        box = [(-(-lo // k), -(-hi // k)) for (lo, hi), k in zip(self.box, steps)]
        return View.of(shape, [s * k for s, k in zip(self.strides, steps)], self.offset, box)


@lru_cache(maxsize=4096)
def _contiguous(shape: Ints) -> View:
    return View(shape, row_major(shape))


@lru_cache(maxsize=65536)
def compose(inner: View, outer: View) -> View | None:
    """The view that reads what `outer` reads when outer's source is inner's elements in row-major order; None
    if no View can say it."""
    if inner.is_contiguous:
        return outer
    if outer.is_contiguous and outer.shape == inner.shape:
        return inner
    if inner.is_empty or outer.is_empty:
        return _nothing(outer.shape)

    dims, offset = _merged(inner)
    extents = [dim[0] for dim in dims]
    box = outer.box
    corner = outer.offset + sum(lo * s for (lo, _), s in zip(box, outer.strides))
    origin = _unravel(corner, extents)
    # steps[k][d]: how far index d of inner moves when index k of outer moves by one
    steps = []
    for (lo, hi), stride in zip(box, outer.strides):
        moved = _unravel(corner + stride, extents) if hi - lo > 1 else origin
        steps.append([m - o for m, o in zip(moved, origin)])
    for d, extent in enumerate(extents):
        least, most = _range(origin[d], [t[d] for t in steps], [(0, hi - lo) for lo, hi in box])
        if least < 0 or most >= extent:
            return None  # a carry into the next dim: not affine

    strides = [sum(t * dim[1] for t, dim in zip(step, dims)) for step in steps]
    start = offset + sum(o * dim[1] for o, dim in zip(origin, dims))
    start -= sum(lo * s for (lo, _), s in zip(box, strides))
    tight = list(box)
    conditions: list[Condition] = []
    for d, (extent, _, lo, hi) in enumerate(dims):
        if (lo, hi) != (0, extent):
            base = origin[d] - sum(b[0] * t[d] for b, t in zip(box, steps))
            conditions.append((base, [t[d] for t in steps], lo, hi))
    if not _tighten(tight, conditions):
        return None
    if any(lo >= hi for lo, hi in tight) or not all(_holds(c, tight) for c in conditions):
        return _nothing(outer.shape)
    return View.of(outer.shape, strides, start, tight)


def _nothing(shape: Ints) -> View | None:
    """The view of this shape that reads nothing. A 0-d view has no dim whose mask could say so."""
    return View.of(shape, (0,) * len(shape), 0, [(0, 0)] * len(shape)) if shape else None


def _merged(view: View) -> tuple[list[tuple[int, int, int, int]], int]:
    """The view as few dims as can be, each (extent, stride, lo, hi), with the offset that belongs to them:
    neighbours merge where one stride carries on the other, or where only one index of the outer one is read
    (its stride is then free)."""
    dims: list[tuple[int, int, int, int]] = []
    offset = view.offset
    for extent, stride, (lo, hi) in zip(view.shape, view.strides, view.box):
        if extent == 1:
            continue
        if dims:
            n, s, first, last = dims[-1]
            if last - first == 1:
                offset += first * (s - extent * stride)
                dims[-1] = (n * extent, stride, first * extent + lo, first * extent + hi)
                continue
            if (lo, hi) == (0, extent) and s == stride * extent:
                dims[-1] = (n * extent, stride, first * extent, last * extent)
                continue
        dims.append((extent, stride, lo, hi))
    return dims, offset


def _unravel(position: int, extents: Sequence[int]) -> list[int]:
    """The row-major multi-index of a flat position; the outermost index takes what is left over."""
    index = []
    for extent in reversed(extents[1:]):
        position, here = divmod(position, extent)
        index.append(here)
    return [position, *reversed(index)] if extents else []


def _range(base: int, steps: Sequence[int], box: Sequence[tuple[int, int]]) -> tuple[int, int]:
    """The least and greatest value of base + sum(i * step) for lo <= i < hi."""
    least = most = base
    for step, (lo, hi) in zip(steps, box):
        ends = (step * lo, step * (hi - 1))
        least, most = least + min(ends), most + max(ends)
    return least, most


Condition = tuple[int, list[int], int, int]  # (base, steps, lo, hi): lo <= base + sum(i * step) < hi


def _holds(condition: Condition, box: Sequence[tuple[int, int]]) -> bool:
    base, steps, lo, hi = condition
    least, most = _range(base, steps, box)
    return lo <= least and most < hi


def _never(condition: Condition, box: Sequence[tuple[int, int]]) -> bool:
    base, steps, lo, hi = condition
    least, most = _range(base, steps, box)
    return most < lo or least >= hi


def _tighten(box: list[tuple[int, int]], conditions: Sequence[Condition]) -> bool:
    """Shrink `box` in place to the indices for which each condition lo <= base + sum(i * step) < hi can hold,
    until nothing changes. True if the conditions then hold everywhere in the box, or nowhere, so that a box
    alone is the mask."""
    changed = True
    while changed:
        changed = False
        for base, steps, lo, hi in conditions:
            for k, step in enumerate(steps):
                if step == 0:
                    continue
                others = [b if d != k else (0, 1) for d, b in enumerate(box)]
                least, most = _range(base, steps, others)
                low, high = lo - most, hi - 1 - least  # low <= i * step <= high
                if step < 0:
                    low, high = -high, -low
                first, last = box[k]
                new = (max(first, -(-low // abs(step))), min(last, high // abs(step) + 1))
                if new[0] >= new[1]:
                    box[k] = (first, first)
                    return True
                changed |= new != (first, last)
                box[k] = new
    return all(_holds(c, box) or _never(c, box) for c in conditions)
