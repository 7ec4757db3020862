"""Random graphs of fifteen steps and more, forward and backward, against torch on every device."""

from collections import Counter

import numpy as np
import pytest
from dags import program, run_limn, run_torch

from limn import float32, float64, realize
from limn.dialects import graph
from limn.importer import build, record, sources_first

SEEDS = 300
QUICK = {"numpy": 25, "c": 4}  # of them in the quick tier
BOUND = {float64: 1e-9, float32: 3e-4}  # relative to the largest value of a tensor, or 1


def compare(made, dtype, seed):
    outputs, loss, leaves = run_limn(made, dtype)
    reached = [n for n, leaf in enumerate(leaves) if loss.requires_grad]
    if reached:
        loss.backward()
    wanted, torch_loss, torch_leaves = run_torch(made, dtype)
    if torch_loss.requires_grad:
        torch_loss.backward()
    realize(loss, *outputs, *(leaf.grad for leaf in leaves if leaf.grad is not None))
    pairs = [("loss", loss, torch_loss)]
    pairs += [(f"output {n}", a, b) for n, (a, b) in enumerate(zip(outputs, wanted))]
    for n, (a, b) in enumerate(zip(leaves, torch_leaves)):
        assert (a.grad is None) == (b.grad is None), f"seed {seed}: leaf {n} has a gradient in one library only"
        if a.grad is not None:
            pairs.append((f"gradient of leaf {n}", a.grad, b.grad))
    for what, mine, theirs in pairs:
        want = theirs.detach().numpy()
        assert mine.shape == want.shape, f"seed {seed}: {what}"
        assert mine.dtype.numpy == want.dtype, f"seed {seed}: {what}"
        scale = max(1.0, float(np.abs(want).max()))
        error = float(np.abs(mine.numpy().astype(np.float64) - want.astype(np.float64)).max()) / scale
        assert error < BOUND[dtype], f"seed {seed}: {what} is off by {error:.2e} of its scale"


def test_some_random_graphs_agree_with_torch(device):
    for seed in range(QUICK[device]):
        compare(program(seed), float32 if seed % 2 else float64, seed)


@pytest.mark.full
@pytest.mark.parametrize("block", range(0, SEEDS, 50))
def test_random_graphs_agree_with_torch(device, block):
    for seed in range(block, block + 50):
        # numpy runs each graph at both dtypes; a device that compiles, at one of them
        for dtype in (float64, float32) if device == "numpy" else ((float64, float32)[seed % 2],):
            compare(program(seed), dtype, seed)


def histogram():
    """How often each primitive stands in the corpus, forward and backward, and the fewest nodes of one
    graph."""
    counts, fewest = Counter(), 10**9
    for seed in range(SEEDS):
        outputs, loss, leaves = run_limn(program(seed), float64)
        fewest = min(fewest, len(sources_first([t._node for t in outputs])))
        if loss.requires_grad:
            loss.backward()
        grads = [leaf.grad._node for leaf in leaves if leaf.grad is not None]
        found = record(
            list(dict.fromkeys([loss._node, *(t._node for t in outputs if t._node.realized is None), *grads]))
        )
        module = build(found)
        module.verify()
        counts.update(op.name.removeprefix("graph.") for op in module.walk() if isinstance(op, graph.GraphOp))
        counts["buffer"] += len(found.buffers)
    return counts, fewest


@pytest.mark.full
def test_every_primitive_stands_a_hundred_times_in_the_corpus():
    counts, fewest = histogram()
    print("\n".join(f"{name:12} {count}" for name, count in counts.most_common()))
    assert fewest >= 15
    names = {op.name.removeprefix("graph.") for op in graph.Graph.operations} - {"custom"}
    assert {name for name in names if counts[name] < 100} == set()
