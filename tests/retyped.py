"""The corpus at other element types: each case with its float32 tensors made float64, float16, bfloat16 or an int."""

from __future__ import annotations

from corpus import CASES, Case
from xdsl.dialects.builtin import FunctionType, TensorType, bf16, f16, f32, f64, i8, i16, i32
from xdsl.ir import Attribute, SSAValue

from limn.dialects import graph

FLOATS = {"f64": f64, "f32": f32, "f16": f16, "bf16": bf16}
INTS = {"i32": i32, "i16": i16, "i8": i8}
FLOAT_OPS = (graph.ExpOp, graph.LogOp, graph.SqrtOp, graph.RecipOp)


def of_ints() -> list[str]:
    """The names of the cases that mean something for ints: no quotient, root, exponential or fraction."""
    return [name for name, build in CASES.items() if all(map(_is_whole, build().module.walk()))]


def _is_whole(op) -> bool:
    if isinstance(op, graph.ConstOp):
        number = float(graph.python_number(op.value))
        return number.is_integer() and abs(number) < 128
    return not isinstance(op, FLOAT_OPS) and getattr(op, "recip", None) is None


def retyped(case: Case, element: Attribute) -> Case:
    """``case`` with ``element`` where it has f32. A cast that would change nothing is left out."""

    def change(value: SSAValue) -> None:
        kind = value.type
        if isinstance(kind, TensorType) and kind.element_type == f32:
            value._type = TensorType(element, kind.shape)  # pyright: ignore

    func = case.func
    for argument in func.body.block.args:
        change(argument)
    for op in list(func.body.block.ops):
        for result in op.results:
            change(result)
        if isinstance(op, graph.ConstOp) and graph.element_of(op.result) == element:
            new = graph.ConstOp(graph.python_number(op.value), graph.tensor_of(op.result))
            func.body.block.insert_op_before(new, op)
            op.result.replace_all_uses_with(new.result)
            op.detach()
        elif isinstance(op, graph.CastOp) and op.operand.type == op.result.type:
            op.result.replace_all_uses_with(op.operand)
            op.detach()
    returned = func.body.block.last_op
    assert returned is not None
    types = ([a.type for a in func.body.block.args], [v.type for v in returned.operands])
    func.properties["function_type"] = FunctionType.from_lists(*types)
    case.module.verify()
    return case
