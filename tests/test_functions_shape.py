"""Joining, cutting, rearranging, making: against torch, on every device, and what errors say."""

import numpy as np
import pytest
import torch
from against_torch import check
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes

import limn
from limn import Tensor

pytestmark = pytest.mark.usefixtures("device")

RNG = np.random.default_rng(0)
X, Y = RNG.standard_normal((2, 3, 4)), RNG.standard_normal((2, 5, 4))
M = RNG.standard_normal((4, 5))
N, B = np.arange(24, dtype=np.int32).reshape(2, 3, 4), X > 0


def squares(pieces):
    return tuple((k + 1) * p * p for k, p in enumerate(pieces))


CASES = {
    "cat": (lambda x, y: limn.cat([x, y, x], 1) ** 2, lambda x, y: torch.cat([x, y, x], 1) ** 2, X, Y),
    "cat at the end": (lambda x: limn.cat((x, x * 2), -1), lambda x: torch.cat((x, x * 2), -1), X),
    "cat of one": (lambda x: limn.cat([x]), lambda x: torch.cat([x]), X),
    "cat of dtypes": (lambda x, i: limn.cat([x, i]), lambda x, i: torch.cat([x, i]), X, N),
    "cat of bools": (lambda b: limn.cat([b, ~b]), lambda b: torch.cat([b, ~b]), B),
    "cat of computed parts": (
        lambda x, y: limn.cat([x.exp(), y.sum(1, keepdim=True)], 1),
        lambda x, y: torch.cat([x.exp(), y.sum(1, keepdim=True)], 1),
        X,
        Y,
    ),
    "stack": (lambda x: limn.stack([x, x * x], 1), lambda x: torch.stack([x, x * x], 1), X),
    "stack at the end": (lambda x: limn.stack([x, x * x], -1), lambda x: torch.stack([x, x * x], -1), X),
    "split": (lambda x: squares(x.split(2, 1)), lambda x: squares(x.split(2, 1)), X),
    "split in sizes": (lambda x: squares(x.split([1, 3], -1)), lambda x: squares(x.split([1, 3], -1)), X),
    "chunk": (lambda x: squares(x.chunk(3, 2)), lambda x: squares(x.chunk(3, 2)), X),
    "chunk in more than there are": (lambda x: squares(x.chunk(7, 1)), lambda x: squares(x.chunk(7, 1)), X),
    "squeeze": (lambda x: x[:, :1].squeeze(), lambda x: x[:, :1].squeeze(), X),
    "squeeze a dim": (lambda x: x[:, :1].squeeze(1), lambda x: x[:, :1].squeeze(1), X),
    "squeeze dims": (lambda x: x[:1, :1].squeeze((0, -1)), lambda x: x[:1, :1].squeeze((0, -1)), X),
    "unsqueeze": (
        lambda x: x.unsqueeze(-1) * x.unsqueeze(0).mT[..., :1, :].mT,
        lambda x: x.unsqueeze(-1) * x.unsqueeze(0).mT[..., :1, :].mT,
        X[:1, :1, :1],
    ),
    "flatten": (lambda x: x.flatten(1) ** 2, lambda x: x.flatten(1) ** 2, X),
    "flatten the middle": (lambda x: x.flatten(-3, 1), lambda x: x.flatten(-3, 1), X),
    "unflatten": (lambda x: x.unflatten(2, (2, -1)) ** 2, lambda x: x.unflatten(2, (2, -1)) ** 2, X),
    "expand_as": (lambda x, y: x[:, :1].expand_as(y) * y, lambda x, y: x[:, :1].expand_as(y) * y, X, Y),
    "repeat": (lambda x: x.repeat(2, 1, 3) ** 2, lambda x: x.repeat(2, 1, 3) ** 2, X),
    "repeat with more dims": (lambda x: x.repeat((2, 1, 2, 1)), lambda x: x.repeat((2, 1, 2, 1)), X),
    "roll": (lambda x: x.roll(2, 1) * x, lambda x: x.roll(2, 1) * x, X),
    "roll back": (lambda x: x.roll(-7, -1) * x, lambda x: x.roll(-7, -1) * x, X),
    "roll all": (lambda x: x.roll(5) * x, lambda x: x.roll(5) * x, X),
    "roll dims": (lambda x: x.roll((1, -1), (0, 2)) * x, lambda x: x.roll((1, -1), (0, 2)) * x, X),
    "flip": (lambda x: x.flip(0, -1) * x, lambda x: x.flip(0, -1) * x, X),
    "movedim": (lambda x: x.movedim(0, -1) ** 2, lambda x: x.movedim(0, -1) ** 2, X),
    "tril": (lambda x: x.tril() ** 2, lambda x: x.tril() ** 2, M),
    "tril above": (lambda x: x.tril(2), lambda x: x.tril(2), M),
    "triu below": (lambda x: x.triu(-1), lambda x: x.triu(-1), X),
    "triu of ints": (lambda i: i.triu(1), lambda i: i.triu(1), N),
    "clone": (lambda x: x.clone() * x, lambda x: x.clone() * x, X),
    "zeros_like": (lambda x: x.zeros_like() + x, lambda x: torch.zeros_like(x) + x, X),
    "ones_like": (lambda i: i.ones_like(), torch.ones_like, N),
    "full_like": (lambda x: x.full_like(2.5), lambda x: torch.full_like(x, 2.5), X),
    "eye": (lambda x: limn.eye(4, dtype="float64") @ x, lambda x: torch.eye(4, dtype=torch.float64) @ x, M),
    "wide eye": (lambda x: limn.eye(3, 5).cast("float64") * x, lambda x: torch.eye(3, 5) * x, M[:3]),
}


@pytest.mark.many_kernels
def test_values_gradients_and_second_derivatives_in_float64():
    check(CASES)


def test_a_few_of_them_in_float32():
    few = ("cat", "stack", "split", "roll dims", "repeat", "tril", "triu of ints", "cat of bools")
    check({name: CASES[name] for name in few}, np.float32, rtol=1e-6, atol=1e-7, second=False)


def test_what_moves_costs_nothing_where_a_view_can_say_it():
    x = Tensor(X)
    for y in (*x.split(2, 1), *x.chunk(2, 0), x.unflatten(2, (2, 2)), x.movedim(0, 2), x.squeeze(), x.unsqueeze(1)):
        assert limn.ir(y.exp(), stage="schedule").count("launch") == 1
    assert limn.ir(limn.cat([x, x + 1, x * 2], 1).exp().sum(), stage="schedule").count("launch") <= 4


def test_signs_of_zero_and_nan_stay_in_a_join():
    x = Tensor([-0.0, float("nan"), float("inf")])
    got = limn.cat([x, Tensor([0.0]), x]).numpy()
    assert np.signbit(got).tolist()[0::4] == [True, True]
    assert np.isnan(got).tolist() == [False, True, False, False, False, True, False]


def test_linspace():
    for start, end, steps in ((0, 1, 5), (-3, 7, 11), (2, -2, 4), (5, 6, 1)):
        want = torch.linspace(start, end, steps, dtype=torch.float64).numpy()
        np.testing.assert_allclose(limn.linspace(start, end, steps, dtype="float64").numpy(), want, rtol=1e-15)
        assert limn.linspace(start, end, steps).dtype is limn.float32


def test_siblings_keep_dtype_and_take_another():
    x = Tensor(X.astype(np.float16))
    assert x.zeros_like().dtype is limn.float16
    assert x.ones_like(dtype="int8").dtype is limn.int8
    assert limn.full_like(x, 3).tolist()[0][0] == [3.0] * 4
    assert x.zeros_like(dtype="float32", requires_grad=True).requires_grad


V = Tensor.zeros(2, 3)
WRONG = {
    "cat of nothing": (lambda: limn.cat([]), TypeError, "cat: takes a list or tuple of tensors, got"),
    "cat of numbers": (lambda: limn.cat([1, 2]), TypeError, "takes a list or tuple of tensors"),
    "cat of shapes": (lambda: limn.cat([V, Tensor.zeros(3, 3)], 1), ValueError, r"\(2, 3\) and \(3, 3\) do not fit"),
    "cat of 0-d": (lambda: limn.cat([Tensor(1.0)]), ValueError, "use stack"),
    "cat dim": (lambda: limn.cat([V], 2), IndexError, r"cat: dim 2 is outside shape \(2, 3\)"),
    "stack of shapes": (lambda: limn.stack([V, V.T]), ValueError, r"\(2, 3\) and \(3, 2\) differ"),
    "split of 0": (lambda: V.split(0), ValueError, "pieces of 0 elements"),
    "split sizes": (lambda: V.split([1, 1], 1), ValueError, r"sizes \(1, 1\) do not cut dim 1 of shape \(2, 3\)"),
    "chunks": (lambda: V.chunk(0), ValueError, "positive int, got 0"),
    "unflatten": (lambda: V.unflatten(1, (2, 2)), ValueError, r"has 3 elements, which do not fit \(2, 2\)"),
    "flatten": (lambda: V.flatten(1, 0), ValueError, "start_dim 1 comes after end_dim 0"),
    "unsqueeze": (lambda: V.unsqueeze(4), IndexError, "dim 4 is outside -3 to 2"),
    "repeat": (lambda: V.repeat(2), ValueError, r"sizes \(2,\) for shape \(2, 3\)"),
    "repeat 0": (lambda: V.repeat(0, 1), ValueError, "positive int for each dim"),
    "roll": (lambda: V.roll((1, 2), 0), ValueError, "2 shifts for 1 dims"),
    "tril": (lambda: Tensor([1.0]).tril(), ValueError, r"tril: shape \(1,\) has no matrices"),
    "eye": (lambda: limn.eye(0), ValueError, "tensors are never empty"),
    "linspace": (lambda: limn.linspace(0, 1, 0), ValueError, "tensors are never empty"),
    "full_like": (lambda: Tensor([1]).full_like(2**40), OverflowError, "does not fit int32"),
    "empty lists": (lambda: Tensor([]), ValueError, "at least one element"),
    "empty zeros": (lambda: Tensor.zeros(2, 0), ValueError, r"positive ints, got \(2, 0\); tensors are never empty"),
    "empty range": (lambda: Tensor.arange(3, 3), ValueError, "from 3 to 3 in steps of 1 there is nothing"),
    "empty slice": (lambda: V[:, 3:], IndexError, "selects nothing of dim 1"),
    "empty rows": (lambda: V[np.zeros(0, np.int32)], ValueError, "at least one element"),
    "empty shrink": (lambda: V.shrink([(0, 2), (1, 1)]), ValueError, "leave nothing"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_call_says_what_and_how(name):
    call, kind, text = WRONG[name]
    with pytest.raises(kind, match=text):
        call()


@pytest.mark.full
@pytest.mark.many_kernels
@given(shape=array_shapes(min_dims=1, max_dims=4, max_side=5), seed=st.integers(0, 2**32 - 1))
@settings(max_examples=8, deadline=None)
def test_shapes_of_any_rank(shape, seed):
    rng = np.random.default_rng(seed)
    dim = int(rng.integers(-len(shape), len(shape)))
    n = shape[dim]
    x, y = (
        rng.standard_normal(shape),
        rng.standard_normal([7 if d == dim % len(shape) else m for d, m in enumerate(shape)]),
    )
    size, shift, times = (
        int(rng.integers(1, n + 1)),
        int(rng.integers(-9, 9)),
        [int(k) for k in rng.integers(1, 4, len(shape))],
    )
    check(
        {
            "cat": (lambda x, y: limn.cat([x, y, x], dim), lambda x, y: torch.cat([x, y, x], dim), x, y),
            "stack": (lambda x: limn.stack([x, x * 2], dim), lambda x: torch.stack([x, x * 2], dim), x),
            "split": (lambda x: squares(x.split(size, dim)), lambda x: squares(x.split(size, dim)), x),
            "chunk": (lambda x: squares(x.chunk(size, dim)), lambda x: squares(x.chunk(size, dim)), x),
            "roll": (lambda x: x.roll(shift, dim) * x, lambda x: x.roll(shift, dim) * x, x),
            "repeat": (lambda x: x.repeat(times) ** 2, lambda x: x.repeat(times) ** 2, x),
            "flip": (lambda x: x.flip(dim) * x, lambda x: x.flip(dim) * x, x),
            "squeeze": (lambda x: x.squeeze(dim) ** 2, lambda x: x.squeeze(dim) ** 2, x),
            "unsqueeze": (lambda x: x.unsqueeze(dim) ** 2, lambda x: x.unsqueeze(dim) ** 2, x),
        },
        second=False,
    )
