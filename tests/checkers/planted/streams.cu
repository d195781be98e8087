// Operations of streams that nothing orders: kernels, copies, fills.
//
// expect: copy_out: error race-global @fill_out @copy_out
// expect: refill: error race-global @use_in @refill
// expect: clear: error race-global @clear @add_to
// expect: two_kernels: error race-global @produce @consume
// expect: default_stream: error race-global @late_write @default_copy
// expect: half_copied: error race-global @scale_half @send_half
// expect: free_async: error race-global @last_use @free_async
// expect: free_early: error use-after-free @later_use freed=@free_early
#include "planted.h"

namespace PLANTED {

struct Streams {
  cudaStream_t a, b;
  cudaEvent_t done;
  Streams() {
    cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking);
    cudaEventCreateWithFlags(&done, cudaEventDisableTiming);
  }
  ~Streams() {
    cudaDeviceSynchronize();
    cudaStreamDestroy(a);
    cudaStreamDestroy(b);
    cudaEventDestroy(done);
  }
  // What comes in `b` comes after what has been put into `a`.
  void b_after_a() {
    cudaEventRecord(done, a);
    cudaStreamWaitEvent(b, done);
  }
};

template <class T> T* pinned(size_t n) {
  T* p = nullptr;
  cudaMallocHost(&p, n * sizeof(T));
  std::memset(p, 0, n * sizeof(T));
  return p;
}

// A result is copied out by a stream of its own.
__global__ void fill(float* out) {
  out[threadIdx.x] = threadIdx.x;  // @fill_out
}
void copy_out_case() {
  Streams s;
  float *out = device_array<float>(256), *host = pinned<float>(256);
  fill<<<1, 256, 0, s.a>>>(out);
  BUG(, s.b_after_a());
  cudaMemcpyAsync(host, out, 256 * sizeof(float), cudaMemcpyDeviceToHost, s.b);  // @copy_out
}

// Double buffering: the buffer in use is filled again.
__global__ void use(const float* in, float* out) {
  const float v = in[threadIdx.x];  // @use_in
  out[threadIdx.x] = v * 2;
}
void refill_case() {
  Streams s;
  float* buffers[2] = {device_array<float>(128), device_array<float>(128)};
  float *out = device_array<float>(4 * 128), *host = pinned<float>(4 * 128);
  for (int i = 0; i < 4; ++i) {
    use<<<1, 128, 0, s.a>>>(buffers[i & 1], out + i * 128);
    if (i == 3) break;
    BUG(, cudaStreamSynchronize(s.a));
    float* next = buffers[BUG(i & 1, (i + 1) & 1)];
    // clang-format off
    cudaMemcpyAsync(next, host + i * 128, 128 * sizeof(float), cudaMemcpyHostToDevice, s.b);  // @refill
    // clang-format on
    cudaStreamSynchronize(s.b);
  }
}

// The sum is set to zero beside the kernel that adds to it.
__global__ void add_to(const float* in, float* sum) {
  const float v = in[threadIdx.x];
  atomicAdd(sum, v);  // @add_to
}
void clear_case() {
  Streams s;
  float *in = device_array<float>(64), *sum = device_array<float>(1);
  cudaDeviceSynchronize();
  cudaMemsetAsync(sum, 0, sizeof(float), s.a);  // @clear
  BUG(, s.b_after_a());
  add_to<<<1, 64, 0, s.b>>>(in, sum);
}

// Two steps of a pipeline, each in its stream.
__global__ void produce(float* data) {
  data[blockIdx.x * 64 + threadIdx.x] = threadIdx.x;  // @produce
}
__global__ void consume(const float* data, float* out) {
  const float v = data[255 - (blockIdx.x * 64 + threadIdx.x)];  // @consume
  out[blockIdx.x * 64 + threadIdx.x] = v;
}
void two_kernels_case() {
  Streams s;
  float *data = device_array<float>(256), *out = device_array<float>(256);
  cudaDeviceSynchronize();
  produce<<<4, 64, 0, s.a>>>(data);
  BUG(, s.b_after_a());
  consume<<<4, 64, 0, s.b>>>(data, out);
}

// The default stream waits for blocking streams only.
__global__ void late(float* out) {
  out[threadIdx.x] = threadIdx.x;  // @late_write
}
void default_stream_case() {
  Streams s;
  cudaStream_t mine = s.a;
  BUG(, cudaStreamCreate(&mine));
  float* out = device_array<float>(64);
  std::vector<float> host(64);
  late<<<1, 64, 0, mine>>>(out);
  cudaMemcpy(host.data(), out, 64 * sizeof(float), cudaMemcpyDeviceToHost);  // @default_copy
}

// Two streams share an array, a half each; one copies a few elements too many.
__global__ void scale(float* half) {
  half[threadIdx.x] *= 3;  // @scale_half
}
void half_copied_case() {
  Streams s;
  float *data = device_array<float>(128), *host = pinned<float>(128);
  cudaDeviceSynchronize();
  scale<<<1, 64, 0, s.a>>>(data + 64);
  // clang-format off
  cudaMemcpyAsync(host, data, BUG(66, 64) * sizeof(float), cudaMemcpyDeviceToHost, s.b);  // @send_half
  // clang-format on
}

// Memory goes back in the order of a stream that does not know of its last use.
__global__ void last_use(const float* in, float* out) {
  out[threadIdx.x] = in[threadIdx.x];  // @last_use
}
void free_async_case() {
  Streams s;
  float *temporary = device_array<float>(64), *out = device_array<float>(64);
  cudaDeviceSynchronize();
  last_use<<<1, 64, 0, s.a>>>(temporary, out);
  BUG(, s.b_after_a());
  cudaFreeAsync(temporary, s.b);  // @free_async
}

// A use in another stream of what is free already.
__global__ void later_use(const float* in, float* out) {
  out[threadIdx.x] = in[threadIdx.x];  // @later_use
}
void free_early_case() {
  Streams s;
  float *temporary = nullptr, *out = device_array<float>(64);
  cudaMallocAsync(&temporary, 64 * sizeof(float), s.a);
  cudaMemsetAsync(temporary, 0, 64 * sizeof(float), s.a);
  BUG(cudaFreeAsync(temporary, s.a), );  // @free_early
  cudaStreamSynchronize(s.a);
  later_use<<<1, 64, 0, s.b>>>(temporary, out);
  BUG(, cudaStreamSynchronize(s.b));
  BUG(, cudaFreeAsync(temporary, s.a));
}

int program(const char* only) {
  return run_cases({{"copy_out", copy_out_case},
                    {"refill", refill_case},
                    {"clear", clear_case},
                    {"two_kernels", two_kernels_case},
                    {"default_stream", default_stream_case},
                    {"half_copied", half_copied_case},
                    {"free_async", free_async_case},
                    {"free_early", free_early_case}},
                   only);
}

}  // namespace PLANTED
