"""The c device: plans as native calls, commits, bad rows, threads, forks, sizes, and what is compiled anew."""

from __future__ import annotations

import multiprocessing
import os
import shutil
import signal
import threading
import warnings

import numpy as np
import pytest
from corpus import CASES
from native import parse, poisoned, same_bits

from limn.dialects import nest
from limn.dtypes import BY_MLIR, BY_NUMPY
from limn.interpreters import nest as interpreter
from limn.pipelines import PIPELINES, run_pipeline
from limn.runtime import Buffer
from limn.runtime.c_device import CDevice

pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler on this machine")


@pytest.fixture(scope="module")
def c_device() -> CDevice:
    return CDevice()


def buffers(*arrays: np.ndarray) -> list[Buffer]:
    return [Buffer.of(array, BY_NUMPY[array.dtype]) for array in arrays]


def f32(*values: float) -> np.ndarray:
    return np.array(values, np.float32)


STEP = """
func.func @main(%w: tensor<4xf32>, %g: tensor<4xf32>) -> tensor<4xf32> {
  %half = graph.const 0.5 : tensor<4xf32>
  %d = graph.mul %g, %half : tensor<4xf32>
  %sum = graph.add %w, %d : tensor<4xf32>
  %next = graph.assign %w, %sum : tensor<4xf32>
  func.return %d : tensor<4xf32>
}
"""


def test_a_plan_gives_results_then_next_versions_and_leaves_its_inputs_alone(c_device):
    plan = c_device.compile(parse(STEP))
    inputs = buffers(f32(1, 2, 3, 4), f32(2, 4, 6, 8))
    result, following = plan.run(inputs)
    assert result.array.tolist() == [1, 2, 3, 4] and following.array.tolist() == [2, 4, 6, 8]
    assert inputs[0].array.tolist() == [1, 2, 3, 4]
    again, _ = plan.run([following, inputs[1]])
    assert again is not result and following.array.tolist() == [2, 4, 6, 8]


GATHER = """
func.func @main(%t: tensor<5x3xf32>, %i: tensor<4xi32>, %w: tensor<4x3xf32>) -> tensor<4x3xf32> {
  %rows = graph.gather %t, %i : tensor<5x3xf32>, tensor<4xi32> -> tensor<4x3xf32>
  %next = graph.assign %w, %rows : tensor<4x3xf32>
  func.return %rows : tensor<4x3xf32>
}
"""


@pytest.mark.parametrize("row", [5, -1, -6, 2**31 - 1, -(2**31)])
def test_a_bad_row_is_an_index_error_and_the_plan_stays_usable(row, c_device):
    plan = c_device.compile(parse(GATHER))
    table, weights = np.arange(15, dtype=np.float32).reshape(5, 3), np.zeros((4, 3), np.float32)
    bad = buffers(table, np.array([4, 0, row, 9], np.int32), weights)
    with pytest.raises(IndexError, match=f"row {row} is outside the table, which has rows 0 to 4"):
        plan.run(bad)
    good = np.array([4, 0, 2, 4], np.int32)
    rows, following = plan.run(buffers(table, good, weights))
    assert np.array_equal(rows.array.reshape(4, 3), table[good]) and np.array_equal(following.array, rows.array)


def test_equal_modules_share_a_program_and_a_change_compiles_only_its_kernel(tmp_path, monkeypatch):
    monkeypatch.setenv("LIMN_CACHE_DIR", str(tmp_path))
    text = """
nest.kernel @{a}(%x: memref<2xf32>, %out: memref<2xf32>) {{
  %v = nest.load %x[0] : f32
  nest.store %v, %out[1] : f32
}}
nest.kernel @{b}(%x: memref<2xf32>, %out: memref<2xf32>) {{
  %v = nest.load %x[{place}] : f32
  nest.store %v, %out[0] : f32
}}
nest.plan @main(%x: memref<2xf32>, %out: memref<2xf32>) inputs 1 {{
  nest.launch @{a}(%x, %out)
  nest.launch @{b}(%x, %out)
}}
"""
    device = CDevice()
    started: list[str] = []
    start = type(device.compiler).start
    monkeypatch.setattr(
        type(device.compiler),
        "start",
        lambda self, source, *rest: started.append(source.read_text()) or start(self, source, *rest),
    )
    one = device.load(parse(text.format(a="k0", b="k1", place=1)))
    assert sum("out[1]" in t for t in started) == sum("out[0]" in t for t in started) == 1
    started.clear()
    device.load(parse(text.format(a="first", b="second", place=1)))
    assert not started, "the names of kernels should not matter"
    other = device.load(parse(text.format(a="k0", b="k1", place=0)))
    assert not any("out[1]" in t for t in started) and sum("out[0]" in t for t in started) == 1
    started.clear()
    fresh = CDevice().load(parse(text.format(a="k0", b="k1", place=1)))
    assert not started, "a new process should find the library"
    for plan, want in ((one, [4, 3]), (other, [3, 3]), (fresh, [4, 3])):
        assert plan.run(buffers(f32(3, 4)))[0].array.tolist() == want


def threaded(c_device: CDevice):
    """A plan whose kernels run on two threads and need an arena."""
    text = """
nest.kernel @twice(%x: memref<6000xf32>, %out: memref<6000xf32>) {
  nest.for %i = 0 to 6000 parallel {
    %v = nest.load %x[%i] : f32
    %w = nest.add %v, %v : f32
    nest.store %w, %out[%i] : f32
  }
}
nest.plan @main(%x: memref<6000xf32>, %out: memref<6000xf32>, %arena: memref<48000xi8>) inputs 1 arena {
  %a = nest.slice %arena[0] : memref<6000xf32>
  %b = nest.slice %arena[24000] : memref<6000xf32>
  nest.launch @twice(%x, %a)
  nest.launch @twice(%a, %b)
  nest.launch @twice(%b, %out)
}
"""
    return c_device.load(parse(text))


def test_python_threads_may_run_one_plan_at_the_same_time(c_device):
    plan = threaded(c_device)
    wrong: list[int] = []

    def work(seed: int) -> None:
        x = np.full(6000, seed, np.float32)
        given = buffers(x)
        for _ in range(300):
            if not np.array_equal(plan.run(given)[0].array, 8 * x):
                wrong.append(seed)

    workers = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not wrong


def child_runs(c_device: CDevice, plan, queue) -> None:
    x = np.arange(6000, dtype=np.float32)
    first = plan.run(buffers(x))[0].array
    new = parse(STEP.replace("0.5", "0.25"))
    second = c_device.compile(new).run(buffers(f32(0, 0, 0, 0), f32(4, 8, 12, 16)))[0].array
    queue.put((np.array_equal(first, 8 * x), second.tolist()))


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_forked_child_runs_old_and_new_kernels_after_threads_have_run(c_device):
    before = c_device.threads
    c_device.set_threads(2)
    plan = threaded(c_device)
    x = np.arange(6000, dtype=np.float32)
    assert np.array_equal(plan.run(buffers(x))[0].array, 8 * x)
    context = multiprocessing.get_context("fork")
    queue = context.SimpleQueue()
    child = context.Process(target=child_runs, args=(c_device, plan, queue))
    child.start()
    child.join(60)
    alive = child.is_alive()
    if alive:
        child.kill()
    assert not alive and child.exitcode == 0
    assert queue.get() == (True, [1, 2, 3, 4])
    assert np.array_equal(plan.run(buffers(x))[0].array, 8 * x)
    c_device.set_threads(before)


def test_os_fork_in_a_plain_process(c_device):
    plan = threaded(c_device)
    c_device.set_threads(2)
    given = buffers(np.ones(6000, np.float32))
    plan.run(given)
    child = os.fork()
    if child == 0:
        os._exit(0 if plan.run(given)[0].array[5] == 8 else 1)
    assert os.waitpid(child, 0)[1] == 0
    c_device.set_threads(1)


def test_kernels_leave_the_floating_point_mode_of_the_process_alone(c_device):
    tiny = f32(1e-40, 3e-41, 1e-45, -1e-40)
    kept = c_device.compile(parse(STEP)).run(buffers(tiny, f32(0, 0, 0, 0)))[1].array
    assert np.array_equal(kept, tiny)
    assert np.float32(1e-40) * np.float32(0.5) != 0


SOME = [n if k % 3 == 0 else pytest.param(n, marks=pytest.mark.full) for k, n in enumerate(CASES)]
"""All of the corpus, a third in the quick tier."""


@pytest.mark.parametrize("name", SOME)
def test_the_corpus_has_the_interpreters_bits_on_one_thread_and_on_three(name, c_device):
    """The module that the c pipeline ends with, run in C and by the nest interpreter; outputs are poisoned before."""
    case = CASES[name]()
    inputs = [np.ascontiguousarray(array).reshape(-1) for array in case.inputs()]
    module = case.module
    run_pipeline(module, PIPELINES["c"][0].replace("parallelize", "parallelize{grain=1}"))
    program = interpreter.Program(module)
    arguments = program.plan.block.args[program.plan.input_count :][: program.plan.output_count]
    wanted = inputs + [poisoned(*size_and_dtype(argument)) for argument in arguments]
    given = list(wanted)
    with np.errstate(all="ignore"):
        program.run(given)
    wanted = wanted[len(inputs) :]
    plan = c_device.load(module)
    for threads in (1, 3):
        c_device.set_threads(threads)
        outputs = plan.run([Buffer.of(array, BY_NUMPY[array.dtype]) for array in inputs])
        for place, (got, want) in enumerate(zip(outputs, wanted, strict=True)):
            assert same_bits(got.array, want), f"output {place} on {threads} threads"
    c_device.set_threads(1)


def size_and_dtype(argument):
    kind = nest.memref_of(argument)
    return kind.get_shape()[0], BY_MLIR[str(kind.element_type)].numpy


@pytest.mark.full
def test_three_thousand_inputs(c_device):
    count = 3000
    arguments = ", ".join(f"%a{k}: tensor<2xf32>" for k in range(count))
    adds = "\n".join(
        f"%s{k} = graph.add %{'a0' if k == 1 else f's{k - 1}'}, %a{k} : tensor<2xf32>" for k in range(1, count)
    )
    text = f"func.func @main({arguments}) -> tensor<2xf32> {{\n{adds}\nfunc.return %s{count - 1} : tensor<2xf32> }}"
    plan = c_device.compile(parse(text))
    assert plan.run(buffers(*(f32(k % 7, 1) for k in range(count))))[0].array.tolist() == [
        sum(k % 7 for k in range(count)),
        count,
    ]


OUTER = """
func.func @main(%a: tensor<70000xf64>, %b: tensor<40000xf64>) -> (tensor<1xf64>, tensor<70000xf64>) {
  %0 = graph.view %a strides [1, 0] : tensor<70000xf64> -> tensor<70000x40000xf64>
  %1 = graph.view %b strides [0, 1] : tensor<40000xf64> -> tensor<70000x40000xf64>
  %2 = graph.mul %0, %1 : tensor<70000x40000xf64>
  %3 = graph.sum %2 axes [0, 1] : tensor<70000x40000xf64> -> tensor<1x1xf64>
  %4 = graph.view %3 strides [1] : tensor<1x1xf64> -> tensor<1xf64>
  %5 = graph.sum %2 axes [1] : tensor<70000x40000xf64> -> tensor<70000x1xf64>
  %6 = graph.view %5 strides [1] : tensor<70000x1xf64> -> tensor<70000xf64>
  func.return %4, %6 : tensor<1xf64>, tensor<70000xf64>
}
"""


@pytest.mark.full
def test_more_virtual_elements_than_32_bits_count(c_device):
    """2.8e9 products, of which none is stored."""
    rng = np.random.default_rng(0)
    a, b = rng.integers(-9, 10, 70000).astype(np.float64), rng.integers(-9, 10, 40000).astype(np.float64)
    total, rows = c_device.compile(parse(OUTER)).run(buffers(a, b))
    assert total.array[0] == a.sum() * b.sum()
    assert np.array_equal(rows.array, a * b.sum())


CLAMP = """
func.func @main(%low: tensor<4xf64>, %x: tensor<3x4xf64>, %g: tensor<3x4xf64>) -> (tensor<3x4xf64>, tensor<3x4xf64>) {
  %lows = graph.view %low strides [0, 1] : tensor<4xf64> -> tensor<3x4xf64>
  %one = graph.const 1.0 : tensor<3x4xf64>
  %highs = graph.add %lows, %one : tensor<3x4xf64>
  %below = graph.cmplt %x, %lows : tensor<3x4xf64>
  %raised = graph.where %below, %lows, %x : tensor<3x4xf64>
  %above = graph.cmplt %highs, %raised : tensor<3x4xf64>
  %clamped = graph.where %above, %highs, %raised : tensor<3x4xf64>
  %zero = graph.const 0.0 : tensor<3x4xf64>
  %inner = graph.where %above, %zero, %g : tensor<3x4xf64>
  %slope = graph.where %below, %zero, %inner : tensor<3x4xf64>
  func.return %clamped, %slope : tensor<3x4xf64>, tensor<3x4xf64>
}
"""


def test_selections_whose_conditions_depend_on_each_other(c_device):
    """gcc 12.2 at -O3 makes wrong code of this one, unless it is told not to thread jumps."""
    rng, plan = np.random.default_rng(1), c_device.compile(parse(CLAMP))
    for _ in range(50):
        low, x, g = rng.standard_normal(4), rng.standard_normal((3, 4)), rng.uniform(1, 2, (3, 4))
        clamped, slope = plan.run(buffers(low, x, g))
        assert np.array_equal(clamped.array, np.clip(x, low, low + 1).reshape(-1))
        assert np.array_equal(slope.array, np.where((x >= low) & (x <= low + 1), g, 0).reshape(-1))


def test_forks_while_another_python_thread_computes(c_device):
    plan = threaded(c_device)
    c_device.set_threads(2)
    given, stop = buffers(np.ones(6000, np.float32)), threading.Event()

    def busy() -> None:
        while not stop.is_set():
            plan.run(given)

    worker = threading.Thread(target=busy)
    worker.start()
    try:
        for _ in range(5):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DeprecationWarning)
                child = os.fork()
            if child == 0:
                signal.alarm(30)
                os._exit(0 if plan.run(given)[0].array[5] == 8 else 1)
            assert os.waitpid(child, 0)[1] == 0
    finally:
        stop.set()
        worker.join()
        c_device.set_threads(1)
