"""What may stand at which level: one table of ops, element types and loop kinds, and who lowers the rest.

    graph     primitives on tensors in functions
    schedule  kernels, launches, commits and views of whole buffers in functions
    nest      loops, loads and arithmetic; every value at its computation width, halves only in memory
    c         what the C printer can spell: no exp or log, no alloc, loops sequential or parallel

``limn-opt`` and the tests check it; a printer refuses a module that is not legal for it.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Operation
from xdsl.utils.exceptions import PassFailedException, VerifyException

from limn.dialects import graph, nest, schedule


@dataclass(frozen=True)
class Level:
    """What is legal at a level: op classes, and the kinds a loop may have."""

    ops: tuple[type[Operation], ...]
    kinds: tuple[str, ...] = ()


_GRAPH_OPS = tuple(op for op in graph.Graph.operations)
_SCHEDULE_BODY = (*schedule.BODY_OPS, schedule.KeepOp, schedule.GatherOp, schedule.ScatterOp, schedule.YieldOp)
_NEST_OPS = (nest.KernelOp, nest.ForOp, *nest.MEMORY, *nest.ARITHMETIC, *nest.PLAN)
_C_LACKS = (nest.ExpOp, nest.LogOp, nest.AllocOp)

LEVELS: dict[str, Level] = {
    "graph": Level((ModuleOp, FuncOp, ReturnOp, *_GRAPH_OPS)),
    "schedule": Level(
        (ModuleOp, FuncOp, ReturnOp, schedule.KernelOp, schedule.LaunchOp, graph.AssignOp, *_SCHEDULE_BODY)
    ),
    "nest": Level((ModuleOp, *_NEST_OPS), nest.LOOP_KINDS),
    "c": Level((ModuleOp, *(op for op in _NEST_OPS if op not in _C_LACKS)), (nest.SEQUENTIAL, nest.PARALLEL)),
}

LOWERED_BY: dict[str, str] = {
    "graph.custom": "expand-custom",
    **{op.name: "fuse" for op in _GRAPH_OPS if op is not graph.CustomOp},
    "func.func": "lower",
    "func.return": "lower",
    **{op.name: "lower" for op in schedule.Schedule.operations},
    "nest.exp": "expand-math",
    "nest.log": "expand-math",
    "nest.alloc": "plan-memory",
}
"""The pass that removes an op, for the message that refuses it."""


class IllegalOp(VerifyException):
    """A refusal that remembers its op, so that a tool can show where it stands."""

    def __init__(self, op: Operation, message: str):
        super().__init__(message)
        self.op = op


class PassRefused(PassFailedException):
    """What a pass raises for an op that it cannot work on; it remembers the op for the same reason."""

    def __init__(self, op: Operation, message: str):
        super().__init__(message)
        self.op = op


def check_function(func: FuncOp) -> None:
    """Refuse a function that is no list of ops on tensors.

    Raises:
        PassRefused: for a declaration, branches, or an argument or result of another type.
    """
    name, blocks = func.sym_name.data, func.body.blocks
    if len(blocks) != 1:
        raise PassRefused(func, f"function @{name} has {len(blocks)} blocks; a plan is made of a function with one")
    returned = func.body.block.last_op
    results = returned.operands if returned is not None else ()
    for role, values in (("argument", func.body.block.args), ("result", results)):
        for position, value in enumerate(values):
            kind = value.type
            tensor = graph.tensor_of(value) if isinstance(kind, TensorType) else None
            if tensor is None or not tensor.has_static_shape() or tensor.element_type not in graph.ELEMENT_TYPES:
                raise PassRefused(
                    func,
                    f"{role} {position} of @{name} has type {kind}; a plan takes and gives tensors of a static shape,"
                    f" of {graph.ELEMENT_NAMES}",
                )


def level_of(module: ModuleOp) -> str:
    """The highest level at which the ops of ``module`` are at home: graph, schedule or nest."""
    names = {op.name.split(".")[0] for op in module.body.block.ops}
    if "nest" in names:
        return "nest"
    return "schedule" if "schedule" in names else "graph"


def check(module: ModuleOp, level: str) -> None:
    """Refuse what is not legal at ``level``.

    Raises:
        IllegalOp: a VerifyException naming the op and the pass that lowers it.
    """
    legal = LEVELS[level]
    for op in module.walk():
        if not isinstance(op, legal.ops):
            lowerer = LOWERED_BY.get(op.name)
            cure = f"run {lowerer} first" if lowerer else f"it does not belong to {level}"
            raise IllegalOp(op, f"'{op.name}' is not legal at level {level}: {cure}")
        if isinstance(op, nest.ForOp) and op.kind.data not in legal.kinds:
            kinds = ", ".join(legal.kinds)
            raise IllegalOp(op, f"a loop of kind {op.kind.data} is not legal at level {level}, which has {kinds}")
        if isinstance(op, nest.ValueOp) and op.half is not None:
            raise IllegalOp(op, f"'{op.name}' computes in {op.half}; widen to f32 first, as lower does")
        if isinstance(op, nest.AccumulateOp) and op.half is not None:
            raise IllegalOp(op, f"'{op.name}' totals in {op.half}; use memory of f32 or i32, as lower does")
