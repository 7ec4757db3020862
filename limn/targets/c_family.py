"""How C and its relatives spell scalars and operations: tables, read by the printers.

An operation is a template over its operands (``{0}``, ``{1}``, ..), which are names or literals, so no template needs
more brackets than the formula itself. What a template calls and C lacks is a helper; the printer puts the helpers that
a text uses in front of it. A target that spells something otherwise overrides single entries.

Integers wrap: the text is compiled with ``-fwrapv``, and the widths below int are cut after each operation. Halves
live in memory and in casts only and are their bit patterns, so they need nothing of the compiler. An f16 is cast as
``_Float16`` where the compiler does that with vectors, by arithmetic on its bits elsewhere (gcc 12 without AVX512-FP16
converts one number at a time: 33 us for a sum of two rows of 65,536, against 16); ``-DLIMN_FLOAT16=0`` or ``1`` asks
for either, and both give the same bits. bf16 is the upper half of f32.
"""

from __future__ import annotations

from dataclasses import dataclass

import ml_dtypes
import numpy as np

HALVES = ("f16", "bf16")
FLOATS = ("f64", "f32")
INTEGERS = ("i64", "i32", "i16", "i8")


@dataclass(frozen=True)
class Scalar:
    """An element type: the C type of a value, that of an element in memory, and the bytes of the latter."""

    value: str
    memory: str
    size: int


SCALARS: dict[str, Scalar] = {
    "f64": Scalar("double", "double", 8),
    "f32": Scalar("float", "float", 4),
    "f16": Scalar("uint16_t", "uint16_t", 2),
    "bf16": Scalar("uint16_t", "uint16_t", 2),
    "i64": Scalar("int64_t", "int64_t", 8),
    "i32": Scalar("int32_t", "int32_t", 4),
    "i16": Scalar("int16_t", "int16_t", 2),
    "i8": Scalar("int8_t", "int8_t", 1),
    "i1": Scalar("_Bool", "unsigned char", 1),
}
"""A bool in memory is a byte, since reading a C bool that is neither 0 nor 1 is undefined."""


def _float_operations(kind: str) -> dict[tuple[str, str], str]:
    suffix = "f" if kind == "f32" else ""
    return {
        ("neg", kind): "-{0}",
        ("sqrt", kind): f"__builtin_sqrt{suffix}({{0}})",
        ("add", kind): "{0} + {1}",
        ("sub", kind): "{0} - {1}",
        ("mul", kind): "{0} * {1}",
        ("div", kind): "{0} / {1}",
        ("max", kind): "({0} > {1}) | ({0} != {0}) ? {0} : {1}",  # | and not ||: a branch would not vectorise
        ("fma", kind): f"__builtin_fma{suffix}({{0}}, {{1}}, {{2}})",
        ("cmplt", kind): "{0} < {1}",
    }


def _integer_operations(kind: str) -> dict[tuple[str, str], str]:
    def cut(formula: str) -> str:
        return f"({SCALARS[kind].value})({formula})" if SCALARS[kind].size < 4 else formula

    return {
        ("neg", kind): cut("-{0}"),
        ("add", kind): cut("{0} + {1}"),
        ("sub", kind): cut("{0} - {1}"),
        ("mul", kind): cut("{0} * {1}"),
        ("max", kind): "{0} > {1} ? {0} : {1}",
        ("and", kind): cut("{0} & {1}"),
        ("or", kind): cut("{0} | {1}"),
        ("xor", kind): cut("{0} ^ {1}"),
        ("shl", kind): f"({SCALARS[kind].value})((u{SCALARS[kind].value}){{0}} << {{1}})",
        ("shr", kind): cut("{0} >> {1}"),
        ("cmplt", kind): "{0} < {1}",
    }


OPERATIONS: dict[tuple[str, str], str] = {
    **{key: text for kind in FLOATS for key, text in _float_operations(kind).items()},
    **{key: text for kind in INTEGERS for key, text in _integer_operations(kind).items()},
    ("max", "i1"): "{0} | {1}",
    ("and", "i1"): "{0} & {1}",
    ("or", "i1"): "{0} | {1}",
    ("xor", "i1"): "{0} ^ {1}",
    ("cmplt", "i1"): "{0} < {1}",
}
"""(operation, element type of its operands) to a formula. Selects are the same for all types and not listed."""


def cast(source: str, target: str) -> str:
    """The formula that converts ``{0}``: float to integer cuts towards zero, saturates and gives 0 for NaN; an
    integer to a narrower one wraps; anything to i1 is "not zero"."""
    if source == target:
        return "{0}"
    if source == "i1" and target not in HALVES:
        return f"({SCALARS[target].value}){{0}}"
    if source in HALVES:
        wide = f"limn_{source}_to_f32({{0}})"
        return wide if target == "f32" else _of_float(wide, target)
    if target in HALVES:
        if (source, target) == ("f64", "f16"):
            return "limn_f64_to_f16({0})"
        return f"limn_f32_to_{target}({'' if source == 'f32' else '(float)'}{{0}})"
    if target == "i1":
        return "{0} != 0"
    if source in FLOATS and target in INTEGERS:
        return f"limn_{source}_to_{target}({{0}})"
    return f"({SCALARS[target].value}){{0}}"


def _of_float(formula: str, target: str) -> str:
    """``cast`` from an f32 formula instead of a name."""
    return cast("f32", target).replace("{0}", formula)


def bitcast(source: str, target: str) -> str:
    """The formula for the same bits as another type."""
    if source == target:
        return "{0}"
    if {source, target} <= {*INTEGERS, *HALVES, "i1"}:
        return f"({SCALARS[target].value}){{0}}"
    return f"limn_bits_{source}_{target}({{0}})"


def literal(value: float | int | bool, kind: str) -> str:
    """A number as C text that means exactly it; a float is the shortest decimal that rounds to it."""
    if kind == "i1":
        return "1" if value else "0"
    if kind in HALVES:
        with np.errstate(over="ignore"):
            half = np.float32(value).astype(ml_dtypes.bfloat16) if kind == "bf16" else np.float16(value)
        return f"0x{int(half.view(np.uint16)):04x}"
    if kind in INTEGERS:
        return _integer(int(value), kind)
    suffix = "f" if kind == "f32" else ""
    with np.errstate(over="ignore"):
        number = np.float32(value) if kind == "f32" else np.float64(value)
    if np.isnan(number):
        text = f'__builtin_nan{suffix}("")'
    elif np.isinf(number):
        text = f"__builtin_inf{suffix}()"
    else:
        text = f"{abs(number)!s}{suffix}"
    return f"-{text}" if np.signbit(number) else text


def _integer(value: int, kind: str) -> str:
    """A lowest integer has no literal of its own type in C."""
    bits = SCALARS[kind].size * 8
    suffix = "LL" if kind == "i64" else ""
    if value == -(2 ** (bits - 1)):
        return f"(-{2 ** (bits - 1) - 1}{suffix} - 1)"
    return f"{value}{suffix}"


# ------------------------------------------------------------------------------------------------------------- helpers


def _saturating(source: str, target: str) -> str:
    """``NaN ? 0 : too large ? highest : too small ? lowest : cut``; no branch converts a value out of range.

    Adding 0 makes 0 of the -0 that -0.5 is cut to. gcc (12 does) turns an int of a float that becomes a float again
    into the float cut to a whole number, which would be -0 where the int is 0.
    """
    bits, to, of = SCALARS[target].size * 8, SCALARS[target].value, SCALARS[source].value
    high, low = literal(2.0 ** (bits - 1), source), literal(-(2.0 ** (bits - 1)), source)
    top, bottom = _integer(2 ** (bits - 1) - 1, target), _integer(-(2 ** (bits - 1)), target)
    whole = f"__builtin_trunc{'f' if source == 'f32' else ''}(x) + {literal(0.0, source)}"
    return (
        f"static inline {to} limn_{source}_to_{target}({of} x) {{\n"
        f"  return x != x ? 0 : x >= {high} ? {top} : x <= {low} ? {bottom} : ({to})({whole});\n}}\n"
    )


def _bits(source: str, target: str) -> str:
    of, to = SCALARS[source].value, SCALARS[target].value
    return (
        f"static inline {to} limn_bits_{source}_{target}({of} x) {{\n"
        f"  const union {{ {of} from; {to} to; }} both = {{x}};\n  return both.to;\n}}\n"
    )


HELPERS: dict[str, str] = {
    "LIMN_FLOAT16": """\
/* 1: f16 is converted by the compiler, as _Float16. 0: by arithmetic on bits, which gives the same and is twice as
   fast where a compiler knows the type and does not vectorise its conversions. */
#ifndef LIMN_FLOAT16
#if !defined(__FLT16_MAX__)
#define LIMN_FLOAT16 0
#elif defined(__AVX512FP16__) || defined(__ARM_FP16_FORMAT_IEEE) || (defined(__clang__) && defined(__F16C__))
#define LIMN_FLOAT16 1
#else
#define LIMN_FLOAT16 0
#endif
#endif
""",
    "limn_floordiv": """\
static inline int64_t limn_floordiv(int64_t a, int64_t b) {
  return a / b - (a % b < 0);
}
""",
    "limn_mod": """\
static inline int64_t limn_mod(int64_t a, int64_t b) {
  return a % b + (a % b < 0 ? b : 0);
}
""",
    "limn_ceildiv": """\
static inline int64_t limn_ceildiv(int64_t a, int64_t b) {
  return a / b + (a % b > 0);
}
""",
    "limn_lesser": "static inline int64_t limn_lesser(int64_t a, int64_t b) { return a < b ? a : b; }\n",
    "limn_greater": "static inline int64_t limn_greater(int64_t a, int64_t b) { return a > b ? a : b; }\n",
    **{f"limn_{s}_to_{t}": _saturating(s, t) for s in FLOATS for t in INTEGERS},
    **{f"limn_bits_{s}_{t}": _bits(s, t) for a, b in (("f32", "i32"), ("f64", "i64")) for s, t in ((a, b), (b, a))},
    "limn_bf16_to_f32": """\
static inline float limn_bf16_to_f32(uint16_t x) {
  const union { uint32_t from; float to; } both = {(uint32_t)x << 16};
  return both.to;
}
""",
    "limn_f32_to_bf16": """\
static inline uint16_t limn_f32_to_bf16(float x) {
  const union { float from; uint32_t to; } both = {x};
  const uint32_t nearest = both.to + 0x7fff + (both.to >> 16 & 1);
  return (uint16_t)(x != x ? both.to >> 16 | 0x40 : nearest >> 16);
}
""",
    "limn_f16_to_f32": """\
static inline float limn_f16_to_f32(uint16_t x) {
#if LIMN_FLOAT16
  const union { uint16_t from; _Float16 to; } both = {x};
  return (float)both.to;
#else
  /* as if the exponent had the bias of f32, then scaled: right for subnormals too; inf and NaN are lifted apart */
  const uint32_t magnitude = (uint32_t)(x & 0x7fff) << 13, sign = (uint32_t)(x & 0x8000) << 16;
  const uint32_t quiet = (uint32_t)((x & 0x7fff) > 0x7c00) << 22;
  const union { uint32_t from; float to; } small = {magnitude}, large = {sign | magnitude | quiet | 0x7f800000};
  const union { float from; uint32_t to; } scaled = {small.to * 0x1p+112f};
  const union { uint32_t from; float to; } finite = {scaled.to | sign};
  return (x & 0x7c00) == 0x7c00 ? large.to : finite.to;
#endif
}
""",
    "limn_f32_to_f16": """\
static inline uint16_t limn_f32_to_f16(float x) {
#if LIMN_FLOAT16
  const union { _Float16 from; uint16_t to; } both = {(_Float16)x};
  return both.to;
#else
  const union { float from; uint32_t to; } both = {x};
  const uint32_t sign = both.to >> 16 & 0x8000, magnitude = both.to & 0x7fffffff;
  /* below 2**-14 the sum with 0.5 rounds to a multiple of 2**-24, the subnormals' step, in the low bits */
  const union { uint32_t from; float to; } positive = {magnitude};
  const union { float from; uint32_t to; } tiny = {positive.to + 0.5f};
  const uint32_t normal = (magnitude - 0x38000000 + 0xfff + (magnitude >> 13 & 1)) >> 13;
  const uint32_t finite = magnitude < 0x38800000 ? tiny.to - 0x3f000000 : normal;
  const uint32_t nan = 0x7e00 | (magnitude >> 13 & 0x1ff);
  const uint32_t bits = magnitude > 0x7f800000 ? nan : magnitude >= 0x477ff000 ? 0x7c00 : finite;
  return (uint16_t)(sign | bits);
#endif
}
""",
    "limn_f64_to_f16": """\
static inline uint16_t limn_f64_to_f16(double x) {
#if LIMN_FLOAT16
  const union { _Float16 from; uint16_t to; } both = {(_Float16)x};
  return both.to;
#else
  /* rounded to odd at f32's width first, so that the second rounding sees on which side of a tie x lies */
  const float near = (float)x;
  union { float from; uint32_t to; } both = {near};
  const double excess = (x < 0 ? -1.0 : 1.0) * ((double)near - x);
  if (excess > 0) both.to -= 1;
  if (excess != 0 && near - near == 0) both.to |= 1;
  return limn_f32_to_f16(both.from);
#endif
}
""",
    "limn_count_threads": """\
static inline int limn_count_threads(int64_t turns) {
  const int64_t most = limn_threads > 0 ? limn_threads : omp_get_max_threads();
  return (int)(turns < 1 ? 1 : turns < most ? turns : most);
}
""",
    "limn_bad_row": """\
static __attribute__((noinline, cold)) void limn_bad_row(
    int64_t check, int64_t position, int64_t row, int64_t bound, limn_error *error) {
#pragma omp critical(limn_bad_row)
  if (!error->failed || position < error->position || (position == error->position && check < error->check))
    *error = (limn_error){1, check, position, row, bound};
}
""",
    "limn_check_row": """\
static inline int64_t limn_check_row(
    int64_t row, int64_t bound, int64_t position, int64_t check, limn_error *error) {
  if (row >= 0 && row < bound) return row;
  limn_bad_row(check, position, row, bound, error);
  return 0;
}
""",
    "limn_allocate": """\
static inline void *limn_allocate(int64_t bytes) {
  void *memory = __builtin_malloc((uint64_t)bytes);
  if (!memory) __builtin_abort();
  return memory;
}
static inline void limn_release(void *memory) {
  __builtin_free(*(void **)memory);
}
""",
}
"""What the templates call, in an order in which each stands before its users."""

NEEDS: dict[str, tuple[str, ...]] = {
    "limn_check_row": ("limn_bad_row",),
    "limn_f16_to_f32": ("LIMN_FLOAT16",),
    "limn_f32_to_f16": ("LIMN_FLOAT16",),
    "limn_f64_to_f16": ("limn_f32_to_f16", "LIMN_FLOAT16"),
    "limn_release": ("limn_allocate",),
}
"""The helpers that a helper calls."""
