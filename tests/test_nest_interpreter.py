"""The two nest interpreters: against each other on random kernels, and against plain numbers on hand-made ones."""

from __future__ import annotations

import collections
from typing import Any

import numpy as np
import pytest
from kernels import assert_same_bits
from nest_kernels import NestKernel
from xdsl.parser import Parser
from xdsl.utils.exceptions import VerifyException

from limn.analysis import dependence
from limn.dialects import nest
from limn.dialects.legality import IllegalOp, check
from limn.interpreters import nest as fast
from limn.interpreters import nest_lanes, nest_reference
from limn.interpreters.nest_numpy import poison
from limn.universe import make_context


def parse(text: str) -> list[Any]:
    """The kernels and plans of a module given without its wrapping."""
    module = Parser(make_context(), f"builtin.module {{ {text} }}").parse_module()
    module.verify()
    return list(module.body.block.ops)


def f(*values: float) -> np.ndarray:
    return np.array(values, np.float32)


def poisoned(size: int, kind: Any = np.float32) -> np.ndarray:
    array = np.zeros(size, kind)
    poison(array)
    return array


@pytest.fixture(params=["lanes", "turns"])
def lanes(request, monkeypatch):
    """Runs a test with loops as lanes, and turn by turn."""
    if request.param == "turns":
        monkeypatch.setattr(nest_lanes, "MOST_LANES", 1)
    return request.param == "lanes"


# ------------------------------------------------------------------------------------------------------ random kernels


def agree(seed: int) -> nest.KernelOp:
    """Run a random kernel in both interpreters and compare all its memory."""
    drawn = NestKernel(seed)
    arrays = drawn.arrays(seed)
    expected = [a.copy() for a in arrays]
    fast.run_kernel(drawn.kernel, arrays)
    nest_reference.run_kernel(drawn.kernel, expected)
    assert_same_bits(arrays, expected)
    return drawn.kernel


def test_random_kernels_agree_and_cover_the_dialect(monkeypatch):
    ops: collections.Counter[str] = collections.Counter()
    as_lanes = loops = 0
    for seed in range(40):
        monkeypatch.setattr(nest_lanes, "MOST_LANES", 6 if seed % 2 else 1 << 15)
        kernel = agree(seed)
        ops.update(op.name for op in kernel.walk())
        as_lanes += len(nest_lanes.analyse(kernel.block).chunks)
        loops += sum(isinstance(op, nest.ForOp) for op in kernel.walk())
    assert {op.name for op in (nest.ForOp, *nest.ARITHMETIC, *nest.MEMORY)} <= set(ops)
    assert loops / 4 < as_lanes < 3 * loops / 4


@pytest.mark.full
@pytest.mark.parametrize("block", range(5))
def test_many_random_kernels_agree(block, monkeypatch):
    for seed in range(40 + 64 * block, 104 + 64 * block):
        monkeypatch.setattr(nest_lanes, "MOST_LANES", 6 if seed % 2 else 1 << 15)
        agree(seed)


def test_loops_taken_for_independent_touch_different_elements_in_each_turn():
    rng = np.random.default_rng(0)
    proven = 0
    for _ in range(250):
        outer, inner, step, other = (int(rng.integers(1, 5)) for _ in range(4))
        a, b, c = (int(v) for v in rng.integers(-6, 9, 3))
        text = f"""nest.kernel @k(%out: memref<1000xf32>) {{
            %z = nest.const 0.0 : f32
            nest.for %i = 1 to {outer + 1} step {step} {{
              nest.for %j = 0 to {inner} {{ nest.store %z, %out[%i * {a} + %j * {b} + {c + 100}] : f32 }}
              nest.for %j = 0 to {other} {{ nest.store %z, %out[%i * {a} + %j + 100] : f32 }} }} }}"""
        kernel = parse(text)[0]
        facts = nest_lanes.analyse(kernel.block)
        loop = next(op for op in kernel.walk() if isinstance(op, nest.ForOp))
        touched = [
            {i * a + j * b + c for j in range(inner)} | {i * a + j for j in range(other)}
            for i in range(1, outer + 1, step)
        ]
        apart = len(set().union(*touched)) == sum(map(len, touched))
        if dependence.independent(loop, facts.ranges):
            proven += 1
            assert apart, text
    assert proven > 30


# -------------------------------------------------------------------------------------------------- hand-made kernels


def docstring_kernel() -> nest.KernelOp:
    text = nest.__doc__
    assert text is not None
    return parse(text[text.index("    nest.kernel @k0") : text.index("The first ``inputs``")])[0]


@pytest.mark.parametrize("run", [fast.run_kernel, nest_reference.run_kernel], ids=["fast", "reference"])
def test_the_matmul_of_the_dialect(run):
    a, b = np.arange(20, dtype=np.float32), np.arange(15, dtype=np.float32) - 7
    out = poisoned(12)
    run(docstring_kernel(), [a, b, out])
    assert out.reshape(4, 3).tolist() == (a.reshape(4, 5) @ b.reshape(5, 3)).tolist()


def test_the_text_in_the_docstring_is_the_text():
    shown = fast.__doc__
    assert shown is not None
    text = "".join(f"    {line}\n" for line in fast.source(docstring_kernel()).splitlines())
    assert text in shown


def test_totals_fold_in_ascending_order(lanes):
    (kernel,) = parse("""nest.kernel @k(%x: memref<6xf32>, %out: memref<2xf32>) {
        %z = nest.const 0.0 : f32
        nest.for %i = 0 to 2 {
          %t = nest.scratch : memref<1xf32, "register">
          nest.store %z, %t[0] : f32
          nest.for %r = 0 to 3 {
            %v = nest.load %x[%i * 3 + %r] : f32
            nest.accumulate add %v, %t[0] : f32 }
          %s = nest.load %t[0] : f32
          nest.store %s, %out[%i] : f32 } }""")
    out = poisoned(2)
    fast.run_kernel(kernel, [f(1e8, 1, -1e8, 1, -1e8, 1e8), out])
    assert out.tolist() == [0.0, 0.0]
    fast.run_kernel(kernel, [f(1e8, -1e8, 1, 3, 1e8, -1e8), out])
    assert out.tolist() == [1.0, 0.0]


def test_steps_and_max_min_bounds(lanes):
    (kernel,) = parse("""nest.kernel @k(%out: memref<40xi32>) {
        %z = nest.const 0 : i32
        nest.for %p = 0 to 40 { nest.store %z, %out[%p] : i32 }
        nest.for %i = 0 to 5 {
          nest.for %j = max [%i - 1, 1] to min [%i + 3, 6] step 2 {
            %v = nest.index [%i * 100 + %j] : i32
            nest.store %v, %out[%i * 8 + %j] : i32 } } }""")
    out, want = poisoned(40, np.int32), np.zeros(40, np.int32)
    for i in range(5):
        for j in range(max(i - 1, 1), min(i + 3, 6), 2):
            want[i * 8 + j] = i * 100 + j
    fast.run_kernel(kernel, [out])
    assert out.tolist() == want.tolist()


def test_a_load_that_fails_a_check_is_zero_and_such_a_store_does_nothing(lanes):
    (kernel,) = parse("""nest.kernel @k(%x: memref<4xf32>, %out: memref<6xf32>) {
        nest.for %i = 0 to 8 {
          %v = nest.load %x[%i - 1] where [%i] in [1] to [5] : f32
          nest.store %v, %out[%i] where [%i, %i - 1] in [0, 0] to [6, 9] : f32 } }""")
    out = f(9, 9, 9, 9, 9, 9)
    fast.run_kernel(kernel, [f(1, 2, 3, 4), out])
    assert out.tolist() == [9, 1, 2, 3, 4, 0]


def test_an_access_out_of_bounds_raises_and_never_counts_from_the_end(lanes):
    for subscript in ("%i - 1", "%i + 1", "%i * 7 mod 5 - 1"):
        (kernel,) = parse(f"""nest.kernel @k(%x: memref<4xf32>, %out: memref<4xf32>) {{
            nest.for %i = 0 to 4 {{
              %v = nest.load %x[{subscript}] : f32
              nest.store %v, %out[%i] : f32 }} }}""")
        with pytest.raises(IndexError, match="@k: x is accessed out of bounds"):
            fast.run_kernel(kernel, [f(1, 2, 3, 4), poisoned(4)])


def test_a_value_loaded_before_a_store_keeps_the_value_it_had(lanes):
    (kernel,) = parse("""nest.kernel @k(%out: memref<4xf32>, %copy: memref<4xf32>) {
        %nine = nest.const 9.0 : f32
        nest.for %i = 0 to 4 {
          %before = nest.load %out[%i] : f32
          nest.store %nine, %out[%i] : f32
          nest.store %before, %copy[%i] : f32 } }""")
    out, copy = f(1, 2, 3, 4), poisoned(4)
    fast.run_kernel(kernel, [out, copy])
    assert copy.tolist() == [1, 2, 3, 4]
    assert out.tolist() == [9, 9, 9, 9]


@pytest.mark.parametrize("run", [fast.run_kernel, nest_reference.run_kernel], ids=["fast", "reference"])
def test_scratch_is_poisoned_in_every_turn(run, lanes):
    (kernel,) = parse("""nest.kernel @k(%out: memref<3xf32>, %whole: memref<3xi32>) {
        %z = nest.const 0.0 : f32
        nest.for %i = 0 to 3 {
          %t = nest.scratch : memref<2xf32, "stack">
          %n = nest.scratch : memref<2xi32, "stack">
          nest.store %z, %t[0] : f32
          %v = nest.load %t[1] : f32
          %w = nest.load %n[0] : i32
          nest.store %v, %out[%i] : f32
          nest.store %w, %whole[%i] : i32 } }""")
    out, whole = np.zeros(3, np.float32), np.zeros(3, np.int32)
    run(kernel, [out, whole])
    assert np.isnan(out).all()
    assert set(whole.view(np.uint32).tolist()) == {0xAAAAAAAA}


def test_a_race_between_parallel_turns_shows_in_another_order(lanes):
    race, sound = parse("".join(
        f"""nest.kernel @k{place}(%x: memref<4xf32>, %out: memref<4xf32>) {{
            nest.for %i = 0 to 4 parallel {{
              %v = nest.load %x[%i] : f32
              nest.store %v, %out[{where}] : f32 }} }}"""
        for place, where in enumerate(("%i floordiv 4", "%i"))
    ))  # fmt: skip
    results = []
    for kernel in (race, sound):
        for order in ("forward", "reverse", "shuffled"):
            out = np.zeros(4, np.float32)
            fast.run_kernel(kernel, [f(1, 2, 3, 4), out], order)
            results.append(out.tolist())
    assert results[0] != results[1]
    assert results[3] == results[4] == results[5]


def test_collapse_takes_the_loops_below_out_of_order_too():
    (kernel,) = parse("""nest.kernel @k(%out: memref<1xi32>) {
        nest.for %i = 0 to 2 parallel collapse 2 { nest.for %j = 0 to 3 {
          %v = nest.index [%j] : i32
          nest.store %v, %out[0] : i32 } } }""")
    out = np.zeros(1, np.int32)
    fast.run_kernel(kernel, [out])
    assert out[0] == 2
    fast.run_kernel(kernel, [out], "reverse")
    assert out[0] == 0


def test_a_softmax_with_its_row_in_scratch(lanes):
    (kernel,) = parse("""nest.kernel @k(%x: memref<40xf32>, %out: memref<40xf32>) {
        %low = nest.const -1.0e30 : f32
        %z = nest.const 0.0 : f32
        nest.for %i = 0 to 8 parallel {
          %m = nest.scratch : memref<1xf32, "register">
          %row = nest.scratch : memref<5xf32, "stack">
          %s = nest.scratch : memref<1xf32, "register">
          nest.store %low, %m[0] : f32
          nest.store %z, %s[0] : f32
          nest.for %r = 0 to 5 {
            %v = nest.load %x[%i * 5 + %r] : f32
            nest.accumulate max %v, %m[0] : f32 }
          nest.for %r = 0 to 5 {
            %v = nest.load %x[%i * 5 + %r] : f32
            %most = nest.load %m[0] : f32
            %d = nest.sub %v, %most : f32
            %e = nest.exp %d : f32
            nest.store %e, %row[%r] : f32
            nest.accumulate add %e, %s[0] : f32 }
          nest.for %j = 0 to 5 {
            %e = nest.load %row[%j] : f32
            %t = nest.load %s[0] : f32
            %q = nest.div %e, %t : f32
            nest.store %q, %out[%i * 5 + %j] : f32 } } }""")
    x = np.random.default_rng(0).normal(size=(8, 5)).astype(np.float32)
    out = poisoned(40)
    fast.run_kernel(kernel, [x.reshape(-1), out])
    e = np.exp(x - x.max(1, keepdims=True))
    np.testing.assert_allclose(out.reshape(8, 5), e / e.sum(1, keepdims=True), rtol=1e-6)


@pytest.mark.full
def test_ten_thousand_ops_and_forty_loops_in_one_kernel():
    chain = "%v0 = nest.load %x[%i] : f32\n" + "".join(f"%v{n + 1} = nest.neg %v{n} : f32\n" for n in range(10_001))
    (kernel,) = parse(f"""nest.kernel @k(%x: memref<5xf32>, %out: memref<5xf32>) {{
        nest.for %i = 0 to 5 {{ {chain} nest.store %v10001, %out[%i] : f32 }} }}""")
    out = poisoned(5)
    fast.run_kernel(kernel, [f(1, 2, 3, 4, 5), out])
    assert out.tolist() == [-1, -2, -3, -4, -5]
    loops = "".join(f"nest.for %i{n} = 0 to 2 {{ " if n < 4 else f"nest.for %i{n} = 0 to 1 {{ " for n in range(40))
    (kernel,) = parse(f"""nest.kernel @k(%x: memref<1xf32>, %out: memref<1xf32>) {{ {loops}
        %v = nest.load %x[%i39] : f32
        nest.accumulate add %v, %out[%i20] : f32 {"}" * 40} }}""")
    out = f(0)
    fast.run_kernel(kernel, [f(1), out])
    assert out.tolist() == [16]


def test_more_turns_than_lanes_run_in_chunks(monkeypatch):
    monkeypatch.setattr(nest_lanes, "MOST_LANES", 7)
    a, b, out = np.arange(20, dtype=np.float32), np.arange(15, dtype=np.float32), poisoned(12)
    fast.run_kernel(docstring_kernel(), [a, b, out])
    assert out.reshape(4, 3).tolist() == (a.reshape(4, 5) @ b.reshape(5, 3)).tolist()


# ----------------------------------------------------------------------------------------------------- rows and plans

GATHER = """nest.kernel @gather(%t: memref<10xf32>, %row: memref<4xi32>, %out: memref<8xf32>) {
    nest.for %p = 0 to 4 {
      %i = nest.load %row[%p] : i32
      %r = nest.check_row %i below 5 at [%p] : i32
      nest.for %j = 0 to 2 {
        %v = nest.load %t[%r * 2 + %j] : f32
        nest.store %v, %out[%p * 2 + %j] : f32 } } }
"""
PLAN = """nest.kernel @double(%x: memref<4xf32>, %out: memref<4xf32>) {
    nest.for %i = 0 to 4 {
      %v = nest.load %x[%i] : f32
      %w = nest.add %v, %v : f32
      nest.store %w, %out[%i] : f32 } }
  nest.plan @main(%w: memref<4xf32>, %t: memref<10xf32>, %row: memref<4xi32>, %rows: memref<8xf32>,
                  %next: memref<4xf32>, %arena: memref<128xi8>) inputs 3 arena commits [4 -> 0] {
    %a = nest.slice %arena[64] : memref<4xf32>
    %b = nest.alloc : memref<4xf32>
    nest.launch @double(%w, %a)
    nest.launch @double(%a, %b) because "a value in between"
    nest.launch @double(%b, %next)
    nest.launch @gather(%t, %row, %rows) }"""


def plan_buffers(rows: list[int]) -> list[np.ndarray]:
    table = np.arange(10, dtype=np.float32)
    return [f(1, 2, 3, 4), table, np.array(rows, np.int32), poisoned(8), poisoned(4), poisoned(128, np.int8)]


@pytest.mark.parametrize("run", [fast.run_kernel, nest_reference.run_kernel], ids=["fast", "reference"])
def test_the_lowest_bad_row_is_reported_and_row_zero_read(run, lanes):
    (kernel,) = parse(GATHER)
    out = poisoned(8)
    with pytest.raises(IndexError, match="row index -1 at position 2 is outside a table of 5 rows"):
        run(kernel, [np.arange(10, dtype=np.float32), np.array([4, 1, -1, 9], np.int32), out])
    assert out.tolist() == [8, 9, 2, 3, 0, 1, 0, 1]


@pytest.mark.parametrize("run", [fast.run_kernel, nest_reference.run_kernel], ids=["fast", "reference"])
def test_the_lowest_position_counts_not_the_first_met(run, lanes):
    (kernel,) = parse(GATHER.replace("%row[%p]", "%row[3 - %p]").replace("at [%p]", "at [3 - %p]"))
    with pytest.raises(IndexError, match="row index 7 at position 1 "):
        run(kernel, [np.arange(10, dtype=np.float32), np.array([4, 7, -1, 9], np.int32), poisoned(8)])


@pytest.mark.parametrize("run", [fast.run_plan, nest_reference.run_plan], ids=["fast", "reference"])
def test_a_plan_runs_its_launches_and_commits(run):
    plan = parse(GATHER + PLAN)[-1]
    buffers = plan_buffers([4, 0, 1, 1])
    before = list(buffers)
    run(plan.parent_op(), buffers)
    assert buffers[0] is before[4]
    assert buffers[4] is before[0]
    assert buffers[0].tolist() == [8, 16, 24, 32]
    assert buffers[4].tolist() == [1, 2, 3, 4]
    assert buffers[3].tolist() == [8, 9, 0, 1, 2, 3, 2, 3]


@pytest.mark.parametrize("run", [fast.run_plan, nest_reference.run_plan], ids=["fast", "reference"])
def test_a_plan_with_a_bad_row_commits_nothing(run):
    plan = parse(GATHER + PLAN)[-1]
    buffers = plan_buffers([4, 0, 5, 1])
    before = list(buffers)
    with pytest.raises(IndexError, match="row index 5 at position 2 is outside a table of 5 rows"):
        run(plan.parent_op(), buffers)
    assert all(now is then for now, then in zip(buffers, before))
    assert buffers[0].tolist() == [1, 2, 3, 4]


def test_a_plan_makes_its_arena_when_none_is_given():
    plan = parse(GATHER + PLAN)[-1]
    program = fast.Program(plan.parent_op())
    buffers = plan_buffers([0, 0, 0, 0])[:5]
    program.run(buffers)
    assert buffers[0].tolist() == [8, 16, 24, 32]
    program.run(buffers)
    assert buffers[0].tolist() == [64, 128, 192, 256]


@pytest.mark.parametrize(
    ("buffers", "message"),
    [
        ([f(1, 2, 3, 4)], "@double takes 2 buffers, got 1"),
        ([f(1, 2, 3, 4), f(1, 2)], r"@double takes a flat array of 4 float32 as argument 1, got shape \(2,\), float32"),
        ([f(1, 2, 3, 4), np.zeros(4)], r"argument 1, got shape \(4,\), float64"),
        ([poisoned(8)[:4]] * 2, "@double writes argument 1, which overlaps argument 0"),
    ],
)
def test_buffers_that_do_not_fit_are_refused(buffers, message):
    with pytest.raises(ValueError, match=message):
        fast.run_kernel(parse(GATHER + PLAN)[1], buffers)


def test_arithmetic_in_halves_is_refused():
    """By the verifier, by the table of what is legal, and by the interpreter on IR that nobody has verified."""
    text = """builtin.module { nest.kernel @k(%x: memref<1xf16>) {
        %v = nest.load %x[0] : f16
        %w = nest.neg %v : f16 } }"""
    module = Parser(make_context(), text).parse_module()
    (kernel,) = module.body.block.ops
    with pytest.raises(VerifyException, match=r"'nest.neg' computes in f16; widen to f32 first, as lower does"):
        module.verify()
    for level in ("nest", "c"):
        with pytest.raises(IllegalOp, match=r"'nest.neg' computes in f16; widen to f32 first, as lower does"):
            check(module, level)
    with pytest.raises(TypeError, match=r"'nest.neg' in @k computes in f16; widen to f32 first"):
        fast.run_kernel(kernel, [np.zeros(1, np.float16)])
