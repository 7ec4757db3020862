"""Functions that fold dims, and softmax, which divides by such a fold."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from limn import trace as t
from limn.dtypes import float32
from limn.functions.pieces import widened
from limn.trace import Node, no_grad

if TYPE_CHECKING:
    from limn.tensor import Tensor


class Reduction:
    """Reductions take `dim`, one dim or a tuple, and `keepdim`, as torch; without `dim` they fold everything."""

    __slots__ = ()

    def mean(self, dim: Any = None, keepdim: bool = False, *, axis: Any = None, keepdims: bool = False) -> Tensor:
        """The mean over one dim, a tuple of dims, or all. Of ints float32; halves compute in float32 and
        round once."""
        wide = widened(self)
        total = wide.sum(dim, keepdim, axis=axis, keepdims=keepdims)
        count = wide.size // total.size
        node = t.div(total._node, t.const(count, total.shape, total.dtype))
        return self._of(t.cast(node, self.dtype if self.dtype.is_float else float32))

    def softmax(self, dim: int = -1) -> Tensor:
        """exp(x) / sum(exp(x)) along `dim`, computed without overflow. Of ints float32; halves compute in
        float32."""
        wide = widened(self)
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
        wide = widened(self)
        axes, x = [wide._dim(dim, "log_softmax")], wide._node
        with no_grad():
            shifted = t.add(x, t.neg(t.expand(t.largest(x, axes), x.shape)))
            norm = t.log(t.total(t.exp(shifted), axes))
            value = t.add(shifted, t.neg(t.expand(norm, x.shape)))

        def rule(y: Node, g: Node) -> list[Node]:
            return [t.add(g, t.neg(t.mul(t.exp(y), t.expand(t.total(g, axes), y.shape))))]

        return self._of(t.cast(t.with_rule(value, (x,), rule), self.dtype if self.dtype.is_float else float32))
