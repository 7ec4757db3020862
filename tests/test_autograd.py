"""Gradients against torch: each rule, second derivatives, accumulation, what stops them, and what errors say.
On every device."""

import threading

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import limn
from limn import Tensor, float32, float64, grad, no_grad
from limn.autograd import RULES, gradients, unmove
from limn.dialects import graph
from limn.importer import build, record
from limn.trace import buffer_node, const, move
from limn.view import View

pytestmark = [pytest.mark.usefixtures("device"), pytest.mark.many_kernels]


def both(function, torch_function, *arrays, rtol=1e-10):
    """The gradients of sum(function * weights), and of those gradients, in limn and torch at float64."""
    arrays = [np.asarray(a, np.float64) for a in arrays]
    mine = [Tensor(a, requires_grad=True) for a in arrays]
    theirs = [torch.tensor(a, requires_grad=True) for a in arrays]
    y, z = function(*mine), torch_function(*theirs)
    weights = np.random.default_rng(0).standard_normal(tuple(z.shape))
    np.testing.assert_allclose(y.numpy(), z.detach().numpy(), rtol=rtol, atol=1e-12)
    got = grad((y * weights).sum(), mine, create_graph=True)
    want = torch.autograd.grad((z * torch.tensor(weights)).sum(), theirs, create_graph=True)
    for g, w in zip(got, want):
        assert g.shape == tuple(w.shape)
        np.testing.assert_allclose(g.numpy(), w.detach().numpy(), rtol=rtol, atol=1e-11)
    again, again_torch = sum((g * g).sum() for g in got), sum((w * w).sum() for w in want)
    if not again_torch.requires_grad:
        return
    want = torch.autograd.grad(again_torch, theirs, allow_unused=True)
    if not again.requires_grad:  # limn records nothing where torch records zeros
        assert all(w is None or not w.any() for w in want)
        return
    used = [n for n, w in enumerate(want) if w is not None]
    for n, g in zip(used, grad(again, [mine[n] for n in used])):
        np.testing.assert_allclose(g.numpy(), want[n].numpy(), rtol=rtol, atol=1e-9)


X = np.random.default_rng(1).standard_normal((3, 4))
Y = np.random.default_rng(2).standard_normal((3, 4)) + 0.01
POSITIVE = np.abs(X) + 0.5

CASES = {
    "neg": (lambda x: -x * x, X),
    "exp": (lambda x: x.exp(), X),
    "log": (lambda x: x.log(), POSITIVE),
    "sqrt": (lambda x: x.sqrt(), POSITIVE),
    "reciprocal": (lambda x: x.reciprocal(), POSITIVE),
    "add": (lambda x, y: x + y * x, X, Y),
    "sub": (lambda x, y: x - y - x * y, X, Y),
    "mul": (lambda x, y: x * y, X, Y),
    "mul itself": (lambda x: x * x * x, X),
    "div": (lambda x, y: x / y, X, POSITIVE),
    "scalar div": (lambda x: 2.5 / x, POSITIVE),
    "power": (lambda x: x**5, X),
    "negative power": (lambda x: x**-2, POSITIVE),
    "relu": (lambda x: x.relu() * x, X),
    "sum": (lambda x: x.sum(1) ** 2, X),
    "mean": (lambda x: x.mean(0) ** 3, X),
    "softmax": (lambda x: x.softmax(1), X),
    "softmax 0": (lambda x: x.softmax(0) * x, X),
    "log_softmax": (lambda x: x.log_softmax(1), X),
    "matmul": (lambda x, y: x @ y.T, X, Y),
    "matvec": (lambda x, y: (x @ y[0]) ** 2, X, Y),
    "batched matmul": (lambda x, y: x.reshape(3, 2, 2) @ y.reshape(3, 2, 2), X, Y),
    "broadcast matmul": (lambda x, y: x.reshape(3, 2, 2) @ y[0].reshape(2, 2), X, Y),
    "expand": (lambda x: x[:, :1].expand(3, 5) ** 2, X),
    "reshape": (lambda x: x.reshape(2, 6) ** 2, X),
    "permute": (lambda x: x.T.reshape(12) ** 2, X),
    "layer norm": (lambda x: _layer_norm(x), X),
    "detach": (lambda x: x * x.detach(), X),
}


def _layer_norm(x):
    centred = x - x.mean(1).reshape(3, 1)
    return centred / ((centred * centred).mean(1).reshape(3, 1) + 1e-5).sqrt()


@pytest.mark.parametrize("name", CASES)
def test_gradients_and_gradients_of_gradients_are_torchs(name):
    function, *arrays = CASES[name]
    both(function, function, *arrays)


PAIRS = {
    "max": (lambda x: x.max(1), lambda x: x.amax(1), X),
    "max of two axes": (lambda x: x.max((0, 1)), lambda x: x.amax((0, 1)), X),
    "min": (lambda x: x.min(0), lambda x: x.amin(0), X),
    "max ties": (lambda x: x.max(1), lambda x: x.amax(1), [[1.0, 3, 3], [2, 2, 2], [0, -1, 0]]),
    "min ties": (lambda x: x.min(1), lambda x: x.amin(1), [[1.0, 3, 1], [2, 2, 2], [0, -1, 0]]),
    "maximum": (lambda x, y: x.maximum(y), torch.maximum, X, Y),
    "minimum": (lambda x, y: x.minimum(y), torch.minimum, X, Y),
    "maximum ties": (lambda x, y: x.maximum(y), torch.maximum, [1.0, 2, 3], [1.0, 3, 2]),
    "minimum ties": (lambda x, y: x.minimum(y), torch.minimum, [1.0, 2, 3], [1.0, 3, 2]),
    "maximum of a number": (
        lambda x: x.maximum(0.1),
        lambda x: torch.maximum(x, torch.tensor(0.1, dtype=torch.float64)),
        X,
    ),
    "relu at 0": (lambda x: x.relu(), lambda x: x.relu(), [-1.0, 0, -0.0, 1, 1e-310]),
    "pad": (lambda x: x.pad(((1, 2), (0, 1))) ** 2, lambda x: torch.nn.functional.pad(x, (0, 1, 1, 2)) ** 2, X),
    "slices": (lambda x: x[::2, ::-1] ** 2, lambda x: x[::2].flip(1) ** 2, X),
    "strided slices": (lambda x: x[1:, 1::2] ** 3, lambda x: x[1:, 1::2] ** 3, X),
    "rows": (lambda x: x[[0, 2, 0, -1]] ** 2, lambda x: x[[0, 2, 0, -1]] ** 2, X),
    "where": (lambda x, y: (x > y).where(x * x, y), lambda x, y: torch.where(x > y, x * x, y), X, Y),
    "cast": (lambda x: x.cast(float32).cast(float64) ** 2, lambda x: x.float().double() ** 2, X.astype(np.float32)),
}


@pytest.mark.parametrize("name", PAIRS)
def test_gradients_of_functions_with_other_names_are_torchs(name):
    mine, theirs, *arrays = PAIRS[name]
    both(mine, theirs, *arrays, rtol=1e-6 if name == "cast" else 1e-10)


def test_every_differentiable_op_has_a_rule():
    without = {graph.ConstOp, graph.CmpLtOp, graph.AssignOp, graph.CustomOp}
    assert set(RULES) == set(graph.Graph.operations) - without


# ---- the gradient of a view


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_the_gradient_of_a_chain_of_movements_puts_each_cell_back(data):
    shape = data.draw(st.sampled_from([(6,), (2, 3), (4, 1, 3), (2, 3, 4), (3, 5)]))
    array = np.arange(1.0, np.prod(shape) + 1).reshape(shape)
    mine, theirs = Tensor(array, requires_grad=True), torch.tensor(array, requires_grad=True)
    x, y = mine, theirs
    for _ in range(data.draw(st.integers(1, 5))):
        kind = data.draw(st.sampled_from(["reshape", "permute", "pad", "slice", "flip", "expand"]))
        n = tuple(y.shape)
        if kind == "reshape":
            new = data.draw(
                st.sampled_from([(y.numel(),)] + [(a, y.numel() // a) for a in range(2, 13) if y.numel() % a == 0])
            )
            x, y = x.reshape(new), y.reshape(new)
        elif kind == "permute":
            axes = data.draw(st.permutations(range(len(n))))
            x, y = x.permute(axes), y.permute(axes)
        elif kind == "pad" and y.numel() < 100:
            pads = [(data.draw(st.integers(0, 2)), data.draw(st.integers(0, 2))) for _ in n]
            x, y = x.pad(pads), torch.nn.functional.pad(y, [k for pair in reversed(pads) for k in pair])
        elif kind == "slice":
            starts = [data.draw(st.integers(0, k - 1)) for k in n]
            key = tuple(
                slice(a, data.draw(st.integers(a + 1, k)), data.draw(st.integers(1, 3))) for a, k in zip(starts, n)
            )
            x, y = x[key], y[key]
        elif kind == "flip":
            x, y = x.flip(0), y.flip(0)
        elif kind == "expand" and y.numel() < 100:
            x, y = x.unsqueeze(1).expand(n[0], 2, *n[1:]), y.unsqueeze(1).expand(n[0], 2, *n[1:])
    weights = np.arange(1.0, y.numel() + 1).reshape(tuple(y.shape))
    (x * weights).sum().backward()
    (y * torch.tensor(weights)).sum().backward()
    np.testing.assert_array_equal(mine.grad.numpy(), theirs.grad.numpy())


def test_the_gradient_of_a_composed_view_needs_no_chain():
    """`unmove` inverts any View that movements make, not only single movements."""
    view = View.contiguous((4, 6)).permute((1, 0)).shrink(((1, 5), (0, 4))).flip((0,)).pad(((0, 1), (1, 0)))
    g = np.arange(1.0, 26).reshape(5, 5)
    back = unmove(Tensor(g)._node, view, (4, 6))
    want = np.zeros(24)
    for value, position in zip(g.reshape(-1), view.positions()):
        if position is not None:
            want[position] += value
    np.testing.assert_array_equal(Tensor._of(back).numpy(), want.reshape(4, 6))


def test_a_view_that_reads_nothing_has_zero_gradient():
    view = View.of((3,), (0,), 0, [(0, 0)])
    x = Tensor(np.ones(4), requires_grad=True)
    found = gradients([move(x._node, view)], [const(1, (3,), float64)])
    np.testing.assert_array_equal(Tensor._of(found[x._node]).numpy(), np.zeros(4))


# ---- what is recorded


def ops(*tensors):
    module = build(record([t._node for t in tensors]))
    module.verify()
    return [op.name.removeprefix("graph.") for op in module.walk() if isinstance(op, graph.GraphOp)]


def test_no_idle_work_is_recorded():
    x = Tensor(X, requires_grad=True)
    y = Tensor(Y)
    (x * y).sum().backward()
    assert x.grad._node is y._node  # the gradient is the other factor, no product with ones
    w = Tensor(X, requires_grad=True)
    (w * 2.0).sum().backward()
    assert ops(w.grad) == ["const"]


def test_the_gradient_of_softmax_is_y_times_g_less_their_dot():
    x = Tensor(X, requires_grad=True)
    (g,) = grad(x.softmax(1), x, Tensor(Y))
    names = ops(g)
    assert names.count("exp") == 1
    assert names.count("sum") == 2
    assert names.count("mul") == 3  # e / sum, g * y, y * (g - dot)


def test_only_what_is_asked_for_is_walked():
    a, b = Tensor(X, requires_grad=True), Tensor(Y, requires_grad=True)
    (g,) = grad((a * b).sum(), a)
    assert g._node is b._node


# ---- leaves, accumulation, stopping


def test_grad_accumulates_and_is_lazy():
    x = Tensor([1.0, 2.0], requires_grad=True)
    (x * 3.0).sum().backward()
    (x * x).sum().backward()
    assert x.grad._node.realized is None
    assert x.grad.tolist() == [5, 7]
    assert not x.grad.requires_grad


def test_backward_with_a_gradient_given():
    x = Tensor([1.0, 2.0], requires_grad=True)
    (x * x).backward([10.0, 100.0])
    assert x.grad.tolist() == [20, 400]
    y = Tensor([[1.0, 2.0]], requires_grad=True)
    (y.sum(keepdim=True)).backward()
    assert y.grad.tolist() == [[1, 1]]


def test_grad_of_several_outputs_and_inputs_leaves_grad_alone():
    x, y = Tensor([1.0, 2.0], requires_grad=True), Tensor([3.0, 4.0], requires_grad=True)
    outputs = [x * y, x * x]
    gx, gy = grad(outputs, [x, y], [Tensor([1.0, 1.0]), Tensor([10.0, 0.0])])
    assert gx.tolist() == [23, 4]
    assert gy.tolist() == [1, 2]
    assert x.grad is None


def test_grad_of_inner_tensors_even_behind_views():
    x = Tensor(X, requires_grad=True)
    h = (x * 2.0).T
    (g,) = grad((h.reshape(2, 6) ** 2).sum(), h)
    np.testing.assert_allclose(g.numpy(), 4 * X.T)


def test_detach_and_no_grad_stop_gradients():
    x = Tensor([1.0, 2.0], requires_grad=True)
    assert not x.detach().requires_grad
    assert not (x.detach().T * 2).requires_grad
    with no_grad():
        assert not (x * 2).requires_grad
        with no_grad():
            pass
        assert not (x * 2).requires_grad
    assert (x * 2).requires_grad

    @no_grad()
    def inside():
        return x * 2

    assert not inside().requires_grad
    assert not (x < 1).requires_grad
    assert not x.cast("int32").requires_grad


def test_threads_may_share_a_no_grad():
    """Two that are in one at the same time, one of them in another before, end with the gradients they had."""
    shared, x = no_grad(), Tensor([1.0], requires_grad=True)
    inside, both = threading.Event(), threading.Event()
    tracked = {}

    def first():
        with shared:
            inside.set()
            both.wait()
        tracked["first"] = (x * 2).requires_grad

    thread = threading.Thread(target=first)
    thread.start()
    inside.wait()
    with no_grad():
        with shared:
            both.set()
            thread.join()
        tracked["second, inside"] = (x * 2).requires_grad
    tracked["second"] = (x * 2).requires_grad
    assert tracked == {"first": True, "second, inside": False, "second": True}


def test_no_grad_ends_with_an_exception():
    with pytest.raises(KeyError), no_grad():
        raise KeyError
    x = Tensor([2.0], requires_grad=True)
    (x * x).sum().backward()
    assert x.grad.tolist() == [4]


def test_leaves():
    x = Tensor([1.0], requires_grad=True)
    assert x.is_leaf
    assert not (x + 1).is_leaf
    assert Tensor([1.0]).is_leaf
    y = Tensor.ones(2, 2).requires_grad_()
    (y * y).sum().backward()
    assert y.grad.tolist() == [[2, 2], [2, 2]]
    z = Tensor(Tensor([1.0, 2.0]) * 3, requires_grad=True)  # a leaf over an expression
    (z * z).sum().backward()
    assert z.grad.tolist() == [6, 12]
    z.requires_grad = False
    assert not (z * 2).requires_grad


def test_a_leaf_stays_a_leaf_when_assigned_to():
    w = Tensor([1.0, 2.0], requires_grad=True)
    for _ in range(3):
        w.grad = None
        (w * w).sum().backward()
        w.assign(w - w.grad * 0.25)
        assert w.is_leaf
        assert w.requires_grad
    assert w.tolist() == [0.125, 0.25]
    (w * 3.0).sum().backward()  # adds to the last gradient, of the values before the last assign
    assert w.grad.tolist() == [3.5, 4]


def test_realizing_on_the_way_does_not_change_gradients():
    x = Tensor(X, requires_grad=True)
    h = (x * x).realize()
    y = (h.T.softmax() * 3.0).realize()
    (y * y).sum().backward()
    t = torch.tensor(X, requires_grad=True)
    ((((t * t).T.softmax(-1)) * 3.0) ** 2).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), t.grad.numpy(), rtol=1e-10)


def test_float64_gradients_stay_float64():
    x = Tensor(X, requires_grad=True)
    w = Tensor(X.astype(np.float32), requires_grad=True)
    (x * w).sum().backward()
    assert x.grad.dtype is float64
    assert w.grad.dtype is float32


def test_hessian_vector_product():
    x = Tensor([1.0, 2.0, 3.0], dtype=float64, requires_grad=True)
    (g,) = grad((x**3).sum(), x, create_graph=True)
    (h,) = grad((g * Tensor([1.0, 0.0, 2.0], dtype=float64)).sum(), x)
    assert h.tolist() == [6, 0, 36]
    (g * g).sum().backward()
    assert x.grad.tolist() == [2 * 3 * 6, 2 * 12 * 12, 2 * 27 * 18]


# ---- errors


def test_backward_needs_one_element():
    x = Tensor([1.0, 2.0], requires_grad=True)
    with pytest.raises(RuntimeError, match=r"backward: the tensor has shape \(2,\), not one element; reduce it"):
        (x * 2).backward()


def test_backward_needs_a_recorded_gradient():
    with pytest.raises(RuntimeError, match="no gradient is recorded"):
        (Tensor([1.0]) * 2).backward()
    x = Tensor([1.0], requires_grad=True)
    with no_grad():
        y = x * 2
    with pytest.raises(RuntimeError, match="no gradient is recorded"):
        y.backward()


def test_a_gradient_given_must_fit():
    x = Tensor([1.0, 2.0], requires_grad=True)
    with pytest.raises(ValueError, match=r"shape \(3,\) and dtype float32, the tensor \(2,\) and float32"):
        (x * 2).backward([1.0, 2.0, 3.0])


def test_grad_says_which_input_has_no_part():
    x, y = Tensor([1.0], requires_grad=True), Tensor([1.0], requires_grad=True)
    with pytest.raises(RuntimeError, match=r"do not depend on input 1, of shape \(1,\)"):
        grad(x * 2, [x, y])


def test_requires_grad_of_a_result_cannot_be_switched_off():
    x = Tensor([1.0], requires_grad=True)
    with pytest.raises(RuntimeError, match="use detach"):
        (x * 2).requires_grad = False


def test_a_custom_op_has_no_rule():
    x = Tensor([1.0], requires_grad=True)
    node = limn.trace.Node(graph.CustomOp, (x._node,), (1,), float32, "frobnicate", True)
    with pytest.raises(NotImplementedError, match="no gradient rule"):
        gradients([node], [buffer_node(Tensor([1.0])._node.realized, (1,))])


def test_a_value_computed_in_two_kernels_is_rounded_in_one_way(device):
    """The product has one use beside the maximum and two beside its gradient, which must find the largest element."""
    random = np.random.default_rng(0)
    a, b, c = (Tensor(random.standard_normal((64, 500)).astype(np.float32), requires_grad=True) for _ in range(3))
    product = a * b
    loss = (product + c).max(0).sum() + (product * product).sum()
    of_c, of_a = grad(loss, [c, a])
    limn.realize(of_c, of_a)
    assert np.array_equal(of_c.numpy().sum(0), np.ones(500))
