// Memory accesses and register permutes of the transpose kernels, written so that the same bodies
// run on the host: the tile phases are functions of (thread, shared memory, tile), and a test runs
// all threads of a phase in a loop, with no GPU.
//
// Tested by tests/unit/transpose/transpose_tile_test.cpp (host), `tilewright-bench transpose
// --verify` (GPU).
#pragma once

#include <cstdint>
#include <cstring>

#ifdef __CUDACC__
#define TW_DEVICE __host__ __device__ __forceinline__
#else
#define TW_DEVICE inline
#endif

namespace tilewright::detail {

struct alignas(16) Vector {
  uint32_t word[4];
};

// The unsigned type of N bytes.
template <int N> struct Unsigned;
template <> struct Unsigned<1> {
  using Type = uint8_t;
};
template <> struct Unsigned<2> {
  using Type = uint16_t;
};
template <> struct Unsigned<4> {
  using Type = uint32_t;
};
template <> struct Unsigned<8> {
  using Type = uint64_t;
};
template <> struct Unsigned<16> {
  using Type = Vector;
};

// Cache policy of a global access: matrices are read once and written once.
enum class Cache { kDefault, kStreaming };

template <Cache kCache = Cache::kDefault> TW_DEVICE Vector load_vector(const void* p) {
  Vector v;
#ifdef __CUDA_ARCH__
  uint4 u;
  if constexpr (kCache == Cache::kStreaming)
    u = __ldcs(static_cast<const uint4*>(p));
  else
    u = *static_cast<const uint4*>(p);
  v.word[0] = u.x, v.word[1] = u.y, v.word[2] = u.z, v.word[3] = u.w;
#else
  std::memcpy(&v, p, 16);
#endif
  return v;
}

template <Cache kCache = Cache::kDefault> TW_DEVICE void store_vector(void* p, const Vector& v) {
#ifdef __CUDA_ARCH__
  uint4 u = make_uint4(v.word[0], v.word[1], v.word[2], v.word[3]);
  if (kCache == Cache::kStreaming)
    __stcs(static_cast<uint4*>(p), u);
  else
    *static_cast<uint4*>(p) = u;
#else
  std::memcpy(p, &v, 16);
#endif
}

// Naturally aligned access of sizeof(T) bytes.
template <class T, Cache kCache = Cache::kDefault> TW_DEVICE T load(const void* p) {
  if constexpr (sizeof(T) == 16) {
    return load_vector<kCache>(p);
  } else {
#ifdef __CUDA_ARCH__
    if constexpr (kCache == Cache::kStreaming && sizeof(T) == 8)
      return T(__ldcs(static_cast<const unsigned long long*>(p)));
    else if constexpr (kCache == Cache::kStreaming)
      return __ldcs(static_cast<const T*>(p));
    else
      return *static_cast<const T*>(p);
#else
    T v;
    std::memcpy(&v, p, sizeof v);
    return v;
#endif
  }
}

template <class T, Cache kCache = Cache::kDefault> TW_DEVICE void store(void* p, T v) {
  if constexpr (sizeof(T) == 16) {
    store_vector<kCache>(p, v);
  } else {
#ifdef __CUDA_ARCH__
    if constexpr (kCache == Cache::kStreaming && sizeof(T) == 8)
      __stcs(static_cast<unsigned long long*>(p), static_cast<unsigned long long>(v));
    else if constexpr (kCache == Cache::kStreaming)
      __stcs(static_cast<T*>(p), v);
    else
      *static_cast<T*>(p) = v;
#else
    std::memcpy(p, &v, sizeof v);
#endif
  }
}

// PTX prmt.b32: byte i of the result is byte `selector` nibble i of {b, a}.
TW_DEVICE uint32_t permute_bytes(uint32_t a, uint32_t b, uint32_t selector) {
#ifdef __CUDA_ARCH__
  return __byte_perm(a, b, selector);
#else
  uint64_t both = uint64_t(b) << 32 | a;
  uint32_t out = 0;
  for (int i = 0; i < 4; ++i)
    out |= uint32_t(both >> (8 * (selector >> (4 * i) & 7)) & 255) << (8 * i);
  return out;
#endif
}

// Bytes [shift/8, shift/8 + 4) of {high, low}; shift modulo 32 is 0, 8, 16 or 24.
TW_DEVICE uint32_t funnel_shift(uint32_t low, uint32_t high, uint32_t shift) {
#ifdef __CUDA_ARCH__
  return __funnelshift_r(low, high, shift);
#else
  return uint32_t((uint64_t(high) << 32 | low) >> (shift & 31));
#endif
}

// Transposes a block of kPack x kPack elements held one row a word: x[i] = row i, then x[j] =
// column j. kPack 4: bytes, eight prmt; kPack 2: halves, two prmt; kPack 1: nothing to do.
template <int kPack> TW_DEVICE void transpose_words(uint32_t (&x)[kPack]) {
  if constexpr (kPack == 4) {
    uint32_t low01 = permute_bytes(x[0], x[1], 0x5140), low23 = permute_bytes(x[2], x[3], 0x5140);
    uint32_t high01 = permute_bytes(x[0], x[1], 0x7362), high23 = permute_bytes(x[2], x[3], 0x7362);
    x[0] = permute_bytes(low01, low23, 0x5410);
    x[1] = permute_bytes(low01, low23, 0x7632);
    x[2] = permute_bytes(high01, high23, 0x5410);
    x[3] = permute_bytes(high01, high23, 0x7632);
  } else if constexpr (kPack == 2) {
    uint32_t low = permute_bytes(x[0], x[1], 0x5410);
    x[1] = permute_bytes(x[0], x[1], 0x7632);
    x[0] = low;
  }
}

}  // namespace tilewright::detail
