"""Spell exp and log of f32 and f64 as straight-line arithmetic.

A call into a math library would keep the C compiler from vectorising the loop, and its bits differ by machine and
from the interpreter's. What stands here has no branch, call or table, only ops whose result is defined to the last
bit. The price is some 50 ops of text for each exp or log.

    %y = nest.exp %x : f32
becomes
    %y_n = x / ln 2 rounded to a whole number, by adding and taking away 1.5 * 2**23
    %y_r = x - n * ln 2                                   |r| <= ln(2) / 2
    %y_p = 1 + r + r*r * polynomial(r)
    %y   = p * 2**n                                       in two steps: right for overflow and subnormals

    %y = nest.log %x : f32
becomes
    %y_e, %y_m with x = 2**e * m                          sqrt(1/2) <= m < sqrt(2), from the bits of x
    %y_f = m - 1,  %y_s = f / (f + 2)                     m = (1 + s) / (1 - s)
    %y   = e * ln 2 + (f - (f*f/2 - s * (f*f/2 + s*s * polynomial(s*s))))

The error over all finite inputs is below 0.95 ulp for exp and 0.9 for log (all f32 were tried, and 4e8 f64 each);
subnormals, overflow, inf and NaN come out right: exp(-inf) = 0, log(0) = log(-0) = -inf, log of less is NaN.

Bits: the same from interpreter and target; within 5 ulp of ``nest.exp`` and ``nest.log`` before, which the interpreter
takes from numpy. ``fma=true`` fuses the multiply-adds: other last bits, the same error, faster with the instruction
and ten times slower without.

Declines, leaving the op alone: types other than f32 and f64 (``lower`` widens halves).

Sources: reduction by ln 2 in two parts, Cody and Waite, "Software Manual for the Elementary Functions" (1980); log
by s = f / (f + 2) with f*f/2 apart, as in Sun's fdlibm (1993). The coefficients are minimax for the relative error
of the result, by Remez's exchange, rounded to the type.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects.builtin import Float32Type, Float64Type, IntegerType, ModuleOp, i32, i64
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from limn.dialects import nest


@dataclass(frozen=True)
class Format:
    """A float type and the constants of its formulas."""

    float: Attribute
    bits: IntegerType
    fraction: int  # stored bits of the fraction
    bias: int  # stored exponent of 1.0
    root: int  # the bits of sqrt(1/2)
    rounder: float  # added to a number, it leaves the nearest whole number in the low bits
    bounds: tuple[float, float]  # outside them exp is 0 or inf
    ln2: tuple[float, float]  # a head, short enough that its product with any exponent is exact, and the rest
    exp: tuple[float, ...]  # (exp(r) - 1 - r) / r**2 in powers of r
    log: tuple[float, ...]  # (log((1 + s) / (1 - s)) - 2*s) / s**3 in powers of s*s


# fmt: off
F32 = Format(
    Float32Type(), i32, fraction=23, bias=127, root=0x3F3504F3, rounder=1.5 * 2.0**23, bounds=(-104.0, 89.0),
    ln2=(0.693145751953125, 1.4286068e-06),
    exp=(0.49999994, 0.1666652, 0.041668393, 0.008368779, 0.0013814482),
    log=(0.66666776, 0.39977583, 0.2987083),
)
F64 = Format(
    Float64Type(), i64, fraction=52, bias=1023, root=0x3FE6A09E667F3BCD, rounder=1.5 * 2.0**52, bounds=(-746.0, 710.0),
    ln2=(0.6931471803691238, 1.9082149292705877e-10),
    exp=(0.5000000000000011, 0.1666666666666641, 0.04166666666652921, 0.0083333333334956,
         0.0013888888943914962, 0.0001984126950479779, 2.480149277159623e-05, 2.7557587331071315e-06,
         2.7630375216593726e-07, 2.4999963216206977e-08),
    log=(0.6666666666666734, 0.39999999999416774, 0.28571428741993404, 0.22222198608080249,
         0.18183562749199111, 0.1531408568742572, 0.14795644404882402),
)
# fmt: on
FORMATS = {form.float: form for form in (F32, F64)}


def _operator(op: type[nest.BinaryOp]) -> Callable[[Term, Term | float], Term]:
    return lambda self, other: self.put(op(self.value, self.like(other).value))


@dataclass(frozen=True)
class Term:
    """A scalar whose operators write nest ops; a number beside it is a constant of its type."""

    value: SSAValue
    builder: Builder
    fused: bool
    prefix: str

    def put(self, op: Operation) -> Term:
        return replace(self, value=self.builder.insert(op).results[0])

    def like(self, other: Term | float) -> Term:
        return other if isinstance(other, Term) else self.put(nest.ConstOp(other, self.value.type))

    def named(self, name: str) -> Term:
        self.value.name_hint = f"{self.prefix}_{name}"
        return self

    def bitcast(self, kind: Attribute) -> Term:
        return self.put(nest.BitcastOp(self.value, kind))

    def below(self, other: Term | float) -> Term:
        """Whether this term is less than another, as i1."""
        return self.put(nest.CmpLtOp(self.value, self.like(other).value))

    __add__ = _operator(nest.AddOp)
    __sub__ = _operator(nest.SubOp)
    __mul__ = _operator(nest.MulOp)
    __truediv__ = _operator(nest.DivOp)
    __and__ = _operator(nest.AndOp)
    __lshift__ = _operator(nest.ShlOp)
    __rshift__ = _operator(nest.ShrOp)


def fma(a: Term, b: Term | float, c: Term | float) -> Term:
    """a * b + c; the pass's option says whether the product is rounded."""
    if not a.fused:
        return a * b + c
    return a.put(nest.FmaOp(a.value, a.like(b).value, a.like(c).value))


def select(condition: Term, yes: Term, no: Term) -> Term:
    return yes.put(nest.SelectOp(condition.value, yes.value, no.value))


def polynomial(x: Term, coefficients: tuple[float, ...]) -> Term:
    """c[0] + x * (c[1] + x * (c[2] + ..)), Horner's scheme."""
    *lower, highest = coefficients
    total = x.like(highest)
    for coefficient in reversed(lower):
        total = fma(total, x, coefficient)
    return total


def expand_exp(x: Term, form: Format) -> Term:
    """exp(x) = p * 2**n."""
    smallest, largest = map(x.like, form.bounds)
    near = select(x.below(smallest), smallest, x)
    rounded = fma(near, math.log2(math.e), form.rounder)
    n = (rounded - form.rounder).named("n")
    head, tail = fma(n, -form.ln2[0], near), n * -form.ln2[1]  # the head is exact
    r = (head + tail).named("r")
    p = (fma(r * r, polynomial(r, form.exp), tail) + head + 1.0).named("p")
    whole = rounded.bitcast(form.bits)  # the low bits are n
    half = (whole & -2) << form.fraction - 1  # n // 2 in the place of an exponent
    rest = (whole << form.fraction) - half + (form.bias << form.fraction)  # 2**(n - n // 2)
    y = (p.bitcast(form.bits) + half).bitcast(form.float) * rest.bitcast(form.float)
    return select(x.below(largest), y, x + math.inf)  # what is above, and NaN, ends here


def expand_log(x: Term, form: Format) -> Term:
    """log(x) = e * ln 2 + log(m)."""
    one, lift = form.bias << form.fraction, form.fraction + 1
    subnormal = x.below(2.0 ** (1 - form.bias))
    normal = select(subnormal, x * 2.0**lift, x)
    zero = select(subnormal, x.like(form.rounder + form.bias + lift), x.like(form.rounder + form.bias))
    split = normal.bitcast(form.bits) + (one - form.root)  # now the exponent steps at sqrt(1/2) * 2**e
    m = ((split & (1 << form.fraction) - 1) + form.root).bitcast(form.float).named("m")
    e = (split >> form.fraction) + x.like(form.rounder).bitcast(form.bits)
    e = (e.bitcast(form.float) - zero).named("e")
    f = (m - 1.0).named("f")
    s = (f / (f + 2.0)).named("s")
    square, bend = s * s, f * 0.5 * f
    tail = fma(s, square * polynomial(square, form.log) + bend, e * form.ln2[1])
    y = fma(e, form.ln2[0], f - (bend - tail))
    outside = select(x.below(0.0), x.like(math.nan), x.like(-math.inf))
    y = select(x.like(0.0).below(x), y, outside)
    return select(x.below(math.inf), y, x)  # inf and NaN are their own logarithm


FORMULAS = {nest.ExpOp: expand_exp, nest.LogOp: expand_log}


@dataclass(frozen=True)
class ExpandMathPass(ModulePass):
    """nest -> nest. Options: ``fma``, whether multiply-adds are fused."""

    name = "expand-math"
    fma: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for call in list(op.walk()):
            if not isinstance(call, nest.ExpOp | nest.LogOp) or call.operand.type not in FORMATS:
                continue
            hint, builder = call.result.name_hint, Builder(InsertPoint.before(call))
            x = Term(call.operand, builder, self.fma, hint or call.name.removeprefix("nest."))
            y = FORMULAS[type(call)](x, FORMATS[call.operand.type])
            y.value.name_hint = hint
            call.result.replace_all_uses_with(y.value)
            Rewriter.erase_op(call)
