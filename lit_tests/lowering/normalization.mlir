// RUN: nnvm-opt %s --convert-nnvm-to-linalg | FileCheck %s --check-prefix=LINALG --implicit-check-not=tensor.expand_shape --implicit-check-not=tensor.collapse_shape
// RUN: nnvm-opt %s --nnvm-plan-memory --convert-nnvm-to-linalg --nnvm-lower-kernels='target=cpu:x86-64-v4 threads=2' | FileCheck %s --check-prefix=KERNEL --implicit-check-not=memref.alloc --implicit-check-not=scf.parallel --implicit-check-not=math.exp

// LINALG-DAG: #[[CHANNELS:[a-z0-9]+]] = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1 + d4, d2, d3)>

// Maximum, exponentials, their sum, quotients: four generics, of which two reduce.
// LINALG-LABEL: func.func private @softmax
// LINALG: linalg.generic {{.*}}"reduction"]
// LINALG: arith.maximumf
// LINALG: linalg.generic {{.*}} ["parallel", "parallel", "parallel"]
// LINALG: math.exp
// LINALG: linalg.generic {{.*}}"reduction"]
// LINALG: arith.addf
// LINALG: linalg.generic {{.*}} ["parallel", "parallel", "parallel"]
// LINALG: arith.divf
// LINALG-NOT: linalg.generic
// LINALG: return

// Three passes over a row, by threads. Exponentials are kept in the result, and not computed twice;
// those beyond the row's end do not count.
// KERNEL-LABEL: func.func private @softmax
// KERNEL: scf.parallel
// KERNEL: scf.for {{.*}} iter_args
// KERNEL: arith.maximumf {{.*}} : vector<16xf32>
// KERNEL: vector.reduction <maximumf>
// KERNEL: scf.for {{.*}} iter_args
// KERNEL: math.fma {{.*}} : vector<16xf32>
// KERNEL: vector.store %{{.*}}, %arg1
// KERNEL: vector.maskedstore %arg1
// KERNEL: vector.reduction <add>
// KERNEL-NOT: math.fma
// KERNEL: scf.for
// KERNEL-NOT: %arg0
// KERNEL: %[[KEPT:[0-9]+]] = vector.load %arg1
// KERNEL: %[[RATIO:[0-9]+]] = arith.divf %[[KEPT]]
// KERNEL: vector.store %[[RATIO]], %arg1

func.func private @softmax(%x: tensor<12x512x509xf32>) -> tensor<12x512x509xf32> {
  %0 = "nnvm.softmax"(%x) : (tensor<12x512x509xf32>) -> tensor<12x512x509xf32>
  return %0 : tensor<12x512x509xf32>
}

// The variance is the mean of squared differences, so that nothing cancels.
// LINALG-LABEL: func.func private @layer
// LINALG: linalg.generic {{.*}}"reduction"]
// LINALG: linalg.generic
// LINALG: arith.divf
// LINALG: linalg.generic {{.*}}"reduction"]
// LINALG: %[[DIFFERENCE:[0-9]+]] = arith.subf
// LINALG: arith.mulf %[[DIFFERENCE]], %[[DIFFERENCE]]
// LINALG: linalg.generic
// LINALG: math.sqrt
// LINALG: linalg.generic {{.*}} ins(%arg0, {{.*}}, %arg1, %arg2 :

// What depends on the row alone, like its root, is computed once for a row.
// KERNEL-LABEL: func.func private @layer
// KERNEL: scf.for {{.*}} iter_args
// KERNEL: vector.reduction <add>
// KERNEL: scf.for {{.*}} iter_args
// KERNEL: vector.reduction <add>
// KERNEL: math.sqrt {{.*}} : f32
// KERNEL: scf.for
// KERNEL-NOT: {{sqrt|divf}}
// KERNEL: vector.store {{.*}} : memref<2048xf32>, vector<16xf32>

func.func private @layer(%x: tensor<16x128xf32>, %g: tensor<128xf32>, %b: tensor<128xf32>) -> tensor<16x128xf32> {
  %0 = "nnvm.layer_norm"(%x, %g, %b) : (tensor<16x128xf32>, tensor<128xf32>, tensor<128xf32>) -> tensor<16x128xf32>
  return %0 : tensor<16x128xf32>
}

// A window over channels; a power of 3/4 is two roots. Channels of padding are masked, not copied.
// LINALG-LABEL: func.func private @lrn
// LINALG: tensor.pad
// LINALG: linalg.generic {indexing_maps = [#[[CHANNELS]], {{.*}}"reduction"]
// LINALG: math.sqrt
// LINALG-NEXT: math.sqrt
// LINALG-NOT: math.powf
// KERNEL-LABEL: func.func private @lrn
// KERNEL-COUNT-5: vector.maskedload %arg0
// KERNEL-COUNT-2: math.sqrt {{.*}} : vector<16xf32>
// KERNEL: vector.store {{.*}} : memref<512xf32>, vector<16xf32>
// KERNEL-LABEL: func.func @main

func.func private @lrn(%x: tensor<1x8x4x16xf32>) -> tensor<1x8x4x16xf32> {
  %0 = "nnvm.lrn"(%x) {size = 5 : i64, alpha = 1.0e-4 : f64, beta = 0.75 : f64, bias = 1.0 : f64} : (tensor<1x8x4x16xf32>) -> tensor<1x8x4x16xf32>
  return %0 : tensor<1x8x4x16xf32>
}

func.func @main(%softmax_x: tensor<12x512x509xf32>, %layer_x: tensor<16x128xf32>, %layer_g: tensor<128xf32>, %layer_b: tensor<128xf32>, %lrn_x: tensor<1x8x4x16xf32>) -> (tensor<12x512x509xf32>, tensor<16x128xf32>, tensor<1x8x4x16xf32>) {
  %0 = call @softmax(%softmax_x) : (tensor<12x512x509xf32>) -> tensor<12x512x509xf32>
  %1 = call @layer(%layer_x, %layer_g, %layer_b) : (tensor<16x128xf32>, tensor<128xf32>, tensor<128xf32>) -> tensor<16x128xf32>
  %2 = call @lrn(%lrn_x) : (tensor<1x8x4x16xf32>) -> tensor<1x8x4x16xf32>
  return %0, %1, %2 : tensor<12x512x509xf32>, tensor<16x128xf32>, tensor<1x8x4x16xf32>
}
