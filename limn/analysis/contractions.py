"""Which reductions of a kernel are contractions: products of matrices, convolutions and their kin.

Each of their operands is read many times, so how they are looped over decides their speed; passes know them apart.
"""

from __future__ import annotations

from xdsl.ir import BlockArgument, Operation, SSAValue

from limn.dialects import graph, schedule


def is_contraction(op: graph.ReduceOp) -> bool:
    """Whether a reduction of a kernel sums a product in which each operand repeats along some kept dim."""
    product = op.operand.owner
    if not isinstance(op, graph.SumOp) or not isinstance(product, graph.MulOp) or product.recip is not None:
        return False
    kept = {d for d, extent in enumerate(graph.shape_of(op.operand)) if extent > 1} - set(op.reduced)
    return all(kept - varying(operand) for operand in product.operands)


def varying(value: SSAValue) -> set[int]:
    """The dims of a kernel along which a value may change."""
    found: set[int] = set()
    stack, seen = [value], set[SSAValue]()
    while stack:
        value = stack.pop()
        op = value.owner
        if value in seen or not isinstance(op, Operation) or isinstance(op, graph.ConstOp):
            continue
        seen.add(value)
        shape = graph.shape_of(value)
        if isinstance(op, graph.ReduceOp):
            found |= {d for d, extent in enumerate(shape) if extent > 1}
        elif isinstance(op, graph.ViewOp) and isinstance(op.source, BlockArgument):
            found |= {d for d, stride in enumerate(op.view_strides) if stride or op.view_mask is not None}
        else:
            if isinstance(op, schedule.GatherOp):
                found |= {d for d, stride in enumerate(op.row_strides) if stride}
            stack.extend(op.operands)
    return found
