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
