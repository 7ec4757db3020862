"""limn on the c device against torch on the same processor, in one run: `python -m benchmarks`.

Speed is compared as ratios of adjacent measurements: torch, limn, torch, limn, .. at equal threads, so that a machine
that slows down slows both. A ratio above 1 says that limn is faster. Times include what a user pays: building the
expression, and fresh memory for the result. The table goes to the standard output, or to the file that --output names.
"""

from __future__ import annotations

import argparse
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import limn
from limn import Tensor

SECONDS = 4.0  # about what each comparison takes
MOST_ROUNDS = 200


@dataclass
class Contest:
    """The same work as a call of limn and a call of torch, and a number that both must give."""

    name: str
    limn: Callable[[], Any]
    torch: Callable[[], Any]
    work: float = 0.0  # floating-point operations, where that is of interest


@dataclass
class Result:
    """The times of both sides over the rounds of one contest, in seconds, round by round."""

    contest: Contest
    threads: int
    limn: list[float]
    torch: list[float]

    def row(self) -> str:
        """Median and best of each side, and torch's time over limn's: the median over the rounds, and best by best."""
        rounds = statistics.median(theirs / ours for ours, theirs in zip(self.limn, self.torch))
        best = min(self.torch) / min(self.limn)
        times = " | ".join(self.times(side) for side in (self.limn, self.torch))
        return f"| {self.contest.name} | {self.threads} | {times} | {rounds:.2f} | {best:.2f} |"

    def times(self, side: list[float]) -> str:
        work = self.contest.work
        rate = f" ({work / min(side) / 1e9:.0f} GFLOP/s)" if work else ""
        return f"{statistics.median(side) * 1e6:,.0f} | {min(side) * 1e6:,.0f}{rate}"


def clocked(call: Callable[[], Any]) -> float:
    """Seconds of a call, after one that brings its data and threads back."""
    call()
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def compete(contest: Contest, threads: int) -> Result:
    """Measure the two by turns."""
    for _ in range(3):
        contest.limn()
        contest.torch()
    pair = 2 * (clocked(contest.limn) + clocked(contest.torch))
    result = Result(contest, threads, [], [])
    for _ in range(max(5, min(MOST_ROUNDS, int(SECONDS / pair)))):
        result.torch.append(clocked(contest.torch))
        result.limn.append(clocked(contest.limn))
    return result


# --------------------------------------------------------------------------------------------------------- the contests


def matmul(torch: Any, size: int) -> Contest:
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal((size, size)).astype(np.float32) for _ in range(2))
    x, y, p, q = Tensor(a), Tensor(b), torch.from_numpy(a), torch.from_numpy(b)
    agree((x @ y).numpy(), (p @ q).numpy())
    return Contest(f"matmul {size}", lambda: (x @ y).realize(), lambda: p @ q, 2 * size**3)


def rows(torch: Any, name: str) -> Contest:
    """softmax or layer norm over the rows of (1024, 768)."""
    a = np.random.default_rng(1).standard_normal((1024, 768)).astype(np.float32)
    x, p = Tensor(a), torch.from_numpy(a)

    def layer_norm() -> Tensor:
        centred = x - x.mean(1, keepdim=True)
        return centred / ((centred * centred).mean(1, keepdim=True) + 1e-5).sqrt()

    def ours() -> Tensor:
        return (x.softmax(1) if name == "softmax" else layer_norm()).realize()

    def theirs() -> Any:
        functional = torch.nn.functional
        return functional.softmax(p, 1) if name == "softmax" else functional.layer_norm(p, (768,))

    agree(ours().numpy(), theirs().numpy())
    return Contest(f"{name} of 1024 rows of 768", ours, theirs)


def network() -> tuple[np.ndarray, np.ndarray, list[np.ndarray]]:
    """A batch of 64 images with labels, and the parameters of 784-128-10."""
    rng = np.random.default_rng(2)
    images, labels = rng.standard_normal((64, 784)).astype(np.float32), rng.integers(0, 10, 64)
    shapes = ((784, 128), (128,), (128, 10), (10,))
    return images, labels, [(rng.uniform(-1, 1, shape) / 28).astype(np.float32) for shape in shapes]


def digits_step() -> Callable[[], float]:
    """Forward, backward and momentum update in limn, run once; calling it again runs the next step."""
    images, labels, start = network()
    w1, b1, w2, b2 = parameters = [Tensor(a, requires_grad=True) for a in start]
    velocities = [Tensor(np.zeros_like(a)) for a in start]
    targets = np.eye(10, dtype=np.float32)[labels]

    def step() -> float:
        scores = (Tensor(images) @ w1 + b1).relu() @ w2 + b2
        loss = -(scores.log_softmax() * Tensor(targets)).sum() / 64
        loss.backward()
        updates = []
        for parameter, velocity in zip(parameters, velocities):
            moved = velocity * 0.9 + parameter.grad
            updates += [velocity.assign(moved), parameter.assign(parameter.detach() - moved * 0.05)]
            parameter.grad = None
        limn.realize(loss, *updates)
        return loss.item()

    step()
    return step


def torch_digits_step(torch: Any) -> Callable[[], float]:
    """The same in torch."""
    images, labels, start = network()
    w1, b1, w2, b2 = parameters = [torch.nn.Parameter(torch.from_numpy(a)) for a in start]
    optimizer = torch.optim.SGD(parameters, lr=0.05, momentum=0.9)

    def step() -> float:
        scores = (torch.from_numpy(images) @ w1 + b1).relu() @ w2 + b2
        loss = torch.nn.functional.cross_entropy(scores, torch.from_numpy(labels))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.item()

    step()
    return step


def digits(torch: Any) -> Contest:
    """A training step of 784-128-10 on a batch of 64."""
    ours, theirs = digits_step(), torch_digits_step(torch)
    for _ in range(3):
        assert abs(ours() - theirs()) < 1e-4, "limn and torch do not train the same"
    return Contest("digits training step, batch 64", ours, theirs)


def agree(ours: np.ndarray, theirs: np.ndarray) -> None:
    assert np.allclose(ours, theirs, rtol=1e-3, atol=1e-4), "limn and torch do not compute the same"


# ----------------------------------------------------------------------------------------------- processes of their own

FIRST_STEP = """
import time, limn
from benchmarks.bench import digits_step
start = time.perf_counter()
limn.set_device("c")
digits_step()
print(time.perf_counter() - start)
"""


def first_steps() -> tuple[float, float]:
    """Seconds of the first digits step in a new process: with an empty cache, and with what that process left."""
    with tempfile.TemporaryDirectory() as folder:
        environment = os.environ | {"LIMN_CACHE_DIR": folder}
        times = [float(fresh(FIRST_STEP, environment)) for _ in range(2)]
    return times[0], times[1]


def import_time(package: str) -> float:
    """Seconds that importing a package takes, median of 5 processes."""
    program = f"import time; t = time.perf_counter(); import {package}; print(time.perf_counter() - t)"
    return statistics.median(float(fresh(program, dict(os.environ))) for _ in range(5))


def fresh(program: str, environment: dict[str, str]) -> str:
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    return done.stdout.split()[-1]


# ----------------------------------------------------------------------------------------------------------- the report


def processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        name = next(line.split(":")[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        name = platform.processor() or platform.machine()
    return f"{name}, {os.cpu_count()} processors"


def report(results: list[Result], cold: float, warm: float, imports: dict[str, float], torch: Any) -> str:
    device: Any = limn.get_device()
    lines = [
        f"{processor()}; {device.compiler.version}; Python {platform.python_version()}, torch {torch.__version__}.",
        "",
        "| work | threads | limn, us | best | torch, us | best | torch / limn | of the best |",
        "|---|---|---|---|---|---|---|---|",
        *(result.row() for result in results),
    ]
    lines += [
        "",
        "| once | seconds |",
        "|---|---|",
        f"| first digits step in a new process, empty cache | {cold:.2f} |",
        f"| the same with a full cache | {warm:.2f} |",
        *(f"| import {name} | {seconds:.2f} |" for name, seconds in imports.items()),
    ]
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--output", help="a file for the table")
    options = parser.parse_args()
    limn.set_device("c")
    device: Any = limn.get_device()
    most = device.threads
    (Tensor(np.ones(4, np.float32)) + 1.0).realize()
    # Both use one OpenMP library, that of whoever comes first. With limn's its threads soon sleep when idle, which is
    # what makes two of them bearable on a machine that does other things.
    import torch

    contests = [matmul(torch, 512), digits(torch), rows(torch, "softmax"), rows(torch, "layer norm")]
    results = []
    for contest in contests:
        for threads in sorted({1, most}):
            device.set_threads(threads)
            torch.set_num_threads(threads)
            results.append(compete(contest, threads))
    text = report(results, *first_steps(), {name: import_time(name) for name in ("limn", "torch")}, torch)
    if options.output:
        Path(options.output).write_text(text)
    print(text, end="")
