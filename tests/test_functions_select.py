"""Elements by int tensors, read and assigned: against torch and numpy, on every device, and what errors say."""

import numpy as np
import pytest
import torch
from against_torch import check
from hypothesis import given
from hypothesis import strategies as st
from many import many_examples

import limn
from limn import Tensor

pytestmark = pytest.mark.usefixtures("device")

RNG = np.random.default_rng(0)
X = RNG.standard_normal((3, 4, 5))
ALONG = RNG.integers(0, 4, (3, 6, 5)).astype(np.int32)
FEW = RNG.integers(0, 5, (2, 3, 7)).astype(np.int32)
ROWS, MORE = np.array([2, 0, 2], np.int32), np.array([[1], [3]], np.int32)


def long(function):
    """A torch function whose index arguments are wanted in int64."""
    return lambda *args: function(*(a.long() if a.dtype == torch.int32 else a for a in args))


CASES = {
    "gather": (lambda x, i: x.gather(1, i), long(lambda x, i: x.gather(1, i)), X, ALONG),
    "gather of less": (lambda x, i: x.gather(-1, i), long(lambda x, i: x.gather(-1, i)), X, FEW),
    "take_along_dim": (lambda x, i: x.take_along_dim(i, 1), long(lambda x, i: torch.take_along_dim(x, i, 1)), X, ALONG),
    "take_along_dim that broadcasts": (
        lambda x, i: x.take_along_dim(i, 1),
        long(lambda x, i: torch.take_along_dim(x, i, 1)),
        X,
        ALONG[:1, :, :1],
    ),
    "take_along_dim of all": (
        lambda x, i: x.take_along_dim(i),
        long(lambda x, i: torch.take_along_dim(x, i)),
        X,
        np.array([3, 59, 3], np.int32),
    ),
    "index_select": (lambda x, i: x.index_select(0, i), long(lambda x, i: x.index_select(0, i)), X, ROWS),
    "index_select inside": (lambda x, i: x.index_select(2, i), long(lambda x, i: x.index_select(2, i)), X, ROWS),
    "index_add": (
        lambda x, i, s: x.index_add(1, i, s) ** 2,
        long(lambda x, i, s: x.index_add(1, i, s) ** 2),
        X,
        ROWS,
        X[:, :3],
    ),
    "index_add of twice": (
        lambda x, i, s: x.index_add(0, i, s, alpha=2),
        long(lambda x, i, s: x.index_add(0, i, s, alpha=2)),
        X,
        ROWS,
        X,
    ),
    "one_hot": (lambda i: i.one_hot(4), long(lambda i: torch.nn.functional.one_hot(i, 4)), ROWS),
    "rows": (lambda x, i: x[i] ** 2, long(lambda x, i: x[i] ** 2), X, ROWS),
    "rows and columns": (lambda x, i: x[i, i] ** 2, long(lambda x, i: x[i, i] ** 2), X, ROWS),
    "indices that broadcast": (lambda x, i, j: x[i, j] ** 2, long(lambda x, i, j: x[i, j] ** 2), X, ROWS, MORE),
    "beside a slice": (lambda x, i: x[:, i] ** 2, long(lambda x, i: x[:, i] ** 2), X, ROWS),
    "after a slice": (lambda x, i: x[1:, i, i] ** 2, long(lambda x, i: x[1:, i, i] ** 2), X, ROWS),
    "around a slice": (lambda x, i: x[i, ::2, i] ** 2, long(lambda x, i: x[i, ::2, i] ** 2), X, ROWS),
    "with dots": (lambda x, i: x[..., i] ** 2, long(lambda x, i: x[..., i] ** 2), X, ROWS),
    "of a computed tensor": (lambda x, i: (x * 2).exp()[i, 1], long(lambda x, i: (x * 2).exp()[i, 1]), X, ROWS),
}


@pytest.mark.many_kernels
def test_values_gradients_and_second_derivatives_in_float64():
    check(CASES)


def test_a_few_of_them_in_float32():
    few = ("gather", "index_add", "rows and columns", "around a slice", "one_hot")
    check({name: CASES[name] for name in few}, np.float32, rtol=1e-6, atol=1e-7, second=False)


KEYS = [
    (ROWS, -1),
    (-1, ROWS),
    (ROWS, slice(None), -1),
    (0, slice(1, 3), ROWS),
    (slice(None, None, -2), MORE, ROWS),
    (None, ROWS, None, MORE),
    (ROWS, None, MORE),
    (Ellipsis, MORE, -ROWS),
    ([0, -1, 1], [[2], [-4]]),
    (np.array(1), ROWS),
    (ROWS, MORE, -ROWS - 1),
    (slice(2, 0, -1), 3, ROWS),
]


@pytest.mark.many_kernels
def test_reads_are_numpys_also_where_an_int_stands_beside_them():
    x = np.arange(60, dtype=np.int32).reshape(3, 4, 5)
    results = [Tensor(x)[key] for key in KEYS]
    limn.realize(*results)
    for key, got in zip(KEYS, results):
        assert np.array_equal(got.numpy(), x[key]), key


@pytest.mark.many_kernels
def test_assignments_are_numpys():
    x = np.arange(60, dtype=np.float32).reshape(3, 4, 5)
    keys = [0, -1, slice(1, None), (slice(None), 2), (Ellipsis, slice(None, None, -2)), (1, 2, 3), None, ..., *KEYS]
    tensors, arrays = [], []
    for k, key in enumerate(keys):
        value = RNG.standard_normal(x[key].shape).astype(np.float32) if k % 2 else -float(k) - 1
        t, a = Tensor(x), x.copy()
        t[key], a[key] = value, value
        tensors.append(t)
        arrays.append(a)
    limn.realize(*tensors)
    for key, got, want in zip(keys, tensors, arrays):
        assert np.array_equal(got.numpy(), want), key


@pytest.mark.many_kernels
def test_an_assignment_is_an_assign():
    x = Tensor([1.0, 2.0, 3.0])
    before = x * 10
    x[1] = 7
    x[0] += 5
    after = x * 10
    assert before.tolist() == [10, 20, 30]
    assert after.tolist() == [60, 70, 30]
    x[1:] = x[:2]
    assert x.tolist() == [6, 6, 7]
    x[[0, 2]] = Tensor([0.5, -0.0])
    assert x.tolist() == [0.5, 6, 0]
    assert np.signbit(x.numpy()[2])
    b = Tensor([True, True, False])
    b[np.array([0, 0, 2])] = Tensor([True, False, True])
    assert b.tolist() == [False, True, True]
    i = Tensor(np.zeros((2, 3), np.int8))
    i[:, 1] = [4, 5]
    assert i.tolist() == [[0, 4, 0], [0, 5, 0]]
    assert i.dtype is limn.int8


@pytest.mark.parametrize("n", [2, 100, 5000])
def test_the_last_of_several_on_one_element_counts(n):
    cells = RNG.integers(0, 40, n).astype(np.int32)
    values = RNG.standard_normal((n, 2)).astype(np.float32)
    want = np.zeros((40, 2), np.float32)
    want[cells] = values
    x = Tensor.zeros(40, 2)
    x[Tensor(cells)] = values
    assert np.array_equal(x.numpy(), want)


def test_a_parameter_can_be_assigned_to_without_a_gradient():
    w = Tensor([1.0, 2.0], requires_grad=True)
    w[0] = 5
    (w * w).sum().backward()
    assert w.tolist() == [5, 2]
    assert w.grad.tolist() == [10, 4]


T = Tensor.zeros(3, 4)
BEYOND = {
    "gather": (lambda: T.gather(1, [[0], [4], [1]]), "row 4 is outside the table, which has rows 0 to 3"),
    "gather below": (lambda: T.gather(0, [[0, -1, 1, 1]]), "row -1 is outside"),
    "take_along_dim": (lambda: T.take_along_dim(Tensor([[4]]), 1), "row 4 is outside the table, which has rows 0 to 3"),
    "index_select": (lambda: T.index_select(0, [3]), "row 3 is outside the table, which has rows 0 to 2"),
    "index_add": (lambda: T.index_add(0, [-1], Tensor.zeros(1, 4)), "row -1 is outside"),
    "one_hot": (lambda: Tensor([0, 5]).one_hot(5), "row 5 is outside the table, which has rows 0 to 4"),
    "x[rows, columns]": (lambda: T[[0, 0], [1, 4]], "row 4 is outside the table, which has rows 0 to 3"),
    "x[rows, columns] below": (lambda: T[[0, -4], [1, 0]], "row -4 is outside the table, which has rows 0 to 2"),
    "x[:, columns]": (lambda: T[:, [4]], "row 4 is outside the table, which has rows 0 to 3"),
}


@pytest.mark.parametrize("name", BEYOND)
def test_an_index_outside_its_dim_is_named_when_the_result_is_computed(name):
    call, text = BEYOND[name]
    result = call()
    with pytest.raises(IndexError, match=text):
        result.realize()


def test_an_assignment_outside_changes_nothing():
    x = Tensor([1.0, 2.0])
    x.realize()
    x[[2]] = 5
    with pytest.raises(IndexError, match="row 2 is outside"):
        x.realize()


WRONG = {
    "mask": (lambda: T[T > 0], IndexError, "row numbers must be ints, got bool_; use where for a mask"),
    "mask of a dim": (lambda: T[:, np.array([True, False, True, True])], IndexError, "use where for a mask"),
    "floats": (lambda: T[[0.5]], IndexError, "row numbers must be ints, got float32; cast it to int32"),
    "shapes of indices": (lambda: T[[0, 1, 2], [0, 1]], IndexError, r"shapes \(3,\) and \(2,\) do not broadcast"),
    "too many": (lambda: T[[0], [0], [0]], IndexError, r"3 indices for shape \(3, 4\)"),
    "int beside rows": (lambda: T[[0], 4], IndexError, r"index 4 is outside dim 1 of shape \(3, 4\)"),
    "gather dims": (lambda: T.gather(0, [0]), ValueError, r"the index has shape \(1,\), the tensor \(3, 4\)"),
    "gather size": (lambda: T.gather(0, [[0] * 5]), ValueError, "no larger in dims other than 0"),
    "along": (lambda: T.take_along_dim([[0, 0]], 0), ValueError, "broadcast in those other than 0"),
    "index_select": (lambda: T.index_select(0, [[0]]), ValueError, "must be a vector"),
    "index_add": (lambda: T.index_add(0, [0], Tensor.zeros(2, 4)), ValueError, r"the source \(1, 4\)"),
    "index_add dtype": (lambda: T.index_add(0, [0], Tensor([[1, 2, 3, 4]])), TypeError, r"use .cast\(float32\)"),
    "one_hot": (lambda: Tensor([1.0]).one_hot(2), TypeError, "positions must be ints, got float32"),
    "classes": (lambda: Tensor([1]).one_hot(0), ValueError, "num_classes is a positive int, got 0"),
    "value shape": (lambda: T.__setitem__(0, [1.0, 2]), ValueError, r"value of shape \(2,\) is assigned .* \(4,\)"),
    "value dtype": (lambda: T.__setitem__(0, Tensor([1])), TypeError, "is float32, the value assigned int32; use"),
    "value range": (lambda: Tensor([1]).__setitem__(0, 2**40), OverflowError, "does not fit int32"),
    "expression": (lambda: (T * 2).__setitem__(0, 1.0), RuntimeError, "is an expression, which has no storage"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_call_says_what_and_how(name):
    call, kind, text = WRONG[name]
    with pytest.raises(kind, match=text):
        call()


def random_key(rng, shape):
    """An index of ints, slices, None and int arrays that broadcast."""
    lead = tuple(int(n) for n in rng.integers(1, 4, rng.integers(0, 3)))
    key = []
    for n in shape[: rng.integers(1, len(shape) + 1)]:
        kind = rng.integers(0, 5)
        if kind == 0:
            key.append(int(rng.integers(-n, n)))
        elif kind == 1:
            a, b = sorted(int(k) for k in rng.choice(n + 1, 2, replace=False))
            step = int(rng.integers(1, 3))
            key.append(slice(a, b, step) if rng.random() < 0.5 else slice(b - 1, a - 1 if a else None, -step))
        else:
            own = tuple(1 if rng.random() < 0.3 else m for m in lead[rng.integers(0, len(lead) + 1) :])
            key.append(rng.integers(-n, n, own).astype(np.int32))
        if rng.random() < 0.15:
            key.append(None)
    if rng.random() < 0.2:
        key.append(Ellipsis)
    return tuple(key)


@pytest.mark.parametrize("device", ["numpy"], indirect=True)  # each would compile
@many_examples
@given(shape=st.lists(st.integers(1, 4), min_size=1, max_size=4), seed=st.integers(0, 2**32 - 1))
def test_many_reads_and_assignments_against_numpy(shape, seed):
    rng = np.random.default_rng(seed)
    x = rng.integers(-99, 99, shape).astype(np.int32)
    key = random_key(rng, shape)
    want = x[key]
    value = rng.integers(-99, 99, want.shape).astype(np.int32)
    got, t, a = Tensor(x)[key], Tensor(x), x.copy()
    t[key], a[key] = value, value
    limn.realize(got, t)
    assert got.shape == want.shape, key
    assert np.array_equal(got.numpy(), want), key
    assert np.array_equal(t.numpy(), a), key


def test_an_ellipsis_for_no_dim_keeps_index_tensors_apart():
    array = np.arange(24.0).reshape(2, 4, 3)
    rows = [0, -2, 1]
    for key in (
        (slice(None), rows, ..., 0),
        (slice(None), rows, ..., rows),
        (..., 1, rows, slice(None)),
        (0, ..., rows, rows),
    ):
        x, want = Tensor(array), array.copy()
        assert np.array_equal(x[key].numpy(), array[key])
        x[key] = 50.0
        want[key] = 50.0
        assert np.array_equal(x.numpy(), want)
