// RUN: limn-opt %s --split-input-file --verify-diagnostics | filecheck %s

"schedule.kernel"() <{sym_name = "k", function_type = () -> (), dim_names = [], extents = array<i64>, rows = 0 : i64, order = array<i64>}> ({
  "test.termop"() : () -> ()
}) : () -> ()
// CHECK: error: kernel @k ends in 'test.termop', not in 'schedule.yield'

// -----

schedule.kernel @k(%x: tensor<4xf32>) -> tensor<4xf32> dims [i0 = 4, i0 = 1] rows 0 order [0, 1] {
  %0 = graph.view %x strides [1, 0] : tensor<4xf32> -> tensor<4x1xf32>
  schedule.yield %0 : tensor<4x1xf32>
}
// CHECK: error: kernel @k has 2 dims but names ['i0', 'i0']; each dim needs a name of its own

// -----

schedule.kernel @k(%x: tensor<0xf32>) -> tensor<0xf32> dims [i0 = 0] rows 0 order [0] {
  %0 = graph.view %x strides [1] : tensor<0xf32> -> tensor<0xf32>
  schedule.yield %0 : tensor<0xf32>
}
// CHECK: error: kernel @k has extents [0]; each must be 1 or more

// -----

schedule.kernel @k(%x: tensor<4xf32>) -> tensor<4xf32> dims [i0 = 4] rows 0 order [1] {
  %0 = graph.view %x strides [1] : tensor<4xf32> -> tensor<4xf32>
  schedule.yield %0 : tensor<4xf32>
}
// CHECK: error: kernel @k has order [1], which is no permutation of 1 dims

// -----

schedule.kernel @k(%x: tensor<4xf32>) -> tensor<4xf32> dims [i0 = 4] rows 2 order [0] {
  %0 = graph.view %x strides [1] : tensor<4xf32> -> tensor<4xf32>
  schedule.yield %0 : tensor<4xf32>
}
// CHECK: error: kernel @k has rows 2 but 1 dims

// -----

"schedule.kernel"() <{sym_name = "k", function_type = (tensor<5xf32>) -> tensor<4xf32>, dim_names = ["i0"], extents = array<i64: 4>, rows = 0 : i64, order = array<i64: 0>}> ({
^bb0(%x: tensor<4xf32>):
  %0 = graph.view %x strides [1] : tensor<4xf32> -> tensor<4xf32>
  schedule.yield %0 : tensor<4xf32>
}) : () -> ()
// CHECK: error: kernel @k has arguments (tensor<4xf32>), its function type says (tensor<5xf32>)

// -----

schedule.kernel @k(%x: tensor<4xf32>) -> tensor<4xf32> dims [i0 = 4] rows 0 order [0] {
  schedule.yield
}
// CHECK: error: kernel @k yields 0 values but has 1 results

// -----

schedule.kernel @k(%x: tensor<4xf32>) -> tensor<5xf32> dims [i0 = 4] rows 0 order [0] {
  %0 = graph.view %x strides [1] : tensor<4xf32> -> tensor<4xf32>
  schedule.yield %0 : tensor<4xf32>
}
// CHECK: error: kernel @k yields tensor<4xf32> for result 0 of type tensor<5xf32>

// -----

schedule.kernel @k(%x: tensor<4xf32>) -> tensor<4xf32> dims [i0 = 4] rows 0 order [0] {
  schedule.yield %x : tensor<4xf32>
}
// CHECK: error: kernel @k yields its argument 0; load it with graph.view first

// -----

schedule.kernel @k(%x: tensor<4xf32>) -> tensor<4xf32> dims [i0 = 4] rows 0 order [0] {
  %1 = graph.neg %0 : tensor<4xf32>
  %0 = graph.view %x strides [1] : tensor<4xf32> -> tensor<4xf32>
  schedule.yield %1 : tensor<4xf32>
}
// CHECK: error: operand 0 of 'graph.neg' uses a value before the 'graph.view' that defines it; move the definition up

// -----

schedule.kernel @k(%x: tensor<4xf32>) -> tensor<4xf32> dims [i0 = 4] rows 0 order [0] {
  %0 = graph.view %x strides [1] : tensor<4xf32> -> tensor<4xf32>
  %1 = graph.contiguous %0 : tensor<4xf32>
  schedule.yield %1 : tensor<4xf32>
}
// CHECK: error: kernel @k holds 'graph.contiguous', which cannot be fused into a kernel

// -----

schedule.kernel @k(%x: tensor<4xf32>) -> tensor<4xf32> dims [i0 = 4] rows 0 order [0] {
  %0 = graph.neg %x : tensor<4xf32>
  schedule.yield %0 : tensor<4xf32>
}
// CHECK: error: kernel @k: 'graph.neg' uses an argument directly; load it with graph.view first

// -----

schedule.kernel @k(%x: tensor<4xf32>) -> tensor<4xf32> dims [i0 = 4] rows 0 order [0] {
  %0 = graph.view %x strides [1] : tensor<4xf32> -> tensor<4xf32>
  %1 = graph.view %x strides [0] : tensor<4xf32> -> tensor<1xf32>
  %2 = graph.cast %1 : tensor<1xf32> -> tensor<1xi32>
  %3 = schedule.gather %0[%2] strides [0] : tensor<4xf32>, tensor<1xi32> -> tensor<4xf32>
  schedule.yield %3 : tensor<4xf32>
}
// CHECK: error: kernel @k: the table of 'schedule.gather' must be an argument of the kernel

// -----

schedule.kernel @k(%x: tensor<4xf32>, %i: tensor<4xi32>) -> tensor<4xf32> dims [r0 = 4] rows 0 order [0] {
  %0 = graph.view %x strides [1] : tensor<4xf32> -> tensor<4xf32>
  %1 = graph.view %i strides [1] : tensor<4xi32> -> tensor<4xi32>
  %2 = schedule.scatter %0[%1] strides [0] : tensor<4xf32>, tensor<4xi32> -> tensor<4xf32>
  %3 = graph.neg %2 : tensor<4xf32>
  schedule.yield %3 : tensor<4xf32>
}
// CHECK: error: kernel @k: 'graph.neg' uses the result of a scatter; it can only be yielded

// -----

schedule.kernel @k(%x: tensor<4xf32>) -> tensor<2xf32> dims [i0 = 4] rows 0 order [0] {
  %0 = graph.view %x strides [1] : tensor<4xf32> -> tensor<2xf32>
  schedule.yield %0 : tensor<2xf32>
}
// CHECK: error: kernel @k: 'graph.view' has shape [2], not extents of the dims [4] or 1

// -----

schedule.kernel @k(%x: tensor<4x3xf32>) -> tensor<4x3xf32> dims [i0 = 4, i1 = 3] rows 0 order [0, 1] {
  %0 = graph.view %x strides [3, 1] : tensor<4x3xf32> -> tensor<4x3xf32>
  %1 = graph.view %0 strides [3, -1] offset 2 : tensor<4x3xf32> -> tensor<4x3xf32>
  schedule.yield %1 : tensor<4x3xf32>
}
// CHECK: error: kernel @k: 'graph.view' of a computed value may only repeat it along dims of extent 1: [4, 3] to [4, 3] with strides [3, 1], got [3, -1]

// -----

schedule.kernel @k(%x: tensor<4x3xf32>) -> tensor<4xf32> dims [i0 = 4, r1 = 3] rows 2 order [0, 1] {
  %0 = graph.view %x strides [3, 1] : tensor<4x3xf32> -> tensor<4x3xf32>
  %1 = graph.sum %0 axes [1] : tensor<4x3xf32> -> tensor<4x1xf32>
  schedule.yield %1 : tensor<4x1xf32>
}
// CHECK: error: kernel @k: 'graph.sum' reduces r1, one of the 2 shared rows

// -----

schedule.kernel @k(%x: tensor<4xf32>) -> tensor<4xf32> dims [r0 = 4] rows 0 order [0] {
  %0 = graph.view %x strides [1] : tensor<4xf32> -> tensor<4xf32>
  schedule.yield %0 : tensor<4xf32>
}
// CHECK: error: kernel @k names dim 0 r0; as a yield spans it, its name must begin with i

// -----

schedule.kernel @k(%x: tensor<4x3xf32>) -> tensor<4xf32> dims [i0 = 4, i1 = 3] rows 0 order [0, 1] {
  %0 = graph.view %x strides [3, 1] : tensor<4x3xf32> -> tensor<4x3xf32>
  %1 = graph.sum %0 axes [1] : tensor<4x3xf32> -> tensor<4x1xf32>
  schedule.yield %1 : tensor<4x1xf32>
}
// CHECK: error: kernel @k names dim 1 i1; as no yield spans it, its name must begin with r

// -----

func.func @main(%x: tensor<4xf32>) {
  %0 = schedule.launch @missing(%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return
}
// CHECK: error: 'schedule.launch' of @missing, which is no kernel of this module

// -----

schedule.kernel @k(%x: tensor<4xf32>) -> tensor<4xf32> dims [i0 = 4] rows 0 order [0] {
  %0 = graph.view %x strides [1] : tensor<4xf32> -> tensor<4xf32>
  schedule.yield %0 : tensor<4xf32>
}
func.func @main(%x: tensor<5xf32>) {
  %0 = schedule.launch @k(%x) : (tensor<5xf32>) -> tensor<4xf32>
  func.return
}
// CHECK: error: 'schedule.launch' of @k has type (tensor<5xf32>) -> tensor<4xf32>, but the kernel has (tensor<4xf32>) -> tensor<4xf32>

// -----

schedule.kernel @k(%x: tensor<4xf32>) -> f32 dims [i0 = 4] rows 0 order [0] {
  schedule.yield
}
// CHECK: error: the results of a kernel are tensors

// -----

schedule.kernel @k(%t: tensor<7x3xf32>, %i: tensor<5xi32>) -> tensor<5x3xf32> dims [i0 = 5, i1 = 3] rows 0 order [0, 1] {
  %0 = graph.view %i strides [1, 0] : tensor<5xi32> -> tensor<5x1xi32>
  %1 = schedule.gather %t[%0] strides [1] : tensor<7x3xf32>, tensor<5x1xi32> -> tensor<5x3xf32>
  schedule.yield %1 : tensor<5x3xf32>
}
// CHECK: error: 'schedule.gather' has 1 strides for 2 dims

// -----

schedule.kernel @k(%t: tensor<7x3xf32>, %i: tensor<5xi32>) -> tensor<5x3xf32> dims [i0 = 5, i1 = 3] rows 0 order [0, 1] {
  %0 = graph.view %i strides [1] : tensor<5xi32> -> tensor<5xi32>
  %1 = schedule.gather %t[%0] strides [0, 1] : tensor<7x3xf32>, tensor<5xi32> -> tensor<5x3xf32>
  schedule.yield %1 : tensor<5x3xf32>
}
// CHECK: error: 'schedule.gather' has rows of type tensor<5xi32> for cells of type tensor<5x3xf32>

// -----

schedule.kernel @k(%t: tensor<7x3xf32>, %i: tensor<5xi32>) -> tensor<5x3xi32> dims [i0 = 5, i1 = 3] rows 0 order [0, 1] {
  %0 = graph.view %i strides [1, 0] : tensor<5xi32> -> tensor<5x1xi32>
  %1 = schedule.gather %t[%0] strides [0, 1] : tensor<7x3xf32>, tensor<5x1xi32> -> tensor<5x3xi32>
  schedule.yield %1 : tensor<5x3xi32>
}
// CHECK: error: 'schedule.gather' of tensor<7x3xf32> cannot give tensor<5x3xi32>

// -----

schedule.kernel @k(%t: tensor<7x3xf32>, %i: tensor<5xi32>) -> tensor<5x3xf32> dims [i0 = 5, i1 = 3] rows 0 order [0, 1] {
  %0 = graph.view %i strides [1, 0] : tensor<5xi32> -> tensor<5x1xi32>
  %1 = schedule.gather %t[%0] strides [0, 1] offset 1 : tensor<7x3xf32>, tensor<5x1xi32> -> tensor<5x3xf32>
  schedule.yield %1 : tensor<5x3xf32>
}
// CHECK: error: 'schedule.gather' touches elements 1 to 3 of rows that have 3

// -----

schedule.kernel @k(%t: tensor<7x3xf32>, %i: tensor<5xf32>) -> tensor<5x3xf32> dims [i0 = 5, i1 = 3] rows 0 order [0, 1] {
  %0 = graph.view %i strides [1, 0] : tensor<5xf32> -> tensor<5x1xf32>
  %1 = schedule.gather %t[%0] strides [0, 1] : tensor<7x3xf32>, tensor<5x1xf32> -> tensor<5x3xf32>
  schedule.yield %1 : tensor<5x3xf32>
}
// CHECK: error: 'schedule.gather' needs row numbers of type i32, got f32; cast first

// -----

schedule.kernel @k(%x: tensor<5x2xf32>, %i: tensor<5xi32>) -> tensor<7x3xi32> dims [r0 = 5, i1 = 2] rows 0 order [0, 1] {
  %0 = graph.view %x strides [2, 1] : tensor<5x2xf32> -> tensor<5x2xf32>
  %1 = graph.view %i strides [1, 0] : tensor<5xi32> -> tensor<5x1xi32>
  %2 = schedule.scatter %0[%1] strides [0, 1] : tensor<5x2xf32>, tensor<5x1xi32> -> tensor<7x3xi32>
  schedule.yield %2 : tensor<7x3xi32>
}
// CHECK: error: 'schedule.scatter' of tensor<5x2xf32> cannot give tensor<7x3xi32>

// -----

schedule.kernel @k(%x: tensor<4xf32>) -> tensor<4xf32> dims [i0 = 4] rows 0 order [0] {
  %0 = graph.view %x strides [1] : tensor<4xf32> -> tensor<4xf32>
  %1 = "schedule.keep"(%0) : (tensor<4xf32>) -> tensor<5xf32>
  schedule.yield %0 : tensor<4xf32>
}
// CHECK: error: result 'result' at position 0 does not verify: attribute tensor<4xf32> expected from variable 'T', but got tensor<5xf32>
