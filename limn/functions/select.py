"""Elements and rows picked by int tensors. Every index is checked when the result is computed; one outside its table
is an IndexError then. These functions take no negative indices, as torch; `x[index]` does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from limn import trace as t
from limn.dtypes import int32
from limn.functions.pieces import checked, iota, row_numbers, same

if TYPE_CHECKING:
    from limn.tensor import Tensor


class Select:
    """Methods with an index argument: a tensor, an array or a list of ints."""

    __slots__ = ()

    def gather_rows(self, rows: Any) -> Tensor:
        """Rows of this table (V, ...) at int row numbers (I...): a tensor (I..., ...). A number outside 0 to
        V - 1, negative ones too, is an IndexError when the result is computed. Repeated rows add up in the
        gradient."""
        return self._of(t.gather(self._node, row_numbers(self, rows, "gather_rows")))

    def index_select(self, dim: int, index: Any) -> Tensor:
        """The slices along `dim` at a vector of positions, in its order."""
        at = self._dim(dim, "index_select")
        index = self._as_tensor(index)
        if index.ndim > 1:
            raise ValueError(f"index_select: the index has shape {index.shape}; it must be a vector")
        front = self.movedim(at, 0)
        return self._of(t.gather(front._node, row_numbers(front, index.reshape(-1), "index_select"))).movedim(0, at)

    def gather(self, dim: int, index: Any) -> Tensor:
        """result[i][j] = self[index[i][j]][j] for dim 0, self[i][index[i][j]] for dim 1, and so on: a tensor of the
        shape of `index`, which has as many dims as this one and is no larger in the others."""
        at, index = self._dim(dim, "gather"), self._as_tensor(index)
        if index.ndim != self.ndim or any(m > n for d, (m, n) in enumerate(zip(index.shape, self.shape)) if d != at):
            raise ValueError(
                f"gather: the index has shape {index.shape}, the tensor {self.shape}; it must have as many dims and be "
                f"no larger in dims other than {dim}"
            )
        bounds = [(0, n if d == at else index.shape[d]) for d, n in enumerate(self.shape)]
        return self.shrink(bounds)._along(at, index, "gather")

    def take_along_dim(self, index: Any, dim: int | None = None) -> Tensor:
        """As `gather`, but the index and this tensor broadcast in the other dims; without `dim` both are flattened."""
        index = self._as_tensor(index)
        if dim is None:
            return self.reshape(-1)._along(0, index.reshape(-1), "take_along_dim")
        at = self._dim(dim, "take_along_dim")
        if index.ndim != self.ndim or any(
            m != n and 1 not in (m, n) for d, (m, n) in enumerate(zip(index.shape, self.shape)) if d != at
        ):
            raise ValueError(
                f"take_along_dim: the index has shape {index.shape}, the tensor {self.shape}; they must have as many "
                f"dims and broadcast in those other than {dim}"
            )
        shape = [max(m, n) for m, n in zip(index.shape, self.shape)]
        table = self.expand([self.shape[at] if d == at else n for d, n in enumerate(shape)])
        return table._along(
            at, index.expand([index.shape[at] if d == at else n for d, n in enumerate(shape)]), "take_along_dim"
        )

    def _along(self, at: int, index: Tensor, name: str) -> Tensor:
        """`gather` of a tensor that has the extents of the index in all dims but one."""
        rows = row_numbers(self, index, name)
        table, picked = self.movedim(at, -1), self._of(rows).movedim(at, -1)
        n, shape = self.shape[at], picked.shape
        flat = table.reshape(-1, n)
        lines = t.reshape(picked._node, [flat.shape[0], picked.size // flat.shape[0]])
        if flat.shape[0] > 1:
            start = t.mul(iota(lines.shape, 0), t.const(n, lines.shape, int32))
            lines = t.add(start, checked(lines, n))
        return self._of(t.reshape(t.gather(flat.reshape(-1)._node, lines), shape)).movedim(-1, at)

    def index_add(self, dim: int, index: Any, source: Any, alpha: float = 1) -> Tensor:
        """This tensor with alpha * source[.., k, ..] added at position index[k] along `dim`; positions that stand
        several times collect all. The source has the shape of this tensor, but as many slices as the index."""
        at, index, source = self._dim(dim, "index_add"), self._as_tensor(index), self._as_tensor(source)
        wanted = tuple(index.size if d == at else n for d, n in enumerate(self.shape))
        if index.ndim > 1 or source.shape != wanted:
            raise ValueError(
                f"index_add: the source has shape {source.shape}, the index {index.shape}; for dim {dim} of shape "
                f"{self.shape} the index must be a vector and the source {wanted}"
            )
        if source.dtype is not self.dtype:
            raise TypeError(
                f"index_add: the tensor is {self.dtype.name}, the source {source.dtype.name}; "
                f"use .cast({self.dtype.name})"
            )
        scaled = source if alpha == 1 else source * alpha
        numbers = row_numbers(self.movedim(at, 0), index.reshape(-1), "index_add")
        added = t.scatter(scaled.movedim(at, 0)._node, numbers, self.shape[at])
        return self + self._of(added).movedim(0, at)

    def one_hot(self, num_classes: int = -1) -> Tensor:
        """Of ints (I...) the int32 tensor (I..., num_classes) with 1 at each one's position and 0 elsewhere. Without
        num_classes the values are computed now, and it is the largest plus 1. A value outside 0 to num_classes - 1 is
        an IndexError when the result is computed."""
        if self.dtype.kind != "int":
            raise TypeError(f"one_hot: positions must be ints, got {self.dtype.name}; cast it to int32")
        if num_classes == -1:
            num_classes = int(self.max().item()) + 1
        if not isinstance(num_classes, int | np.integer) or num_classes < 1:
            raise ValueError(f"one_hot: num_classes is a positive int, got {num_classes!r}")
        positions = checked(t.cast(self._node, int32), int(num_classes))
        shape = (*self.shape, int(num_classes))
        spread = t.expand(t.reshape(positions, [*self.shape, 1]), shape)
        return self._of(t.cast(same(iota(shape, self.ndim), spread), int32))
