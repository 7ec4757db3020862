"""Folds, order and products with sums: against torch, on every device, and what errors say."""

import itertools

import numpy as np
import pytest
import torch
from against_torch import check
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes

import limn
from limn import Tensor

pytestmark = pytest.mark.usefixtures("device")

RNG = np.random.default_rng(0)
X = RNG.standard_normal((2, 3, 4))
LONG = RNG.standard_normal((2, 75))
N = RNG.integers(-5, 5, (3, 7)).astype(np.int32)
B = X > 0.3
INF = float("inf")

SMOOTH = {
    "amax": (lambda x: x.amax(1), lambda x: x.amax(1), X),
    "amin": (lambda x: x.amin((0, 2), keepdim=True), lambda x: x.amin((0, 2), keepdim=True), X),
    "min of all": (lambda x: x.min(), lambda x: x.min(), X),
    "var": (lambda x: x.var(), lambda x: x.var(), X),
    "var of dims": (lambda x: x.var((0, -1)), lambda x: x.var((0, -1)), X),
    "var without correction": (lambda x: x.var(1, correction=0), lambda x: x.var(1, correction=0), X),
    "std": (lambda x: x.std(-1, keepdim=True), lambda x: x.std(-1, keepdim=True), X),
    "prod": (lambda x: x.prod(1), lambda x: x.prod(1), X),
    "prod of all": (lambda x: x.prod(), lambda x: x.prod(), X),
    "prod of many": (lambda x: x.prod(-1, keepdim=True), lambda x: x.prod(-1, keepdim=True), LONG),
    "norm": (lambda x: x.norm(), lambda x: x.norm(), X),
    "norm of dims": (lambda x: x.norm(2, (0, 1)), lambda x: x.norm(2, (0, 1)), X),
    "norm of 1": (lambda x: x.norm(1, -1), lambda x: x.norm(1, -1), X),
    "norm of 3": (lambda x: x.norm(3, 0, keepdim=True), lambda x: x.norm(3, 0, keepdim=True), X),
    "norm of 0.5": (lambda x: x.norm(0.5, 0), lambda x: x.norm(0.5, 0), X),
    "norm of inf": (lambda x: x.norm(INF, 1), lambda x: x.norm(INF, 1), X),
    "norm of -inf": (lambda x: x.norm(-INF, 1), lambda x: x.norm(-INF, 1), X),
    "logsumexp": (lambda x: x.logsumexp(1), lambda x: x.logsumexp(1), X * 5),
    "logsumexp of dims": (lambda x: x.logsumexp((0, 2), keepdim=True), lambda x: x.logsumexp((0, 2), keepdim=True), X),
    "cumsum": (lambda x: x.cumsum(1) ** 2, lambda x: x.cumsum(1) ** 2, X),
    "cumsum of many": (lambda x: x.cumsum(-1) ** 2, lambda x: x.cumsum(-1) ** 2, LONG),
    "cumsum across": (lambda x: x.cumsum(0), lambda x: x.cumsum(0), LONG.T),
    "max_with_indices": (lambda x: x.max_with_indices(1), lambda x: tuple(x.max(1)), X),
    "min_with_indices": (lambda x: x.min_with_indices(-1, True), lambda x: tuple(x.min(-1, True)), X),
    "sort": (lambda x: x.sort(1), lambda x: tuple(x.sort(dim=1, stable=True)), X),
    "sort down": (lambda x: x.sort(-1, True), lambda x: tuple(x.sort(dim=-1, descending=True, stable=True)), X),
    "topk": (lambda x: x.topk(2), lambda x: tuple(x.topk(2)), X),
    "topk of the smallest": (lambda x: x.topk(2, 1, False), lambda x: tuple(x.topk(2, 1, False)), X),
    "outer": (lambda x, y: x.outer(y), lambda x, y: x.outer(y), X[0, 0], LONG[0, :5]),
    "dot": (lambda x, y: x.dot(y), lambda x, y: x.dot(y), LONG[0], LONG[1]),
    "mm": (lambda x: x.mm(x.T), lambda x: x.mm(x.T), X[0]),
    "bmm": (lambda x: x.bmm(x.mT), lambda x: x.bmm(x.mT), X),
    "tensordot": (lambda x: x.tensordot(x.permute(1, 2, 0)), lambda x: torch.tensordot(x, x.permute(1, 2, 0)), X),
    "tensordot of dims": (
        lambda x: x.tensordot(x, ([0, 2], [0, -1])),
        lambda x: torch.tensordot(x, x, ([0, 2], [0, -1])),
        X,
    ),
}
EXACT = {
    "any": (lambda b: b.any(), lambda b: b.any(), B),
    "any of dims": (lambda b: b.any(-1), lambda b: b.any(-1), B),
    "all": (lambda b: b.all(1, keepdim=True), lambda b: b.all(1, keepdim=True), B),
    "any of ints": (lambda i: i.any(0), lambda i: i.any(0), N),
    "all of ints": (lambda i: i.all(1), lambda i: i.all(1), N),
    "argmax": (lambda x: x.argmax(), lambda x: x.argmax(), X),
    "argmax of a dim": (lambda x: x.argmax(1), lambda x: x.argmax(1), X),
    "argmin": (lambda x: x.argmin(-1, keepdim=True), lambda x: x.argmin(-1, keepdim=True), X),
    "argmin of ints": (lambda i: i.argmin(1), lambda i: i.argmin(1), N),
    "argmax of 0-d": (lambda x: x.sum().argmax(), lambda x: x.sum().argmax(), X),
    "sort of ints": (lambda i: i.sort(1), lambda i: tuple(i.sort(dim=1, stable=True)), N),
    "sort of ints down": (lambda i: i.sort(0, True), lambda i: tuple(i.sort(dim=0, descending=True, stable=True)), N),
    "argsort": (lambda x: x.argsort(0), lambda x: x.argsort(0), X),
    "amin of ints": (lambda i: i.amin(1), lambda i: i.amin(1), N),
    "prod of ints": (lambda i: i.prod(1), lambda i: i.prod(1), N),
    "cumsum of ints": (lambda i: i.cumsum(1), lambda i: i.cumsum(1), N),
    "cumsum of bools": (lambda b: b.cumsum(2), lambda b: b.cumsum(2), B),
    "norm of 0": (lambda i: i.norm(0, 1), lambda i: i.float().norm(0, 1), N),
}


@pytest.mark.full
def test_values_gradients_and_second_derivatives_in_float64(device):
    check({**SMOOTH, **EXACT}, second=device == "numpy")  # some 200 kernels more


@pytest.mark.many_kernels
def test_values_and_gradients_in_float32():
    check({**SMOOTH, **EXACT}, np.float32, rtol=2e-5, atol=2e-6, second=False)


def test_a_few_of_them_on_every_device():
    few = ("var", "norm", "logsumexp", "cumsum", "sort", "topk", "argmax of a dim", "any", "all", "prod")
    check({name: {**SMOOTH, **EXACT}[name] for name in few}, second=False)


EQUATIONS = {
    "ij,jk->ik": ((3, 4), (4, 5)),
    "ij,jk": ((3, 4), (4, 5)),
    "bik,bkj->bij": ((2, 3, 4), (2, 4, 5)),
    "bhqd,bhkd->bhqk": ((2, 2, 3, 4), (2, 2, 5, 4)),
    "...ij,...jk->...ik": ((2, 1, 3, 4), (5, 4, 2)),
    "i,j->ij": ((3,), (4,)),
    "i,i->": ((5,), (5,)),
    "i,i": ((5,), (5,)),
    "ii->i": ((4, 4),),
    "ii": ((4, 4),),
    "ij->ji": ((3, 4),),
    "ij->": ((3, 4),),
    "...i->...": ((2, 3, 4),),
    "ba": ((3, 4),),
    "ij,k->ki": ((3, 4), (5,)),
    "ij,jk,kl->il": ((2, 3), (3, 4), (4, 5)),
    "ij,ij->ij": ((3, 4), (3, 4)),
    "iij,j->i": ((3, 3, 4), (4,)),
    "ij,jk->ki": ((3, 1), (4, 5)),
    "a,ab,abc->cb": ((2,), (2, 3), (2, 3, 4)),
    "bn,anm,bm->ba": ((2, 3), (5, 3, 4), (2, 4)),
}


@pytest.mark.full
def test_einsum():
    check(
        {
            equation: (
                lambda *xs, e=equation: limn.einsum(e, *xs),
                lambda *xs, e=equation: torch.einsum(e, *xs),
                *(RNG.standard_normal(shape) for shape in shapes),
            )
            for equation, shapes in EQUATIONS.items()
        },
        atol=1e-11,
    )


def test_contractions_are_one_kernel_each():
    shapes = {"ij,jk->ik": 1, "bhqd,bhkd->bhqk": 1, "ij,kj->ki": 1, "abc,dbc->ad": 1, "ij,jk,kl->il": 2}
    for equation, kernels in shapes.items():
        operands = [Tensor.ones([64] * len(term)) for term in equation.split("->")[0].split(",")]
        text = limn.ir(limn.einsum(equation, *operands), stage="schedule")
        assert text.count("schedule.launch") == kernels, text
        assert text.count("graph.sum") == kernels, text
    a = Tensor.ones(64, 64)
    for product in (a.mm(a), a.tensordot(a, 1), a.reshape(1, 64, 64).bmm(a.reshape(1, 64, 64))):
        assert limn.ir(product, stage="schedule").count("schedule.launch") == 1


def test_a_batched_product_reads_transposed_operands_where_they_lie():
    a, b = Tensor(RNG.standard_normal((3, 5, 4))), Tensor(RNG.standard_normal((3, 6, 5)))
    product = a.mT @ b.mT
    text = limn.ir(product, stage="schedule")
    assert text.count("schedule.launch") == 1
    assert "graph.contiguous" not in text
    np.testing.assert_allclose(product.numpy(), a.numpy().swapaxes(1, 2) @ b.numpy().swapaxes(1, 2), rtol=1e-12)


def test_einsum_of_halves_totals_in_float32():
    x = Tensor.ones(1, 4096, dtype="float16")
    got = limn.einsum("ij,kj->ik", x, x)
    assert got.dtype is limn.float16
    assert got.item() == 4096


NAN = float("nan")


@pytest.mark.many_kernels
def test_order_with_nan_ties_and_infinities_is_torchs():
    x = np.array([[1, NAN, 3, NAN, -INF, 3, INF, -0.0, 0.0], [2, 2, 2, 1, 1, 1, 3, 3, 3]])
    i = np.array([[5, 5, -(2**31), 2**31 - 1, 5]], np.int32)
    b = np.array([[True, False, True], [False, False, False]])
    cases = {
        "sort": (lambda x: x.sort(1), lambda x: tuple(x.sort(dim=1, stable=True)), x),
        "sort down": (lambda x: x.sort(1, True), lambda x: tuple(x.sort(dim=1, descending=True, stable=True)), x),
        "sort of ints": (lambda x: x.sort(-1), lambda x: tuple(x.sort(dim=-1, stable=True)), i),
        "argmax": (lambda x: x.argmax(1), lambda x: x.argmax(1), x),
        "argmin": (lambda x: x.argmin(1), lambda x: x.argmin(1), x),
        "argmax of ints": (lambda x: x.argmax(1), lambda x: x.argmax(1), i),
        "argmin of ints": (lambda x: x.argmin(1), lambda x: x.argmin(1), i),
        "argmax of bools": (lambda x: x.argmax(1), lambda x: x.int().argmax(1), b),
        "argmin of bools": (lambda x: x.argmin(1), lambda x: x.int().argmin(1), b),
        "max_with_indices": (lambda x: x.max_with_indices(1), lambda x: tuple(x.max(1)), x),
        "min_with_indices": (lambda x: x.min_with_indices(1), lambda x: tuple(x.min(1)), x),
        "topk": (lambda x: x.detach().topk(3)[0], lambda x: x.detach().topk(3)[0], x),
        "amin": (lambda x: x.detach().amin(1), lambda x: x.detach().amin(1), x),
        "any": (lambda x: x.any(1), lambda x: x.any(1), x),
        "all": (lambda x: x.all(1), lambda x: x.all(1), x),
    }
    check(cases, second=False)


@pytest.mark.many_kernels
def test_gradients_where_formulas_break():
    zero, equal = np.zeros(4), np.full((2, 4), 3.0)
    norms = {
        f"norm {p} at 0": (lambda x, p=p: x.norm(p), lambda x, p=p: x.norm(p), zero) for p in (1, 2, 3, 0.5, INF, -INF)
    }
    hidden = np.array([[-INF, -INF, 0.0], [-INF, -1e4, 1e4], [1e4, 1e4, -1e4]])
    cases = {
        **norms,
        "norm 3 with a 0": (lambda x: x.norm(3), lambda x: x.norm(3), np.array([0.0, -2, 2])),
        "norm inf with ties": (lambda x: x.norm(INF), lambda x: x.norm(INF), np.array([0.0, -2, 2])),
        "std of equal ones": (lambda x: x.std(1), lambda x: x.std(1), equal),
        "var of equal ones": (lambda x: x.var(1), lambda x: x.var(1), equal),
        "amax of equal ones": (lambda x: x.amax(1), lambda x: x.amax(1), equal),
        "amin of equal ones": (lambda x: x.amin(1), lambda x: x.amin(1), equal),
        "max_with_indices": (lambda x: x.max_with_indices(1)[0], lambda x: x.max(1)[0], equal),
        "prod with a 0": (lambda x: x.prod(), lambda x: x.prod(), np.array([2.0, 0, 3])),
        "prod with two": (lambda x: x.prod(), lambda x: x.prod(), np.array([2.0, 0, 0])),
        "logsumexp": (lambda x: x.logsumexp(1), lambda x: x.logsumexp(1), hidden),
        "cumsum past inf": (lambda x: x[:3].cumsum(0), lambda x: x[:3].cumsum(0), np.array([1.0, 2, 3, INF])),
    }
    check(cases, second=False)
    x = Tensor(np.full(3, -INF), requires_grad=True)
    y = x.logsumexp()
    y.backward()
    assert y.item() == -INF
    assert x.grad.tolist() == [0, 0, 0]


@pytest.mark.many_kernels
def test_edges_of_var_std_and_dtypes():
    one = Tensor([[1.5]])
    assert np.isnan(one.var().item())
    assert one.var(correction=0).item() == 0
    assert np.isnan(one.std(1).numpy()).all()
    assert Tensor([1, 2, 3]).var().item() == 1
    half = Tensor(np.full(1000, 300, np.float16))
    assert half.var().item() == 0
    assert half.norm().dtype is limn.float16
    assert Tensor(np.full(9, 100, np.int8)).cumsum(0).tolist() == [100 * k for k in range(1, 10)]
    assert Tensor(np.full(3, 100, np.int8)).prod().item() == 1_000_000
    assert Tensor.ones(40).sort().__len__() == 2
    assert Tensor(np.ones(5000, np.float16)).cumsum(0)[-1].item() == 5000


def test_a_long_sort():
    x = RNG.standard_normal(1500).round(2).astype(np.float32)
    values, indices = Tensor(x).sort()
    limn.realize(values, indices)
    assert np.array_equal(indices.numpy(), np.argsort(x, kind="stable"))
    assert np.array_equal(values.numpy(), np.sort(x))


V = Tensor.zeros(2, 3)
WRONG = {
    "norm": (lambda: V.norm("nuc"), TypeError, "norm: p is a number, got 'nuc'"),
    "dim": (lambda: V.var(2), IndexError, r"var: dim 2 is outside shape \(2, 3\)"),
    "twice": (lambda: V.any((0, 0)), ValueError, "names a dim of shape"),
    "prod of dims": (lambda: V.prod((0, 1)), TypeError, r"prod: a dim is an int, got \(0, 1\)"),
    "argmax": (lambda: V.argmax(3), IndexError, "argmax: dim 3 is outside"),
    "topk": (lambda: V.topk(4), ValueError, r"k is 4, dim -1 of shape \(2, 3\) has 3 elements; k must be 1 to 3"),
    "cumsum": (lambda: V.cumsum(-3), IndexError, "cumsum: dim -3 is outside"),
    "outer": (lambda: V.outer(V), ValueError, r"outer: shapes \(2, 3\) and \(2, 3\); expected two vectors"),
    "dot": (lambda: V[0].dot(V[:, 0]), ValueError, r"dot: shapes \(3,\) and \(2,\)"),
    "mm": (lambda: V.mm(V[0]), ValueError, "mm: shapes .* expected two matrices"),
    "bmm": (lambda: V.bmm(V), ValueError, "bmm: .* expected two batches of matrices"),
    "batches": (lambda: Tensor.zeros(2, 3, 3).bmm(Tensor.zeros(1, 3, 3)), ValueError, "batches must be of equal size"),
    "tensordot": (lambda: V.tensordot(V, 1), ValueError, r"dims \[1\] of shape \(2, 3\) and \[0\] of \(2, 3\) differ"),
    "tensordot dims": (lambda: V.tensordot(V, 3), ValueError, "3 dims of shapes"),
    "einsum count": (lambda: limn.einsum("ij,jk", V), ValueError, "names 2 operands, got 1 tensors"),
    "einsum dims": (lambda: limn.einsum("ijk->i", V), ValueError, r"names 3 dims, the shape \(2, 3\) has 2"),
    "einsum sizes": (lambda: limn.einsum("ij,jk->ik", V, V), ValueError, "letter 'j' names extents 3 and 2"),
    "einsum output": (lambda: limn.einsum("ij->ik", V), ValueError, "output letter 'k' .* is in no operand"),
    "einsum twice": (lambda: limn.einsum("ij->ii", V), ValueError, "must be letters, each once"),
    "einsum letters": (lambda: limn.einsum("i1->i", V), ValueError, "must be letters and at most one"),
    "einsum numbers": (lambda: limn.einsum("i,i", 1, 2), TypeError, "takes an equation and tensors, got int, int"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_call_says_what_and_how(name):
    call, kind, text = WRONG[name]
    with pytest.raises(kind, match=text):
        call()


@pytest.mark.full
@pytest.mark.many_kernels
@given(shape=array_shapes(min_dims=0, max_dims=4, max_side=5), seed=st.integers(0, 2**32 - 1))
@settings(max_examples=8, deadline=None)
def test_shapes_of_any_rank(shape, seed):
    rng = np.random.default_rng(seed)
    x = np.asarray(rng.standard_normal(shape))
    dims = tuple(d for d in range(len(shape)) if rng.random() < 0.6) or None
    dims = dims if dims is None or rng.random() < 0.5 else tuple(d - len(shape) for d in dims)
    keep = bool(rng.random() < 0.5)
    cases = {
        "amax": (lambda x: x.amax(dims, keep), lambda x: x.amax(dims or tuple(range(x.ndim)), keep), x),
        "amin": (lambda x: x.amin(dims, keep), lambda x: x.amin(dims or tuple(range(x.ndim)), keep), x),
        "norm": (lambda x: x.norm(2, dims, keep), lambda x: x.norm(2, dims, keep), x),
        "any": (lambda x: (x > 1).any(dims), lambda x: (x > 1).any(dims) if dims else (x > 1).any(), x),
        "all": (lambda x: (x > -1).all(dims), lambda x: (x > -1).all(dims) if dims else (x > -1).all(), x),
        "var": (lambda x: x.var(dims, correction=0), lambda x: x.var(dims, correction=0), x),
    }
    if shape:
        dim = int(rng.integers(-len(shape), len(shape)))
        k = int(rng.integers(1, shape[dim] + 1))
        cases |= {
            "logsumexp": (lambda x: x.logsumexp(dim, keep), lambda x: x.logsumexp(dim, keep), x),
            "prod": (lambda x: x.prod(dim, keep), lambda x: x.prod(dim, keep), x),
            "cumsum": (lambda x: x.cumsum(dim), lambda x: x.cumsum(dim), x),
            "sort": (lambda x: x.sort(dim), lambda x: tuple(x.sort(dim)), x),
            "topk": (lambda x: x.topk(k, dim), lambda x: tuple(x.topk(k, dim)), x),
            "argmax": (lambda x: x.argmax(dim, keep), lambda x: x.argmax(dim, keep), x),
            "max": (lambda x: x.max_with_indices(dim, keep), lambda x: tuple(x.max(dim, keep)), x),
        }
    check(cases, second=False)


@pytest.mark.full
@pytest.mark.parametrize("device", ["numpy"], indirect=True)  # each would compile
@given(data=st.data())
@settings(max_examples=300, deadline=None)
def test_random_einsums(data):
    letters = "abcd"
    sizes = dict(zip(letters, data.draw(st.lists(st.integers(1, 4), min_size=4, max_size=4))))
    terms = data.draw(st.lists(st.text(letters, min_size=1, max_size=4), min_size=1, max_size=3))
    present = sorted(set("".join(terms)))
    output = data.draw(st.permutations(present).flatmap(lambda p: st.integers(0, len(p)).map(lambda n: "".join(p[:n]))))
    equation = f"{','.join(terms)}->{output}"
    arrays = [RNG.standard_normal([sizes[c] for c in term]) for term in terms]
    np.testing.assert_allclose(
        limn.einsum(equation, *map(Tensor, arrays)).numpy(), np.einsum(equation, *arrays), rtol=1e-10, atol=1e-10
    )


def test_all_orders_of_four():
    lines = np.array(list(itertools.permutations([2, 7, 7, -1])), np.int32)
    values, indices = Tensor(lines).sort()
    assert np.array_equal(indices.numpy(), np.argsort(lines, 1, kind="stable"))
    assert np.array_equal(values.numpy(), np.sort(lines, 1))


def test_the_dims_of_a_number_and_no_dims():
    """0 and -1 are dims of a 0-d tensor; an empty tuple means all dims, but for any, all, as in torch."""
    folds = ["sum", "mean", "amax", "amin", "std", "norm", "any", "all"]
    names = [*folds, "logsumexp", "prod", "argmax", "argmin", "cumsum", "softmax", "log_softmax", "argsort", "topk"]
    number, check = Tensor(2.5), torch.tensor(2.5)
    for name in names:
        given = {"correction": 0} if name == "std" else {"k": 1} if name == "topk" else {}
        for dim in (0, -1, *([(0,), (-1,)] if name in folds else [])):
            got, want = getattr(number, name)(dim=dim, **given), getattr(check, name)(dim=dim, **given)
            got, want = (got[0], want[0]) if name == "topk" else (got, want)
            assert (got.shape, got.item()) == ((), want.item()), (name, dim)
    array = np.arange(6.0).reshape(2, 3)
    for name in folds:
        got, want = getattr(Tensor(array), name)(dim=()), getattr(torch.tensor(array), name)(dim=())
        np.testing.assert_allclose(got.numpy(), want.numpy(), err_msg=name)


def test_a_nan_reaches_all_gradients_of_its_logsumexp():
    x = Tensor(np.array([[np.nan, 1.0], [2.0, 1.0]]), requires_grad=True)
    (slopes,) = limn.grad(x.logsumexp(1).sum(), [x])
    assert np.isnan(slopes.numpy()).tolist() == [[True, True], [False, False]]
