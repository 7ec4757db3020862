"""The C printer: each operation at each type against the nest interpreter in bits, indices, loops, threads, plans."""

from __future__ import annotations

import ctypes
import itertools
import shutil
import subprocess

import numpy as np
import pytest
from native import Error, arrays_for, build, compare, kernels_of, launch, numpy_of, parse
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block
from xdsl.utils.exceptions import VerifyException

from limn.dialects import nest
from limn.dialects.graph import ELEMENT_TYPES
from limn.dtypes import BY_MLIR
from limn.targets.c import print_c, symbol_names

pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler on this machine")

INF, NAN = float("inf"), float("nan")
FLOAT_EDGES = [
    *(0.0, -0.0, 1.0, -1.0, 0.1, -2.5, 3.0, 1e-40, -1e-40, 5e-324, 2.0**-149, 1.5 * 2.0**-149, 1e-8, 65504.0, 65519.9),
    *(65520.0, 127.0, 127.9, -128.9, 128.0, 32767.5, -32769.0, 2147483520.0, 2147483647.0, 2147483648.0, -2147483649.0),
    *(9.2e18, 2.0**63, -(2.0**63), 2.0**64, 3.0e38, 3.4028234663852886e38, -1e300, 1.7e308, INF, -INF, NAN),
    *(
        2.0**-24,
        2.0**-25,
        1.5 * 2.0**-25,
        2.0**-14,
        2.0**-14 - 2.0**-25,
        1 + 2.0**-11,
        1 + 2.0**-11 + 2.0**-40,
        1 + 2.0**-9,
    ),
]
EDGES = {
    **dict.fromkeys(("f64", "f32", "f16", "bf16"), FLOAT_EDGES),
    **{
        f"i{w}": [0, 1, -1, 2, 7, -8, 100, 2 ** (w - 1) - 1, -(2 ** (w - 1)), 2 ** (w - 2), 3 - 2 ** (w - 1)]
        for w in (8, 16, 32)
    },
    "i1": [False, True],
}
FLOATS, INTEGERS = ("f64", "f32"), ("i32", "i16", "i8")


def edges(kind: str) -> np.ndarray:
    with np.errstate(all="ignore"):
        wide = np.array(EDGES[kind], np.float32 if kind == "bf16" else None)
        return wide.astype(BY_MLIR[kind].numpy)


def elementwise(name: str, result: str, arguments: list[tuple[str, str]], body: str, size: int) -> str:
    """A kernel that computes %r from the elements %a0, %a1, .. of its arguments."""
    loads = "\n".join(f"    %a{k} = nest.load %{arg}[%i0] : {kind}" for k, (arg, kind) in enumerate(arguments))
    given = ", ".join(f"%{arg}: memref<{size}x{kind}>" for arg, kind in arguments)
    return f"""
nest.kernel @{name}({given}, %out: memref<{size}x{result}>) {{
  nest.for %i0 = 0 to {size} {{
{loads}
    {body}
    nest.store %r, %out[%i0] : {result}
  }}
}}"""


OPERATIONS = {
    **{kind: ["neg", "sqrt", "add", "sub", "mul", "div", "max", "cmplt", "fma", "select"] for kind in FLOATS},
    **{kind: ["neg", "add", "sub", "mul", "max", "and", "or", "xor", "cmplt", "select"] for kind in INTEGERS},
    "i1": ["and", "or", "xor", "cmplt", "select"],
    "f16": ["select"],
    "bf16": ["select"],
}


@pytest.mark.parametrize("kind", OPERATIONS)
def test_each_operation_has_the_interpreters_bits_on_all_pairs_of_edge_values(kind, tmp_path):
    values = edges(kind)
    pairs = np.array(list(itertools.product(values, values)), values.dtype)
    x, y, z = pairs[:, 0].copy(), pairs[:, 1].copy(), np.roll(pairs[:, 1], 7)
    flags = np.arange(len(x)) % 3 == 0
    texts = []
    for op in OPERATIONS[kind]:
        count = {"neg": 1, "sqrt": 1, "fma": 3}.get(op, 2)
        arguments, operands = [("x", kind), ("y", kind), ("z", kind)][:count], ", ".join(f"%a{k}" for k in range(count))
        result = "i1" if op == "cmplt" else kind
        if op == "select":
            arguments, operands = [("flags", "i1"), ("x", kind), ("y", kind)], "%a0, %a1, %a2"
        texts.append(elementwise(op, result, arguments, f"%r = nest.{op} {operands} : {kind}", len(x)))
    compare(parse("\n".join(texts)), {"x": x, "y": y, "z": z, "flags": flags}, tmp_path)


@pytest.mark.parametrize("kind", INTEGERS)
def test_shifts_keep_the_sign_and_drop_what_leaves(kind, tmp_path):
    values, width = edges(kind), int(kind[1:])
    x, y = (a.ravel() for a in np.meshgrid(values, np.arange(width, dtype=values.dtype)))
    texts = [
        elementwise(op, kind, [("x", kind), ("y", kind)], f"%r = nest.{op} %a0, %a1 : {kind}", x.size)
        for op in ("shl", "shr")
    ]
    compare(parse("\n".join(texts)), {"x": x, "y": y}, tmp_path)


ALL_KINDS = [str(kind) for kind in ELEMENT_TYPES]


@pytest.mark.parametrize("source", ALL_KINDS)
def test_casts_between_all_types_have_the_interpreters_bits(source, tmp_path):
    x = edges(source)
    if source in ("f32", "f64"):
        noise = np.random.default_rng(1).integers(0, 2**63, 4096).view(np.float64)
        with np.errstate(all="ignore"):
            x = np.concatenate([x, (noise if source == "f64" else noise.view(np.float32)).astype(x.dtype)])
            x = np.concatenate([x, np.random.default_rng(2).normal(0, 1e-5, 4096).astype(x.dtype)])
            x = np.concatenate([x, np.random.default_rng(2).normal(0, 1e4, 4096).astype(x.dtype)])
    if source in ("f16", "bf16", "i16"):
        x = np.arange(2**16, dtype=np.uint16).view(x.dtype)
    texts = [
        elementwise(f"to_{t}", t, [("x", source)], f"%r = nest.cast %a0 : {source} to {t}", x.size) for t in ALL_KINDS
    ]
    compare(parse("\n".join(texts)), {"x": x}, tmp_path)


@pytest.mark.parametrize("optimize", ["-O2", "-O3"])
def test_a_float_cut_to_an_int_and_back_is_no_negative_zero(optimize, tmp_path):
    """gcc 12 with -fno-trapping-math takes the way through the int for a truncation, which keeps the sign of -0.5."""
    values, texts = [-0.5, -0.0, 0.5, -0.9, -1.5, 2.5, -1e-30, 0.0] * 8, []
    for kind, through in itertools.product(FLOATS, INTEGERS):
        body = f"""%i = nest.cast %a0 : {kind} to {through}
    %f = nest.cast %i : {through} to {kind}
    %one = nest.const 1.0 : {kind}
    %r = nest.div %one, %f : {kind}"""
        texts.append(elementwise(f"{kind}_{through}", kind, [(kind, kind)], body, 64))
        texts.append(f"""nest.kernel @total_{kind}_{through}(%{kind}: memref<64x{kind}>, %out: memref<64x{kind}>) {{
  %z = nest.const 0.0 : {kind}
  nest.store %z, %out[0] : {kind}
  nest.for %i0 = 0 to 64 {{
    %a0 = nest.load %{kind}[%i0] : {kind}
    {body}
    nest.accumulate add %f, %out[0] : {kind}
    nest.store %r, %out[%i0] : {kind}
  }}
}}""")
    inputs = {kind: np.array(values, numpy_of(kind)) for kind in FLOATS}
    compare(parse("\n".join(texts)), inputs, tmp_path, optimize)


@pytest.mark.parametrize("pair", [("f32", "i32"), ("i32", "f32"), ("f16", "i16"), ("i16", "bf16"), ("i8", "i8")])
def test_bitcasts_keep_the_bits(pair, tmp_path):
    source, target = pair
    x = edges(source)
    text = elementwise("k", target, [("x", source)], f"%r = nest.bitcast %a0 : {source} to {target}", x.size)
    module = parse(text)
    got = arrays_for(kernels_of(module)[0], {"x": x})
    launch(build(print_c(module), tmp_path), "kernel_k", got)
    assert got[1].tobytes() == x.tobytes()


def test_64_bit_integers_serve_the_bits_of_f64(tmp_path):
    text = elementwise(
        "k",
        "f64",
        [("x", "f64")],
        """%b = nest.bitcast %a0 : f64 to i64
    %one = nest.const 4503599627370497 : i64
    %sum = nest.add %b, %one : i64
    %two = nest.const 2 : i64
    %left = nest.shl %sum, %two : i64
    %right = nest.shr %left, %two : i64
    %w = nest.cast %a0 : f64 to i64
    %v = nest.xor %right, %w : i64
    %r = nest.bitcast %v : i64 to f64""",
        len(FLOAT_EDGES),
    )
    compare(parse(text), {"x": edges("f64")}, tmp_path)


@pytest.mark.parametrize("kind", ALL_KINDS)
def test_constants_arrive_exactly(kind, tmp_path):
    values = [v.item() if kind not in ("bf16",) else float(v) for v in edges(kind)]
    element = next(t for t in ELEMENT_TYPES if str(t) == kind)
    block = Block(arg_types=[nest.memref(len(values), element)])
    block.args[0].name_hint = "out"
    for place, value in enumerate(values):
        const = nest.ConstOp(value, element)
        block.add_ops([const, nest.StoreOp(const, block.args[0], place)])
    compare(ModuleOp([nest.KernelOp("k", block)]), {}, tmp_path)


# ---------------------------------------------------------------------------------------------------- indices and loops


def test_quotients_and_remainders_of_indices_round_down(tmp_path):
    formulas = ["%i - 9", "(%i - 9) floordiv 4", "(%i - 9) mod 4", "(%i - 9) ceildiv 4", "%i floordiv 3 * 5 - %i mod 3"]
    formulas += ["(%i * 3 - 20) mod 7 + (%i - 10) floordiv 2", "(%i floordiv 2) mod 3", "0 - %i * 2", "%i * -3 + 1"]
    lines = []
    for place, formula in enumerate(formulas):
        lines.append(f"%v{place} = nest.index [{formula}] : i32")
        lines.append(f"nest.store %v{place}, %out[%i * {len(formulas)} + {place}] : i32")
    body = "\n    ".join(lines)
    text = f"nest.kernel @k(%out: memref<{20 * len(formulas)}xi32>) {{ nest.for %i = 0 to 20 {{\n {body} }} }}"
    compare(parse(text), {}, tmp_path)


LOOPS = """
nest.kernel @tiles(%x: memref<37xf32>, %out: memref<37xf32>) {
  nest.for %t = 0 to 37 step 8 KIND {
    nest.for %i = max [%t, 0] to min [%t + 8, 37] {
      %v = nest.load %x[36 - %i] : f32
      nest.store %v, %out[%i] : f32
    }
  }
}
nest.kernel @odd_steps(%x: memref<37xf32>, %out: memref<13xf32>) {
  nest.for %i = 1 to 37 step 3 KIND {
    %v = nest.load %x[%i] : f32
    nest.store %v, %out[(%i - 1) floordiv 3] : f32
  }
}
nest.kernel @padded(%x: memref<37xf32>, %out: memref<60xf32>) {
  nest.for %i = 0 to 10 KIND {
    nest.for %j = 0 to 6 {
      %v = nest.load %x[%i * 5 + %j - 7] where [%i * 5 + %j - 7, %j] in [0, 1] to [37, 5] : f32
      nest.store %v, %out[%i * 6 + %j] : f32
    }
  }
}
nest.kernel @guarded_stores(%x: memref<37xf32>, %out: memref<37xf32>) {
  nest.for %i = 0 to 37 KIND {
    %z = nest.const 7.0 : f32
    nest.store %z, %out[%i] : f32
    %v = nest.load %x[%i] : f32
    nest.store %v, %out[%i] where [%i] in [3] to [30] : f32
    nest.accumulate add %v, %out[%i] where [%i] in [5] to [9] : f32
  }
}
nest.kernel @rows(%x: memref<37xf32>, %out: memref<9xf32>) {
  nest.for %i = 0 to 9 KIND {
    %acc = nest.scratch : memref<1xf32, "register">
    %pair = nest.scratch : memref<2xf32, "register">
    %row = nest.scratch : memref<4xf32, "stack">
    %z = nest.const 0.0 : f32
    nest.store %z, %acc[0] : f32
    nest.store %z, %pair[1] : f32
    nest.for %j = 0 to 4 {
      %v = nest.load %x[%i * 4 + %j] : f32
      nest.store %v, %row[3 - %j] : f32
      nest.accumulate max %v, %pair[1] : f32
    }
    nest.for %j = 0 to 4 {
      %v = nest.load %row[%j] : f32
      nest.accumulate fma %v, %v, %acc[0] : f32
    }
    %a = nest.load %acc[0] : f32
    %b = nest.load %pair[1] : f32
    %c = nest.sub %a, %b : f32
    nest.store %c, %out[%i] : f32
  }
}
"""


@pytest.mark.parametrize("kind", ["", "parallel"])
@pytest.mark.parametrize("flags", [("-fopenmp",), ("-O0",)], ids=["openmp", "without openmp"])
def test_loops_of_each_shape_have_the_interpreters_bits(kind, flags, tmp_path):
    x = np.random.default_rng(0).normal(size=37)
    compare(parse(LOOPS.replace("KIND", kind)), {"x": x}, tmp_path, *flags)


COLLAPSED = """
nest.kernel @k(%x: memref<105xf32>, %out: memref<105xf32>) {
  nest.for %i = 0 to 3 parallel collapse 3 {
    nest.for %j = 2 to 12 step 2 {
      nest.for %k = 0 to 7 {
        %v = nest.load %x[%i * 35 + (%j - 2) floordiv 2 * 7 + %k] : f32
        %w = nest.neg %v : f32
        nest.store %w, %out[%i * 35 + (%j - 2) floordiv 2 * 7 + %k] : f32
      }
    }
  }
}
"""


@pytest.mark.parametrize("threads", [1, 2, 3, 50, 1000])
def test_collapsed_loops_cover_each_cell_once_on_any_number_of_threads(threads, tmp_path):
    module = parse(COLLAPSED)
    x = np.arange(105, dtype=np.float32)
    arrays = arrays_for(kernels_of(module)[0], {"x": x})
    library = build(print_c(module), tmp_path)
    ctypes.c_int.in_dll(library, "limn_threads").value = threads
    launch(library, "kernel_k", arrays)
    assert np.array_equal(arrays[1], -x)


def test_scratch_on_the_heap(tmp_path):
    size = 3_000_000
    text = f"""nest.kernel @k(%out: memref<2xf64>) {{
  nest.for %i = 0 to 2 parallel {{
    %row = nest.scratch : memref<{size}xf64, "heap">
    %v = nest.const 1.5 : f64
    nest.for %j = 0 to {size} {{ nest.store %v, %row[%j] : f64 }}
    %w = nest.load %row[{size - 1}] : f64
    nest.store %w, %out[%i] : f64
  }}
}}"""
    module = parse(text)
    arrays = arrays_for(kernels_of(module)[0], {})
    launch(build(print_c(module), tmp_path), "kernel_k", arrays)
    assert arrays[0].tolist() == [1.5, 1.5]


# ---------------------------------------------------------------------------------------------------------------- rows

ROWS = """
nest.kernel @k(%table: memref<15xf32>, %index: memref<1000xi32>, %out: memref<3000xf32>) {
  nest.for %i = 0 to 1000 parallel {
    %n = nest.load %index[%i] : i32
    %row = nest.check_row %n below 5 at [%i] : i32
    nest.for %j = 0 to 3 {
      %v = nest.load %table[%row * 3 + %j] : f32
      nest.store %v, %out[%i * 3 + %j] : f32
    }
  }
}
"""


def test_the_lowest_bad_row_is_recorded_whatever_the_threads(tmp_path):
    module = parse(ROWS)
    library = build(print_c(module), tmp_path)
    index = np.arange(1000, dtype=np.int32) % 5
    arrays = arrays_for(kernels_of(module)[0], {"table": np.arange(15.0), "index": index})
    assert launch(library, "kernel_k", arrays, True).failed == 0
    assert np.array_equal(arrays[2].reshape(1000, 3), arrays[0].reshape(5, 3)[index])
    for place, row in ((999, -1), (700, 5), (501, 2**31 - 1), (499, -(2**31)), (3, 6)):
        arrays[1][place] = row
        for threads in (1, 2, 7):
            ctypes.c_int.in_dll(library, "limn_threads").value = threads
            error = launch(library, "kernel_k", arrays, True)
            assert (error.failed, error.position, error.row, error.bound) == (1, place, row, 5)
        assert np.array_equal(arrays[2][3 * place : 3 * place + 3], arrays[0][:3])


# --------------------------------------------------------------------------------------------------------------- names


def test_values_keep_their_names_and_no_name_upsets_c(tmp_path):
    names = [
        "int",
        "restrict",
        "exp",
        "errno",
        "I",
        "NAN",
        "linux",
        "limn_threads",
        "omp_lock_t",
        "_Bool",
        "a.b",
        "a$b",
    ]
    names += ["x" * 300, "x" * 301, "thread", "begin", "error", "kernel_k", "v1", "i0", "n_int", "1", "out", "true"]
    block = Block(arg_types=[nest.memref(2, ELEMENT_TYPES[1])] * 2)
    loop = nest.ForOp.block_named("unix")
    block.args[0].name_hint, block.args[1].name_hint = "double", "float"
    value = nest.LoadOp(block.args[0], nest.Index.of(loop.args[0]))
    one = nest.ConstOp(1.0, ELEMENT_TYPES[1])
    loop.add_ops([value, one])
    for name in names:
        value = nest.AddOp(value, one)
        value.result._name = name
        loop.add_op(value)
    loop.add_op(nest.StoreOp(value, block.args[1], nest.Index.of(loop.args[0])))
    block.add_op(nest.ForOp([0], [2], loop, kind="parallel"))
    text = print_c(ModuleOp([nest.KernelOp("k", block)]))
    assert "kernel_k(" in text
    arrays = [np.array([1, 2], np.float32), np.zeros(2, np.float32)]
    launch(build(text, tmp_path), "kernel_k", arrays)
    assert arrays[1].tolist() == [1 + len(names), 2 + len(names)]


def test_symbols_that_differ_only_in_odd_letters_stay_apart(tmp_path):
    kernel = "nest.kernel @{}(%out: memref<1xi32>) {{ %v = nest.const {} : i32\n nest.store %v, %out[0] : i32 }}\n"
    symbols = ['"a-b"', '"a b"', '"a_b"', '""', '"é"', '"è"', f'"{"x" * 300}"', f'"{"x" * 299}y"', "k_i", "main", "exp"]
    module = parse("".join(kernel.format(symbol, place) for place, symbol in enumerate(symbols)))
    library = build(print_c(module), tmp_path)
    for place, name in enumerate(symbol_names(module).values()):
        out = [np.zeros(1, np.int32)]
        launch(library, name, out)
        assert out[0][0] == place


# ---------------------------------------------------------------------------------------------------------------- plan

PLAN = """
nest.kernel @step(%w: memref<4xf32>, %g: memref<4xf32>, %out: memref<4xf32>) {
  nest.for %i = 0 to 4 {
    %a = nest.load %w[%i] : f32
    %b = nest.load %g[%i] : f32
    %c = nest.sub %a, %b : f32
    nest.store %c, %out[%i] : f32
  }
}
nest.kernel @pick(%w: memref<4xf32>, %index: memref<1xi32>, %out: memref<1xf32>) {
  %n = nest.load %index[0] : i32
  %row = nest.check_row %n below 4 at [0] : i32
  %v = nest.load %w[%row] : f32
  nest.store %v, %out[0] : f32
}
nest.plan @main(%w: memref<4xf32>, %g: memref<4xf32>, %index: memref<1xi32>, %picked: memref<1xf32>,
                %next: memref<4xf32>, %arena: memref<128xi8>) inputs 3 arena commits [4 -> 0] {
  %t = nest.slice %arena[64] : memref<4xf32>
  nest.launch @step(%w, %g, %t)
  nest.launch @pick(%t, %index, %picked)
  nest.launch @step(%t, %g, %next)
}
"""

DRIVER = """
#include <stdio.h>
int main(void) {
  static float w[4] = {1, 2, 3, 4}, g[4] = {1, 1, 1, 1}, picked[1], next[4];
  static _Alignas(64) char arena[128];
  int index[1] = {2};
  limn_error error;
  void *buffers[6] = {w, g, index, picked, next, arena};
  for (int step = 0; step < 3; step += 1)
    if (plan_main(buffers, step ? &error : 0)) return 9;
  const float *now = buffers[0];
  printf("%g %g %g %g, picked %g\\n", now[0], now[1], now[2], now[3], picked[0]);
  index[0] = 4;
  const void *before = buffers[0];
  const int failed = plan_main(buffers, &error);
  printf("%d: row %d of %d at %d, ", failed, (int)error.row, (int)error.bound, (int)error.position);
  printf("kept %d\\n", buffers[0] == before);
  return 0;
}
"""


@pytest.mark.parametrize("flags", [["-fopenmp"], []], ids=["openmp", "without openmp"])
def test_a_c_main_drives_the_plan_and_reads_what_it_committed(flags, tmp_path):
    (tmp_path / "main.c").write_text(print_c(parse(PLAN)) + DRIVER)
    command = [
        "cc",
        "-O1",
        "-Wall",
        "-Wno-unknown-pragmas",
        *flags,
        str(tmp_path / "main.c"),
        "-o",
        str(tmp_path / "main"),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and not done.stderr, done.stderr
    shown = subprocess.run([str(tmp_path / "main")], capture_output=True, text=True, check=True).stdout.splitlines()
    assert shown == ["-5 -4 -3 -2, picked -2", "1: row 4 of 4 at 0, kept 1"]


def test_the_head_of_the_text_says_how_to_call_the_plan():
    head = print_c(parse(PLAN)).split("*/")[0]
    for line in (
        "int plan_main(void **buffers, limn_error *error)",
        "buffers[0]  in   4 x f32, 16 bytes  w",
        "buffers[4]  out  4 x f32, 16 bytes  next",
        "buffers[5]  arena  128 x i8, 128 bytes  arena",
        "on success buffers[4] and buffers[0] change places",
        "cc -O3",
    ):
        assert line in head


def test_some_symbols_can_be_printed_alone():
    module = parse(PLAN)
    text = print_c(module, ["step"])
    assert "kernel_step" in text and "pick" not in text and "static void kernel_step" not in text
    with pytest.raises(VerifyException, match="launches @step, which is not to be printed"):
        print_c(module, ["main"])
    with pytest.raises(VerifyException, match="no kernel or plan @lost"):
        print_c(module, ["lost"])


# ------------------------------------------------------------------------------------------------------------ refusals

REFUSED = {
    "an exp": ("%v = nest.const 1.0 : f32 %w = nest.exp %v : f32", "run expand-math first"),
    "an unrolled loop": ("nest.for %i = 0 to 4 unrolled { }", "kind unrolled"),
    "a register shared by threads": (
        """%r = nest.scratch : memref<1xf32, "register">
        nest.for %i = 0 to 4 parallel { %v = nest.load %r[0] : f32 nest.store %v, %out[%i] : f32 }""",
        "parallel loop uses the register %r",
    ),
    "loops with something between them": (
        """nest.for %i = 0 to 2 parallel collapse 2 { %v = nest.const 1.0 : f32 nest.for %j = 0 to 2 {
        nest.store %v, %out[%i * 2 + %j] : f32 } }""",
        "do not stand directly in each other",
    ),
    "a collapsed triangle": (
        "nest.for %i = 0 to 2 parallel collapse 2 { nest.for %j = 0 to %i { } }",
        "bounds are not constants",
    ),
}


@pytest.mark.parametrize("what", REFUSED)
def test_the_printer_refuses(what):
    body, reason = REFUSED[what]
    body = body.replace(" nest.", "\n nest.").replace(" %w =", "\n %w =")
    with pytest.raises(VerifyException, match=reason):
        print_c(parse(f"nest.kernel @k(%out: memref<4xf32>) {{\n{body}\n}}"))


# ---------------------------------------------------------------------------------------------------------------- size


@pytest.mark.full
def test_a_body_of_ten_thousand_statements_and_three_thousand_arguments(tmp_path):
    element = ELEMENT_TYPES[1]
    count, ops = 3000, 10_000
    block = Block(arg_types=[nest.memref(2, element)] * (count + 1))
    loop = nest.ForOp.block_named("i")
    at = nest.Index.of(loop.args[0])
    total: nest.LoadOp | nest.AddOp = nest.LoadOp(block.args[0], at)
    loop.add_op(total)
    for place in range(1, ops):
        value = nest.LoadOp(block.args[place % count], at)
        total = nest.AddOp(total.result, value.result)
        loop.add_ops([value, total])
    loop.add_op(nest.StoreOp(total.result, block.args[count], at))
    block.add_op(nest.ForOp([0], [2], loop, kind="parallel"))
    plan = Block(arg_types=[nest.memref(2, element)] * (count + 1))
    plan.add_op(nest.LaunchOp("k", plan.args))
    module = ModuleOp([nest.KernelOp("k", block), nest.PlanOp("main", count, [], plan)])
    arrays = [np.full(2, k % 5, np.float32) for k in range(count)] + [np.zeros(2, np.float32)]
    table = (ctypes.c_void_p * len(arrays))(*(array.ctypes.data for array in arrays))
    assert build(print_c(module), tmp_path, "-O0", "-fopenmp").plan_main(table, None) == 0
    assert arrays[-1].tolist() == [sum(k % count % 5 for k in range(ops))] * 2


def test_counters_and_offsets_pass_two_to_the_31(tmp_path):
    text = """nest.kernel @k(%a: memref<1xi8>, %out: memref<1xf64>) {
  %z = nest.const 0.0 : f64
  nest.store %z, %out[0] : f64
  nest.for %i = 0 to 3000000000 step 1000 {
    nest.for %j = 2999999990 to 3000000000 {
      %v = nest.load %a[%i * 3000000000 + %j - 1] where [%i * 3000000000 + %j] in [1] to [2] : i8
      %one = nest.const 1.0 : f64
      nest.accumulate add %one, %out[0] : f64
    }
  }
}"""
    module = parse(text)
    arrays = arrays_for(kernels_of(module)[0], {"a": np.ones(1)})
    launch(build(print_c(module), tmp_path), "kernel_k", arrays)
    assert arrays[1][0] == 30_000_000


def test_error_struct_matches_the_text():
    assert ctypes.sizeof(Error) == 40
    assert "int64_t failed, check, position, row, bound;" in print_c(parse(ROWS))
