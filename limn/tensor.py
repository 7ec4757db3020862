"""`Tensor`: what users hold. Methods record nodes (limn.trace); nothing computes before `realize`, `numpy`,
`item` or `tolist`.

This file is the core: making tensors, arithmetic, movement, reductions, matmul, assignment. Functions
composed from these are in the package limn/functions/, indexing is in limn/indexing.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from math import prod
from typing import Any

import numpy as np

from limn import autograd, indexing
from limn import trace as t
from limn.dialects.graph import AssignOp, ConstOp
from limn.dtypes import (
    BY_NUMPY,
    DType,
    as_dtype,
    bfloat16,
    bool_,
    check_scalar,
    float32,
    int32,
    promote,
    scalar_dtype,
)
from limn.functions import Functions
from limn.functions.pieces import fit, ints_of, one_way, sum_dtype
from limn.interop import Interop
from limn.realize import pending, realize_nodes
from limn.runtime import Buffer
from limn.trace import Leaf, Node, ScalarTag
from limn.view import View

SHOWN = 64  # elements of a realized tensor that repr shows


class Tensor(Functions, Interop):
    """An n-dimensional array of one dtype, computed when its values are asked for.

    Args:
        data: a number, nested lists of numbers, anything numpy can read, or a Tensor. Arrays are copied and keep
            their dtype (int64 and unsigned ones become int32 if every value fits); Python floats become float32,
            ints int32, bools bool.
        dtype: convert to this dtype, as `cast` does; an int that does not fit is an error.
        requires_grad: collect gradients in `.grad`; floats only.
    Raises:
        TypeError for data that is not numeric, ValueError for ragged lists or no elements, OverflowError for
        ints that do not fit.
    """

    __slots__ = ("__weakref__", "_grad", "_node")
    __array_ufunc__ = None  # numpy leaves `array + tensor` to Tensor.__radd__
    __array_priority__ = 1000

    _node: Node
    _grad: Tensor | None

    def __init__(self, data: Any, dtype: object = None, requires_grad: bool = False):
        self._grad = None
        if isinstance(data, Tensor):
            node = t.alias(data._node)
            node = node if dtype is None else t.cast(node, as_dtype(dtype))
        else:
            array, kind = _array(data, None if dtype is None else as_dtype(dtype))
            node = t.buffer_node(Buffer.of(array, kind), array.shape)
        self._node = node
        if requires_grad:
            self.requires_grad = True

    @classmethod
    def _of(cls, node: Node) -> Tensor:
        tensor = object.__new__(cls)
        tensor._grad = None
        tensor._node = node
        return tensor

    # ---- what it is

    @property
    def shape(self) -> tuple[int, ...]:
        return self._node.shape

    @property
    def dtype(self) -> DType:
        return self._node.dtype

    @property
    def ndim(self) -> int:
        return len(self._node.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        return prod(self._node.shape)

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len: a 0-d tensor has no length; use .size or .item()")
        return self.shape[0]

    def __repr__(self) -> str:
        node, extra = self._node, ", requires_grad=True" if self.requires_grad else ""
        if node.realized is None or self.size > SHOWN:
            lazy = ", not computed yet" if node.realized is None else ""
            return f"Tensor(shape={node.shape}, dtype={node.dtype.name}{lazy}{extra})"
        shown = self.numpy().astype(np.float32) if node.dtype is bfloat16 else self.numpy()
        values = np.array2string(shown, separator=", ", prefix="Tensor(")
        return f"Tensor({values}, dtype={node.dtype.name}{extra})"

    __hash__ = object.__hash__  # == is elementwise, so tensors are keys by identity

    # ---- values

    def realize(self) -> Tensor:
        """Compute the values now, in a batch of one. Returns self."""
        realize_nodes([self._node])
        return self

    def numpy(self) -> np.ndarray:
        """The values as a new numpy array of this shape and dtype."""
        realize_nodes([self._node])
        assert self._node.realized is not None
        return self._node.realized.array.reshape(self.shape).copy()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        if copy is False:
            raise ValueError("a tensor's values are copied out; numpy.asarray(t) does, copy=False cannot")
        return self.numpy() if dtype is None else self.numpy().astype(dtype)

    def item(self) -> float | int | bool:
        """The one element as a Python number; ValueError if there are more."""
        if self.size != 1:
            raise ValueError(f"item: the tensor has shape {self.shape}, not one element; index it or reduce it first")
        return self.numpy().item()

    def tolist(self) -> Any:
        """The values as nested lists, or as a number for a 0-d tensor."""
        return self.numpy().tolist()

    def __float__(self) -> float:
        return float(self._one("float"))

    def __int__(self) -> int:
        return int(self._one("int"))

    def __bool__(self) -> bool:
        return bool(self._one("bool"))

    def __index__(self) -> int:
        if self.dtype.kind != "int":
            raise TypeError(f"a tensor of dtype {self.dtype.name} is not an index; cast it to int32")
        return int(self._one("index"))

    def _one(self, name: str) -> float | int | bool:
        if self.size != 1:
            raise ValueError(
                f"{name}: the tensor has shape {self.shape}; one element has a {name} value, reduce it or use where"
            )
        return self.item()

    # ---- gradients

    @property
    def requires_grad(self) -> bool:
        """True if gradients flow through this tensor: a leaf that asks for them, or what is computed from
        one."""
        return self._node.tracked

    @requires_grad.setter
    def requires_grad(self, wanted: bool) -> None:
        node = self._node
        leaf = isinstance(node.grad, Leaf)
        if wanted and not node.dtype.is_float:
            raise TypeError(
                f"requires_grad: gradients need a float dtype, got {node.dtype.name}; cast to float32 first"
            )
        if node.tracked and not leaf:
            if not wanted:
                raise RuntimeError("requires_grad: this tensor is computed from others that require it; use detach()")
            return
        if wanted and not leaf:
            self._node = t.alias(node, True, Leaf(self))
        elif leaf and not wanted:
            self._node = t.alias(node)

    def requires_grad_(self, wanted: bool = True) -> Tensor:
        """Set requires_grad and return self."""
        self.requires_grad = wanted
        return self

    @property
    def is_leaf(self) -> bool:
        """True unless this tensor is computed from others that require gradients."""
        return not self._node.tracked or isinstance(self._node.grad, Leaf)

    @property
    def grad(self) -> Tensor | None:
        """The gradient that backward has collected in this leaf; None before, or after it was set to None.

        RuntimeError for a tensor that is computed from others: gradients pass through it and are not kept.
        """
        if self._grad is None and not self.is_leaf:
            raise RuntimeError(
                f"grad: this tensor of shape {self.shape} is computed from others, which collect the gradients; read "
                "theirs, or ask limn.grad(loss, t) for this one"
            )
        return self._grad

    @grad.setter
    def grad(self, value: Tensor | None) -> None:
        wanted, given = f"{self.dtype.name}{list(self.shape)}", type(value).__name__
        if isinstance(value, Tensor):
            given = f"{value.dtype.name}{list(value.shape)}"
        if value is not None and given != wanted:
            raise TypeError(f"grad: is None or a tensor {wanted} as this one, got {given}; None drops it")
        self._grad = value

    def detach(self) -> Tensor:
        """The same values, through which no gradient flows. Shares bytes."""
        return Tensor._of(t.alias(self._node))

    def backward(self, gradient: Any = None, create_graph: bool = False) -> None:
        """Add to `.grad` of every leaf behind this tensor the gradient of it (one element), or of sum(self *
        gradient).

        RuntimeError for several elements without `gradient`, and where no gradient is recorded.
        """
        autograd.backward(self, gradient, create_graph)

    # ---- assignment

    def assign(self, value: Any) -> Tensor:
        """Let this tensor hold `value` (same shape, or a number; same dtype) from here on. Returns self.

        Nothing runs yet: the next realize that reads this tensor or what is computed with it commits the
        assign. Expressions built before keep the old value, those built after see the new one. No gradient
        flows through an assign. ValueError or TypeError for a shape or dtype that differs, RuntimeError where
        this tensor is an expression.
        """
        node = self._node
        if node.realized is None and node.op is not AssignOp:
            self._own(node)
            node = self._node
        if isinstance(value, int | float | np.generic) and not isinstance(value, np.ndarray):
            value = Tensor._of(_number(value, node.dtype, node.shape))
        value = self._as_tensor(value)
        if value.shape != node.shape:
            raise ValueError(
                f"assign: the tensor has shape {node.shape}, the value {value.shape}; reshape or expand it"
            )
        if value.dtype is not node.dtype:
            raise TypeError(
                f"assign: the tensor is {node.dtype.name}, the value {value.dtype.name}; use .cast({node.dtype.name})"
            )
        waiting = node.op is AssignOp and node.realized is None
        target, depth = (node.srcs[0], node.arg + 1) if waiting else (node, 0)
        target = t.alias(target)
        leaf = node.grad if isinstance(node.grad, Leaf) else None
        self._node = Node(AssignOp, (target, value._node), node.shape, node.dtype, depth, leaf is not None, leaf)
        pending[id(self)] = self
        return self

    def _own(self, node: Node) -> None:
        """Give a tensor that is still a constant or an unread parameter bytes of its own."""
        if node.op is ConstOp or node.op is ScalarTag:
            node.realized = Buffer.of(np.broadcast_to(np.asarray(node.arg), node.shape), node.dtype)
            node.op, node.arg = t.BufferTag, None
        elif isinstance(node.grad, Leaf):
            realize_nodes([node])
        else:
            raise RuntimeError(
                f"assign: this tensor of shape {node.shape} is an expression, which has no storage to assign to; "
                "call .realize() on it first, or assign to the tensor it was made from"
            )

    # ---- elementwise

    @classmethod
    def _as_tensor(cls, value: Any) -> Tensor:
        return value if isinstance(value, Tensor) else Tensor(value)

    @classmethod
    def _operands(cls, name: str, *values: Any) -> list[Node] | None:
        """Tensors, arrays and numbers as nodes of one shape and one dtype; None if one of them is something
        else."""
        nodes: list[Node | None] = []  # None where there is a number
        for value in values:
            if isinstance(value, Tensor):
                nodes.append(value._node)
            elif isinstance(value, bool | int | float | np.generic):
                nodes.append(None)
            elif _is_data(value):
                nodes.append(Tensor(value)._node)
            else:
                return None
        known = [n for n in nodes if n is not None]
        if len(known) == len(values) and len({(n.shape, n.dtype) for n in known}) == 1:
            return known
        dtype = None
        for node in known:
            dtype = node.dtype if dtype is None else promote(dtype, node.dtype)
        for value in (v for v, node in zip(values, nodes) if node is None):
            number = value.item() if isinstance(value, np.generic) else value
            dtype = as_dtype(type(number)) if dtype is None else scalar_dtype(dtype, number)
        assert dtype is not None
        shape = broadcast_shape(name, *(n.shape for n in known)) if known else ()
        return [
            _number(value, dtype, shape) if node is None else t.expand(t.cast(node, dtype), shape)
            for value, node in zip(values, nodes)
        ]

    def _unary(self, function: Callable[[Node], Node]) -> Tensor:
        node = self._node
        return Tensor._of(function(node if node.dtype.is_float else t.cast(node, float32)))

    def exp(self) -> Tensor:
        """e to the power of each element; ints are computed in float32."""
        return self._unary(t.exp)

    def log(self) -> Tensor:
        """The natural logarithm; -inf at 0, NaN below; ints are computed in float32."""
        return self._unary(t.log)

    def sqrt(self) -> Tensor:
        """The square root, NaN below 0; ints are computed in float32."""
        return self._unary(t.sqrt)

    def reciprocal(self) -> Tensor:
        """1 / x, rounded once; ints are computed in float32."""
        return self._unary(t.recip)

    def cast(self, dtype: object) -> Tensor:
        """Another element type. Floats to ints are cut towards zero and saturate, NaN becomes 0; ints to
        narrower ints wrap; bool is "not zero". Between floats gradients flow."""
        return Tensor._of(t.cast(self._node, as_dtype(dtype)))

    def __neg__(self) -> Tensor:
        node = self._node
        return Tensor._of(t.neg(node if node.dtype is not bool_ else t.cast(node, int32)))

    def __pos__(self) -> Tensor:
        return self

    def _arithmetic(self, other: Any, name: str, function: Callable[[Node, Node], Node], swap: bool = False) -> Tensor:
        pair = self._operands(name, self, other)
        if pair is None:
            return NotImplemented
        a, b = pair[::-1] if swap else pair
        if a.dtype is bool_:
            a, b = t.cast(a, int32), t.cast(b, int32)
        return Tensor._of(function(a, b))

    def __add__(self, other: Any) -> Tensor:
        return self._arithmetic(other, "add", t.add)

    def __radd__(self, other: Any) -> Tensor:
        return self._arithmetic(other, "add", t.add, swap=True)

    def __sub__(self, other: Any) -> Tensor:
        return self._arithmetic(other, "sub", _sub)

    def __rsub__(self, other: Any) -> Tensor:
        return self._arithmetic(other, "sub", _sub, swap=True)

    def __mul__(self, other: Any) -> Tensor:
        return self._arithmetic(other, "mul", t.mul)

    def __rmul__(self, other: Any) -> Tensor:
        return self._arithmetic(other, "mul", t.mul, swap=True)

    def __truediv__(self, other: Any) -> Tensor:
        return self._arithmetic(other, "div", _div)

    def __rtruediv__(self, other: Any) -> Tensor:
        return self._arithmetic(other, "div", _div, swap=True)

    def __matmul__(self, other: Any) -> Tensor:
        return self.matmul(other) if _is_data(other) else NotImplemented

    def __rmatmul__(self, other: Any) -> Tensor:
        return self._as_tensor(other).matmul(self) if _is_data(other) else NotImplemented

    # ---- movement: views, never copies where one View can say it

    def reshape(self, *shape: Any) -> Tensor:
        """The same elements in row-major order under another shape of equal size; one extent may be -1."""
        wanted = list(ints_of(shape, "reshape"))
        if wanted.count(-1) == 1:
            known = prod(n for n in wanted if n != -1)
            if known > 0 and self.size % known == 0:
                wanted[wanted.index(-1)] = self.size // known
        if any(n < 1 for n in wanted) or prod(wanted) != self.size:
            raise ValueError(
                f"reshape: {self.size} elements of shape {self.shape} do not fit {tuple(wanted)}; sizes must be equal"
            )
        return Tensor._of(t.reshape(self._node, wanted))

    def permute(self, *order: Any, dims: Any = None) -> Tensor:
        """Reorder the dims, permute(1, 0), permute((1, 0)) or permute(dims=(1, 0)): dim k of the result is the k-th
        of these."""
        given = one_way(order, dims, "permute", "dims")
        wanted = [self._dim(d, "permute") for d in ints_of(given, "permute")]
        if sorted(wanted) != list(range(self.ndim)):
            raise ValueError(f"permute: {tuple(wanted)} does not name each dim of shape {self.shape} once")
        return Tensor._of(t.move(self._node, View.contiguous(self.shape).permute(wanted)))

    def transpose(self, dim0: int = -2, dim1: int = -1) -> Tensor:
        """Swap two dims, the last two by default."""
        order = list(range(self.ndim))
        a, b = self._dim(dim0, "transpose"), self._dim(dim1, "transpose")
        order[a], order[b] = b, a
        return self.permute(order)

    @property
    def T(self) -> Tensor:
        """The dims in reverse order: the transpose of a matrix."""
        return self.permute(list(range(self.ndim))[::-1])

    @property
    def mT(self) -> Tensor:
        """Each matrix of a batch transposed: the last two dims swapped."""
        return self.transpose(-2, -1)

    def expand(self, *shape: Any) -> Tensor:
        """Repeat dims of extent 1 up to `shape`, which may have more leading dims; -1 keeps a dim. Takes no
        memory."""
        wanted = list(ints_of(shape, "expand"))
        lead = len(wanted) - self.ndim
        if lead >= 0:
            wanted = [self.shape[d - lead] if n == -1 and d >= lead else n for d, n in enumerate(wanted)]
        if (
            lead < 0
            or any(n < 1 for n in wanted)
            or any(n not in (1, w) for n, w in zip(self.shape, wanted[max(lead, 0) :]))
        ):
            raise ValueError(f"expand: shape {self.shape} does not expand to {tuple(wanted)}; only extents of 1 repeat")
        return Tensor._of(t.expand(self._node, tuple(wanted)))

    def pad(self, pads: Sequence[tuple[int, int]]) -> Tensor:
        """Add zeros (false) around: pads[d] = (before, after) for every dim."""
        pads = _pairs_of(pads, self.ndim, "pad", "(before, after)")
        if any(a < 0 or b < 0 for a, b in pads):
            raise ValueError(f"pad: counts must not be negative, got {pads}; use shrink or a slice to cut")
        return Tensor._of(t.move(self._node, View.contiguous(self.shape).pad(pads)))

    def shrink(self, bounds: Sequence[tuple[int, int]]) -> Tensor:
        """Keep start <= i < stop of every dim: bounds[d] = (start, stop)."""
        bounds = _pairs_of(bounds, self.ndim, "shrink", "(start, stop)")
        if any(not 0 <= a < b <= n for (a, b), n in zip(bounds, self.shape)):
            raise ValueError(f"shrink: bounds {bounds} do not lie in shape {self.shape}, or leave nothing")
        return Tensor._of(t.move(self._node, View.contiguous(self.shape).shrink(bounds)))

    def contiguous(self) -> Tensor:
        """The same values in memory of their own, once computed: a barrier for views and fusion."""
        return Tensor._of(t.contiguous(self._node))

    def __getitem__(self, key: Any) -> Tensor:
        """numpy's indexing: ints, slices with any step, None and Ellipsis as views; int tensors, arrays and lists
        pick elements, negative numbers counting from the end. A bool mask is refused: use where."""
        return indexing.index(self, key)

    def __setitem__(self, key: Any, value: Any) -> None:
        """x[key] = value, by `assign`: what was computed from x before keeps the old values. A number, or what
        broadcasts to the shape of x[key]; where an index tensor names an element twice, the last one counts."""
        indexing.assign(self, key, value)

    def __iter__(self) -> Iterator[Tensor]:
        if not self.shape:
            raise TypeError("iteration: a 0-d tensor has no rows; use .item()")
        return (self[k] for k in range(self.shape[0]))

    # ---- reductions

    def _dim(self, dim: int, name: str) -> int:
        if not isinstance(dim, int | np.integer) or isinstance(dim, bool):
            raise TypeError(f"{name}: a dim is an int, got {dim!r}")
        if not -self.ndim <= dim < self.ndim:
            rule = f"dims go from {-self.ndim} to {self.ndim - 1}" if self.ndim else "a 0-d tensor has none"
            raise IndexError(f"{name}: dim {dim} is outside shape {self.shape}; {rule}")
        return int(dim) % self.ndim

    def _line(self, dim: int, name: str) -> list[int]:
        """The one dim along which a function works, as a list; of a 0-d tensor none, named by 0 or -1, as torch."""
        if self.ndim:
            return [self._dim(dim, name)]
        if not isinstance(dim, int | np.integer) or isinstance(dim, bool):
            raise TypeError(f"{name}: a dim is an int, got {dim!r}")
        if dim not in (0, -1):
            raise IndexError(f"{name}: dim {dim} is outside shape (); of a 0-d tensor it is 0 or -1")
        return []

    def _axes(self, dim: Any, name: str, axis: Any = None, nothing: bool = False) -> list[int]:
        """The dims that a fold takes: None and () mean all of them, or () none if `nothing`. Those of a 0-d tensor, 0
        and -1, are none, as torch has it."""
        if axis is not None:
            if dim is not None:
                raise TypeError(f"{name}: dim={dim!r} and axis={axis!r} are two names for one argument; give one")
            dim = axis
        if dim is None or (isinstance(dim, tuple | list) and not dim and not nothing):
            return list(range(self.ndim))
        given = list(dim) if isinstance(dim, tuple | list) else [dim]
        axes = [d for one in given for d in self._line(one, name)]
        if len(set(axes)) != len(axes):
            raise ValueError(f"{name}: dim {dim} names a dim of shape {self.shape} twice")
        return axes

    def _reduced(self, node: Node, axes: Sequence[int], keep: bool) -> Tensor:
        return Tensor._of(node if keep else t.reshape(node, [n for d, n in enumerate(self.shape) if d not in axes]))

    def sum(self, dim: Any = None, keepdim: bool = False, *, axis: Any = None, keepdims: bool = False) -> Tensor:
        """The sum over one dim, a tuple of dims, or all. `axis` and `keepdims` are other names for `dim` and
        `keepdim`.

        bool, int8 and int16 are counted in int32, which wraps; halves total in float32 and round once.
        """
        axes = self._axes(dim, "sum", axis)
        wide = self._node if self.dtype.is_half else t.cast(self._node, sum_dtype(self.dtype))  # halves round once
        node = t.total(wide, axes)
        return self._reduced(node, axes, keepdim or keepdims)

    def max(self, dim: Any = None, keepdim: bool = False, *, axis: Any = None, keepdims: bool = False) -> Tensor:
        """The largest value over one dim, a tuple of dims, or all; NaN if there is one. Ties share the
        gradient evenly."""
        axes = self._axes(dim, "max", axis)
        return self._reduced(t.largest(self._node, axes), axes, keepdim or keepdims)

    def matmul(self, other: Any) -> Tensor:
        """The matrix product, as `@`: (..., m, k) by (..., k, n) with batch dims that broadcast; a 1-d
        operand is a row on the left, a column on the right, and its dim is dropped. Halves compute in float32
        and round once.

        It is recorded as a broadcast product and a sum, which the compiled devices fuse into one loop nest.
        """
        other = self._as_tensor(other)
        a, b = self._node, other._node
        if not a.shape or not b.shape:
            raise ValueError(
                f"matmul: shapes {self.shape} and {other.shape}; a 0-d operand has no rows, multiply with *"
            )
        if a.shape[-1] != b.shape[-2 if len(b.shape) > 1 else 0]:
            raise ValueError(
                f"matmul: shapes {self.shape} and {other.shape} do not fit: the last dim of the left operand and the "
                f"{'second last' if len(b.shape) > 1 else 'only'} dim of the right one must be equal"
            )
        meet = promote(a.dtype, b.dtype)
        compute = sum_dtype(meet)
        a, b = t.cast(a, compute), t.cast(b, compute)
        left, right, shape = _matmul_views(a.shape, b.shape)
        node = t.total(t.mul(t.move(a, left), t.move(b, right)), [len(left.shape) - 1])
        return Tensor._of(t.cast(t.reshape(node, shape), meet if meet.is_half else compute))


# ---- operands


def _array(data: Any, dtype: DType | None) -> tuple[np.ndarray, DType]:
    """The data as an array, and the dtype that it has as a tensor."""
    try:
        array = np.asarray(data)
    except ValueError as reason:
        why = "lists at one level differ in length" if "inhomogeneous" in str(reason) else reason
        raise ValueError(f"Tensor: the nested lists do not form an array: {why}; pad or cut them") from None
    except (TypeError, RuntimeError) as reason:  # of a tensor of another library
        raise TypeError(
            f"Tensor: numpy cannot read this {type(data).__name__}: {reason}; pass it detached, in host memory, in "
            "a dtype that numpy has"
        ) from None
    if array.size == 0:
        raise ValueError(f"Tensor: a tensor needs at least one element, got shape {array.shape}")
    stored, numbers = array.dtype.newbyteorder("="), _is_numbers(data)
    if stored.kind in "iu" and (numbers or stored not in BY_NUMPY):
        kind = int32
    elif stored == np.float64 and numbers:
        kind = float32
    elif stored in BY_NUMPY:
        kind = BY_NUMPY[stored]
    elif stored.kind == "O" and all(isinstance(v, int) for v in array.flat):
        raise OverflowError("Tensor: an int does not fit int32; pass floats or smaller numbers")
    else:
        raise TypeError(
            f"Tensor: cannot hold data of type {type(data).__name__} with dtype {array.dtype}; pass numbers, or lists "
            "or arrays of float, int or bool"
        )
    kind = kind if dtype is None else dtype
    if stored.kind in "iu" and kind.kind == "int":
        low, high = int(array.min()), int(array.max())
        if low < kind.min or high > kind.max:
            raise OverflowError(
                f"Tensor: values {low} to {high} do not fit {kind.name}, which holds {kind.min} to {kind.max}; "
                "pass floats or smaller numbers"
            )
    if stored.kind == "f" and kind.kind == "int":
        array = np.clip(np.trunc(np.nan_to_num(array.astype(np.float64))), kind.min, kind.max)
    return array, kind


def _is_numbers(data: Any) -> bool:
    """True for Python's numbers and nested lists of them, whose dtypes limn chooses; arrays bring their own."""
    while isinstance(data, list | tuple) and data:
        data = data[0]
    return isinstance(data, bool | int | float) and not isinstance(data, np.generic)


def _is_data(value: Any) -> bool:
    return isinstance(value, Tensor | np.ndarray | list | tuple) or hasattr(value, "__array__")


def _number(value: Any, dtype: DType, shape: tuple[int, ...]) -> Node:
    """A user's number beside a tensor."""
    if isinstance(value, np.generic):
        value = value.item()
    return t.scalar(check_scalar(value, dtype), shape, dtype)


def broadcast_shape(name: str, *shapes: tuple[int, ...]) -> tuple[int, ...]:
    """The common shape by numpy's rules; ValueError with all of them if there is none."""
    rank = max(map(len, shapes))
    result = []
    for d in range(-rank, 0):
        extents = {s[d] for s in shapes if len(s) >= -d}
        if len(extents - {1}) > 1:
            given = " and ".join(map(str, shapes))
            raise ValueError(
                f"{name}: shapes {given} do not broadcast; at dim {d} the extents {sorted(extents)} must be equal or 1"
            )
        result.append(max(extents))
    return tuple(result)


def _sub(a: Node, b: Node) -> Node:
    if b.op is ScalarTag and b.dtype.is_float:
        return t.add(a, t.scalar(-b.arg, b.shape, b.dtype))
    return t.add(a, t.neg(b))


def _div(a: Node, b: Node) -> Node:
    if not a.dtype.is_float:
        a, b = t.cast(a, float32), t.cast(b, float32)
    return t.div(a, b)


@lru_cache(maxsize=4096)
def _matmul_views(a: tuple[int, ...], b: tuple[int, ...]) -> tuple[View, View, tuple[int, ...]]:
    """Both operands as (..., m, n, k), the left one repeated along n, the right one along m; the product's shape."""
    left, right = a if len(a) > 1 else (1, *a), b if len(b) > 1 else (*b, 1)
    (m, k), n = left[-2:], right[-1]
    if not fit(left[:-2], right[:-2]):
        raise ValueError(
            f"matmul: shapes {a} and {b} do not fit: the batch dims {left[:-2]} and {right[:-2]} must broadcast"
        )
    batch = broadcast_shape("matmul", left[:-2], right[:-2])
    rank, whole = len(batch) + 3, (*batch, m, n, k)
    rows, columns = (*left[:-2], m, 1, k), (*right[:-2], 1, k, n)
    rows, columns = ((1,) * (rank - len(s)) + s for s in (rows, columns))
    transposed = View.contiguous(columns).permute([*range(rank - 2), rank - 1, rank - 2])
    shape = (*batch, *([m] if len(a) > 1 else []), *([n] if len(b) > 1 else []))
    return View.contiguous(rows).expand(whole), transposed.expand(whole), shape


def _pairs_of(pairs: Any, rank: int, name: str, what: str) -> list[tuple[int, int]]:
    good = isinstance(pairs, list | tuple) and all(isinstance(p, list | tuple) and len(p) == 2 for p in pairs)
    if not good or len(pairs) != rank:
        raise ValueError(f"{name}: expected {what} for each of {rank} dims, got {pairs!r}")
    return [(int(a), int(b)) for a, b in pairs]
