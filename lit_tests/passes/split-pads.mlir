// RUN: limn-opt --pass split-pads %s | filecheck %s
// RUN: limn-opt --pass 'split-pads{growth=1}' %s | filecheck %s --check-prefix=TIGHT

// Padded at both ends.
nest.kernel @both_ends(%in0: memref<5xf32>, %out: memref<9xf32>) {
  nest.for %i0 = 0 to 9 {
    %v = nest.load %in0[%i0 - 2] where [%i0] in [2] to [7] : f32
    nest.store %v, %out[%i0] : f32
  }
}
// CHECK:         nest.kernel @both_ends(%in0: memref<5xf32>, %out: memref<9xf32>) {
// CHECK-NEXT:      nest.for %i0 = 0 to 2 {
// CHECK-NEXT:        %v = nest.const 0.000000e+00 : f32
// CHECK-NEXT:        nest.store %v, %out[%i0] : f32
// CHECK-NEXT:      }
// CHECK-NEXT:      nest.for %i0 = 2 to 7 {
// CHECK-NEXT:        %v = nest.load %in0[%i0 - 2] : f32
// CHECK-NEXT:        nest.store %v, %out[%i0] : f32
// CHECK-NEXT:      }
// CHECK-NEXT:      nest.for %i0 = 7 to 9 {
// CHECK-NEXT:        %v = nest.const 0.000000e+00 : f32
// CHECK-NEXT:        nest.store %v, %out[%i0] : f32
// CHECK-NEXT:      }
// CHECK-NEXT:    }

// Padded at one end, inside of a loop that the check is not about.
nest.kernel @one_end(%in0: memref<20xf32>, %out: memref<28xf32>) {
  nest.for %i0 = 0 to 4 {
    nest.for %i1 = 0 to 7 {
      %v = nest.load %in0[%i0 * 5 + %i1] where [%i1] in [0] to [5] : f32
      nest.store %v, %out[%i0 * 7 + %i1] : f32
    }
  }
}
// CHECK:         nest.kernel @one_end(%in0: memref<20xf32>, %out: memref<28xf32>) {
// CHECK-NEXT:      nest.for %i0 = 0 to 4 {
// CHECK-NEXT:        nest.for %i1 = 0 to 5 {
// CHECK-NEXT:          %v = nest.load %in0[%i0 * 5 + %i1] : f32
// CHECK-NEXT:          nest.store %v, %out[%i0 * 7 + %i1] : f32
// CHECK-NEXT:        }
// CHECK-NEXT:        nest.for %i1 = 5 to 7 {
// CHECK-NEXT:          %v = nest.const 0.000000e+00 : f32
// CHECK-NEXT:          nest.store %v, %out[%i0 * 7 + %i1] : f32
// CHECK-NEXT:        }
// CHECK-NEXT:      }
// CHECK-NEXT:    }

// A check of an outer index in an inner loop splits the outer loop.
nest.kernel @two_dims(%in0: memref<6xf32>, %out: memref<15xf32>) {
  nest.for %i0 = 0 to 3 {
    nest.for %i1 = 0 to 5 {
      %v = nest.load %in0[%i0 * 3 + %i1 - 1] where [%i0, %i1] in [0, 1] to [2, 4] : f32
      nest.store %v, %out[%i0 * 5 + %i1] : f32
    }
  }
}
// CHECK:         nest.kernel @two_dims(%in0: memref<6xf32>, %out: memref<15xf32>) {
// CHECK-NEXT:      nest.for %i0 = 0 to 2 {
// CHECK-NEXT:        nest.for %i1 = 0 to 1 {
// CHECK-NEXT:          %v = nest.const 0.000000e+00 : f32
// CHECK-NEXT:          nest.store %v, %out[%i0 * 5 + %i1] : f32
// CHECK-NEXT:        }
// CHECK-NEXT:        nest.for %i1 = 1 to 4 {
// CHECK-NEXT:          %v = nest.load %in0[%i0 * 3 + %i1 - 1] : f32
// CHECK-NEXT:          nest.store %v, %out[%i0 * 5 + %i1] : f32
// CHECK-NEXT:        }
// CHECK-NEXT:        nest.for %i1 = 4 to 5 {
// CHECK-NEXT:          %v = nest.const 0.000000e+00 : f32
// CHECK-NEXT:          nest.store %v, %out[%i0 * 5 + %i1] : f32
// CHECK-NEXT:        }
// CHECK-NEXT:      }
// CHECK-NEXT:      nest.for %i0 = 2 to 3 {
// CHECK-NEXT:        nest.for %i1 = 0 to 5 {
// CHECK-NEXT:          %v = nest.const 0.000000e+00 : f32
// CHECK-NEXT:          nest.store %v, %out[%i0 * 5 + %i1] : f32
// CHECK-NEXT:        }
// CHECK-NEXT:      }
// CHECK-NEXT:    }

// Turns of a step that does not divide the edges: the parts start on turns of the loop.
nest.kernel @steps(%in0: memref<8xf32>, %out: memref<14xf32>) {
  nest.for %i0 = 1 to 14 step 3 {
    %v = nest.load %in0[%i0 - 3] where [%i0] in [3] to [11] : f32
    nest.store %v, %out[%i0] : f32
  }
}
// CHECK:         nest.kernel @steps(%in0: memref<8xf32>, %out: memref<14xf32>) {
// CHECK-NEXT:      nest.for %i0 = 1 to 3 step 3 {
// CHECK-NEXT:        %v = nest.const 0.000000e+00 : f32
// CHECK-NEXT:        nest.store %v, %out[%i0] : f32
// CHECK-NEXT:      }
// CHECK-NEXT:      nest.for %i0 = 4 to 11 step 3 {
// CHECK-NEXT:        %v = nest.load %in0[%i0 - 3] : f32
// CHECK-NEXT:        nest.store %v, %out[%i0] : f32
// CHECK-NEXT:      }
// CHECK-NEXT:      nest.for %i0 = 13 to 14 step 3 {
// CHECK-NEXT:        %v = nest.const 0.000000e+00 : f32
// CHECK-NEXT:        nest.store %v, %out[%i0] : f32
// CHECK-NEXT:      }
// CHECK-NEXT:    }

// A window: the bounds depend on the outer index. The index of a flipped view counts down.
nest.kernel @window(%in0: memref<8xf32>, %in1: memref<8xf32>, %out: memref<8xf32>) {
  nest.for %i0 = 0 to 8 {
    nest.for %r1 = 0 to 3 {
      %v = nest.load %in0[%i0 + %r1 - 1] where [%i0 + %r1] in [1] to [9] : f32
      nest.accumulate add %v, %out[%i0] : f32
    }
    nest.for %r1 = 0 to 3 {
      %u = nest.load %in1[%i0 - %r1 + 6] where [%i0 - %r1] in [-6] to [2] : f32
      nest.accumulate add %u, %out[%i0] : f32
    }
  }
}
// CHECK:         nest.kernel @window(%in0: memref<8xf32>, %in1: memref<8xf32>, %out: memref<8xf32>) {
// CHECK-NEXT:      nest.for %i0 = 0 to 8 {
// CHECK-NEXT:        nest.for %r1 = 0 to %i0 * -1 + 1 {
// CHECK-NEXT:          %v = nest.const 0.000000e+00 : f32
// CHECK-NEXT:          nest.accumulate add %v, %out[%i0] : f32
// CHECK-NEXT:        }
// CHECK-NEXT:        nest.for %r1 = max [0, %i0 * -1 + 1] to min [3, %i0 * -1 + 9] {
// CHECK-NEXT:          %v = nest.load %in0[%i0 + %r1 - 1] : f32
// CHECK-NEXT:          nest.accumulate add %v, %out[%i0] : f32
// CHECK-NEXT:        }
// CHECK-NEXT:        nest.for %r1 = %i0 * -1 + 9 to 3 {
// CHECK-NEXT:          %v = nest.const 0.000000e+00 : f32
// CHECK-NEXT:          nest.accumulate add %v, %out[%i0] : f32
// CHECK-NEXT:        }
// CHECK-NEXT:        nest.for %r1 = 0 to min [3, %i0 - 1] {
// CHECK-NEXT:          %u = nest.const 0.000000e+00 : f32
// CHECK-NEXT:          nest.accumulate add %u, %out[%i0] : f32
// CHECK-NEXT:        }
// CHECK-NEXT:        nest.for %r1 = max [0, %i0 - 1] to 3 {
// CHECK-NEXT:          %u = nest.load %in1[%i0 - %r1 + 6] : f32
// CHECK-NEXT:          nest.accumulate add %u, %out[%i0] : f32
// CHECK-NEXT:        }
// CHECK-NEXT:      }
// CHECK-NEXT:    }

// Two paddings that meet, as those of a concatenation.
nest.kernel @joined(%in0: memref<5xf32>, %in1: memref<4xf32>, %out: memref<9xf32>) {
  nest.for %i0 = 0 to 9 {
    %v = nest.load %in0[%i0] where [%i0] in [0] to [5] : f32
    %u = nest.load %in1[%i0 - 5] where [%i0] in [5] to [9] : f32
    %s = nest.add %v, %u : f32
    nest.store %s, %out[%i0] : f32
  }
}
// CHECK:         nest.kernel @joined(%in0: memref<5xf32>, %in1: memref<4xf32>, %out: memref<9xf32>) {
// CHECK-NEXT:      nest.for %i0 = 0 to 5 {
// CHECK-NEXT:        %v = nest.load %in0[%i0] : f32
// CHECK-NEXT:        %u = nest.const 0.000000e+00 : f32
// CHECK-NEXT:        %s = nest.add %v, %u : f32
// CHECK-NEXT:        nest.store %s, %out[%i0] : f32
// CHECK-NEXT:      }
// CHECK-NEXT:      nest.for %i0 = 5 to 9 {
// CHECK-NEXT:        %v = nest.const 0.000000e+00 : f32
// CHECK-NEXT:        %u = nest.load %in1[%i0 - 5] : f32
// CHECK-NEXT:        %s = nest.add %v, %u : f32
// CHECK-NEXT:        nest.store %s, %out[%i0] : f32
// CHECK-NEXT:      }
// CHECK-NEXT:    }

// No check, a check that is not in an innermost loop, one with a quotient, one on a row number.
nest.kernel @left_alone(%in0: memref<12xf32>, %n: memref<9xi32>, %out: memref<36xf32>) {
  nest.for %i0 = 0 to 9 {
    %w = nest.load %in0[%i0] where [%i0] in [2] to [7] : f32
    %k = nest.load %n[%i0] : i32
    %row = nest.check_row %k below 12 at [%i0] : i32
    nest.for %i1 = 0 to 4 {
      %v = nest.load %in0[%i0 + %i1] : f32
      %q = nest.load %in0[%i1] where [%i1 floordiv 2] in [1] to [2] : f32
      %u = nest.load %in0[%row] where [%row + %i1] in [1] to [5] : f32
      %s = nest.add %v, %w : f32
      %t = nest.add %q, %u : f32
      %st = nest.add %s, %t : f32
      nest.store %st, %out[%i0 * 4 + %i1] : f32
    }
  }
}
// CHECK:         nest.kernel @left_alone(%in0: memref<12xf32>, %n: memref<9xi32>, %out: memref<36xf32>) {
// CHECK-NEXT:      nest.for %i0 = 0 to 9 {
// CHECK-NEXT:        %w = nest.load %in0[%i0] where [%i0] in [2] to [7] : f32
// CHECK-NEXT:        %k = nest.load %n[%i0] : i32
// CHECK-NEXT:        %row = nest.check_row %k below 12 at [%i0] : i32
// CHECK-NEXT:        nest.for %i1 = 0 to 4 {
// CHECK-NEXT:          %v = nest.load %in0[%i0 + %i1] : f32
// CHECK-NEXT:          %q = nest.load %in0[%i1] where [%i1 floordiv 2] in [1] to [2] : f32
// CHECK-NEXT:          %u = nest.load %in0[%row] where [%row + %i1] in [1] to [5] : f32
// CHECK-NEXT:          %s = nest.add %v, %w : f32
// CHECK-NEXT:          %t = nest.add %q, %u : f32
// CHECK-NEXT:          %st = nest.add %s, %t : f32
// CHECK-NEXT:          nest.store %st, %out[%i0 * 4 + %i1] : f32
// CHECK-NEXT:        }
// CHECK-NEXT:      }
// CHECK-NEXT:    }

// A check that always holds and one that never does are resolved without a split.
nest.kernel @decided(%in0: memref<9xf32>, %out: memref<9xf32>) {
  nest.for %i0 = 2 to 7 {
    %v = nest.load %in0[%i0] where [%i0] in [1] to [8] : f32
    %u = nest.load %in0[%i0] where [%i0] in [7] to [9] : f32
    %s = nest.add %v, %u : f32
    nest.store %s, %out[%i0] : f32
  }
}
// CHECK:         nest.kernel @decided(%in0: memref<9xf32>, %out: memref<9xf32>) {
// CHECK-NEXT:      nest.for %i0 = 2 to 7 {
// CHECK-NEXT:        %v = nest.load %in0[%i0] : f32
// CHECK-NEXT:        %u = nest.const 0.000000e+00 : f32
// CHECK-NEXT:        %s = nest.add %v, %u : f32
// CHECK-NEXT:        nest.store %s, %out[%i0] : f32
// CHECK-NEXT:      }
// CHECK-NEXT:    }

// No room to grow: only decided checks go.
// TIGHT: %v = nest.load %in0[%i0 - 2] where [%i0] in [2] to [7] : f32
// TIGHT: nest.kernel @decided
// TIGHT: %v = nest.load %in0[%i0] : f32
