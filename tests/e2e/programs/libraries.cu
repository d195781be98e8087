// Device code as text, loaded by the program: kernels and a variable by name.
#include "check.h"

static const char kText[] = R"(
.version 8.0
.target sm_80
.address_size 64
.visible .global .align 4 .u32 offset = 7;
.visible .entry add_offset(.param .u64 p)
{
  .reg .u32 %r<4>;
  .reg .u64 %rd<4>;
  ld.param.u64 %rd0, [p];
  mov.u32 %r0, %tid.x;
  mul.wide.u32 %rd1, %r0, 4;
  add.u64 %rd0, %rd0, %rd1;
  ld.global.u32 %r1, [%rd0];
  ld.global.u32 %r2, [offset];
  add.u32 %r1, %r1, %r2;
  st.global.u32 [%rd0], %r1;
  ret;
}
.visible .entry nothing()
{
  ret;
}
)";

int main() {
  cudaLibrary_t library;
  CHECK(cudaLibraryLoadData(&library, kText, nullptr, nullptr, 0, nullptr, nullptr, 0));
  unsigned count = 0;
  CHECK(cudaLibraryGetKernelCount(&count, library));
  printf("kernels: %u\n", count);
  cudaKernel_t all[2] = {}, kernel;
  CHECK(cudaLibraryEnumerateKernels(all, 2, library));
  CHECK(cudaLibraryGetKernel(&kernel, library, "add_offset"));
  printf("enumerated: %s\n", all[0] == kernel || all[1] == kernel ? "yes" : "no");
  printf("missing: %s\n", cudaGetErrorName(cudaLibraryGetKernel(&kernel, library, "none")));
  CHECK(cudaLibraryGetKernel(&kernel, library, "add_offset"));
  int *p, h[32];
  CHECK(cudaMalloc(&p, 128));
  CHECK(cudaMemset(p, 0, 128));
  void* arguments[] = {&p};
  CHECK(cudaLaunchKernel((const void*)kernel, dim3(1), dim3(32), arguments, 0, 0));
  int *offset, value = 100;
  size_t bytes = 0;
  CHECK(cudaLibraryGetGlobal((void**)&offset, &bytes, library, "offset"));
  printf("variable: %zu bytes\n", bytes);
  CHECK(cudaMemcpy(offset, &value, 4, cudaMemcpyHostToDevice));
  CHECK(cudaLaunchKernel((const void*)kernel, dim3(1), dim3(32), arguments, 0, 0));
  CHECK(cudaMemcpy(h, p, 128, cudaMemcpyDeviceToHost));
  printf("sum: %d\n", h[31]);
  CHECK(cudaLibraryUnload(library));
  // What was loaded is looked at when it is used.
  printf("no PTX: %s\n", cudaGetErrorName(cudaLibraryLoadData(&library, "nonsense", nullptr,
                                                              nullptr, 0, nullptr, nullptr, 0)));
  return 0;
}
