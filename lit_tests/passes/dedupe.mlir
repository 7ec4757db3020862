// RUN: limn-opt --pass dedupe --split-input-file --verify-diagnostics %s | filecheck %s

// Kernels that differ in names only are one; why each runs stands on its launch.
schedule.kernel @first(%x: tensor<6xf32>) -> tensor<6xf32> dims [i0 = 6] rows 0 order [0] {
  %a = graph.view %x strides [1] : tensor<6xf32> -> tensor<6xf32>
  %b = graph.const 0.5 : tensor<6xf32>
  %y = graph.mul %a, %b : tensor<6xf32>
  schedule.yield %y : tensor<6xf32>
}
schedule.kernel @second(%x: tensor<6xf32>) -> tensor<6xf32> dims [i0 = 6] rows 0 order [0] {
  %a = graph.view %x strides [1] : tensor<6xf32> -> tensor<6xf32>
  %half = graph.const 0.5 : tensor<6xf32>
  %y = graph.mul %a, %half : tensor<6xf32>
  schedule.yield %y : tensor<6xf32>
}
func.func @main(%p: tensor<6xf32>, %q: tensor<6xf32>) -> (tensor<6xf32>, tensor<6xf32>) {
  %0 = schedule.launch @first(%p) because "requested output" : (tensor<6xf32>) -> tensor<6xf32>
  %1 = schedule.launch @second(%q) because "a copy" : (tensor<6xf32>) -> tensor<6xf32>
  func.return %0, %1 : tensor<6xf32>, tensor<6xf32>
}
// CHECK:      schedule.kernel @first(%x: tensor<6xf32>) -> tensor<6xf32> dims [i0 = 6] rows 0 order [0] {
// CHECK-NEXT:   %a = graph.view %x strides [1] : tensor<6xf32> -> tensor<6xf32>
// CHECK-NEXT:   %b = graph.const 5.000000e-01 : tensor<6xf32>
// CHECK-NEXT:   %y = graph.mul %a, %b : tensor<6xf32>
// CHECK-NEXT:   schedule.yield %y : tensor<6xf32>
// CHECK-NEXT: }
// CHECK-NEXT: func.func @main(%p: tensor<6xf32>, %q: tensor<6xf32>) -> (tensor<6xf32>, tensor<6xf32>) {
// CHECK-NEXT:   %0 = schedule.launch @first(%p) because "requested output" : (tensor<6xf32>) -> tensor<6xf32>
// CHECK-NEXT:   %1 = schedule.launch @first(%q) because "a copy" : (tensor<6xf32>) -> tensor<6xf32>
// CHECK-NEXT:   func.return %0, %1 : tensor<6xf32>, tensor<6xf32>
// CHECK-NEXT: }

// -----

// Left alone: 0.0 is not -0.0.
schedule.kernel @plus(%x: tensor<6xf32>) -> tensor<6xf32> dims [i0 = 6] rows 0 order [0] {
  %a = graph.view %x strides [1] : tensor<6xf32> -> tensor<6xf32>
  %b = graph.const 0.0 : tensor<6xf32>
  %y = graph.mul %a, %b : tensor<6xf32>
  schedule.yield %y : tensor<6xf32>
}
schedule.kernel @minus(%x: tensor<6xf32>) -> tensor<6xf32> dims [i0 = 6] rows 0 order [0] {
  %a = graph.view %x strides [1] : tensor<6xf32> -> tensor<6xf32>
  %b = graph.const -0.0 : tensor<6xf32>
  %y = graph.mul %a, %b : tensor<6xf32>
  schedule.yield %y : tensor<6xf32>
}
func.func @main(%p: tensor<6xf32>) -> (tensor<6xf32>, tensor<6xf32>) {
  %0 = schedule.launch @plus(%p) : (tensor<6xf32>) -> tensor<6xf32>
  %1 = schedule.launch @minus(%p) : (tensor<6xf32>) -> tensor<6xf32>
  func.return %0, %1 : tensor<6xf32>, tensor<6xf32>
}
// CHECK:      schedule.kernel @plus(%x: tensor<6xf32>) -> tensor<6xf32> dims [i0 = 6] rows 0 order [0] {
// CHECK-NEXT:   %a = graph.view %x strides [1] : tensor<6xf32> -> tensor<6xf32>
// CHECK-NEXT:   %b = graph.const 0.000000e+00 : tensor<6xf32>
// CHECK-NEXT:   %y = graph.mul %a, %b : tensor<6xf32>
// CHECK-NEXT:   schedule.yield %y : tensor<6xf32>
// CHECK-NEXT: }
// CHECK-NEXT: schedule.kernel @minus(%x: tensor<6xf32>) -> tensor<6xf32> dims [i0 = 6] rows 0 order [0] {
// CHECK-NEXT:   %a = graph.view %x strides [1] : tensor<6xf32> -> tensor<6xf32>
// CHECK-NEXT:   %b = graph.const -0.000000e+00 : tensor<6xf32>
// CHECK-NEXT:   %y = graph.mul %a, %b : tensor<6xf32>
// CHECK-NEXT:   schedule.yield %y : tensor<6xf32>
// CHECK-NEXT: }
// CHECK-NEXT: func.func @main(%p: tensor<6xf32>) -> (tensor<6xf32>, tensor<6xf32>) {
// CHECK-NEXT:   %0 = schedule.launch @plus(%p) : (tensor<6xf32>) -> tensor<6xf32>
// CHECK-NEXT:   %1 = schedule.launch @minus(%p) : (tensor<6xf32>) -> tensor<6xf32>
// CHECK-NEXT:   func.return %0, %1 : tensor<6xf32>, tensor<6xf32>
// CHECK-NEXT: }
