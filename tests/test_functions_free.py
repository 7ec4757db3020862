"""limn.X is the method X, with torch's name."""

import subprocess
import sys

import numpy as np
import torch

import limn
from limn import Tensor
from limn.functions import free


def test_each_has_torchs_name_and_a_docstring():
    for name in free.__all__:
        assert hasattr(torch, name) or hasattr(torch.nn.functional, name), name
        assert getattr(limn, name).__doc__, name


def test_they_take_tensors_arrays_and_numbers():
    x = np.array([[1.0, -2.0], [3.0, 0.5]])
    assert np.array_equal(limn.abs(x).numpy(), np.abs(x))
    assert limn.max(x).item() == 3
    assert np.array_equal(limn.where(x > 0, x, 0).numpy(), np.where(x > 0, x, 0))
    assert limn.sum(Tensor(x), dim=0).tolist() == [4, -1.5]
    assert limn.zeros(2, 3).shape == limn.full((2, 3), 1.0).shape == (2, 3)
    assert limn.round(2.5).item() == 2
    assert limn.einsum("ij->j", Tensor(x)).tolist() == [4, -1.5]


def test_a_star_import_leaves_pythons_names_alone():
    code = "from limn import *; assert max([1, 2]) == 2 and abs(-1) == 1 and 'cat' not in dir()"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_importing_them_is_quick_and_imports_nothing_new():
    code = (
        "import sys, limn.trace, limn.random, limn.runtime; before = set(sys.modules); import limn; "
        "new = {m.split('.')[0] for m in set(sys.modules) - before}; assert new <= {'limn'}, new"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_arguments_have_torchs_names():
    array = np.arange(24, dtype=np.float32).reshape(2, 3, 4) % 7
    calls = [
        lambda L, x: x.flip(dims=(0, 2)),
        lambda L, x: L.permute(x, dims=(2, 0, 1)),
        lambda L, x: L.movedim(x, (0, 1), (-1, 0)),
        lambda L, x: x.movedim([0], [2]),
        lambda L, x: x.split(split_size=2, dim=1)[1],
        lambda L, x: x.var(dim=1, unbiased=False),
        lambda L, x: x.std(unbiased=True),
        lambda L, x: x.var(1, False, True),
        lambda L, x: x.std(False),
        lambda L, x: x.norm("fro"),
        lambda L, x: x.argsort(dim=-1, descending=True, stable=True),
        lambda L, x: x.sort(dim=1, stable=True).values,
        lambda L, x: x.sort(dim=1, stable=True).indices,
        lambda L, x: L.topk(x, k=2, dim=-1).values,
        lambda L, x: L.zeros(size=(2, 3)) + L.ones(size=(3,)),
        lambda L, x: L.full(size=(2,), fill_value=3.0),
        lambda L, x: L.full_like(x, fill_value=2.5),
        lambda L, x: L.arange(start=1, end=7, step=2),
        lambda L, x: L.linspace(start=0, end=1, steps=3),
        lambda L, x: 0 * (L.rand(size=(2, 3)) + L.randn(size=(3,))),
        lambda L, x: 0 * L.randint(high=5, size=(2,)),
        lambda L, x: 0 * (L.randn_like(x) + L.randint_like(x, 5)),
    ]
    for number, call in enumerate(calls):
        got, want = call(limn, Tensor(array)).numpy(), call(torch, torch.tensor(array)).numpy()
        assert got.shape == want.shape, number
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6, err_msg=str(number))
