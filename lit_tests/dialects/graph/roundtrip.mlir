// RUN: %roundtrip %s | filecheck %s
// RUN: %generic %s | filecheck %s --check-prefix=GENERIC

func.func @main(%a: tensor<4x5xf32>, %b: tensor<5x3xf32>) -> tensor<4x3xf32> {
  %0 = graph.view %a strides [5, 0, 1] : tensor<4x5xf32> -> tensor<4x3x5xf32>
  %1 = graph.view %b strides [0, 1, 3] : tensor<5x3xf32> -> tensor<4x3x5xf32>
  %2 = graph.mul %0, %1 : tensor<4x3x5xf32>
  %3 = graph.sum %2 axes [2] : tensor<4x3x5xf32> -> tensor<4x3x1xf32>
  %4 = graph.view %3 strides [3, 1] : tensor<4x3x1xf32> -> tensor<4x3xf32>
  func.return %4 : tensor<4x3xf32>
}
// CHECK:       func.func @main(%a: tensor<4x5xf32>, %b: tensor<5x3xf32>) -> tensor<4x3xf32> {
// CHECK-NEXT:    %0 = graph.view %a strides [5, 0, 1] : tensor<4x5xf32> -> tensor<4x3x5xf32>
// CHECK-NEXT:    %1 = graph.view %b strides [0, 1, 3] : tensor<5x3xf32> -> tensor<4x3x5xf32>
// CHECK-NEXT:    %2 = graph.mul %0, %1 : tensor<4x3x5xf32>
// CHECK-NEXT:    %3 = graph.sum %2 axes [2] : tensor<4x3x5xf32> -> tensor<4x3x1xf32>
// CHECK-NEXT:    %4 = graph.view %3 strides [3, 1] : tensor<4x3x1xf32> -> tensor<4x3xf32>
// CHECK-NEXT:    func.return %4 : tensor<4x3xf32>
// GENERIC:       %0 = "graph.view"(%a) <{strides = array<i64: 5, 0, 1>}> : (tensor<4x5xf32>) -> tensor<4x3x5xf32>
// GENERIC:       %3 = "graph.sum"(%2) <{axes = array<i64: 2>}> : (tensor<4x3x5xf32>) -> tensor<4x3x1xf32>

func.func @views(%a: tensor<4x5xi8>) -> tensor<7x5xi8> {
  %flip = graph.view %a strides [-5, 1] offset 15 : tensor<4x5xi8> -> tensor<4x5xi8>
  %pad = graph.view %flip strides [5, 1] offset -5 mask [1, 0] to [5, 5] : tensor<4x5xi8> -> tensor<7x5xi8>
  func.return %pad : tensor<7x5xi8>
}
// CHECK:         %flip = graph.view %a strides [-5, 1] offset 15 : tensor<4x5xi8> -> tensor<4x5xi8>
// CHECK-NEXT:    %pad = graph.view %flip strides [5, 1] offset -5 mask [1, 0] to [5, 5] : tensor<4x5xi8> -> tensor<7x5xi8>
// GENERIC:       %pad = "graph.view"(%flip) <{strides = array<i64: 5, 1>, offset = -5 : i64, mask_low = array<i64: 1, 0>, mask_high = array<i64: 5, 5>}>

func.func @constants() {
  %one = graph.const 1.0 : tensor<f32>
  %tenth = graph.const 0.1 : tensor<3xf64>
  %negative_zero = graph.const -0.0 : tensor<f32>
  %subnormal = graph.const 1.0e-45 : tensor<f32>
  %inf = graph.const 0x7f800000 : tensor<f32>
  %low = graph.const 0xfc00 : tensor<f16>
  %nan = graph.const 0x7ff8000000000000 : tensor<2x2xf64>
  %brain = graph.const 0.5 : tensor<bf16>
  %int = graph.const -2147483648 : tensor<2xi32>
  %small = graph.const 127 : tensor<i8>
  %true = graph.const true : tensor<4xi1>
  %false = graph.const false : tensor<i1>
  func.return
}
// CHECK-LABEL: func.func @constants
// CHECK-NEXT:    %one = graph.const 1.000000e+00 : tensor<f32>
// CHECK-NEXT:    %tenth = graph.const 1.000000e-01 : tensor<3xf64>
// CHECK-NEXT:    %negative_zero = graph.const -0.000000e+00 : tensor<f32>
// CHECK-NEXT:    %subnormal = graph.const 1.401300e-45 : tensor<f32>
// CHECK-NEXT:    %inf = graph.const 0x7f800000 : tensor<f32>
// CHECK-NEXT:    %low = graph.const 0xfc00 : tensor<f16>
// CHECK-NEXT:    %nan = graph.const 0x7ff8000000000000 : tensor<2x2xf64>
// CHECK-NEXT:    %brain = graph.const 5.000000e-01 : tensor<bf16>
// CHECK-NEXT:    %int = graph.const -2147483648 : tensor<2xi32>
// CHECK-NEXT:    %small = graph.const 127 : tensor<i8>
// CHECK-NEXT:    %true = graph.const true : tensor<4xi1>
// CHECK-NEXT:    %false = graph.const false : tensor<i1>

func.func @elementwise(%a: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<4xf32> {
  %neg = graph.neg %a : tensor<4xf32>
  %exp = graph.exp %neg : tensor<4xf32>
  %log = graph.log %exp : tensor<4xf32>
  %sqrt = graph.sqrt %log : tensor<4xf32>
  %recip = graph.recip %sqrt : tensor<4xf32>
  %int = graph.cast %recip : tensor<4xf32> -> tensor<4xi32>
  %back = graph.cast %int : tensor<4xi32> -> tensor<4xf32>
  %sum = graph.add %back, %b : tensor<4xf32>
  %quotient = graph.mul %sum, recip %b : tensor<4xf32>
  %less = graph.cmplt %quotient, %a : tensor<4xf32>
  %chosen = graph.where %less, %a, %b : tensor<4xf32>
  func.return %chosen : tensor<4xf32>
}
// CHECK-LABEL: func.func @elementwise
// CHECK-NEXT:    %neg = graph.neg %a : tensor<4xf32>
// CHECK-NEXT:    %exp = graph.exp %neg : tensor<4xf32>
// CHECK-NEXT:    %log = graph.log %exp : tensor<4xf32>
// CHECK-NEXT:    %sqrt = graph.sqrt %log : tensor<4xf32>
// CHECK-NEXT:    %recip = graph.recip %sqrt : tensor<4xf32>
// CHECK-NEXT:    %int = graph.cast %recip : tensor<4xf32> -> tensor<4xi32>
// CHECK-NEXT:    %back = graph.cast %int : tensor<4xi32> -> tensor<4xf32>
// CHECK-NEXT:    %sum = graph.add %back, %b : tensor<4xf32>
// CHECK-NEXT:    %quotient = graph.mul %sum, recip %b : tensor<4xf32>
// CHECK-NEXT:    %less = graph.cmplt %quotient, %a : tensor<4xf32>
// CHECK-NEXT:    %chosen = graph.where %less, %a, %b : tensor<4xf32>
// GENERIC:       %quotient = "graph.mul"(%sum, %b) <{recip}> : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>

func.func @rest(%w: tensor<7x3xf32>, %i: tensor<5xi32>) -> tensor<5x1xf32> {
  %rows = graph.gather %w, %i : tensor<7x3xf32>, tensor<5xi32> -> tensor<5x3xf32>
  %sums = graph.scatter %rows, %i : tensor<5x3xf32>, tensor<5xi32> -> tensor<7x3xf32>
  %copy = graph.contiguous %sums : tensor<7x3xf32>
  %next = graph.assign %w, %copy : tensor<7x3xf32>
  %top = graph.max %rows axes [1] : tensor<5x3xf32> -> tensor<5x1xf32>
  %x, %y = graph.custom "attention"(%top, %i) {causal} : (tensor<5x1xf32>, tensor<5xi32>) -> (tensor<5x1xf32>, tensor<5xf32>)
  func.return %x : tensor<5x1xf32>
}
// CHECK-LABEL: func.func @rest
// CHECK-NEXT:    %rows = graph.gather %w, %i : tensor<7x3xf32>, tensor<5xi32> -> tensor<5x3xf32>
// CHECK-NEXT:    %sums = graph.scatter %rows, %i : tensor<5x3xf32>, tensor<5xi32> -> tensor<7x3xf32>
// CHECK-NEXT:    %copy = graph.contiguous %sums : tensor<7x3xf32>
// CHECK-NEXT:    %next = graph.assign %w, %copy : tensor<7x3xf32>
// CHECK-NEXT:    %top = graph.max %rows axes [1] : tensor<5x3xf32> -> tensor<5x1xf32>
// CHECK-NEXT:    %x, %y = graph.custom "attention"(%top, %i) {causal} : (tensor<5x1xf32>, tensor<5xi32>) -> (tensor<5x1xf32>, tensor<5xf32>)
