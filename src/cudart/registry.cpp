#include "cudart/registry.h"

#include <algorithm>
#include <cstring>

#include "cudart/fatbin.h"

namespace tw::cudart {
namespace {

struct Wrapper {  // fatbinary_section.h
  uint32_t magic;
  uint32_t version;
  const uint8_t* data;
  const uint8_t* const* objects;  // version 2: the containers of the objects linked, up to a null
};

constexpr uint32_t kLinkedWrapperVersion = 2;  // FATBINC_LINK_VERSION

}  // namespace

Binary* Registry::add_binary(const void* wrapper) {
  auto binary = std::make_unique<Binary>();
  Wrapper fields;
  std::memcpy(&fields, wrapper, sizeof fields);
  if (fields.magic == kFatbinWrapperMagic) binary->container = fields.data;
  if (fields.magic == kFatbinWrapperMagic && fields.version == kLinkedWrapperVersion &&
      fields.objects != nullptr)
    for (const uint8_t* const* object = fields.objects; *object != nullptr; object++)
      binary->objects.push_back(*object);
  const std::lock_guard lock(mutex_);
  binaries_.push_back(std::move(binary));
  return binaries_.back().get();
}

Binary* Registry::add_library(std::string ptx) {
  auto binary = std::make_unique<Binary>();
  binary->text = std::move(ptx);
  const std::lock_guard lock(mutex_);
  binaries_.push_back(std::move(binary));
  return binaries_.back().get();
}

void Registry::remove_binary(Binary* binary) {
  const std::lock_guard lock(mutex_);
  const auto place = std::find_if(binaries_.begin(), binaries_.end(),
                                  [&](const auto& b) { return b.get() == binary; });
  if (place == binaries_.end()) return;
  for (const auto& function : binary->functions) {
    functions_.erase(function->host);
    functions_.erase(function.get());
  }
  for (const auto& variable : binary->variables) variables_.erase(variable->host);
  // The device may still hold kernels of it: the entry stays, out of reach.
  (void)place->release();
  binaries_.erase(place);
}

Function* Registry::add_function(Binary* binary, const void* host, const char* name) {
  const std::lock_guard lock(mutex_);
  binary->functions.push_back(std::make_unique<Function>(Function{host, name, binary}));
  Function* const function = binary->functions.back().get();
  if (host != nullptr) functions_[host] = function;
  functions_[function] = function;
  return function;
}

void Registry::add_variable(Binary* binary, const void* host, void** managed_slot, const char* name,
                            uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  auto variable = std::make_unique<Variable>(Variable{host, managed_slot, name, bytes, binary});
  variables_[host] = variable.get();
  binary->variables.push_back(std::move(variable));
}

Function* Registry::function(const void* host) {
  const std::lock_guard lock(mutex_);
  const auto place = functions_.find(host);
  return place == functions_.end() ? nullptr : place->second;
}

Variable* Registry::variable(const void* host) {
  const std::lock_guard lock(mutex_);
  const auto place = variables_.find(host);
  return place == variables_.end() ? nullptr : place->second;
}

}  // namespace tw::cudart
