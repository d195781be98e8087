// Misused barriers and warp operations, and kernels that cannot go on.
//
// expect: part_of_a_warp: error barrier-divergence @part
// expect: part_of_a_warp: error barrier-divergence @after_part
// expect: part_of_a_warp: error barrier-divergence @part @after_part
// expect: part_of_a_warp: warning barrier-divergence @after_part
// expect: early_return: error barrier-divergence @returned
// expect: two_barriers: error barrier-divergence @left @right
// expect: whole_warps: warning barrier-divergence @whole_warps
// expect: odd_count: error invalid-sync @odd
// expect: counts_differ: error invalid-sync @few @many
// expect: without_self: error invalid-sync @self
// expect: exited_source: warning invalid-sync @gone
// expect: missing_voters: warning invalid-sync @vote
// expect: other_half: warning invalid-sync @other_half
// expect: outside_tile: warning invalid-sync @outside_tile
// expect: too_few: error deadlock @wait
// expect: crossed: error deadlock @first_wait @second_wait
// expect: no_producer: error deadlock @no_producer
// expect: uneven_steps: error deadlock @uneven_steps
// expect: branch_mask: error invalid-sync @in_branch @ballot
// expect: branch_mask: error deadlock @in_branch @ballot
#include "planted.h"

namespace PLANTED {

__global__ void part_of_a_warp(int* out) {
  const int t = threadIdx.x;
  if (BUG(t < 16, true)) {
    out[t] = t;
    __syncthreads();  // @part
  }
  out[64 + t] = t;
  __syncthreads();  // @after_part
}
void part_of_a_warp_case() { part_of_a_warp<<<1, 64>>>(device_array<int>(128)); }

__global__ void early_return(const int* in, int* out, int n) {
  const int t = threadIdx.x;
  if (BUG(t >= n, false)) return;
  out[t] = in[t];
  __syncthreads();  // @returned
  out[64 + t] = in[t];
}
void early_return_case() {
  early_return<<<1, 64>>>(device_array<int>(64), device_array<int>(128), 40);
}

__global__ void two_barriers(int* out) {
  const int t = threadIdx.x;
  if (t < 32) {
    out[t] = 1;
    BUG(__syncthreads(), );  // @left
  } else {
    out[t] = 2;
    BUG(__syncthreads(), );  // @right
  }
  BUG(, __syncthreads());
  out[64 + t] = t;
}
void two_barriers_case() { two_barriers<<<1, 64>>>(device_array<int>(128)); }

// Whole warps have no work and leave.
__global__ void whole_warps(const int* in, int* out, int n) {
  const int t = threadIdx.x;
  if (BUG(t >= n, false)) return;
  out[t] = in[t];
  __syncthreads();  // @whole_warps
  out[128 + t] = out[n - 1 - t < 0 ? 0 : n - 1 - t];
}
void whole_warps_case() {
  whole_warps<<<1, 128>>>(device_array<int>(128), device_array<int>(256), 96);
}

__global__ void odd_count(int* out) {
  asm volatile("bar.sync 1, %0;" ::"r"(BUG(48, 64)) : "memory");  // @odd
  out[threadIdx.x] = 1;
}
void odd_count_case() { odd_count<<<1, 64>>>(device_array<int>(64)); }

__global__ void counts_differ(int* out) {
  const int t = threadIdx.x;
  if (t < 32)
    asm volatile("bar.arrive 1, %0;" ::"r"(BUG(96, 64)) : "memory");  // @few
  else if (t < 64)
    asm volatile("bar.sync 1, 64;" ::: "memory");  // @many
  out[t] = t;
}
void counts_differ_case() { counts_differ<<<1, 96>>>(device_array<int>(96)); }

__global__ void without_self(int* out) {
  if (threadIdx.x < 16) __syncwarp(BUG(0x00ff, 0xffff));  // @self
  out[threadIdx.x] = 1;
}
void without_self_case() { without_self<<<1, 32>>>(device_array<int>(32)); }

__global__ void exited_source(int* out) {
  if (BUG(threadIdx.x >= 24, false)) return;
  out[threadIdx.x] = __shfl_sync(0xffffffff, threadIdx.x, 31);  // @gone
}
void exited_source_case() { exited_source<<<1, 32>>>(device_array<int>(32)); }

__global__ void missing_voters(int* out) {
  const int t = threadIdx.x;
  unsigned mask = 0;
  if (t < BUG(20, 32))
    mask = __ballot_sync(0xffffffff, t & 1);  // @vote
  else
    return;
  out[t] = mask;
}
void missing_voters_case() { missing_voters<<<1, 32>>>(device_array<int>(32)); }

// A broadcast from a lane that takes the other branch.
__global__ void other_half(const int* in, int* out) {
  const int t = threadIdx.x;
  int v = in[t];
  if (t < 16) v = __shfl_sync(0x0000ffff, v, BUG(20, 4));  // @other_half
  out[t] = v;
}
void other_half_case() { other_half<<<1, 32>>>(device_array<int>(32), device_array<int>(32)); }

// A reduction over tiles of eight lanes that forgets the width.
__global__ void outside_tile(const int* in, int* out) {
  const int t = threadIdx.x;
  int v = in[t];
  if (t < 8)
    for (int d = 4; d > 0; d /= 2) v += __shfl_down_sync(0xff, v, d, BUG(32, 8));  // @outside_tile
  out[t] = v;
}
void outside_tile_case() { outside_tile<<<1, 32>>>(device_array<int>(32), device_array<int>(32)); }

__global__ void too_few(int* out) {
  if (threadIdx.x < BUG(32, 64)) asm volatile("bar.sync 1, 64;" ::: "memory");  // @wait
  out[threadIdx.x] = 1;
}
void too_few_case() { too_few<<<1, 64>>>(device_array<int>(64)); }

// Two warps wait at two barriers in opposite order.
__global__ void crossed(int* out) {
  const int t = threadIdx.x;
  if (t < 32) {
    asm volatile("bar.sync 1, 64;" ::: "memory");  // @first_wait
    asm volatile("bar.sync 2, 64;" ::: "memory");
  } else {
    // clang-format off
    BUG(asm volatile("bar.sync 2, 64;" ::: "memory"), asm volatile("bar.sync 1, 64;" ::: "memory"));  // @second_wait
    // clang-format on
    BUG(asm volatile("bar.sync 1, 64;" :: : "memory"),
        asm volatile("bar.sync 2, 64;" :: : "memory"));
  }
  out[t] = t;
}
void crossed_case() { crossed<<<1, 64>>>(device_array<int>(64)); }

// A pipeline of warps in which nobody produces the last stage.
__global__ void no_producer(const float* in, float* out, int stages) {
  __shared__ float stage[32];
  const int t = threadIdx.x;
  for (int i = 0; i < stages; ++i) {
    if (t < 32) {
      if (BUG(i + 1 < stages, true)) {
        stage[t] = in[i * 32 + t];
        asm volatile("bar.arrive 1, 64;" ::: "memory");
        asm volatile("bar.sync 2, 64;" ::: "memory");
      }
    } else {
      asm volatile("bar.sync 1, 64;" ::: "memory");  // @no_producer
      out[i * 32 + t - 32] = stage[t - 32];
      asm volatile("bar.arrive 2, 64;" ::: "memory");
    }
  }
}
void no_producer_case() {
  no_producer<<<1, 64>>>(device_array<float>(128), device_array<float>(128), 4);
}

// A loop with a named barrier that one warp runs once more than the other.
__global__ void uneven_steps(int* out, int steps) {
  const int t = threadIdx.x;
  const int mine = steps + BUG(t / 32, 0);
  for (int i = 0; i < mine; ++i) {
    out[i * 64 + t] = i;
    asm volatile("barrier.sync 3, 64;" ::: "memory");  // @uneven_steps
  }
}
void uneven_steps_case() { uneven_steps<<<1, 64>>>(device_array<int>(512), 3); }

// A mask of all lanes where only some are.
__global__ void branch_mask(int* out) {
  int v = threadIdx.x;
  const unsigned some = __ballot_sync(~0u, v % 3 == 0);
  if (v % 3 == 0) v += __shfl_sync(BUG(~0u, some), v, 0);  // @in_branch
  out[threadIdx.x] = __ballot_sync(~0u, v & 1);            // @ballot
}
void branch_mask_case() { branch_mask<<<1, 32>>>(device_array<int>(32)); }

int program(const char* only) {
  return run_cases({{"part_of_a_warp", part_of_a_warp_case},
                    {"early_return", early_return_case},
                    {"two_barriers", two_barriers_case},
                    {"whole_warps", whole_warps_case},
                    {"odd_count", odd_count_case},
                    {"counts_differ", counts_differ_case},
                    {"without_self", without_self_case},
                    {"exited_source", exited_source_case},
                    {"missing_voters", missing_voters_case},
                    {"other_half", other_half_case},
                    {"outside_tile", outside_tile_case},
                    {"too_few", too_few_case},
                    {"crossed", crossed_case},
                    {"no_producer", no_producer_case},
                    {"uneven_steps", uneven_steps_case},
                    {"branch_mask", branch_mask_case}},
                   only);
}

}  // namespace PLANTED
