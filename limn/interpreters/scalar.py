"""The meaning of each operation on scalars of each width: what the op-by-op nest interpreter and its tests use. It is
derived from the mathematical meaning in `limn/core/scalar.py`.

A scalar is a numpy scalar and knows its type. Nothing here is made for speed: integers are computed as Python's and
wrapped, sums of products as exact fractions rounded once. Sums, products, quotients and roots of floats are numpy's,
which are IEEE's; ``exp`` and ``log`` are numpy's, within a few ulp.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import isfinite, isnan, ldexp, trunc
from typing import Any, TypeAlias

import ml_dtypes
import numpy as np

from limn.core import scalar as meaning

Scalar: TypeAlias = Any
"""A numpy scalar: float64, float32, float16, bfloat16, int64, int32, int16, int8 or bool."""

INTEGERS = (np.int64, np.int32, np.int16, np.int8)
HALVES = (np.float16, ml_dtypes.bfloat16)


def kind_of(a: Scalar) -> type[Any]:
    """The numpy type of a scalar."""
    return a.dtype.type


def is_integer(a: Scalar) -> bool:
    """Whether a scalar is an integer; bool is none."""
    return kind_of(a) in INTEGERS


def is_float(a: Scalar) -> bool:
    """Whether a scalar is a float, halves included."""
    return kind_of(a) in (np.float64, np.float32, *HALVES)


def wrap(value: int, kind: type[Any]) -> Scalar:
    """A Python integer modulo 2**width, as the signed type ``kind``."""
    width = np.dtype(kind).itemsize * 8
    value &= (1 << width) - 1
    return kind(value - (1 << width) if value >> (width - 1) else value)


def rounded(exact: Fraction, kind: type[Any]) -> Scalar:
    """The float of type ``kind`` nearest to ``exact``, ties to even; beyond the largest, an infinity."""
    digits, lowest, highest = {np.float64: (53, -1022, 1023), np.float32: (24, -126, 127)}[kind]
    size = abs(exact)
    if size == 0:
        return kind(0)
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    if size < Fraction(2) ** exponent:
        exponent -= 1
    unit = max(exponent, lowest) - (digits - 1)
    count = round(size / Fraction(2) ** unit)  # Python rounds a half to even
    sign = -1.0 if exact < 0 else 1.0
    if count.bit_length() + unit > highest + 1:
        return kind(sign * float("inf"))
    return kind(sign * ldexp(count, unit))


# ----------------------------------------------------------------------------------------------------------- arithmetic


def neg(a: Scalar) -> Scalar:
    return wrap(-int(a), kind_of(a)) if is_integer(a) else -a


def add(a: Scalar, b: Scalar) -> Scalar:
    return wrap(meaning.add(int(a), int(b)), kind_of(a)) if is_integer(a) else meaning.add(a, b)


def sub(a: Scalar, b: Scalar) -> Scalar:
    return wrap(int(a) - int(b), kind_of(a)) if is_integer(a) else a - b


def mul(a: Scalar, b: Scalar) -> Scalar:
    return wrap(meaning.mul(int(a), int(b)), kind_of(a)) if is_integer(a) else meaning.mul(a, b)


def div(a: Scalar, b: Scalar) -> Scalar:
    """a / b of floats, rounded once."""
    return a / b


def fma(a: Scalar, b: Scalar, c: Scalar) -> Scalar:
    """a * b + c, rounded once."""
    if not (isfinite(a) and isfinite(b) and isfinite(c)):
        return a * b + c if not (isfinite(a) and isfinite(b)) else c
    product = Fraction(float(a)) * Fraction(float(b))
    exact = product + Fraction(float(c))
    if exact == 0 and product == 0:
        return a * b + c  # zeros, whose signs decide
    return rounded(exact, kind_of(a))


def larger(a: Scalar, b: Scalar) -> Scalar:
    """a if a > b or a is NaN, else b."""
    return a if a > b or isnan(a) else b


def sqrt(a: Scalar) -> Scalar:
    return np.sqrt(a)


def exp(a: Scalar) -> Scalar:
    return meaning.exp(a)


def log(a: Scalar) -> Scalar:
    return meaning.log(a)


# ----------------------------------------------------------------------------------------------------------------- bits


def both(a: Scalar, b: Scalar) -> Scalar:
    return kind_of(a)(int(a) & int(b))


def either(a: Scalar, b: Scalar) -> Scalar:
    return kind_of(a)(int(a) | int(b))


def differ(a: Scalar, b: Scalar) -> Scalar:
    return kind_of(a)(int(a) ^ int(b))


def shift_left(a: Scalar, b: Scalar) -> Scalar:
    return wrap(int(a) << int(b), kind_of(a))


def shift_right(a: Scalar, b: Scalar) -> Scalar:
    """Copies of the sign come in: the quotient by 2**b, rounded down."""
    return kind_of(a)(int(a) >> int(b))


def bitcast(a: Scalar, kind: type[Any]) -> Scalar:
    """The same bytes as another type of that width."""
    return np.frombuffer(a.tobytes(), kind)[0]


# -------------------------------------------------------------------------------------------------------------- choices


def less(a: Scalar, b: Scalar) -> Scalar:
    return np.bool_(a < b)


def select(condition: Scalar, a: Scalar, b: Scalar) -> Scalar:
    return a if condition else b


def cast(a: Scalar, kind: type[Any]) -> Scalar:
    """Float to integer cuts towards zero, saturates, and gives 0 for NaN; integers wrap; to bool is "not zero".

    A half is read as the float32 it is; an integer becomes a half by way of float32, and so does what becomes a
    bfloat16.
    """
    if kind_of(a) in HALVES:
        a = np.float32(a)
    if kind is np.bool_:
        return np.bool_(a != 0)
    if kind in INTEGERS:
        return _saturated(float(a), kind) if is_float(a) else wrap(int(a), kind)
    if not is_float(a):
        a = rounded(Fraction(int(a)), np.float32 if kind in HALVES else kind)
    return kind(np.float32(a)) if kind is ml_dtypes.bfloat16 else kind(a)


def _saturated(a: float, kind: type[Any]) -> Scalar:
    high = (1 << (np.dtype(kind).itemsize * 8 - 1)) - 1
    low = -high - 1
    if isnan(a):
        return kind(0)
    if not isfinite(a):
        return kind(high if a > 0 else low)
    return kind(min(max(trunc(a), low), high))


TABLE: dict[str, Callable[..., Scalar]] = {
    "nest.neg": neg,
    "nest.sqrt": sqrt,
    "nest.exp": exp,
    "nest.log": log,
    "nest.add": add,
    "nest.sub": sub,
    "nest.mul": mul,
    "nest.div": div,
    "nest.max": larger,
    "nest.and": both,
    "nest.or": either,
    "nest.xor": differ,
    "nest.shl": shift_left,
    "nest.shr": shift_right,
    "nest.fma": fma,
    "nest.cmplt": less,
    "nest.select": select,
}
"""The function of each op whose result has the type of its operands or is decided by them."""
