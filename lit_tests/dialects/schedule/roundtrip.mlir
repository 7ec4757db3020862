// RUN: %roundtrip %s | filecheck %s
// RUN: %generic %s | filecheck %s --check-prefix=GENERIC

schedule.kernel @softmax(%x: tensor<8x16xf32>) -> tensor<8x16xf32> dims [i0 = 8, i1 = 16] rows 1 order [0, 1] {
  %0 = graph.view %x strides [16, 1] : tensor<8x16xf32> -> tensor<8x16xf32>
  %1 = graph.max %0 axes [1] : tensor<8x16xf32> -> tensor<8x1xf32>
  %2 = graph.neg %1 : tensor<8x1xf32>
  %3 = graph.view %2 strides [1, 0] : tensor<8x1xf32> -> tensor<8x16xf32>
  %4 = graph.add %0, %3 : tensor<8x16xf32>
  %5 = graph.exp %4 : tensor<8x16xf32>
  %6 = schedule.keep %5 : tensor<8x16xf32>
  %7 = graph.sum %6 axes [1] : tensor<8x16xf32> -> tensor<8x1xf32>
  %8 = graph.view %7 strides [1, 0] : tensor<8x1xf32> -> tensor<8x16xf32>
  %9 = graph.mul %6, recip %8 : tensor<8x16xf32>
  schedule.yield %9 : tensor<8x16xf32>
}
// CHECK:       schedule.kernel @softmax(%x: tensor<8x16xf32>) -> tensor<8x16xf32> dims [i0 = 8, i1 = 16] rows 1 order [0, 1] {
// CHECK:         %6 = schedule.keep %5 : tensor<8x16xf32>
// CHECK:         schedule.yield %9 : tensor<8x16xf32>
// CHECK-NEXT:  }
// GENERIC:     "schedule.kernel"() <{sym_name = "softmax",
// GENERIC:       %6 = "schedule.keep"(%5) : (tensor<8x16xf32>) -> tensor<8x16xf32>
// GENERIC:       "schedule.yield"(%9) : (tensor<8x16xf32>) -> ()

schedule.kernel @matmul(%a: tensor<4x5xf32>, %b: tensor<5x3xf32>) -> (tensor<4x3xf32>, tensor<12xi1>) dims [i0 = 4, i1 = 3, r2 = 5] rows 0 order [0, 2, 1] {
  %0 = graph.view %a strides [5, 0, 1] : tensor<4x5xf32> -> tensor<4x3x5xf32>
  %1 = graph.view %b strides [0, 1, 3] : tensor<5x3xf32> -> tensor<4x3x5xf32>
  %2 = graph.mul %0, %1 : tensor<4x3x5xf32>
  %3 = graph.sum %2 axes [2] : tensor<4x3x5xf32> -> tensor<4x3x1xf32>
  %zero = graph.const 0.0 : tensor<4x3x1xf32>
  %less = graph.cmplt %zero, %3 : tensor<4x3x1xf32>
  schedule.yield %3, %less : tensor<4x3x1xf32>, tensor<4x3x1xi1>
}
// CHECK:       schedule.kernel @matmul(%a: tensor<4x5xf32>, %b: tensor<5x3xf32>) -> (tensor<4x3xf32>, tensor<12xi1>) dims [i0 = 4, i1 = 3, r2 = 5] rows 0 order [0, 2, 1] {
// CHECK:         schedule.yield %3, %less : tensor<4x3x1xf32>, tensor<4x3x1xi1>
// GENERIC:     "schedule.kernel"() <{sym_name = "matmul",

schedule.kernel @rows(%table: tensor<7x3xf32>, %i: tensor<5xi32>) -> tensor<5x3xf32> dims [i0 = 5, i1 = 3] rows 0 order [0, 1] {
  %row = graph.view %i strides [1, 0] : tensor<5xi32> -> tensor<5x1xi32>
  %cells = schedule.gather %table[%row] strides [0, 1] : tensor<7x3xf32>, tensor<5x1xi32> -> tensor<5x3xf32>
  schedule.yield %cells : tensor<5x3xf32>
}
// CHECK-LABEL: schedule.kernel @rows
// CHECK:         %cells = schedule.gather %table[%row] strides [0, 1] : tensor<7x3xf32>, tensor<5x1xi32> -> tensor<5x3xf32>
// GENERIC:       %cells = "schedule.gather"(%table, %row) <{strides = array<i64: 0, 1>}> :

schedule.kernel @sums(%x: tensor<5x2xf32>, %i: tensor<5xi32>) -> tensor<7x3xf32> dims [r0 = 5, i1 = 2] rows 0 order [0, 1] {
  %value = graph.view %x strides [2, 1] : tensor<5x2xf32> -> tensor<5x2xf32>
  %row = graph.view %i strides [1, 0] : tensor<5xi32> -> tensor<5x1xi32>
  %sum = schedule.scatter %value[%row] strides [0, 1] offset 1 : tensor<5x2xf32>, tensor<5x1xi32> -> tensor<7x3xf32>
  schedule.yield %sum : tensor<7x3xf32>
}
// CHECK-LABEL: schedule.kernel @sums
// CHECK:         %sum = schedule.scatter %value[%row] strides [0, 1] offset 1 : tensor<5x2xf32>, tensor<5x1xi32> -> tensor<7x3xf32>

func.func @main(%x: tensor<8x16xf32>, %y: tensor<8x16xf32>) -> tensor<128xf32> {
  %0 = schedule.launch @softmax(%x) because "requested output" : (tensor<8x16xf32>) -> tensor<8x16xf32>
  %1 = schedule.launch @softmax(%0) : (tensor<8x16xf32>) -> tensor<8x16xf32>
  %next = graph.assign %y, %1 : tensor<8x16xf32>
  %flat = graph.view %0 strides [1] : tensor<8x16xf32> -> tensor<128xf32>
  func.return %flat : tensor<128xf32>
}
// CHECK-LABEL: func.func @main
// CHECK-NEXT:    %0 = schedule.launch @softmax(%x) because "requested output" : (tensor<8x16xf32>) -> tensor<8x16xf32>
// CHECK-NEXT:    %1 = schedule.launch @softmax(%0) : (tensor<8x16xf32>) -> tensor<8x16xf32>
// CHECK-NEXT:    %next = graph.assign %y, %1 : tensor<8x16xf32>
// CHECK-NEXT:    %flat = graph.view %0 strides [1] : tensor<8x16xf32> -> tensor<128xf32>
// GENERIC:       %0 = "schedule.launch"(%x) <{kernel = @softmax, because = "requested output"}> : (tensor<8x16xf32>) -> tensor<8x16xf32>
