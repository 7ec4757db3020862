"""Seeded random graphs that limn and torch both run: the corpus of test_random_dags.

`program(seed)` draws a graph of operations independent of either library; `run_limn` and `run_torch` execute
it on the same leaves and give the outputs, a scalar loss and the leaves. Values are kept near 1 by bounded
functions, and what a comparison or a maximum looks at is shifted by fresh random numbers, so that no rounding
difference decides a branch.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import torch

from limn import Tensor, float32, float64, int32

SHAPES = [(3, 4), (4,), (1, 4), (2, 3, 4), (3, 1), (5, 4), (2, 1, 4), ()]


@dataclass
class Program:
    """Leaves as arrays; steps as (name, indices of values, extra); every step appends one value after the
    leaves."""

    leaves: list[np.ndarray]
    steps: list[tuple[str, tuple[int, ...], object]] = field(default_factory=list)
    shapes: list[tuple[int, ...]] = field(default_factory=list)


def _tame_torch(x):
    return x / (1 + x * x)


UNARY = {
    "neg": (lambda x: -x, lambda x: -x),
    "exp": (lambda x: (-(x * x)).exp(), lambda x: (-(x * x)).exp()),
    "log": (lambda x: (x * x + 0.5).log(), lambda x: (x * x + 0.5).log()),
    "sqrt": (lambda x: (x * x + 0.25).sqrt(), lambda x: (x * x + 0.25).sqrt()),
    "reciprocal": (lambda x: (x * x + 1).reciprocal(), lambda x: (x * x + 1).reciprocal()),
    "relu": (lambda x: (x + 0.3217).relu(), lambda x: (x + 0.3217).relu()),
    "square": (lambda x: x**2, lambda x: x**2),
    "cube": (lambda x: x**3 * 0.1, lambda x: x**3 * 0.1),
    "tame": (lambda x: x / (1 + x * x), _tame_torch),
    "contiguous": (lambda x: x.contiguous() * 1.5, lambda x: x.contiguous() * 1.5),
    "detached": (lambda x: x * x.detach(), lambda x: x * x.detach()),
    "through_f32": (
        # a small share: where two roundings of float64 differ, the float32 they round to may be the neighbour
        lambda x: x.cast(float32).cast(x.dtype) * 2**-10 + x,
        lambda x: x.to(torch.float32).to(x.dtype) * 2**-10 + x,
    ),
}
BINARY = {
    "add": (lambda a, b: a + b, lambda a, b: a + b),
    "sub": (lambda a, b: a - b, lambda a, b: a - b),
    "mul": (lambda a, b: a * b, lambda a, b: a * b),
    "div": (lambda a, b: a / (b * b + 1), lambda a, b: a / (b * b + 1)),
}


def _limn_assigned(x):
    """The values of x by way of a buffer, an assign of which nothing has read yet."""
    held = Tensor.zeros(x.shape, dtype=x.dtype)
    return held.assign(x)


def _extra_step(name, values, extra, lib):
    """Steps with attributes; `lib` is "limn" or "torch"."""
    x = values[0]
    limn = lib == "limn"

    def array(a):
        if limn:
            return Tensor(a.astype(x.dtype.numpy)) if a.dtype.kind == "f" else Tensor(a)
        return torch.tensor(a).to(x.dtype) if a.dtype.kind == "f" else torch.tensor(a)

    match name:
        case "sum" | "mean":
            axes, keep = extra
            return getattr(x, name)(axes, keep)
        case "max" | "min":
            (axes, keep), noise = extra
            shifted = x + array(noise)
            if limn:
                return getattr(shifted, name)(axes, keep)
            return getattr(shifted, "a" + name)(axes, keep)
        case "reshape":
            return x.reshape(extra)
        case "permute":
            return x.permute(extra)
        case "expand":
            return x.expand(extra)
        case "pad":
            if limn:
                return x.pad(extra)
            return torch.nn.functional.pad(x, [n for pair in reversed(extra) for n in pair])
        case "slice":
            if limn:
                return x[extra]
            flips = [d for d, s in enumerate(extra) if s.step is not None and s.step < 0]
            straight = []
            for s, n in zip(extra, x.shape):
                picked = range(*s.indices(n))
                straight.append(slice(min(picked), max(picked) + 1, abs(picked.step)))
            return x[tuple(straight)].flip(flips)
        case "flip":
            return x.flip(extra)
        case "softmax":
            return x.softmax(extra)
        case "log_softmax":
            return x.log_softmax(extra) * 0.25
        case "matmul":
            return (x @ values[1]) * 0.5
        case "rows":
            return x[array(extra)] if limn else x[array(extra).long()]
        case "where":
            noise = array(extra)
            if limn:
                return (noise < x).where(values[1], x * 2)
            return torch.where(noise < x, values[1], x * 2)
        case "maximum" | "minimum":
            return (
                getattr(x, name)(values[1] + array(extra))
                if limn
                else getattr(torch, name)(x, values[1] + array(extra))
            )
        case "ints":
            whole = array(extra)
            if limn:
                picked = ((whole * 3 - 7) < (-whole)).where(whole + whole, 1 - whole)
                return x * picked.cast(x.dtype) * 0.1
            picked = torch.where((whole * 3 - 7) < (-whole), whole + whole, 1 - whole)
            return x * picked.to(x.dtype) * 0.1
        case "truncated":
            noise = array(extra * 5)
            return x * (noise.cast(int32).cast(x.dtype) if limn else noise.to(torch.int32).to(x.dtype))
        case "assigned":
            return x + (_limn_assigned(x * 0.5) if limn else (x * 0.5).detach())
        case "equal":
            # a tensor of few whole numbers compares equal to some of its cells
            whole = array(extra.astype(np.int32))
            if limn:
                return (whole == 1).where(x, -x) + (whole >= 2).cast(x.dtype)
            return torch.where(whole == 1, x, -x) + (whole >= 2).to(x.dtype)
    raise AssertionError(name)


def program(seed: int, least_steps: int = 15) -> Program:
    """A random graph of `least_steps` steps, each of which records one node or more; every leaf and most
    values are used."""
    rng = np.random.default_rng(seed)
    made = Program([rng.standard_normal(SHAPES[rng.integers(len(SHAPES))]) for _ in range(4)])
    shapes = [leaf.shape for leaf in made.leaves]
    names = [
        *UNARY,
        *BINARY,
        *BINARY,
        "sum",
        "mean",
        "max",
        "max",
        "min",
        "reshape",
        "permute",
        "expand",
        "pad",
        "slice",
        "flip",
    ]
    names += [
        "softmax",
        "log_softmax",
        "matmul",
        "matmul",
        "rows",
        "rows",
        "where",
        "where",
        "maximum",
        "minimum",
        "ints",
        "truncated",
    ]
    names += ["assigned", "equal"]
    rng.shuffle(names)
    turn = 0
    while len(made.steps) < least_steps:
        name = names[turn % len(names)] if turn < 6 else names[rng.integers(len(names))]
        turn += 1
        # later values more often, so that graphs are deep as well as wide
        first = len(shapes) - 1 - min(int(rng.exponential(4)), len(shapes) - 1)
        step = _draw(name, first, shapes, rng)
        if step is not None:
            made.steps.append(step[0])
            shapes.append(step[1])
    made.shapes = shapes
    return made


def _draw(name, first, shapes, rng):
    """A step of this name on value `first` with its result's shape, or None where it does not fit."""
    shape = shapes[first]
    size = int(np.prod(shape, dtype=int))
    if name in UNARY:
        return (name, (first,), None), shape
    if name in BINARY or name in ("where", "maximum", "minimum"):
        for _ in range(4):
            second = int(rng.integers(len(shapes)))
            try:
                both = np.broadcast_shapes(shape, shapes[second])
            except ValueError:
                continue
            if int(np.prod(both, dtype=int)) <= 400:
                noise = (
                    rng.standard_normal(shape if name == "where" else shapes[second]) if name not in BINARY else None
                )
                return (name, (first, second), noise), both
        return None
    if name in ("ints", "truncated", "equal"):
        extra = rng.integers(-5, 6, shape).astype(np.int32) if name == "ints" else rng.uniform(0.1, 0.9, shape)
        extra = rng.integers(0, 4, shape) if name == "equal" else extra
        return (name, (first,), extra), shape
    if name == "assigned":
        return (name, (first,), None), shape
    rank = len(shape)
    if rank == 0:
        return ((("expand", (first,), (3, 2)), (3, 2))) if name == "expand" else None
    if name in ("sum", "mean", "max", "min"):
        axes = tuple(d for d in range(rank) if rng.random() < 0.5) or (int(rng.integers(rank)),)
        keep = bool(rng.integers(2))
        result = tuple(1 if d in axes else n for d, n in enumerate(shape) if keep or d not in axes)
        extra = (axes, keep) if name in ("sum", "mean") else ((axes, keep), rng.standard_normal(shape))
        return (name, (first,), extra), result
    if name == "reshape":
        options = [(size,), (1, size)] + [(a, size // a) for a in range(2, size) if size % a == 0]
        new = options[rng.integers(len(options))]
        return (name, (first,), new), new
    if name == "permute":
        axes = tuple(int(a) for a in rng.permutation(rank))
        return (name, (first,), axes), tuple(shape[a] for a in axes)
    if name == "expand":
        new = tuple(int(rng.integers(2, 4)) if n == 1 else n for n in shape)
        new = (2, *new) if rng.random() < 0.5 else new
        return ((name, (first,), new), new) if int(np.prod(new)) <= 400 else None
    if name == "pad":
        pads = [(int(rng.integers(3)), int(rng.integers(3))) for _ in shape]
        new = tuple(n + a + b for n, (a, b) in zip(shape, pads))
        return ((name, (first,), pads), new) if int(np.prod(new)) <= 400 else None
    if name == "slice":
        slices = []
        for n in shape:
            step = int(rng.choice([1, 1, 2, -1, -2]))
            a = int(rng.integers(n))
            b = int(rng.integers(a + 1, n + 1))
            slices.append(slice(a, b, step) if step > 0 else slice(b - 1, a - 1 if a else None, step))
        return (name, (first,), tuple(slices)), tuple(len(range(*s.indices(n))) for s, n in zip(slices, shape))
    if name == "flip":
        return (name, (first,), [int(rng.integers(rank))]), shape
    if name in ("softmax", "log_softmax"):
        return (name, (first,), int(rng.integers(rank))), shape
    if name == "rows":
        picks = rng.integers(-shape[0], shape[0], tuple(rng.integers(1, 4, rng.integers(1, 3)))).astype(np.int32)
        return (name, (first,), picks), (*picks.shape, *shape[1:])
    if name == "matmul":
        for second in rng.permutation(len(shapes)):
            other = shapes[int(second)]
            if len(other) >= 1 and other[-2 if len(other) > 1 else 0] == shape[-1]:
                try:
                    result = np.matmul(np.zeros(shape), np.zeros(other)).shape
                except ValueError:
                    continue
                if int(np.prod(result, dtype=int)) <= 400:
                    return (name, (first, int(second)), None), result
        return None
    raise AssertionError(name)


def run_limn(made: Program, dtype):
    """(outputs, loss, leaves) as limn tensors; nothing is realized."""
    leaves = [Tensor(leaf.astype(dtype.numpy), requires_grad=True) for leaf in made.leaves]
    return _run(made, leaves, "limn")


def run_torch(made: Program, dtype):
    """(outputs, loss, leaves) as torch tensors of the same dtype."""
    kind = {float64: torch.float64, float32: torch.float32}[dtype]
    leaves = [torch.tensor(leaf.astype(dtype.numpy), dtype=kind, requires_grad=True) for leaf in made.leaves]
    return _run(made, leaves, "torch")


def _run(made, leaves, lib):
    values = list(leaves)
    side = 0 if lib == "limn" else 1
    for name, sources, extra in made.steps:
        picked = [values[s] for s in sources]
        if name in UNARY:
            values.append(UNARY[name][side](*picked))
        elif name in BINARY:
            values.append(BINARY[name][side](*picked))
        else:
            values.append(_extra_step(name, picked, extra, lib))
    used = {s for _, sources, _ in made.steps for s in sources}
    outputs = [v for n, v in enumerate(values) if n not in used]
    loss = None
    for output in outputs:
        term = (output * output).mean()
        loss = term if loss is None else loss + term
    return outputs, loss, leaves
