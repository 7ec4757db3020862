"""Flat memory. A `Buffer` is one version of some storage: its bytes are written once, by the plan that makes
it, and then only read. An assign makes a new Buffer; who holds the old one keeps seeing the values of its
day."""

from __future__ import annotations

import os
import sys
import threading
from typing import Any

import numpy as np

from limn.dtypes import DType

ALIGNMENT = 64  # bytes: a cache line, and the widest vector of today's machines

POOLED = 1 << 16  # bytes: from here on the C library asks the system for pages, which costs more than a row kernel
POOL_LIMIT = 1 << 28  # bytes that the pool may hold back from the system


class _Pool:
    """Memory of dead buffers, by size, for the next buffer of that size. A training step makes the same sizes each
    time; fresh pages for them take longer than many of its kernels."""

    def __init__(self) -> None:
        self.free: dict[int, list[np.ndarray[Any, np.dtype[np.uint8]]]] = {}
        self.held = 0
        self.renew_lock()
        if hasattr(os, "register_at_fork"):  # whoever holds the lock at a fork does not live in the child
            os.register_at_fork(after_in_child=self.renew_lock)

    def renew_lock(self) -> None:
        """A lock that nobody holds."""
        self.lock = threading.RLock()  # a buffer may die in the middle of `take`, by garbage collection

    def take(self, size: int) -> np.ndarray[Any, np.dtype[np.uint8]]:
        """Uninitialised bytes."""
        if size >= POOLED:
            with self.lock:
                if blocks := self.free.get(size):
                    self.held -= size
                    return blocks.pop()
        return np.empty(size, np.uint8)

    def give(self, block: np.ndarray[Any, np.dtype[np.uint8]]) -> None:
        """Keep a block that nothing else refers to; when the pool is full, everything it holds goes back first."""
        size = block.size
        with self.lock:
            if self.held + size > POOL_LIMIT:
                self.free.clear()
                self.held = 0
            if size <= POOL_LIMIT:
                self.free.setdefault(size, []).append(block)
                self.held += size


_pool = _Pool()


class Buffer:
    """`size` elements of `dtype`, uninitialised; `array` is the 1-d numpy array over them, aligned to 64
    bytes, and `address` is where they begin. `device` names the device that the values are bound to; None is
    whichever is current."""

    __slots__ = ("__weakref__", "_block", "address", "array", "device", "dtype", "size")
    device: str | None

    def __init__(self, dtype: DType, size: int):
        self.dtype, self.size, self.device = dtype, size, None
        raw = self._block = _pool.take(size * dtype.itemsize + ALIGNMENT)
        place = raw.__array_interface__["data"][0]
        start = -place % ALIGNMENT
        self.address = place + start  # asking numpy for it costs a microsecond, so it is asked once
        self.array: np.ndarray[Any, np.dtype[Any]] = np.ndarray((size,), dtype.numpy, raw, start)

    def __del__(self) -> None:
        # The array and every view of it refer to the block; two references are this name and the call's argument.
        block = getattr(self, "_block", None)
        if block is None or block.size < POOLED:
            return
        del self._block, self.array
        if sys.getrefcount(block) == 2:
            _pool.give(block)

    @staticmethod
    def of(array: np.ndarray[Any, np.dtype[Any]], dtype: DType) -> Buffer:
        """A buffer with a copy of an array's elements in row-major order."""
        buffer = Buffer(dtype, array.size)
        buffer.array.reshape(array.shape)[...] = array
        return buffer

    @staticmethod
    def over(array: np.ndarray[Any, np.dtype[Any]], dtype: DType) -> Buffer:
        """A buffer over the memory of a row-major array of this dtype, which is kept alive; aligned as that is."""
        buffer = object.__new__(Buffer)
        buffer.dtype, buffer.size, buffer.device = dtype, array.size, None
        buffer.array = array.reshape(-1)
        buffer.address = array.__array_interface__["data"][0]
        return buffer

    def __repr__(self) -> str:
        return f"Buffer({self.dtype.name}, {self.size})"
