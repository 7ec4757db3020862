"""Elements and rows picked by int tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from limn import trace as t
from limn.indexing import row_numbers

if TYPE_CHECKING:
    from limn.tensor import Tensor


class Select:
    """Every index is checked when the result is computed; one outside its table is an IndexError."""

    __slots__ = ()

    def gather_rows(self, rows: Any) -> Tensor:
        """Rows of this table (V, ...) at int row numbers (I...): a tensor (I..., ...). A number outside 0 to
        V - 1, negative ones too, is an IndexError when the result is computed. Repeated rows add up in the
        gradient."""
        return self._of(t.gather(self._node, row_numbers(self, rows, "gather_rows")))
