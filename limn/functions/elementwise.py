"""Functions of one element at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from limn import trace as t
from limn.dtypes import bool_

if TYPE_CHECKING:
    from limn.tensor import Tensor


class Elementwise:
    """Functions whose result has the shape of their operands' broadcast."""

    __slots__ = ()

    def relu(self) -> Tensor:
        """0 where x <= 0, else x; NaN stays. The slope at 0 is 0."""
        node = self._node
        if node.dtype is bool_:
            return self
        # below the smallest positive number means x <= 0 in one comparison that is false for NaN
        above = t.const(node.dtype.tiny, node.shape, node.dtype)
        return self._of(t.where(t.less(node, above), t.const(0, node.shape, node.dtype), node))

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
