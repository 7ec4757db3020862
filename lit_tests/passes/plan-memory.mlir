// RUN: limn-opt --pass plan-memory %s | filecheck %s

nest.kernel @k(%a: memref<20xf32>, %b: memref<20xf32>) {
}
// CHECK:         nest.kernel @k(%a: memref<20xf32>, %b: memref<20xf32>) {
// CHECK-NEXT:    }

nest.kernel @small(%a: memref<20xf32>, %b: memref<3xi1>, %c: memref<3xi1>) {
}
// CHECK:         nest.kernel @small(%a: memref<20xf32>, %b: memref<3xi1>, %c: memref<3xi1>) {
// CHECK-NEXT:    }

// %c takes the place of %a, which is read for the last time by the launch before; %flags and %ends are rounded up to
// 64 bytes.
nest.plan @chain(%x: memref<20xf32>, %out: memref<20xf32>) inputs 1 {
  %a = nest.alloc : memref<20xf32>
  nest.launch @k(%x, %a)
  %b = nest.alloc : memref<20xf32>
  nest.launch @k(%a, %b)
  %c = nest.alloc : memref<20xf32>
  nest.launch @k(%b, %c)
  %flags = nest.alloc : memref<3xi1>
  %ends = nest.alloc : memref<3xi1>
  nest.launch @small(%c, %flags, %ends)
  nest.launch @small(%b, %flags, %ends)
  %d = nest.alloc : memref<20xf32>
  nest.launch @k(%c, %d)
  nest.launch @k(%d, %out)
}
// CHECK:         nest.plan @chain(%x: memref<20xf32>, %out: memref<20xf32>, %arena: memref<384xi8>) inputs 1 arena {
// CHECK-NEXT:      %a = nest.slice %arena[0] : memref<20xf32>
// CHECK-NEXT:      nest.launch @k(%x, %a)
// CHECK-NEXT:      %b = nest.slice %arena[128] : memref<20xf32>
// CHECK-NEXT:      nest.launch @k(%a, %b)
// CHECK-NEXT:      %c = nest.slice %arena[0] : memref<20xf32>
// CHECK-NEXT:      nest.launch @k(%b, %c)
// CHECK-NEXT:      %flags = nest.slice %arena[256] : memref<3xi1>
// CHECK-NEXT:      %ends = nest.slice %arena[320] : memref<3xi1>
// CHECK-NEXT:      nest.launch @small(%c, %flags, %ends)
// CHECK-NEXT:      nest.launch @small(%b, %flags, %ends)
// CHECK-NEXT:      %d = nest.slice %arena[128] : memref<20xf32>
// CHECK-NEXT:      nest.launch @k(%c, %d)
// CHECK-NEXT:      nest.launch @k(%d, %out)
// CHECK-NEXT:    }

// Nothing to place.
nest.plan @no_buffers(%x: memref<20xf32>, %out: memref<20xf32>) inputs 1 {
  nest.launch @k(%x, %out)
}
// CHECK:         nest.plan @no_buffers(%x: memref<20xf32>, %out: memref<20xf32>) inputs 1 {
// CHECK-NEXT:      nest.launch @k(%x, %out)
// CHECK-NEXT:    }

// A buffer that no launch names goes; an arena that is there grows, and its slices stay.
nest.plan @grows(%x: memref<20xf32>, %out: memref<20xf32>, %arena: memref<100xi8>) inputs 1 arena {
  %a = nest.slice %arena[0] : memref<20xf32>
  %unused = nest.alloc : memref<20xf32>
  %b = nest.alloc : memref<20xf32>
  nest.launch @k(%x, %a)
  nest.launch @k(%a, %b)
  nest.launch @k(%b, %out)
}
// CHECK:         nest.plan @grows(%x: memref<20xf32>, %out: memref<20xf32>, %arena: memref<256xi8>) inputs 1 arena {
// CHECK-NEXT:      %a = nest.slice %arena[0] : memref<20xf32>
// CHECK-NEXT:      %b = nest.slice %arena[128] : memref<20xf32>
// CHECK-NEXT:      nest.launch @k(%x, %a)
// CHECK-NEXT:      nest.launch @k(%a, %b)
// CHECK-NEXT:      nest.launch @k(%b, %out)
// CHECK-NEXT:    }
