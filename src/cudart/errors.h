// CUDA error codes: names, texts, and the error state of each thread.
//
// As observed on an H200 (driver 580, runtime 13.0): every call that fails sets the calling
// thread's last error; cudaGetLastError returns and clears it. A kernel fault is sticky: it stays
// with the device's context, so that every later call that touches the device returns it, until
// cudaDeviceReset. Tested by tests/unit/cudart/api_test.cpp and
// tests/e2e/programs/api_errors.cu.
#pragma once

#include <string>

#include "cudart/cuda_api.h"
#include "emu/device.h"

namespace tw::cudart {

const char* error_name(cudaError_t error);
const char* error_text(cudaError_t error);

// The code that CUDA gives a fault of this kind.
cudaError_t error_of_fault(emu::FaultKind kind);

cudaError_t& last_error();  // of the calling thread

// Returns `error`; when this thread notes its next one, observers hear the reason as well.
cudaError_t because(cudaError_t error, const std::string& reason);
void forget_reason();  // at the start of a call

// Returns `error` after noting it as the thread's last error, unless it is success or "not ready".
cudaError_t note(cudaError_t error);

}  // namespace tw::cudart
