// RUN: limn-opt %s --split-input-file --verify-diagnostics | filecheck %s

nest.kernel @k(%x: memref<2x2xf32>) {
}
// CHECK: error: 'nest.kernel' has a buffer of type memref<2x2xf32>; nest memory is flat: memref<N x T>

// -----

nest.kernel @k(%x: memref<4xi64>) {
}
// CHECK: error: 'nest.kernel' has element type i64; nest knows f64, f32, f16, bf16, i32, i16, i8, i1

// -----

nest.kernel @k(%x: memref<9223372036854775808xf32>) {
}
// CHECK: error: 'nest.kernel' has a buffer of 9223372036854775808 elements; at most 2**60 can be addressed

// -----

nest.kernel @k(%x: memref<4xf32>) {
  nest.for %i = 0 to 2 {
    %0 = nest.load %x[%i * 99999999999999999999] : f32
  }
}
// CHECK: error: 'nest.load' has the number 99999999999999999999; indices are of 64 bits

// -----

nest.kernel @k(%x: memref<4xf32>) {
  nest.for %i = 0 to 99999999999999999999 {
  }
}
// CHECK: error: 'nest.for' has the number 99999999999999999999; indices are of 64 bits

// -----

"nest.kernel"() <{sym_name = "k"}> ({
  "nest.for"() <{lower = affine_map<() -> (0)>, upper = affine_map<(d0) -> (d0)>, step = 1 : i64, kind = "sequential"}> ({
  ^bb0(%i: index):
  }) : () -> ()
}) : () -> ()
// CHECK: error: 'nest.for' has 0 index values for a map of 1 dims and 0 symbols

// -----

nest.kernel @k(%x: memref<4xf32>) {
  %1 = nest.neg %0 : f32
  %0 = nest.load %x[0] : f32
}
// CHECK: error: operand 0 of 'nest.neg' uses a value before the 'nest.load' that defines it; move the definition up

// -----

"nest.kernel"() <{sym_name = "k"}> ({
  "nest.for"() <{lower = affine_map<() -> (0)>, upper = affine_map<() -> (4)>, step = 1 : i64, kind = "sequential"}> ({
  ^bb0(%i: i32):
  }) : () -> ()
}) : () -> ()
// CHECK: error: 'nest.for' has a body with arguments (i32); it takes one, its index

// -----

nest.kernel @k() {
  nest.for %i = 0 to 4 step 0 {
  }
}
// CHECK: error: 'nest.for' has step 0; it must be 1 or more

// -----

"nest.kernel"() <{sym_name = "k"}> ({
  "nest.for"() <{lower = affine_map<() -> (0)>, upper = affine_map<() -> (4)>, step = 1 : i64, kind = "sideways"}> ({
  ^bb0(%i: index):
  }) : () -> ()
}) : () -> ()
// CHECK: error: 'nest.for' has kind sideways; known are sequential, parallel, unrolled, vector, block.x, block.y, block.z, thread.x, thread.y, thread.z

// -----

nest.kernel @k() {
  nest.for %i = 0 to 4 parallel collapse 1 {
  }
}
// CHECK: error: 'nest.for' of kind parallel has collapse 1; 2 or more parallel loops collapse

// -----

"nest.kernel"() <{sym_name = "k"}> ({
  "nest.for"() <{lower = affine_map<(d0) -> (d0)>, upper = affine_map<() -> (4)>, step = 1 : i64, kind = "sequential"}> ({
  ^bb0(%i: index):
  }) : () -> ()
}) : () -> ()
// CHECK: error: 'nest.for' has 0 index values for a map of 1 dims and 0 symbols

// -----

"nest.kernel"() <{sym_name = "k"}> ({
  "nest.for"() <{lower = affine_map<() -> ()>, upper = affine_map<() -> (4)>, step = 1 : i64, kind = "sequential"}> ({
  ^bb0(%i: index):
  }) : () -> ()
}) : () -> ()
// CHECK: error: 'nest.for' has 0 lower and 1 upper bounds; it needs one or more of each

// -----

nest.kernel @k(%x: memref<4xf32>) {
  %0 = nest.load %x[0, 1] : f32
}
// CHECK: error: 2 subscripts of flat memory; it takes one

// -----

"nest.kernel"() <{sym_name = "k"}> ({
^bb0(%x: memref<4xf32>):
  %0 = "nest.load"(%x) <{at = affine_map<() -> (0, 1)>}> : (memref<4xf32>) -> f32
}) : () -> ()
// CHECK: error: 'nest.load' has 2 subscripts; nest memory is flat

// -----

nest.kernel @k(%x: memref<4xf32>) {
  nest.for %i = 0 to 8 {
    %0 = nest.load %x[%i] where [%i] in [0, 0] to [4] : f32
  }
}
// CHECK: error: 1 checks with 2 lower and 1 upper bounds

// -----

"nest.kernel"() <{sym_name = "k"}> ({
^bb0(%x: memref<4xf32>):
  %0 = "nest.load"(%x) <{at = affine_map<() -> (0)>, check_low = array<i64: 0>}> : (memref<4xf32>) -> f32
}) : () -> ()
// CHECK: error: 'nest.load' has 0 checks with 1 lower and 0 upper bounds

// -----

nest.kernel @k(%x: memref<4xf32>) {
  %0 = nest.load %x[4] : f32
}
// CHECK: error: 'nest.load' touches element 4 of 4

// -----

nest.kernel @k(%x: memref<4xf32>) {
  %0 = nest.const 1 : i32
  nest.store %0, %x[0] : i32
}
// CHECK: error: 'nest.store' has a value of type i32 for memref<4xf32>

// -----

"nest.kernel"() <{sym_name = "k"}> ({
^bb0(%x: memref<4xf32>):
  %0 = "nest.load"(%x) <{at = affine_map<() -> (0)>}> : (memref<4xf32>) -> i32
}) : () -> ()
// CHECK: error: 'nest.load' of memref<4xf32> cannot give i32

// -----

nest.kernel @k(%x: memref<4xf32>) {
  %0 = nest.load %x[0] : f64
}
// CHECK: error: 'nest.load' of memref<4xf32> cannot give f64

// -----

nest.kernel @k() {
  %0 = nest.load %x[0] : f32
}
// CHECK: error: this buffer is not defined above

// -----

nest.kernel @k(%x: memref<4xf32>) {
  %0 = nest.load %x[0] : f32
  nest.accumulate mean %0, %x[0] : f32
}
// CHECK: error: 'nest.accumulate' has kind mean; known are add, max, fma

// -----

"nest.kernel"() <{sym_name = "k"}> ({
^bb0(%x: memref<4xf32>):
  %0 = nest.load %x[0] : f32
  "nest.accumulate"(%0, %x) <{at = affine_map<() -> (0)>, kind = "fma", operandSegmentSizes = array<i32: 1, 0, 1, 0>}> : (f32, memref<4xf32>) -> ()
}) : () -> ()
// CHECK: error: 'nest.accumulate fma' takes 2 values, got 1

// -----

nest.kernel @k(%x: memref<4xi32>) {
  %0 = nest.const 1 : i32
  nest.accumulate fma %0, %0, %x[0] : i32
}
// CHECK: error: 'nest.accumulate fma' is not defined on i32; add the product

// -----

nest.kernel @k(%x: memref<4xf16>) {
  %0 = nest.const 1.0 : f16
  nest.accumulate add %0, %x[0] : f16
}
// CHECK: error: 'nest.accumulate' totals in f16; use memory of f32 or i32, as lower does

// -----

nest.kernel @k(%x: memref<4xbf16>) {
  %0 = nest.load %x[0] : bf16
  %1 = nest.add %0, %0 : bf16
}
// CHECK: error: 'nest.add' computes in bf16; widen to f32 first, as lower does

// -----

nest.kernel @k(%x: memref<4xf16>) {
  %0 = nest.load %x[0] : f16
  %1 = nest.cmplt %0, %0 : f16
}
// CHECK: error: 'nest.cmplt' computes in f16; widen to f32 first, as lower does

// -----

nest.kernel @k() {
  %0 = nest.scratch : memref<4xf32>
}
// CHECK: error: 'nest.scratch' of memref<4xf32> needs a space: one of register, stack, heap

// -----

nest.kernel @k(%x: memref<4xi32>) {
  %0 = nest.load %x[0] : i32
  %1 = nest.check_row %0 below 0 at [0] : i32
}
// CHECK: error: 'nest.check_row' has 1 positions and bound 0; it needs one and a bound of 1 or more

// -----

nest.kernel @k(%x: memref<4xi32>) {
  %0 = nest.load %x[0] : i32
  %1 = nest.check_row %0 below 3 at [0, 1] : i32
}
// CHECK: error: 2 positions of 'nest.check_row'; it takes one

// -----

nest.kernel @k() {
  %0 = nest.index [] : i32
}
// CHECK: error: 0 expressions of 'nest.index'; it takes one

// -----

"nest.kernel"() <{sym_name = "k"}> ({
  %0 = "nest.index"() <{at = affine_map<() -> (0, 1)>}> : () -> i32
}) : () -> ()
// CHECK: error: 'nest.index' has 2 expressions; it takes one

// -----

nest.kernel @k() {
  %0 = nest.index [3] : i64
}
// CHECK: error: 'nest.index' gives i32, not i64; cast it

// -----

"nest.kernel"() <{sym_name = "k"}> ({
  %0 = "nest.const"() <{value = 1.0 : f64}> : () -> f32
}) : () -> ()
// CHECK: error: value 1.000000e+00 : f64 of 'nest.const' is not of type f32

// -----

nest.kernel @k() {
  %0 = nest.const 300 : i8
}
// CHECK: error: 300 does not fit i8

// -----

nest.kernel @k(%x: memref<4xi1>) {
  %0 = nest.load %x[0] : i1
  %1 = nest.add %0, %0 : i1
}
// CHECK: error: 'nest.add' is not defined on i1

// -----

nest.kernel @k(%x: memref<4xi32>) {
  %0 = nest.load %x[0] : i32
  %1 = nest.div %0, %0 : i32
}
// CHECK: error: 'nest.div' is not defined on i32

// -----

nest.kernel @k(%x: memref<4xf32>) {
  %0 = nest.load %x[0] : f32
  %1 = nest.shl %0, %0 : f32
}
// CHECK: error: 'nest.shl' is not defined on f32

// -----

nest.kernel @k(%x: memref<4xf32>) {
  %0 = nest.load %x[0] : f32
  %1 = nest.and %0, %0 : f32
}
// CHECK: error: 'nest.and' is not defined on f32

// -----

"nest.kernel"() <{sym_name = "k"}> ({
^bb0(%x: memref<4xf32>):
  %0 = nest.load %x[0] : f32
  %1 = "nest.add"(%0, %0) : (f32, f32) -> f64
}) : () -> ()
// CHECK: error: result 'result' at position 0 does not verify: attribute f32 expected from variable 'T', but got f64

// -----

nest.kernel @k(%x: memref<4xf32>) {
  %0 = nest.load %x[0] : f32
  %1 = nest.bitcast %0 : f32 to i64
}
// CHECK: error: 'nest.bitcast' keeps the width: got f32 and i64

// -----

nest.plan @main(%x: memref<4xf32>) inputs 2 {
}
// CHECK: error: plan @main has 2 inputs but 1 arguments

// -----

nest.plan @main(%x: memref<4xf32>) inputs 0 arena {
}
// CHECK: error: plan @main has an arena of type memref<4xf32>; it must be bytes, memref<N x i8>

// -----

"nest.plan"() <{sym_name = "main", inputs = 1 : i64, commits = array<i64: 1>}> ({
^bb0(%x: memref<4xf32>, %y: memref<4xf32>):
}) : () -> ()
// CHECK: error: plan @main has commits [1], which are no pairs

// -----

nest.plan @main(%x: memref<4xf32>, %y: memref<4xf32>) inputs 1 commits [0 -> 1] {
}
// CHECK: error: plan @main commits 0 -> 1; it must go from an output, 1 to 1, to an input below 1

// -----

nest.plan @main(%x: memref<4xf32>, %y: memref<5xf32>) inputs 1 commits [1 -> 0] {
}
// CHECK: error: plan @main commits memref<5xf32> to memref<4xf32>

// -----

nest.plan @main(%x: memref<4xf32>, %y: memref<4xf32>, %z: memref<4xf32>) inputs 1 commits [1 -> 0, 2 -> 0] {
}
// CHECK: error: plan @main commits 1 -> 0 and 2 -> 0; a buffer takes one

// -----

nest.plan @main(%x: memref<4xf32>, %y: memref<4xf32>, %z: memref<4xf32>) inputs 2 commits [2 -> 0, 2 -> 1] {
}
// CHECK: error: plan @main commits 2 -> 0 and 2 -> 1; an output goes to one buffer

// -----

nest.plan @main(%x: memref<4xf32>) inputs 1 {
  %0 = nest.const 1.0 : f32
}
// CHECK: error: plan @main holds 'nest.const'; a plan holds alloc, slice and launch

// -----

nest.plan @main(%arena: memref<64xi8>) inputs 0 arena {
  %0 = nest.slice %arena[60] : memref<4xf32>
}
// CHECK: error: 'nest.slice' takes bytes 60 to 76 of memref<64xi8>

// -----

nest.plan @main(%x: memref<4xf32>) inputs 1 {
  nest.launch @missing(%x)
}
// CHECK: error: 'nest.launch' of @missing, which is no kernel of this module

// -----

nest.kernel @k(%x: memref<4xf32>) {
}
nest.plan @main(%x: memref<5xf32>) inputs 1 {
  nest.launch @k(%x)
}
// CHECK: error: 'nest.launch' of @k with (memref<5xf32>), the kernel takes (memref<4xf32>)

// -----

nest.plan @main(%arena: memref<64xi8>) inputs 0 arena {
  %0 = nest.slice %arena[0, 4] : memref<4xf32>
}
// CHECK: error: nest.slice takes one byte offset and has a memref type
