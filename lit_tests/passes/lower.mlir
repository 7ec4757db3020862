// RUN: limn-opt --pass lower %s | filecheck %s
// RUN: limn-opt --pass 'lower{stack-bytes=8}' %s | filecheck %s --check-prefix=SMALL

// CHECK:         nest.kernel @copy_4xf32(%in0: memref<4xf32>, %out: memref<4xf32>) {
// CHECK-NEXT:      nest.for %i0 = 0 to 4 {
// CHECK-NEXT:        %0 = nest.load %in0[%i0] : f32
// CHECK-NEXT:        nest.store %0, %out[%i0] : f32
// CHECK-NEXT:      }
// CHECK-NEXT:    }

// A total of several cells that is the whole result is formed in the output; a loop order with the axis outside.
schedule.kernel @matmul(%a: tensor<4x5xf32>, %b: tensor<5x3xf32>) -> tensor<4x3xf32> dims [i0 = 4, i1 = 3, r2 = 5] rows 0 order [0, 2, 1] {
  %x = graph.view %a strides [5, 0, 1] : tensor<4x5xf32> -> tensor<4x3x5xf32>
  %y = graph.view %b strides [0, 1, 3] : tensor<5x3xf32> -> tensor<4x3x5xf32>
  %xy = graph.mul %x, %y : tensor<4x3x5xf32>
  %s = graph.sum %xy axes [2] : tensor<4x3x5xf32> -> tensor<4x3x1xf32>
  schedule.yield %s : tensor<4x3x1xf32>
}
// CHECK:         nest.kernel @matmul(%a: memref<20xf32>, %b: memref<15xf32>, %out: memref<12xf32>) {
// CHECK-NEXT:      nest.for %i0 = 0 to 4 {
// CHECK-NEXT:        nest.for %i1 = 0 to 3 {
// CHECK-NEXT:          %0 = nest.const 0.000000e+00 : f32
// CHECK-NEXT:          nest.store %0, %out[%i0 * 3 + %i1] : f32
// CHECK-NEXT:        }
// CHECK-NEXT:        nest.for %r2 = 0 to 5 {
// CHECK-NEXT:          nest.for %i1 = 0 to 3 {
// CHECK-NEXT:            %x = nest.load %a[%i0 * 5 + %r2] : f32
// CHECK-NEXT:            %y = nest.load %b[%i1 + %r2 * 3] : f32
// CHECK-NEXT:            %xy = nest.mul %x, %y : f32
// CHECK-NEXT:            nest.accumulate add %xy, %out[%i0 * 3 + %i1] : f32
// CHECK-NEXT:          }
// CHECK-NEXT:        }
// CHECK-NEXT:      }
// CHECK-NEXT:    }

// The axis innermost: one register a cell, then what is done with the total.
schedule.kernel @relu_of_rows(%a: tensor<4x5xf32>) -> tensor<4xf32> dims [i0 = 4, r1 = 5] rows 0 order [0, 1] {
  %x = graph.view %a strides [5, 1] : tensor<4x5xf32> -> tensor<4x5xf32>
  %s = graph.sum %x axes [1] : tensor<4x5xf32> -> tensor<4x1xf32>
  %zero = graph.const 0.0 : tensor<4x1xf32>
  %positive = graph.cmplt %zero, %s : tensor<4x1xf32>
  %y = graph.where %positive, %s, %zero : tensor<4x1xf32>
  schedule.yield %y : tensor<4x1xf32>
}
// CHECK:         nest.kernel @relu_of_rows(%a: memref<20xf32>, %out: memref<4xf32>) {
// CHECK-NEXT:      nest.for %i0 = 0 to 4 {
// CHECK-NEXT:        %acc = nest.scratch : memref<1xf32, "register">
// CHECK-NEXT:        %0 = nest.const 0.000000e+00 : f32
// CHECK-NEXT:        nest.store %0, %acc[0] : f32
// CHECK-NEXT:        nest.for %r1 = 0 to 5 {
// CHECK-NEXT:          %x = nest.load %a[%i0 * 5 + %r1] : f32
// CHECK-NEXT:          nest.accumulate add %x, %acc[0] : f32
// CHECK-NEXT:        }
// CHECK-NEXT:        %zero = nest.const 0.000000e+00 : f32
// CHECK-NEXT:        %s = nest.load %acc[0] : f32
// CHECK-NEXT:        %positive = nest.cmplt %zero, %s : f32
// CHECK-NEXT:        %y = nest.select %positive, %s, %zero : f32
// CHECK-NEXT:        nest.store %y, %out[%i0] : f32
// CHECK-NEXT:      }
// CHECK-NEXT:    }

// Totals that are not the result lie in a row of scratch.
schedule.kernel @matmul_bias(%a: tensor<4x5xf32>, %b: tensor<5x3xf32>, %c: tensor<3xf32>) -> tensor<4x3xf32> dims [i0 = 4, i1 = 3, r2 = 5] rows 0 order [0, 2, 1] {
  %x = graph.view %a strides [5, 0, 1] : tensor<4x5xf32> -> tensor<4x3x5xf32>
  %y = graph.view %b strides [0, 1, 3] : tensor<5x3xf32> -> tensor<4x3x5xf32>
  %xy = graph.mul %x, %y : tensor<4x3x5xf32>
  %s = graph.sum %xy axes [2] : tensor<4x3x5xf32> -> tensor<4x3x1xf32>
  %bias = graph.view %c strides [0, 1, 0] : tensor<3xf32> -> tensor<4x3x1xf32>
  %z = graph.add %s, %bias : tensor<4x3x1xf32>
  schedule.yield %z : tensor<4x3x1xf32>
}
// CHECK:         nest.kernel @matmul_bias(%a: memref<20xf32>, %b: memref<15xf32>, %c: memref<3xf32>, %out: memref<12xf32>) {
// CHECK-NEXT:      nest.for %i0 = 0 to 4 {
// CHECK-NEXT:        %acc = nest.scratch : memref<3xf32, "stack">
// CHECK-NEXT:        nest.for %i1 = 0 to 3 {
// CHECK-NEXT:          %0 = nest.const 0.000000e+00 : f32
// CHECK-NEXT:          nest.store %0, %acc[%i1] : f32
// CHECK-NEXT:        }
// CHECK-NEXT:        nest.for %r2 = 0 to 5 {
// CHECK-NEXT:          nest.for %i1 = 0 to 3 {
// CHECK-NEXT:            %x = nest.load %a[%i0 * 5 + %r2] : f32
// CHECK-NEXT:            %y = nest.load %b[%i1 + %r2 * 3] : f32
// CHECK-NEXT:            %xy = nest.mul %x, %y : f32
// CHECK-NEXT:            nest.accumulate add %xy, %acc[%i1] : f32
// CHECK-NEXT:          }
// CHECK-NEXT:        }
// CHECK-NEXT:        nest.for %i1 = 0 to 3 {
// CHECK-NEXT:          %s = nest.load %acc[%i1] : f32
// CHECK-NEXT:          %bias = nest.load %c[%i1] : f32
// CHECK-NEXT:          %z = nest.add %s, %bias : f32
// CHECK-NEXT:          nest.store %z, %out[%i0 * 3 + %i1] : f32
// CHECK-NEXT:        }
// CHECK-NEXT:      }
// CHECK-NEXT:    }

// Phases share the row loop; a kept value is computed once, in the phase that needs it first.
schedule.kernel @softmax(%a: tensor<8x16xf32>) -> tensor<8x16xf32> dims [i0 = 8, i1 = 16] rows 1 order [0, 1] {
  %x = graph.view %a strides [16, 1] : tensor<8x16xf32> -> tensor<8x16xf32>
  %m = graph.max %x axes [1] : tensor<8x16xf32> -> tensor<8x1xf32>
  %minus = graph.neg %m : tensor<8x1xf32>
  %1 = graph.view %minus strides [1, 0] : tensor<8x1xf32> -> tensor<8x16xf32>
  %d = graph.add %x, %1 : tensor<8x16xf32>
  %e = graph.exp %d : tensor<8x16xf32>
  %k = schedule.keep %e : tensor<8x16xf32>
  %s = graph.sum %k axes [1] : tensor<8x16xf32> -> tensor<8x1xf32>
  %2 = graph.view %s strides [1, 0] : tensor<8x1xf32> -> tensor<8x16xf32>
  %y = graph.mul %k, recip %2 : tensor<8x16xf32>
  schedule.yield %y : tensor<8x16xf32>
}
// CHECK:         nest.kernel @softmax(%a: memref<128xf32>, %out: memref<128xf32>) {
// CHECK-NEXT:      nest.for %i0 = 0 to 8 {
// CHECK-NEXT:        %acc = nest.scratch : memref<1xf32, "register">
// CHECK-NEXT:        %0 = nest.const 0xff800000 : f32
// CHECK-NEXT:        nest.store %0, %acc[0] : f32
// CHECK-NEXT:        nest.for %i1 = 0 to 16 {
// CHECK-NEXT:          %x = nest.load %a[%i0 * 16 + %i1] : f32
// CHECK-NEXT:          nest.accumulate max %x, %acc[0] : f32
// CHECK-NEXT:        }
// CHECK-NEXT:        %acc_1 = nest.scratch : memref<1xf32, "register">
// CHECK-NEXT:        %1 = nest.const 0.000000e+00 : f32
// CHECK-NEXT:        nest.store %1, %acc_1[0] : f32
// CHECK-NEXT:        %m = nest.load %acc[0] : f32
// CHECK-NEXT:        %minus = nest.neg %m : f32
// CHECK-NEXT:        %kept = nest.scratch : memref<16xf32, "stack">
// CHECK-NEXT:        nest.for %i1 = 0 to 16 {
// CHECK-NEXT:          %x = nest.load %a[%i0 * 16 + %i1] : f32
// CHECK-NEXT:          %d = nest.add %x, %minus : f32
// CHECK-NEXT:          %e = nest.exp %d : f32
// CHECK-NEXT:          nest.store %e, %kept[%i1] : f32
// CHECK-NEXT:          nest.accumulate add %e, %acc_1[0] : f32
// CHECK-NEXT:        }
// CHECK-NEXT:        %s = nest.load %acc_1[0] : f32
// CHECK-NEXT:        nest.for %i1 = 0 to 16 {
// CHECK-NEXT:          %k = nest.load %kept[%i1] : f32
// CHECK-NEXT:          %y = nest.div %k, %s : f32
// CHECK-NEXT:          nest.store %y, %out[%i0 * 16 + %i1] : f32
// CHECK-NEXT:        }
// CHECK-NEXT:      }
// CHECK-NEXT:    }

// Nested sums: 16 lanes for each block, then their total, then the total of the blocks.
schedule.kernel @split_sum(%a: tensor<640xf32>) -> tensor<f32> dims [r0 = 2, r1 = 20, r2 = 16] rows 0 order [0, 1, 2] {
  %x = graph.view %a strides [320, 16, 1] : tensor<640xf32> -> tensor<2x20x16xf32>
  %lane = graph.sum %x axes [1] : tensor<2x20x16xf32> -> tensor<2x1x16xf32>
  %block = graph.sum %lane axes [2] : tensor<2x1x16xf32> -> tensor<2x1x1xf32>
  %s = graph.sum %block axes [0] : tensor<2x1x1xf32> -> tensor<1x1x1xf32>
  schedule.yield %s : tensor<1x1x1xf32>
}
// CHECK:         nest.kernel @split_sum(%a: memref<640xf32>, %out: memref<1xf32>) {
// CHECK-NEXT:      %acc = nest.scratch : memref<1xf32, "register">
// CHECK-NEXT:      %0 = nest.const 0.000000e+00 : f32
// CHECK-NEXT:      nest.store %0, %acc[0] : f32
// CHECK-NEXT:      nest.for %r0 = 0 to 2 {
// CHECK-NEXT:        %acc_1 = nest.scratch : memref<16xf32, "stack">
// CHECK-NEXT:        nest.for %r2 = 0 to 16 {
// CHECK-NEXT:          %1 = nest.const 0.000000e+00 : f32
// CHECK-NEXT:          nest.store %1, %acc_1[%r2] : f32
// CHECK-NEXT:        }
// CHECK-NEXT:        nest.for %r1 = 0 to 20 {
// CHECK-NEXT:          nest.for %r2 = 0 to 16 {
// CHECK-NEXT:            %x = nest.load %a[%r0 * 320 + %r1 * 16 + %r2] : f32
// CHECK-NEXT:            nest.accumulate add %x, %acc_1[%r2] : f32
// CHECK-NEXT:          }
// CHECK-NEXT:        }
// CHECK-NEXT:        %acc_2 = nest.scratch : memref<1xf32, "register">
// CHECK-NEXT:        %1 = nest.const 0.000000e+00 : f32
// CHECK-NEXT:        nest.store %1, %acc_2[0] : f32
// CHECK-NEXT:        nest.for %r2 = 0 to 16 {
// CHECK-NEXT:          %lane = nest.load %acc_1[%r2] : f32
// CHECK-NEXT:          nest.accumulate add %lane, %acc_2[0] : f32
// CHECK-NEXT:        }
// CHECK-NEXT:        %block = nest.load %acc_2[0] : f32
// CHECK-NEXT:        nest.accumulate add %block, %acc[0] : f32
// CHECK-NEXT:      }
// CHECK-NEXT:      %s = nest.load %acc[0] : f32
// CHECK-NEXT:      nest.store %s, %out[0] : f32
// CHECK-NEXT:    }

// A fold ascends over its axes whatever the order says: i1 comes first, but r0 stays outside of r2.
schedule.kernel @ascending(%a: tensor<2x3x4xf32>) -> tensor<3xf32> dims [r0 = 2, i1 = 3, r2 = 4] rows 0 order [2, 1, 0] {
  %x = graph.view %a strides [12, 4, 1] : tensor<2x3x4xf32> -> tensor<2x3x4xf32>
  %s = graph.sum %x axes [0, 2] : tensor<2x3x4xf32> -> tensor<1x3x1xf32>
  schedule.yield %s : tensor<1x3x1xf32>
}
// CHECK:         nest.kernel @ascending(%a: memref<24xf32>, %out: memref<3xf32>) {
// CHECK-NEXT:      nest.for %i1 = 0 to 3 {
// CHECK-NEXT:        %0 = nest.const 0.000000e+00 : f32
// CHECK-NEXT:        nest.store %0, %out[%i1] : f32
// CHECK-NEXT:      }
// CHECK-NEXT:      nest.for %r0 = 0 to 2 {
// CHECK-NEXT:        nest.for %i1 = 0 to 3 {
// CHECK-NEXT:          nest.for %r2 = 0 to 4 {
// CHECK-NEXT:            %x = nest.load %a[%r0 * 12 + %i1 * 4 + %r2] : f32
// CHECK-NEXT:            nest.accumulate add %x, %out[%i1] : f32
// CHECK-NEXT:          }
// CHECK-NEXT:        }
// CHECK-NEXT:      }
// CHECK-NEXT:    }

// Layouts: padded at both ends, flipped, repeated, a dim of extent 1; one load for two equal views.
schedule.kernel @layouts(%a: tensor<5xf32>, %b: tensor<7xf32>) -> tensor<8x1x2xf32> dims [i0 = 8, i1 = 1, i2 = 2] rows 0 order [2, 1, 0] {
  %x = graph.view %a strides [1, 9, 0] offset -2 mask [2, 0, 0] to [7, 1, 2] : tensor<5xf32> -> tensor<8x1x2xf32>
  %y = graph.view %b strides [-1, 0, -1] offset 8 mask [2, 0, 0] to [8, 1, 2] : tensor<7xf32> -> tensor<8x1x2xf32>
  %again = graph.view %a strides [1, 9, 0] offset -2 mask [2, 0, 0] to [7, 1, 2] : tensor<5xf32> -> tensor<8x1x2xf32>
  %nothing = graph.view %a strides [0, 0, 0] mask [0, 0, 0] to [0, 1, 2] : tensor<5xf32> -> tensor<8x1x2xf32>
  %xy = graph.add %x, %y : tensor<8x1x2xf32>
  %xyx = graph.mul %xy, %again : tensor<8x1x2xf32>
  %z = graph.add %xyx, %nothing : tensor<8x1x2xf32>
  schedule.yield %z : tensor<8x1x2xf32>
}
// CHECK:         nest.kernel @layouts(%a: memref<5xf32>, %b: memref<7xf32>, %out: memref<16xf32>) {
// CHECK-NEXT:      nest.for %i2 = 0 to 2 {
// CHECK-NEXT:        nest.for %i0 = 0 to 8 {
// CHECK-NEXT:          %x = nest.load %a[%i0 - 2] where [%i0] in [2] to [7] : f32
// CHECK-NEXT:          %y = nest.load %b[%i0 * -1 - %i2 + 8] where [%i0] in [2] to [8] : f32
// CHECK-NEXT:          %xy = nest.add %x, %y : f32
// CHECK-NEXT:          %xyx = nest.mul %xy, %x : f32
// CHECK-NEXT:          %nothing = nest.const 0.000000e+00 : f32
// CHECK-NEXT:          %z = nest.add %xyx, %nothing : f32
// CHECK-NEXT:          nest.store %z, %out[%i0 * 2 + %i2] : f32
// CHECK-NEXT:        }
// CHECK-NEXT:      }
// CHECK-NEXT:    }

// Halves are widened, computed in f32 and rounded once for each op; their totals are f32.
schedule.kernel @halves(%a: tensor<4x5xf16>) -> tensor<4xf16> dims [i0 = 4, r1 = 5] rows 0 order [0, 1] {
  %x = graph.view %a strides [5, 1] : tensor<4x5xf16> -> tensor<4x5xf16>
  %xx = graph.mul %x, %x : tensor<4x5xf16>
  %s = graph.sum %xx axes [1] : tensor<4x5xf16> -> tensor<4x1xf16>
  schedule.yield %s : tensor<4x1xf16>
}
// CHECK:         nest.kernel @halves(%a: memref<20xf16>, %out: memref<4xf16>) {
// CHECK-NEXT:      nest.for %i0 = 0 to 4 {
// CHECK-NEXT:        %acc = nest.scratch : memref<1xf32, "register">
// CHECK-NEXT:        %0 = nest.const 0.000000e+00 : f32
// CHECK-NEXT:        nest.store %0, %acc[0] : f32
// CHECK-NEXT:        nest.for %r1 = 0 to 5 {
// CHECK-NEXT:          %x = nest.load %a[%i0 * 5 + %r1] : f16
// CHECK-NEXT:          %1 = nest.cast %x : f16 to f32
// CHECK-NEXT:          %2 = nest.mul %1, %1 : f32
// CHECK-NEXT:          %xx = nest.cast %2 : f32 to f16
// CHECK-NEXT:          %3 = nest.cast %xx : f16 to f32
// CHECK-NEXT:          nest.accumulate add %3, %acc[0] : f32
// CHECK-NEXT:        }
// CHECK-NEXT:        %1 = nest.load %acc[0] : f32
// CHECK-NEXT:        %s = nest.cast %1 : f32 to f16
// CHECK-NEXT:        nest.store %s, %out[%i0] : f16
// CHECK-NEXT:      }
// CHECK-NEXT:    }

schedule.kernel @any(%a: tensor<6xi1>) -> tensor<i1> dims [r0 = 6] rows 0 order [0] {
  %x = graph.view %a strides [1] : tensor<6xi1> -> tensor<6xi1>
  %s = graph.max %x axes [0] : tensor<6xi1> -> tensor<1xi1>
  schedule.yield %s : tensor<1xi1>
}
// CHECK:         nest.kernel @any(%a: memref<6xi1>, %out: memref<1xi1>) {
// CHECK-NEXT:      %acc = nest.scratch : memref<1xi32, "register">
// CHECK-NEXT:      %0 = nest.const 0 : i32
// CHECK-NEXT:      nest.store %0, %acc[0] : i32
// CHECK-NEXT:      nest.for %r0 = 0 to 6 {
// CHECK-NEXT:        %x = nest.load %a[%r0] : i1
// CHECK-NEXT:        %1 = nest.cast %x : i1 to i32
// CHECK-NEXT:        nest.accumulate max %1, %acc[0] : i32
// CHECK-NEXT:      }
// CHECK-NEXT:      %1 = nest.load %acc[0] : i32
// CHECK-NEXT:      %s = nest.cast %1 : i32 to i1
// CHECK-NEXT:      nest.store %s, %out[0] : i1
// CHECK-NEXT:    }

schedule.kernel @rows(%table: tensor<7x3xf32>, %i: tensor<5xi32>) -> tensor<5x3xf32> dims [i0 = 5, i1 = 3] rows 0 order [0, 1] {
  %n = graph.view %i strides [1, 0] : tensor<5xi32> -> tensor<5x1xi32>
  %cells = schedule.gather %table[%n] strides [0, 1] : tensor<7x3xf32>, tensor<5x1xi32> -> tensor<5x3xf32>
  schedule.yield %cells : tensor<5x3xf32>
}
// CHECK:         nest.kernel @rows(%table: memref<21xf32>, %i: memref<5xi32>, %out: memref<15xf32>) {
// CHECK-NEXT:      nest.for %i0 = 0 to 5 {
// CHECK-NEXT:        %n = nest.load %i[%i0] : i32
// CHECK-NEXT:        %row = nest.check_row %n below 7 at [%i0] : i32
// CHECK-NEXT:        nest.for %i1 = 0 to 3 {
// CHECK-NEXT:          %cells = nest.load %table[%row * 3 + %i1] : f32
// CHECK-NEXT:          nest.store %cells, %out[%i0 * 3 + %i1] : f32
// CHECK-NEXT:        }
// CHECK-NEXT:      }
// CHECK-NEXT:    }

schedule.kernel @sums(%x: tensor<5x2xf32>, %i: tensor<5xi32>) -> tensor<7x3xf32> dims [r0 = 5, i1 = 2] rows 0 order [0, 1] {
  %v = graph.view %x strides [2, 1] : tensor<5x2xf32> -> tensor<5x2xf32>
  %n = graph.view %i strides [1, 0] : tensor<5xi32> -> tensor<5x1xi32>
  %sum = schedule.scatter %v[%n] strides [0, 1] offset 1 : tensor<5x2xf32>, tensor<5x1xi32> -> tensor<7x3xf32>
  schedule.yield %sum : tensor<7x3xf32>
}
// CHECK:         nest.kernel @sums(%x: memref<10xf32>, %i: memref<5xi32>, %out: memref<21xf32>) {
// CHECK-NEXT:      nest.for %cell = 0 to 21 {
// CHECK-NEXT:        %0 = nest.const 0.000000e+00 : f32
// CHECK-NEXT:        nest.store %0, %out[%cell] : f32
// CHECK-NEXT:      }
// CHECK-NEXT:      nest.for %r0 = 0 to 5 {
// CHECK-NEXT:        %n = nest.load %i[%r0] : i32
// CHECK-NEXT:        %row = nest.check_row %n below 7 at [%r0] : i32
// CHECK-NEXT:        nest.for %i1 = 0 to 2 {
// CHECK-NEXT:          %v = nest.load %x[%r0 * 2 + %i1] : f32
// CHECK-NEXT:          nest.accumulate add %v, %out[%row * 3 + %i1 + 1] : f32
// CHECK-NEXT:        }
// CHECK-NEXT:      }
// CHECK-NEXT:    }

// What takes long stands outside of the loops that would repeat it.
schedule.kernel @outer(%a: tensor<4xf32>, %b: tensor<3xf32>) -> tensor<4x3xf32> dims [i0 = 4, i1 = 3] rows 0 order [0, 1] {
  %x = graph.view %a strides [1, 0] : tensor<4xf32> -> tensor<4x1xf32>
  %l = graph.log %x : tensor<4x1xf32>
  %n = graph.neg %l : tensor<4x1xf32>
  %0 = graph.view %n strides [1, 0] : tensor<4x1xf32> -> tensor<4x3xf32>
  %y = graph.view %b strides [0, 1] : tensor<3xf32> -> tensor<4x3xf32>
  %z = graph.add %0, %y : tensor<4x3xf32>
  schedule.yield %z : tensor<4x3xf32>
}
// CHECK:         nest.kernel @outer(%a: memref<4xf32>, %b: memref<3xf32>, %out: memref<12xf32>) {
// CHECK-NEXT:      nest.for %i0 = 0 to 4 {
// CHECK-NEXT:        %x = nest.load %a[%i0] : f32
// CHECK-NEXT:        %l = nest.log %x : f32
// CHECK-NEXT:        nest.for %i1 = 0 to 3 {
// CHECK-NEXT:          %n = nest.neg %l : f32
// CHECK-NEXT:          %y = nest.load %b[%i1] : f32
// CHECK-NEXT:          %z = nest.add %n, %y : f32
// CHECK-NEXT:          nest.store %z, %out[%i0 * 3 + %i1] : f32
// CHECK-NEXT:        }
// CHECK-NEXT:      }
// CHECK-NEXT:    }

// Division and reciprocal, and two results of one loop.
schedule.kernel @two(%a: tensor<4xf32>, %b: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) dims [i0 = 4] rows 0 order [0] {
  %x = graph.view %a strides [1] : tensor<4xf32> -> tensor<4xf32>
  %y = graph.view %b strides [1] : tensor<4xf32> -> tensor<4xf32>
  %q = graph.mul %x, recip %y : tensor<4xf32>
  %r = graph.recip %y : tensor<4xf32>
  schedule.yield %q, %r : tensor<4xf32>, tensor<4xf32>
}
// CHECK:         nest.kernel @two(%a: memref<4xf32>, %b: memref<4xf32>, %out0: memref<4xf32>, %out1: memref<4xf32>) {
// CHECK-NEXT:      nest.for %i0 = 0 to 4 {
// CHECK-NEXT:        %x = nest.load %a[%i0] : f32
// CHECK-NEXT:        %y = nest.load %b[%i0] : f32
// CHECK-NEXT:        %q = nest.div %x, %y : f32
// CHECK-NEXT:        nest.store %q, %out0[%i0] : f32
// CHECK-NEXT:        %0 = nest.const 1.000000e+00 : f32
// CHECK-NEXT:        %r = nest.div %0, %y : f32
// CHECK-NEXT:        nest.store %r, %out1[%i0] : f32
// CHECK-NEXT:      }
// CHECK-NEXT:    }

// The plan: an intermediate, a result that is read again, an argument returned, assigns that commit.
func.func @main(%w: tensor<4xf32>, %g: tensor<4xf32>) -> (tensor<4xf32>, tensor<2x2xf32>, tensor<4xf32>) {
  %p:2 = schedule.launch @two(%w, %g) because "requested output" : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  %q:2 = schedule.launch @two(%p#0, %p#1) : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  %w1 = graph.assign %w, %q#0 : tensor<4xf32>
  %g1 = graph.assign %g, %w : tensor<4xf32>
  %square = graph.view %p#0 strides [2, 1] : tensor<4xf32> -> tensor<2x2xf32>
  func.return %p#0, %square, %g : tensor<4xf32>, tensor<2x2xf32>, tensor<4xf32>
}
// CHECK:         nest.plan @main(%w: memref<4xf32>, %g: memref<4xf32>, %out0: memref<4xf32>, %out1: memref<4xf32>, %out2: memref<4xf32>, %w_next: memref<4xf32>, %g_next: memref<4xf32>) inputs 2 commits [5 -> 0, 6 -> 1] {
// CHECK-NEXT:      %p = nest.alloc : memref<4xf32>
// CHECK-NEXT:      nest.launch @two(%w, %g, %out0, %p) because "requested output"
// CHECK-NEXT:      %q = nest.alloc : memref<4xf32>
// CHECK-NEXT:      nest.launch @two(%out0, %p, %w_next, %q)
// CHECK-NEXT:      nest.launch @copy_4xf32(%out0, %out1) because "result that is another's bytes"
// CHECK-NEXT:      nest.launch @copy_4xf32(%g, %out2) because "result that is another's bytes"
// CHECK-NEXT:      nest.launch @copy_4xf32(%w, %g_next) because "result that is another's bytes"
// CHECK-NEXT:    }

// A function without kernels.
func.func @nothing() {
  func.return
}
// CHECK:         nest.plan @nothing() inputs 0 {
// CHECK-NEXT:    }

// With too little scratch for a row of totals the loops change places, and the total is a register; a row that was to
// be kept is computed again.
// SMALL:       nest.kernel @matmul_bias
// SMALL-NEXT:    nest.for %i0 = 0 to 4 {
// SMALL-NEXT:      nest.for %i1 = 0 to 3 {
// SMALL-NEXT:        %acc = nest.scratch : memref<1xf32, "register">
// SMALL-NEXT:        %0 = nest.const 0.000000e+00 : f32
// SMALL-NEXT:        nest.store %0, %acc[0] : f32
// SMALL-NEXT:        nest.for %r2 = 0 to 5 {
// SMALL:       nest.kernel @softmax
// SMALL-NOT:   nest.store {{.*}}kept
// SMALL:       nest.kernel @split_sum
