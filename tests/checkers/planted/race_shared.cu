// Races on shared memory.
//
// expect: reduce: error race-shared @reduce_fill @reduce_add
// allow: reduce: error uninit-shared @reduce_add
// expect: scan: error race-shared @scan_read @scan_write
// expect: stencil: error race-shared @stencil_read @stencil_write
// expect: exchange: error race-shared @exchange_write @exchange_read
// expect: histogram: error race-shared @count @count
// expect: histogram: note race-shared @count @count
// expect: transpose: error race-shared @tile_write @tile_read
// expect: pipeline: error race-shared @prefetch @consume
// expect: broadcast: warning race-shared @lane_store @lane_load
// expect: any_flag: note race-shared @flag_store @flag_store
// expect: named: error race-shared @produce @take
#include "planted.h"

namespace PLANTED {

constexpr int kThreads = 128;

__global__ void reduce(const float* in, float* out) {
  __shared__ float s[kThreads];
  const int t = threadIdx.x;
  s[t] = in[blockIdx.x * kThreads + t];  // @reduce_fill
  BUG(, __syncthreads());
  for (int d = kThreads / 2; d > 0; d /= 2) {
    if (t < d) s[t] += s[t + d];  // @reduce_add
    __syncthreads();
  }
  if (t == 0) out[blockIdx.x] = s[0];
}
void reduce_case() {
  reduce<<<4, kThreads>>>(device_array<float>(4 * kThreads), device_array<float>(4));
}

__global__ void scan(const float* in, float* out) {
  __shared__ float s[kThreads];
  const int t = threadIdx.x;
  s[t] = in[t];
  __syncthreads();
  for (int d = 1; d < kThreads; d *= 2) {
    float v = 0;
    if (t >= d) v = s[t - d];  // @scan_read
    BUG(, __syncthreads());
    if (t >= d) s[t] += v;  // @scan_write
    __syncthreads();
  }
  out[t] = s[t];
}
void scan_case() {
  scan<<<1, kThreads>>>(device_array<float>(kThreads), device_array<float>(kThreads));
}

__global__ void stencil(const float* in, float* out, int steps) {
  __shared__ float s[2][kThreads + 2];
  const int t = threadIdx.x;
  if (t < 2) s[0][t * (kThreads + 1)] = s[1][t * (kThreads + 1)] = 0;
  s[0][t + 1] = in[t];
  __syncthreads();
  int from = 0;
  for (int i = 0; i < steps; ++i) {
    const float sum = s[from][t] + s[from][t + 2];  // @stencil_read
    s[BUG(from, 1 - from)][t + 1] = sum;            // @stencil_write
    from = BUG(from, 1 - from);
    __syncthreads();
  }
  out[t] = s[from][t + 1];
}
void stencil_case() {
  stencil<<<1, kThreads>>>(device_array<float>(kThreads), device_array<float>(kThreads), 3);
}

// A warp that trusts lockstep.
__global__ void exchange(const int* in, int* out) {
  __shared__ int s[32];
  const int lane = threadIdx.x;
  s[lane] = in[lane];  // @exchange_write
  BUG(, __syncwarp());
  out[lane] = s[lane ^ 1];  // @exchange_read
}
void exchange_case() { exchange<<<1, 32>>>(device_array<int>(32), device_array<int>(32)); }

__global__ void histogram(const int* in, int* out) {
  __shared__ int bins[16];
  const int t = threadIdx.x;
  if (t < 16) bins[t] = 0;
  __syncthreads();
  BUG(bins[in[t] & 15]++, atomicAdd(&bins[in[t] & 15], 1));  // @count
  __syncthreads();
  if (t < 16) atomicAdd(&out[t], bins[t]);
}
void histogram_case() {
  histogram<<<2, kThreads>>>(device_array<int>(kThreads), device_array<int>(16));
}

// A block transposes several tiles through one array, and fills it again too early.
__global__ void transpose(const float* in, float* out, int tiles) {
  __shared__ float tile[16][17];
  const int x = threadIdx.x, y = threadIdx.y;
  for (int i = 0; i < tiles; ++i) {
    tile[y][x] = in[(i * 16 + y) * 16 + x];  // @tile_write
    __syncthreads();
    out[(i * 16 + y) * 16 + x] = tile[x][y];  // @tile_read
    BUG(, __syncthreads());
  }
}
void transpose_case() {
  transpose<<<1, dim3(16, 16)>>>(device_array<float>(1024), device_array<float>(1024), 4);
}

// Double buffering with one buffer: the next tile is fetched over the one in use.
__global__ void pipeline(const float* in, float* out, int steps) {
  __shared__ float buffer[2][kThreads];
  const int t = threadIdx.x;
  buffer[0][t] = in[t];
  __syncthreads();
  float sum = 0;
  for (int i = 1; i < steps; ++i) {
    buffer[BUG(0, i & 1)][t] = in[i * kThreads + t];  // @prefetch
    const int now = BUG(0, (i - 1) & 1);
    sum += buffer[now][(t + 37) % kThreads];  // @consume
    __syncthreads();
  }
  out[t] = sum;
}
void pipeline_case() {
  pipeline<<<1, kThreads>>>(device_array<float>(4 * kThreads), device_array<float>(kThreads), 4);
}

// A vote makes the lanes meet, but orders no memory.
__global__ void broadcast(const int* in, int* out) {
  __shared__ int first[2];
  const int lane = threadIdx.x;
  if (lane == 5) first[0] = in[lane];  // @lane_store
  const int any = __any_sync(0xffffffff, in[lane] > 3);
  BUG(, __syncwarp());
  out[lane] = any ? first[0] : 0;  // @lane_load
}
void broadcast_case() { broadcast<<<1, 32>>>(device_array<int>(32), device_array<int>(32)); }

// All threads that find something say so with the same value.
__global__ void any_flag(const int* in, int* out) {
  __shared__ int found;
  const int t = threadIdx.x;
  if (t == 0) found = 0;
  __syncthreads();
  if (BUG(in[t] > 3, t == 64)) found = 1;  // @flag_store
  __syncthreads();
  if (t == 0) *out = found;
}
void any_flag_case() {
  any_flag<<<1, kThreads>>>(device_array<int>(kThreads), device_array<int>(1));
}

// Producer and consumer warps; the producer says too early that the data is there.
__global__ void named(const float* in, float* out) {
  __shared__ float data[32];
  const int t = threadIdx.x;
  if (t < 32) {
    BUG(asm volatile("bar.arrive 1, 64;" :: : "memory"), );
    data[t] = in[t];  // @produce
    BUG(, asm volatile("bar.arrive 1, 64;" :: : "memory"));
  } else {
    asm volatile("bar.sync 1, 64;" ::: "memory");
    out[t] = data[t - 32];  // @take
  }
}
void named_case() { named<<<1, 64>>>(device_array<float>(32), device_array<float>(64)); }

int program(const char* only) {
  return run_cases({{"reduce", reduce_case},
                    {"scan", scan_case},
                    {"stencil", stencil_case},
                    {"exchange", exchange_case},
                    {"histogram", histogram_case},
                    {"transpose", transpose_case},
                    {"pipeline", pipeline_case},
                    {"broadcast", broadcast_case},
                    {"any_flag", any_flag_case},
                    {"named", named_case}},
                   only);
}

}  // namespace PLANTED
