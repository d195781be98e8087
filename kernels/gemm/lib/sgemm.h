// fp32 GEMM on the CUDA cores.
//
// Tested by tilewright-bench gemm --suite verify.
#pragma once

#include <cuda_runtime.h>

#include "gemm/lib/wgmma_launch.h"

namespace tw::gemm {

// The problem as for the tensor cores, but A, B and D may have any pitch and any address.
// `splits` > 1: D is fp32, `splits` matrices per batch one after the other.
// `tile`: one of model::kCudaCoreTiles.
cudaError_t launch_sgemm(const WgmmaProblem& problem, const model::GemmTile& tile,
                         const WgmmaSchedule& schedule, cudaStream_t stream);

// The same for MN-major operands that suit TMA; `tile`: one of model::kCudaCoreTmaTiles.
cudaError_t launch_sgemm_tma(const WgmmaProblem& problem, const model::GemmTile& tile,
                             const WgmmaSchedule& schedule, cudaStream_t stream);

// The same for up to model::kFmaNarrowMost columns, or rows (`turned`), and a wide operand that is
// MN-major.
cudaError_t launch_sgemm_narrow(const WgmmaProblem& problem, bool turned,
                                const WgmmaSchedule& schedule, cudaStream_t stream);

}  // namespace tw::gemm
