"""``nest`` one op at a time: the definition to which the translating interpreter is held.

Each op is a method of ``NestFunctions`` for xDSL's ``Interpreter``, and each scalar operation a function of
``limn.interpreters.scalar``. Values are numpy scalars, indices Python integers, memory flat numpy arrays. About 30
microseconds an op: for tests on small kernels.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.interpreter import Interpreter, InterpreterFunctions, PythonValues, impl, register_impls
from xdsl.ir import Attribute, Operation, SSAValue

from limn.dialects import nest
from limn.dialects.graph import python_number
from limn.interpreters import scalar
from limn.interpreters.nest import check_buffers
from limn.interpreters.nest_numpy import NUMPY, scratch

Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]


def type_of(kind: Attribute) -> type[Any]:
    """The numpy scalar type of a scalar type of nest."""
    return NUMPY[str(kind)].type


@register_impls
class NestFunctions(InterpreterFunctions):
    """The meaning of each op; ``bad_row`` is (position, row, bound) of the worst row number met."""

    bad_row: tuple[int, int, int] | None = None

    # --------------------------------------------------------------------------------------------------------- loops

    @impl(nest.ForOp)
    def loop(self, interpreter: Interpreter, op: nest.ForOp, args: PythonValues) -> PythonValues:
        low, high = max(op.lower.data.eval(args, [])), min(op.upper.data.eval(args, []))
        for i in range(low, high, op.stride):
            interpreter.run_ssacfg_region(op.body, (i,))
        return ()

    @impl(nest.IndexOp)
    def index(self, interpreter: Interpreter, op: nest.IndexOp, args: PythonValues) -> PythonValues:
        return (scalar.wrap(op.at.data.eval(args, [])[0], np.int32),)

    # -------------------------------------------------------------------------------------------------------- memory

    def element(self, interpreter: Interpreter, op: nest.AccessOp) -> tuple[Array, int | None]:
        """The memory of an access and the place in it, None where a range check fails."""
        memory, *indices = interpreter.get_values((op.memory, *op.values))
        for (_, low, high), check in zip(op.conditions, op.checks.data.eval(indices, []) if op.checks else ()):
            if not low <= check < high:
                return memory, None
        place = op.at.data.eval(indices, [])[0]
        if not 0 <= place < memory.size:
            raise IndexError(f"'{op.name}' touches element {place} of {memory.size}")
        return memory, place

    @impl(nest.LoadOp)
    def load(self, interpreter: Interpreter, op: nest.LoadOp, args: PythonValues) -> PythonValues:
        memory, place = self.element(interpreter, op)
        return (type_of(op.result.type)(0) if place is None else memory[place],)

    @impl(nest.StoreOp)
    def store(self, interpreter: Interpreter, op: nest.StoreOp, args: PythonValues) -> PythonValues:
        memory, place = self.element(interpreter, op)
        if place is not None:
            memory[place] = args[0]
        return ()

    @impl(nest.AccumulateOp)
    def accumulate(self, interpreter: Interpreter, op: nest.AccumulateOp, args: PythonValues) -> PythonValues:
        memory, place = self.element(interpreter, op)
        if place is not None:
            if op.kind.data == nest.ADD:
                memory[place] = scalar.add(memory[place], args[0])
            elif op.kind.data == nest.MAX:
                memory[place] = scalar.larger(memory[place], args[0])
            else:
                memory[place] = scalar.fma(args[0], args[1], memory[place])
        return ()

    @impl(nest.ScratchOp)
    def scratch(self, interpreter: Interpreter, op: nest.ScratchOp, args: PythonValues) -> PythonValues:
        return (scratch(nest.extent_of(op.result), NUMPY[str(nest.memref_of(op.result).element_type)]),)

    @impl(nest.CheckRowOp)
    def check_row(self, interpreter: Interpreter, op: nest.CheckRowOp, args: PythonValues) -> PythonValues:
        row, bound = int(args[0]), op.bound.value.data
        if 0 <= row < bound:
            return (row,)
        position = op.position.data.eval(args[1:], [])[0]
        if self.bad_row is None or position < self.bad_row[0]:
            self.bad_row = (position, row, bound)
        return (0,)

    # ---------------------------------------------------------------------------------------------------- arithmetic

    @impl(nest.ConstOp)
    def const(self, interpreter: Interpreter, op: nest.ConstOp, args: PythonValues) -> PythonValues:
        return (type_of(op.result.type)(python_number(op.value)),)

    @impl(nest.CastOp)
    def cast(self, interpreter: Interpreter, op: nest.CastOp, args: PythonValues) -> PythonValues:
        return (scalar.cast(args[0], type_of(op.result.type)),)

    @impl(nest.BitcastOp)
    def bitcast(self, interpreter: Interpreter, op: nest.BitcastOp, args: PythonValues) -> PythonValues:
        return (scalar.bitcast(args[0], type_of(op.result.type)),)

    def arithmetic(self, interpreter: Interpreter, op: Operation, args: PythonValues) -> PythonValues:
        return (scalar.TABLE[op.name](*args),)

    neg = impl(nest.NegOp)(arithmetic)
    sqrt = impl(nest.SqrtOp)(arithmetic)
    exp = impl(nest.ExpOp)(arithmetic)
    log = impl(nest.LogOp)(arithmetic)
    add = impl(nest.AddOp)(arithmetic)
    sub = impl(nest.SubOp)(arithmetic)
    mul = impl(nest.MulOp)(arithmetic)
    div = impl(nest.DivOp)(arithmetic)
    larger = impl(nest.MaxOp)(arithmetic)
    both = impl(nest.AndOp)(arithmetic)
    either = impl(nest.OrOp)(arithmetic)
    differ = impl(nest.XorOp)(arithmetic)
    shift_left = impl(nest.ShlOp)(arithmetic)
    shift_right = impl(nest.ShrOp)(arithmetic)
    fma = impl(nest.FmaOp)(arithmetic)
    less = impl(nest.CmpLtOp)(arithmetic)
    select = impl(nest.SelectOp)(arithmetic)

    # ----------------------------------------------------------------------------------------------------------- plan

    @impl(nest.AllocOp)
    def alloc(self, interpreter: Interpreter, op: nest.AllocOp, args: PythonValues) -> PythonValues:
        return (scratch(nest.extent_of(op.result), NUMPY[str(nest.memref_of(op.result).element_type)]),)

    @impl(nest.SliceOp)
    def slice(self, interpreter: Interpreter, op: nest.SliceOp, args: PythonValues) -> PythonValues:
        kind = nest.memref_of(op.result)
        end = op.byte_offset + nest.byte_size(kind)
        return (args[0][op.byte_offset : end].view(NUMPY[str(kind.element_type)]),)

    @impl(nest.LaunchOp)
    def launch(self, interpreter: Interpreter, op: nest.LaunchOp, args: PythonValues) -> PythonValues:
        kernel = interpreter.get_op_for_symbol(op.kernel)
        assert isinstance(kernel, nest.KernelOp)
        self.run(interpreter, kernel, kernel.block.args, args)
        return ()

    def run(
        self,
        interpreter: Interpreter,
        op: nest.KernelOp | nest.PlanOp,
        names: Sequence[SSAValue],
        args: Sequence[Array],
    ) -> None:
        """Run the body of a kernel or plan on buffers."""
        check_buffers(f"@{op.sym_name.data}", names, args)
        with np.errstate(all="ignore"):
            interpreter.run_ssacfg_region(op.body, tuple(args))
        if self.bad_row is not None:
            position, row, bound = self.bad_row
            raise IndexError(f"row index {row} at position {position} is outside a table of {bound} rows")


def run_kernel(kernel: nest.KernelOp, buffers: Sequence[Array]) -> None:
    """As ``limn.interpreters.nest.run_kernel``."""
    functions = NestFunctions()
    interpreter = Interpreter(ModuleOp([]))
    interpreter.register_implementations(functions)
    functions.run(interpreter, kernel, kernel.block.args, buffers)


def run_plan(module: ModuleOp, buffers: list[Array]) -> None:
    """As ``limn.interpreters.nest.run_plan``, for a module with one plan; the arena is passed too."""
    functions = NestFunctions()
    interpreter = Interpreter(module)
    interpreter.register_implementations(functions)
    plan = next(op for op in module.body.block.ops if isinstance(op, nest.PlanOp))
    functions.run(interpreter, plan, plan.block.args, buffers)
    for one, other in plan.swaps:
        buffers[one], buffers[other] = buffers[other], buffers[one]
