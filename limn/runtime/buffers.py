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
    bytes."""

    __slots__ = ("__weakref__", "array", "dtype", "size")

    def __init__(self, dtype: DType, size: int):
        self.dtype, self.size = dtype, size
        raw = np.empty(size * dtype.itemsize + ALIGNMENT, np.uint8)
        start = -raw.ctypes.data % ALIGNMENT
        self.array: np.ndarray[Any, np.dtype[Any]] = raw[start : start + size * dtype.itemsize].view(dtype.numpy)

    @staticmethod
    def of(array: np.ndarray[Any, np.dtype[Any]], dtype: DType) -> Buffer:
        """A buffer with a copy of an array's elements in row-major order."""
        buffer = Buffer(dtype, array.size)
        buffer.array.reshape(array.shape)[...] = array
        return buffer

    def __repr__(self) -> str:
        return f"Buffer({self.dtype.name}, {self.size})"
