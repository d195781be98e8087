// The ladder's steps as candidates of the benchmark. Each step is a program of its own
// (kernels/<family>/NN_idea.cu); ladder_transpose.cu and gemm_steps.cu include them with `main`
// renamed, so that what is measured is what a reader reads. The steps launch on the default stream,
// so these two files are compiled with per-thread default streams, and InStream makes the launch
// part of the stream that is timed.
#pragma once

#include <cuda_runtime.h>

#include <string>
#include <vector>

#include "frame.h"

namespace tilewright::bench {

// While it lives, what is launched on this thread's default stream runs between what was put into
// `stream` before and what follows. Capturable.
class InStream {
 public:
  explicit InStream(cudaStream_t stream) : stream_(stream) {
    thread_local cudaEvent_t events[2] = {};
    for (cudaEvent_t& e : events)
      if (!e) TW_CUDA(cudaEventCreateWithFlags(&e, cudaEventDisableTiming));
    begin_ = events[0], end_ = events[1];
    TW_CUDA(cudaEventRecord(begin_, stream_));
    TW_CUDA(cudaStreamWaitEvent(cudaStreamPerThread, begin_, 0));
  }
  ~InStream() {
    TW_CUDA(cudaEventRecord(end_, cudaStreamPerThread));
    TW_CUDA(cudaStreamWaitEvent(stream_, end_, 0));
  }
  InStream(const InStream&) = delete;
  InStream& operator=(const InStream&) = delete;

 private:
  cudaStream_t stream_;
  cudaEvent_t begin_ = nullptr, end_ = nullptr;
};

struct TransposeLadderStep {
  std::string name;  // 03_tiled
  int element_bytes;
  bool copies;  // out = in: the yardstick
  void (*launch)(const void* in, void* out, int rows, int cols, cudaStream_t stream);
};
const std::vector<TransposeLadderStep>& transpose_ladder();

}  // namespace tilewright::bench
