"""A device as a value: where a tensor is, or where something is to go. It opens nothing and promises nothing: whether a
device works here shows when it is used."""

from __future__ import annotations

import os
from dataclasses import dataclass

TYPES = ("cpu", "numpy", "c", "cuda")
"""numpy and c compute in the memory of the host, which they share; cpu means the better of them."""


@dataclass(frozen=True, slots=True)
class Device:
    """`type` is one of TYPES, `index` says which of several: Device("cuda", 1). Equal ones compare and hash equal.

    ValueError for another type or a negative index.
    """

    type: str
    index: int = 0

    def __post_init__(self) -> None:
        if self.type not in TYPES:
            raise ValueError(f"unknown device {self.type!r}; limn has {', '.join(TYPES)}")
        if not isinstance(self.index, int) or isinstance(self.index, bool) or self.index < 0:
            raise ValueError(f"device {self.type}: an index is 0 or a positive int, got {self.index!r}")

    @property
    def is_cpu(self) -> bool:
        """Whether it computes in the memory of the host."""
        return self.type != "cuda"

    @property
    def is_cuda(self) -> bool:
        return self.type == "cuda"

    def __repr__(self) -> str:
        return f"device('{self}')"

    def __str__(self) -> str:
        return f"{self.type}:{self.index}"


cpu = Device("cpu")
cuda = Device("cuda")


def resolve_device(device: Device | str | None = None) -> Device:
    """The Device that a name such as "c" or "cuda:1" means; of None what LIMN_DEVICE names, or cpu; a Device itself.

    ValueError for a name that limn does not know, TypeError for anything else.
    """
    if isinstance(device, Device):
        return device
    if device is None:
        name = os.environ.get("LIMN_DEVICE") or "cpu"
        try:
            return resolve_device(name)
        except ValueError as error:
            raise ValueError(f"LIMN_DEVICE={name}: {error}") from None
    if not isinstance(device, str):
        raise TypeError(f"a device is a Device, a name or None, got {device!r}; write 'c' or Device('cuda', 1)")
    kind, colon, index = device.partition(":")
    if colon and not index.isdecimal():
        raise ValueError(f"unknown device {device!r}; an index is a number, as in 'cuda:0'")
    return Device(kind, int(index or 0))
