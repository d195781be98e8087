// Host side of the WGMMA kernels: the table of instances, tensor maps, the launch.
//
// Problem: one kernel per tile shape, type and pair of layouts. Choice: each instance is a row
// of facts (`WgmmaKernel`); everything else is one function that reads the row. Nothing is
// allocated. Tested by tilewright-bench gemm --suite verify.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "gemm/lib/wgmma_params.h"
#include "model/gemm_kernels.h"

namespace tw::model {
struct GemmCandidate;  // gemm_model.h
}

namespace tw::gemm {

enum class Element : int { kF32, kTf32, kBf16, kF16, kE4m3, kE5m2 };

constexpr int element_bytes(Element e) {
  return e == Element::kF32 || e == Element::kTf32
             ? 4
             : (e == Element::kBf16 || e == Element::kF16 ? 2 : 1);
}
constexpr int output_bytes(Output o) { return o == Output::kF32 ? 4 : 2; }

// The output type that the kernels without the general epilogue store.
constexpr Output native_output(Element e) {
  return e == Element::kF32 || e == Element::kTf32
             ? Output::kF32
             : (e == Element::kF16 ? Output::kF16 : Output::kBf16);
}

struct WgmmaKernel {
  const void* functions[kEpilogues];  // by Epilogue; null: not built
  Element element_a, element_b;
  int bm, bn, stages, threads, shared_bytes;
  bool a_mn, b_mn;
  int resident;              // CTAs an SM holds at once
  model::GemmKernel kernel;  // kNarrow: A is the wide operand, n <= bn
  bool ping_pong = false;    // the warpgroups have tiles of their own
  int repack_threads = 0;    // of the kernels that repack, where there are some
};

// A matrix as the kernels see it: `rows` lines of contiguous elements. K-major: a line is a row of
// op(A) or a column of op(B); MN-major: a line is one k. Pitches and strides in elements.
struct Matrix {
  const void* data;
  int64_t pitch, batch_stride;
  bool mn_major;
};

// D (row-major) = alpha * A * B + beta * C.
struct WgmmaProblem {
  int m, n, k, batches;
  Matrix a, b;
  void* d;
  int64_t ld_d, stride_d;
  const void* c;
  int64_t ld_c, stride_c;
  Output output;
  float alpha, beta;
  const float *scale_a, *scale_b;
  bool transposed;  // D is stored n x m: narrow kernels; those with kTurned if D is plain and bulk
                    // copies can store it
  RepackOrder
      repack;  // kernels that repack, without splits: moved meanwhile (parts 0: nothing is);
               // a and b say where to. launch_repack_ahead comes directly before.
  const int* after = nullptr;  // narrow kernels only: start once this counter has reached
  int after_count = 0;         // after_count, before the kernel ahead has ended; null: behind it
};

// The same product as D^T = B^T A^T; D is stored turned.
WgmmaProblem turned(WgmmaProblem problem);

struct WgmmaSchedule {
  int cluster = 1;        // CTAs that share an operand: 1, 2 or 4
  bool shares_a = false;  // they lie along N and share A; else along M, and share B
  int k_cluster = 1;      // 2 to 8 (model::kMostKCluster): a cluster of CTAs splits K of one tile
                          // and sums in shared memory; all tiles must fit one wave; then cluster
                          // and splits are 1
  int raster_group = 8;   // in clusters
  int wide_rows = model::kNarrowWide;  // narrow kernels: of the wide operand, a CTA; multiples of 8
  int splits = 1;  // > 1: D is `splits` matrices per batch, one after the other at stride_d
  int sm_count = 132;
  bool programmatic = false;  // may start before the kernel ahead of it in the stream has ended
};

// Every instance that was built, `*count` of them.
const WgmmaKernel* wgmma_kernels(int* count);
// The instance that a candidate of the model names, or null.
const WgmmaKernel* find_wgmma_kernel(Element element_a, Element element_b,
                                     const model::GemmCandidate& candidate, bool a_mn, bool b_mn);

// A and B must suit TMA (address, pitch and batch stride multiples of 16 bytes), but for the
// gathering kernel. D may be anything.
bool suits_tma(const void* data, int64_t pitch, int64_t batch_stride, int batches,
               int element_size);

cudaError_t launch_wgmma(const WgmmaKernel& kernel, const WgmmaProblem& problem,
                         const WgmmaSchedule& schedule, cudaStream_t stream);

}  // namespace tw::gemm
