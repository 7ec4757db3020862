"""Comparisons, logic of bools, and what selects by them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from limn import trace as t
from limn.dtypes import bool_, check_scalar, int32
from limn.functions.pieces import equal, fit, less_equal, not_, ordered
from limn.trace import Node, no_grad

if TYPE_CHECKING:
    from limn.tensor import Tensor


class Comparison:
    """Comparisons give bool; they take tensors, arrays and numbers, and are false with NaN, except !=."""

    __slots__ = ()

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
        return self._compare(other, "<=", less_equal)

    def __ge__(self, other: Any) -> Tensor:
        return self._compare(other, ">=", lambda a, b: less_equal(b, a))

    def __eq__(self, other: Any) -> Tensor:  # type: ignore[override]
        return self._compare(other, "==", equal)

    def __ne__(self, other: Any) -> Tensor:  # type: ignore[override]
        return self._compare(other, "!=", lambda a, b: not_(equal(a, b)))

    def isnan(self) -> Tensor:
        """True where the element is NaN."""
        node = self._node
        return self._of(not_(ordered(node)) if node.dtype.is_float else t.const(False, node.shape, bool_))

    def isinf(self) -> Tensor:
        """True where the element is inf or -inf."""
        node = self._node
        if not node.dtype.is_float:
            return self._of(t.const(False, node.shape, bool_))
        low, high = _ends(node)
        above = t.less(low, node)  # below inf only -inf is not above -inf, otherwise only inf is
        return self._of(t.where(t.less(node, high), not_(above), above))

    def isfinite(self) -> Tensor:
        """True where the element is neither infinite nor NaN."""
        node = self._node
        if not node.dtype.is_float:
            return self._of(t.const(True, node.shape, bool_))
        low, high = _ends(node)
        return self._of(t.where(t.less(node, high), t.less(low, node), t.const(False, node.shape, bool_)))

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

    def __xor__(self, other: Any) -> Tensor:
        return self._logic(other, "^", lambda a, b: t.where(a, not_(b), b))

    __rand__, __ror__, __rxor__ = __and__, __or__, __xor__

    def __invert__(self) -> Tensor:
        return self._logic(True, "~", lambda a, true: not_(a))

    def logical_and(self, other: Any) -> Tensor:
        """True where both are not zero; NaN is not zero. Any dtypes, numbers too."""
        return _truth(self) & _truth(self._as_tensor(other))

    def logical_or(self, other: Any) -> Tensor:
        """True where one of them is not zero."""
        return _truth(self) | _truth(self._as_tensor(other))

    def logical_xor(self, other: Any) -> Tensor:
        """True where exactly one of them is not zero."""
        return _truth(self) ^ _truth(self._as_tensor(other))

    def logical_not(self) -> Tensor:
        """True where the element is zero."""
        return ~_truth(self)

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
        shape = np.broadcast_shapes(self.shape, pair[0].shape) if fit(self.shape, pair[0].shape) else None
        if shape is None:
            raise ValueError(
                f"where: the condition has shape {self.shape}, the values {pair[0].shape}; they must broadcast"
            )
        return self._of(t.where(t.expand(self._node, shape), *(t.expand(node, shape) for node in pair)))

    def masked_fill(self, mask: Any, value: Any) -> Tensor:
        """This tensor with `value`, a number or a 0-d tensor, where the bool `mask` is true; mask and tensor
        broadcast. Where it is filled the gradient is 0. TypeError for a mask that is not bool."""
        mask = self._as_tensor(mask)
        if mask.dtype is not bool_:
            raise TypeError(f"masked_fill: the mask is {mask.dtype.name}, not bool; write x.masked_fill(mask != 0, ..)")
        if isinstance(value, bool | int | float | np.generic):
            value = self._of(t.scalar(check_scalar(value, self.dtype), (), self.dtype))
        value = self._as_tensor(value)
        if value.shape != ():
            raise ValueError(f"masked_fill: the value has shape {value.shape}, not one element; use where")
        return mask.where(value.cast(self.dtype), self)

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
            value = a if not b.dtype.is_float else t.where(ordered(b), a, b)
            value = t.where(behind(a, b), b, value)

        def share(node: Node, g: Node) -> list[Node | None]:
            zero, half = t.const(0, g.shape, g.dtype), t.mul(g, t.const(0.5, g.shape, g.dtype))
            a_behind, b_behind = behind(a, b), behind(b, a)
            to_a = t.where(a_behind, zero, t.where(b_behind, g, half)) if a.tracked else None
            to_b = t.where(b_behind, zero, t.where(a_behind, g, half)) if b.tracked else None
            return [to_a, to_b]

        return self._of(t.cast(t.with_rule(value, (a, b), share), pair[0].dtype))


def _ends(node: Node) -> tuple[Node, Node]:
    low, high = (t.const(end, node.shape, node.dtype) for end in (float("-inf"), float("inf")))
    return low, high


def _truth(x: Tensor) -> Tensor:
    return x.cast(bool_)
