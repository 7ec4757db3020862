"""Formulas of mathematical functions, in terms of the primitives: exact, or within a few ulp over the whole range.

A `Value` is a trace node under Python's operators. Numbers beside it are the framework's own, part of the program, so
formulas read as on paper. Each formula takes float32 or float64 (halves are widened before) and records no gradient
rule; limn/functions/elementwise.py adds those. Bounds are in docs/numerics.md.

What all of them rest on: IEEE arithmetic is not reassociated on any device, and a product is fused into a sum only
where it has no other use. So `(a + 2**52) - 2**52` rounds, and where a formula needs the rounded value of `a` itself,
`a` comes out of a selection.

Sources. Reduction by multiples of pi/2 and ln 2 in parts: Cody and Waite, "Software Manual for the Elementary
Functions" (1980). log1p by the ratio log(u) / (u - 1): HP-15C Advanced Functions Handbook (1982); expm1 by its inverse:
Kahan, both as in Higham, "Accuracy and Stability of Numerical Algorithms" (2002), section 1.14. Sums and products as
unevaluated pairs: Dekker, "A floating-point technique for extending the available precision" (1971). Coefficients are
minimax, by Remez's exchange at 60 digits.
"""

from __future__ import annotations

import math

from limn import trace as t
from limn.dtypes import DType, float32, float64
from limn.functions.pieces import equal, not_
from limn.trace import Node

INFINITY, NAN = math.inf, math.nan


class Value:
    """A node whose operators record nodes; a number beside it is a constant of its shape and dtype."""

    __slots__ = ("node",)

    def __init__(self, node: Node):
        self.node = node

    def like(self, other: Value | float) -> Node:
        return other.node if isinstance(other, Value) else t.const(other, self.node.shape, self.node.dtype)

    def __neg__(self) -> Value:
        return Value(t.neg(self.node))

    def __add__(self, other: Value | float) -> Value:
        return Value(t.add(self.node, self.like(other)))

    def __sub__(self, other: Value | float) -> Value:
        return self + (-other)

    def __rsub__(self, other: float) -> Value:
        return Value(t.add(self.like(other), t.neg(self.node)))

    def __mul__(self, other: Value | float) -> Value:
        return Value(t.mul(self.node, self.like(other)))

    def __truediv__(self, other: Value | float) -> Value:
        return Value(t.div(self.node, self.like(other)))

    def __rtruediv__(self, other: float) -> Value:
        return Value(t.div(self.like(other), self.node))

    def __lt__(self, other: Value | float) -> Value:
        return Value(t.less(self.node, self.like(other)))

    def __gt__(self, other: Value | float) -> Value:
        return Value(t.less(self.like(other), self.node))

    __radd__, __rmul__ = __add__, __mul__

    def cast(self, dtype: DType) -> Value:
        return Value(t.cast(self.node, dtype))

    def full(self, number: float) -> Value:
        return Value(self.like(number))

    def equal(self, other: Value | float) -> Value:
        return Value(equal(self.node, self.like(other)))

    def both(self, other: Value) -> Value:
        return Value(t.where(self.node, other.node, self.node))

    def either(self, other: Value) -> Value:
        return Value(t.where(self.node, self.node, other.node))

    def no(self) -> Value:
        return Value(not_(self.node))

    @property
    def single(self) -> bool:
        return self.node.dtype is float32


def select(condition: Value, yes: Value | float, no: Value | float) -> Value:
    """`yes` where the condition holds, else `no`; one of them is a Value."""
    like = yes if isinstance(yes, Value) else no
    assert isinstance(like, Value)
    return Value(t.where(condition.node, like.like(yes), like.like(no)))


def exp(x: Value) -> Value:
    return Value(t.exp(x.node))


def log(x: Value) -> Value:
    return Value(t.log(x.node))


def sqrt(x: Value) -> Value:
    return Value(t.sqrt(x.node))


def polynomial(x: Value, coefficients: tuple[float, ...]) -> Value:
    """c[0] + x * (c[1] + x * (c[2] + ..)), Horner's scheme."""
    *lower, highest = coefficients
    total = x * highest + lower[-1]
    for coefficient in lower[-2::-1]:
        total = total * x + coefficient
    return total


# ---- whole numbers


def magnitude(x: Value) -> Value:
    """|x|; of -0 it is 0, of NaN NaN."""
    return select(x > 0.0, x, 0.0 - x)


def nearest(x: Value) -> Value:
    """The nearest whole number, the even one of two; keeps the sign of zero.

    A number below 2**52 (2**23 in float32) loses its fraction when that is added; from there on all are whole.
    """
    size, high = magnitude(x), 2.0**23 if x.single else 2.0**52
    rounded = (size + high) - high
    return select(size < high, select(x < 0.0, -rounded, select(x > 0.0, rounded, x)), x)


def floor(x: Value) -> Value:
    r = nearest(x)
    return select(x < r, r - 1.0, r)


def ceil(x: Value) -> Value:
    return -floor(-x)


def truncate(x: Value) -> Value:
    whole = floor(magnitude(x))
    return select(x < 0.0, -whole, select(x > 0.0, whole, x))


def between(x: Value, low: float, high: float) -> Value:
    """x, no further out than the bounds; NaN stays."""
    x = select(x < low, low, x)
    return select(x > high, high, x)


# ---- around exp and log


def expm1(x: Value) -> Value:
    """exp(x) - 1 = (u - 1) * x / log(u) with u = exp(x): the error of u cancels, for the quotient hardly depends on
    it."""
    u = exp(x)
    less = u - 1.0
    y = less * (x / log(u))
    y = select(magnitude(less) < 2.0**-60, x, y)  # u is 1
    y = select(u < 2.0**-60, -1.0, y)
    return select(u > 2.0**100, u, y)


def log1p(x: Value) -> Value:
    """log(1 + x) = log(u) * x / (u - 1) with u = 1 + x rounded."""
    u = x + 1.0
    y = log(u) * (x / (u - 1.0))
    y = select(magnitude(u - 1.0) < 2.0**-60, x, y)  # u is 1
    return select(u > 2.0**60, log(u), y)


def sigmoid(x: Value) -> Value:
    """1 / (1 + exp(-x)), through the exponential that does not overflow, so small results keep their digits."""
    e = exp(-magnitude(x))
    return select(x < 0.0, e, 1.0) / (e + 1.0)


def tanh(x: Value) -> Value:
    """-m / (m + 2) with m = expm1(-2 |x|), and the sign of x."""
    m = expm1(magnitude(x) * -2.0)
    y = -m / (m + 2.0)
    return select(x < 0.0, -y, select(x > 0.0, y, x))


def softplus(x: Value) -> Value:
    """log(1 + exp(x)) = max(x, 0) + log1p(exp(-|x|))."""
    return select(x < 0.0, 0.0, x) + log1p(exp(-magnitude(x)))


LN2 = (0.6931471805592082, 7.371002565167799e-13)  # 40 bits, so that a product with an exponent is exact, and the rest


def power_of_two(n: Value) -> Value:
    """2**n for whole n, exactly, float64: the product of 2**(2**k) over the bits k of |n|."""
    size, result = magnitude(n), None
    for k in reversed(range(11)):
        up, down = n.full(2.0 ** (2**k) if k < 10 else INFINITY), n.full(2.0 ** -(2**k))
        factor = select(size < 2.0**k, 1.0, select(n < 0.0, down, up))
        size = select(size < 2.0**k, size, size - 2.0**k)
        result = factor if result is None else result * factor
    assert result is not None
    return result


def exp2(x: Value) -> Value:
    """2**x, exact for whole x. float32 goes through float64; float64 takes the whole part of x apart."""
    if x.single:
        return exp(x.cast(float64) * math.log(2.0)).cast(float32)
    near = between(x, -2000.0, 2000.0)
    whole = truncate(near)
    return exp((near - whole) * math.log(2.0)) * power_of_two(whole)


# ---- sine and cosine

# pi/2 as three parts of 24 bits, whose products with a whole number below 2**29 are exact, and the rest
HALF_PI = (1.570796251296997, 7.549789415861596e-08, 5.390302529957765e-15, 3.2820035428735005e-22)
SINE = (
    -0.16666666666666666, 0.00833333333333095, -0.00019841269836759208, 2.7557316102723463e-06,
    -2.5051131855038404e-08, 1.591812854191806e-10,
)  # fmt: skip
COSINE = (
    0.041666666666666664, -0.0013888888888887398, 2.4801587298765916e-05, -2.75573172717598e-07,
    2.087614626041983e-09, -1.1382631029830746e-11,
)  # fmt: skip


def _circle(x: Value, quarters: float) -> Value:
    """sin(x + quarters * pi/2) for |x| <= 2**29, beyond that NaN. float32 goes through float64.

    x - n * pi/2 is taken in four steps, of which the first three are exact while n < 2**29.
    """
    if x.single:
        return _circle(x.cast(float64), quarters).cast(float32)
    n = nearest(x * (2.0 / math.pi))
    r = x
    for part in HALF_PI:
        r = r - n * part
    z = r * r
    sine = r * z * polynomial(z, SINE) + r
    cosine = (z * z * polynomial(z, COSINE) - z * 0.5) + 1.0
    turn = n + quarters if quarters else n  # in quarters; only its remainder by 4 counts
    rest = turn - floor(turn * 0.25) * 4.0  # 0, 1, 2 or 3
    odd = select(rest > 1.5, rest - 2.0, rest)
    y = select(odd > 0.5, cosine, sine)
    y = select(rest > 1.5, -y, y)
    size = magnitude(x)
    y = y if quarters else select(size > 0.0, y, x)
    return select(size > 2.0**29, NAN, y)


def sin(x: Value) -> Value:
    return _circle(x, 0.0)


def cos(x: Value) -> Value:
    return _circle(x, 1.0)


# ---- the error function

ERF_NEAR_32 = (0.12837915, -0.37612534, 0.1128223, -0.026781958, 0.0050162286, -0.00061112945)
ERF_FAR_32 = (-0.00017749768, -1.1277496, -0.63705975, -0.10403734, 0.022277076, -0.0030556049, 0.00019718143)
ERF_NEAR = (
    0.1283791670955126, -0.3761263890318373, 0.1128379167095382, -0.0268661706448288, 0.0052239776218204,
    -0.0008548326767347187, 0.00012055321485890009, -1.4925309919501765e-05, 1.6455364053889234e-06,
    -1.6276851391298328e-07, 1.4053169980621193e-08, -8.497785073727452e-10,
)  # fmt: skip
ERF_FAR = (
    -7.106303552754886e-08, -1.1283784124945175, -0.6366234525732913, -0.10276174570949596, 0.019107079257415126,
    0.0002379899779012846, -0.0017213608156765247, 0.0005995213060177562, -1.6033532990334655e-05,
    -8.621365898061967e-05, 5.200028862302445e-05, -1.8950068352540933e-05, 5.000678933785628e-06,
    -9.95796382873853e-07, 1.4957569876269415e-07, -1.6513576138691962e-08, 1.2676036213618626e-09,
    -6.049404041946649e-11, 1.351851557841225e-12,
)  # fmt: skip


def erf(x: Value) -> Value:
    """x + x * P(x * x) below 0.9; from there 1 - exp(Q(|x|)), Q near the logarithm of 1 - erf."""
    near, far, end = (ERF_NEAR_32, ERF_FAR_32, 4.0) if x.single else (ERF_NEAR, ERF_FAR, 6.0)
    size = magnitude(x)
    capped = select(size > end, end, size)
    beyond = 1.0 - exp(polynomial(capped, far))
    inside = x * polynomial(capped * capped, near) + x
    return select(size < 0.9, inside, select(x < 0.0, -beyond, beyond))


# ---- powers

# (atanh(s) / s - 1 - s**2 / 3) / s**4 in powers of s**2, and (exp(r) - 1 - r) / r**2 in powers of r
ATANH = (
    0.20000000000000506, 0.14285714285360632, 0.11111111205032541, 0.09090896854986845,
    0.076931715737094, 0.06633020610447889, 0.0655740918464309,
)  # fmt: skip
EXP = tuple(1.0 / math.factorial(k) for k in range(2, 15))


def _halves(x: Value) -> tuple[Value, Value]:
    """x as a sum of 24 bits and of the rest; products of such parts are exact in float64."""
    head = x.cast(float32).cast(float64)
    return head, x - head


def _sum(a: Value, b: Value) -> tuple[Value, Value]:
    """a + b rounded, and what the rounding took away, for |a| >= |b| or a = 0."""
    total = a + b
    return total, (a - total) + b


def _product(a: Value, b: Value) -> tuple[Value, Value]:
    """a * b rounded, and what the rounding took away."""
    (ah, al), (bh, bl) = _halves(a), _halves(b)
    product = a * b
    return product, (((ah * bh - product) + ah * bl) + al * bh) + al * bl


def _log_pair(x: Value) -> tuple[Value, Value]:
    """log(x) of a positive finite float64 as the sum of two, good to about 2**-65 of it.

    x = 2**e * m and log(m) = 2 atanh(s) = 2s + 2s**3/3 + .. with s = (m - 1) / (m + 1). These two terms are taken with
    what their roundings lost.
    """
    small = x < 2.0**-1022
    x = select(small, x * 2.0**54, x)
    e = nearest(log(x) * (1.0 / math.log(2.0)))
    m = x * power_of_two(-e)
    e = select(small, e - 54.0, e)
    f, d = m - 1.0, m + 1.0
    s = f / d
    back, lost = _product(s, d)
    rest = ((f - back) - lost - s * (m - (d - 1.0))) / d
    z, z_lost = _product(s, s)
    cube, cube_lost = _product(z, s + s)
    third = cube / 3.0
    head, tail = _halves(third)
    third_lost = (((cube - head * 3.0) - tail * 3.0) + cube_lost + z_lost * (s + s)) / 3.0
    high, first = _sum(e * LN2[0], s + s)
    high, second = _sum(high, third)
    small_terms = cube * z * polynomial(z, ATANH) + third_lost + (rest + rest) + (rest + rest) * z
    return _sum(high, first + second + (e * LN2[1] + small_terms))


def _exp_pair(high: Value, low: Value) -> Value:
    """exp(high + low) of float64 with one rounding that counts."""
    high = between(high, -800.0, 800.0)
    n = nearest(high * (1.0 / math.log(2.0)))
    r, low = _sum(high - n * LN2[0], low - n * LN2[1])
    p = (r * r * polynomial(r, EXP) + (low + low * r)) + r
    large = n > 0.0  # so that neither factor overflows or vanishes before the result does
    return (p + 1.0) * select(large, n.full(2.0), 2.0**-60) * power_of_two(select(large, n - 1.0, n + 60.0))


def _positive_power(x: Value, y: Value, exact: bool) -> Value:
    """x**y of positive finite float64 x and finite y. Not exact: good for float32 results."""
    if not exact:
        return exp(log(x) * y)
    high, low = _log_pair(x)
    product, rest = _product(high, y)
    return _exp_pair(product, select(magnitude(product) < 1000.0, rest + low * y, 0.0))


def power(x: Value, y: Value) -> Value:
    """x**y with all of IEEE 754's cases: 1 for y = 0 and for x = 1, NaN for x < 0 and a fraction y, signs of odd y."""
    if x.single:
        return _power(x.cast(float64), y.cast(float64), exact=False).cast(float32)
    return _power(x, y, exact=True)


def _power(x: Value, y: Value, exact: bool) -> Value:
    size, down = magnitude(x), y < 0.0
    inside = (size > 0.0).both(size < INFINITY)
    r = _positive_power(select(inside, size, 1.0), between(y, -(2.0**64), 2.0**64), exact)
    zero, infinity = size.full(0.0), size.full(INFINITY)
    edge = select(size < 1.0, select(down, infinity, zero), select(down, zero, infinity))
    r = select(inside, r, edge)
    half = y * 0.5
    whole, odd = y.equal(floor(y)), half.equal(floor(half)).no()
    signed = select(whole, select(odd, -r, r), select(inside, NAN, r))
    r = select((x < 0.0).either(1.0 / x < 0.0), signed, r)  # -0 has a sign too
    r = select(x.equal(x).both(y.equal(y)), r, NAN)
    return select(x.equal(1.0).either(y.equal(0.0)), 1.0, r)
