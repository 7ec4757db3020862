"""Functions of one element at a time: exponentials, trigonometry, powers, rounding.

Each is a formula of limn/functions/formulas.py, computed without tracking, with the gradient of the mathematical
function: no derivative of an approximation, no inf - inf in the backward of a finite slope. Ints are computed in
float32; halves compute in float32 and round once. Errors in ulp: docs/numerics.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from limn import trace as t
from limn.dtypes import bool_, float32, float64, int32
from limn.functions import formulas as f
from limn.functions.formulas import Value, select
from limn.functions.pieces import compute_dtype, one_int, one_number, ordered, result_dtype, same, widened
from limn.trace import Node, no_grad

if TYPE_CHECKING:
    from limn.tensor import Tensor

Formula = Callable[[Value], Value]
Slope = Callable[[Value, Value], Value]


def _smooth(formula: Formula, slope: Slope) -> Formula:
    """A formula that carries a gradient: `slope(x, y)` at y = formula(x), itself differentiable."""

    def function(x: Value) -> Value:
        with no_grad():
            y = formula(x)
        return Value(t.with_rule(y.node, (x.node,), lambda y, g: [(Value(g) * slope(x, Value(y))).node]))

    return function


def _flat(formula: Formula) -> Formula:
    """A formula of steps, whose slope is 0 wherever it has one."""

    def function(x: Value) -> Value:
        with no_grad():
            y = formula(x)
        return Value(t.with_rule(y.node, (x.node,), lambda y, g: [t.const(0, g.shape, g.dtype)]))

    return function


def _sign(x: Value) -> Value:
    return select(x < 0.0, -1.0, select(x > 0.0, x.full(1.0), 0.0))


sign = _flat(_sign)
magnitude = _smooth(f.magnitude, lambda x, y: _sign(x))
sigmoid = _smooth(f.sigmoid, lambda x, y: y * (1.0 - y))
tanh = _smooth(f.tanh, lambda x, y: 1.0 - y * y)
expm1 = _smooth(f.expm1, lambda x, y: y + 1.0)
log1p = _smooth(f.log1p, lambda x, y: 1.0 / (x + 1.0))
exp2 = _smooth(f.exp2, lambda x, y: y * math.log(2.0))
rsqrt = _smooth(lambda x: 1.0 / f.sqrt(x), lambda x, y: y * y * y * -0.5)
softplus = _smooth(f.softplus, lambda x, y: sigmoid(x))
erf = _smooth(f.erf, lambda x, y: f.exp(-(x * x)) * (2.0 / math.sqrt(math.pi)))
sin = _smooth(f.sin, lambda x, y: cos(x))
cos = _smooth(f.cos, lambda x, y: -sin(x))


def power(x: Node, y: Node) -> Node:
    """x**y of floats, with the slopes y * x**(y - 1), 0 where y = 0, and x**y * log(x), 0 where x = 0 and y >= 0."""
    with no_grad():
        value = f.power(Value(x), Value(y)).node

    def rule(node: Node, g: Node) -> list[Node | None]:
        a, b, result, seed = Value(x), Value(y), Value(node), Value(g)
        to_x = to_y = None
        if x.tracked:
            slope = b * Value(power(x, (b - 1.0).node))
            to_x = select(b.equal(0.0), 0.0, seed * slope).node
        if y.tracked:
            at_zero = a.equal(0.0).both((b > 0.0).either(b.equal(0.0)))
            to_y = select(at_zero, 0.0, seed * (result * f.log(select(at_zero, 1.0, a)))).node
        return [to_x, to_y]

    return t.with_rule(value, (x, y), rule)


class Elementwise:
    """Functions whose result has the shape of their operands' broadcast."""

    __slots__ = ()

    def _formula(self, function: Formula) -> Tensor:
        node = self._node
        result = function(Value(t.cast(node, compute_dtype(node.dtype)))).node
        return self._of(t.cast(result, result_dtype(node.dtype)))

    def _rounded(self, function: Formula) -> Tensor:
        """A function that leaves ints as they are."""
        return self._formula(function) if self.dtype.is_float else self

    def abs(self) -> Tensor:
        """|x|; the slope at 0 is 0. The lowest int stays, as it has no positive counterpart."""
        node = self._node
        if node.dtype.is_float:
            return self._formula(magnitude)
        if node.dtype is bool_:
            return self
        return self._of(t.where(t.less(node, t.const(0, node.shape, node.dtype)), t.neg(node), node))

    __abs__ = abs

    def sign(self) -> Tensor:
        """-1, 0 or 1; 0 for NaN, as torch. Keeps the dtype."""
        node = self._node
        if node.dtype.is_float:
            return self._formula(sign)
        return self if node.dtype is bool_ else self._of(_sign_of_ints(node))

    def exp2(self) -> Tensor:
        """2 ** x; exact for whole x."""
        return self._formula(exp2)

    def expm1(self) -> Tensor:
        """exp(x) - 1, with its digits near 0 too."""
        return self._formula(expm1)

    def log1p(self) -> Tensor:
        """log(1 + x), with its digits near 0 too; -inf at -1, NaN below."""
        return self._formula(log1p)

    def rsqrt(self) -> Tensor:
        """1 / sqrt(x); inf at 0, NaN below."""
        return self._formula(rsqrt)

    def sigmoid(self) -> Tensor:
        """1 / (1 + exp(-x)), which neither overflows nor loses small results."""
        return self._formula(sigmoid)

    def tanh(self) -> Tensor:
        """The hyperbolic tangent."""
        return self._formula(tanh)

    def softplus(self, beta: float = 1.0, threshold: float = 20.0) -> Tensor:
        """log(1 + exp(beta * x)) / beta, and x itself where beta * x is above `threshold`, as torch."""
        beta, threshold = one_number(beta, "softplus", "beta"), one_number(threshold, "softplus", "threshold")
        wide = widened(self)
        scaled = wide if beta == 1 else wide * beta
        soft = scaled._formula(softplus)
        soft = soft if beta == 1 else soft / beta
        return (scaled > threshold).where(wide, soft).cast(result_dtype(self.dtype))

    def erf(self) -> Tensor:
        """The error function, 2 / sqrt(pi) times the integral of exp(-u*u) from 0 to x."""
        return self._formula(erf)

    def sin(self) -> Tensor:
        """The sine of radians for |x| up to 2**29, about 5e8; NaN beyond."""
        return self._formula(sin)

    def cos(self) -> Tensor:
        """The cosine of radians for |x| up to 2**29, about 5e8; NaN beyond."""
        return self._formula(cos)

    def floor(self) -> Tensor:
        """The nearest whole number below or equal. The slope is 0; ints stay."""
        return self._rounded(_flat(f.floor))

    def ceil(self) -> Tensor:
        """The nearest whole number above or equal. The slope is 0; ints stay."""
        return self._rounded(_flat(f.ceil))

    def trunc(self) -> Tensor:
        """The whole part, cut towards zero. The slope is 0; ints stay."""
        return self._rounded(_flat(f.truncate))

    def round(self, decimals: int = 0) -> Tensor:
        """The nearest whole number, of two the even one, or with so many decimals. The slope is 0; ints stay."""
        scale = 10.0 ** abs(one_int(decimals, "round", "decimals"))
        if decimals > 0:
            return self._rounded(_flat(lambda x: f.nearest(x * scale) / scale))
        if decimals < 0:
            return self._rounded(_flat(lambda x: f.nearest(x / scale) * scale))
        return self._rounded(_flat(f.nearest))

    def relu(self) -> Tensor:
        """0 where x <= 0, else x; NaN stays. The slope at 0 is 0."""
        node = self._node
        if node.dtype is bool_:
            return self
        # below the smallest positive number means x <= 0 in one comparison that is false for NaN
        above = t.const(node.dtype.tiny, node.shape, node.dtype)
        return self._of(t.where(t.less(node, above), t.const(0, node.shape, node.dtype), node))

    def clamp(self, min: Any = None, max: Any = None) -> Tensor:
        """x, but no less than `min` and no more than `max`, each a number or a tensor that broadcasts, or None. NaN
        stays, and a bound that is NaN gives NaN; where the bounds cross, `max` counts. On a bound the gradient goes to
        x. ValueError for no bound."""
        if min is None and max is None:
            raise ValueError("clamp: min and max are both None; give one of them")
        operands = self._operands("clamp", self, *(bound for bound in (min, max) if bound is not None))
        if operands is None:
            raise TypeError(f"clamp: bounds are tensors or numbers, got min={min!r} and max={max!r}")
        x, *bounds = operands
        if min is not None:
            x = _nan_of(bounds[0], min, t.where(t.less(x, bounds[0]), bounds[0], x))
        if max is not None:
            x = _nan_of(bounds[-1], max, t.where(t.less(bounds[-1], x), bounds[-1], x))
        return self._of(x)

    # ---- powers

    def __pow__(self, exponent: Any) -> Tensor:
        """x ** y with IEEE 754's cases: 1 for y = 0, NaN for x < 0 and a fraction y.

        Small whole numbers y multiply (exact where the products are), 0.5 is sqrt; others go through exp and log with
        enough digits that results which are whole come out exact. Of ints y must be a non-negative int, and products
        wrap. ValueError for a negative number, TypeError for what is no number or tensor.
        """
        if isinstance(exponent, np.generic):
            exponent = exponent.item()
        if isinstance(exponent, bool) or not isinstance(exponent, int | float):
            return self._power(self, exponent)
        if not self.dtype.is_float and isinstance(exponent, int):
            if exponent < 0:
                raise ValueError(f"pow: exponent {exponent} of {self.dtype.name}; cast to float32 first")
            return self._repeated(exponent)
        if exponent == 0.5:
            return self.sqrt()
        if exponent == -0.5:
            return self.rsqrt()
        if self.dtype.is_float and exponent == exponent // 1 and -4 <= exponent <= 8:
            return self._repeated(int(exponent)) if exponent >= 0 else self.reciprocal()._repeated(-int(exponent))
        return self._power(self, exponent)

    def __rpow__(self, base: Any) -> Tensor:
        return self._power(base, self)

    def pow(self, exponent: Any) -> Tensor:
        """x ** exponent."""
        return self**exponent

    def _power(self, base: Any, exponent: Any) -> Tensor:
        pair = self._operands("pow", base, exponent)
        if pair is None:
            return NotImplemented
        dtype = pair[0].dtype
        if dtype.is_half:  # a number beside halves keeps its digits
            wide = (v.cast(float32) if hasattr(v, "_node") else v for v in (base, exponent))
            pair = self._operands("pow", *wide)
        if not dtype.is_float:
            return self._of(_power_of_ints(*(t.cast(n, int32) if dtype is bool_ else n for n in pair)))
        wide = [t.cast(node, compute_dtype(dtype)) for node in pair]
        return self._of(t.cast(power(*wide), dtype))

    def _repeated(self, n: int) -> Tensor:
        """x**n by repeated squaring."""
        if n == 0:
            return self._of(_ones_of(self._node))
        square, result = self, None
        while n:
            if n & 1:
                result = square if result is None else result * square
            n >>= 1
            if n:
                square = square * square
        assert result is not None
        return result


def _nan_of(bound: Node, given: Any, x: Node) -> Node:
    """The bound where it is NaN, else x; a number is looked at now."""
    if not bound.dtype.is_float or (isinstance(given, int | float) and given == given):
        return x
    return t.where(ordered(bound), x, bound)


def _ones_of(x: Node) -> Node:
    """1 everywhere, with a slope of 0: x**0."""
    return t.with_rule(t.const(1, x.shape, x.dtype), (x,), lambda y, g: [t.const(0, g.shape, g.dtype)])


def _sign_of_ints(x: Node) -> Node:
    zero, one, minus = (t.const(v, x.shape, x.dtype) for v in (0, 1, -1))
    return t.where(t.less(x, zero), minus, t.where(t.less(zero, x), one, zero))


def _power_of_ints(x: Node, y: Node) -> Node:
    """x**y modulo the dtype's width, by the bits of y from the highest down. 1 / x**-y for negative y, cut: 1 or -1 for
    x = 1 or -1, else 0."""
    zero, one, minus = (t.const(v, x.shape, x.dtype) for v in (0, 1, -1))
    left, result = y, one
    for bit in reversed(range(8 * x.dtype.itemsize - 1)):
        place = t.const(1 << bit, x.shape, x.dtype)
        unset = t.less(left, place)
        result = t.mul(result, result)
        result = t.where(unset, result, t.mul(result, x))
        left = t.where(unset, left, t.add(left, t.neg(place)))
    is_one, is_minus = same(x, one), same(x, minus)
    half = t.cast(t.mul(t.cast(y, float64), t.const(0.5, y.shape, float64)), y.dtype)  # cut towards zero
    even = same(t.add(half, half), y)
    inverse = t.where(is_one, one, t.where(is_minus, t.where(even, one, minus), zero))
    return t.where(t.less(y, zero), inverse, result)
