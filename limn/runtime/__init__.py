"""Running plans: buffers, devices, and which device is the current one."""

from __future__ import annotations

import os
from typing import Protocol

from xdsl.dialects.builtin import ModuleOp

from limn.core import device as core
from limn.runtime.buffers import Buffer
from limn.runtime.c_device import CDevice
from limn.runtime.compiler import CompilerError
from limn.runtime.numpy_device import NumpyDevice


class Plan(Protocol):
    """A computation made ready to run."""

    def run(self, inputs: list[Buffer]) -> list[Buffer]:
        """New buffers: the function's results, then the new version for each assign in their order.
        IndexError for a bad row."""
        ...


class Device(Protocol):
    """Makes plans of graph modules, which its passes may rewrite."""

    name: str
    pipeline: str

    def compile(self, module: ModuleOp) -> Plan: ...


_KINDS: dict[str, type[NumpyDevice] | type[CDevice]] = {"numpy": NumpyDevice, "c": CDevice}
_made: dict[str, Device] = {}
_current: list[Device] = []


def set_device(name: str | core.Device) -> None:
    """Make `name` the device that realize runs on: "numpy", "c", or "cpu", which is c where a C compiler works and
    numpy elsewhere; or one of these as a limn.core.Device.

    ValueError for a name that limn does not know; RuntimeError, with the reason, for a device that does not work here.
    """
    if isinstance(name, core.Device):
        name = str(name) if name.index else name.type
    _current[:] = [find_device(name)]


def get_device() -> Device:
    """The current device; the first call takes LIMN_DEVICE, or numpy.

    ValueError and RuntimeError as set_device, naming LIMN_DEVICE.
    """
    if not _current:
        name = os.environ.get("LIMN_DEVICE") or "numpy"
        try:
            set_device(name)
        except (ValueError, RuntimeError) as error:
            raise type(error)(f"LIMN_DEVICE={name}: {error}") from None
    return _current[0]


def find_device(name: str) -> Device:
    """The device of a name, opened now if it was not. Errors as set_device."""
    if name == "cpu":
        try:
            return find_device("c")
        except CompilerError:
            return find_device("numpy")
    if name == "cuda":
        raise RuntimeError("limn has no cuda device yet; use set_device('c') or set_device('numpy')")
    if name not in _KINDS:
        raise ValueError(f"unknown device {name!r}; limn has {', '.join(_KINDS)}, and cpu for the better of them")
    if name not in _made:
        _made[name] = _KINDS[name]()
    return _made[name]


__all__ = ["Buffer", "Device", "Plan", "find_device", "get_device", "set_device"]
