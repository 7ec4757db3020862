"""Random tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from limn import random
from limn.dtypes import DType, as_dtype, float32, float64
from limn.functions.pieces import shape_of

if TYPE_CHECKING:
    from limn.tensor import Tensor


class Sampling:
    """Constructors of random tensors, as class methods."""

    __slots__ = ()

    @classmethod
    def randn(cls, *shape: Any, dtype: object = float32, requires_grad: bool = False) -> Tensor:
        """Independent normal numbers of mean 0 and variance 1."""
        kind = as_dtype(dtype)
        drawn = random.generator().standard_normal(shape_of(shape, "randn"), _drawn_in(kind))
        return cls(drawn, dtype=kind, requires_grad=requires_grad)

    @classmethod
    def uniform(
        cls, *shape: Any, low: float = 0.0, high: float = 1.0, dtype: object = float32, requires_grad: bool = False
    ) -> Tensor:
        """Independent numbers spread evenly over low <= x < high."""
        kind = as_dtype(dtype)
        drawn = low + (high - low) * random.generator().random(shape_of(shape, "uniform"), _drawn_in(kind))
        below = np.nextafter(drawn.dtype.type(high), drawn.dtype.type(low))  # rounding must not reach high
        return cls(np.minimum(drawn, below), dtype=kind, requires_grad=requires_grad)


def _drawn_in(dtype: DType) -> type:
    return np.float64 if dtype is float64 else np.float32
