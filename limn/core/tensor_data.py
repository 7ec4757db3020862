"""Flat storage seen through a shape and strides: what a dense tensor is, without operations or gradients."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod
from typing import Any

import numpy as np

from limn.core.device import Device, resolve_device
from limn.core.ops import broadcast_index, index_to_position, shape_broadcast, strides_from_shape, to_index
from limn.dtypes import DType, as_dtype, check_scalar, float32, int32

__all__ = [
    "TensorData",
    "broadcast_index",
    "index_to_position",
    "shape_broadcast",
    "strides_from_shape",
    "to_index",
]


class TensorData:
    """Elements of `storage` under a shape.

    Args:
        storage: a 1-d array, which is shared, or a list of numbers (floats become float32, ints int32).
        shape: extents, all above 0.
        strides: elements from one index to the next of each dim, 0 to repeat; row-major unless given.
        device: a CPU device, by default resolve_device's.
    Raises:
        ValueError: where an index would leave the storage, or the device is no CPU. TypeError: another dtype.
        OverflowError: an int of a list that int32 does not hold.
    """

    __slots__ = ("device", "shape", "storage", "strides")

    def __init__(
        self,
        storage: Any,
        shape: Sequence[int],
        strides: Sequence[int] | None = None,
        device: Device | str | None = None,
    ):
        self.device = _cpu(device)
        if not isinstance(storage, np.ndarray):
            storage = _from_numbers(storage)
        if storage.ndim != 1:
            raise ValueError(f"TensorData: storage is flat, got shape {storage.shape}; pass array.reshape(-1)")
        as_dtype(storage.dtype)
        self.storage: np.ndarray[Any, np.dtype[Any]] = storage
        self.shape = _shape(shape)
        self.strides = strides_from_shape(self.shape) if strides is None else tuple(int(s) for s in strides)
        if len(self.strides) != len(self.shape):
            raise ValueError(f"TensorData: strides {self.strides} and shape {self.shape} differ in length")
        last = sum((n - 1) * s for n, s in zip(self.shape, self.strides))
        if any(s < 0 for s in self.strides) or last >= storage.size:
            raise ValueError(
                f"TensorData: shape {self.shape} with strides {self.strides} does not fit {storage.size} elements of "
                "storage; strides count elements, and are not negative"
            )

    @classmethod
    def zeros(cls, shape: Sequence[int], dtype: object = float32, device: Device | str | None = None) -> TensorData:
        return cls(np.zeros(prod(_shape(shape)), as_dtype(dtype).numpy), shape, device=device)

    @classmethod
    def ones(cls, shape: Sequence[int], dtype: object = float32, device: Device | str | None = None) -> TensorData:
        return cls(np.ones(prod(_shape(shape)), as_dtype(dtype).numpy), shape, device=device)

    @classmethod
    def empty(cls, shape: Sequence[int], dtype: object = float32, device: Device | str | None = None) -> TensorData:
        """Storage with whatever stands in it."""
        return cls(np.empty(prod(_shape(shape)), as_dtype(dtype).numpy), shape, device=device)

    @property
    def dims(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of elements under the shape, which may be more or fewer than the storage has."""
        return prod(self.shape)

    @property
    def dtype(self) -> DType:
        return as_dtype(self.storage.dtype)

    @property
    def is_contiguous(self) -> bool:
        """Whether the elements lie in row-major order without gaps; dims of extent 1 have no say."""
        expected = strides_from_shape(self.shape)
        return all(n == 1 or s == e for n, s, e in zip(self.shape, self.strides, expected))

    def __repr__(self) -> str:
        return (
            f"TensorData(shape={self.shape}, strides={self.strides}, dtype={self.dtype.name}, device='{self.device}')"
        )

    # ---- other shapes over the same storage

    def permute(self, *order: int) -> TensorData:
        """Dims in another order: dim k of the result is dim order[k]. ValueError unless each is named once."""
        if sorted(order) != list(range(self.dims)):
            raise ValueError(f"permute: {order} does not name each dim of shape {self.shape} once")
        shape, strides = [self.shape[d] for d in order], [self.strides[d] for d in order]
        return TensorData(self.storage, shape, strides, self.device)

    def broadcast_to(self, shape: Sequence[int]) -> TensorData:
        """Dims of extent 1, and new leading ones, repeated by a stride of 0. ValueError where it does not broadcast."""
        shape = _shape(shape)
        if shape_broadcast(self.shape, shape) != shape:
            raise ValueError(f"shape {self.shape} does not broadcast to {shape}; only extents of 1 repeat")
        strides = [s if n == m else 0 for n, m, s in zip(self.shape, shape[len(shape) - self.dims :], self.strides)]
        return TensorData(self.storage, shape, [0] * (len(shape) - self.dims) + strides, self.device)

    def reshape(self, *shape: int) -> TensorData:
        """The same elements in row-major order: over the same storage where they lie so, over a copy otherwise.
        ValueError for another number of elements."""
        if prod(_shape(shape)) != self.size:
            raise ValueError(f"reshape: {self.size} elements of shape {self.shape} do not fit {shape}")
        return TensorData(self.contiguous().storage, shape, None, self.device)

    def contiguous(self) -> TensorData:
        """This, or a row-major copy where it does not lie so."""
        return self if self.is_contiguous else TensorData(self.to_numpy().reshape(-1), self.shape, None, self.device)

    # ---- elements

    def numpy_view(self) -> np.ndarray[Any, np.dtype[Any]]:
        """An array over the same storage: what is written to one shows in the other."""
        steps = [s * self.storage.strides[0] for s in self.strides]  # of storage that may be a strided array itself
        return np.lib.stride_tricks.as_strided(self.storage, self.shape, steps)

    def to_numpy(self) -> np.ndarray[Any, np.dtype[Any]]:
        """A copy as an array of this shape."""
        return self.numpy_view().copy()

    def indices(self) -> Iterator[tuple[int, ...]]:
        """Each index once, in row-major order."""
        return (to_index(ordinal, self.shape) for ordinal in range(self.size))

    def _position(self, index: Sequence[int]) -> int:
        if (
            not isinstance(index, Sequence)
            or len(index) != self.dims
            or any(not 0 <= i < n for i, n in zip(index, self.shape))
        ):
            raise IndexError(f"index {index!r} is outside shape {self.shape}; it is a tuple of {self.dims} ints")
        return index_to_position(index, self.strides)

    def get(self, index: Sequence[int]) -> Any:
        """The element at an index, a numpy scalar. IndexError outside the shape."""
        return self.storage[self._position(index)]

    def set(self, index: Sequence[int], value: Any) -> None:
        """Write the element at an index; where it repeats, all its places change. IndexError outside the shape."""
        self.storage[self._position(index)] = value


def _from_numbers(numbers: Any) -> np.ndarray[Any, np.dtype[Any]]:
    array = np.asarray(numbers)
    if array.dtype.kind != "i":
        return array.astype(np.float32) if array.dtype.kind == "f" else array
    for number in (array.min(), array.max()) if array.size else ():
        check_scalar(int(number), int32)
    return array.astype(np.int32)


def _shape(shape: Sequence[int]) -> tuple[int, ...]:
    if not isinstance(shape, Sequence) or not all(isinstance(n, int | np.integer) and n > 0 for n in shape):
        raise ValueError(f"TensorData: a shape is a tuple of positive ints, got {shape!r}")
    return tuple(int(n) for n in shape)


def _cpu(device: Device | str | None) -> Device:
    found = resolve_device(device)
    if not found.is_cpu:
        raise ValueError(f"TensorData lives in the memory of the host, not on {found}; use cpu, or a Tensor and .to()")
    return found
