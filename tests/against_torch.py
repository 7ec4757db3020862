"""Composed functions held to torch: values, gradients and second derivatives, many functions in one realize, so that
a compiled device compiles once."""

import numpy as np
import torch

import limn
from limn import Tensor, grad


def leaves(arrays, dtype):
    """The arrays as tensors of limn and of torch; float ones at `dtype`, tracked."""
    mine, theirs = [], []
    for array in arrays:
        array = np.asarray(array)
        tracked = array.dtype.kind == "f"
        array = array.astype(dtype) if tracked else array
        mine.append(Tensor(array, requires_grad=tracked))
        theirs.append(torch.tensor(array, requires_grad=tracked))
    return mine, theirs


def outputs_of(result):
    return list(result) if isinstance(result, tuple | list) else [result]


def derivatives(outputs, inputs, weights, second):
    """In limn: the gradients of sum(output * weight), then those of the sum of their squares, with None where there is
    none."""
    tracked = [(y, w) for y, w in zip(outputs, weights) if y.requires_grad]
    if not tracked:
        return [], []
    total = sum((y * w).sum() for y, w in tracked)
    first = [_one(total, x, second) for x in inputs]
    squares = sum((g * g).sum() for g in first if g is not None) if second else None
    if squares is None or not squares.requires_grad:
        return first, []
    return first, [_one(squares, x) for x in inputs]


def _one(total, x, create_graph=False):
    """The gradient of one input, None if the total does not depend on it."""
    try:
        return grad(total, x, create_graph=create_graph)[0]
    except RuntimeError:
        return None


def torch_derivatives(outputs, inputs, weights, second):
    tracked = [(y, w) for y, w in zip(outputs, weights) if y.requires_grad]
    if not tracked:
        return [], []
    total = sum((y * torch.from_numpy(w)).sum() for y, w in tracked)
    first = torch.autograd.grad(total, inputs, create_graph=second, allow_unused=True)
    squares = sum((g * g).sum() for g in first if g is not None) if second else None
    if squares is None or not squares.requires_grad:
        return list(first), []
    return list(first), list(torch.autograd.grad(squares, inputs, allow_unused=True))


def check(cases, dtype=np.float64, rtol=1e-10, atol=1e-12, second=True):
    """Compare a dict of name -> (limn function, torch function, *arrays)."""
    compared, lazy = [], []
    for name, (function, torch_function, *arrays) in cases.items():
        mine, theirs = leaves(arrays, dtype)
        got, want = outputs_of(function(*mine)), outputs_of(torch_function(*theirs))
        assert [y.shape for y in got] == [tuple(y.shape) for y in want], name
        inputs = [x for x in mine if x.requires_grad]
        torch_inputs = [x for x in theirs if x.requires_grad]
        rng = np.random.default_rng(len(compared))
        weights = [rng.uniform(0.5, 1.5, tuple(y.shape)).astype(dtype) for y in want]
        first, again = derivatives(got, inputs, weights, second)
        torch_first, torch_again = torch_derivatives(want, torch_inputs, weights, second)
        for kind, a, b in (("value", got, want), ("gradient", first, torch_first), ("second", again, torch_again)):
            if kind == "second" and not a:  # limn records nothing where torch records zeros
                a = [None] * len(b)
            assert len(a) == len(b), (name, kind)
            for x, y in zip(a, b):
                if x is not None:
                    lazy.append(x)
                compared.append((f"{name}, {kind}", x, y))
    limn.realize(*lazy)
    for name, x, y in compared:
        if x is None or y is None:
            assert x is None or not x.numpy().any(), name
            assert y is None or not y.detach().numpy(force=True).any(), name
            continue
        x, y = x.numpy(), y.detach().numpy(force=True)
        assert x.shape == y.shape, name
        if y.dtype.kind == "f":
            assert x.dtype == y.dtype, (name, x.dtype, y.dtype)
            scale = np.abs(y[np.isfinite(y)]).max(initial=1.0)
            np.testing.assert_allclose(x, y, rtol=rtol, atol=atol * scale, err_msg=name)
        else:
            assert np.array_equal(x, y), (name, x, y)
