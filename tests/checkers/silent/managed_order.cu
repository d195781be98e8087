// Managed memory that the host touches while kernels run, in order: after events, in host functions,
// by flags that kernel and host poll, and memory that no running kernel gets.
#include <atomic>
#include <cstdio>

__global__ void fill(int* a, int n, int value) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) a[i] = value + i;
}

__global__ void answer(volatile int* mailbox) {
  if (threadIdx.x != 0) return;
  mailbox[1] = 42;
  __threadfence_system();
  mailbox[0] = 1;
  while (mailbox[2] == 0) {
  }
}

struct Sum {
  const int* values;
  long sum;
};
void add_up(void* data) {
  Sum* s = static_cast<Sum*>(data);
  for (int i = 0; i < 1000; ++i) s->sum += s->values[i];
}

int main() {
  int *a, *b, *mailbox;
  cudaMallocManaged(&a, 1000 * sizeof(int));
  cudaMallocManaged(&b, 1000 * sizeof(int));
  cudaMallocManaged(&mailbox, 3 * sizeof(int));
  for (int i = 0; i < 1000; ++i) a[i] = b[i] = 0;
  for (int i = 0; i < 3; ++i) mailbox[i] = 0;
  bool right = true;

  cudaEvent_t done;
  cudaEventCreate(&done);
  fill<<<4, 256>>>(a, 1000, 1);
  cudaEventRecord(done);
  for (int i = 0; i < 1000; ++i) b[i] = i;  // nobody else has it
  cudaEventSynchronize(done);
  right = right && a[999] == 1000;

  Sum sum{a, 0};
  fill<<<4, 256>>>(a, 1000, 0);
  cudaLaunchHostFunc(0, add_up, &sum);
  cudaStreamSynchronize(0);
  right = right && sum.sum == 499500;

  answer<<<1, 32>>>(mailbox);
  volatile int* host = mailbox;
  while (host[0] == 0) {
  }
  std::atomic_thread_fence(std::memory_order_acquire);
  right = right && host[1] == 42;
  host[2] = 1;
  cudaDeviceSynchronize();

  std::printf("%s\n", right ? "right" : "WRONG");
  cudaFree(a);
  cudaFree(b);
  cudaFree(mailbox);
  return right ? 0 : 1;
}
