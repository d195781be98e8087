// Two devices: memory, kernels and streams of each; copies between them; host and managed memory
// that both use, a __managed__ variable among it; peer access.
#include <cstdio>
#include <cstdlib>

#include "check.h"

constexpr int kCount = 1024;
__device__ int offset = 7;
__managed__ int both = 40;

__global__ void number(int* p, int step) {
  const int i = int(blockIdx.x * blockDim.x + threadIdx.x);
  p[i] = i * step + offset;
}
__global__ void add_one(int* p) { atomicAdd(p, 1); }
__global__ void count_both() { atomicAdd(&both, 1); }

long sum(const int* p) {
  long total = 0;
  for (int i = 0; i < kCount; i++) total += p[i];
  return total;
}

int main() {
  int devices = 0;
  CHECK(cudaGetDeviceCount(&devices));
  printf("%d devices\n", devices);
  int *p[2], h[kCount];
  for (int d = 0; d < 2; d++) {
    CHECK(cudaSetDevice(d));
    CHECK(cudaMalloc(&p[d], sizeof h));
    const int own = 100 * d;  // a module's variables are there once a device
    CHECK(cudaMemcpyToSymbol(offset, &own, sizeof own));
    number<<<4, 256>>>(p[d], d + 1);
    CHECK(cudaDeviceSynchronize());
  }
  for (int d = 0; d < 2; d++) {
    CHECK(cudaMemcpy(h, p[d], sizeof h, cudaMemcpyDeviceToHost));
    printf("device %d: %ld\n", d, sum(h));
  }

  CHECK(cudaMemcpyPeer(p[0], 0, p[1], 1, sizeof h));
  CHECK(cudaMemcpy(h, p[0], sizeof h, cudaMemcpyDefault));
  printf("after the copy: %ld\n", sum(h));
  cudaStream_t s;
  CHECK(cudaSetDevice(1));
  CHECK(cudaStreamCreate(&s));
  number<<<4, 256, 0, s>>>(p[1], 5);
  CHECK(cudaMemcpyPeerAsync(p[0], 0, p[1], 1, sizeof h, s));
  CHECK(cudaStreamSynchronize(s));
  CHECK(cudaMemcpy(h, p[0], sizeof h, cudaMemcpyDefault));
  printf("in a stream: %ld\n", sum(h));

  // An event of one device orders a stream of the other.
  cudaEvent_t event;
  cudaStream_t t;
  CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
  number<<<4, 256, 0, s>>>(p[1], 6);
  CHECK(cudaEventRecord(event, s));
  CHECK(cudaSetDevice(0));
  CHECK(cudaStreamCreate(&t));
  CHECK(cudaStreamWaitEvent(t, event, 0));
  CHECK(cudaMemcpyAsync(p[0], p[1], sizeof h, cudaMemcpyDefault, t));
  CHECK(cudaStreamSynchronize(t));
  CHECK(cudaMemcpy(h, p[0], sizeof h, cudaMemcpyDefault));
  printf("after an event: %ld\n", sum(h));

  int *managed, *pinned, plain = 0;
  CHECK(cudaMallocManaged(&managed, sizeof(int)));
  CHECK(cudaHostAlloc(&pinned, sizeof(int), cudaHostAllocPortable));
  CHECK(cudaHostRegister(&plain, sizeof plain, cudaHostRegisterPortable));
  *managed = *pinned = 0;
  for (int d = 0; d < 2; d++) {
    CHECK(cudaSetDevice(d));
    for (int* word : {managed, pinned, &plain}) add_one<<<2, 32>>>(word);
    CHECK(cudaDeviceSynchronize());
  }
  printf("managed %d, pinned %d, registered %d\n", *managed, *pinned, plain);
  for (const void* word : {(const void*)managed, (const void*)p[1]}) {
    cudaPointerAttributes attributes;
    CHECK(cudaPointerGetAttributes(&attributes, word));
    printf("type %d on device %d\n", int(attributes.type), attributes.device);
  }
  CHECK(cudaHostUnregister(&plain));
  CHECK(cudaFreeHost(pinned));
  CHECK(cudaFree(managed));

  for (int d = 0; d < 2; d++) {
    CHECK(cudaSetDevice(d));
    count_both<<<1, 32>>>();
    CHECK(cudaDeviceSynchronize());
    both += 1000;
  }
  printf("a managed variable: %d\n", both);

  int can[2] = {};
  CHECK(cudaDeviceCanAccessPeer(&can[0], 0, 1));
  CHECK(cudaDeviceCanAccessPeer(&can[1], 1, 1));
  printf("kernels can see the other's memory: %d, their own as a peer's: %d, %s\n", can[0], can[1],
         cudaGetErrorName(cudaDeviceEnablePeerAccess(1, 0)));
  printf("device 2: %s\n", cudaGetErrorName(cudaSetDevice(2)));
  (void)cudaGetLastError();
  CHECK(cudaSetDevice(0));
  CHECK(cudaDeviceEnablePeerAccess(1, 0));
  printf("twice: %s\n", cudaGetErrorName(cudaDeviceEnablePeerAccess(1, 0)));
  CHECK(cudaMemset(p[1], 0, sizeof(int)));
  add_one<<<2, 32>>>(p[1]);
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaMemcpy(h, p[1], sizeof(int), cudaMemcpyDefault));
  printf("counted in the peer's memory: %d\n", h[0]);
  CHECK(cudaDeviceDisablePeerAccess(1));
  printf("twice: %s\n", cudaGetErrorName(cudaDeviceDisablePeerAccess(1)));
  add_one<<<1, 1>>>(p[1]);
  printf("a kernel that uses it now: %s\n", cudaGetErrorName(cudaDeviceSynchronize()));
}
