"""Tensors and the world around them: devices, DLPack, raw files, pickle, copies. `Tensor` inherits these methods.

Where things run. Host devices (numpy, c) share the memory of the host, so an ordinary tensor belongs to none of them: a
batch runs on the current device. `t.to("c")` gives a tensor that is bound to one. A batch that reads a bound tensor
runs on its device, whatever the current one is, and its results are bound to it too; ordinary tensors go along. A batch
that reads tensors bound to two devices is an error.

What is shared. `Tensor(array)` copies, and so does `numpy()`: no array changes a tensor, and no tensor an array. DLPack
shares, both ways, as everywhere: bytes written on one side are seen on the other, and by every expression over them
that is not computed yet.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np

from limn import trace as t
from limn.core.device import Device, resolve_device
from limn.dtypes import BY_NUMPY, as_dtype, bfloat16
from limn.functions.pieces import shape_of
from limn.importer import sources_first
from limn.realize import realize_nodes
from limn.runtime import Buffer, find_device, get_device
from limn.trace import Leaf, Node
from limn.view import View

if TYPE_CHECKING:
    from limn.tensor import Tensor


class Interop:
    """The methods of a tensor that reach outside of limn."""

    __slots__ = ()

    # ---- devices

    @property
    def device(self) -> Device:
        """Where the values are bound to, or what they come from is; the current device where nothing is bound."""
        for node in sources_first([self._node]):
            if node.realized is not None and node.realized.device is not None:
                return Device(node.realized.device)
        return Device(get_device().name)

    def to(self, device: Device | str) -> Tensor:
        """This tensor on a device: a Device, or "numpy", "c", "cpu", "cuda". Computes the values if they are not known.
        Between host devices no byte moves. Gradients flow back.

        ValueError for an unknown device, RuntimeError with the reason for one that does not work here.
        """
        wanted = resolve_device(device)
        name = find_device(str(wanted) if wanted.index else wanted.type).name
        realize_nodes([self._node])
        node = self._node
        assert node.realized is not None
        if node.realized.device == name:
            return self
        bound = Buffer.over(node.realized.array, node.dtype)
        bound.device = name
        return self._of(t.with_rule(t.buffer_node(bound, node.shape), (node,), lambda _, g: [g]))

    # ---- DLPack

    def __dlpack__(
        self, *, stream: Any = None, max_version: Any = None, dl_device: Any = None, copy: bool | None = None
    ) -> Any:
        """The values for another library, which shares their bytes unless `copy` is True. BufferError for a tensor that
        requires gradients, and for bfloat16."""
        if self.requires_grad:
            raise BufferError("DLPack carries no gradients and this tensor requires them; pass t.detach()")
        if self.dtype is bfloat16:
            raise BufferError("numpy, which makes the capsule, knows no bfloat16; pass t.cast(float32)")
        if dl_device is not None and tuple(dl_device) != self.__dlpack_device__():
            raise BufferError(
                f"this tensor is in the memory of the host, (1, 0), not on {tuple(dl_device)}; copy it there"
            )
        asked = {"max_version": max_version} if max_version is not None else {}
        return (self.numpy() if copy else _values(self._node)).__dlpack__(**asked)

    def __dlpack_device__(self) -> tuple[int, int]:
        """(1, 0): DLPack's word for the memory of the host."""
        return (1, 0)

    @classmethod
    def from_dlpack(cls, source: Any) -> Tensor:
        """A tensor over the bytes of an array of another library. Copies only what is not row-major, or of a dtype
        that limn has not (int64 and unsigned ones become int32 if every value fits).

        TypeError for an object without `__dlpack__`, BufferError for what numpy cannot take: another device, bfloat16.
        """
        if not hasattr(source, "__dlpack__"):
            raise TypeError(f"from_dlpack: {type(source).__name__} has no __dlpack__; use Tensor(data), which copies")
        try:
            array = np.from_dlpack(source)
        except (BufferError, RuntimeError, TypeError, ValueError) as reason:
            raise BufferError(f"from_dlpack: {reason}; pass it detached, in host memory, not as bfloat16") from None
        if array.size == 0 or array.dtype not in BY_NUMPY or not array.flags.c_contiguous:
            return cls(array)
        return cls._of(t.buffer_node(Buffer.over(array, BY_NUMPY[array.dtype]), array.shape))

    # ---- raw files

    @classmethod
    def fromfile(cls, path: str | os.PathLike[str], dtype: object, shape: Any = None) -> Tensor:
        """The elements of a raw file, as `t.numpy().tofile(path)` writes them: row-major, in this machine's byte order,
        nothing else. `shape` is a tuple; without it one dim.

        ValueError for a file of another size, naming both.
        """
        kind = as_dtype(dtype)
        try:
            raw = np.fromfile(os.fspath(path), np.uint8)
        except TypeError:
            raise TypeError(f"fromfile: a path is a str or a Path, got {path!r}") from None
        wanted = (max(raw.size // kind.itemsize, 1),) if shape is None else shape_of((shape,), "fromfile")
        size = View.contiguous(wanted).size * kind.itemsize
        if size != raw.size:
            raise ValueError(
                f"fromfile: {os.fspath(path)} has {raw.size} bytes, {wanted} of {kind.name} takes "
                f"{size}; give the shape and dtype it was written with"
            )
        return cls(raw.view(kind.numpy).reshape(wanted))

    # ---- pickle and copies

    def _only_leaves(self, name: str) -> None:
        if not self.is_leaf:
            raise RuntimeError(
                f"{name}: this tensor of shape {self.shape} is computed from others that require gradients, which a "
                "copy would not follow; use t.detach()"
            )

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled as values, which are computed now, with requires_grad, grad and the device it is bound to.
        RuntimeError where gradients flow on to other tensors."""
        self._only_leaves("pickle")
        realize_nodes([self._node])
        device = self._node.realized.device
        return _restored, (type(self), self.numpy(), self.requires_grad, self.grad, device)

    def __copy__(self) -> Tensor:
        """Another tensor with this value and gradient, over the same bytes; assigning to one leaves the other."""
        leaf = isinstance(self._node.grad, Leaf)
        made = self.detach().requires_grad_() if leaf else self._of(self._node)
        made._grad = self._grad
        return made

    def __deepcopy__(self, memo: dict[int, Any]) -> Tensor:
        """Another tensor over bytes of its own. RuntimeError where gradients flow on to other tensors."""
        if id(self) not in memo:
            self._only_leaves("deepcopy")
            restore, given = self.__reduce__()
            kind, array, requires_grad, grad, device = given
            memo[id(self)] = restore(
                kind, array, requires_grad, grad.__deepcopy__(memo) if grad is not None else None, device
            )
        return memo[id(self)]


def _values(node: Node) -> np.ndarray[Any, np.dtype[Any]]:
    """The bytes themselves, as an array."""
    realize_nodes([node])
    assert node.realized is not None
    return node.realized.array.reshape(node.shape)


def _restored(
    kind: type[Tensor],
    array: np.ndarray[Any, np.dtype[Any]],
    requires_grad: bool,
    grad: Tensor | None,
    device: str | None,
) -> Tensor:
    made = kind(array)
    made._node.realized.device = device
    if requires_grad:
        made.requires_grad_()
    made.grad = grad
    return made
