"""Random numbers: one generator for the process, seeded by `set_seed`. The numbers are drawn when a tensor is
made."""

from __future__ import annotations

import numpy as np

_generator = np.random.default_rng()


def set_seed(seed: int) -> None:
    """Start the sequence of random tensors anew; equal seeds give equal sequences."""
    global _generator
    _generator = np.random.default_rng(seed)


def generator() -> np.random.Generator:
    return _generator
