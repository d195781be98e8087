// Connects the runtime to the engine and the device files. Separate from the core so that unit
// tests can put a test double in its place.
#include "cudart/runtime.h"
#include "observe/checkers/attach.h"
#include "observe/counters/environment.h"

namespace tw::cudart {

Result<model::DeviceSpec> backend_spec(const std::string& gpu) {
  return model::load_device_spec(gpu);
}

Result<std::unique_ptr<emu::Device>> backend_create(const model::DeviceSpec& spec,
                                                    emu::DeviceOptions options) {
  const Result<observe::CheckSession*> session = observe::attached_session();
  if (!session) return session.error();
  options.observers = *session;
  if (*session != nullptr) return emu::Device::create(spec, std::move(options));
  const Result<emu::ObserverSource*> counters = counters::source_from_environment(spec);
  if (!counters) return counters.error();
  options.observers = *counters;
  return emu::Device::create(spec, std::move(options));
}

}  // namespace tw::cudart
