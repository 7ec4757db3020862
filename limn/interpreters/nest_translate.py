"""The translation of a ``nest`` kernel to Python text on numpy; ``limn.interpreters.nest`` runs it.

One walk over the kernel writes one statement for each op. Loops that ``nest_lanes`` proves independent become lanes:
their index is an array, and so is what depends on it. Everything else is scalar Python. A subscript that is linear in
the lanes becomes a strided window on memory, which costs no index arrays; others become arrays of subscripts. Scratch
made inside lanes holds one element for each lane next to each other.
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.ir.affine import AffineBinaryOpExpr, AffineBinaryOpKind, AffineConstantExpr, AffineDimExpr, AffineExpr

from limn.analysis.affine import interval, terms
from limn.dialects import nest
from limn.dialects.graph import python_number
from limn.interpreters.nest_lanes import Analysis, analyse
from limn.interpreters.nest_numpy import HELPERS, TYPE_NAMES

SPELLING: dict[type[Operation], str] = {
    nest.NegOp: "-{}",
    nest.SqrtOp: "sqrt({})",
    nest.ExpOp: "exp({})",
    nest.LogOp: "log({})",
    nest.AddOp: "{} + {}",
    nest.SubOp: "{} - {}",
    nest.MulOp: "{} * {}",
    nest.DivOp: "{} / {}",
    nest.AndOp: "{} & {}",
    nest.OrOp: "{} | {}",
    nest.XorOp: "{} ^ {}",
    nest.ShlOp: "{} << {}",
    nest.ShrOp: "{} >> {}",
    nest.CmpLtOp: "{} < {}",
}
"""Ops that are spelled alike for scalars and lanes."""

CHOICES: dict[type[Operation], tuple[str, str]] = {
    nest.MaxOp: ("{0} if {0} > {1} or {0} != {0} else {1}", "larger({0}, {1})"),
    nest.SelectOp: ("{1} if {0} else {2}", "where({0}, {1}, {2})"),
    nest.FmaOp: ("fma_one({0}, {1}, {2})", "fma_many({0}, {1}, {2})"),
}
"""Ops that are spelled one way for scalars, another for lanes."""

_AFFINE = {
    AffineBinaryOpKind.Add: "({} + {})",
    AffineBinaryOpKind.Mul: "({} * {})",
    AffineBinaryOpKind.Mod: "({} % {})",
    AffineBinaryOpKind.FloorDiv: "({} // {})",
    AffineBinaryOpKind.CeilDiv: "(-(-{} // {}))",
}

_BLOCKS = 15
"""Python nests at most 20 loops in one function; at every 15th a function of its own begins."""


@dataclass(frozen=True)
class _Lane:
    """A loop that runs as lanes: its index, the name of that in the text, its step and its array axis."""

    index: SSAValue
    name: str
    step: int
    axis: int


class Translator:
    """Writes the text of one kernel. ``axes`` says for each value along which lanes it differs."""

    def __init__(self, kernel: nest.KernelOp):
        self.kernel = kernel.sym_name.data
        self.facts: Analysis = analyse(kernel.block)
        self.lines: list[str] = []
        self.constants: list[str] = []
        self.depth = 1
        self.names: dict[SSAValue, str] = {}
        self.taken: set[str] = {*HELPERS, "rows", "in_order", "at_", "old_"}
        self.casts: set[str] = set()
        self.axes: dict[SSAValue, frozenset[int]] = {}
        self.lanes: list[_Lane] = []
        self.scratch_lanes: dict[SSAValue, list[_Lane]] = {}
        self.in_order = _parallel_loops(kernel.block)
        arguments = [self.name(a, "m") for a in kernel.block.args]
        self.block(kernel.block)
        title = f"def kernel({', '.join([*arguments, 'rows', 'in_order'])}):"
        self.text = "\n".join([title, *self.constants, *(self.lines or ["    pass"]), ""])

    # ------------------------------------------------------------------------------------------------------- the text

    def say(self, line: str) -> None:
        """Write a statement."""
        self.lines.append("    " * self.depth + line)

    def fresh(self, hint: str) -> str:
        """A name not used yet in this kernel."""
        hint = re.sub(r"\W", "_", hint)
        hint = f"v{hint}" if hint[0].isdigit() else hint
        hint = f"{hint}_" if hint.endswith(("_at", "_n")) else hint  # those are what a loop of lanes adds to its name
        found, count = hint, 1
        while found in self.taken or keyword.iskeyword(found):
            count += 1
            found = f"{hint}_{count}"
        self.taken.add(found)
        return found

    def name(self, value: SSAValue, hint: str = "v") -> str:
        """Give a value a name in the text: its own where that is free."""
        found = self.fresh(value.name_hint) if value.name_hint else self.fresh(f"{hint}{len(self.names)}")
        self.names[value] = found
        self.axes.setdefault(value, frozenset())
        return found

    def define(self, value: SSAValue, text: str, axes: frozenset[int]) -> None:
        """Write the assignment of a value that differs along ``axes``."""
        self.axes[value] = axes
        self.say(f"{self.name(value)} = {text}")

    def axes_of(self, values: Sequence[SSAValue]) -> frozenset[int]:
        """The lanes along which any of some values differs."""
        return frozenset(axis for value in values for axis in self.axes[value])

    # ------------------------------------------------------------------------------------------------------- indices

    def affine(self, index: nest.Index) -> str:
        """An affine expression in Python; indices that are lanes are arrays."""
        return _without_brackets(_affine(index.expr, [self.names[v] for v in index.values]))

    def subscript(self, op: nest.AccessOp, index: nest.Index, at: str) -> str:
        """``at`` for a scalar access, tested unless the ranges of the loops prove it inside."""
        low, high = interval(index, self.facts.ranges)
        size = nest.extent_of(op.memory)
        return at if low >= 0 and high < size else f"inside({at}, {size}, {self.label(op)})"

    def label(self, op: nest.AccessOp) -> str:
        """What an error of an access calls its memory, as Python text."""
        return repr(f"@{self.kernel}: {self.names[op.memory]}")

    def window(self, op: nest.AccessOp, index: nest.Index, axes: frozenset[int]) -> str | None:
        """The elements of an access by lanes as a view of memory; None unless the subscript is linear in the lanes."""
        lanes = {lane.index: lane for lane in self.lanes}
        owners = self.scratch_lanes.get(op.memory, [])
        total = " * ".join(f"{lane.name}_n" for lane in owners)
        start: list[str] = []
        strides: dict[int, str] = {}
        for factor, leaf in terms(index.expr):
            if isinstance(leaf, AffineDimExpr) and index.values[leaf.position] in lanes:
                lane = lanes[index.values[leaf.position]]
                stride = str(factor * lane.step) + (f" * {total}" if total else "")
                strides[lane.axis] = f"{strides[lane.axis]} + {stride}" if lane.axis in strides else stride
                start.append(f"{lane.name}_at * {factor}" if factor != 1 else f"{lane.name}_at")
            elif self.axes_of([index.values[d] for d in leaf.used_dims()]):
                return None
            else:
                text = _affine(leaf, [self.names[v] for v in index.values])
                start.append(str(factor) if text == "1" else f"{text} * {factor}" if factor != 1 else text)
        for lane, own in zip(owners, _row_major(owners), strict=True):
            strides[lane.axis] = f"{strides[lane.axis]} + {own}" if lane.axis in strides else own
        at = " + ".join(start) or "0"
        at = f"({at}) * {total}" if total else at
        counts = {lane.axis: f"{lane.name}_n" for lane in self.lanes if lane.axis in axes}
        shape = _tuple([counts.get(axis, "1") for axis in range(self.facts.rank)])
        steps = _tuple([strides.get(axis, "0") for axis in range(self.facts.rank)])
        return f"window({self.names[op.memory]}, {at}, {shape}, {steps}, {self.label(op)})"

    def places(self, op: nest.AccessOp, index: nest.Index) -> str:
        """The elements of an access by lanes as an array of subscripts."""
        owners = self.scratch_lanes.get(op.memory, [])
        if not owners:
            return self.affine(index)
        total = " * ".join(f"{lane.name}_n" for lane in owners)
        own = [
            f"({lane.name} - {lane.name}_at) // {lane.step} * ({stride})"
            for lane, stride in zip(owners, _row_major(owners), strict=True)
        ]
        return f"({self.affine(index)}) * ({total}) + {' + '.join(own)}"

    # -------------------------------------------------------------------------------------------------------- blocks

    def block(self, block: Block) -> None:
        """Write the ops of a body."""
        last: dict[SSAValue, Operation] = {}
        for op in block.ops:
            for inner in op.walk():
                last |= dict.fromkeys(inner.operands, op)
        dying: dict[Operation, list[SSAValue]] = {}
        for value, op in last.items():
            if isinstance(value.owner, Operation) and value.owner.parent is block:
                dying.setdefault(op, []).append(value)
        for op in block.ops:
            EMIT[type(op)](self, op) if type(op) in EMIT else self.arithmetic(op)
            # arrays that no later op reads are dropped, so that long bodies do not hold thousands of them
            dead = [self.names[v] for v in dying.get(op, []) if self.axes[v] and v in self.names]
            if dead:
                self.say(f"del {', '.join(dead)}")

    def loop(self, op: nest.ForOp) -> None:
        bounds = [f"max({low})" if "," in low else low for low in [", ".join(map(self.affine, op.lowers))]]
        bounds += [f"min({high})" if "," in high else high for high in [", ".join(map(self.affine, op.uppers))]]
        function = self.fresh("part") if self.depth % _BLOCKS == 0 else None
        if function is not None:
            self.say(f"def {function}():")
            self.depth += 1
        name = self.name(op.index, "i")
        most = self.facts.chunks.get(op)
        turns = ", ".join([*bounds, str(op.stride)])
        if most is not None:
            lane = _Lane(op.index, name, op.stride, self.facts.axes[op])
            self.axes[op.index] = frozenset([lane.axis])
            self.say(f"for {name}, {name}_at, {name}_n in lanes({turns}, {most}, {lane.axis}, {self.facts.rank}):")
            self.lanes.append(lane)
        elif op in self.in_order:
            self.say(f"for {name} in in_order(range({turns})):")
        else:
            self.say(f"for {name} in range({turns}):")
        self.depth += 1
        self.block(op.block)
        if op.block.first_op is None:
            self.say("pass")
        self.depth -= 1
        if most is not None:
            self.lanes.pop()
        if function is not None:
            self.depth -= 1
            self.say(f"{function}()")

    # -------------------------------------------------------------------------------------------------------- memory

    def scratch(self, op: nest.ScratchOp) -> None:
        self.scratch_lanes[op.result] = list(self.lanes)
        size = " * ".join([str(nest.extent_of(op.result)), *(f"{lane.name}_n" for lane in self.lanes)])
        self.axes[op.result] = frozenset(lane.axis for lane in self.lanes)
        self.say(f"{self.name(op.result, 'm')} = scratch({size}, {_type(nest.memref_of(op.result).element_type)})")

    def tests(self, op: nest.AccessOp) -> tuple[str, frozenset[int]]:
        """The range checks as one Python condition, and the lanes along which it differs; "" when there are none."""
        found = [(self.affine(check), low, high) for check, low, high in op.conditions]
        axes = self.axes_of([v for check, _, _ in op.conditions for v in check.values])
        if not axes:
            return " and ".join(f"{low} <= {check} < {high}" for check, low, high in found), axes
        return " & ".join(f"({low} <= ({check})) & (({check}) < {high})" for check, low, high in found), axes

    def load(self, op: nest.LoadOp) -> None:
        memory, index = self.names[op.memory], op.index
        tests, tested = self.tests(op)
        axes = self.axes_of([*index.values, op.memory]) | tested
        zero = f"{_type(op.result.type)}(0)"
        if not axes:
            found = f"{memory}[{self.subscript(op, index, self.affine(index))}]"
        elif tested:
            places = self.places(op, index)
            self.define(op.result, f"take_where({memory}, {places}, {tests}, {self.label(op)})", axes)
            return
        else:
            view = self.window(op, index, axes)
            # what is written later in this kernel is copied, or the value would change with it
            copied = ".copy()" if op.memory in self.facts.written else ""
            found = f"take({memory}, {self.places(op, index)}, {self.label(op)})" if view is None else view + copied
        self.define(op.result, f"{found} if {tests} else {zero}" if tests else found, axes)

    def store(self, op: nest.StoreOp) -> None:
        self.update(op, "{value}", self.names[op.value])

    def accumulate(self, op: nest.AccumulateOp) -> None:
        value = self.names[op.value]
        if op.half is not None:
            raise TypeError(f"'nest.accumulate' in @{self.kernel} totals in {op.half}; use memory of f32 or i32")
        vector = bool(self.axes_of([*op.index.values, op.memory]) | self.tests(op)[1])
        if op.kind.data == nest.ADD:
            text = "{old} + {value}"
        elif op.kind.data == nest.MAX:
            text = "larger({old}, {value})" if vector else "{old} if {old} > {value} or {old} != {old} else {value}"
        else:
            assert op.factor is not None
            text = f"fma_{'many' if vector else 'one'}({{value}}, {self.names[op.factor]}, {{old}})"
        self.update(op, text, value)

    def update(self, op: nest.AccessOp, text: str, value: str) -> None:
        """Store ``text``, in which ``{old}`` stands for the element as it is."""
        memory, index = self.names[op.memory], op.index
        tests, tested = self.tests(op)
        axes = self.axes_of([*index.values, op.memory]) | tested
        depth = self.depth
        if tests and not tested:
            self.say(f"if {tests}:")
            self.depth += 1
        view = self.window(op, index, axes) if axes and not tested else None
        if not axes:
            at = self.subscript(op, index, self.affine(index))
            if "{old}" in text and not at.isidentifier():
                self.say(f"at_ = {at}")
                at = "at_"
            target = old = f"{memory}[{at}]"
            if text.count("{old}") > 1:
                self.say(f"old_ = {target}")
                old = "old_"
            self.say(f"{target} = {text.format(old=old, value=value)}")
        elif view is not None and "{old}" in text:
            self.say(f"old_ = {view}")
            self.say(f"old_[...] = {text.format(old='old_', value=value)}")
        elif view is not None:
            self.say(f"{view}[...] = {value}")
        else:
            self.say(f"at_ = {self.places(op, index)}")
            mask = f"{tests}, " if tested else ""
            where = "_where" if tested else ""
            old = f"take{where}({memory}, at_, {mask}{self.label(op)})"
            new = text.format(old=old, value=value)
            self.say(f"put{where}({memory}, at_, {mask}{new}, {self.label(op)})")
        self.depth = depth

    def check_row(self, op: nest.CheckRowOp) -> None:
        text = f"rows.check({self.names[op.row]}, {op.bound.value.data}, {self.affine(op.at)})"
        self.define(op.result, text, self.axes_of([op.row, *op.values]))

    # ---------------------------------------------------------------------------------------------------- arithmetic

    def const(self, op: nest.ConstOp) -> None:
        number = python_number(op.value)
        text = f"'{number}'" if isinstance(number, float) and number - number != 0 else repr(number)
        self.constants.append(f"    {self.name(op.result, 'c')} = {_type(op.result.type)}({text})")

    def arithmetic(self, op: Operation) -> None:
        axes = self.axes_of(op.operands)
        names = [self.names[value] for value in op.operands]
        if isinstance(op, nest.ValueOp) and op.half is not None:
            raise TypeError(f"'{op.name}' in @{self.kernel} computes in {op.half}; widen to f32 first")
        if type(op) in SPELLING:
            text = SPELLING[type(op)].format(*names)
        elif type(op) in CHOICES:
            text = CHOICES[type(op)][bool(axes)].format(*names)
        else:
            raise NotImplementedError(f"'{op.name}' has no meaning in the nest interpreter")
        self.define(op.results[0], text, axes)

    def cast(self, op: nest.CastOp) -> None:
        old, new = str(op.operand.type), str(op.result.type)
        cast = f"{_type(op.operand.type)}_to_{_type(op.result.type)}"
        if cast not in self.casts:
            self.casts.add(cast)
            self.constants.insert(0, f"    {cast} = cast_of({old!r}, {new!r})")
        self.define(op.result, f"{cast}({self.names[op.operand]})", self.axes_of(op.operands))

    def bitcast(self, op: nest.BitcastOp) -> None:
        text = f"{self.names[op.operand]}.view({_type(op.result.type)})"
        self.define(op.result, text, self.axes_of(op.operands))

    def index(self, op: nest.IndexOp) -> None:
        self.define(op.result, f"index32({self.affine(op.index)})", self.axes_of(op.values))


EMIT: dict[type[Operation], Callable[[Any, Any], None]] = {
    nest.ForOp: Translator.loop,
    nest.ScratchOp: Translator.scratch,
    nest.LoadOp: Translator.load,
    nest.StoreOp: Translator.store,
    nest.AccumulateOp: Translator.accumulate,
    nest.CheckRowOp: Translator.check_row,
    nest.ConstOp: Translator.const,
    nest.CastOp: Translator.cast,
    nest.BitcastOp: Translator.bitcast,
    nest.IndexOp: Translator.index,
}


def _type(kind: Attribute) -> str:
    return TYPE_NAMES[str(kind)]


def _tuple(items: Sequence[str]) -> str:
    return f"({items[0]},)" if len(items) == 1 else f"({', '.join(items)})"


def _affine(expr: AffineExpr, names: Sequence[str]) -> str:
    if isinstance(expr, AffineConstantExpr):
        return str(expr.value)
    if isinstance(expr, AffineDimExpr):
        return names[expr.position]
    assert isinstance(expr, AffineBinaryOpExpr)
    return _AFFINE[expr.kind].format(_affine(expr.lhs, names), _affine(expr.rhs, names))


def _without_brackets(text: str) -> str:
    """``(a + b)`` as ``a + b``, where the two brackets belong together."""
    if not text.startswith("("):
        return text
    depth = 0
    for place, sign in enumerate(text):
        depth += (sign == "(") - (sign == ")")
        if depth == 0:
            return text[1:-1] if place == len(text) - 1 else text
    return text


def _row_major(lanes: Sequence[_Lane]) -> list[str]:
    """The distance between neighbours along each lane in scratch that holds one element for each."""
    return [" * ".join([f"{inner.name}_n" for inner in lanes[place + 1 :]]) or "1" for place in range(len(lanes))]


def _parallel_loops(block: Block) -> set[Operation]:
    """The loops that are declared parallel, those that a ``collapse`` draws in included."""
    found: set[Operation] = set()
    for op in block.walk():
        if isinstance(op, nest.ForOp) and op.kind.data == nest.PARALLEL:
            count = op.collapse.value.data if op.collapse is not None else 1
            loop: Operation | None = op
            while loop is not None and count:
                found.add(loop)
                count -= 1
                loop = next((inner for inner in loop.regions[0].block.ops if isinstance(inner, nest.ForOp)), None)
    return found
