// RUN: limn-opt %s --split-input-file --verify-diagnostics | filecheck %s

func.func @element_type(%a: tensor<4xi64>) {
  %0 = graph.neg %a : tensor<4xi64>
  func.return
}
// CHECK: error: operand 0 of 'graph.neg' has element type i64; graph knows f64, f32, f16, bf16, i32, i16, i8, i1

// -----

func.func @element_type_of_a_result(%a: tensor<4xf32>) {
  %0 = graph.cast %a : tensor<4xf32> -> tensor<4xi64>
  func.return
}
// CHECK: error: result 0 of 'graph.cast' has element type i64; graph knows f64, f32, f16, bf16, i32, i16, i8, i1

// -----

func.func @dynamic(%a: tensor<?xf32>) {
  %0 = graph.neg %a : tensor<?xf32>
  func.return
}
// CHECK: error: operand 0 of 'graph.neg' has type tensor<?xf32>; graph needs a static shape

// -----

func.func @uncountable(%a: tensor<4xf32>) {
  %0 = graph.view %a strides [0, 1] : tensor<4xf32> -> tensor<2305843009213693952x4xf32>
  func.return
}
// CHECK: error: result 0 of 'graph.view' has 9223372036854775808 elements; at most 2**60 can be counted in 64 bits

// -----

func.func @no_tensor(%a: f32) {
  %0 = "graph.neg"(%a) : (f32) -> f32
  func.return
}
// CHECK: error: operand 'operand' at position 0 does not verify: f32 should be of base attribute tensor

// -----

func.func @use_before_definition(%a: tensor<4xf32>) {
  %0 = graph.neg %1 : tensor<4xf32>
  %1 = graph.neg %a : tensor<4xf32>
  func.return
}
// CHECK: error: operand 0 of 'graph.neg' uses a value before the 'graph.neg' that defines it; move the definition up

// -----

func.func @const_type() {
  %0 = "graph.const"() <{value = 1.0 : f64}> : () -> tensor<4xf32>
  func.return
}
// CHECK: error: value 1.000000e+00 : f64 of 'graph.const' is not of type f32

// -----

func.func @const_fraction() {
  %0 = graph.const 1.5 : tensor<4xi32>
  func.return
}
// CHECK: error: 1.5 is not a whole number, as i32 needs

// -----

func.func @const_too_big() {
  %0 = graph.const 300 : tensor<4xi8>
  func.return
}
// CHECK: error: 300 does not fit i8

// -----

func.func @const_bool() {
  %0 = graph.const true : tensor<4xf32>
  func.return
}
// CHECK: error: true and false are of type i1, not f32

// -----

func.func @const_element() {
  %0 = graph.const 1 : tensor<4xi64>
  func.return
}
// CHECK: error: element type i64: limn knows f64, f32, f16, bf16, i32, i16, i8, i1

// -----

func.func @const_no_tensor() {
  %0 = graph.const 1.0 : f32
  func.return
}
// CHECK: error: expected a tensor type, got f32

// -----

func.func @view_element_type(%a: tensor<4xf32>) {
  %0 = graph.view %a strides [1] : tensor<4xf32> -> tensor<4xi32>
  func.return
}
// CHECK: error: 'graph.view' keeps the element type: got f32 and i32

// -----

func.func @view_strides(%a: tensor<4xf32>) {
  %0 = graph.view %a strides [1, 0] : tensor<4xf32> -> tensor<4xf32>
  func.return
}
// CHECK: error: 'graph.view' has 2 strides for a result of rank 1

// -----

func.func @view_half_a_mask(%a: tensor<4xf32>) {
  %0 = "graph.view"(%a) <{strides = array<i64: 1>, mask_low = array<i64: 0>}> : (tensor<4xf32>) -> tensor<4xf32>
  func.return
}
// CHECK: error: 'graph.view' has a mask from [0] to none; it needs both ends or neither

// -----

func.func @view_mask_rank(%a: tensor<4xf32>) {
  %0 = graph.view %a strides [1] mask [0, 0] to [4, 4] : tensor<4xf32> -> tensor<4xf32>
  func.return
}
// CHECK: error: 'graph.view' has a mask of rank (2, 2) for a result of rank 1

// -----

func.func @view_mask_bounds(%a: tensor<4xf32>) {
  %0 = graph.view %a strides [1] mask [1] to [6] : tensor<4xf32> -> tensor<5xf32>
  func.return
}
// CHECK: error: 'graph.view' masks dim 0 of extent 5 to [1, 6)

// -----

func.func @view_past_the_end(%a: tensor<4xf32>) {
  %0 = graph.view %a strides [1] offset 1 : tensor<4xf32> -> tensor<4xf32>
  func.return
}
// CHECK: error: 'graph.view' reads elements 1 to 4 of a source that has 4

// -----

func.func @view_before_the_start(%a: tensor<4xf32>) {
  %0 = graph.view %a strides [-1] offset 2 : tensor<4xf32> -> tensor<4xf32>
  func.return
}
// CHECK: error: 'graph.view' reads elements -1 to 2 of a source that has 4

// -----

func.func @exp_of_integers(%a: tensor<4xi32>) {
  %0 = graph.exp %a : tensor<4xi32>
  func.return
}
// CHECK: error: 'graph.exp' needs a float type, got i32; cast first

// -----

func.func @negated_bool(%a: tensor<4xi1>) {
  %0 = graph.neg %a : tensor<4xi1>
  func.return
}
// CHECK: error: 'graph.neg' is not defined on i1; cast to i32 first

// -----

func.func @unary_types(%a: tensor<4xf32>) {
  %0 = "graph.sqrt"(%a) : (tensor<4xf32>) -> tensor<5xf32>
  func.return
}
// CHECK: error: result 'result' at position 0 does not verify: attribute tensor<4xf32> expected from variable 'T', but got tensor<5xf32>

// -----

func.func @cast_shape(%a: tensor<4xf32>) {
  %0 = graph.cast %a : tensor<4xf32> -> tensor<5xi32>
  func.return
}
// CHECK: error: 'graph.cast' keeps the shape: got tensor<4xf32> and tensor<5xi32>

// -----

func.func @binary_types(%a: tensor<4xf32>, %b: tensor<1xf32>) {
  %0 = "graph.add"(%a, %b) : (tensor<4xf32>, tensor<1xf32>) -> tensor<4xf32>
  func.return
}
// CHECK: error: operand 'rhs' at position 1 does not verify: attribute tensor<4xf32> expected from variable 'T', but got tensor<1xf32>

// -----

func.func @integer_division(%a: tensor<4xi32>) {
  %0 = graph.mul %a, recip %a : tensor<4xi32>
  func.return
}
// CHECK: error: 'graph.mul' by a recip needs a float type, got i32; cast first

// -----

func.func @cmplt_result(%a: tensor<4xf32>) {
  %0 = "graph.cmplt"(%a, %a) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return
}
// CHECK: error: 'graph.cmplt' of tensor<4xf32> gives i1 of that shape, not tensor<4xf32>

// -----

func.func @cmplt_no_tensor(%a: f32) {
  %0 = graph.cmplt %a, %a : f32
  func.return
}
// CHECK: error: expected a tensor type, got f32

// -----

func.func @where_condition(%c: tensor<1xi1>, %a: tensor<4xf32>) {
  %0 = "graph.where"(%c, %a, %a) : (tensor<1xi1>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return
}
// CHECK: error: 'graph.where' of tensor<4xf32> needs a condition of i1 in that shape, got tensor<1xi1>

// -----

func.func @where_no_tensor(%c: i1, %a: f32) {
  %0 = graph.where %c, %a, %a : f32
  func.return
}
// CHECK: error: expected a tensor type, got f32

// -----

func.func @axes_order(%a: tensor<4x5xf32>) {
  %0 = graph.sum %a axes [1, 0] : tensor<4x5xf32> -> tensor<1x1xf32>
  func.return
}
// CHECK: error: 'graph.sum' has axes [1, 0]; they must ascend and lie in 0 to 1

// -----

func.func @axes_range(%a: tensor<4x5xf32>) {
  %0 = graph.max %a axes [2] : tensor<4x5xf32> -> tensor<4x5xf32>
  func.return
}
// CHECK: error: 'graph.max' has axes [2]; they must ascend and lie in 0 to 1

// -----

func.func @reduced_type(%a: tensor<4x5xf32>) {
  %0 = graph.sum %a axes [1] : tensor<4x5xf32> -> tensor<4xf32>
  func.return
}
// CHECK: error: 'graph.sum' of tensor<4x5xf32> over axes [1] gives tensor<4x1xf32>, not tensor<4xf32>

// -----

func.func @sum_of_bools(%a: tensor<4xi1>) {
  %0 = graph.sum %a axes [0] : tensor<4xi1> -> tensor<1xi1>
  func.return
}
// CHECK: error: 'graph.sum' is not defined on i1; cast to i32 first

// -----

func.func @gather_scalar(%a: tensor<f32>, %i: tensor<5xi32>) {
  %0 = graph.gather %a, %i : tensor<f32>, tensor<5xi32> -> tensor<5xf32>
  func.return
}
// CHECK: error: 'graph.gather' needs a table with rows, got tensor<f32>

// -----

func.func @gather_result(%a: tensor<7x3xf32>, %i: tensor<5xi32>) {
  %0 = graph.gather %a, %i : tensor<7x3xf32>, tensor<5xi32> -> tensor<5x7xf32>
  func.return
}
// CHECK: error: 'graph.gather' of tensor<7x3xf32> at tensor<5xi32> gives tensor<5x3xf32>, not tensor<5x7xf32>

// -----

func.func @gather_index(%a: tensor<7x3xf32>, %i: tensor<5xf32>) {
  %0 = graph.gather %a, %i : tensor<7x3xf32>, tensor<5xf32> -> tensor<5x3xf32>
  func.return
}
// CHECK: error: 'graph.gather' needs row numbers of type i32, got f32; cast first

// -----

func.func @scatter_result(%a: tensor<5x3xf32>, %i: tensor<5xi32>) {
  %0 = graph.scatter %a, %i : tensor<5x3xf32>, tensor<5xi32> -> tensor<7x4xf32>
  func.return
}
// CHECK: error: 'graph.scatter' of tensor<5x3xf32> at tensor<5xi32> cannot give tensor<7x4xf32>

// -----

func.func @assign_to_a_value(%a: tensor<4xf32>) {
  %0 = graph.neg %a : tensor<4xf32>
  %1 = graph.assign %0, %a : tensor<4xf32>
  func.return
}
// CHECK: error: 'graph.assign' needs a function argument as its target, got a computed value

// -----

func.func @assign_twice(%a: tensor<4xf32>) {
  %0 = graph.neg %a : tensor<4xf32>
  %1 = graph.assign %a, %0 : tensor<4xf32>
  %2 = graph.assign %a, %0 : tensor<4xf32>
  func.return
}
// CHECK: error: 'graph.assign' has a target that another assign writes; assign it once
