"""Fixtures of the whole suite: `device` runs a test on every device that this machine has."""

import pytest

import limn


def _devices() -> list[str]:
    before, found = limn.get_device().name, ["numpy"]
    try:
        limn.set_device("c")
        (limn.Tensor([1.0]) + 1).numpy()
        found.append("c")
    except (RuntimeError, ModuleNotFoundError):  # no C compiler here, or a part of the road not built yet
        pass
    limn.set_device(before)
    return found


DEVICES = _devices()


@pytest.fixture(params=DEVICES)
def device(request):
    """The name of the current device, set for this test."""
    before = limn.get_device().name
    limn.set_device(request.param)
    yield request.param
    limn.set_device(before)
