"""What tensors record: a light graph of nodes, about a microsecond each, that computes nothing.

A node is tagged with a class of the `graph` dialect (the closed op set) or with one of two marks of its own:
`BufferTag`, a version of some storage, and `ScalarTag`, a Python number a user wrote. Numbers the framework
itself writes are `ConstOp` nodes. The difference: a user's number that changes between otherwise equal graphs
(a learning rate) becomes an argument of the plan from its second value on, a framework's constant never does.

A node's value is immutable. `realized` memoises it once computed; an assign makes a new node over a new
buffer, so an expression keeps meaning what it meant on the day it was built.

Movement composes while it is recorded: a view of a view is one node over the first one's source, and what one
`View` cannot say is preceded by a `ContiguousOp`. Gradients do not follow these short cuts: a tracked node
keeps, in `grad`, the way back through what the user wrote.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from functools import lru_cache, wraps
from typing import TYPE_CHECKING, Any
from weakref import ref

from limn.dialects.graph import (
    AddOp,
    CastOp,
    CmpLtOp,
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
from limn.dtypes import DType, bool_
from limn.view import View, compose

if TYPE_CHECKING:
    from limn.runtime.buffers import Buffer


class BufferTag:
    """Tags a node whose value is a buffer: `node.realized`."""


class ScalarTag:
    """Tags a node that is a user's Python number in every element: `node.arg`."""


class Leaf:
    """Gradients of this node are collected in the `.grad` of a tensor, which is held weakly."""

    __slots__ = ("tensor",)

    def __init__(self, tensor: Any):
        self.tensor = ref(tensor)


class Moved:
    """This node is `view` of the cells of `source`, although it reads from further back."""

    __slots__ = ("source", "view")

    def __init__(self, source: Node, view: View):
        self.source, self.view = source, view


class Rule:
    """A composed function with a gradient of its own: `function(node, g)` gives one gradient, or None, for
    each of `sources`."""

    __slots__ = ("function", "sources")

    def __init__(self, sources: tuple[Node, ...], function: Callable[[Node, Node], Sequence[Node | None]]):
        self.sources, self.function = sources, function


class Node:
    """One recorded value.

    op       a graph op class, BufferTag or ScalarTag
    srcs     the nodes it is computed from
    shape, dtype
    arg      the op's attribute: ViewOp its View, CastOp its dtype, SumOp and MaxOp the axes, MulOp True for a
             division, ScatterOp the row count, ConstOp and ScalarTag the number, AssignOp how many assigns are
             pending below it
    tracked  True if gradients flow through it
    grad     how, where the table of rules by op does not say: a Leaf, Moved or Rule
    realized the Buffer with its value, once there is one
    """

    __slots__ = ("__weakref__", "arg", "dtype", "grad", "op", "realized", "shape", "srcs", "tracked")

    def __init__(
        self,
        op: type,
        srcs: tuple[Node, ...],
        shape: tuple[int, ...],
        dtype: DType,
        arg: Any = None,
        tracked: bool = False,
        grad: Leaf | Moved | Rule | None = None,
        realized: Buffer | None = None,
    ):
        self.op, self.srcs, self.shape, self.dtype, self.arg = op, srcs, shape, dtype, arg
        self.tracked, self.grad, self.realized = tracked, grad, realized

    def __repr__(self) -> str:
        return f"Node({self.op.__name__}, {self.shape}, {self.dtype.name})"


class _Mode(threading.local):
    def __init__(self) -> None:
        self.tracking = True
        self.before: list[bool] = []  # what it was outside of each no_grad that this thread is in


mode = _Mode()
"""`mode.tracking` is False inside no_grad, for each thread by itself."""


class no_grad:
    """Inside `with limn.no_grad():`, or in a function decorated with `@limn.no_grad()`, results carry no
    gradient. It may be nested and ends with the block, also by an exception."""

    def __enter__(self) -> None:
        mode.before.append(mode.tracking)
        mode.tracking = False

    def __exit__(self, *exception: object) -> None:
        mode.tracking = mode.before.pop()

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def without_gradient(*args: Any, **kwargs: Any) -> Any:
            with no_grad():
                return function(*args, **kwargs)

        return without_gradient


# ---- sources


def buffer_node(buffer: Buffer, shape: tuple[int, ...]) -> Node:
    """The values of a buffer, which has as many elements as `shape`."""
    return Node(BufferTag, (), shape, buffer.dtype, realized=buffer)


def const(value: float | int | bool, shape: tuple[int, ...], dtype: DType) -> Node:
    """The framework's own number in every element: part of the program."""
    return Node(ConstOp, (), shape, dtype, float(value) if dtype.is_float else value)


def scalar(value: float | int | bool, shape: tuple[int, ...], dtype: DType) -> Node:
    """A user's number in every element: part of the program until it changes, then an argument."""
    return Node(ScalarTag, (), shape, dtype, value)


# ---- elementwise; operands have equal shapes, and equal dtypes unless said otherwise


def _node(op: type, srcs: tuple[Node, ...], shape: tuple[int, ...], dtype: DType, arg: Any = None) -> Node:
    tracked = False
    if mode.tracking and dtype.kind == "float":
        for src in srcs:
            if src.tracked:
                tracked = True
                break
    return Node(op, srcs, shape, dtype, arg, tracked)


def neg(a: Node) -> Node:
    """-a."""
    return _node(NegOp, (a,), a.shape, a.dtype)


def exp(a: Node) -> Node:
    """e to the power a, of floats."""
    return _node(ExpOp, (a,), a.shape, a.dtype)


def log(a: Node) -> Node:
    """The natural logarithm of floats."""
    return _node(LogOp, (a,), a.shape, a.dtype)


def sqrt(a: Node) -> Node:
    """The square root of floats."""
    return _node(SqrtOp, (a,), a.shape, a.dtype)


def recip(a: Node) -> Node:
    """1 / a of floats, rounded once."""
    return _node(RecipOp, (a,), a.shape, a.dtype)


def cast(a: Node, dtype: DType) -> Node:
    """`a` as another dtype; `a` itself where it has that."""
    return a if a.dtype is dtype else _node(CastOp, (a,), a.shape, dtype, dtype)


def add(a: Node, b: Node) -> Node:
    """a + b."""
    return _node(AddOp, (a, b), a.shape, a.dtype)


def mul(a: Node, b: Node) -> Node:
    """a * b."""
    return _node(MulOp, (a, b), a.shape, a.dtype, False)


def div(a: Node, b: Node) -> Node:
    """a / b of floats, rounded once."""
    return _node(MulOp, (a, b), a.shape, a.dtype, True)


def less(a: Node, b: Node) -> Node:
    """a < b as bool; False beside a NaN."""
    return _node(CmpLtOp, (a, b), a.shape, bool_)


def where(condition: Node, a: Node, b: Node) -> Node:
    """`a` where the bool condition holds, else `b`."""
    return _node(WhereOp, (condition, a, b), a.shape, a.dtype)


# ---- reductions and rows


def _reduce(op: type, a: Node, axes: Sequence[int]) -> Node:
    kept = tuple(1 if d in axes else n for d, n in enumerate(a.shape))
    return _node(op, (a,), kept, a.dtype, tuple(sorted(axes)))


def total(a: Node, axes: Sequence[int]) -> Node:
    """The sum over `axes`, which stay with extent 1; over none, `a` itself."""
    return _reduce(SumOp, a, axes) if axes else a


def largest(a: Node, axes: Sequence[int]) -> Node:
    """The maximum over `axes`, which stay with extent 1; over none, `a` itself."""
    return _reduce(MaxOp, a, axes) if axes else a


def gather(table: Node, index: Node) -> Node:
    """Rows of `table` (V, ...) at the int32 `index` (I...): (I..., ...)."""
    return _node(GatherOp, (table, index), index.shape + table.shape[1:], table.dtype)


def scatter(rows: Node, index: Node, count: int) -> Node:
    """(count, ...) zeros with each of `rows` (I..., ...) added at its int32 `index` (I...)."""
    return _node(ScatterOp, (rows, index), (count, *rows.shape[len(index.shape) :]), rows.dtype, count)


# ---- movement


def contiguous(a: Node) -> Node:
    """The same values in memory of their own."""
    return _node(ContiguousOp, (a,), a.shape, a.dtype)


def move(a: Node, view: View) -> Node:
    """`view` of the row-major cells of `a`."""
    if view.shape == a.shape and view.is_contiguous:
        return a
    tracked = mode.tracking and a.tracked
    if not a.tracked and (a.op is ConstOp or a.op is ScalarTag) and a.realized is None and view.mask is None:
        return Node(a.op, (), view.shape, a.dtype, a.arg)
    base, whole = a, view
    if a.op is ViewOp and a.realized is None:
        composed = compose(a.arg, view)
        if composed is None:
            a = base = contiguous(a)
        else:
            base, whole = a.srcs[0], composed
    if not tracked and not base.tracked and whole.shape == base.shape and whole.is_contiguous:
        return base
    return Node(
        ViewOp, (base,), whole.shape, a.dtype, whole, tracked, Moved(a, view) if tracked and base is not a else None
    )


def reshape(a: Node, shape: Sequence[int]) -> Node:
    """The same elements in row-major order under another shape of that size."""
    return move(a, View.contiguous(shape))


def expand(a: Node, shape: tuple[int, ...]) -> Node:
    """Repeat extents of 1 and add leading dims up to `shape`."""
    return a if a.shape == shape else move(a, expansion(a.shape, shape))


@lru_cache(maxsize=4096)
def expansion(shape: tuple[int, ...], wanted: tuple[int, ...]) -> View:
    """The view that repeats extents of 1 and adds leading dims up to `wanted`."""
    lead = len(wanted) - len(shape)
    return View.contiguous((1,) * lead + shape).expand(wanted)


def alias(a: Node, tracked: bool = False, grad: Leaf | Rule | None = None) -> Node:
    """The same value with other ties to gradients: none (detached), a leaf's, or a rule of a composed
    function."""
    if a.realized is not None:
        return Node(BufferTag, (), a.shape, a.dtype, None, tracked, grad, a.realized)
    return Node(ViewOp, (a,), a.shape, a.dtype, View.contiguous(a.shape), tracked, grad)


def with_rule(value: Node, sources: tuple[Node, ...], function: Callable[[Node, Node], Sequence[Node | None]]) -> Node:
    """`value`, computed without tracking from `sources`, as the result of a function with a gradient of its
    own."""
    if not mode.tracking or not any(s.tracked for s in sources):
        return value
    return alias(value, True, Rule(sources, function))
