"""The schedule interpreter: kernels by hand, against numpy."""

from __future__ import annotations

import numpy as np
import pytest
from xdsl.parser import Parser

from limn.interpreters.schedule import run
from limn.universe import make_context


def parse(text: str):
    module = Parser(make_context(), text).parse_module()
    module.verify()
    return module


SOFTMAX = """
schedule.kernel @softmax(%x: tensor<2x4xf32>) -> tensor<8xf32> dims [i0 = 2, i1 = 4] rows 1 order [0, 1] {
  %0 = graph.view %x strides [4, 1] : tensor<2x4xf32> -> tensor<2x4xf32>
  %1 = graph.exp %0 : tensor<2x4xf32>
  %2 = schedule.keep %1 : tensor<2x4xf32>
  %3 = graph.sum %2 axes [1] : tensor<2x4xf32> -> tensor<2x1xf32>
  %4 = graph.view %3 strides [1, 0] : tensor<2x1xf32> -> tensor<2x4xf32>
  %5 = graph.mul %2, recip %4 : tensor<2x4xf32>
  schedule.yield %5 : tensor<2x4xf32>
}
func.func @main(%x: tensor<2x4xf32>) -> tensor<4x2xf32> {
  %0 = schedule.launch @softmax(%x) because "requested output" : (tensor<2x4xf32>) -> tensor<8xf32>
  %1 = graph.view %0 strides [2, 1] : tensor<8xf32> -> tensor<4x2xf32>
  func.return %1 : tensor<4x2xf32>
}
"""


def test_a_result_is_the_yielded_value_in_row_major_order():
    x = np.arange(8, dtype=np.float32).reshape(2, 4) / 4
    e = np.exp(x)
    (got,) = run(parse(SOFTMAX), [x])
    np.testing.assert_allclose(got, (e / e.sum(1, keepdims=True)).reshape(4, 2), rtol=1e-6)


SUM = """
schedule.kernel @sum(%x: tensor<NxTYPE>) -> tensor<1xTYPE> dims [r0 = N] rows 0 order [0] {
  %0 = graph.view %x strides [1] : tensor<NxTYPE> -> tensor<NxTYPE>
  %1 = graph.sum %0 axes [0] : tensor<NxTYPE> -> tensor<1xTYPE>
  schedule.yield %1 : tensor<1xTYPE>
}
func.func @main(%x: tensor<NxTYPE>) -> tensor<1xTYPE> {
  %0 = schedule.launch @sum(%x) : (tensor<NxTYPE>) -> tensor<1xTYPE>
  func.return %0 : tensor<1xTYPE>
}
"""


def test_an_ascending_fold_rounds_after_each_term():
    module = parse(SUM.replace("N", "4").replace("TYPE", "f32"))
    x = np.array([1, 2**24, 1, 1], np.float32)
    assert run(module, [x])[0][0] == 2**24  # each 1 is lost in its turn
    assert run(module, [x], fold="wide")[0][0] == 2**24 + 4  # 2**24 + 3 rounded once, to even


ROWS = """
schedule.kernel @take(%t: tensor<3x2xf32>, %i: tensor<4xi32>) -> tensor<4x2xf32>
    dims [i0 = 4, i1 = 2] rows 0 order [0, 1] {
  %0 = graph.view %i strides [1, 0] : tensor<4xi32> -> tensor<4x1xi32>
  %1 = schedule.gather %t[%0] strides [0, -1] offset 1 : tensor<3x2xf32>, tensor<4x1xi32> -> tensor<4x2xf32>
  schedule.yield %1 : tensor<4x2xf32>
}
schedule.kernel @put(%v: tensor<4x2xf32>, %i: tensor<4xi32>) -> tensor<3x2xf32>
    dims [r0 = 4, i1 = 2] rows 0 order [0, 1] {
  %0 = graph.view %i strides [1, 0] : tensor<4xi32> -> tensor<4x1xi32>
  %1 = graph.view %v strides [2, 1] : tensor<4x2xf32> -> tensor<4x2xf32>
  %2 = schedule.scatter %1[%0] strides [0, 1] : tensor<4x2xf32>, tensor<4x1xi32> -> tensor<3x2xf32>
  schedule.yield %2 : tensor<3x2xf32>
}
func.func @main(%t: tensor<3x2xf32>, %i: tensor<4xi32>) -> tensor<4x2xf32> {
  %0 = schedule.launch @take(%t, %i) : (tensor<3x2xf32>, tensor<4xi32>) -> tensor<4x2xf32>
  %1 = schedule.launch @put(%0, %i) : (tensor<4x2xf32>, tensor<4xi32>) -> tensor<3x2xf32>
  %2 = graph.assign %t, %1 : tensor<3x2xf32>
  func.return %0 : tensor<4x2xf32>
}
"""


def test_rows_are_taken_put_and_assigned():
    t, i = np.arange(6, dtype=np.float32).reshape(3, 2), np.array([2, 0, 2, 2], np.int32)
    taken, assigned = run(parse(ROWS), [t, i])
    np.testing.assert_array_equal(taken, t[i][:, ::-1])
    want = np.zeros((3, 2), np.float32)
    np.add.at(want, i, t[i][:, ::-1])
    np.testing.assert_array_equal(assigned, want)


@pytest.mark.parametrize("row", [-1, 3])
def test_a_row_outside_the_table_is_an_index_error(row):
    t, i = np.zeros((3, 2), np.float32), np.array([0, row, 1, 7], np.int32)
    with pytest.raises(IndexError, match=f"row {row} .*0 to 2"):
        run(parse(ROWS), [t, i])


def test_a_function_is_chosen_by_name():
    module = parse(SUM.replace("N", "4").replace("TYPE", "i32") + "func.func @other() { func.return }")
    assert run(module, [], function="other") == []
    assert run(module, [np.arange(4, dtype=np.int32)], function="main")[0][0] == 6
