// RUN: limn-opt --pass expand-math %s | filecheck %s
// RUN: limn-opt --pass 'expand-math{fma=true}' %s | filecheck %s --check-prefix=FMA

nest.kernel @exp(%x: memref<4xf32>, %out: memref<4xf32>) {
  nest.for %i = 0 to 4 {
    %a = nest.load %x[%i] : f32
    %y = nest.exp %a : f32
    nest.store %y, %out[%i] : f32
  }
}
// CHECK:         nest.kernel @exp(%x: memref<4xf32>, %out: memref<4xf32>) {
// CHECK-NEXT:      nest.for %i = 0 to 4 {
// CHECK-NEXT:        %a = nest.load %x[%i] : f32
// CHECK-NEXT:        %0 = nest.const -1.040000e+02 : f32
// CHECK-NEXT:        %1 = nest.const 8.900000e+01 : f32
// CHECK-NEXT:        %2 = nest.cmplt %a, %0 : f32
// CHECK-NEXT:        %3 = nest.select %2, %0, %a : f32
// CHECK-NEXT:        %4 = nest.const 1.44269502 : f32
// CHECK-NEXT:        %5 = nest.mul %3, %4 : f32
// CHECK-NEXT:        %6 = nest.const 0x4B400000 : f32
// CHECK-NEXT:        %7 = nest.add %5, %6 : f32
// CHECK-NEXT:        %8 = nest.const 0x4B400000 : f32
// CHECK-NEXT:        %y_n = nest.sub %7, %8 : f32
// CHECK-NEXT:        %9 = nest.const -0.693145752 : f32
// CHECK-NEXT:        %10 = nest.mul %y_n, %9 : f32
// CHECK-NEXT:        %11 = nest.add %10, %3 : f32
// CHECK-NEXT:        %12 = nest.const -1.42860677e-06 : f32
// CHECK-NEXT:        %13 = nest.mul %y_n, %12 : f32
// CHECK-NEXT:        %y_r = nest.add %11, %13 : f32
// CHECK-NEXT:        %14 = nest.mul %y_r, %y_r : f32
// CHECK-NEXT:        %15 = nest.const 0.00138144824 : f32
// CHECK-NEXT:        %16 = nest.mul %15, %y_r : f32
// CHECK-NEXT:        %17 = nest.const 0.00836877897 : f32
// CHECK-NEXT:        %18 = nest.add %16, %17 : f32
// CHECK-NEXT:        %19 = nest.mul %18, %y_r : f32
// CHECK-NEXT:        %20 = nest.const 0.0416683927 : f32
// CHECK-NEXT:        %21 = nest.add %19, %20 : f32
// CHECK-NEXT:        %22 = nest.mul %21, %y_r : f32
// CHECK-NEXT:        %23 = nest.const 0.166665196 : f32
// CHECK-NEXT:        %24 = nest.add %22, %23 : f32
// CHECK-NEXT:        %25 = nest.mul %24, %y_r : f32
// CHECK-NEXT:        %26 = nest.const 0.49999994 : f32
// CHECK-NEXT:        %27 = nest.add %25, %26 : f32
// CHECK-NEXT:        %28 = nest.mul %14, %27 : f32
// CHECK-NEXT:        %29 = nest.add %28, %13 : f32
// CHECK-NEXT:        %30 = nest.add %29, %11 : f32
// CHECK-NEXT:        %31 = nest.const 1.000000e+00 : f32
// CHECK-NEXT:        %y_p = nest.add %30, %31 : f32
// CHECK-NEXT:        %32 = nest.bitcast %7 : f32 to i32
// CHECK-NEXT:        %33 = nest.const -2 : i32
// CHECK-NEXT:        %34 = nest.and %32, %33 : i32
// CHECK-NEXT:        %35 = nest.const 22 : i32
// CHECK-NEXT:        %36 = nest.shl %34, %35 : i32
// CHECK-NEXT:        %37 = nest.const 23 : i32
// CHECK-NEXT:        %38 = nest.shl %32, %37 : i32
// CHECK-NEXT:        %39 = nest.sub %38, %36 : i32
// CHECK-NEXT:        %40 = nest.const 1065353216 : i32
// CHECK-NEXT:        %41 = nest.add %39, %40 : i32
// CHECK-NEXT:        %42 = nest.bitcast %y_p : f32 to i32
// CHECK-NEXT:        %43 = nest.add %42, %36 : i32
// CHECK-NEXT:        %44 = nest.bitcast %43 : i32 to f32
// CHECK-NEXT:        %45 = nest.bitcast %41 : i32 to f32
// CHECK-NEXT:        %46 = nest.mul %44, %45 : f32
// CHECK-NEXT:        %47 = nest.cmplt %a, %1 : f32
// CHECK-NEXT:        %48 = nest.const 0x7f800000 : f32
// CHECK-NEXT:        %49 = nest.add %a, %48 : f32
// CHECK-NEXT:        %y = nest.select %47, %46, %49 : f32
// CHECK-NEXT:        nest.store %y, %out[%i] : f32
// CHECK-NEXT:      }
// CHECK-NEXT:    }

// Fused, the steps of the reduction, the polynomial and the total are one op each.
// FMA:           nest.kernel @exp(%x: memref<4xf32>, %out: memref<4xf32>) {
// FMA-NEXT:        nest.for %i = 0 to 4 {
// FMA-NEXT:          %a = nest.load %x[%i] : f32
// FMA-NEXT:          %0 = nest.const -1.040000e+02 : f32
// FMA-NEXT:          %1 = nest.const 8.900000e+01 : f32
// FMA-NEXT:          %2 = nest.cmplt %a, %0 : f32
// FMA-NEXT:          %3 = nest.select %2, %0, %a : f32
// FMA-NEXT:          %4 = nest.const 1.44269502 : f32
// FMA-NEXT:          %5 = nest.const 0x4B400000 : f32
// FMA-NEXT:          %6 = nest.fma %3, %4, %5 : f32
// FMA-NEXT:          %7 = nest.const 0x4B400000 : f32
// FMA-NEXT:          %y_n = nest.sub %6, %7 : f32
// FMA-NEXT:          %8 = nest.const -0.693145752 : f32
// FMA-NEXT:          %9 = nest.fma %y_n, %8, %3 : f32
// FMA-NEXT:          %10 = nest.const -1.42860677e-06 : f32
// FMA-NEXT:          %11 = nest.mul %y_n, %10 : f32
// FMA-NEXT:          %y_r = nest.add %9, %11 : f32
// FMA-NEXT:          %12 = nest.mul %y_r, %y_r : f32
// FMA-NEXT:          %13 = nest.const 0.00138144824 : f32
// FMA-NEXT:          %14 = nest.const 0.00836877897 : f32
// FMA-NEXT:          %15 = nest.fma %13, %y_r, %14 : f32
// FMA-NEXT:          %16 = nest.const 0.0416683927 : f32
// FMA-NEXT:          %17 = nest.fma %15, %y_r, %16 : f32
// FMA-NEXT:          %18 = nest.const 0.166665196 : f32
// FMA-NEXT:          %19 = nest.fma %17, %y_r, %18 : f32
// FMA-NEXT:          %20 = nest.const 0.49999994 : f32
// FMA-NEXT:          %21 = nest.fma %19, %y_r, %20 : f32
// FMA-NEXT:          %22 = nest.fma %12, %21, %11 : f32
// FMA-NEXT:          %23 = nest.add %22, %9 : f32
// FMA-NEXT:          %24 = nest.const 1.000000e+00 : f32
// FMA-NEXT:          %y_p = nest.add %23, %24 : f32
// FMA-NEXT:          %25 = nest.bitcast %6 : f32 to i32
// FMA-NEXT:          %26 = nest.const -2 : i32
// FMA-NEXT:          %27 = nest.and %25, %26 : i32
// FMA-NEXT:          %28 = nest.const 22 : i32
// FMA-NEXT:          %29 = nest.shl %27, %28 : i32
// FMA-NEXT:          %30 = nest.const 23 : i32
// FMA-NEXT:          %31 = nest.shl %25, %30 : i32
// FMA-NEXT:          %32 = nest.sub %31, %29 : i32
// FMA-NEXT:          %33 = nest.const 1065353216 : i32
// FMA-NEXT:          %34 = nest.add %32, %33 : i32
// FMA-NEXT:          %35 = nest.bitcast %y_p : f32 to i32
// FMA-NEXT:          %36 = nest.add %35, %29 : i32
// FMA-NEXT:          %37 = nest.bitcast %36 : i32 to f32
// FMA-NEXT:          %38 = nest.bitcast %34 : i32 to f32
// FMA-NEXT:          %39 = nest.mul %37, %38 : f32
// FMA-NEXT:          %40 = nest.cmplt %a, %1 : f32
// FMA-NEXT:          %41 = nest.const 0x7f800000 : f32
// FMA-NEXT:          %42 = nest.add %a, %41 : f32
// FMA-NEXT:          %y = nest.select %40, %39, %42 : f32
// FMA-NEXT:          nest.store %y, %out[%i] : f32
// FMA-NEXT:        }
// FMA-NEXT:      }

nest.kernel @log(%x: memref<4xf64>, %out: memref<4xf64>) {
  nest.for %i = 0 to 4 {
    %a = nest.load %x[%i] : f64
    %y = nest.log %a : f64
    nest.store %y, %out[%i] : f64
  }
}
// CHECK:         nest.kernel @log(%x: memref<4xf64>, %out: memref<4xf64>) {
// CHECK-NEXT:      nest.for %i = 0 to 4 {
// CHECK-NEXT:        %a = nest.load %x[%i] : f64
// CHECK-NEXT:        %0 = nest.const 2.2250738585072014e-308 : f64
// CHECK-NEXT:        %1 = nest.cmplt %a, %0 : f64
// CHECK-NEXT:        %2 = nest.const 0x4340000000000000 : f64
// CHECK-NEXT:        %3 = nest.mul %a, %2 : f64
// CHECK-NEXT:        %4 = nest.select %1, %3, %a : f64
// CHECK-NEXT:        %5 = nest.const 0x4338000000000434 : f64
// CHECK-NEXT:        %6 = nest.const 0x43380000000003FF : f64
// CHECK-NEXT:        %7 = nest.select %1, %5, %6 : f64
// CHECK-NEXT:        %8 = nest.bitcast %4 : f64 to i64
// CHECK-NEXT:        %9 = nest.const 2638147582215219 : i64
// CHECK-NEXT:        %10 = nest.add %8, %9 : i64
// CHECK-NEXT:        %11 = nest.const 4503599627370495 : i64
// CHECK-NEXT:        %12 = nest.and %10, %11 : i64
// CHECK-NEXT:        %13 = nest.const 4604544271217802189 : i64
// CHECK-NEXT:        %14 = nest.add %12, %13 : i64
// CHECK-NEXT:        %y_m = nest.bitcast %14 : i64 to f64
// CHECK-NEXT:        %15 = nest.const 52 : i64
// CHECK-NEXT:        %16 = nest.shr %10, %15 : i64
// CHECK-NEXT:        %17 = nest.const 0x4338000000000000 : f64
// CHECK-NEXT:        %18 = nest.bitcast %17 : f64 to i64
// CHECK-NEXT:        %19 = nest.add %16, %18 : i64
// CHECK-NEXT:        %20 = nest.bitcast %19 : i64 to f64
// CHECK-NEXT:        %y_e = nest.sub %20, %7 : f64
// CHECK-NEXT:        %21 = nest.const 1.000000e+00 : f64
// CHECK-NEXT:        %y_f = nest.sub %y_m, %21 : f64
// CHECK-NEXT:        %22 = nest.const 2.000000e+00 : f64
// CHECK-NEXT:        %23 = nest.add %y_f, %22 : f64
// CHECK-NEXT:        %y_s = nest.div %y_f, %23 : f64
// CHECK-NEXT:        %24 = nest.mul %y_s, %y_s : f64
// CHECK-NEXT:        %25 = nest.const 5.000000e-01 : f64
// CHECK-NEXT:        %26 = nest.mul %y_f, %25 : f64
// CHECK-NEXT:        %27 = nest.mul %26, %y_f : f64
// CHECK-NEXT:        %28 = nest.const 0.14795644404882402 : f64
// CHECK-NEXT:        %29 = nest.mul %28, %24 : f64
// CHECK-NEXT:        %30 = nest.const 0.15314085687425719 : f64
// CHECK-NEXT:        %31 = nest.add %29, %30 : f64
// CHECK-NEXT:        %32 = nest.mul %31, %24 : f64
// CHECK-NEXT:        %33 = nest.const 0.18183562749199111 : f64
// CHECK-NEXT:        %34 = nest.add %32, %33 : f64
// CHECK-NEXT:        %35 = nest.mul %34, %24 : f64
// CHECK-NEXT:        %36 = nest.const 0.22222198608080249 : f64
// CHECK-NEXT:        %37 = nest.add %35, %36 : f64
// CHECK-NEXT:        %38 = nest.mul %37, %24 : f64
// CHECK-NEXT:        %39 = nest.const 0.28571428741993404 : f64
// CHECK-NEXT:        %40 = nest.add %38, %39 : f64
// CHECK-NEXT:        %41 = nest.mul %40, %24 : f64
// CHECK-NEXT:        %42 = nest.const 0.39999999999416774 : f64
// CHECK-NEXT:        %43 = nest.add %41, %42 : f64
// CHECK-NEXT:        %44 = nest.mul %43, %24 : f64
// CHECK-NEXT:        %45 = nest.const 0.6666666666666734 : f64
// CHECK-NEXT:        %46 = nest.add %44, %45 : f64
// CHECK-NEXT:        %47 = nest.mul %24, %46 : f64
// CHECK-NEXT:        %48 = nest.add %47, %27 : f64
// CHECK-NEXT:        %49 = nest.const 1.9082149292705877e-10 : f64
// CHECK-NEXT:        %50 = nest.mul %y_e, %49 : f64
// CHECK-NEXT:        %51 = nest.mul %y_s, %48 : f64
// CHECK-NEXT:        %52 = nest.add %51, %50 : f64
// CHECK-NEXT:        %53 = nest.sub %27, %52 : f64
// CHECK-NEXT:        %54 = nest.sub %y_f, %53 : f64
// CHECK-NEXT:        %55 = nest.const 0.69314718036912382 : f64
// CHECK-NEXT:        %56 = nest.mul %y_e, %55 : f64
// CHECK-NEXT:        %57 = nest.add %56, %54 : f64
// CHECK-NEXT:        %58 = nest.const 0.000000e+00 : f64
// CHECK-NEXT:        %59 = nest.cmplt %a, %58 : f64
// CHECK-NEXT:        %60 = nest.const 0x7ff8000000000000 : f64
// CHECK-NEXT:        %61 = nest.const 0xfff0000000000000 : f64
// CHECK-NEXT:        %62 = nest.select %59, %60, %61 : f64
// CHECK-NEXT:        %63 = nest.const 0.000000e+00 : f64
// CHECK-NEXT:        %64 = nest.cmplt %63, %a : f64
// CHECK-NEXT:        %65 = nest.select %64, %57, %62 : f64
// CHECK-NEXT:        %66 = nest.const 0x7ff0000000000000 : f64
// CHECK-NEXT:        %67 = nest.cmplt %a, %66 : f64
// CHECK-NEXT:        %y = nest.select %67, %65, %a : f64
// CHECK-NEXT:        nest.store %y, %out[%i] : f64
// CHECK-NEXT:      }
// CHECK-NEXT:    }

// Nothing else changes.
nest.kernel @left_alone(%x: memref<4xf32>, %h: memref<4xbf16>) {
  nest.for %i = 0 to 4 {
    %a = nest.load %x[%i] : f32
    %root = nest.sqrt %a : f32
    %sum = nest.add %root, %a : f32
    nest.store %sum, %x[%i] : f32
    %b = nest.load %h[%i] : bf16
    %wide = nest.cast %b : bf16 to f32
    %half = nest.cast %wide : f32 to bf16
    nest.store %half, %h[%i] : bf16
  }
}
// CHECK:         nest.kernel @left_alone(%x: memref<4xf32>, %h: memref<4xbf16>) {
// CHECK-NEXT:      nest.for %i = 0 to 4 {
// CHECK-NEXT:        %a = nest.load %x[%i] : f32
// CHECK-NEXT:        %root = nest.sqrt %a : f32
// CHECK-NEXT:        %sum = nest.add %root, %a : f32
// CHECK-NEXT:        nest.store %sum, %x[%i] : f32
// CHECK-NEXT:        %b = nest.load %h[%i] : bf16
// CHECK-NEXT:        %wide = nest.cast %b : bf16 to f32
// CHECK-NEXT:        %half = nest.cast %wide : f32 to bf16
// CHECK-NEXT:        nest.store %half, %h[%i] : bf16
// CHECK-NEXT:      }
// CHECK-NEXT:    }

// A chain: the result of the first is the operand of the second, and each names its own steps.
nest.kernel @chain(%x: memref<1xf64>) {
  %a = nest.load %x[0] : f64
  %y = nest.exp %a : f64
  %z = nest.log %y : f64
  nest.store %z, %x[0] : f64
}
// CHECK:       nest.kernel @chain(%x: memref<1xf64>) {
// CHECK-NEXT:    %a = nest.load %x[0] : f64
// CHECK-NEXT:    %0 = nest.const -7.460000e+02 : f64
// CHECK:         %y_n = nest.sub
// CHECK:         %y_r = nest.add
// CHECK:         %y_p = nest.add
// CHECK:         %y = nest.select
// CHECK:         %z_m = nest.bitcast
// CHECK:         %z_e = nest.sub
// CHECK:         %z_s = nest.div %z_f
// CHECK:         %z = nest.select {{.*}}, {{.*}}, %y : f64
// CHECK-NEXT:    nest.store %z, %x[0] : f64
// CHECK-NEXT:  }
