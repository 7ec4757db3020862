"""order and dedupe: the bits they keep, what they choose, and what they leave alone."""

from __future__ import annotations

import numpy as np
import pytest
from corpus import CASES, Builder, Case
from kernels import RandomKernel, assert_same_bits
from random_graphs import RandomGraph
from xdsl.parser import Parser

from limn.dialects import schedule
from limn.interpreters import schedule as schedule_interpreter
from limn.passes.dedupe import DedupePass, structure
from limn.passes.fuse import FusePass
from limn.passes.order import OrderPass
from limn.passes.split_reduce import SplitReducePass
from limn.universe import make_context


def fused(case: Case) -> Case:
    FusePass().apply(make_context(), case.module)
    return case


def kernels(case: Case) -> list[schedule.KernelOp]:
    return [op for op in case.module.body.ops if isinstance(op, schedule.KernelOp)]


def check_bits(module, arrays, *passes) -> None:
    want = schedule_interpreter.run(module, arrays)
    for each in passes:
        each.apply(make_context(), module)
        module.verify()
        got = schedule_interpreter.run(module, arrays)
        assert_same_bits(*([np.asarray(a).reshape(-1) for a in outputs] for outputs in (got, want)))


@pytest.mark.parametrize("name", CASES)
def test_the_corpus_keeps_its_bits(name):
    case = fused(CASES[name]())
    check_bits(case.module, case.inputs(), OrderPass(), DedupePass())


@pytest.mark.parametrize("name", ["long_sum", "long_rows", "long_columns", "softmax_wide", "layer_norm_gradient"])
def test_split_sums_keep_their_bits(name):
    case = fused(CASES[name]())
    SplitReducePass().apply(make_context(), case.module)
    check_bits(case.module, case.inputs(), OrderPass(), DedupePass())


@pytest.mark.parametrize("seed", range(500, 515))
def test_random_graphs_keep_their_bits(seed):
    case = fused(RandomGraph(seed, size=40).case)
    check_bits(case.module, case.inputs(), OrderPass(), DedupePass())


@pytest.mark.parametrize("seed", range(40))
def test_random_kernels_keep_their_bits(seed):
    made = RandomKernel(seed)
    check_bits(made.module, made.inputs(seed), OrderPass(), DedupePass())


@pytest.mark.parametrize(
    ("name", "order", "rows"),
    [
        ("matmul_nn", (0, 2, 1), 1),
        ("matmul_nt", (0, 1, 2), 2),  # both operands are walked along the reduction
        ("matmul_tn", (0, 2, 1), 1),
        ("matmul_tt", (0, 1, 2), 2),  # one buffer each: no strict win
        ("matmul_batched", (0, 1, 2, 4, 3), 3),
        ("matmul_bias_relu", (0, 2, 1), 1),
        ("outer_product_of_one", (1, 0), 0),
        ("long_columns", (1, 0), 0),
        ("transposed_operand", (0, 1), 0),
        ("softmax", (0, 1), 1),
        ("softmax_over_the_first_axis", (1, 0), 0),
        ("scatter", (0, 1, 2), 0),
        ("mean_of_everything", (0, 1), 0),
    ],
)
def test_the_loop_order_of_the_first_kernel(name, order, rows):
    case = fused(CASES[name]())
    OrderPass().apply(make_context(), case.module)
    kernel = kernels(case)[0]
    assert (kernel.loop_order, kernel.row_count) == (order, rows)


def test_what_rides_with_a_product_has_no_vote():
    b = Builder()
    x, w, c, r = b.arg(8, 16), b.arg(12, 16), b.arg(12), b.arg(8, 12)
    h = b.matmul(x, w, transpose_b=True)
    case = fused(b.case(b.add(b.add(h, b.like(c, h)), r)))
    OrderPass().apply(make_context(), case.module)
    assert kernels(case)[0].loop_order == (0, 1, 2)


def test_reduction_dims_keep_their_order():
    b = Builder()
    x = b.arg(6, 7, 8)
    case = fused(b.case(b.sum(b.permute(x, 2, 1, 0), 1, 2)))  # axes 7 and 6; the kept 8 is walked with stride 1
    OrderPass().apply(make_context(), case.module)
    (kernel,) = kernels(case)
    assert [kernel.dims[d] for d in kernel.loop_order] == [7, 6, 8]
    b = Builder()
    case = fused(b.case(b.sum(b.permute(b.arg(6, 7), 1, 0), 0, 1)))  # the 7 is walked with stride 1, but comes first
    OrderPass().apply(make_context(), case.module)
    (kernel,) = kernels(case)
    assert [kernel.dims[d] for d in kernel.loop_order] == [7, 6]


def test_equal_kernels_are_one_launched_twice():
    case = fused(CASES["momentum_steps"]())
    assert len(kernels(case)) == 3
    DedupePass().apply(make_context(), case.module)
    assert len(kernels(case)) == 2
    launches = [op for op in case.func.body.block.ops if isinstance(op, schedule.LaunchOp)]
    assert [op.kernel.string_value() for op in launches] == ["k0", "k1", "k0"]


KERNEL = """
schedule.kernel @{name}(%x: tensor<6xf32>) -> tensor<{result}xf32> dims [i0 = 6] rows {rows} order [0] {{
  %0 = graph.view %x strides [1] {mask}: tensor<6xf32> -> tensor<6xf32>
  %1 = graph.const {number} : tensor<6xf32>
  %2 = graph.{op} %0, %1 : tensor<6xf32>
  schedule.yield %2 : tensor<6xf32>
}}
"""
PLAIN = {"name": "a", "result": "6", "rows": 0, "mask": "", "number": "0.0", "op": "add"}


@pytest.mark.parametrize(
    ("change", "same"),
    [
        ({"name": "b"}, True),
        ({"number": "-0.0"}, False),
        ({"number": "0x7fc00000"}, False),
        ({"number": "1.0e-45"}, False),
        ({"op": "mul"}, False),
        ({"mask": "mask [0] to [5] "}, False),
        ({"rows": 1}, False),
        ({"result": "2x3"}, False),
    ],
    ids=str,
)
def test_kernels_are_told_apart_by_all_but_names(change, same):
    text = KERNEL.format(**PLAIN) + KERNEL.format(**{**PLAIN, "name": "c", **change})
    one, other = Parser(make_context(), text).parse_module().body.ops
    assert (structure(one) == structure(other)) is same


def test_a_nan_equals_itself():
    text = "".join(KERNEL.format(**{**PLAIN, "name": name, "number": "0x7fc00000"}) for name in "ab")
    one, other = Parser(make_context(), text).parse_module().body.ops
    assert structure(one) == structure(other)
