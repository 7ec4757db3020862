"""Flat memory. A `Buffer` is one version of some storage: its bytes are written once, by the plan that makes
it, and then only read. An assign makes a new Buffer; who holds the old one keeps seeing the values of its
day."""

from __future__ import annotations

from typing import Any

import numpy as np

from limn.dtypes import DType

ALIGNMENT = 64  # bytes: a cache line, and the widest vector of today's machines


class Buffer:
    """`size` elements of `dtype`, uninitialised; `array` is the 1-d numpy array over them, aligned to 64
    bytes, and `address` is where they begin."""

    __slots__ = ("__weakref__", "address", "array", "dtype", "size")

    def __init__(self, dtype: DType, size: int):
        self.dtype, self.size = dtype, size
        raw = np.empty(size * dtype.itemsize + ALIGNMENT, np.uint8)
        place = raw.__array_interface__["data"][0]
        start = -place % ALIGNMENT
        self.address = place + start  # asking numpy for it costs a microsecond, so it is asked once
        self.array: np.ndarray[Any, np.dtype[Any]] = np.ndarray((size,), dtype.numpy, raw, start)

    @staticmethod
    def of(array: np.ndarray[Any, np.dtype[Any]], dtype: DType) -> Buffer:
        """A buffer with a copy of an array's elements in row-major order."""
        buffer = Buffer(dtype, array.size)
        buffer.array.reshape(array.shape)[...] = array
        return buffer

    def __repr__(self) -> str:
        return f"Buffer({self.dtype.name}, {self.size})"
