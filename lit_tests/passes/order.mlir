// RUN: limn-opt --pass order --split-input-file --verify-diagnostics %s | filecheck %s

// The columns of a product become the innermost loop: two buffers of three walk them with stride 1.
schedule.kernel @matmul(%a: tensor<4x5xf32>, %b: tensor<5x3xf32>) -> tensor<4x3xf32> dims [i0 = 4, i1 = 3, r2 = 5] rows 2 order [0, 1, 2] {
  %x = graph.view %a strides [5, 0, 1] : tensor<4x5xf32> -> tensor<4x3x5xf32>
  %y = graph.view %b strides [0, 1, 3] : tensor<5x3xf32> -> tensor<4x3x5xf32>
  %p = graph.mul %x, %y : tensor<4x3x5xf32>
  %s = graph.sum %p axes [2] : tensor<4x3x5xf32> -> tensor<4x3x1xf32>
  schedule.yield %s : tensor<4x3x1xf32>
}
// CHECK:      schedule.kernel @matmul(%a: tensor<4x5xf32>, %b: tensor<5x3xf32>) -> tensor<4x3xf32> dims [i0 = 4, i1 = 3, r2 = 5] rows 1 order [0, 2, 1] {
// CHECK-NEXT:   %x = graph.view %a strides [5, 0, 1] : tensor<4x5xf32> -> tensor<4x3x5xf32>
// CHECK-NEXT:   %y = graph.view %b strides [0, 1, 3] : tensor<5x3xf32> -> tensor<4x3x5xf32>
// CHECK-NEXT:   %p = graph.mul %x, %y : tensor<4x3x5xf32>
// CHECK-NEXT:   %s = graph.sum %p axes [2] : tensor<4x3x5xf32> -> tensor<4x3x1xf32>
// CHECK-NEXT:   schedule.yield %s : tensor<4x3x1xf32>
// CHECK-NEXT: }

// -----

// A sum over the first axis runs along the rows; of two folded dims, each keeps its place before the other.
schedule.kernel @columns(%a: tensor<6x7x8xf32>) -> tensor<8xf32> dims [i0 = 8, r1 = 7, r2 = 6] rows 1 order [0, 1, 2] {
  %x = graph.view %a strides [1, 8, 56] : tensor<6x7x8xf32> -> tensor<8x7x6xf32>
  %s = graph.sum %x axes [1, 2] : tensor<8x7x6xf32> -> tensor<8x1x1xf32>
  schedule.yield %s : tensor<8x1x1xf32>
}
// CHECK:      schedule.kernel @columns(%a: tensor<6x7x8xf32>) -> tensor<8xf32> dims [i0 = 8, r1 = 7, r2 = 6] rows 0 order [1, 2, 0] {
// CHECK-NEXT:   %x = graph.view %a strides [1, 8, 56] : tensor<6x7x8xf32> -> tensor<8x7x6xf32>
// CHECK-NEXT:   %s = graph.sum %x axes [1, 2] : tensor<8x7x6xf32> -> tensor<8x1x1xf32>
// CHECK-NEXT:   schedule.yield %s : tensor<8x1x1xf32>
// CHECK-NEXT: }

// -----

// An elementwise kernel: the dim that most of its buffers walk.
schedule.kernel @transposed(%a: tensor<4x6xf32>, %b: tensor<4x6xf32>, %c: tensor<6x4xf32>) -> tensor<6x4xf32> dims [i0 = 6, i1 = 4] rows 0 order [0, 1] {
  %x = graph.view %a strides [1, 6] : tensor<4x6xf32> -> tensor<6x4xf32>
  %y = graph.view %b strides [-1, 6] offset 5 : tensor<4x6xf32> -> tensor<6x4xf32>
  %z = graph.mul %x, %y : tensor<6x4xf32>
  schedule.yield %z : tensor<6x4xf32>
}
// CHECK:      schedule.kernel @transposed(%a: tensor<4x6xf32>, %b: tensor<4x6xf32>, %c: tensor<6x4xf32>) -> tensor<6x4xf32> dims [i0 = 6, i1 = 4] rows 0 order [1, 0] {
// CHECK-NEXT:   %x = graph.view %a strides [1, 6] : tensor<4x6xf32> -> tensor<6x4xf32>
// CHECK-NEXT:   %y = graph.view %b strides [-1, 6] offset 5 : tensor<4x6xf32> -> tensor<6x4xf32>
// CHECK-NEXT:   %z = graph.mul %x, %y : tensor<6x4xf32>
// CHECK-NEXT:   schedule.yield %z : tensor<6x4xf32>
// CHECK-NEXT: }

// -----

// Left alone: on a tie the fold stays innermost.
schedule.kernel @tie(%a: tensor<4x5xf32>, %b: tensor<3xf32>) -> tensor<4x3xf32> dims [i0 = 4, i1 = 3, r2 = 5] rows 2 order [0, 1, 2] {
  %x = graph.view %a strides [5, 0, 1] : tensor<4x5xf32> -> tensor<4x3x5xf32>
  %s = graph.sum %x axes [2] : tensor<4x3x5xf32> -> tensor<4x3x1xf32>
  %y = graph.view %b strides [0, 1, 0] : tensor<3xf32> -> tensor<4x3x1xf32>
  %z = graph.add %s, %y : tensor<4x3x1xf32>
  schedule.yield %z : tensor<4x3x1xf32>
}
// CHECK:      schedule.kernel @tie(%a: tensor<4x5xf32>, %b: tensor<3xf32>) -> tensor<4x3xf32> dims [i0 = 4, i1 = 3, r2 = 5] rows 2 order [0, 1, 2] {
// CHECK-NEXT:   %x = graph.view %a strides [5, 0, 1] : tensor<4x5xf32> -> tensor<4x3x5xf32>
// CHECK-NEXT:   %s = graph.sum %x axes [2] : tensor<4x3x5xf32> -> tensor<4x3x1xf32>
// CHECK-NEXT:   %y = graph.view %b strides [0, 1, 0] : tensor<3xf32> -> tensor<4x3x1xf32>
// CHECK-NEXT:   %z = graph.add %s, %y : tensor<4x3x1xf32>
// CHECK-NEXT:   schedule.yield %z : tensor<4x3x1xf32>
// CHECK-NEXT: }

// -----

// Declined: the sum waits for the maximum, and both need the rows outermost.
schedule.kernel @phases(%x: tensor<5x3xf32>) -> tensor<3x5xf32> dims [i0 = 3, i1 = 5] rows 1 order [0, 1] {
  %a = graph.view %x strides [1, 3] : tensor<5x3xf32> -> tensor<3x5xf32>
  %m = graph.max %a axes [1] : tensor<3x5xf32> -> tensor<3x1xf32>
  %b = graph.view %m strides [1, 0] : tensor<3x1xf32> -> tensor<3x5xf32>
  %c = graph.mul %a, %b : tensor<3x5xf32>
  %s = graph.sum %c axes [1] : tensor<3x5xf32> -> tensor<3x1xf32>
  %d = graph.view %s strides [1, 0] : tensor<3x1xf32> -> tensor<3x5xf32>
  %e = graph.mul %c, %d : tensor<3x5xf32>
  schedule.yield %e : tensor<3x5xf32>
}
// CHECK:      schedule.kernel @phases(%x: tensor<5x3xf32>) -> tensor<3x5xf32> dims [i0 = 3, i1 = 5] rows 1 order [0, 1] {
// CHECK-NEXT:   %a = graph.view %x strides [1, 3] : tensor<5x3xf32> -> tensor<3x5xf32>
// CHECK-NEXT:   %m = graph.max %a axes [1] : tensor<3x5xf32> -> tensor<3x1xf32>
// CHECK-NEXT:   %b = graph.view %m strides [1, 0] : tensor<3x1xf32> -> tensor<3x5xf32>
// CHECK-NEXT:   %c = graph.mul %a, %b : tensor<3x5xf32>
// CHECK-NEXT:   %s = graph.sum %c axes [1] : tensor<3x5xf32> -> tensor<3x1xf32>
// CHECK-NEXT:   %d = graph.view %s strides [1, 0] : tensor<3x1xf32> -> tensor<3x5xf32>
// CHECK-NEXT:   %e = graph.mul %c, %d : tensor<3x5xf32>
// CHECK-NEXT:   schedule.yield %e : tensor<3x5xf32>
// CHECK-NEXT: }

// -----

// Declined: a scatter adds rows in the order of its dims.
schedule.kernel @scatter(%v: tensor<2x4xf32>, %i: tensor<4xi32>) -> tensor<6x2xf32> dims [r0 = 4, i1 = 2] rows 0 order [0, 1] {
  %a = graph.view %v strides [1, 4] : tensor<2x4xf32> -> tensor<4x2xf32>
  %row = graph.view %i strides [1, 0] : tensor<4xi32> -> tensor<4x1xi32>
  %s = schedule.scatter %a[%row] strides [0, 1] : tensor<4x2xf32>, tensor<4x1xi32> -> tensor<6x2xf32>
  schedule.yield %s : tensor<6x2xf32>
}
// CHECK:      schedule.kernel @scatter(%v: tensor<2x4xf32>, %i: tensor<4xi32>) -> tensor<6x2xf32> dims [r0 = 4, i1 = 2] rows 0 order [0, 1] {
// CHECK-NEXT:   %a = graph.view %v strides [1, 4] : tensor<2x4xf32> -> tensor<4x2xf32>
// CHECK-NEXT:   %row = graph.view %i strides [1, 0] : tensor<4xi32> -> tensor<4x1xi32>
// CHECK-NEXT:   %s = schedule.scatter %a[%row] strides [0, 1] : tensor<4x2xf32>, tensor<4x1xi32> -> tensor<6x2xf32>
// CHECK-NEXT:   schedule.yield %s : tensor<6x2xf32>
// CHECK-NEXT: }
