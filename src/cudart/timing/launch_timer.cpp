// Times the kernels of a program on a real GPU: a library that is loaded in front of NVIDIA's
// runtime (LD_PRELOAD), records a CUDA event before and after each launch in the launch's own
// stream, and passes the launch on unchanged. `tilewright profile --measure` uses it; it needs
// neither CUPTI nor the right to read hardware counters.
//
// Each timed launch becomes a line of the file named by TILEWRIGHT_TIMES (appended to):
//   mangled name TAB grid x y z TAB block x y z TAB seconds
// The time includes what a launch costs by itself (about two microseconds between two events). A
// kernel's code is loaded before its first event, so that the first launch is not longer than the
// others.
//
// Limits: launches in graphs, and those captured into one, are not timed. Kernels that programs
// launch through the driver API (cuLaunchKernel) are not seen. Launches that overlap on the GPU are
// each timed from their own start, waiting included.
//
// Tested by tests/counters/check_measure.py, tests/unit/report/measured_test.cpp (the file's
// format).
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <deque>
#include <mutex>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

// Since CUDA 13, launches by <<<>>>; not in the public header.
using Kernel = struct CUkern_st*;

namespace {

// NVIDIA's function of that name: the next one after ours.
template <class Function> Function* next(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}
#define TW_NEXT(name) static decltype(::name)* const name##_next = next<decltype(::name)>(#name)

struct Timed {
  std::string name;
  dim3 grid, block;
  cudaEvent_t begin, end;
};

class Timer {
 public:
  // Never destroyed: programs launch and end in destructors too.
  static Timer& get() {
    static Timer* const timer = new Timer;
    return *timer;
  }

  void name_function(const void* function, const char* name) {
    const std::lock_guard lock(mutex_);
    names_[function] = name;
  }
  void name_kernel(const void* kernel, const void* function) {
    const std::lock_guard lock(mutex_);
    const auto found = names_.find(function);
    if (found != names_.end()) names_[kernel] = found->second;
  }

  template <class Launch>
  cudaError_t time(const void* function, dim3 grid, dim3 block, cudaStream_t stream,
                   Launch launch) {
    TW_NEXT(cudaStreamIsCapturing);
    TW_NEXT(cudaEventCreate);
    TW_NEXT(cudaEventRecord);
    TW_NEXT(cudaFuncGetAttributes);
    if (file_ < 0) return launch();
    cudaStreamCaptureStatus capturing = cudaStreamCaptureStatusActive;
    if (cudaStreamIsCapturing_next(stream, &capturing) != cudaSuccess ||
        capturing != cudaStreamCaptureStatusNone)
      return launch();
    const std::lock_guard lock(mutex_);
    if (!at_exit_) {
      atexit([] { get().finish(); });  // before the runtime's own
      at_exit_ = true;
    }
    write_finished(false);
    if (loaded_.insert(function).second) {
      cudaFuncAttributes attributes;
      cudaFuncGetAttributes_next(&attributes, function);
    }
    Timed timed{names_[function], grid, block, nullptr, nullptr};
    for (cudaEvent_t* event : {&timed.begin, &timed.end}) {
      if (!free_.empty()) {
        *event = free_.back();
        free_.pop_back();
      } else if (cudaEventCreate_next(event) != cudaSuccess) {
        return launch();
      }
    }
    const bool begun = cudaEventRecord_next(timed.begin, stream) == cudaSuccess;
    const cudaError_t status = launch();
    if (status == cudaSuccess && begun && cudaEventRecord_next(timed.end, stream) == cudaSuccess)
      pending_.push_back(timed);
    else
      free_.insert(free_.end(), {timed.begin, timed.end});
    return status;
  }

 private:
  Timer() {
    const char* path = getenv("TILEWRIGHT_TIMES");
    if (path != nullptr) file_ = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  }

  void finish() {
    const std::lock_guard lock(mutex_);
    write_finished(true);
  }

  // Launches end in order within a stream; one that has not ended holds up the later ones.
  void write_finished(bool wait) {
    TW_NEXT(cudaEventQuery);
    TW_NEXT(cudaEventSynchronize);
    TW_NEXT(cudaEventElapsedTime);
    while (!pending_.empty()) {
      const Timed& t = pending_.front();
      const cudaError_t status =
          wait ? cudaEventSynchronize_next(t.end) : cudaEventQuery_next(t.end);
      if (status == cudaErrorNotReady) break;
      float ms = 0;
      if (status == cudaSuccess && cudaEventElapsedTime_next(&ms, t.begin, t.end) == cudaSuccess)
        dprintf(file_, "%s\t%u %u %u\t%u %u %u\t%.9g\n", t.name.c_str(), t.grid.x, t.grid.y,
                t.grid.z, t.block.x, t.block.y, t.block.z, double(ms) * 1e-3);
      free_.insert(free_.end(), {t.begin, t.end});
      pending_.pop_front();
    }
  }

  std::mutex mutex_;
  int file_ = -1;
  bool at_exit_ = false;
  std::unordered_map<const void*, std::string> names_;  // by host stub and by kernel handle
  std::set<const void*> loaded_;
  std::deque<Timed> pending_;
  std::vector<cudaEvent_t> free_;
};

}  // namespace

#define TW_EXPORT extern "C" __attribute__((visibility("default")))

TW_EXPORT void __cudaRegisterFunction(void** handle, const char* host, char* device,
                                      const char* name, int limit, uint3* tid, uint3* bid,
                                      dim3* block, dim3* grid, int* warp) {
  static auto* const forward =
      next<void(void**, const char*, char*, const char*, int, uint3*, uint3*, dim3*, dim3*, int*)>(
          "__cudaRegisterFunction");
  forward(handle, host, device, name, limit, tid, bid, block, grid, warp);
  Timer::get().name_function(host, name);
}

TW_EXPORT cudaError_t __cudaGetKernel(Kernel* kernel, const void* host) {
  static auto* const forward = next<cudaError_t(Kernel*, const void*)>("__cudaGetKernel");
  const cudaError_t status = forward(kernel, host);
  if (status == cudaSuccess) Timer::get().name_kernel(*kernel, host);
  return status;
}

#define TW_LAUNCH(symbol, handle_type, default_stream)                                        \
  TW_EXPORT cudaError_t symbol(handle_type function, dim3 grid, dim3 block, void** arguments, \
                               size_t shared_bytes, cudaStream_t stream) {                    \
    static auto* const forward =                                                              \
        next<cudaError_t(handle_type, dim3, dim3, void**, size_t, cudaStream_t)>(#symbol);    \
    return Timer::get().time(                                                                 \
        function, grid, block, stream != nullptr ? stream : default_stream,                   \
        [&] { return forward(function, grid, block, arguments, shared_bytes, stream); });     \
  }
TW_LAUNCH(cudaLaunchKernel, const void*, nullptr)
TW_LAUNCH(cudaLaunchKernel_ptsz, const void*, cudaStreamPerThread)
TW_LAUNCH(cudaLaunchCooperativeKernel, const void*, nullptr)
TW_LAUNCH(cudaLaunchCooperativeKernel_ptsz, const void*, cudaStreamPerThread)
TW_LAUNCH(__cudaLaunchKernel, Kernel, nullptr)
TW_LAUNCH(__cudaLaunchKernel_ptsz, Kernel, cudaStreamPerThread)

#define TW_LAUNCH_EX(symbol, default_stream)                                              \
  TW_EXPORT cudaError_t symbol(const cudaLaunchConfig_t* config, const void* function,    \
                               void** arguments) {                                        \
    static auto* const forward =                                                          \
        next<cudaError_t(const cudaLaunchConfig_t*, const void*, void**)>(#symbol);       \
    if (config == nullptr) return forward(config, function, arguments);                   \
    return Timer::get().time(function, config->gridDim, config->blockDim,                 \
                             config->stream != nullptr ? config->stream : default_stream, \
                             [&] { return forward(config, function, arguments); });       \
  }
TW_LAUNCH_EX(cudaLaunchKernelExC, nullptr)
TW_LAUNCH_EX(cudaLaunchKernelExC_ptsz, cudaStreamPerThread)
