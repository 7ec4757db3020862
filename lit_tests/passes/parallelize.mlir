// RUN: limn-opt --pass 'parallelize{grain=24 turns=3}' %s | filecheck %s
// RUN: limn-opt --pass parallelize %s | filecheck %s --check-prefix=SMALL

// The rows of a product: no turn of %i0 touches the row of another. The loops inside stay.
nest.kernel @matmul(%a: memref<20xf32>, %b: memref<15xf32>, %out: memref<12xf32>) {
  nest.for %i0 = 0 to 4 {
    nest.for %i1 = 0 to 3 {
      %z = nest.const 0.0 : f32
      nest.store %z, %out[%i0 * 3 + %i1] : f32
    }
    nest.for %r2 = 0 to 5 {
      nest.for %i1 = 0 to 3 {
        %x = nest.load %a[%i0 * 5 + %r2] : f32
        %y = nest.load %b[%r2 * 3 + %i1] : f32
        nest.accumulate fma %x, %y, %out[%i0 * 3 + %i1] : f32
      }
    }
  }
}
// CHECK:         nest.kernel @matmul(%a: memref<20xf32>, %b: memref<15xf32>, %out: memref<12xf32>) {
// CHECK-NEXT:      nest.for %i0 = 0 to 4 parallel {
// CHECK-NEXT:        nest.for %i1 = 0 to 3 {
// CHECK-NEXT:          %z = nest.const 0.000000e+00 : f32
// CHECK-NEXT:          nest.store %z, %out[%i0 * 3 + %i1] : f32
// CHECK-NEXT:        }
// CHECK-NEXT:        nest.for %r2 = 0 to 5 {
// CHECK-NEXT:          nest.for %i1 = 0 to 3 {
// CHECK-NEXT:            %x = nest.load %a[%i0 * 5 + %r2] : f32
// CHECK-NEXT:            %y = nest.load %b[%r2 * 3 + %i1] : f32
// CHECK-NEXT:            nest.accumulate fma %x, %y, %out[%i0 * 3 + %i1] : f32
// CHECK-NEXT:          }
// CHECK-NEXT:        }
// CHECK-NEXT:      }
// CHECK-NEXT:    }

// Few turns whose body is one loop: both.
nest.kernel @few(%a: memref<24xf32>, %out: memref<24xf32>) {
  nest.for %i0 = 0 to 2 {
    nest.for %i1 = 0 to 4 {
      nest.for %i2 = 0 to 3 {
        %x = nest.load %a[%i0 * 12 + %i1 * 3 + %i2] : f32
        nest.store %x, %out[%i0 * 12 + %i1 * 3 + %i2] : f32
      }
    }
  }
}
// CHECK:         nest.kernel @few(%a: memref<24xf32>, %out: memref<24xf32>) {
// CHECK-NEXT:      nest.for %i0 = 0 to 2 parallel collapse 2 {
// CHECK-NEXT:        nest.for %i1 = 0 to 4 {
// CHECK-NEXT:          nest.for %i2 = 0 to 3 {
// CHECK-NEXT:            %x = nest.load %a[%i0 * 12 + %i1 * 3 + %i2] : f32
// CHECK-NEXT:            nest.store %x, %out[%i0 * 12 + %i1 * 3 + %i2] : f32
// CHECK-NEXT:          }
// CHECK-NEXT:        }
// CHECK-NEXT:      }
// CHECK-NEXT:    }

// Columns: the stride of %i1 is the smallest, the rows lie further apart than all its turns.
nest.kernel @transposed(%a: memref<24xf32>, %out: memref<24xf32>) {
  nest.for %i1 = 0 to 4 {
    nest.for %i0 = 0 to 6 {
      %x = nest.load %a[%i1 * 6 + %i0] : f32
      nest.store %x, %out[%i0 * 4 + %i1] : f32
    }
  }
}
// CHECK:         nest.kernel @transposed(%a: memref<24xf32>, %out: memref<24xf32>) {
// CHECK-NEXT:      nest.for %i1 = 0 to 4 parallel {
// CHECK-NEXT:        nest.for %i0 = 0 to 6 {
// CHECK-NEXT:          %x = nest.load %a[%i1 * 6 + %i0] : f32
// CHECK-NEXT:          nest.store %x, %out[%i0 * 4 + %i1] : f32
// CHECK-NEXT:        }
// CHECK-NEXT:      }
// CHECK-NEXT:    }

// A total carried by the outer loop: the inner one is parallel, if anything is.
nest.kernel @columns(%a: memref<24xf32>, %out: memref<4xf32>) {
  nest.for %r0 = 0 to 6 {
    nest.for %i1 = 0 to 4 {
      %x = nest.load %a[%r0 * 4 + %i1] : f32
      nest.accumulate add %x, %out[%i1] : f32
    }
  }
}
// CHECK:         nest.kernel @columns(%a: memref<24xf32>, %out: memref<4xf32>) {
// CHECK-NEXT:      nest.for %r0 = 0 to 6 {
// CHECK-NEXT:        nest.for %i1 = 0 to 4 {
// CHECK-NEXT:          %x = nest.load %a[%r0 * 4 + %i1] : f32
// CHECK-NEXT:          nest.accumulate add %x, %out[%i1] : f32
// CHECK-NEXT:        }
// CHECK-NEXT:      }
// CHECK-NEXT:    }

// Scratch in the body is private; scratch outside of it is not.
nest.kernel @rows(%a: memref<24xf32>, %out: memref<6xf32>) {
  nest.for %i0 = 0 to 6 {
    %acc = nest.scratch : memref<1xf32, "register">
    %z = nest.const 0.0 : f32
    nest.store %z, %acc[0] : f32
    nest.for %r1 = 0 to 4 {
      %x = nest.load %a[%i0 * 4 + %r1] : f32
      nest.accumulate add %x, %acc[0] : f32
    }
    %s = nest.load %acc[0] : f32
    nest.store %s, %out[%i0] : f32
  }
}
// CHECK:         nest.kernel @rows(%a: memref<24xf32>, %out: memref<6xf32>) {
// CHECK-NEXT:      nest.for %i0 = 0 to 6 parallel {
// CHECK-NEXT:        %acc = nest.scratch : memref<1xf32, "register">
// CHECK-NEXT:        %z = nest.const 0.000000e+00 : f32
// CHECK-NEXT:        nest.store %z, %acc[0] : f32
// CHECK-NEXT:        nest.for %r1 = 0 to 4 {
// CHECK-NEXT:          %x = nest.load %a[%i0 * 4 + %r1] : f32
// CHECK-NEXT:          nest.accumulate add %x, %acc[0] : f32
// CHECK-NEXT:        }
// CHECK-NEXT:        %s = nest.load %acc[0] : f32
// CHECK-NEXT:        nest.store %s, %out[%i0] : f32
// CHECK-NEXT:      }
// CHECK-NEXT:    }

// Rows by number, windows that overlap, a neighbour that is read, a quotient: serial.
nest.kernel @serial(%a: memref<24xf32>, %n: memref<6xi32>, %out: memref<64xf32>) {
  nest.for %r0 = 0 to 6 {
    %k = nest.load %n[%r0] : i32
    %row = nest.check_row %k below 6 at [%r0] : i32
    %x = nest.load %a[%r0] : f32
    nest.accumulate add %x, %out[%row * 4] : f32
  }
  nest.for %i0 = 0 to 6 {
    nest.for %i1 = 0 to 1 {
      %x = nest.load %a[%i0] : f32
      nest.store %x, %out[%i0 + %i1] : f32
      %y = nest.load %out[%i0 + %i1 + 1] : f32
      nest.store %y, %out[%i0 + %i1] : f32
    }
  }
  nest.for %i0 = 0 to 6 {
    %x = nest.load %a[%i0] : f32
    nest.store %x, %out[%i0 floordiv 2] : f32
  }
}
// CHECK:         nest.kernel @serial(%a: memref<24xf32>, %n: memref<6xi32>, %out: memref<64xf32>) {
// CHECK-NEXT:      nest.for %r0 = 0 to 6 {
// CHECK-NEXT:        %k = nest.load %n[%r0] : i32
// CHECK-NEXT:        %row = nest.check_row %k below 6 at [%r0] : i32
// CHECK-NEXT:        %x = nest.load %a[%r0] : f32
// CHECK-NEXT:        nest.accumulate add %x, %out[%row * 4] : f32
// CHECK-NEXT:      }
// CHECK-NEXT:      nest.for %i0 = 0 to 6 {
// CHECK-NEXT:        nest.for %i1 = 0 to 1 {
// CHECK-NEXT:          %x = nest.load %a[%i0] : f32
// CHECK-NEXT:          nest.store %x, %out[%i0 + %i1] : f32
// CHECK-NEXT:          %y = nest.load %out[%i0 + %i1 + 1] : f32
// CHECK-NEXT:          nest.store %y, %out[%i0 + %i1] : f32
// CHECK-NEXT:        }
// CHECK-NEXT:      }
// CHECK-NEXT:      nest.for %i0 = 0 to 6 {
// CHECK-NEXT:        %x = nest.load %a[%i0] : f32
// CHECK-NEXT:        nest.store %x, %out[%i0 floordiv 2] : f32
// CHECK-NEXT:      }
// CHECK-NEXT:    }

// By default all of these are too small to wake a thread.
// SMALL-NOT: parallel
// SMALL: nest.kernel @serial
