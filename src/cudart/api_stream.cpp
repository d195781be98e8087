// Streams, events, host callbacks.
#include <algorithm>

#include "cudart/api.h"
#include "cudart/diagnose.h"
#include "cudart/graph.h"
#include "cudart/host_observer.h"

namespace tw::cudart {

cudaError_t submit(Stream& stream, const Command& command) {
  if (stream.capture) return capture_command(stream, command);
  return Runtime::get().scheduler.submit(stream, command);
}

cudaError_t run_in(Stream& stream, const std::function<cudaError_t()>& work) {
  if (stream.capture) return invalidate_capture(stream);
  const cudaError_t error = Runtime::get().scheduler.run(stream, work);
  return error;
}

namespace {

cudaError_t create_stream(cudaStream_t* out, unsigned flags, int priority) {
  return with_context([&](Context& context) -> cudaError_t {
    if (out == nullptr || (flags & ~unsigned(cudaStreamNonBlocking)) != 0)
      return cudaErrorInvalidValue;
    Runtime& runtime = Runtime::get();
    *out = runtime.add(
        runtime.scheduler.create_stream(context, flags, std::clamp(priority, -5, 0), false));
    return cudaSuccess;
  });
}

cudaError_t create_event(cudaEvent_t* out, unsigned flags) {
  return with_context([&](Context&) -> cudaError_t {
    constexpr unsigned kKnown =
        cudaEventBlockingSync | cudaEventDisableTiming | cudaEventInterprocess;
    if (out == nullptr || (flags & ~kKnown) != 0) return cudaErrorInvalidValue;
    if (flags & cudaEventInterprocess) {
      complain_once("cudaEventInterprocess",
                    "cudaEventInterprocess: events shared between processes are not supported");
      return cudaErrorNotSupported;
    }
    auto event = std::make_shared<Event>();
    event->flags = flags;
    *out = Runtime::get().add(std::move(event));
    return cudaSuccess;
  });
}

// body(Context&, Event&)
template <class Body> cudaError_t with_event(cudaEvent_t handle, Body&& body) {
  return with_context([&](Context& context) -> cudaError_t {
    const std::shared_ptr<Event> event = handle ? Runtime::get().event(handle) : nullptr;
    if (!event) return cudaErrorInvalidResourceHandle;
    return body(context, event);
  });
}

}  // namespace
}  // namespace tw::cudart

using namespace tw::cudart;

cudaError_t cudaStreamCreate(cudaStream_t* out) { return create_stream(out, cudaStreamDefault, 0); }
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* out, unsigned flags) {
  return create_stream(out, flags, 0);
}
cudaError_t cudaStreamCreateWithPriority(cudaStream_t* out, unsigned flags, int priority) {
  return create_stream(out, flags, priority);
}

cudaError_t cudaStreamDestroy(cudaStream_t handle) {
  return with_context([&](Context&) -> cudaError_t {
    std::shared_ptr<Stream> stream;
    if (!Runtime::get().remove(handle, stream)) return cudaErrorInvalidResourceHandle;
    Runtime::get().scheduler.destroy_stream(stream);
    return cudaSuccess;
  });
}

cudaError_t cudaStreamSynchronize(cudaStream_t handle) {
  return with_stream(handle, [](Context& context, Stream& stream) -> cudaError_t {
    if (stream.capture) return invalidate_capture(stream);
    Runtime::get().scheduler.wait(stream);
    return context.sticky();
  });
}
TW_CUDA_EXPORT cudaError_t cudaStreamSynchronize_ptsz(cudaStream_t s) {
  return cudaStreamSynchronize(per_thread(s));
}

cudaError_t cudaStreamQuery(cudaStream_t handle) {
  return with_stream(handle, [](Context& context, Stream& stream) -> cudaError_t {
    if (stream.capture) return invalidate_capture(stream);
    if (!Runtime::get().scheduler.idle(stream)) return cudaErrorNotReady;
    return context.sticky();
  });
}
TW_CUDA_EXPORT cudaError_t cudaStreamQuery_ptsz(cudaStream_t s) {
  return cudaStreamQuery(per_thread(s));
}

cudaError_t cudaStreamGetFlags(cudaStream_t handle, unsigned* flags) {
  return with_stream(handle, [&](Context&, Stream& stream) {
    return flags ? (*flags = stream.flags, cudaSuccess) : cudaErrorInvalidValue;
  });
}
TW_CUDA_EXPORT cudaError_t cudaStreamGetFlags_ptsz(cudaStream_t s, unsigned* flags) {
  return cudaStreamGetFlags(per_thread(s), flags);
}

cudaError_t cudaStreamGetPriority(cudaStream_t handle, int* priority) {
  return with_stream(handle, [&](Context&, Stream& stream) {
    return priority ? (*priority = stream.priority, cudaSuccess) : cudaErrorInvalidValue;
  });
}
TW_CUDA_EXPORT cudaError_t cudaStreamGetPriority_ptsz(cudaStream_t s, int* priority) {
  return cudaStreamGetPriority(per_thread(s), priority);
}

cudaError_t cudaStreamGetId(cudaStream_t handle, unsigned long long* id) {
  return with_stream(handle, [&](Context&, Stream& stream) {
    return id ? (*id = stream.id, cudaSuccess) : cudaErrorInvalidValue;
  });
}
TW_CUDA_EXPORT cudaError_t cudaStreamGetId_ptsz(cudaStream_t s, unsigned long long* id) {
  return cudaStreamGetId(per_thread(s), id);
}

cudaError_t cudaStreamGetDevice(cudaStream_t handle, int* device) {
  return with_stream(handle, [&](Context& context, Stream&) {
    return device ? (*device = context.ordinal, cudaSuccess) : cudaErrorInvalidValue;
  });
}
TW_CUDA_EXPORT cudaError_t cudaStreamGetDevice_ptsz(cudaStream_t s, int* device) {
  return cudaStreamGetDevice(per_thread(s), device);
}

// Stream attributes are hints (L2 windows, synchronisation policy): kept, without effect here. The
// priority can be read, too.
cudaError_t cudaStreamSetAttribute(cudaStream_t handle, cudaLaunchAttributeID id,
                                   const cudaLaunchAttributeValue* value) {
  return with_stream(handle, [&](Context&, Stream& stream) -> cudaError_t {
    if (value == nullptr) return cudaErrorInvalidValue;
    stream.attributes[int(id)] = *value;
    return cudaSuccess;
  });
}
cudaError_t cudaStreamGetAttribute(cudaStream_t handle, cudaLaunchAttributeID id,
                                   cudaLaunchAttributeValue* value) {
  return with_stream(handle, [&](Context&, Stream& stream) -> cudaError_t {
    if (value == nullptr) return cudaErrorInvalidValue;
    const auto place = stream.attributes.find(int(id));
    if (place != stream.attributes.end()) {
      *value = place->second;
      return cudaSuccess;
    }
    *value = {};
    if (id == cudaLaunchAttributePriority) value->priority = stream.priority;
    if (id == cudaLaunchAttributeSynchronizationPolicy) value->syncPolicy = cudaSyncPolicyAuto;
    return cudaSuccess;
  });
}
cudaError_t cudaStreamCopyAttributes(cudaStream_t to, cudaStream_t from) {
  return with_stream(to, [&](Context& context, Stream& stream) -> cudaError_t {
    const std::shared_ptr<Stream> source = Runtime::get().stream(from, context);
    if (!source) return cudaErrorInvalidResourceHandle;
    stream.attributes = source->attributes;
    return cudaSuccess;
  });
}
TW_CUDA_EXPORT cudaError_t cudaStreamGetAttribute_ptsz(cudaStream_t s, cudaLaunchAttributeID id,
                                                       cudaLaunchAttributeValue* value) {
  return cudaStreamGetAttribute(per_thread(s), id, value);
}
TW_CUDA_EXPORT cudaError_t cudaStreamCopyAttributes_ptsz(cudaStream_t to, cudaStream_t from) {
  return cudaStreamCopyAttributes(per_thread(to), per_thread(from));
}
TW_CUDA_EXPORT cudaError_t cudaStreamSetAttribute_ptsz(cudaStream_t s, cudaLaunchAttributeID id,
                                                       const cudaLaunchAttributeValue* value) {
  return cudaStreamSetAttribute(per_thread(s), id, value);
}

cudaError_t cudaStreamWaitEvent(cudaStream_t handle, cudaEvent_t event_handle, unsigned flags) {
  return with_stream(handle, [&](Context&, Stream& stream) -> cudaError_t {
    const std::shared_ptr<Event> event =
        event_handle ? Runtime::get().event(event_handle) : nullptr;
    if (!event) return cudaErrorInvalidResourceHandle;
    if (flags & ~unsigned(cudaEventWaitExternal)) return cudaErrorInvalidValue;
    if (event->capture || stream.capture) return capture_wait(stream, *event);
    return submit(stream, {.kind = Command::Kind::wait, .event = event});
  });
}
TW_CUDA_EXPORT cudaError_t cudaStreamWaitEvent_ptsz(cudaStream_t s, cudaEvent_t event,
                                                    unsigned flags) {
  return cudaStreamWaitEvent(per_thread(s), event, flags);
}

cudaError_t cudaLaunchHostFunc(cudaStream_t handle, cudaHostFn_t function, void* data) {
  return with_stream(handle, [&](Context&, Stream& stream) -> cudaError_t {
    if (function == nullptr) return cudaErrorInvalidValue;
    return submit(stream, {.kind = Command::Kind::host_function, .work = [=] {
                             function(data);
                             return cudaSuccess;
                           }});
  });
}
TW_CUDA_EXPORT cudaError_t cudaLaunchHostFunc_ptsz(cudaStream_t s, cudaHostFn_t function,
                                                   void* data) {
  return cudaLaunchHostFunc(per_thread(s), function, data);
}

cudaError_t cudaStreamAddCallback(cudaStream_t handle, cudaStreamCallback_t callback, void* data,
                                  unsigned flags) {
  return with_stream(handle, [&](Context& context, Stream& stream) -> cudaError_t {
    if (callback == nullptr || flags != 0) return cudaErrorInvalidValue;
    if (stream.capture) return invalidate_capture(stream);
    Context* const c = &context;
    return submit(stream, {.kind = Command::Kind::host_function, .work = [=] {
                             callback(handle, c->sticky(), data);
                             return cudaSuccess;
                           }});
  });
}
TW_CUDA_EXPORT cudaError_t cudaStreamAddCallback_ptsz(cudaStream_t s, cudaStreamCallback_t callback,
                                                      void* data, unsigned flags) {
  return cudaStreamAddCallback(per_thread(s), callback, data, flags);
}

cudaError_t cudaEventCreate(cudaEvent_t* out) { return create_event(out, cudaEventDefault); }
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* out, unsigned flags) {
  return create_event(out, flags);
}

cudaError_t cudaEventDestroy(cudaEvent_t handle) {
  return with_context([&](Context&) {
    return Runtime::get().remove(handle) ? cudaSuccess : cudaErrorInvalidResourceHandle;
  });
}

cudaError_t cudaEventRecord(cudaEvent_t handle, cudaStream_t stream_handle) {
  return with_stream(stream_handle, [&](Context&, Stream& stream) -> cudaError_t {
    const std::shared_ptr<Event> event = handle ? Runtime::get().event(handle) : nullptr;
    if (!event) return cudaErrorInvalidResourceHandle;
    if (stream.capture) return capture_record(stream, *event);
    event->capture = nullptr;
    return submit(stream, {.kind = Command::Kind::record, .event = event});
  });
}
TW_CUDA_EXPORT cudaError_t cudaEventRecord_ptsz(cudaEvent_t event, cudaStream_t s) {
  return cudaEventRecord(event, per_thread(s));
}
cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t s, unsigned flags) {
  if (flags & ~unsigned(cudaEventRecordExternal)) return note(cudaErrorInvalidValue);
  return cudaEventRecord(event, s);
}
TW_CUDA_EXPORT cudaError_t cudaEventRecordWithFlags_ptsz(cudaEvent_t event, cudaStream_t s,
                                                         unsigned flags) {
  return cudaEventRecordWithFlags(event, per_thread(s), flags);
}

cudaError_t cudaEventSynchronize(cudaEvent_t handle) {
  return with_event(handle,
                    [](Context& context, const std::shared_ptr<Event>& event) -> cudaError_t {
                      if (event->capture) return cudaErrorCapturedEvent;
                      if (const auto recording = Runtime::get().scheduler.last_recording(*event))
                        Runtime::get().scheduler.wait(*recording);
                      return context.sticky();
                    });
}

cudaError_t cudaEventQuery(cudaEvent_t handle) {
  return with_event(handle, [](Context&, const std::shared_ptr<Event>& event) -> cudaError_t {
    if (event->capture) return cudaErrorCapturedEvent;
    const auto recording = Runtime::get().scheduler.last_recording(*event);
    if (recording && !recording->done) return cudaErrorNotReady;
    if (HostObserver* observer = host_observer(); observer != nullptr && recording)
      observer->host_waited_for(recording.get());
    return cudaSuccess;
  });
}

// The host's clock between the points where the two events completed: what the emulation took.
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t first, cudaEvent_t second) {
  return with_event(first, [&](Context&, const std::shared_ptr<Event>& start) -> cudaError_t {
    const std::shared_ptr<Event> end = second ? Runtime::get().event(second) : nullptr;
    if (!end) return cudaErrorInvalidResourceHandle;
    if (milliseconds == nullptr) return cudaErrorInvalidValue;
    const auto a = Runtime::get().scheduler.last_recording(*start),
               b = Runtime::get().scheduler.last_recording(*end);
    if (!a || !b || ((start->flags | end->flags) & cudaEventDisableTiming))
      return cudaErrorInvalidResourceHandle;
    if (!a->done || !b->done) return cudaErrorNotReady;
    *milliseconds = std::chrono::duration<float, std::milli>(b->when - a->when).count();
    return cudaSuccess;
  });
}
