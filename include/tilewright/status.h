// The error value of the GPU library. Every entry point returns one; nothing throws, prints or
// aborts. `argument` and `message` point to static text, so a Status is free to copy and needs no
// allocation, also while a stream is being captured.
//
// Tested by tests/unit/transpose/transpose_plan_test.cpp and `tilewright-bench transpose --suite
// verify`.
#pragma once

namespace tilewright {

enum class StatusCode : int {
  kOk = 0,
  kInvalidArgument = 1,  // `argument` names the parameter that is wrong
  kUnsupported = 2,      // valid, but not something this library or this GPU does
  kWorkspaceTooSmall = 3,
  kLaunchFailed = 4,  // the CUDA runtime refused the launch; `cuda_error` says why
};

struct [[nodiscard]] Status {
  StatusCode code = StatusCode::kOk;
  const char* argument = "";  // the parameter's name as in the declaration, or ""
  const char* message = "";   // one sentence
  int cuda_error = 0;         // cudaError_t of a failed launch, else 0

  bool ok() const { return code == StatusCode::kOk; }
  explicit operator bool() const { return ok(); }
};

}  // namespace tilewright
