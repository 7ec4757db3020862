"""The C printer: a nest module as one C file.

It spells and decides nothing: loops, indices, memory and the plan stand in the module already, and what is not legal
for C (``legality.check(module, "c")``) is refused. Names survive: ``%i0`` is ``i0``, ``%acc`` is ``acc``, the kernel
``@k0`` is ``kernel_k0`` and the plan ``@main`` is ``plan_main``; those prefixes keep every symbol clear of C's words
and of the library.

    static void kernel_k0(const float *restrict in0, float *restrict out) {
      for (int64_t i0 = 0; i0 < 4; i0 += 1) {
        const float v0 = in0[i0];
        const float v1 = -v0;
        out[i0] = v1;
      }
    }

A parallel loop becomes a function of a range of its turns, which each thread calls once: in the function that a C
compiler makes of an OpenMP loop it forgets ``restrict``, and then does not vectorise a body with many buffers (1028 us
instead of 181 for a sum of products over 14 arrays).

A register is a C variable, scratch on the stack an array, and scratch on the heap allocated and freed around its block.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import prod
from typing import IO

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.ir.affine import AffineBinaryOpExpr, AffineBinaryOpKind, AffineConstantExpr, AffineDimExpr, AffineExpr
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.target import Target

from limn.analysis.bounds import check_bounds
from limn.dialects import nest
from limn.dialects.affine import Index
from limn.dialects.graph import python_number
from limn.dialects.legality import check
from limn.targets import c_family

FLAGS = "-O3 -march=native -ffp-contract=off -fno-math-errno -fno-trapping-math -fno-thread-jumps -fwrapv -fopenmp"
"""What the text means is fixed by -ffp-contract=off (no fused multiply-add but those written) and -fwrapv (integers
wrap); the others are for speed alone and -fopenmp may be left out."""

_WORDS = """
    alignas alignof asm auto bool break case char const constexpr continue default do double else enum errno extern
    false float for goto i386 if inline int linux long nullptr register restrict return short signed sizeof static
    static_assert struct switch thread_local true typedef typeof typeof_unqual union unix unsigned void volatile while
    begin end turn turns thread threads error buffers
"""
RESERVED = frozenset(_WORDS.split())
"""Words that no local variable may be called: C's, macros of common compilers, and the printer's own."""


# --------------------------------------------------------------------------------------------------------------- names


def _plain(name: str) -> str:
    """``name`` with all that C does not allow in identifiers replaced, and not overlong."""
    return re.sub(r"[^A-Za-z0-9_]", "_", name)[:48]


def _unused(name: str, taken: set[str]) -> str:
    """``name``, or with the first number behind it that makes it new; it is taken from then on."""
    found, count = name, 0
    while found in taken:
        count += 1
        found = f"{name}_{count}"
    taken.add(found)
    return found


def symbol_names(module: ModuleOp) -> dict[str, str]:
    """The C function of each kernel and plan of a module, by symbol."""
    taken: set[str] = set()
    names: dict[str, str] = {}
    for op in module.body.block.ops:
        if isinstance(op, nest.KernelOp | nest.PlanOp):
            prefix = "kernel" if isinstance(op, nest.KernelOp) else "plan"
            names[op.sym_name.data] = _unused(f"{prefix}_{_plain(op.sym_name.data)}", taken)
    return names


class _Scope:
    """The names of the values of one function. Loops side by side may use one name; nested ones may not."""

    def __init__(self) -> None:
        self.names: dict[SSAValue, str] = {}
        self.taken: set[str] = set()
        self.numbers: dict[str, int] = {}
        self.unnamed = 0

    def name(self, value: SSAValue) -> str:
        """Give ``value`` a name: its own where C allows it."""
        hint = value.name_hint
        if hint is None:
            hint, self.unnamed = f"v{self.unnamed}", self.unnamed + 1
        self.names[value] = found = self.fresh(hint)
        return found

    def fresh(self, hint: str) -> str:
        hint = _plain(hint)
        # macros are mostly upper case, and a leading underscore or digit is not ours to use
        # and a variable must not hide a function that the printer calls
        foreign = re.search(r"[A-Z]|^(limn|omp|kernel|plan)(_|$)|_t$", hint)
        if hint in RESERVED or not re.match(r"[a-z]", hint) or foreign:
            hint = f"n_{hint}"
        found = hint
        while found in self.taken:  # where thousands have one name, counting on from the last beats counting from 1
            self.numbers[hint] = self.numbers.get(hint, 0) + 1
            found = f"{hint}_{self.numbers[hint]}"
        self.taken.add(found)
        return found


# ------------------------------------------------------------------------------------------------------------- kernels


def _type(kind: Attribute) -> c_family.Scalar:
    return c_family.SCALARS[str(kind)]


def _is_register(memory: SSAValue) -> bool:
    return nest.space_of(memory) == "register"


def has_checks(kernel: nest.KernelOp) -> bool:
    """Whether the kernel takes the error to report bad rows to."""
    return any(isinstance(op, nest.CheckRowOp) for op in kernel.walk())


def written_memory(kernel: nest.KernelOp) -> set[SSAValue]:
    """The memory that the kernel stores to."""
    return {op.memory for op in kernel.walk() if isinstance(op, nest.StoreOp | nest.AccumulateOp)}


class _Kernel:
    """Prints one kernel: its parallel loops as functions of their own, then the kernel itself."""

    def __init__(self, kernel: nest.KernelOp, name: str, taken: set[str], linkage: str):
        self.kernel, self.name, self.taken, self.linkage = kernel, name, taken, linkage
        self.scope = _Scope()
        self.functions: list[str] = []
        self.lines: list[str] = []
        self.depth: int = 1
        self.checks = {op: n for n, op in enumerate(o for o in kernel.walk() if isinstance(o, nest.CheckRowOp))}
        self.registers: dict[SSAValue, list[str]] = {}
        self.non_negative: dict[SSAValue, bool] = {}
        self.written = written_memory(kernel)

    def text(self) -> str:
        arguments = self.kernel.block.args
        for argument in arguments:
            self.scope.name(argument)
        head = f"{self.linkage}void {self.name}"
        signature = self.signature(arguments, bool(self.checks))
        for op in self.kernel.block.ops:
            self.print_op(op)
        body = "\n".join(self.lines)
        return "\n".join([*self.functions, f"{head}({signature}) {{\n{body}\n}}\n"])

    def signature(self, values: Iterable[SSAValue], with_error: bool) -> str:
        """The parameters that hand ``values`` to a function."""
        given = [self.parameter(value) for value in values]
        return ", ".join([*given, "limn_error *error"] if with_error else given) or "void"

    def parameter(self, value: SSAValue) -> str:
        name = self.scope.names[value]
        if not _is_memory(value):
            return f"const {'int64_t' if value.type == nest.IndexType() else _type(value.type).value} {name}"
        const = "" if value in self.written else "const "
        return f"{const}{_type(nest.memref_of(value).element_type).memory} *restrict {name}"

    # ------------------------------------------------------------------------------------------------ lines and blocks

    def line(self, text: str) -> None:
        self.lines.append("  " * self.depth + text)

    def declare(self, value: SSAValue, formula: str, kind: str | None = None) -> None:
        name = self.scope.name(value)
        self.line(f"const {kind or _type(value.type).value} {name} = {formula};")

    def block(self, head: str, ops: Iterable[Operation]) -> None:
        """A block of C, whose names end with it."""
        self.line(f"{head} {{")
        self.depth += 1
        outside = set(self.scope.taken)
        for op in ops:
            self.print_op(op)
        self.scope.taken = outside
        self.depth -= 1
        self.line("}")

    def print_op(self, op: Operation) -> None:
        PRINTERS[type(op)](self, op)

    # ------------------------------------------------------------------------------------------------------- indices

    def index(self, index: Index, above: int = 0) -> str:
        return self.affine(index.expr, index.values, above)

    def affine(self, expr: AffineExpr, values: Sequence[SSAValue], above: int = 0) -> str:
        """An affine expression in C. Quotients and remainders round down, for which C's own do where nothing is
        negative. ``above`` is the precedence of the operation around it: 1 for a sum, 2 for a product."""
        if isinstance(expr, AffineConstantExpr):
            # int is too narrow for some products of constants and indices; an index is an int64_t, so those are not
            return str(expr.value) if expr.value >= 0 else f"({expr.value})"
        if isinstance(expr, AffineDimExpr):
            return self.scope.names[values[expr.position]]
        assert isinstance(expr, AffineBinaryOpExpr)
        if expr.kind is AffineBinaryOpKind.Add:
            sign, right = "+", expr.rhs
            if isinstance(right, AffineConstantExpr) and right.value < 0:
                sign, right = "-", AffineConstantExpr(-right.value)
            text = f"{self.affine(expr.lhs, values, 1)} {sign} {self.affine(right, values, 1)}"
            return f"({text})" if above > 1 else text
        if expr.kind is AffineBinaryOpKind.Mul:
            text = f"{self.affine(expr.lhs, values, 2)} * {self.affine(expr.rhs, values, 3)}"
            return f"({text})" if above > 2 else text
        if self.is_non_negative(expr.lhs, values) and expr.kind is not AffineBinaryOpKind.CeilDiv:
            sign = "/" if expr.kind is AffineBinaryOpKind.FloorDiv else "%"
            text = f"{self.affine(expr.lhs, values, 2)} {sign} {self.affine(expr.rhs, values, 3)}"
            return f"({text})" if above > 1 else text
        helper = {
            AffineBinaryOpKind.FloorDiv: "limn_floordiv",
            AffineBinaryOpKind.Mod: "limn_mod",
            AffineBinaryOpKind.CeilDiv: "limn_ceildiv",
        }[expr.kind]
        return f"{helper}({self.affine(expr.lhs, values)}, {self.affine(expr.rhs, values)})"

    def is_non_negative(self, expr: AffineExpr, values: Sequence[SSAValue]) -> bool:
        """Whether an expression can be seen not to be negative: sums and products of such."""
        if isinstance(expr, AffineConstantExpr):
            return expr.value >= 0
        if isinstance(expr, AffineDimExpr):
            return self.non_negative.get(values[expr.position], False)
        assert isinstance(expr, AffineBinaryOpExpr)
        return self.is_non_negative(expr.lhs, values) and self.is_non_negative(expr.rhs, values)

    def bound(self, indices: Sequence[Index], helper: str) -> str:
        """The greatest or least of some indices."""
        text = self.index(indices[0])
        for index in indices[1:]:
            text = f"{helper}({text}, {self.index(index)})"
        return text

    # --------------------------------------------------------------------------------------------------------- loops

    def print_for(self, op: nest.ForOp) -> None:
        if op.kind.data == nest.PARALLEL:
            self.print_parallel(op)
            return
        low, high = self.bound(op.lowers, "limn_greater"), self.bound(op.uppers, "limn_lesser")
        outside = set(self.scope.taken)
        name = self.enter_loop(op)
        self.block(f"for (int64_t {name} = {low}; {name} < {high}; {name} += {op.stride})", op.block.ops)
        self.scope.taken = outside

    def enter_loop(self, op: nest.ForOp) -> str:
        """Name a loop's index and note whether it can be negative."""
        self.non_negative[op.index] = any(self.is_non_negative(low.expr, low.values) for low in op.lowers)
        return self.scope.name(op.index)

    def print_parallel(self, op: nest.ForOp) -> None:
        """The loop as a function of a range of turns, and the threads that call it."""
        loops = _collapsed(op)
        captured = _captured(op)
        with_error = any(isinstance(inner, nest.CheckRowOp) for inner in op.walk())
        registers = [value for value in captured if _is_memory(value) and _is_register(value)]
        if registers:
            name = self.scope.names[registers[0]]
            raise VerifyException(f"a parallel loop uses the register %{name} from outside; keep it in the loop")
        turns = self.turns(loops)
        hint = "".join(f"_{_plain(loop.index.name_hint or 'i')}" for loop in loops)
        function = _unused(self.name + hint, self.taken)

        outer_lines, outer_depth = self.lines, self.depth
        self.lines, self.depth = [], 1
        outside = set(self.scope.taken)
        signature = self.signature(captured, with_error)
        separator = "" if signature == "void" else ", "
        self.print_turns(loops)
        body = "\n".join(self.lines)
        self.functions.append(
            f"static void {function}(int64_t begin, int64_t end{separator}{signature.removesuffix('void')}) {{\n"
            f"{body}\n}}\n"
        )
        self.lines, self.depth = outer_lines, outer_depth
        self.scope.taken = outside

        names = [self.scope.names[value] for value in captured] + (["error"] if with_error else [])
        self.line("{")
        self.depth += 1
        self.line(f"const int64_t turns = {turns};")
        self.lines.append("#pragma omp parallel num_threads(limn_count_threads(turns))")
        self.line("{")
        self.depth += 1
        self.line("const int64_t thread = omp_get_thread_num(), threads = omp_get_num_threads();")
        share = ["turns * thread / threads", "turns * (thread + 1) / threads"]
        self.line(f"{function}({', '.join([*share, *names])});")
        for _ in range(2):
            self.depth -= 1
            self.line("}")

    def turns(self, loops: Sequence[nest.ForOp]) -> str:
        """How often the body of some loops runs; of several, only with constant bounds."""
        if len(loops) > 1 or loops[0].constant_bounds is not None:
            return str(prod(_count(loop) for loop in loops))
        low, high = self.bound(loops[0].lowers, "limn_greater"), self.bound(loops[0].uppers, "limn_lesser")
        span, step = f"limn_greater(0, {high} - ({low}))", loops[0].stride
        return span if step == 1 else f"({span} + {step - 1}) / {step}"

    def print_turns(self, loops: Sequence[nest.ForOp]) -> None:
        """The body for each turn from ``begin`` to ``end``."""
        innermost = loops[-1]
        if len(loops) == 1 and innermost.stride == 1 and innermost.constant_bounds is not None:
            low = innermost.constant_bounds[0]
            name = self.enter_loop(innermost)
            start, stop = ("begin", "end") if low == 0 else (f"{low} + begin", f"{low} + end")
            self.block(f"for (int64_t {name} = {start}; {name} < {stop}; {name} += 1)", innermost.block.ops)
            return
        self.line("for (int64_t turn = begin; turn < end; turn += 1) {")
        self.depth += 1
        formulas: list[str] = []
        inside = 1  # the turns of the loops further in
        for loop in reversed(loops):
            place = "turn" if inside == 1 else f"turn / {inside}"
            if loop is not loops[0]:
                inside *= _count(loop)
                place = f"{place} % {_count(loop)}"
            place = place if loop.stride == 1 else f"{place} * {loop.stride}"
            low = self.bound(loop.lowers, "limn_greater")
            formulas.append(place if low == "0" else f"{low} + {place}")
        for loop, formula in zip(loops, reversed(formulas)):
            self.line(f"const int64_t {self.enter_loop(loop)} = {formula};")
        for op in innermost.block.ops:
            self.print_op(op)
        self.depth -= 1
        self.line("}")

    # -------------------------------------------------------------------------------------------------------- memory

    def element(self, op: nest.LoadOp | nest.StoreOp | nest.AccumulateOp) -> str:
        """The C lvalue that an access touches."""
        if op.memory in self.registers:
            place = op.index.is_constant
            assert place is not None
            return self.registers[op.memory][place]
        return f"{self.scope.names[op.memory]}[{self.index(op.index)}]"

    def condition(self, op: nest.AccessOp) -> str:
        """The range checks of an access as one condition; empty if it has none."""
        tests: list[str] = []
        for index, low, high in op.conditions:
            text = self.index(index, 1)
            tests.append(f"{text} >= {low} && {text} < {high}")
        return " && ".join(tests)

    def print_load(self, op: nest.LoadOp) -> None:
        condition, element = self.condition(op), self.element(op)
        self.declare(op.result, f"{condition} ? {element} : 0" if condition else element)

    def print_store(self, op: nest.StoreOp) -> None:
        self.update(op, self.scope.names[op.value])

    def print_accumulate(self, op: nest.AccumulateOp) -> None:
        names = [self.scope.names[v] for v in (op.value, op.factor) if v is not None]
        operands = [*names, self.element(op)] if op.kind.data == nest.FMA else [self.element(op), *names]
        element = str(nest.memref_of(op.memory).element_type)
        self.update(op, self.formula(op.kind.data, element, operands))

    def update(self, op: nest.StoreOp | nest.AccumulateOp, formula: str) -> None:
        condition = self.condition(op)
        self.line(f"{f'if ({condition}) ' if condition else ''}{self.element(op)} = {formula};")

    def print_scratch(self, op: nest.ScratchOp) -> None:
        memory, name = op.result, self.scope.name(op.result)
        scalar, size = _type(nest.memref_of(memory).element_type), nest.extent_of(memory)
        constant = all(
            isinstance(use.operation, nest.AccessOp) and use.operation.index.is_constant is not None
            for use in memory.uses
        )
        if _is_register(memory) and constant:
            names = [name] if size == 1 else [self.scope.fresh(f"{name}_{place}") for place in range(size)]
            self.registers[memory] = names
            self.line(f"{scalar.memory} {', '.join(names)};")
        elif nest.space_of(memory) != "heap":
            self.line(f"{scalar.memory} {name}[{max(size, 1)}] __attribute__((aligned(64)));")
        else:
            self.line(
                f"{scalar.memory} *restrict {name} __attribute__((cleanup(limn_release)))"
                f" = limn_allocate({size * scalar.size});"
            )

    def print_check_row(self, op: nest.CheckRowOp) -> None:
        row, bound, position = self.scope.names[op.row], op.bound.value.data, self.index(op.at)
        self.non_negative[op.result] = True
        self.declare(op.result, f"limn_check_row({row}, {bound}, {position}, {self.checks[op]}, error)", "int64_t")

    # ---------------------------------------------------------------------------------------------------- arithmetic

    def formula(self, operation: str, element: str, operands: Sequence[str]) -> str:
        template = c_family.OPERATIONS.get((operation, element))
        if template is None:
            raise VerifyException(f"'nest.{operation}' on {element} has no spelling in C; cast to a wider type first")
        if "-{" in template:  # two signs side by side would be a decrement
            operands = [f"({operand})" if operand.startswith("-") else operand for operand in operands]
        return template.format(*operands)

    def print_arithmetic(self, op: Operation) -> None:
        operands = [self.scope.names[operand] for operand in op.operands]
        operation = op.name.removeprefix("nest.")
        self.declare(op.results[0], self.formula(operation, str(op.operands[0].type), operands))

    def print_const(self, op: nest.ConstOp) -> None:
        """A constant with a name of its own is a variable; others stand where they are used."""
        text = c_family.literal(python_number(op.value), str(op.result.type))
        if _is_literal(op.result):
            self.scope.names[op.result] = text
        else:
            self.declare(op.result, text)

    def print_select(self, op: nest.SelectOp) -> None:
        condition, lhs, rhs = (self.scope.names[operand] for operand in op.operands)
        self.declare(op.result, f"{condition} ? {lhs} : {rhs}")

    def print_cast(self, op: nest.CastOp) -> None:
        formula = c_family.cast(str(op.operand.type), str(op.result.type))
        self.declare(op.result, formula.format(self.scope.names[op.operand]))

    def print_bitcast(self, op: nest.BitcastOp) -> None:
        formula = c_family.bitcast(str(op.operand.type), str(op.result.type))
        self.declare(op.result, formula.format(self.scope.names[op.operand]))

    def print_index(self, op: nest.IndexOp) -> None:
        self.declare(op.result, f"(int32_t)({self.index(op.index)})")


PRINTERS: dict[type[Operation], Callable[..., None]] = {
    nest.ForOp: _Kernel.print_for,
    nest.LoadOp: _Kernel.print_load,
    nest.StoreOp: _Kernel.print_store,
    nest.AccumulateOp: _Kernel.print_accumulate,
    nest.ScratchOp: _Kernel.print_scratch,
    nest.CheckRowOp: _Kernel.print_check_row,
    nest.ConstOp: _Kernel.print_const,
    nest.SelectOp: _Kernel.print_select,
    nest.CastOp: _Kernel.print_cast,
    nest.BitcastOp: _Kernel.print_bitcast,
    nest.IndexOp: _Kernel.print_index,
    **dict.fromkeys((*nest.UNARY, *nest.BINARY, nest.FmaOp, nest.CmpLtOp), _Kernel.print_arithmetic),
}


def _is_memory(value: SSAValue) -> bool:
    return isinstance(value.type, nest.MemRefType)


def _is_literal(value: SSAValue) -> bool:
    """Whether a value has no name in C but stands where it is used."""
    return isinstance(value.owner, nest.ConstOp) and value.name_hint is None


def _captured(op: nest.ForOp) -> list[SSAValue]:
    """The values that a loop's body uses from outside, in order of first use."""
    inside: set[SSAValue] = set()
    found: dict[SSAValue, None] = {}
    for inner in op.walk():
        if isinstance(inner, nest.ForOp):
            inside.add(inner.index)
        inside.update(inner.results)
        found.update(dict.fromkeys(v for v in inner.operands if v not in inside and not _is_literal(v)))
    return list(found)


def _collapsed(op: nest.ForOp) -> list[nest.ForOp]:
    """The loops that a parallel loop runs as one.

    Raises:
        VerifyException: where they are not nested perfectly or not of constant extents.
    """
    loops = [op]
    for _ in range(1, op.collapse.value.data if op.collapse is not None else 1):
        inner = list(loops[-1].block.ops)
        if len(inner) != 1 or not isinstance(inner[0], nest.ForOp):
            raise VerifyException("a parallel loop collapses loops that do not stand directly in each other")
        loops.append(inner[0])
    if len(loops) > 1 and any(loop.constant_bounds is None for loop in loops):
        raise VerifyException("a parallel loop collapses loops whose bounds are not constants")
    return loops


def _count(loop: nest.ForOp) -> int:
    """The turns of a loop of constant bounds."""
    assert loop.constant_bounds is not None
    low, high = loop.constant_bounds
    return max(0, -((low - high) // loop.stride))


# ---------------------------------------------------------------------------------------------------------------- plan


def _print_plan(plan: nest.PlanOp, name: str, callees: dict[str, str], checked: set[str]) -> str:
    """The plan's entry point: slices, launches in order, and the commits."""
    scope = _Scope()
    lines = ["limn_error ignored;", "if (!error) error = &ignored;", "error->failed = 0;"]
    for place, argument in enumerate(plan.block.args):
        element = _type(nest.memref_of(argument).element_type).memory
        lines.append(f"{element} *const {scope.name(argument)} = buffers[{place}];")
    for op in plan.block.ops:
        if isinstance(op, nest.SliceOp):
            element = _type(nest.memref_of(op.result).element_type).memory
            start = f"(char *){scope.names[op.arena]} + {op.byte_offset}"
            lines.append(f"{element} *const {scope.name(op.result)} = (void *)({start});")
        elif isinstance(op, nest.LaunchOp):
            symbol = op.kernel.string_value()
            given = [scope.names[buffer] for buffer in op.buffers]
            lines.append(f"{callees[symbol]}({', '.join([*given, 'error'] if symbol in checked else given)});")
            if symbol in checked:
                lines.append("if (error->failed) return 1;")
    if plan.swaps:  # a table and a loop: thousands of swaps written out take gcc minutes
        table, turn, keeper = scope.fresh("commits"), scope.fresh("i"), scope.fresh("old")
        pairs = ", ".join(f"{{{source}, {target}}}" for source, target in plan.swaps)
        lines.append(f"static const int {table}[{len(plan.swaps)}][2] = {{{pairs}}};")
        lines.append(f"for (int {turn} = 0; {turn} < {len(plan.swaps)}; {turn}++) {{")
        lines.append(f"  void *const {keeper} = buffers[{table}[{turn}][1]];")
        lines.append(f"  buffers[{table}[{turn}][1]] = buffers[{table}[{turn}][0]];")
        lines.append(f"  buffers[{table}[{turn}][0]] = {keeper};")
        lines.append("}")
    body = "\n".join(f"  {line}" for line in [*lines, "return 0;"])
    return f"int {name}(void **buffers, limn_error *error) {{\n{body}\n}}\n"


def _describe_plan(plan: nest.PlanOp, name: str) -> str:
    """What a caller must know, as the lines of a comment."""
    lines = [f"int {name}(void **buffers, limn_error *error)"]
    for place, argument in enumerate(plan.block.args):
        kind = nest.memref_of(argument)
        role = "in " if place < plan.input_count else "out"
        role = "arena" if argument is plan.arena_argument else role
        size = f"{kind.get_shape()[0]} x {kind.element_type}, {nest.byte_size(kind)} bytes"
        lines.append(
            f"  buffers[{place}]  {role}  {size}{'  ' + _plain(argument.name_hint) if argument.name_hint else ''}"
        )
    lines += [f"  on success buffers[{a}] and buffers[{b}] change places" for a, b in plan.swaps]
    return "".join(f" * {line}\n" for line in lines)


def _head(plans: str) -> str:
    """The comment at the top of a file: how to compile it, and how to call the plans that ``plans`` describes."""
    compiling = f"/* Printed by limn from a nest module. Compile with\n *   cc {FLAGS}\n"
    return f"{compiling} *\n{CONVENTIONS} *\n{plans} */\n" if plans else f"{compiling} */\n"


CONVENTIONS = """\
 * A plan reads the buffers marked in, writes those marked out and uses the arena, whose content does not matter.
 * Buffers do not overlap; multiples of 64 are good addresses. A plan returns 0, or 1 after a row number outside its
 * table: then *error says which (error may be null) and no buffers were swapped. limn_threads sets the threads of a
 * parallel loop; 0 leaves that to OpenMP.
"""

COMMON = """\
#include <stdint.h>
#ifdef _OPENMP
#include <omp.h>
#else
#define omp_get_thread_num() 0
#define omp_get_num_threads() 1
#define omp_get_max_threads() 1
#endif

/* The first bad row number: which check of its kernel it failed, where in the tensor of row numbers it stands. */
typedef struct { int64_t failed, check, position, row, bound; } limn_error;

__attribute__((weak)) int limn_threads = 0;
"""


def c_file(texts: Iterable[str], head: str = "") -> str:
    """A C file: a comment, what all files share, the helpers that the texts use, and the texts."""
    body = "\n".join(texts)
    wanted: set[str] = set(re.findall(r"\blimn_\w+", body))
    for name in list(wanted):
        wanted.update(c_family.NEEDS.get(name, ()))
    helpers = [text for name, text in c_family.HELPERS.items() if name in wanted]
    return "\n".join([head + COMMON, *helpers, body])


def kernel_text(kernel: nest.KernelOp, name: str) -> str:
    """One kernel as the function ``name``, for a file with other such texts. It does not depend on the kernel's
    symbol, so that equal kernels give equal texts. It is weak: two object files that hold it may be linked."""
    return _Kernel(kernel, name, {name}, "__attribute__((weak)) ").text()


def plan_text(plan: nest.PlanOp, name: str, kernels: dict[str, nest.KernelOp], callees: dict[str, str]) -> str:
    """A plan as the function ``name``, which calls kernels of other files, by symbol ``callees``."""
    checked = {symbol for symbol, kernel in kernels.items() if has_checks(kernel)}
    declared: dict[str, str] = {}
    for symbol in _launched(plan):
        arguments, written = kernels[symbol].block.args, written_memory(kernels[symbol])
        # as in the definition, which may stand in the same file
        kinds = [(a in written, _type(nest.memref_of(a).element_type).memory) for a in arguments]
        given = [f"{kind} *" if is_written else f"const {kind} *" for is_written, kind in kinds]
        given += ["limn_error *"] * (symbol in checked)
        declared[symbol] = f"extern void {callees[symbol]}({', '.join(given) or 'void'});\n"
    return "".join(declared.values()) + _print_plan(plan, name, callees, checked)


def print_c(module: ModuleOp, symbols: Iterable[str] | None = None) -> str:
    """One C file with the kernels and plans of a nest module, or with those of ``symbols`` alone, which must hold
    the kernels that its plans launch. Kernels are visible from outside only where no plan is printed.

    Raises:
        VerifyException: for what is not legal for C, or an unknown symbol.
    """
    check(module, "c")
    names = symbol_names(module)
    wanted = set(names if symbols is None else symbols)
    if unknown := wanted - set(names):
        raise VerifyException(f"no kernel or plan @{min(unknown)} in this module; it has {', '.join(names)}")
    ops = [op for op in module.body.block.ops if isinstance(op, nest.KernelOp | nest.PlanOp)]
    ops = [op for op in ops if op.sym_name.data in wanted]
    for op in ops:
        if isinstance(op, nest.KernelOp):
            check_bounds(op)
    plans = [op for op in ops if isinstance(op, nest.PlanOp)]
    kernels = [op for op in ops if isinstance(op, nest.KernelOp)]
    checked = {op.sym_name.data for op in kernels if has_checks(op)}
    taken, linkage = set(names.values()), "static " if plans else ""
    texts = [_Kernel(op, names[op.sym_name.data], taken, linkage).text() for op in kernels]
    for plan in plans:
        if missing := [s for s in _launched(plan) if s not in wanted]:
            raise VerifyException(f"plan @{plan.sym_name.data} launches @{missing[0]}, which is not to be printed")
        texts.append(_print_plan(plan, names[plan.sym_name.data], names, checked))
    head = _head("".join(_describe_plan(plan, names[plan.sym_name.data]) for plan in plans))
    return c_file(texts, head)


def _launched(plan: nest.PlanOp) -> list[str]:
    return [op.kernel.string_value() for op in plan.block.ops if isinstance(op, nest.LaunchOp)]


@dataclass(frozen=True)
class CTarget(Target):
    """``limn-opt --target c``: a nest module as a C file; ``symbols`` picks some of its kernels and plans."""

    name = "c"

    symbols: tuple[str, ...] | None = None

    def emit(self, ctx: Context, module: ModuleOp, output: IO[str]) -> None:
        """Write the C file; VerifyException for what is not legal for C."""
        print(print_c(module, self.symbols), file=output, end="")
