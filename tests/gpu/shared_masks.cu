// One warp, one shared-memory instruction, part of its lanes active: the launches behind
// tests/data/lane-masks-h200.tsv, which say whether the wavefront rule of src/shadow/banks.h holds
// for partial masks (what a group without an active lane costs, when neighbouring groups merge).
//
// The program prints one line per launch, in launch order; shared_masks.py runs it under Nsight
// Compute and joins the two. Shared accesses are inline PTX, so that the compiler neither merges
// nor drops them; the guard becomes a predicate on the one instruction.
//
// Build and run:  nvcc -arch=sm_90 -O3 -o shared_masks shared_masks.cu && python3 shared_masks.py
// ./shared_masks
#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CHECK(call)                                                                         \
  do {                                                                                      \
    const cudaError_t status_ = (call);                                                     \
    if (status_ != cudaSuccess) {                                                           \
      std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(status_)); \
      std::exit(1);                                                                         \
    }                                                                                       \
  } while (0)

template <int Width> __global__ void shared_load(const int* index, unsigned mask, int* out) {
  extern __shared__ __align__(16) char buffer[];
  const unsigned lane = threadIdx.x;
  const auto at = static_cast<unsigned>(__cvta_generic_to_shared(buffer)) + index[lane] * Width;
  int a = 0, b = 0, c = 0, d = 0;
  if (mask >> lane & 1) {
    if constexpr (Width == 1) asm volatile("ld.shared.u8 %0, [%1];" : "=r"(a) : "r"(at));
    if constexpr (Width == 4) asm volatile("ld.shared.b32 %0, [%1];" : "=r"(a) : "r"(at));
    if constexpr (Width == 8)
      asm volatile("ld.shared.v2.b32 {%0,%1}, [%2];" : "=r"(a), "=r"(b) : "r"(at));
    if constexpr (Width == 16)
      asm volatile("ld.shared.v4.b32 {%0,%1,%2,%3}, [%4];"
                   : "=r"(a), "=r"(b), "=r"(c), "=r"(d)
                   : "r"(at));
  }
  out[lane] = a + b + c + d;
}

template <int Width> __global__ void shared_store(const int* index, unsigned mask, int*) {
  extern __shared__ __align__(16) char buffer[];
  const unsigned lane = threadIdx.x;
  const auto at = static_cast<unsigned>(__cvta_generic_to_shared(buffer)) + index[lane] * Width;
  const int a = index[lane];
  if (mask >> lane & 1) {
    if constexpr (Width == 1) asm volatile("st.shared.u8 [%1], %0;" ::"r"(a), "r"(at));
    if constexpr (Width == 4) asm volatile("st.shared.b32 [%1], %0;" ::"r"(a), "r"(at));
    if constexpr (Width == 8) asm volatile("st.shared.v2.b32 [%1], {%0,%0};" ::"r"(a), "r"(at));
    if constexpr (Width == 16)
      asm volatile("st.shared.v4.b32 [%1], {%0,%0,%0,%0};" ::"r"(a), "r"(at));
  }
}

struct Pattern {
  const char* name;
  int (*index)(int lane);
};

const Pattern kPatterns[] = {
    {"s1", [](int l) { return l; }},
    {"s2", [](int l) { return 2 * l; }},
    {"s3", [](int l) { return 3 * l; }},
    {"s8", [](int l) { return 8 * l; }},
    {"s32", [](int l) { return 32 * l; }},
    {"s33", [](int l) { return 33 * l; }},
    {"same", [](int) { return 5; }},
    {"pairs", [](int l) { return 32 * (l >> 1); }},                  // lane == lane^1
    {"quads", [](int l) { return 32 * ((l >> 2) * 2 + (l & 1)); }},  // lane == lane^2
    {"pairs_s1", [](int l) { return l >> 1; }},
    {"pairs_but_last",
     [](int l) { return l == 31 ? 7 : 32 * (l >> 1); }},  // one lane breaks the pairing
    {"hash", [](int l) { return (l * 37 + l * l * 11) % 128; }},
};
const unsigned kMasks[] = {0xffffffffu, 0x00000001u, 0x80000000u, 0x0000ffffu,
                           0xffff0000u, 0x000000ffu, 0x00ff0000u, 0x55555555u,
                           0xaaaaaaaau, 0x33333333u, 0x01010101u, 0x00ff00ffu,
                           0x7fffffffu, 0x0f0f0f0fu, 0x80000001u, 0x00010100u};

template <int Width> void launch_all(int* index, int* out) {
  for (const Pattern& pattern : kPatterns) {
    int host[32];
    for (int lane = 0; lane < 32; ++lane) host[lane] = pattern.index(lane);
    CHECK(cudaMemcpy(index, host, sizeof host, cudaMemcpyHostToDevice));
    for (unsigned mask : kMasks)
      for (int store = 0; store < 2; ++store) {
        std::printf("%s\t%d\t%08x\t%s\t", pattern.name, Width, mask, store ? "st" : "ld");
        for (int lane = 0; lane < 32; ++lane)
          std::printf("%d%c", host[lane], lane == 31 ? '\n' : ' ');
        if (store)
          shared_store<Width><<<1, 32, 32768>>>(index, mask, out);
        else
          shared_load<Width><<<1, 32, 32768>>>(index, mask, out);
        CHECK(cudaDeviceSynchronize());
      }
  }
}

int main() {
  int *index = nullptr, *out = nullptr;
  CHECK(cudaMalloc(&index, 128));
  CHECK(cudaMalloc(&out, 128));
  launch_all<1>(index, out);
  launch_all<4>(index, out);
  launch_all<8>(index, out);
  launch_all<16>(index, out);
  return 0;
}
