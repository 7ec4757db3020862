"""The ``graph`` dialect: what is computed, as primitives on whole tensors.

Values are immutable, statically shaped, row-major tensors. A function argument is a buffer; its results are what was
asked for. The op set is closed and defined only here: the trace tags its nodes with these classes, and the
interpreter, the gradient rules and the lowering are tables over them.

    value     := tensor<SHAPE x T>          T in f64 f32 f16 bf16 i32 i16 i8 i1
    op        := graph.const NUMBER : type
               | graph.view %a strides [INT, ..] (offset INT)? (mask [INT, ..] to [INT, ..])? : type -> type
               | graph.(neg|exp|log|sqrt|recip) %a : type
               | graph.cast %a : type -> type
               | graph.add %a, %b : type  |  graph.mul %a, (recip)? %b : type  |  graph.cmplt %a, %b : type
               | graph.where %c, %a, %b : type
               | graph.(sum|max) %a axes [INT, ..] : type -> type
               | graph.gather %table, %index : type, type -> type
               | graph.scatter %rows, %index : type, type -> type
               | graph.contiguous %a : type  |  graph.assign %target, %value : type
               | graph.custom "NAME"(%a, ..) : (type, ..) -> (type, ..)

The product of a 4x5 and a 5x3 matrix:

    func.func @main(%a: tensor<4x5xf32>, %b: tensor<5x3xf32>) -> tensor<4x3xf32> {
      %0 = graph.view %a strides [5, 0, 1] : tensor<4x5xf32> -> tensor<4x3x5xf32>
      %1 = graph.view %b strides [0, 1, 3] : tensor<5x3xf32> -> tensor<4x3x5xf32>
      %2 = graph.mul %0, %1 : tensor<4x3x5xf32>
      %3 = graph.sum %2 axes [2] : tensor<4x3x5xf32> -> tensor<4x3x1xf32>
      %4 = graph.view %3 strides [3, 1] : tensor<4x3x1xf32> -> tensor<4x3xf32>
      func.return %4 : tensor<4x3xf32>
    }

There is no division: ``graph.mul %a, recip %b`` is a / b rounded once, which x * (1/y) is not.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, TypeAlias, cast

from xdsl.dialects.builtin import (
    I64,
    AnyFloat,
    BFloat16Type,
    DenseArrayBase,
    Float16Type,
    Float32Type,
    Float64Type,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    StringAttr,
    TensorType,
    UnitAttr,
    i1,
    i8,
    i16,
    i32,
    i64,
)
from xdsl.ir import Attribute, Block, BlockArgument, Dialect, Operation, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    VarConstraint,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.irdl.constraints import BaseAttr
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from limn.dialects.dominance import verify_dominance

AnyTensor: TypeAlias = TensorType[Attribute]
AnyInteger: TypeAlias = IntegerType[Any, Any]
Number: TypeAlias = FloatAttr[Any] | IntegerAttr[Any]

HALVES = (Float16Type(), BFloat16Type())
"""Storage widths: what is computed of them is computed in f32 and rounded once."""
FLOATS = (Float64Type(), Float32Type(), *HALVES)
INTEGERS = (i32, i16, i8)
ELEMENT_TYPES: tuple[Attribute, ...] = (*FLOATS, *INTEGERS, i1)
ELEMENT_NAMES = ", ".join(str(t) for t in ELEMENT_TYPES)
MOST_ELEMENTS = 1 << 60
"""Of eight bytes each, they can still be addressed in 64 bits."""

_TENSOR = BaseAttr(TensorType)
_SAME = VarConstraint("T", _TENSOR)
"""The operands and results of an op that are declared with it have one type."""


def tensor_of(value: SSAValue | Attribute) -> AnyTensor:
    """The tensor type of ``value`` (a value or already a type)."""
    found = value.type if isinstance(value, SSAValue) else value
    assert isinstance(found, TensorType)
    return cast(AnyTensor, found)


def shape_of(value: SSAValue | Attribute) -> tuple[int, ...]:
    """The static shape of a tensor value or type."""
    return tensor_of(value).get_shape()


def element_of(value: SSAValue | Attribute) -> Attribute:
    """The element type of a tensor value or type."""
    return tensor_of(value).element_type


def size_of(value: SSAValue | Attribute) -> int:
    """The number of elements of a tensor value or type."""
    return math.prod(shape_of(value))


def is_float(element: Attribute) -> bool:
    """Whether an element type is one of the floats, halves included."""
    return element in FLOATS


def row_major(shape: Sequence[int]) -> tuple[int, ...]:
    """Strides, in elements, of a row-major tensor of ``shape``."""
    strides: list[int] = []
    step = 1
    for extent in reversed(shape):
        strides.append(step)
        step *= extent
    return tuple(reversed(strides))


def integers(values: Sequence[int]) -> DenseArrayBase[I64]:
    """A list of integers as limn's ops hold it."""
    return DenseArrayBase.from_list(i64, list(values))


def number(value: float | int | bool, element: Attribute) -> Number:
    """``value`` as an attribute of element type ``element``.

    Raises:
        VerifyException: if it does not fit the type.
    """
    if isinstance(element, IntegerType):
        return IntegerAttr(-1 if element == i1 and value else int(value), cast(AnyInteger, element))
    assert isinstance(element, AnyFloat)
    attribute = FloatAttr(float(value), element)
    if math.isfinite(value) and not math.isfinite(attribute.value.data):
        raise VerifyException(f"{value} does not fit {element}")
    return attribute


def python_number(attribute: Attribute) -> float | int | bool:
    """The Python value of a number attribute; i1 gives a bool."""
    if isinstance(attribute, FloatAttr):
        return attribute.value.data
    assert isinstance(attribute, IntegerAttr)
    whole = cast(IntegerAttr[Any], attribute)
    return bool(whole.value.data) if whole.type == i1 else whole.value.data


def _verify_tensor(op: Operation, value: SSAValue, role: str) -> None:
    kind = value.type
    if not isinstance(kind, TensorType):
        return  # the declared constraint has already said so
    kind = cast(AnyTensor, kind)
    if kind.element_type not in ELEMENT_TYPES:
        raise VerifyException(
            f"{role} of '{op.name}' has element type {kind.element_type}; graph knows {ELEMENT_NAMES}"
        )
    if not kind.has_static_shape():
        raise VerifyException(f"{role} of '{op.name}' has type {kind}; graph needs a static shape")
    if (size := size_of(kind)) > MOST_ELEMENTS:
        raise VerifyException(f"{role} of '{op.name}' has {size} elements; at most 2**60 can be counted in 64 bits")


class GraphOp(IRDLOperation):
    """Base of the graph ops: tensors of known element type and static shape, defined before they are used."""

    def verify_(self) -> None:
        for position, operand in enumerate(self.operands):
            _verify_tensor(self, operand, f"operand {position}")
        for position, result in enumerate(self.results):
            _verify_tensor(self, result, f"result {position}")
        # func.func is not limn's, so the first graph op of a block answers for the order of the whole block
        block = self.parent
        if block is not None and _first_graph_op(block) is self and (parent := block.parent_op()) is not None:
            verify_dominance(parent)
        self.verify_graph()

    def verify_graph(self) -> None:
        """What an op demands beyond that; overridden."""


def _first_graph_op(block: Block) -> Operation | None:
    return next((op for op in block.ops if isinstance(op, GraphOp)), None)


@irdl_op_definition
class ConstOp(GraphOp):
    """``%c = graph.const 1.0 : tensor<f32>``: one number in every element."""

    name = "graph.const"
    value = prop_def(Attribute)
    result = result_def(_TENSOR)
    traits = traits_def(Pure())

    def __init__(self, value: float | int | bool | Number, result_type: AnyTensor):
        found = value if isinstance(value, Attribute) else number(value, result_type.element_type)
        super().__init__(properties={"value": cast(Attribute, found)}, result_types=[result_type])

    def verify_graph(self) -> None:
        found = self.value
        kind = cast(Number, found).type if isinstance(found, FloatAttr | IntegerAttr) else None
        if kind != element_of(self.result):
            raise VerifyException(f"value {found} of 'graph.const' is not of type {element_of(self.result)}")

    @classmethod
    def parse(cls, parser: Parser) -> ConstOp:
        literal = parse_number(parser)
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        kind = parse_tensor_type(parser)
        op = cls(number_of_literal(parser, literal, kind.element_type), kind)
        op.attributes |= attributes
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        print_number(printer, self.value)
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.result.type)


def parse_tensor_type(parser: Parser) -> AnyTensor:
    """Parse a type that must be a tensor's."""
    kind = parser.parse_type()
    if not isinstance(kind, TensorType):
        parser.raise_error(f"expected a tensor type, got {kind}")
    return cast(AnyTensor, kind)


def parse_number(parser: Parser) -> float | int | bool | str:
    """Parse what print_number prints; hexadecimal bits (infinities, NaN) stay text until the type is known."""
    if (flag := parser.parse_optional_boolean()) is not None:
        return flag
    start = parser.pos
    value = parser.parse_number(allow_boolean=False)
    text = parser.lexer.input.slice(start, parser.pos) or ""
    return text if "0x" in text else value


def number_of_literal(parser: Parser, literal: float | int | bool | str, element: Attribute) -> Number:
    """The attribute for a parsed literal of a known element type, or a parse error."""
    if element not in ELEMENT_TYPES:
        parser.raise_error(f"element type {element}: limn knows {ELEMENT_NAMES}")
    whole = element in (*INTEGERS, i1)
    if isinstance(literal, str):
        bits = int(literal, 16)
        if not whole:
            assert isinstance(element, AnyFloat)
            return FloatAttr(element.unpack(bits.to_bytes(element.size, "little"), 1)[0], element)
        literal = bits
    if whole and isinstance(literal, float):
        parser.raise_error(f"{literal} is not a whole number, as {element} needs")
    if isinstance(literal, bool) and element != i1:
        parser.raise_error(f"true and false are of type i1, not {element}")
    try:
        return number(literal, element)
    except (VerifyException, OverflowError):
        parser.raise_error(f"{literal} does not fit {element}")


def print_number(printer: Printer, attribute: Attribute) -> None:
    """Print a number exactly and without its type (i1 as true or false)."""
    value = python_number(attribute)
    if isinstance(value, bool):
        printer.print_string("true" if value else "false")
    else:
        printer.print_string(str(attribute).rsplit(" : ", 1)[0])


@irdl_op_definition
class ViewOp(GraphOp):
    """``%v = graph.view %a strides [5, 0, 1]``: another reading of the same bytes; the whole layout is here.

    Element (i, j, ..) is ``source[offset + i * strides[0] + j * strides[1] + ..]`` of the flat row-major source where
    ``mask_low <= (i, j, ..) < mask_high``, and zero (false) elsewhere.
    """

    name = "graph.view"
    source = operand_def(_TENSOR)
    strides = prop_def(DenseArrayBase[I64])
    offset = opt_prop_def(IntegerAttr[I64])
    mask_low = opt_prop_def(DenseArrayBase[I64])
    mask_high = opt_prop_def(DenseArrayBase[I64])
    result = result_def(_TENSOR)
    traits = traits_def(Pure())

    assembly_format = (
        "$source `strides` $strides (`offset` $offset^)? (`mask` $mask_low^ `to` $mask_high)? attr-dict"
        " `:` type($source) `->` type($result)"
    )

    def __init__(
        self,
        source: SSAValue | Operation,
        shape: Sequence[int],
        strides: Sequence[int],
        offset: int = 0,
        mask: Sequence[tuple[int, int]] | None = None,
    ):
        source = SSAValue.get(source)
        properties: dict[str, Attribute] = {"strides": integers(strides)}
        if offset:
            properties["offset"] = IntegerAttr(offset, i64)
        if mask is not None and any(bounds != (0, extent) for bounds, extent in zip(mask, shape, strict=True)):
            properties["mask_low"] = integers([low for low, _ in mask])
            properties["mask_high"] = integers([high for _, high in mask])
        super().__init__(
            operands=[source],
            properties=properties,
            result_types=[TensorType(element_of(source), list(shape))],
        )

    @property
    def view_strides(self) -> tuple[int, ...]:
        """How far apart neighbours along each dim lie in the source, in elements."""
        return tuple(self.strides.get_values())

    @property
    def view_offset(self) -> int:
        """The element of the source at index (0, 0, ..)."""
        return self.offset.value.data if self.offset is not None else 0

    @property
    def view_mask(self) -> tuple[tuple[int, int], ...] | None:
        """(low, high) for each dim, or None when every element is read."""
        if self.mask_low is None or self.mask_high is None:
            return None
        return tuple(zip(self.mask_low.get_values(), self.mask_high.get_values(), strict=True))

    def verify_graph(self) -> None:
        shape, strides, rank = shape_of(self.result), self.view_strides, len(shape_of(self.result))
        if element_of(self.source) != element_of(self.result):
            raise VerifyException(
                f"'graph.view' keeps the element type: got {element_of(self.source)} and {element_of(self.result)}"
            )
        if len(strides) != rank:
            raise VerifyException(f"'graph.view' has {len(strides)} strides for a result of rank {rank}")
        if (self.mask_low is None) != (self.mask_high is None):
            low, high = (list(m.get_values()) if m is not None else "none" for m in (self.mask_low, self.mask_high))
            raise VerifyException(f"'graph.view' has a mask from {low} to {high}; it needs both ends or neither")
        mask = self.view_mask if self.mask_low is None or self._mask_ranks() == (rank, rank) else None
        if self.mask_low is not None and mask is None:
            raise VerifyException(f"'graph.view' has a mask of rank {self._mask_ranks()} for a result of rank {rank}")
        bounds = mask if mask is not None else tuple((0, extent) for extent in shape)
        for dim, ((low, high), extent) in enumerate(zip(bounds, shape, strict=True)):
            if not 0 <= low <= high <= extent:
                raise VerifyException(f"'graph.view' masks dim {dim} of extent {extent} to [{low}, {high})")
        if any(low == high for low, high in bounds):
            return  # nothing is read
        first = last = self.view_offset
        for stride, (low, high) in zip(strides, bounds, strict=True):
            first += min(stride * low, stride * (high - 1))
            last += max(stride * low, stride * (high - 1))
        if first < 0 or last >= size_of(self.source):
            raise VerifyException(
                f"'graph.view' reads elements {first} to {last} of a source that has {size_of(self.source)}"
            )

    def _mask_ranks(self) -> tuple[int, int]:
        assert self.mask_low is not None
        assert self.mask_high is not None
        return len(self.mask_low.get_values()), len(self.mask_high.get_values())


class UnaryOp(GraphOp):
    """Base of the elementwise ops with one operand and a result of the same type."""

    traits = traits_def(Pure())
    operand = operand_def(_SAME)
    result = result_def(_SAME)
    assembly_format = "$operand attr-dict `:` type($result)"

    def __init__(self, operand: SSAValue | Operation):
        operand = SSAValue.get(operand)
        super().__init__(operands=[operand], result_types=[operand.type])


class FloatUnaryOp(UnaryOp):
    """Base of the unary ops that are defined on floats only."""

    def verify_graph(self) -> None:
        if not is_float(element_of(self.operand)):
            raise VerifyException(f"'{self.name}' needs a float type, got {element_of(self.operand)}; cast first")


@irdl_op_definition
class NegOp(UnaryOp):
    """-a; integers wrap."""

    name = "graph.neg"

    def verify_graph(self) -> None:
        _refuse_bool(self, self.operand)


@irdl_op_definition
class ExpOp(FloatUnaryOp):
    """e to the power a."""

    name = "graph.exp"


@irdl_op_definition
class LogOp(FloatUnaryOp):
    """The natural logarithm; -inf at zero, NaN below."""

    name = "graph.log"


@irdl_op_definition
class SqrtOp(FloatUnaryOp):
    """The square root, rounded once."""

    name = "graph.sqrt"


@irdl_op_definition
class RecipOp(FloatUnaryOp):
    """1 / a, rounded once."""

    name = "graph.recip"


@irdl_op_definition
class CastOp(GraphOp):
    """Another element type.

    Float to integer cuts towards zero, saturates and gives 0 for NaN; an integer to a narrower one wraps; anything to
    i1 is "not zero".
    """

    name = "graph.cast"
    operand = operand_def(_TENSOR)
    result = result_def(_TENSOR)
    traits = traits_def(Pure())
    assembly_format = "$operand attr-dict `:` type($operand) `->` type($result)"

    def __init__(self, operand: SSAValue | Operation, element: Attribute):
        operand = SSAValue.get(operand)
        super().__init__(operands=[operand], result_types=[TensorType(element, list(shape_of(operand)))])

    def verify_graph(self) -> None:
        if shape_of(self.operand) != shape_of(self.result):
            raise VerifyException(f"'graph.cast' keeps the shape: got {self.operand.type} and {self.result.type}")


def _refuse_bool(op: Operation, value: SSAValue) -> None:
    if element_of(value) == i1:
        raise VerifyException(f"'{op.name}' is not defined on i1; cast to i32 first")


class BinaryOp(GraphOp):
    """Base of the elementwise ops with two operands and a result of one type."""

    traits = traits_def(Pure())
    lhs = operand_def(_SAME)
    rhs = operand_def(_SAME)
    result = result_def(_SAME)
    assembly_format = "$lhs `,` $rhs attr-dict `:` type($result)"

    def __init__(self, lhs: SSAValue | Operation, rhs: SSAValue | Operation):
        lhs, rhs = SSAValue.get(lhs), SSAValue.get(rhs)
        super().__init__(operands=[lhs, rhs], result_types=[lhs.type])

    def verify_graph(self) -> None:
        _refuse_bool(self, self.lhs)


@irdl_op_definition
class AddOp(BinaryOp):
    """a + b; integers wrap."""

    name = "graph.add"


@irdl_op_definition
class MulOp(BinaryOp):
    """a * b, or with ``recip`` the quotient a / b rounded once; integers wrap."""

    name = "graph.mul"
    recip = opt_prop_def(UnitAttr)
    assembly_format = "$lhs `,` (`recip` $recip^)? $rhs attr-dict `:` type($result)"

    def __init__(self, lhs: SSAValue | Operation, rhs: SSAValue | Operation, recip: bool = False):
        super().__init__(lhs, rhs)
        if recip:
            self.recip = UnitAttr()

    def verify_graph(self) -> None:
        _refuse_bool(self, self.lhs)
        if self.recip is not None and not is_float(element_of(self.lhs)):
            raise VerifyException(f"'graph.mul' by a recip needs a float type, got {element_of(self.lhs)}; cast first")


@irdl_op_definition
class CmpLtOp(GraphOp):
    """a < b as i1; false where either is NaN."""

    name = "graph.cmplt"
    lhs = operand_def(_SAME)
    rhs = operand_def(_SAME)
    result = result_def(_TENSOR)
    traits = traits_def(Pure())

    def __init__(self, lhs: SSAValue | Operation, rhs: SSAValue | Operation):
        lhs = SSAValue.get(lhs)
        super().__init__(operands=[lhs, rhs], result_types=[TensorType(i1, list(shape_of(lhs)))])

    def verify_graph(self) -> None:
        _refuse_bool(self, self.lhs)
        if self.result.type != TensorType(i1, list(shape_of(self.lhs))):
            raise VerifyException(f"'graph.cmplt' of {self.lhs.type} gives i1 of that shape, not {self.result.type}")

    @classmethod
    def parse(cls, parser: Parser) -> CmpLtOp:
        lhs = parser.parse_unresolved_operand()
        parser.parse_punctuation(",")
        rhs = parser.parse_unresolved_operand()
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        kind = parse_tensor_type(parser)
        op = cls(parser.resolve_operand(lhs, kind), parser.resolve_operand(rhs, kind))
        op.attributes |= attributes
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_list(self.operands, printer.print_ssa_value)
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.lhs.type)


@irdl_op_definition
class WhereOp(GraphOp):
    """a where the condition is true, else b; a selection, so what is not taken leaves no trace."""

    name = "graph.where"
    condition = operand_def(_TENSOR)
    lhs = operand_def(_SAME)
    rhs = operand_def(_SAME)
    result = result_def(_SAME)
    traits = traits_def(Pure())

    def __init__(self, condition: SSAValue | Operation, lhs: SSAValue | Operation, rhs: SSAValue | Operation):
        lhs = SSAValue.get(lhs)
        super().__init__(operands=[condition, lhs, rhs], result_types=[lhs.type])

    def verify_graph(self) -> None:
        if self.condition.type != TensorType(i1, list(shape_of(self.lhs))):
            raise VerifyException(
                f"'graph.where' of {self.lhs.type} needs a condition of i1 in that shape, got {self.condition.type}"
            )

    @classmethod
    def parse(cls, parser: Parser) -> WhereOp:
        names = [parser.parse_unresolved_operand()]
        for _ in range(2):
            parser.parse_punctuation(",")
            names.append(parser.parse_unresolved_operand())
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        kind = parse_tensor_type(parser)
        condition = parser.resolve_operand(names[0], TensorType(i1, list(kind.get_shape())))
        op = cls(condition, parser.resolve_operand(names[1], kind), parser.resolve_operand(names[2], kind))
        op.attributes |= attributes
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_list(self.operands, printer.print_ssa_value)
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.lhs.type)


class ReduceOp(GraphOp):
    """Base of the reductions: the reduced axes stay, with extent 1."""

    traits = traits_def(Pure())
    operand = operand_def(_TENSOR)
    axes = prop_def(DenseArrayBase[I64])
    result = result_def(_TENSOR)
    assembly_format = "$operand `axes` $axes attr-dict `:` type($operand) `->` type($result)"

    def __init__(self, operand: SSAValue | Operation, axes: Sequence[int]):
        operand = SSAValue.get(operand)
        shape = [1 if dim in axes else extent for dim, extent in enumerate(shape_of(operand))]
        super().__init__(
            operands=[operand],
            properties={"axes": integers(sorted(axes))},
            result_types=[TensorType(element_of(operand), shape)],
        )

    @property
    def reduced(self) -> tuple[int, ...]:
        """The reduced axes, ascending."""
        return tuple(self.axes.get_values())

    def verify_graph(self) -> None:
        shape, axes = shape_of(self.operand), self.reduced
        if list(axes) != sorted(set(axes)) or any(not 0 <= axis < len(shape) for axis in axes):
            raise VerifyException(
                f"'{self.name}' has axes {list(axes)}; they must ascend and lie in 0 to {len(shape) - 1}"
            )
        want = TensorType(element_of(self.operand), [1 if dim in axes else extent for dim, extent in enumerate(shape)])
        if self.result.type != want:
            raise VerifyException(
                f"'{self.name}' of {self.operand.type} over axes {list(axes)} gives {want}, not {self.result.type}"
            )


@irdl_op_definition
class SumOp(ReduceOp):
    """The sum over some axes; of nothing, zero. Integers wrap."""

    name = "graph.sum"

    def verify_graph(self) -> None:
        _refuse_bool(self, self.operand)
        super().verify_graph()


@irdl_op_definition
class MaxOp(ReduceOp):
    """The largest element over some axes, NaN if there is one; of nothing, -inf, the lowest integer or false."""

    name = "graph.max"


@irdl_op_definition
class GatherOp(GraphOp):
    """``table[index]``: rows of a table. An index outside the table is an IndexError when the plan runs."""

    name = "graph.gather"
    table = operand_def(_TENSOR)
    index = operand_def(_TENSOR)
    result = result_def(_TENSOR)
    traits = traits_def(Pure())
    assembly_format = "$table `,` $index attr-dict `:` type($table) `,` type($index) `->` type($result)"

    def __init__(self, table: SSAValue | Operation, index: SSAValue | Operation):
        table, index = SSAValue.get(table), SSAValue.get(index)
        shape = [*shape_of(index), *shape_of(table)[1:]]
        super().__init__(operands=[table, index], result_types=[TensorType(element_of(table), shape)])

    def verify_graph(self) -> None:
        verify_index(self, self.index)
        if not shape_of(self.table):
            raise VerifyException(f"'graph.gather' needs a table with rows, got {self.table.type}")
        want = TensorType(element_of(self.table), [*shape_of(self.index), *shape_of(self.table)[1:]])
        if self.result.type != want:
            raise VerifyException(
                f"'graph.gather' of {self.table.type} at {self.index.type} gives {want}, not {self.result.type}"
            )


def verify_index(op: Operation, index: SSAValue) -> None:
    """Row numbers are i32."""
    if element_of(index) != i32:
        raise VerifyException(f"'{op.name}' needs row numbers of type i32, got {element_of(index)}; cast first")


@irdl_op_definition
class ScatterOp(GraphOp):
    """Zeros to which each row is added at its index, in ascending order of position: the gradient of a gather."""

    name = "graph.scatter"
    rows = operand_def(_TENSOR)
    index = operand_def(_TENSOR)
    result = result_def(_TENSOR)
    traits = traits_def(Pure())
    assembly_format = "$rows `,` $index attr-dict `:` type($rows) `,` type($index) `->` type($result)"

    def __init__(self, rows: SSAValue | Operation, index: SSAValue | Operation, count: int):
        rows, index = SSAValue.get(rows), SSAValue.get(index)
        row = shape_of(rows)[len(shape_of(index)) :]
        super().__init__(operands=[rows, index], result_types=[TensorType(element_of(rows), [count, *row])])

    def verify_graph(self) -> None:
        verify_index(self, self.index)
        _refuse_bool(self, self.rows)
        index, rows, out = shape_of(self.index), shape_of(self.rows), shape_of(self.result)
        if element_of(self.rows) != element_of(self.result) or rows != (*index, *out[1:]) or not out:
            raise VerifyException(
                f"'graph.scatter' of {self.rows.type} at {self.index.type} cannot give {self.result.type}"
            )


@irdl_op_definition
class ContiguousOp(UnaryOp):
    """The same values in memory of their own: a barrier for views and fusion."""

    name = "graph.contiguous"


@irdl_op_definition
class AssignOp(GraphOp):
    """``%next = graph.assign %target, %value``: the buffer %target holds %value once the function has returned.

    The result is the new value; %target itself keeps its old one to the end of the function.
    """

    name = "graph.assign"
    target = operand_def(_SAME)
    value = operand_def(_SAME)
    result = result_def(_SAME)
    assembly_format = "$target `,` $value attr-dict `:` type($result)"

    def __init__(self, target: SSAValue | Operation, value: SSAValue | Operation):
        target = SSAValue.get(target)
        super().__init__(operands=[target, value], result_types=[target.type])

    def verify_graph(self) -> None:
        if not isinstance(self.target, BlockArgument):
            raise VerifyException("'graph.assign' needs a function argument as its target, got a computed value")
        for use in self.target.uses:
            if isinstance(use.operation, AssignOp) and use.index == 0 and use.operation is not self:
                raise VerifyException("'graph.assign' has a target that another assign writes; assign it once")


@irdl_op_definition
class CustomOp(GraphOp):
    """A kernel known by name, with several results if need be; ``expand-custom`` replaces it."""

    name = "graph.custom"
    kernel = prop_def(StringAttr)
    inputs = var_operand_def(_TENSOR)
    outs = var_result_def(_TENSOR)
    traits = traits_def(Pure())
    assembly_format = "$kernel `(` $inputs `)` attr-dict `:` functional-type($inputs, $outs)"

    def __init__(
        self,
        kernel: str,
        inputs: Sequence[SSAValue | Operation],
        result_types: Sequence[AnyTensor],
        attributes: dict[str, Attribute] | None = None,
    ):
        super().__init__(
            operands=[list(inputs)],
            properties={"kernel": StringAttr(kernel)},
            attributes=attributes or {},
            result_types=[list(result_types)],
        )


ELEMENTWISE = (NegOp, ExpOp, LogOp, SqrtOp, RecipOp, CastOp, AddOp, MulOp, CmpLtOp, WhereOp)
REDUCTIONS = (SumOp, MaxOp)
HEAVY = (ExpOp, LogOp, SqrtOp, RecipOp)
"""The elementwise ops that take many times as long as an addition."""


def is_heavy(op: Operation | None) -> bool:
    """Whether an elementwise op is one of HEAVY, or a division."""
    return isinstance(op, HEAVY) or (isinstance(op, MulOp) and op.recip is not None)


Graph = Dialect(
    "graph",
    [
        ConstOp,
        ViewOp,
        *ELEMENTWISE,
        *REDUCTIONS,
        GatherOp,
        ScatterOp,
        ContiguousOp,
        AssignOp,
        CustomOp,
    ],
    [],
)
