"""What a user's mistake says: one sentence, with the values that clash and a way out. Each has its whole text here."""

import re

import numpy as np
import pytest

import limn
from limn import Tensor, float32, no_grad

pytestmark = pytest.mark.usefixtures("device")

zeros = Tensor.zeros


def leaf(*shape):
    return Tensor(np.ones(shape, np.float32), requires_grad=True)


SHAPES = {
    "sum of two shapes": (
        lambda: zeros(2, 3) + zeros(4),
        ValueError,
        "add: shapes (2, 3) and (4,) do not broadcast; at dim -1 the extents [3, 4] must be equal or 1",
    ),
    "product of matrices": (
        lambda: zeros(2, 3) @ zeros(4, 5),
        ValueError,
        "matmul: shapes (2, 3) and (4, 5) do not fit: the last dim of the left operand and the second last dim of the "
        "right one must be equal",
    ),
    "reshape": (
        lambda: zeros(2, 3).reshape(4),
        ValueError,
        "reshape: 6 elements of shape (2, 3) do not fit (4,); sizes must be equal",
    ),
    "expand": (
        lambda: zeros(2, 3).expand(4, 3),
        ValueError,
        "expand: shape (2, 3) does not expand to (4, 3); only extents of 1 repeat",
    ),
    "a negative extent": (
        lambda: Tensor.rand(2, -1),
        ValueError,
        "rand: a shape is positive ints, got (2, -1); tensors are never empty",
    ),
    "lists of different lengths": (
        lambda: Tensor([[1, 2], [3]]),
        ValueError,
        "Tensor: the nested lists do not form an array: lists at one level differ in length; pad or cut them",
    ),
    "no elements": (
        lambda: Tensor([]),
        ValueError,
        "Tensor: a tensor needs at least one element, got shape (0,)",
    ),
}

DTYPES = {
    "a dtype limn has not": (
        lambda: zeros(2).cast("int64"),
        TypeError,
        "'int64' is not an element type of limn; use one of float64, float32, float16, bfloat16, int32, int16, int8, "
        "bool_",
    ),
    "a number that does not fit": (
        lambda: Tensor([1]) + 2**40,
        OverflowError,
        "1099511627776 does not fit int32, which holds -2147483648 to 2147483647; cast the tensor to a wider dtype "
        "first",
    ),
    "int64 values that do not fit": (
        lambda: Tensor(np.array([-1, 2**40])),
        OverflowError,
        "Tensor: values -1 to 1099511627776 do not fit int32, which holds -2147483648 to 2147483647; pass floats or "
        "smaller numbers",
    ),
    "uint8 values that do not fit": (
        lambda: Tensor(np.array([200], np.uint8), dtype="int8"),
        OverflowError,
        "Tensor: values 200 to 200 do not fit int8, which holds -128 to 127; pass floats or smaller numbers",
    ),
    "complex numbers": (
        lambda: Tensor(np.zeros(2, complex)),
        TypeError,
        "Tensor: cannot hold data of type ndarray with dtype complex128; pass numbers, or lists or arrays of float, "
        "int or bool",
    ),
    "a condition that is no bool": (
        lambda: zeros(2).where(1, 2),
        TypeError,
        "where: is called on the condition, which is bool, got float32; write (x > 0).where(a, b)",
    ),
    "dropout of ints": (
        lambda: Tensor([1, 2]).dropout(0.5),
        TypeError,
        "dropout: scales its elements, which are int32; cast to float32 first",
    ),
}

NUMBERS = {
    "a correction": (
        lambda: zeros(2).var(correction="a"),
        TypeError,
        "var: a correction is a number, got 'a'; divides by n - correction",
    ),
    "decimals": (lambda: zeros(2).round(0.5), TypeError, "round: decimals is an int, got 0.5"),
    "a beta": (lambda: zeros(2).softplus("a"), TypeError, "softplus: beta is a number, got 'a'"),
    "a range in steps of nothing": (
        lambda: limn.arange(0, 3, 0),
        ValueError,
        "arange: from 0 to 3 in steps of 0 there is nothing; tensors are never empty",
    ),
    "a range of words": (
        lambda: limn.arange("a"),
        TypeError,
        "arange: each of start, end and step is a number, got 'a'",
    ),
    "an end that is no number": (lambda: limn.linspace(0, "a", 3), TypeError, "linspace: end is a number, got 'a'"),
    "a bound that is no number": (lambda: Tensor.uniform(2, low="a"), TypeError, "uniform: low is a number, got 'a'"),
    "no dtype": (
        lambda: zeros(2).cast(None),
        TypeError,
        "None is not an element type of limn; use one of float64, float32, float16, bfloat16, int32, int16, int8, "
        "bool_",
    ),
    "a state of numbers that are too large": (
        lambda: limn.set_rng_state([1, 2, 3, 2**40]),
        ValueError,
        "set_rng_state: a state is 4 ints of 32 bits, got [1, 2, 3, 1099511627776]; pass what get_rng_state gave",
    ),
    "numbers to join": (
        lambda: limn.cat([zeros(2), 1]),
        TypeError,
        "cat: takes a list or tuple of tensors, got ['Tensor', 'int']; make them with Tensor(data)",
    ),
    "an equation and an array": (
        lambda: limn.einsum("i,i", zeros(2), np.ones(2)),
        TypeError,
        "einsum: takes an equation and tensors, got Tensor, ndarray as operands; make them with Tensor(data)",
    ),
    "an equation that comes last": (
        lambda: limn.einsum(zeros(2), "i"),
        TypeError,
        "einsum: an equation is a str such as 'ij,jk->ik', got Tensor; it comes first",
    ),
    "a path that is none": (
        lambda: Tensor.fromfile(5, "int8"),
        TypeError,
        "fromfile: a path is a str or a Path, got 5",
    ),
    "a shape twice": (
        lambda: Tensor.zeros(2, size=(3,)),
        TypeError,
        "zeros: got (2,) and size=(3,), two names for one argument; give one",
    ),
}

AXES = {
    "a dim outside": (
        lambda: zeros(2, 3).sum(2),
        IndexError,
        "sum: dim 2 is outside shape (2, 3); dims go from -2 to 1",
    ),
    "a dim of a number": (
        lambda: Tensor(1.0).softmax(1),
        IndexError,
        "softmax: dim 1 is outside shape (); of a 0-d tensor it is 0 or -1",
    ),
    "a dim twice": (
        lambda: zeros(2, 3).max((0, -2)),
        ValueError,
        "max: dim (0, -2) names a dim of shape (2, 3) twice",
    ),
    "a dim that is no int": (lambda: zeros(2).mean(0.5), TypeError, "mean: a dim is an int, got 0.5"),
    "a place for a dim": (lambda: zeros(2).unsqueeze(1.0), TypeError, "unsqueeze: a dim is an int, got 1.0"),
    "a place for a stack": (
        lambda: limn.stack([zeros(2)], 2),
        IndexError,
        "stack: dim 2 is outside -2 to 1 for shape (2,)",
    ),
    "a diagonal that is no int": (lambda: zeros(2, 2).tril(0.5), TypeError, "tril: a diagonal is an int, got 0.5"),
    "pairs of dims": (
        lambda: zeros(2, 2).tensordot(zeros(2, 2), (1, 0)),
        TypeError,
        "tensordot: dims is an int or two lists of ints, got (1, 0); write ([0, 1], [1, 0])",
    ),
    "pairs of dims twice": (
        lambda: zeros(2, 2).tensordot(zeros(2, 2), ([0, 0], [0, 1])),
        ValueError,
        "tensordot: dims [0, 0] and [0, 1] of (2, 2) and (2, 2) name a dim twice",
    ),
    "dims moved to fewer places": (
        lambda: zeros(2, 3).movedim((0, 1), 0),
        ValueError,
        "movedim: dims (0, 1) do not go to 0; give as many places as dims, each once",
    ),
    "a dim under two names": (
        lambda: zeros(2, 3).mean(0, axis=1),
        TypeError,
        "mean: dim=0 and axis=1 are two names for one argument; give one",
    ),
    "a dim that a number has not": (
        lambda: Tensor(1.0).cumsum(3),
        IndexError,
        "cumsum: dim 3 is outside shape (); of a 0-d tensor it is 0 or -1",
    ),
    "an order of dims": (
        lambda: zeros(2, 3).permute(0, 0),
        ValueError,
        "permute: (0, 0) does not name each dim of shape (2, 3) once",
    ),
}

INDICES = {
    "an index outside": (
        lambda: zeros(2, 3)[2],
        IndexError,
        "indexing: index 2 is outside dim 0 of shape (2, 3)",
    ),
    "too many indices": (
        lambda: zeros(2, 3)[0, 0, 0],
        IndexError,
        "indexing: 3 indices for shape (2, 3), which has 2 dims",
    ),
    "a step of 0": (
        lambda: zeros(3)[::0],
        IndexError,
        "indexing: ::0 on dim 0 of shape (3,): slice step cannot be zero",
    ),
    "a slice of nothing": (
        lambda: zeros(3)[2:1],
        IndexError,
        "indexing: 2:1 selects nothing of dim 0 in shape (3,); tensors are never empty",
    ),
    "a row outside": (
        lambda: zeros(2, 3)[Tensor([0, 5])].realize(),
        IndexError,
        "row 5 is outside the table, which has rows 0 to 1",
    ),
    "a tensor as an index of a list": (
        lambda: [1, 2][Tensor(0.5)],
        TypeError,
        "a tensor of dtype float32 is not an index; cast it to int32",
    ),
}

VALUES = {
    "the truth of several": (
        lambda: bool(zeros(2)),
        ValueError,
        "bool: the tensor has shape (2,); one element has a bool value, reduce it or use where",
    ),
    "a float of several": (
        lambda: float(zeros(2)),
        ValueError,
        "float: the tensor has shape (2,); one element has a float value, reduce it or use where",
    ),
    "an item of several": (
        lambda: zeros(2).item(),
        ValueError,
        "item: the tensor has shape (2,), not one element; index it or reduce it first",
    ),
    "a length of a number": (
        lambda: len(Tensor(1.0)),
        TypeError,
        "len: a 0-d tensor has no length; use .size or .item()",
    ),
    "realizing a number": (
        lambda: limn.realize(3),
        TypeError,
        "realize: takes tensors, got 3; give a list of them as realize(*tensors)",
    ),
}

GRADIENTS = {
    "backward of several": (
        lambda: leaf(2).backward(),
        RuntimeError,
        "backward: the tensor has shape (2,), not one element; reduce it, with .sum() say, or pass the gradient of it",
    ),
    "backward of nothing recorded": (
        lambda: zeros(2).sum().backward(),
        RuntimeError,
        "backward: no gradient is recorded for this tensor of shape (); it is computed from no tensor with "
        "requires_grad=True, or inside no_grad, or from a detached one; a step that changes a parameter is "
        "p.assign(..), since p -= .. makes another tensor",
    ),
    "a gradient of another shape": (
        lambda: leaf(2).backward(Tensor([1.0])),
        ValueError,
        "backward: the gradient passed has shape (1,) and dtype float32, the tensor (2,) and float32; they must agree",
    ),
    "the grad of an expression": (
        lambda: (leaf(2) * 2).grad,
        RuntimeError,
        "grad: this tensor of shape (2,) is computed from others, which collect the gradients; read theirs, or ask "
        "limn.grad(loss, t) for this one",
    ),
    "a grad that does not fit": (
        lambda: setattr(leaf(2), "grad", zeros(3)),
        TypeError,
        "grad: is None or a tensor float32[2] as this one, got float32[3]; None drops it",
    ),
    "an input that does not matter": (
        lambda: limn.grad(leaf(2).sum(), leaf(3)),
        RuntimeError,
        "grad: the outputs do not depend on input 0, of shape (3,), in a way that carries gradient; leave it out, or "
        "check requires_grad, detach and no_grad",
    ),
    "gradients of no tensor": (
        lambda: limn.grad(3, leaf(1)),
        TypeError,
        "grad: outputs are a tensor or a list of tensors, got 3",
    ),
    "gradients of ints": (
        lambda: Tensor([1], requires_grad=True),
        TypeError,
        "requires_grad: gradients need a float dtype, got int32; cast to float32 first",
    ),
    "an expression that should not require them": (
        lambda: (leaf(2) * 2).requires_grad_(False),
        RuntimeError,
        "requires_grad: this tensor is computed from others that require it; use detach()",
    ),
}

ASSIGNS = {
    "to an expression": (
        lambda: (zeros(2) + 1).assign(zeros(2)),
        RuntimeError,
        "assign: this tensor of shape (2,) is an expression, which has no storage to assign to; call .realize() on it "
        "first, or assign to the tensor it was made from",
    ),
    "of another shape": (
        lambda: zeros(2).assign(zeros(3)),
        ValueError,
        "assign: the tensor has shape (2,), the value (3,); reshape or expand it",
    ),
    "of another dtype": (
        lambda: zeros(2).assign([1, 2]),
        TypeError,
        "assign: the tensor is float32, the value int32; use .cast(float32)",
    ),
}

DEVICES = {
    "an unknown one": (
        lambda: limn.set_device("gpu"),
        ValueError,
        "unknown device 'gpu'; limn has numpy, c, and cpu for the better of them",
    ),
    "one that is not there": (
        lambda: limn.set_device("cuda"),
        RuntimeError,
        "limn has no cuda device yet; use set_device('c') or set_device('numpy')",
    ),
    "an unknown one for a tensor": (
        lambda: zeros(2).to("tpu"),
        ValueError,
        "unknown device 'tpu'; limn has cpu, numpy, c, cuda",
    ),
}

MISTAKES = {
    f"{family}: {name}": mistake
    for family, found in [
        ("shapes", SHAPES),
        ("dtypes", DTYPES),
        ("numbers", NUMBERS),
        ("axes", AXES),
        ("indices", INDICES),
        ("values", VALUES),
        ("gradients", GRADIENTS),
        ("assign", ASSIGNS),
        ("devices", DEVICES),
    ]
    for name, mistake in found.items()
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_one_sentence(name):
    call, kind, text = MISTAKES[name]
    with pytest.raises(kind) as caught:
        call()
    assert str(caught.value) == text
    assert "\n" not in text
    assert not re.search(r"\. [A-Z]", text)


def test_a_mistake_leaves_everything_as_it_was():
    w = leaf(2)
    for call in (lambda: w.assign(zeros(3)), lambda: w.backward(), lambda: w + zeros(3)):
        with pytest.raises((ValueError, RuntimeError)):
            call()
    assert w.tolist() == [1, 1]
    assert w.grad is None


# ---- what is no mistake, and might be taken for one


def test_arrays_that_change_later_do_not_change_tensors():
    array = np.ones(3, np.float32)
    t, late = Tensor(array), Tensor(array) * array
    array[:] = 7
    assert t.tolist() == late.tolist() == [1, 1, 1]


def test_tensors_that_change_later_do_not_change_expressions():
    w = Tensor([1.0, 2.0])
    before = w * 10
    w.assign([5.0, 6.0])
    after = w * 10
    assert (before.tolist(), after.tolist()) == ([10, 20], [50, 60])


def test_a_leaf_without_a_gradient_has_none():
    w = leaf(2)
    assert w.grad is None
    assert zeros(2).grad is None
    with no_grad():
        assert (w * 2).grad is None
    (w * 2).sum().backward()
    assert w.grad.dtype is float32
    w.grad = None
    assert w.grad is None
