"""The functions that torch has as torch.X, as limn.X: each method of a tensor as a function of it.

Several have the names of Python's own (`abs`, `all`, `max`, `sum`, ...), so `from limn import *` leaves them out.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from limn.functions.linear import einsum
from limn.functions.shape import cat, stack
from limn.tensor import Tensor


def _of(method: Callable[..., Any]) -> Callable[..., Any]:
    """The method as a function whose first argument is a tensor or what makes one."""

    @wraps(method)
    def function(x: Any, *args: Any, **kwargs: Any) -> Any:
        return method(x if isinstance(x, Tensor) else Tensor(x), *args, **kwargs)

    return function


def where(condition: Any, a: Any, b: Any) -> Tensor:
    """`a` where the bool `condition` is true, else `b`, each a tensor, an array or a number; they broadcast."""
    return (condition if isinstance(condition, Tensor) else Tensor(condition)).where(a, b)


arange = Tensor.arange
eye = Tensor.eye
full = Tensor.full
linspace = Tensor.linspace
ones = Tensor.ones
rand = Tensor.rand
randint = Tensor.randint
randn = Tensor.randn
zeros = Tensor.zeros

abs = _of(Tensor.abs)
all = _of(Tensor.all)
amax = _of(Tensor.amax)
amin = _of(Tensor.amin)
any = _of(Tensor.any)
argmax = _of(Tensor.argmax)
argmin = _of(Tensor.argmin)
argsort = _of(Tensor.argsort)
bernoulli = _of(Tensor.bernoulli)
bmm = _of(Tensor.bmm)
ceil = _of(Tensor.ceil)
chunk = _of(Tensor.chunk)
clamp = _of(Tensor.clamp)
clone = _of(Tensor.clone)
cos = _of(Tensor.cos)
cumsum = _of(Tensor.cumsum)
dot = _of(Tensor.dot)
dropout = _of(Tensor.dropout)
erf = _of(Tensor.erf)
exp = _of(Tensor.exp)
exp2 = _of(Tensor.exp2)
expm1 = _of(Tensor.expm1)
flatten = _of(Tensor.flatten)
flip = _of(Tensor.flip)
floor = _of(Tensor.floor)
full_like = _of(Tensor.full_like)
gather = _of(Tensor.gather)
index_add = _of(Tensor.index_add)
index_select = _of(Tensor.index_select)
isfinite = _of(Tensor.isfinite)
isinf = _of(Tensor.isinf)
isnan = _of(Tensor.isnan)
log = _of(Tensor.log)
log1p = _of(Tensor.log1p)
log_softmax = _of(Tensor.log_softmax)
logical_and = _of(Tensor.logical_and)
logical_not = _of(Tensor.logical_not)
logical_or = _of(Tensor.logical_or)
logical_xor = _of(Tensor.logical_xor)
logsumexp = _of(Tensor.logsumexp)
masked_fill = _of(Tensor.masked_fill)
matmul = _of(Tensor.matmul)
max = _of(Tensor.max)
maximum = _of(Tensor.maximum)
mean = _of(Tensor.mean)
min = _of(Tensor.min)
minimum = _of(Tensor.minimum)
mm = _of(Tensor.mm)
movedim = _of(Tensor.movedim)
multinomial = _of(Tensor.multinomial)
norm = _of(Tensor.norm)
one_hot = _of(Tensor.one_hot)
ones_like = _of(Tensor.ones_like)
outer = _of(Tensor.outer)
permute = _of(Tensor.permute)
pow = _of(Tensor.pow)
prod = _of(Tensor.prod)
rand_like = _of(Tensor.rand_like)
randint_like = _of(Tensor.randint_like)
randn_like = _of(Tensor.randn_like)
reciprocal = _of(Tensor.reciprocal)
relu = _of(Tensor.relu)
reshape = _of(Tensor.reshape)
roll = _of(Tensor.roll)
round = _of(Tensor.round)
rsqrt = _of(Tensor.rsqrt)
sigmoid = _of(Tensor.sigmoid)
sign = _of(Tensor.sign)
sin = _of(Tensor.sin)
softmax = _of(Tensor.softmax)
softplus = _of(Tensor.softplus)
sort = _of(Tensor.sort)
split = _of(Tensor.split)
sqrt = _of(Tensor.sqrt)
squeeze = _of(Tensor.squeeze)
std = _of(Tensor.std)
sum = _of(Tensor.sum)
take_along_dim = _of(Tensor.take_along_dim)
tanh = _of(Tensor.tanh)
tensordot = _of(Tensor.tensordot)
topk = _of(Tensor.topk)
transpose = _of(Tensor.transpose)
tril = _of(Tensor.tril)
triu = _of(Tensor.triu)
trunc = _of(Tensor.trunc)
unflatten = _of(Tensor.unflatten)
unsqueeze = _of(Tensor.unsqueeze)
var = _of(Tensor.var)
zeros_like = _of(Tensor.zeros_like)

__all__ = [
    "abs",
    "all",
    "amax",
    "amin",
    "any",
    "arange",
    "argmax",
    "argmin",
    "argsort",
    "bernoulli",
    "bmm",
    "cat",
    "ceil",
    "chunk",
    "clamp",
    "clone",
    "cos",
    "cumsum",
    "dot",
    "dropout",
    "einsum",
    "erf",
    "exp",
    "exp2",
    "expm1",
    "eye",
    "flatten",
    "flip",
    "floor",
    "full",
    "full_like",
    "gather",
    "index_add",
    "index_select",
    "isfinite",
    "isinf",
    "isnan",
    "linspace",
    "log",
    "log1p",
    "log_softmax",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "logsumexp",
    "masked_fill",
    "matmul",
    "max",
    "maximum",
    "mean",
    "min",
    "minimum",
    "mm",
    "movedim",
    "multinomial",
    "norm",
    "one_hot",
    "ones",
    "ones_like",
    "outer",
    "permute",
    "pow",
    "prod",
    "rand",
    "rand_like",
    "randint",
    "randint_like",
    "randn",
    "randn_like",
    "reciprocal",
    "relu",
    "reshape",
    "roll",
    "round",
    "rsqrt",
    "sigmoid",
    "sign",
    "sin",
    "softmax",
    "softplus",
    "sort",
    "split",
    "sqrt",
    "squeeze",
    "stack",
    "std",
    "sum",
    "take_along_dim",
    "tanh",
    "tensordot",
    "topk",
    "transpose",
    "tril",
    "triu",
    "trunc",
    "unflatten",
    "unsqueeze",
    "var",
    "where",
    "zeros",
    "zeros_like",
]
