// Source of assembly.ptx (nvcc -ptx -arch=sm_90a): inline assembly with scopes, labels, predicates.
#include <cstdint>

__device__ __forceinline__ void wait(uint32_t barrier, uint32_t phase) {
  asm volatile(
      "{\n.reg .pred P1;\nWAIT:\nmbarrier.try_wait.parity.shared::cta.b64 P1, [%0], %1;\n@P1 bra "
      "DONE;\n"
      "bra WAIT;\nDONE:\n}\n" ::"r"(barrier),
      "r"(phase));
}

__global__ void assembly(float* c, const uint32_t* a, uint64_t descriptor, int on) {
  __shared__ uint32_t s[256];
  const uint32_t address = static_cast<uint32_t>(__cvta_generic_to_shared(s));
  wait(address, 0);
  wait(address + 8, 1);
  asm volatile(
      "cp.async.cg.shared.global.L2::128B [%0], [%1], "
      "16;\ncp.async.commit_group;\ncp.async.wait_group 0;" ::"r"(address),
      "l"(a));
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, "
      "%3}], [%0];" ::"r"(address),
      "l"(a), "r"(3), "r"(on));
  float d[8] = {};
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
      "{%0,%1,%2,%3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(a[4]), "r"(a[5]));
  asm volatile(
      "{\n.reg .pred p;\nsetp.ne.b32 p, %10, "
      "0;\nwgmma.mma_async.sync.aligned.m64n16k16.f32.bf16.bf16 "
      "{%0,%1,%2,%3,%4,%5,%6,%7}, %8, %9, p, 1, 1, 0, 0;\n}\n"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]),
        "+f"(d[7])
      : "l"(descriptor), "l"(descriptor + 2), "r"(on));
  uint64_t sum;
  asm("{ .reg .b32 lo, hi; mov.b64 {lo,hi}, %1; add.cc.u32 lo, lo, 1; addc.u32 hi, hi, 0; mov.b64 "
      "%0, {lo,hi}; }"
      : "=l"(sum)
      : "l"(descriptor));
  int flag;
  asm("{ .reg .pred p, q; setp.lt.and.s32 p|q, %1, 5, 1; selp.b32 %0, 1, 0, p; @!q add.s32 %0, %0, "
      "0x10U; }"
      : "=r"(flag)
      : "r"(on));
  for (int i = 0; i < 8; ++i) c[i] = d[i] + static_cast<float>(sum) + static_cast<float>(flag);
}
