"""Functions that fold dims, and softmax, which divides by such a fold."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

from limn import trace as t
from limn.dtypes import bool_, int32
from limn.functions.elementwise import power
from limn.functions.formulas import Value, magnitude, select
from limn.functions.pieces import mirror, not_, result_dtype, widened
from limn.functions.shape import cat
from limn.trace import Node, no_grad

if TYPE_CHECKING:
    from limn.tensor import Tensor


class Reduction:
    """Reductions take `dim`, one dim or a tuple, and `keepdim`, as torch; without `dim`, and with an empty tuple, they
    fold everything (`any` and `all` nothing with an empty tuple). A 0-d tensor has the dims 0 and -1."""

    __slots__ = ()

    def mean(self, dim: Any = None, keepdim: bool = False, *, axis: Any = None, keepdims: bool = False) -> Tensor:
        """The mean over one dim, a tuple of dims, or all. Of ints float32; halves compute in float32 and
        round once."""
        wide, axes = widened(self), self._axes(dim, "mean", axis)
        total = wide.sum(axes, keepdim or keepdims)
        count = wide.size // total.size
        node = t.div(total._node, t.const(count, total.shape, total.dtype))
        return self._of(t.cast(node, result_dtype(self.dtype)))

    def min(self, dim: Any = None, keepdim: bool = False, *, axis: Any = None, keepdims: bool = False) -> Tensor:
        """The smallest value over one dim, a tuple of dims, or all; NaN if there is one. Ties share the
        gradient evenly."""
        axes = self._axes(dim, "min", axis)
        node = mirror(t.largest(mirror(self._node), axes))
        return self._reduced(node, axes, keepdim or keepdims)

    def amax(self, dim: Any = None, keepdim: bool = False) -> Tensor:
        """torch's name for `max`: the largest value; ties share the gradient evenly."""
        axes = self._axes(dim, "amax")
        return self.max(axes, keepdim)

    def amin(self, dim: Any = None, keepdim: bool = False) -> Tensor:
        """torch's name for `min`: the smallest value; ties share the gradient evenly."""
        axes = self._axes(dim, "amin")
        return self.min(axes, keepdim)

    def any(self, dim: Any = None, keepdim: bool = False) -> Tensor:
        """True where one of the elements is not zero; NaN is not zero."""
        axes = self._axes(dim, "any", nothing=True)
        return self._reduced(t.largest(t.cast(self._node, bool_), axes), axes, keepdim)

    def all(self, dim: Any = None, keepdim: bool = False) -> Tensor:
        """True where none of the elements is zero."""
        axes = self._axes(dim, "all", nothing=True)
        return self._reduced(not_(t.largest(not_(t.cast(self._node, bool_)), axes)), axes, keepdim)

    def var(
        self, dim: Any = None, correction: float = 1, keepdim: bool = False, *, unbiased: bool | None = None
    ) -> Tensor:
        """The mean squared distance from the mean, where n terms are divided by n - correction; NaN for one term with
        a correction of 1. `unbiased` is torch's older word for a correction of 1 or 0. Of ints float32; halves compute
        in float32."""
        correction = correction if unbiased is None else int(unbiased)
        return self._of(t.cast(self._variance(dim, correction, keepdim, "var"), result_dtype(self.dtype)))

    def std(
        self, dim: Any = None, correction: float = 1, keepdim: bool = False, *, unbiased: bool | None = None
    ) -> Tensor:
        """The square root of `var`, with a slope of 0 where it is 0, as torch."""
        correction = correction if unbiased is None else int(unbiased)
        variance = self._variance(dim, correction, keepdim, "std")
        with no_grad():
            root = t.sqrt(variance)

        def rule(y: Node, g: Node) -> list[Node]:
            s = Value(y)
            zero = s.equal(0.0)
            return [select(zero, 0.0, Value(g) / (select(zero, 1.0, s) * 2.0)).node]

        return self._of(t.cast(t.with_rule(root, (variance,), rule), result_dtype(self.dtype)))

    def _variance(self, dim: Any, correction: float, keepdim: bool, name: str) -> Node:
        if not isinstance(correction, int | float):
            raise TypeError(f"{name}: a correction is a number, got {correction!r}; divides by n - correction")
        if isinstance(dim, bool):  # torch's older var(unbiased)
            dim, correction = None, int(dim)
        wide, axes = widened(self), self._axes(dim, name)
        centred = (wide - wide.mean(axes, keepdim=True))._node
        total = t.total(t.mul(centred, centred), axes)
        count = prod(self.shape[d] for d in axes)
        node = t.div(total, t.const(max(count - correction, 0), total.shape, total.dtype))
        return self._reduced(node, axes, keepdim)._node

    def prod(self, dim: int | None = None, keepdim: bool = False) -> Tensor:
        """The product over one dim, or of all elements. Factors meet in groups of 16, and the groups again, so zeros
        and their gradients are exact. bool and narrow ints multiply in int32, which wraps; halves in float32."""
        if dim is None:
            return self.reshape(-1).prod(0).reshape([1] * self.ndim if keepdim else [])
        if not self.ndim:
            self._line(dim, "prod")
            return self.reshape(1).prod(0)
        at = self._dim(dim, "prod")
        x = self.cast(int32) if not self.dtype.is_float else widened(self)
        while x.shape[at] > 1:
            x = _grouped(x, at)
        return self._reduced(t.cast(x._node, self.dtype if self.dtype.is_float else int32), [at], keepdim)

    def norm(self, p: float | str = 2, dim: Any = None, keepdim: bool = False) -> Tensor:
        """(sum |x|**p) ** (1/p); the largest |x| for p = inf, the smallest for -inf, the count of what is not zero for
        0; "fro" means 2. At 0 the slope is 0, as torch. Squares may overflow, as torch's. Of ints float32; halves
        compute in float32."""
        wide, axes, p = widened(self), self._axes(dim, "norm"), 2 if p == "fro" else p
        if isinstance(p, bool) or not isinstance(p, int | float):
            raise TypeError(f"norm: p is a number, got {p!r}")
        size = wide.abs()
        if p == float("inf"):
            node = size.max(axes, keepdim=True)._node
        elif p == float("-inf"):
            node = size.min(axes, keepdim=True)._node
        elif p == 0:
            node = (size != 0).cast(wide.dtype).sum(axes, keepdim=True)._node
        elif p == 1:
            node = size.sum(axes, keepdim=True)._node
        else:
            node = _p_norm(wide, float(p), axes)
        return self._reduced(t.cast(node, result_dtype(self.dtype)), axes, keepdim)

    def logsumexp(self, dim: Any = None, keepdim: bool = False) -> Tensor:
        """log(sum(exp(x))), computed without overflow; -inf where all are. Of ints float32; halves compute in
        float32."""
        wide, axes = widened(self), self._axes(dim, "logsumexp")
        x = wide._node
        with no_grad():
            top = Value(t.largest(x, axes))
            top = select(magnitude(top) < float("inf"), top, 0.0)
            value = t.add(t.log(t.total(t.exp(t.add(x, t.neg(t.expand(top.node, x.shape)))), axes)), top.node)

        def rule(y: Node, g: Node) -> list[Node]:
            low = Value(y)
            # where all are -inf, the share of each is exp(-inf - 0) = 0
            low = select(low.equal(float("-inf")), 0.0, low)
            return [t.mul(t.expand(g, x.shape), t.exp(t.add(x, t.neg(t.expand(low.node, x.shape)))))]

        node = t.with_rule(value, (x,), rule)
        return self._reduced(t.cast(node, result_dtype(self.dtype)), axes, keepdim)

    # ---- softmax

    def softmax(self, dim: int = -1) -> Tensor:
        """exp(x) / sum(exp(x)) along `dim`, computed without overflow. Of ints float32; halves compute in
        float32."""
        wide = widened(self)
        axes, x = wide._line(dim, "softmax"), wide._node
        with no_grad():
            e = t.exp(t.add(x, t.neg(t.expand(t.largest(x, axes), x.shape))))
            value = t.div(e, t.expand(t.total(e, axes), x.shape))

        def rule(y: Node, g: Node) -> list[Node]:
            dot = t.total(t.mul(g, y), axes)
            return [t.mul(y, t.add(g, t.neg(t.expand(dot, y.shape))))]

        return self._of(t.cast(t.with_rule(value, (x,), rule), result_dtype(self.dtype)))

    def log_softmax(self, dim: int = -1) -> Tensor:
        """x - log(sum(exp(x))) along `dim`, computed without overflow. Of ints float32; halves compute in
        float32."""
        wide = widened(self)
        axes, x = wide._line(dim, "log_softmax"), wide._node
        with no_grad():
            shifted = t.add(x, t.neg(t.expand(t.largest(x, axes), x.shape)))
            norm = t.log(t.total(t.exp(shifted), axes))
            value = t.add(shifted, t.neg(t.expand(norm, x.shape)))

        def rule(y: Node, g: Node) -> list[Node]:
            return [t.add(g, t.neg(t.mul(t.exp(y), t.expand(t.total(g, axes), y.shape))))]

        return self._of(t.cast(t.with_rule(value, (x,), rule), result_dtype(self.dtype)))


GROUP = 16  # factors that one kernel multiplies, each read from memory by itself


def _grouped(x: Tensor, at: int) -> Tensor:
    """The products of each 16 neighbours along a dim, and of the fewer that are left over at its end."""
    n = x.shape[at]
    bounds = [(0, extent) for extent in x.shape]
    width = GROUP if n > GROUP else n
    whole = n // width * width

    def product(start: int, stop: int, step: int) -> Tensor:
        """x[start] * x[start + 1] * .., for every start below stop."""
        bounds[at] = (start, stop)
        part = x.shrink(bounds)
        rows = part.reshape([*x.shape[:at], (stop - start) // step, step, *x.shape[at + 1 :]])
        pieces = rows.split(1, at + 1)
        result = pieces[0]
        for piece in pieces[1:]:
            result = result * piece
        return result.squeeze(at + 1)

    groups = product(0, whole, width)
    return groups if whole == n else cat([groups, product(whole, n, n - whole)], at)


def _p_norm(x: Tensor, p: float, axes: list[int]) -> Node:
    with no_grad():
        size = x.abs()
        powers = size * size if p == 2 else size**p
        total = powers.sum(axes, keepdim=True)
        value = total.sqrt() if p == 2 else total ** (1.0 / p)

    def rule(y: Node, g: Node) -> list[Node]:
        shape = x.shape
        zero = Value(y).equal(0.0)
        norm = select(zero, 1.0, Value(y))
        if p == 2:
            share = select(zero, 0.0, Value(g) / norm)
            return [t.mul(x._node, t.expand(share.node, shape))]
        scale = select(zero, 0.0, Value(g) * Value(power(norm.node, norm.full(1.0 - p).node)))
        at = Value(x._node)
        nothing = at.equal(0.0)
        slope = power(x.abs()._node, at.full(p - 1.0).node)
        slope = select(nothing, 0.0, Value(slope) * Value(x.sign()._node))
        return [t.mul(slope.node, t.expand(scale.node, shape))]

    return t.with_rule(value._node, (x._node,), rule)
