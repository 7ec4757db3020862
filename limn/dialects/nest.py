"""The ``nest`` dialect: loops, loads, arithmetic and stores, with all index arithmetic written out.

Memory is flat: ``memref<N x T>``. Values are scalars. Everything a target needs stands here; a printer only spells it.

    module  := (kernel | plan)*
    kernel  := nest.kernel @NAME(%arg: memref, ..) { op* }
    for     := nest.for %i = BOUND to BOUND (step INT)? KIND? { op* }
    BOUND   := affine | (max | min) [affine, ..]            the lower bound takes max, the upper min
    KIND    := parallel (collapse INT)? | unrolled | vector | block.x | .. | thread.z      else sequential
    load    := %v = nest.load %m[affine] CHECKS? : T
    store   := nest.store %v, %m[affine] CHECKS? : T
    update  := nest.accumulate (add|max) %v, %m[affine] : T       m = m + v  |  m = max(m, v)
             | nest.accumulate fma %a, %b, %m[affine] : T         m = a * b + m, rounded once
    CHECKS  := where [affine, ..] in [INT, ..] to [INT, ..]       low <= check < high; a load that fails one reads zero,
                                                                  a store does nothing
    scratch := %m = nest.scratch : memref<N x T, "SPACE">         SPACE in register, stack, heap
    row     := %r = nest.check_row %i below INT at [affine] : i32     an index; a bad one is recorded and becomes 0
    index   := %i = nest.index [affine] : i32                     a loop index as a value
    value   := nest.const NUMBER : T | nest.OP %a, .. : T | nest.cast %a : T to T | nest.bitcast %a : T to T
    plan    := nest.plan @NAME(%arg: memref, ..) inputs INT (arena)? (commits [INT -> INT, ..])? { op* }
    alloc   := %m = nest.alloc : memref                           a buffer for the length of the plan
    slice   := %m = nest.slice %arena[INT] : memref               the bytes from there on, as another memref
    launch  := nest.launch @NAME(%m, ..) (because "WHY")?

Accumulators are memory like any other: a reduction is cell loops around {store the start value, accumulate in loops,
finish with a load}, the total in a register, in a row of scratch, or in the output itself:

    nest.kernel @k0(%in0: memref<20xf32>, %in1: memref<15xf32>, %out: memref<12xf32>) {
      nest.for %i0 = 0 to 4 {
        nest.for %i1 = 0 to 3 {
          %z = nest.const 0.000000e+00 : f32
          nest.store %z, %out[%i0 * 3 + %i1] : f32
        }
        nest.for %r2 = 0 to 5 {
          nest.for %i1 = 0 to 3 {
            %v1 = nest.load %in0[%i0 * 5 + %r2] : f32
            %v2 = nest.load %in1[%i1 + %r2 * 3] : f32
            %v3 = nest.mul %v1, %v2 : f32
            nest.accumulate add %v3, %out[%i0 * 3 + %i1] : f32
          }
        }
      }
    }

The first ``inputs`` arguments of a plan are read, the others written: the results of the function in order, then the
next version of each assigned buffer, then the arena if there is one. ``commits [2 -> 0]`` swaps entries 2 and 0 of the
table of buffers when every kernel has run and no row check has failed.

    nest.plan @main(%w: memref<4xf32>, %next: memref<4xf32>, %arena: memref<4096xi8>) inputs 1 arena commits [1 -> 0] {
      %t = nest.slice %arena[256] : memref<12xf32>
      nest.launch @k0(%w, %t, %next)
    }
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import ClassVar, TypeAlias, TypeVar, cast

from xdsl.dialects.builtin import (
    I64,
    AffineMapAttr,
    DenseArrayBase,
    IndexType,
    IntegerAttr,
    IntegerType,
    MemRefType,
    NoneAttr,
    StringAttr,
    SymbolNameConstraint,
    SymbolRefAttr,
    UnitAttr,
    i1,
    i8,
    i32,
    i64,
)
from xdsl.ir import Attribute, Block, BlockArgument, Dialect, Operation, Region, SSAValue
from xdsl.ir.affine import AffineConstantExpr
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    VarConstraint,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.irdl.constraints import AnyAttr, BaseAttr
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer
from xdsl.traits import (
    IsolatedFromAbove,
    MemoryAllocEffect,
    MemoryReadEffect,
    MemoryWriteEffect,
    NoTerminator,
    Pure,
    RecursiveMemoryEffect,
    SymbolOpInterface,
    SymbolTable,
)
from xdsl.utils.exceptions import VerifyException

from limn.dialects.affine import (
    Index,
    affine_indices,
    affine_map,
    join,
    parse_affine,
    parse_affines,
    print_affine,
    print_affines,
)
from limn.dialects.dominance import verify_dominance
from limn.dialects.graph import (
    ELEMENT_NAMES,
    ELEMENT_TYPES,
    HALVES,
    MOST_ELEMENTS,
    Number,
    integers,
    is_float,
    number,
    number_of_literal,
    parse_number,
    print_number,
)

SPACES = ("register", "stack", "heap")
"""Where scratch lives: a register is a memref of constant indices that a target keeps in named variables."""

PARALLEL = "parallel"
SEQUENTIAL = "sequential"
GPU_KINDS = tuple(f"{level}.{axis}" for level in ("block", "thread") for axis in "xyz")
LOOP_KINDS = (SEQUENTIAL, PARALLEL, "unrolled", "vector", *GPU_KINDS)

Op = TypeVar("Op", bound=Operation)
AnyMemRef: TypeAlias = MemRefType[Attribute]
_MEMREF = BaseAttr(MemRefType)
_SAME = VarConstraint("T", AnyAttr())
"""The operands and results of an op that are declared with it have one type."""
_INDEX = IndexType()
LARGEST_INDEX = (1 << 63) - 1


@lru_cache(maxsize=4096)  # building one takes 50 us, and a plan of many launches has few types
def memref(size: int, element: Attribute, space: str | None = None) -> AnyMemRef:
    """The type of ``size`` elements of flat memory."""
    return MemRefType(element, [size]) if space is None else MemRefType(element, [size], NoneAttr(), StringAttr(space))


def memref_of(value: SSAValue) -> AnyMemRef:
    """The type of a memref value."""
    found = value.type
    assert isinstance(found, MemRefType)
    return cast(AnyMemRef, found)


def extent_of(value: SSAValue) -> int:
    """The number of elements of a memref value."""
    return memref_of(value).get_shape()[0]


def space_of(value: SSAValue) -> str | None:
    """Where a memref value lives: one of SPACES for scratch, None for arguments and buffers of a plan."""
    space = memref_of(value).memory_space
    return space.data if isinstance(space, StringAttr) else None


# ------------------------------------------------------------------------------------------------------------- kernels


class _Callable(IRDLOperation, ABC):
    """Base of kernels and plans: a symbol with memref arguments and one block without terminator."""

    sym_name = prop_def(SymbolNameConstraint())
    body = region_def("single_block")
    traits = traits_def(IsolatedFromAbove(), NoTerminator(), SymbolOpInterface())

    @property
    def block(self) -> Block:
        return self.body.block

    def verify_(self) -> None:
        for argument in self.block.args:
            _verify_memref(self, argument.type)
        verify_dominance(self)

    def print_facts(self, printer: Printer) -> None:
        """What stands between the arguments and the body; overridden."""

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_symbol_name(self.sym_name)
        with printer.in_parens():
            printer.print_list(self.block.args, printer.print_block_argument)
        self.print_facts(printer)
        _print_body(printer, self, self.body)


def _parse_head(parser: Parser) -> tuple[str, list[Parser.Argument]]:
    """The name and the arguments of a kernel or plan."""
    name = parser.parse_symbol_name().data
    return name, parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_argument)


def _parse_body(parser: Parser, arguments: Sequence[Parser.Argument]) -> tuple[dict[str, Attribute], Region]:
    """``attributes {..}`` if there are any, and the one block of an op without terminator."""
    attributes = parser.parse_optional_attr_dict_with_keyword()
    return dict(attributes.data) if attributes is not None else {}, parser.parse_region(arguments)


def _print_body(printer: Printer, op: Operation, body: Region) -> None:
    printer.print_op_attributes(op.attributes, print_keyword=True)
    printer.print_string(" ")
    printer.print_region(body, print_entry_block_args=False, print_empty_block=False)


def _region(body: Region | Block) -> Region:
    return Region(body) if isinstance(body, Block) else body


def _with(op: Op, attributes: Mapping[str, Attribute]) -> Op:
    """A parsed op with the attributes that stood in its text."""
    op.attributes |= attributes
    return op


def _verify_memref(op: Operation, kind: Attribute) -> None:
    if not isinstance(kind, MemRefType) or len(kind.get_shape()) != 1 or kind.get_shape()[0] < 0:
        raise VerifyException(f"'{op.name}' has a buffer of type {kind}; nest memory is flat: memref<N x T>")
    if (element := cast(AnyMemRef, kind).element_type) not in ELEMENT_TYPES:
        raise VerifyException(f"'{op.name}' has element type {element}; nest knows {ELEMENT_NAMES}")
    if (size := kind.get_shape()[0]) > MOST_ELEMENTS:
        raise VerifyException(f"'{op.name}' has a buffer of {size} elements; at most 2**60 can be addressed")


@irdl_op_definition
class KernelOp(_Callable):
    """A loop nest over its arguments. Arguments that it stores to overlap no other argument."""

    name = "nest.kernel"

    def __init__(self, sym_name: str, body: Region | Block):
        super().__init__(properties={"sym_name": StringAttr(sym_name)}, regions=[_region(body)])

    @classmethod
    def parse(cls, parser: Parser) -> KernelOp:
        name, arguments = _parse_head(parser)
        attributes, body = _parse_body(parser, arguments)
        return _with(cls(name, body), attributes)


@irdl_op_definition
class ForOp(IRDLOperation):
    """Runs its body for each value of its index from the largest lower bound up to the smallest upper bound."""

    name = "nest.for"
    values = var_operand_def(IndexType)
    lower = prop_def(AffineMapAttr)
    upper = prop_def(AffineMapAttr)
    step = prop_def(IntegerAttr[I64])
    kind = prop_def(StringAttr)
    collapse = opt_prop_def(IntegerAttr[I64])
    body = region_def("single_block")
    traits = traits_def(NoTerminator(), RecursiveMemoryEffect())

    def __init__(
        self,
        lower: Sequence[Index | int],
        upper: Sequence[Index | int],
        body: Region | Block,
        step: int = 1,
        kind: str = SEQUENTIAL,
        collapse: int | None = None,
    ):
        bounds = [Index.constant(b) if isinstance(b, int) else b for b in (*lower, *upper)]
        values, exprs = join(bounds)
        properties: dict[str, Attribute] = {
            "lower": affine_map(values, exprs[: len(lower)]),
            "upper": affine_map(values, exprs[len(lower) :]),
            "step": IntegerAttr(step, i64),
            "kind": StringAttr(kind),
        }
        if collapse is not None:
            properties["collapse"] = IntegerAttr(collapse, i64)
        super().__init__(operands=[values], properties=properties, regions=[_region(body)])

    @staticmethod
    def block_named(name: str) -> Block:
        """An empty loop body whose index is called ``name``."""
        block = Block(arg_types=[_INDEX])
        block.args[0].name_hint = name
        return block

    @property
    def block(self) -> Block:
        return self.body.block

    @property
    def index(self) -> BlockArgument:
        """The index that counts the turns."""
        return self.block.args[0]

    @property
    def lowers(self) -> list[Index]:
        """The lower bounds, of which the largest counts."""
        return affine_indices(self.lower, self.values)

    @property
    def uppers(self) -> list[Index]:
        """The upper bounds, of which the smallest counts."""
        return affine_indices(self.upper, self.values)

    @property
    def constant_bounds(self) -> tuple[int, int] | None:
        """(low, high) when both bounds are single constants, else None."""
        lows, highs = self.lowers, self.uppers
        if len(lows) != 1 or len(highs) != 1:
            return None
        low, high = lows[0].is_constant, highs[0].is_constant
        return None if low is None or high is None else (low, high)

    @property
    def stride(self) -> int:
        """The step from one turn to the next."""
        return self.step.value.data

    def verify_(self) -> None:
        if (types := [a.type for a in self.block.args]) != [_INDEX]:
            given = ", ".join(map(str, types))
            raise VerifyException(f"'nest.for' has a body with arguments ({given}); it takes one, its index")
        _verify_maps(self, self.values, self.lower, self.upper)
        if self.stride < 1:
            raise VerifyException(f"'nest.for' has step {self.stride}; it must be 1 or more")
        if self.kind.data not in LOOP_KINDS:
            raise VerifyException(f"'nest.for' has kind {self.kind.data}; known are {', '.join(LOOP_KINDS)}")
        if self.collapse is not None and (self.kind.data != PARALLEL or self.collapse.value.data < 2):
            raise VerifyException(
                f"'nest.for' of kind {self.kind.data} has collapse {self.collapse.value.data}; 2 or more parallel loops"
                " collapse"
            )
        _verify_maps(self, self.values, self.lower, self.upper)
        lows, highs = len(self.lower.data.results), len(self.upper.data.results)
        if not lows or not highs:
            raise VerifyException(f"'nest.for' has {lows} lower and {highs} upper bounds; it needs one or more of each")

    @classmethod
    def parse(cls, parser: Parser) -> ForOp:
        index = parser.parse_argument(expect_type=False)
        parser.parse_punctuation("=")
        lower = _parse_bound(parser, "max")
        parser.parse_keyword("to")
        upper = _parse_bound(parser, "min")
        step = parser.parse_integer() if parser.parse_optional_keyword("step") else 1
        kind, collapse = SEQUENTIAL, None
        for word in LOOP_KINDS:
            if parser.parse_optional_keyword(word):
                kind = word
                break
        if kind == PARALLEL and parser.parse_optional_keyword("collapse"):
            collapse = parser.parse_integer()
        attributes, body = _parse_body(parser, [index.resolve(_INDEX)])
        return _with(cls(lower, upper, body, step, kind, collapse), attributes)

    def print(self, printer: Printer) -> None:
        # Loops side by side may use one index name; a scope of its own keeps the second from becoming %i0_1.
        with _scope(printer):
            printer.print_string(" ")
            printer.print_block_argument(self.index, print_type=False)
            printer.print_string(" = ")
            _print_bound(printer, self.lower, self.values, "max")
            printer.print_string(" to ")
            _print_bound(printer, self.upper, self.values, "min")
            if self.stride != 1:
                printer.print_string(f" step {self.stride}")
            if self.kind.data != SEQUENTIAL:
                printer.print_string(f" {self.kind.data}")
            if self.collapse is not None:
                printer.print_string(f" collapse {self.collapse.value.data}")
            _print_body(printer, self, self.body)


@contextmanager
def _scope(printer: Printer) -> Generator[None]:
    printer.enter_scope()
    yield
    printer.exit_scope()


def _parse_bound(parser: Parser, word: str) -> list[Index]:
    if parser.parse_optional_keyword(word):
        return parse_affines(parser)
    return [parse_affine(parser)]


def _print_bound(printer: Printer, bound: AffineMapAttr, values: Sequence[SSAValue], word: str) -> None:
    if len(bound.data.results) == 1:
        print_affine(printer, bound.data.results[0], values)
    else:
        printer.print_string(f"{word} ")
        print_affines(printer, bound, values)


def _verify_maps(op: Operation, values: Sequence[SSAValue], *maps: AffineMapAttr | None) -> None:
    for attribute in maps:
        if attribute is not None and (attribute.data.num_dims != len(values) or attribute.data.num_symbols):
            raise VerifyException(
                f"'{op.name}' has {len(values)} index values for a map of {attribute.data.num_dims} dims"
                f" and {attribute.data.num_symbols} symbols"
            )
        for expr in attribute.data.results if attribute is not None else ():
            for part in expr.dfs():
                if isinstance(part, AffineConstantExpr) and abs(part.value) > LARGEST_INDEX:
                    raise VerifyException(f"'{op.name}' has the number {part.value}; indices are of 64 bits")


# -------------------------------------------------------------------------------------------------------------- memory


class AccessOp(IRDLOperation, ABC):
    """Base of loads, stores and updates: a memref, an affine index into it, and range checks."""

    memory = operand_def(_MEMREF)
    values = var_operand_def(IndexType)
    at = prop_def(AffineMapAttr)
    checks = opt_prop_def(AffineMapAttr)
    check_low = opt_prop_def(DenseArrayBase[I64])
    check_high = opt_prop_def(DenseArrayBase[I64])

    @property
    def index(self) -> Index:
        """The element that is touched."""
        return affine_indices(self.at, self.values)[0]

    @property
    def conditions(self) -> list[tuple[Index, int, int]]:
        """(expression, low, high) for each range check."""
        if self.checks is None or self.check_low is None or self.check_high is None:
            return []
        indices = affine_indices(self.checks, self.values)
        return list(zip(indices, self.check_low.get_values(), self.check_high.get_values(), strict=True))

    def verify_(self) -> None:
        _verify_memref(self, self.memory.type)
        _verify_maps(self, self.values, self.at, self.checks)
        if len(self.at.data.results) != 1:
            raise VerifyException(f"'{self.name}' has {len(self.at.data.results)} subscripts; nest memory is flat")
        tested = len(self.checks.data.results) if self.checks is not None else 0
        low, high = (len(b.get_values()) if b is not None else 0 for b in (self.check_low, self.check_high))
        if not tested == low == high:
            raise VerifyException(f"'{self.name}' has {tested} checks with {low} lower and {high} upper bounds")
        constant = self.index.is_constant
        if constant is not None and not self.checks and not 0 <= constant < extent_of(self.memory):
            raise VerifyException(f"'{self.name}' touches element {constant} of {extent_of(self.memory)}")
        for operand in self.operands[: -1 - len(self.values)]:
            if operand.type != memref_of(self.memory).element_type:
                raise VerifyException(f"'{self.name}' has a value of type {operand.type} for {self.memory.type}")


Checks: TypeAlias = Sequence[tuple[Index, int, int]]


def _access(index: Index | int, checks: Checks) -> tuple[list[SSAValue], dict[str, Attribute]]:
    index = Index.constant(index) if isinstance(index, int) else index
    values, exprs = join([index, *(check for check, _, _ in checks)])
    properties: dict[str, Attribute] = {"at": affine_map(values, exprs[:1])}
    if checks:
        properties["checks"] = affine_map(values, exprs[1:])
        properties["check_low"] = integers([low for _, low, _ in checks])
        properties["check_high"] = integers([high for _, _, high in checks])
    return values, properties


def _parse_access(parser: Parser) -> tuple[UnresolvedOperand, Index, Checks, dict[str, Attribute]]:
    memory = parser.parse_unresolved_operand()
    subscript = _parse_one(parser, "subscripts of flat memory")
    checks: list[tuple[Index, int, int]] = []
    if parser.parse_optional_keyword("where"):
        tested = parse_affines(parser)
        parser.parse_keyword("in")
        low = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_integer)
        parser.parse_keyword("to")
        high = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_integer)
        if not len(tested) == len(low) == len(high):
            parser.raise_error(f"{len(tested)} checks with {len(low)} lower and {len(high)} upper bounds")
        checks = list(zip(tested, low, high, strict=True))
    return memory, subscript, checks, parser.parse_optional_attr_dict()


def _print_access(printer: Printer, op: AccessOp) -> None:
    printer.print_ssa_value(op.memory)
    print_affines(printer, op.at, op.values)
    if op.checks is not None and op.check_low is not None and op.check_high is not None:
        printer.print_string(" where ")
        print_affines(printer, op.checks, op.values)
        printer.print_string(f" in {list(op.check_low.get_values())} to {list(op.check_high.get_values())}")
    printer.print_op_attributes(op.attributes)
    printer.print_string(" : ")
    printer.print_attribute(memref_of(op.memory).element_type)


def _parse_one(parser: Parser, what: str) -> Index:
    """``[affine]``, where one expression is wanted."""
    found = parse_affines(parser)
    if len(found) != 1:
        parser.raise_error(f"{len(found)} {what}; it takes one")
    return found[0]


def _resolve_memory(parser: Parser, memory: UnresolvedOperand) -> SSAValue:
    """The memref behind a name: its type stands where it is defined, so it must be defined above."""
    # every memref is an argument or the result of an op of the same body, both of which stand before their uses
    known = parser.ssa_values.get(memory.operand_name)
    if known is None:
        parser.raise_error("this buffer is not defined above", memory.span.start, memory.span.end)
    return known[memory.index]


@irdl_op_definition
class LoadOp(AccessOp):
    """Reads an element; zero (false) where a check fails."""

    name = "nest.load"
    result = result_def(AnyAttr())
    traits = traits_def(MemoryReadEffect())

    def __init__(self, memory: SSAValue, index: Index | int, checks: Checks = ()):
        values, properties = _access(index, checks)
        super().__init__(
            operands=[memory, values], properties=properties, result_types=[memref_of(memory).element_type]
        )

    def verify_(self) -> None:
        super().verify_()
        if self.result.type != memref_of(self.memory).element_type:
            raise VerifyException(f"'nest.load' of {self.memory.type} cannot give {self.result.type}")

    @classmethod
    def parse(cls, parser: Parser) -> LoadOp:
        memory, index, checks, attributes = _parse_access(parser)
        parser.parse_punctuation(":")
        kind, found = parser.parse_type(), _resolve_memory(parser, memory)
        if kind != memref_of(found).element_type:
            parser.raise_error(f"'nest.load' of {found.type} cannot give {kind}")
        return _with(cls(found, index, checks), attributes)

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        _print_access(printer, self)


@irdl_op_definition
class StoreOp(AccessOp):
    """Writes an element; nothing where a check fails."""

    name = "nest.store"
    value = operand_def(AnyAttr())
    memory = operand_def(_MEMREF)
    values = var_operand_def(IndexType)
    traits = traits_def(MemoryWriteEffect())

    def __init__(self, value: SSAValue | Operation, memory: SSAValue, index: Index | int, checks: Checks = ()):
        values, properties = _access(index, checks)
        super().__init__(operands=[value, memory, values], properties=properties)

    @classmethod
    def parse(cls, parser: Parser) -> StoreOp:
        value = parser.parse_unresolved_operand()
        parser.parse_punctuation(",")
        memory, index, checks, attributes = _parse_access(parser)
        parser.parse_punctuation(":")
        kind = parser.parse_type()
        op = cls(parser.resolve_operand(value, kind), _resolve_memory(parser, memory), index, checks)
        return _with(op, attributes)

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.value)
        printer.print_string(", ")
        _print_access(printer, self)


ADD, MAX, FMA = "add", "max", "fma"


@irdl_op_definition
class AccumulateOp(AccessOp):
    """Updates an element: ``m + v``, ``max(m, v)`` (NaN stays), or ``fma(a, b, m)``; never a half or an i1."""

    name = "nest.accumulate"
    kind = prop_def(StringAttr)
    value = operand_def(AnyAttr())
    factor = opt_operand_def(AnyAttr())
    memory = operand_def(_MEMREF)
    values = var_operand_def(IndexType)
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())

    def __init__(
        self,
        kind: str,
        value: SSAValue | Operation,
        memory: SSAValue,
        index: Index | int,
        factor: SSAValue | Operation | None = None,
        checks: Checks = (),
    ):
        values, properties = _access(index, checks)
        super().__init__(
            operands=[value, [factor] if factor is not None else [], memory, values],
            properties={**properties, "kind": StringAttr(kind)},
        )

    @property
    def half(self) -> Attribute | None:
        """The type in which the op should not total, if it does: a half, or an i1."""
        element = memref_of(self.memory).element_type
        return element if element in (*HALVES, i1) else None

    def verify_(self) -> None:
        super().verify_()
        if self.kind.data not in (ADD, MAX, FMA):
            raise VerifyException(f"'nest.accumulate' has kind {self.kind.data}; known are add, max, fma")
        if (self.kind.data == FMA) != (self.factor is not None):
            wanted, given = (2, 1) if self.kind.data == FMA else (1, 2)
            raise VerifyException(f"'nest.accumulate {self.kind.data}' takes {wanted} values, got {given}")
        if self.half is not None:
            raise VerifyException(f"'nest.accumulate' totals in {self.half}; use memory of f32 or i32, as lower does")
        if self.kind.data == FMA and not is_float(element := memref_of(self.memory).element_type):
            raise VerifyException(f"'nest.accumulate fma' is not defined on {element}; add the product")

    @classmethod
    def parse(cls, parser: Parser) -> AccumulateOp:
        kind = parser.parse_identifier()
        names = [parser.parse_unresolved_operand()]
        parser.parse_punctuation(",")
        if kind == FMA:
            names.append(parser.parse_unresolved_operand())
            parser.parse_punctuation(",")
        memory, index, checks, attributes = _parse_access(parser)
        parser.parse_punctuation(":")
        element = parser.parse_type()
        found = [parser.resolve_operand(n, element) for n in names]
        op = cls(kind, found[0], _resolve_memory(parser, memory), index, found[1] if kind == FMA else None, checks)
        return _with(op, attributes)

    def print(self, printer: Printer) -> None:
        printer.print_string(f" {self.kind.data} ")
        printer.print_list([self.value] if self.factor is None else [self.value, self.factor], printer.print_ssa_value)
        printer.print_string(", ")
        _print_access(printer, self)


@irdl_op_definition
class ScratchOp(IRDLOperation):
    """Memory for one turn of the block it stands in. Its content is undefined until stored to."""

    name = "nest.scratch"
    result = result_def(_MEMREF)
    traits = traits_def(MemoryAllocEffect())
    assembly_format = "attr-dict `:` type($result)"

    def __init__(self, size: int, element: Attribute, space: str):
        super().__init__(result_types=[memref(size, element, space)])

    def verify_(self) -> None:
        _verify_memref(self, self.result.type)
        if space_of(self.result) not in SPACES:
            raise VerifyException(f"'nest.scratch' of {self.result.type} needs a space: one of {', '.join(SPACES)}")


@irdl_op_definition
class CheckRowOp(IRDLOperation):
    """A row number as an index. One outside [0, bound) is recorded with its position, and row 0 is used."""

    name = "nest.check_row"
    row = operand_def(i32)
    values = var_operand_def(IndexType)
    bound = prop_def(IntegerAttr[I64])
    position = prop_def(AffineMapAttr)
    result = result_def(IndexType)
    traits = traits_def(MemoryWriteEffect())

    def __init__(self, row: SSAValue | Operation, bound: int, position: Index | int):
        position = Index.constant(position) if isinstance(position, int) else position
        super().__init__(
            operands=[row, list(position.values)],
            properties={"bound": IntegerAttr(bound, i64), "position": affine_map(position.values, [position.expr])},
            result_types=[_INDEX],
        )

    @property
    def at(self) -> Index:
        """Which row number this is, counted row-major over the index tensor."""
        return affine_indices(self.position, self.values)[0]

    def verify_(self) -> None:
        _verify_maps(self, self.values, self.position)
        positions, bound = len(self.position.data.results), self.bound.value.data
        if positions != 1 or bound < 1:
            raise VerifyException(
                f"'nest.check_row' has {positions} positions and bound {bound}; it needs one and a bound of 1 or more"
            )

    @classmethod
    def parse(cls, parser: Parser) -> CheckRowOp:
        row = parser.parse_unresolved_operand()
        parser.parse_keyword("below")
        bound = parser.parse_integer()
        parser.parse_keyword("at")
        position = _parse_one(parser, "positions of 'nest.check_row'")
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        return _with(cls(parser.resolve_operand(row, parser.parse_type()), bound, position), attributes)

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.row)
        printer.print_string(f" below {self.bound.value.data} at ")
        print_affines(printer, self.position, self.values)
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : i32")


# ---------------------------------------------------------------------------------------------------------- arithmetic


@irdl_op_definition
class ConstOp(IRDLOperation):
    """``%z = nest.const 0.0 : f32``."""

    name = "nest.const"
    value = prop_def(Attribute)
    result = result_def(AnyAttr())
    traits = traits_def(Pure())

    def __init__(self, value: float | int | bool | Number, element: Attribute):
        attribute = value if isinstance(value, Attribute) else _number(value, element)
        super().__init__(properties={"value": attribute}, result_types=[element])

    def verify_(self) -> None:
        if getattr(self.value, "type", None) != self.result.type:
            raise VerifyException(f"value {self.value} of 'nest.const' is not of type {self.result.type}")

    @classmethod
    def parse(cls, parser: Parser) -> ConstOp:
        literal = parse_number(parser)
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        kind = parser.parse_type()
        if kind == i64 and isinstance(literal, int):  # the bits of an f64, no element type of a tensor
            return _with(cls(literal, kind), attributes)
        return _with(cls(number_of_literal(parser, literal, kind), kind), attributes)

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        print_number(printer, self.value)
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.result.type)


def _number(value: float | int | bool, element: Attribute) -> Number:
    return IntegerAttr(int(value), i64) if element == i64 else number(value, element)


SCALARS = (*ELEMENT_TYPES, i64)
"""Types of values: the element types, and i64 for the bits of f64."""


class ValueOp(IRDLOperation, ABC):
    """Base of the arithmetic: operands and a result of one scalar type, which is no half where something is computed:
    halves are cast, selected, loaded and stored."""

    ACCEPTS: ClassVar[str] = "number"
    COMPUTES: ClassVar[bool] = True
    traits = traits_def(Pure())

    @property
    def half(self) -> Attribute | None:
        """The type in which the op should not compute, if it does."""
        return next((v.type for v in (*self.operands, *self.results) if self.COMPUTES and v.type in HALVES), None)

    def verify_(self) -> None:
        if self.half is not None:
            raise VerifyException(f"'{self.name}' computes in {self.half}; widen to f32 first, as lower does")
        kind = self.results[0].type
        allowed = {
            "number": kind in SCALARS and kind != i1,
            "float": is_float(kind),
            "integer": isinstance(kind, IntegerType) and kind != i1,
            "bits": isinstance(kind, IntegerType),
            "any": kind in SCALARS,
        }[self.ACCEPTS]
        if not allowed:
            raise VerifyException(f"'{self.name}' is not defined on {kind}")


class UnaryOp(ValueOp, ABC):
    """Base of the arithmetic on one operand."""

    operand = operand_def(_SAME)
    result = result_def(_SAME)
    assembly_format = "$operand attr-dict `:` type($result)"

    def __init__(self, operand: SSAValue | Operation):
        operand = SSAValue.get(operand)
        super().__init__(operands=[operand], result_types=[operand.type])


class BinaryOp(ValueOp, ABC):
    """Base of the arithmetic on two operands."""

    lhs = operand_def(_SAME)
    rhs = operand_def(_SAME)
    result = result_def(_SAME)
    assembly_format = "$lhs `,` $rhs attr-dict `:` type($result)"

    def __init__(self, lhs: SSAValue | Operation, rhs: SSAValue | Operation):
        lhs = SSAValue.get(lhs)
        super().__init__(operands=[lhs, rhs], result_types=[lhs.type])


@irdl_op_definition
class NegOp(UnaryOp):
    """-a; integers wrap."""

    name = "nest.neg"


@irdl_op_definition
class SqrtOp(UnaryOp):
    """The square root, rounded once."""

    name = "nest.sqrt"
    ACCEPTS: ClassVar[str] = "float"


@irdl_op_definition
class ExpOp(UnaryOp):
    """e to the power a; ``expand-math`` spells it in arithmetic."""

    name = "nest.exp"
    ACCEPTS: ClassVar[str] = "float"


@irdl_op_definition
class LogOp(UnaryOp):
    """The natural logarithm; ``expand-math`` spells it in arithmetic."""

    name = "nest.log"
    ACCEPTS: ClassVar[str] = "float"


@irdl_op_definition
class AddOp(BinaryOp):
    """a + b; integers wrap."""

    name = "nest.add"


@irdl_op_definition
class SubOp(BinaryOp):
    """a - b; integers wrap."""

    name = "nest.sub"


@irdl_op_definition
class MulOp(BinaryOp):
    """a * b; integers wrap."""

    name = "nest.mul"


@irdl_op_definition
class DivOp(BinaryOp):
    """a / b, rounded once."""

    name = "nest.div"
    ACCEPTS: ClassVar[str] = "float"


@irdl_op_definition
class MaxOp(BinaryOp):
    """``a > b or a is NaN ? a : b``: the larger, NaN if either is; of two zeros the second."""

    name = "nest.max"


@irdl_op_definition
class AndOp(BinaryOp):
    """Bitwise and; on i1, both."""

    name = "nest.and"
    ACCEPTS: ClassVar[str] = "bits"


@irdl_op_definition
class OrOp(BinaryOp):
    """Bitwise or; on i1, either."""

    name = "nest.or"
    ACCEPTS: ClassVar[str] = "bits"


@irdl_op_definition
class XorOp(BinaryOp):
    """Bitwise exclusive or; on i1, not both."""

    name = "nest.xor"
    ACCEPTS: ClassVar[str] = "bits"


@irdl_op_definition
class ShlOp(BinaryOp):
    """a shifted left by b, 0 <= b < width."""

    name = "nest.shl"
    ACCEPTS: ClassVar[str] = "integer"


@irdl_op_definition
class ShrOp(BinaryOp):
    """a shifted right by b, copies of the sign coming in, 0 <= b < width."""

    name = "nest.shr"
    ACCEPTS: ClassVar[str] = "integer"


@irdl_op_definition
class FmaOp(ValueOp):
    """a * b + c, rounded once."""

    name = "nest.fma"
    ACCEPTS: ClassVar[str] = "float"
    a = operand_def(_SAME)
    b = operand_def(_SAME)
    c = operand_def(_SAME)
    result = result_def(_SAME)
    assembly_format = "$a `,` $b `,` $c attr-dict `:` type($result)"

    def __init__(self, a: SSAValue | Operation, b: SSAValue | Operation, c: SSAValue | Operation):
        a = SSAValue.get(a)
        super().__init__(operands=[a, b, c], result_types=[a.type])


@irdl_op_definition
class CmpLtOp(ValueOp):
    """a < b as i1; false where either is NaN."""

    name = "nest.cmplt"
    ACCEPTS: ClassVar[str] = "any"
    lhs = operand_def(_SAME)
    rhs = operand_def(_SAME)
    result = result_def(i1)
    assembly_format = "$lhs `,` $rhs attr-dict `:` type($lhs)"

    def __init__(self, lhs: SSAValue | Operation, rhs: SSAValue | Operation):
        super().__init__(operands=[lhs, rhs], result_types=[i1])


@irdl_op_definition
class SelectOp(ValueOp):
    """a where the condition holds, else b."""

    name = "nest.select"
    ACCEPTS: ClassVar[str] = "any"
    COMPUTES: ClassVar[bool] = False
    condition = operand_def(i1)
    lhs = operand_def(_SAME)
    rhs = operand_def(_SAME)
    result = result_def(_SAME)
    assembly_format = "$condition `,` $lhs `,` $rhs attr-dict `:` type($result)"

    def __init__(self, condition: SSAValue | Operation, lhs: SSAValue | Operation, rhs: SSAValue | Operation):
        lhs = SSAValue.get(lhs)
        super().__init__(operands=[condition, lhs, rhs], result_types=[lhs.type])


class ConversionOp(ValueOp, ABC):
    """Base of the ops from one type to another, halves included."""

    ACCEPTS: ClassVar[str] = "any"
    COMPUTES: ClassVar[bool] = False
    operand = operand_def(AnyAttr())
    result = result_def(AnyAttr())
    assembly_format = "$operand attr-dict `:` type($operand) `to` type($result)"

    def __init__(self, operand: SSAValue | Operation, kind: Attribute):
        super().__init__(operands=[operand], result_types=[kind])


@irdl_op_definition
class CastOp(ConversionOp):
    """Another type, by the rules of ``graph.cast``."""

    name = "nest.cast"


def width_of(kind: Attribute) -> int:
    """The bits of a scalar type."""
    return kind.bitwidth  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType, reportUnknownVariableType]


@irdl_op_definition
class BitcastOp(ConversionOp):
    """The same bits as another type of that width."""

    name = "nest.bitcast"

    def verify_(self) -> None:
        super().verify_()
        if self.operand.type not in SCALARS or width_of(self.operand.type) != width_of(self.result.type):
            raise VerifyException(f"'nest.bitcast' keeps the width: got {self.operand.type} and {self.result.type}")


@irdl_op_definition
class IndexOp(IRDLOperation):
    """An affine expression of loop indices as a value of type i32."""

    name = "nest.index"
    values = var_operand_def(IndexType)
    at = prop_def(AffineMapAttr)
    result = result_def(i32)
    traits = traits_def(Pure())

    def __init__(self, index: Index):
        super().__init__(
            operands=[list(index.values)],
            properties={"at": affine_map(index.values, [index.expr])},
            result_types=[i32],
        )

    @property
    def index(self) -> Index:
        """The expression whose value it gives."""
        return affine_indices(self.at, self.values)[0]

    def verify_(self) -> None:
        _verify_maps(self, self.values, self.at)
        if len(self.at.data.results) != 1:
            raise VerifyException(f"'nest.index' has {len(self.at.data.results)} expressions; it takes one")

    @classmethod
    def parse(cls, parser: Parser) -> IndexOp:
        index = _parse_one(parser, "expressions of 'nest.index'")
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        if (kind := parser.parse_type()) != i32:
            parser.raise_error(f"'nest.index' gives i32, not {kind}; cast it")
        return _with(cls(index), attributes)

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        print_affines(printer, self.at, self.values)
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : i32")


# ---------------------------------------------------------------------------------------------------------------- plan


@irdl_op_definition
class PlanOp(_Callable):
    """The whole computation as launches over a table of buffers, and what it commits when all went well."""

    name = "nest.plan"
    inputs = prop_def(IntegerAttr[I64])
    arena = opt_prop_def(UnitAttr)
    commits = opt_prop_def(DenseArrayBase[I64])

    def __init__(
        self,
        sym_name: str,
        inputs: int,
        commits: Sequence[tuple[int, int]],
        body: Region | Block,
        arena: bool = False,
    ):
        properties: dict[str, Attribute] = {"sym_name": StringAttr(sym_name), "inputs": IntegerAttr(inputs, i64)}
        if arena:
            properties["arena"] = UnitAttr()
        if commits:
            properties["commits"] = integers([entry for pair in commits for entry in pair])
        super().__init__(properties=properties, regions=[_region(body)])

    @property
    def input_count(self) -> int:
        """Arguments that are read."""
        return self.inputs.value.data

    @property
    def output_count(self) -> int:
        """Arguments that are written: results, then next versions."""
        return len(self.block.args) - self.input_count - (self.arena is not None)

    @property
    def swaps(self) -> list[tuple[int, int]]:
        """(from, to) entries of the buffer table that change places on success."""
        flat = list(self.commits.get_values()) if self.commits is not None else []
        return list(zip(flat[::2], flat[1::2], strict=True))

    @property
    def arena_argument(self) -> BlockArgument | None:
        """The last argument, if the plan has an arena."""
        return self.block.args[-1] if self.arena is not None else None

    def verify_(self) -> None:
        super().verify_()
        name, count = f"plan @{self.sym_name.data}", len(self.block.args)
        if not 0 <= self.input_count <= count - (self.arena is not None):
            raise VerifyException(f"{name} has {self.input_count} inputs but {count} arguments")
        argument = self.arena_argument
        if argument is not None and memref_of(argument).element_type != i8:
            raise VerifyException(f"{name} has an arena of type {argument.type}; it must be bytes, memref<N x i8>")
        if self.commits is not None and len(self.commits.get_values()) % 2:
            raise VerifyException(f"{name} has commits {list(self.commits.get_values())}, which are no pairs")
        outputs = range(self.input_count, self.input_count + self.output_count)
        for source, target in self.swaps:
            if source not in outputs or not 0 <= target < self.input_count:
                raise VerifyException(
                    f"{name} commits {source} -> {target}; it must go from an output, {outputs.start} to"
                    f" {outputs.stop - 1}, to an input below {self.input_count}"
                )
            if self.block.args[source].type != self.block.args[target].type:
                raise VerifyException(
                    f"{name} commits {self.block.args[source].type} to {self.block.args[target].type}"
                )
        versions: dict[int, int] = {}
        used: dict[int, int] = {}
        for source, target in self.swaps:
            if source in used:
                both = f"{source} -> {used[source]} and {source} -> {target}"
                raise VerifyException(f"{name} commits {both}; an output goes to one buffer")
            used[source] = target
            if target in versions:
                both = f"{versions[target]} -> {target} and {source} -> {target}"
                raise VerifyException(f"{name} commits {both}; a buffer takes one")
            versions[target] = source
        for op in self.block.ops:
            if not isinstance(op, AllocOp | SliceOp | LaunchOp):
                raise VerifyException(f"{name} holds '{op.name}'; a plan holds alloc, slice and launch")

    @classmethod
    def parse(cls, parser: Parser) -> PlanOp:
        name, arguments = _parse_head(parser)
        parser.parse_keyword("inputs")
        inputs = parser.parse_integer()
        arena = parser.parse_optional_keyword("arena") is not None

        def pair() -> tuple[int, int]:
            source = parser.parse_integer()
            parser.parse_punctuation("->")
            return source, parser.parse_integer()

        commits: list[tuple[int, int]] = []
        if parser.parse_optional_keyword("commits"):
            commits = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, pair)
        attributes, body = _parse_body(parser, arguments)
        return _with(cls(name, inputs, commits, body, arena), attributes)

    def print_facts(self, printer: Printer) -> None:
        printer.print_string(f" inputs {self.input_count}")
        if self.arena is not None:
            printer.print_string(" arena")
        if self.swaps:
            printer.print_string(" commits [" + ", ".join(f"{s} -> {t}" for s, t in self.swaps) + "]")


@irdl_op_definition
class AllocOp(IRDLOperation):
    """A buffer for the length of the plan; ``plan-memory`` turns it into a slice of the arena."""

    name = "nest.alloc"
    result = result_def(_MEMREF)
    traits = traits_def(MemoryAllocEffect())
    assembly_format = "attr-dict `:` type($result)"

    def __init__(self, kind: AnyMemRef):
        super().__init__(result_types=[kind])

    def verify_(self) -> None:
        _verify_memref(self, self.result.type)


@irdl_op_definition
class SliceOp(IRDLOperation):
    """The bytes of the arena from an offset on, as a memref of their own."""

    name = "nest.slice"
    arena = operand_def(_MEMREF)
    offset = prop_def(IntegerAttr[I64])
    result = result_def(_MEMREF)
    traits = traits_def(Pure())

    def __init__(self, arena: SSAValue, offset: int, kind: AnyMemRef):
        super().__init__(operands=[arena], properties={"offset": IntegerAttr(offset, i64)}, result_types=[kind])

    @property
    def byte_offset(self) -> int:
        """Where in the arena it begins."""
        return self.offset.value.data

    def verify_(self) -> None:
        _verify_memref(self, self.result.type)
        end = self.byte_offset + byte_size(memref_of(self.result))
        if memref_of(self.arena).element_type != i8 or self.byte_offset < 0 or end > extent_of(self.arena):
            raise VerifyException(f"'nest.slice' takes bytes {self.byte_offset} to {end} of {self.arena.type}")

    @classmethod
    def parse(cls, parser: Parser) -> SliceOp:
        arena = parser.parse_unresolved_operand()
        with_brackets = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_integer)
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        kind = parser.parse_type()
        if not isinstance(kind, MemRefType) or len(with_brackets) != 1:
            parser.raise_error("nest.slice takes one byte offset and has a memref type")
        return _with(cls(_resolve_memory(parser, arena), with_brackets[0], cast(AnyMemRef, kind)), attributes)

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.arena)
        printer.print_string(f"[{self.byte_offset}]")
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.result.type)


def byte_size(kind: AnyMemRef) -> int:
    """The bytes of a memref; i1 takes one each."""
    return kind.get_shape()[0] * max(width_of(kind.element_type) // 8, 1)


@irdl_op_definition
class LaunchOp(IRDLOperation):
    """Runs a kernel on buffers."""

    name = "nest.launch"
    kernel = prop_def(SymbolRefAttr)
    because = opt_prop_def(StringAttr)
    buffers = var_operand_def(_MEMREF)

    def __init__(self, kernel: str, buffers: Sequence[SSAValue], because: StringAttr | None = None):
        properties: dict[str, Attribute] = {"kernel": SymbolRefAttr(kernel)}
        if because is not None:
            properties["because"] = because
        super().__init__(operands=[list(buffers)], properties=properties)

    def verify_(self) -> None:
        callee = SymbolTable.lookup_symbol(self, self.kernel)
        name = self.kernel.string_value()
        if not isinstance(callee, KernelOp):
            raise VerifyException(f"'nest.launch' of @{name}, which is no kernel of this module")
        given, wanted = [b.type for b in self.buffers], [a.type for a in callee.block.args]
        if given != wanted:
            types = [", ".join(map(str, kinds)) for kinds in (given, wanted)]
            raise VerifyException(f"'nest.launch' of @{name} with ({types[0]}), the kernel takes ({types[1]})")

    @classmethod
    def parse(cls, parser: Parser) -> LaunchOp:
        name = parser.parse_symbol_name().data
        names = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_unresolved_operand)
        because = StringAttr(parser.parse_str_literal()) if parser.parse_optional_keyword("because") else None
        attributes = parser.parse_optional_attr_dict()
        return _with(cls(name, [_resolve_memory(parser, n) for n in names], because), attributes)

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_attribute(self.kernel)
        with printer.in_parens():
            printer.print_list(self.buffers, printer.print_ssa_value)
        if self.because is not None:
            printer.print_string(" because ")
            printer.print_attribute(self.because)
        printer.print_op_attributes(self.attributes)


UNARY = (NegOp, SqrtOp, ExpOp, LogOp)
BINARY = (AddOp, SubOp, MulOp, DivOp, MaxOp, AndOp, OrOp, XorOp, ShlOp, ShrOp)
ARITHMETIC = (ConstOp, *UNARY, *BINARY, FmaOp, CmpLtOp, SelectOp, CastOp, BitcastOp, IndexOp)
MEMORY = (LoadOp, StoreOp, AccumulateOp, ScratchOp, CheckRowOp)
PLAN = (PlanOp, AllocOp, SliceOp, LaunchOp)

Nest = Dialect("nest", [KernelOp, ForOp, *MEMORY, *ARITHMETIC, *PLAN], [])
