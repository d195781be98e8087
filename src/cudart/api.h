// What every API call does around its own work: refuse in a forked child, find the device's
// context, return the sticky error of a faulted kernel, note the error for cudaGetLastError.
#pragma once

#include "cudart/errors.h"
#include "cudart/runtime.h"

namespace tw::cudart {

// Calls that need no device.
template <class Body> cudaError_t guarded(Body&& body) {
  forget_reason();
  if (Runtime::get().forked()) return note(cudaErrorInitializationError);
  return note(body());
}

// body(Context&): the current device's context, created if need be.
template <class Body> cudaError_t with_context(Body&& body) {
  return guarded([&]() -> cudaError_t {
    Context* context = nullptr;
    if (const cudaError_t error = Runtime::get().current(context); error != cudaSuccess)
      return error;
    if (const cudaError_t error = context->sticky(); error != cudaSuccess) return error;
    return body(*context);
  });
}

// body(Context&, Stream&): the context is the stream's.
template <class Body> cudaError_t with_stream(cudaStream_t handle, Body&& body) {
  return guarded([&]() -> cudaError_t {
    Context* context = nullptr;
    if (const cudaError_t error = Runtime::get().current(context); error != cudaSuccess)
      return error;
    if (const cudaError_t error = context->sticky(); error != cudaSuccess) return error;
    const std::shared_ptr<Stream> stream = Runtime::get().stream(handle, *context);
    if (!stream) return cudaErrorInvalidResourceHandle;
    if (const cudaError_t error = stream->context->sticky(); error != cudaSuccess) return error;
    return body(*stream->context, *stream);
  });
}

// Puts a command into a stream, or into the graph that captures it.
cudaError_t submit(Stream& stream, const Command& command);
// Executes `work` in stream order and waits for it; an error while the stream is being captured.
cudaError_t run_in(Stream& stream, const std::function<cudaError_t()>& work);

// Handle of the default stream under --default-stream per-thread (`_ptsz` and `_ptds` entry
// points).
inline cudaStream_t per_thread(cudaStream_t stream) {
  return stream == nullptr ? cudaStreamPerThread : stream;
}

}  // namespace tw::cudart
