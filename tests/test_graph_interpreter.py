"""The graph interpreter, op by op, against numpy by hand; both ways of folding."""

import math

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import Builtin
from xdsl.dialects.func import Func, FuncOp
from xdsl.parser import Parser

from limn.dialects.graph import Graph
from limn.interpreters.graph import TABLE, run

INF, NAN = math.inf, math.nan


def graph(*arrays, fold="wide", text):
    """Run the one function of a module's text."""
    context = Context()
    for dialect in (Builtin, Func, Graph):
        context.load_dialect(dialect)
    module = Parser(context, text).parse_module()
    module.verify()
    func = next(op for op in module.ops if isinstance(op, FuncOp))
    return run(func, [np.asarray(a) for a in arrays], fold)


def unary(op, array, kind="f32"):
    kind = "tensor<" + "x".join([*map(str, array.shape), kind]) + ">"
    text = f"func.func @main(%a: {kind}) -> {kind} {{ %r = graph.{op} %a : {kind} func.return %r : {kind} }}"
    return graph(array, text=text)[0]


def reduce(op, array, axes, kind="f32", fold="wide"):
    kept = [1 if d in axes else n for d, n in enumerate(array.shape)]
    types = ["tensor<" + "x".join([*map(str, s), kind]) + ">" for s in (array.shape, kept)]
    text = f"""func.func @main(%a: {types[0]}) -> {types[1]} {{
      %r = graph.{op} %a axes {list(axes)} : {types[0]} -> {types[1]}  func.return %r : {types[1]} }}"""
    return graph(array, fold=fold, text=text)[0]


def cast(array, source, target):
    a, b = (f"tensor<{array.size}x{k}>" for k in (source, target))
    text = f"func.func @main(%a: {a}) -> {b} {{ %r = graph.cast %a : {a} -> {b} func.return %r : {b} }}"
    return graph(array, text=text)[0]


def test_every_op_has_an_entry():
    assert set(TABLE) == set(Graph.operations)


@pytest.mark.parametrize(
    ("op", "numpy"),
    [("neg", np.negative), ("exp", np.exp), ("log", np.log), ("sqrt", np.sqrt), ("recip", np.reciprocal)],
)
@pytest.mark.parametrize(("kind", "dtype"), [("f32", np.float32), ("f64", np.float64)])
def test_unary_ops_are_numpys_with_no_warning(op, numpy, kind, dtype):
    x = np.array([0.0, -0.0, 1.5, -2.0, INF, -INF, NAN, 1e30], dtype)
    got = unary(op, x, kind)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(got, numpy(x))
    assert got.dtype == dtype


def test_ints_wrap():
    low = np.array([-(2**31), 2**31 - 1], np.int32)
    assert unary("neg", low, "i32").tolist() == [-(2**31), -(2**31) + 1]
    text = """func.func @main(%a: tensor<2xi32>) -> (tensor<2xi32>, tensor<2xi32>) {
      %s = graph.add %a, %a : tensor<2xi32>  %p = graph.mul %a, %a : tensor<2xi32>
      func.return %s, %p : tensor<2xi32>, tensor<2xi32> }"""
    total, product = graph(low, text=text)
    assert total.tolist() == [0, -2]
    assert product.tolist() == [0, 1]
    assert reduce("sum", np.array([2**31 - 1, 1], np.int32), [0], "i32").tolist() == [-(2**31)]


def test_mul_by_a_recip_is_division_rounded_once():
    text = """func.func @main(%a: tensor<999xf32>) -> tensor<999xf32> {
      %q = graph.mul %a, recip %a : tensor<999xf32>  func.return %q : tensor<999xf32> }"""
    n = np.arange(1, 1000, dtype=np.float32)
    assert (graph(n, text=text)[0] == 1).all()
    assert (n * (np.float32(1) / n) != 1).sum() > 100  # which a product with a rounded reciprocal is not


def test_cmplt_is_false_with_nan_and_where_selects():
    text = """func.func @main(%a: tensor<4xf32>, %b: tensor<4xf32>) -> (tensor<4xi1>, tensor<4xf32>) {
      %c = graph.cmplt %a, %b : tensor<4xf32>  %w = graph.where %c, %a, %b : tensor<4xf32>
      func.return %c, %w : tensor<4xi1>, tensor<4xf32> }"""
    a, b = np.array([1, NAN, 2, NAN], np.float32), np.array([2, 1, NAN, NAN], np.float32)
    less, picked = graph(a, b, text=text)
    assert less.tolist() == [True, False, False, False]
    np.testing.assert_array_equal(picked, np.float32([1, 1, NAN, NAN]))


def test_float_to_int_cuts_saturates_and_nan_is_zero():
    x = np.array([1.9, -1.9, 3e9, -3e9, INF, -INF, NAN, -0.0], np.float32)
    want = [1, -1, 2**31 - 1, -(2**31), 2**31 - 1, -(2**31), 0, 0]
    assert cast(x, "f32", "i32").tolist() == want
    assert cast(x.astype(np.float64), "f64", "i32").tolist() == want
    assert cast(x, "f32", "i8").tolist() == [1, -1, 127, -128, 127, -128, 0, 0]


def test_other_casts():
    assert cast(np.array([300, -129, 127], np.int32), "i32", "i8").tolist() == [44, 127, 127]
    assert cast(np.array([0.0, -0.0, NAN, 0.1], np.float32), "f32", "i1").tolist() == [False, False, True, True]
    assert cast(np.array([True, False]), "i1", "f32").tolist() == [1, 0]
    assert cast(np.array([2**24 + 1], np.int32), "i32", "f32").tolist() == [2**24]


@pytest.mark.parametrize("fold", ["wide", "ascending"])
def test_max_keeps_nan_and_starts_from_the_lowest(fold):
    x = np.array([[1, NAN, 3], [-INF, -INF, -INF], [-5, -4, -6]], np.float32)
    np.testing.assert_array_equal(reduce("max", x, [1], fold=fold)[:, 0], np.float32([NAN, -INF, -4]))
    ints = np.full((2, 3), -(2**31), np.int32)
    assert reduce("max", ints, [0, 1], "i32", fold).tolist() == [[-(2**31)]]
    assert reduce("max", np.array([[False, True], [False, False]]), [1], "i1", fold)[:, 0].tolist() == [True, False]


def test_wide_sums_are_rounded_once():
    x = np.full(2**20, 0.1, np.float32)
    assert reduce("sum", x, [0])[0] == np.float32(float(np.float32(0.1)) * 2**20)


def test_ascending_sums_fold_in_row_major_order_from_zero():
    rng = np.random.default_rng(0)
    x = (rng.standard_normal((3, 4, 5)) * 10.0 ** rng.integers(-6, 6, (3, 4, 5))).astype(np.float32)
    for axes in ([0], [1], [2], [0, 2], [1, 2], [0, 1, 2]):
        got = reduce("sum", x, axes, fold="ascending")
        want = np.zeros(got.shape, np.float32)
        for i in np.ndindex(*x.shape):
            cell = tuple(0 if d in axes else k for d, k in enumerate(i))
            want[cell] = want[cell] + x[i]
        assert got.tobytes() == want.tobytes()
    assert math.copysign(1, reduce("sum", np.array([-0.0], np.float32), [0], fold="ascending")[0]) == 1


@pytest.mark.parametrize(("kind", "dtype"), [("f16", np.float16), ("bf16", "bfloat16")])
def test_halves_compute_in_float32_and_round_once(kind, dtype):
    import ml_dtypes

    dtype = np.dtype(ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype)
    x = np.linspace(-3, 3, 40).astype(dtype)
    np.testing.assert_array_equal(unary("exp", x, kind), np.exp(x.astype(np.float32)).astype(dtype))
    ones = np.ones(4096, dtype)
    for fold in ("wide", "ascending"):
        assert reduce("sum", ones, [0], kind, fold)[0] == 4096


def test_a_view_reads_with_strides_offset_and_mask():
    text = """func.func @main(%a: tensor<2x3xf32>) -> (tensor<3x4xf32>, tensor<2x3xf32>, tensor<2xf32>) {
      %p = graph.view %a strides [1, 3] offset -3 mask [0, 1] to [3, 3] : tensor<2x3xf32> -> tensor<3x4xf32>
      %b = graph.view %a strides [-3, -1] offset 5 : tensor<2x3xf32> -> tensor<2x3xf32>
      %n = graph.view %a strides [0] mask [0] to [0] : tensor<2x3xf32> -> tensor<2xf32>
      func.return %p, %b, %n : tensor<3x4xf32>, tensor<2x3xf32>, tensor<2xf32> }"""
    a = np.arange(1, 7, dtype=np.float32).reshape(2, 3)
    padded, backwards, nothing = graph(a, text=text)
    np.testing.assert_array_equal(padded, np.pad(a.T, ((0, 0), (1, 1))))
    np.testing.assert_array_equal(backwards, a[::-1, ::-1])
    assert nothing.tolist() == [0, 0]


def test_gather_and_scatter_with_their_errors():
    text = """func.func @main(%t: tensor<4x2xf32>, %i: tensor<3xi32>) -> (tensor<3x2xf32>, tensor<4x2xf32>) {
      %g = graph.gather %t, %i : tensor<4x2xf32>, tensor<3xi32> -> tensor<3x2xf32>
      %s = graph.scatter %g, %i : tensor<3x2xf32>, tensor<3xi32> -> tensor<4x2xf32>
      func.return %g, %s : tensor<3x2xf32>, tensor<4x2xf32> }"""
    table = np.arange(8, dtype=np.float32).reshape(4, 2)
    got, back = graph(table, np.array([3, 1, 3], np.int32), text=text)
    assert got.tolist() == [[6, 7], [2, 3], [6, 7]]
    assert back.tolist() == [[0, 0], [2, 3], [0, 0], [12, 14]]
    with pytest.raises(IndexError, match="row 4 is outside the table, which has rows 0 to 3"):
        graph(table, np.array([0, 4, -1], np.int32), text=text)


def test_assign_gives_the_new_version_after_the_results():
    text = """func.func @main(%w: tensor<2xf32>) -> tensor<2xf32> {
      %c = graph.const 1.0 : tensor<2xf32>
      %n = graph.add %w, %c : tensor<2xf32>
      %v = graph.assign %w, %n : tensor<2xf32>
      func.return %w : tensor<2xf32> }"""
    old, new = graph(np.array([1, 2], np.float32), text=text)
    assert old.tolist() == [1, 2]
    assert new.tolist() == [2, 3]


def test_constants_and_copies():
    text = """func.func @main(%a: tensor<2xf32>) -> (tensor<2x2xi32>, tensor<f32>, tensor<2xi1>,
    tensor<2xf32>) {
      %i = graph.const -3 : tensor<2x2xi32>   %f = graph.const 0.1 : tensor<f32>   %b = graph.const true :
      tensor<2xi1> %c = graph.contiguous %a : tensor<2xf32>
      func.return %i, %f, %b, %c : tensor<2x2xi32>, tensor<f32>, tensor<2xi1>, tensor<2xf32> }"""
    a = np.array([1, 2], np.float32)
    ints, number, flags, copy = graph(a, text=text)
    assert ints.tolist() == [[-3, -3], [-3, -3]]
    assert number == np.float32(0.1)
    assert flags.tolist() == [True, True]
    assert copy.tolist() == [1, 2]
    assert not np.shares_memory(copy, a)


def test_a_custom_kernel_without_a_numpy_meaning_is_named():
    text = """func.func @main(%a: tensor<2xf32>) -> tensor<2xf32> {
      %r = graph.custom "frobnicate"(%a) : (tensor<2xf32>) -> tensor<2xf32>
      func.return %r : tensor<2xf32> }"""
    with pytest.raises(NotImplementedError, match="frobnicate"):
        graph(np.zeros(2, np.float32), text=text)
