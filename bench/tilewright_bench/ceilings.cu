// tilewright-bench ceilings: what this card does at best. Copy bandwidth (several sizes), FFMA rate
// (register-only chains), tensor rates (cuBLASLt's best heuristic candidate on random data).
// These are the denominators of every other figure; bench/render_tables.py puts them beside the
// datasheet numbers of devices/*.json.
#include <cublasLt.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include <cstdio>
#include <cstdlib>
#include <memory>

#include "copy.h"
#include "frame.h"

namespace tilewright::bench {
namespace {

constexpr int kChains = 8, kSteps = 4096;

// Eight independent FFMA chains a thread; the results are stored only if a value no run produces
// appears, so nothing is removed and nothing is written.
__global__ void __launch_bounds__(256) ffma_chains(float* sink, float a, float b) {
  float x[kChains];
#pragma unroll
  for (int c = 0; c < kChains; ++c) x[c] = float(threadIdx.x + c);
  for (int s = 0; s < kSteps / 16; ++s) {
#pragma unroll
    for (int u = 0; u < 16; ++u)
#pragma unroll
      for (int c = 0; c < kChains; ++c) x[c] = fmaf(x[c], a, b);
  }
  float sum = 0;
#pragma unroll
  for (int c = 0; c < kChains; ++c) sum += x[c];
  if (sum == 1.2345678e30f) *sink = sum;
}

template <class T> __global__ void uniform_kernel(T* out, size_t count, uint32_t seed) {
  for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < count;
       i += size_t(gridDim.x) * blockDim.x) {
    uint32_t h = uint32_t(i) * 2654435761u ^ seed;
    h ^= h >> 15;
    h *= 0x2c1b3c6du;
    h ^= h >> 12;
    h *= 0x297a2d39u;
    h ^= h >> 15;
    out[i] = T(float(h) * (2.0f / 4294967296.0f) - 1.0f);
  }
}

template <class T> std::shared_ptr<void> uniform(size_t count, uint32_t seed) {
  void* p = nullptr;
  TW_CUDA(cudaMalloc(&p, count * sizeof(T)));
  uniform_kernel<<<1024, 256>>>(static_cast<T*>(p), count, seed);
  TW_CUDA(cudaDeviceSynchronize());
  return {p, [](void* q) { cudaFree(q); }};
}

// D (n x n) = A^T B with cuBLASLt: the layout every tensor type supports ("TN").
template <class In, class Out>
void tensor_rate(const char* name, cudaDataType in_type, cudaDataType out_type,
                 cublasComputeType_t compute, int n, const Options& options,
                 std::vector<Case>& cases) {
  cublasLtHandle_t handle;
  if (cublasLtCreate(&handle) != CUBLAS_STATUS_SUCCESS) return;
  cublasLtMatmulDesc_t op;
  cublasLtMatmulDescCreate(&op, compute, CUDA_R_32F);
  cublasOperation_t t = CUBLAS_OP_T, plain = CUBLAS_OP_N;
  cublasLtMatmulDescSetAttribute(op, CUBLASLT_MATMUL_DESC_TRANSA, &t, sizeof t);
  cublasLtMatmulDescSetAttribute(op, CUBLASLT_MATMUL_DESC_TRANSB, &plain, sizeof plain);
  cublasLtMatrixLayout_t la, lb, ld;
  cublasLtMatrixLayoutCreate(&la, in_type, n, n, n);
  cublasLtMatrixLayoutCreate(&lb, in_type, n, n, n);
  cublasLtMatrixLayoutCreate(&ld, out_type, n, n, n);
  size_t workspace_bytes = size_t(64) << 20;
  void* workspace = nullptr;
  TW_CUDA(cudaMalloc(&workspace, workspace_bytes));
  cublasLtMatmulPreference_t preference;
  cublasLtMatmulPreferenceCreate(&preference);
  cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                       &workspace_bytes, sizeof workspace_bytes);
  cublasLtMatmulHeuristicResult_t found[4];
  int count = 0;
  cublasLtMatmulAlgoGetHeuristic(handle, op, la, lb, ld, ld, preference, 4, found, &count);
  if (count > 0) {
    auto a = uniform<In>(size_t(n) * n, 1), b = uniform<In>(size_t(n) * n, 2),
         d = uniform<Out>(size_t(n) * n, 3);
    Case c;
    c.name = std::string("tensor ") + name;
    c.fields = {{"kind", "tensor"}, {"type", name}, {"n", std::to_string(n)}};
    c.unit = "TFLOP/s";
    c.work = 2.0 * n * n * n;
    std::vector<Candidate> candidates;
    float one = 1, zero = 0;
    for (int i = 0; i < count; ++i)
      candidates.push_back({"cublasLt#" + std::to_string(i),
                            [=, &one, &zero](int, cudaStream_t stream) {
                              if (cublasLtMatmul(handle, op, &one, a.get(), la, b.get(), lb, &zero,
                                                 d.get(), ld, d.get(), ld, &found[i].algo,
                                                 workspace, workspace_bytes,
                                                 stream) != CUBLAS_STATUS_SUCCESS)
                                std::fprintf(stderr, "cublasLtMatmul failed\n"), std::exit(3);
                            },
                            nullptr});
    measure(c, candidates, options);
    print_case(c);
    cases.push_back(c);
  } else {
    std::printf("tensor %s: cuBLASLt has no algorithm\n", name);
  }
  cublasLtMatmulPreferenceDestroy(preference);
  cudaFree(workspace);
  cublasLtMatrixLayoutDestroy(la);
  cublasLtMatrixLayoutDestroy(lb);
  cublasLtMatrixLayoutDestroy(ld);
  cublasLtMatmulDescDestroy(op);
  cublasLtDestroy(handle);
}

}  // namespace

int run_ceilings(const Options& options, std::vector<Case>& cases) {
  for (size_t mb : {4, 16, 64, 256, 1024}) {
    size_t bytes = mb << 20;
    RotatingBuffers in(bytes, 2 * bytes), out(bytes, 2 * bytes);
    in.randomise(mb);
    Case c;
    c.name = "copy " + std::to_string(mb) + " MiB";
    c.fields = {{"kind", "copy"}, {"mib", std::to_string(mb)}};
    c.work = 2.0 * bytes;
    measure(
        c,
        {{"cudaMemcpyAsync",
          [&](int slot, cudaStream_t s) {
            TW_CUDA(cudaMemcpyAsync(out[slot], in[slot], bytes, cudaMemcpyDeviceToDevice, s));
          },
          nullptr},
         {"copy kernel",
          [&](int slot, cudaStream_t s) { copy_kernel(out[slot], in[slot], bytes, s); }, nullptr}},
        options);
    print_case(c);
    cases.push_back(c);
  }
  {
    int device = 0, sms = 0;
    TW_CUDA(cudaGetDevice(&device));
    TW_CUDA(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, device));
    auto sink = uniform<float>(1, 1);
    Case c;
    c.name = "FFMA";
    c.fields = {{"kind", "ffma"}, {"type", "f32"}};
    c.unit = "TFLOP/s";
    int blocks = sms * 8 * 4;
    c.work = 2.0 * blocks * 256 * kChains * kSteps;
    measure(c,
            {{"ffma chains",
              [&](int, cudaStream_t s) {
                ffma_chains<<<blocks, 256, 0, s>>>(static_cast<float*>(sink.get()), 0.5f, 0.25f);
              },
              nullptr}},
            options);
    print_case(c);
    cases.push_back(c);
  }
  const int n = 8192;
  tensor_rate<__nv_bfloat16, __nv_bfloat16>("bf16", CUDA_R_16BF, CUDA_R_16BF, CUBLAS_COMPUTE_32F, n,
                                            options, cases);
  tensor_rate<__half, __half>("f16", CUDA_R_16F, CUDA_R_16F, CUBLAS_COMPUTE_32F, n, options, cases);
  tensor_rate<float, float>("tf32", CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F_FAST_TF32, n,
                            options, cases);
  tensor_rate<float, float>("f32", CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F, n, options, cases);
  tensor_rate<__nv_fp8_e4m3, __nv_bfloat16>("fp8", CUDA_R_8F_E4M3, CUDA_R_16BF, CUBLAS_COMPUTE_32F,
                                            n, options, cases);
  return 0;
}

}  // namespace tilewright::bench
