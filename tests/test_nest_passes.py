"""The passes on nests: equal bits before and after, and oracles for what they claim to have proven."""

from collections.abc import Iterator

import numpy as np
import pytest
from corpus import CASES
from kernels import RandomKernel, assert_same_bits, random_nest, run_kernel, run_nest
from xdsl.dialects.builtin import ModuleOp, f32
from xdsl.ir import Block, SSAValue

from limn.analysis.affine import ranges_in
from limn.analysis.dependence import independent
from limn.dialects import nest
from limn.dialects.affine import Index
from limn.passes.plan_memory import lifetimes
from limn.pipelines import NEST, run_pipeline

FULL = pytest.mark.full


def seeds(*quick: range, full: range) -> pytest.MarkDecorator:
    """Ranges of seeds: a few for the quick tier, the rest for the full one."""
    return pytest.mark.parametrize("seeds", [*quick, pytest.param(full, marks=FULL)], ids=str)


ORDERS = ("forward", "reverse", "shuffled")


def lowered(name: str, whole: bool = False) -> tuple[ModuleOp, list[np.ndarray]]:
    case = CASES[name]()
    arrays = case.inputs(4, whole)
    run_pipeline(case.module, NEST)
    return case.module, arrays


def is_exact(module: ModuleOp) -> bool:
    """Whether small whole numbers stay exact in every op."""
    inexact = (nest.ExpOp, nest.LogOp, nest.SqrtOp, nest.DivOp)
    constants = [op.value.value.data for op in module.walk() if isinstance(op, nest.ConstOp)]
    return not any(isinstance(op, inexact) for op in module.walk()) and all(c % 0.125 == 0 for c in constants)


def apply(module: ModuleOp, passes: str) -> None:
    run_pipeline(module, passes)
    module.verify()


@pytest.mark.parametrize("name", CASES)
def test_each_pass_keeps_the_bits_of_the_corpus(name):
    """All passes after `contract`, which may round differently; on whole numbers it must not."""
    module, arrays = lowered(name, whole=True)
    before = run_nest(module, arrays)
    apply(module, "contract")
    if is_exact(module):
        assert_same_bits(run_nest(module, arrays), before)
    _, arrays = lowered(name)
    before = run_nest(module, arrays)
    for passes in ("split-pads", "plan-memory", "parallelize{grain=1 turns=3}"):
        apply(module, passes)
        assert_same_bits(run_nest(module, arrays, "shuffled"), before)


@seeds(range(300, 330), full=range(330, 600))
def test_each_pass_keeps_the_bits_of_random_kernels(seeds):
    for seed in seeds:
        kernel = RandomKernel(seed, 8 + seed % 10)
        run_pipeline(kernel.module, "lower")
        arrays = kernel.inputs(seed)
        before = run_nest(kernel.module, arrays)
        for passes in ("split-pads{growth=30}", "parallelize{grain=1 turns=3}"):
            apply(kernel.module, passes)
            assert_same_bits(run_nest(kernel.module, arrays, ORDERS[seed % 3]), before)


@seeds(range(60), full=range(60, 300))
def test_contract_keeps_the_bits_of_whole_numbers(seeds):
    changed = 0
    for seed in seeds:
        kernel = RandomKernel(seed, 8)
        run_pipeline(kernel.module, "lower")
        if any(isinstance(op, nest.DivOp) for op in kernel.module.walk()):
            continue
        arrays = kernel.inputs(seed, whole=True)
        before, text = run_nest(kernel.module, arrays), str(kernel.module)
        apply(kernel.module, "contract{fma=false}")
        assert str(kernel.module) == text
        apply(kernel.module, "contract{elementwise=true}")
        changed += str(kernel.module) != text
        if all(np.abs(b[np.isfinite(b)]).max(initial=0) < 2**20 for b in before if b.dtype == np.float32):
            assert_same_bits(run_nest(kernel.module, arrays), before)
    assert changed > 2


# split-pads


def innermost_checks(module: ModuleOp) -> list[nest.AccessOp]:
    return [op for op in module.walk() if isinstance(op, nest.AccessOp) and op.checks is not None]


@seeds(range(60), full=range(60, 600))
def test_split_pads_on_odd_steps_ragged_bounds_and_checks_over_several_indices(seeds):
    unsplit = 0
    for seed in seeds:
        module, arrays = random_nest(seed)
        before = run_kernel(module, arrays)
        apply(module, f"split-pads{{growth={(8, 40)[seed % 2]}}}")
        assert_same_bits(run_kernel(module, arrays), before)
        unsplit += bool(innermost_checks(module))
    assert unsplit < len(seeds) / 8, "most of these can be split wholly"


def test_split_pads_leaves_no_check_where_bounds_are_constants():
    for name in ("pad_at_both_ends", "pad_of_an_expression", "sum_of_a_masked_view", "softmax_masked"):
        module, _ = lowered(name)
        apply(module, "split-pads")
        assert not innermost_checks(module)


def test_split_pads_does_not_outgrow_its_limit():
    for seed in range(20):
        module, _ = random_nest(seed)
        size = sum(1 for _ in module.walk())
        apply(module, "split-pads{growth=3}")
        assert sum(1 for _ in module.walk()) <= 3 * size


# plan-memory


def random_plan(seed: int) -> ModuleOp:
    """Launches that each read what some earlier ones wrote; sizes that are no multiples of anything."""
    rng = np.random.default_rng(seed)
    sizes = [int(n) for n in rng.choice([1, 3, 17, 40], 3, replace=False)]
    kernels: dict[tuple[int, ...], nest.KernelOp] = {}
    block = Block(arg_types=[nest.memref(n, f32) for n in (*sizes, *sizes)])
    known, outputs = list(block.args[:3]), block.args[3:]

    def launch(target: SSAValue) -> None:
        recent = [known[int(rng.integers(max(0, len(known) - 6), len(known)))] for _ in range(2)]
        buffers = [*recent, target]
        block.add_op(nest.LaunchOp(_sum_kernel(kernels, tuple(map(nest.extent_of, buffers))), buffers))

    for _ in range(int(rng.integers(3, 40))):
        block.add_op(alloc := nest.AllocOp(nest.memref(int(rng.choice(sizes)), f32)))
        launch(alloc.result)
        known.append(alloc.result)
    for output in outputs:
        launch(output)
    module = ModuleOp([*kernels.values(), nest.PlanOp("main", 3, [], block)])
    module.verify()
    return module


def _sum_kernel(kernels: dict[tuple[int, ...], nest.KernelOp], sizes: tuple[int, ...]) -> str:
    """A kernel that writes to each cell the sum of one cell of each of two sources, plus one."""
    if sizes not in kernels:
        block = Block(arg_types=[nest.memref(size, f32) for size in sizes])
        body = nest.ForOp.block_named("i")
        i = Index.of(body.args[0])
        body.add_op(a := nest.LoadOp(block.args[0], i % sizes[0]))
        body.add_op(b := nest.LoadOp(block.args[1], i % sizes[1]))
        body.add_op(ab := nest.AddOp(a, b))
        body.add_op(one := nest.ConstOp(1.0, f32))
        body.add_op(total := nest.AddOp(ab, one))
        body.add_op(nest.StoreOp(total, block.args[2], i))
        block.add_op(nest.ForOp([0], [sizes[2]], body))
        kernels[sizes] = nest.KernelOp("k_" + "_".join(map(str, sizes)), block)
    return kernels[sizes].sym_name.data


@seeds(range(10), full=range(10, 80))
def test_no_two_buffers_overlap_while_both_are_in_use(seeds):
    smaller = 0
    for seed in seeds:
        module = random_plan(seed)
        arrays = [np.arange(n, dtype=np.float32) for n in _input_sizes(module)]
        before = run_nest(module, arrays)
        plan = next(op for op in module.body.ops if isinstance(op, nest.PlanOp))
        lives = list(lifetimes(plan).values())
        assert len(set(lives)) > 1
        apply(module, "plan-memory")
        slices = [op for op in plan.block.ops if isinstance(op, nest.SliceOp)]
        assert not any(isinstance(op, nest.AllocOp) for op in plan.block.ops)
        places = [(s.byte_offset, s.byte_offset + nest.byte_size(nest.memref_of(s.result))) for s in slices]
        used = _launches_of(plan, slices)
        for n, (start, end) in enumerate(places):
            assert start % 64 == 0
            for m in range(n):
                together = max(used[n][0], used[m][0]) <= min(used[n][-1], used[m][-1])
                assert not together or end <= places[m][0] or places[m][1] <= start
        assert plan.arena_argument is not None
        smaller += nest.extent_of(plan.arena_argument) < sum(-(-(end - start) // 64) * 64 for start, end in places)
        assert_same_bits(run_nest(module, arrays), before)  # the interpreter poisons the arena
    assert smaller > len(seeds) / 2


def _input_sizes(module: ModuleOp) -> list[int]:
    plan = next(op for op in module.body.ops if isinstance(op, nest.PlanOp))
    return [nest.extent_of(a) for a in plan.block.args[: plan.input_count]]


def _launches_of(plan: nest.PlanOp, slices: list[nest.SliceOp]) -> list[list[int]]:
    launches = [op for op in plan.block.ops if isinstance(op, nest.LaunchOp)]
    return [[n for n, launch in enumerate(launches) if s.result in launch.buffers] for s in slices]


def test_an_arena_that_is_there_keeps_its_slices():
    module = random_plan(5)
    apply(module, "plan-memory")
    text = str(module)
    apply(module, "plan-memory")
    assert str(module) == text


# parallelize


def random_accesses(seed: int) -> ModuleOp:
    """A nest of up to three loops that stores, updates and loads at subscripts with random strides."""
    rng = np.random.default_rng(seed)
    depth = int(rng.integers(1, 4))
    block = Block(arg_types=[nest.memref(4096, f32), nest.memref(4096, f32)])
    bodies = [nest.ForOp.block_named(f"i{d}") for d in range(depth)]
    extents = [int(rng.integers(1, 7)) for _ in range(depth)]
    inner = bodies[-1]
    inner.add_op(value := nest.ConstOp(1.0, f32))
    strides = [1, 2, 3, 5, 6, 12, 36]
    shared = [int(rng.choice([0, *strides, -1, -6])) for _ in range(depth)]
    for n in range(int(rng.integers(1, 4))):
        index = Index.constant(2000 + int(rng.choice([0, 0, 1, 2, 7])))
        for body, stride in zip(bodies, shared):
            own = stride if rng.random() < 0.85 else int(rng.choice(strides))
            index = index + Index.of(body.args[0]) * own
        memory = block.args[0] if n == 0 or rng.random() < 0.8 else block.args[1]
        kind = int(rng.integers(0, 3)) if n else 0
        access = (
            nest.StoreOp(value, memory, index),
            nest.AccumulateOp("add", value, memory, index),
            nest.LoadOp(memory, index),
        )[kind]
        inner.add_op(access)
    for d in reversed(range(depth)):
        upper: list[Index | int] = [extents[d] * 2]
        if d and rng.random() < 0.2:
            upper.append(Index.of(bodies[d - 1].args[0]) + 1)
        (bodies[d - 1] if d else block).add_op(nest.ForOp([0], upper, bodies[d], int(rng.choice([1, 1, 2, 3]))))
    module = ModuleOp([nest.KernelOp("k", block)])
    module.verify()
    return module


def affine(index: Index, bound: dict[SSAValue, int]) -> int:
    return index.expr.eval([bound[value] for value in index.values], [])


def turns(loop: nest.ForOp, bound: dict[SSAValue, int]) -> range:
    low = max(affine(index, bound) for index in loop.lowers)
    return range(low, min(affine(index, bound) for index in loop.uppers), loop.stride)


def touched(block: Block, bound: dict[SSAValue, int]) -> Iterator[tuple[SSAValue, int, bool]]:
    """Every element that a body touches: (memory, element, whether it is written)."""
    for op in block.ops:
        if isinstance(op, nest.ForOp):
            for turn in turns(op, bound):
                yield from touched(op.block, {**bound, op.index: turn})
        elif isinstance(op, nest.AccessOp):
            yield op.memory, affine(op.index, bound), not isinstance(op, nest.LoadOp)


def meets(loop: nest.ForOp, bound: dict[SSAValue, int]) -> bool:
    """Whether some turn touches what another turn writes, found by trying."""
    seen: dict[tuple[SSAValue, int], tuple[int, bool]] = {}
    for turn in turns(loop, bound):
        for memory, element, written in touched(loop.block, {**bound, loop.index: turn}):
            other, before = seen.get((memory, element), (turn, False))
            if other != turn and (written or before):
                return True
            seen[memory, element] = (turn, written or before)
    return False


def loops_with_turns(block: Block, bound: dict[SSAValue, int]) -> Iterator[tuple[nest.ForOp, dict[SSAValue, int]]]:
    for op in block.ops:
        if isinstance(op, nest.ForOp):
            yield op, bound
            for turn in turns(op, bound):
                yield from loops_with_turns(op.block, {**bound, op.index: turn})


@seeds(range(120), full=range(120, 800))
def test_a_loop_that_is_proven_independent_is(seeds):
    proven = free = collapsed = 0
    for seed in seeds:
        module = random_accesses(seed)
        kernel = module.body.block.first_op
        assert isinstance(kernel, nest.KernelOp)
        ranges = ranges_in(kernel.block)
        collides: dict[nest.ForOp, bool] = {}
        for loop, bound in loops_with_turns(kernel.block, {}):
            collides[loop] = collides.get(loop, False) or meets(loop, bound)
        for loop, found in collides.items():
            if independent(loop, ranges):
                assert not found, f"seed {seed}: %{loop.index.name_hint}\n{module}"
                proven += 1
            free += not found
        apply(module, "parallelize{grain=1 turns=100}")
        for loop, found in collides.items():
            if loop.kind.data == nest.PARALLEL:
                assert not found
            if loop.collapse is not None:
                inner = loop.block.first_op
                assert isinstance(inner, nest.ForOp)
                assert not collides[inner]
                collapsed += 1
    assert proven > 0.6 * free, f"{proven} of {free} loops are proven"
    assert collapsed > len(seeds) / 40


def test_only_work_that_pays_is_parallel():
    module, _ = lowered("matmul_nn")
    text = str(module)
    apply(module, "parallelize")
    assert str(module) == text
    apply(module, "parallelize{grain=1}")
    assert "parallel {" in str(module)


def test_a_scatter_by_row_stays_serial():
    module, _ = lowered("scatter")
    apply(module, "parallelize{grain=1}")
    carried = [op for op in module.walk() if isinstance(op, nest.ForOp) and op.kind.data == nest.PARALLEL]
    for loop in carried:
        assert not any(isinstance(op, nest.CheckRowOp) for op in loop.walk())
