// See tensor_map.h.
#include <cuda_runtime.h>

#include "gemm/lib/tensor_map.h"

namespace tw::gemm {
namespace {

using EncodeTiled = CUresult (*)(CUtensorMap*, CUtensorMapDataType, cuuint32_t, void*,
                                 const cuuint64_t*, const cuuint64_t*, const cuuint32_t*,
                                 const cuuint32_t*, CUtensorMapInterleave, CUtensorMapSwizzle,
                                 CUtensorMapL2promotion, CUtensorMapFloatOOBfill);

// The driver's encoder, looked up at run time so that nothing links libcuda.
EncodeTiled encoder() {
  static const EncodeTiled function = [] {
    void* entry = nullptr;
    cudaDriverEntryPointQueryResult found{};
    if (cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &entry, 12000, cudaEnableDefault,
                                         &found) != cudaSuccess ||
        found != cudaDriverEntryPointSuccess) {
      entry = nullptr;
    }
    return reinterpret_cast<EncodeTiled>(entry);
  }();
  return function;
}

CUtensorMapDataType map_type(Element element) {
  switch (element) {
    case Element::kBf16: return CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
    case Element::kF16: return CU_TENSOR_MAP_DATA_TYPE_FLOAT16;
    case Element::kF32: return CU_TENSOR_MAP_DATA_TYPE_FLOAT32;
    // The copy rounds to tf32 (to nearest); the tensor core would only drop the low bits.
    case Element::kTf32: return CU_TENSOR_MAP_DATA_TYPE_TFLOAT32;
    default: return CU_TENSOR_MAP_DATA_TYPE_UINT8;
  }
}

}  // namespace

bool encode_lines(CUtensorMap* map, const Lines& lines, int box_x, int box_y, Swizzle swizzle) {
  if (encoder() == nullptr) return false;
  const auto bytes = static_cast<cuuint64_t>(element_bytes(lines.element));
  const cuuint64_t sizes[3] = {static_cast<cuuint64_t>(lines.length),
                               static_cast<cuuint64_t>(lines.count),
                               static_cast<cuuint64_t>(lines.batches)};
  const cuuint64_t pitch = static_cast<cuuint64_t>(lines.pitch) * bytes;
  const cuuint64_t strides[2] = {
      pitch, lines.batches > 1 ? static_cast<cuuint64_t>(lines.batch_stride) * bytes : pitch};
  const cuuint32_t box[3] = {static_cast<cuuint32_t>(box_x), static_cast<cuuint32_t>(box_y), 1};
  const cuuint32_t steps[3] = {1, 1, 1};
  // Promotion to 256 bytes costs where lines do not start on 128 (4104 cubed in bf16: 543 TFLOP/s,
  // with 128 bytes 628), and gains nothing elsewhere.
  return encoder()(map, map_type(lines.element), 3, const_cast<void*>(lines.data), sizes, strides,
                   box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE,
                   swizzle == Swizzle::k128  ? CU_TENSOR_MAP_SWIZZLE_128B
                   : swizzle == Swizzle::k64 ? CU_TENSOR_MAP_SWIZZLE_64B
                                             : CU_TENSOR_MAP_SWIZZLE_NONE,
                   CU_TENSOR_MAP_L2_PROMOTION_L2_128B,
                   CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) == CUDA_SUCCESS;
}

}  // namespace tw::gemm
