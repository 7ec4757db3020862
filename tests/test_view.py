"""The view algebra against numpy, by chains of movements on an array whose elements are their own positions
plus one."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from many import many_examples

from limn.view import View, compose, row_major


def read(view: View, source: np.ndarray) -> np.ndarray:
    """The array that the view shows, element by element."""
    flat = source.reshape(-1)
    cells = [0 if p is None else flat[p] for p in view.positions()]
    return np.array(cells, source.dtype).reshape(view.shape)


def numbered(shape) -> np.ndarray:
    return np.arange(1, np.prod(shape, dtype=int) + 1).reshape(shape)


def factorings(size: int):
    """Shapes of this size, of up to four dims."""
    shapes = [(size,)]
    for a in range(1, size + 1):
        if size % a == 0:
            shapes += [(a, size // a)]
            shapes += [(a, b, size // a // b) for b in range(1, size // a + 1) if size // a % b == 0]
    return shapes


@st.composite
def movement(draw, view: View, array: np.ndarray):
    """One random movement applied to a view and to the array it stands for; the view is None where it does
    not compose."""
    kind = draw(st.sampled_from(["reshape", "reshape", "permute", "pad", "shrink", "flip", "every", "expand"]))
    shape = array.shape
    if kind == "reshape":
        new = draw(st.sampled_from(factorings(array.size)))
        return view.reshape(new), array.reshape(new)
    if kind == "permute":
        axes = draw(st.permutations(range(len(shape))))
        return view.permute(axes), array.transpose(axes)
    if kind == "pad" and array.size < 60:
        pads = [(draw(st.integers(0, 2)), draw(st.integers(0, 2))) for _ in shape]
        return view.pad(pads), np.pad(array, pads) if shape else array
    if kind == "shrink":
        starts = [draw(st.integers(0, n - 1)) for n in shape]
        bounds = [(a, draw(st.integers(a + 1, n))) for a, n in zip(starts, shape)]
        return view.shrink(bounds), array[tuple(slice(a, b) for a, b in bounds)]
    if kind == "flip":
        axes = [d for d in range(len(shape)) if draw(st.booleans())]
        return view.flip(axes), np.flip(array, axes)
    if kind == "every":
        steps = [draw(st.integers(1, 3)) for _ in shape]
        return view.every(steps), array[tuple(slice(None, None, k) for k in steps)]
    if kind == "expand" and array.size < 60:
        new = tuple(draw(st.integers(1, 3)) if n == 1 else n for n in shape)
        return view.expand(new), np.broadcast_to(array, new)
    return view, array


def check_chain(data):
    """A chain of movements reads what numpy reads."""
    array = numbered(data.draw(st.sampled_from([(), (1,), (6,), (2, 3), (4, 1, 3), (2, 3, 4), (3, 2, 2, 2)])))
    base, view = array, View.contiguous(array.shape)
    for _ in range(data.draw(st.integers(1, 7))):
        moved, after = data.draw(movement(view, array))
        if moved is None:  # what does not compose is copied: the array becomes a new source
            np.testing.assert_array_equal(read(view, base), array)
            base, view, array = after, View.contiguous(after.shape), after
            continue
        view, array = moved, after
        assert view.shape == array.shape
    np.testing.assert_array_equal(read(view, base), array)


def check_compose(data):
    """A composed view reads what two reads give: of any two views, not only those that movements make, overlapping,
    repeating, wildly masked."""

    def any_view(size):
        shape = tuple(data.draw(st.lists(st.integers(1, 4), max_size=3)))
        strides = [data.draw(st.integers(-5, 7)) for _ in shape]
        box = []
        for n in shape:
            lo = data.draw(st.integers(0, n))
            box.append((lo, data.draw(st.integers(lo, n))))
        least = sum(min(s * lo, s * (hi - 1)) for s, (lo, hi) in zip(strides, box))
        most = sum(max(s * lo, s * (hi - 1)) for s, (lo, hi) in zip(strides, box))
        if most - least >= size:
            return View.contiguous((size,))
        offset = data.draw(st.integers(-least, size - 1 - most))
        return View.of(shape, strides, offset, box)

    inner = any_view(30)
    outer = any_view(inner.size)
    both = compose(inner, outer)
    if both is not None:
        source = numbered((30,))
        np.testing.assert_array_equal(read(both, source), read(outer, read(inner, source)))


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_chains_of_movements_read_what_numpy_reads(data):
    check_chain(data)


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_compose_equals_reading_twice(data):
    check_compose(data)


@many_examples
@given(st.data())
def test_many_chains_of_movements(data):
    check_chain(data)


@many_examples
@given(st.data())
def test_many_composed_views(data):
    check_compose(data)


@pytest.mark.parametrize(
    "shape, moves",
    [
        ((4, 5), [("permute", (1, 0)), ("permute", (1, 0))]),
        ((4, 6), [("reshape", (2, 2, 6)), ("reshape", (24,)), ("reshape", (3, 8))]),
        ((4, 6), [("pad", ((1, 1), (0, 0))), ("reshape", (36,)), ("reshape", (6, 3, 2))]),
        ((4, 6), [("pad", ((2, 2), (0, 0))), ("reshape", (4, 2, 6))]),  # split along the edge of the mask
        ((3, 4, 5), [("permute", (1, 0, 2)), ("reshape", (4, 15 // 5, 5))]),
        ((2, 3, 4), [("permute", (2, 0, 1)), ("reshape", (4, 6))]),
        ((5, 1), [("expand", (5, 6)), ("reshape", (5, 2, 3))]),
        ((6,), [("flip", (0,)), ("reshape", (2, 3))]),
        ((6, 5), [("shrink", ((2, 3), (1, 4))), ("reshape", (3,))]),
    ],
)
def test_these_chains_stay_one_view(shape, moves):
    view, array = View.contiguous(shape), numbered(shape)
    numpys = {
        "permute": np.transpose,
        "reshape": np.reshape,
        "pad": np.pad,
        "expand": np.broadcast_to,
        "flip": np.flip,
        "shrink": lambda a, bounds: a[tuple(slice(*b) for b in bounds)],
    }
    for name, argument in moves:
        view, array = getattr(view, name)(argument), numpys[name](array, argument)
        assert view is not None, f"{name}{argument} on {shape} needs no copy"
    np.testing.assert_array_equal(read(view, numbered(shape)), array)


@pytest.mark.parametrize(
    "shape, moves",
    [
        ((2, 5), [("permute", (1, 0)), ("reshape", (10,))]),
        ((3, 5), [("pad", ((2, 1), (0, 0))), ("reshape", (2, 3, 5))]),
        ((3, 5), [("pad", ((0, 0), (1, 0))), ("reshape", (18,))]),
        ((2, 3), [("expand", (2, 3)), ("shrink", ((0, 2), (0, 2))), ("reshape", (4,))]),
    ],
)
def test_these_chains_need_a_copy(shape, moves):
    view = View.contiguous(shape)
    for name, argument in moves[:-1]:
        view = getattr(view, name)(argument)
    assert view.reshape(moves[-1][1]) is None


def test_equal_layouts_are_equal_views():
    view = View.contiguous((4, 1, 3))
    assert view.strides == row_major((4, 1, 3)) == (3, 0, 1)
    assert view.permute((2, 0, 1)).permute((1, 2, 0)) == view
    assert view.pad(((1, 0), (0, 0), (2, 1))).shrink(((1, 5), (0, 1), (2, 5))) == view
    assert view.flip((0, 2)).flip((0, 2)) == view
    nothing = view.pad(((3, 0), (0, 0), (0, 0))).shrink(((0, 2), (0, 1), (0, 3)))
    assert nothing.is_empty and nothing.strides == (0, 0, 0)


def test_a_pad_reads_before_the_source_only_where_the_mask_hides_it():
    view = View.contiguous((3,)).pad(((2, 1),))
    assert view.offset == -2
    assert list(view.positions()) == [None, None, 0, 1, 2, None]


def test_contiguous_means_the_bytes_as_they_are():
    assert View.contiguous((2, 3)).is_contiguous
    assert View.contiguous((2, 3)).reshape((3, 2)).is_contiguous
    assert View.contiguous((1, 3)).permute((1, 0)).is_contiguous  # a dim of extent 1 may stand anywhere
    assert not View.contiguous((2, 3)).permute((1, 0)).is_contiguous
    assert not View.contiguous((4,)).shrink(((1, 3),)).is_contiguous
