"""How many threads a kernel may use, and what they need around a fork.

The default is one thread for each physical core that the process may run on, since two threads that share a core's
vector units gain nothing. OMP_NUM_THREADS says otherwise.
"""

from __future__ import annotations

import ctypes
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

OMP_PAUSE_HARD = 2  # omp.h: free everything that belongs to the threads


@cache
def thread_count() -> int:
    """OMP_NUM_THREADS where it is a number, else the physical cores within the affinity mask and the cgroup's quota."""
    asked = re.match(r"\s*(\d+)", os.environ.get("OMP_NUM_THREADS", ""))
    if asked and int(asked[1]) > 0:
        return int(asked[1])
    cores = _physical_cores()
    quota = _quota()
    return cores if quota is None else max(1, min(cores, int(quota)))


def _physical_cores() -> int:
    try:
        usable = os.sched_getaffinity(0)
    except AttributeError:  # not on Linux
        return os.cpu_count() or 1
    topology = "/sys/devices/system/cpu/cpu{}/topology/thread_siblings_list"
    siblings = {_read(topology.format(cpu)) or str(cpu) for cpu in usable}
    return max(1, len(siblings))


def _quota() -> float | None:
    """The processors' worth of time that the control group grants; the least of the group and those it is in."""
    grants: list[float] = []
    for line in (_read("/proc/self/cgroup") or "").splitlines():
        _, controllers, path = line.split(":", 2)
        version_two = controllers == ""
        if not version_two and "cpu" not in controllers.split(","):
            continue
        root = Path("/sys/fs/cgroup" if version_two else "/sys/fs/cgroup/cpu")
        group = root / path.strip("/")
        for folder in (group, *group.parents):
            grants.append(_grant(folder, version_two))
            if folder == root:
                break
    least = min(grants, default=float("inf"))
    return None if least == float("inf") else least


def _grant(folder: Path, version_two: bool) -> float:
    if version_two:
        words = (_read(folder / "cpu.max") or "max").split()
    else:
        words = [_read(folder / "cpu.cfs_quota_us") or "-1", _read(folder / "cpu.cfs_period_us") or "100000"]
    unlimited = len(words) != 2 or words[0] in ("max", "-1")
    return float("inf") if unlimited else int(words[0]) / int(words[1])


def _read(path: str | Path) -> str | None:
    try:
        return Path(path).read_text().strip()
    except OSError:
        return None


SPINS = "2000"


@contextmanager
def patient_threads() -> Iterator[None]:
    """While the first library is loaded, and OpenMP's with it: tell that idle threads should soon sleep.

    OpenMP reads the environment once, when it is loaded, so this is the moment to say it; the environment is then as
    before. By default its threads spin for milliseconds at the end of a loop. Where other programs want the cores too,
    they spin away their share of time and the one that has work waits: a training step on two threads of a busy machine
    took 67 ms instead of 1.3 (0.7 on an idle one either way).
    """
    decided = any(name in os.environ for name in ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY"))
    if not decided:
        os.environ["GOMP_SPINCOUNT"] = SPINS
    try:
        yield
    finally:
        if not decided:
            os.environ.pop("GOMP_SPINCOUNT", None)


_guarded = False


def survive_forks(library: ctypes.CDLL) -> None:
    """Let the OpenMP threads that ``library`` starts end before each fork; both sides start new ones when they need
    them. Without it the child of a process whose kernels have run waits for threads that do not exist in it."""
    global _guarded
    if _guarded or not hasattr(os, "register_at_fork"):
        return
    try:
        pause = library.omp_pause_resource_all
    except AttributeError:  # compiled without OpenMP, or by a runtime older than OpenMP 5
        return
    os.register_at_fork(before=lambda: pause(OMP_PAUSE_HARD))
    _guarded = True
