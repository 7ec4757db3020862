// RUN: limn-opt %s --pass fuse,order,dedupe --print-between-passes | filecheck %s --check-prefix=BETWEEN
// RUN: limn-opt %s --pass %lower_to_c --target c | filecheck %s --check-prefix=C
// RUN: xdsl-opt %s -p fuse,order -t mlir | filecheck %s --check-prefix=STOCK
// RUN: not limn-opt %s --pass lower 2>&1 | filecheck %s --check-prefix=EARLY
// RUN: not limn-opt %s --target c 2>&1 | filecheck %s --check-prefix=TOO-EARLY

func.func @main(%a: tensor<4x5xf32>, %b: tensor<5x3xf32>) -> tensor<4x3xf32> {
  %0 = graph.view %a strides [5, 0, 1] : tensor<4x5xf32> -> tensor<4x3x5xf32>
  %1 = graph.view %b strides [0, 1, 3] : tensor<5x3xf32> -> tensor<4x3x5xf32>
  %2 = graph.mul %0, %1 : tensor<4x3x5xf32>
  %3 = graph.sum %2 axes [2] : tensor<4x3x5xf32> -> tensor<4x3x1xf32>
  %4 = graph.view %3 strides [3, 1] : tensor<4x3x1xf32> -> tensor<4x3xf32>
  func.return %4 : tensor<4x3xf32>
}

// One kernel comes of it; order changes its loops, and there is nothing to deduplicate.
// BETWEEN:      // IR after fuse:
// BETWEEN:      schedule.kernel @k0(%a: tensor<4x5xf32>, %b: tensor<5x3xf32>) -> tensor<4x3xf32> dims [i0 = 4, i1 = 3, r2 = 5] rows 2 order [0, 1, 2] {
// BETWEEN:      // IR after order:
// BETWEEN:      order [0, 2, 1] {
// BETWEEN:      // IR after dedupe: (unchanged)

// C:            for (int64_t i0 =
// C:            for (int64_t r2 = 0; r2 < 5; r2 += 1) {
// C:            __builtin_fmaf(
// C:            int plan_main(void **buffers, limn_error *error) {

// STOCK:        order [0, 2, 1] {

// EARLY:        limn-opt.mlir:8:3: error: pass 'lower': 'graph.view' in a function is no launch, assign or view of whole bytes
// TOO-EARLY:    limn-opt.mlir:7:1: error: target 'c': 'func.func' is not legal at level c: run lower first
