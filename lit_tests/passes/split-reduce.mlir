// RUN: limn-opt --pass split-reduce --split-input-file --verify-diagnostics %s | filecheck %s

// Sixteen lanes: the sum over what they run beside comes first, then the sum over the lanes.
schedule.kernel @total(%x: tensor<768xf32>) -> tensor<1xf32> dims [r0 = 768] rows 0 order [0] {
  %a = graph.view %x strides [1] : tensor<768xf32> -> tensor<768xf32>
  %b = graph.exp %a : tensor<768xf32>
  %s = graph.sum %b axes [0] : tensor<768xf32> -> tensor<1xf32>
  schedule.yield %s : tensor<1xf32>
}
// CHECK:      schedule.kernel @total(%x: tensor<768xf32>) -> tensor<1xf32> dims [r0 = 48, r1 = 16] rows 0 order [0, 1] {
// CHECK-NEXT:   %a = graph.view %x strides [16, 1] : tensor<768xf32> -> tensor<48x16xf32>
// CHECK-NEXT:   %b = graph.exp %a : tensor<48x16xf32>
// CHECK-NEXT:   %0 = graph.sum %b axes [0] : tensor<48x16xf32> -> tensor<1x16xf32>
// CHECK-NEXT:   %s = graph.sum %0 axes [1] : tensor<1x16xf32> -> tensor<1x1xf32>
// CHECK-NEXT:   schedule.yield %s : tensor<1x1xf32>
// CHECK-NEXT: }

// -----

// A long sum: blocks of 256 by 16, what is left in lanes, and the last few, each summed over dims of its own.
schedule.kernel @total(%x: tensor<12345xf32>) -> tensor<1xf32> dims [r0 = 12345] rows 0 order [0] {
  %a = graph.view %x strides [1] : tensor<12345xf32> -> tensor<12345xf32>
  %b = graph.exp %a : tensor<12345xf32>
  %s = graph.sum %b axes [0] : tensor<12345xf32> -> tensor<1xf32>
  schedule.yield %s : tensor<1xf32>
}
// CHECK:      schedule.kernel @total(%x: tensor<12345xf32>) -> tensor<1xf32> dims [r0 = 3, r1 = 256, r2 = 16, r3 = 3, r4 = 16, r5 = 9] rows 0 order [0, 1, 2, 3, 4, 5] {
// CHECK-NEXT:   %a = graph.view %x strides [4096, 16, 1, 0, 0, 0] : tensor<12345xf32> -> tensor<3x256x16x1x1x1xf32>
// CHECK-NEXT:   %a_1 = graph.view %x strides [0, 0, 0, 16, 1, 0] offset 12288 : tensor<12345xf32> -> tensor<1x1x1x3x16x1xf32>
// CHECK-NEXT:   %a_2 = graph.view %x strides [0, 0, 0, 0, 0, 1] offset 12336 : tensor<12345xf32> -> tensor<1x1x1x1x1x9xf32>
// CHECK-NEXT:   %b = graph.exp %a : tensor<3x256x16x1x1x1xf32>
// CHECK-NEXT:   %b_1 = graph.exp %a_1 : tensor<1x1x1x3x16x1xf32>
// CHECK-NEXT:   %b_2 = graph.exp %a_2 : tensor<1x1x1x1x1x9xf32>
// CHECK-NEXT:   %0 = graph.sum %b axes [1] : tensor<3x256x16x1x1x1xf32> -> tensor<3x1x16x1x1x1xf32>
// CHECK-NEXT:   %1 = graph.sum %0 axes [2] : tensor<3x1x16x1x1x1xf32> -> tensor<3x1x1x1x1x1xf32>
// CHECK-NEXT:   %2 = graph.sum %1 axes [0] : tensor<3x1x1x1x1x1xf32> -> tensor<1x1x1x1x1x1xf32>
// CHECK-NEXT:   %3 = graph.sum %b_1 axes [3] : tensor<1x1x1x3x16x1xf32> -> tensor<1x1x1x1x16x1xf32>
// CHECK-NEXT:   %4 = graph.sum %3 axes [4] : tensor<1x1x1x1x16x1xf32> -> tensor<1x1x1x1x1x1xf32>
// CHECK-NEXT:   %5 = graph.add %2, %4 : tensor<1x1x1x1x1x1xf32>
// CHECK-NEXT:   %6 = graph.sum %b_2 axes [5] : tensor<1x1x1x1x1x9xf32> -> tensor<1x1x1x1x1x1xf32>
// CHECK-NEXT:   %s = graph.add %5, %6 : tensor<1x1x1x1x1x1xf32>
// CHECK-NEXT:   schedule.yield %s : tensor<1x1x1x1x1x1xf32>
// CHECK-NEXT: }

// -----

// The rows of a kernel that stores them too; maxima are cut like the sums, the row in scratch stays one.
schedule.kernel @softmax(%x: tensor<8x48xf32>) -> tensor<8x48xf32> dims [i0 = 8, i1 = 48] rows 1 order [0, 1] {
  %a = graph.view %x strides [48, 1] : tensor<8x48xf32> -> tensor<8x48xf32>
  %m = graph.max %a axes [1] : tensor<8x48xf32> -> tensor<8x1xf32>
  %n = graph.neg %m : tensor<8x1xf32>
  %b = graph.view %n strides [1, 0] : tensor<8x1xf32> -> tensor<8x48xf32>
  %c = graph.add %a, %b : tensor<8x48xf32>
  %e = graph.exp %c : tensor<8x48xf32>
  %k = schedule.keep %e : tensor<8x48xf32>
  %s = graph.sum %k axes [1] : tensor<8x48xf32> -> tensor<8x1xf32>
  %t = graph.view %s strides [1, 0] : tensor<8x1xf32> -> tensor<8x48xf32>
  %q = graph.mul %k, recip %t : tensor<8x48xf32>
  schedule.yield %q : tensor<8x48xf32>
}
// CHECK:      schedule.kernel @softmax(%x: tensor<8x48xf32>) -> tensor<8x48xf32> dims [i0 = 8, i1 = 3, i2 = 16] rows 1 order [0, 1, 2] {
// CHECK-NEXT:   %a = graph.view %x strides [48, 16, 1] : tensor<8x48xf32> -> tensor<8x3x16xf32>
// CHECK-NEXT:   %0 = graph.max %a axes [1] : tensor<8x3x16xf32> -> tensor<8x1x16xf32>
// CHECK-NEXT:   %m = graph.max %0 axes [2] : tensor<8x1x16xf32> -> tensor<8x1x1xf32>
// CHECK-NEXT:   %n = graph.neg %m : tensor<8x1x1xf32>
// CHECK-NEXT:   %b = graph.view %n strides [1, 0, 0] : tensor<8x1x1xf32> -> tensor<8x3x16xf32>
// CHECK-NEXT:   %c = graph.add %a, %b : tensor<8x3x16xf32>
// CHECK-NEXT:   %e = graph.exp %c : tensor<8x3x16xf32>
// CHECK-NEXT:   %k = schedule.keep %e : tensor<8x3x16xf32>
// CHECK-NEXT:   %1 = graph.sum %k axes [1] : tensor<8x3x16xf32> -> tensor<8x1x16xf32>
// CHECK-NEXT:   %s = graph.sum %1 axes [2] : tensor<8x1x16xf32> -> tensor<8x1x1xf32>
// CHECK-NEXT:   %t = graph.view %s strides [1, 0, 0] : tensor<8x1x1xf32> -> tensor<8x3x16xf32>
// CHECK-NEXT:   %q = graph.mul %k, recip %t : tensor<8x3x16xf32>
// CHECK-NEXT:   schedule.yield %q : tensor<8x3x16xf32>
// CHECK-NEXT: }

// -----

// A long first axis: blocks, but no lanes, as the buffer is walked along the other.
schedule.kernel @columns(%x: tensor<5120x6xf32>) -> tensor<6xf32> dims [i0 = 6, r1 = 5120] rows 1 order [0, 1] {
  %a = graph.view %x strides [1, 6] : tensor<5120x6xf32> -> tensor<6x5120xf32>
  %s = graph.sum %a axes [1] : tensor<6x5120xf32> -> tensor<6x1xf32>
  schedule.yield %s : tensor<6x1xf32>
}
// CHECK:      schedule.kernel @columns(%x: tensor<5120x6xf32>) -> tensor<6xf32> dims [i0 = 6, r1 = 20, r2 = 256] rows 1 order [0, 1, 2] {
// CHECK-NEXT:   %a = graph.view %x strides [1, 1536, 6] : tensor<5120x6xf32> -> tensor<6x20x256xf32>
// CHECK-NEXT:   %0 = graph.sum %a axes [2] : tensor<6x20x256xf32> -> tensor<6x20x1xf32>
// CHECK-NEXT:   %s = graph.sum %0 axes [1] : tensor<6x20x1xf32> -> tensor<6x1x1xf32>
// CHECK-NEXT:   schedule.yield %s : tensor<6x1x1xf32>
// CHECK-NEXT: }

// -----

// Axes that memory does not tell apart count as one.
schedule.kernel @merged(%x: tensor<30x40xf32>) -> tensor<1xf32> dims [r0 = 30, r1 = 40] rows 0 order [0, 1] {
  %a = graph.view %x strides [40, 1] : tensor<30x40xf32> -> tensor<30x40xf32>
  %s = graph.sum %a axes [0, 1] : tensor<30x40xf32> -> tensor<1x1xf32>
  schedule.yield %s : tensor<1x1xf32>
}
// CHECK:      schedule.kernel @merged(%x: tensor<30x40xf32>) -> tensor<1xf32> dims [r0 = 75, r1 = 16] rows 0 order [0, 1] {
// CHECK-NEXT:   %a = graph.view %x strides [16, 1] : tensor<30x40xf32> -> tensor<75x16xf32>
// CHECK-NEXT:   %0 = graph.sum %a axes [0] : tensor<75x16xf32> -> tensor<1x16xf32>
// CHECK-NEXT:   %s = graph.sum %0 axes [1] : tensor<1x16xf32> -> tensor<1x1xf32>
// CHECK-NEXT:   schedule.yield %s : tensor<1x1xf32>
// CHECK-NEXT: }

// -----

// Left alone: a short axis that 16, 8 and 4 do not divide.
schedule.kernel @total(%x: tensor<1001xf32>) -> tensor<1xf32> dims [r0 = 1001] rows 0 order [0] {
  %a = graph.view %x strides [1] : tensor<1001xf32> -> tensor<1001xf32>
  %b = graph.exp %a : tensor<1001xf32>
  %s = graph.sum %b axes [0] : tensor<1001xf32> -> tensor<1xf32>
  schedule.yield %s : tensor<1xf32>
}
// CHECK:      schedule.kernel @total(%x: tensor<1001xf32>) -> tensor<1xf32> dims [r0 = 1001] rows 0 order [0] {
// CHECK-NEXT:   %a = graph.view %x strides [1] : tensor<1001xf32> -> tensor<1001xf32>
// CHECK-NEXT:   %b = graph.exp %a : tensor<1001xf32>
// CHECK-NEXT:   %s = graph.sum %b axes [0] : tensor<1001xf32> -> tensor<1xf32>
// CHECK-NEXT:   schedule.yield %s : tensor<1xf32>
// CHECK-NEXT: }

// -----

// Left alone: an axis that a mask cuts.
schedule.kernel @masked(%x: tensor<60xf32>) -> tensor<1xf32> dims [r0 = 64] rows 0 order [0] {
  %a = graph.view %x strides [1] offset -2 mask [2] to [62] : tensor<60xf32> -> tensor<64xf32>
  %s = graph.sum %a axes [0] : tensor<64xf32> -> tensor<1xf32>
  schedule.yield %s : tensor<1xf32>
}
// CHECK:      schedule.kernel @masked(%x: tensor<60xf32>) -> tensor<1xf32> dims [r0 = 64] rows 0 order [0] {
// CHECK-NEXT:   %a = graph.view %x strides [1] offset -2 mask [2] to [62] : tensor<60xf32> -> tensor<64xf32>
// CHECK-NEXT:   %s = graph.sum %a axes [0] : tensor<64xf32> -> tensor<1xf32>
// CHECK-NEXT:   schedule.yield %s : tensor<1xf32>
// CHECK-NEXT: }

// -----

// Declined: a contraction.
schedule.kernel @matmul(%a: tensor<4x768xf32>, %b: tensor<3x768xf32>) -> tensor<4x3xf32> dims [i0 = 4, i1 = 3, r2 = 768] rows 2 order [0, 1, 2] {
  %x = graph.view %a strides [768, 0, 1] : tensor<4x768xf32> -> tensor<4x3x768xf32>
  %y = graph.view %b strides [0, 768, 1] : tensor<3x768xf32> -> tensor<4x3x768xf32>
  %p = graph.mul %x, %y : tensor<4x3x768xf32>
  %s = graph.sum %p axes [2] : tensor<4x3x768xf32> -> tensor<4x3x1xf32>
  schedule.yield %s : tensor<4x3x1xf32>
}
// CHECK:      schedule.kernel @matmul(%a: tensor<4x768xf32>, %b: tensor<3x768xf32>) -> tensor<4x3xf32> dims [i0 = 4, i1 = 3, r2 = 768] rows 2 order [0, 1, 2] {
// CHECK-NEXT:   %x = graph.view %a strides [768, 0, 1] : tensor<4x768xf32> -> tensor<4x3x768xf32>
// CHECK-NEXT:   %y = graph.view %b strides [0, 768, 1] : tensor<3x768xf32> -> tensor<4x3x768xf32>
// CHECK-NEXT:   %p = graph.mul %x, %y : tensor<4x3x768xf32>
// CHECK-NEXT:   %s = graph.sum %p axes [2] : tensor<4x3x768xf32> -> tensor<4x3x1xf32>
// CHECK-NEXT:   schedule.yield %s : tensor<4x3x1xf32>
// CHECK-NEXT: }

// -----

// Halves are widened before the first sum and rounded after the last.
schedule.kernel @halves(%x: tensor<768xf16>) -> tensor<1xf16> dims [r0 = 768] rows 0 order [0] {
  %v = graph.view %x strides [1] : tensor<768xf16> -> tensor<768xf16>
  %s = graph.sum %v axes [0] : tensor<768xf16> -> tensor<1xf16>
  schedule.yield %s : tensor<1xf16>
}
// CHECK:      schedule.kernel @halves(%x: tensor<768xf16>) -> tensor<1xf16> dims [r0 = 48, r1 = 16] rows 0 order [0, 1] {
// CHECK-NEXT:   %v = graph.view %x strides [16, 1] : tensor<768xf16> -> tensor<48x16xf16>
// CHECK-NEXT:   %0 = graph.cast %v : tensor<48x16xf16> -> tensor<48x16xf32>
// CHECK-NEXT:   %1 = graph.sum %0 axes [0] : tensor<48x16xf32> -> tensor<1x16xf32>
// CHECK-NEXT:   %2 = graph.sum %1 axes [1] : tensor<1x16xf32> -> tensor<1x1xf32>
// CHECK-NEXT:   %s = graph.cast %2 : tensor<1x1xf32> -> tensor<1x1xf16>
// CHECK-NEXT:   schedule.yield %s : tensor<1x1xf16>
// CHECK-NEXT: }
