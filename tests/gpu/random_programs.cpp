// Runs the programs that `random_kernels --write FILE N` made on a real GPU and prints a hash of
// each one's output: the expectations of tests/random (tests/data/random-h200.tsv).
//
// Build and run (no CUDA toolkit needed, only the driver):
//   g++ -std=c++20 -O2 -I tests/random -o random_programs tests/gpu/random_programs.cpp
//       tests/random/random_kernel.cpp -ldl
//   ./random_programs FILE > tests/data/random-h200.tsv
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "random_kernel.h"

namespace {

using Handle = void*;
using Pointer = unsigned long long;

void* library() {
  static void* handle = dlopen("libcuda.so.1", RTLD_NOW);
  if (handle == nullptr) {
    std::fprintf(stderr, "libcuda.so.1: %s\n", dlerror());
    std::exit(1);
  }
  return handle;
}

template <class... Args> int call(const char* name, Args... args) {
  auto function = reinterpret_cast<int (*)(Args...)>(dlsym(library(), name));
  if (function == nullptr) {
    std::fprintf(stderr, "%s: not in the driver\n", name);
    std::exit(1);
  }
  return function(args...);
}

template <class... Args> void must(const char* name, Args... args) {
  if (int status = call(name, args...)) {
    std::fprintf(stderr, "%s: error %d\n", name, status);
    std::exit(1);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: random_programs FILE\n");
    return 2;
  }
  must("cuInit", 0u);
  int device = 0, driver = 0;
  must("cuDeviceGet", &device, 0);
  char name[256] = "";
  must("cuDeviceGetName", name, 256, device);
  must("cuDriverGetVersion", &driver);
  Handle context = nullptr;
  must("cuDevicePrimaryCtxRetain", &context, device);
  must("cuCtxSetCurrent", context);
  std::printf("# %s, CUDA driver %d; seed, FNV-1a of the output words\n", name, driver);
  std::ifstream file(argv[1], std::ios::binary);
  std::string header;
  while (std::getline(file, header)) {
    std::istringstream fields(header);
    std::string word;
    unsigned long long seed, size;
    unsigned blocks, threads, words;
    fields >> word >> seed >> blocks >> threads >> words >> size;
    std::string ptx(size, '\0');
    file.read(ptx.data(), std::streamsize(size));
    Handle module = nullptr, function = nullptr;
    if (int status = call("cuModuleLoadData", &module, static_cast<const void*>(ptx.c_str()))) {
      std::fprintf(stderr, "seed %llu: cuModuleLoadData: error %d\n", seed, status);
      return 1;
    }
    must("cuModuleGetFunction", &function, module, "k");
    unsigned long long total = static_cast<unsigned long long>(blocks) * threads;
    std::vector<uint32_t> in(total * tw::random::kInputWords), out(total * words);
    for (size_t i = 0; i < in.size(); ++i) in[i] = tw::random::input_word(i);
    Pointer device_in = 0, device_out = 0;
    must("cuMemAlloc_v2", &device_in, in.size() * 4);
    must("cuMemAlloc_v2", &device_out, out.size() * 4);
    must("cuMemcpyHtoD_v2", device_in, static_cast<const void*>(in.data()), in.size() * 4);
    must("cuMemsetD8_v2", device_out, static_cast<unsigned char>(0), out.size() * 4);
    void* parameters[] = {&device_out, &device_in};
    must("cuLaunchKernel", function, blocks, 1u, 1u, threads, 1u, 1u, 0u, Handle{},
         static_cast<void**>(parameters), static_cast<void**>(nullptr));
    must("cuCtxSynchronize");
    must("cuMemcpyDtoH_v2", static_cast<void*>(out.data()), device_out, out.size() * 4);
    must("cuMemFree_v2", device_in);
    must("cuMemFree_v2", device_out);
    must("cuModuleUnload", module);
    std::printf("%llu\t%016llx\n", seed,
                static_cast<unsigned long long>(tw::random::hash_words(out)));
  }
  return 0;
}
