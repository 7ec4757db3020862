"""limn as an oracle of cases drives it: `run(case_id, inputs)` gives the answers by key, arrays or the
exceptions that were raised.

The cases are kinds of fault seen in public bug reports; test_cases.py holds limn's own form of them. Where a
file with further inputs and right values exists, `LIMN_CASES=path/to/oracle.py pytest tests/test_cases.py`
runs it through this adapter.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import limn
from limn import Tensor, float32, int32, realize

CASES: dict[str, Callable[[dict[str, np.ndarray]], dict[str, Any]]] = {}


def run(case_id: str, inputs: dict[str, np.ndarray]) -> dict[str, Any]:
    """What limn gives for a case; NotImplementedError where it does not have the feature."""
    if case_id not in CASES:
        raise NotImplementedError(case_id)
    return {key: _value(answer) for key, answer in CASES[case_id](inputs).items()}


def _value(answer: Any) -> Any:
    """A tensor's values, those of a function's result, or the exception on the way to them."""
    try:
        answer = answer() if callable(answer) else answer
        return answer.numpy() if isinstance(answer, Tensor) else answer
    except Exception as problem:
        return problem


def case(case_id: str):
    def add(function):
        CASES[case_id] = function
        return function

    return add


def leaf(array: np.ndarray) -> Tensor:
    return Tensor(array, requires_grad=True)


def gradient(function: Callable[[Tensor], Tensor], array: np.ndarray) -> np.ndarray:
    x = leaf(array)
    function(x).sum().backward()
    return x.grad.numpy()


def around(x: Tensor) -> Tensor:
    return x.pad([(1, 1)] * x.ndim)


@case("VIEW-01")
def _(i):
    x = Tensor(i["x"])
    p1 = x.pad(((2, 1), (0, 0), (0, 0))).reshape(3, 2, 2, 5).reshape(6, 10).reshape(2, 30)
    p2 = x.permute(1, 2, 0).pad(((0, 0), (2, 2), (0, 0))).reshape(2, 3, 3, 3)
    return {"p1": p1, "p1_sum_rows": p1.sum(1), "p2": p2.pad(((1, 0), (0, 0), (0, 0), (0, 0))).reshape(9, 9)}


@case("VIEW-02")
def _(i):
    grid = Tensor(i["x"]).permute(1, 0).reshape(10).pad(((3, 2),)).reshape(5, 3)
    return {"grid": grid, "window": grid[1:4].reshape(9).pad(((1, 1),))}


@case("FUSE-01")
def _(i):
    def go(array):
        a = Tensor(array)
        realize(a.assign(a.T + a * 2))
        return a

    return {key: go(array) for key, array in i.items()}


@case("FUSE-02")
def _(i):
    a, b, p, q, r, s, t = (Tensor(i[k]) for k in "abpqrst")
    new_a, new_b = b + 0, a + 0
    realize(a.assign(new_a), b.assign(new_b))
    new_p, new_q, new_r = q + 1, r * 2, p - 3
    realize(p.assign(new_p), q.assign(new_q), r.assign(new_r))
    new_s, new_t = s + t, s * t
    realize(s.assign(new_s), t.assign(new_t))
    return dict(zip("abpqrst", (a, b, p, q, r, s, t)))


@case("FUSE-03")
def _(i):
    x = Tensor(i["x"])
    return {
        "exp_of_pad": around(x).exp(),
        "pad_of_exp": around(x.exp()),
        "difference": around(x).exp() - around(x.exp()),
        "pad_of_log": around(x.log()),
        "pad_of_recip": around(1 / x),
        "sum_pad_of_log": around(x.log()).sum(),
        "row_sum_exp_of_pad": around(x).exp().sum(1),
        "max_pad_of_negative": around(-x).max(1),
        "pad_of_add": around(x + 1),
    }


@case("FUSE-04")
def _(i):
    w = Tensor(i["w"])
    y, s = w * 10, (w * w).sum()
    w.assign(w + 1).realize()
    return {"y": y, "s": s, "w": w}


@case("RED-01")
def _(i):
    f = Tensor(i["f"])
    answers = {"f": f.max(1), "f_all": f.max(), "one": Tensor(i["one"]).max(1)}
    for kind in ("i8", "i16", "i32", "f32"):
        row = Tensor(i["row_" + kind])
        prefixes = [row[: k + 1].max() for k in range(37)]
        answers["prefix_" + kind] = lambda prefixes=prefixes, row=row: (
            realize(*prefixes),
            np.array([p.item() for p in prefixes], row.dtype.numpy),
        )[1]
    for kind in ("i8", "i16", "i32"):
        edge = Tensor(i["edge_" + kind])
        answers["max_all_lowest_" + kind] = Tensor(np.full(5, i["edge_" + kind][0])).max()
        answers["min_" + kind] = edge.min()
        answers["minimum_" + kind] = edge.minimum(edge.flip(0))
    return answers


@case("RED-02")
def _(i):
    ones, tenth = Tensor(i["ones"]), Tensor(i["tenth"])
    return {"sum_ones": ones.sum(), "mean_ones": ones.mean(), "sum_tenth": tenth.sum(), "mean_tenth": tenth.mean()}


@case("NUM-01")
def _(i):
    onehot = Tensor(np.eye(3, dtype=np.float32)[i["target"]])

    def loss(z):
        return -(z.log_softmax(1) * onehot).sum() / 3

    z = Tensor(i["z"])
    return {
        "softmax": z.softmax(1),
        "log_softmax": z.log_softmax(1),
        "cross_entropy": loss(z),
        "d_cross_entropy": gradient(loss, i["z"]),
        "sigmoid": Tensor(i["t"]).sigmoid(),
        "d_sigmoid": gradient(Tensor.sigmoid, i["t"]),
        "tanh": Tensor(i["t"]).tanh(),
        "d_tanh": gradient(Tensor.tanh, i["t"]),
    }


@case("NUM-02")
def _(i):
    a, b = leaf(i["a"]), leaf(i["b"])
    ((Tensor(i["c"]) > 0).where(a, b) * Tensor(i["g"])).sum().backward()
    return {
        "d_guarded": gradient(lambda x: (x > 0).where((x > 0).where(x, 1.0).sqrt(), 0.0), i["x"]),
        "d_single": gradient(lambda x: (x > 0).where(x.log(), 0.0), i["x"]),
        "da": a.grad,
        "db": b.grad,
    }


@case("NUM-03")
def _(i):
    a, b = Tensor(i["a"]), Tensor(i["b"])
    answers = {"lt": a < b, "gt": a > b, "le": a <= b, "ge": a >= b, "eq": a == b, "ne": a != b}
    answers |= {"maximum": a.maximum(b), "minimum": a.minimum(b), "relu": a.relu(), "isnan_by_ne": a != a}
    return answers


@case("DT-01")
def _(i):
    h, big = Tensor(i["h1"]), Tensor(i["big"])
    return {
        "sum_f16": h.sum(),
        "mean_f16": h.mean(),
        "sum_bf16": Tensor(i["b5"]).sum(),
        "mean_big_f16": big.mean(),
        "dot_bf16": Tensor(i["row"]) @ Tensor(i["col"]),
        "softmax_bf16": Tensor(i["zeros512"]).softmax(),
        "sum_axis0_f16": Tensor(i["ones4096x3"]).sum(0),
    }


@case("DT-02")
def _(i):
    a, b, p, q, m = (Tensor(i[k]) for k in "abpqm")
    s = a + b
    return {
        "add_lt0": s < 0,
        "add_as_i32": s.cast(int32),
        "mul_gt0": (p * q) > 0,
        "mul_as_f32": (p * q).cast(float32),
        "neg_i8": -a,
        "where": (s < 0).where(s, 0),
        "stored_i8": s,
        "inc_gt": (m + 1) > m,
        "neg_i32": -m,
        "twice_i32": m + m,
        "row_max": s.max(),
    }


@case("DT-03")
def _(i):
    a, b, h, bf, f = (Tensor(i[k]) for k in ("i8", "i32", "f16", "bf16", "f32"))
    return {
        "i8_plus_1": a + 1,
        "i8_plus_1.5": a + 1.5,
        "f16_times_3.3": lambda: h * 3.3,
        "f16_plus_1": lambda: h + 1,
        "bf16_times_half": lambda: bf * 0.5,
        "f32_plus_2**63": f + 2**63,
        "scalar_minus_i8": 10 - a,
        "i32_div_i32": b / b,
        "one_div_i32": 1 / b,
        "mean_i32": b.mean(),
        "i32_plus_true": b + True,
        "i8_plus_200": lambda: a + 200,
        "i32_plus_2**40": lambda: b + 2**40,
    }


@case("IDX-01")
def _(i):
    store = np.full((15, 3), 777, np.float32)
    store[5:10] = i["table"]
    table = Tensor(store)[5:10]
    keys = ("good", "minus_one", "minus_five", "minus_six", "five", "huge", "lowest")
    return {key: table[Tensor(i["idx_" + key])] for key in keys}


@case("IDX-02")
def _(i):
    def go(array):
        table = leaf(array)
        (table[Tensor(i["idx"])] * Tensor(i["w"])).sum().backward()
        return table.grad

    return {"d_table": go(i["table"]), "d_table_again": go(i["table"])}


@case("AD-01")
def _(i):
    a = leaf(np.array(1.0))
    b = a + a
    (b + b).backward()
    x = leaf(i["x"])
    u = x * x
    ((u * x + u) * u).sum().backward()
    p, q = leaf(i["x"]), leaf(i["y"])
    m = p * q
    (m + m * m + m * (m * m)).sum().backward()
    return {"dc_da": a.grad, "dx": x.grad, "dx_three": p.grad, "dy_three": q.grad}


@case("AD-02")
def _(i):
    x = leaf(i["x"])
    loss = (x * x).sum()
    loss.backward()
    answers = {"once": x.grad.numpy()}
    loss.backward()
    answers["twice"] = x.grad.numpy()
    x.grad = None
    loss.backward()
    answers["cleared"] = x.grad
    q = leaf(i["x"])
    u = q * q
    u.sum().backward()
    (u * u).sum().backward()
    s = leaf(i["x"])
    (s * s.detach()).sum().backward()
    try:
        with limn.no_grad():
            raise KeyError
    except KeyError:
        pass
    e = leaf(i["x"])
    (e * e).sum().backward()

    def inside():
        f = leaf(i["x"])
        with limn.no_grad():
            y = (f * f).sum()
        y.backward()
        return f.grad

    return answers | {"two_losses": q.grad, "stopped": s.grad, "after_exception": e.grad, "inside_no_grad": inside}


@case("AD-03")
def _(i):
    t = {k: leaf(v) for k, v in i.items()}
    ((t["a"] * t["b"] + t["c"]) * t["d"] * t["e"]).sum().backward()
    (t["k"].expand(3, 5) * t["w"]).sum().backward()
    answers = {"d" + k: t[k].grad for k in "abcdek"}
    answers["dh_02"] = gradient(lambda h: h.mean((0, 2)) ** 2, i["h"])
    answers["dh_12"] = gradient(lambda h: h.mean((1, 2)) ** 2, i["h"])
    return answers


@case("GEN-02")
def _(i):
    kinds = {"f16": limn.float16, "bf16": limn.bfloat16, "f32": float32, "f64": limn.float64}
    inf, nan, answers = float("inf"), float("nan"), {}
    for name, dtype in kinds.items():
        x = Tensor(i["x"]).cast(dtype)
        answers |= {
            f"nan_{name}": (x > 0).where(x, nan),
            f"inf_{name}": (x > 0).where(Tensor.full((), inf, dtype), -inf),
            f"add_{name}": x + inf,
            f"mul_{name}": x * -inf,
            f"min_{name}": x.minimum(inf),
        }
    return answers


@case("GEN-03")
def _(i):
    if limn.get_device().name == "numpy":
        raise NotImplementedError("2.8e9 elements on the numpy device")
    a, b = Tensor(i["a"]).reshape(70000, 1), Tensor(i["b"]).reshape(1, 40000)
    return {"total": (a * b).sum(), "row_sums_tail": (a * b).sum(1)[69997:]}


import cases_tools  # noqa: E402, F401  registers more cases, by the decorator above
