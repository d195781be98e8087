// Buffers and timing of tilewright-bench (see frame.h).
#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>

#include "frame.h"

namespace tilewright::bench {
namespace {

__global__ void randomise_kernel(uint32_t* words, size_t count, uint64_t seed) {
  for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < count;
       i += size_t(gridDim.x) * blockDim.x) {
    uint64_t z = (i + seed * 0x9e3779b97f4a7c15ull) + 0x9e3779b97f4a7c15ull;  // splitmix64
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    words[i] = uint32_t(z ^ (z >> 31));
  }
}

std::chrono::steady_clock::time_point program_start = std::chrono::steady_clock::now();

// One candidate being timed: a graph of `inner` launches, or the launches themselves.
struct Run {
  const Candidate* candidate;
  Outcome* outcome;
  cudaGraphExec_t graph = nullptr;
  int inner = 1;
  std::vector<double> samples;
};

double time_once(Run& run, int first_slot, cudaStream_t stream, cudaEvent_t begin,
                 cudaEvent_t end) {
  TW_CUDA(cudaEventRecord(begin, stream));
  if (run.graph) {
    TW_CUDA(cudaGraphLaunch(run.graph, stream));
  } else {
    for (int i = 0; i < run.inner; ++i) run.candidate->launch(first_slot + i, stream);
  }
  TW_CUDA(cudaEventRecord(end, stream));
  TW_CUDA(cudaEventSynchronize(end));
  float ms = 0;
  TW_CUDA(cudaEventElapsedTime(&ms, begin, end));
  return ms * 1e3 / run.inner;
}

// Makes `run` a graph of its launches, unless it cannot be captured, and starts it once.
void record(Run& run, cudaStream_t stream) {
  if (!run.candidate->capture) return;
  if (run.graph) TW_CUDA(cudaGraphExecDestroy(run.graph));
  cudaGraph_t graph;
  TW_CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  for (int i = 0; i < run.inner; ++i) run.candidate->launch(i, stream);
  TW_CUDA(cudaStreamEndCapture(stream, &graph));
  TW_CUDA(cudaGraphInstantiate(&run.graph, graph, 0));
  TW_CUDA(cudaGraphDestroy(graph));
  TW_CUDA(cudaGraphLaunch(run.graph, stream));
  TW_CUDA(cudaStreamSynchronize(stream));
}

double percentile(std::vector<double> v, double p) {
  std::sort(v.begin(), v.end());
  double at = p * (v.size() - 1);
  size_t i = size_t(at);
  return i + 1 < v.size() ? v[i] + (at - i) * (v[i + 1] - v[i]) : v.back();
}

}  // namespace

void check_cuda(cudaError_t error, const char* what, const char* file, int line) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "%s:%d: %s: %s\n", file, line, what, cudaGetErrorString(error));
  std::exit(3);
}

double elapsed_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - program_start).count();
}

bool out_of_time(const Options& options) {
  return options.max_seconds > 0 && elapsed_seconds() > options.max_seconds;
}

std::vector<int64_t> parse_size(const std::string& text, size_t most) {
  std::vector<int64_t> out;
  const char *at = text.data(), *end = at + text.size();
  int64_t product = 1;
  while (true) {
    int64_t value = 0;
    const auto [next, error] = std::from_chars(at, end, value);
    if (error != std::errc() || value < 1 ||
        value > std::min(int64_t{1} << 30, (int64_t{1} << 60) / product))
      break;
    product *= value;
    out.push_back(value);
    if (next == end && out.size() <= most) return out;
    if (next == end || *next != 'x') break;
    at = next + 1;
  }
  std::fprintf(stderr, "--sizes: %s is no size\n", text.c_str());
  return {};
}

bool selected(const Options& options, const std::string& name) {
  if (options.only.empty()) return true;
  return std::any_of(options.only.begin(), options.only.end(),
                     [&](const std::string& o) { return name.find(o) != std::string::npos; });
}

RotatingBuffers::RotatingBuffers(size_t bytes, size_t bytes_per_launch) : bytes_(bytes) {
  int device = 0, l2 = 0;
  TW_CUDA(cudaGetDevice(&device));
  TW_CUDA(cudaDeviceGetAttribute(&l2, cudaDevAttrL2CacheSize, device));
  bytes_per_launch = std::max(bytes_per_launch, std::max<size_t>(bytes, 1));
  count_ = int(
      std::clamp<size_t>((4 * size_t(l2) + bytes_per_launch - 1) / bytes_per_launch + 1, 1, 256));
  pitch_ = (bytes + 511) / 512 * 512 + 512;
  TW_CUDA(cudaMalloc(&base_, pitch_ * count_));
}

RotatingBuffers::~RotatingBuffers() { cudaFree(base_); }

void RotatingBuffers::randomise(uint64_t seed) {
  randomise_device(base_, pitch_ * count_, seed, nullptr);
  TW_CUDA(cudaDeviceSynchronize());
}

void RotatingBuffers::fill(int byte) {
  TW_CUDA(cudaMemset(base_, byte, pitch_ * count_));
  TW_CUDA(cudaDeviceSynchronize());
}

void randomise_device(void* data, size_t bytes, uint64_t seed, cudaStream_t stream) {
  size_t words = bytes / 4;
  if (words)
    randomise_kernel<<<int(std::min<size_t>((words + 255) / 256, 4096)), 256, 0, stream>>>(
        static_cast<uint32_t*>(data), words, seed);
  TW_CUDA(cudaGetLastError());
  if (bytes % 4)
    TW_CUDA(cudaMemsetAsync(static_cast<char*>(data) + words * 4, int(seed % 251) + 1, bytes % 4,
                            stream));
}

void measure(Case& out, const std::vector<Candidate>& candidates, const Options& options) {
  cudaStream_t stream;
  cudaEvent_t begin, end;
  TW_CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  TW_CUDA(cudaEventCreate(&begin));
  TW_CUDA(cudaEventCreate(&end));

  out.outcomes.reserve(out.outcomes.size() + candidates.size());
  std::vector<Run> runs;
  for (const Candidate& candidate : candidates) {
    if (!selected(options, candidate.name)) continue;
    out.outcomes.emplace_back();
    Outcome& outcome = out.outcomes.back();
    outcome.name = candidate.name;
    if (candidate.check) {
      outcome.error = candidate.check();
      outcome.checked = true;
      cudaError_t last = cudaDeviceSynchronize();
      if (last != cudaSuccess) {  // sticky: nothing after this can be trusted
        std::fprintf(stderr, "%s, %s: %s\n", out.name.c_str(), candidate.name.c_str(),
                     cudaGetErrorString(last));
        std::exit(3);
      }
    }
    if (outcome.error.empty() && !options.verify_only)
      runs.push_back({&candidate, &outcome, nullptr, 1, {}});
  }

  for (Run& run : runs) {
    for (int i = 0; i < 2; ++i) run.candidate->launch(i, stream);  // module load, handles
    TW_CUDA(cudaStreamSynchronize(stream));
    // How many launches a sample has is decided by a graph's time, too: what a call costs on the host
    // would make samples of small products short, and the graph's own start weigh in them.
    run.inner = 3;
    record(run, stream);
    double us = time_once(run, 2, stream, begin, end);
    run.inner = int(std::clamp(200.0 / std::max(us, 0.5), 1.0, 200.0));
    if (run.inner < 2) run.inner = 2;
    if (us > 5000) run.inner = 1;
    record(run, stream);
  }
  // Another order each round, so that no candidate always runs behind the same one: what ran before
  // decides the clock that is found. A seeded generator: every run of the program has the same
  // orders.
  std::vector<size_t> order(runs.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::mt19937 generator(1);
  for (int s = 0; s < options.samples; ++s) {
    std::shuffle(order.begin(), order.end(), generator);
    for (size_t i : order)
      runs[i].samples.push_back(time_once(runs[i], s * runs[i].inner, stream, begin, end));
  }

  for (Run& run : runs) {
    Timing& t = run.outcome->timing;
    t.median_us = percentile(run.samples, 0.5);
    t.p10_us = percentile(run.samples, 0.1);
    t.p90_us = percentile(run.samples, 0.9);
    t.samples = int(run.samples.size());
    t.inner = run.inner;
    run.outcome->rate = out.work / t.median_us * (out.unit == "TFLOP/s" ? 1e-6 : 1e-3);
    if (run.graph) cudaGraphExecDestroy(run.graph);
  }
  cudaEventDestroy(begin);
  cudaEventDestroy(end);
  cudaStreamDestroy(stream);
}

}  // namespace tilewright::bench
