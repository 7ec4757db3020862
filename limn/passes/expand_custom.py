"""Replace custom kernels by what implements them.

``graph.custom "name"`` is recorded on every device; what runs it differs: a decomposition into graph ops, or a builder
of kernels. Both are functions in `DECOMPOSITIONS`, from the op to the values that stand for its results, which may
insert any ops in front of it:

    %0 = graph.custom "double"(%x) : (tensor<4xf32>) -> tensor<4xf32>
    =>
    %0 = graph.add %x, %x : tensor<4xf32>

Bits: those of the decomposition, which is what the kernel means.

Declines: a name that is not in the table is left alone; ``fuse``, which cannot schedule it, then says so.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from limn.dialects import graph

Decomposition = Callable[[graph.CustomOp, InsertPoint], Sequence[SSAValue]]

DECOMPOSITIONS: dict[str, Decomposition] = {}
"""From a custom kernel's name to the function that replaces it; it inserts ops at the point it is given."""


@dataclass(frozen=True)
class ExpandCustomPass(ModulePass):
    """graph -> graph."""

    name = "expand-custom"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for custom in [inner for inner in op.walk() if isinstance(inner, graph.CustomOp)]:
            decompose = DECOMPOSITIONS.get(custom.kernel.data)
            if decompose is not None:
                values = decompose(custom, InsertPoint.before(custom))
                Rewriter.replace_op(custom, [], list(values))
