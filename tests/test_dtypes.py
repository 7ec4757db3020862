"""Every element type as users see it, on every device: arithmetic, casts, folds, promotion, numbers, gradients, state.

Expected values come from numpy at the width of computation: float32, rounded once, for halves.
"""

from __future__ import annotations

import itertools
import operator

import numpy as np
import pytest

from limn import Tensor, bfloat16, float16, float32, float64, grad, int8, int16, int32, no_grad, realize
from limn import bool_ as boolean
from limn import trace as t
from limn.dtypes import ALL, promote
from limn.interpreters import scalar

pytestmark = pytest.mark.usefixtures("device")

FLOATS, HALVES, INTS = (float64, float32, float16, bfloat16), (float16, bfloat16), (int32, int16, int8)
INF, NAN = float("inf"), float("nan")


def each(*dtypes, quick=(float16,)):
    """A test for each dtype; on devices that compile, most of them are of the full tier."""
    marks = {d: () if d in quick else pytest.mark.many_kernels for d in dtypes}
    return pytest.mark.parametrize("dtype", [pytest.param(d, marks=m, id=d.name) for d, m in marks.items()])


def numbers(dtype) -> np.ndarray:
    """Edges of a dtype and numbers between them."""
    if dtype is boolean:
        return np.array([True, False])
    if dtype.kind == "int":
        return np.array([0, 1, -1, 2, 7, -8, 100, 127, -128, dtype.max, dtype.min, dtype.max - 1, 16], dtype.numpy)
    edges = [0.0, -0.0, 1, -1, 0.1, -2.5, 3, 255, 2049, 1e-3, -7e-6, 4.1e4, INF, -INF, NAN, dtype.max, dtype.min]
    edges = np.array([*edges, dtype.tiny, -dtype.tiny])
    return (edges.astype(np.float32) if dtype.is_half else edges).astype(dtype.numpy)


def pairs(dtype) -> tuple[np.ndarray, np.ndarray]:
    a, b = np.meshgrid(numbers(dtype), numbers(dtype))
    return a.reshape(-1).copy(), b.reshape(-1).copy()


def wide(a: np.ndarray, dtype) -> np.ndarray:
    return a.astype(np.float32) if dtype.is_half else a


def same(got: np.ndarray, want: np.ndarray, what: object) -> None:
    """Equal dtypes, values, zeros with their signs, and NaN where NaN is."""
    assert got.dtype == want.dtype, (what, got.dtype, want.dtype)
    a, b = (x if x.dtype.kind in "ib" else x.astype(np.float64) for x in (got, want))
    bad = ~((a == b) | ((a != a) & (b != b)))
    assert not bad.any(), (what, got[bad][:4], want[bad][:4])
    if a.dtype.kind == "f":
        assert np.array_equal(np.signbit(a[a == 0]), np.signbit(b[b == 0])), (what, "zeros")


def check(made: dict, wanted: dict) -> None:
    """Realize all at once, since each graph is compiled, and compare."""
    realize(*made.values())
    assert made.keys() == wanted.keys()
    for name, tensor in made.items():
        same(tensor.numpy(), np.asarray(wanted[name]), name)


# ---- elementwise


@each(*FLOATS, *INTS)
def test_arithmetic_and_choices_are_numpys_rounded_once(dtype):
    a, b = pairs(dtype)
    x, y, half = Tensor(a), Tensor(b), dtype.numpy
    with np.errstate(all="ignore"):
        p, q = wide(a, dtype), wide(b, dtype)
        want = {
            "neg": (-p).astype(half),
            "add": (p + q).astype(half),
            "sub": (p - q).astype(half),
            "mul": (p * q).astype(half),
            "maximum": np.maximum(p, q).astype(half),
            "minimum": np.minimum(p, q).astype(half),
            "where": np.where(p < q, p, q).astype(half),
            "relu": np.where(p > 0, p, np.where(p != p, p, 0)).astype(half),
            "lt": p < q,
            "gt": p > q,
            "le": p <= q,
            "ge": p >= q,
            "eq": p == q,
            "ne": p != q,
        }
        quotient = (p / q if dtype.is_float else p.astype(np.float32) / q.astype(np.float32)).astype(
            half if dtype.is_float else np.float32
        )
    made = {
        "neg": -x,
        "add": x + y,
        "sub": x - y,
        "mul": x * y,
        "maximum": x.maximum(y),
        "minimum": x.minimum(y),
        "where": (x < y).where(x, y),
        "relu": x.relu(),
        "lt": x < y,
        "gt": x > y,
        "le": x <= y,
        "ge": x >= y,
        "eq": x == y,
        "ne": x != y,
    }
    made["div"], want["div"] = x / y, quotient
    if dtype.is_float:
        with np.errstate(all="ignore"):
            made["sqrt"], want["sqrt"] = x.sqrt(), np.sqrt(p).astype(half)
            made["reciprocal"], want["reciprocal"] = x.reciprocal(), (1 / p).astype(half)
        for name in ("maximum", "minimum", "relu"):  # which of two zeros is the larger is left open
            made[name], want[name] = made[name] + 0.0, (want[name].astype(p.dtype) + 0).astype(half)
    check(made, want)


@each(*HALVES)
def test_exp_and_log_of_every_half_are_rounded_once(dtype):
    """Within one rounding: devices differ in the last bits of float32, which may fall on a boundary."""
    a = np.arange(2**16, dtype=np.uint16).view(dtype.numpy)
    exp, log = Tensor(a).exp(), Tensor(a).log()
    realize(exp, log)
    step = 2.0 ** -(10 if dtype is float16 else 7)
    with np.errstate(all="ignore"):
        for got, function in ((exp, np.exp), (log, np.log)):
            exact = function(a.astype(np.float64))
            near = exact.astype(np.float32).astype(dtype.numpy).astype(np.float64)
            got = got.numpy().astype(np.float64)
            off = (got != near) & ~((got != got) & (near != near))
            assert off.mean() < 1e-3
            assert np.all(np.abs(got - exact)[off] <= 0.51 * np.maximum(np.abs(exact[off]) * step, 2 * dtype.tiny))


def test_bool_is_counted_and_compared_but_not_added_as_bool():
    a, b = pairs(boolean)
    x, y = Tensor(a), Tensor(b)
    made = {"add": x + y, "mul": x * y, "neg": -x, "lt": x < y, "eq": x == y, "and": x & y, "or": x | y, "not": ~x}
    i, j = a.astype(np.int32), b.astype(np.int32)
    want = {"add": i + j, "mul": i * j, "neg": -i, "lt": i < j, "eq": a == b, "and": a & b, "or": a | b, "not": ~a}
    check(made | {"div": x / (y + 1)}, want | {"div": i.astype(np.float32) / (j + 1).astype(np.float32)})


# ---- casts


def test_casts_between_all_dtypes():
    """As one scalar at a time, by the definitions that the nest interpreter is held to."""
    made, want = {}, {}
    for source, target in itertools.product(ALL, ALL):
        a = numbers(source)
        made[source, target] = Tensor(a).cast(target)
        with np.errstate(all="ignore"):
            one_by_one = [scalar.cast(value, target.numpy.type) for value in a]
        want[source, target] = np.array(one_by_one, target.numpy)
    check(made, want)


def test_floats_to_ints_cut_saturate_and_nan_is_zero_and_ints_wrap():
    x = Tensor([2.9, -2.9, 300.0, -300.0, 1e30, -1e30, INF, -INF, NAN])
    big = 2**31 - 1
    made = {"i8": x.cast(int8), "i32": x.cast(int32), "wrap": Tensor([300, -129, 2**31 - 1]).cast(int8)}
    want = {
        "i8": np.int8([2, -2, 127, -128, 127, -128, 127, -128, 0]),
        "i32": np.int32([2, -2, 300, -300, big, -big - 1, big, -big - 1, 0]),
        "wrap": np.int8([44, 127, -1]),
    }
    check(made, want)


# ---- folds


@each(*ALL)
def test_sums_maxima_and_means(dtype):
    """Of whole numbers, exactly; long enough that narrow totals would stick or wrap."""
    rng = np.random.default_rng(1)
    a = rng.integers(0, 2, (3, 5000)) if dtype is boolean else rng.integers(-3, 5, (3, 5000))
    a = a.astype(np.float32).astype(dtype.numpy)
    x, whole = Tensor(a), a.astype(np.float64)
    result = np.int32 if dtype in (boolean, int8, int16) else dtype.numpy
    floating = dtype.numpy if dtype.is_float else np.float32
    made = {"sum": x.sum(1), "all": x.sum(), "first": x.sum(0), "max": x.max(1), "min": x.min(), "mean": x.mean(1)}
    rounded = (lambda v: v.astype(np.float32).astype(result)) if dtype.is_half else (lambda v: v.astype(result))
    mean = (whole.sum(1).astype(np.float32) / np.float32(5000)) if dtype is not float64 else whole.sum(1) / 5000
    want = {
        "sum": rounded(whole.sum(1)),
        "all": rounded(whole.sum()),
        "first": rounded(whole.sum(0)),
        "max": whole.max(1).astype(np.float32).astype(dtype.numpy),
        "min": whole.min().astype(np.float32).astype(dtype.numpy),
        "mean": mean.astype(floating),
    }
    check(made, want)


@each(*FLOATS, *INTS, quick=(int8,))
def test_comparisons_are_counted_beyond_what_the_dtype_holds(dtype):
    a = np.zeros(70_000, np.float32).astype(dtype.numpy)
    b = np.ones(70_000, np.float32).astype(dtype.numpy)
    below, equal = Tensor(a) < Tensor(b), Tensor(a) == 0
    made = {"below": below.sum(), "equal": equal.sum(), "none": (Tensor(a) > Tensor(b)).sum(), "mean": below.mean()}
    check(made, {"below": np.int32(70_000), "equal": np.int32(70_000), "none": np.int32(0), "mean": np.float32(1)})


def test_sums_of_ints_wrap_at_32_bits():
    a = Tensor(np.full(3, 2**30, np.int32))
    assert a.sum().item() == 3 * 2**30 - 2**32
    assert Tensor(np.full(300, 127, np.int8)).sum().item() == 300 * 127


@each(*FLOATS)
def test_products_softmax_and_means_compute_wide_and_round_at_the_end(dtype):
    rng = np.random.default_rng(2)
    a, b = (rng.normal(size=s).astype(np.float32).astype(dtype.numpy) for s in ((17, 300), (300, 9)))
    x, y, p, q = Tensor(a), Tensor(b), a.astype(np.float64), b.astype(np.float64)
    made = {"matmul": x @ y, "softmax": x.softmax(1), "log_softmax": x.log_softmax(1), "mean": x.mean(1)}
    shifted = p - p.max(1, keepdims=True)
    log_softmax = shifted - np.log(np.exp(shifted).sum(1, keepdims=True))
    want = {"matmul": p @ q, "softmax": np.exp(log_softmax), "log_softmax": log_softmax, "mean": p.mean(1)}
    scale = {"matmul": np.abs(p) @ np.abs(q), "mean": np.abs(p).mean(1)}
    realize(*made.values())
    wide_error = 1e-14 if dtype is float64 else 1e-6
    rounding = {float16: 2.0**-11, bfloat16: 2.0**-8}.get(dtype, 0)
    for name, tensor in made.items():
        got, exact = tensor.numpy(), want[name]
        assert got.dtype == dtype.numpy
        bound = 2 * wide_error * scale.get(name, np.abs(exact) + 1) + rounding * np.abs(exact) + dtype.tiny
        assert np.all(np.abs(got.astype(np.float64) - exact) <= bound), name


def test_narrow_products_are_counted_in_int32():
    a = np.full((2, 300), 100, np.int8)
    product = Tensor(a) @ Tensor(a.T.copy())
    assert product.dtype is int32
    assert product.tolist() == [[300 * 10_000] * 2] * 2


# ---- fused and unfused


@each(*HALVES, int8, int16, quick=(float16, int8))
def test_a_fused_expression_has_the_bits_of_one_kernel_for_each_step(dtype):
    """`contiguous` stores each step, so the second form rounds, or wraps, in memory. (In float32 the compiled devices
    form fused multiply-adds, which a stored product takes no part in.)"""
    rng = np.random.default_rng(4)
    spread = 100 if dtype.kind == "int" else 3
    a, b = (rng.normal(0, spread, (33, 65)).astype(np.float32) for _ in range(2))
    a, b = (np.trunc(v).astype(np.int32) if dtype.kind == "int" else v for v in (a, b))
    x, y = Tensor(a.astype(dtype.numpy)), Tensor(b.astype(dtype.numpy))

    def expression(step):
        s = step(x + y)
        m = step(s * y)
        n = step(m - x)
        w = step((n < m).where(n, step(-s)))
        if dtype.is_float:
            w = step(step(w.exp()) / step(step(w * w) + 1.5))
        top = step(w.max(1, keepdim=True))
        return [w, step(w - top), step(step(w + m).sum(0)), step(n.maximum(m)), (m + s) < n]

    one, many = expression(lambda v: v), expression(lambda v: v.contiguous())
    realize(*one, *many)
    for fused, unfused in zip(one, many):
        same(fused.numpy(), unfused.numpy(), fused.shape)


def test_narrow_ints_wrap_before_they_are_compared_or_widened():
    a, b = Tensor(np.int8([100, -128, 127, 64])), Tensor(np.int8([100, -1, 1, 64]))
    c = Tensor(np.int16([300, -300, 200]))
    made = {
        "negative": (a + b) < 0,
        "int32": (a + b).cast(int32),
        "max": (a + b).max(),
        "product": (c * c).cast(float32),
        "largest": (-Tensor(np.int8([-128]))) < 0,
    }
    want = {
        "negative": np.array([True, False, True, True]),
        "int32": np.int32([-56, 127, -128, -128]),
        "max": np.int8(127),
        "product": np.float32([24464, 24464, -25536]),
        "largest": np.array([True]),
    }
    check(made, want)


# ---- Python numbers and promotion


@pytest.mark.many_kernels
def test_where_two_dtypes_meet():
    """Of one kind at the wider, float16 with bfloat16 at float32, int with float at float32 or wider, bool at all."""
    for a, b in itertools.product(ALL, ALL):
        if a is b:
            want = a
        elif boolean in (a, b):
            want = b if a is boolean else a
        elif a.is_float != b.is_float or {a, b} == {float16, bfloat16}:
            want = float64 if float64 in (a, b) else float32
        else:
            want = max(a, b, key=lambda d: d.itemsize)
        assert promote(a, b) is want
    made, want = {}, {}
    for a, b in itertools.product(ALL, ALL):
        meet = promote(a, b)
        x, y = np.array([1, 0, 1]).astype(a.numpy), np.array([1, 1, 0]).astype(b.numpy)
        made[a, b] = Tensor(x) * Tensor(y)
        want[a, b] = np.array([1, 0, 0]).astype((int32 if meet is boolean else meet).numpy)
    check(made, want)


def test_a_number_takes_the_dtype_of_the_tensor_beside_it():
    made, want = {}, {}
    for dtype in ALL:
        x, kind = Tensor(np.array([1, 2]).astype(dtype.numpy)), dtype.numpy
        ones = np.array([1, 2]).astype(kind).astype(np.float32)
        ints = kind if dtype is not boolean else np.int32
        floating = kind if dtype.is_float else np.float32
        for name, function in (("add", operator.add), ("sub", operator.sub), ("mul", operator.mul)):
            made[dtype, name, 3], want[dtype, name, 3] = function(x, 3), function(ones, np.float32(3)).astype(ints)
            made[dtype, name, "left"], want[dtype, name, "left"] = (
                function(3, x),
                function(np.float32(3), ones).astype(ints),
            )
            made[dtype, name, 1.5] = function(x, 1.5)
            want[dtype, name, 1.5] = function(ones, np.float32(1.5)).astype(floating)
        made[dtype, "div"], want[dtype, "div"] = x / 2, (ones / np.float32(2)).astype(floating)
        made[dtype, "true"], want[dtype, "true"] = x + True, (ones + 1).astype(ints)
        made[dtype, "numpy"] = x * np.float64(0.5)
        want[dtype, "numpy"] = (ones * np.float32(0.5)).astype(floating)
    check(made, want)


def test_a_float_beside_a_half_is_rounded_to_it_first():
    x = Tensor(np.float16([3, 7]))
    got = (x * 3.3).numpy()
    same(got, (np.float32([3, 7]) * np.float32(np.float16(3.3))).astype(np.float16), "3.3")
    assert (x + 1e6).tolist() == [INF, INF]
    for step in (0.1, 0.2, 0.3):  # from the second on an argument of the plan, rounded alike
        same((x + step).numpy(), (np.float32([3, 7]) + np.float32(np.float16(step))).astype(np.float16), step)


def test_a_float_beside_bfloat16_is_rounded_as_a_cast_rounds_it():
    """By way of float32, as a constant of the plan and, from the second value on, as its argument."""
    zero, near_tie = Tensor.zeros(1, dtype=bfloat16), 1 + 2**-8 + 2**-40
    for number in (near_tie, near_tie + 2**-45, near_tie + 2**-44):
        made = [zero + number, Tensor.full((1,), number, bfloat16), Tensor([number], dtype=bfloat16)]
        made.append(Tensor(np.array([number])).cast(bfloat16))
        assert [tensor.tolist() for tensor in made] == [[1.0]] * 4


@pytest.mark.parametrize(
    ("dtype", "number"), [(int8, 128), (int8, -129), (int16, 40_000), (int32, 2**31), (int32, 2**40), (int32, -(2**63))]
)
def test_an_int_that_does_not_fit_is_refused(dtype, number):
    x = Tensor([1, 2], dtype=dtype)
    for function in (operator.add, operator.lt, operator.eq, operator.mul):
        with pytest.raises(OverflowError, match=f"{number} does not fit {dtype.name}, which holds {dtype.min} to"):
            function(x, number)
    with pytest.raises(OverflowError, match=f"{number} does not fit {dtype.name}"):
        Tensor.full((2,), number, dtype)
    with pytest.raises(OverflowError, match=f"do not fit {dtype.name}"):
        Tensor([number], dtype=dtype)
    with pytest.raises(OverflowError, match=f"{number} does not fit {dtype.name}"):
        x.assign(number)


def test_a_float_dtype_takes_any_int_that_a_float_holds():
    assert (Tensor([1.0]) + 2**63).tolist() == [2.0**63]
    with pytest.raises(OverflowError, match="an int of 401 digits does not fit float32"):
        Tensor([1.0]) + 10**400


# ---- creation, rows, state


@pytest.mark.parametrize("dtype", ALL, ids=str)
def test_creation(dtype):
    a = np.array([[0, 1], [1, 0]]).astype(dtype.numpy)
    made = {
        "array": Tensor(a),
        "lists": Tensor([[0, 1], [1, 0]], dtype=dtype),
        "zeros": Tensor.zeros(2, 3, dtype=dtype),
        "ones": Tensor.ones(3, dtype=dtype),
        "full": Tensor.full((2,), 1, dtype),
        "name": Tensor([1.0], dtype=dtype.name.rstrip("_")),
        "numpy": Tensor([1.0], dtype=dtype.numpy),
    }
    want = {"array": a, "lists": a, "zeros": np.zeros((2, 3)), "ones": np.ones(3), "full": np.ones(2)}
    want |= {"name": np.ones(1), "numpy": np.ones(1)}
    check(made, {name: value.astype(dtype.numpy) for name, value in want.items()})


def test_rows_are_gathered_scattered_and_assigned_at_each_dtype():
    rng = np.random.default_rng(6)
    made, want, held = {}, {}, {}
    for dtype in ALL:
        table = rng.integers(0, 2 if dtype is boolean else 9, (7, 3)).astype(np.float32).astype(dtype.numpy)
        rows = np.int32([6, 0, -1, 3, 3])
        x = Tensor(table)
        made[dtype, "rows"], want[dtype, "rows"] = x[Tensor(rows)], table[rows]
        made[dtype, "slice"], want[dtype, "slice"] = x[::-2, 1:], table[::-2, 1:]
        made[dtype, "pad"], want[dtype, "pad"] = x.pad(((1, 0), (0, 2))), np.pad(table, ((1, 0), (0, 2)))
        if dtype is not boolean:
            total = np.zeros((7, 3), np.float64)
            np.add.at(total, rows, table[rows].astype(np.float64))
            scattered = t.scatter(Tensor(table[rows])._node, Tensor(rows % 7)._node, 7)
            made[dtype, "scatter"] = Tensor._of(scattered)
            want[dtype, "scatter"] = total.astype(np.float32).astype(dtype.numpy)
        held[dtype] = Tensor(table)
        made[dtype, "assign"] = held[dtype].assign(held[dtype][::-1])
        want[dtype, "assign"] = table[::-1]
    check(made, want)
    for dtype, tensor in held.items():
        same(tensor.numpy(), want[dtype, "assign"], dtype)


@pytest.mark.parametrize("dtype", INTS, ids=str)
def test_row_numbers_may_be_of_any_int(dtype):
    assert Tensor([10.0, 20, 30])[Tensor([-1, 0], dtype=dtype)].tolist() == [30, 10]


# ---- gradients


def test_casts_between_floats_carry_gradients_of_the_sources_dtype():
    made, want = {}, {}
    for source, target in itertools.product(FLOATS, FLOATS):
        x = Tensor(np.array([1.5, -2]).astype(source.numpy), requires_grad=True)
        y = x.cast(target) * x.cast(target)
        assert y.dtype is target
        assert y.requires_grad
        y.sum().backward()
        made[source, target], want[source, target] = x.grad, np.array([3, -4]).astype(source.numpy)
    check(made, want)


def test_casts_through_ints_carry_none():
    x = Tensor([1.5], requires_grad=True)
    assert not x.cast(int32).requires_grad
    assert not x.cast(boolean).cast(float32).requires_grad


def mixed_loss(x: Tensor, w: Tensor, b: Tensor) -> Tensor:
    h = (x @ w + b).relu()
    rows = x.max(1) + x[Tensor([0, 1, 1])].sum()
    return (h.log_softmax(1) * h.softmax(1)).mean() + rows.mean() + (x * x).sqrt().mean()


@each(*FLOATS, quick=())
def test_gradients_have_the_dtype_of_what_they_belong_to(dtype):
    rng = np.random.default_rng(8)
    arrays = [rng.normal(size=s).astype(np.float32).astype(dtype.numpy) for s in ((5, 7), (7, 4), (4,))]
    x, w, b = (Tensor(a, requires_grad=True) for a in arrays)
    h = (x @ w + b).relu()
    loss = (
        (h.log_softmax(1) * h.softmax(1)).mean()
        + (x.max(1) + x[Tensor([0, 1, 1])].sum()).mean()
        + (x * x).sqrt().mean()
    )
    assert loss.dtype is dtype
    loss.backward()
    found = [v.grad for v in (x, w, b)]
    realize(loss, *found)
    assert all(g.dtype is dtype and g.numpy().dtype == dtype.numpy for g in found)
    x, w, b = (Tensor(a.astype(np.float64), requires_grad=True) for a in arrays)
    h = (x @ w + b).relu()
    loss = (
        (h.log_softmax(1) * h.softmax(1)).mean()
        + (x.max(1) + x[Tensor([0, 1, 1])].sum()).mean()
        + (x * x).sqrt().mean()
    )
    loss.backward()
    with_bound = {float64: 1e-12, float32: 1e-5, float16: 2e-2, bfloat16: 2e-1}[dtype]
    for got, v in zip(found, (x, w, b)):
        np.testing.assert_allclose(got.numpy().astype(np.float64), v.grad.numpy(), atol=with_bound, rtol=0)


@each(*HALVES, quick=())
def test_many_ties_of_a_maximum_share_its_gradient(dtype):
    """4,100 ties count as themselves, and 70,000, which is more than float16 holds, do not count as infinity."""
    for ties in (4100, 70_000):
        x = Tensor(np.ones(ties, dtype.numpy), requires_grad=True)
        (x.max() * 1000).backward()
        want = np.float32(1000 / ties).astype(dtype.numpy)
        assert np.all(x.grad.numpy() == want)


@each(*HALVES)
def test_a_float32_master_weight_trains_with_narrow_activations(dtype):
    """Weights, gradients and updates are float32; what is computed from the cast weights is narrow."""
    rng = np.random.default_rng(9)
    x = rng.normal(size=(32, 8)).astype(np.float32)
    target = Tensor(np.sin(x.sum(1, keepdims=True)).astype(np.float32))
    shapes = ((8, 16), (16,), (16, 1), (1,))
    weights = [Tensor(rng.normal(0, 0.4, s).astype(np.float32), requires_grad=True) for s in shapes]
    inputs, losses = Tensor(x).cast(dtype), []
    for _ in range(40):
        w1, b1, w2, b2 = (w.cast(dtype) for w in weights)
        out = (inputs @ w1 + b1).relu() @ w2 + b2
        assert out.dtype is dtype
        error = out.cast(float32) - target
        loss = (error * error).mean()
        for w in weights:
            w.grad = None
        loss.backward()
        assert all(w.grad.dtype is float32 for w in weights)
        with no_grad():
            updates = [w.assign(w - w.grad * 0.05) for w in weights]
        realize(loss, *updates)
        losses.append(loss.item())
    assert all(w.dtype is float32 and w.requires_grad for w in weights)
    assert losses[-1] < 0.5 * losses[0]
    # steps smaller than the halves' spacing have added up
    assert all(np.any(w.numpy() != w.numpy().astype(dtype.numpy).astype(np.float32)) for w in weights)


def test_gradients_and_state_of_float64_stay_float64():
    w = Tensor(np.array([1.0, 1e-12]), requires_grad=True)
    (g,) = grad((w * w * 0.5).sum(), w)
    assert g.dtype is float64
    (w * w * 0.5).sum().backward()
    with no_grad():
        w.assign(w - w.grad * 1e-9).realize()
    assert w.dtype is float64
    assert w.grad.dtype is float64
    assert w.numpy()[0] == 1 - 1e-9


@pytest.mark.parametrize("name", ["float64", "float32", "float16", "bfloat16", "int32", "int16", "int8"])
def test_a_negative_number_is_taken_off(name):
    """-(-1) in C, where two signs side by side would be a decrement."""
    x = Tensor(np.array([1, 2, -3])).cast(name).realize()
    assert (x - -1).tolist() == [2, 3, -2]
    assert (-1 - x).tolist() == [-2, -3, 2]
    assert (-Tensor.full((2,), -2, dtype=name) + x[:2]).tolist() == [3, 4]
