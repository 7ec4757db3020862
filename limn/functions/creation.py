"""Tensors from little more than a shape: zeros, ones, ranges, identity matrices, copies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from limn import trace as t
from limn.dtypes import as_dtype, check_scalar, float32
from limn.functions.pieces import equal, iota, shape_of
from limn.trace import Node

if TYPE_CHECKING:
    from limn.tensor import Tensor


class Creation:
    """Constructors of `Tensor`: class methods, and methods of a tensor whose shape and dtype are taken over."""

    __slots__ = ()

    @classmethod
    def full(cls, shape: Any, value: float | int | bool, dtype: object = None, requires_grad: bool = False) -> Tensor:
        """`value` in every element of `shape`; float32, int32 or bool by the value unless `dtype` says
        otherwise."""
        kind = as_dtype(type(value) if dtype is None else dtype)
        return cls._made(t.scalar(check_scalar(value, kind), shape_of((shape,), "full"), kind), requires_grad)

    @classmethod
    def zeros(cls, *shape: Any, dtype: object = float32, requires_grad: bool = False) -> Tensor:
        """Zeros of a shape given as zeros(4, 3) or zeros((4, 3))."""
        return cls._made(t.const(0, shape_of(shape, "zeros"), as_dtype(dtype)), requires_grad)

    @classmethod
    def ones(cls, *shape: Any, dtype: object = float32, requires_grad: bool = False) -> Tensor:
        """Ones of a shape given as ones(4, 3) or ones((4, 3))."""
        return cls._made(t.const(1, shape_of(shape, "ones"), as_dtype(dtype)), requires_grad)

    @classmethod
    def arange(cls, start: Any, stop: Any = None, step: Any = 1, dtype: object = None) -> Tensor:
        """start, start + step, ... below stop, as numpy.arange: int32 of ints, float32 if one of them is a
        float."""
        first, last = (0, start) if stop is None else (start, stop)
        numbers = np.arange(first, last, step)
        return cls(numbers, dtype=float32 if dtype is None and numbers.dtype.kind == "f" else dtype)

    @classmethod
    def eye(cls, n: int, m: int | None = None, dtype: object = float32, requires_grad: bool = False) -> Tensor:
        """n rows and m columns, n without m: ones on the diagonal, zeros elsewhere."""
        rows, columns = shape_of((n, n if m is None else m), "eye")
        found = equal(iota((rows, columns), 0), iota((rows, columns), 1))
        return cls._made(t.cast(found, as_dtype(dtype)), requires_grad)

    @classmethod
    def linspace(cls, start: float, end: float, steps: int, dtype: object = float32) -> Tensor:
        """`steps` numbers at equal distances from start to end, both included; [start] for one step."""
        (count,) = shape_of((steps,), "linspace")
        return cls(np.linspace(start, end, count), dtype=dtype)

    def zeros_like(self, dtype: object = None, requires_grad: bool = False) -> Tensor:
        """Zeros of this tensor's shape, and of its dtype unless another is given."""
        return self._like(0, dtype, requires_grad)

    def ones_like(self, dtype: object = None, requires_grad: bool = False) -> Tensor:
        """Ones of this tensor's shape, and of its dtype unless another is given."""
        return self._like(1, dtype, requires_grad)

    def full_like(self, value: float | int | bool, dtype: object = None, requires_grad: bool = False) -> Tensor:
        """`value` in this tensor's shape, and of its dtype unless another is given."""
        return self._like(value, dtype, requires_grad)

    def _like(self, value: float | int | bool, dtype: object, requires_grad: bool) -> Tensor:
        kind = self.dtype if dtype is None else as_dtype(dtype)
        return self._made(t.scalar(check_scalar(value, kind), self.shape, kind), requires_grad)

    def clone(self) -> Tensor:
        """The same values in bytes of their own; gradients flow through."""
        return self._of(t.contiguous(self._node))

    @classmethod
    def _made(cls, node: Node, requires_grad: bool) -> Tensor:
        made = cls._of(node)
        return made.requires_grad_() if requires_grad else made
