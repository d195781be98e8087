// Connects the runtime to the engine and the device files. Separate from the core so that unit
// tests can put a test double in its place.
#include "cudart/host_observer.h"
#include "cudart/runtime.h"
#include "observe/checkers/attach.h"
#include "observe/counters/environment.h"

namespace tw::cudart {
namespace {

class Checks final : public HostObserver {
 public:
  explicit Checks(observe::CheckSession& session) : session_(session) {}
  void call_failed(int code, const char* name, const char* text) override {
    session_.call_failed(code, name, text);
  }
  void launch_refused() override { session_.launch_refused(); }
  void error_asked(int code) override { session_.error_asked(code); }
  void invalid_free(uint64_t address, bool host) override { session_.invalid_free(address, host); }
  void host_fault(uint64_t address, bool write, uint64_t instruction) override {
    session_.host_fault(address, write, instruction);
  }
  bool managed_access(uint64_t address, bool write, uint64_t instruction) override {
    return session_.managed_access(address, write, instruction);
  }
  void managed_access_over() override { session_.managed_access_over(); }
  uint64_t submitted(uint64_t stream, StreamKind kind) override {
    return session_.submitted(stream, same(kind));
  }
  void submitted_end() override { session_.submitted_end(); }
  void work_begin(uint64_t operation) override { session_.work_begin(operation); }
  void work_end(uint64_t operation, bool host_waits) override {
    session_.work_end(operation, host_waits);
  }
  void recorded(const void* event, uint64_t stream, StreamKind kind) override {
    session_.streams([&](shadow::StreamOrder& o) { o.record(event, stream, same(kind)); });
  }
  void stream_waits(uint64_t stream, StreamKind kind, const void* event) override {
    session_.streams([&](shadow::StreamOrder& o) { o.wait(stream, same(kind), event); });
  }
  void host_waited(uint64_t stream, StreamKind kind) override {
    session_.streams([&](shadow::StreamOrder& o) { o.host_waits(stream, same(kind)); });
  }
  void host_waited_for(const void* event) override {
    session_.streams([&](shadow::StreamOrder& o) { o.host_waits_for_event(event); });
  }
  void host_waited_for_all() override {
    session_.streams([](shadow::StreamOrder& o) { o.host_waits_for_all(); });
  }

 private:
  static shadow::StreamKind same(StreamKind kind) {
    return kind == StreamKind::legacy     ? shadow::StreamKind::legacy
           : kind == StreamKind::blocking ? shadow::StreamKind::blocking
                                          : shadow::StreamKind::other;
  }
  observe::CheckSession& session_;
};

}  // namespace

Result<model::DeviceSpec> backend_spec(const std::string& gpu) {
  return model::load_device_spec(gpu);
}

Result<std::unique_ptr<emu::Device>> backend_create(const model::DeviceSpec& spec,
                                                    emu::DeviceOptions options) {
  const Result<observe::CheckSession*> session = observe::attached_session();
  if (!session) return session.error();
  options.observers = *session;
  if (*session != nullptr) set_host_observer(new Checks(**session));  // lives to the end
  if (*session != nullptr) return emu::Device::create(spec, std::move(options));
  const Result<emu::ObserverSource*> counters =
      counters::source_from_environment(spec, options.ordinal);
  if (!counters) return counters.error();
  options.observers = *counters;
  return emu::Device::create(spec, std::move(options));
}

}  // namespace tw::cudart
