"""split-reduce: sums that are accurate, grouped by the language and not by the machine, and nothing else changed."""

from __future__ import annotations

import numpy as np
import pytest
from corpus import CASES, Builder, Case
from kernels import assert_same_bits
from random_graphs import RandomGraph
from xdsl.dialects.builtin import f64, i32

from limn.analysis.phases import chains_of
from limn.dialects import graph, schedule
from limn.interpreters import schedule as schedule_interpreter
from limn.passes.fuse import FusePass
from limn.passes.order import OrderPass
from limn.passes.split_reduce import SplitReducePass
from limn.universe import make_context

INEXACT = ("softmax", "norm", "cross_entropy", "digits", "long_rows", "row_with_a_tail", "sum_of_sums", "rows_of")
"""Cases that divide or take exponentials before they sum, so that their sums are not exact on whole numbers."""


def split(case: Case, **options) -> tuple[list, list, Case]:
    """The results before and after on one input, which ``options['whole']`` makes whole numbers, and the case."""
    whole = options.pop("whole", False)
    ctx = make_context()
    FusePass().apply(ctx, case.module)
    arrays = case.inputs(whole=whole)
    before = schedule_interpreter.run(case.module, arrays)
    SplitReducePass(**options).apply(ctx, case.module)
    case.module.verify()
    return before, schedule_interpreter.run(case.module, arrays), case


def kernel_of(case: Case) -> schedule.KernelOp:
    (kernel,) = [op for op in case.module.body.ops if isinstance(op, schedule.KernelOp)]
    return kernel


def extents(case: Case) -> tuple[int, ...]:
    return kernel_of(case).dims


@pytest.mark.parametrize("name", [n for n in CASES if not any(word in n for word in INEXACT)])
def test_sums_of_whole_numbers_keep_their_bits(name):
    before, after, _ = split(CASES[name](), shortest=8, longest=64, whole=True)
    assert_same_bits(*([np.asarray(a).reshape(-1) for a in arrays] for arrays in (after, before)))


@pytest.mark.parametrize("name", CASES)
def test_other_sums_move_by_roundings(name):
    before, after, _ = split(CASES[name](), shortest=8, longest=64)
    for a, b in zip(before, after, strict=True):
        assert (a.shape, a.dtype) == (b.shape, b.dtype)
        np.testing.assert_allclose(b, a, rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("seed", range(300, 325))
def test_random_graphs_stay_within_roundings(seed):
    before, after, _ = split(RandomGraph(seed, size=40).case, shortest=4, longest=20)
    for a, b in zip(before, after, strict=True):
        size = np.abs(np.nan_to_num(a.astype(float), posinf=0, neginf=0)).max(initial=1)
        np.testing.assert_allclose(b.astype(float), a.astype(float), rtol=1e-4, atol=1e-5 * size)


def total_of(count: int, of=None) -> Case:
    b = Builder()
    return b.case(b.reshape(b.sum(b.arg(count, of=of) if of is not None else b.arg(count), 0)))


def run_total(case: Case, value) -> float:
    ctx = make_context()
    FusePass().apply(ctx, case.module)
    SplitReducePass().apply(ctx, case.module)
    (argument,) = case.func.body.block.args
    return schedule_interpreter.run(case.module, [np.full(graph.shape_of(argument), value)])[0][()]


def test_ten_million_tenths():
    assert abs(run_total(total_of(10_000_000), np.float32(0.1)) / 1e6 - 1) < 2e-5


def test_ones_do_not_stall():
    assert run_total(total_of(2**24 + 4096), np.float32(1)) == 2**24 + 4096


@pytest.mark.parametrize("count", [31, 32, 33, 100, 4095, 4096, 4097, 4112, 8192, 12345, 70001])
def test_totals_of_every_length(count):
    assert run_total(total_of(count), np.float32(3)) == 3 * count
    assert run_total(total_of(count, f64), 0.5) == count / 2
    wrapped = (count << 30) % 2**32
    assert int(run_total(total_of(count, i32), np.int32(2**30))) % 2**32 == wrapped


def test_the_numbers_are_language():
    for count, dims in (
        (31, (31,)),
        (48, (3, 16)),
        (40, (5, 8)),
        (36, (9, 4)),
        (4095, (4095,)),
        (8192, (2, 256, 16)),
        (4096 + 16 + 3, (256, 16, 19)),
        (4096 + 48 + 3, (256, 16, 3, 16, 3)),
        (4096 * 300, (1, 256, 256, 16, 44, 256, 16)),
    ):
        _, _, case = split(total_of(count))
        assert tuple(n for n in extents(case) if n > 1) == tuple(n for n in dims if n > 1), count


def test_rows_are_split_and_stay_one_kernel():
    for name, dims in (
        ("softmax_wide", (3, 3, 16)),
        ("log_softmax", (6, 2, 16)),
        ("layer_norm_gradient", (6, 3, 16)),
    ):
        _, _, case = split(CASES[name]())
        assert extents(case) == dims
        for chain in chains_of(kernel_of(case)):
            assert len(chain) == 2


def test_a_keep_survives_a_whole_split():
    _, _, case = split(CASES["softmax_wide"]())
    assert sum(isinstance(op, schedule.KeepOp) for op in kernel_of(case).block.ops) == 1


@pytest.mark.parametrize(
    "name", ["matmul_nn", "matmul_tt", "matmul_batched", "convolution", "scatter", "softmax_ragged", "elementwise"]
)
def test_contractions_scatters_and_short_rows_are_left_alone(name):
    case = CASES[name]()
    FusePass().apply(make_context(), case.module)
    before = str(case.module)
    SplitReducePass().apply(make_context(), case.module)
    assert str(case.module) == before


def test_a_long_contraction_is_left_alone():
    b = Builder()
    case = b.case(b.matmul(b.arg(2, 5000), b.arg(5000, 3)))
    FusePass().apply(make_context(), case.module)
    before = str(case.module)
    SplitReducePass().apply(make_context(), case.module)
    assert str(case.module) == before


def test_a_masked_axis_is_left_alone():
    b = Builder()
    x = b.arg(3, 60)
    case = b.case(b.sum(b.view(x, b.layout(x).pad([(0, 0), (2, 2)])), 1))
    _, _, case = split(case)
    assert extents(case) == (3, 64)


def test_columns_get_blocks_but_no_lanes_and_their_rows_stay_innermost():
    _, _, case = split(CASES["long_columns"]())
    assert extents(case) == (3, 17, 256, 148)
    OrderPass().apply(make_context(), case.module)
    assert kernel_of(case).loop_order == (1, 2, 3, 0)


def test_axes_that_memory_does_not_tell_apart_count_as_one():
    b = Builder()
    x = b.arg(20, 30, 40)
    _, _, case = split(b.case(b.sum(x, 0, 1, 2)))
    assert extents(case) == (5, 256, 16, 220, 16)


def test_axes_that_memory_tells_apart_are_summed_one_by_one():
    b = Builder()
    x = b.arg(20, 30, 40)
    _, _, case = split(b.case(b.sum(b.permute(x, 1, 0, 2), 0, 1, 2)))
    assert [op.reduced for op in kernel_of(case).block.ops if isinstance(op, graph.SumOp)] == [(2,), (3,), (1,), (0,)]


@pytest.mark.parametrize("count", [100, 784, 1000, 4096, 20_000])
@pytest.mark.parametrize(("terms", "bound"), [("equal", 4e-6), ("uniform", 1e-6), ("normal", 1e-6)])
@pytest.mark.parametrize("axis", [0, 1])
def test_totals_of_rows_and_of_columns_stay_near_the_true_ones(axis, terms, bound, count):
    """Against float64, over the sum of the absolute values. Roundings of equal terms all go the same way."""
    random = np.random.default_rng(count)
    drawn = {"equal": lambda s: np.full(s, 0.1), "uniform": random.random, "normal": random.standard_normal}[terms]
    shape = (count, 24) if axis == 0 else (3, count)
    array = drawn(shape).astype(np.float32)
    b = Builder()
    case = b.case(b.sum(b.arg(*shape), axis))
    ctx = make_context()
    FusePass().apply(ctx, case.module)
    SplitReducePass().apply(ctx, case.module)
    (total,) = schedule_interpreter.run(case.module, [array])
    wide = array.astype(np.float64)
    error = np.abs(total.reshape(-1) - wide.sum(axis)) / np.abs(wide).sum(axis)
    assert error.max() < bound


@pytest.mark.parametrize("size", [4096 + 1, 50257, 50260, 5000])
def test_long_rows_of_odd_lengths_stay_whole_rows(size):
    """17 * 241, 29 * 1733, 35 * 1436, 8 * 625: one cut, so the row is loaded once and its exponentials are kept."""
    b = Builder()
    x = b.arg(2, size)
    row = b.sum(exponentials := b.exp(x), 1)
    case = b.case(b.div(exponentials, b.expand(row, 2, size)))
    before, after, case = split(case)
    for was, now in zip(before, after, strict=True):
        np.testing.assert_allclose(now, was, rtol=2e-5)
    ops = list(kernel_of(case).block.ops)
    assert sum(isinstance(op, graph.ViewOp) and op.source in kernel_of(case).block.args for op in ops) == 1
    assert sum(isinstance(op, schedule.KeepOp) for op in ops) == 1
