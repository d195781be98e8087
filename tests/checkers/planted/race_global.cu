// Races on global memory.
//
// expect: last_block: error race-global @partial @total
// expect: reset: error race-global @draw @reset
// expect: reset_block: error race-global @draw_block @reset_block
// expect: tickets: error race-global @ticket @ticket
// expect: in_place: error race-global @in_place @in_place
// expect: shrink: error race-global @half @half
// expect: flag: error race-global @produce @consume
// expect: variables: error race-global @write_variable @read_variable
// expect: heap: error race-global @write_node @read_node
// expect: look_back: error race-global @aggregate @sum_up
// expect: block_fence: error race-global @block_data @block_take
// expect: split_k: error race-global @split_k @split_k
// expect: bins: error race-global @plain_bin @atomic_bin
// expect: done: note race-global @done @done
#include "planted.h"

namespace PLANTED {

// The block that comes last adds up what the others have left.
__global__ void last_block(const float* in, float* partial, unsigned* ticket, float* out) {
  __shared__ bool last;
  if (threadIdx.x == 0) {
    float sum = 0;
    for (int i = 0; i < 32; ++i) sum += in[blockIdx.x * 32 + i];
    partial[blockIdx.x] = sum;  // @partial
    BUG(, __threadfence());
    last = atomicInc(ticket, gridDim.x - 1) == gridDim.x - 1;
    BUG(, __threadfence());
  }
  __syncthreads();
  if (last && threadIdx.x < gridDim.x) atomicAdd(out, partial[threadIdx.x]);  // @total
}
void last_block_case() {
  unsigned* ticket = device_array<unsigned>(1);
  last_block<<<8, 32>>>(device_array<float>(256), device_array<float>(8), ticket,
                        device_array<float>(1));
}

// The block that comes last sets the counter back for the next launch: its own atomic has observed all
// others. That of the block before it has not.
__global__ void reset(int* partial, unsigned* ticket, int* out) {
  __shared__ bool last;
  if (threadIdx.x == 0) {
    partial[blockIdx.x] = blockIdx.x;
    __threadfence();
    last = atomicAdd(ticket, 1) == BUG(6, gridDim.x - 1);  // @draw
  }
  __syncthreads();
  if (!last) return;
  if (threadIdx.x == 0) {
    __threadfence();
    *out = partial[blockIdx.x];
  }
  if (threadIdx.x == 5) *ticket = 0;  // @reset
}
void reset_case() {
  unsigned* ticket = device_array<unsigned>(1);
  cudaMemset(ticket, 0, 4);
  reset<<<8, 64>>>(device_array<int>(8), ticket, device_array<int>(1));
}

// Another thread of the block needs a barrier after the atomic.
__global__ void reset_block(unsigned* ticket, int* out) {
  const bool last = threadIdx.x == 0 && atomicAdd(ticket, 1) == gridDim.x - 1;  // @draw_block
  BUG(__syncwarp(), __syncthreads());
  if (threadIdx.x == 40 && blockIdx.x == gridDim.x - 1) *ticket = 0;  // @reset_block
  if (last) *out = 1;
}
void reset_block_case() {
  unsigned* ticket = device_array<unsigned>(1);
  cudaMemset(ticket, 0, 4);
  reset_block<<<4, 64>>>(ticket, device_array<int>(1));
}

__global__ void tickets(int* counter, int* out) {
  if (threadIdx.x == 0) out[blockIdx.x] = BUG(atomicAdd_block, atomicAdd)(counter, 1);  // @ticket
}
void tickets_case() { tickets<<<4, 32>>>(device_array<int>(1), device_array<int>(4)); }

__global__ void stencil(float* a, float* b, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i > 0 && i < n - 1) BUG(a, b)[i] = a[i - 1] + a[i + 1];  // @in_place
}
void in_place_case() {
  stencil<<<4, 256>>>(device_array<float>(1024), device_array<float>(1024), 1024);
}

__global__ void shrink(const float* in, float* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (BUG(true, i < 256)) out[i % 256] = in[i] + i;  // @half
}
void shrink_case() { shrink<<<4, 128>>>(device_array<float>(512), device_array<float>(256)); }

__global__ void flag(int* data, int* ready, int* out) {
  if (threadIdx.x != 0) return;
  if (blockIdx.x == 0) {
    *data = 42;  // @produce
    BUG(, __threadfence());
    atomicExch(ready, 1);
  } else {
    while (atomicAdd(ready, 0) != 1) {
    }
    BUG(, __threadfence());
    *out = *data;  // @consume
  }
}
void flag_case() {
  flag<<<2, 32>>>(device_array<int>(1), device_array<int>(1), device_array<int>(1));
}

// The same with variables of the module.
__device__ int message, sent;
__global__ void variables(int* out) {
  if (threadIdx.x != 0) return;
  if (blockIdx.x == 0) {
    message = 42;  // @write_variable
    BUG(, __threadfence());
    atomicExch(&sent, 1);
  } else {
    while (atomicAdd(&sent, 0) != 1) {
    }
    BUG(, __threadfence());
    *out = message;  // @read_variable
  }
}
void variables_case() { variables<<<2, 32>>>(device_array<int>(1)); }

// The same with memory of the device's heap.
__global__ void heap(unsigned long long* list, int* out) {
  if (threadIdx.x != 0) return;
  if (blockIdx.x == 0) {
    int* node = static_cast<int*>(malloc(sizeof(int)));
    *node = 42;  // @write_node
    BUG(, __threadfence());
    atomicExch(list, reinterpret_cast<unsigned long long>(node));
  } else {
    unsigned long long node;
    while ((node = atomicAdd(list, 0ull)) == 0) {
    }
    BUG(, __threadfence());
    *out = *reinterpret_cast<int*>(node);  // @read_node
  }
}
void heap_case() {
  auto* list = device_array<unsigned long long>(1);
  cudaMemset(list, 0, sizeof *list);
  heap<<<2, 32>>>(list, device_array<int>(1));
}

// A decoupled look-back: each block publishes its sum, later ones add up those before them.
__global__ void look_back(const int* in, int* sums, int* state, int* out) {
  __shared__ int s[64];
  const int t = threadIdx.x, b = blockIdx.x;
  s[t] = in[b * 64 + t];
  __syncthreads();
  if (t != 0) return;
  int sum = 0;
  for (int i = 0; i < 64; ++i) sum += s[i];
  sums[b] = sum;  // @aggregate
  BUG(__threadfence_block(), __threadfence());
  atomicExch(&state[b], 1);
  int before = 0;
  for (int i = b - 1; i >= 0; --i) {
    while (atomicAdd(&state[i], 0) == 0) {
    }
    __threadfence();
    before += sums[i];  // @sum_up
  }
  out[b] = before + sum;
}
void look_back_case() {
  int* state = device_array<int>(8);
  cudaMemset(state, 0, 8 * sizeof(int));
  look_back<<<8, 64>>>(device_array<int>(512), device_array<int>(8), state, device_array<int>(8));
}

// A fence of the block for data that goes to another one.
__global__ void block_fence(float* tile, int* ready, float* out) {
  const int t = threadIdx.x;
  if (blockIdx.x == 0) {
    tile[t] = float(t);  // @block_data
    BUG(__threadfence_block(), __threadfence());
    __syncthreads();
    if (t == 0) atomicExch(ready, 1);
  } else {
    if (t == 0) {
      while (atomicAdd(ready, 0) != 1) {
      }
      BUG(__threadfence_block(), __threadfence());
    }
    __syncthreads();
    out[t] = tile[63 - t];  // @block_take
  }
}
void block_fence_case() {
  int* ready = device_array<int>(1);
  block_fence<<<2, 64>>>(device_array<float>(64), ready, device_array<float>(64));
}

// A GEMM whose blocks share one tile of C along K.
__global__ void split_k(const float* a, const float* b, float* c, int k) {
  __shared__ float a_tile[8][8], b_tile[8][8];
  const int x = threadIdx.x, y = threadIdx.y, k0 = blockIdx.z * 8;
  a_tile[y][x] = a[y * k + k0 + x];
  b_tile[y][x] = b[(k0 + y) * 8 + x];
  __syncthreads();
  float sum = 0;
  for (int i = 0; i < 8; ++i) sum += a_tile[y][i] * b_tile[i][x];
  BUG(c[y * 8 + x] += sum, atomicAdd(&c[y * 8 + x], sum));  // @split_k
}
void split_k_case() {
  split_k<<<dim3(1, 1, 4), dim3(8, 8)>>>(device_array<float>(256), device_array<float>(256),
                                         device_array<float>(64), 32);
}

// A histogram: one block counts without an atomic.
__global__ void bins(const int* in, int* out) {
  const int bin = in[blockIdx.x * 32 + threadIdx.x] & 15;
  if (BUG(blockIdx.x == 0 && threadIdx.x == 3, false))
    out[bin] = out[bin] + 1;  // @plain_bin
  else
    atomicAdd(&out[bin], 1);  // @atomic_bin
}
void bins_case() { bins<<<4, 32>>>(device_array<int>(128), device_array<int>(16)); }

// Every block says the same.
__global__ void done(const int* in, int* out) {
  if (in[blockIdx.x * 32 + threadIdx.x] == 5) BUG(*out = 1, atomicExch(out, 1));  // @done
}
void done_case() { done<<<4, 32>>>(device_array<int>(128), device_array<int>(1)); }

int program(const char* only) {
  return run_cases({{"last_block", last_block_case},
                    {"reset", reset_case},
                    {"reset_block", reset_block_case},
                    {"tickets", tickets_case},
                    {"in_place", in_place_case},
                    {"shrink", shrink_case},
                    {"flag", flag_case},
                    {"variables", variables_case},
                    {"heap", heap_case},
                    {"look_back", look_back_case},
                    {"block_fence", block_fence_case},
                    {"split_k", split_k_case},
                    {"bins", bins_case},
                    {"done", done_case}},
                   only);
}

}  // namespace PLANTED
