"""Random tensors, and functions that draw: expressions like any, over the words of `limn/random.py`.

Nothing is drawn when they are recorded but a key. What is computed from one such tensor, again or in another batch,
has the same numbers; two tensors, recorded by equal calls, have different ones.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from limn import trace as t
from limn.dtypes import DType, as_dtype, bfloat16, check_scalar, float16, float32, float64, int32
from limn.functions.pieces import one_number, shape_of
from limn.random import words
from limn.trace import Node

if TYPE_CHECKING:
    from limn.tensor import Tensor

UNIT_BITS = {float64: 53, float32: 24, float16: 11, bfloat16: 8}
"""How many bits a number of [0, 1) has: as many as are exact everywhere in it."""

SINE_TERMS = {float32: 6, float64: 11}
"""Terms of the series of sine that leave an error below 6e-8, or 1e-17, up to pi / 2."""


class Sampling:
    """Constructors of random tensors, as class methods, and methods that draw."""

    __slots__ = ()

    @classmethod
    def rand(cls, *shape: Any, size: Any = None, dtype: object = float32, requires_grad: bool = False) -> Tensor:
        """Independent numbers, evenly spread over 0 <= x < 1: multiples of 2**-24 in float32, of 2**-53 in float64, of
        2**-11 and 2**-8 in float16 and bfloat16. The same bits on every device."""
        kind = _float(dtype, "rand")
        return cls._made(_unit(words(shape_of(shape, "rand", size)), kind), requires_grad)

    @classmethod
    def uniform(
        cls, *shape: Any, low: float = 0.0, high: float = 1.0, dtype: object = float32, requires_grad: bool = False
    ) -> Tensor:
        """Independent numbers spread evenly over low <= x < high.

        The same bits on every device, but for float64, where with other bounds than 0 and 1 they agree to a rounding.
        ValueError unless low < high.
        """
        kind = _float(dtype, "uniform")
        wanted = shape_of(shape, "uniform")
        low, high = one_number(low, "uniform", "low"), one_number(high, "uniform", "high")
        if (low, high) == (0, 1):
            return cls._made(_unit(words(wanted), kind), requires_grad)
        return cls._made(_between(wanted, check_scalar(low, kind), check_scalar(high, kind), kind), requires_grad)

    @classmethod
    def randn(cls, *shape: Any, size: Any = None, dtype: object = float32, requires_grad: bool = False) -> Tensor:
        """Independent normal numbers of mean 0 and variance 1.

        By the method of Box and Muller (A note on the generation of random normal deviates, 1958), from 31 bits for
        the radius and 32 for the angle: at most 6.7 in size, within 1e-6 (float64: 1e-14) of the exact transform.
        Halves are rounded from float32. Devices agree within the error of their logarithms.
        """
        kind = _float(dtype, "randn")
        return cls._made(_normal(shape_of(shape, "randn", size), kind), requires_grad)

    @classmethod
    def randint(cls, low: int = 0, high: Any = None, size: Any = None, dtype: object = int32) -> Tensor:
        """Independent ints, each of low <= x < high equally often (to 2**-20): randint(low, high, size), or
        randint(high, size) from 0. The same on every device.

        ValueError unless low < high, OverflowError for bounds that do not fit the dtype.
        """
        if size is None:
            low, high, size = 0, low, high
        kind = as_dtype(dtype)
        if size is None:
            raise TypeError("randint: no size given; write randint(low, high, size), where size is a tuple of ints")
        for bound in (low, high):
            if not isinstance(bound, int | np.integer) or isinstance(bound, bool):
                raise TypeError(f"randint: bounds are ints, got {bound!r}; use uniform for floats")
        if not low < high:
            raise ValueError(f"randint: no int lies in {low} <= x < {high}; low must be below high")
        for bound in (low, high - 1):
            check_scalar(int(bound), int32 if kind.kind != "int" else kind)
        shape = shape_of((size,), "randint")
        return cls._of(t.cast(_integers(shape, int(low), int(high) - int(low)), kind))

    def rand_like(self, dtype: object = None, requires_grad: bool = False) -> Tensor:
        """`rand` of this shape and, unless told otherwise, this dtype."""
        return self.rand(self.shape, dtype=dtype or self.dtype, requires_grad=requires_grad)

    def randn_like(self, dtype: object = None, requires_grad: bool = False) -> Tensor:
        """`randn` of this shape and, unless told otherwise, this dtype."""
        return self.randn(self.shape, dtype=dtype or self.dtype, requires_grad=requires_grad)

    def randint_like(self, low: int, high: int | None = None, dtype: object = None) -> Tensor:
        """`randint` of this shape and, unless told otherwise, this dtype."""
        low, high = (0, low) if high is None else (low, high)
        return self.randint(low, high, self.shape, dtype=dtype or self.dtype)

    # ---- functions that draw

    def bernoulli(self, p: float | None = None) -> Tensor:
        """1 with the probability that this tensor holds for the element, or with probability `p`, else 0; of this
        shape and dtype. No gradient flows. Probabilities outside 0 to 1 count as the nearer of the two.

        TypeError where this tensor would have to hold probabilities and holds no floats.
        """
        node, kind = self._node, self.dtype
        if p is None and not kind.is_float:
            raise TypeError(f"bernoulli: probabilities are floats, this tensor is {kind.name}; pass p, or cast it")
        compute = float64 if kind is float64 else float32
        chance = t.cast(node, compute) if p is None else t.scalar(_chance(p, "bernoulli"), node.shape, compute)
        hit = t.less(_unit(words(node.shape), compute), chance)
        return self._of(t.where(hit, t.const(1, node.shape, kind), t.const(0, node.shape, kind)))

    def dropout(self, p: float = 0.5, training: bool = True) -> Tensor:
        """Each element becomes 0 with probability `p` (to 2**-32), the others are divided by 1 - p; without
        `training`, and with p = 0, this tensor itself. The gradient goes where the values went, through the same
        mask, which is computed again and never kept for it.

        ValueError for a p outside 0 to 1, TypeError for a tensor of ints.
        """
        _chance(p, "dropout")
        if not self.dtype.is_float:
            raise TypeError(f"dropout: scales its elements, which are {self.dtype.name}; cast to float32 first")
        if not training or p == 0:
            return self
        x = self._node
        below = min(round((1 - p) * 2**32), 2**32 - 1) - 2**31
        keep = t.less(words(x.shape)[0], t.scalar(below, x.shape, int32))
        scaled = t.mul(x, t.scalar(1 / (1 - p) if p < 1 else 0.0, x.shape, x.dtype))
        return self._of(t.where(keep, scaled, t.const(0, x.shape, x.dtype)))

    def multinomial(self, num_samples: int, replacement: bool = False) -> Tensor:
        """Positions along the last dim, drawn with probabilities in proportion to what stands there: (K,) gives
        (num_samples,), and (N, K) gives (N, num_samples); int32.

        Without `replacement` a position is drawn once at most, so num_samples is at most K, and as many weights should
        be above 0 (torch refuses that when it sees the values; here positions of weight 0 come last). Weights must not
        be negative; only their ratios count. It is a race: each position gets weight / exponential noise, and the
        largest win. Costs K * num_samples draws with replacement, K * K comparisons without.

        TypeError for ints, ValueError for other shapes and for more samples than positions.
        """
        x = self._node
        if not x.dtype.is_float:
            raise TypeError(f"multinomial: weights are floats, this tensor is {x.dtype.name}; cast to float32 first")
        if self.ndim not in (1, 2):
            raise ValueError(f"multinomial: weights have shape (K,) or (N, K), got {self.shape}; reshape them")
        count, rows = self.shape[-1], self.shape[:-1]
        if not isinstance(num_samples, int | np.integer) or num_samples < 1:
            raise ValueError(f"multinomial: num_samples is a positive int, got {num_samples!r}")
        if not replacement and num_samples > count:
            raise ValueError(
                f"multinomial: {num_samples} samples of {count} positions; pass replacement=True or ask for fewer"
            )
        weights = self._of(_shares(x))
        if not replacement:
            return self._of(t.div(weights._node, _exponential(self.shape))).topk(int(num_samples)).indices
        shape = (*rows, int(num_samples), count)
        spread = weights.unsqueeze(-2).expand(shape)
        return self._of(t.div(spread._node, _exponential(shape))).argmax(-1)


def _shares(x: Node) -> Node:
    """Weights over the largest of their row, in float32: neither large nor small ones leave its range. As they are
    where the largest is 0 or no finite number."""
    wide = x if x.dtype is float64 else t.cast(x, float32)
    top = t.largest(wide, [len(x.shape) - 1])
    zero, one, infinity = (t.const(v, top.shape, top.dtype) for v in (0.0, 1.0, math.inf))
    top = t.where(t.less(zero, top), t.where(t.less(top, infinity), top, one), one)
    return t.cast(t.div(wide, t.expand(top, x.shape)), float32)


def _float(dtype: object, name: str) -> DType:
    kind = as_dtype(dtype)
    if not kind.is_float:
        raise TypeError(f"{name}: draws floats, got dtype {kind.name}; use randint for ints, bernoulli for bools")
    return kind


def _chance(p: Any, name: str) -> float:
    if not isinstance(p, int | float | np.generic) or not 0 <= p <= 1:
        raise ValueError(f"{name}: a probability p lies in 0 to 1, got {p!r}")
    return float(p)


def _scaled(node: Node, factor: float) -> Node:
    return t.mul(node, t.const(factor, node.shape, node.dtype))


def _plus(node: Node, term: float) -> Node:
    return t.add(node, t.const(term, node.shape, node.dtype))


def _low_bits(word: Node, count: int) -> Node:
    """The low bits of a word, moved to its top."""
    return _scaled(word, _wrapped(1 << (32 - count)))


def _wrapped(number: int) -> int:
    return (number + 2**31) % 2**32 - 2**31


def _unit(pair: tuple[Node, Node], dtype: DType) -> Node:
    """Numbers of [0, 1) of two words. Every product and sum is exact, so that devices agree, also where a product and
    a sum are rounded as one."""
    word, other = pair
    if dtype is float64:
        fine = _plus(_scaled(t.cast(_low_bits(other, 21), float64), 2.0**-64), 2.0**-33)
        return t.add(_plus(_scaled(t.cast(word, float64), 2.0**-32), 0.5), fine)
    unit = _plus(_scaled(t.cast(_low_bits(word, UNIT_BITS[dtype]), float32), 2.0**-32), 0.5)
    return t.cast(unit, dtype)


def _between(shape: tuple[int, ...], low: Any, high: Any, dtype: DType) -> Node:
    """Numbers of [low, high). In float64 a product of 24 bits each is exact: one rounding, however it is computed."""
    if not low < high or not math.isfinite(high - low):
        raise ValueError(f"uniform: low must be below high and both finite, got low={low}, high={high}")
    narrow = dtype is not float64
    ends = (float(np.asarray(end).astype(dtype.numpy)) for end in (low, high)) if narrow else (low, high)
    low, high = ends
    with np.errstate(over="ignore"):
        span = float(np.float32(high - low)) if narrow else high - low
    if math.isinf(span):
        raise ValueError(
            f"uniform: from {low} to {high} is further than {float32.name if narrow else dtype.name} reaches; "
            "draw from half of it and double the result"
        )
    unit = _unit(words(shape), float32 if narrow else float64)
    wide = t.mul(t.cast(unit, float64), t.scalar(span, shape, float64))
    drawn = t.cast(t.add(wide, t.scalar(low, shape, float64)), dtype)
    number = dtype.numpy.type
    below = t.scalar(float(np.nextafter(number(high), number(low))), shape, dtype)  # rounding must not reach high
    return t.where(t.less(below, drawn), below, drawn)


def _integers(shape: tuple[int, ...], low: int, count: int) -> Node:
    """int32 numbers low, ..., low + count - 1, where count is at most 2**32."""
    spread = t.mul(_unit(words(shape), float64), t.scalar(float(count), shape, float64))
    start = t.scalar(low, shape, int32)
    if count <= 2**31:
        return t.add(t.cast(spread, int32), start)
    half, zero = t.const(2.0**31, shape, float64), t.const(0.0, shape, float64)
    under = t.less(spread, half)
    cut = t.cast(t.add(spread, t.neg(t.where(under, zero, half))), int32)
    return t.add(t.add(cut, t.where(under, t.const(0, shape, int32), t.const(-(2**31), shape, int32))), start)


def _inner(word: Node, dtype: DType) -> Node:
    """Numbers of 0 < x < 1 of the size of a word, with all their digits next to 0."""
    size = t.where(t.less(word, t.const(0, word.shape, int32)), _plus(t.neg(word), -1), word)
    return _scaled(_plus(t.cast(size, dtype), 0.5), 2.0**-31 * (1 - 2.0**-24))


def _exponential(shape: tuple[int, ...]) -> Node:
    """float32 numbers of the exponential distribution of mean 1, above 0."""
    return t.neg(t.log(_inner(words(shape)[0], float32)))


def _normal(shape: tuple[int, ...], dtype: DType) -> Node:
    """sqrt(-2 log u) * sin(angle): the sine of an angle of a quarter turn to either side is distributed as that of any
    angle, and its series is short."""
    compute = float64 if dtype is float64 else float32
    word, other = words(shape)
    radius = t.sqrt(_scaled(t.log(_inner(word, compute)), -2.0))
    angle = _scaled(t.cast(other, compute), math.pi * 2.0**-32)
    square = t.mul(angle, angle)
    series: Node | None = None
    for number in range(SINE_TERMS[compute])[::-1]:
        term = (-1) ** number / math.factorial(2 * number + 1)
        series = t.const(term, shape, compute) if series is None else _plus(t.mul(series, square), term)
    assert series is not None
    return t.cast(t.mul(radius, t.mul(angle, series)), dtype)
