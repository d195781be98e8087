// wgmma: the warpgroup's matrix instruction, D(64 x N, fp32 registers) += A(64 x 32 bytes) * B.
//
// Problem: an instruction takes up to 128 accumulator registers by name. Choice: one asm statement
// per N whose register list is a string literal; `Wgmma<T, N>` picks it. A and B come as
// shared-memory descriptors (`*_descriptor`), or A from registers. Accumulator layout (PTX ISA,
// wgmma m64nNk16 D fragment): warp w of the warpgroup holds rows 16w..16w+15; lane = 4g + t holds,
// for every group q of eight columns, d[4q], d[4q+1] = (row g, columns 8q+2t, 8q+2t+1) and d[4q+2],
// d[4q+3] = row g + 8.
//
// Macros: asm text must be a literal, constexpr cannot build it.
// Tested by tilewright-bench gemm --suite verify (results against a double reference for every
// shape, type and layout).
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include <cstdint>

namespace tw::gpu {

struct Tf32 {  // fp32 storage; the tensor core reads the upper 19 bits
  float value;
};

__device__ __forceinline__ void wgmma_fence() {
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}
__device__ __forceinline__ void wgmma_commit() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
template <int kPending> __device__ __forceinline__ void wgmma_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kPending) : "memory");
}

// Descriptor of a tile in the 128-byte swizzle. Fields (PTX ISA, "Matrix Descriptor Format"): bits
// 0-13 address/16, 16-29 leading offset/16, 32-45 stride offset/16, 62-63 swizzle mode (1 = 128
// bytes, 2 = 64).
//  K-major: rows of 128 bytes; 8 rows (1024 bytes) to the next group of rows; no leading offset.
__device__ __forceinline__ uint64_t k_major_descriptor(uint32_t address) {
  return (uint64_t{1} << 62) | (uint64_t{1024 >> 4} << 32) | (uint64_t{1} << 16) |
         ((address & 0x3ffff) >> 4);
}
//  MN-major: one row of 128 bytes (64 elements along M or N) per k; 8 k (1024 bytes) to the next
//  group of k; `panel_bytes` to the next 64 elements along M or N.
__device__ __forceinline__ uint64_t mn_major_descriptor(uint32_t address, uint32_t panel_bytes) {
  return (uint64_t{1} << 62) | (uint64_t{1024 >> 4} << 32) | (uint64_t{panel_bytes >> 4} << 16) |
         ((address & 0x3ffff) >> 4);
}

//  The same in the 64-byte swizzle: rows of 64 bytes (32 elements along M or N), one panel.
__device__ __forceinline__ uint64_t mn_major_descriptor_64(uint32_t address) {
  return (uint64_t{2} << 62) | (uint64_t{512 >> 4} << 32) | (uint64_t{1} << 16) |
         ((address & 0x3ffff) >> 4);
}

// clang-format off
#define TW_D4(i) "+f"(d[i]), "+f"(d[i+1]), "+f"(d[i+2]), "+f"(d[i+3])
#define TW_D8(i) "+f"(d[i]), "+f"(d[i+1]), "+f"(d[i+2]), "+f"(d[i+3]), "+f"(d[i+4]), "+f"(d[i+5]), "+f"(d[i+6]), "+f"(d[i+7])
#define TW_D32(i) TW_D8(i), TW_D8(i+8), TW_D8(i+16), TW_D8(i+24)
#define TW_OUT_16 TW_D8(0)
#define TW_OUT_32 TW_D8(0), TW_D8(8)
#define TW_OUT_48 TW_D8(0), TW_D8(8), TW_D8(16)
#define TW_OUT_64 TW_D32(0)
#define TW_OUT_80 TW_D32(0), TW_D8(32)
#define TW_OUT_96 TW_D32(0), TW_D8(32), TW_D8(40)
#define TW_OUT_112 TW_D32(0), TW_D8(32), TW_D8(40), TW_D8(48)
#define TW_OUT_128 TW_D32(0), TW_D32(32)
#define TW_OUT_160 TW_D32(0), TW_D32(32), TW_D8(64), TW_D8(72)
#define TW_OUT_168 TW_D32(0), TW_D32(32), TW_D8(64), TW_D8(72), TW_D4(80)
#define TW_OUT_176 TW_D32(0), TW_D32(32), TW_D8(64), TW_D8(72), TW_D8(80)
#define TW_OUT_192 TW_D32(0), TW_D32(32), TW_D32(64)
#define TW_OUT_256 TW_D32(0), TW_D32(32), TW_D32(64), TW_D32(96)
#define TW_REGS_16 "%0,%1,%2,%3,%4,%5,%6,%7"
#define TW_REGS_32 TW_REGS_16 ",%8,%9,%10,%11,%12,%13,%14,%15"
#define TW_REGS_48 TW_REGS_32 ",%16,%17,%18,%19,%20,%21,%22,%23"
#define TW_REGS_64 "%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31"
#define TW_REGS_80 TW_REGS_64 ",%32,%33,%34,%35,%36,%37,%38,%39"
#define TW_REGS_96 TW_REGS_64 ",%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47"
#define TW_REGS_112 TW_REGS_96 ",%48,%49,%50,%51,%52,%53,%54,%55"
#define TW_REGS_128 TW_REGS_64 ",%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47,%48,%49,%50,%51,%52,%53,%54,%55,%56,%57,%58,%59,%60,%61,%62,%63"
#define TW_REGS_160 TW_REGS_128 ",%64,%65,%66,%67,%68,%69,%70,%71,%72,%73,%74,%75,%76,%77,%78,%79"
#define TW_REGS_168 TW_REGS_160 ",%80,%81,%82,%83"
#define TW_REGS_176 TW_REGS_160 ",%80,%81,%82,%83,%84,%85,%86,%87"
#define TW_REGS_192 TW_REGS_128 ",%64,%65,%66,%67,%68,%69,%70,%71,%72,%73,%74,%75,%76,%77,%78,%79,%80,%81,%82,%83,%84,%85,%86,%87,%88,%89,%90,%91,%92,%93,%94,%95"
#define TW_REGS_256 TW_REGS_192 ",%96,%97,%98,%99,%100,%101,%102,%103,%104,%105,%106,%107,%108,%109,%110,%111,%112,%113,%114,%115,%116,%117,%118,%119,%120,%121,%122,%123,%124,%125,%126,%127"

// Both operands from shared memory; P0.. are the operand numbers after the accumulators. `kTransA/B`: 1 = MN-major.
#define TW_WGMMA_SS(N, KIND, P0, P1, P2, P3, P4)                                                      \
  asm volatile("{ .reg .pred p; setp.ne.b32 p, %" #P2 ", 0;\n"                                        \
               "wgmma.mma_async.sync.aligned.m64n" #N KIND " {" TW_REGS_##N "}, %" #P0 ", %" #P1      \
               ", p, 1, 1, %" #P3 ", %" #P4 "; }"                                                     \
               : TW_OUT_##N : "l"(a), "l"(b), "r"(accumulate), "n"(kTransA), "n"(kTransB))
// The same for types that are K-major only (no transpose operands).
#define TW_WGMMA_SK(N, KIND, P0, P1, P2)                                                              \
  asm volatile("{ .reg .pred p; setp.ne.b32 p, %" #P2 ", 0;\n"                                        \
               "wgmma.mma_async.sync.aligned.m64n" #N KIND " {" TW_REGS_##N "}, %" #P0 ", %" #P1      \
               ", p, 1, 1; }"                                                                         \
               : TW_OUT_##N : "l"(a), "l"(b), "r"(accumulate))
// A from four registers.
#define TW_WGMMA_RS(N, KIND, P0, P1, P2, P3, P4, P5, P6)                                              \
  asm volatile("{ .reg .pred p; setp.ne.b32 p, %" #P5 ", 0;\n"                                        \
               "wgmma.mma_async.sync.aligned.m64n" #N KIND " {" TW_REGS_##N "}, {%" #P0 ", %" #P1     \
               ", %" #P2 ", %" #P3 "}, %" #P4 ", p, 1, 1, %" #P6 "; }"                                \
               : TW_OUT_##N : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(accumulate), "n"(kTransB))

#define TW_WGMMA_SS_ALL(KIND)                                                       \
  if constexpr (N == 16) TW_WGMMA_SS(16, KIND, 8, 9, 10, 11, 12);                   \
  else if constexpr (N == 32) TW_WGMMA_SS(32, KIND, 16, 17, 18, 19, 20);            \
  else if constexpr (N == 48) TW_WGMMA_SS(48, KIND, 24, 25, 26, 27, 28);            \
  else if constexpr (N == 64) TW_WGMMA_SS(64, KIND, 32, 33, 34, 35, 36);                 \
  else if constexpr (N == 80) TW_WGMMA_SS(80, KIND, 40, 41, 42, 43, 44);            \
  else if constexpr (N == 96) TW_WGMMA_SS(96, KIND, 48, 49, 50, 51, 52);            \
  else if constexpr (N == 112) TW_WGMMA_SS(112, KIND, 56, 57, 58, 59, 60);          \
  else if constexpr (N == 128) TW_WGMMA_SS(128, KIND, 64, 65, 66, 67, 68);          \
  else if constexpr (N == 160) TW_WGMMA_SS(160, KIND, 80, 81, 82, 83, 84);          \
  else if constexpr (N == 168) TW_WGMMA_SS(168, KIND, 84, 85, 86, 87, 88);          \
  else if constexpr (N == 176) TW_WGMMA_SS(176, KIND, 88, 89, 90, 91, 92);          \
  else if constexpr (N == 192) TW_WGMMA_SS(192, KIND, 96, 97, 98, 99, 100);         \
  else TW_WGMMA_SS(256, KIND, 128, 129, 130, 131, 132)
#define TW_WGMMA_SK_ALL(KIND)                                                       \
  if constexpr (N == 16) TW_WGMMA_SK(16, KIND, 8, 9, 10);                           \
  else if constexpr (N == 32) TW_WGMMA_SK(32, KIND, 16, 17, 18);                    \
  else if constexpr (N == 48) TW_WGMMA_SK(48, KIND, 24, 25, 26);                    \
  else if constexpr (N == 64) TW_WGMMA_SK(64, KIND, 32, 33, 34);                         \
  else if constexpr (N == 80) TW_WGMMA_SK(80, KIND, 40, 41, 42);                    \
  else if constexpr (N == 96) TW_WGMMA_SK(96, KIND, 48, 49, 50);                    \
  else if constexpr (N == 112) TW_WGMMA_SK(112, KIND, 56, 57, 58);                  \
  else if constexpr (N == 128) TW_WGMMA_SK(128, KIND, 64, 65, 66);                  \
  else if constexpr (N == 160) TW_WGMMA_SK(160, KIND, 80, 81, 82);                  \
  else if constexpr (N == 168) TW_WGMMA_SK(168, KIND, 84, 85, 86);                  \
  else if constexpr (N == 176) TW_WGMMA_SK(176, KIND, 88, 89, 90);                  \
  else if constexpr (N == 192) TW_WGMMA_SK(192, KIND, 96, 97, 98);                  \
  else TW_WGMMA_SK(256, KIND, 128, 129, 130)
#define TW_WGMMA_RS_ALL(KIND)                                                       \
  if constexpr (N == 64) TW_WGMMA_RS(64, KIND, 32, 33, 34, 35, 36, 37, 38);         \
  else if constexpr (N == 128) TW_WGMMA_RS(128, KIND, 64, 65, 66, 67, 68, 69, 70);  \
  else if constexpr (N == 192) TW_WGMMA_RS(192, KIND, 96, 97, 98, 99, 100, 101, 102); \
  else TW_WGMMA_RS(256, KIND, 128, 129, 130, 131, 132, 133, 134)
// clang-format on

// `accumulate` 0 overwrites D. `kTrans*`: 0 = K-major, 1 = MN-major.
template <class TA, class TB, int N, int kTransA, int kTransB>
__device__ __forceinline__ void wgmma(float (&d)[N / 2], uint64_t a, uint64_t b, int accumulate) {
  static_assert(N == 16 || N == 32 || N == 48 || N == 64 || N == 80 || N == 96 || N == 112 ||
                    N == 128 || N == 160 || N == 168 || N == 176 || N == 192 || N == 256,
                "only these widths have an asm statement");
  if constexpr (sizeof(TA) != 2) {
    static_assert(kTransA == 0 && kTransB == 0,
                  "only 16-bit types may be MN-major (PTX ISA, wgmma)");
  }
  if constexpr (std::is_same_v<TA, __nv_bfloat16>) {
    TW_WGMMA_SS_ALL("k16.f32.bf16.bf16");
  } else if constexpr (std::is_same_v<TA, __half>) {
    TW_WGMMA_SS_ALL("k16.f32.f16.f16");
  } else if constexpr (std::is_same_v<TA, Tf32>) {
    TW_WGMMA_SK_ALL("k8.f32.tf32.tf32");
  } else if constexpr (std::is_same_v<TA, __nv_fp8_e4m3> && std::is_same_v<TB, __nv_fp8_e4m3>) {
    TW_WGMMA_SK_ALL("k32.f32.e4m3.e4m3");
  } else if constexpr (std::is_same_v<TA, __nv_fp8_e4m3> && std::is_same_v<TB, __nv_fp8_e5m2>) {
    TW_WGMMA_SK_ALL("k32.f32.e4m3.e5m2");
  } else if constexpr (std::is_same_v<TA, __nv_fp8_e5m2> && std::is_same_v<TB, __nv_fp8_e4m3>) {
    TW_WGMMA_SK_ALL("k32.f32.e5m2.e4m3");
  } else {
    static_assert(std::is_same_v<TA, __nv_fp8_e5m2>, "not a wgmma type");
    TW_WGMMA_SK_ALL("k32.f32.e5m2.e5m2");
  }
}

// A from registers (16-bit types): a[0], a[1] = rows g, g + 8 at k = 2t, 2t+1; a[2], a[3] at k =
// 2t+8, 2t+9.
template <class T, int N, int kTransB>
__device__ __forceinline__ void wgmma_register_a(float (&d)[N / 2], const uint32_t (&a)[4],
                                                 uint64_t b, int accumulate) {
  static_assert(sizeof(T) == 2, "the register form is only used for 16-bit types");
  if constexpr (std::is_same_v<T, __nv_bfloat16>) {
    TW_WGMMA_RS_ALL("k16.f32.bf16.bf16");
  } else {
    TW_WGMMA_RS_ALL("k16.f32.f16.f16");
  }
}

}  // namespace tw::gpu
