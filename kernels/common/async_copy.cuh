// cp.async: copies from global to shared memory that pass no register, in groups that a thread
// commits and waits for.
//
// Problem: the instruction has no CUDA C++ spelling short of a library. Choice: one function each,
// named after the PTX manual's words. A copy that is not valid writes zeros and reads nothing (its
// address must still be one). Source: PTX ISA, "Data Movement and Conversion Instructions:
// cp.async". Tested by the ladder steps that use it (gemm/12 and on).
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace tw::ladder {

__device__ inline uint32_t shared_address_of(const void* pointer) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(pointer));
}

// Four bytes.
__device__ inline void copy_element(void* to, const void* from, bool valid) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(shared_address_of(to)),
               "l"(from), "r"(valid ? 4 : 0)
               : "memory");
}
// Sixteen bytes, both addresses multiples of 16; `valid_bytes` of them are read, the rest is zero.
__device__ inline void copy_sixteen(void* to, const void* from, int valid_bytes) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address_of(to)),
               "l"(from), "r"(valid_bytes)
               : "memory");
}
__device__ inline void copy_four(float* to, const float* from, bool valid) {
  copy_sixteen(to, from, valid ? 16 : 0);
}
__device__ inline void copy_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
// Until at most kPending of this thread's groups are under way.
template <int kPending> __device__ inline void copy_wait() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kPending) : "memory");
}

}  // namespace tw::ladder
