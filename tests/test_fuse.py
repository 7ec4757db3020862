"""fuse: the bits of the graph, few kernels, few reads, and no limit on the size of a graph."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from corpus import CASES, Builder, Case
from kernels import assert_same_bits
from random_graphs import RandomGraph
from xdsl.dialects.builtin import TensorType, f32
from xdsl.parser import Parser
from xdsl.utils.exceptions import PassFailedException

from limn.analysis.phases import loads, phases
from limn.dialects import graph, schedule
from limn.interpreters import graph as graph_interpreter
from limn.interpreters import schedule as schedule_interpreter
from limn.passes.fuse import FusePass
from limn.universe import make_context


def fused(case: Case, **options) -> Case:
    FusePass(**options).apply(make_context(), case.module)
    case.module.verify()
    return case


def kernels(case: Case) -> list[schedule.KernelOp]:
    return [op for op in case.module.body.ops if isinstance(op, schedule.KernelOp)]


def check_bits(case: Case, seed: int = 0, **options) -> None:
    """Fusing changes no bit of any result, folds ascending on both sides; the text parses back to the same."""
    arrays = case.inputs(seed)
    want = graph_interpreter.run(case.func, arrays, "ascending")
    fused(case, **options)
    got = schedule_interpreter.run(case.module, arrays, "ascending")
    assert [a.shape for a in got] == [a.shape for a in want]
    assert_same_bits([np.asarray(a).reshape(-1) for a in got], [np.asarray(a).reshape(-1) for a in want])
    text = str(case.module)
    assert str(Parser(make_context(), text).parse_module()) == text


@pytest.mark.parametrize("name", CASES)
def test_the_corpus_keeps_its_bits(name):
    check_bits(CASES[name]())


@pytest.mark.full
@pytest.mark.parametrize(
    "options",
    [
        {"recompute": 0},
        {"recompute": 100},
        {"max_inputs": 2},
        {"max_ops": 2},
        {"max_row": 0},
        {"merge": False},
    ],
    ids=str,
)
def test_options_change_no_bits(options):
    for name in CASES:
        check_bits(CASES[name](), **options)


@pytest.mark.parametrize("seed", range(25))
def test_random_graphs_keep_their_bits(seed):
    check_bits(RandomGraph(seed, size=10 + 2 * seed).case, seed)


@pytest.mark.full
@pytest.mark.parametrize("seed", range(1000, 1100))
def test_larger_random_graphs_keep_their_bits(seed):
    check_bits(RandomGraph(seed, size=300).case, seed)


@pytest.mark.parametrize(
    ("name", "count"),
    [
        ("nothing", 0),
        ("elementwise", 1),
        ("broadcasts", 1),
        ("matmul_nn", 1),
        ("matmul_tt", 1),
        ("matmul_batched", 1),
        ("matmul_bias_relu", 1),
        ("matmul_scale_residual", 1),
        ("matmul_of_cast", 1),
        ("product_transposed", 1),
        ("permute_of_a_sum", 1),
        ("softmax_transposed", 2),
        ("two_layers", 2),
        ("matmul_then_softmax", 2),
        ("softmax", 1),
        ("softmax_of_a_vector", 1),
        ("softmax_of_heads", 1),
        ("softmax_masked", 1),
        ("softmax_square", 1),
        ("log_softmax", 1),
        ("softmax_gradient", 1),
        ("layer_norm", 1),
        ("layer_norm_gradient", 1),
        ("layer_norm_both_ways", 4),
        ("cross_entropy", 2),
        ("sum_of_a_masked_view", 1),
        ("mean_of_everything", 1),
        ("gather", 1),
        ("gather_wrapped_index", 1),
        ("scatter", 1),
        ("shared_inputs", 1),
        ("expensive_column_repeated", 1),
        ("expensive_row_repeated", 2),
        ("digits_step", 9),
    ],
)
def test_number_of_kernels(name, count):
    assert len(kernels(fused(CASES[name]()))) == count


ROWS = ["softmax", "softmax_of_heads", "log_softmax", "softmax_gradient", "layer_norm", "layer_norm_gradient"]


@pytest.mark.parametrize("name", ROWS)
def test_rows_read_each_input_at_most_twice_and_keep_at_most_one_row(name):
    (kernel,) = kernels(fused(CASES[name]()))
    reads = Counter(
        op.operands[0] for phase in phases(kernel) for op in {load.operands[0]: load for load in loads(phase)}.values()
    )
    assert max(reads.values()) <= 2
    assert sum(isinstance(op, schedule.KeepOp) for op in kernel.block.ops) <= 1


def test_softmax_keeps_its_exponentials_and_log_softmax_its_differences():
    for name, kept in (("softmax", graph.ExpOp), ("log_softmax", graph.AddOp)):
        (kernel,) = kernels(fused(CASES[name]()))
        (keep,) = [op for op in kernel.block.ops if isinstance(op, schedule.KeepOp)]
        assert isinstance(keep.operand.owner, kept)


def test_a_row_longer_than_the_option_is_not_kept():
    (kernel,) = kernels(fused(CASES["softmax"](), max_row=9))
    assert not any(isinstance(op, schedule.KeepOp) for op in kernel.block.ops)


@pytest.mark.parametrize("name", CASES)
def test_a_contraction_is_alone_in_its_kernel_and_computed_once(name):
    case = CASES[name]()
    products = sum(_sums_a_product(op) for op in case.module.walk())
    fused(case)
    found = [[op for op in kernel.block.ops if _sums_a_product(op)] for kernel in kernels(case)]
    assert sum(map(len, found)) <= products
    if name.startswith(("matmul", "two_layers", "digits")):
        assert max(map(len, found)) == 1


def _sums_a_product(op) -> bool:
    return isinstance(op, graph.SumOp) and isinstance(op.operand.owner, graph.MulOp)


def test_an_expensive_value_that_two_kernels_need_is_computed_once():
    case = fused(CASES["used_by_two_kernels"]())
    assert sum(isinstance(op, graph.ExpOp) for op in case.module.walk()) == 1


def test_a_cheap_value_that_two_kernels_need_is_computed_in_both():
    b = Builder()
    x, y = b.arg(4, 6), b.arg(6)
    half = b.scaled(x, 0.5)
    case = fused(b.case(b.sum(half, 0), b.max(half, 1), b.mul(half, b.like(y, half))))
    launches = [op for op in case.func.body.block.ops if isinstance(op, schedule.LaunchOp)]
    assert all(launch.inputs[0] is case.func.body.block.args[0] for launch in launches)


def test_mean_and_deviation_come_from_the_forward_kernel():
    case = fused(CASES["layer_norm_both_ways"]())
    assert [len(kernel.stored_types) for kernel in kernels(case)] == [3, 1, 1, 1]


def test_the_order_of_folded_axes_stays():
    b = Builder()
    x, z = b.arg(4, 5, 3), b.arg(4, 3, 5)
    total = b.reshape(b.sum(z, 1, 2), 4, 1, 1)  # the extents of x in another order must not lend their dims
    check_bits(b.case(b.mul(x, b.like(total, x))))


def test_reductions_over_other_rows_are_cut():
    b = Builder()
    x = b.arg(4, 5, 6)
    inner, outer = b.like(b.sum(x, 2), x), b.like(b.max(x, 1, 2), x)
    case = b.case(b.mul(b.mul(x, inner), outer))
    check_bits(case)
    assert len(kernels(case)) == 2


def test_kernels_that_read_each_other_are_not_merged():
    b = Builder()
    x = b.arg(4, 6)
    e = b.exp(x)
    case = b.case(e, b.add(x, b.view(e, b.layout(e).flip([0]))))
    check_bits(case)
    assert len(kernels(case)) == 2


def test_a_padded_operand_is_not_stored():
    assert len(kernels(fused(CASES["pad_at_both_ends"]()))) == 1


def test_each_launch_says_why():
    for name in CASES:
        for op in fused(CASES[name]()).func.body.block.ops:
            if isinstance(op, schedule.LaunchOp):
                assert op.because is not None
                assert op.because.data


def test_a_custom_op_is_refused_by_name():
    b = Builder()
    x = b.arg(4)
    y = b.op(graph.CustomOp("attention", [x], [TensorType(f32, [4])]))
    with pytest.raises(PassFailedException, match=r'graph.custom "attention".*expand-custom'):
        fused(b.case(y))


def test_a_scheduled_function_is_left_alone():
    case = fused(CASES["softmax"]())
    before = str(case.module)
    assert str(fused(case).module) == before


def test_kernel_names_that_are_taken_are_passed_over():
    case = CASES["elementwise"]()
    case.func.properties["sym_name"] = type(case.func.sym_name)("k0")
    assert kernels(fused(case))[0].sym_name.data == "k1"


# Size


def chain(length: int) -> Case:
    b = Builder()
    x = y = b.arg(4, 5)
    for n in range(length):
        y = b.add(y, x) if n % 3 else b.op(graph.SqrtOp(b.mul(y, y)))
    return b.case(y)


def diamonds(length: int) -> Case:
    b = Builder()
    x = y = b.arg(3)
    for _ in range(length):
        y = b.scaled(b.add(y, b.mul(y, x)), 0.5)
    return b.case(y)


def wide_sum(count: int) -> Case:
    b = Builder()
    first, *rest = [b.arg(3) for _ in range(count)]
    for x in rest:
        first = b.add(first, x)
    return b.case(first)


def tree(count: int) -> Case:
    b = Builder()
    level = [b.arg(3) for _ in range(count)]
    while len(level) > 1:
        level = [b.add(p, q) for p, q in zip(level[::2], level[1::2])] + level[len(level) & ~1 :]
    return b.case(level[0])


def readers_of_one(count: int) -> Case:
    b = Builder()
    x = b.arg(3)
    e = b.exp(x)
    return b.case(*(b.scaled(e, float(n)) for n in range(count)))


LARGE = {
    "shorter chain": lambda: chain(2_000),
    "chain": lambda: chain(10_000),
    "diamonds": lambda: diamonds(3_000),
    "wide_sum": lambda: wide_sum(3_000),
    "tree": lambda: tree(3_000),
    "readers_of_one": lambda: readers_of_one(1_000),
}


@pytest.mark.parametrize("name", ["shorter chain", *(pytest.param(n, marks=pytest.mark.full) for n in list(LARGE)[1:])])
def test_large_graphs_keep_their_bits_within_the_bounds_of_a_kernel(name):
    case = LARGE[name]()
    arrays = case.inputs()
    want = graph_interpreter.run(case.func, arrays, "ascending")
    FusePass().apply(make_context(), case.module)
    assert_same_bits(schedule_interpreter.run(case.module, arrays, "ascending"), want)
    for kernel in kernels(case):
        assert len(kernel.block.args) <= 24
        assert sum(1 for op in kernel.block.ops if isinstance(op, graph.ELEMENTWISE)) <= 200
