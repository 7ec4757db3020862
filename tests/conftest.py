"""Fixtures of the whole suite: `device` runs a test on every device that this machine has.

A run has a folder of compiled programs of its own, empty at first as on a fresh machine; the processes that share the
tests out, and those that tests start, find it in LIMN_CACHE_DIR. A folder named there beforehand is used as it is.
"""

import atexit
import os
import shutil
import tempfile

import pytest
from hypothesis import settings

import limn

# The same examples in each run, so that a change is judged by what it changed; `-m fuzz` draws new ones.
settings.register_profile("same", derandomize=True)
settings.register_profile("new", derandomize=False)

if "LIMN_CACHE_DIR" not in os.environ:
    os.environ["LIMN_CACHE_DIR"] = tempfile.mkdtemp(prefix="limn-tests-")
    atexit.register(shutil.rmtree, os.environ["LIMN_CACHE_DIR"], ignore_errors=True)


def _devices() -> list[str]:
    before, found = limn.get_device().name, ["numpy"]
    try:
        limn.set_device("c")
        found.append("c")
    except RuntimeError:  # no C compiler here
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


def pytest_configure(config):
    settings.load_profile("new" if config.getoption("markexpr") == "fuzz" else "same")
    config.addinivalue_line("markers", "many_kernels: compiles much; off numpy it belongs to the full tier")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    for item in items:
        if item.get_closest_marker("many_kernels") and item.callspec.params.get("device", "numpy") != "numpy":
            item.add_marker(pytest.mark.full)
