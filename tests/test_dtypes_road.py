"""Each element type from graph to C: the corpus retyped, under the bits that each stage is held to."""

from __future__ import annotations

import ctypes
import shutil
from pathlib import Path

import numpy as np
import pytest
from corpus import CASES, Builder, Case
from native import Error, build, poisoned, same_bits
from random_graphs import RandomGraph
from retyped import FLOATS, INTS, of_ints, retyped
from xdsl.dialects.builtin import bf16, f16, f32, i32

from limn.dialects import graph, legality, nest
from limn.dtypes import BY_MLIR, BY_NUMPY
from limn.interpreters import graph as graph_interpreter
from limn.interpreters import nest as nest_interpreter
from limn.interpreters import schedule as schedule_interpreter
from limn.pipelines import PIPELINES, run_pipeline
from limn.targets import c

HALVES = {"f16": f16, "bf16": bf16}
TYPES = FLOATS | INTS
INTS_OF_CORPUS = of_ints()

QUICK = [
    "softmax_wide",
    "matmul_bias_relu",
    "layer_norm_both_ways",
    "pad_at_both_ends",
    "reshape_merges_and_splits",
    "comparisons_and_bools",
]
"""Cases of the quick tier."""


def names_for(kind: str) -> list[str]:
    return INTS_OF_CORPUS if kind in INTS else list(CASES)


def pairs(kinds: dict) -> list:
    """(element type, case) of all the corpus; most are of the full tier."""
    return [
        pytest.param(kind, name, marks=() if name in QUICK and kind in ("f16", "i8") else pytest.mark.full)
        for kind in kinds
        for name in names_for(kind)
    ]


def case_of(kind: str, name: str) -> Case:
    return retyped(CASES[name](), TYPES[kind])


def inputs_of(case: Case) -> list[np.ndarray]:
    """Inputs of the whole range of ints, so that sums and products wrap; row numbers stay in their tables."""
    rng, arrays = np.random.default_rng(3), case.inputs()
    for place, array in enumerate(arrays):
        if array.dtype.kind == "i" and place not in case.below:
            info = np.iinfo(array.dtype)
            arrays[place] = rng.integers(info.min, info.max, array.shape, array.dtype, endpoint=True)
    return arrays


def assert_bits(got, want, what: str) -> None:
    assert len(got) == len(want)
    for place, (mine, theirs) in enumerate(zip(got, want)):
        mine, theirs = np.ascontiguousarray(mine).reshape(-1), np.ascontiguousarray(theirs).reshape(-1)
        assert mine.dtype == theirs.dtype
        assert same_bits(mine, theirs), f"{what}: output {place} of {theirs.dtype}"


def run_nest(module, arrays: list[np.ndarray], interpreter=nest_interpreter) -> list[np.ndarray]:
    """The outputs of the plan of a nest module, poisoned before."""
    program = interpreter.Program(module)
    arguments = program.plan.block.args[program.plan.input_count :][: program.plan.output_count]
    given = [np.ascontiguousarray(a).reshape(-1).copy() for a in arrays]
    given += [poisoned(*extent_and_dtype(argument)) for argument in arguments]
    outputs = given[len(arrays) :]
    with np.errstate(all="ignore"):
        program.run(given)
    return outputs


def extent_and_dtype(argument):
    kind = nest.memref_of(argument)
    return kind.get_shape()[0], BY_MLIR[str(kind.element_type)].numpy


# ---- graph to nest


@pytest.mark.parametrize(("kind", "name"), pairs(FLOATS | INTS))
def test_fusing_and_lowering_keep_the_bits_of_the_graph(kind, name):
    """Each op on halves rounds once wherever it runs, so a fused kernel has the bits of one op at a time."""
    case = case_of(kind, name)
    arrays = inputs_of(case)
    with np.errstate(all="ignore"):
        want = graph_interpreter.run(case.func, arrays, "ascending")
    run_pipeline(case.module, "expand-custom,fuse,order,dedupe")
    case.module.verify()
    assert_bits(schedule_interpreter.run(case.module, arrays, "ascending"), want, "schedule")
    run_pipeline(case.module, "lower")
    case.module.verify()
    assert_bits(run_nest(case.module, arrays), want, "nest")


# ---- sums in parts


def sums(element, *shape: int, axes=(1,)) -> Case:
    b = Builder()
    return b.case(b.sum(b.arg(*shape, of=element), *axes))


@pytest.mark.parametrize("kind", HALVES)
@pytest.mark.parametrize("shape", [(3, 64), (2, 8192), (2, 4097), (3, 5000)], ids=str)
def test_a_sum_of_halves_in_parts_is_rounded_once(kind, shape):
    case = sums(HALVES[kind], *shape)
    arrays = case.inputs(seed=5)
    exact = arrays[0].astype(np.float64).sum(1)
    run_pipeline(case.module, "fuse,split-reduce")
    case.module.verify()
    (kernel,) = [op for op in case.module.walk() if op.name == "schedule.kernel"]
    folds = [op for op in kernel.walk() if isinstance(op, graph.SumOp)]
    assert len(folds) > 1 and all(graph.element_of(op.result) == f32 for op in folds)
    (got,) = schedule_interpreter.run(case.module, arrays, "ascending")
    dtype, error = got.dtype, 1e-6 * np.abs(arrays[0].astype(np.float64)).sum(1)
    low, high = (np.float32(exact - error)).astype(dtype), np.float32(exact + error).astype(dtype)
    got = got.reshape(-1).astype(np.float32)
    assert np.all((low.astype(np.float32) <= got) & (got <= high.astype(np.float32)))


@pytest.mark.parametrize("kind", HALVES)
def test_a_scatter_of_halves_is_rounded_once(kind):
    """Ones added to a total of 4096 would be lost in either half."""
    b = Builder()
    rows, index = b.arg(5000, 2, of=HALVES[kind]), b.arg(5000, of=i32, below=3)
    case = b.case(b.op(graph.ScatterOp(rows, index, 3)))
    arrays = [np.ones((5000, 2), BY_MLIR[kind].numpy), np.repeat(np.int32([1, 2]), [4900, 100])]
    want = np.repeat(np.float32([0, 4900, 100]), 2).astype(BY_MLIR[kind].numpy)
    run_pipeline(case.module, PIPELINES["nest"][0])
    assert_bits(run_nest(case.module, arrays), [want], "nest")


# ---- nest to C

BATCHES = [
    pytest.param("f16", QUICK, id="f16-some"),
    *(pytest.param(kind, names_for(kind), marks=pytest.mark.full, id=f"{kind}-all") for kind in ("f16", *INTS)),
    *(
        pytest.param(kind, list(CASES)[::2], marks=pytest.mark.full, id=f"{kind}-every-other")
        for kind in ("bf16", "f64")
    ),
]


class Programs:
    """The plans of several cases in one library, since a compiler takes long to start."""

    def __init__(self, cases: dict[str, Case], folder: Path):
        self.modules = {name: case.module for name, case in cases.items()}
        texts: list[str] = []
        for name, module in self.modules.items():
            run_pipeline(module, PIPELINES["c"][0].replace("parallelize", "parallelize{grain=8}"))
            module.verify()
            legality.check(module, "c")
            ops = list(module.body.block.ops)
            kernels = {op.sym_name.data: op for op in ops if isinstance(op, nest.KernelOp)}
            callees = {symbol: f"kernel_{name}_{symbol}" for symbol in kernels}
            texts += [c.kernel_text(kernel, callees[symbol]) for symbol, kernel in kernels.items()]
            (plan,) = [op for op in ops if isinstance(op, nest.PlanOp)]
            texts.append(c.plan_text(plan, f"plan_{name}", kernels, callees))
        self.library = build(c.c_file(texts), folder, "-fopenmp", "-O1")

    def run(self, name: str, arrays: list[np.ndarray]) -> list[np.ndarray]:
        """The outputs of one plan, poisoned before."""
        (plan,) = [op for op in self.modules[name].body.block.ops if isinstance(op, nest.PlanOp)]
        given = [np.ascontiguousarray(a).reshape(-1).copy() for a in arrays]
        given += [poisoned(*extent_and_dtype(argument)) for argument in plan.block.args[len(arrays) :]]
        outputs = given[len(arrays) :][: plan.output_count]
        table = (ctypes.c_void_p * len(given))(*(a.ctypes.data for a in given))
        assert self.library[f"plan_{name}"](table, ctypes.byref(Error())) == 0
        return outputs


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler on this machine")
@pytest.mark.parametrize(("kind", "names"), BATCHES)
def test_c_has_the_bits_of_the_nest_interpreter(kind, names, tmp_path):
    cases = {name: case_of(kind, name) for name in names}
    arrays = {name: inputs_of(case) for name, case in cases.items()}
    programs = Programs(cases, tmp_path)
    for name, module in programs.modules.items():
        assert_bits(programs.run(name, arrays[name]), run_nest(module, arrays[name]), name)


# ---- random graphs


def random_case(kind: str, seed: int) -> Case:
    return retyped(RandomGraph(seed, size=40).case, TYPES[kind])


@pytest.mark.parametrize("kind", HALVES)
@pytest.mark.parametrize("seeds", [range(2), pytest.param(range(2, 20), marks=pytest.mark.full)], ids=["few", "many"])
def test_random_graphs_of_halves_keep_their_bits_down_to_the_nest(kind, seeds):
    for seed in seeds:
        case = random_case(kind, seed)
        arrays = case.inputs(seed)
        with np.errstate(all="ignore"):
            want = graph_interpreter.run(case.func, arrays, "ascending")
        run_pipeline(case.module, "expand-custom,fuse,order,dedupe")
        assert_bits(schedule_interpreter.run(case.module, arrays, "ascending"), want, f"schedule of graph {seed}")
        run_pipeline(case.module, "lower")
        assert_bits(run_nest(case.module, arrays), want, f"nest of graph {seed}")


@pytest.mark.full
@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler on this machine")
def test_random_graphs_of_halves_have_the_interpreters_bits_in_c(tmp_path):
    cases = {f"{kind}_{seed}": random_case(kind, seed) for kind in HALVES for seed in range(100, 106)}
    arrays = {name: case.inputs() for name, case in cases.items()}
    programs = Programs(cases, tmp_path)
    for name, module in programs.modules.items():
        assert_bits(programs.run(name, arrays[name]), run_nest(module, arrays[name]), name)


# ---- devices

UNITS = {"f64": 2.0**-50, "f32": 2.0**-21, "f16": 2.0**-11, "bf16": 2.0**-8}


@pytest.mark.parametrize(("kind", "name"), pairs(FLOATS | INTS))
def test_the_c_pipeline_agrees_with_the_numpy_device(kind, name):
    """Ints exactly; floats within 8 roundings of the largest value: where one op's rounding differs in a half, what
    follows may. (That C has the bits of the nest interpreter is shown above.)"""
    case = case_of(kind, name)
    arrays = inputs_of(case)
    with np.errstate(all="ignore"):
        want = graph_interpreter.run(case.func, arrays, "wide")
    run_pipeline(case.module, PIPELINES["c"][0])
    for mine, theirs in zip(run_nest(case.module, arrays), want, strict=True):
        theirs = np.ascontiguousarray(theirs).reshape(-1)
        assert mine.dtype == theirs.dtype
        if theirs.dtype.kind in "ib":
            assert np.array_equal(mine, theirs)
            continue
        unit = max(UNITS[BY_NUMPY[mine.dtype].mlir], UNITS.get(kind, 0))
        mine, theirs = mine.astype(np.float64), theirs.astype(np.float64)
        assert np.array_equal(np.isnan(mine), np.isnan(theirs))
        largest = np.max(np.abs(theirs[np.isfinite(theirs)]), initial=1)
        with np.errstate(invalid="ignore"):
            assert np.all((mine == theirs) | ~(np.abs(mine - theirs) > 8 * unit * largest))
