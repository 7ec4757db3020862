"""Products with sums: einsum and its special cases.

Two operands are recorded as `matmul` records them, one broadcast product and one sum, in which the compiled devices
recognise a contraction: one kernel that never holds the product.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from limn import trace as t
from limn.dtypes import promote
from limn.functions.pieces import ints_of, sum_dtype
from limn.trace import Node
from limn.view import View, row_major

if TYPE_CHECKING:
    from limn.tensor import Tensor

DOTS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


class Linear:
    """Products of vectors, matrices and batches of them."""

    __slots__ = ()

    def outer(self, vec2: Any) -> Tensor:
        """The product of each element of this vector (m) with each of another (n): (m, n)."""
        other = self._as_tensor(vec2)
        _want(self, 1, "outer", "vectors", other)
        return self.reshape(-1, 1) * other.reshape(1, -1)

    def dot(self, other: Any) -> Tensor:
        """The sum of the products of two vectors of equal length."""
        other = self._as_tensor(other)
        _want(self, 1, "dot", "vectors", other)
        if self.shape != other.shape:
            raise ValueError(f"dot: shapes {self.shape} and {other.shape}; the vectors must be of equal length")
        return self.matmul(other)

    def mm(self, mat2: Any) -> Tensor:
        """The product of two matrices, without broadcasting."""
        other = self._as_tensor(mat2)
        _want(self, 2, "mm", "matrices", other)
        return self.matmul(other)

    def bmm(self, mat2: Any) -> Tensor:
        """The products of two batches of matrices, (b, m, k) by (b, k, n), without broadcasting."""
        other = self._as_tensor(mat2)
        _want(self, 3, "bmm", "batches of matrices", other)
        if self.shape[0] != other.shape[0]:
            raise ValueError(
                f"bmm: shapes {self.shape} and {other.shape}; the batches must be of equal size, matmul broadcasts them"
            )
        return self.matmul(other)

    def tensordot(self, other: Any, dims: Any = 2) -> Tensor:
        """The sum of products over the last `dims` dims of this tensor and the first of the other, or over two lists
        of dims. The result has the dims that are left of the first, then those of the second."""
        other = self._as_tensor(other)
        if isinstance(dims, int) and not isinstance(dims, bool):
            if not 0 <= dims <= min(self.ndim, other.ndim):
                raise ValueError(f"tensordot: {dims} dims of shapes {self.shape} and {other.shape}; there are fewer")
            pair = [list(range(self.ndim - dims, self.ndim)), list(range(dims))]
        elif isinstance(dims, tuple | list) and len(dims) == 2 and all(isinstance(ds, tuple | list) for ds in dims):
            pair = [[x._dim(d, "tensordot") for d in ints_of((ds,), "tensordot")] for x, ds in zip((self, other), dims)]
        else:
            raise TypeError(f"tensordot: dims is an int or two lists of ints, got {dims!r}; write ([0, 1], [1, 0])")
        left, right = pair
        if len(set(left)) != len(left) or len(set(right)) != len(right):
            raise ValueError(f"tensordot: dims {left} and {right} of {self.shape} and {other.shape} name a dim twice")
        if len(left) != len(right) or any(self.shape[a] != other.shape[b] for a, b in zip(left, right)):
            raise ValueError(
                f"tensordot: dims {left} of shape {self.shape} and {right} of {other.shape} differ; they are summed "
                "in pairs and must be equal"
            )
        mine = list(range(self.ndim))
        theirs = [self.ndim + d for d in range(other.ndim)]
        for a, b in zip(left, right):
            theirs[b] = a
        kept = [d for d in mine if d not in left] + [d for d in theirs if d not in left]
        return _contract(self, mine, other, theirs, kept)


def _want(a: Tensor, ndim: int, name: str, what: str, b: Tensor) -> None:
    if a.ndim != ndim or b.ndim != ndim:
        raise ValueError(f"{name}: shapes {a.shape} and {b.shape}; expected two {what}, matmul takes other shapes")


def einsum(equation: str, *operands: Any) -> Tensor:
    """Einstein's sum, as torch.einsum: "bik,bkj->bij". Letters name dims; those not in the output are summed, a letter
    that stands twice in one operand takes its diagonal, "..." stands for leading dims that broadcast. Without "->" the
    output has the letters that occur once, sorted. Operands meet from left to right, each pair in one contraction;
    choose the order that keeps them small.

    Halves compute in float32 and round after each pair. ValueError for an equation that does not fit the shapes.
    """
    if not isinstance(equation, str):
        raise TypeError(
            f"einsum: an equation is a str such as 'ij,jk->ik', got {type(equation).__name__}; it comes first"
        )
    tensors = list(operands[0]) if len(operands) == 1 and isinstance(operands[0], list | tuple) else list(operands)
    if not tensors or not all(hasattr(x, "_node") for x in tensors):
        given = ", ".join(type(x).__name__ for x in tensors) or "nothing"
        raise TypeError(f"einsum: takes an equation and tensors, got {given} as operands; make them with Tensor(data)")
    terms, output = _letters(equation, tensors)
    sizes: dict[str, int] = {}
    for letters, x in zip(terms, tensors):
        for letter, extent in zip(letters, x.shape):
            known = sizes.setdefault(letter, extent)
            if known != extent and 1 not in (known, extent):
                raise ValueError(
                    f"einsum: in {equation!r} the letter {letter!r} names extents {known} and {extent}; they must be "
                    f"equal, the shapes are {' and '.join(str(x.shape) for x in tensors)}"
                )
            sizes[letter] = max(known, extent)
    if missing := [letter for letter in output if letter not in sizes]:
        raise ValueError(f"einsum: the output letter {missing[0]!r} of {equation!r} is in no operand")
    tensors = [_diagonal(x, letters) for x, letters in zip(tensors, terms)]
    terms = [list(dict.fromkeys(letters)) for letters in terms]
    result, have = tensors[0], terms[0]
    for position in range(1, len(tensors)):
        later = {letter for letters in terms[position + 1 :] for letter in letters} | set(output)
        kept = list(dict.fromkeys(letter for letter in [*have, *terms[position]] if letter in later))
        if position == len(tensors) - 1:
            kept = output
        result, have = _contract(result, have, tensors[position], terms[position], kept), kept
    if len(tensors) == 1:
        gone = [d for d, letter in enumerate(have) if letter not in output]
        result = result.sum(gone) if gone else result
        have = [letter for letter in have if letter in output]
        result = result.permute([have.index(letter) for letter in output]) if output else result
    return result


def _letters(equation: str, tensors: list[Tensor]) -> tuple[list[list[str]], list[str]]:
    """The letters of each operand and of the output. Dims under "..." get capitals that the equation does not use."""
    text = equation.replace(" ", "")
    left, arrow, right = text.partition("->")
    inputs = left.split(",")
    if len(inputs) != len(tensors):
        raise ValueError(f"einsum: {equation!r} names {len(inputs)} operands, got {len(tensors)} tensors")
    free = [letter for letter in DOTS if letter not in text]
    widest, terms = 0, []
    for term, x in zip(inputs, tensors):
        head, dots, tail = term.partition("...")
        named = head + tail
        if not all(c.isascii() and c.isalpha() for c in named):
            raise ValueError(f"einsum: {term!r} in {equation!r} must be letters and at most one '...'")
        extra = x.ndim - len(named)
        if extra < 0 or (extra > 0 and not dots):
            raise ValueError(
                f"einsum: {term!r} in {equation!r} names {len(named)} dims, the shape {x.shape} has {x.ndim}"
            )
        terms.append([*head, *reversed(free[:extra]), *tail])
        widest = max(widest, extra)
    leading = list(reversed(free[:widest]))
    if not arrow:
        letters = [c for c in left if c.isalpha()]
        return terms, leading + sorted(c for c in set(letters) if letters.count(c) == 1)
    head, dots, tail = right.partition("...")
    output = [*head, *(leading if dots else []), *tail]
    if not all(c.isascii() and c.isalpha() for c in output) or len(set(output)) != len(output):
        raise ValueError(f"einsum: the output {right!r} of {equation!r} must be letters, each once")
    return terms, output


def _diagonal(x: Tensor, letters: list[str]) -> Tensor:
    """x with each letter once: a dim for a letter that stands twice walks along both."""
    if len(set(letters)) == len(letters):
        return x
    extents: dict[str, int] = {}
    strides: dict[str, int] = {}
    for letter, extent, stride in zip(letters, x.shape, row_major(x.shape)):
        extents[letter] = max(extents.get(letter, 1), extent)
        strides[letter] = strides.get(letter, 0) + stride
    return x._of(t.move(x._node, View.of(list(extents.values()), list(strides.values()))))


def _contract(a: Tensor, a_dims: list[Any], b: Tensor, b_dims: list[Any], kept: list[Any]) -> Tensor:
    """The sum of a * b over the dims that are not kept. Dims are named; extents of 1 repeat."""
    meet = promote(a.dtype, b.dtype)
    compute = sum_dtype(meet)
    # what only one of them has is summed before they meet
    x, x_dims = _summed(a.cast(compute), a_dims, {*kept, *b_dims})
    y, y_dims = _summed(b.cast(compute), b_dims, {*kept, *a_dims})
    summed = [d for d in dict.fromkeys([*x_dims, *y_dims]) if d not in kept]
    order = [*kept, *summed]
    x, y = _aligned(x, x_dims, order), _aligned(y, y_dims, order)
    shape = tuple(max(m, n) for m, n in zip(x.shape, y.shape))
    node: Node = t.mul(t.expand(x._node, shape), t.expand(y._node, shape))
    if summed:
        node = t.reshape(t.total(node, list(range(len(kept), len(order)))), shape[: len(kept)])
    return a._of(t.cast(node, meet if meet.is_half else compute))


def _summed(x: Tensor, dims: list[Any], wanted: set[Any]) -> tuple[Tensor, list[Any]]:
    gone = [position for position, d in enumerate(dims) if d not in wanted]
    return (x.sum(gone) if gone else x), [d for d in dims if d in wanted]


def _aligned(x: Tensor, dims: list[Any], order: list[Any]) -> Tensor:
    """x with its dims in this order, extents of 1 for those it has not."""
    x = x.permute([dims.index(d) for d in order if d in dims]) if dims else x
    extents = iter(x.shape)
    return x.reshape([next(extents) if d in dims else 1 for d in order])
