// A program that handles its own faults, by two handlers of which the second calls the first: they are
// called for its faults only, while the host reads managed memory on pages that a kernel uses.
#include <csetjmp>
#include <csignal>
#include <cstdio>

__global__ void tail(float* a) { a[256 + threadIdx.x] = float(threadIdx.x); }

sigjmp_buf recover;
int first_calls = 0, second_calls = 0;
struct sigaction before_second;

void first(int, siginfo_t*, void*) {
  ++first_calls;
  siglongjmp(recover, 1);
}
void second(int number, siginfo_t* info, void* context) {
  ++second_calls;
  before_second.sa_sigaction(number, info, context);
}

void install(void (*handler)(int, siginfo_t*, void*), struct sigaction* before) {
  struct sigaction own = {};
  own.sa_sigaction = handler;
  own.sa_flags = SA_SIGINFO;
  sigaction(SIGSEGV, &own, before);
}

void fault() {
  if (sigsetjmp(recover, 1) == 0) *static_cast<volatile int*>(nullptr) = 1;
}

// Reads what the kernel does not write, while it may run.
float beside_kernel(float* a) {
  tail<<<1, 256>>>(a);
  float sum = 0;
  for (int i = 0; i < 256; ++i) sum += a[i];
  cudaDeviceSynchronize();
  return sum;
}

int main() {
  float* a = nullptr;
  cudaMallocManaged(&a, 512 * sizeof(float));
  for (int i = 0; i < 512; ++i) a[i] = 1;

  install(first, nullptr);
  bool right = beside_kernel(a) == 256;
  fault();
  right = right && first_calls == 1;

  install(second, &before_second);
  right = right && beside_kernel(a) == 256;
  fault();
  right = right && first_calls == 2 && second_calls == 1;
  fault();
  right = right && first_calls == 3 && second_calls == 2;

  cudaFree(a);
  std::printf("%s\n", right ? "right" : "WRONG");
  return right ? 0 : 1;
}
