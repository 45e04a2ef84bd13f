// RUN: nnvm-opt %s --convert-nnvm-to-linalg | FileCheck %s --check-prefix=LINALG --implicit-check-not=tensor.expand_shape --implicit-check-not=tensor.collapse_shape
// RUN: nnvm-opt %s --nnvm-plan-memory --convert-nnvm-to-linalg --nnvm-lower-kernels='target=cpu:x86-64-v4 threads=2' | FileCheck %s --check-prefix=KERNEL --implicit-check-not=memref.alloc --implicit-check-not=scf.parallel

// LINALG-DAG: #[[ALL:[a-z0-9]+]] = affine_map<(d0, d1) -> (d0, d1)>
// LINALG-DAG: #[[AXIS:[a-z0-9]+]] = affine_map<(d0, d1) -> (d1)>

// Halves go to the even neighbour, and the result saturates.
// LINALG-LABEL: func.func private @quantize
// LINALG: linalg.generic {{.*}} ins(%arg0, %arg1, %arg2 : tensor<8x64xf32>, tensor<f32>, tensor<i8>)
// LINALG: arith.divf
// LINALG: math.roundeven
// LINALG: arith.fptoui
// LINALG: arith.select {{.*}} : i8
// LINALG-NOT: linalg.generic

// Scale and zero point are read once.
// KERNEL-LABEL: func.func private @quantize
// KERNEL: %[[S:[0-9]+]] = memref.load %arg1
// KERNEL: %[[SCALE:[0-9]+]] = vector.broadcast %[[S]] : f32 to vector<16xf32>
// KERNEL: memref.load %arg2
// KERNEL: scf.for
// KERNEL-NOT: memref.load
// KERNEL: arith.divf %{{.*}}, %[[SCALE]] : vector<16xf32>
// KERNEL: math.roundeven {{.*}} : vector<16xf32>
// KERNEL: vector.store {{.*}} : memref<512xi8>, vector<16xi8>

func.func private @quantize(%x: tensor<8x64xf32>, %s: tensor<f32>, %z: tensor<ui8>) -> tensor<8x64xui8> {
  %0 = "nnvm.quantize_linear"(%x, %s, %z) : (tensor<8x64xf32>, tensor<f32>, tensor<ui8>) -> tensor<8x64xui8>
  return %0 : tensor<8x64xui8>
}

// Differences are taken in integers, where they are exact. Parameters of an axis are broadcast by their maps.
// LINALG-LABEL: func.func private @dequantize
// LINALG: linalg.generic {indexing_maps = [#[[ALL]], #[[AXIS]], #[[AXIS]], #[[ALL]]]
// LINALG: arith.subi {{.*}} : i32
// LINALG: arith.sitofp
// LINALG: arith.mulf
// KERNEL-LABEL: func.func private @dequantize
// KERNEL: arith.extsi {{.*}} : vector<16xi8> to vector<16xi32>
// KERNEL: arith.subi {{.*}} : vector<16xi32>
// KERNEL: arith.sitofp {{.*}} : vector<16xi32> to vector<16xf32>
// KERNEL: vector.store {{.*}} : memref<512xf32>, vector<16xf32>
// KERNEL-LABEL: func.func @main

func.func private @dequantize(%x: tensor<8x64xi8>, %s: tensor<64xf32>, %z: tensor<64xi8>) -> tensor<8x64xf32> {
  %0 = "nnvm.dequantize_linear"(%x, %s, %z) : (tensor<8x64xi8>, tensor<64xf32>, tensor<64xi8>) -> tensor<8x64xf32>
  return %0 : tensor<8x64xf32>
}

func.func @main(%quantize_x: tensor<8x64xf32>, %quantize_s: tensor<f32>, %quantize_z: tensor<ui8>, %dequantize_x: tensor<8x64xi8>, %dequantize_s: tensor<64xf32>, %dequantize_z: tensor<64xi8>) -> (tensor<8x64xui8>, tensor<8x64xf32>) {
  %0 = call @quantize(%quantize_x, %quantize_s, %quantize_z) : (tensor<8x64xf32>, tensor<f32>, tensor<ui8>) -> tensor<8x64xui8>
  %1 = call @dequantize(%dequantize_x, %dequantize_s, %dequantize_z) : (tensor<8x64xi8>, tensor<64xf32>, tensor<64xi8>) -> tensor<8x64xf32>
  return %0, %1 : tensor<8x64xui8>, tensor<8x64xf32>
}
