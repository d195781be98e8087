// See overhead.h. A call of transpose() validates, chooses a kernel and launches it; the bare
// launch is cudaLaunchKernel of an empty kernel with as many bytes of parameters. Both fill a
// stream that was empty, kCalls at a time (fewer than the driver queues without waiting); the
// figure is the median over samples that take turns, in microseconds a call.
#include <algorithm>
#include <chrono>
#include <cstdio>

#include "overhead.h"
#include "tilewright/transpose.h"

namespace tilewright::bench {
namespace {

constexpr int kCalls = 200, kParameterBytes = 320;

struct Parameters {
  char bytes[kParameterBytes];
};
__global__ void empty_kernel(const __grid_constant__ Parameters) {}

double seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double median(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  return v[v.size() / 2];
}

}  // namespace

void run_overhead(const Options& options, std::vector<Case>& cases) {
  cudaStream_t stream;
  TW_CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  char *in = nullptr, *out = nullptr;
  constexpr size_t kBytes = size_t(1) << 22;
  TW_CUDA(cudaMalloc(&in, kBytes));
  TW_CUDA(cudaMalloc(&out, kBytes));
  TW_CUDA(cudaMemset(in, 1, kBytes));
  struct Call {
    const char* name;
    int element;
    int64_t rows, cols, ld_in, batch;
  };
  const Call calls[] = {{"aligned", 4, 64, 64, 64, 1},
                        {"ragged", 4, 300, 301, 301, 1},
                        {"bytes, ragged", 1, 300, 301, 303, 1},
                        {"strip", 4, 1024, 3, 3, 1},
                        {"batch", 4, 16, 16, 16, 8},
                        {"batch with gaps", 4, 16, 16, 20, 8}};
  for (const Call& call : calls) {
    std::vector<double> bare, ours;
    auto time = [&](auto&& launch) {
      const double start = seconds();
      for (int i = 0; i < kCalls; ++i) launch();
      const double taken = seconds() - start;
      TW_CUDA(cudaStreamSynchronize(stream));
      return taken / kCalls * 1e6;
    };
    Parameters parameters{};
    void* pointers[] = {&parameters};
    bool ok = true;
    for (int s = 0; s < options.samples * 3; ++s) {
      bare.push_back(time([&] {
        ok &= cudaLaunchKernel(reinterpret_cast<const void*>(empty_kernel), dim3(4), dim3(256),
                               pointers, 16384, stream) == cudaSuccess;
      }));
      ours.push_back(time([&] {
        ok &= transpose(in, call.ld_in, out, call.rows, call.rows, call.cols, call.element,
                        {call.batch, call.rows * call.ld_in, call.rows * call.cols}, stream)
                  .ok();
      }));
    }
    Case c;
    c.name = std::string("host time, ") + call.name;
    c.unit = "us";
    c.fields = {{"what", "overhead"}, {"call", call.name}};
    Outcome a, b;
    a.name = "tilewright";
    b.name = "bare launch";
    if (!ok) a.error = "a launch failed";
    a.rate = a.more["us"] = median(ours);
    b.rate = b.more["us"] = median(bare);
    a.more["beyond_us"] = a.rate - b.rate;
    c.outcomes = {a, b};
    std::printf("%-28s %.2f us a call, bare launch %.2f, beyond it %.2f\n", c.name.c_str(), a.rate,
                b.rate, a.rate - b.rate);
    cases.push_back(c);
  }
  TW_CUDA(cudaFree(in));
  TW_CUDA(cudaFree(out));
  TW_CUDA(cudaStreamDestroy(stream));
}

}  // namespace tilewright::bench
