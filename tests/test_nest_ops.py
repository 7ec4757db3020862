"""Every scalar op of nest at every type and at the values where arithmetic goes wrong: fast against reference."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kernels import assert_same_bits
from xdsl.dialects.builtin import bf16, f16, f32, f64, i1, i8, i16, i32, i64
from xdsl.ir import Attribute, Block

from limn.dialects import nest
from limn.interpreters import nest as fast
from limn.interpreters import nest_lanes, nest_reference, scalar
from limn.interpreters.exact_fma import fma_many, fma_one
from limn.interpreters.nest_numpy import NUMPY, poison

EDGES: dict[Attribute, list[Any]] = {
    f32: [0.0, -0.0, 1.0, -1.0, 1.5, -2.5, np.inf, -np.inf, np.nan, 1e-45, -1.1e-38, 3.4028235e38, 16777217.0, 2.0**31],
    f64: [0.0, -0.0, 1.0, -1.0, 0.1, -2.5, np.inf, -np.inf, np.nan, 5e-324, -2.2e-308, 1.7e308, 9.3e18, 1e-200],
    f16: [0.0, -0.0, 1.0, -1.5, np.inf, -np.inf, np.nan, 6e-8, 65504.0],
    bf16: [0.0, -0.0, 1.0, -1.5, np.inf, -np.inf, np.nan, 1e-40, 3.3e38],
    i1: [False, True],
    **{
        kind: [0, 1, -1, 2, -3, 7, (1 << (width - 1)) - 1, -(1 << (width - 1)), (1 << (width - 2)) + 1]
        for kind, width in ((i8, 8), (i16, 16), (i32, 32), (i64, 64))
    },
}  # fmt: skip


@pytest.fixture(params=["lanes", "turns"])
def lanes(request, monkeypatch):
    """Runs a test with loops as lanes, and turn by turn."""
    if request.param == "turns":
        monkeypatch.setattr(nest_lanes, "MOST_LANES", 1)
    return request.param == "lanes"


def op_kernel(make, kinds: list[Attribute], result: Attribute, columns: list[list[Any]]) -> tuple[nest.KernelOp, list]:
    """A kernel that applies an op elementwise to columns of values, and its buffers; i64 travels as f64."""
    size = len(columns[0])
    stored = [f64 if kind == i64 else kind for kind in (*kinds, result)]
    block = Block(arg_types=[nest.memref(size, kind) for kind in stored])
    body = nest.ForOp.block_named("i")
    at = nest.Index.of(body.args[0])
    values = []
    for argument, kind in zip(block.args, kinds):
        op = nest.LoadOp(argument, at)
        body.add_op(op)
        if kind == i64:
            op = nest.BitcastOp(op.result, i64)
            body.add_op(op)
        values.append(op.result)
    op = make(*values)
    body.add_op(op)
    if result == i64:
        op = nest.BitcastOp(op.results[0], f64)
        body.add_op(op)
    body.add_op(nest.StoreOp(op.results[0], block.args[-1], at))
    block.add_op(nest.ForOp([0], [size], body))
    kernel = nest.KernelOp("k", block)
    kernel.verify()
    with np.errstate(all="ignore"):
        arrays = [np.array(column).astype(NUMPY[str(kind)]) for column, kind in zip(columns, kinds)]
    arrays = [a.view(np.float64) if a.dtype == np.int64 else a for a in arrays]
    out = np.zeros(size, NUMPY[str(stored[-1])])
    poison(out)
    return kernel, [*arrays, out]


def check_op(make, kinds: list[Attribute], result: Attribute, columns: list[list[Any]]) -> None:
    kernel, arrays = op_kernel(make, kinds, result, columns)
    expected = [a.copy() for a in arrays]
    fast.run_kernel(kernel, arrays)
    nest_reference.run_kernel(kernel, expected)
    if result == i64:
        arrays, expected = ([a[-1].view(np.int64)] for a in (arrays, expected))
    assert_same_bits(arrays, expected)


def crossed(*kinds: Attribute) -> list[list[Any]]:
    return [list(column) for column in zip(*itertools.product(*(EDGES[kind] for kind in kinds)))]


FLOATS, INTEGERS = (f32, f64), (i8, i16, i32, i64)
SAME_TYPE = [
    *(
        (op, kind)
        for op in (nest.NegOp, nest.AddOp, nest.SubOp, nest.MulOp, nest.MaxOp)
        for kind in (*FLOATS, *INTEGERS)
    ),
    *((op, kind) for op in (nest.SqrtOp, nest.ExpOp, nest.LogOp, nest.DivOp, nest.FmaOp) for kind in FLOATS),
    *((op, kind) for op in (nest.AndOp, nest.OrOp, nest.XorOp) for kind in (*INTEGERS, i1)),
]


@pytest.mark.parametrize(("op", "kind"), SAME_TYPE, ids=lambda p: getattr(p, "name", str(p)))
def test_arithmetic_at_edge_values(op, kind, lanes):
    arity = 1 if issubclass(op, nest.UnaryOp) else 3 if op is nest.FmaOp else 2
    check_op(op, [kind] * arity, kind, crossed(*[kind] * arity))


@pytest.mark.parametrize("op", [nest.ShlOp, nest.ShrOp], ids=lambda op: op.name)
@pytest.mark.parametrize("kind", INTEGERS, ids=str)
def test_shifts_by_every_amount(op, kind, lanes):
    pairs = list(itertools.product(EDGES[kind], range(nest.width_of(kind))))
    check_op(op, [kind, kind], kind, [[a for a, _ in pairs], [b for _, b in pairs]])


@pytest.mark.parametrize("kind", (*FLOATS, *INTEGERS, i1), ids=str)
def test_comparison_at_edge_values(kind, lanes):
    check_op(nest.CmpLtOp, [kind, kind], i1, crossed(kind, kind))


@pytest.mark.parametrize("kind", nest.SCALARS, ids=str)
def test_select_of_every_type(kind, lanes):
    check_op(nest.SelectOp, [i1, kind, kind], kind, crossed(i1, kind, kind))


@pytest.mark.parametrize("target", nest.SCALARS, ids=str)
@pytest.mark.parametrize("source", nest.SCALARS, ids=str)
def test_casts_between_all_types(source, target, lanes):
    check_op(lambda a: nest.CastOp(a, target), [source], target, [EDGES[source]])


@pytest.mark.parametrize(("a", "b"), [(f32, i32), (f64, i64), (f16, i16), (bf16, f16), (i8, i8), (i1, i1)], ids=str)
def test_bitcasts_keep_the_bits(a, b, lanes):
    check_op(lambda x: nest.BitcastOp(x, b), [a], b, [EDGES[a]])
    check_op(lambda x: nest.BitcastOp(x, a), [b], a, [EDGES[b]])


def test_casts_from_float_cut_saturate_and_send_nan_to_zero(lanes):
    kernel, arrays = op_kernel(
        lambda a: nest.CastOp(a, i8), [f32], i8, [[1.9, -1.9, 127.9, 128.0, -128.9, -1e30, np.inf, np.nan]]
    )
    fast.run_kernel(kernel, arrays)
    assert arrays[1].tolist() == [1, -1, 127, 127, -128, -128, 127, 0]


def test_integer_arithmetic_wraps(lanes):
    kernel, arrays = op_kernel(nest.MulOp, [i32, i32], i32, [[2**31 - 1, -(2**31), 65537], [2, -1, 65537]])
    fast.run_kernel(kernel, arrays)
    assert arrays[2].tolist() == [-2, -(2**31), 131073]


def test_max_keeps_nan_and_of_two_zeros_takes_the_second(lanes):
    kernel, arrays = op_kernel(
        nest.MaxOp, [f32, f32], f32, [[np.nan, 1.0, 0.0, -0.0], [1.0, np.nan, -0.0, 0.0]]
    )  # fmt: skip
    fast.run_kernel(kernel, arrays)
    assert np.isnan(arrays[2][:2]).all()
    assert np.signbit(arrays[2][2:]).tolist() == [True, False]


BITS32, BITS64 = (st.tuples(*[st.integers(0, 2**n - 1)] * 3) for n in (32, 64))
NEAR = st.tuples(
    st.integers(-(2**24), 2**24), st.integers(-(2**24), 2**24), st.integers(-4, 4), st.integers(-1074, 900)
)


def check_fma(a: Any, b: Any, c: Any) -> None:
    with np.errstate(all="ignore"):
        want = scalar.fma(a, b, c)
        got = [fma_one(a, b, c), fma_many(*(np.array([x]) for x in (a, b, c)))[0]]
    for found in got:
        assert found.dtype == want.dtype
        assert found.tobytes() == want.tobytes() or (np.isnan(found) and np.isnan(want)), (a, b, c, found, want)


@given(BITS32, BITS64)
def test_fma_rounds_once_on_any_bits(narrow, wide):
    check_fma(*np.array(narrow, np.uint32).view(np.float32))
    check_fma(*np.array(wide, np.uint64).view(np.float64))


@given(NEAR)
@settings(max_examples=200)
def test_fma_rounds_once_where_the_sum_cancels(drawn):
    x, y, ulps, exponent = drawn
    for kind, low in ((np.float32, -149), (np.float64, -1074)):
        with np.errstate(all="ignore"):
            a, b = kind(np.ldexp(float(x), max(exponent // 2, low))), kind(np.ldexp(y + 0.5, exponent // 2))
            c = -(a * b)
            for _ in range(abs(ulps)):
                c = np.nextafter(c, kind(np.inf if ulps > 0 else -np.inf))
            check_fma(a, b, c)


def test_exp_and_log_have_the_same_bits_for_one_value_and_for_many():
    rng = np.random.default_rng(1)
    for kind in (f32, f64):
        x = (rng.normal(size=1000) * 20).tolist()
        check_op(nest.ExpOp, [kind], kind, [x])
        check_op(nest.LogOp, [kind], kind, [np.abs(x).tolist()])
