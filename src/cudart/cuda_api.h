// CUDA's own declarations, with default visibility: the build hides every symbol except these.
//
// Choice: the toolkit's header (any 12.x or 13.x) is included, so that the compiler checks each of
// our definitions against NVIDIA's declaration. Where the two ABIs differ (cudaDeviceProp, the
// graph calls with edge data, cudaMemAdvise, ...) the header would force one of them on both
// libraries: those calls are defined in abi/abi12.cpp and abi/abi13.cpp under their symbol names
// with types of their own, and the core never names cudaDeviceProp. The header is needed at build
// time only; set-up provides it together with nvcc.
#pragma once

#pragma GCC visibility push(default)
#include <cuda_runtime_api.h>
#pragma GCC visibility pop

// For entry points that the public header does not declare.
#define TW_CUDA_EXPORT extern "C" __attribute__((visibility("default")))
