// Reads of memory that nobody wrote: global, shared and local.
//
// expect: accumulate: error uninit-global @accumulate
// not-G: component
// expect: component: error uninit-shared @component
// expect: half_copied: error uninit-global @half_copied allocated=@half_allocated
// expect: bytes: error uninit-global @bytes
// expect: gap: error uninit-global @gap
// expect: corners: error uninit-shared @corner
// expect: tail: error uninit-shared @tail
// expect: dynamic: error uninit-shared @dynamic
// expect: guarded: error uninit-shared @guarded
// expect: partly: error uninit-local @partly
// expect: stack: error uninit-local @pop
// expect: columns: error uninit-local @column
// expect: switched: error uninit-local @switched
// expect: by_value: error uninit-local @by_value
// expect: particles: error uninit-global @tile_of_particles
#include "planted.h"

namespace PLANTED {

__global__ void accumulate(const float* in, float* out) {
  const float v = in[threadIdx.x];
  out[threadIdx.x] += v;  // @accumulate
}
void accumulate_case() {
  accumulate<<<1, 64>>>(device_array<float>(64), device_array<float>(64, BUG(false, true)));
}

__global__ void copy(const float* in, float* out) {
  const float v = in[threadIdx.x];  // @half_copied
  out[threadIdx.x] = v;
}
void half_copied_case() {
  float *half = device_array<float>(64, false), *out = device_array<float>(64);  // @half_allocated
  cudaMemcpy(half, out, BUG(32, 64) * sizeof(float), cudaMemcpyDeviceToDevice);
  copy<<<1, 64>>>(half, out);
}

__global__ void bytes(const unsigned char* in, unsigned char* out) {
  const unsigned char v = in[threadIdx.x];  // @bytes
  out[threadIdx.x] = v;
}
void bytes_case() {
  unsigned char* raw = device_array<unsigned char>(64, false);
  cudaMemset(raw, 1, BUG(61, 64));
  bytes<<<1, 64>>>(raw, device_array<unsigned char>(64));
}

__global__ void fill_gaps(float* a) {
  if (BUG(threadIdx.x % 4 != 3, true)) a[threadIdx.x] = 1;
}
__global__ void sum(const float* a, float* out) {
  const float v = a[threadIdx.x];  // @gap
  atomicAdd(out, v);
}
void gap_case() {
  float* gaps = device_array<float>(64, false);
  fill_gaps<<<1, 64>>>(gaps);
  sum<<<1, 64>>>(gaps, device_array<float>(1));
}

// The corners of a tile with a halo.
__global__ void corners(const float* in, float* out) {
  __shared__ float s[10][10];
  const int x = threadIdx.x, y = threadIdx.y;
  s[y + 1][x + 1] = in[y * 8 + x];
  if (y == 0) s[0][x + 1] = s[9][x + 1] = 0;
  if (x == 0) s[y + 1][0] = s[y + 1][9] = 0;
  BUG(, if (x < 2 && y < 2) s[y * 9][x * 9] = 0);
  __syncthreads();
  out[y * 8 + x] = s[y][x] + s[y + 2][x + 2];  // @corner
}
void corners_case() {
  corners<<<1, dim3(8, 8)>>>(device_array<float>(64), device_array<float>(64));
}

__global__ void tail(const float* in, float* out, int n) {
  __shared__ float s[64];
  const int t = threadIdx.x;
  if (t < n) s[t] = in[t];
  BUG(, else s[t] = 0);
  __syncthreads();
  for (int d = 32; d > 0; d /= 2) {
    if (t < d) s[t] += s[t + d];  // @tail
    __syncthreads();
  }
  if (t == 0) *out = s[0];
}
void tail_case() { tail<<<1, 64>>>(device_array<float>(64), device_array<float>(1), 50); }

__global__ void dynamic(const float* in, float* out) {
  extern __shared__ float buffer[];
  buffer[threadIdx.x * BUG(2, 1)] = in[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = buffer[63 - threadIdx.x];  // @dynamic
}
void dynamic_case() {
  dynamic<<<1, 64, 128 * sizeof(float)>>>(device_array<float>(64), device_array<float>(64));
}

__global__ void guarded(const float* in, float* out, int n) {
  __shared__ float s[32][33];
  const int x = threadIdx.x, y = threadIdx.y;
  for (int j = 0; j < 32; j += 8) {
    if (x < n && y + j < n) s[y + j][x] = in[(y + j) * n + x];
    BUG(, else s[y + j][x] = 0);
  }
  __syncthreads();
  for (int j = 0; j < 32; j += 8) out[(y + j) * 32 + x] = s[x][y + j];  // @guarded
}
void guarded_case() {
  guarded<<<1, dim3(32, 8)>>>(device_array<float>(1024), device_array<float>(1024), 30);
}

int* indices() {
  std::vector<int> values(64);
  for (int i = 0; i < 64; ++i) values[i] = i < 8 ? 0 : i - 8;
  int* p = device_array<int>(64);
  cudaMemcpy(p, values.data(), 64 * sizeof(int), cudaMemcpyHostToDevice);
  return p;
}

__global__ void partly(const int* in, int* out) {
  int a[8];
  const int n = BUG(6, 8);
  for (int i = 0; i < n; ++i) a[(in[i] + i) & 7] = in[i];
  out[threadIdx.x] = a[in[8 + threadIdx.x] & 7];  // @partly
}
void partly_case() { partly<<<1, 32>>>(indices(), device_array<int>(32)); }

// A walk that pops one element more than was pushed.
__global__ void stack(const int* in, int* out, int pops) {
  int items[16];
  int top = 8;
  for (int i = 0; i < 4; ++i) items[top + (in[i] & 1)] = i, ++top;
  int sum = 0;
  for (int i = 0; i < pops; ++i) sum += items[--top];  // @pop
  out[threadIdx.x] = sum;
}
void stack_case() { stack<<<1, 32>>>(indices(), device_array<int>(32), BUG(5, 4)); }

// A register tile of which only the columns inside of the matrix were loaded.
__global__ void columns(const float* in, float* out, int n) {
  float tile[8];
  for (int i = 0; i < n; ++i) tile[i] = in[threadIdx.x + i];
  float sum = 0;
  for (int i = 0; i < BUG(8, n); ++i) sum += tile[i];  // @column
  out[threadIdx.x] = sum;
}
void columns_case() { columns<<<1, 32>>>(device_array<float>(64), device_array<float>(32), 6); }

__global__ void switched(const int* in, int* out) {
  int choice[4];
  for (int i = 0; i < 4; ++i)
    if (BUG(in[8 + i] != 2, true)) choice[i] = in[8 + i] * 3;
  out[threadIdx.x] = choice[threadIdx.x & 3];  // @switched
}
void switched_case() { switched<<<1, 32>>>(indices(), device_array<int>(32)); }

// Structs with padding, which is copied and never written; that is no mistake.

// By value: the element that was left out comes along, and is used by the function called.
struct Neighbours {
  char kind;
  int index[3];
};
__device__ __noinline__ int neighbour(Neighbours n, int i) {
  return n.index[i] + n.kind;  // @by_value
}
__global__ void by_value(const int* in, int* out) {
  Neighbours n;
  n.kind = char(in[0]);
  for (int i = 0; i < BUG(2, 3); ++i) n.index[(in[i] + i) % 3] = in[8 + i];
  out[threadIdx.x] = neighbour(n, int(threadIdx.x) % 3);
}
void by_value_case() { by_value<<<1, 32>>>(indices(), device_array<int>(32)); }

// Bit-fields: unoptimised code loads what surrounds them in order to store it back.
struct Options {
  unsigned mode : 3;
  unsigned steps : 7;
};
__device__ void set(Options* o, int mode, int steps) {
  o->mode = mode;
  o->steps = steps;
}
__global__ void bit_fields(const int* in, int* out) {
  Options o[2];
  set(&o[0], in[0], in[9]);
  set(&o[1], in[0], in[10]);
  out[threadIdx.x] = int(o[in[8 + threadIdx.x % 2] & 1].steps);
}
void bit_fields_case() { bit_fields<<<1, 32>>>(indices(), device_array<int>(32)); }

// A tile of structs.
struct Particle {
  char kind;
  double weight;
  int cell;
};
__global__ void place_particles(Particle* p, int n) {
  const int i = int(threadIdx.x);
  if (i >= n) return;
  p[i].kind = 1;
  p[i].weight = 2.0;
  p[i].cell = i;
}
__global__ void weigh(const Particle* p, double* out) {
  __shared__ Particle tile[64];
  tile[threadIdx.x] = p[threadIdx.x];  // @tile_of_particles
  __syncthreads();
  const Particle mine = tile[63 - threadIdx.x];
  out[threadIdx.x] = mine.weight * mine.cell;
}
void particles_case() {
  Particle* p = nullptr;
  cudaMalloc(&p, 64 * sizeof(Particle));
  place_particles<<<1, 64>>>(p, BUG(60, 64));
  weigh<<<1, 64>>>(p, device_array<double>(64));
}

// A vector load brings a component that nobody has written, nor uses.
__global__ void component(float* out, int n) {
  __shared__ float4 tile[64];
  const int t = threadIdx.x;
  tile[t].x = t, tile[t].y = 2 * t, tile[t].z = 3 * t;
  __syncthreads();
  const float4 v = tile[n - 1 - t];  // @component
  out[t] = v.x + v.y * 2 + BUG(v.w, v.z) * 3;
}
void component_case() { component<<<1, 64>>>(device_array<float>(64), 64); }

int program(const char* only) {
  return run_cases({{"accumulate", accumulate_case},
                    {"half_copied", half_copied_case},
                    {"bytes", bytes_case},
                    {"gap", gap_case},
                    {"corners", corners_case},
                    {"tail", tail_case},
                    {"dynamic", dynamic_case},
                    {"guarded", guarded_case},
                    {"partly", partly_case},
                    {"stack", stack_case},
                    {"columns", columns_case},
                    {"switched", switched_case},
                    {"by_value", by_value_case},
                    {"bit_fields", bit_fields_case},
                    {"particles", particles_case},
                    {"component", component_case}},
                   only);
}

}  // namespace PLANTED
