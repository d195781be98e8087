#include "cudart/memory_advice.h"

#include <algorithm>

namespace tw::cudart {
namespace {

cudaError_t check(const void* pointer, size_t bytes, int device) {
  if (device != cudaCpuDeviceId && (device < 0 || device >= Runtime::get().device_count()))
    return cudaErrorInvalidDevice;
  const std::optional<Located> located = pointer ? locate(pointer) : std::nullopt;
  if (!located || located->allocation.kind != emu::AllocationKind::managed || bytes == 0)
    return cudaErrorInvalidValue;
  const uint64_t end = located->allocation.address + located->allocation.bytes;
  return bytes <= end - reinterpret_cast<uint64_t>(pointer) ? cudaSuccess : cudaErrorInvalidValue;
}

// What a range was told last, in the order of the calls.
struct Advice {
  enum class Kind : uint8_t { read_mostly, preferred, accessed_by, prefetched };
  uint64_t begin, end;
  Kind kind;
  int device;  // preferred, accessed_by, prefetched
  bool set;
};
struct AdviceTable {
  std::mutex mutex;
  std::vector<Advice> advice;
  static AdviceTable& get() {
    static AdviceTable* table = new AdviceTable;
    return *table;
  }
};

void remember(const void* pointer, size_t bytes, Advice::Kind kind, int device, bool set) {
  AdviceTable& table = AdviceTable::get();
  const std::lock_guard lock(table.mutex);
  const auto begin = reinterpret_cast<uint64_t>(pointer);
  // What is overwritten as a whole goes, so that a program that repeats itself does not fill memory.
  std::erase_if(table.advice, [&](const Advice& a) {
    return a.kind == kind && (kind != Advice::Kind::accessed_by || a.device == device) &&
           a.begin >= begin && a.end <= begin + bytes;
  });
  table.advice.push_back({begin, begin + bytes, kind, device, set});
}

// The device that all of the range was given, or cudaInvalidDeviceId.
int common_device(uint64_t begin, uint64_t end, Advice::Kind kind, int device) {
  AdviceTable& table = AdviceTable::get();
  const std::lock_guard lock(table.mutex);
  std::vector<uint64_t> starts{begin};
  for (const Advice& a : table.advice)
    for (const uint64_t edge : {a.begin, a.end})
      if (edge > begin && edge < end) starts.push_back(edge);
  std::optional<int> common;
  for (const uint64_t at : starts) {
    int here = cudaInvalidDeviceId;
    for (const Advice& a : table.advice)
      if (a.kind == kind && a.begin <= at && at < a.end &&
          (kind != Advice::Kind::accessed_by || a.device == device))
        here = a.set ? a.device : cudaInvalidDeviceId;
    if (common && *common != here) return cudaInvalidDeviceId;
    common = here;
  }
  return *common;
}

cudaError_t range_attribute(void* data, size_t bytes, cudaMemRangeAttribute attribute,
                            const void* pointer, size_t count) {
  if (data == nullptr || bytes == 0 || bytes % 4 != 0) return cudaErrorInvalidValue;
  if (const cudaError_t error = check(pointer, count, cudaCpuDeviceId); error != cudaSuccess)
    return error;
  const auto begin = reinterpret_cast<uint64_t>(pointer), end = begin + count;
  auto* out = static_cast<int*>(data);
  using enum Advice::Kind;
  if (attribute == cudaMemRangeAttributeAccessedBy) {
    size_t n = 0;
    for (int device = cudaCpuDeviceId; device < Runtime::get().device_count(); device++)
      if (n < bytes / 4 && common_device(begin, end, accessed_by, device) == device)
        out[n++] = device;
    while (n < bytes / 4) out[n++] = cudaInvalidDeviceId;
    return cudaSuccess;
  }
  if (bytes != 4) return cudaErrorInvalidValue;
  // Those of CUDA 12.2 and later have no name in older headers.
  constexpr int kPreferredType = 5, kPreferredId = 6, kPrefetchedType = 7, kPrefetchedId = 8;
  const auto type_of = [](int device) {
    return device == cudaInvalidDeviceId ? cudaMemLocationTypeInvalid
           : device == cudaCpuDeviceId   ? cudaMemLocationTypeHost
                                         : cudaMemLocationTypeDevice;
  };
  switch (int(attribute)) {
    case cudaMemRangeAttributeReadMostly:
      *out = common_device(begin, end, read_mostly, 0) != cudaInvalidDeviceId;
      return cudaSuccess;
    case cudaMemRangeAttributePreferredLocation:
    case kPreferredId: *out = common_device(begin, end, preferred, 0); return cudaSuccess;
    case cudaMemRangeAttributeLastPrefetchLocation:
    case kPrefetchedId: *out = common_device(begin, end, prefetched, 0); return cudaSuccess;
    case kPreferredType:
      *out = type_of(common_device(begin, end, preferred, 0));
      return cudaSuccess;
    case kPrefetchedType:
      *out = type_of(common_device(begin, end, prefetched, 0));
      return cudaSuccess;
    default: return cudaErrorInvalidValue;
  }
}

}  // namespace

void forget_advice(uint64_t address, uint64_t bytes) {
  AdviceTable& table = AdviceTable::get();
  const std::lock_guard lock(table.mutex);
  std::erase_if(table.advice,
                [&](const Advice& a) { return a.begin < address + bytes && address < a.end; });
}

cudaError_t advise(const void* pointer, size_t bytes, cudaMemoryAdvise advice, int device) {
  return with_context([&](Context&) -> cudaError_t {
    if (const cudaError_t error = check(pointer, bytes, device); error != cudaSuccess) return error;
    using enum Advice::Kind;
    switch (advice) {
      case cudaMemAdviseSetReadMostly:
      case cudaMemAdviseUnsetReadMostly:
        remember(pointer, bytes, read_mostly, 0, advice == cudaMemAdviseSetReadMostly);
        return cudaSuccess;
      case cudaMemAdviseSetPreferredLocation:
      case cudaMemAdviseUnsetPreferredLocation:
        remember(pointer, bytes, preferred, device, advice == cudaMemAdviseSetPreferredLocation);
        return cudaSuccess;
      case cudaMemAdviseSetAccessedBy:
      case cudaMemAdviseUnsetAccessedBy:
        remember(pointer, bytes, accessed_by, device, advice == cudaMemAdviseSetAccessedBy);
        return cudaSuccess;
      default: return cudaErrorInvalidValue;
    }
  });
}

cudaError_t prefetch(const void* pointer, size_t bytes, int device, unsigned flags,
                     cudaStream_t stream) {
  return with_stream(stream, [&](Context&, Stream&) -> cudaError_t {
    if (flags != 0) return cudaErrorInvalidValue;
    if (const cudaError_t error = check(pointer, bytes, device); error != cudaSuccess) return error;
    remember(pointer, bytes, Advice::Kind::prefetched, device, true);
    return cudaSuccess;
  });
}

}  // namespace tw::cudart

using namespace tw::cudart;

cudaError_t cudaMemRangeGetAttribute(void* data, size_t bytes, cudaMemRangeAttribute attribute,
                                     const void* pointer, size_t count) {
  return with_context(
      [&](Context&) { return range_attribute(data, bytes, attribute, pointer, count); });
}

cudaError_t cudaMemRangeGetAttributes(void** data, size_t* bytes, cudaMemRangeAttribute* attributes,
                                      size_t n, const void* pointer, size_t count) {
  return with_context([&](Context&) -> cudaError_t {
    if (data == nullptr || bytes == nullptr || attributes == nullptr || n == 0)
      return cudaErrorInvalidValue;
    for (size_t i = 0; i < n; i++)
      if (const cudaError_t error =
              range_attribute(data[i], bytes[i], attributes[i], pointer, count);
          error != cudaSuccess)
        return error;
    return cudaSuccess;
  });
}
