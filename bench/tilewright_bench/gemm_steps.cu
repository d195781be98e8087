// tilewright-bench gemm-steps: every step of kernels/gemm (fp32) beside cublasSgemm, TFLOP/s, at
// 1024, 4096 and 4095. Checked on sampled elements against sums in double precision, with the bound
// of kernels/common/gemm_program.h. bench/render_tables.py sets the profile's reason beside each
// step.
#include <cublas_v2.h>

#include <cstdio>

#include "common/gemm_program.h"
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
};

constexpr float kScale = 2.0f / 16777216.0f;

// Values in [-1, 1) from the random bits that are there.
__global__ void to_reals(float* x, int64_t count) {
  const int64_t i = blockIdx.x * int64_t(blockDim.x) + threadIdx.x;
  if (i < count) x[i] = float(reinterpret_cast<uint32_t*>(x)[i] >> 8) * kScale - 1.0f;
}

// Warp w compares one element, spread over C; wrong ones are counted.
__global__ void compare_samples(const float* a, const float* b, const float* c, int n,
                                unsigned samples, unsigned* wrong) {
  const unsigned w = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
  if (w >= samples) return;
  const int64_t at = int64_t(w) * (int64_t(n) * n - 1) / (samples - 1), row = at / n, col = at % n;
  double sum = 0, magnitude = 0;
  for (int64_t k = lane; k < n; k += 32) {
    const double p = double(a[row * n + k]) * b[k * n + col];
    sum += p;
    magnitude += fabs(p);
  }
  for (int d = 16; d > 0; d /= 2) {
    sum += __shfl_down_sync(0xffffffffu, sum, d);
    magnitude += __shfl_down_sync(0xffffffffu, magnitude, d);
  }
  const double u = 0x1p-24, gamma = n * u / (1 - n * u);
  if (lane == 0 && !(fabs(c[at] - sum) <= gamma * magnitude)) atomicAdd(wrong, 1u);
}

void run_size(int n, const Options& options, std::vector<Case>& cases) {
  if (out_of_time(options)) return;
  const int64_t count = int64_t(n) * n;
  const size_t bytes = size_t(count) * 4;
  RotatingBuffers a(bytes, 3 * bytes), b(bytes, 3 * bytes), c(bytes, 3 * bytes);
  a.randomise(1);
  b.randomise(2);
  for (RotatingBuffers* x : {&a, &b})
    for (int i = 0; i < x->count(); ++i)
      to_reals<<<unsigned((count + 255) / 256), 256>>>(static_cast<float*>((*x)[i]), count);
  unsigned* wrong = nullptr;
  TW_CUDA(cudaMalloc(&wrong, 4));
  TW_CUDA(cudaDeviceSynchronize());
  cublasHandle_t cublas;
  if (cublasCreate(&cublas) != CUBLAS_STATUS_SUCCESS) {
    std::fprintf(stderr, "cublasCreate failed\n");
    std::exit(3);
  }
  Case out;
  out.name = "f32 " + std::to_string(n);
  out.fields = {{"type", "f32"}, {"n", std::to_string(n)}};
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
      compare_samples<<<kSamples / 8, 256>>>(static_cast<float*>(a[0]), static_cast<float*>(b[0]),
                                             static_cast<float*>(c[0]), n, kSamples, wrong);
      unsigned found = 0;
      TW_CUDA(cudaMemcpy(&found, wrong, 4, cudaMemcpyDeviceToHost));
      return found ? std::to_string(found) + " of 65536 samples differ" : "";
    };
    candidates.push_back({name, launch, check, true});
  };
  for (const Step& step : kSteps) {
    if (n % step.multiple_of) continue;
    add(step.name, [&, step, n](int slot, cudaStream_t stream) {
      const InStream in_stream(stream);
      step.launch(static_cast<float*>(a[slot]), static_cast<float*>(b[slot]),
                  static_cast<float*>(c[slot]), {n, n, n});
      TW_CUDA(cudaGetLastError());
    });
  }
  add("cublas", [&](int slot, cudaStream_t stream) {
    const float one = 1, zero = 0;
    cublasSetStream(cublas, stream);
    // Row-major C = A B is column-major C^T = B^T A^T.
    if (cublasSgemm(cublas, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &one, static_cast<float*>(b[slot]),
                    n, static_cast<float*>(a[slot]), n, &zero, static_cast<float*>(c[slot]),
                    n) != CUBLAS_STATUS_SUCCESS) {
      std::fprintf(stderr, "cublasSgemm failed\n");
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
      const int n = std::atoi(text.c_str());
      if (n <= 0) {
        std::fprintf(stderr, "--sizes: %s is no size\n", text.c_str());
        return 2;
      }
      run_size(n, options, cases);
    }
    return 0;
  }
  for (int n : {1024, 4096, 4095}) run_size(n, options, cases);
  return 0;
}

}  // namespace tilewright::bench
