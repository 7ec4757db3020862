// RUN: limn-opt --pass expand-custom --split-input-file --verify-diagnostics %s | filecheck %s

// Declined: a name that nothing here replaces is left alone.
func.func @main(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<f32>) {
  %y, %z = graph.custom "attention"(%x) {"causal"} : (tensor<4xf32>) -> (tensor<4xf32>, tensor<f32>)
  func.return %y, %z : tensor<4xf32>, tensor<f32>
}
// CHECK:      func.func @main(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<f32>) {
// CHECK-NEXT:   %y, %z = graph.custom "attention"(%x) {causal} : (tensor<4xf32>) -> (tensor<4xf32>, tensor<f32>)
// CHECK-NEXT:   func.return %y, %z : tensor<4xf32>, tensor<f32>
// CHECK-NEXT: }

// -----

// Left alone: everything else.
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = graph.exp %x : tensor<4xf32>
  func.return %y : tensor<4xf32>
}
// CHECK:      func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
// CHECK-NEXT:   %y = graph.exp %x : tensor<4xf32>
// CHECK-NEXT:   func.return %y : tensor<4xf32>
// CHECK-NEXT: }
