// The CPU transpose by instruction set, for the tests: transpose_host() takes the widest that the CPU
// has.
#pragma once

#include "tilewright/transpose.h"

namespace tilewright::detail {

// kAvx512: F, BW, VL and VBMI, which came together with Ice Lake and Zen 4; earlier AVX-512 takes the
// AVX2 path.
enum class HostIsa { kPortable, kAvx2, kAvx512 };

HostIsa host_isa();

// As transpose_host(). Precondition: isa <= host_isa().
Status transpose_host_with(HostIsa isa, const void* in, int64_t ld_in, void* out, int64_t ld_out,
                           int64_t rows, int64_t cols, int element_bytes, const Batch& batch,
                           int threads) noexcept;

}  // namespace tilewright::detail
