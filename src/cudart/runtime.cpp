#include "cudart/runtime.h"

#include <fmt/format.h>
#include <pthread.h>

#include <cstdio>
#include <cstdlib>

#include "cudart/diagnose.h"
#include "cudart/errors.h"
#include "cudart/host_fault.h"
#include "cudart/watch.h"

namespace tw::cudart {
namespace {

// The per-thread default stream of each device; given back when the thread ends.
struct ThreadStreams {
  std::vector<std::shared_ptr<Stream>> by_ordinal;
  ~ThreadStreams() {
    if (Runtime::get().forked()) return;
    for (const auto& stream : by_ordinal)
      if (stream) Runtime::get().scheduler.destroy_stream(stream);
  }
};

void print_device_text(std::string_view text) {
  // Through stdio, so that it mixes with the program's own output in order.
  std::fwrite(text.data(), 1, text.size(), stdout);
}

}  // namespace

Runtime::Runtime() {
  pthread_atfork(nullptr, nullptr, [] {
    Runtime& runtime = get();
    if (runtime.used_) runtime.forked_ = true;
  });
}

Runtime& Runtime::get() {
  static Runtime* runtime = new Runtime;
  return *runtime;
}

cudaError_t Runtime::load_settings() {
  if (settings_read_) return settings_error_;
  settings_read_ = true;
  Result<Settings> settings = Settings::from_environment();
  if (!settings) {
    complain(settings.error().to_string());
    return settings_error_ = cudaErrorInitializationError;
  }
  settings_ = *settings;
  Result<model::DeviceSpec> spec = backend_spec(settings_.gpu);
  if (!spec) {
    complain(spec.error().to_string());
    return settings_error_ = cudaErrorNoDevice;
  }
  spec_ = *spec;
  if (settings_.device_memory != 0) spec_.memory_bytes = settings_.device_memory;
  contexts_.resize(settings_.devices);
  return cudaSuccess;
}

cudaError_t Runtime::spec(const model::DeviceSpec*& spec) {
  const std::lock_guard lock(mutex_);
  const cudaError_t error = load_settings();
  spec = &spec_;
  return error;
}

int Runtime::device_count() {
  const std::lock_guard lock(mutex_);
  return load_settings() == cudaSuccess ? int(settings_.devices) : 0;
}

cudaError_t Runtime::context(int ordinal, Context*& context) {
  const std::lock_guard lock(mutex_);
  if (const cudaError_t error = load_settings(); error != cudaSuccess) return error;
  if (ordinal < 0 || ordinal >= int(contexts_.size())) return cudaErrorInvalidDevice;
  if (!contexts_[size_t(ordinal)]) {
    emu::DeviceOptions options;
    options.ordinal = uint32_t(ordinal);
    options.threads = settings_.threads;
    options.memory_bytes = settings_.device_memory;
    options.order_any = settings_.order_any;
    options.schedule = settings_.schedule;
    options.on_printf = print_device_text;
    Result<std::unique_ptr<emu::Device>> device = backend_create(spec_, std::move(options));
    if (!device) {
      complain_once("create", fmt_error("cannot create the device", device.error()));
      return cudaErrorInitializationError;
    }
    if (!used_.exchange(true)) {
      std::atexit([] { get().at_exit(); });
      install_host_fault_handler();
      start_watch();
    }
    for (const auto& [pointer, shared] : shared_)
      (void)(*device)->register_host(pointer, shared.bytes).ok();
    contexts_[size_t(ordinal)] = std::make_unique<Context>(ordinal, std::move(*device));
  }
  context = contexts_[size_t(ordinal)].get();
  return cudaSuccess;
}

cudaError_t Runtime::current(Context*& context_out) {
  return context(current_ordinal(), context_out);
}

std::vector<Context*> Runtime::contexts() {
  const std::lock_guard lock(mutex_);
  std::vector<Context*> result;
  for (const auto& context : contexts_)
    if (context) result.push_back(context.get());
  return result;
}

void Runtime::share(const Context& owner, void* pointer, uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  if (contexts_.size() < 2) return;
  shared_[pointer] = {owner.ordinal, bytes};
  for (const auto& context : contexts_)
    if (context && context.get() != &owner)
      (void)context->device().register_host(pointer, bytes).ok();
}

void Runtime::unshare(void* pointer) {
  const std::lock_guard lock(mutex_);
  const auto place = shared_.find(pointer);
  if (place == shared_.end()) return;
  for (const auto& context : contexts_)
    if (context && context->ordinal != place->second.owner)
      (void)context->device().free(reinterpret_cast<uint64_t>(pointer)).ok();
  shared_.erase(place);
}

std::optional<int> Runtime::owner_of_shared(const void* pointer) {
  const std::lock_guard lock(mutex_);
  const auto place = shared_.find(const_cast<void*>(pointer));
  return place == shared_.end() ? std::nullopt : std::optional(place->second.owner);
}

int& Runtime::current_ordinal() {
  thread_local int ordinal = 0;
  return ordinal;
}

void Runtime::at_exit() {
  if (forked_) return;
  scheduler.shut_down(std::chrono::seconds(2));
  stop_watch();
}

// ---- handles ------------------------------------------------------------------------------------

cudaStream_t Runtime::add(std::shared_ptr<Stream> stream) {
  const std::lock_guard lock(handle_mutex_);
  const auto handle = reinterpret_cast<cudaStream_t>(stream.get());
  streams_[handle] = std::move(stream);
  return handle;
}

std::shared_ptr<Stream> Runtime::stream(cudaStream_t handle, Context& current) {
  if (handle == nullptr || handle == cudaStreamLegacy)
    return {std::shared_ptr<void>(), &current.default_stream()};
  if (handle == cudaStreamPerThread) {
    thread_local ThreadStreams mine;
    if (mine.by_ordinal.size() <= size_t(current.ordinal))
      mine.by_ordinal.resize(size_t(current.ordinal) + 1);
    std::shared_ptr<Stream>& stream = mine.by_ordinal[size_t(current.ordinal)];
    if (!stream) stream = scheduler.create_stream(current, cudaStreamDefault, 0, false);
    return stream;
  }
  const std::lock_guard lock(handle_mutex_);
  const auto place = streams_.find(handle);
  return place == streams_.end() ? nullptr : place->second;
}

bool Runtime::remove(cudaStream_t handle, std::shared_ptr<Stream>& stream) {
  const std::lock_guard lock(handle_mutex_);
  const auto place = streams_.find(handle);
  if (place == streams_.end()) return false;
  stream = std::move(place->second);
  streams_.erase(place);
  return true;
}

cudaEvent_t Runtime::add(std::shared_ptr<Event> event) {
  const std::lock_guard lock(handle_mutex_);
  const auto handle = reinterpret_cast<cudaEvent_t>(event.get());
  events_[handle] = std::move(event);
  return handle;
}

std::shared_ptr<Event> Runtime::event(cudaEvent_t handle) {
  const std::lock_guard lock(handle_mutex_);
  const auto place = events_.find(handle);
  return place == events_.end() ? nullptr : place->second;
}

bool Runtime::remove(cudaEvent_t handle) {
  const std::lock_guard lock(handle_mutex_);
  return events_.erase(handle) != 0;
}

std::optional<Located> locate(const void* address) {
  const std::vector<Context*> contexts = Runtime::get().contexts();
  std::optional<Located> guest;
  for (Context* context : contexts)
    if (std::optional<emu::Allocation> allocation =
            context->device().find(reinterpret_cast<uint64_t>(address))) {
      if (contexts.size() > 1) {  // what several devices know belongs to one
        const std::optional<int> owner =
            Runtime::get().owner_of_shared(reinterpret_cast<void*>(allocation->address));
        if (owner && *owner != context->ordinal) continue;
        // A managed variable is host memory to the devices that found it loaded.
        if (!owner && allocation->kind == emu::AllocationKind::host) {
          if (!guest) guest = Located{*allocation, context};
          continue;
        }
      }
      return Located{*allocation, context};
    }
  return guest;
}

bool in_device_window(const void* address) {
  for (Context* context : Runtime::get().contexts())
    if (context->device().in_device_window(reinterpret_cast<uint64_t>(address))) return true;
  return false;
}

}  // namespace tw::cudart
