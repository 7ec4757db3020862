"""Running plans: buffers, devices, and which device is the current one."""

from __future__ import annotations

import os

from limn.runtime.buffers import Buffer
from limn.runtime.numpy_device import NumpyDevice

_DEVICES = {"numpy": NumpyDevice}
_current: list[NumpyDevice] = []


def set_device(name: str) -> None:
    """Make `name` the device that realize runs on: "numpy". ValueError for others."""
    if name not in _DEVICES:
        raise ValueError(f"unknown device {name!r}; limn has {', '.join(_DEVICES)}")
    _current[:] = [_DEVICES[name]()]


def get_device() -> NumpyDevice:
    """The current device; the first call takes LIMN_DEVICE, or numpy."""
    if not _current:
        set_device(os.environ.get("LIMN_DEVICE", "numpy"))
    return _current[0]


__all__ = ["Buffer", "get_device", "set_device"]
