// wgmma in every form: types, swizzles, both majors of both factors, A from registers, scales; each
// against a sum on the host. Small integers, so that every sum is exact. Also run on an H200.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include <cstdint>
#include <cstdio>
#include <vector>

constexpr int kRows = 64, kColumns = 24, kRoom = 16384;  // bytes of shared memory for a factor

enum Type { kHalf, kHalfToHalf, kBfloat, kTf32, kE4m3E5m2, kS8U8, kBit };
struct Variant {
  Type type;
  int pieces;               // of 16 bytes in a line of the swizzle: 1 (none), 2, 4, 8
  bool across_a, across_b;  // M-major A, N-major B
  bool registers;           // A comes in registers
  bool accumulate;
  int scale_a = 1, scale_b = 1;
  int offset = 0;  // of the factors in their swizzle's line, bytes of k
  int lines = 0;   // lines of 128 bytes that the swizzle's pattern starts late
};

__host__ __device__ constexpr int element_bits(Type t) {
  return t == kTf32 ? 32 : t == kE4m3E5m2 || t == kS8U8 ? 8 : t == kBit ? 1 : 16;
}
__host__ __device__ constexpr int depth(Type t) { return 256 / element_bits(t); }

// Where byte `at` of k (across: element k) of a row lies.
__device__ int place(const Variant& v, bool across, int row, int k, int at) {
  const int line = 16 * v.pieces;
  int linear = 0;
  if (v.pieces == 1)
    return across ? row / 8 * 512 + k / 8 * 128 + k % 8 * 16 + row % 8 * 2
                  : row / 8 * 256 + at / 16 * 128 + row % 8 * 16 + at % 16;
  if (across)
    linear = row / (line / 2) * 2048 + k / 8 * (8 * line) + k % 8 * line + row % (line / 2) * 2;
  else
    linear = row / 8 * (8 * line) + row % 8 * line + at + v.offset;
  return (linear ^ ((linear >> 7 & (v.pieces - 1)) << 4)) + 128 * v.lines;
}

__device__ uint64_t descriptor(const Variant& v, bool across, uint32_t address) {
  const int line = 16 * v.pieces;
  uint64_t leading = 1, stride = 8 * line,
           mode = v.pieces == 1   ? 0
                  : v.pieces == 8 ? 1
                  : v.pieces == 4 ? 2
                                  : 3;
  if (v.pieces == 1)
    leading = 128, stride = across ? 512 : 256;
  else if (across)
    leading = 2048;
  address += v.offset + 128 * v.lines;
  return mode << 62 | uint64_t(v.lines) << 49 | (stride >> 4) << 32 | (leading >> 4) << 16 |
         (address & 0x3ffff) >> 4;
}

#define TW_D "{%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11}"
#define TW_OUT(c)                                                                           \
  c(d[0]), c(d[1]), c(d[2]), c(d[3]), c(d[4]), c(d[5]), c(d[6]), c(d[7]), c(d[8]), c(d[9]), \
      c(d[10]), c(d[11])
#define TW_FLOATS(x) "+f"(x)
#define TW_WORDS(x) "+r"(x)
#define TW_SHARED(shape, out, scales, ...)                                                   \
  asm volatile("{ .reg .pred p; setp.ne.b32 p, %14, 0;\nwgmma.mma_async.sync.aligned." shape \
               " " TW_D ", %12, %13, p" scales "; }"                                         \
               : out                                                                         \
               : "l"(a), "l"(b), "r"(accumulate)__VA_ARGS__)
#define TW_TURNS , "n"(kScaleA), "n"(kScaleB), "n"(kAcrossA), "n"(kAcrossB)
#define TW_SCALES , "n"(kScaleA), "n"(kScaleB)
#define TW_REGISTERS(shape, scales, ...)                                                     \
  asm volatile("{ .reg .pred p; setp.ne.b32 p, %17, 0;\nwgmma.mma_async.sync.aligned." shape \
               " " TW_D ", {%12,%13,%14,%15}, %16, p" scales "; }"                           \
               : TW_OUT(TW_FLOATS)                                                           \
               : "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3]), "l"(b), "r"(accumulate)__VA_ARGS__)

template <Type kType, bool kAcrossA, bool kAcrossB, int kScaleA, int kScaleB>
__global__ void product(Variant v, const uint8_t* factor_a, const uint8_t* factor_b, float* out) {
  extern __shared__ __align__(1024) unsigned char shared[];
  constexpr int kBytes = 32, kDepth = depth(kType);
  // Factors lie as rows of 32 bytes in global memory, elements in the order of k.
  for (int i = threadIdx.x; i < (kRows + kColumns) * kBytes; i += blockDim.x) {
    const bool second = i >= kRows * kBytes;
    const int j = second ? i - kRows * kBytes : i, row = j / kBytes, at = j % kBytes;
    const bool across = second ? kAcrossB : kAcrossA;
    const int to = place(v, across, row, at / 2, at) + (across ? at % 2 : 0);
    shared[(second ? kRoom : 0) + to] = second ? factor_b[j] : factor_a[j];
  }
  float d[12];
  for (int i = 0; i < 12; ++i)
    d[i] = kType == kS8U8 || kType == kBit ? __int_as_float(i) : float(i);
  if (kType == kHalfToHalf)
    for (int i = 0; i < 6; ++i) d[i] = __uint_as_float(0x3c004000 + 0x10001 * 0);  // halves 2, 1
  const uint32_t base = uint32_t(__cvta_generic_to_shared(shared));
  const uint64_t a = descriptor(v, kAcrossA, base), b = descriptor(v, kAcrossB, base + kRoom);
  const int accumulate = v.accumulate, lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  uint32_t r[4];
  for (int i = 0; i < 4; ++i) {
    const int row = 16 * warp + lane / 4 + i % 2 * 8, at = lane % 4 * 4 + i / 2 * 16;
    r[i] = *reinterpret_cast<const uint32_t*>(factor_a + row * kBytes + at);
  }
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
  if constexpr (kType == kBfloat) {
    if (v.registers)
      TW_REGISTERS("m64n24k16.f32.bf16.bf16", ", %18, %19, %20", , "n"(kScaleA), "n"(kScaleB),
                   "n"(kAcrossB));
    else
      TW_SHARED("m64n24k16.f32.bf16.bf16", TW_OUT(TW_FLOATS), ", %15, %16, %17, %18", TW_TURNS);
  } else if constexpr (kType == kHalf) {
    TW_SHARED("m64n24k16.f32.f16.f16", TW_OUT(TW_FLOATS), ", %15, %16, %17, %18", TW_TURNS);
  } else if constexpr (kType == kHalfToHalf) {
    uint32_t h[6];
    for (int i = 0; i < 6; ++i) h[i] = __float_as_uint(d[i]);
    asm volatile(
        "{ .reg .pred p; setp.ne.b32 p, %8, 0;\nwgmma.mma_async.sync.aligned.m64n24k16.f16.f16.f16 "
        "{%0,%1,%2,%3,%4,%5}, %6, %7, p, 1, 1, %9, %10; }"
        : "+r"(h[0]), "+r"(h[1]), "+r"(h[2]), "+r"(h[3]), "+r"(h[4]), "+r"(h[5])
        : "l"(a), "l"(b), "r"(accumulate), "n"(kAcrossA), "n"(kAcrossB));
    asm volatile("wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;" ::: "memory");
    for (int i = 0; i < 6; ++i) {
      asm volatile("" : "+r"(h[i])::"memory");
      d[2 * i] = __half2float(__ushort_as_half(h[i] & 0xffff));
      d[2 * i + 1] = __half2float(__ushort_as_half(h[i] >> 16));
    }
  } else if constexpr (kType == kTf32) {
    if (v.registers)
      TW_REGISTERS("m64n24k8.f32.tf32.tf32", ", %18, %19", TW_SCALES);
    else
      TW_SHARED("m64n24k8.f32.tf32.tf32", TW_OUT(TW_FLOATS), ", %15, %16", TW_SCALES);
  } else if constexpr (kType == kE4m3E5m2) {
    TW_SHARED("m64n24k32.f32.e4m3.e5m2", TW_OUT(TW_FLOATS), ", %15, %16", TW_SCALES);
  } else {
    uint32_t w[12];
    for (int i = 0; i < 12; ++i) w[i] = __float_as_uint(d[i]);
    uint32_t(&d)[12] = w;
    if constexpr (kType == kS8U8)
      TW_SHARED("m64n24k32.s32.s8.u8.satfinite", TW_OUT(TW_WORDS), "");
    else
      TW_SHARED("m64n24k256.s32.b1.b1.and.popc", TW_OUT(TW_WORDS), "");
    asm volatile("wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;" ::: "memory");
    for (int i = 0; i < 12; ++i) asm volatile("" : "+r"(w[i])::"memory");
    for (int q = 0; q < 3; ++q)
      for (int i = 0; i < 4; ++i)
        out[(16 * warp + lane / 4 + i / 2 * 8) * kColumns + 8 * q + lane % 4 * 2 + i % 2] =
            float(int(w[4 * q + i]));
    return;
  }
  asm volatile("wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;" ::: "memory");
  for (int i = 0; i < 12; ++i) asm volatile("" : "+f"(d[i])::"memory");
  for (int q = 0; q < 3; ++q)
    for (int i = 0; i < 4; ++i)
      out[(16 * warp + lane / 4 + i / 2 * 8) * kColumns + 8 * q + lane % 4 * 2 + i % 2] =
          d[4 * q + i];
}

// The byte, or bytes, of a small number; and the number.
void put(Type t, bool second, uint8_t* row, int k, int value) {
  const int at = k * element_bits(t) / 8;
  if (t == kTf32) {
    const float f = float(value);
    memcpy(row + at, &f, 4);
  } else if (t == kBfloat) {
    const __nv_bfloat16 b(static_cast<float>(value));
    memcpy(row + at, &b, 2);
  } else if (t == kHalf || t == kHalfToHalf) {
    const __half h(static_cast<float>(value));
    memcpy(row + at, &h, 2);
  } else if (t == kE4m3E5m2 && !second) {
    const __nv_fp8_e4m3 e(static_cast<float>(value));
    memcpy(row + at, &e, 1);
  } else if (t == kE4m3E5m2) {
    const __nv_fp8_e5m2 e(static_cast<float>(value));
    memcpy(row + at, &e, 1);
  } else if (t == kS8U8) {
    row[at] = uint8_t(int8_t(value));
  } else {
    row[at] |= uint8_t(value << k % 8);
  }
}

template <Type kType, bool kAcrossA = false, bool kAcrossB = false, int kScaleA = 1,
          int kScaleB = 1>
void run(const char* name, int pieces, bool registers = false, bool accumulate = true,
         int offset = 0, int lines = 0) {
  const Variant v{kType,      pieces,  kAcrossA, kAcrossB, registers,
                  accumulate, kScaleA, kScaleB,  offset,   lines};
  constexpr int kDepth = depth(kType);
  std::vector<uint8_t> a(kRows * 32), b(kColumns * 32);
  std::vector<int> number_a(kRows * kDepth), number_b(kColumns * kDepth);
  uint32_t seed = 12345;
  auto fill = [&](bool second, int rows, std::vector<uint8_t>& bytes, std::vector<int>& numbers) {
    for (int row = 0; row < rows; ++row)
      for (int k = 0; k < kDepth; ++k) {
        seed = seed * 1664525 + 1013904223;
        const int random = int(seed >> 20);
        const int value = kType == kBit    ? random & 1
                          : kType == kS8U8 ? (second ? random & 255 : (random & 255) - 128)
                                           : random % 8 - 4;
        numbers[row * kDepth + k] = value;
        put(kType, second, &bytes[row * 32], k, value);
      }
  };
  fill(false, kRows, a, number_a), fill(true, kColumns, b, number_b);
  uint8_t *device_a, *device_b;
  float* out;
  cudaMalloc(&device_a, a.size()), cudaMalloc(&device_b, b.size());
  cudaMalloc(&out, kRows * kColumns * sizeof(float));
  cudaMemcpy(device_a, a.data(), a.size(), cudaMemcpyHostToDevice);
  cudaMemcpy(device_b, b.data(), b.size(), cudaMemcpyHostToDevice);
  product<kType, kAcrossA, kAcrossB, kScaleA, kScaleB>
      <<<1, 128, 2 * kRoom>>>(v, device_a, device_b, out);
  std::vector<float> got(kRows * kColumns);
  cudaMemcpy(got.data(), out, got.size() * sizeof(float), cudaMemcpyDeviceToHost);
  int wrong = 0;
  for (int row = 0; row < kRows; ++row)
    for (int column = 0; column < kColumns; ++column) {
      // The thread's register that this element is.
      const int i = column / 8 * 4 + row % 16 / 8 * 2 + column % 2;
      int sum = 0;
      if (accumulate) sum = kType == kHalfToHalf ? (column % 2 ? 1 : 2) : i;
      for (int k = 0; k < kDepth; ++k)
        sum += kScaleA * kScaleB * number_a[row * kDepth + k] * number_b[column * kDepth + k];
      wrong += got[row * kColumns + column] != float(sum);
    }
  printf("%-28s lines of %3d bytes%s%s%s%s%s%s: ", name, 16 * pieces, kAcrossA ? ", M-major A" : "",
         kAcrossB ? ", N-major B" : "", registers ? ", A in registers" : "",
         accumulate ? "" : ", D not read", offset ? ", within a line" : "",
         lines ? ", a late pattern" : "");
  if (wrong == 0)
    printf("right\n");
  else
    printf("%d of %d are wrong (%s)\n", wrong, kRows * kColumns,
           cudaGetErrorString(cudaGetLastError()));
  cudaFree(device_a), cudaFree(device_b), cudaFree(out);
}

int main() {
  for (int pieces = 1; pieces <= 8; pieces *= 2) {
    run<kBfloat>("bf16", pieces);
    run<kBfloat, true>("bf16", pieces);
    run<kBfloat, false, true>("bf16", pieces);
    run<kHalf, true, true>("f16", pieces);
    run<kTf32>("tf32", pieces);
    run<kE4m3E5m2>("e4m3 x e5m2", pieces);
    run<kS8U8>("s8 x u8", pieces);
    run<kBit>("b1", pieces);
  }
  run<kHalfToHalf>("f16 to f16", 8);
  run<kHalfToHalf>("f16 to f16", 8, false, false);
  run<kBfloat>("bf16", 8, true);
  run<kBfloat, false, true>("bf16", 4, true, false);
  run<kTf32>("tf32", 8, true);
  run<kBfloat>("bf16", 8, false, false);
  run<kS8U8>("s8 x u8", 8, false, false);
  run<kBfloat, false, false, -1, 1>("bf16, A by -1", 8);
  run<kTf32, false, false, 1, -1>("tf32, B by -1", 8, true);
  run<kE4m3E5m2, false, false, -1, -1>("e4m3 x e5m2, both by -1", 8);
  run<kBfloat>("bf16", 8, false, true, 32);
  run<kBfloat>("bf16", 8, false, true, 96);
  run<kBfloat>("bf16", 4, false, true, 32);
  run<kBfloat>("bf16", 8, false, true, 0, 2);
  run<kBfloat>("bf16", 8, false, true, 64, 5);
  printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
}
