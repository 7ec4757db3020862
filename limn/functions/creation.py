"""Tensors from nothing but a shape: zeros, ones, full, arange."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from limn import trace as t
from limn.dtypes import as_dtype, check_scalar, float32
from limn.functions.pieces import shape_of
from limn.trace import Node

if TYPE_CHECKING:
    from limn.tensor import Tensor


class Creation:
    """Constructors of `Tensor`, as class methods."""

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
    def _made(cls, node: Node, requires_grad: bool) -> Tensor:
        made = cls._of(node)
        return made.requires_grad_() if requires_grad else made
