"""The ``schedule`` dialect: what runs together, and in which loop order.

A kernel is a symbol, isolated from above, whose body holds graph ops over what it loads and yields what it stores. A
function launches kernels; beside the launches it holds only ``graph.assign`` and views that read the same bytes in
another shape.

    kernel := schedule.kernel @NAME(%a: type, ..) -> (type, ..)
                dims [NAME = EXTENT, ..] rows INT order [INT, ..] { body schedule.yield %v, .. : type, .. }
    launch := schedule.launch @NAME(%a, ..) (because "WHY")? : (type, ..) -> (type, ..)
    keep   := schedule.keep %v : type
    gather := schedule.gather %table[%row] strides [INT, ..] (offset INT)? : type, type -> type
    scatter:= schedule.scatter %value[%row] strides [INT, ..] (offset INT)? : type, type -> type

The body is in normal form, so that its loops can be read off without an analysis:

- the kernel has dims; every value of the body has one dim for each, of that extent or of extent 1;
- an argument is read by ``graph.view`` (a load: any layout) or as the table of ``schedule.gather``;
- a view of a computed value only repeats it along dims of extent 1 (stride 0);
- a yielded value is stored row-major in the result, whose type may have another shape of as many elements.

``order`` lists the dims from the outermost loop to the innermost; its first ``rows`` loops are shared by all phases of
the kernel (a reduction, then what needs its result, is two phases). A dim is named ``r`` when no yield spans it, else
``i``. A reduction that directly folds a reduction is one phase with it; otherwise a reduction runs in the latest phase
that is early enough for those who need it, and those of one phase over the same dims share its loop. A value with no
dims but rows is computed once a row. ``schedule.keep`` holds its value in a row of scratch for the phases that follow;
without it they compute the value again.

    schedule.kernel @softmax(%x: tensor<8x16xf32>) -> tensor<8x16xf32> dims [i0 = 8, i1 = 16] rows 1 order [0, 1] {
      %0 = graph.view %x strides [16, 1] : tensor<8x16xf32> -> tensor<8x16xf32>
      %1 = graph.max %0 axes [1] : tensor<8x16xf32> -> tensor<8x1xf32>
      %2 = graph.neg %1 : tensor<8x1xf32>
      %3 = graph.view %2 strides [1, 0] : tensor<8x1xf32> -> tensor<8x16xf32>
      %4 = graph.add %0, %3 : tensor<8x16xf32>
      %5 = graph.exp %4 : tensor<8x16xf32>
      %6 = schedule.keep %5 : tensor<8x16xf32>
      %7 = graph.sum %6 axes [1] : tensor<8x16xf32> -> tensor<8x1xf32>
      %8 = graph.view %7 strides [1, 0] : tensor<8x1xf32> -> tensor<8x16xf32>
      %9 = graph.mul %6, recip %8 : tensor<8x16xf32>
      schedule.yield %9 : tensor<8x16xf32>
    }

Rows of a table: ``%g = schedule.gather %table[%row] strides [0, 1]`` reads element ``row * (elements a row) + offset +
sum of index * stride`` of the flat table, where %row (i32, extent 1 along the dims it does not depend on) is checked
against the rows of the table. ``schedule.scatter %value[%row] strides [0, 1]`` is the other way: its result, zeros to
which each value is added in ascending order of the dims, is not in normal form and may only be yielded.
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence

from xdsl.dialects.builtin import (
    I64,
    ArrayAttr,
    DenseArrayBase,
    FunctionType,
    IntegerAttr,
    StringAttr,
    SymbolNameConstraint,
    SymbolRefAttr,
    TensorType,
    i64,
)
from xdsl.ir import Attribute, Block, BlockArgument, Dialect, Operation, Region, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    VarConstraint,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.irdl.constraints import BaseAttr
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import (
    IsolatedFromAbove,
    IsTerminator,
    Pure,
    SymbolOpInterface,
    SymbolTable,
)
from xdsl.utils.exceptions import VerifyException

from limn.dialects import graph
from limn.dialects.dominance import verify_dominance
from limn.dialects.graph import AnyTensor, element_of, integers, row_major, shape_of, size_of

_TENSOR = BaseAttr(TensorType)
_SAME = VarConstraint("T", _TENSOR)

BODY_OPS = (graph.ConstOp, graph.ViewOp, *graph.ELEMENTWISE, *graph.REDUCTIONS)
"""The graph ops that may stand in a kernel; the rest become launches, commits or schedule ops."""


@irdl_op_definition
class YieldOp(IRDLOperation):
    """What the kernel stores, one value for each of its results."""

    name = "schedule.yield"
    values = var_operand_def(_TENSOR)
    traits = traits_def(IsTerminator())
    assembly_format = "($values^ `:` type($values))? attr-dict"

    def __init__(self, *values: SSAValue | Operation):
        super().__init__(operands=[list(values)])


@irdl_op_definition
class KernelOp(IRDLOperation):
    """A fused kernel: arguments, results, named dims and their loop order, and a body in normal form."""

    name = "schedule.kernel"
    sym_name = prop_def(SymbolNameConstraint())
    function_type = prop_def(FunctionType)
    dim_names = prop_def(ArrayAttr[StringAttr])
    extents = prop_def(DenseArrayBase[I64])
    rows = prop_def(IntegerAttr[I64])
    order = prop_def(DenseArrayBase[I64])
    body = region_def("single_block")
    traits = traits_def(IsolatedFromAbove(), SymbolOpInterface())

    def __init__(
        self,
        sym_name: str,
        result_types: Sequence[AnyTensor],
        dim_names: Sequence[str],
        extents: Sequence[int],
        rows: int,
        order: Sequence[int],
        body: Region | Block,
    ):
        region = Region(body) if isinstance(body, Block) else body
        super().__init__(
            properties={
                "sym_name": StringAttr(sym_name),
                "function_type": FunctionType.from_lists([a.type for a in region.block.args], list(result_types)),
                "dim_names": ArrayAttr([StringAttr(n) for n in dim_names]),
                "extents": integers(extents),
                "rows": IntegerAttr(rows, i64),
                "order": integers(order),
            },
            regions=[region],
        )

    @property
    def dims(self) -> tuple[int, ...]:
        """The extent of each dim."""
        return tuple(self.extents.get_values())

    @property
    def names(self) -> tuple[str, ...]:
        """The name of each dim."""
        return tuple(n.data for n in self.dim_names)

    @property
    def loop_order(self) -> tuple[int, ...]:
        """Dims, outermost loop first."""
        return tuple(self.order.get_values())

    @property
    def row_count(self) -> int:
        """How many of the outermost loops all phases share."""
        return self.rows.value.data

    @property
    def block(self) -> Block:
        return self.body.block

    @property
    def terminator(self) -> YieldOp:
        """The op at the end of the body, which says what is stored."""
        last = self.block.last_op
        assert isinstance(last, YieldOp)
        return last

    @property
    def stored_types(self) -> tuple[AnyTensor, ...]:
        """The types of the results."""
        return tuple(graph.tensor_of(t) for t in self.function_type.outputs)

    def verify_(self) -> None:
        _verify_header(self)
        verify_dominance(self)
        for op in self.block.ops:
            _verify_normal_form(self, op)
        _verify_names(self)

    @classmethod
    def parse(cls, parser: Parser) -> KernelOp:
        name = parser.parse_symbol_name().data
        arguments = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_argument)
        parser.parse_punctuation("->")
        if parser.parse_optional_punctuation("("):
            types = [parser.parse_type()]
            while parser.parse_optional_punctuation(","):
                types.append(parser.parse_type())
            parser.parse_punctuation(")")
        else:
            types = [parser.parse_type()]

        def dim() -> tuple[str, int]:
            word = parser.parse_identifier()
            parser.parse_punctuation("=")
            return word, parser.parse_integer()

        parser.parse_keyword("dims")
        dims = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, dim)
        parser.parse_keyword("rows")
        rows = parser.parse_integer()
        parser.parse_keyword("order")
        order = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_integer)
        attributes = parser.parse_optional_attr_dict_with_keyword()
        region = parser.parse_region(arguments)
        if any(not isinstance(t, TensorType) for t in types):
            parser.raise_error("the results of a kernel are tensors")
        op = cls(
            name, [graph.tensor_of(t) for t in types], [n for n, _ in dims], [e for _, e in dims], rows, order, region
        )
        if attributes is not None:
            op.attributes |= attributes.data
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_symbol_name(self.sym_name)
        with printer.in_parens():
            printer.print_list(self.block.args, printer.print_block_argument)
        printer.print_string(" -> ")
        outputs = self.function_type.outputs.data
        if len(outputs) == 1:
            printer.print_attribute(outputs[0])
        else:
            with printer.in_parens():
                printer.print_list(outputs, printer.print_attribute)
        dims = ", ".join(f"{n} = {e}" for n, e in zip(self.names, self.dims, strict=True))
        order = ", ".join(map(str, self.loop_order))
        printer.print_string(f" dims [{dims}] rows {self.row_count} order [{order}]")
        printer.print_op_attributes(self.attributes, print_keyword=True)
        printer.print_string(" ")
        printer.print_region(self.body, print_entry_block_args=False)


def _verify_header(kernel: KernelOp) -> None:
    name, rank = f"kernel @{kernel.sym_name.data}", len(kernel.dims)
    if not isinstance(kernel.block.last_op, YieldOp):
        last = f"'{kernel.block.last_op.name}'" if kernel.block.last_op is not None else "nothing"
        raise VerifyException(f"{name} ends in {last}, not in 'schedule.yield'")
    if len(kernel.names) != rank or len(set(kernel.names)) != rank:
        raise VerifyException(
            f"{name} has {rank} dims but names {list(kernel.names)}; each dim needs a name of its own"
        )
    if any(extent < 1 for extent in kernel.dims):
        raise VerifyException(f"{name} has extents {list(kernel.dims)}; each must be 1 or more")
    if sorted(kernel.loop_order) != list(range(rank)):
        raise VerifyException(f"{name} has order {list(kernel.loop_order)}, which is no permutation of {rank} dims")
    if not 0 <= kernel.row_count <= rank:
        raise VerifyException(f"{name} has rows {kernel.row_count} but {rank} dims")
    given, declared = [a.type for a in kernel.block.args], list(kernel.function_type.inputs)
    if given != declared:
        types = [", ".join(map(str, kinds)) for kinds in (given, declared)]
        raise VerifyException(f"{name} has arguments ({types[0]}), its function type says ({types[1]})")
    yielded, results = kernel.terminator.values, kernel.stored_types
    if len(yielded) != len(results):
        raise VerifyException(f"{name} yields {len(yielded)} values but has {len(results)} results")
    for position, (value, result) in enumerate(zip(yielded, results, strict=True)):
        if size_of(value) != size_of(result) or element_of(value) != element_of(result):
            raise VerifyException(f"{name} yields {value.type} for result {position} of type {result}")
        if isinstance(value, BlockArgument):
            raise VerifyException(f"{name} yields its argument {value.index}; load it with graph.view first")


def _verify_normal_form(kernel: KernelOp, op: Operation) -> None:
    name, dims = f"kernel @{kernel.sym_name.data}", kernel.dims
    if not isinstance(op, (*BODY_OPS, KeepOp, GatherOp, ScatterOp, YieldOp)):
        raise VerifyException(f"{name} holds '{op.name}', which cannot be fused into a kernel")
    for index, operand in enumerate(op.operands):
        is_load = isinstance(op, graph.ViewOp | GatherOp) and index == 0
        if isinstance(operand, BlockArgument) and not is_load:
            raise VerifyException(f"{name}: '{op.name}' uses an argument directly; load it with graph.view first")
        if isinstance(op, GatherOp) and index == 0 and not isinstance(operand, BlockArgument):
            raise VerifyException(f"{name}: the table of 'schedule.gather' must be an argument of the kernel")
        if isinstance(operand.owner, ScatterOp) and not isinstance(op, YieldOp):
            raise VerifyException(f"{name}: '{op.name}' uses the result of a scatter; it can only be yielded")
    for result in op.results:
        shape = shape_of(result)
        fits = len(shape) == len(dims) and all(e in (1, d) for e, d in zip(shape, dims, strict=True))
        if not fits and not isinstance(op, ScatterOp):
            raise VerifyException(
                f"{name}: '{op.name}' has shape {list(shape)}, not extents of the dims {list(dims)} or 1"
            )
    if isinstance(op, graph.ViewOp) and not isinstance(op.source, BlockArgument):
        source, out = shape_of(op.source), shape_of(op.result)
        want = tuple(0 if s != o else stride for s, o, stride in zip(source, out, row_major(source), strict=True))
        strides = tuple(s if o > 1 else w for s, o, w in zip(op.view_strides, out, want, strict=True))
        if strides != want or op.view_offset or op.view_mask or any(s not in (1, o) for s, o in zip(source, out)):
            raise VerifyException(
                f"{name}: 'graph.view' of a computed value may only repeat it along dims of extent 1:"
                f" {list(source)} to {list(out)} with strides {list(want)}, got {list(op.view_strides)}"
            )
    if isinstance(op, graph.ReduceOp):
        shared = [kernel.names[d] for d in kernel.loop_order[: kernel.row_count] if d in op.reduced and dims[d] > 1]
        if shared:
            raise VerifyException(f"{name}: '{op.name}' reduces {shared[0]}, one of the {kernel.row_count} shared rows")


def spanned(kernel: KernelOp) -> set[int]:
    """The dims that some yield spans: where a cell of the result changes with the dim."""
    found: set[int] = set()
    for value in kernel.terminator.values:
        if isinstance(value.owner, ScatterOp):
            found |= {d for d, stride in enumerate(value.owner.row_strides) if stride}
        else:
            found |= {d for d, extent in enumerate(shape_of(value)) if extent > 1}
    return found


def _verify_names(kernel: KernelOp) -> None:
    over = spanned(kernel)
    for dim, (name, extent) in enumerate(zip(kernel.names, kernel.dims, strict=True)):
        if extent > 1 and name[:1] != ("i" if dim in over else "r"):
            why = "a yield spans it" if dim in over else "no yield spans it"
            raise VerifyException(
                f"kernel @{kernel.sym_name.data} names dim {dim} {name}; as {why}, its name must begin with"
                f" {'i' if dim in over else 'r'}"
            )


@irdl_op_definition
class LaunchOp(IRDLOperation):
    """Runs a kernel on tensors; ``because`` says why it was cut from its neighbours."""

    name = "schedule.launch"
    kernel = prop_def(SymbolRefAttr)
    because = opt_prop_def(StringAttr)
    inputs = var_operand_def(_TENSOR)
    outs = var_result_def(_TENSOR)
    traits = traits_def(Pure())
    assembly_format = "$kernel `(` $inputs `)` (`because` $because^)? attr-dict `:` functional-type($inputs, $outs)"

    def __init__(
        self,
        kernel: str,
        inputs: Sequence[SSAValue | Operation],
        result_types: Sequence[Attribute],
        because: str | None = None,
    ):
        properties: dict[str, Attribute] = {"kernel": SymbolRefAttr(kernel)}
        if because is not None:
            properties["because"] = StringAttr(because)
        super().__init__(operands=[list(inputs)], properties=properties, result_types=[list(result_types)])

    def verify_(self) -> None:
        callee = SymbolTable.lookup_symbol(self, self.kernel)
        if not isinstance(callee, KernelOp):
            raise VerifyException(
                f"'schedule.launch' of @{self.kernel.string_value()}, which is no kernel of this module"
            )
        types = FunctionType.from_lists([v.type for v in self.inputs], [r.type for r in self.outs])
        if types != callee.function_type:
            raise VerifyException(
                f"'schedule.launch' of @{self.kernel.string_value()} has type {types}, but the kernel has"
                f" {callee.function_type}"
            )


@irdl_op_definition
class KeepOp(IRDLOperation):
    """The same value, held in a row of scratch between the phases of a kernel."""

    name = "schedule.keep"
    operand = operand_def(_SAME)
    result = result_def(_SAME)
    traits = traits_def(Pure())
    assembly_format = "$operand attr-dict `:` type($result)"

    def __init__(self, operand: SSAValue | Operation):
        operand = SSAValue.get(operand)
        super().__init__(operands=[operand], result_types=[operand.type])


class RowOp(IRDLOperation, ABC):
    """Base of gather and scatter: where in a row of memory each cell lies."""

    strides = prop_def(DenseArrayBase[I64])
    offset = opt_prop_def(IntegerAttr[I64])
    traits = traits_def(Pure())

    @property
    def row_strides(self) -> tuple[int, ...]:
        """How far apart neighbours along each dim lie in the row."""
        return tuple(self.strides.get_values())

    @property
    def row_offset(self) -> int:
        """The element of the row at index (0, 0, ..)."""
        return self.offset.value.data if self.offset is not None else 0

    def verify_cells(self, row: SSAValue, cells: SSAValue) -> None:
        """Refuse row numbers that are no i32, or do not go with the cells."""
        graph.verify_index(self, row)
        shape = shape_of(cells)
        if len(self.row_strides) != len(shape):
            raise VerifyException(f"'{self.name}' has {len(self.row_strides)} strides for {len(shape)} dims")
        if len(shape_of(row)) != len(shape) or any(r not in (1, e) for r, e in zip(shape_of(row), shape)):
            raise VerifyException(f"'{self.name}' has rows of type {row.type} for cells of type {cells.type}")

    def verify_inside(self, memory: SSAValue, cells: SSAValue) -> None:
        """Refuse cells that leave the row, for ``memory`` that has rows."""
        size = size_of(memory) // max(shape_of(memory)[0], 1)
        reach = [stride * (extent - 1) for stride, extent in zip(self.row_strides, shape_of(cells))]
        first, last = self.row_offset + sum(min(0, r) for r in reach), self.row_offset + sum(max(0, r) for r in reach)
        if first < 0 or last >= size:
            raise VerifyException(f"'{self.name}' touches elements {first} to {last} of rows that have {size}")


def _row_layout(strides: Sequence[int], offset: int) -> dict[str, Attribute]:
    properties: dict[str, Attribute] = {"strides": integers(strides)}
    if offset:
        properties["offset"] = IntegerAttr(offset, i64)
    return properties


@irdl_op_definition
class GatherOp(RowOp):
    """Cells of rows of a table; each row number is checked against the table when the kernel runs."""

    name = "schedule.gather"
    table = operand_def(_TENSOR)
    row = operand_def(_TENSOR)
    result = result_def(_TENSOR)
    assembly_format = (
        "$table `[` $row `]` `strides` $strides (`offset` $offset^)? attr-dict"
        " `:` type($table) `,` type($row) `->` type($result)"
    )

    def __init__(
        self,
        table: SSAValue | Operation,
        row: SSAValue | Operation,
        shape: Sequence[int],
        strides: Sequence[int],
        offset: int = 0,
    ):
        table = SSAValue.get(table)
        kind = TensorType(element_of(table), list(shape))
        super().__init__(operands=[table, row], properties=_row_layout(strides, offset), result_types=[kind])

    def verify_(self) -> None:
        self.verify_cells(self.row, self.result)
        if element_of(self.table) != element_of(self.result) or not shape_of(self.table):
            raise VerifyException(f"'schedule.gather' of {self.table.type} cannot give {self.result.type}")
        self.verify_inside(self.table, self.result)


@irdl_op_definition
class ScatterOp(RowOp):
    """Zeros of the result's type to which each value is added at its row, in ascending order of the dims."""

    name = "schedule.scatter"
    value = operand_def(_TENSOR)
    row = operand_def(_TENSOR)
    result = result_def(_TENSOR)
    assembly_format = (
        "$value `[` $row `]` `strides` $strides (`offset` $offset^)? attr-dict"
        " `:` type($value) `,` type($row) `->` type($result)"
    )

    def __init__(
        self,
        value: SSAValue | Operation,
        row: SSAValue | Operation,
        strides: Sequence[int],
        result_type: AnyTensor,
        offset: int = 0,
    ):
        super().__init__(operands=[value, row], properties=_row_layout(strides, offset), result_types=[result_type])

    def verify_(self) -> None:
        self.verify_cells(self.row, self.value)
        if element_of(self.value) != element_of(self.result) or not shape_of(self.result):
            raise VerifyException(f"'schedule.scatter' of {self.value.type} cannot give {self.result.type}")
        self.verify_inside(self.result, self.value)


Schedule = Dialect("schedule", [KernelOp, YieldOp, LaunchOp, KeepOp, GatherOp, ScatterOp], [])
