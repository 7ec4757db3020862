// RUN: %roundtrip %s | filecheck %s
// RUN: %generic %s | filecheck %s --check-prefix=GENERIC

nest.kernel @matmul(%in0: memref<20xf32>, %in1: memref<15xf32>, %out: memref<12xf32>) {
  nest.for %i0 = 0 to 4 {
    nest.for %i1 = 0 to 3 {
      %z = nest.const 0.0 : f32
      nest.store %z, %out[%i0 * 3 + %i1] : f32
    }
    nest.for %r2 = 0 to 5 {
      nest.for %i1 = 0 to 3 {
        %v1 = nest.load %in0[%i0 * 5 + %r2] : f32
        %v2 = nest.load %in1[%i1 + %r2 * 3] : f32
        %v3 = nest.mul %v1, %v2 : f32
        nest.accumulate add %v3, %out[%i0 * 3 + %i1] : f32
        nest.accumulate max %v3, %out[%i0 * 3 + %i1] : f32
        nest.accumulate fma %v1, %v2, %out[%i0 * 3 + %i1] : f32
      }
    }
  }
}
// CHECK:        nest.kernel @matmul(%in0: memref<20xf32>, %in1: memref<15xf32>, %out: memref<12xf32>) {
// CHECK-NEXT:     nest.for %i0 = 0 to 4 {
// CHECK-NEXT:       nest.for %i1 = 0 to 3 {
// CHECK-NEXT:         %z = nest.const 0.000000e+00 : f32
// CHECK-NEXT:         nest.store %z, %out[%i0 * 3 + %i1] : f32
// CHECK-NEXT:       }
// CHECK-NEXT:       nest.for %r2 = 0 to 5 {
// CHECK-NEXT:         nest.for %i1 = 0 to 3 {
// CHECK-NEXT:           %v1 = nest.load %in0[%i0 * 5 + %r2] : f32
// CHECK-NEXT:           %v2 = nest.load %in1[%i1 + %r2 * 3] : f32
// CHECK-NEXT:           %v3 = nest.mul %v1, %v2 : f32
// CHECK-NEXT:           nest.accumulate add %v3, %out[%i0 * 3 + %i1] : f32
// CHECK-NEXT:           nest.accumulate max %v3, %out[%i0 * 3 + %i1] : f32
// CHECK-NEXT:           nest.accumulate fma %v1, %v2, %out[%i0 * 3 + %i1] : f32
// CHECK-NEXT:         }
// CHECK-NEXT:       }
// CHECK-NEXT:     }
// CHECK-NEXT:   }

nest.kernel @loops(%x: memref<37xf32>, %y: memref<37xf32>) {
  nest.for %i = 0 to 4 parallel collapse 2 {
    nest.for %j = 0 to 2 parallel {
      nest.for %r = max [%i * 8, 3] to min [%i * 8 + 8, 37] step 2 unrolled {
        %v = nest.load %x[%i * 5 + %r - 7] where [%r - 1, %i * 8 + %r] in [0, 0] to [4, 29] : f32
        nest.store %v, %y[%r floordiv 2 + %r mod 3] where [%r] in [3] to [7] : f32
      }
      nest.for %r = 0 to 8 vector {
        %s = nest.scratch : memref<1xf32, "register">
        %one = nest.const 1.0 : f32
        nest.store %one, %s[0] : f32
      }
    }
  }
  nest.for %b = 0 to 8 block.x {
    nest.for %t = 0 to 8 thread.y {
      %row = nest.scratch : memref<16xf32, "stack">
    }
  }
}
// CHECK:        nest.kernel @loops(%x: memref<37xf32>, %y: memref<37xf32>) {
// CHECK-NEXT:     nest.for %i = 0 to 4 parallel collapse 2 {
// CHECK-NEXT:       nest.for %j = 0 to 2 parallel {
// CHECK-NEXT:         nest.for %r = max [%i * 8, 3] to min [%i * 8 + 8, 37] step 2 unrolled {
// CHECK-NEXT:           %v = nest.load %x[%i * 5 + %r - 7] where [%r - 1, %i * 8 + %r] in [0, 0] to [4, 29] : f32
// CHECK-NEXT:           nest.store %v, %y[%r floordiv 2 + %r mod 3] where [%r] in [3] to [7] : f32
// CHECK-NEXT:         }
// CHECK-NEXT:         nest.for %r = 0 to 8 vector {
// CHECK-NEXT:           %s = nest.scratch : memref<1xf32, "register">
// CHECK-NEXT:           %one = nest.const 1.000000e+00 : f32
// CHECK-NEXT:           nest.store %one, %s[0] : f32
// CHECK-NEXT:         }
// CHECK-NEXT:       }
// CHECK-NEXT:     }
// CHECK-NEXT:     nest.for %b = 0 to 8 block.x {
// CHECK-NEXT:       nest.for %t = 0 to 8 thread.y {
// CHECK-NEXT:         %row = nest.scratch : memref<16xf32, "stack">
// CHECK-NEXT:       }
// CHECK-NEXT:     }
// CHECK-NEXT:   }

nest.kernel @arithmetic(%x: memref<4xf32>, %i: memref<4xi32>, %d: memref<4xf64>, %c: memref<4xi1>) {
  nest.for %i0 = 0 to 4 {
    %a = nest.load %x[%i0] : f32
    %n = nest.load %i[%i0] : i32
    %p = nest.load %c[%i0] : i1
    %neg = nest.neg %a : f32
    %sqrt = nest.sqrt %neg : f32
    %exp = nest.exp %sqrt : f32
    %log = nest.log %exp : f32
    %add = nest.add %log, %a : f32
    %sub = nest.sub %add, %a : f32
    %mul = nest.mul %sub, %a : f32
    %div = nest.div %mul, %a : f32
    %max = nest.max %div, %a : f32
    %fma = nest.fma %max, %a, %add : f32
    %less = nest.cmplt %fma, %a : f32
    %both = nest.and %less, %p : i1
    %either = nest.or %both, %p : i1
    %one_of = nest.xor %either, %p : i1
    %chosen = nest.select %one_of, %a, %fma : f32
    %wide = nest.cast %chosen : f32 to f64
    %bits = nest.bitcast %wide : f64 to i64
    %k = nest.const 52 : i64
    %up = nest.shl %bits, %k : i64
    %down = nest.shr %up, %k : i64
    %inf = nest.const 0xff800000 : f32
    %flag = nest.const true : i1
    %at = nest.index [%i0 * 4 + 1] : i32
    %r = nest.check_row %n below 4 at [%i0] : i32
    nest.store %chosen, %x[%r] : f32
  }
}
// CHECK:        nest.kernel @arithmetic(%x: memref<4xf32>, %i: memref<4xi32>, %d: memref<4xf64>, %c: memref<4xi1>) {
// CHECK-NEXT:     nest.for %i0 = 0 to 4 {
// CHECK-NEXT:       %a = nest.load %x[%i0] : f32
// CHECK-NEXT:       %n = nest.load %i[%i0] : i32
// CHECK-NEXT:       %p = nest.load %c[%i0] : i1
// CHECK-NEXT:       %neg = nest.neg %a : f32
// CHECK-NEXT:       %sqrt = nest.sqrt %neg : f32
// CHECK-NEXT:       %exp = nest.exp %sqrt : f32
// CHECK-NEXT:       %log = nest.log %exp : f32
// CHECK-NEXT:       %add = nest.add %log, %a : f32
// CHECK-NEXT:       %sub = nest.sub %add, %a : f32
// CHECK-NEXT:       %mul = nest.mul %sub, %a : f32
// CHECK-NEXT:       %div = nest.div %mul, %a : f32
// CHECK-NEXT:       %max = nest.max %div, %a : f32
// CHECK-NEXT:       %fma = nest.fma %max, %a, %add : f32
// CHECK-NEXT:       %less = nest.cmplt %fma, %a : f32
// CHECK-NEXT:       %both = nest.and %less, %p : i1
// CHECK-NEXT:       %either = nest.or %both, %p : i1
// CHECK-NEXT:       %one_of = nest.xor %either, %p : i1
// CHECK-NEXT:       %chosen = nest.select %one_of, %a, %fma : f32
// CHECK-NEXT:       %wide = nest.cast %chosen : f32 to f64
// CHECK-NEXT:       %bits = nest.bitcast %wide : f64 to i64
// CHECK-NEXT:       %k = nest.const 52 : i64
// CHECK-NEXT:       %up = nest.shl %bits, %k : i64
// CHECK-NEXT:       %down = nest.shr %up, %k : i64
// CHECK-NEXT:       %inf = nest.const 0xff800000 : f32
// CHECK-NEXT:       %flag = nest.const true : i1
// CHECK-NEXT:       %at = nest.index [%i0 * 4 + 1] : i32
// CHECK-NEXT:       %r = nest.check_row %n below 4 at [%i0] : i32
// CHECK-NEXT:       nest.store %chosen, %x[%r] : f32
// CHECK-NEXT:     }
// CHECK-NEXT:   }

nest.plan @main(%w: memref<4xf32>, %result: memref<4xf32>, %next: memref<4xf32>, %arena: memref<4096xi8>) inputs 1 arena commits [2 -> 0] {
  %t = nest.slice %arena[256] : memref<12xf32>
  %u = nest.alloc : memref<4xf32>
  nest.launch @copy(%w, %u) because "a copy"
  nest.launch @copy(%u, %next)
}
// CHECK:        nest.plan @main(%w: memref<4xf32>, %result: memref<4xf32>, %next: memref<4xf32>, %arena: memref<4096xi8>) inputs 1 arena commits [2 -> 0] {
// CHECK-NEXT:     %t = nest.slice %arena[256] : memref<12xf32>
// CHECK-NEXT:     %u = nest.alloc : memref<4xf32>
// CHECK-NEXT:     nest.launch @copy(%w, %u) because "a copy"
// CHECK-NEXT:     nest.launch @copy(%u, %next)
// CHECK-NEXT:   }

nest.kernel @copy(%a: memref<4xf32>, %b: memref<4xf32>) {
  nest.for %i = 0 to 4 {
    %v = nest.load %a[%i] : f32
    nest.store %v, %b[%i] : f32
  }
}
// CHECK:        nest.kernel @copy(%a: memref<4xf32>, %b: memref<4xf32>) {
// CHECK-NEXT:     nest.for %i = 0 to 4 {
// CHECK-NEXT:       %v = nest.load %a[%i] : f32
// CHECK-NEXT:       nest.store %v, %b[%i] : f32
// CHECK-NEXT:     }
// CHECK-NEXT:   }

// Bodies without ops.
nest.plan @nothing() inputs 0 {
}
// CHECK:        nest.plan @nothing() inputs 0 {
// CHECK-NEXT:   }
nest.kernel @turns(%a: memref<4xf32>) {
  nest.for %i = 0 to 4 {
  }
}
// CHECK:        nest.kernel @turns(%a: memref<4xf32>) {
// CHECK-NEXT:     nest.for %i = 0 to 4 {
// CHECK-NEXT:     }
// CHECK-NEXT:   }

// GENERIC: "nest.kernel"() <{sym_name = "matmul"}> ({
// GENERIC: "nest.accumulate"(%v1, %v2, %out, %i0, %i1_1) <{at = affine_map<(d0, d1) -> (((d0 * 3) + d1))>, kind = "fma", operandSegmentSizes = array<i32: 1, 1, 1, 2>}> : (f32, f32, memref<12xf32>, index, index) -> ()
// GENERIC: "nest.for"(%i) <{lower = affine_map<(d0) -> ((d0 * 8), 3)>, upper = affine_map<(d0) -> (((d0 * 8) + 8), 37)>, step = 2 : i64, kind = "unrolled"}> ({
// GENERIC: %v = "nest.load"(%x, %i, %r) <{at = affine_map<(d0, d1) -> ((((d0 * 5) + d1) + -7))>, checks = affine_map<(d0, d1) -> ((d1 + -1), ((d0 * 8) + d1))>, check_low = array<i64: 0, 0>, check_high = array<i64: 4, 29>}> : (memref<37xf32>, index, index) -> f32
// GENERIC: %r = "nest.check_row"(%n, %i0) <{bound = 4 : i64, position = affine_map<(d0) -> (d0)>}> : (i32, index) -> index
// GENERIC: "nest.plan"() <{sym_name = "main", inputs = 1 : i64, arena, commits = array<i64: 2, 0>}> ({
// GENERIC: %t = "nest.slice"(%arena) <{offset = 256 : i64}> : (memref<4096xi8>) -> memref<12xf32>
