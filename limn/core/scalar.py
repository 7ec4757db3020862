"""The mathematical meaning of the operations on single numbers, one function each.

They take Python's numbers or numpy scalars, whose type the result has. Floats are IEEE's: no overflow, no division by
zero is an error. `limn/interpreters/scalar.py` says what they mean at each width, by these.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

Number: TypeAlias = Any
"""A Python float or int, or a numpy scalar."""


def add(x: Number, y: Number) -> Number:
    with np.errstate(all="ignore"):
        return x + y


def mul(x: Number, y: Number) -> Number:
    with np.errstate(all="ignore"):
        return x * y


def inv(x: Number) -> Number:
    """1 / x; an infinity at 0."""
    with np.errstate(all="ignore"):
        return np.true_divide(1, x)


def exp(x: Number) -> Number:
    with np.errstate(all="ignore"):
        return np.exp(x)


def log(x: Number) -> Number:
    """The natural logarithm: minus infinity at 0, NaN below."""
    with np.errstate(all="ignore"):
        return np.log(x)


def sigmoid(x: Number) -> Number:
    """1 / (1 + exp(-x)), by the exponential that cannot overflow."""
    if x >= 0:
        return inv(1 + exp(-x))
    e = exp(x)
    return e / (1 + e)


def relu(x: Number) -> Number:
    """0 where x <= 0, else x; NaN stays."""
    return type(x)(0) if x <= 0 else x


def relu_back(x: Number, d: Number) -> Number:
    """The gradient of relu at x, times d; 0 at 0."""
    return d if x > 0 else type(d)(0)


def log_back(x: Number, d: Number) -> Number:
    """The gradient of log at x, times d: d / x."""
    return mul(d, inv(x))


def is_close(x: Number, y: Number, tolerance: float = 1e-2) -> bool:
    """Whether two numbers differ by less than a tolerance; never with NaN."""
    return bool(abs(x - y) < tolerance)
