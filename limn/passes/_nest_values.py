"""The arithmetic of ``lower``: one graph op as nest ops on scalars.

Halves are a storage width. Each graph op on f16 or bf16 computes in f32 and rounds once, so its operands are widened,
and its result is rounded, by casts that stand in the IR. A selection rounds nothing and computes nothing, so it stays
on halves.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from xdsl.dialects.builtin import f16, f32, f64, i1, i32
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineExpr

from limn.dialects import graph, nest
from limn.dialects.affine import Index
from limn.dtypes import BY_MLIR

Append = Callable[[Operation], SSAValue]
"""Puts an op at the end of the block that is being written and gives its result."""


def totalled_in(element: Attribute) -> Attribute:
    """The type in which a reduction of ``element`` is totalled: f32 for halves, i32 for i1."""
    return f32 if element in graph.HALVES else i32 if element == i1 else element


def start_of(reduce: graph.ReduceOp) -> float | int:
    """What the total starts from: 0 for a sum; for a maximum minus infinity, the lowest integer, false."""
    return 0 if isinstance(reduce, graph.SumOp) else BY_MLIR[str(graph.element_of(reduce.result))].lowest


def linear(strides: Mapping[int, int], bound: Mapping[int, SSAValue], offset: int = 0) -> Index:
    """The index ``sum of bound[dim] * strides[dim] + offset`` over the dims that have a loop."""
    values = [bound[d] for d, stride in strides.items() if stride and d in bound]
    terms: list[AffineExpr] = [
        AffineDimExpr(place) if strides[d] == 1 else AffineDimExpr(place) * strides[d]
        for place, d in enumerate(d for d, stride in strides.items() if stride and d in bound)
    ]
    if not terms:
        return Index.constant(offset)
    total = terms[0]
    for term in terms[1:]:
        total = total + term
    return Index(total + offset if offset else total, values)


def widen(value: SSAValue, append: Append) -> SSAValue:
    """A half as f32; anything else as it is."""
    return append(nest.CastOp(value, f32)) if value.type in graph.HALVES else value


def converted(value: SSAValue, element: Attribute, append: Append) -> SSAValue:
    """A value as ``element``, by at most one cast."""
    return value if value.type == element else append(nest.CastOp(value, element))


def cast(value: SSAValue, element: Attribute, append: Append) -> SSAValue:
    """``graph.cast`` of a scalar; all conversions of halves but f64 to f16, which rounds once, go through f32."""
    if value.type == element:
        return value
    direct = value.type == f64 and element == f16
    if not direct and value.type in graph.HALVES:
        value = append(nest.CastOp(value, f32))
    elif not direct and element in graph.HALVES:
        value = converted(value, f32, append)
    return converted(value, element, append)


SPELLED: dict[type[Operation], Callable[..., Operation]] = {
    graph.AddOp: nest.AddOp,
    graph.CmpLtOp: nest.CmpLtOp,
    graph.NegOp: nest.NegOp,
    graph.ExpOp: nest.ExpOp,
    graph.LogOp: nest.LogOp,
    graph.SqrtOp: nest.SqrtOp,
}
"""The graph ops that are one nest op on the same operands."""


def scalar(op: Operation, operands: Sequence[SSAValue], append: Append) -> SSAValue:
    """The value of an elementwise graph op or constant for one element."""
    element = graph.element_of(op.results[0])
    if isinstance(op, graph.ConstOp):
        return append(nest.ConstOp(op.value, element))  # pyright: ignore[reportArgumentType]
    if isinstance(op, graph.CastOp):
        return cast(operands[0], element, append)
    if isinstance(op, graph.WhereOp):
        return append(nest.SelectOp(*operands))
    wide = [widen(operand, append) for operand in operands]
    if isinstance(op, graph.MulOp):
        made = nest.MulOp(*wide) if op.recip is None else nest.DivOp(*wide)
    elif isinstance(op, graph.RecipOp):
        made = nest.DivOp(append(nest.ConstOp(1.0, wide[0].type)), wide[0])
    else:
        made = SPELLED[type(op)](*wide)
    return converted(append(made), element, append)
