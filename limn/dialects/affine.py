"""Affine index arithmetic for the ``nest`` dialect: building it, printing it, parsing it.

xDSL's affine maps number their dims; ``Index`` pairs an expression with the values those dims stand for, so that a pass
writes ``Index.of(i) * 5 + Index.of(r) - 7`` and never numbers a dim by hand.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from xdsl.dialects.builtin import AffineMapAttr, IndexType
from xdsl.ir import SSAValue
from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineBinaryOpKind,
    AffineConstantExpr,
    AffineDimExpr,
    AffineExpr,
    AffineMap,
)
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.parser.affine_parser import AffineParser
from xdsl.printer import Printer


class Index:
    """An affine expression together with the index values that its dims stand for."""

    __slots__ = ("expr", "values")

    def __init__(self, expr: AffineExpr, values: Sequence[SSAValue] = ()):
        self.expr = expr
        self.values = tuple(values)

    @staticmethod
    def of(value: SSAValue) -> Index:
        """The index that is just ``value``."""
        return Index(AffineDimExpr(0), [value])

    @staticmethod
    def constant(value: int) -> Index:
        """The index that is a number."""
        return Index(AffineConstantExpr(value))

    def _joined(self, other: Index, combine: Callable[[AffineExpr, AffineExpr], AffineExpr]) -> Index:
        values, (left, right) = join([self, other])
        return Index(combine(left, right), values)

    def __add__(self, other: Index | int) -> Index:
        other = Index.constant(other) if isinstance(other, int) else other
        if isinstance(other.expr, AffineConstantExpr) and other.expr.value == 0:
            return self
        if isinstance(self.expr, AffineConstantExpr) and self.expr.value == 0:
            return other
        return self._joined(other, lambda a, b: a + b)

    def __sub__(self, other: Index | int) -> Index:
        return self + (-other if isinstance(other, int) else other * -1)

    def __mul__(self, factor: int) -> Index:
        if factor == 0:
            return Index.constant(0)
        return self if factor == 1 else Index(self.expr * factor, self.values)

    def __floordiv__(self, divisor: int) -> Index:
        return self if divisor == 1 else Index(self.expr // divisor, self.values)

    def __mod__(self, divisor: int) -> Index:
        return Index.constant(0) if divisor == 1 else Index(self.expr % divisor, self.values)

    @property
    def is_constant(self) -> int | None:
        """The value of a constant index, else None."""
        return self.expr.value if isinstance(self.expr, AffineConstantExpr) else None


def join(indices: Sequence[Index]) -> tuple[list[SSAValue], list[AffineExpr]]:
    """One list of index values for several expressions, and the expressions over that list."""
    values: list[SSAValue] = []
    exprs: list[AffineExpr] = []
    for index in indices:
        dims: list[AffineExpr] = []
        for value in index.values:
            if value not in values:
                values.append(value)
            dims.append(AffineDimExpr(values.index(value)))
        exprs.append(index.expr.replace_dims_and_symbols(dims, []))
    return values, exprs


def affine_map(values: Sequence[SSAValue], exprs: Iterable[AffineExpr]) -> AffineMapAttr:
    """Expressions over the dims of ``values`` as the attribute that an op holds."""
    return AffineMapAttr(AffineMap(len(values), 0, tuple(exprs)))


def affine_indices(attribute: AffineMapAttr | None, values: Sequence[SSAValue]) -> list[Index]:
    """The results of an op's affine map as indices over its index operands; unused values are left out."""
    if attribute is None:
        return []
    return [_narrow(expr, values) for expr in attribute.data.results]


def _narrow(expr: AffineExpr, values: Sequence[SSAValue]) -> Index:
    used = sorted(expr.used_dims())
    dims: list[AffineExpr] = [AffineConstantExpr(0)] * len(values)
    for place, dim in enumerate(used):
        dims[dim] = AffineDimExpr(place)
    return Index(expr.replace_dims_and_symbols(dims, []), [values[d] for d in used])


_PRECEDENCE = {AffineBinaryOpKind.Add: 1, AffineBinaryOpKind.Mul: 2}
_SPELLING = {
    AffineBinaryOpKind.Add: "+",
    AffineBinaryOpKind.Mul: "*",
    AffineBinaryOpKind.Mod: "mod",
    AffineBinaryOpKind.FloorDiv: "floordiv",
    AffineBinaryOpKind.CeilDiv: "ceildiv",
}


def print_affine(printer: Printer, expr: AffineExpr, values: Sequence[SSAValue], above: int = 0) -> None:
    """Print ``%i * 5 + %r - 7``."""
    if isinstance(expr, AffineConstantExpr):
        printer.print_string(str(expr.value))
    elif isinstance(expr, AffineDimExpr):
        printer.print_ssa_value(values[expr.position])
    else:
        assert isinstance(expr, AffineBinaryOpExpr)
        own = _PRECEDENCE.get(expr.kind, 2)
        printer.print_string("(" if own < above else "")
        print_affine(printer, expr.lhs, values, own)
        negated = _negated(expr.rhs) if expr.kind is AffineBinaryOpKind.Add else None
        printer.print_string(" - " if negated is not None else f" {_SPELLING[expr.kind]} ")
        right = own if expr.kind is AffineBinaryOpKind.Add and negated is None else own + 1
        print_affine(printer, expr.rhs if negated is None else negated, values, right)
        printer.print_string(")" if own < above else "")


def _negated(expr: AffineExpr) -> AffineExpr | None:
    """``e`` for an expression that means ``-e`` and prints better after a minus."""
    if isinstance(expr, AffineConstantExpr) and expr.value < 0:
        return AffineConstantExpr(-expr.value)
    if isinstance(expr, AffineBinaryOpExpr) and expr.kind is AffineBinaryOpKind.Mul:
        factor = expr.rhs
        if isinstance(factor, AffineConstantExpr) and factor.value < 0:
            return (
                expr.lhs
                if factor.value == -1
                else AffineBinaryOpExpr(expr.kind, expr.lhs, AffineConstantExpr(-factor.value))
            )
    return None


def parse_affines(parser: Parser) -> list[Index]:
    """Parse ``[affine, ..]`` over index values."""
    found, values = parser.parse_affine_map_of_ssa_ids()
    dims: list[AffineExpr] = [AffineDimExpr(i) for i in range(len(values))]
    return [Index(e.replace_dims_and_symbols([], dims), values) for e in found.results]


def print_affines(printer: Printer, attribute: AffineMapAttr, values: Sequence[SSAValue]) -> None:
    """Print ``[affine, ..]``: what ``parse_affines`` reads."""
    with printer.in_square_brackets():
        printer.print_list(attribute.data.results, lambda e: print_affine(printer, e, values))


def parse_affine(parser: Parser) -> Index:
    """Parse one affine expression without brackets, as a loop bound is; xDSL offers only the bracketed form."""
    reader = AffineParser(parser._parser_state)  # pyright: ignore[reportPrivateUsage]
    primary, names, spans = reader._get_parse_optional_ssa_value()  # pyright: ignore[reportPrivateUsage]
    expr = reader._parse_affine_expr(primary)  # pyright: ignore[reportPrivateUsage]
    values = [parser.resolve_operand(UnresolvedOperand(span, 0), IndexType()) for span in spans]
    dims: list[AffineExpr] = [AffineDimExpr(i) for i in range(len(names))]
    return Index(expr.replace_dims_and_symbols([], dims), values)
