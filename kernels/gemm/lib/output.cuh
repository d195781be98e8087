// One element of C or D in global memory, of the type that the caller chose at run time.
//
// Tested by tilewright-bench gemm --suite verify.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "gemm/lib/wgmma_params.h"

namespace tw::gemm {

__device__ __forceinline__ float read_output(const void* c, int64_t i, Output o) {
  if (o == Output::kF32) return static_cast<const float*>(c)[i];
  if (o == Output::kBf16) return __bfloat162float(static_cast<const __nv_bfloat16*>(c)[i]);
  return __half2float(static_cast<const __half*>(c)[i]);
}

__device__ __forceinline__ void write_output(void* d, int64_t i, Output o, float v) {
  if (o == Output::kF32) {
    static_cast<float*>(d)[i] = v;
  } else if (o == Output::kBf16) {
    static_cast<__nv_bfloat16*>(d)[i] = __float2bfloat16(v);
  } else {
    static_cast<__half*>(d)[i] = __float2half(v);
  }
}

}  // namespace tw::gemm
