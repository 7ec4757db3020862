"""exp and log as arithmetic: how far off, at which edges, and the same bits from everyone who evaluates them."""

from __future__ import annotations

import ctypes
import math
import shutil
import subprocess
from collections.abc import Callable
from decimal import Decimal, localcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import BFloat16Type, Float16Type, Float32Type, Float64Type, IndexType, ModuleOp
from xdsl.ir import Attribute, Block, Operation, SSAValue

from limn.dialects import nest
from limn.dialects.graph import python_number
from limn.interpreters.nest import run_kernel
from limn.passes.expand_math import F32, F64, ExpandMathPass, Format
from limn.targets.c import print_c

BOUNDS = {"exp": 0.95, "log": 0.9}  # in ulp, as the pass promises
OPS: dict[str, type[nest.UnaryOp]] = {"exp": nest.ExpOp, "log": nest.LogOp}
DTYPES: dict[Attribute, Any] = {F32.float: np.float32, F64.float: np.float64, F32.bits: np.int32, F64.bits: np.int64}
FORMATS = pytest.mark.parametrize("form", [F32, F64], ids=["f32", "f64"])
FUNCTIONS = pytest.mark.parametrize("function", ["exp", "log"])
FUSED = pytest.mark.parametrize("fused", [False, True], ids=["plain", "fma"])


def kernel_of(function: str, element: Attribute, size: int = 1) -> ModuleOp:
    """A kernel that stores the function of each element of its first argument to its second."""
    body = Block(arg_types=[nest.memref(size, element)] * 2)
    loop = Block(arg_types=[IndexType()])
    index = nest.Index.of(loop.args[0])
    load = nest.LoadOp(body.args[0], index)
    call = OPS[function](load.result)
    loop.add_ops([load, call, nest.StoreOp(call.result, body.args[1], index)])
    body.add_op(nest.ForOp([0], [size], loop))
    return ModuleOp([nest.KernelOp("k", body)])


def expand(module: ModuleOp, fused: bool) -> ModuleOp:
    ExpandMathPass(fma=fused).apply(Context(), module)
    module.verify()
    return module


def fma(a: Any, b: Any, c: Any) -> Any:
    """a * b + c in twice the width and rounded, which is off by a last bit once in a great while."""
    kind = np.result_type(a, b, c)
    wide = np.float64 if kind == np.float32 else np.longdouble
    return (np.asarray(a, wide) * np.asarray(b, wide) + np.asarray(c, wide)).astype(kind)


ARRAY_OPS: dict[type[Operation], Callable[..., Any]] = {
    nest.AddOp: np.add,
    nest.SubOp: np.subtract,
    nest.MulOp: np.multiply,
    nest.DivOp: np.divide,
    nest.AndOp: np.bitwise_and,
    nest.ShlOp: np.left_shift,
    nest.ShrOp: np.right_shift,
    nest.CmpLtOp: np.less,
    nest.SelectOp: np.where,
    nest.FmaOp: fma,
}


def evaluate(module: ModuleOp, x: np.ndarray) -> np.ndarray:
    """The body of ``kernel_of`` on a whole array at once: one numpy call an op, at the op's own dtype."""
    values: dict[SSAValue, Any] = {}
    with np.errstate(all="ignore"):
        for op in module.walk():
            if isinstance(op, nest.LoadOp):
                values[op.result] = x
            elif isinstance(op, nest.StoreOp):
                return values[op.value]
            elif isinstance(op, nest.ConstOp):
                values[op.result] = DTYPES[op.result.type](python_number(op.value))
            elif isinstance(op, nest.BitcastOp):
                values[op.result] = np.asarray(values[op.operand]).view(DTYPES[op.result.type])
            elif type(op) in ARRAY_OPS:
                values[op.results[0]] = ARRAY_OPS[type(op)](*[values[v] for v in op.operands])
    raise AssertionError("the kernel stores nothing")


def reference(function: str, x: np.ndarray) -> np.ndarray:
    """The function in the next wider type."""
    wide = np.float64 if x.dtype == np.float32 else np.longdouble
    if np.finfo(wide).nmant < np.finfo(x.dtype).nmant + 8:
        pytest.skip("numpy has no type wider than float64 here")
    with np.errstate(all="ignore"):
        return getattr(np, function)(x.astype(wide))


def ulps(got: np.ndarray, true: np.ndarray) -> np.ndarray:
    """Distances in units of the last place of ``true``; overflow counts as the next power of two."""
    info = np.finfo(got.dtype)
    over = np.ldexp(true.dtype.type(1), info.maxexp)
    got = np.clip(got.astype(true.dtype), -over, over)
    true = np.clip(true, -over, over)
    _, exponent = np.frexp(np.minimum(np.abs(true), over / 2))
    unit = np.ldexp(true.dtype.type(1), np.maximum(exponent, info.minexp + 1) - info.nmant - 1)
    return np.abs(got - true) / unit


def finite_inputs(function: str, form: Format, step: int) -> np.ndarray:
    """float32: every ``step``-th bit pattern. float64: as many at random. Both: thick where things change."""
    kind = DTYPES[form.float]
    rng = np.random.default_rng(2)
    count = 2**32 // step
    if kind is np.float32:
        spread = np.arange(0, 2**32, step, dtype=np.uint64).astype(np.uint32).view(kind)
    else:
        spread = rng.integers(0, 2**64, count, dtype=np.uint64).view(kind)
    low, high = form.bounds
    around = rng.standard_normal(count // 16)
    dense = [rng.uniform(low, high, count // 2), rng.uniform(-1, 1, count // 4), around * 2.0**-9]
    if function == "log":
        dense = [rng.uniform(0, 4, count // 2), 1 + around * 2.0**-9, 2.0**-0.5 + around * 2.0**-20]
        dense += [np.finfo(kind).tiny * rng.uniform(0, 4, count // 16)]
    else:
        dense += [high - rng.uniform(0, 2, count // 16), low + rng.uniform(0, 40, count // 16)]
        dense += [math.log(2) * (rng.integers(-150, 128, count // 16) + 0.5) + around * 2.0**-12]
    x = np.concatenate([spread, *[d.astype(kind) for d in dense]])
    return x[np.isfinite(x) & ((x > 0) | (function == "exp"))]


def check_error(function: str, form: Format, fused: bool, step: int) -> None:
    module = expand(kernel_of(function, form.float), fused)
    for x in np.array_split(finite_inputs(function, form, step), 1 + 2**32 // step // 2**20):
        error = ulps(evaluate(module, x), reference(function, x))
        worst = int(np.argmax(error))
        assert error[worst] < BOUNDS[function], f"{function}({x[worst]!r}) is off by {error[worst]:.3f} ulp"


@FORMATS
@FUNCTIONS
@FUSED
def test_the_error_stays_below_one_ulp(function: str, form: Format, fused: bool) -> None:
    check_error(function, form, fused, 16381)


@pytest.mark.full
@FORMATS
@FUNCTIONS
@FUSED
def test_the_error_stays_below_one_ulp_on_many_more_inputs(function: str, form: Format, fused: bool) -> None:
    check_error(function, form, fused, 4093 if fused else 251)


@FORMATS
@FUSED
def test_the_edges_of_exp(form: Format, fused: bool) -> None:
    kind = DTYPES[form.float]
    info = np.finfo(kind)
    largest = kind(math.log(float(info.max)))  # the last argument without overflow, or its neighbour
    smallest = kind(math.log(float(info.smallest_subnormal)) - math.log(2))  # exp rounds to 0 below, or its neighbour
    x = np.array([math.inf, -math.inf, 0.0, -0.0, info.max, info.min, info.smallest_subnormal, 1e30, -1e30], kind)
    expected = np.array([math.inf, 0.0, 1.0, 1.0, math.inf, 0.0, 1.0, math.inf, 0.0], kind)
    module = expand(kernel_of("exp", form.float), fused)
    assert evaluate(module, x).tobytes() == expected.tobytes()
    y = evaluate(module, np.array([largest * kind(0.9999), largest * kind(1.0001)], kind))
    assert np.isfinite(y[0]) and y[1] == math.inf
    y = evaluate(module, np.array([smallest * kind(0.999), smallest * kind(1.001)], kind))
    assert y[0] == info.smallest_subnormal and y[1] == 0
    assert 0 < evaluate(module, np.array([smallest * kind(0.98)], kind))[0] < info.tiny, "underflow is gradual"


@FORMATS
@FUSED
def test_the_edges_of_log(form: Format, fused: bool) -> None:
    kind = DTYPES[form.float]
    info = np.finfo(kind)
    x = np.array([math.inf, 0.0, -0.0, 1.0, -1.0, -math.inf, -info.smallest_subnormal, info.min], kind)
    expected = np.array([math.inf, -math.inf, -math.inf, 0.0, math.nan, math.nan, math.nan, math.nan], kind)
    module = expand(kernel_of("log", form.float), fused)
    assert evaluate(module, x).tobytes() == expected.tobytes()
    x = np.array([info.smallest_subnormal, info.tiny, info.max, 1 + info.eps, 1 - info.epsneg, 2, 0.5], kind)
    assert np.all(ulps(evaluate(module, x), reference("log", x)) < 0.9)


@FORMATS
@FUNCTIONS
def test_a_nan_stays_the_nan_it_was(function: str, form: Format) -> None:
    kind = DTYPES[form.float]
    x = np.array([math.nan, -math.nan], kind)
    x = np.append(x, (x.view(DTYPES[form.bits]) + 5).view(kind))  # with a payload
    assert evaluate(expand(kernel_of(function, form.float), False), x).tobytes() == x.tobytes()


def sample(form: Format, count: int) -> np.ndarray:
    """Bit patterns of all kinds, infinities and NaN with payloads among them, and as many ordinary numbers."""
    rng = np.random.default_rng(3)
    kind = DTYPES[form.float]
    patterns = rng.integers(0, 2 ** np.finfo(kind).bits, count // 2, dtype=np.uint64)
    patterns = patterns.astype(f"u{kind().nbytes}").view(kind)
    edges = np.array([0.0, -0.0, math.inf, -math.inf, math.nan, -math.nan], kind)
    return np.concatenate([patterns, edges, rng.uniform(-2, 4, count - len(patterns) - len(edges)).astype(kind)])


def interpret(module: ModuleOp, x: np.ndarray) -> np.ndarray:
    (kernel,) = module.body.ops
    assert isinstance(kernel, nest.KernelOp)
    out = np.zeros_like(x)
    run_kernel(kernel, [x, out])
    return out


@FORMATS
@FUNCTIONS
def test_the_interpreter_gives_the_bits_of_one_numpy_call_an_op(function: str, form: Format) -> None:
    x = sample(form, 20_000)
    module = expand(kernel_of(function, form.float, len(x)), False)
    assert interpret(module, x).tobytes() == evaluate(module, x).tobytes()


@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
@pytest.mark.parametrize("flags", ["-O3 -march=native", "-O1"])
@FORMATS
@FUNCTIONS
def test_the_c_text_gives_the_bits_of_the_interpreter(function: str, form: Format, flags: str, tmp_path: Path) -> None:
    x = sample(form, 4_000)
    for fused in (False, True):
        module = expand(kernel_of(function, form.float, len(x)), fused)
        source, library = tmp_path / f"{fused}.c", tmp_path / f"{fused}.so"
        source.write_text(print_c(module))
        meaning = "-ffp-contract=off -fno-math-errno -fno-trapping-math -fwrapv -shared -fPIC"
        subprocess.run(["cc", *flags.split(), *meaning.split(), source, "-o", library, "-lm"], check=True)
        out = np.zeros_like(x)
        ctypes.CDLL(str(library)).kernel_k(x.ctypes.data_as(ctypes.c_void_p), out.ctypes.data_as(ctypes.c_void_p))
        assert out.tobytes() == interpret(module, x).tobytes()


def polynomial_error(form: Format, function: str, steps: int = 400) -> float:
    """The largest error of the polynomial alone, relative to the function, in exact arithmetic."""
    with localcontext() as context:
        context.prec = 60
        ln2, worst = Decimal(2).ln(), Decimal(0)
        kind = DTYPES[form.float]
        coefficients = [Decimal(float(kind(c))) for c in getattr(form, function)]
        root = (Decimal(2).sqrt() - 1) / (Decimal(2).sqrt() + 1)
        for i in (*range(-steps, 0), *range(1, steps + 1)):
            t = (ln2 / 2 if function == "exp" else root) * i / steps
            square = t * t
            step = t if function == "exp" else square
            total = sum((c * step**k for k, c in enumerate(coefficients)), Decimal(0))
            if function == "exp":
                true, found = t.exp(), 1 + t + square * total
            else:
                true, found = ((1 + t) / (1 - t)).ln(), 2 * t + t * square * total
            worst = max(worst, abs(found / true - 1))
    return float(worst)


@FORMATS
def test_the_polynomials_are_exact_to_four_bits_more_than_the_type(form: Format) -> None:
    for function in OPS:
        assert polynomial_error(form, function) < 2.0 ** -(form.fraction + 4.5)


@FORMATS
def test_ln_2_is_split_so_that_products_with_an_exponent_are_exact(form: Format) -> None:
    kind = DTYPES[form.float]
    head, rest = form.ln2
    exponents = np.arange(-form.bias - form.fraction - 1, form.bias + 2).astype(kind)
    assert np.array_equal(exponents * kind(head), exponents.astype(np.longdouble) * np.longdouble(kind(head)))
    with localcontext() as context:
        context.prec = 40
        assert abs(Decimal(head) + Decimal(float(kind(rest))) - Decimal(2).ln()) < Decimal(2) ** -(form.fraction + 20)


@pytest.mark.parametrize("element", [Float16Type(), BFloat16Type()], ids=["f16", "bf16"])
@FUNCTIONS
def test_halves_are_left_for_lower_to_widen(function: str, element: Attribute) -> None:
    module = kernel_of(function, element)
    before = str(module)
    ExpandMathPass().apply(Context(), module)
    assert str(module) == before


@FUSED
def test_fma_is_used_only_where_asked_for(fused: bool) -> None:
    for function in OPS:
        for element in (Float32Type(), Float64Type()):
            ops = list(expand(kernel_of(function, element), fused).walk())
            assert any(isinstance(op, nest.FmaOp) for op in ops) == fused
            assert not any(isinstance(op, nest.ExpOp | nest.LogOp) for op in ops)
