"""Reverse-mode gradients, recorded as lazily as everything else.

`RULES` has one rule for each differentiable op of the trace: given a node and the gradient `g` of its result,
the gradients of its sources. A rule records ordinary nodes, so the gradient of a gradient is the same walk
again. Work that is known to be idle is not recorded: a product with one, an expansion of nothing.

Conventions, as torch: `max` over axes shares a gradient evenly among ties; `where` selects, so what was not
taken gets exactly 0; ints and bools carry none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from limn import trace as t
from limn.dialects.graph import (
    AddOp,
    CastOp,
    ConstOp,
    ContiguousOp,
    ExpOp,
    GatherOp,
    LogOp,
    MaxOp,
    MulOp,
    NegOp,
    RecipOp,
    ScatterOp,
    SqrtOp,
    SumOp,
    ViewOp,
    WhereOp,
)
from limn.dtypes import float32
from limn.trace import Leaf, Moved, Node, Rule, mode
from limn.view import View

if TYPE_CHECKING:
    from limn.tensor import Tensor

Gradients = Sequence[Node | None]


def _times(g: Node, factor: Node) -> Node:
    return factor if g.op is ConstOp and g.arg == 1 else t.mul(g, factor)


def _neg(node: Node, g: Node) -> Gradients:
    return [t.neg(g)]


def _exp(node: Node, g: Node) -> Gradients:
    return [_times(g, node)]


def _log(node: Node, g: Node) -> Gradients:
    return [t.div(g, node.srcs[0])]


def _sqrt(node: Node, g: Node) -> Gradients:
    return [t.div(g, t.add(node, node))]


def _recip(node: Node, g: Node) -> Gradients:
    return [t.neg(_times(g, t.mul(node, node)))]


def _cast(node: Node, g: Node) -> Gradients:
    return [t.cast(g, node.srcs[0].dtype)]


def _add(node: Node, g: Node) -> Gradients:
    return [g, g]


def _mul(node: Node, g: Node) -> Gradients:
    a, b = node.srcs
    if not node.arg:
        return [_times(g, b) if a.tracked else None, _times(g, a) if b.tracked else None]
    share = t.div(g, b)
    return [share, t.neg(t.mul(share, node)) if b.tracked else None]


def _where(node: Node, g: Node) -> Gradients:
    condition, a, b = node.srcs
    zero = t.const(0, g.shape, g.dtype)
    return [
        None,
        t.where(condition, g, zero) if a.tracked else None,
        t.where(condition, zero, g) if b.tracked else None,
    ]


def _sum(node: Node, g: Node) -> Gradients:
    return [t.expand(g, node.srcs[0].shape)]


def _max(node: Node, g: Node) -> Gradients:
    source = node.srcs[0]
    below = t.less(source, t.expand(node, source.shape))
    # a half does not hold every count: float16 ends at 65504, bfloat16 has no 257
    wide = float32 if g.dtype.is_half else g.dtype
    none, one = t.const(0, source.shape, wide), t.const(1, source.shape, wide)
    ties = t.total(t.where(below, none, one), node.arg)
    share = t.cast(t.div(t.cast(g, wide), ties), g.dtype)
    return [t.where(below, t.const(0, source.shape, g.dtype), t.expand(share, source.shape))]


def _gather(node: Node, g: Node) -> Gradients:
    table, index = node.srcs
    return [t.scatter(g, index, table.shape[0]), None]


def _scatter(node: Node, g: Node) -> Gradients:
    return [t.gather(g, node.srcs[1]), None]


def _contiguous(node: Node, g: Node) -> Gradients:
    return [g]


def _view(node: Node, g: Node) -> Gradients:
    return [unmove(g, node.arg, node.srcs[0].shape)]


RULES: dict[type, Callable[[Node, Node], Gradients]] = {
    NegOp: _neg,
    ExpOp: _exp,
    LogOp: _log,
    SqrtOp: _sqrt,
    RecipOp: _recip,
    CastOp: _cast,
    AddOp: _add,
    MulOp: _mul,
    WhereOp: _where,
    SumOp: _sum,
    MaxOp: _max,
    GatherOp: _gather,
    ScatterOp: _scatter,
    ContiguousOp: _contiguous,
    ViewOp: _view,
}


def unmove(g: Node, view: View, shape: tuple[int, ...]) -> Node:
    """The gradient of a tensor of `shape` of which `view` was taken: each cell gets the sum of what `g` holds
    where the view reads it."""
    if view.is_empty:
        return t.const(0, shape, g.dtype)
    for step in _way_back(view, shape):
        g = t.move(g, step) if isinstance(step, View) else t.total(g, step)
    return g


@lru_cache(maxsize=4096)
def _way_back(view: View, shape: tuple[int, ...]) -> list[View | list[int]]:
    """What undoes a view: movements, and the dims of one sum.

    Dims that repeat a cell (stride 0) are summed. The others, taken from the widest stride to the narrowest, nest
    like the digits of a number, because movements only split, reorder, cut and repeat dims; so they are padded to
    whole digits and merged.
    """
    steps: list[View | list[int]] = []
    box, strides = view.box, view.strides
    n = [hi - lo for lo, hi in box]
    if view.mask is not None:
        steps.append(View.contiguous(view.shape).shrink(view.mask))
    repeated = [d for d, s in enumerate(strides) if s == 0]
    if summed := [d for d in repeated if n[d] > 1]:
        steps.append(summed)
        n = [1 if d in summed else extent for d, extent in enumerate(n)]
    backwards = [d for d, s in enumerate(strides) if s < 0]
    start = view.offset + sum(lo * s for (lo, _), s in zip(box, strides))
    start += sum((n[d] - 1) * strides[d] for d in backwards)
    order = sorted((d for d, s in enumerate(strides) if s != 0), key=lambda d: -abs(strides[d]))
    ordered = View.contiguous(n).flip(backwards).permute([*order, *repeated])
    steps.append(ordered)
    extents, widths = [n[d] for d in order], [abs(strides[d]) for d in order]
    return steps + _place(extents, widths, start, shape)


def _place(extents: list[int], widths: list[int], start: int, shape: tuple[int, ...]) -> list[View | list[int]]:
    """The movements that take a tensor of `extents` (and dims of 1 after them) to zeros of `shape` with element (i...)
    at cell `start + sum(i * width)` of the flat order. Widths descend."""
    whole, size = View.contiguous(shape), View.contiguous(shape).size
    # whole digits: every width divides the one before, and no dim carries into the next
    tops = [size, *widths]
    if all(top % width == 0 for top, width in zip(tops, widths)):
        rooms = [top // width for top, width in zip(tops, widths)] + [tops[-1]]
        digits, left = [], start
        for width in (*widths, 1):
            digit, left = divmod(left, width)
            digits.append(digit)
        used = [*extents, 1]
        if all(digit + n <= room for digit, n, room in zip(digits, used, rooms)):
            pads = [(digit, room - digit - n) for digit, n, room in zip(digits, used, rooms)]
            return [View.contiguous(used), View.contiguous(used).pad(pads), whole]
    # otherwise from the innermost dim outwards, one merge a dim
    steps: list[View | list[int]] = [View.contiguous([*extents, 1])]
    lead, width = list(extents), 1
    for step in reversed(widths):
        if step < width:
            raise NotImplementedError(f"the gradient of an overlapping view, strides {widths} of extents {extents}")
        n = lead.pop()
        used = (n - 1) * step + width
        here = View.contiguous([*lead, n, width])
        steps.append(here.pad([(0, 0)] * (len(lead) + 1) + [(0, step - width)]))
        steps.append(View.contiguous([*lead, n * step]))
        steps.append(View.contiguous([*lead, n * step]).shrink([(0, e) for e in lead] + [(0, used)]))
        width = used
    steps.append(View.contiguous([width]).pad([(start, size - start - width)]))
    return [*steps, whole]


def _sources(node: Node) -> tuple[Node, ...]:
    """The tracked nodes that the gradient of `node` goes on to."""
    if not node.tracked or isinstance(node.grad, Leaf):
        return ()
    if isinstance(node.grad, Moved):
        return (node.grad.source,)
    sources = node.grad.sources if isinstance(node.grad, Rule) else node.srcs
    return tuple(s for s in sources if s.tracked)


def _pairs(node: Node, g: Node) -> Iterable[tuple[Node, Node | None]]:
    """Each node that `node` hands gradient to, with the gradient."""
    if isinstance(node.grad, Moved):
        return [(node.grad.source, unmove(g, node.grad.view, node.grad.source.shape))]
    if isinstance(node.grad, Rule):
        return zip(node.grad.sources, node.grad.function(node, g))
    if node.op not in RULES:
        raise NotImplementedError(f"{node.op.__name__} has no gradient rule; call detach() on what it is computed from")
    return zip(node.srcs, RULES[node.op](node, g))


def gradients(outputs: Sequence[Node], seeds: Sequence[Node], inputs: Iterable[Node] | None = None) -> dict[Node, Node]:
    """The gradient of sum(outputs * seeds) with respect to each of `inputs`, or to every leaf; nodes that no
    gradient reaches are left out."""
    order: list[Node] = []
    done: set[Node] = set()
    stack = list(outputs)
    while stack:
        node = stack[-1]
        missing = [] if node in done else [s for s in _sources(node) if s not in done]
        if missing:
            stack.extend(missing)
            continue
        stack.pop()
        if node not in done:
            done.add(node)
            order.append(node)
    asked = set(inputs) if inputs is not None else {n for n in order if isinstance(n.grad, Leaf)}
    useful: set[Node] = set()  # from which something asked for can be reached
    for node in order:
        if node in asked or any(s in useful for s in _sources(node)):
            useful.add(node)

    found: dict[Node, Node] = {}

    def give(node: Node, g: Node) -> None:
        found[node] = t.add(found[node], g) if node in found else g

    for node, seed in zip(outputs, seeds):
        if node in useful:
            give(node, seed)
    for node in reversed(order):
        if node not in found or node not in useful or isinstance(node.grad, Leaf):
            continue
        g = found[node] if node in asked else found.pop(node)
        for source, share in _pairs(node, g):
            if share is not None and source in useful:
                give(source, share)
    return {node: g for node, g in found.items() if node in asked}


def _seed(output: Tensor, given: object, name: str) -> Node:
    node = output._node
    if not node.tracked:
        raise RuntimeError(
            f"{name}: no gradient is recorded for this tensor of shape {node.shape}; it is computed from no "
            "tensor with requires_grad=True, or inside no_grad, or from a detached one; a step that changes a "
            "parameter is p.assign(..), since p -= .. makes another tensor"
        )
    if given is None:
        if View.contiguous(node.shape).size != 1:
            raise RuntimeError(
                f"{name}: the tensor has shape {node.shape}, not one element; reduce it, with .sum() say, or pass the "
                "gradient of it"
            )
        return t.const(1, node.shape, node.dtype)
    given = output._as_tensor(given)
    if given.shape != node.shape or given.dtype is not node.dtype:
        raise ValueError(
            f"{name}: the gradient passed has shape {given.shape} and dtype {given.dtype.name}, the tensor "
            f"{node.shape} and {node.dtype.name}; they must agree"
        )
    return given._node


def _tensors(given: Tensor | Iterable[Tensor], what: str) -> list[Tensor]:
    found = list(given) if isinstance(given, Iterable) and not hasattr(given, "_node") else [given]
    for tensor in found:
        if not hasattr(tensor, "_node"):
            raise TypeError(f"grad: {what} are a tensor or a list of tensors, got {tensor!r}")
    return found


def backward(output: Tensor, gradient: object = None, create_graph: bool = False) -> None:
    """Add the gradient of `output` to `.grad` of every leaf it depends on."""
    seed = _seed(output, gradient, "backward")
    before, mode.tracking = mode.tracking, create_graph
    try:
        for node, g in gradients([output._node], [seed]).items():
            assert isinstance(node.grad, Leaf)
            leaf = node.grad.tensor()
            if leaf is not None:
                leaf.grad = type(output)._of(g if leaf.grad is None else t.add(leaf.grad._node, g))
    finally:
        mode.tracking = before


def grad(
    outputs: Tensor | Sequence[Tensor],
    inputs: Tensor | Sequence[Tensor],
    grad_outputs: object = None,
    create_graph: bool = False,
) -> tuple[Tensor, ...]:
    """The gradients of `outputs` with respect to each of `inputs`, as a tuple of lazy tensors of the inputs'
    shapes and dtypes.

    Outputs of several elements need `grad_outputs`, one for each output, of its shape and dtype. With
    `create_graph` the gradients carry gradients themselves. `.grad` of no tensor is touched.
    RuntimeError for an output without a recorded gradient and for an input that no output depends on.
    """
    many, wanted = _tensors(outputs, "outputs"), _tensors(inputs, "inputs")
    given = list(grad_outputs) if isinstance(grad_outputs, list | tuple) else [grad_outputs] * len(many)
    if len(given) != len(many):
        raise ValueError(f"grad: {len(many)} outputs and {len(given)} grad_outputs; give one for each output")
    seeds = [_seed(output, g, "grad") for output, g in zip(many, given)]
    before, mode.tracking = mode.tracking, create_graph
    try:
        found = gradients([o._node for o in many], seeds, [i._node for i in wanted])
    finally:
        mode.tracking = before
    for position, tensor in enumerate(wanted):
        if tensor._node not in found:
            raise RuntimeError(
                f"grad: the outputs do not depend on input {position}, of shape {tensor.shape}, in a way that carries "
                "gradient; leave it out, or check requires_grad, detach and no_grad"
            )
    return tuple(type(tensor)._of(found[tensor._node]) for tensor in wanted)
