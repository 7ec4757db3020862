"""Functions composed from the primitives: comparisons, selection, softmax, creation. `Tensor` inherits them.

Adding one takes a few lines: record nodes or combine Tensor methods; the gradient follows. Where the natural
gradient would be inexact or wasteful, `trace.with_rule` gives the function one of its own (softmax, maximum).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from limn import random
from limn import trace as t
from limn.dtypes import DType, as_dtype, bool_, check_scalar, float32, float64, int32
from limn.indexing import row_numbers
from limn.trace import Node, no_grad

if TYPE_CHECKING:
    from limn.tensor import Tensor


class Functions:
    """What `Tensor` can do beyond its core; every method here is written in terms of the core or of trace
    nodes."""

    __slots__ = ()

    # ---- creation

    @classmethod
    def full(cls, shape: Any, value: float | int | bool, dtype: object = None, requires_grad: bool = False) -> Tensor:
        """`value` in every element of `shape`; float32, int32 or bool by the value unless `dtype` says
        otherwise."""
        kind = as_dtype(type(value) if dtype is None else dtype)
        return cls._made(t.scalar(check_scalar(value, kind), _shape((shape,), "full"), kind), requires_grad)

    @classmethod
    def zeros(cls, *shape: Any, dtype: object = float32, requires_grad: bool = False) -> Tensor:
        """Zeros of a shape given as zeros(4, 3) or zeros((4, 3))."""
        return cls._made(t.const(0, _shape(shape, "zeros"), as_dtype(dtype)), requires_grad)

    @classmethod
    def ones(cls, *shape: Any, dtype: object = float32, requires_grad: bool = False) -> Tensor:
        """Ones of a shape given as ones(4, 3) or ones((4, 3))."""
        return cls._made(t.const(1, _shape(shape, "ones"), as_dtype(dtype)), requires_grad)

    @classmethod
    def arange(cls, start: Any, stop: Any = None, step: Any = 1, dtype: object = None) -> Tensor:
        """start, start + step, ... below stop, as numpy.arange: int32 of ints, float32 if one of them is a
        float."""
        first, last = (0, start) if stop is None else (start, stop)
        numbers = np.arange(first, last, step)
        return cls(numbers, dtype=float32 if dtype is None and numbers.dtype.kind == "f" else dtype)

    @classmethod
    def randn(cls, *shape: Any, dtype: object = float32, requires_grad: bool = False) -> Tensor:
        """Independent normal numbers of mean 0 and variance 1."""
        kind = as_dtype(dtype)
        drawn = random.generator().standard_normal(_shape(shape, "randn"), _drawn_in(kind))
        return cls(drawn, dtype=kind, requires_grad=requires_grad)

    @classmethod
    def uniform(
        cls, *shape: Any, low: float = 0.0, high: float = 1.0, dtype: object = float32, requires_grad: bool = False
    ) -> Tensor:
        """Independent numbers spread evenly over low <= x < high."""
        kind = as_dtype(dtype)
        drawn = low + (high - low) * random.generator().random(_shape(shape, "uniform"), _drawn_in(kind))
        below = np.nextafter(drawn.dtype.type(high), drawn.dtype.type(low))  # rounding must not reach high
        return cls(np.minimum(drawn, below), dtype=kind, requires_grad=requires_grad)

    @classmethod
    def _made(cls, node: Node, requires_grad: bool) -> Tensor:
        made = cls._of(node)
        return made.requires_grad_() if requires_grad else made

    # ---- comparisons: bool, of tensors, arrays and numbers; false with NaN, except !=

    def _compare(self, other: Any, name: str, function: Any) -> Tensor:
        pair = self._operands(name, self, other)
        if pair is None:
            return NotImplemented
        if pair[0].dtype is bool_:
            pair = [t.cast(node, int32) for node in pair]
        return self._of(function(*pair))

    def __lt__(self, other: Any) -> Tensor:
        return self._compare(other, "<", t.less)

    def __gt__(self, other: Any) -> Tensor:
        return self._compare(other, ">", lambda a, b: t.less(b, a))

    def __le__(self, other: Any) -> Tensor:
        return self._compare(other, "<=", _less_equal)

    def __ge__(self, other: Any) -> Tensor:
        return self._compare(other, ">=", lambda a, b: _less_equal(b, a))

    def __eq__(self, other: Any) -> Tensor:  # type: ignore[override]
        return self._compare(other, "==", _equal)

    def __ne__(self, other: Any) -> Tensor:  # type: ignore[override]
        return self._compare(other, "!=", lambda a, b: _not(_equal(a, b)))

    def isnan(self) -> Tensor:
        """True where the element is NaN."""
        node = self._node
        return self._of(_not(_ordered(node)) if node.dtype.is_float else t.const(False, node.shape, bool_))

    def _logic(self, other: Any, name: str, function: Any) -> Tensor:
        pair = self._operands(name, self, other)
        if pair is None:
            return NotImplemented
        if pair[0].dtype is not bool_:
            raise TypeError(f"{name}: defined on bool only, these meet at {pair[0].dtype.name}; compare first")
        return self._of(function(*pair))

    def __and__(self, other: Any) -> Tensor:
        return self._logic(other, "&", lambda a, b: t.where(a, b, a))

    def __or__(self, other: Any) -> Tensor:
        return self._logic(other, "|", lambda a, b: t.where(a, a, b))

    __rand__, __ror__ = __and__, __or__

    def __invert__(self) -> Tensor:
        return self._logic(True, "~", lambda a, true: _not(a))

    # ---- selection

    def where(self, a: Any, b: Any) -> Tensor:
        """condition.where(a, b): `a` where this bool tensor is true, else `b`; the three broadcast. A
        selection forward and backward: the operand not taken gets a gradient of exactly 0."""
        if self.dtype is not bool_:
            raise TypeError(
                f"where: is called on the condition, which is bool, got {self.dtype.name}; write (x > 0).where(a, b)"
            )
        pair = self._operands("where", a, b)
        if pair is None:
            raise TypeError(f"where: cannot select between {type(a).__name__} and {type(b).__name__}")
        shape = np.broadcast_shapes(self.shape, pair[0].shape) if _fit(self.shape, pair[0].shape) else None
        if shape is None:
            raise ValueError(
                f"where: the condition has shape {self.shape}, the values {pair[0].shape}; they must broadcast"
            )
        return self._of(t.where(t.expand(self._node, shape), *(t.expand(node, shape) for node in pair)))

    def maximum(self, other: Any) -> Tensor:
        """The larger of two, elementwise; NaN if either is. At a tie each side gets half of the gradient."""
        return self._select(other, "maximum", lambda a, b: t.less(a, b))

    def minimum(self, other: Any) -> Tensor:
        """The smaller of two, elementwise; NaN if either is. At a tie each side gets half of the gradient."""
        return self._select(other, "minimum", lambda a, b: t.less(b, a))

    def _select(self, other: Any, name: str, behind: Any) -> Tensor:
        """The one of two that is not behind the other."""
        pair = self._operands(name, self, other)
        if pair is None:
            raise TypeError(f"{name}: of a tensor and a {type(other).__name__}; pass a tensor, an array or a number")
        a, b = pair
        if a.dtype is bool_:
            a, b = t.cast(a, int32), t.cast(b, int32)
        with no_grad():
            # a NaN in a is never behind, so only one in b needs care
            value = a if not b.dtype.is_float else t.where(_ordered(b), a, b)
            value = t.where(behind(a, b), b, value)

        def share(node: Node, g: Node) -> list[Node | None]:
            zero, half = t.const(0, g.shape, g.dtype), t.mul(g, t.const(0.5, g.shape, g.dtype))
            a_behind, b_behind = behind(a, b), behind(b, a)
            to_a = t.where(a_behind, zero, t.where(b_behind, g, half)) if a.tracked else None
            to_b = t.where(b_behind, zero, t.where(a_behind, g, half)) if b.tracked else None
            return [to_a, to_b]

        return self._of(t.cast(t.with_rule(value, (a, b), share), pair[0].dtype))

    def relu(self) -> Tensor:
        """0 where x <= 0, else x; NaN stays. The slope at 0 is 0."""
        node = self._node
        if node.dtype is bool_:
            return self
        # below the smallest positive number means x <= 0 in one comparison that is false for NaN
        above = t.const(node.dtype.tiny, node.shape, node.dtype)
        return self._of(t.where(t.less(node, above), t.const(0, node.shape, node.dtype), node))

    # ---- powers and means

    def __pow__(self, exponent: Any) -> Tensor:
        """x ** n for whole n, by repeated squaring, exact where the products are; x ** 0.5 is sqrt. Of ints n
        must not be negative."""
        if isinstance(exponent, np.generic):
            exponent = exponent.item()
        if exponent == 0.5:
            return self.sqrt()
        if isinstance(exponent, bool) or not isinstance(exponent, int | float) or exponent != int(exponent):
            raise ValueError(
                f"pow: the exponent must be a whole number or 0.5, got {exponent!r}; write (x.log() * p).exp()"
            )
        n = abs(int(exponent))
        if exponent < 0 and not self.dtype.is_float:
            raise ValueError(f"pow: exponent {exponent} of {self.dtype.name}; cast to float32 first")
        if n == 0:
            return self._of(t.const(1, self.shape, self.dtype))
        square, power = self, None
        while n:
            if n & 1:
                power = square if power is None else power * square
            n >>= 1
            if n:
                square = square * square
        return power if exponent > 0 else power.reciprocal()

    def mean(self, dim: Any = None, keepdim: bool = False, *, axis: Any = None, keepdims: bool = False) -> Tensor:
        """The mean over one dim, a tuple of dims, or all. Of ints float32; halves compute in float32 and
        round once."""
        wide = _widened(self)
        total = wide.sum(dim, keepdim, axis=axis, keepdims=keepdims)
        count = wide.size // total.size
        node = t.div(total._node, t.const(count, total.shape, total.dtype))
        return self._of(t.cast(node, self.dtype if self.dtype.is_float else float32))

    # ---- softmax

    def softmax(self, dim: int = -1) -> Tensor:
        """exp(x) / sum(exp(x)) along `dim`, computed without overflow. Of ints float32; halves compute in
        float32."""
        wide = _widened(self)
        axes, x = [wide._dim(dim, "softmax")], wide._node
        with no_grad():
            e = t.exp(t.add(x, t.neg(t.expand(t.largest(x, axes), x.shape))))
            value = t.div(e, t.expand(t.total(e, axes), x.shape))

        def rule(y: Node, g: Node) -> list[Node]:
            dot = t.total(t.mul(g, y), axes)
            return [t.mul(y, t.add(g, t.neg(t.expand(dot, y.shape))))]

        return self._of(t.cast(t.with_rule(value, (x,), rule), self.dtype if self.dtype.is_float else float32))

    def log_softmax(self, dim: int = -1) -> Tensor:
        """x - log(sum(exp(x))) along `dim`, computed without overflow. Of ints float32; halves compute in
        float32."""
        wide = _widened(self)
        axes, x = [wide._dim(dim, "log_softmax")], wide._node
        with no_grad():
            shifted = t.add(x, t.neg(t.expand(t.largest(x, axes), x.shape)))
            norm = t.log(t.total(t.exp(shifted), axes))
            value = t.add(shifted, t.neg(t.expand(norm, x.shape)))

        def rule(y: Node, g: Node) -> list[Node]:
            return [t.add(g, t.neg(t.mul(t.exp(y), t.expand(t.total(g, axes), y.shape))))]

        return self._of(t.cast(t.with_rule(value, (x,), rule), self.dtype if self.dtype.is_float else float32))

    # ---- rows

    def gather_rows(self, rows: Any) -> Tensor:
        """Rows of this table (V, ...) at int row numbers (I...): a tensor (I..., ...). A number outside 0 to
        V - 1, negative ones too, is an IndexError when the result is computed. Repeated rows add up in the
        gradient."""
        return self._of(t.gather(self._node, row_numbers(self, rows, "gather_rows")))


def _shape(given: tuple[Any, ...], name: str) -> tuple[int, ...]:
    """A shape given as f(4, 3) or f((4, 3))."""
    shape = given[0] if len(given) == 1 and isinstance(given[0], tuple | list) else given
    if not all(isinstance(n, int | np.integer) and not isinstance(n, bool) and n > 0 for n in shape):
        raise ValueError(f"{name}: a shape is positive ints, got {tuple(shape)}; tensors are never empty")
    return tuple(int(n) for n in shape)


def _drawn_in(dtype: DType) -> type:
    return np.float64 if dtype is float64 else np.float32


def _fit(a: tuple[int, ...], b: tuple[int, ...]) -> bool:
    return all(m == n or 1 in (m, n) for m, n in zip(a[::-1], b[::-1]))


def _widened(x: Tensor) -> Tensor:
    return x if x.dtype.is_float and not x.dtype.is_half else x.cast(float32)


def _not(a: Node) -> Node:
    return t.where(a, t.const(False, a.shape, bool_), t.const(True, a.shape, bool_))


def _ordered(a: Node) -> Node:
    """False where `a` is NaN: every other number is below inf or above -inf."""
    top, bottom = t.const(float("inf"), a.shape, a.dtype), t.const(float("-inf"), a.shape, a.dtype)
    return t.where(t.less(a, top), t.const(True, a.shape, bool_), t.less(bottom, a))


def _neither(a: Node, b: Node) -> Node:
    """For two of which neither is less: True if they are equal, False if one is NaN, which is then in their
    sum."""
    return _ordered(t.add(a, b)) if a.dtype.is_float else t.const(True, a.shape, bool_)


def _equal(a: Node, b: Node) -> Node:
    false = t.const(False, a.shape, bool_)
    return t.where(t.less(a, b), false, t.where(t.less(b, a), false, _neither(a, b)))


def _less_equal(a: Node, b: Node) -> Node:
    if not a.dtype.is_float:
        return _not(t.less(b, a))
    true, false = t.const(True, a.shape, bool_), t.const(False, a.shape, bool_)
    return t.where(t.less(a, b), true, t.where(t.less(b, a), false, _neither(a, b)))
