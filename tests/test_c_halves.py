"""Halves in C: casts by the compiler's own type and by arithmetic on bits give the same bits, those of numpy.

Every half is tried, and around every boundary between two of them: the point half way, which goes to the even one,
and the floats on both sides of it; subnormals, overflow, infinities and NaN with them.
"""

from __future__ import annotations

import ctypes
import shutil
import subprocess

import ml_dtypes
import numpy as np
import pytest
from native import build, same_bits

from limn.targets.c import c_file

CASTS = {
    ("f16", "f32"): ("uint16_t", "float"),
    ("bf16", "f32"): ("uint16_t", "float"),
    ("f32", "f16"): ("float", "uint16_t"),
    ("f32", "bf16"): ("float", "uint16_t"),
    ("f64", "f16"): ("double", "uint16_t"),
}
NUMPY = {"f16": np.float16, "bf16": ml_dtypes.bfloat16, "f32": np.float32, "f64": np.float64}
MACROS = {"bits": ("-DLIMN_FLOAT16=0",), "type": ("-DLIMN_FLOAT16=1",), "default": ()}

HAS_FLOAT16 = (
    shutil.which("cc") is not None
    and b"__FLT16_MAX__" in subprocess.run(["cc", "-dM", "-E", "-"], input=b"", capture_output=True, check=False).stdout
)
pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler on this machine")


def loops() -> str:
    return c_file(
        f"void {s}_{t}(const {a} *x, {b} *y, int64_t n) {{\n"
        f"  for (int64_t i = 0; i < n; i += 1) y[i] = limn_{s}_to_{t}(x[i]);\n}}\n"
        for (s, t), (a, b) in CASTS.items()
    )


def every_half(kind: str) -> np.ndarray:
    return np.arange(2**16, dtype=np.uint16).view(NUMPY[kind])


def around_halves(kind: str, target: str) -> np.ndarray:
    """Each half, the points between neighbours and what lies next to those, and random bits, as `kind`."""
    bits = np.arange(2**15, dtype=np.uint16)
    wide = bits.view(NUMPY[target]).astype(np.float64)
    wide = wide[np.isfinite(wide)]
    top = wide[-1] + (wide[-1] - wide[-2]) / 2  # from here on an infinity is nearest
    between = np.append((wide[1:] + wide[:-1]) / 2, top).astype(NUMPY[kind])
    near = [np.nextafter(between, np.inf, dtype=NUMPY[kind]), np.nextafter(between, 0, dtype=NUMPY[kind])]
    width = between.dtype.itemsize
    noise = np.random.default_rng(7).integers(0, 256, width << 18, np.uint8).view(NUMPY[kind])
    special = np.array([0, np.inf, np.nan, 1e30, 5e-324, 1e300], NUMPY[kind])
    positive = np.concatenate([wide.astype(NUMPY[kind]), between, *near, special])
    return np.concatenate([positive, -positive, noise])


def inputs_of(source: str, target: str) -> np.ndarray:
    with np.errstate(all="ignore"):
        return every_half(source) if source in ("f16", "bf16") else around_halves(source, target)


@pytest.fixture(scope="module")
def libraries(tmp_path_factory) -> dict[str, ctypes.CDLL]:
    folder = tmp_path_factory.mktemp("halves")
    wanted = {name: flags for name, flags in MACROS.items() if name != "type" or HAS_FLOAT16}
    return {name: build(loops(), folder, *flags, name=name) for name, flags in wanted.items()}


def run(library: ctypes.CDLL, source: str, target: str, x: np.ndarray) -> np.ndarray:
    y = np.zeros(x.size, NUMPY[target])
    library[f"{source}_{target}"](
        ctypes.c_void_p(x.ctypes.data), ctypes.c_void_p(y.ctypes.data), ctypes.c_int64(x.size)
    )
    return y


@pytest.mark.parametrize(("source", "target"), CASTS, ids=str)
def test_each_spelling_of_a_cast_has_numpys_bits(source, target, libraries):
    x = inputs_of(source, target)
    with np.errstate(all="ignore"):
        want = x.astype(NUMPY[target])
    for name, library in libraries.items():
        assert same_bits(run(library, source, target, x), want), name


@pytest.mark.skipif(not HAS_FLOAT16, reason="the C compiler has no _Float16")
@pytest.mark.parametrize(("source", "target"), [pair for pair in CASTS if "f16" in pair], ids=str)
def test_both_spellings_give_the_same_nan(source, target, libraries):
    """A NaN stays one, quiet, with its sign and the upper bits of its payload."""
    x = inputs_of(source, target)
    bits, kind = run(libraries["bits"], source, target, x), run(libraries["type"], source, target, x)
    assert np.isnan(bits).any()
    assert bits.tobytes() == kind.tobytes()


@pytest.mark.full
@pytest.mark.skipif(not HAS_FLOAT16, reason="the C compiler has no _Float16")
def test_the_type_without_instructions_for_it_gives_the_same_bits(tmp_path, libraries):
    """For an older processor the compiler calls its own library."""
    machine = subprocess.run(["cc", "-dumpmachine"], capture_output=True, text=True, check=True).stdout
    flags = ["-march=x86-64"] if machine.startswith("x86_64") else []
    library = build(loops(), tmp_path, *MACROS["type"], *flags)
    for source, target in CASTS:
        x = inputs_of(source, target)
        assert same_bits(run(library, source, target, x), run(libraries["bits"], source, target, x)), (source, target)


def test_the_macro_chooses_the_spelling():
    """A text says it once, and only where it casts a half."""
    text = loops()
    assert text.count("#ifndef LIMN_FLOAT16") == 1
    assert text.index("#ifndef LIMN_FLOAT16") < text.index("#if LIMN_FLOAT16")
    assert "LIMN_FLOAT16" not in c_file(["void f(uint16_t *x) { *x = limn_f32_to_bf16(1); }"])
