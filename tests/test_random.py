"""Random numbers: the same on every device, drawn by data, distributed as they should be.

The oracle of the generator is a plain numpy rendering of its rounds on unsigned words. Statistics are held to six
standard deviations, or to a chance of about one in a million, with fixed seeds: they do not flicker.
"""

import math
from importlib import import_module

import numpy as np
import pytest

import limn
from limn import Tensor, bfloat16, float16, float32, float64, int8, int16, int32
from limn import random as limn_random
from limn.dialects.graph import ConstOp, ViewOp
from limn.importer import build, record
from limn.random import KEY_WORDS, Key, words
from limn.realize import realize_nodes

realize_module = import_module("limn.realize")  # `limn.realize` is the function
devices = pytest.mark.usefixtures("device")


@pytest.fixture(autouse=True)
def _seeded():
    before = limn.get_rng_state()
    limn.set_seed(20240229)
    yield
    limn.set_rng_state(before)


def drawn(shape):
    """Both words of one draw, as uint32 arrays."""
    nodes = words(shape)
    realize_nodes(nodes)
    return [n.realized.array.reshape(shape).view(np.uint32).copy() for n in nodes]


def rounds(key, numbers):
    """The network on unsigned words."""
    key = key.view(np.uint32)
    left, right = np.broadcast_to(key[1], numbers.shape), numbers + key[0]
    for odd in key[2:]:
        product = right * (right + right + odd)
        top = np.trunc(product.view(np.int32).astype(np.float32) * np.float32(2**-15)).astype(np.int32)
        left, right = right, left + product + top.view(np.uint32)
    return right, left


def on_each_device(make):
    """What `make` gives from the same state on numpy and on c."""
    before, found = limn.get_device().name, []
    for name in ("numpy", "c"):
        limn.set_seed(11)
        try:
            limn.set_device(name)
        except RuntimeError:
            pytest.skip("no C compiler here")
        found.append(make().numpy())
    limn.set_device(before)
    return found


# ---- the words


@devices
@pytest.mark.parametrize("shape", [(), (1,), (7,), (3, 5), (2, 1, 3, 4)])
def test_words_are_those_of_the_plain_rendering(shape):
    limn.set_seed(-5)
    found = drawn(shape)
    numbers = np.arange(math.prod(shape), dtype=np.uint32)
    for word, expected in zip(found, rounds(Key(2**64 - 5, 0).array, numbers)):
        np.testing.assert_array_equal(word, expected.reshape(shape))


def test_elements_are_numbered_modulo_2_to_32_beyond_tables():
    table = limn_random._table(5, 2**31 + 3)
    assert table.array.tolist() == [0, -(2**31) + 3, 6, -(2**31) + 9, 12]
    long = limn_random._table(70_000, 1)
    assert limn_random._table(70_000, 1) is long
    assert limn_random._table(9, 4) is limn_random._table(9, 4)


SAME = {
    "rand": lambda: Tensor.rand(37, 11),
    "rand float64": lambda: Tensor.rand(400, dtype=float64),
    "rand float16": lambda: Tensor.rand(400, dtype=float16),
    "rand bfloat16": lambda: Tensor.rand(400, dtype=bfloat16),
    "uniform": lambda: Tensor.uniform(37, 11, low=-0.1, high=3.7),
    "uniform float16": lambda: Tensor.uniform(400, low=-0.1, high=3.7, dtype=float16),
    "uniform wide": lambda: Tensor.uniform(400, low=-1e30, high=1e-3),
    "randint": lambda: Tensor.randint(-5, 1000, (400,)),
    "randint all": lambda: Tensor.randint(-(2**31), 2**31, (400,)),
    "bernoulli": lambda: Tensor.full((400,), 0.3).bernoulli(),
    "dropout": lambda: Tensor(np.arange(400, dtype=np.float32)).dropout(0.4),
}


RARE = {"rand float16", "rand bfloat16", "uniform float16", "uniform wide", "randint all"}


@pytest.mark.parametrize("name", [pytest.param(n, marks=[pytest.mark.full] if n in RARE else []) for n in SAME])
def test_devices_agree_in_every_bit(name):
    one, other = on_each_device(SAME[name])
    assert one.tobytes() == other.tobytes()


def test_devices_agree_on_normal_numbers_within_their_logarithms():
    one, other = on_each_device(lambda: Tensor.randn(5000))
    np.testing.assert_allclose(one, other, rtol=3e-7, atol=1e-7)


# ---- draws are data


@devices
def test_nothing_computes_when_a_tensor_is_drawn(monkeypatch):
    monkeypatch.setattr(realize_module, "_plan", lambda found: pytest.fail("something ran"))
    made = [
        Tensor.rand(3),
        Tensor.randn(3),
        Tensor.randint(9, (3,)),
        Tensor.ones(3).dropout(),
        Tensor.ones(3).bernoulli(),
    ]
    assert all("not computed yet" in repr(m) for m in made)


@devices
def test_a_thousand_realizes_of_one_plan_give_a_thousand_masks(monkeypatch):
    device, compiled = limn.get_device(), []
    compile_module = type(device).compile
    monkeypatch.setattr(type(device), "compile", lambda self, m: compiled.append(1) or compile_module(self, m))
    monkeypatch.setattr(realize_module, "_plans", type(realize_module._plans)())
    x = Tensor(np.ones((8, 32), np.float32))
    masks = {(x.dropout(0.5) * 1.0).numpy().tobytes() for _ in range(1000)}
    assert len(masks) == 1000
    assert len(compiled) == 1


@devices
def test_equal_expressions_in_one_graph_differ():
    x = Tensor(np.ones(200, np.float32))
    a, b = x.dropout(0.5), x.dropout(0.5)
    both = (a * 2 + b).numpy()
    assert set(both) == {0, 2, 4, 6}
    limn.realize(a, b)
    np.testing.assert_array_equal(a.numpy() * 2 + b.numpy(), both)


@devices
@pytest.mark.parametrize("together", [True, False])
def test_a_backward_uses_the_mask_of_its_forward(together):
    x = Tensor(np.linspace(1, 2, 300, dtype=np.float32), requires_grad=True)
    y = x.dropout(0.3)
    (y * y).sum().backward()
    if together:
        limn.realize(y, x.grad)
    kept = y.numpy() != 0
    assert 0 < kept.sum() < 300
    expected = np.where(kept, 2 * y.numpy() / np.float32(0.7), 0)
    np.testing.assert_allclose(x.grad.numpy(), expected, rtol=1e-6)


@devices
def test_second_derivatives_use_it_too():
    x = Tensor(np.linspace(1, 2, 100, dtype=np.float64), requires_grad=True)
    y = x.dropout(0.5)
    (first,) = limn.grad((y * y * y).sum(), x, create_graph=True)
    (second,) = limn.grad(first.sum(), x)
    np.testing.assert_allclose(second.numpy(), 6 * y.numpy() * 4, rtol=1e-12)


@devices
def test_a_random_tensor_keeps_its_numbers():
    r = Tensor.rand(50)
    twice, once = (r + r).numpy(), r.numpy()
    np.testing.assert_array_equal(twice, once * 2)
    w = Tensor.randn(50, requires_grad=True)
    (w * w).sum().backward()
    np.testing.assert_array_equal(w.grad.numpy(), 2 * w.numpy())


@devices
def test_a_seed_starts_anew_and_a_state_goes_on():
    limn.set_seed(3)
    first, second = Tensor.rand(20).numpy(), Tensor.rand(20).numpy()
    limn.set_seed(3)
    np.testing.assert_array_equal(Tensor.rand(20).numpy(), first)
    state = limn.get_rng_state()
    assert (state.dtype, state.shape) == (np.int32, (4,))
    np.testing.assert_array_equal(Tensor.rand(20).numpy(), second)
    limn.set_rng_state(Tensor(state))  # as a checkpoint gives it back
    np.testing.assert_array_equal(Tensor.rand(20).numpy(), second)
    assert limn.get_rng_state().tolist() == [3, 0, 2, 0]


def test_draws_of_several_threads_are_numbered_apart():
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(4) as pool:
        keys = list(pool.map(lambda _: Key.fresh().draw, range(400)))
    assert sorted(keys) == list(range(400))


def test_dropout_is_one_kernel_and_costs_50_ops_an_element():
    x = Tensor(np.ones((64, 100), np.float32))
    y = (x + 1).dropout(0.5) * 3
    assert limn.ir(y, stage="schedule").count("schedule.kernel") == 1
    module = build(record([x.dropout(0.5)._node]))
    main = next(iter(module.body.block.ops))
    ops = [op for op in main.body.block.ops if not isinstance(op, ViewOp | ConstOp)]
    assert len(ops) - 1 <= 50  # func.return is no arithmetic
    sizes = [math.prod(a.type.get_shape()) for a in main.body.block.args]
    assert sorted(sizes)[:-1] == [KEY_WORDS, 64, 100]  # what is read beside x


def test_no_mask_is_stored_for_the_backward():
    x = Tensor(np.ones((64, 100), np.float32), requires_grad=True)
    w = Tensor(np.ones((100, 100), np.float32), requires_grad=True)
    loss = ((x @ w).dropout(0.3) @ w).sum()
    loss.backward()
    schedule = limn.ir(loss, x.grad, w.grad, stage="schedule")
    stored = [line for line in schedule.splitlines() if "schedule.launch" in line or "schedule.yield" in line]
    assert not any("xi1>" in line for line in stored)
    assert schedule.count("tensor<7xi32>, %") >= 2  # the key goes to a kernel of the forward and one of the backward


# ---- distributions


def chi_square(counts):
    """How many standard deviations the statistic lies off, for counts that should be equal."""
    expected = counts.sum() / counts.size
    freedom = counts.size - 1
    return (((counts - expected) ** 2 / expected).sum() - freedom) / math.sqrt(2 * freedom)


def distance(sample, cdf):
    """Kolmogorov's distance times the root of the count; over 2.7 is one chance in a million."""
    x = np.sort(sample.astype(np.float64))
    below = np.arange(x.size) / x.size
    return np.abs(cdf(x) - below - 0.5 / x.size).max() * math.sqrt(x.size)


def normal_cdf(x):
    return np.array([0.5 * math.erfc(-v / math.sqrt(2)) for v in x])


@devices
@pytest.mark.many_kernels
@pytest.mark.parametrize("dtype", [float64, float32, float16, bfloat16])
def test_rand_is_uniform_in_every_dtype(dtype):
    u = Tensor.rand(200, 500, dtype=dtype).numpy().astype(np.float64)
    assert u.min() >= 0
    assert u.max() < 1
    bits = {float64: 53, float32: 24, float16: 11, bfloat16: 8}[dtype]
    assert (u * 2.0**bits % 1 == 0).all()
    assert abs(chi_square(np.bincount((u * 128).astype(int).reshape(-1), minlength=128))) < 6
    if dtype in (float64, float32):
        assert distance(u.reshape(-1), lambda x: x) < 2.7


@devices
@pytest.mark.many_kernels
def test_randn_is_normal():
    z = Tensor.randn(200, 500).numpy()
    assert distance(z.reshape(-1)[:50_000], normal_cdf) < 2.7
    assert abs(z.mean()) < 6 / math.sqrt(z.size)
    assert abs(z.std() - 1) < 6 / math.sqrt(2 * z.size)
    assert abs((z.astype(np.float64) ** 4).mean() - 3) < 6 * math.sqrt(96 / z.size)
    halves = Tensor.randn(100, dtype=float16)
    assert halves.dtype is float16


@devices
@pytest.mark.many_kernels
@pytest.mark.parametrize(("dtype", "bound"), [(float32, 1e-6), (float64, 1e-14)])
def test_randn_is_the_transform_of_its_words(dtype, bound):
    state = limn.get_rng_state()
    z = Tensor.randn(20_000, dtype=dtype).numpy()
    limn.set_rng_state(state)
    word, other = (w.view(np.int32).astype(np.float64) for w in drawn((20_000,)))
    radius = np.where(word < 0, -1 - word, word) + 0.5
    exact = np.sqrt(-2 * np.log(radius * 2.0**-31 * (1 - 2.0**-24))) * np.sin(np.pi * 2.0**-32 * other)
    assert np.abs(z - exact).max() < bound * 6.7


@devices
@pytest.mark.many_kernels
def test_uniform_keeps_its_bounds():
    u = Tensor.uniform(100_000, low=-2, high=3).numpy()
    assert distance((u + 2) / 5, lambda x: x) < 2.7
    for low, high in [(1.0, 1.0 + 2**-23), (-(2.0**-149), 0.0), (16777215.0, 16777216.0)]:
        u = Tensor.uniform(2000, low=low, high=high).numpy()
        assert low <= u.min()
        assert u.max() < high
    u = Tensor.uniform(5000, low=0.5, high=1, dtype=bfloat16).numpy().astype(np.float32)
    assert u.max() < 1


@devices
@pytest.mark.many_kernels
def test_randint_takes_each_int_equally_often():
    n = Tensor.randint(-3, 7, (100, 1000))
    assert n.dtype is int32
    assert abs(chi_square(np.bincount(n.numpy().reshape(-1) + 3, minlength=10))) < 6
    assert set(Tensor.randint(3, (100,)).numpy()) == {0, 1, 2}
    assert Tensor.randint(5, 6, (3,)).tolist() == [5, 5, 5]
    narrow = Tensor.randint(-128, 128, (20_000,), dtype=int8)
    assert narrow.dtype is int8
    assert abs(chi_square(np.bincount(narrow.numpy().astype(int) + 128, minlength=256))) < 6
    for low, high in [(-(2**31), 2**31), (-(2**31), 2**31 - 5), (-5, 2**31)]:
        whole = (Tensor.randint(low, high, (20_000,)).numpy().astype(np.float64) - low) / (high - low)
        assert distance(whole, lambda x: x) < 2.7
    assert Tensor.zeros(4, dtype=int16).randint_like(9).dtype is int16


@devices
@pytest.mark.many_kernels
def test_bernoulli_and_dropout_hit_as_often_as_asked():
    for p in (0.1, 0.5, 0.93):
        ones = Tensor.full((100_000,), p).bernoulli().numpy()
        kept = Tensor.ones(100_000).dropout(p).numpy() != 0
        sigma = math.sqrt(p * (1 - p) / 100_000)
        assert abs(ones.mean() - p) < 6 * sigma
        assert abs(1 - kept.mean() - p) < 6 * sigma
        assert set(ones) == {0, 1}
    assert Tensor([0.0, 1.0, -1.0, 2.0]).bernoulli().tolist() == [0, 1, 0, 1]
    assert Tensor.zeros(3, dtype=int32).bernoulli(1.0).tolist() == [1, 1, 1]


@devices
@pytest.mark.many_kernels
def test_dropout_at_its_ends():
    x = Tensor([1.0, float("nan"), float("inf")], requires_grad=True)
    assert x.dropout(0) is x
    assert x.dropout(0.5, training=False) is x
    y = x.dropout(1.0)
    y.sum().backward()
    assert y.tolist() == [0, 0, 0]
    assert x.grad.tolist() == [0, 0, 0]
    half = Tensor(np.ones(64, np.float32)).cast(float16).dropout(0.25)
    assert half.dtype is float16
    assert set(half.numpy().astype(np.float32)) == {0, np.float32(np.float16(4 / 3))}


@devices
@pytest.mark.many_kernels
def test_like_makers_take_shape_and_dtype():
    x = Tensor.zeros(3, 4, dtype=float64)
    assert [(m.shape, m.dtype) for m in (x.rand_like(), x.randn_like(dtype=float32))] == [
        ((3, 4), float64),
        ((3, 4), float32),
    ]
    assert x.rand_like(requires_grad=True).requires_grad


@devices
@pytest.mark.many_kernels
def test_multinomial_draws_by_weight():
    weights = np.array([1.0, 2, 0, 5], np.float32)
    many = Tensor(weights).multinomial(20_000, replacement=True)
    assert many.dtype is int32
    share = np.bincount(many.numpy(), minlength=4) / 20_000
    assert np.abs(share - weights / 8).max() < 6 * math.sqrt(0.25 / 20_000)
    once = Tensor(np.tile(weights, (20_000, 1))).multinomial(3).numpy()
    assert (np.sort(once, 1) == [0, 1, 3]).all()
    # first position by weight, second by what is left: P(0 then 1) = 1/8 * 2/7
    pairs = ((once[:, 0] == 0) & (once[:, 1] == 1)).mean()
    assert abs(pairs - 2 / 56) < 6 * math.sqrt(2 / 56 / 20_000)
    shuffled = Tensor.ones(300).multinomial(300).numpy()
    assert (np.sort(shuffled) == np.arange(300)).all()


# ---- quality


def lagged(a, b):
    """The largest deviation, in standard deviations, of how often bit p of `a` equals bit q of `b`."""
    count = len(a) // 8 * 8
    packed = [[np.packbits((x[:count] >> np.uint32(bit)).astype(np.uint8) & 1) for bit in range(32)] for x in (a, b)]
    ones = np.array([bin(n).count("1") for n in range(256)], np.uint8)
    differ = np.array([[ones[p ^ q].sum(dtype=np.int64) for q in packed[1]] for p in packed[0]])
    return np.abs(differ - count / 2).max() / (math.sqrt(count) / 2)


def check_words(word):
    bits = np.array([(word >> np.uint32(bit) & 1).sum(dtype=np.int64) for bit in range(32)])
    assert np.abs(bits - word.size / 2).max() / (math.sqrt(word.size) / 2) < 6
    for shift in (0, 8, 16, 24):
        byte = (word >> np.uint32(shift)).astype(np.uint8)
        assert abs(chi_square(np.bincount(byte, minlength=256))) < 6
        pairs = byte[:-1].astype(np.int64) * 256 + byte[1:]
        assert abs(chi_square(np.bincount(pairs[::2], minlength=65536))) < 6


@pytest.mark.parametrize("lag", [1, 2, 64, 1000])
def test_neighbouring_elements_have_nothing_in_common(lag):
    word, other = drawn((60_000,))
    assert lagged(word[:-lag], word[lag:]) < 6
    assert lagged(word, other) < 6


def test_neighbouring_draws_and_seeds_have_nothing_in_common():
    first = drawn((60_000,))[0]
    assert lagged(first, drawn((60_000,))[0]) < 6
    limn.set_seed(20240230)
    assert lagged(first, drawn((60_000,))[0]) < 6


def test_words_pass_the_tests_on_a_small_sample():
    check_words(drawn((300_000,))[0])


@pytest.mark.full
@pytest.mark.parametrize("which", [0, 1])
def test_ten_million_words(which):
    word = drawn((2500, 4000))[which].reshape(-1)
    check_words(word)
    high = np.bincount(word >> np.uint32(12), minlength=1 << 20)
    assert abs(chi_square(high)) < 6
    assert abs(chi_square(np.bincount(word & np.uint32(0xFFFFF), minlength=1 << 20))) < 6
    centred = word.astype(np.float64) / 2**32 - 0.5
    for lag in (1, 2, 3, 4, 7, 16, 100, 4000, 65536):
        correlation = (centred[:-lag] * centred[lag:]).mean() * 12
        assert abs(correlation) < 6 / math.sqrt(word.size - lag)
    for lag in (1, 4000):
        assert lagged(word[:-lag], word[lag:]) < 6
    # birthdays: random words repeat as often as chance has it, a permutation of 32 bits would never
    repeats = word.size - np.unique(word).size
    expected = word.size**2 / 2 / 2**32
    assert abs(repeats - expected) < 6 * math.sqrt(expected)


@pytest.mark.full
def test_ten_million_normal_numbers():
    z = Tensor.randn(2500, 4000).numpy().reshape(-1).astype(np.float64)
    edges = np.linspace(-4, 4, 65)
    inside = np.histogram(z, edges)[0]
    chance = np.diff(normal_cdf(edges))
    assert (np.abs(inside - z.size * chance) < 6 * np.sqrt(z.size * chance)).all()
    assert abs((np.abs(z) > 5).sum() - z.size * 5.733e-7) < 6 * math.sqrt(z.size * 5.733e-7)
    assert abs((z[:-1] * z[1:]).mean()) < 6 / math.sqrt(z.size)


@pytest.mark.full
def test_a_thousand_draws_and_seeds_at_one_element():
    """The first words of 4,000 successive draws, and of 4,000 successive seeds, are as random as those of one draw."""
    draws = np.array([rounds(Key(1, n).array, np.arange(4, dtype=np.uint32))[0] for n in range(4000)])
    seeds = np.array([rounds(Key(n, 1).array, np.arange(4, dtype=np.uint32))[0] for n in range(4000)])
    for found in (draws, seeds):
        for column in found.T:
            assert abs(chi_square(np.bincount(column >> np.uint32(26), minlength=64))) < 6
            assert lagged(column[:-1], column[1:]) < 6


# ---- mistakes


WRONG = {
    "seed": (lambda: limn.set_seed("a"), TypeError, "a seed is an int, got 'a'; pass one"),
    "state": (lambda: limn.set_rng_state([1, 2]), ValueError, r"4 ints of 32 bits, got \[1, 2\]; pass what"),
    "rand ints": (lambda: Tensor.rand(3, dtype=int32), TypeError, "got dtype int32; use randint"),
    "rand shape": (lambda: Tensor.rand(-1), ValueError, r"rand: a shape is positive ints, got \(-1,\)"),
    "uniform bounds": (lambda: Tensor.uniform(3, low=2, high=1), ValueError, "got low=2.0, high=1.0"),
    "randint bounds": (lambda: Tensor.randint(3, 3, (1,)), ValueError, "3 <= x < 3; low must be below high"),
    "randint size": (lambda: Tensor.randint(3), TypeError, r"write randint\(low, high, size\)"),
    "randint floats": (lambda: Tensor.randint(0.5, 3, (1,)), TypeError, "got 0.5; use uniform"),
    "randint range": (lambda: Tensor.randint(0, 200, (1,), dtype=int8), OverflowError, "199 does not fit int8"),
    "dropout p": (lambda: Tensor.ones(3).dropout(1.5), ValueError, "p lies in 0 to 1, got 1.5"),
    "dropout ints": (lambda: Tensor([1]).dropout(0.5), TypeError, "which are int32; cast to float32"),
    "bernoulli ints": (lambda: Tensor([1]).bernoulli(), TypeError, "this tensor is int32; pass p, or cast"),
    "bernoulli p": (lambda: Tensor([1]).bernoulli(-0.5), ValueError, "p lies in 0 to 1, got -0.5"),
    "multinomial many": (lambda: Tensor.ones(3).multinomial(4), ValueError, "4 samples of 3 positions; pass replac"),
    "multinomial none": (lambda: Tensor.ones(3).multinomial(0), ValueError, "positive int, got 0"),
    "multinomial ints": (lambda: Tensor([1]).multinomial(1), TypeError, "this tensor is int32; cast"),
    "multinomial shape": (lambda: Tensor.ones(1, 1, 1).multinomial(1), ValueError, r"got \(1, 1, 1\); reshape"),
    "too many": (lambda: Tensor.rand(2**16, 2**16), ValueError, r"\(65536, 65536\) has 2\*\*32 elements"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_call_says_what_and_how(name):
    call, kind, text = WRONG[name]
    with pytest.raises(kind, match=text):
        call()


def test_only_ratios_of_weights_count():
    """Weights beside the ends of their dtype, and beyond float32."""
    for array in (np.array([1e38, 2e38, 0.0], np.float32), np.array([1e-300, 2e-300, 0.0])):
        counts = np.bincount(Tensor(array).multinomial(30_000, replacement=True).numpy(), minlength=3)
        assert counts[2] == 0
        assert abs(counts[0] - 10_000) < 500, counts
    first = Tensor(np.array([[1e-300, 0.0], [0.0, 3e300]])).multinomial(1).tolist()
    assert first == [[0], [1]]


@pytest.mark.filterwarnings("error")
def test_a_span_that_the_dtype_does_not_reach():
    with pytest.raises(ValueError, match="is further than float32 reaches; draw from half of it and double the result"):
        Tensor.uniform(3, low=-3e38, high=3e38)
