"""Functions of one element against torch and, in float32, against float64: values, gradients, second derivatives, the
places where formulas break, and what errors say. On every device."""

import numpy as np
import pytest
import torch
from against_torch import check
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, mutually_broadcastable_shapes

import limn
from limn import Tensor, grad

pytestmark = pytest.mark.usefixtures("device")

RNG = np.random.default_rng(0)
X = RNG.standard_normal((3, 4)) * 2
Y = RNG.standard_normal((3, 4))
P = np.abs(X) + 0.3
F = torch.nn.functional

SMOOTH = {
    "exp2": (lambda x: x.exp2(), torch.exp2, X),
    "expm1": (lambda x: x.expm1(), torch.expm1, X),
    "expm1 near 0": (lambda x: x.expm1(), torch.expm1, X * 1e-9),
    "log1p": (lambda x: x.log1p(), torch.log1p, P),
    "log1p near 0": (lambda x: x.log1p(), torch.log1p, X * 1e-9),
    "rsqrt": (lambda x: x.rsqrt(), torch.rsqrt, P),
    "sigmoid": (lambda x: x.sigmoid(), torch.sigmoid, X),
    "tanh": (lambda x: x.tanh(), torch.tanh, X),
    "softplus": (lambda x: x.softplus(), F.softplus, X * 9),
    "softplus of beta": (lambda x: x.softplus(2, 5.0), lambda x: F.softplus(x, 2, 5.0), X * 2),
    "erf": (lambda x: x.erf(), torch.erf, X),
    "sin": (lambda x: x.sin(), torch.sin, X * 100),
    "cos": (lambda x: x.cos(), torch.cos, X * 100),
    "abs": (lambda x: abs(x), torch.abs, X),
    "pow of a number": (lambda x: x**2.5, lambda x: x**2.5, P),
    "pow of a whole number": (lambda x: x**11, lambda x: x**11, X),
    "pow of a negative number": (lambda x: x**-3, lambda x: x**-3, X),
    "pow of -0.5": (lambda x: x**-0.5, lambda x: x**-0.5, P),
    "pow": (lambda x, y: x**y, lambda x, y: x**y, P, Y),
    "pow that broadcasts": (lambda x, y: x**y, lambda x, y: x**y, P, Y[:1]),
    "number to a power": (lambda x: 3**x + 0.5**x, lambda x: 3**x + 0.5**x, X),
    "clamp": (lambda x: x.clamp(-1, 1.5) * x, lambda x: x.clamp(-1, 1.5) * x, X),
    "clamp of min": (lambda x: x.clamp(min=0.5) * x, lambda x: x.clamp(min=0.5) * x, X),
    "clamp by tensors": (lambda x, y: x.clamp(y, max=y + 1), lambda x, y: x.clamp(y, max=y + 1), X, Y[0]),
    "masked_fill": (lambda x: x.masked_fill(X > 0, 7) ** 2, lambda x: x.masked_fill(torch.tensor(X > 0), 7) ** 2, X),
}
STEPS = {
    "floor": (lambda x: x.floor(), torch.floor, X),
    "ceil": (lambda x: x.ceil(), torch.ceil, X),
    "trunc": (lambda x: x.trunc(), torch.trunc, X),
    "round": (lambda x: x.round(), torch.round, X),
    "round to 2": (lambda x: x.round(2), lambda x: torch.round(x, decimals=2), X),
    "round to tens": (lambda x: x.round(-1), lambda x: torch.round(x, decimals=-1), X * 20),
    "sign": (lambda x: x.sign(), torch.sign, X),
}


@pytest.mark.full
def test_values_gradients_and_second_derivatives_in_float64(device):
    some = ("tanh", "erf", "sin", "log1p", "softplus", "clamp by tensors")  # the others' would be 100 kernels more
    check({**SMOOTH, **STEPS}, second=device == "numpy")
    check({name: SMOOTH[name] for name in some})


@pytest.mark.many_kernels
def test_values_and_gradients_in_float32():
    # what a step or a power does to rounded inputs is not a matter of the formula
    check({**SMOOTH, **STEPS}, np.float32, rtol=2e-5, atol=1e-6, second=False)


FORMULAS = {
    # name: (function, a float64 reference, inputs, bound in ulp)
    "exp2": (lambda x: x.exp2(), np.exp2, np.linspace(-140, 127.9, 4001), 1),
    "expm1": (lambda x: x.expm1(), np.expm1, np.linspace(-20, 80, 4001), 4),
    "expm1 near 0": (lambda x: x.expm1(), np.expm1, np.geomspace(1e-30, 1, 4001), 4),
    "log1p": (lambda x: x.log1p(), np.log1p, np.geomspace(1e-30, 1e30, 4001), 4),
    "log1p below 0": (lambda x: x.log1p(), np.log1p, -np.geomspace(1e-30, 0.999, 4001), 4),
    "sigmoid": (lambda x: x.sigmoid(), lambda x: 1 / (1 + np.exp(-x)), np.linspace(-85, 40, 4001), 4),
    "tanh": (lambda x: x.tanh(), np.tanh, np.geomspace(1e-3, 20, 100_001), 6),
    "tanh near 0": (lambda x: x.tanh(), np.tanh, np.geomspace(1e-30, 1e-3, 4001), 6),
    "softplus": (lambda x: x.softplus(), lambda x: np.log1p(np.exp(x)), np.linspace(-80, 20, 4001), 5),
    "erf": (lambda x: x.erf(), lambda x: torch.erf(torch.from_numpy(x)).numpy(), np.linspace(-5, 5, 4001), 2),
    "erf near 0": (lambda x: x.erf(), lambda x: torch.erf(torch.from_numpy(x)).numpy(), np.geomspace(1e-30, 1, 99), 2),
    "sin": (lambda x: x.sin(), np.sin, np.linspace(-1000, 1000, 4001), 1),
    "sin of much": (lambda x: x.sin(), np.sin, np.geomspace(1e3, 5e8, 4001), 1),
    "sin near multiples of pi": (lambda x: x.sin(), np.sin, np.pi * np.arange(-999, 1000), 1),
    "cos": (lambda x: x.cos(), np.cos, np.linspace(-1000, 1000, 4001), 1),
    "cos of much": (lambda x: x.cos(), np.cos, np.geomspace(1e3, 5e8, 4001), 1),
    "rsqrt": (lambda x: x.rsqrt(), lambda x: 1 / np.sqrt(x), np.geomspace(1e-30, 1e30, 4001), 2),
    "pow": (lambda x: x**3.7, lambda x: x ** np.float64(np.float32(3.7)), np.geomspace(1e-9, 1e9, 4001), 1),
    "pow near overflow": (lambda x: x**60, lambda x: x**60, np.linspace(0.3, 4, 4001), 1),
    "pow by products": (lambda x: x**8, lambda x: x**8, np.linspace(0.3, 4, 100_001), 7),
    "pow by products of 1 / x": (lambda x: x**-4, lambda x: 1 / x**4, np.linspace(0.3, 4, 100_001), 7),
}


def test_float32_stays_within_the_bounds_of_docs_numerics():
    inputs = {name: x.astype(np.float32) for name, (_, _, x, _) in FORMULAS.items()}
    results = {name: f(Tensor(inputs[name])) for name, (f, *_) in FORMULAS.items()}
    limn.realize(*results.values())
    for name, (_, reference, _, bound) in FORMULAS.items():
        want = reference(inputs[name].astype(np.float64))
        error = np.abs(results[name].numpy() - want) / np.spacing(np.abs(want.astype(np.float32)))
        assert error.max() <= bound, (name, error.max(), inputs[name][error.argmax()])


FLOAT64_BOUNDS = dict.fromkeys(("exp2", "erf", "sin", "cos", "rsqrt"), 2)
FLOAT64_BOUNDS |= dict.fromkeys(("expm1", "log1p", "sigmoid"), 3) | {"softplus": 4, "tanh": 5}
FLOAT64_BOUNDS |= {"pow": 1, "pow near overflow": 1, "pow by products": 7, "pow by products of 1 / x": 7}


@pytest.mark.many_kernels
def test_float64_stays_within_the_bounds_of_docs_numerics():
    if np.finfo(np.longdouble).nmant < 63:
        pytest.skip("numpy has no type wider than float64 here")
    results = {name: f(Tensor(x)) for name, (f, _, x, _) in FORMULAS.items()}
    limn.realize(*results.values())
    for name, (_, reference, x, _) in FORMULAS.items():
        bound = FLOAT64_BOUNDS.get(name) or FLOAT64_BOUNDS[name.split()[0]]
        if name.startswith("erf"):  # which numpy has not; torch's is good to one ulp
            want = reference(x).astype(np.longdouble)
        else:
            want = x.astype(np.longdouble) ** 3.7 if name == "pow" else reference(x.astype(np.longdouble))
        error = np.abs(results[name].numpy() - want) / np.spacing(np.abs(want.astype(np.float64)))
        assert error.max() <= bound, (name, error.max(), x[error.argmax()])


EDGES = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 2.5, -2.5, 0.5, -0.5, 1e30, -1e30])


@pytest.mark.many_kernels
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_zeros_infinities_nan_and_halves_come_out_as_torchs_with_their_signs(dtype):
    x = EDGES.astype(dtype)
    pairs = [a.reshape(-1) for a in np.meshgrid(x, x)]
    cases = {
        "floor": (Tensor.floor, torch.floor, x),
        "ceil": (Tensor.ceil, torch.ceil, x),
        "trunc": (Tensor.trunc, torch.trunc, x),
        "round": (Tensor.round, torch.round, x),
        "abs": (Tensor.abs, torch.abs, x),
        "sign": (Tensor.sign, torch.sign, x),
        "tanh": (Tensor.tanh, torch.tanh, x),
        "sigmoid": (Tensor.sigmoid, torch.sigmoid, x[:-2]),
        "erf": (Tensor.erf, torch.erf, x),
        "expm1": (Tensor.expm1, torch.expm1, x[:-2]),
        "log1p": (Tensor.log1p, torch.log1p, x),
        "exp2": (Tensor.exp2, torch.exp2, x),
        "sin": (Tensor.sin, torch.sin, x[:-2]),
        "cos": (Tensor.cos, torch.cos, x[:-2]),
        "softplus": (Tensor.softplus, F.softplus, x),
        "rsqrt": (Tensor.rsqrt, torch.rsqrt, x),
        "isnan": (Tensor.isnan, torch.isnan, x),
        "isinf": (Tensor.isinf, torch.isinf, x),
        "isfinite": (Tensor.isfinite, torch.isfinite, x),
        "logical_not": (Tensor.logical_not, torch.logical_not, x),
        "clamp": (lambda x: x.clamp(-1, 2), lambda x: x.clamp(-1, 2), x),
        "pow": (lambda x, y: x**y, lambda x, y: x**y, *pairs),
        "pow 3": (lambda x: x**3, lambda x: x**3, x),
        "pow -1": (lambda x: x**-1, lambda x: x**-1, x),
        "pow 0": (lambda x: x**0, lambda x: x**0, x),
        "pow 20": (lambda x: x**21, lambda x: x**21, x),
    }
    got = {name: f(*map(Tensor, arrays)) for name, (f, _, *arrays) in cases.items()}
    limn.realize(*got.values())
    for name, (_, torch_function, *arrays) in cases.items():
        want = torch_function(*map(torch.tensor, arrays)).numpy()
        mine = got[name].numpy()
        if want.dtype == np.bool_:
            assert np.array_equal(mine, want), name
            continue
        np.testing.assert_allclose(mine, want, rtol=4 * np.finfo(dtype).eps, atol=0, err_msg=name)
        assert np.array_equal(np.signbit(mine)[want == want], np.signbit(want)[want == want]), name


@pytest.mark.many_kernels
def test_gradients_are_finite_where_the_true_ones_are():
    ends = np.array([-1e4, -800.0, -100.0, -20.0, 0.0, 20.0, 100.0, 800.0, 1e4])
    cases = {
        "sigmoid": (Tensor.sigmoid, torch.sigmoid, ends),
        "tanh": (Tensor.tanh, torch.tanh, ends),
        "softplus": (Tensor.softplus, F.softplus, ends),
        "erf": (Tensor.erf, torch.erf, ends),
        "abs at 0": (Tensor.abs, torch.abs, ends),
        "square at 0": (lambda x: x**2.0 + x**3, lambda x: x**2.0 + x**3, np.array([0.0, -0.0, 1.0, -1.0])),
        "pow at 0": (lambda x: x**12, lambda x: x**12, np.array([0.0, 1.0, -1.0])),
        "pow by 0": (lambda x: x**0, lambda x: x**0, np.array([0.0, 1.0, -1.0])),
        "pow of tensors": (
            lambda x, y: x**y,
            lambda x, y: x**y,
            np.array([0.0, 0.0, 2.0, 1.0]),
            np.array([0.0, 2.0, 2.0, -3.0]),
        ),
        "clamp on its bounds": (lambda x: x.clamp(0, 20), lambda x: x.clamp(0, 20), ends),
        "clamp with bounds crossed": (lambda x: x.clamp(3, 1), lambda x: x.clamp(3, 1), ends),
    }
    check(cases, atol=1e-15, second=False)
    check(cases, np.float32, rtol=1e-5, atol=1e-15, second=False)


@pytest.mark.many_kernels
def test_whole_powers_are_exact():
    for dtype, limit in ((np.float32, 2**24), (np.float64, 2**53)):
        pairs = [(b, e) for b in range(1, 60) for e in range(54) if b**e <= limit]
        base, exponent = (np.array(column, dtype) for column in zip(*pairs))
        want = np.array([float(b**e) for b, e in pairs], dtype)
        got = Tensor(base) ** Tensor(exponent)
        signed = Tensor(-base) ** Tensor(exponent)
        limn.realize(got, signed)
        assert np.array_equal(got.numpy(), want)
        assert np.array_equal(signed.numpy(), np.where(exponent % 2 == 1, -want, want))


@pytest.mark.many_kernels
def test_float64_powers_keep_their_digits():
    base = RNG.uniform(0.5, 2, 500)
    exponent = RNG.uniform(-200, 200, 500)
    np.testing.assert_array_max_ulp((Tensor(base) ** Tensor(exponent)).numpy(), base**exponent, 1)
    close = 1 + RNG.uniform(-1e-9, 1e-9, 100)
    np.testing.assert_array_max_ulp((Tensor(close) ** 1e9).numpy(), close**1e9, 1)


def test_beyond_their_range_sine_and_cosine_are_nan():
    x = Tensor([2.0**29, 2.0**29 + 64, -1e30])
    assert np.isfinite(x.sin().numpy()).tolist() == [True, False, False]
    assert np.isfinite(x.cos().numpy()).tolist() == [True, False, False]


@pytest.mark.many_kernels
def test_ints_and_bools():
    i, j = np.array([-7, 0, 3, 2**31 - 1], np.int32), np.array([3, 0, 13, 2], np.int32)
    check(
        {
            "abs": (Tensor.abs, torch.abs, i),
            "sign": (Tensor.sign, torch.sign, i),
            "floor": (Tensor.floor, torch.floor, i),
            "round": (Tensor.round, torch.round, i),
            "clamp": (lambda x: x.clamp(-2, 5), lambda x: x.clamp(-2, 5), i),
            "clamp to floats": (lambda x: x.clamp(min=1.5), lambda x: x.clamp(min=1.5), i[:3]),
            "pow": (lambda x, y: x**y, lambda x, y: x**y, i, j),
            "pow of a number": (lambda x: x**3 + x**0, lambda x: x**3 + x**0, i[:3]),
            "isnan": (Tensor.isnan, torch.isnan, i),
            "isinf": (Tensor.isinf, torch.isinf, i),
            "isfinite": (Tensor.isfinite, torch.isfinite, i),
            "sigmoid": (Tensor.sigmoid, torch.sigmoid, i[:3]),
            "sin": (Tensor.sin, torch.sin, i[:3]),
            "logical_and": (lambda x, y: x.logical_and(y), torch.logical_and, i, j),
            "logical_or": (lambda x, y: x.logical_or(y), torch.logical_or, i, j),
            "logical_xor": (lambda x, y: x.logical_xor(y), torch.logical_xor, i, j),
        },
        np.float32,
        rtol=1e-6,
    )
    small = np.array([-128, 5, -1], np.int8)
    assert (Tensor(small) ** Tensor(np.array([1, 3, 7], np.int8))).numpy().tolist() == [-128, 125, -1]
    assert (Tensor([2, 1, -1, -1]) ** Tensor([-1, -5, -3, -4])).tolist() == [0, 1, -1, 1]
    assert abs(Tensor(small)).tolist() == [-128, 5, 1]


def test_logic_of_bools():
    a, b = np.array([True, True, False, False]), np.array([True, False, True, False])
    x, y = Tensor(a), Tensor(b)
    for got, want in ((x & y, a & b), (x | y, a | b), (x ^ y, a ^ b), (~x, ~a), (True ^ x, ~a), (x & True, a)):
        assert np.array_equal(got.numpy(), want)
    assert np.array_equal(x.logical_not().numpy(), ~a)


@pytest.mark.many_kernels
def test_halves_compute_in_float32_and_round_once():
    x = RNG.standard_normal(200).astype(np.float32) * 3
    for dtype in (limn.float16, limn.bfloat16):
        half = Tensor(x, dtype=dtype)
        wide = half.cast(limn.float32)
        functions = [Tensor.exp2, Tensor.tanh, Tensor.sigmoid, Tensor.erf, Tensor.sin, Tensor.expm1, Tensor.round]
        functions += [lambda t: t.abs() ** 2.3, lambda t: t.softplus(), lambda t: t.abs() ** t]
        pairs = [(f(half), f(wide).cast(dtype)) for f in functions]
        limn.realize(*(t for pair in pairs for t in pair))
        for got, want in pairs:
            assert got.dtype is dtype
            assert np.array_equal(got.numpy().astype(np.float32), want.numpy().astype(np.float32))


WRONG = {
    "no bounds": (lambda: Tensor([1.0]).clamp(), ValueError, "min and max are both None; give one"),
    "odd bounds": (lambda: Tensor([1.0]).clamp("a"), TypeError, "bounds are tensors or numbers, got min='a'"),
    "negative power of ints": (lambda: Tensor([1]) ** -1, ValueError, "exponent -1 of int32; cast to float32"),
    "power of a word": (lambda: Tensor([1.0]) ** "a", TypeError, "unsupported operand"),
    "& of ints": (lambda: Tensor([1]) & Tensor([2]), TypeError, "defined on bool only, these meet at int32"),
    "^ of floats": (lambda: Tensor([1.0]) ^ Tensor([True]), TypeError, r"\^: defined on bool only"),
    "mask": (lambda: Tensor([1.0]).masked_fill(Tensor([1]), 0), TypeError, "the mask is int32, not bool"),
    "fill": (lambda: Tensor([1.0]).masked_fill(Tensor([True]), Tensor([1.0, 2])), ValueError, r"shape \(2,\), not one"),
    "fill of too much": (lambda: Tensor([1]).masked_fill(Tensor([True]), 2**40), OverflowError, "does not fit int32"),
    "shapes": (lambda: Tensor.zeros(2, 3) ** Tensor.zeros(2), ValueError, r"pow: shapes \(2, 3\) and \(2,\)"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_call_says_what_and_how(name):
    call, kind, text = WRONG[name]
    with pytest.raises(kind, match=text):
        call()


@pytest.mark.full
@given(shape=array_shapes(min_dims=0, max_dims=4, max_side=4), seed=st.integers(0, 2**32 - 1))
@settings(max_examples=6, deadline=None)
@pytest.mark.many_kernels
def test_shapes_of_any_rank(shape, seed):
    x = np.asarray(np.random.default_rng(seed).uniform(0.3, 2, shape))
    names = ("tanh", "erf", "sin", "log1p", "sigmoid", "expm1", "softplus", "rsqrt", "exp2")
    check(
        {n: (getattr(Tensor, n), getattr(torch, n, None) or F.softplus, x) for n in names}
        | {
            "sum of steps": (
                lambda x: x.floor() + x.round() * x + x.sign(),
                lambda x: x.floor() + x.round() * x + x.sign(),
                x,
            ),
        }
    )


@pytest.mark.full
@given(shapes=mutually_broadcastable_shapes(num_shapes=2, max_dims=4, max_side=4), seed=st.integers(0, 2**32 - 1))
@settings(max_examples=6, deadline=None)
@pytest.mark.many_kernels
def test_broadcasts(shapes, seed):
    if 0 in shapes.result_shape:
        return
    rng = np.random.default_rng(seed)
    a, b = (np.asarray(rng.uniform(0.3, 2, shape)) for shape in shapes.input_shapes)
    check(
        {
            "pow": (lambda x, y: x**y, lambda x, y: x**y, a, b),
            "clamp": (lambda x, y: x.clamp(min=y), lambda x, y: x.clamp(min=y), a, b),
            "masked_fill": (
                lambda x, y: x.masked_fill(y > 1, 2) * x,
                lambda x, y: x.masked_fill(y > 1, 2) * x,
                a,
                b,
            ),
        },
        second=False,
    )


def test_a_gradient_of_zero_is_recorded_for_steps():
    x = Tensor([1.5, -2.5], requires_grad=True)
    (g,) = grad(x.floor().sum() + x.sign().sum(), x)
    assert g.tolist() == [0, 0]


def test_a_bound_that_is_nan():
    array = np.array([-1.0, 2.0, np.nan, np.inf], np.float32)
    bounds = np.array([np.nan, 0.0, 1.0, np.nan], np.float32)
    for ends in ({"min": np.nan}, {"max": np.nan}, {"min": 0.0, "max": np.nan}):
        assert np.isnan(limn.clamp(array, **ends).numpy()).all(), ends
    for name in ("min", "max"):
        want = torch.clamp(torch.tensor(array), **{name: torch.tensor(bounds)}).numpy()
        np.testing.assert_array_equal(limn.clamp(array, **{name: Tensor(bounds)}).numpy(), want)
