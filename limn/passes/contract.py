"""Contract a multiplication and the total that takes its product into one fused multiply-add.

    %p = nest.mul %a, %b : f32
    nest.accumulate add %p, %acc[0] : f32        ->    nest.accumulate fma %a, %b, %acc[0] : f32

With ``elementwise=true`` a plain addition takes its product likewise:

    %p = nest.mul %a, %b : f32
    %s = nest.add %p, %c : f32                   ->    %s = nest.fma %a, %b, %c : f32

That is off by default: a cheap value is computed again in each kernel that needs it, and a product that has one use in
one kernel may have two in another, so the same value would be rounded in two ways. The gradient of a maximum, which
looks for the element that equals it, would then find none. A reduction is computed in one kernel only.

No compiler after limn contracts on its own, so what is fused stands here and nowhere else. It runs right after
``lower``; with ``fma=false``, for targets without the instruction, it leaves all alone.

Bits: they change, since a product is no longer rounded before it is added. They are the same wherever products are
exact, as on small whole numbers. Of two products that meet in one addition the first is fused.

Declines: integers, a product that has another use (it would be computed twice), a maximum, and a product and an
addition in different loops.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from limn.dialects import nest
from limn.dialects.graph import is_float


@dataclass(frozen=True)
class ContractPass(ModulePass):
    """nest -> nest. Options: ``fma``, whether the target has a fused multiply-add; ``elementwise``, whether additions
    outside of reductions are fused too."""

    name = "contract"
    fma: bool = True
    elementwise: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if not self.fma:
            return
        for user in list(op.walk()):
            if isinstance(user, nest.AccumulateOp) and user.kind.data == nest.ADD:
                if (product := fusible_product(user.value, user)) is not None:
                    _fuse_accumulate(user, product)
            elif isinstance(user, nest.AddOp) and self.elementwise:
                if (product := fusible_product(user.lhs, user)) is not None:
                    _fuse_add(user, product, user.rhs)
                elif (product := fusible_product(user.rhs, user)) is not None:
                    _fuse_add(user, product, user.lhs)


def fusible_product(value: SSAValue, user: Operation) -> nest.MulOp | None:
    """The multiplication of floats that gives ``value`` for ``user`` alone, in the same loop body."""
    product = value.owner
    if not isinstance(product, nest.MulOp) or not is_float(value.type):
        return None
    return product if value.has_one_use() and product.parent is user.parent else None


def _fuse_accumulate(user: nest.AccumulateOp, product: nest.MulOp) -> None:
    block = user.parent
    assert block is not None
    fused = nest.AccumulateOp(nest.FMA, product.lhs, user.memory, user.index, product.rhs, user.conditions)
    fused.location = user.location
    block.insert_op_before(fused, user)
    block.erase_op(user)
    block.erase_op(product)


def _fuse_add(user: nest.AddOp, product: nest.MulOp, addend: SSAValue) -> None:
    block = user.parent
    assert block is not None
    fused = nest.FmaOp(product.lhs, product.rhs, addend)
    fused.location = user.location
    fused.result.name_hint = user.result.name_hint
    block.insert_op_before(fused, user)
    user.result.replace_all_uses_with(fused.result)
    block.erase_op(user)
    block.erase_op(product)
