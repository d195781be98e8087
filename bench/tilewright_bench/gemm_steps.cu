// tilewright-bench gemm-steps: every step of kernels/gemm beside cuBLAS, TFLOP/s, at 1024, 4096 and
// 4095: steps 01 to 13 in fp32 (cublasSgemm), 14 and on in bf16 with fp32 results (cublasGemmEx).
// Checked on sampled elements against sums in double precision, with the bound
// of kernels/common/gemm_program.h. bench/render_tables.py sets the profile's reason beside each
// step.
#include <cublas_v2.h>

#include <cstdio>
#include <type_traits>

#include "common/async_copy.cuh"
#include "common/gemm_access.cuh"
#include "common/gemm_program.h"
#include "common/pitched.h"
#include "common/warpgroup.cuh"
#include "frame.h"
#include "ladder.h"

#define main step_main
namespace gemm_step01 {
#include "gemm/01_naive.cu"
}
namespace gemm_step02 {
#include "gemm/02_tiled_16.cu"
}
namespace gemm_step03 {
#include "gemm/03_tiled_32.cu"
}
namespace gemm_step04 {
#include "gemm/04_tiled_whole_tiles_only.cu"
}
namespace gemm_step05 {
#include "gemm/05_tiled_dynamic.cu"
}
namespace gemm_step06 {
#include "gemm/06_register_tile_1d.cu"
}
namespace gemm_step07 {
#include "gemm/07_register_tile_2d.cu"
}
namespace gemm_step08 {
#include "gemm/08_vectorised.cu"
}
namespace gemm_step09 {
#include "gemm/09_conflict_free.cu"
}
namespace gemm_step10 {
#include "gemm/10_swizzled.cu"
}
namespace gemm_step11 {
#include "gemm/11_double_buffered.cu"
}
namespace gemm_step12 {
#include "gemm/12_cp_async.cu"
}
namespace gemm_step13 {
#include "gemm/13_warp_tile.cu"
}
namespace gemm_step14 {
#include "gemm/14_mma_sync.cu"
}
namespace gemm_step15 {
#include "gemm/15_wgmma.cu"
}
namespace gemm_step16 {
#include "gemm/16_tma_pipeline.cu"
}
namespace gemm_step17 {
#include "gemm/17_warp_specialised.cu"
}
namespace gemm_step18 {
#include "gemm/18_cluster_multicast.cu"
}
namespace gemm_step19 {
#include "gemm/19_persistent.cu"
}
namespace gemm_step20 {
#include "gemm/20_split_k.cu"
}
#undef main

namespace tilewright::bench {
namespace {

using Shape = tw::ladder::GemmShape;

struct Step {
  const char* name;
  void (*launch)(const float* a, const float* b, float* c, Shape shape);
  int multiple_of = 1;
};

const Step kSteps[] = {
    {"01_naive", gemm_step01::launch},
    {"02_tiled_16", gemm_step02::launch},
    {"03_tiled_32", gemm_step03::launch},
    {"04_tiled_whole_tiles_only", gemm_step04::launch, gemm_step04::kTile},
    {"05_tiled_dynamic", [](const float* a, const float* b, float* c,
                            Shape s) { gemm_step05::launch(a, b, c, s, 32); }},
    {"06_register_tile_1d", gemm_step06::launch},
    {"07_register_tile_2d", gemm_step07::launch},
    {"08_vectorised", gemm_step08::launch},
    {"09_conflict_free", gemm_step09::launch},
    {"10_swizzled", gemm_step10::launch},
    {"11_double_buffered", gemm_step11::launch},
    {"12_cp_async", gemm_step12::launch},
    {"13_warp_tile", gemm_step13::launch},
};

struct Bf16Step {
  const char* name;
  void (*launch)(const __nv_bfloat16* a, const __nv_bfloat16* b, float* c, Shape shape);
};

const Bf16Step kBf16Steps[] = {
    {"14_mma_sync", gemm_step14::launch},          {"15_wgmma", gemm_step15::launch},
    {"16_tma_pipeline", gemm_step16::launch},      {"17_warp_specialised", gemm_step17::launch},
    {"18_cluster_multicast", gemm_step18::launch}, {"19_persistent", gemm_step19::launch},
    {"20_split_k", gemm_step20::launch},
};

constexpr float kScale = 2.0f / 16777216.0f;

// Values in [-1, 1) from the random bits that are there.
__global__ void to_reals(float* x, int64_t count) {
  const int64_t i = blockIdx.x * int64_t(blockDim.x) + threadIdx.x;
  if (i < count) x[i] = float(reinterpret_cast<uint32_t*>(x)[i] >> 8) * kScale - 1.0f;
}
__global__ void to_reals(__nv_bfloat16* x, int64_t count) {
  const int64_t i = blockIdx.x * int64_t(blockDim.x) + threadIdx.x;
  if (i < count)
    x[i] = __float2bfloat16(float(reinterpret_cast<uint16_t*>(x)[i]) * (2.0f / 65536.0f) - 1.0f);
}

// Warp w compares one element, spread over C; wrong ones are counted.
template <class T>
__global__ void compare_samples(const T* a, const T* b, const float* c, int n, double u,
                                unsigned samples, unsigned* wrong) {
  const unsigned w = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
  if (w >= samples) return;
  const int64_t at = int64_t(w) * (int64_t(n) * n - 1) / (samples - 1), row = at / n, col = at % n;
  double sum = 0, magnitude = 0;
  for (int64_t k = lane; k < n; k += 32) {
    const double p = double(float(a[row * n + k])) * double(float(b[k * n + col]));
    sum += p;
    magnitude += fabs(p);
  }
  for (int d = 16; d > 0; d /= 2) {
    sum += __shfl_down_sync(0xffffffffu, sum, d);
    magnitude += __shfl_down_sync(0xffffffffu, magnitude, d);
  }
  const double gamma = n * u / (1 - n * u);
  if (lane == 0 && !(fabs(c[at] - sum) <= gamma * magnitude)) atomicAdd(wrong, 1u);
}

// T: float or __nv_bfloat16, of A and B.
template <class T> void run_size(int n, const Options& options, std::vector<Case>& cases) {
  if (out_of_time(options)) return;
  constexpr bool kBf16 = std::is_same_v<T, __nv_bfloat16>;
  const int64_t count = int64_t(n) * n;
  const size_t bytes = size_t(count) * sizeof(T), all = 2 * bytes + size_t(count) * 4;
  RotatingBuffers a(bytes, all), b(bytes, all), c(size_t(count) * 4, all);
  a.randomise(1);
  b.randomise(2);
  for (RotatingBuffers* x : {&a, &b})
    for (int i = 0; i < x->count(); ++i)
      to_reals<<<unsigned((count + 255) / 256), 256>>>(static_cast<T*>((*x)[i]), count);
  unsigned* wrong = nullptr;
  TW_CUDA(cudaMalloc(&wrong, 4));
  TW_CUDA(cudaDeviceSynchronize());
  cublasHandle_t cublas;
  if (cublasCreate(&cublas) != CUBLAS_STATUS_SUCCESS) {
    std::fprintf(stderr, "cublasCreate failed\n");
    std::exit(3);
  }
  Case out;
  out.name = (kBf16 ? "bf16 " : "f32 ") + std::to_string(n);
  out.fields = {{"type", kBf16 ? "bf16" : "f32"}, {"n", std::to_string(n)}};
  out.unit = "TFLOP/s";
  out.work = 2.0 * n * n * n;
  std::vector<Candidate> candidates;
  auto add = [&](const char* name, auto launch) {
    auto check = [&, launch]() -> std::string {
      c.fill(0xff);
      TW_CUDA(cudaMemset(wrong, 0, 4));
      launch(0, cudaStreamPerThread);
      TW_CUDA(cudaDeviceSynchronize());
      constexpr unsigned kSamples = 1 << 16;
      // The tensor cores cut off where fp32 rounds.
      compare_samples<T><<<kSamples / 8, 256>>>(static_cast<T*>(a[0]), static_cast<T*>(b[0]),
                                                static_cast<float*>(c[0]), n,
                                                kBf16 ? 0x1p-22 : 0x1p-24, kSamples, wrong);
      unsigned found = 0;
      TW_CUDA(cudaMemcpy(&found, wrong, 4, cudaMemcpyDeviceToHost));
      return found ? std::to_string(found) + " of 65536 samples differ" : "";
    };
    candidates.push_back({name, launch, check, true});
  };
  auto add_step = [&](const char* name, auto step_launch) {
    add(name, [&, step_launch, n](int slot, cudaStream_t stream) {
      const InStream in_stream(stream);
      step_launch(static_cast<T*>(a[slot]), static_cast<T*>(b[slot]), static_cast<float*>(c[slot]),
                  {n, n, n});
      TW_CUDA(cudaGetLastError());
    });
  };
  if constexpr (kBf16) {
    for (const Bf16Step& step : kBf16Steps) add_step(step.name, step.launch);
  } else {
    for (const Step& step : kSteps) {
      if (n % step.multiple_of == 0) add_step(step.name, step.launch);
    }
  }
  add("cublas", [&](int slot, cudaStream_t stream) {
    const float one = 1, zero = 0;
    cublasSetStream(cublas, stream);
    // Row-major C = A B is column-major C^T = B^T A^T.
    const cudaDataType type = kBf16 ? CUDA_R_16BF : CUDA_R_32F;
    if (cublasGemmEx(cublas, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &one, b[slot], type, n, a[slot],
                     type, n, &zero, c[slot], CUDA_R_32F, n, CUBLAS_COMPUTE_32F,
                     CUBLAS_GEMM_DEFAULT) != CUBLAS_STATUS_SUCCESS) {
      std::fprintf(stderr, "cublasGemmEx failed\n");
      std::exit(3);
    }
  });
  measure(out, candidates, options);
  print_case(out);
  cases.push_back(out);
  cublasDestroy(cublas);
  cudaFree(wrong);
}

}  // namespace

int run_gemm_steps(const Options& options, std::vector<Case>& cases) {
  if (!options.sizes.empty()) {
    for (const std::string& text : options.sizes) {
      const std::vector<int64_t> size = parse_size(text, 1);
      if (size.empty()) return 2;
      if (size[0] > 65536) {
        std::fprintf(stderr, "--sizes: %s: the steps' matrices go to 65536\n", text.c_str());
        return 2;
      }
      const int n = static_cast<int>(size[0]);
      run_size<float>(n, options, cases);
      run_size<__nv_bfloat16>(n, options, cases);
    }
    return 0;
  }
  for (int n : {1024, 4096, 4095}) {
    run_size<float>(n, options, cases);
    run_size<__nv_bfloat16>(n, options, cases);
  }
  return 0;
}

}  // namespace tilewright::bench
