"""Tensors from little more than a shape: zeros, ones, ranges, identity matrices, copies."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from limn import trace as t
from limn.dtypes import as_dtype, check_scalar, float32
from limn.functions.pieces import equal, iota, one_number, shape_of
from limn.trace import Node

if TYPE_CHECKING:
    from limn.tensor import Tensor


class Creation:
    """Constructors of `Tensor`: class methods, and methods of a tensor whose shape and dtype are taken over."""

    __slots__ = ()

    @classmethod
    def full(
        cls, size: Any, fill_value: float | int | bool, dtype: object = None, requires_grad: bool = False
    ) -> Tensor:
        """`fill_value` in every element of shape `size`; float32, int32 or bool by the value unless `dtype` says
        otherwise."""
        kind = as_dtype(type(fill_value) if dtype is None else dtype)
        return cls._made(t.scalar(check_scalar(fill_value, kind), shape_of((size,), "full"), kind), requires_grad)

    @classmethod
    def zeros(cls, *shape: Any, size: Any = None, dtype: object = float32, requires_grad: bool = False) -> Tensor:
        """Zeros of a shape given as zeros(4, 3), zeros((4, 3)) or zeros(size=(4, 3))."""
        return cls._made(t.const(0, shape_of(shape, "zeros", size), as_dtype(dtype)), requires_grad)

    @classmethod
    def ones(cls, *shape: Any, size: Any = None, dtype: object = float32, requires_grad: bool = False) -> Tensor:
        """Ones of a shape given as ones(4, 3), ones((4, 3)) or ones(size=(4, 3))."""
        return cls._made(t.const(1, shape_of(shape, "ones", size), as_dtype(dtype)), requires_grad)

    @classmethod
    def arange(cls, start: Any = 0, end: Any = None, step: Any = 1, dtype: object = None) -> Tensor:
        """start, start + step, ... below end; arange(end) starts at 0. int32 of ints, float32 if one of them is a
        float."""
        given = (0, start) if end is None else (start, end)
        first, last, step = (one_number(n, "arange", "each of start, end and step") for n in (*given, step))
        if not math.isfinite(first) or not math.isfinite(last) or not (last - first) * step > 0:
            raise ValueError(
                f"arange: from {first} to {last} in steps of {step} there is nothing; tensors are never empty"
            )
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
        start, end = one_number(start, "linspace", "start"), one_number(end, "linspace", "end")
        return cls(np.linspace(start, end, count), dtype=dtype)

    def zeros_like(self, dtype: object = None, requires_grad: bool = False) -> Tensor:
        """Zeros of this tensor's shape, and of its dtype unless another is given."""
        return self._like(0, dtype, requires_grad)

    def ones_like(self, dtype: object = None, requires_grad: bool = False) -> Tensor:
        """Ones of this tensor's shape, and of its dtype unless another is given."""
        return self._like(1, dtype, requires_grad)

    def full_like(self, fill_value: float | int | bool, dtype: object = None, requires_grad: bool = False) -> Tensor:
        """`fill_value` in this tensor's shape, and of its dtype unless another is given."""
        return self._like(fill_value, dtype, requires_grad)

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
