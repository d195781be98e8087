// See gemm_cases.h.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include <algorithm>
#include <cstring>

#include "gemm_cases.h"

namespace tilewright::bench {
namespace {

constexpr TypeInfo kTypes[] = {
    {"f32", Type::kF32, 4, CUDA_R_32F},       {"tf32", Type::kTf32, 4, CUDA_R_32F},
    {"bf16", Type::kBf16, 2, CUDA_R_16BF},    {"f16", Type::kF16, 2, CUDA_R_16F},
    {"e4m3", Type::kE4m3, 1, CUDA_R_8F_E4M3}, {"e5m2", Type::kE5m2, 1, CUDA_R_8F_E5M2}};

__host__ __device__ double value_of(const void* data, int64_t i, Type type) {
  switch (type) {
    case Type::kBf16:
      return static_cast<double>(static_cast<float>(static_cast<const __nv_bfloat16*>(data)[i]));
    case Type::kF16:
      return static_cast<double>(static_cast<float>(static_cast<const __half*>(data)[i]));
    case Type::kE4m3:
      return static_cast<double>(static_cast<float>(static_cast<const __nv_fp8_e4m3*>(data)[i]));
    case Type::kE5m2:
      return static_cast<double>(static_cast<float>(static_cast<const __nv_fp8_e5m2*>(data)[i]));
    default: return static_cast<double>(static_cast<const float*>(data)[i]);
  }
}

__global__ void fill_kernel(void* data, int64_t count, Type type, uint64_t seed) {
  for (int64_t i = blockIdx.x * int64_t(blockDim.x) + threadIdx.x; i < count;
       i += int64_t(gridDim.x) * blockDim.x) {
    uint64_t z =
        (uint64_t(i) + seed * 0x9e3779b97f4a7c15ull) + 0x9e3779b97f4a7c15ull;  // splitmix64
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    z ^= z >> 31;
    const float v = float(uint32_t(z) >> 8) / 8388608.0f - 1.0f;
    switch (type) {
      case Type::kBf16: static_cast<__nv_bfloat16*>(data)[i] = __nv_bfloat16(v); break;
      case Type::kF16: static_cast<__half*>(data)[i] = __half(v); break;
      case Type::kE4m3: static_cast<__nv_fp8_e4m3*>(data)[i] = __nv_fp8_e4m3(v); break;
      case Type::kE5m2: static_cast<__nv_fp8_e5m2*>(data)[i] = __nv_fp8_e5m2(v); break;
      default: static_cast<float*>(data)[i] = v;
    }
  }
}

__global__ void reference_kernel(GemmArguments g, const int64_t* rows, double* out) {
  const int64_t j = blockIdx.x * int64_t(blockDim.x) + threadIdx.x;
  if (j >= g.n) return;
  const int64_t i = rows[blockIdx.y];
  double sum = 0;
  for (int64_t k = 0; k < g.k; ++k) {
    const double a = value_of(g.a, g.transpose_a ? k * g.ld_a + i : i * g.ld_a + k, g.type_a);
    const double b = value_of(g.b, g.transpose_b ? j * g.ld_b + k : k * g.ld_b + j, g.type_b);
    sum += a * b;
  }
  out[blockIdx.y * g.n + j] = sum;
}

// What a user writes: one thread an element, zero outside.
template <class T>
__global__ void pad_kernel(const T* in, int64_t rows, int64_t columns, int64_t ld_in, T* out,
                           int64_t out_rows, int64_t ld_out) {
  const int64_t x = blockIdx.x * int64_t(blockDim.x) + threadIdx.x;
  if (x >= ld_out) return;
  for (int64_t y = blockIdx.y; y < out_rows; y += gridDim.y) {
    out[y * ld_out + x] = y < rows && x < columns ? in[y * ld_in + x] : T{};
  }
}

}  // namespace

void pad(const void* in, int64_t rows, int64_t columns, int64_t ld_in, void* out, int64_t out_rows,
         int64_t ld_out, int bytes, cudaStream_t stream) {
  const dim3 grid(unsigned((ld_out + 255) / 256), unsigned(std::min<int64_t>(out_rows, 65535)));
  if (bytes == 4) {
    pad_kernel<<<grid, 256, 0, stream>>>(static_cast<const uint32_t*>(in), rows, columns, ld_in,
                                         static_cast<uint32_t*>(out), out_rows, ld_out);
  } else if (bytes == 2) {
    pad_kernel<<<grid, 256, 0, stream>>>(static_cast<const uint16_t*>(in), rows, columns, ld_in,
                                         static_cast<uint16_t*>(out), out_rows, ld_out);
  } else {
    pad_kernel<<<grid, 256, 0, stream>>>(static_cast<const uint8_t*>(in), rows, columns, ld_in,
                                         static_cast<uint8_t*>(out), out_rows, ld_out);
  }
}

const TypeInfo* find_type(const std::string& name) {
  for (const TypeInfo& t : kTypes) {
    if (name == t.name) return &t;
  }
  return nullptr;
}

const TypeInfo& type_info(Type type) { return kTypes[static_cast<int>(type)]; }

void fill_uniform(void* data, int64_t count, Type type, uint64_t seed) {
  if (count == 0) return;
  fill_kernel<<<int(std::min<int64_t>((count + 255) / 256, 4096)), 256>>>(data, count, type, seed);
  TW_CUDA(cudaGetLastError());
}

void reference_rows(const GemmArguments& g, const std::vector<int64_t>& rows, double* out) {
  if (rows.empty() || g.n == 0) return;
  int64_t* device_rows = nullptr;
  TW_CUDA(cudaMalloc(&device_rows, rows.size() * sizeof(int64_t)));
  TW_CUDA(
      cudaMemcpy(device_rows, rows.data(), rows.size() * sizeof(int64_t), cudaMemcpyHostToDevice));
  const dim3 grid(unsigned((g.n + 127) / 128), unsigned(rows.size()));
  reference_kernel<<<grid, 128>>>(g, device_rows, out);
  TW_CUDA(cudaDeviceSynchronize());
  TW_CUDA(cudaFree(device_rows));
}

double host_value(const void* data, int64_t i, Type type) { return value_of(data, i, type); }

}  // namespace tilewright::bench
