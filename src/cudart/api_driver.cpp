// The driver's calls that programs reach through the runtime (cudaGetDriverEntryPoint): those that
// encode tensor maps. There is no other driver behind this runtime.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "cudart/api.h"
#include "cudart/diagnose.h"
#include "emu/tensor_map.h"

namespace tw::cudart {
namespace {

// CUresult, by cuda.h, which the build does not need.
constexpr int kDriverSuccess = 0, kDriverInvalidValue = 1, kDriverNotSupported = 801;

// Of CUtensorMapDataType, the bytes of an element; 0: not supported here.
uint32_t element_bytes(int type) {
  switch (type) {
    case 0: return 1;  // UINT8
    case 1:
    case 6:
    case 9: return 2;  // UINT16, FLOAT16, BFLOAT16
    case 2:
    case 3:
    case 7: return 4;  // UINT32, INT32, FLOAT32
    case 4:
    case 5:
    case 8: return 8;  // UINT64, INT64, FLOAT64
    default: return 0;
  }
}

// cuTensorMapEncodeTiled: what it refuses as invalid, and what is not supported here.
int encode_tiled(void* out, int type, uint32_t rank, void* address, const uint64_t* sizes,
                 const uint64_t* strides, const uint32_t* box, const uint32_t* steps,
                 int interleave, int swizzle, int /*l2_promotion*/, int fill) {
  const auto refuse = [](const char* what, int code) {
    complain_once(what, fmt::format("cuTensorMapEncodeTiled: {}", what));
    return code;
  };
  if (out == nullptr || sizes == nullptr || box == nullptr || steps == nullptr ||
      (rank > 1 && strides == nullptr) || reinterpret_cast<uintptr_t>(out) % 64 != 0)
    return refuse("a null pointer, or a map that does not lie on 64 bytes", kDriverInvalidValue);
  if (rank == 0 || rank > emu::kMaxTensorRank)
    return refuse("the rank must be from 1 to 5", kDriverInvalidValue);
  if (element_bytes(type) == 0)
    return refuse("elements of tf32, packed ones and floats that are flushed are not supported",
                  kDriverNotSupported);
  if (interleave != 0) return refuse("an interleaved layout is not supported", kDriverNotSupported);
  if (swizzle < 0 || swizzle > 3)
    return refuse("this swizzle is not supported", kDriverNotSupported);
  if (fill != 0) return refuse("a fill with NaN is not supported", kDriverNotSupported);
  emu::TensorMap map;
  map.magic = emu::TensorMap::kMagic;
  map.element_bytes = uint8_t(element_bytes(type));
  map.rank = uint8_t(rank);
  map.swizzle_pieces = uint8_t(1 << swizzle);
  map.address = reinterpret_cast<uint64_t>(address);
  map.stride[0] = map.element_bytes;
  for (uint32_t d = 0; d < rank; ++d) {
    if (sizes[d] == 0 || sizes[d] > uint64_t{1} << 32)
      return refuse("a size must be from 1 to 2^32", kDriverInvalidValue);
    if (steps[d] == 0 || steps[d] > 8)
      return refuse("an element stride must be from 1 to 8", kDriverInvalidValue);
    if (steps[d] != 1)
      return refuse("element strides other than 1 are not supported", kDriverNotSupported);
    map.size[d] = uint32_t(sizes[d] - 1);
    map.box[d] = uint16_t(std::min(box[d], 257u));
    if (d > 0) map.stride[d] = strides[d - 1];
  }
  if (const char* error = emu::error_of(map); *error != 0)
    return refuse(error, kDriverInvalidValue);
  std::memcpy(out, &map, sizeof map);
  return kDriverSuccess;
}

cudaError_t entry_point(const char* symbol, void** function,
                        cudaDriverEntryPointQueryResult* found) {
  if (symbol == nullptr || function == nullptr) return cudaErrorInvalidValue;
  *function = nullptr;
  if (std::strcmp(symbol, "cuTensorMapEncodeTiled") == 0)
    *function = reinterpret_cast<void*>(&encode_tiled);
  else
    complain_once(
        symbol, fmt::format("cudaGetDriverEntryPoint: '{}' of the driver is not emulated", symbol));
  if (found != nullptr)
    *found =
        *function != nullptr ? cudaDriverEntryPointSuccess : cudaDriverEntryPointSymbolNotFound;
  return *function != nullptr || found != nullptr ? cudaSuccess : cudaErrorSymbolNotFound;
}

}  // namespace
}  // namespace tw::cudart

using namespace tw::cudart;

cudaError_t cudaGetDriverEntryPoint(const char* symbol, void** function,
                                    unsigned long long /*flags*/,
                                    cudaDriverEntryPointQueryResult* found) {
  return guarded([&] { return entry_point(symbol, function, found); });
}
cudaError_t cudaGetDriverEntryPointByVersion(const char* symbol, void** function,
                                             unsigned int /*version*/, unsigned long long /*flags*/,
                                             cudaDriverEntryPointQueryResult* found) {
  return guarded([&] { return entry_point(symbol, function, found); });
}
TW_CUDA_EXPORT cudaError_t cudaGetDriverEntryPoint_ptsz(const char* symbol, void** function,
                                                        unsigned long long /*flags*/,
                                                        cudaDriverEntryPointQueryResult* found) {
  return guarded([&] { return entry_point(symbol, function, found); });
}
TW_CUDA_EXPORT cudaError_t cudaGetDriverEntryPointByVersion_ptsz(
    const char* symbol, void** function, unsigned int version, unsigned long long flags,
    cudaDriverEntryPointQueryResult* found) {
  return cudaGetDriverEntryPointByVersion(symbol, function, version, flags, found);
}
