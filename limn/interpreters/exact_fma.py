"""a * b + c rounded once, for numpy: what ``nest.fma`` means, fast enough to run whole arrays through.

Python 3.11 has no fma and numpy none at all, so the single rounding is made from ordinary arithmetic:

- float32: the product of two float32 is exact in float64, and the sum in float64 is rounded *to odd* before the last
  rounding, which makes two roundings equal to one (Boldo and Melquiond, "Emulation of a FMA and correctly rounded
  sums: proved algorithms using rounding to odd", 2008).
- float64: the product as a sum of two floats (Dekker's and Veltkamp's splitting), then their algorithm. It needs the
  product away from overflow and underflow; the few elements outside go through exact fractions.

The price: a float32 fma costs about 10 numpy passes, a float64 one about 60.
"""

from __future__ import annotations

from fractions import Fraction
from math import copysign, frexp, inf, isfinite, ldexp, nextafter
from typing import Any, TypeAlias

import numpy as np

Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]

_SMALLEST_PRODUCT, _LARGEST = 2.0**-900, 2.0**900
_SPLITTER = 2.0**27 + 1


def fma_one(a: Any, b: Any, c: Any) -> Any:
    """fma of three numpy scalars of one dtype, float32 or float64."""
    if type(a) is np.float32:
        return np.float32(_to_odd_sum(float(a) * float(b), float(c)))
    return np.float64(_fma_fraction(float(a), float(b), float(c)))


def fma_many(a: Any, b: Any, c: Any) -> Array:
    """fma of arrays or scalars of one dtype, float32 or float64, broadcast against each other."""
    if np.result_type(a) == np.float32:
        return _fma_float32(a, b, c)
    return _fma_float64(*np.broadcast_arrays(np.asarray(a), np.asarray(b), np.asarray(c)))


def _to_odd_sum(p: float, c: float) -> float:
    """p + c rounded to odd: exact, or the neighbour of the exact sum whose last bit is 1."""
    s = p + c
    back = s - p
    error = (p - (s - back)) + (c - back)
    if error == 0.0 or not isfinite(error) or int(ldexp(frexp(s)[0], 53)) & 1:
        return s
    return nextafter(s, copysign(inf, error))


def _to_odd_sums(p: Array, c: Array) -> Array:
    """``_to_odd_sum`` of arrays of one shape."""
    s = p + c
    back = s - p
    error = (p - (s - back)) + (c - back)
    bits = s.view(np.int64)
    inexact = (error != 0) & np.isfinite(error) & (bits & 1 == 0)
    away = (error < 0) == (s < 0)  # the bits of a float grow with its magnitude
    return np.where(inexact, np.where(away, bits + 1, bits - 1), bits).view(np.float64)


def _fma_float32(a: Any, b: Any, c: Any) -> Array:
    product = np.asarray(np.multiply(a, b, dtype=np.float64))
    total = np.asarray(np.add(product, c, dtype=np.float64))
    # Rounding twice differs from rounding once only where the first result lies midway between two float32; below
    # the normal range, where the midways are elsewhere, everything but zero is taken for one.
    midway = (total.view(np.int64) & 0x1FFFFFFF) == 0x10000000
    midway |= (np.abs(total) < 2.0**-125) & (total != 0)
    if midway.any():
        product, c, midway = np.broadcast_arrays(product, np.asarray(c, np.float64), midway)
        total[midway] = _to_odd_sums(product[midway], c[midway])
    return total.astype(np.float32)


def _fma_float64(a: Array, b: Array, c: Array) -> Array:
    plain = a * b + c
    product = np.abs(a * b)
    # a product of exactly zero, or with an infinity or NaN, has nothing to round
    trivial = (a == 0) | (b == 0) | ~np.isfinite(a) | ~np.isfinite(b)
    usual = (product >= _SMALLEST_PRODUCT) & (product <= _LARGEST) & (np.abs(c) <= _LARGEST)
    usual &= (np.abs(a) <= _LARGEST) & (np.abs(b) <= _LARGEST)
    out = np.where(trivial, plain, _fma_by_parts(a, b, c))
    for place in map(tuple, np.argwhere(~trivial & ~usual)):
        out[place] = _fma_fraction(float(a[place]), float(b[place]), float(c[place]))
    return out


def _two_sum(a: Array, b: Array) -> tuple[Array, Array]:
    s = a + b
    back = s - a
    return s, (a - (s - back)) + (b - back)


def _split(a: Array) -> tuple[Array, Array]:
    scaled = a * _SPLITTER
    high = scaled - (scaled - a)
    return high, a - high


def _fma_by_parts(a: Array, b: Array, c: Array) -> Array:
    (a1, a2), (b1, b2) = _split(a), _split(b)
    product = a * b
    rest = a2 * b2 - (((product - a1 * b1) - a2 * b1) - a1 * b2)
    t1, t2 = _two_sum(c, rest)
    v1, v2 = _two_sum(product, t1)
    return v1 + _to_odd_sums(np.asarray(t2), np.asarray(v2))


def _fma_fraction(a: float, b: float, c: float) -> float:
    if not (isfinite(a) and isfinite(b)) or a == 0 or b == 0:
        return a * b + c
    if not isfinite(c):
        return c
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    if exact == 0:
        return a * b + c  # the sign of zero; the product is exact, or the sum could not vanish
    try:
        return exact.numerator / exact.denominator  # Python rounds a quotient of integers once
    except OverflowError:
        return inf if exact > 0 else -inf
