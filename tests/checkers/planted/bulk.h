// What the planted cases of bulk copies and mbarriers are made of. Macros, so that a finding names the
// line of the kernel, not one here.
#pragma once

__device__ inline unsigned shared_offset(const void* p) {
  return unsigned(__cvta_generic_to_shared(p));
}
#define BULK_LOAD(to, from, bytes, barrier)                                                        \
  asm volatile(                                                                                    \
      "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%3], %2;\n"                                   \
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" :: \
          "r"(shared_offset(to)),                                                                  \
      "l"(from), "r"(unsigned(bytes)), "r"(shared_offset(barrier))                                 \
      : "memory")
#define MBARRIER_INIT(at, arrivals)                                                              \
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_offset(at)), "r"(arrivals) \
               : "memory")
#define MBARRIER_ARRIVE(at) \
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_offset(at)) : "memory")
#define MBARRIER_WAIT(at, parity)                                                        \
  asm volatile(                                                                          \
      "{ .reg .pred done;\nagain: mbarrier.try_wait.parity.shared::cta.b64 done, [%0], " \
      "%1;\n@!done "                                                                     \
      "bra again; }" ::"r"(shared_offset(at)),                                           \
      "r"(parity)                                                                        \
      : "memory")
