// Bulk copies: runs of bytes both ways, boxes of tensors of every rank with every swizzle over all edges, both ways,
// what cuTensorMapEncodeTiled refuses, and cuda::memcpy_async with a cuda::barrier, which is made of them. Also run
// on an H200.
#include <cuda.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>
#include <cuda/barrier>
#include <vector>

__device__ uint32_t shared_address(const void* p) { return uint32_t(__cvta_generic_to_shared(p)); }

__device__ void expect(uint32_t barrier, uint32_t bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes)
               : "memory");
}
__device__ void wait(uint32_t barrier, uint32_t parity) {
  asm volatile(
      "{ .reg .pred done;\nagain: mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n@!done "
      "bra again; }" ::"r"(barrier),
      "r"(parity)
      : "memory");
}
__device__ void init(uint64_t* barrier) {
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shared_address(barrier))
                 : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  __syncthreads();
}

// In, every byte plus one, out.
__global__ void run_of_bytes(const unsigned char* in, unsigned char* out, int bytes) {
  __shared__ __align__(128) unsigned char tile[1024];
  __shared__ uint64_t barrier;
  init(&barrier);
  const uint32_t to = shared_address(tile), b = shared_address(&barrier);
  for (int at = 0, phase = 0; at < bytes; at += 1024, ++phase) {
    const int part = min(1024, bytes - at);
    if (threadIdx.x == 0) {
      expect(b, part);
      asm volatile(
          "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, "
          "[%3];" ::"r"(to),
          "l"(in + at), "r"(part), "r"(b)
          : "memory");
    }
    wait(b, phase & 1);
    for (int i = threadIdx.x; i < part; i += blockDim.x) tile[i] += 1;
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    if (threadIdx.x == 0) {
      asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(out + at),
                   "r"(to), "r"(part)
                   : "memory");
      asm volatile("cp.async.bulk.commit_group;\ncp.async.bulk.wait_group.read 0;" ::: "memory");
    }
    __syncthreads();
  }
  if (threadIdx.x == 0) asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}

struct Corner {
  int c[5];
};
constexpr int kRoom = 8192;

template <int kRank>
__device__ void load_box(uint32_t to, const CUtensorMap* map, Corner at, uint32_t barrier) {
#define TW_LOAD(rank, list, ...)                                                  \
  asm volatile("cp.async.bulk.tensor." rank                                       \
               ".shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], " \
               "[%1, " list "], [%2];" ::"r"(to),                                 \
               "l"(map), "r"(barrier), __VA_ARGS__                                \
               : "memory")
  if constexpr (kRank == 1) TW_LOAD("1d", "{%3}", "r"(at.c[0]));
  if constexpr (kRank == 2) TW_LOAD("2d", "{%3, %4}", "r"(at.c[0]), "r"(at.c[1]));
  if constexpr (kRank == 3) TW_LOAD("3d", "{%3, %4, %5}", "r"(at.c[0]), "r"(at.c[1]), "r"(at.c[2]));
  if constexpr (kRank == 4)
    TW_LOAD("4d", "{%3, %4, %5, %6}", "r"(at.c[0]), "r"(at.c[1]), "r"(at.c[2]), "r"(at.c[3]));
  if constexpr (kRank == 5)
    TW_LOAD("5d", "{%3, %4, %5, %6, %7}", "r"(at.c[0]), "r"(at.c[1]), "r"(at.c[2]), "r"(at.c[3]),
            "r"(at.c[4]));
}
template <int kRank> __device__ void store_box(const CUtensorMap* map, Corner at, uint32_t from) {
#define TW_STORE(rank, list, ...)                                                            \
  asm volatile("cp.async.bulk.tensor." rank ".global.shared::cta.tile.bulk_group [%0, " list \
               "], [%1];" ::"l"(map),                                                        \
               "r"(from), __VA_ARGS__                                                        \
               : "memory")
  if constexpr (kRank == 1) TW_STORE("1d", "{%2}", "r"(at.c[0]));
  if constexpr (kRank == 2) TW_STORE("2d", "{%2, %3}", "r"(at.c[0]), "r"(at.c[1]));
  if constexpr (kRank == 3)
    TW_STORE("3d", "{%2, %3, %4}", "r"(at.c[0]), "r"(at.c[1]), "r"(at.c[2]));
  if constexpr (kRank == 4)
    TW_STORE("4d", "{%2, %3, %4, %5}", "r"(at.c[0]), "r"(at.c[1]), "r"(at.c[2]), "r"(at.c[3]));
  if constexpr (kRank == 5)
    TW_STORE("5d", "{%2, %3, %4, %5, %6}", "r"(at.c[0]), "r"(at.c[1]), "r"(at.c[2]), "r"(at.c[3]),
             "r"(at.c[4]));
}

// The box as it lies in shared memory, to `seen`; then from there into another tensor, but where a coordinate is
// negative: hardware stores no such box.
template <int kRank>
__global__ void box(const __grid_constant__ CUtensorMap from,
                    const __grid_constant__ CUtensorMap to, Corner at, int bytes,
                    unsigned char* seen) {
  __shared__ __align__(1024) unsigned char tile[kRoom];
  __shared__ uint64_t barrier;
  init(&barrier);
  if (threadIdx.x == 0) {
    expect(shared_address(&barrier), bytes);
    load_box<kRank>(shared_address(tile), &from, at, shared_address(&barrier));
  }
  wait(shared_address(&barrier), 0);
  for (int i = threadIdx.x; i < bytes; i += blockDim.x) seen[i] = tile[i];
  __syncthreads();
  bool negative = false;
  for (int d = 0; d < kRank; ++d) negative = negative || at.c[d] < 0;
  if (threadIdx.x == 0 && !negative) {
    store_box<kRank>(&to, at, shared_address(tile));
    asm volatile("cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;" ::: "memory");
  }
}

using Encode = CUresult (*)(CUtensorMap*, CUtensorMapDataType, cuuint32_t, void*, const cuuint64_t*,
                            const cuuint64_t*, const cuuint32_t*, const cuuint32_t*,
                            CUtensorMapInterleave, CUtensorMapSwizzle, CUtensorMapL2promotion,
                            CUtensorMapFloatOOBfill);
Encode encode = nullptr;

struct Tensor {
  CUtensorMapDataType type;
  int element;  // bytes
  int rank;
  cuuint64_t size[5], stride[4];
  cuuint32_t box[5];
  CUtensorMapSwizzle swizzle;

  CUresult map(CUtensorMap* out, void* data) const {
    const cuuint32_t steps[5] = {1, 1, 1, 1, 1};
    return encode(out, type, rank, data, size, stride, box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE,
                  swizzle, CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  }
};

template <int kRank>
void boxes(const char* name, const Tensor& t, const std::vector<Corner>& corners) {
  size_t bytes = t.size[0] * t.element, box_bytes = t.element;
  for (int d = 1; d < kRank; ++d) bytes = t.stride[d - 1] * t.size[d];
  for (int d = 0; d < kRank; ++d) box_bytes *= t.box[d];
  std::vector<unsigned char> in(bytes);
  for (size_t i = 0; i < bytes; ++i) in[i] = (unsigned char)(i * 7 + i / 251 + 1);
  unsigned char *from, *to, *seen;
  cudaMalloc(&from, bytes), cudaMalloc(&to, bytes), cudaMalloc(&seen, kRoom);
  cudaMemcpy(from, in.data(), bytes, cudaMemcpyHostToDevice);
  CUtensorMap map_from, map_to;
  if (t.map(&map_from, from) != CUDA_SUCCESS || t.map(&map_to, to) != CUDA_SUCCESS ||
      box_bytes > kRoom) {
    printf("%s: no map\n", name);
    return;
  }
  const int span = t.swizzle == CU_TENSOR_MAP_SWIZZLE_NONE ? 1 : 1 << int(t.swizzle);
  int wrong_seen = 0, wrong_stored = 0;
  for (const Corner& at : corners) {
    cudaMemset(to, 0, bytes);
    box<kRank><<<1, 64>>>(map_from, map_to, at, int(box_bytes), seen);
    std::vector<unsigned char> got(box_bytes), stored(bytes), want(box_bytes), want_stored(bytes);
    cudaMemcpy(got.data(), seen, box_bytes, cudaMemcpyDeviceToHost);
    cudaMemcpy(stored.data(), to, bytes, cudaMemcpyDeviceToHost);
    bool negative = false;
    for (int d = 0; d < kRank; ++d) negative = negative || at.c[d] < 0;
    for (size_t e = 0; e < box_bytes / t.element; ++e) {
      size_t rest = e, offset = 0;
      bool inside = true;
      for (int d = 0; d < kRank; ++d) {
        const int64_t c = at.c[d] + int64_t(rest % t.box[d]);
        rest /= t.box[d];
        inside = inside && c >= 0 && c < int64_t(t.size[d]);
        offset += size_t(c) * (d == 0 ? t.element : t.stride[d - 1]);
      }
      for (int b = 0; b < t.element; ++b) {
        const size_t linear = e * t.element + b, place = linear ^ ((linear >> 7 & (span - 1)) << 4);
        want[place] = inside ? in[offset + b] : 0;
        if (inside && !negative) want_stored[offset + b] = in[offset + b];
      }
    }
    wrong_seen += got != want;
    wrong_stored += stored != want_stored;
  }
  printf("%-34s %zu boxes: %d loaded wrong, %d stored wrong (%s)\n", name, corners.size(),
         wrong_seen, wrong_stored, cudaGetErrorString(cudaDeviceSynchronize()));
  cudaFree(from), cudaFree(to), cudaFree(seen);
}

void refusals() {
  alignas(64) CUtensorMap map;
  void* data = nullptr;
  cudaMalloc(&data, 1 << 20);
  const Tensor good{CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, 2, {64, 64}, {128}, {64, 8},
                    CU_TENSOR_MAP_SWIZZLE_128B};
  auto say = [&](const char* what, auto change, int shift = 0) {
    Tensor t = good;
    change(t);
    printf("%s: %d\n", what, int(t.map(&map, static_cast<char*>(data) + shift)));
  };
  say("as it should be", [](Tensor&) {});
  say("rank 0", [](Tensor& t) { t.rank = 0; });
  say("rank 6", [](Tensor& t) { t.rank = 6; });
  say("an address off 16 bytes", [](Tensor&) {}, 8);
  say("a stride off 16 bytes", [](Tensor& t) { t.stride[0] = 136; });
  say("a size of 0", [](Tensor& t) { t.size[1] = 0; });
  say("a box of 0", [](Tensor& t) { t.box[1] = 0; });
  say("a box of 257", [](Tensor& t) { t.box[1] = 257; });
  say("a box's line off 16 bytes", [](Tensor& t) { t.box[0] = 63; });
  say("a line longer than the swizzle", [](Tensor& t) { t.swizzle = CU_TENSOR_MAP_SWIZZLE_64B; });
  cudaFree(data);
}

// What CUDA C++ makes of it.
__global__ void with_barrier(const int* in, int* out) {
  using Barrier = cuda::barrier<cuda::thread_scope_block>;
  __shared__ alignas(16) int tile[256];
#pragma nv_diag_suppress static_var_with_dynamic_init
  __shared__ Barrier barrier;
  if (threadIdx.x == 0) init(&barrier, blockDim.x);
  __syncthreads();
  Barrier::arrival_token token;
  if (threadIdx.x == 0) {
    cuda::memcpy_async(tile, in, cuda::aligned_size_t<16>(sizeof tile), barrier);
    token = barrier.arrive();
  } else {
    token = barrier.arrive();
  }
  barrier.wait(std::move(token));
  out[threadIdx.x] = tile[255 - threadIdx.x];
}

int main() {
  {
    std::vector<unsigned char> in(5024), out(5024);
    for (size_t i = 0; i < in.size(); ++i) in[i] = (unsigned char)(i * 3 + 1);
    unsigned char *from, *to;
    cudaMalloc(&from, in.size()), cudaMalloc(&to, in.size());
    cudaMemcpy(from, in.data(), in.size(), cudaMemcpyHostToDevice);
    run_of_bytes<<<1, 96>>>(from, to, int(in.size()));
    cudaMemcpy(out.data(), to, out.size(), cudaMemcpyDeviceToHost);
    size_t wrong = 0;
    for (size_t i = 0; i < in.size(); ++i) wrong += out[i] != (unsigned char)(in[i] + 1);
    printf("runs of bytes: %zu wrong (%s)\n", wrong, cudaGetErrorString(cudaDeviceSynchronize()));
    cudaFree(from), cudaFree(to);
  }
  cudaDriverEntryPointQueryResult found{};
  void* entry = nullptr;
  cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &entry, 12000, cudaEnableDefault,
                                   &found);
  if (entry == nullptr || found != cudaDriverEntryPointSuccess) return 1;
  encode = reinterpret_cast<Encode>(entry);
  boxes<1>("1d, floats",
           {CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 4, 1, {1001}, {}, {64}, CU_TENSOR_MAP_SWIZZLE_NONE},
           {{{0}}, {{960}}, {{-4}}, {{1000}}, {{2000}}});
  const std::vector<Corner> corners = {{{0, 0}},   {{8, 4}},     {{-8, -3}}, {{72, 60}},
                                       {{-64, 0}}, {{104, 100}}, {{32, -7}}};
  boxes<2>("2d, halves",
           {CU_TENSOR_MAP_DATA_TYPE_FLOAT16,
            2,
            2,
            {77, 65},
            {160},
            {64, 16},
            CU_TENSOR_MAP_SWIZZLE_NONE},
           corners);
  boxes<2>("2d, halves, swizzle of 128 bytes",
           {CU_TENSOR_MAP_DATA_TYPE_FLOAT16,
            2,
            2,
            {77, 65},
            {160},
            {64, 16},
            CU_TENSOR_MAP_SWIZZLE_128B},
           corners);
  boxes<2>(
      "2d, halves, swizzle of 64 bytes",
      {CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 2, 2, {77, 65}, {160}, {32, 16}, CU_TENSOR_MAP_SWIZZLE_64B},
      corners);
  boxes<2>(
      "2d, halves, swizzle of 32 bytes",
      {CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 2, 2, {77, 65}, {160}, {16, 16}, CU_TENSOR_MAP_SWIZZLE_32B},
      corners);
  boxes<2>("2d, bytes, swizzle of 128 bytes",
           {CU_TENSOR_MAP_DATA_TYPE_UINT8,
            1,
            2,
            {200, 40},
            {208},
            {128, 24},
            CU_TENSOR_MAP_SWIZZLE_128B},
           {{{0, 0}}, {{96, 30}}, {{-16, -1}}, {{16, 7}}});
  boxes<3>("3d, bf16, swizzle of 128 bytes",
           {CU_TENSOR_MAP_DATA_TYPE_BFLOAT16,
            2,
            3,
            {77, 9, 5},
            {160, 1600},
            {64, 4, 3},
            CU_TENSOR_MAP_SWIZZLE_128B},
           {{{0, 0, 0}}, {{40, 7, 4}}, {{-8, -2, -2}}, {{0, 8, 1}}});
  boxes<4>("4d, doubles",
           {CU_TENSOR_MAP_DATA_TYPE_FLOAT64,
            8,
            4,
            {10, 4, 3, 3},
            {96, 384, 1152},
            {4, 2, 2, 2},
            CU_TENSOR_MAP_SWIZZLE_NONE},
           {{{0, 0, 0, 0}}, {{8, 3, 2, 2}}, {{-2, -1, -1, -1}}, {{6, 1, 1, 0}}});
  boxes<5>("5d, words",
           {CU_TENSOR_MAP_DATA_TYPE_UINT32,
            4,
            5,
            {9, 4, 3, 3, 2},
            {48, 192, 576, 1728},
            {8, 2, 2, 2, 2},
            CU_TENSOR_MAP_SWIZZLE_NONE},
           {{{0, 0, 0, 0, 0}}, {{4, 3, 2, 2, 1}}, {{-4, -1, -1, -1, -1}}, {{8, 1, 1, 0, 1}}});
  refusals();
  std::vector<int> in(256), out(256);
  for (int i = 0; i < 256; ++i) in[i] = i * i;
  int *from, *to;
  cudaMalloc(&from, 1024), cudaMalloc(&to, 1024);
  cudaMemcpy(from, in.data(), 1024, cudaMemcpyHostToDevice);
  with_barrier<<<1, 256>>>(from, to);
  cudaMemcpy(out.data(), to, 1024, cudaMemcpyDeviceToHost);
  int wrong = 0;
  for (int i = 0; i < 256; ++i) wrong += out[i] != in[255 - i];
  printf("cuda::memcpy_async: %d wrong (%s)\n", wrong, cudaGetErrorString(cudaDeviceSynchronize()));
  cudaFree(from), cudaFree(to);
}
