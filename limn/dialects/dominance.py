"""Definition before use inside a block: the check that xDSL's verifier leaves out.

Every region of limn's dialects is a single block, so a use is right exactly when its definition stands earlier in the
same block, is an argument of it, or stands in an enclosing block before the op that encloses the use.
"""

from __future__ import annotations

from xdsl.ir import Block, Operation
from xdsl.utils.exceptions import VerifyException


def verify_dominance(root: Operation) -> None:
    """Raise VerifyException if any op under ``root`` uses a value before the op that defines it."""
    for region in root.regions:
        for block in region.blocks:
            _verify_block(block)


def _verify_block(block: Block) -> None:
    # A value may be defined here or further out. One set per walk keeps this linear: a definition enters the set
    # when the walk passes it, and definitions of inner blocks leave it when their block ends.
    seen: set[Operation] = set()
    stack = [(block, block.first_op)]
    while stack:
        block, op = stack.pop()
        if op is None:
            seen.difference_update(block.ops)
            continue
        stack.append((block, op.next_op))
        for position, operand in enumerate(op.operands):
            owner = operand.owner
            if isinstance(owner, Operation) and owner not in seen and _is_inside(owner, stack[0][0]):
                name = f"%{operand.name_hint}" if operand.name_hint else "a value"
                raise VerifyException(
                    f"operand {position} of '{op.name}' uses {name} before the '{owner.name}' that defines it;"
                    " move the definition up"
                )
        seen.add(op)
        for region in reversed(op.regions):
            for inner in reversed(list(region.blocks)):
                stack.append((inner, inner.first_op))


def _is_inside(op: Operation, outermost: Block) -> bool:
    """Whether ``op`` stands in ``outermost`` or below it; only such definitions are this walk's business."""
    block = op.parent_block()
    while block is not None and block is not outermost:
        parent = block.parent_op()
        block = parent.parent_block() if parent is not None else None
    return block is outermost
