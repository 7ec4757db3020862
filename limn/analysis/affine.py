"""What can be proven about the affine indices of nest loops: linear forms and ranges."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from xdsl.ir import Block, SSAValue
from xdsl.ir.affine import AffineBinaryOpExpr, AffineBinaryOpKind, AffineConstantExpr, AffineDimExpr, AffineExpr

from limn.dialects.affine import Index
from limn.dialects.nest import CheckRowOp, ForOp

Ranges: TypeAlias = dict[SSAValue, tuple[int, int]]
"""The least and greatest value that an index may have."""


def terms(expr: AffineExpr, factor: int = 1) -> Iterator[tuple[int, AffineExpr]]:
    """``expr`` as a sum of (factor, dim or quotient or remainder or 1)."""
    stack = [(factor, expr)]
    while stack:
        factor, expr = stack.pop()
        if isinstance(expr, AffineConstantExpr):
            yield factor * expr.value, AffineConstantExpr(1)
        elif isinstance(expr, AffineBinaryOpExpr) and expr.kind is AffineBinaryOpKind.Add:
            stack += [(factor, expr.rhs), (factor, expr.lhs)]
        elif isinstance(expr, AffineBinaryOpExpr) and expr.kind is AffineBinaryOpKind.Mul:
            sides = (expr.lhs, expr.rhs)
            constant = next((s.value for s in sides if isinstance(s, AffineConstantExpr)), None)
            if constant is None:
                yield factor, expr
            else:
                stack.append((factor * constant, sides[isinstance(sides[0], AffineConstantExpr)]))
        else:
            yield factor, expr


def linear(index: Index) -> tuple[dict[SSAValue, int], int] | None:
    """(stride of each index value, constant), or None for a subscript with quotients or remainders."""
    strides: dict[SSAValue, int] = {}
    constant = 0
    for factor, leaf in terms(index.expr):
        if isinstance(leaf, AffineConstantExpr):
            constant += factor
        elif isinstance(leaf, AffineDimExpr):
            value = index.values[leaf.position]
            strides[value] = strides.get(value, 0) + factor
        else:
            return None
    return {value: stride for value, stride in strides.items() if stride}, constant


def interval(index: Index, ranges: Ranges) -> tuple[int, int]:
    """The least and greatest value of an affine expression, never too narrow."""
    return _interval(index.expr, [ranges[value] for value in index.values])


def _interval(expr: AffineExpr, dims: list[tuple[int, int]]) -> tuple[int, int]:
    if isinstance(expr, AffineConstantExpr):
        return expr.value, expr.value
    if isinstance(expr, AffineDimExpr):
        return dims[expr.position]
    assert isinstance(expr, AffineBinaryOpExpr)
    (low, high), (first, last) = _interval(expr.lhs, dims), _interval(expr.rhs, dims)
    if expr.kind is AffineBinaryOpKind.Add:
        return low + first, high + last
    if expr.kind is AffineBinaryOpKind.Mul:
        ends = [low * first, low * last, high * first, high * last]
    elif expr.kind is AffineBinaryOpKind.FloorDiv:
        ends = [low // first, high // first]
    elif expr.kind is AffineBinaryOpKind.CeilDiv:
        ends = [-(-low // first), -(-high // first)]
    else:
        return (low, high) if low >= 0 and high < first else (0, first - 1)
    return min(ends), max(ends)


def range_of(loop: ForOp, ranges: Ranges) -> tuple[int, int]:
    """The least and greatest value of a loop's index; (low, low) for a loop that may not run at all."""
    low = max(interval(index, ranges)[0] for index in loop.lowers)
    high = min(interval(index, ranges)[1] for index in loop.uppers) - 1
    return low, max(low, high)


def ranges_in(block: Block) -> Ranges:
    """The range of every index value in a kernel's body."""
    ranges: Ranges = {}
    for op in block.walk():
        if isinstance(op, ForOp):
            ranges[op.index] = range_of(op, ranges)
        elif isinstance(op, CheckRowOp):
            ranges[op.result] = (0, op.bound.value.data - 1)
    return ranges


def turns_of(loop: ForOp, ranges: Ranges) -> int:
    """How often a loop runs, at most; ``ranges`` knows its index."""
    low, high = ranges[loop.index]
    return (high - low) // loop.stride + 1
