// RUN: limn-opt --pass 'contract{elementwise=true}' %s | filecheck %s
// RUN: limn-opt --pass contract %s | filecheck %s --check-prefix=TOTALS
// RUN: limn-opt --pass 'contract{fma=false}' %s | filecheck %s --check-prefix=NONE

// A product that only a sum takes, and a total.
nest.kernel @fuses(%a: memref<12xf32>, %b: memref<12xf32>, %out: memref<4xf32>) {
  nest.for %i = 0 to 4 {
    %x = nest.load %a[%i] : f32
    %y = nest.load %b[%i] : f32
    %p = nest.mul %x, %y : f32
    %s = nest.add %p, %y : f32
    %q = nest.mul %s, %y : f32
    %t = nest.add %x, %q : f32
    nest.store %t, %out[%i] : f32
    nest.for %r = 0 to 3 {
      %u = nest.load %a[%i * 3 + %r] : f32
      %v = nest.load %b[%i * 3 + %r] where [%r] in [1] to [3] : f32
      %uv = nest.mul %u, %v : f32
      nest.accumulate add %uv, %out[%i] : f32
    }
  }
}
// CHECK:         nest.kernel @fuses(%a: memref<12xf32>, %b: memref<12xf32>, %out: memref<4xf32>) {
// CHECK-NEXT:      nest.for %i = 0 to 4 {
// CHECK-NEXT:        %x = nest.load %a[%i] : f32
// CHECK-NEXT:        %y = nest.load %b[%i] : f32
// CHECK-NEXT:        %s = nest.fma %x, %y, %y : f32
// CHECK-NEXT:        %t = nest.fma %s, %y, %x : f32
// CHECK-NEXT:        nest.store %t, %out[%i] : f32
// CHECK-NEXT:        nest.for %r = 0 to 3 {
// CHECK-NEXT:          %u = nest.load %a[%i * 3 + %r] : f32
// CHECK-NEXT:          %v = nest.load %b[%i * 3 + %r] where [%r] in [1] to [3] : f32
// CHECK-NEXT:          nest.accumulate fma %u, %v, %out[%i] : f32
// CHECK-NEXT:        }
// CHECK-NEXT:      }
// CHECK-NEXT:    }

// Left to itself the pass fuses totals only.
// TOTALS:        nest.kernel @fuses(%a: memref<12xf32>, %b: memref<12xf32>, %out: memref<4xf32>) {
// TOTALS-NEXT:     nest.for %i = 0 to 4 {
// TOTALS-NEXT:       %x = nest.load %a[%i] : f32
// TOTALS-NEXT:       %y = nest.load %b[%i] : f32
// TOTALS-NEXT:       %p = nest.mul %x, %y : f32
// TOTALS-NEXT:       %s = nest.add %p, %y : f32
// TOTALS-NEXT:       %q = nest.mul %s, %y : f32
// TOTALS-NEXT:       %t = nest.add %x, %q : f32
// TOTALS-NEXT:       nest.store %t, %out[%i] : f32
// TOTALS-NEXT:       nest.for %r = 0 to 3 {
// TOTALS-NEXT:         %u = nest.load %a[%i * 3 + %r] : f32
// TOTALS-NEXT:         %v = nest.load %b[%i * 3 + %r] where [%r] in [1] to [3] : f32
// TOTALS-NEXT:         nest.accumulate fma %u, %v, %out[%i] : f32

// Of two products that meet in one sum the first is fused.
nest.kernel @first_of_two(%a: memref<4xf64>, %b: memref<4xf64>, %out: memref<4xf64>) {
  nest.for %i = 0 to 4 {
    %x = nest.load %a[%i] : f64
    %y = nest.load %b[%i] : f64
    %p = nest.mul %x, %x : f64
    %q = nest.mul %y, %y : f64
    %s = nest.add %p, %q : f64
    nest.store %s, %out[%i] : f64
  }
}
// CHECK:         nest.kernel @first_of_two(%a: memref<4xf64>, %b: memref<4xf64>, %out: memref<4xf64>) {
// CHECK-NEXT:      nest.for %i = 0 to 4 {
// CHECK-NEXT:        %x = nest.load %a[%i] : f64
// CHECK-NEXT:        %y = nest.load %b[%i] : f64
// CHECK-NEXT:        %q = nest.mul %y, %y : f64
// CHECK-NEXT:        %s = nest.fma %x, %x, %q : f64
// CHECK-NEXT:        nest.store %s, %out[%i] : f64
// CHECK-NEXT:      }
// CHECK-NEXT:    }

// A product that is used twice, here also by being added to itself.
nest.kernel @used_twice(%a: memref<4xf32>, %out: memref<4xf32>, %out1: memref<4xf32>) {
  nest.for %i = 0 to 4 {
    %x = nest.load %a[%i] : f32
    %p = nest.mul %x, %x : f32
    %s = nest.add %p, %x : f32
    nest.store %p, %out1[%i] : f32
    %q = nest.mul %s, %x : f32
    %t = nest.add %q, %q : f32
    nest.store %t, %out[%i] : f32
  }
}
// CHECK:         nest.kernel @used_twice(%a: memref<4xf32>, %out: memref<4xf32>, %out1: memref<4xf32>) {
// CHECK-NEXT:      nest.for %i = 0 to 4 {
// CHECK-NEXT:        %x = nest.load %a[%i] : f32
// CHECK-NEXT:        %p = nest.mul %x, %x : f32
// CHECK-NEXT:        %s = nest.add %p, %x : f32
// CHECK-NEXT:        nest.store %p, %out1[%i] : f32
// CHECK-NEXT:        %q = nest.mul %s, %x : f32
// CHECK-NEXT:        %t = nest.add %q, %q : f32
// CHECK-NEXT:        nest.store %t, %out[%i] : f32
// CHECK-NEXT:      }
// CHECK-NEXT:    }

// Integers, a maximum, a product from outside of the loop.
nest.kernel @declines(%a: memref<4xf32>, %n: memref<4xi32>, %out: memref<1xf32>, %count: memref<1xi32>) {
  %c = nest.load %a[0] : f32
  %cc = nest.mul %c, %c : f32
  nest.for %r = 0 to 4 {
    %x = nest.load %a[%r] : f32
    %p = nest.mul %x, %x : f32
    nest.accumulate max %p, %out[0] : f32
    nest.accumulate add %cc, %out[0] : f32
    %k = nest.load %n[%r] : i32
    %kk = nest.mul %k, %k : i32
    nest.accumulate add %kk, %count[0] : i32
  }
}
// CHECK:         nest.kernel @declines(%a: memref<4xf32>, %n: memref<4xi32>, %out: memref<1xf32>, %count: memref<1xi32>) {
// CHECK-NEXT:      %c = nest.load %a[0] : f32
// CHECK-NEXT:      %cc = nest.mul %c, %c : f32
// CHECK-NEXT:      nest.for %r = 0 to 4 {
// CHECK-NEXT:        %x = nest.load %a[%r] : f32
// CHECK-NEXT:        %p = nest.mul %x, %x : f32
// CHECK-NEXT:        nest.accumulate max %p, %out[0] : f32
// CHECK-NEXT:        nest.accumulate add %cc, %out[0] : f32
// CHECK-NEXT:        %k = nest.load %n[%r] : i32
// CHECK-NEXT:        %kk = nest.mul %k, %k : i32
// CHECK-NEXT:        nest.accumulate add %kk, %count[0] : i32
// CHECK-NEXT:      }
// CHECK-NEXT:    }

// A target without the instruction.
// NONE-NOT: fma
// NONE: nest.accumulate add %kk
