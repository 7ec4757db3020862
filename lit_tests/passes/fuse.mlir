// RUN: limn-opt --pass fuse --split-input-file --verify-diagnostics %s | filecheck %s

// Elementwise ops and what they load are one kernel; a row of it, b, is repeated by its load.
func.func @elementwise(%x: tensor<4x5xf32>, %b: tensor<5xf32>) -> tensor<4x5xf32> {
  %rows = graph.view %b strides [0, 1] : tensor<5xf32> -> tensor<4x5xf32>
  %sum = graph.add %x, %rows : tensor<4x5xf32>
  %e = graph.exp %sum : tensor<4x5xf32>
  func.return %e : tensor<4x5xf32>
}
// CHECK:      schedule.kernel @k0(%x: tensor<4x5xf32>, %b: tensor<5xf32>) -> tensor<4x5xf32> dims [i0 = 4, i1 = 5] rows 0 order [0, 1] {
// CHECK-NEXT:   %0 = graph.view %x strides [5, 1] : tensor<4x5xf32> -> tensor<4x5xf32>
// CHECK-NEXT:   %1 = graph.view %b strides [0, 1] : tensor<5xf32> -> tensor<4x5xf32>
// CHECK-NEXT:   %sum = graph.add %0, %1 : tensor<4x5xf32>
// CHECK-NEXT:   %e = graph.exp %sum : tensor<4x5xf32>
// CHECK-NEXT:   schedule.yield %e : tensor<4x5xf32>
// CHECK-NEXT: }
// CHECK-NEXT: func.func @elementwise(%x: tensor<4x5xf32>, %b: tensor<5xf32>) -> tensor<4x5xf32> {
// CHECK-NEXT:   %e = schedule.launch @k0(%x, %b) because "requested output" : (tensor<4x5xf32>, tensor<5xf32>) -> tensor<4x5xf32>
// CHECK-NEXT:   func.return %e : tensor<4x5xf32>
// CHECK-NEXT: }

// -----

// Bias and relu ride with a matrix product; the view that drops the folded dim is free.
func.func @matmul(%x: tensor<4x6xf32>, %w: tensor<6x3xf32>, %b: tensor<3xf32>) -> tensor<4x3xf32> {
  %xs = graph.view %x strides [6, 0, 1] : tensor<4x6xf32> -> tensor<4x3x6xf32>
  %ws = graph.view %w strides [0, 1, 3] : tensor<6x3xf32> -> tensor<4x3x6xf32>
  %p = graph.mul %xs, %ws : tensor<4x3x6xf32>
  %s = graph.sum %p axes [2] : tensor<4x3x6xf32> -> tensor<4x3x1xf32>
  %h = graph.view %s strides [3, 1] : tensor<4x3x1xf32> -> tensor<4x3xf32>
  %bs = graph.view %b strides [0, 1] : tensor<3xf32> -> tensor<4x3xf32>
  %z = graph.add %h, %bs : tensor<4x3xf32>
  %zero = graph.const 0.0 : tensor<4x3xf32>
  %positive = graph.cmplt %zero, %z : tensor<4x3xf32>
  %r = graph.where %positive, %z, %zero : tensor<4x3xf32>
  func.return %r : tensor<4x3xf32>
}
// CHECK:      schedule.kernel @k0(%x: tensor<4x6xf32>, %w: tensor<6x3xf32>, %b: tensor<3xf32>) -> tensor<4x3xf32> dims [i0 = 4, i1 = 3, r2 = 6] rows 2 order [0, 1, 2] {
// CHECK-NEXT:   %0 = graph.view %x strides [6, 0, 1] : tensor<4x6xf32> -> tensor<4x3x6xf32>
// CHECK-NEXT:   %1 = graph.view %w strides [0, 1, 3] : tensor<6x3xf32> -> tensor<4x3x6xf32>
// CHECK-NEXT:   %p = graph.mul %0, %1 : tensor<4x3x6xf32>
// CHECK-NEXT:   %s = graph.sum %p axes [2] : tensor<4x3x6xf32> -> tensor<4x3x1xf32>
// CHECK-NEXT:   %2 = graph.view %b strides [0, 1, 0] : tensor<3xf32> -> tensor<4x3x1xf32>
// CHECK-NEXT:   %z = graph.add %s, %2 : tensor<4x3x1xf32>
// CHECK-NEXT:   %3 = graph.const 0.000000e+00 : tensor<4x3x1xf32>
// CHECK-NEXT:   %positive = graph.cmplt %3, %z : tensor<4x3x1xf32>
// CHECK-NEXT:   %r = graph.where %positive, %z, %3 : tensor<4x3x1xf32>
// CHECK-NEXT:   schedule.yield %r : tensor<4x3x1xf32>
// CHECK-NEXT: }
// CHECK-NEXT: func.func @matmul(%x: tensor<4x6xf32>, %w: tensor<6x3xf32>, %b: tensor<3xf32>) -> tensor<4x3xf32> {
// CHECK-NEXT:   %r = schedule.launch @k0(%x, %w, %b) because "requested output" : (tensor<4x6xf32>, tensor<6x3xf32>, tensor<3xf32>) -> tensor<4x3xf32>
// CHECK-NEXT:   func.return %r : tensor<4x3xf32>
// CHECK-NEXT: }

// -----

// The phases of a softmax share its rows; the exponentials are kept, so that the input is read twice.
func.func @softmax(%x: tensor<8x10xf32>) -> tensor<8x10xf32> {
  %m = graph.max %x axes [1] : tensor<8x10xf32> -> tensor<8x1xf32>
  %n = graph.neg %m : tensor<8x1xf32>
  %ns = graph.view %n strides [1, 0] : tensor<8x1xf32> -> tensor<8x10xf32>
  %d = graph.add %x, %ns : tensor<8x10xf32>
  %e = graph.exp %d : tensor<8x10xf32>
  %t = graph.sum %e axes [1] : tensor<8x10xf32> -> tensor<8x1xf32>
  %ts = graph.view %t strides [1, 0] : tensor<8x1xf32> -> tensor<8x10xf32>
  %q = graph.mul %e, recip %ts : tensor<8x10xf32>
  func.return %q : tensor<8x10xf32>
}
// CHECK:      schedule.kernel @k0(%x: tensor<8x10xf32>) -> tensor<8x10xf32> dims [i0 = 8, i1 = 10] rows 1 order [0, 1] {
// CHECK-NEXT:   %0 = graph.view %x strides [10, 1] : tensor<8x10xf32> -> tensor<8x10xf32>
// CHECK-NEXT:   %m = graph.max %0 axes [1] : tensor<8x10xf32> -> tensor<8x1xf32>
// CHECK-NEXT:   %n = graph.neg %m : tensor<8x1xf32>
// CHECK-NEXT:   %1 = graph.view %n strides [1, 0] : tensor<8x1xf32> -> tensor<8x10xf32>
// CHECK-NEXT:   %d = graph.add %0, %1 : tensor<8x10xf32>
// CHECK-NEXT:   %e = graph.exp %d : tensor<8x10xf32>
// CHECK-NEXT:   %2 = schedule.keep %e : tensor<8x10xf32>
// CHECK-NEXT:   %t = graph.sum %2 axes [1] : tensor<8x10xf32> -> tensor<8x1xf32>
// CHECK-NEXT:   %3 = graph.view %t strides [1, 0] : tensor<8x1xf32> -> tensor<8x10xf32>
// CHECK-NEXT:   %q = graph.mul %2, recip %3 : tensor<8x10xf32>
// CHECK-NEXT:   schedule.yield %q : tensor<8x10xf32>
// CHECK-NEXT: }
// CHECK-NEXT: func.func @softmax(%x: tensor<8x10xf32>) -> tensor<8x10xf32> {
// CHECK-NEXT:   %q = schedule.launch @k0(%x) because "requested output" : (tensor<8x10xf32>) -> tensor<8x10xf32>
// CHECK-NEXT:   func.return %q : tensor<8x10xf32>
// CHECK-NEXT: }

// -----

// A row of numbers that two kernels need, dear to compute, is one more result of the kernel that has its rows.
func.func @more_results(%x: tensor<4x5xf32>, %y: tensor<5x4xf32>) -> (tensor<4x5xf32>, tensor<5x4xf32>) {
  %t = graph.sum %x axes [1] : tensor<4x5xf32> -> tensor<4x1xf32>
  %u = graph.sqrt %t : tensor<4x1xf32>
  %us = graph.view %u strides [1, 0] : tensor<4x1xf32> -> tensor<4x5xf32>
  %a = graph.mul %x, %us : tensor<4x5xf32>
  %ut = graph.view %u strides [0, 1] : tensor<4x1xf32> -> tensor<5x4xf32>
  %b = graph.mul %y, %ut : tensor<5x4xf32>
  func.return %a, %b : tensor<4x5xf32>, tensor<5x4xf32>
}
// CHECK:      schedule.kernel @k0(%x: tensor<4x5xf32>) -> (tensor<4x5xf32>, tensor<4x1xf32>) dims [i0 = 4, i1 = 5] rows 1 order [0, 1] {
// CHECK-NEXT:   %0 = graph.view %x strides [5, 1] : tensor<4x5xf32> -> tensor<4x5xf32>
// CHECK-NEXT:   %t = graph.sum %0 axes [1] : tensor<4x5xf32> -> tensor<4x1xf32>
// CHECK-NEXT:   %u = graph.sqrt %t : tensor<4x1xf32>
// CHECK-NEXT:   %1 = graph.view %u strides [1, 0] : tensor<4x1xf32> -> tensor<4x5xf32>
// CHECK-NEXT:   %a = graph.mul %0, %1 : tensor<4x5xf32>
// CHECK-NEXT:   schedule.yield %a, %u : tensor<4x5xf32>, tensor<4x1xf32>
// CHECK-NEXT: }
// CHECK-NEXT: schedule.kernel @k1(%y: tensor<5x4xf32>, %u: tensor<4x1xf32>) -> tensor<5x4xf32> dims [i0 = 5, i1 = 4] rows 0 order [0, 1] {
// CHECK-NEXT:   %0 = graph.view %y strides [4, 1] : tensor<5x4xf32> -> tensor<5x4xf32>
// CHECK-NEXT:   %1 = graph.view %u strides [0, 1] : tensor<4x1xf32> -> tensor<5x4xf32>
// CHECK-NEXT:   %b = graph.mul %0, %1 : tensor<5x4xf32>
// CHECK-NEXT:   schedule.yield %b : tensor<5x4xf32>
// CHECK-NEXT: }
// CHECK-NEXT: func.func @more_results(%x: tensor<4x5xf32>, %y: tensor<5x4xf32>) -> (tensor<4x5xf32>, tensor<5x4xf32>) {
// CHECK-NEXT:   %a, %u = schedule.launch @k0(%x) because "requested output" : (tensor<4x5xf32>) -> (tensor<4x5xf32>, tensor<4x1xf32>)
// CHECK-NEXT:   %b = schedule.launch @k1(%y, %u) because "requested output" : (tensor<5x4xf32>, tensor<4x1xf32>) -> tensor<5x4xf32>
// CHECK-NEXT:   func.return %a, %b : tensor<4x5xf32>, tensor<5x4xf32>
// CHECK-NEXT: }

// -----

// What is cheap is computed again in each kernel that needs it.
func.func @again(%x: tensor<4x5xf32>) -> (tensor<1x5xf32>, tensor<4x1xf32>) {
  %half = graph.const 0.5 : tensor<4x5xf32>
  %h = graph.mul %x, %half : tensor<4x5xf32>
  %s = graph.sum %h axes [0] : tensor<4x5xf32> -> tensor<1x5xf32>
  %m = graph.max %h axes [1] : tensor<4x5xf32> -> tensor<4x1xf32>
  func.return %s, %m : tensor<1x5xf32>, tensor<4x1xf32>
}
// CHECK:      schedule.kernel @k0(%x: tensor<4x5xf32>) -> tensor<1x5xf32> dims [i0 = 5, r1 = 4] rows 1 order [0, 1] {
// CHECK-NEXT:   %0 = graph.view %x strides [1, 5] : tensor<4x5xf32> -> tensor<5x4xf32>
// CHECK-NEXT:   %1 = graph.const 5.000000e-01 : tensor<5x4xf32>
// CHECK-NEXT:   %h = graph.mul %0, %1 : tensor<5x4xf32>
// CHECK-NEXT:   %s = graph.sum %h axes [1] : tensor<5x4xf32> -> tensor<5x1xf32>
// CHECK-NEXT:   schedule.yield %s : tensor<5x1xf32>
// CHECK-NEXT: }
// CHECK-NEXT: schedule.kernel @k1(%x: tensor<4x5xf32>) -> tensor<4x1xf32> dims [i0 = 4, r1 = 5] rows 1 order [0, 1] {
// CHECK-NEXT:   %0 = graph.view %x strides [5, 1] : tensor<4x5xf32> -> tensor<4x5xf32>
// CHECK-NEXT:   %1 = graph.const 5.000000e-01 : tensor<4x5xf32>
// CHECK-NEXT:   %h = graph.mul %0, %1 : tensor<4x5xf32>
// CHECK-NEXT:   %m = graph.max %h axes [1] : tensor<4x5xf32> -> tensor<4x1xf32>
// CHECK-NEXT:   schedule.yield %m : tensor<4x1xf32>
// CHECK-NEXT: }
// CHECK-NEXT: func.func @again(%x: tensor<4x5xf32>) -> (tensor<1x5xf32>, tensor<4x1xf32>) {
// CHECK-NEXT:   %s = schedule.launch @k0(%x) because "requested output" : (tensor<4x5xf32>) -> tensor<1x5xf32>
// CHECK-NEXT:   %m = schedule.launch @k1(%x) because "requested output" : (tensor<4x5xf32>) -> tensor<4x1xf32>
// CHECK-NEXT:   func.return %s, %m : tensor<1x5xf32>, tensor<4x1xf32>
// CHECK-NEXT: }

// -----

// Cuts: a transpose of a computed value reads memory; so does a gather, while an index is computed in place.
func.func @cuts(%x: tensor<3x4xf32>, %i: tensor<5xi32>) -> (tensor<4x3xf32>, tensor<5x4xf32>) {
  %e = graph.exp %x : tensor<3x4xf32>
  %t = graph.view %e strides [1, 4] : tensor<3x4xf32> -> tensor<4x3xf32>
  %n = graph.neg %t : tensor<4x3xf32>
  %one = graph.const 1 : tensor<5xi32>
  %j = graph.add %i, %one : tensor<5xi32>
  %g = graph.gather %e, %j : tensor<3x4xf32>, tensor<5xi32> -> tensor<5x4xf32>
  func.return %n, %g : tensor<4x3xf32>, tensor<5x4xf32>
}
// CHECK:      schedule.kernel @k0(%x: tensor<3x4xf32>) -> tensor<3x4xf32> dims [i0 = 3, i1 = 4] rows 0 order [0, 1] {
// CHECK-NEXT:   %0 = graph.view %x strides [4, 1] : tensor<3x4xf32> -> tensor<3x4xf32>
// CHECK-NEXT:   %e = graph.exp %0 : tensor<3x4xf32>
// CHECK-NEXT:   schedule.yield %e : tensor<3x4xf32>
// CHECK-NEXT: }
// CHECK-NEXT: schedule.kernel @k1(%e: tensor<3x4xf32>) -> tensor<4x3xf32> dims [i0 = 4, i1 = 3] rows 0 order [0, 1] {
// CHECK-NEXT:   %0 = graph.view %e strides [1, 4] : tensor<3x4xf32> -> tensor<4x3xf32>
// CHECK-NEXT:   %n = graph.neg %0 : tensor<4x3xf32>
// CHECK-NEXT:   schedule.yield %n : tensor<4x3xf32>
// CHECK-NEXT: }
// CHECK-NEXT: schedule.kernel @k2(%i: tensor<5xi32>, %e: tensor<3x4xf32>) -> tensor<5x4xf32> dims [i0 = 5, i1 = 4] rows 0 order [0, 1] {
// CHECK-NEXT:   %0 = graph.view %i strides [1, 0] : tensor<5xi32> -> tensor<5x1xi32>
// CHECK-NEXT:   %1 = graph.const 1 : tensor<5x1xi32>
// CHECK-NEXT:   %j = graph.add %0, %1 : tensor<5x1xi32>
// CHECK-NEXT:   %g = schedule.gather %e[%j] strides [0, 1] : tensor<3x4xf32>, tensor<5x1xi32> -> tensor<5x4xf32>
// CHECK-NEXT:   schedule.yield %g : tensor<5x4xf32>
// CHECK-NEXT: }
// CHECK-NEXT: func.func @cuts(%x: tensor<3x4xf32>, %i: tensor<5xi32>) -> (tensor<4x3xf32>, tensor<5x4xf32>) {
// CHECK-NEXT:   %e = schedule.launch @k0(%x) because "a gather addresses it" : (tensor<3x4xf32>) -> tensor<3x4xf32>
// CHECK-NEXT:   %n = schedule.launch @k1(%e) because "requested output" : (tensor<3x4xf32>) -> tensor<4x3xf32>
// CHECK-NEXT:   %g = schedule.launch @k2(%i, %e) because "requested output" : (tensor<5xi32>, tensor<3x4xf32>) -> tensor<5x4xf32>
// CHECK-NEXT:   func.return %n, %g : tensor<4x3xf32>, tensor<5x4xf32>
// CHECK-NEXT: }

// -----

// A scatter of halves totals in f32 and is rounded once.
func.func @scatter_of_halves(%x: tensor<5x2xf16>, %i: tensor<5xi32>) -> tensor<3x2xf16> {
  %s = graph.scatter %x, %i : tensor<5x2xf16>, tensor<5xi32> -> tensor<3x2xf16>
  func.return %s : tensor<3x2xf16>
}
// CHECK:      schedule.kernel @k0(%x: tensor<5x2xf16>, %i: tensor<5xi32>) -> tensor<3x2xf32> dims [r0 = 5, i1 = 2] rows 0 order [0, 1] {
// CHECK-NEXT:   %0 = graph.view %x strides [2, 1] : tensor<5x2xf16> -> tensor<5x2xf16>
// CHECK-NEXT:   %s = graph.cast %0 : tensor<5x2xf16> -> tensor<5x2xf32>
// CHECK-NEXT:   %1 = graph.view %i strides [1, 0] : tensor<5xi32> -> tensor<5x1xi32>
// CHECK-NEXT:   %s_1 = schedule.scatter %s[%1] strides [0, 1] : tensor<5x2xf32>, tensor<5x1xi32> -> tensor<3x2xf32>
// CHECK-NEXT:   schedule.yield %s_1 : tensor<3x2xf32>
// CHECK-NEXT: }
// CHECK-NEXT: schedule.kernel @k1(%s: tensor<3x2xf32>) -> tensor<3x2xf16> dims [i0 = 3, i1 = 2] rows 0 order [0, 1] {
// CHECK-NEXT:   %0 = graph.view %s strides [2, 1] : tensor<3x2xf32> -> tensor<3x2xf32>
// CHECK-NEXT:   %s_1 = graph.cast %0 : tensor<3x2xf32> -> tensor<3x2xf16>
// CHECK-NEXT:   schedule.yield %s_1 : tensor<3x2xf16>
// CHECK-NEXT: }
// CHECK-NEXT: func.func @scatter_of_halves(%x: tensor<5x2xf16>, %i: tensor<5xi32>) -> tensor<3x2xf16> {
// CHECK-NEXT:   %s = schedule.launch @k0(%x, %i) because "rows are added at addresses" : (tensor<5x2xf16>, tensor<5xi32>) -> tensor<3x2xf32>
// CHECK-NEXT:   %s_1 = schedule.launch @k1(%s) because "requested output" : (tensor<3x2xf32>) -> tensor<3x2xf16>
// CHECK-NEXT:   func.return %s_1 : tensor<3x2xf16>
// CHECK-NEXT: }

// -----

// A function keeps its assigns; a scatter has a kernel of its own, named by the dims that its results span.
func.func @assigns(%w: tensor<6x3xf32>, %g: tensor<4x3xf32>, %i: tensor<4xi32>) {
  %s = graph.scatter %g, %i : tensor<4x3xf32>, tensor<4xi32> -> tensor<6x3xf32>
  %v = graph.add %w, %s : tensor<6x3xf32>
  %n = graph.assign %w, %v : tensor<6x3xf32>
  func.return
}
// CHECK:      schedule.kernel @k0(%g: tensor<4x3xf32>, %i: tensor<4xi32>) -> tensor<6x3xf32> dims [r0 = 4, i1 = 3] rows 0 order [0, 1] {
// CHECK-NEXT:   %0 = graph.view %g strides [3, 1] : tensor<4x3xf32> -> tensor<4x3xf32>
// CHECK-NEXT:   %1 = graph.view %i strides [1, 0] : tensor<4xi32> -> tensor<4x1xi32>
// CHECK-NEXT:   %s = schedule.scatter %0[%1] strides [0, 1] : tensor<4x3xf32>, tensor<4x1xi32> -> tensor<6x3xf32>
// CHECK-NEXT:   schedule.yield %s : tensor<6x3xf32>
// CHECK-NEXT: }
// CHECK-NEXT: schedule.kernel @k1(%w: tensor<6x3xf32>, %s: tensor<6x3xf32>) -> tensor<6x3xf32> dims [i0 = 6, i1 = 3] rows 0 order [0, 1] {
// CHECK-NEXT:   %0 = graph.view %w strides [3, 1] : tensor<6x3xf32> -> tensor<6x3xf32>
// CHECK-NEXT:   %1 = graph.view %s strides [3, 1] : tensor<6x3xf32> -> tensor<6x3xf32>
// CHECK-NEXT:   %v = graph.add %0, %1 : tensor<6x3xf32>
// CHECK-NEXT:   schedule.yield %v : tensor<6x3xf32>
// CHECK-NEXT: }
// CHECK-NEXT: func.func @assigns(%w: tensor<6x3xf32>, %g: tensor<4x3xf32>, %i: tensor<4xi32>) {
// CHECK-NEXT:   %s = schedule.launch @k0(%g, %i) because "rows are added at addresses" : (tensor<4x3xf32>, tensor<4xi32>) -> tensor<6x3xf32>
// CHECK-NEXT:   %v = schedule.launch @k1(%w, %s) because "assigned" : (tensor<6x3xf32>, tensor<6x3xf32>) -> tensor<6x3xf32>
// CHECK-NEXT:   %n = graph.assign %w, %v : tensor<6x3xf32>
// CHECK-NEXT:   func.return
// CHECK-NEXT: }

// -----

// An argument returned is copied; a constant is stored; a reshape of a result is free.
func.func @plain(%x: tensor<2x3xf32>) -> (tensor<3x2xf32>, tensor<2xi32>, tensor<2x3xf32>, tensor<6xf32>) {
  %t = graph.view %x strides [1, 3] : tensor<2x3xf32> -> tensor<3x2xf32>
  %c = graph.const 7 : tensor<2xi32>
  %e = graph.exp %x : tensor<2x3xf32>
  %f = graph.view %e strides [1] : tensor<2x3xf32> -> tensor<6xf32>
  func.return %t, %c, %e, %f : tensor<3x2xf32>, tensor<2xi32>, tensor<2x3xf32>, tensor<6xf32>
}
// CHECK:      schedule.kernel @k0(%x: tensor<2x3xf32>) -> tensor<2x3xf32> dims [i0 = 2, i1 = 3] rows 0 order [0, 1] {
// CHECK-NEXT:   %0 = graph.view %x strides [3, 1] : tensor<2x3xf32> -> tensor<2x3xf32>
// CHECK-NEXT:   %e = graph.exp %0 : tensor<2x3xf32>
// CHECK-NEXT:   schedule.yield %e : tensor<2x3xf32>
// CHECK-NEXT: }
// CHECK-NEXT: schedule.kernel @k1(%x: tensor<2x3xf32>) -> tensor<3x2xf32> dims [i0 = 3, i1 = 2] rows 0 order [0, 1] {
// CHECK-NEXT:   %0 = graph.view %x strides [1, 3] : tensor<2x3xf32> -> tensor<3x2xf32>
// CHECK-NEXT:   schedule.yield %0 : tensor<3x2xf32>
// CHECK-NEXT: }
// CHECK-NEXT: schedule.kernel @k2() -> tensor<2xi32> dims [i0 = 2] rows 0 order [0] {
// CHECK-NEXT:   %0 = graph.const 7 : tensor<2xi32>
// CHECK-NEXT:   schedule.yield %0 : tensor<2xi32>
// CHECK-NEXT: }
// CHECK-NEXT: func.func @plain(%x: tensor<2x3xf32>) -> (tensor<3x2xf32>, tensor<2xi32>, tensor<2x3xf32>, tensor<6xf32>) {
// CHECK-NEXT:   %e = schedule.launch @k0(%x) because "requested output" : (tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT:   %0 = schedule.launch @k1(%x) because "requested output" : (tensor<2x3xf32>) -> tensor<3x2xf32>
// CHECK-NEXT:   %1 = schedule.launch @k2() because "requested output" : () -> tensor<2xi32>
// CHECK-NEXT:   %2 = graph.view %e strides [1] : tensor<2x3xf32> -> tensor<6xf32>
// CHECK-NEXT:   func.return %0, %1, %e, %2 : tensor<3x2xf32>, tensor<2xi32>, tensor<2x3xf32>, tensor<6xf32>
// CHECK-NEXT: }

// -----

// Left alone: a function that has launches.
schedule.kernel @k0(%x: tensor<4xf32>) -> tensor<4xf32> dims [i0 = 4] rows 0 order [0] {
  %a = graph.view %x strides [1] : tensor<4xf32> -> tensor<4xf32>
  schedule.yield %a : tensor<4xf32>
}
func.func @scheduled(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = schedule.launch @k0(%x) because "a copy" : (tensor<4xf32>) -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}
// CHECK:      schedule.kernel @k0(%x: tensor<4xf32>) -> tensor<4xf32> dims [i0 = 4] rows 0 order [0] {
// CHECK-NEXT:   %a = graph.view %x strides [1] : tensor<4xf32> -> tensor<4xf32>
// CHECK-NEXT:   schedule.yield %a : tensor<4xf32>
// CHECK-NEXT: }
// CHECK-NEXT: func.func @scheduled(%x: tensor<4xf32>) -> tensor<4xf32> {
// CHECK-NEXT:   %y = schedule.launch @k0(%x) because "a copy" : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:   func.return %y : tensor<4xf32>
// CHECK-NEXT: }

// -----

// Declined: a kernel that is known only by name.
func.func @custom(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = graph.custom "attention"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}
// CHECK:      fuse cannot schedule graph.custom "attention": no kernel of that name is known; run expand-custom first, in a pipeline that has a builder for it

// -----

// A plan takes and gives tensors.
func.func @scalar(%a: f32) -> f32 {
  func.return %a : f32
}
// CHECK: error: pass 'fuse': argument 0 of @scalar has type f32; a plan takes and gives tensors of a static shape, of f64, f32

// -----

func.func private @declared(tensor<2xf32>) -> tensor<2xf32>
// CHECK: error: pass 'fuse': function @declared has 0 blocks; a plan is made of a function with one
