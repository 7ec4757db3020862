// RUN: limn-opt --pass 'lower{stack-bytes=8}' --split-input-file --verify-diagnostics %s | filecheck %s

// Left alone: loops.
nest.kernel @loops(%x: memref<4xf32>, %out: memref<4xf32>) {
  nest.for %i = 0 to 4 {
    %v = nest.load %x[%i] : f32
    nest.store %v, %out[%i] : f32
  }
}
// CHECK:      nest.kernel @loops(%x: memref<4xf32>, %out: memref<4xf32>) {
// CHECK-NEXT:   nest.for %i = 0 to 4 {
// CHECK-NEXT:     %v = nest.load %x[%i] : f32
// CHECK-NEXT:     nest.store %v, %out[%i] : f32
// CHECK-NEXT:   }
// CHECK-NEXT: }

// -----

// Declined: a primitive that fuse has not put into a kernel.
func.func @main(%a: tensor<2xf32>) -> tensor<2xf32> {
  %b = graph.neg %a : tensor<2xf32>
  func.return %b : tensor<2xf32>
}
// CHECK: error: pass 'lower': 'graph.neg' in a function is no launch, assign or view of whole bytes

// -----

// Declined: a view of some bytes in a function.
func.func @main(%a: tensor<4xf32>) -> tensor<2xf32> {
  %b = graph.view %a strides [2] : tensor<4xf32> -> tensor<2xf32>
  func.return %b : tensor<2xf32>
}
// CHECK: error: pass 'lower': 'graph.view' in a function is no launch, assign or view of whole bytes

// -----

// Declined: rows added in halves would be rounded once for each.
schedule.kernel @k(%v: tensor<5x3xf16>, %r: tensor<5xi32>) -> tensor<7x3xf16> dims [r0 = 5, i1 = 3] rows 0 order [0, 1] {
  %a = graph.view %v strides [3, 1] : tensor<5x3xf16> -> tensor<5x3xf16>
  %b = graph.view %r strides [1, 0] : tensor<5xi32> -> tensor<5x1xi32>
  %c = schedule.scatter %a[%b] strides [0, 1] : tensor<5x3xf16>, tensor<5x1xi32> -> tensor<7x3xf16>
  schedule.yield %c : tensor<7x3xf16>
}
// CHECK: error: pass 'lower': a scatter into f16 is not lowered; cast to f32 first

// -----

func.func @wide(%a: tensor<2xi64>) {
  func.return
}
// CHECK: error: pass 'lower{{.*}}': argument 0 of @wide has type tensor<2xi64>; a plan takes and gives tensors of a static shape, of f64, f32
