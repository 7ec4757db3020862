"""Kinds of fault that systems like this one have had in public, each in limn's own form, on every device.

`LIMN_CASES=path/to/oracle.py` adds a test that runs an outside list of such cases through
tests/cases_adapter.py.
"""

import importlib.util
import os

import cases_adapter
import numpy as np
import pytest

import limn
from limn import Tensor, bfloat16, float16, float32, float64, int8, int16, int32, realize

pytestmark = pytest.mark.usefixtures("device")

INF, NAN = float("inf"), float("nan")


def leaf(values):
    return Tensor(np.asarray(values, np.float32), requires_grad=True)


# ---- views


def test_a_split_and_merged_pad_keeps_its_zeros():
    x = np.arange(1, 31, dtype=np.float32).reshape(3, 2, 5)
    want = np.pad(x, ((2, 1), (0, 0), (0, 0))).reshape(2, 30)
    got = Tensor(x).pad(((2, 1), (0, 0), (0, 0))).reshape(3, 2, 2, 5).reshape(6, 10).reshape(2, 30)
    np.testing.assert_array_equal(got.numpy(), want)
    np.testing.assert_array_equal(got.sum(1).numpy(), want.sum(1))


def test_two_pads_around_a_split_permuted_dim():
    x = np.arange(1, 31, dtype=np.float32).reshape(3, 2, 5)
    want = np.pad(
        np.pad(x.transpose(1, 2, 0), ((0, 0), (2, 2), (0, 0))).reshape(2, 3, 3, 3), ((1, 0), (0, 0), (0, 0), (0, 0))
    )
    got = (
        Tensor(x)
        .permute(1, 2, 0)
        .pad(((0, 0), (2, 2), (0, 0)))
        .reshape(2, 3, 3, 3)
        .pad(((1, 0), (0, 0), (0, 0), (0, 0)))
    )
    np.testing.assert_array_equal(got.reshape(9, 9).numpy(), want.reshape(9, 9))


def test_positions_before_a_padded_start_read_nothing():
    x = np.arange(1, 11, dtype=np.float32).reshape(2, 5)
    want = np.pad(x.T.reshape(10), (3, 2)).reshape(5, 3)
    grid = Tensor(x).permute(1, 0).reshape(10).pad(((3, 2),)).reshape(5, 3)
    np.testing.assert_array_equal(grid.numpy(), want)
    window = grid[1:4].reshape(9).pad(((1, 1),))
    np.testing.assert_array_equal(window.numpy(), np.pad(want[1:4].reshape(9), 1))


# ---- fusion and assignment


@pytest.mark.parametrize("n", [4, 67])
def test_assigning_from_a_transposed_view_of_itself(n):
    a = np.arange(n * n, dtype=np.float32).reshape(n, n) % 97
    t = Tensor(a)
    realize(t.assign(t.T + t * 2))
    np.testing.assert_array_equal(t.numpy(), a.T + 2 * a)


def test_assigns_of_one_batch_read_the_values_from_before_it():
    a, b = Tensor([1.0, 2, 3]), Tensor([10.0, 20, 30])
    new_a, new_b = b + 0, a + 0
    realize(b.assign(new_b), a.assign(new_a))
    assert a.tolist() == [10, 20, 30]
    assert b.tolist() == [1, 2, 3]
    p, q, r = Tensor([1.0, 2]), Tensor([10.0, 20]), Tensor([11.0, 22])
    values = q + 1, r * 2, p - 3
    realize(*(t.assign(v) for t, v in zip((p, q, r), values)))
    assert (p.tolist(), q.tolist(), r.tolist()) == ([11, 21], [22, 44], [-2, -1])


def test_an_expression_built_after_an_assign_sees_it_and_one_built_before_does_not():
    a, b = Tensor([1.0, 2]), Tensor([10.0, 20])
    realize(a.assign(b), b.assign(a))  # the second right-hand side is built after the first assign
    assert a.tolist() == [10, 20]
    assert b.tolist() == [10, 20]


def test_a_pad_does_not_move_across_what_does_not_keep_zero():
    x = np.arange(1, 13, dtype=np.float32).reshape(3, 4) / 8
    t, around = Tensor(x), ((1, 1), (1, 1))
    close = lambda got, want: np.testing.assert_allclose(got.numpy(), want, rtol=1e-6, atol=1e-7)  # noqa: E731
    close(t.pad(around).exp(), np.exp(np.pad(x, 1)))
    close(t.exp().pad(around), np.pad(np.exp(x), 1))
    close(t.pad(around).exp() - t.exp().pad(around), np.exp(np.pad(x, 1)) - np.pad(np.exp(x), 1))
    close(t.log().pad(around), np.pad(np.log(x), 1))
    close(t.log().pad(around).sum(), np.log(x).sum())
    close((1 / t).pad(around), np.pad(1 / x, 1))
    close((t + 1).pad(around), np.pad(x + 1, 1))
    close((-t).pad(around).max(1), np.pad(-x, 1).max(1))
    close(t.pad(around).exp().sum(1), np.exp(np.pad(x, 1)).sum(1))


def test_an_expression_read_after_an_assign_has_the_value_of_its_day():
    w = Tensor([1.0, 2, 3])
    y, s = w * 10, (w * w).sum()
    w.assign(w + 1).realize()
    assert y.tolist() == [10, 20, 30]
    assert s.item() == 14
    assert w.tolist() == [2, 3, 4]


# ---- reductions


def test_max_of_rows_of_minus_infinity_and_of_negatives():
    f = np.array([[-INF, -INF, -INF], [-INF, -3.4e38, -INF], [-5, -6, -7]], np.float32)
    np.testing.assert_array_equal(Tensor(f).max(1).numpy(), f.max(1))
    assert Tensor([[-2.5]]).max(1).tolist() == [-2.5]
    rows = [-np.random.default_rng(1).permutation(np.arange(2, 39)).astype(kind) for kind in (np.int32, np.float32)]
    for row in rows:
        prefixes = [Tensor(row)[: k + 1].max() for k in range(37)]
        realize(*prefixes)
        np.testing.assert_array_equal([p.item() for p in prefixes], np.maximum.accumulate(row))


def test_min_at_the_integer_floor():
    low, high = -(2**31), 2**31 - 1
    edge = Tensor([low, low + 1, 0, high])
    assert edge.min().item() == low
    assert Tensor([low] * 5).max().item() == low
    assert edge.minimum(edge.flip(0)).tolist() == [low, low + 1, low + 1, low]
    assert edge.maximum(edge.flip(0)).tolist() == [high, 0, 0, high]


@pytest.mark.full
def test_a_float32_sum_goes_on_growing():
    ones = Tensor(np.ones(2**24 + 4096, np.float32))
    assert ones.sum().item() == 2**24 + 4096
    assert ones.mean().item() == 1
    tenth = Tensor(np.full(10_000_000, 0.1, np.float32))
    assert tenth.sum().item() == pytest.approx(1e6, rel=1e-4)
    assert tenth.mean().item() == pytest.approx(0.1, rel=1e-4)


@pytest.mark.parametrize("dtype", [int8, int16, int32, float32], ids=str)
def test_max_of_negatives_at_every_length_and_min_at_the_floor(dtype):
    row = -np.random.default_rng(1).permutation(np.arange(2, 39)).astype(dtype.numpy)
    prefixes = [Tensor(row)[: k + 1].max() for k in range(37)]
    low, high = (dtype.min, dtype.max) if dtype.kind == "int" else (-INF, INF)
    edge = Tensor(np.array([low, low + 1, 0, high], dtype.numpy))
    floor, least, lesser = Tensor(np.full(5, low, dtype.numpy)).max(), edge.min(), edge.minimum(edge.flip(0))
    realize(*prefixes, floor, least, lesser)
    np.testing.assert_array_equal([p.item() for p in prefixes], np.maximum.accumulate(row))
    assert floor.item() == least.item() == low
    assert lesser.tolist() == np.minimum(edge.numpy(), edge.numpy()[::-1]).tolist()


# ---- dtypes


def test_halves_total_in_float32_and_round_once():
    ones = np.ones(4096, np.float32)
    made = {
        "sum": Tensor(ones).cast(float16).sum(),
        "mean": Tensor(ones).cast(float16).mean(),
        "sum of halves": Tensor(np.full(10_000, 0.5, np.float32)).cast(bfloat16).sum(),
        "mean of large": Tensor(np.full(100, 1000, np.float32)).cast(float16).mean(),
        "dot": Tensor(ones[None]).cast(bfloat16) @ Tensor(ones[:, None]).cast(bfloat16),
        "softmax": Tensor.zeros(512, dtype=bfloat16).softmax()[3],
        "columns": Tensor(np.ones((4096, 3), np.float32)).cast(float16).sum(0)[1],
    }
    realize(*made.values())
    # 5000 lies between 4992 and 5024, the bfloat16 around it
    want = {"sum": 4096, "mean": 1, "sum of halves": 4992, "mean of large": 1000, "dot": 4096, "columns": 4096}
    assert {name: float(tensor.numpy().reshape(())) for name, tensor in made.items()} == want | {"softmax": 1 / 512}
    assert [tensor.dtype for tensor in made.values()] == [
        float16,
        float16,
        bfloat16,
        float16,
        bfloat16,
        bfloat16,
        float16,
    ]


def test_ints_wrap_inside_fused_expressions():
    a, b = Tensor(np.int8([100, -128, 127, 64, -1])), Tensor(np.int8([100, -1, 1, 64, 1]))
    p, q = Tensor(np.int16([300, -300, 200, 256])), Tensor(np.int16([300, 300, 200, 128]))
    m = Tensor(np.int32([2**31 - 1, 0, -(2**31)]))
    s = a + b
    made = [
        (s < 0, [True, False, True, True, False]),
        (s.cast(int32), [-56, 127, -128, -128, 0]),
        ((p * q) > 0, [True, False, False, False]),
        ((p * q).cast(float32), [24464, -24464, -25536, -32768]),
        (-a, [-100, -128, -127, -64, 1]),
        ((s < 0).where(s, 0), [-56, 0, -128, -128, 0]),
        (s, [-56, 127, -128, -128, 0]),
        ((m + 1) > m, [False, True, True]),
        (-m, [-(2**31) + 1, 0, -(2**31)]),
        (m + m, [-2, 0, 0]),
        (s.max(), 127),
    ]
    realize(*(tensor for tensor, _ in made))
    for tensor, want in made:
        assert tensor.tolist() == want


def test_numbers_beside_tensors_keep_or_lift_their_dtype():
    i8, i32, f32 = Tensor(np.int8([1, 2])), Tensor(np.int32([1, 2])), Tensor(np.float32([1, 2]))
    f16, bf16 = f32.cast(float16), f32.cast(bfloat16)
    made = [
        (i8 + 1, int8, [2, 3]),
        (i8 + 1.5, float32, [2.5, 3.5]),
        (f16 * 3.3, float16, [float(np.float16(3.3)), float(np.float16(6.6))]),
        (f16 + 1, float16, [2, 3]),
        (bf16 * 0.5, bfloat16, [0.5, 1]),
        (f32 + 2**63, float32, [2.0**63, 2.0**63]),
        (10 - i8, int8, [9, 8]),
        (i32 / i32, float32, [1, 1]),
        (1 / i32, float32, [1, 0.5]),
        (i32.mean(), float32, 1.5),
        (i32 + True, int32, [2, 3]),
    ]
    realize(*(tensor for tensor, _, _ in made))
    for tensor, dtype, want in made:
        assert (tensor.dtype, tensor.tolist()) == (dtype, want)
    for tensor, number in ((i8, 200), (i32, 2**40)):
        with pytest.raises(OverflowError, match=f"{number} does not fit {tensor.dtype.name}"):
            tensor + number


def test_infinities_and_nan_as_constants_of_every_float():
    made, want = [], []
    for dtype in (float16, bfloat16, float32, float64):
        x = Tensor([1.0, -1, 0, 2]).cast(dtype)
        made += [
            (x > 0).where(x, NAN),
            (x > 0).where(Tensor.full((), INF, dtype), -INF),
            x + INF,
            x * -INF,
            x.minimum(INF),
        ]
        want += [[1, NAN, NAN, 2], [INF, -INF, -INF, INF], [INF] * 4, [-INF, INF, NAN, -INF], [1, -1, 0, 2]]
        assert all(tensor.dtype is dtype for tensor in made[-5:])
    realize(*made)
    for tensor, values in zip(made, want):
        np.testing.assert_array_equal(tensor.numpy().astype(np.float64), values)


# ---- numerics


def test_where_selects_gradients_instead_of_multiplying():
    a, b = leaf([1, 2, 3, 4]), leaf([5, 6, 7, 8])
    (Tensor([True, False, False, True]).where(a, b) * Tensor([INF, 2.0, NAN, 3.0])).sum().backward()
    np.testing.assert_array_equal(a.grad.numpy(), np.float32([INF, 0, 0, 3]))
    np.testing.assert_array_equal(b.grad.numpy(), np.float32([0, 2, NAN, 0]))
    x = leaf([-1, 0, 4, 9])
    (x > 0).where((x > 0).where(x, 1.0).sqrt(), 0.0).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), [0, 0, 0.25, 1 / 6], rtol=1e-6)


def test_comparisons_selections_and_relu_with_nan():
    a = np.array([NAN, 1, NAN, 2, -0.0, INF, -INF, INF, 3, NAN], np.float32)
    b = np.array([NAN, NAN, 1, 2, 0.0, INF, -INF, -INF, 2, -INF], np.float32)
    s, t = Tensor(a), Tensor(b)
    made = [
        ("<", s < t, a < b),
        (">", s > t, a > b),
        ("<=", s <= t, a <= b),
        (">=", s >= t, a >= b),
        ("==", s == t, a == b),
        ("!=", s != t, a != b),
        ("!= itself", s != s, a != a),
        ("maximum", s.maximum(t), np.maximum(a, b)),
        ("minimum", s.minimum(t), np.minimum(a, b)),
        ("relu", s.relu(), np.where(a < 0, 0, a)),
        ("isnan", s.isnan(), np.isnan(a)),
    ]
    realize(*(tensor for _, tensor, _ in made))
    for name, got, want in made:
        np.testing.assert_array_equal(got.numpy(), want, err_msg=name)


# ---- rows


@pytest.fixture
def table():
    store = np.full((15, 3), 777, np.float32)
    store[5:10] = np.arange(15).reshape(5, 3)
    return Tensor(store)[5:10]


def test_rows_count_from_the_end_with_negative_numbers(table):
    want = np.arange(15, dtype=np.float32).reshape(5, 3)
    np.testing.assert_array_equal(table[Tensor([4, 0, 2])].numpy(), want[[4, 0, 2]])
    np.testing.assert_array_equal(table[Tensor([-1, -5])].numpy(), want[[-1, -5]])


@pytest.mark.parametrize("bad", [5, -6, 2**31 - 1, -(2**31)])
def test_a_row_outside_the_table_is_an_error_that_names_it(table, bad):
    with pytest.raises(IndexError, match=f"{bad}.*"):
        table[Tensor([0, bad])].numpy()


@pytest.mark.parametrize("bad", [-1, 5])
def test_gather_rows_counts_from_zero_only(table, bad):
    with pytest.raises(IndexError, match=f"{bad}.*"):
        table.gather_rows([0, bad]).numpy()


def test_repeated_rows_add_up_in_the_gradient_every_time():
    rng = np.random.default_rng(3)
    rows, weights = rng.integers(0, 6, 20000).astype(np.int32), rng.integers(-3, 4, (20000, 3)).astype(np.float32)
    want = np.zeros((7, 3), np.float32)
    np.add.at(want, rows, weights)
    for _ in range(5):
        t = leaf(np.ones((7, 3)))
        (t[Tensor(rows)] * Tensor(weights)).sum().backward()
        np.testing.assert_array_equal(t.grad.numpy(), want)


# ---- gradients


def test_a_reused_node_is_counted_once_for_each_use():
    a = Tensor(1.0, requires_grad=True)
    b = a + a
    (b + b).backward()
    assert a.grad.item() == 4
    x = Tensor([2, 3], dtype=float64, requires_grad=True)
    u = x * x
    ((u * x + u) * u).sum().backward()
    assert x.grad.tolist() == [5 * 16 + 4 * 8, 5 * 81 + 4 * 27]


def test_backward_again_adds_as_torch_does():
    x = leaf([1, 2, 3])
    loss = (x * x).sum()
    for times in (1, 2):
        loss.backward()
        assert x.grad.tolist() == [2 * times, 4 * times, 6 * times]
    x.grad = None
    loss.backward()
    assert x.grad.tolist() == [2, 4, 6]
    q = leaf([1, 2, 3])
    u = q * q
    u.sum().backward()
    (u * u).sum().backward()
    assert q.grad.tolist() == [6, 36, 114]


def test_broadcasts_and_reduces_of_several_axes_have_gradients_of_their_own_shapes():
    rng = np.random.default_rng(5)
    shapes = {"a": (3, 1), "b": (1, 4), "c": (), "d": (4,), "e": (1, 1, 1)}
    t = {k: leaf(rng.integers(-4, 5, s)) for k, s in shapes.items()}
    v = {k: x.numpy() for k, x in t.items()}
    ((t["a"] * t["b"] + t["c"]) * t["d"] * t["e"]).sum().backward()
    z, e = v["a"] * v["b"] + v["c"], v["e"].item()
    want = {
        "a": (v["b"] * v["d"] * e).sum(1, keepdims=True) * np.ones((3, 1)),
        "b": (v["a"] * v["d"] * e).sum(0, keepdims=True),
        "c": v["d"].sum() * 3 * e,
        "d": (z * e).sum(0),
        "e": (z * v["d"]).sum().reshape(1, 1, 1),
    }
    for k, x in t.items():
        assert x.grad.shape == shapes[k]
        np.testing.assert_array_equal(x.grad.numpy(), want[k])


def test_infinities_and_nan_as_constants():
    x = Tensor([1.0, -1, 0, 2])
    np.testing.assert_array_equal((x > 0).where(x, NAN).numpy(), np.float32([1, NAN, NAN, 2]))
    np.testing.assert_array_equal((x > 0).where(INF, -INF).numpy(), np.float32([INF, -INF, -INF, INF]))
    np.testing.assert_array_equal((x + INF).numpy(), np.float32([INF] * 4))
    np.testing.assert_array_equal((x * -INF).numpy(), np.float32([-INF, INF, NAN, -INF]))
    np.testing.assert_array_equal(x.minimum(INF).numpy(), x.numpy())


if path := os.environ.get("LIMN_CASES"):
    spec = importlib.util.spec_from_file_location("cases_oracle", path)
    assert spec is not None
    assert spec.loader is not None
    oracle = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(oracle)

    @pytest.mark.parametrize("case_id", [c for c in oracle.CASES if c in cases_adapter.CASES])
    def test_outside_case(case_id, device):
        try:
            got = cases_adapter.run(case_id, oracle.CASES[case_id][0])
        except NotImplementedError as reason:
            pytest.skip(f"{limn.get_device().name}: {reason}")
        verdicts = oracle.check(case_id, got)
        assert not {key: verdict for key, verdict in verdicts.items() if verdict != "ok"}
